/* Expressions made of what the kernels' manuals have: calls with arguments put in, around or behind
 * what is there; numbers that are at a bound, or past it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { ROOM = 4096, PIECE = 1024, NUMBER = 64 };

typedef struct dice {
    unsigned seed;
} dice;

static unsigned next(dice *d, unsigned below) {
    d->seed = d->seed * 1664525u + 1013904223u;
    return (d->seed >> 8) % below;
}

static const lth_family *pick_family(dice *d) {
    static unsigned count;
    while (!count || lth_family_at(count)) count++;
    return lth_family_at(next(d, count));
}

static void print_number(dice *d, const lth_argument *a, char out[NUMBER]) {
    static const char *const odd[] = {"0",      "-1", "1e308", "1e-320", "nan",
                                      "0x1p-3", "1e", "$t",    "2.5",    "1..3"};
    double ways[] = {a->lo, a->hi, 2 * a->hi, a->lo / 2, 0.5 * (a->lo + a->hi)};
    if (next(d, 4) == 0)
        snprintf(out, NUMBER, "%s", odd[next(d, 10)]);
    else
        snprintf(out, NUMBER, "%g", ways[next(d, 5)]);
}

/* One of "words|tokens|chars", a number of "1..32", or what it is by itself. */
static void print_value(dice *d, const lth_argument *a, char out[NUMBER]) {
    const char *choices = a->choices ? a->choices : "";
    const char *at = choices;
    for (unsigned skip = next(d, 6); skip > 0 && strchr(at, '|'); skip--) at = strchr(at, '|') + 1;
    size_t length = strcspn(at, "|.");
    if (next(d, 3) == 0 || a->learned)
        print_number(d, a, out);
    else if (length > 0 && next(d, 2))
        snprintf(out, NUMBER, "%.*s", (int)length, at);
    else
        snprintf(out, NUMBER, "%s", a->initial ? a->initial : "yes");
}

static void print_input(dice *d, const lth_family *family, const char *inner, char out[PIECE / 2]) {
    static const char *const columns[] = {"text", "f1", "f1..f3", "tree", "\"a b\"", "f3..f1"};
    if (family->kind == LTH_FAMILY_WRAPPER && next(d, 4) > 0)
        snprintf(out, PIECE / 2, "%s", inner);
    else
        snprintf(out, PIECE / 2, "%s", columns[next(d, 6)]);
}

static void print_call(dice *d, const char *inner, char out[PIECE]) {
    const lth_family *family = pick_family(d);
    char input[PIECE / 2], value[NUMBER];
    print_input(d, family, inner, input);
    size_t used = (size_t)snprintf(out, PIECE, "%s(%s", family->name, input);
    for (size_t i = 0; used < PIECE / 2; i++) {
        const lth_argument *a = lth_family_argument(family, i);
        if (!a) break;
        if (next(d, 3) > 0) continue;
        print_value(d, a, value);
        used += (size_t)snprintf(out + used, PIECE - used, ", %s=%s", a->name, value);
    }
    if (used < PIECE - 1) snprintf(out + used, PIECE - used, ")");
}

static size_t put_at(uint8_t *data, size_t size, size_t most, size_t at, size_t drop,
                     const char *text) {
    size_t length = strlen(text);
    if (size - drop + length > most) return size;
    memmove(data + at + length, data + at + drop, size - at - drop);
    memcpy(data + at, text, length);
    return size - drop + length;
}

/* Where a word or number begins. */
static size_t pick_token(dice *d, const uint8_t *data, size_t size) {
    size_t at = size > 0 ? next(d, (unsigned)size) : 0;
    while (at > 0 && (isalnum(data[at - 1]) || data[at - 1] == '.')) at--;
    return at;
}

static size_t token_length(const uint8_t *data, size_t size, size_t at) {
    size_t end = at;
    while (end < size && (isalnum(data[end]) || data[end] == '.')) end++;
    return end - at;
}

static size_t change(dice *d, uint8_t *data, size_t size, size_t most) {
    char call[PIECE], text[ROOM], inner[PIECE / 2];
    bool whole = size > 0 && size < sizeof inner;
    snprintf(inner, sizeof inner, "%.*s", whole ? (int)size : 4, whole ? (char *)data : "1 +f1");
    print_call(d, whole ? inner : "rbf(f1)", call);
    size_t at = pick_token(d, data, size), length = token_length(data, size, at);
    switch (next(d, 5)) {
    case 0: return put_at(data, size, most, 0, size, call);
    case 1:
        snprintf(text, sizeof text, " + %s", call);
        return put_at(data, size, most, size, 0, text);
    case 2: snprintf(text, sizeof text, "%s * ", call); return put_at(data, size, most, 0, 0, text);
    case 3: return put_at(data, size, most, at, length, call);
    default: {
        const lth_family *family = pick_family(d);
        const lth_argument *a = lth_family_argument(family, next(d, 8));
        char value[NUMBER] = "f2";
        if (a) print_value(d, a, value);
        return put_at(data, size, most, at, length, value);
    }
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    dice d = {seed};
    if (next(&d, 3) == 0) return LLVMFuzzerMutate(data, size, most);
    return change(&d, data, size, most);
}
