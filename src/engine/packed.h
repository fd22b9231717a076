/* The lower triangle of a symmetric matrix, packed in panels of rows.
 *
 *     panel 0   x x            Panel p has the rows pH .. pH + H - 1 and the columns that these
 *               x x            need, 0 .. (p + 1) H - 1, row major and without gaps. So every
 *     panel 1   x x x x        panel is a matrix that BLAS can be given, about half of the memory
 *               x x x x        of the whole is enough, and the cells of a row lie side by side.
 *     panel 2   x x x x x      What is above the diagonal inside of a panel is not read, unless
 *                              it is said to be 0.
 *
 * H depends on the size of the matrix alone, and with it the order of all sums.
 */
#ifndef LTH_PACKED_H
#define LTH_PACKED_H

#include <stddef.h>
#include <stdint.h>

typedef struct lth__packed {
    size_t n;
    unsigned shift; /* H is a power of two: 1 << shift                                        */
    size_t ld;      /* 0, or the row length of a whole matrix of which this is the lower half */
    double *cells;  /* in double precision, or                                                */
    float *singles; /* in single precision                                                    */
} lth__packed;

/* The layout of an n x n matrix, without cells. */
static inline lth__packed lth__packed_layout(size_t n) {
    return (lth__packed){.n = n, .shift = n < 1536 ? 6 : n < 8192 ? 7 : 8};
}

static inline size_t lth__packed_height(const lth__packed *a) {
    return (size_t)1 << a->shift;
}

static inline size_t lth__packed_panels(const lth__packed *a) {
    return (a->n + lth__packed_height(a) - 1) >> a->shift;
}

/* The rows of panel p, its columns, and where its first cell is. */
static inline size_t lth__packed_rows(const lth__packed *a, size_t p) {
    size_t left = a->n - (p << a->shift), height = lth__packed_height(a);
    return left < height ? left : height;
}

static inline size_t lth__packed_cols(const lth__packed *a, size_t p) {
    size_t end = (p + 1) << a->shift;
    return end < a->n ? end : a->n;
}

static inline size_t lth__packed_panel(const lth__packed *a, size_t p) {
    return a->ld ? (p << a->shift) * a->ld : (p * (p + 1) / 2) << (2 * a->shift);
}

/* From a row of panel p to the next. */
static inline size_t lth__packed_stride(const lth__packed *a, size_t p) {
    return a->ld ? a->ld : lth__packed_cols(a, p);
}

/* Where row i begins; its cell j, at most i, is j further. */
static inline size_t lth__packed_row(const lth__packed *a, size_t i) {
    size_t p = i >> a->shift;
    return lth__packed_panel(a, p) + (i - (p << a->shift)) * lth__packed_stride(a, p);
}

/* Cells of an n x n matrix, for rows that are counted in 32 bits. */
static inline size_t lth__packed_count(size_t n) {
    lth__packed a = lth__packed_layout(n);
    return n > 0 ? lth__packed_row(&a, n - 1) + n : 0;
}

/* Their bytes, SIZE_MAX when these cannot be counted. */
static inline size_t lth__packed_bytes(size_t n, size_t size) {
    if (n > UINT32_MAX) return SIZE_MAX;
    size_t count = lth__packed_count(n);
    return count > SIZE_MAX / size ? SIZE_MAX : count * size;
}

#endif
