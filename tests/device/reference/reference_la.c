/* Local alignments of the reference device: the sums of kernel/string/local_alignment.h, cell by
 * cell, in long doubles, whose range is enough for a thousand letters.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference_device.h"

/* Alignments: all, and times their score of pairs, their runs, their letters skipped after the
 * first of a run. */
enum { WEIGHT, SCORE, RUNS, SKIPPED, SUMS };

typedef struct cell {
    long double pair[SUMS], skip_x[SUMS], skip_y[SUMS]; /* that end so */
} cell;

/* exp(beta score) of letters, and of what is skipped. */
typedef struct factors {
    long double open, extend, pair[LTH__DEVICE_LETTERS * LTH__DEVICE_LETTERS];
} factors;

LTH__REF_UNWATCHED static void fill_cell(const factors *f, double score, long double factor,
                                         const cell *corner, const cell *above, const cell *left,
                                         cell *out) {
    for (int q = 0; q < SUMS; q++) {
        long double before = corner->pair[q] + corner->skip_x[q] + corner->skip_y[q];
        out->pair[q] = factor * (before + (q == WEIGHT));
        out->skip_x[q] = f->open * above->pair[q] + f->extend * above->skip_x[q];
        out->skip_y[q] = f->open * (left->pair[q] + left->skip_x[q]) + f->extend * left->skip_y[q];
    }
    out->pair[SCORE] += score * out->pair[WEIGHT];
    out->skip_x[RUNS] += f->open * above->pair[WEIGHT];
    out->skip_x[SKIPPED] += f->extend * above->skip_x[WEIGHT];
    out->skip_y[RUNS] += f->open * (left->pair[WEIGHT] + left->skip_x[WEIGHT]);
    out->skip_y[SKIPPED] += f->extend * left->skip_y[WEIGHT];
}

static factors factors_of(const lth__device_la *job) {
    long double beta = job->theta[LTH__ALIGN_BETA];
    factors f = {.open = expl(-beta * job->theta[LTH__ALIGN_OPEN]),
                 .extend = expl(-beta * job->theta[LTH__ALIGN_EXTEND])};
    for (int i = 0; i < LTH__DEVICE_LETTERS * LTH__DEVICE_LETTERS; i++)
        f.pair[i] = expl(beta * job->score[i]);
    return f;
}

static size_t place_of(uint32_t a, uint32_t b) {
    if (a >= LTH__DEVICE_LETTERS || b >= LTH__DEVICE_LETTERS)
        lth__ref_abort("letters %u and %u, where there are %d", a, b, LTH__DEVICE_LETTERS);
    return a * LTH__DEVICE_LETTERS + b;
}

/* room: two rows of cells, with one to the left of each. */
static lth__device_self align(const lth__device_la *job, const factors *f, lth__ref_string s,
                              lth__ref_string t, cell *room) {
    const double *theta = job->theta;
    double beta = theta[LTH__ALIGN_BETA];
    long double total[SUMS] = {0};
    cell *above = room, *row = room + t.length + 1;
    memset(room, 0, 2 * (t.length + 1) * sizeof *room);
    for (size_t r = 0; r < s.length; r++) {
        for (size_t c = 0; c < t.length; c++) {
            size_t at = place_of(s.symbol[r], t.symbol[c]);
            fill_cell(f, job->score[at], f->pair[at], &above[c], &above[c + 1], &row[c],
                      &row[c + 1]);
            for (int q = 0; q < SUMS; q++) total[q] += row[c + 1].pair[q];
        }
        cell *other = above;
        above = row, row = other;
    }
    double runs = (double)(total[RUNS] / total[WEIGHT]);
    double skipped = (double)(total[SKIPPED] / total[WEIGHT]);
    lth__device_self x = {.log_sum = (double)logl(total[WEIGHT])};
    x.slope[LTH__ALIGN_BETA] = (double)(total[SCORE] / total[WEIGHT]) -
                               theta[LTH__ALIGN_OPEN] * runs - theta[LTH__ALIGN_EXTEND] * skipped;
    x.slope[LTH__ALIGN_OPEN] = -beta * runs;
    x.slope[LTH__ALIGN_EXTEND] = -beta * skipped;
    return x;
}

/* k and its derivatives by the parameters. */
static double compare(const lth__device_la *job, const factors *f, size_t row, size_t col,
                      cell *room, double slope[LTH__ALIGN_PARAMS]) {
    lth__ref_string s = lth__ref_string_at(job->rows, row);
    lth__ref_string t = lth__ref_string_at(job->cols, col);
    memset(slope, 0, LTH__ALIGN_PARAMS * sizeof *slope);
    if (s.length == 0 || t.length == 0) return 0;
    if (s.length == t.length && memcmp(s.symbol, t.symbol, s.length * sizeof *s.symbol) == 0)
        return 1;
    const lth__device_self both = align(job, f, s, t, room), *x = &job->row_self[row],
                           *y = &job->col_self[col];
    double power = job->theta[LTH__ALIGN_POWER];
    double ratio = both.log_sum - (x->log_sum + y->log_sum) / 2, k = exp(power * ratio);
    for (int p = LTH__ALIGN_BETA; p < LTH__ALIGN_POWER; p++)
        slope[p] = k * power * (both.slope[p] - (x->slope[p] + y->slope[p]) / 2);
    slope[LTH__ALIGN_POWER] = k * ratio;
    return k;
}

/* ---- All pairs ---- */

static void do_pair(const lth__device_la *job, const factors *f, size_t r, size_t c, cell *room) {
    const lth__panel *p = &job->panel;
    bool mirrored = p->symmetric && c < p->rows && r != c;
    if (mirrored && c < r) return; /* the other one stands for both */
    double slope[LTH__ALIGN_PARAMS];
    double k = compare(job, f, p->first_row + r, p->first_col + c, room, slope);
    if (job->K) job->K[r * job->ld + c] = k;
    if (job->K && mirrored) job->K[c * job->ld + r] = k;
    double weight = job->W ? (mirrored ? 2 : 1) * job->W[r * job->ld + c] : 0;
    for (int q = 0; job->W && q < LTH__ALIGN_PARAMS; q++) job->sums[q] += weight * slope[q];
}

lth_status lth__ref_la(lth__device *d, const lth__device_la *job, lth_error *err) {
    LTH__REF_DO(d);
    const lth__panel *p = &job->panel;
    lth__ref_check_gpu(d, job->rows->gpu, "a collection of strings");
    lth__ref_check_gpu(d, job->cols->gpu, "a collection of strings");
    lth__ref_check_panel(d, job->K, job->ld, p, "K of la");
    lth__ref_check_panel(d, job->W, job->ld, p, "W of la");
    if (p->symmetric && (p->first_row != p->first_col || job->rows != job->cols))
        lth__ref_abort("a panel that is not symmetric");
    void *room;
    lth_status status = lth__ref_get(d, 2 * (job->cols->longest + 1) * sizeof(cell), &room, err);
    if (status != LTH_OK) return status;
    factors f = factors_of(job);
    for (int q = 0; job->W && q < LTH__ALIGN_PARAMS; q++) job->sums[q] = 0;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->cols; c++) do_pair(job, &f, r, c, room);
    lth__ref_drop(d, room);
    return LTH_OK;
}
