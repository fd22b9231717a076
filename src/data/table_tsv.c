/* TSV: a header line, then rows; fields apart by tabs, no quoting at all. */
#include <string.h>

#include "data/table_reader.h"

static lth_status split(lth__reader *r, const char *line, size_t length, lth_error *err) {
    size_t number = lth__input_line_number(r->in), column = 1;
    const char *at = line, *end = line + length;
    lth__reader_clear(r);
    for (;;) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        size_t size = (size_t)((tab ? tab : end) - at);
        LTH_TRY(lth__reader_add(r, at, size, number, column, err));
        column += lth__utf8_count(at, size) + 1;
        if (!tab) break;
        at = tab + 1;
    }
    return lth__reader_record(r, number, number, column - 1, err);
}

lth_status lth__read_tsv(lth__reader *r, lth_error *err) {
    while (!lth__reader_full(r)) {
        const char *line, *ahead;
        size_t length, left;
        LTH_TRY(lth__reader_line(r, &line, &length, err));
        if (!line) return LTH_OK;
        if (length == 0) {
            LTH_TRY(lth__input_peek(r->in, 1, &ahead, &left, err));
            if (left == 0) return LTH_OK; /* a blank last line is no row */
        }
        LTH_TRY(split(r, line, length, err));
    }
    return LTH_OK;
}
