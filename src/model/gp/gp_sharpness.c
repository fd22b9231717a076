#include "model/gp/gp_sharpness.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Probabilities ---- */

void lth__gp_probability(const lth_gp *gp, const lth__softmax_points *points, const double *mean,
                         const double *spread, double *out) {
    if (gp->likelihood->coupled) {
        lth__softmax_probability(points, mean, spread, out);
        return;
    }
    lth__terms terms = lth__gp_terms(gp, 0);
    for (size_t i = 0; i < gp->latents; i++) /* no more than classes */
        out[i] = gp->likelihood->probability(&terms, mean[i], spread[i]);
    lth__classes_share(gp->classes, out);
}

/* The same power of all, and again of the sum 1. */
static void sharpen(size_t classes, double power, double *p) {
    double most = 0, sum = 0;
    for (size_t k = 0; k < classes; k++) most = fmax(most, p[k]);
    for (size_t k = 0; k < classes; k++) sum += p[k] = pow(p[k] / most, power);
    for (size_t k = 0; k < classes; k++) p[k] /= sum;
}

void lth__gp_sharpen(const lth_gp *gp, double *probability) {
    const lth__classes *c = gp->classes;
    double power = gp->report.sharpness;
    if (power == 0 || power == 1) return; /* the bits of before */
    if (!c->multi) {
        sharpen(c->class_count, power, probability);
        return;
    }
    for (size_t k = 0; k < c->class_count; k++) {
        double two[2] = {probability[k], 1 - probability[k]};
        sharpen(2, power, two);
        probability[k] = two[0];
    }
}

/* ---- Learning ---- */

/* Questions with two or more answers each: of a row its classes, or each of its labels. */
typedef struct answers {
    size_t questions, choices;
    double *log_p;        /* [question][choice], the largest 0    */
    size_t *right;        /* by question                          */
    const double *weight; /* by row; NULL = 1                     */
    size_t of_row;        /* questions                            */
    double miss;          /* the share of t that the others have  */
    bool only_sharper;    /* c is not below 1                     */
} answers;

static const double prior_slope = 2;
/* Nothing that rows say goes beyond. */
static const double most_power = 32;

static double weight_of(const answers *a, size_t question) {
    return a->weight ? a->weight[question / a->of_row] : 1;
}

/* -sum_k t_k log p_k' of a question, with so much of t for wrong answers. */
static double loss_of(const answers *a, size_t question, double power, double miss) {
    const double *log_p = a->log_p + question * a->choices;
    double sum = 0, others = 0;
    for (size_t k = 0; k < a->choices; k++) {
        sum += exp(power * log_p[k]);
        if (k != a->right[question]) others += log_p[k] / (double)(a->choices - 1);
    }
    return log(sum) - power * ((1 - miss) * log_p[a->right[question]] + miss * others);
}

static double loss(const answers *a, double power, double miss) {
    double sum = 0;
    for (size_t q = 0; q < a->questions; q++) sum += weight_of(a, q) * loss_of(a, q, power, miss);
    return sum;
}

static double height(const answers *a, double log_power) {
    return -loss(a, exp(log_power), a->miss) - prior_slope * fabs(log_power);
}

/* The best of even steps, which have 0 among them: there may be two places where nothing near is
 * better. Then between its neighbours, by the golden section. */
static double find_power(const answers *a) {
    enum { STEPS = 16 };
    const double step = log(most_power) / STEPS, share = (sqrt(5) - 1) / 2;
    double best = 0, top = height(a, 0);
    int least = a->only_sharper ? 0 : -STEPS;
    for (int i = least; i <= STEPS; i++) {
        double found = i == 0 ? top : height(a, i * step);
        if (found > top) top = found, best = i * step;
    }
    double lo = fmax(best - step, least * step), hi = fmin(best + step, STEPS * step);
    while (hi - lo > 1e-6) {
        double left = hi - share * (hi - lo), right = lo + share * (hi - lo);
        if (height(a, left) > height(a, right))
            hi = right;
        else
            lo = left;
    }
    double middle = 0.5 * (lo + hi); /* where the prior has its tip nothing beats it */
    return exp(height(a, middle) > top ? middle : best);
}

