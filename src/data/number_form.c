/* What a cell looks like to somebody who expects a number. */
#include "data/number_form.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void trim(const char **text, size_t *length) {
    while (*length > 0 && is_blank(**text)) ++*text, --*length;
    while (*length > 0 && is_blank((*text)[*length - 1])) --*length;
}

static size_t count_digits(const char *text, size_t length) {
    size_t n = 0;
    while (n < length && isdigit((unsigned char)text[n])) n++;
    return n;
}

/* "1234", or "1.234" with that sign between groups of three. */
static bool is_whole(const char *text, size_t length, char between) {
    size_t digits = count_digits(text, length);
    if (digits == length) return digits > 0;
    if (digits == 0 || digits > 3) return false;
    for (size_t at = digits; at < length; at += 4) {
        if (text[at] != between || count_digits(text + at + 1, length - at - 1) < 3) return false;
    }
    return (length - digits) % 4 == 0;
}

/* "5", "5e-3": what may follow a decimal sign. */
static bool is_fraction(const char *text, size_t length) {
    char copy[64];
    double value;
    if (length == 0 || length >= sizeof copy - 1 || !isdigit((unsigned char)*text)) return false;
    copy[0] = '.';
    memcpy(copy + 1, text, length);
    return !memchr(text, '.', length) && lth__parse_double(copy, length + 1, &value);
}

static bool is_with_decimal_comma(const char *text, const char *comma, const char *end) {
    size_t whole = (size_t)(comma - text);
    return is_fraction(comma + 1, (size_t)(end - comma) - 1) &&
           (whole == 0 || is_whole(text, whole, '.') || is_whole(text, whole, ' ') ||
            is_whole(text, whole, '\''));
}

static bool is_with_grouping_comma(const char *text, const char *end) {
    const char *point = memchr(text, '.', (size_t)(end - text));
    if (point && !is_fraction(point + 1, (size_t)(end - point) - 1)) return false;
    return is_whole(text, (size_t)((point ? point : end) - text), ',');
}

/* Every piece between commas is a number. */
static bool is_list(const char *text, const char *end) {
    for (;;) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t length = (size_t)((comma ? comma : end) - text);
        double value;
        trim(&text, &length);
        if (!lth__parse_double(text, length, &value)) return false;
        if (!comma) return true;
        text = comma + 1;
    }
}

lth__number_form lth__number_form_of(const char *text, size_t length) {
    double value;
    trim(&text, &length);
    if (length == 0) return LTH__FORM_TEXT;
    const char *comma = memchr(text, ',', length), *end = text + length;
    if (!comma) return lth__parse_double(text, length, &value) ? LTH__FORM_NUMBER : LTH__FORM_TEXT;
    const char *first = text + (*text == '-' || *text == '+');
    if (is_with_decimal_comma(first, comma, end) || is_with_grouping_comma(first, end))
        return LTH__FORM_COMMA;
    return is_list(text, end) ? LTH__FORM_LIST : LTH__FORM_TEXT;
}
