/* Lines of parts between marks. KLP, the tables of KeLP:
 *
 *     LABELS |BT:NAME| tree |ET| |BS:NAME| text |ES| |BV:NAME| key:value ... |EV| |BDV:NAME| 1 2
 * |EDV|
 *
 * and SVM-light-TK:
 *
 *     LABEL |BT| tree |BT| tree |ET| 1:0.5 7:1 |BV| 2:1 |EV|
 *
 * The first line names the columns. A part without a name is "tree", "text", "features" or
 * "vector", then "tree2" and so on; a dense vector "v" is the columns "v1" to "vN". */
#include <string.h>

#include "base/memory.h"
#include "data/table_reader.h"

typedef struct part {
    size_t name, name_length; /* its place in the names                  */
    const char *text;         /* NULL: the labels                        */
    size_t length;
} part;

typedef struct record {
    const lth__reader *reader;
    const char *line, *end;
    size_t number;
    lth__string names, labels;
    part *parts;
    size_t count, capacity;
    size_t unnamed[4]; /* parts so far, by KINDS */
} record;

static const struct {
    const char *type, *name;
} KINDS[] = {{"T", "tree"}, {"S", "text"}, {"V", "features"}, {"DV", "vector"}};
enum { TREE, TEXT, FEATURES, VECTOR, OTHER };

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at)) at++;
    return at;
}

static const char *skip_word(const char *at, const char *end) {
    while (at < end && !is_blank(*at)) at++;
    return at;
}

/* In the line; NULL is its beginning. */
static size_t column_of(const record *r, const char *place) {
    return place ? lth__utf8_count(r->line, (size_t)(place - r->line)) + 1 : 1;
}

static lth_status fail_at(const record *r, const char *place, const char *message, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->reader->in), r->number,
                        column_of(r, place), "%s", message);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

/* A part with the text from..to, whose name was just appended to the names. */
static lth_status add_part(record *r, size_t name, const char *from, const char *to,
                           lth_error *err) {
    from = skip_blanks(from, to);
    while (to > from && is_blank(to[-1])) to--;
    if (r->names.failed ||
        !lth__reserve((void **)&r->parts, &r->capacity, r->count + 1, sizeof *r->parts))
        return lth__fail_memory(err, 0);
    r->parts[r->count++] = (part){.name = name,
                                  .name_length = r->names.length - name,
                                  .text = from,
                                  .length = (size_t)(to - from)};
    return LTH_OK;
}

static size_t kind_of(const char *type, size_t length) {
    size_t kind = 0;
    while (kind < OTHER &&
           !(strlen(KINDS[kind].type) == length && memcmp(KINDS[kind].type, type, length) == 0))
        kind++;
    return kind;
}

/* "tree", then "tree2". */
static lth_status add_unnamed(record *r, size_t kind, const char *from, const char *to,
                              lth_error *err) {
    size_t name = r->names.length, before = r->unnamed[kind]++;
    lth__string_append(&r->names, KINDS[kind].name, strlen(KINDS[kind].name));
    if (before > 0) lth__string_format(&r->names, "%zu", before + 1);
    return add_part(r, name, from, to, err);
}

static bool is_separator(char c) {
    return is_blank(c) || c == ',' || c == ';';
}

/* A column for each number. */
static lth_status add_numbers(record *r, const char *name, size_t length, const char *from,
                              const char *to, lth_error *err) {
    for (size_t i = 1;; i++) {
        while (from < to && is_separator(*from)) from++;
        if (from == to) return LTH_OK;
        const char *end = from;
        while (end < to && !is_separator(*end)) end++;
        size_t place = r->names.length;
        lth__string_append(&r->names, name, length);
        lth__string_format(&r->names, "%zu", i);
        LTH_TRY(add_part(r, place, from, end, err));
        from = end;
    }
}

static lth_status add_named(record *r, const char *name, size_t length, const char *from,
                            const char *to, lth_error *err) {
    size_t place = r->names.length;
    lth__string_append(&r->names, name, length);
    return add_part(r, place, from, to, err);
}

/* ---- KLP ------------------------------------------------------------------------------------ */

/* |BTYPE| or |BTYPE:NAME| */
typedef struct mark {
    const char *type, *name;
    size_t type_length, name_length;
    const char *after;
} mark;

static bool read_mark(const char *at, const char *end, mark *out) {
    if (end - at < 4 || at[0] != '|' || at[1] != 'B') return false;
    const char *type = at + 2, *to = type;
    while (to < end && *to >= 'A' && *to <= 'Z') to++;
    if (to == type || to == end || (*to != '|' && *to != ':')) return false;
    const char *name = *to == ':' ? to + 1 : to;
    const char *bar = memchr(name, '|', (size_t)(end - name));
    if (!bar) return false;
    *out = (mark){.type = type,
                  .name = name,
                  .type_length = (size_t)(to - type),
                  .name_length = (size_t)(bar - name),
                  .after = bar + 1};
    return true;
}