/* Of the row's probabilities p: those of its questions. */
static void ask(const lth_gp *gp, size_t row, const double *p, answers *a) {
    const lth__classes *c = gp->classes;
    size_t n = gp->rows;
    for (size_t k = 0; k < a->of_row; k++) {
        size_t question = row * a->of_row + k, right = 0;
        double *log_p = a->log_p + question * a->choices, most = -INFINITY;
        double two[2] = {1 - p[k], p[k]};
        if (c->multi || gp->latents == 1) {
            right = gp->y[k * n + row] > 0;
        } else {
            while (!(gp->y[right * n + row] > 0)) right++;
        }
        const double *of = c->multi ? two : p;
        for (size_t i = 0; i < a->choices; i++) {
            log_p[i] = log(fmax(of[i], DBL_MIN));
            most = fmax(most, log_p[i]);
        }
        for (size_t i = 0; i < a->choices; i++) log_p[i] -= most;
        a->right[question] = right;
    }
}

static lth_status ask_all(const lth_gp *gp, const double *mean, const double *spread, answers *a,
                          lth_error *err) {
    size_t classes = gp->classes->class_count, spreads = lth__gp_spreads(gp);
    lth__softmax_points points = {0};
    double *p = lth__alloc(classes, sizeof *p), rows = 0;
    lth_status status = p ? LTH_OK : lth__fail_memory(err, classes * sizeof *p);
    if (status == LTH_OK && gp->likelihood->coupled)
        status = lth__softmax_points_make(gp->latents, &points, err);
    for (size_t i = 0; i < gp->rows && status == LTH_OK; i++) {
        lth__gp_probability(gp, &points, mean + i * gp->latents, spread + i * spreads, p);
        ask(gp, i, p, a);
        rows += a->weight ? a->weight[i] : 1;
    }
    a->miss = 1 / (rows + 2);
    lth__softmax_points_free(&points);
    lth__free(p);
    return status;
}

/* Mean over rows of the loss of their labels as they are. */
static double mean_loss(const answers *a, double power) {
    double weights = 0;
    for (size_t q = 0; q < a->questions; q += a->of_row) weights += weight_of(a, q);
    return loss(a, power, 0) / weights;
}

bool lth__gp_learns_sharpness(const lth_gp *gp) {
    return gp->calibrates && gp->classes && !gp->only_predicts;
}

lth_status lth__gp_learn_sharpness(lth_gp *gp, const double *mean, const double *spread,
                                   lth_error *err) {
    const lth__classes *c = gp->classes;
    answers a = {.of_row = c->multi ? c->class_count : 1,
                 .choices = c->multi ? 2 : c->class_count,
                 .weight = gp->known.weight,
                 .only_sharper = gp->posterior == &lth__inducing};
    a.questions = gp->rows * a.of_row;
    a.log_p = lth__alloc(a.questions * a.choices, sizeof *a.log_p);
    a.right = lth__alloc(a.questions, sizeof *a.right);
    lth_status status = a.log_p && a.right ? ask_all(gp, mean, spread, &a, err)
                                           : lth__fail_memory(err, a.questions * sizeof *a.log_p);
    if (status == LTH_OK) {
        gp->report.sharpness = find_power(&a);
        gp->report.left_out_loss = mean_loss(&a, gp->report.sharpness);
        gp->report.left_out_loss_plain = mean_loss(&a, 1);
    }
    lth__free(a.log_p);
    lth__free(a.right);
    return status;
}

/* ---- In a file ---- */

enum { NUMBERS = 3 };

void lth__gp_sharpness_save(const lth_gp *gp, lth__saver *s) {
    const lth_gp_report *r = &gp->report;
    if (!s->ok || !gp->classes || r->sharpness == 0) return;
    double *x = lth__saver_keep(s, lth__alloc(NUMBERS, sizeof *x));
    s->ok = s->ok && x;
    if (!s->ok) return;
    x[0] = r->sharpness;
    x[1] = r->left_out_loss;
    x[2] = r->left_out_loss_plain;
    lth__saver_put(s, "sharpness", LTH__F64, NUMBERS, 0, x);
}

lth_status lth__gp_sharpness_load(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *t;
    if (!gp->classes || !lth__tensors_find(l->file, "sharpness")) return LTH_OK; /* as before */
    LTH_TRY(lth__loader_get(l, "sharpness", LTH__F64, 1, NUMBERS, 0, &t));
    const double *x = t->data;
    bool good = x[0] >= 1 / most_power && x[0] <= most_power && x[1] >= 0 && x[2] >= 0;
    if (!good) return lth__loader_damaged(l, "sharpness");
    gp->report.sharpness = x[0];
    gp->report.left_out_loss = x[1];
    gp->report.left_out_loss_plain = x[2];
    return LTH_OK;
}
