#include "design/pattern_size.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* After a "[": behind its "]". */
static const char *skip_set(const char *at) {
    if (*at == '^') at++;
    if (*at == ']') at++;
    while (*at && *at != ']') {
        const char *end =
            at[0] == '[' && strchr(":.=", at[1]) && at[1] ? strchr(at + 2, ']') : NULL;
        at = end ? end + 1 : at + 1;
    }
    return *at ? at + 1 : at;
}

/* What "*", "+", "?" and "{2,5}" behind an atom make of it. */
static double repeat(const char **at, double size) {
    while (**at && strchr("*+?{", **at)) {
        char *end = (char *)(uintptr_t)*at + 1;
        if (**at == '+') size *= 2;
        if (**at == '{') {
            double least = strtod(end, &end), most = *end == ',' ? strtod(end + 1, &end) : least;
            size *= fmax(1, fmax(least, most));
            if (*end == '}') end++;
        }
        *at = end;
    }
    return size;
}

static double measure(const char **at, size_t depth) {
    double size = 0;
    while (**at && (**at != ')' || depth == 0)) {
        double atom = 1;
        char c = *(*at)++;
        if (c == '(') {
            if (depth == LTH__PATTERN_LEVELS) return INFINITY;
            atom = measure(at, depth + 1);
            if (**at) ++*at;
        } else if (c == '[') {
            *at = skip_set(*at);
        } else if (c == '\\' && **at) {
            ++*at;
        }
        size += repeat(at, atom);
    }
    return size;
}

double lth__pattern_size(const char *pattern) {
    return measure(&pattern, 0);
}
