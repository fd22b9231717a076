/* Acquisitions of labels. With the probabilities p(f) of the classes at f, their mean p under the
 * posterior of f, and the entropy H(p) = -sum_c p_c log p_c in nats:
 *
 *     entropy  H(p)
 *     bald     H(p) - E H(p(f)): what the label says of f (Houlsby et al. 2011)
 *     margin   1 - (the largest p - the second)
 *
 * entropy and margin are those of the probabilities that are predicted, as sharp as the model is
 * (gp_sharpness.h). bald is about f, and takes them as the posterior has them.
 * Of several labels a row, entropy and bald are sums over labels, and the margin is that of the
 * least certain one. One latent function is integrated out by quadrature, and several by points
 * that are the same for all rows: bald is then never below 0. Latent functions are independent, but
 * for those of softmax: only their differences say something of the label.
 */
#include "design/label_value.h"

#include <math.h>

#include "model/gp/gp_sharpness.h"
#include "model/likelihood/softmax_points.h"

enum { POINTS = 256 };

static bool by_points(const lth_gp *gp, lth_acquisition which) {
    bool together = gp->latents > 1 && !gp->classes->multi;
    return gp->likelihood->coupled || (together && which == LTH_ACQUIRE_BALD);
}

/* Points that are spread evenly, and their opposites. */
static lth_status make_points(size_t latents, double **out, lth_error *err) {
    size_t half = POINTS / 2 * latents;
    lth__softmax_points even = {0};
    double *points = lth__alloc(2 * half, sizeof *points);
    if (!points) return lth__fail_memory(err, 2 * half * sizeof *points);
    lth_status status = lth__softmax_points_make(latents, &even, err);
    for (size_t i = 0; i < half && status == LTH_OK; i++) {
        points[i] = even.at[i];
        points[half + i] = -even.at[i];
    }
    lth__softmax_points_free(&even);
    if (status == LTH_OK)
        *out = points;
    else
        lth__free(points);
    return status;
}

lth_status lth__label_rule_make(const lth_gp *gp, lth_acquisition which, lth__label_rule *out,
                                lth_error *err) {
    *out = (lth__label_rule){
        .gp = gp, .which = which, .latents = gp->latents, .classes = gp->classes->class_count};
    return by_points(gp, which) ? make_points(gp->latents, &out->points, err) : LTH_OK;
}

void lth__label_rule_free(lth__label_rule *rule) {
    lth__free(rule->points);
    rule->points = NULL;
}

/* ---- Entropies ---- */

static double term(double p) {
    return p > 0 ? -p * log(p) : 0;
}

static double entropy(const double *p, size_t classes) {
    double sum = 0;
    for (size_t c = 0; c < classes; c++) sum += term(p[c]);
    return sum;
}

static double entropy_of_two(double p) {
    return term(p) + term(1 - p);
}

/* ---- One latent function ---- */

/* P(y = 1 | f) */
static double chance(const lth_gp *gp, const lth__terms *terms, double f) {
    return exp(gp->likelihood->at(terms, 1, f).value);
}

static double bald_of_one(const lth_gp *gp, const lth__terms *terms, double mean, double variance) {
    const lth__quadrature *q = lth__quadrature_shared();
    double sd = sqrt(variance), expected = 0, within = 0;
    for (size_t k = 0; k < LTH__NODES; k++) {
        double p = chance(gp, terms, mean + sd * q->node[k]);
        expected += q->weight[k] * p;
        within += q->weight[k] * entropy_of_two(p);
    }
    return fmax(entropy_of_two(fmin(expected, 1)) - within, 0);
}

/* ---- Several ---- */

/* Probabilities of classes at the latent functions f, in place. */
static void share(const lth__label_rule *r, const lth__terms *terms, double *f) {
    if (r->gp->likelihood->coupled) {
        (void)lth__softmax_at(r->classes, 1, f, f);
        return;
    }
    for (size_t i = 0; i < r->latents; i++) f[i] = chance(r->gp, terms, f[i]);
    lth__classes_share(r->gp->classes, f);
}

/* L, with rows of `n`, such that L L^T is the covariance; what rounding makes negative is 0. */
static void factor(const lth__label_rule *r, const double *variance, size_t stride, double *L) {
    size_t n = r->latents;
    bool coupled = r->gp->likelihood->coupled;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            size_t cell = coupled ? i * n + j : i;
            double rest = coupled || i == j ? variance[cell * stride] : 0;
            for (size_t k = 0; k < j; k++) rest -= L[i * n + k] * L[j * n + k];
            if (i == j)
                L[i * n + i] = sqrt(fmax(rest, 0));
            else
                L[i * n + j] = L[j * n + j] > 0 ? rest / L[j * n + j] : 0;
        }
    }
}

/* Mean probabilities over the points, and the mean of their entropies. */
static double average(const lth__label_rule *r, const lth__terms *terms, const double *mean,
                      const double *variance, size_t stride, double *p, double *room) {
    size_t n = r->latents;
    double within = 0, *L = room + r->classes;
    factor(r, variance, stride, L);
    for (size_t c = 0; c < r->classes; c++) p[c] = 0;
    for (size_t k = 0; k < POINTS; k++) {
        const double *z = r->points + k * n;
        for (size_t i = 0; i < n; i++) {
            room[i] = mean[i * stride];
            for (size_t j = 0; j <= i; j++) room[i] += L[i * n + j] * z[j];
        }
        share(r, terms, room);
        for (size_t c = 0; c < r->classes; c++) p[c] += room[c] / POINTS;
        within += entropy(room, r->classes) / POINTS;
    }
    return within;
}

size_t lth__label_room(const lth__label_rule *r) {
    return 2 * r->classes + r->latents * r->latents;
}

static double margin(const lth__label_rule *r, const double *p) {
    double first = 0, second = 0, sure = 1;
    for (size_t c = 0; c < r->classes; c++) {
        if (p[c] > first)
            second = first, first = p[c];
        else if (p[c] > second)
            second = p[c];
        sure = fmin(sure, fabs(2 * p[c] - 1));
    }
    return 1 - (r->gp->classes->multi ? sure : first - second);
}

static double entropies(const lth__label_rule *r, const double *p) {
    double sum = 0;
    if (!r->gp->classes->multi) return entropy(p, r->classes);
    for (size_t c = 0; c < r->classes; c++) sum += entropy_of_two(p[c]);
    return sum;
}

double lth__label_value(const lth__label_rule *r, const double *mean, const double *variance,
                        size_t stride, double *room) {
    lth__terms terms = lth__gp_terms(r->gp, 0);
    double within = 0, sum = 0, *p = room;
    if (r->points)
        within = average(r, &terms, mean, variance, stride, p, room + r->classes);
    else if (r->which == LTH_ACQUIRE_BALD) {
        for (size_t i = 0; i < r->latents; i++)
            sum += bald_of_one(r->gp, &terms, mean[i * stride], variance[i * stride]);
        return sum;
    } else {
        for (size_t i = 0; i < r->latents; i++)
            p[i] = r->gp->likelihood->probability(&terms, mean[i * stride], variance[i * stride]);
        lth__classes_share(r->gp->classes, p);
    }
    if (r->which == LTH_ACQUIRE_BALD) return fmax(entropy(p, r->classes) - within, 0);
    lth__gp_sharpen(r->gp, p);
    return r->which == LTH_ACQUIRE_MARGIN ? margin(r, p) : entropies(r, p);
}
