/* CoNLL-U: one row for each sentence. The column "conllu" has its lines of words; the comments
 * "# key = value" of the first sentence name the other columns. */
#include <string.h>

#include "base/memory.h"
#include "data/table_reader.h"
#include "data/tree_reader.h"

/* A comment of the sentence in hand, by offsets in its text. */
typedef struct comment {
    size_t key, key_length;
    size_t value, value_length;
    size_t line, column; /* of the key */
} comment;

typedef struct sentence {
    size_t line;       /* on which it began, 0 = not yet     */
    size_t words_line; /* on which its first word is         */
    lth__string words; /* from there on                      */
    lth__string text;  /* of the comments before             */
    comment *comments;
    size_t count, capacity;
} sentence;

static void clear(sentence *s) {
    s->line = 0;
    s->count = s->words.length = s->text.length = 0;
}

/* ---- Comments ------------------------------------------------------------------------------- */

static size_t skip_blanks(const char *line, size_t at, size_t length) {
    while (at < length && (line[at] == ' ' || line[at] == '\t')) at++;
    return at;
}

/* "# key = value" in line[0..length); a key is one word, so "# newdoc id = x" has none. */
static bool find_key(const char *line, size_t length, comment *out) {
    size_t key = skip_blanks(line, 1, length), end = key;
    while (end < length && line[end] != '=' && line[end] != ' ' && line[end] != '\t') end++;
    size_t equals = skip_blanks(line, end, length);
    if (end == key || equals == length || line[equals] != '=') return false;
    size_t value = skip_blanks(line, equals + 1, length);
    while (length > value && (line[length - 1] == ' ' || line[length - 1] == '\t')) length--;
    *out = (comment){.key = key,
                     .key_length = end - key,
                     .value = value,
                     .value_length = length - value,
                     .column = lth__utf8_count(line, key) + 1};
    return true;
}

static lth_status take_comment(sentence *s, const char *line, size_t length, size_t number,
                               lth_error *err) {
    comment found;
    if (!find_key(line, length, &found)) return LTH_OK;
    if (!lth__reserve((void **)&s->comments, &s->capacity, s->count + 1, sizeof *s->comments))
        return lth__fail_memory(err, 0);
    found.key += s->text.length;
    found.value += s->text.length;
    found.line = number;
    lth__string_append(&s->text, line, length);
    s->comments[s->count++] = found;
    return LTH_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static lth_status take_header(lth__reader *r, const sentence *s, lth_error *err) {
    lth__reader_clear(r);
    LTH_TRY(lth__reader_add(r, "conllu", 6, s->line, 1, err));
    for (size_t i = 0; i < s->count; i++) {
        const comment *c = &s->comments[i];
        LTH_TRY(lth__reader_add(r, s->text.bytes + c->key, c->key_length, c->line, c->column, err));
    }
    return lth__reader_header(r, err);
}

/* Refused here, where the lines of the file are known. */
static lth_status check_words(const lth__reader *r, const sentence *s, lth_error *err) {
    lth_error why;
    lth_status status = lth__conllu_check(s->words.bytes, s->words.length, &why);
    if (status == LTH_OK) return status;
    bool placed = why.line > 0;
    return lth__fail_at(err, status, placed ? lth__input_name(r->in) : NULL,
                        placed ? s->words_line + why.line - 1 : 0, why.column, "%s", why.message);
}

/* Put the values of the comments into the fields of their columns, which have no line before. */
static lth_status place_values(lth__reader *r, const sentence *s, lth_error *err) {
    for (size_t i = 0; i < s->count; i++) {
        const comment *c = &s->comments[i];
        const char *key = s->text.bytes + c->key;
        lth__symbol column = lth__symbols_find(r->header, key, c->key_length);
        if (column == LTH__NO_SYMBOL || column >= r->own) continue;
        lth__field *field = &r->fields[column];
        if (field->line > 0)
            return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), c->line, c->column,
                                "a second \"%.64s\" in one sentence",
                                lth__symbols_text(r->header, column, NULL));
        field->text = s->text.bytes + c->value;
        field->length = c->value_length;
        field->line = c->line;
    }
    return LTH_OK;
}

static lth_status take_row(lth__reader *r, const sentence *s, lth_error *err) {
    size_t columns = r->own;
    if (r->needed[0]) LTH_TRY(check_words(r, s, err));
    lth__reader_clear(r);
    LTH_TRY(lth__reader_add(r, s->words.bytes, s->words.length, s->line, 1, err));
    for (size_t i = 1; i < columns; i++) LTH_TRY(lth__reader_add(r, "", 0, 0, 1, err));
    LTH_TRY(place_values(r, s, err));
    for (size_t i = 1; i < columns; i++)
        if (r->needed[i] && r->fields[i].line == 0)
            return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), s->line, 1,
                                "no comment \"# %.64s = ...\" in this sentence",
                                lth__symbols_text(r->header, (lth__symbol)i, NULL));
    return lth__reader_row(r, s->line, s->line, 1, err);
}

/* Comments that no words follow are no sentence. */
static lth_status end_sentence(lth__reader *r, sentence *s, lth_error *err) {
    if (s->words.failed || s->text.failed) return lth__fail_memory(err, 0);
    if (s->words.length > 0) {
        if (!r->has_header) LTH_TRY(take_header(r, s, err));
        LTH_TRY(take_row(r, s, err));
    }
    clear(s);
    return LTH_OK;
}

/* ---- Lines ---------------------------------------------------------------------------------- */

/* A comment among the words stays there, so that lines can be counted. */
static lth_status take_line(sentence *s, const char *line, size_t length, size_t number,
                            lth_error *err) {
    if (s->line == 0) s->line = number;
    if (s->words.length == 0 && line[0] == '#') return take_comment(s, line, length, number, err);
    if (s->words.length == 0)
        s->words_line = number;
    else
        lth__string_append(&s->words, "\n", 1);
    lth__string_append(&s->words, line, length);
    return LTH_OK;
}

/* A full table has just got its last sentence: nothing of another was read. */
static lth_status read_lines(lth__reader *r, sentence *s, lth_error *err) {
    while (!lth__reader_full(r)) {
        const char *line;
        size_t length;
        LTH_TRY(lth__reader_line(r, &line, &length, err));
        if (!line) return end_sentence(r, s, err);
        if (lth__conllu_blank(line, length))
            LTH_TRY(end_sentence(r, s, err));
        else
            LTH_TRY(take_line(s, line, length, lth__input_line_number(r->in), err));
    }
    return LTH_OK;
}

lth_status lth__read_conllu(lth__reader *r, lth_error *err) {
    sentence s = {0};
    lth_status status = read_lines(r, &s, err);
    lth__string_free(&s.words);
    lth__string_free(&s.text);
    lth__free(s.comments);
    return status;
}
