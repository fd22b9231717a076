/* JSONL: one object a line. The keys of the first object are the header. Texts stay as they are,
 * numbers are printed so that they read back the same, a list of these is joined with spaces, and
 * null is empty. */
#include <string.h>

#include "data/json_read.h"
#include "data/table_reader.h"

static bool is_blank(const char *line, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r", line[i])) return false;
    return true;
}

static lth_status fail_json(const lth__reader *r, const json_error_t *why, lth_error *err) {
    enum json_error_code code = json_error_code(why);
    size_t column = why->column > 0 ? (size_t)why->column : 1;
    return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), lth__input_line_number(r->in),
                        column, "JSON: %s",
                        code == json_error_null_character ? "\\u0000 is not text" : why->text);
}

/* Append a text, number or truth value; false for anything else. */
static bool append_scalar(lth__string *out, const json_t *value) {
    char number[32];
    switch (json_typeof(value)) {
    case JSON_STRING:
        lth__string_append(out, json_string_value(value), json_string_length(value));
        return true;
    case JSON_INTEGER:
        lth__string_format(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return true;
    case JSON_REAL:
        lth__print_double(json_real_value(value), number);
        lth__string_append(out, number, strlen(number));
        return true;
    case JSON_TRUE: lth__string_append(out, "true", 4); return true;
    case JSON_FALSE: lth__string_append(out, "false", 5); return true;
    default: return false;
    }
}

static bool append_value(lth__string *out, const json_t *value) {
    if (json_is_null(value)) return true;
    if (!json_is_array(value)) return append_scalar(out, value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (i > 0) lth__string_append(out, " ", 1);
        if (!append_scalar(out, json_array_get(value, i))) return false;
    }
    return true;
}

static lth_status take_header(lth__reader *r, json_t *object, lth_error *err) {
    size_t line = lth__input_line_number(r->in);
    const char *key;
    json_t *value;
    lth__reader_clear(r);
    json_object_foreach(object, key, value)
        LTH_TRY(lth__reader_add(r, key, strlen(key), line, 1, err));
    if (r->field_count == 0)
        return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), line, 1,
                            "the first object has no keys; they name the columns");
    return lth__reader_header(r, err);
}

static lth_status take_row(lth__reader *r, const json_t *object, lth_error *err) {
    const char *file = lth__input_name(r->in);
    size_t line = lth__input_line_number(r->in);
    lth__reader_clear(r);
    for (size_t i = 0; i < r->own; i++) {
        size_t start = r->text.length;
        if (r->needed[i]) {
            const char *key = lth__symbols_text(r->header, (lth__symbol)i, NULL);
            const json_t *value = json_object_get(object, key);
            if (!value)
                return lth__fail_at(err, LTH_EFORMAT, file, line, 1, "no key \"%.64s\"", key);
            if (!append_value(&r->text, value))
                return lth__fail_at(err, LTH_EFORMAT, file, line, 1,
                                    "the value of \"%.64s\" is %s; a text, a number or a list of "
                                    "these is needed",
                                    key,
                                    json_is_object(value) ? "an object" : "a list of other things");
        }
        LTH_TRY(lth__reader_add(r, NULL, r->text.length - start, line, 1, err));
    }
    return lth__reader_row(r, line, line, 1, err);
}

static lth_status take_object(lth__reader *r, json_t *object, lth_error *err) {
    if (!json_is_object(object))
        return lth__fail_at(err, LTH_EFORMAT, lth__input_name(r->in), lth__input_line_number(r->in),
                            1, "the line is not a JSON object");
    if (!r->has_header) LTH_TRY(take_header(r, object, err));
    return take_row(r, object, err);
}

static lth_status take_line(lth__reader *r, const char *line, size_t length, lth_error *err) {
    json_error_t why;
    json_t *object = NULL;
    lth_status status =
        lth__json_read(line, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &object, &why, err);
    if (status == LTH_EFORMAT) return fail_json(r, &why, err);
    if (status == LTH_OK) status = take_object(r, object, err);
    json_decref(object);
    return status;
}

lth_status lth__read_jsonl(lth__reader *r, lth_error *err) {
    while (!lth__reader_full(r)) {
        const char *line;
        size_t length;
        LTH_TRY(lth__reader_line(r, &line, &length, err));
        if (!line) return LTH_OK;
        if (!is_blank(line, length)) LTH_TRY(take_line(r, line, length, err));
    }
    return LTH_OK;
}
