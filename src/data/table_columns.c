/* Columns by name, and ranges of them such as f1..f17. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/table_hints.h"
#include "data/table_reader.h"

static const char *name_at(const void *names, size_t i) {
    if (i >= lth__symbols_count(names)) return NULL;
    return lth__symbols_text(names, (lth__symbol)i, NULL);
}

/* "a, b, c", or as many as fit and "...". */
static void list_names(const lth__symbols *names, char *out, size_t capacity) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < lth__symbols_count(names); i++) {
        size_t length;
        const char *name = lth__symbols_text(names, (lth__symbol)i, &length);
        const char *comma = i > 0 ? ", " : "";
        if (length + sizeof ", , ..." > capacity - used) {
            snprintf(out + used, capacity - used, "%s...", comma);
            return;
        }
        used += (size_t)snprintf(out + used, capacity - used, "%s%s", comma, name);
    }
}

/* `instead` is told where no name is alike, and the header looks like one. */
static lth_status fail_with_hint(const lth__symbols *names, const char *column, const char *file,
                                 size_t line, const char *instead, lth_error *err) {
    char list[160], hint[160] = "";
    const char *near = lth_nearest(column, name_at, names);
    const char *odd = lth__hint_of_header(names, column);
    snprintf(hint, sizeof hint, "%s", instead);
    if (near && strlen(near) >= 64) near = NULL;
    if (near && !odd)
        snprintf(hint, sizeof hint, " did you mean \"%s\"?", near);
    else if (odd)
        snprintf(hint, sizeof hint, " %s.", odd);
    list_names(names, list, sizeof list);
    return lth__fail_at(err, LTH_EFORMAT, file, line, 1, "no column \"%.64s\";%s %s: %s", column,
                        hint, near || odd ? "The columns are" : "the columns are", list);
}

lth_status lth__fail_no_column(const lth__symbols *names, const char *column, const char *file,
                               size_t line, lth_error *err) {
    return fail_with_hint(names, column, file, line, "", err);
}

typedef struct range {
    size_t prefix;        /* length of the common prefix                     */
    unsigned first, last; /* numbers that follow it                          */
    int width;            /* digits when they are padded with zeros, else 0  */
} range;

/* A number of at most 9 digits that fills text[0..length). */
static bool parse_count(const char *text, size_t length, unsigned *out) {
    if (length == 0 || length > 9) return false;
    *out = 0;
    for (size_t i = 0; i < length; i++) *out = 10 * *out + (unsigned)(text[i] - '0');
    return true;
}

static size_t digits_at_end(const char *text, size_t length) {
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)text[length - 1 - digits])) digits++;
    return digits;
}

static bool parse_range(const char *text, range *out) {
    const char *dots = strstr(text, "..");
    if (!dots) return false;
    const char *end = dots + 2;
    size_t left = (size_t)(dots - text), right = strlen(end);
    size_t left_digits = digits_at_end(text, left), right_digits = digits_at_end(end, right);
    out->prefix = left - left_digits;
    if (out->prefix != right - right_digits || memcmp(text, end, out->prefix) != 0) return false;
    out->width = text[out->prefix] == '0' && left_digits > 1 ? (int)left_digits : 0;
    return parse_count(text + out->prefix, left_digits, &out->first) &&
           parse_count(end + out->prefix, right_digits, &out->last);
}

lth_status lth__columns_push(size_t value, size_t **array, size_t *count, size_t *capacity,
                             lth_error *err) {
    if (!lth__reserve((void **)array, capacity, *count + 1, sizeof **array))
        return lth__fail_memory(err, 0);
    (*array)[(*count)++] = value;
    return LTH_OK;
}

static void write_name(const char *column, const range *span, size_t i, lth__string *out) {
    lth__string_append(out, column, span->prefix);
    lth__string_format(out, "%0*zu", span->width, span->first + i);
}

/* Columns from 1 on that are not there may be those of an array. */
static lth_status fail_no_range(const lth__symbols *names, const char *column, const range *span,
                                size_t i, const char *name, const char *file, size_t line,
                                lth_error *err) {
    char hint[96] = "";
    int prefix = (int)span->prefix;
    if (prefix > 1 && column[prefix - 1] == '_') prefix--;
    if (i == 0 && span->first == 1 && prefix > 0 && prefix < 32)
        snprintf(hint, sizeof hint, " an array \"%.*s\" of %u columns would have it;", prefix,
                 column, span->last);
    return fail_with_hint(names, name, file, line, hint, err);
}

static lth_status push_range(const lth__symbols *names, const char *column, const range *span,
                             const char *file, size_t line, size_t **out, size_t *count,
                             size_t *capacity, lth_error *err) {
    lth__string name = {0};
    lth_status status = LTH_OK;
    size_t columns = (size_t)span->last - span->first + 1;
    for (size_t i = 0; i < columns && status == LTH_OK; i++) {
        name.length = 0;
        write_name(column, span, i, &name);
        if (name.failed) {
            status = lth__fail_memory(err, 0);
            break;
        }
        lth__symbol found = lth__symbols_find(names, name.bytes, name.length);
        status = found == LTH__NO_SYMBOL
                     ? fail_no_range(names, column, span, i, name.bytes, file, line, err)
                     : lth__columns_push(found, out, count, capacity, err);
    }
    lth__string_free(&name);
    return status;
}

lth_status lth__columns_find(const lth__symbols *names, const char *column, const char *file,
                             size_t line, size_t **out, size_t *count, size_t *capacity,
                             lth_error *err) {
    range span;
    lth__symbol found = lth__symbols_find(names, column, strlen(column));
    if (found != LTH__NO_SYMBOL) return lth__columns_push(found, out, count, capacity, err);
    if (!parse_range(column, &span)) return lth__fail_no_column(names, column, file, line, err);
    if (span.first > span.last)
        return lth__fail(err, LTH_EARG, "the range \"%.64s\" runs backwards", column);
    return push_range(names, column, &span, file, line, out, count, capacity, err);
}

size_t lth__columns_count(const char *column) {
    range span;
    if (!parse_range(column, &span) || span.first > span.last) return 1;
    return (size_t)span.last - span.first + 1;
}

void lth__columns_name(const char *column, size_t i, lth__string *out) {
    range span;
    if (parse_range(column, &span) && span.first <= span.last)
        write_name(column, &span, i, out);
    else
        lth__string_append(out, column, strlen(column));
}
