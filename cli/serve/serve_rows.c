/* The rows of a request: JSON to the cells of a table. */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "serve/serve.h"

void set_problem(problem *p, unsigned status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    p->status = status;
    vsnprintf(p->text, sizeof p->text, format, args);
    va_end(args);
}

static bool lack_memory(problem *why) {
    set_problem(why, 503, "out of memory");
    return false;
}

/* "row 3: " where there are several. */
static const char *place(const serve_rows *rows, size_t row, char out[32]) {
    out[0] = 0;
    if (!rows->single) snprintf(out, 32, "row %zu: ", row + 1);
    return out;
}

static const char *name_type(const json_t *value) {
    static const char *const names[] = {"an object", "a list", "a string", "a number",
                                        "a number",  "true",   "false",    "null"};
    return names[json_typeof(value)];
}

static bool take_cell(serve_rows *rows, size_t cell, const json_t *value) {
    if (json_is_string(value)) {
        rows->text[cell] = json_string_value(value);
        rows->length[cell] = json_string_length(value);
        return true;
    }
    if (!json_is_number(value)) return false;
    char *number = rows->numbers[cell];
    if (json_is_integer(value))
        snprintf(number, sizeof *rows->numbers, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        double_text(json_real_value(value), number);
    rows->text[cell] = number;
    rows->length[cell] = strlen(number);
    return true;
}

static bool take_row(const serve_columns *columns, serve_rows *rows, size_t row,
                     const json_t *object, problem *why) {
    char where[32];
    place(rows, row, where);
    if (!json_is_object(object)) {
        set_problem(why, 400, "%sa row is an object, such as {\"%.100s\": ...}, not %s", where,
                    columns->count ? columns->at[0].name : "text", name_type(object));
        return false;
    }
    for (size_t c = 0; c < columns->count; ++c) {
        const char *name = columns->at[c].name;
        const json_t *value = json_object_get(object, name);
        if (value && take_cell(rows, c * rows->count + row, value)) continue;
        if (!value)
            set_problem(why, 400, "%sthere is no \"%.100s\"", where, name);
        else
            set_problem(why, 400, "%s\"%.100s\" wants a string or a number, not %s", where, name,
                        name_type(value));
        return false;
    }
    return true;
}

static bool take_rows(const serve_columns *columns, json_t *root, serve_rows *rows, problem *why) {
    const json_t *several = json_object_get(root, "rows");
    rows->single = !json_is_array(several);
    rows->count = rows->single ? 1 : json_array_size(several);
    size_t cells = rows->count * columns->count + 1;
    rows->text = calloc(cells, sizeof *rows->text);
    rows->length = calloc(cells, sizeof *rows->length);
    rows->numbers = calloc(cells, sizeof *rows->numbers);
    if (!rows->text || !rows->length || !rows->numbers) return lack_memory(why);
    for (size_t i = 0; i < rows->count; ++i) {
        const json_t *object = rows->single ? root : json_array_get(several, i);
        if (!take_row(columns, rows, i, object, why)) return false;
    }
    return true;
}

bool read_rows(const serve_columns *columns, const char *body, size_t size, serve_rows *out,
               problem *why) {
    json_error_t error;
    if (size == 0) {
        set_problem(why, 400, "the body is empty: send a row as JSON");
        return false;
    }
    errno = 0;
    json_t *root = json_loadb(body, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (errno == ENOMEM) { /* Jansson leaves out what it has no room for */
        json_decref(root);
        set_problem(why, 503, "out of memory");
        return false;
    }
    if (!root) {
        bool null = json_error_code(&error) == json_error_null_character;
        set_problem(why, 400, "JSON, line %d, column %d: %s", error.line, error.column,
                    null ? "\\u0000 is not text" : error.text);
        return false;
    }
    serve_rows rows = {.root = root};
    if (take_rows(columns, root, &rows, why)) {
        *out = rows;
        return true;
    }
    free_rows(&rows);
    return false;
}

void free_rows(serve_rows *rows) {
    free(rows->text);
    free(rows->length);
    free(rows->numbers);
    json_decref(rows->root);
    *rows = (serve_rows){0};
}
