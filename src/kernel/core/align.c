/* Kernel alignment: the cosine of two matrices (Cristianini et al. 2001), centred if asked (Cortes
 * et al. 2012):
 *
 *     <A, B> / sqrt(<A, A> <B, B>),   <A, B> = sum_ij A_ij B_ij
 *     centred:  A_ij - mean of row i - mean of column j + mean of all
 */
#include <math.h>

#include "base/memory.h"

typedef struct side {
    const double *K;
    double *row, *column; /* means; 0 when nothing is taken out */
    double mean;
} side;

/* The largest part of <A, A> that rounding can leave of a matrix that is constant but for it. */
static const double rounding = 1e-24;

static void take_means(side *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            s->row[i] += s->K[i * n + j] / (double)n;
            s->column[j] += s->K[i * n + j] / (double)n;
        }
    }
    for (size_t i = 0; i < n; i++) s->mean += s->row[i] / (double)n;
}

typedef struct sums {
    double ab, aa, bb, raw_a, raw_b; /* raw: before centring */
} sums;

/* Row by row, so that rounding grows with n and not with its square. */
static sums add_products(const side *a, const side *b, size_t n) {
    sums all = {0};
    for (size_t i = 0; i < n; i++) {
        sums row = {0};
        for (size_t j = 0; j < n; j++) {
            double raw_x = a->K[i * n + j], raw_y = b->K[i * n + j];
            double x = raw_x - a->row[i] - a->column[j] + a->mean;
            double y = raw_y - b->row[i] - b->column[j] + b->mean;
            row.ab += x * y;
            row.aa += x * x;
            row.bb += y * y;
            row.raw_a += raw_x * raw_x;
            row.raw_b += raw_y * raw_y;
        }
        all.ab += row.ab;
        all.aa += row.aa;
        all.bb += row.bb;
        all.raw_a += row.raw_a;
        all.raw_b += row.raw_b;
    }
    return all;
}

static lth_status align(const sums *s, bool center, double *out, lth_error *err) {
    if (!isfinite(s->ab) || !isfinite(s->aa) || !isfinite(s->bb))
        return lth__fail(err, LTH_ENUMERIC, "the products of the matrices are too large");
    bool first = s->aa <= rounding * s->raw_a, second = s->bb <= rounding * s->raw_b;
    if (first || second) {
        return lth__fail(err, LTH_ENUMERIC, "the %s matrix is %s: it has no alignment",
                         first ? "first" : "second", center ? "constant" : "zero");
    }
    *out = fmax(-1, fmin(1, s->ab / sqrt(s->aa) / sqrt(s->bb))); /* rounding may pass 1 */
    return LTH_OK;
}

lth_status lth_gram_align(const double *A, const double *B, size_t rows, bool center, double *out,
                          lth_error *err) {
    double *means = lth__calloc(4 * rows, sizeof *means);
    if (!means) return lth__fail_memory(err, 4 * rows * sizeof *means);
    side a = {.K = A, .row = means, .column = means + rows};
    side b = {.K = B, .row = means + 2 * rows, .column = means + 3 * rows};
    if (center) {
        take_means(&a, rows);
        take_means(&b, rows);
    }
    sums s = add_products(&a, &b, rows);
    lth__free(means);
    return align(&s, center, out, err);
}
