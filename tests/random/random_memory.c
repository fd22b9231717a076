/* Memory of a case, and random numbers (splitmix64). */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_case.h"

typedef struct block {
    struct block *next;
} block;

static block *blocks;

void *random_alloc(size_t size) {
    block *b = calloc(1, sizeof *b + size + 1);
    if (!b) abort();
    b->next = blocks;
    blocks = b;
    return b + 1;
}

char *random_print(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = random_alloc((size_t)length + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void random_release(void) {
    while (blocks) {
        block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

static uint64_t state;

uint64_t random_bits(void) {
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void random_seed(uint64_t seed) {
    state = seed;
    state = random_bits();
}

size_t random_below(size_t n) {
    return n ? (size_t)(random_bits() % n) : 0;
}

double random_unit(void) {
    return (double)(random_bits() >> 11) * 0x1p-53;
}

bool random_chance(double p) {
    return random_unit() < p;
}

double random_log(double lo, double hi) {
    return lo * pow(hi / lo, random_unit());
}
