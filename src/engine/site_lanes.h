/* One site of aligned rows, its letters compared with those of LTH__SITE_COLS columns. Included
 * after the vector vocabulary of an instruction set, doubles alone. */
#include "engine/engine.h"

enum { SITE_SUMS = 16 }; /* so many sums at once: an addition need not wait for the one before */

/* What the row's letter and those of LANES columns count. */
static inline vec site_counts(const lth__site_job *job, size_t row, size_t col,
                              const uint32_t *letter) {
    if (job->profile)
        return v_load_double(job->profile + job->row[row] * (size_t)LTH__SITE_COLS + col);
    vec apart = v_set1(job->apart);
    return apart - v_keep(v_equal(job->col + col, letter), apart);
}

static inline void repeat_letter(uint32_t letter, uint32_t *out) {
    for (size_t lane = 0; lane < LANES; lane++) out[lane] = letter;
}

static void site_add(const lth__site_job *job, double *restrict sum) {
    uint32_t letter[LANES];
    for (size_t r = 0; r < job->rows; r++, sum += LTH__SITE_COLS) {
        repeat_letter(job->row[r], letter);
        for (size_t c = 0; c < LTH__SITE_COLS; c += LANES)
            v_store_double(sum + c, v_load_double(sum + c) + site_counts(job, r, c, letter));
    }
}

static double site_dot(const lth__site_job *job, const double *weight) {
    vec sum[SITE_SUMS / LANES];
    uint32_t letter[LANES];
    for (size_t k = 0; k < SITE_SUMS / LANES; k++) sum[k] = v_zero();
    for (size_t r = 0; r < job->rows; r++, weight += LTH__SITE_COLS) {
        repeat_letter(job->row[r], letter);
        for (size_t c = 0; c < LTH__SITE_COLS; c += SITE_SUMS) {
#pragma GCC unroll 8
            for (size_t k = 0; k < SITE_SUMS / LANES; k++) {
                size_t col = c + k * LANES;
                sum[k] =
                    v_fma(v_load_double(weight + col), site_counts(job, r, col, letter), sum[k]);
            }
        }
    }
    double lane[SITE_SUMS], all = 0;
    for (size_t k = 0; k < SITE_SUMS / LANES; k++) v_store_double(lane + k * LANES, sum[k]);
    for (size_t k = 0; k < SITE_SUMS; k++) all += lane[k];
    return all;
}
