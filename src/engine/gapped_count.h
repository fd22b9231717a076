/* Counts pairs of windows by how many letters they have in common at the same place. A stub defines
 * BYTES, the width of its vectors, and GAPPED, and includes this.
 *
 * The windows at (i, j) and (i+1, j+1) share all letters but one of each end, so along a diagonal
 * one comparison comes and one goes. `same` has, for each diagonal, what all letters of its next
 * window but the last have in common:
 *
 *     at (i, j):   all = same + [x_(i+w-1) = y_(j+w-1)]     counted
 *                  same = all - [x_i = y_j]
 *
 * A vector has neighbours in j. Those past the last are compared with paddings and not counted.
 */
#include <string.h>

#include "engine/engine.h"

typedef uint8_t bytes __attribute__((vector_size(BYTES)));

/* Equal letters are -1 in each byte. */
static inline bytes load(const uint8_t *p) {
    bytes v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(uint8_t *p, bytes v) {
    memcpy(p, &v, sizeof v);
}

static inline bytes all_of(uint8_t x) {
    return x - (bytes){0};
}

/* A letter that is compared with those of the other sequence. */
static inline bytes letter(uint8_t x) {
    return all_of(x == LTH__NO_LETTER ? LTH__NO_LETTER - 1 : x);
}

static inline bytes equal(bytes a, bytes b) {
    return (bytes)(a == b);
}

/* What the windows of row 0 and of column 0 have in common but for their last letters; diagonals
 * are numbered from the last row's first. */
static void begin(const lth__gapped_job *job, size_t rows, size_t cols) {
    size_t w = job->width;
    for (size_t k = 0; k + 1 < rows; k += BYTES) {
        bytes sum = all_of(0);
        for (size_t t = 0; t + 1 < w; t++)
            sum -= equal(load(job->backwards + k + w - 1 - t), letter(job->col[t]));
        store(job->scratch + k, sum);
    }
    for (size_t j = 0; j < cols; j += BYTES) { /* over what the last vector above had too much */
        bytes sum = all_of(0);
        for (size_t t = 0; t + 1 < w; t++)
            sum -= equal(load(job->col + j + t), letter(job->row[t]));
        store(job->scratch + rows - 1 + j, sum);
    }
}

static void add_bytes(bytes v, uint64_t *to) {
    uint8_t byte[BYTES];
    store(byte, v);
    for (size_t lane = 0; lane < BYTES; lane++) *to += byte[lane];
}

static const uint8_t keeps[2 * BYTES] = {
    [0 ... BYTES - 1] = 255, /* then none */
};

/* With `kinds` known when this is compiled, the sums stay in registers: bytes, for 255 vectors. */
static inline __attribute__((always_inline)) void sweep(const lth__gapped_job *job, size_t rows,
                                                        size_t cols, size_t kinds,
                                                        uint64_t *count) {
    bytes sum[LTH__MOST_WIDTH + 1], kind[LTH__MOST_WIDTH + 1];
    const uint8_t *next = job->col + job->width - 1;
    size_t used = 0;
#pragma GCC unroll 8
    for (size_t e = 0; e < kinds; e++) {
        sum[e] = all_of(0);
        kind[e] = all_of((uint8_t)(job->least + e));
    }
    for (size_t i = 0; i < rows; i++) {
        uint8_t *same = job->scratch + rows - 1 - i;
        bytes goes = letter(job->row[i]), comes = letter(job->row[i + job->width - 1]);
        for (size_t j = 0; j < cols; j += BYTES) {
            bytes all = load(same + j) - equal(load(next + j), comes);
            store(same + j, all + equal(load(job->col + j), goes));
            if (cols - j < BYTES) all &= load(keeps + BYTES - (cols - j));
#pragma GCC unroll 8
            for (size_t e = 0; e < kinds; e++) sum[e] -= equal(all, kind[e]);
            if (++used < 255 && (i + 1 < rows || j + BYTES < cols)) continue;
            used = 0;
#pragma GCC unroll 8
            for (size_t e = 0; e < kinds; e++) {
                add_bytes(sum[e], &count[e]);
                sum[e] = all_of(0);
            }
        }
    }
}

void GAPPED(const lth__gapped_job *job, uint64_t *count);

void GAPPED(const lth__gapped_job *job, uint64_t *count) {
    size_t rows = job->rows - job->width + 1, cols = job->cols - job->width + 1;
    size_t kinds = job->width - job->least + 1;
    begin(job, rows, cols);
    switch (kinds) {
    case 1: sweep(job, rows, cols, 1, count); break;
    case 2: sweep(job, rows, cols, 2, count); break;
    case 3: sweep(job, rows, cols, 3, count); break;
    case 4: sweep(job, rows, cols, 4, count); break;
    case 5: sweep(job, rows, cols, 5, count); break;
    case 6: sweep(job, rows, cols, 6, count); break;
    default: sweep(job, rows, cols, kinds, count);
    }
}
