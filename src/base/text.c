/* Numbers in the C locale whatever the program's locale is, UTF-8 checks, spelling suggestions and
 * growing strings. */
#define _GNU_SOURCE 1 /* strtod_l */

#include "base/text.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/memory.h"

/* ---- Numbers ------------------------------------------------------------------------------- */

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The C locale, or 0 if it cannot be had. */
static locale_t get_c_locale(void) {
    pthread_once(&c_locale_once, make_c_locale);
    return c_locale;
}

static double read_double(const char *text, char **end) {
    locale_t locale = get_c_locale();
    return locale != (locale_t)0 ? strtod_l(text, end, locale) : strtod(text, end);
}

bool lth__parse_double(const char *text, size_t length, double *out) {
    char copy[2048]; /* the exact decimal expansion of any double fits */
    if (length == 0 || length >= sizeof copy) return false;
    if (memchr(text, 'x', length) != NULL || memchr(text, 'X', length) != NULL) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *end;
    double value = read_double(copy, &end);
    if (end != copy + length) return false;
    *out = value;
    return true;
}

void lth__print_double(double value, char out[32]) {
    if (!isfinite(value)) {
        strcpy(out, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    locale_t locale = get_c_locale();
    locale_t before = locale != (locale_t)0 ? uselocale(locale) : (locale_t)0;
    /* 15 digits survive the way through a normal double, so fewer need no trial: %g drops zeros. */
    for (int digits = fpclassify(value) == FP_SUBNORMAL ? 1 : 15; digits <= 17; digits++) {
        int length = snprintf(out, 32, "%.*g", digits, value);
        if (length < 32 && read_double(out, NULL) == value) break;
    }
    if (before != (locale_t)0) uselocale(before);
}

/* ---- UTF-8 --------------------------------------------------------------------------------- */

/* Length of the run of ASCII without NUL at the start, counted in whole words of 8 bytes. */
static size_t ascii_words(const char *text, size_t length) {
    const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    size_t i = 0;
    for (; length - i >= 8; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, 8);
        if (((word | (word - ones)) & highs) != 0) break; /* a high bit, or one borrowed from 0 */
    }
    return i;
}

size_t lth__utf8_check(const char *text, size_t length) {
    size_t i = 0;
    while (i < length) {
        i += ascii_words(text + i, length - i);
        /* Up to a word's worth of single characters before the fast path is tried again. */
        for (size_t stop = length - i < 8 ? length : i + 8; i < stop;) {
            int32_t code;
            utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)text + i,
                                                     (utf8proc_ssize_t)(length - i), &code);
            if (size <= 0 || code == 0) return i;
            i += (size_t)size;
        }
    }
    return length;
}

size_t lth__utf8_count(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* ---- The nearest name ---------------------------------------------------------------------- */

enum { NAME_MAX_LENGTH = 127 };

static bool same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Edits that turn a into b: insert, delete, replace, or swap two neighbours. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t rows[3][NAME_MAX_LENGTH + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_length; j++) now[j] = before[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t edits = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            edits = least(edits, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]))
                edits = least(edits, before[j - 2] + 1);
            now[j] = edits;
        }
    }
    return now[b_length];
}

static bool one_begins_the_other(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t shared = least(a_length, b_length), i = 0;
    while (i < shared && same_letter(a[i], b[i])) i++;
    return i == shared && shared >= 2;
}

const char *lth_nearest(const char *name, lth_name_fn *at, const void *user) {
    size_t length = strlen(name);
    if (length > NAME_MAX_LENGTH) return NULL;
    size_t allowed = length / 3 > 1 ? length / 3 : 1;
    const char *best = NULL, *candidate;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; (candidate = at(user, i)) != NULL; i++) {
        size_t candidate_length = strlen(candidate);
        if (candidate_length > NAME_MAX_LENGTH) continue;
        size_t distance = edit_distance(name, length, candidate, candidate_length);
        size_t longer = length > candidate_length ? length : candidate_length;
        /* Two names without a letter in common are not near, however short. */
        bool near = (distance <= allowed && distance < longer) ||
                    one_begins_the_other(name, length, candidate, candidate_length);
        if (near && distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

/* ---- Growing strings ----------------------------------------------------------------------- */

/* Room for `extra` more bytes and the NUL. */
static bool make_room(lth__string *s, size_t extra) {
    if (s->failed) return false;
    s->failed = extra >= SIZE_MAX - s->length ||
                !lth__reserve((void **)&s->bytes, &s->capacity, s->length + extra + 1, 1);
    return !s->failed;
}

void lth__string_append(lth__string *s, const char *bytes, size_t length) {
    if (!make_room(s, length)) return;
    if (length > 0) memcpy(s->bytes + s->length, bytes, length);
    s->length += length;
    s->bytes[s->length] = '\0';
}

void lth__string_format(lth__string *s, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) {
        s->failed = true;
    } else if (make_room(s, (size_t)length)) {
        vsnprintf(s->bytes + s->length, (size_t)length + 1, format, again);
        s->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void lth__string_free(lth__string *s) {
    lth__free(s->bytes);
    *s = (lth__string){0};
}