/* The |ETYPE| of a mark, or NULL. */
static const char *find_close(const mark *m, const char *end) {
    const char *at = m->after;
    size_t size = m->type_length + 3;
    while ((size_t)(end - at) >= size && (at = memchr(at, '|', (size_t)(end - at) - size + 1))) {
        if (at[1] == 'E' && memcmp(at + 2, m->type, m->type_length) == 0 && at[size - 1] == '|')
            return at;
        at++;
    }
    return NULL;
}

static lth_status add_marked(record *r, const mark *m, const char *to, lth_error *err) {
    size_t kind = kind_of(m->type, m->type_length);
    const char *name = m->name;
    size_t length = m->name_length;
    if (length == 0 && kind == OTHER)
        return fail_at(r, m->type - 2, "a part of this type needs a name, |BTYPE:NAME|", err);
    if (kind == VECTOR) {
        if (length == 0) name = KINDS[VECTOR].name, length = strlen(name);
        return add_numbers(r, name, length, m->after, to, err);
    }
    if (length == 0) return add_unnamed(r, kind, m->after, to, err);
    return add_named(r, name, length, m->after, to, err);
}

/* A label NAME:NUMBER is a column of its own; the others are one cell, apart by commas. */
static lth_status take_labels(record *r, const char *at, const char *end, lth_error *err) {
    bool any = false;
    for (at = skip_blanks(at, end); at < end; at = skip_blanks(at, end)) {
        const char *word = at, *colon = NULL;
        at = skip_word(word, end);
        for (const char *c = word + 1; c < at; c++)
            if (*c == ':') colon = c;
        double number;
        if (colon && lth__parse_double(colon + 1, (size_t)(at - colon) - 1, &number)) {
            LTH_TRY(add_named(r, word, (size_t)(colon - word), colon + 1, at, err));
            continue;
        }
        if (any) lth__string_append(&r->labels, ",", 1);
        lth__string_append(&r->labels, word, (size_t)(at - word));
        any = true;
    }
    if (!any) return LTH_OK;
    LTH_TRY(add_named(r, "label", 5, r->line, r->line, err));
    r->parts[r->count - 1].text = NULL;
    return LTH_OK;
}

static bool begins_pair(const char *at, const char *end) {
    return end - at >= 3 && memcmp(at, "|<|", 3) == 0;
}

static const char *find_parts(const char *at, const char *end) {
    mark m;
    while (at < end && !begins_pair(at, end) && !read_mark(at, end, &m)) at++;
    return at;
}

static lth_status scan_klp(record *r, lth_error *err) {
    const char *at = find_parts(r->line, r->end);
    if (begins_pair(at, r->end))
        return fail_at(r, at, "pairs of examples, |<| ... |,| ... |>|, are not read", err);
    if (at == r->end) return fail_at(r, r->line, "no part such as |BT:NAME| ... |ET|", err);
    LTH_TRY(take_labels(r, r->line, at, err));
    while (at < r->end) {
        mark m;
        if (!read_mark(at, r->end, &m))
            return fail_at(r, at, "text between parts, which begin with |BT:NAME|", err);
        const char *close = find_close(&m, r->end);
        if (!close) return fail_at(r, at, "this part is never closed by its |E...|", err);
        LTH_TRY(add_marked(r, &m, close, err));
        at = skip_blanks(close + m.type_length + 3, r->end);
    }
    return LTH_OK;
}

/* ---- SVM-light-TK --------------------------------------------------------------------------- */

/* The next |BT|, |ET|, |BV| or |EV|, or the end. */
static const char *find_bar(const char *at, const char *end) {
    for (; end - at >= 4; at++) {
        if (at[0] == '|' && (at[1] == 'B' || at[1] == 'E') && (at[2] == 'T' || at[2] == 'V') &&
            at[3] == '|')
            return at;
    }
    return end;
}

static bool is_bar(const char *at, const char *end, const char *bar) {
    return at < end && memcmp(at, bar, 4) == 0;
}

/* Features from..to, where a comment may follow. */
static lth_status take_features(record *r, const char *from, const char *to, bool marked,
                                lth_error *err) {
    const char *comment = memchr(from, '#', (size_t)(to - from));
    if (comment) to = comment;
    if (!marked && skip_blanks(from, to) == to) return LTH_OK;
    return add_unnamed(r, FEATURES, from, to, err);
}

