/* Counts pairs of windows by how many letters they have in common at the same place. A stub defines
 * BYTES, the width of its vectors, GAPPED and WEIGHED, and includes this.
 *
 * The windows at (i, j) and (i+1, j+1) share all letters but one at each end, so along a diagonal
 * one comparison comes and one goes. `same` is what all letters of the next window but its last
 * have in common:
 *
 *     at (i, j):   all = same + [x_(i+w-1) = y_(j+w-1)]     counted
 *                  same = all - [x_i = y_j]
 *
 * A vector has neighbouring diagonals d = j - i. Where some of them are outside of the matrix they
 * are compared with paddings, and not counted.
 */
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#elif defined __ARM_NEON
#include <arm_neon.h>
#endif

#include "base/copied.h"
#include "engine/engine.h"

typedef uint8_t bytes __attribute__((vector_size(BYTES)));

static inline bytes load(const uint8_t *p) {
    bytes v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline bytes all_of(uint8_t x) {
    return x - (bytes){0};
}

/* -1 where they are. */
static inline bytes equal(bytes a, bytes b) {
    return (bytes)(a == b);
}

static void add_bytes(bytes v, uint64_t *to) {
    uint8_t byte[BYTES];
    memcpy(byte, &v, sizeof v);
    for (size_t lane = 0; lane < BYTES; lane++) *to += byte[lane];
}

/* 255 for every column with a window, 0 around them. */
static const uint8_t *mark_columns(const lth__gapped_job *job, ptrdiff_t cols) {
    memset(job->scratch, 0, LTH__LETTER_PAD);
    memset(job->scratch + LTH__LETTER_PAD, 255, (size_t)cols);
    memset(job->scratch + LTH__LETTER_PAD + cols, 0, LTH__LETTER_PAD);
    return job->scratch + LTH__LETTER_PAD;
}

/* The first row that a vector of diagonals from d on has a column in. */
static inline ptrdiff_t first_row(ptrdiff_t d) {
    return d + BYTES - 1 < 0 ? 1 - d - BYTES : 0;
}

/* `same` of the first windows. */
static inline bytes begin(const uint8_t *x, const uint8_t *y, ptrdiff_t last) {
    bytes same = all_of(0);
    for (ptrdiff_t t = 0; t < last; t++) same -= equal(load(y + t), all_of(x[t]));
    return same;
}

/* With `kinds` known when this is compiled, the sums stay in registers: bytes, for 255 windows. */
LTH__COPIED void sweep(const lth__gapped_job *job, ptrdiff_t rows, ptrdiff_t cols, size_t kinds,
                       uint64_t *count) {
    bytes sum[LTH__MOST_WIDTH + 1], kind[LTH__MOST_WIDTH + 1];
    ptrdiff_t last = (ptrdiff_t)job->width - 1;
    const uint8_t *x = job->row, *inside = mark_columns(job, cols);
    size_t used = 0;
#pragma GCC unroll 8
    for (size_t e = 0; e < kinds; e++) {
        sum[e] = all_of(0);
        kind[e] = all_of((uint8_t)(job->least + e));
    }
    for (ptrdiff_t d = 1 - rows; d < cols; d += BYTES) {
        ptrdiff_t i = first_row(d), end = cols - d < rows ? cols - d : rows;
        const uint8_t *y = job->col + d;
        bytes same = begin(x + i, y + i, last);
        for (; i < end; i++) {
            bytes all = same - equal(load(y + i + last), all_of(x[i + last]));
            same = all + equal(load(y + i), all_of(x[i]));
            all &= load(inside + d + i);
#pragma GCC unroll 8
            for (size_t e = 0; e < kinds; e++) sum[e] -= equal(all, kind[e]);
            if (++used < 255) continue;
            used = 0;
#pragma GCC unroll 8
            for (size_t e = 0; e < kinds; e++) {
                add_bytes(sum[e], &count[e]);
                sum[e] = all_of(0);
            }
        }
    }
#pragma GCC unroll 8
    for (size_t e = 0; e < kinds; e++) add_bytes(sum[e], &count[e]);
}

void GAPPED(const lth__gapped_job *job, uint64_t *count);

void GAPPED(const lth__gapped_job *job, uint64_t *count) {
    ptrdiff_t rows = (ptrdiff_t)(job->rows - job->width) + 1;
    ptrdiff_t cols = (ptrdiff_t)(job->cols - job->width) + 1;
    size_t kinds = job->width - job->least + 1;
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

/* ---- By weights ---- */

/* Twice the distance from the middle. */
static inline size_t from_middle(ptrdiff_t at, ptrdiff_t windows) {
    ptrdiff_t twice = 2 * at - (windows - 1);
    return (size_t)(twice < 0 ? -twice : twice);
}

/* A bit for each byte that is 255, the others being 0. */
static inline uint64_t bits_of(bytes v) {
#if BYTES == 64 && defined __AVX512BW__
    return _mm512_movepi8_mask((__m512i)v);
#elif BYTES == 32 && defined __AVX2__
    return (uint32_t)_mm256_movemask_epi8((__m256i)v);
#elif BYTES == 16 && defined __ARM_NEON
    static const uint8_t bit[BYTES] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    if (vmaxvq_u8(v) == 0) return 0; /* mostly */
    bytes bits = v & vld1q_u8(bit);
    return vaddv_u8(vget_low_u8(bits)) | (uint64_t)vaddv_u8(vget_high_u8(bits)) << 8;
#else
    uint64_t eight[BYTES / 8], bits = 0;
    memcpy(eight, &v, sizeof v);
    for (size_t i = 0; i < BYTES / 8; i++)
        bits |= ((eight[i] & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56)
                << 8 * i;
    return bits;
#endif
}

/* Few windows count, so these are taken one by one. The i-th of the row and those from the j-th of
 * the column on; `hit` is 255 where they do. */
static inline void weigh_hits(const lth__gapped_job *job, ptrdiff_t i, ptrdiff_t j, bytes all,
                              bytes hit, const uint64_t *weight, uint64_t *count) {
    uint64_t rest = bits_of(hit);
    if (rest == 0) return;
    uint8_t same[BYTES];
    memcpy(same, &all, sizeof all);
    ptrdiff_t last = (ptrdiff_t)job->width - 1, cols = (ptrdiff_t)job->cols - last;
    uint64_t row = weight[from_middle((ptrdiff_t)job->before + i, (ptrdiff_t)job->windows)];
    for (; rest != 0; rest &= rest - 1) {
        ptrdiff_t lane = __builtin_ctzll(rest);
        count[same[lane] - job->least] += row * weight[from_middle(j + lane, cols)];
    }
}

void WEIGHED(const lth__gapped_job *job, const uint64_t *weight, uint64_t *count);

/* As sweep(). */
void WEIGHED(const lth__gapped_job *job, const uint64_t *weight, uint64_t *count) {
    ptrdiff_t last = (ptrdiff_t)job->width - 1;
    ptrdiff_t rows = (ptrdiff_t)job->rows - last, cols = (ptrdiff_t)job->cols - last;
    const uint8_t *x = job->row, *inside = mark_columns(job, cols);
    bytes least = all_of((uint8_t)job->least);
    for (ptrdiff_t d = 1 - rows; d < cols; d += BYTES) {
        ptrdiff_t i = first_row(d), end = cols - d < rows ? cols - d : rows;
        const uint8_t *y = job->col + d;
        bytes same = begin(x + i, y + i, last);
        for (; i < end; i++) {
            bytes all = same - equal(load(y + i + last), all_of(x[i + last]));
            same = all + equal(load(y + i), all_of(x[i]));
            bytes hit = (bytes)(all >= least) & load(inside + d + i);
            weigh_hits(job, i, d + i, all, hit, weight, count);
        }
    }
}
