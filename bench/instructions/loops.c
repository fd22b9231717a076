/* One loop of one instruction set, run TIMES times on random letters; prints how much of what it
 * does it has done. See bench/instructions/count, which compiles this with ISA for each of them.
 *
 *     loops ssk|quads|gap|align|gapped|worths ORDER TIMES f64|f32
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#define JOIN(a, b) a##b
#define NAMED(start, isa) JOIN(start, isa)
extern const lth__lanes NAMED(NAMED(lth__lanes_, ISA), _f64), NAMED(NAMED(lth__lanes_, ISA), _f32);
extern const lth__letters NAMED(lth__letters_, ISA);
extern lth__gapped_count NAMED(lth__gapped_, GAPPED_ISA);
#ifdef WORTHS
extern lth__gapped_sum NAMED(lth__gapped_sum_, GAPPED_ISA);
#endif

enum { LENGTH = 120, LETTERS = 20, SLOTS = LETTERS + 1 };

static uint32_t any(uint32_t below) {
    static uint32_t x = 12345;
    x = x * 1103515245 + 12345;
    return (x >> 16) % below;
}

static void *room(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) exit(1);
    return memset(p, 0, (bytes + 127) / 64 * 64);
}

static uint32_t *letters(size_t count) {
    uint32_t *s = room(count * sizeof *s);
    for (size_t i = 0; i < count; i++) s[i] = any(LETTERS);
    return s;
}

static void *similarities(const lth__lanes *lanes, size_t count) {
    void *table = room(count * lanes->real_size);
    for (size_t i = 0; i < count; i++) {
        double x = any(1000) / 1000.;
        if (lanes->real_size == sizeof x)
            ((double *)table)[i] = x;
        else
            ((float *)table)[i] = (float)x;
    }
    return table;
}

/* Cell-orders: cells of all lanes, times the order. */
static double run_ssk(const lth__lanes *lanes, size_t order, size_t times, bool quads, bool gap) {
    size_t n = lanes->lanes;
    lth__ssk_job job = {.order = order,
                        .gap = 0.5,
                        .rows = LENGTH,
                        .cols = LENGTH,
                        .s = letters(n * LENGTH),
                        .t = letters(n * LENGTH),
                        .match = quads ? LTH__MATCH_QUADS : LTH__MATCH_EXACT,
                        .slots = SLOTS};
    job.table = quads ? similarities(lanes, LENGTH * SLOTS) : NULL;
    job.scratch = room(lanes->ssk_scratch(&job, gap));
    double *value = room(order * n * sizeof *value), *slope = room(order * n * sizeof *slope);
    for (size_t i = 0; i < times; i++) lanes->ssk(&job, value, gap ? slope : NULL);
    return (double)(times * n * LENGTH * LENGTH * order);
}

/* Cells of all lanes. */
static double run_align(const lth__letters *loops, size_t times) {
    size_t n = loops->lanes, places = LENGTH + 2 * LTH__ALIGN_PAD;
    uint32_t *letter = letters(places * n);
    double *factor = room((SLOTS + 3) / 4 * 4 * SLOTS * sizeof *factor);
    for (size_t i = 0; i < (SLOTS + 3) / 4 * 4 * SLOTS; i++) factor[i] = any(1000) / 1000.;
    lth__align_job job = {.rows = LENGTH,
                          .cols = LENGTH,
                          .shared = letters(LENGTH),
                          .letter = letter,
                          .factor = factor,
                          .slots = SLOTS,
                          .open = 0.01,
                          .extend = 0.5};
    job.scratch = room(loops->align_scratch(&job, false));
    double sum[LTH__MAX_LANES];
    int level[LTH__MAX_LANES];
    for (size_t i = 0; i < times; i++) loops->align(&job, sum, level, NULL);
    return (double)(times * n * LENGTH * LENGTH);
}

/* Pairs of windows. */
static double run_gapped(size_t width, size_t times, bool worths) {
    enum { LONG = 600 };
    uint8_t *text = room(LONG + 2 * LTH__LETTER_PAD), *col = text + LTH__LETTER_PAD;
    uint8_t *row = room(LONG);
    memset(text, LTH__NO_LETTER, LONG + 2 * LTH__LETTER_PAD);
    for (size_t i = 0; i < LONG; i++) {
        row[i] = (uint8_t)any(4);
        col[i] = (uint8_t)any(4);
    }
    lth__gapped_job job = {.width = width,
                           .least = width - 4,
                           .row = row,
                           .col = col,
                           .rows = LONG,
                           .cols = LONG,
                           .scratch = room(LONG + 2 * LTH__LETTER_PAD)};
    uint64_t counts[LTH__MOST_WIDTH + 1] = {0};
    for (size_t i = 0; i < times && !worths; i++) NAMED(lth__gapped_, GAPPED_ISA)(&job, counts);
#ifdef WORTHS
    uint8_t worth[LTH__WORTHS] = {0, 0, 0, 0, 0, 0, 1, 7, 28, 84, 210};
    for (size_t i = 0; i < times && worths; i++)
        counts[0] += NAMED(lth__gapped_sum_, GAPPED_ISA)(&job, worth);
#endif
    return (double)(times * (LONG - width + 1) * (LONG - width + 1));
}

int main(int count, char **argument) {
    if (count != 5) return 2;
    const char *loop = argument[1];
    size_t order = strtoul(argument[2], NULL, 10), times = strtoul(argument[3], NULL, 10);
    const lth__lanes *lanes = strcmp(argument[4], "f32") == 0
                                  ? &NAMED(NAMED(lth__lanes_, ISA), _f32)
                                  : &NAMED(NAMED(lth__lanes_, ISA), _f64);
    bool worths = strcmp(loop, "worths") == 0;
    double done =
        strcmp(loop, "align") == 0 ? run_align(&NAMED(lth__letters_, ISA), times)
        : worths || strcmp(loop, "gapped") == 0
            ? run_gapped(order, times, worths)
            : run_ssk(lanes, order, times, strcmp(loop, "quads") == 0, strcmp(loop, "gap") == 0);
    printf("%.0f\n", done);
    return 0;
}