static lth_status scan_svmlight(record *r, lth_error *err) {
    const char *at = skip_blanks(r->line, r->end);
    const char *label_end = *at == '|' ? at : skip_word(at, r->end);
    if (label_end > at) LTH_TRY(add_named(r, "label", 5, at, label_end, err));
    const char *open = NULL; /* the mark before `from`, if it opens a part */
    for (const char *from = label_end;;) {
        const char *bar = find_bar(from, r->end);
        bool in_tree = open && open[2] == 'T';
        if (in_tree && !is_bar(bar, r->end, "|BT|") && !is_bar(bar, r->end, "|ET|"))
            return fail_at(r, open, "this |BT| is never closed by |ET|", err);
        if (!in_tree && is_bar(bar, r->end, "|ET|"))
            return fail_at(r, bar, "an |ET| without its |BT|", err);
        LTH_TRY(in_tree ? add_unnamed(r, TREE, from, bar, err)
                        : take_features(r, from, bar, open != NULL, err));
        if (bar == r->end) return LTH_OK;
        open = bar[1] == 'B' ? bar : NULL;
        from = bar + 4;
    }
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static lth_status name_columns(lth__reader *reader, const record *r, lth_error *err) {
    lth__reader_clear(reader);
    for (size_t i = 0; i < r->count; i++) {
        const part *p = &r->parts[i];
        LTH_TRY(lth__reader_add(reader, r->names.bytes + p->name, p->name_length, r->number,
                                column_of(r, p->text), err));
    }
    return lth__reader_header(reader, err);
}

/* Into the fields of their columns, which have no line before. */
static lth_status place_parts(lth__reader *reader, const record *r, lth_error *err) {
    for (size_t i = 0; i < r->count; i++) {
        const part *p = &r->parts[i];
        const char *name = r->names.bytes + p->name;
        lth__symbol column = lth__symbols_find(reader->header, name, p->name_length);
        if (column == LTH__NO_SYMBOL) continue;
        lth__field *field = &reader->fields[column];
        if (field->line > 0)
            return lth__fail_at(err, LTH_EFORMAT, lth__input_name(reader->in), r->number,
                                column_of(r, p->text), "a second \"%.64s\" on one line",
                                lth__symbols_text(reader->header, column, NULL));
        *field = (lth__field){.text = p->text ? p->text : r->labels.bytes,
                              .length = p->text ? p->length : r->labels.length,
                              .line = r->number,
                              .column = 1};
    }
    return LTH_OK;
}

static lth_status take_row(lth__reader *reader, const record *r, lth_error *err) {
    size_t columns = lth__symbols_count(reader->header);
    lth__reader_clear(reader);
    for (size_t i = 0; i < columns; i++) LTH_TRY(lth__reader_add(reader, "", 0, 0, 1, err));
    LTH_TRY(place_parts(reader, r, err));
    for (size_t i = 0; i < columns; i++) {
        if (!reader->needed[i] || reader->fields[i].line > 0) continue;
        return lth__fail_at(err, LTH_EFORMAT, lth__input_name(reader->in), r->number, 1,
                            "no \"%.64s\" on this line; the first line has one",
                            lth__symbols_text(reader->header, (lth__symbol)i, NULL));
    }
    return lth__reader_row(reader, r->number, r->number, 1, err);
}

typedef lth_status scanner(record *r, lth_error *err);

static lth_status take_line(lth__reader *reader, record *r, scanner *scan, const char *line,
                            size_t length, lth_error *err) {
    r->line = line;
    r->end = line + length;
    r->number = lth__input_line_number(reader->in);
    r->count = r->names.length = r->labels.length = 0;
    memset(r->unnamed, 0, sizeof r->unnamed);
    LTH_TRY(scan(r, err));
    if (r->names.failed || r->labels.failed) return lth__fail_memory(err, 0);
    if (!reader->has_header) LTH_TRY(name_columns(reader, r, err));
    return take_row(reader, r, err);
}

static lth_status read_lines(lth__reader *reader, record *r, scanner *scan, lth_error *err) {
    while (!lth__reader_full(reader)) {
        const char *line;
        size_t length;
        LTH_TRY(lth__reader_line(reader, &line, &length, err));
        if (!line) return LTH_OK;
        bool blank = skip_blanks(line, line + length) == line + length;
        bool comment = scan == scan_svmlight && !blank && *line == '#';
        if (!blank && !comment) LTH_TRY(take_line(reader, r, scan, line, length, err));
    }
    return LTH_OK;
}

static lth_status read_marked(lth__reader *reader, scanner *scan, lth_error *err) {
    record r = {.reader = reader};
    lth_status status = read_lines(reader, &r, scan, err);
    lth__string_free(&r.names);
    lth__string_free(&r.labels);
    lth__free(r.parts);
    return status;
}

lth_status lth__read_klp(lth__reader *reader, lth_error *err) {
    return read_marked(reader, scan_klp, err);
}

lth_status lth__read_svmlight(lth__reader *reader, lth_error *err) {
    return read_marked(reader, scan_svmlight, err);
}
