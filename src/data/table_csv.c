/* CSV as in RFC 4180: fields apart by commas; a field in double quotes may hold commas, newlines
 * and doubled quotes. Blank lines between records are skipped. */
#include <string.h>

#include "data/table_reader.h"

/* The rest of the line in hand. */
typedef struct cursor {
    const char *at, *end;
    size_t line, column; /* of `at` */
} cursor;

static lth_status next_line(lth__reader *r, cursor *c, lth_error *err) {
    size_t length;
    LTH_TRY(lth__reader_line(r, &c->at, &length, err));
    if (c->at) c->end = c->at + length;
    c->line = lth__input_line_number(r->in);
    c->column = 1;
    return LTH_OK;
}

static void advance(cursor *c, const char *to) {
    c->column += lth__utf8_count(c->at, (size_t)(to - c->at));
    c->at = to;
}

/* Append the text up to `to` and move there. */
static void take(lth__reader *r, cursor *c, const char *to) {
    lth__string_append(&r->text, c->at, (size_t)(to - c->at));
    advance(c, to);
}

/* From an opening quote to just after the closing one. */
static lth_status take_quoted(lth__reader *r, cursor *c, lth_error *err) {
    const cursor open = *c;
    advance(c, c->at + 1);
    for (;;) {
        const char *quote = memchr(c->at, '"', (size_t)(c->end - c->at));
        if (!quote) {
            take(r, c, c->end);
            lth__string_append(&r->text, "\n", 1);
            LTH_TRY(next_line(r, c, err));
            if (!c->at)
                return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), open.line,
                                    open.column, "this quote is never closed");
            continue;
        }
        take(r, c, quote);
        if (quote + 1 == c->end || quote[1] != '"') break;
        lth__string_append(&r->text, "\"", 1);
        advance(c, quote + 2);
    }
    advance(c, c->at + 1);
    if (c->at < c->end && *c->at != ',')
        return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), c->line, c->column,
                            "text after a closing quote; a quote inside quotes is written twice");
    return LTH_OK;
}

static lth_status take_field(lth__reader *r, cursor *c, lth_error *err) {
    size_t line = c->line, column = c->column, start = r->text.length;
    if (c->at < c->end && *c->at == '"') {
        LTH_TRY(take_quoted(r, c, err));
    } else {
        const char *comma = memchr(c->at, ',', (size_t)(c->end - c->at));
        take(r, c, comma ? comma : c->end);
    }
    return lth__reader_add(r, NULL, r->text.length - start, line, column, err);
}

static lth_status take_record(lth__reader *r, cursor *c, lth_error *err) {
    size_t line = c->line;
    lth__reader_clear(r);
    LTH_TRY(take_field(r, c, err));
    while (c->at < c->end) {
        advance(c, c->at + 1);
        LTH_TRY(take_field(r, c, err));
    }
    return lth__reader_record(r, line, c->line, c->column, err);
}

lth_status lth__read_csv(lth__reader *r, lth_error *err) {
    while (!lth__reader_full(r)) {
        cursor c;
        LTH_TRY(next_line(r, &c, err));
        if (!c.at) return LTH_OK;
        if (c.at < c.end) LTH_TRY(take_record(r, &c, err));
    }
    return LTH_OK;
}
