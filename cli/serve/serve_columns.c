/* The columns that a model reads: their names, what they hold, an example of each. */
#include <stdlib.h>
#include <string.h>

#include "serve/serve.h"

typedef struct finder {
    const lth_model *model;
    serve_columns columns;
} finder;

static bool has_column(const serve_columns *c, const char *name) {
    for (size_t i = 0; i < c->count; ++i)
        if (strcmp(c->at[i].name, name) == 0) return true;
    return false;
}

/* Takes over the name, which may be NULL for lack of memory. */
static bool add_column(finder *f, char *name, lth_column_kind kind, const char *example) {
    serve_columns *c = &f->columns;
    if (name && has_column(c, name)) {
        free(name);
        return true;
    }
    serve_column *more = name ? realloc(c->at, (c->count + 1) * sizeof *more) : NULL;
    if (!more) {
        free(name);
        return false;
    }
    c->at = more;
    more[c->count++] =
        (serve_column){.name = name, .kind = kind, .example = example ? strdup(example) : NULL};
    return true;
}

/* The number at the end of text[0 .. end), or false. */
static bool number_before(const char *text, const char *end, const char **digits, size_t *out) {
    const char *first = end;
    while (first > text && first[-1] >= '0' && first[-1] <= '9') --first;
    *digits = first;
    *out = strtoull(first, NULL, 10);
    return first < end && end - first < 9;
}

/* f1..f17, with an example "0.5 2 ..."; false = no range, or out of memory. */
static bool add_range(finder *f, const char *range, const char *dots, char *example, bool *is) {
    const char *first, *last, *end = range + strlen(range);
    size_t from = 0, to = 0;
    *is = number_before(range, dots, &first, &from) && number_before(dots + 2, end, &last, &to) &&
          from <= to;
    int stem = (int)(first - range), width = *first == '0' ? (int)(dots - first) : 1;
    char *rest = example;
    for (size_t i = from; *is && i <= to; ++i) {
        char *name = malloc((size_t)stem + 32);
        if (name) snprintf(name, (size_t)stem + 32, "%.*s%0*zu", stem, range, width, i);
        if (!add_column(f, name, LTH_COLUMN_NUMBERS, rest ? strsep(&rest, " ") : NULL))
            return false;
    }
    return true;
}

static bool add_columns(finder *f, const char *written, size_t i) {
    const char *kept = lth_model_row_text(f->model, 0, i);
    char *example = kept ? strdup(kept) : NULL;
    const char *dots = strstr(written, "..");
    lth_column_kind kind = lth_kernel_column_kind(lth_model_kernel(f->model), i);
    bool is_range = false, good = true;
    if (dots && kind == LTH_COLUMN_NUMBERS) good = add_range(f, written, dots, example, &is_range);
    if (good && !is_range) good = add_column(f, strdup(written), kind, example);
    free(example);
    return good;
}

bool find_columns(lth_model *m, serve_columns *out) {
    const lth_kernel *kernel = lth_model_kernel(m);
    finder f = {.model = m};
    bool good = true;
    const char *written;
    for (size_t i = 0; good && (written = lth_kernel_column(kernel, i)) != NULL; ++i)
        good = add_columns(&f, written, i);
    const char *room[1];
    list own = model_columns(m, room); /* an exposure */
    for (size_t i = 0; good && i < own.count; ++i)
        good = add_column(&f, strdup(own.at[i]), LTH_COLUMN_NUMBERS, "1");
    if (good)
        *out = f.columns;
    else
        free_columns(&f.columns);
    return good;
}

void free_columns(serve_columns *c) {
    for (size_t i = 0; i < c->count; ++i) {
        free(c->at[i].name);
        free(c->at[i].example);
    }
    free(c->at);
    *c = (serve_columns){0};
}
