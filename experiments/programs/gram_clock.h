/* What the programs that time string kernels share: strings of a table, a clock, a way to repeat.
 */
#ifndef GRAM_CLOCK_H
#define GRAM_CLOCK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ORDER = 5, MOST = 400, LONGEST = 128 };
#define GAP 0.5

typedef struct strings {
    size_t count, length;
    char *text[MOST];
} strings;

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The rows of a table of one column, all of the same length. */
static inline strings read_strings(const char *path) {
    strings s = {0};
    char line[4096];
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) exit(1);
    while (s.count < MOST && fgets(line, sizeof line, file)) {
        s.length = strcspn(line, "\n");
        if (s.length > LONGEST) exit(1);
        line[s.length] = 0;
        s.text[s.count++] = strdup(line);
    }
    fclose(file);
    return s;
}

/* The sum over a pair's kernel values, and with gradients by the gap, by the match and by each
 * weight. */
typedef struct pair_result {
    double value, gap, match, weights[ORDER];
} pair_result;

typedef void pair_function(const char *s, const char *t, size_t length, int gradients,
                           pair_result *out);

/* The best time of a whole Gram matrix (its upper half), and the sum of its entries. */
static inline void report(const char *what, const strings *s, pair_function *f, int gradients) {
    double best = 1e30, began = now(), sum = 0, by_gap = 0;
    for (int round = 0; round < 3 || now() - began < 0.3; round++) {
        double start = now();
        sum = by_gap = 0;
        for (size_t a = 0; a < s->count; a++) {
            for (size_t b = a; b < s->count; b++) {
                pair_result r = {0};
                f(s->text[a], s->text[b], s->length, gradients, &r);
                sum += (a == b ? 1 : 2) * r.value;
                by_gap += (a == b ? 1 : 2) * r.gap;
            }
        }
        double seconds = now() - start;
        if (seconds < best) best = seconds;
    }
    printf("%s\t%.6g\t%.12g\t%.12g\n", what, best, sum, by_gap);
}

static inline void time_both(strings *s, pair_function *f) {
    report("value", s, f, 0);
    report("gradients", s, f, 1);
    for (size_t i = 0; i < s->count; i++) free(s->text[i]);
}

#endif
