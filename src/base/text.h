/* Small text tools: numbers, UTF-8, growing strings. */
#ifndef LTH_TEXT_H
#define LTH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Parse all of text[0..length) as a number, in the C locale; false if it is not one. Accepts what
 * strtod accepts, except hexadecimal; inf and nan are reported through *out like any number. */
bool lth__parse_double(const char *text, size_t length, double *out);

/* Shortest text that reads back as the same double, at most 31 bytes with the NUL. */
void lth__print_double(double value, char out[32]);

/* Offset of the first byte that is not valid UTF-8 (or is NUL), or `length` if all is well. */
size_t lth__utf8_check(const char *text, size_t length);

/* Number of code points in valid UTF-8. */
size_t lth__utf8_count(const char *text, size_t length);

/* A string that grows; `failed` is sticky, so a run of appends needs one check at the end. */
typedef struct lth__string {
    char *bytes; /* NUL-terminated once anything was appended */
    size_t length, capacity;
    bool failed;
} lth__string;

void lth__string_append(lth__string *s, const char *bytes, size_t length);
void lth__string_format(lth__string *s, const char *format, ...) LTH_PRINTF(2, 3);
void lth__string_free(lth__string *s);

#endif
