/* How a symmetric matrix that stays on a device lies there: one half of it, in panels of rows.
 *
 *     panel 0   x x x x x      Panel k has the rows kH .. kH + H - 1 and the columns from kH on,
 *               x x x x x      row major and without gaps: what an lth__panel of these rows is, so
 *     panel 1       x x x      a Gram matrix is computed where it lies, and every block is a
 *                   x x x      matrix that a BLAS can be given. H is the device's panel_rows. The
 *     panel 2         x        block on the diagonal is whole. Of a Cholesky factor this is the
 *                              upper one, U = L^T, with zeros below the diagonal.
 */
#ifndef LTH_DEVICE_PACKED_H
#define LTH_DEVICE_PACKED_H

#include "kernel/device/device_eval.h"

typedef struct lth__device_rows {
    size_t first, count; /* rows; the columns begin at `first` too */
    size_t ld;           /* columns, and numbers from one row to the next */
    size_t offset;       /* of the first number in the matrix */
} lth__device_rows;

static inline size_t lth__device_panels(const lth__device_eval *e, size_t n) {
    size_t height = e->t->panel_rows;
    return (n + height - 1) / height;
}

static inline lth__device_rows lth__device_rows_of(const lth__device_eval *e, size_t n, size_t k) {
    size_t height = e->t->panel_rows, first = k * height, left = n - first;
    return (lth__device_rows){.first = first,
                              .count = left < height ? left : height,
                              .ld = left,
                              .offset = first * n - first * (first - height) / 2};
}

/* Numbers of the whole, of one row at least: n (n + H) / 2, a little less where the last panel is
 * not full. */
static inline size_t lth__device_packed_count(const lth__device_eval *e, size_t n) {
    lth__device_rows last = lth__device_rows_of(e, n, lth__device_panels(e, n) - 1);
    return last.offset + last.count * last.ld;
}

#endif
