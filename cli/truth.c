/* The true values of a table's rows. */
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cell as a number, or a message with its place. */
static int read_number(session *s, bool gaps, const lth_table *table, const char *path, size_t row,
                       size_t column, double *out) {
    size_t length;
    const char *cell = lth_table_cell(table, row, column, &length);
    char text[64], *end = text;
    *out = NAN;
    if (length == 0 && gaps) return EXIT_DONE;
    if (length > 0 && length < sizeof text) {
        memcpy(text, cell, length);
        text[length] = 0;
        *out = strtod(text, &end);
    }
    if (end > text && end == text + length && isfinite(*out)) return EXIT_DONE;
    lth_error err = {.status = LTH_EFORMAT, .line = lth_table_line(table, row)};
    snprintf(err.file, sizeof err.file, "%s", lth_table_file(table, row));
    snprintf(err.message, sizeof err.message, "\"%.*s\" in column \"%s\" is not a number",
             length < 40 ? (int)length : 40, cell, lth_table_column_name(table, column));
    return session_fail_input(s, &err, path);
}

bool truth_has_gaps(lth_model *m) {
    const lth_gp *gp = lth_model_gp(m);
    return gp && lth_gp_coregion(gp) > 0;
}

int truth_read_numbers(session *s, lth_model *m, const lth_table *table, const char *path,
                       const char *column, double *y) {
    size_t at = lth_table_find(table, column);
    int code = EXIT_DONE;
    for (size_t i = 0; i < lth_table_rows(table) && !code; ++i)
        code = read_number(s, truth_has_gaps(m), table, path, i, at, &y[i]);
    return code;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Labels are separated by commas, where a row may have several; blanks around them do not count. */
void truth_read_labels(const lth_model *m, const lth_table *table, const char *column, bool *truth,
                       bool *strange) {
    bool several = lth_model_is_multi_label(m);
    size_t at = lth_table_find(table, column), known = lth_model_classes(m);
    for (size_t i = 0; i < lth_table_rows(table); ++i) {
        size_t length;
        const char *cell = lth_table_cell(table, i, at, &length);
        const char *end = cell + length;
        while (cell <= end) {
            const char *comma = several ? memchr(cell, ',', (size_t)(end - cell)) : NULL;
            const char *from = cell, *to = comma ? comma : end;
            while (from < to && is_blank(*from)) ++from;
            while (to > from && is_blank(to[-1])) --to;
            if (to > from || !several) {
                size_t class = model_find_class(m, from, (size_t)(to - from));
                if (class == LTH_NONE) class = known;
                truth[i * (known + 1) + class] = true;
                *strange |= class == known;
            }
            if (!comma) break;
            cell = comma + 1;
        }
    }
}
