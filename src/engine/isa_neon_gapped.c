#define BYTES 16
#define GAPPED lth__gapped_neon
#define WEIGHED lth__gapped_weigh_neon
#include "engine/gapped_count.h"

enum { VECTORS = 2, MOST_SUMMED = 128 }; /* so many bytes, in pairs, fit 16 bits */

lth__gapped_sum lth__gapped_sum_neon;

/* As sweep(), with one look-up where that compares with each kind; two vectors at once, since each
 * waits for its last row. */
uint64_t lth__gapped_sum_neon(const lth__gapped_job *job, const uint8_t *worth) {
    ptrdiff_t last = (ptrdiff_t)job->width - 1;
    ptrdiff_t rows = (ptrdiff_t)job->rows - last, cols = (ptrdiff_t)job->cols - last;
    const uint8_t *x = job->row, *inside = mark_columns(job, cols);
    const uint8x16_t table = vld1q_u8(worth);
    uint64_t total = 0;
    for (ptrdiff_t d = 1 - rows; d < cols; d += VECTORS * BYTES) {
        ptrdiff_t i = 1 - d - VECTORS * BYTES, end = cols - d < rows ? cols - d : rows;
        const uint8_t *y = job->col + d;
        if (i < 0) i = 0;
        bytes same[VECTORS];
        for (int v = 0; v < VECTORS; v++) same[v] = begin(x + i, y + i + v * BYTES, last);
        while (i < end) {
            ptrdiff_t stop = end - i < MOST_SUMMED ? end : i + MOST_SUMMED;
            uint16x8_t sum[VECTORS] = {vdupq_n_u16(0), vdupq_n_u16(0)};
            for (; i < stop; i++) {
                const bytes comes = all_of(x[i + last]), goes = all_of(x[i]);
#pragma GCC unroll 2
                for (int v = 0; v < VECTORS; v++) {
                    const uint8_t *at = y + i + v * BYTES;
                    bytes all = same[v] - equal(load(at + last), comes);
                    same[v] = all + equal(load(at), goes);
                    all &= load(inside + d + i + v * BYTES);
                    sum[v] = vpadalq_u8(sum[v], vqtbl1q_u8(table, all));
                }
            }
            for (int v = 0; v < VECTORS; v++) total += vaddlvq_u16(sum[v]);
        }
    }
    return total;
}
