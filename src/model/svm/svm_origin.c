/* One problem of two classes without a threshold, f(x) = sum_i beta_i k(x, x_i), whose surface goes
 * through the origin of the feature space: dual coordinate descent, which in this form is the
 * kernel Adatron (Friess, Cristianini & Campbell 1998).
 *
 *     minimise over beta   beta^T K beta / 2 - sum_i y_i beta_i,   0 <= y_i beta_i <= C_i
 *
 * Where most similarities are close to 0, as those of long subsequences are, a threshold decides
 * alone, and for the larger class; here the nearest rows decide.
 */
#include <math.h>

#include "base/parallel.h"
#include "model/svm/svm.h"

static const double tolerance = 1e-3; /* of y f at the margin, as LIBSVM's */
enum { MOST_PASSES = 10000 };

typedef struct descent {
    const lth__svm_problem *problem;
    double C[2];      /* of y > 0, and of the others           */
    double *beta, *f; /* by row of the problem; f is that of it */
} descent;

static double cell(const descent *d, size_t i, size_t j) {
    return lth__svm_gram_at(d->problem->gram, d->problem->row[i], d->problem->row[j]);
}

/* Moves one beta to where the sum is least; returns how far y f was from where it should be. */
static double improve(descent *d, size_t i) {
    double y = d->problem->y[i], C = d->C[y < 0], alpha = y * d->beta[i];
    double lacks = 1 - y * d->f[i], self = cell(d, i, i);
    bool stays = (alpha <= 0 && lacks < 0) || (alpha >= C && lacks > 0);
    if (stays || fabs(lacks) <= tolerance / 2 || self <= 0) return 0;
    double step = y * (fmin(fmax(alpha + lacks / self, 0), C) - alpha);
    d->beta[i] += step;
    for (size_t j = 0; j < d->problem->count; j++) d->f[j] += step * cell(d, i, j);
    return fabs(lacks);
}

static lth_status descend(descent *d, bool *unfinished, lth_error *err) {
    for (size_t pass = 0; pass < MOST_PASSES; pass++) {
        double worst = 0;
        for (size_t i = 0; i < d->problem->count; i++) worst = fmax(worst, improve(d, i));
        if (worst <= tolerance) return LTH_OK;
        lth_status status = lth__parallel_ask(d->problem->gram->ctx);
        if (status != LTH_OK) return lth__fail(err, status, "%s", lth_status_text(status));
    }
    *unfinished = true;
    return LTH_OK;
}

static lth_status take_solution(const descent *d, lth__svm_solution *out, lth_error *err) {
    const lth__svm_problem *p = d->problem;
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) count += d->beta[i] != 0;
    LTH_TRY(lth__svm_solution_create(count, out, err));
    for (size_t i = 0, used = 0; i < p->count; i++) {
        if (d->beta[i] == 0) continue;
        out->row[used] = p->row[i];
        out->coef[used++] = d->beta[i];
    }
    return LTH_OK;
}

lth_status lth__svm_origin_solve(const lth__svm_problem *p, const lth__svm_setting *s,
                                 lth__svm_solution *out, lth_error *err) {
    descent d = {.problem = p,
                 .C = {s->C * p->weight[0], s->C * p->weight[1]},
                 .beta = lth__calloc(2 * p->count, sizeof *d.beta)};
    if (!d.beta) return lth__fail_memory(err, 2 * p->count * sizeof *d.beta);
    d.f = d.beta + p->count;
    bool unfinished = false;
    lth_status status = descend(&d, &unfinished, err);
    if (status == LTH_OK) status = take_solution(&d, out, err);
    if (status == LTH_OK) out->unfinished = unfinished;
    lth__free(d.beta);
    return status;
}
