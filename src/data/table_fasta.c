/* FASTA: one row for each record, ">id description" and the lines of its sequence. The columns are
 * "id", "description" and "sequence"; words KEY=VALUE in the first record's description name the
 * others. */
#include <string.h>

#include "base/memory.h"
#include "data/table_reader.h"

/* A word KEY=VALUE of the head in hand, by offsets in it. */
typedef struct pair {
    size_t key, key_length;
    size_t value, value_length;
} pair;

typedef struct record {
    size_t line;
    lth__string head, sequence;
    size_t id_length, description; /* where that begins */
    pair *pairs;
    size_t count, capacity;
} record;

enum { ID, DESCRIPTION, SEQUENCE, FIXED };

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

/* ---- The head ------------------------------------------------------------------------------- */

static lth_status take_word(record *r, size_t from, size_t to, lth_error *err) {
    const char *text = r->head.bytes;
    const char *equals = memchr(text + from, '=', to - from);
    size_t key_length = equals ? (size_t)(equals - text) - from : 0;
    if (key_length == 0) return LTH_OK;
    if (!lth__reserve((void **)&r->pairs, &r->capacity, r->count + 1, sizeof *r->pairs))
        return lth__fail_memory(err, 0);
    size_t value = from + key_length + 1;
    r->pairs[r->count++] = (pair){from, key_length, value, to - value};
    return LTH_OK;
}

/* Behind the ">". */
static lth_status take_head(record *r, const char *text, size_t length, lth_error *err) {
    r->head.length = r->count = 0;
    while (length > 0 && is_blank(text[length - 1])) length--;
    lth__string_append(&r->head, text, length);
    if (r->head.failed) return lth__fail_memory(err, length);
    size_t at = 0;
    while (at < length && !is_blank(text[at])) at++;
    r->id_length = at;
    while (at < length && is_blank(text[at])) at++;
    r->description = at;
    while (at < length) {
        size_t from = at;
        while (at < length && !is_blank(text[at])) at++;
        LTH_TRY(take_word(r, from, at, err));
        while (at < length && is_blank(text[at])) at++;
    }
    return LTH_OK;
}

/* ---- The sequence --------------------------------------------------------------------------- */

static lth_status at_next(const lth__reader *reader, bool *next, lth_error *err) {
    const char *bytes;
    size_t got;
    LTH_TRY(lth__input_peek(reader->in, 1, &bytes, &got, err));
    *next = got == 0 || *bytes == '>';
    return LTH_OK;
}

static void take_letters(record *r, const char *line, size_t length) {
    for (size_t from = 0, at = 0; at <= length; at++) {
        if (at < length && !is_blank(line[at])) continue;
        lth__string_append(&r->sequence, line + from, at - from);
        from = at + 1;
    }
}

static lth_status take_sequence(lth__reader *reader, record *r, lth_error *err) {
    bool next = false;
    r->sequence.length = 0;
    for (;;) {
        const char *line;
        size_t length;
        LTH_TRY(at_next(reader, &next, err));
        if (next) break;
        LTH_TRY(lth__reader_line(reader, &line, &length, err));
        if (!line) break;
        if (length == 0 || *line != ';') take_letters(r, line, length); /* old comments */
    }
    if (r->sequence.failed) return lth__fail_memory(err, r->sequence.length);
    if (r->sequence.length > 0) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(reader->in), r->line, 1,
                        "the record \"%.*s\" has no sequence",
                        r->id_length > 64 ? 64 : (int)r->id_length,
                        r->head.bytes ? r->head.bytes : "");
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static bool is_fixed(const char *key, size_t length) {
    static const char *const names[FIXED] = {"id", "description", "sequence"};
    for (size_t i = 0; i < FIXED; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], key, length) == 0) return true;
    }
    return false;
}

static lth_status name_columns(lth__reader *reader, const record *r, lth_error *err) {
    lth__reader_clear(reader);
    LTH_TRY(lth__reader_add(reader, "id", 2, r->line, 1, err));
    LTH_TRY(lth__reader_add(reader, "description", 11, r->line, 1, err));
    LTH_TRY(lth__reader_add(reader, "sequence", 8, r->line, 1, err));
    for (size_t i = 0; i < r->count; i++) {
        const pair *p = &r->pairs[i];
        const char *key = r->head.bytes + p->key;
        if (is_fixed(key, p->key_length)) continue;
        LTH_TRY(lth__reader_add(reader, key, p->key_length, r->line,
                                lth__utf8_count(r->head.bytes, p->key) + 2, err));
    }
    return lth__reader_header(reader, err);
}

/* Values of this record, into columns that the first one named. */
static void place_values(lth__reader *reader, const record *r) {
    for (size_t i = 0; i < r->count; i++) {
        const pair *p = &r->pairs[i];
        lth__symbol column =
            lth__symbols_find(reader->header, r->head.bytes + p->key, p->key_length);
        if (column == LTH__NO_SYMBOL || column < FIXED || column >= reader->own) continue;
        if (reader->fields[column].line > 0) continue;
        lth__field *field = &reader->fields[column];
        field->text = r->head.bytes + p->value;
        field->length = p->value_length;
        field->line = r->line;
    }
}

static lth_status take_row(lth__reader *reader, const record *r, lth_error *err) {
    const char *head = r->head.bytes ? r->head.bytes : "";
    size_t columns = reader->own, line = r->line;
    lth__reader_clear(reader);
    LTH_TRY(lth__reader_add(reader, head, r->id_length, line, 2, err));
    LTH_TRY(lth__reader_add(reader, head + r->description, r->head.length - r->description, line, 2,
                            err));
    LTH_TRY(lth__reader_add(reader, r->sequence.bytes, r->sequence.length, line + 1, 1, err));
    for (size_t i = FIXED; i < columns; i++) LTH_TRY(lth__reader_add(reader, "", 0, 0, 1, err));
    place_values(reader, r);
    for (size_t i = FIXED; i < columns; i++) {
        if (!reader->needed[i] || reader->fields[i].line > 0) continue;
        return lth__fail_at(err, LTH_EFORMAT, lth__input_name(reader->in), line, 1,
                            "the record \"%.*s\" has no word %.64s=...",
                            r->id_length > 64 ? 64 : (int)r->id_length, head,
                            lth__symbols_text(reader->header, (lth__symbol)i, NULL));
    }
    return lth__reader_row(reader, line, line, 1, err);
}

static lth_status fail_start(const lth__reader *reader, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(reader->in),
                        lth__input_line_number(reader->in), 1,
                        "a FASTA record begins with \">\": this line belongs to none");
}

static lth_status read_records(lth__reader *reader, record *r, lth_error *err) {
    while (!lth__reader_full(reader)) {
        const char *line;
        size_t length;
        LTH_TRY(lth__reader_line(reader, &line, &length, err));
        if (!line) return LTH_OK;
        if (length == 0 || *line == ';') continue;
        if (*line != '>') return fail_start(reader, err);
        r->line = lth__input_line_number(reader->in);
        LTH_TRY(take_head(r, line + 1, length - 1, err));
        LTH_TRY(take_sequence(reader, r, err));
        if (!reader->has_header) LTH_TRY(name_columns(reader, r, err));
        LTH_TRY(take_row(reader, r, err));
    }
    return LTH_OK;
}

lth_status lth__read_fasta(lth__reader *reader, lth_error *err) {
    record r = {0};
    lth_status status = read_records(reader, &r, err);
    lth__string_free(&r.head);
    lth__string_free(&r.sequence);
    lth__free(r.pairs);
    return status;
}
