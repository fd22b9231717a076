/* Rows with what is known of them: their weights, exposures and noise, put to a likelihood. */
#include <math.h>

#include "model/likelihood/likelihood.h"

lth__terms lth__seen_terms(const lth__seen *s, size_t row, double *room) {
    lth__terms t = s->terms;
    if (!s->likelihood->has_noise || (!s->ratio && !s->added)) return t;
    for (size_t i = 0; i < s->params; i++) room[i] = t.theta[i];
    if (s->ratio) room[0] *= s->ratio[row];
    if (s->added) room[0] += s->added[row] * s->added_unit;
    t.theta = room;
    return t;
}

double lth__seen_place(const lth__seen *s, size_t row, double f) {
    return f + s->link + (s->offset ? s->offset[row] : 0);
}

static lth__log_p times(lth__log_p p, double weight) {
    return (lth__log_p){p.value * weight, p.d1 * weight, p.d2 * weight, p.d3 * weight};
}

lth__log_p lth__seen_at(const lth__seen *s, size_t row, double f) {
    double room[LTH__MOST_OWN];
    lth__terms t = lth__seen_terms(s, row, room);
    lth__log_p p = s->likelihood->at(&t, s->y[row], lth__seen_place(s, row, f));
    return s->weight ? times(p, s->weight[row]) : p;
}

/* By how much a derivative by parameter i counts. */
static double weight_of(const lth__seen *s, size_t row, size_t i) {
    bool noise = i == 0 && s->likelihood->has_noise && s->ratio;
    return (s->weight ? s->weight[row] : 1) * (noise ? s->ratio[row] : 1);
}

void lth__seen_by_params(const lth__seen *s, size_t row, double f, lth__log_p *out) {
    double room[LTH__MOST_OWN];
    lth__terms t = lth__seen_terms(s, row, room);
    s->likelihood->by_params(&t, s->y[row], lth__seen_place(s, row, f), out);
    for (size_t i = 0; i < s->params; i++) out[i] = times(out[i], weight_of(s, row, i));
}

static lth__expected expect_closed(const lth__seen *s, size_t row, double mean, double variance) {
    double room[LTH__MOST_OWN], weight = s->weight ? s->weight[row] : 1;
    lth__terms t = lth__seen_terms(s, row, room);
    lth__expected e = s->likelihood->expect(&t, s->y[row], lth__seen_place(s, row, mean), variance);
    return (lth__expected){.value = e.value * weight,
                           .by_mean = e.by_mean * weight,
                           .by_variance = e.by_variance * weight,
                           .by_mean_2 = NAN,
                           .by_both = NAN,
                           .by_variance_2 = NAN};
}

static void expect_params_closed(const lth__seen *s, size_t row, double mean, double variance,
                                 double *by_params) {
    double room[LTH__MOST_OWN], by[LTH__MOST_OWN] = {0};
    lth__terms t = lth__seen_terms(s, row, room);
    s->likelihood->expect_params(&t, s->y[row], lth__seen_place(s, row, mean), variance, by);
    for (size_t k = 0; k < s->params; k++) by_params[k] += by[k] * weight_of(s, row, k);
}

lth__expected lth__seen_expect(const lth__seen *s, size_t row, double mean, double variance) {
    if (s->likelihood->expect) return expect_closed(s, row, mean, variance);
    const lth__quadrature *q = lth__quadrature_shared();
    double sd = sqrt(variance > 0 ? variance : 0), slope = 0, bend = 0, bend_2 = 0, d3 = 0;
    lth__expected e = {0};
    for (size_t i = 0; i < LTH__NODES; i++) {
        double w = q->weight[i], x = q->node[i];
        lth__log_p p = lth__seen_at(s, row, mean + sd * x);
        e.value += w * p.value;
        e.by_mean += w * p.d1;
        e.by_mean_2 += w * p.d2;
        slope += w * p.d1 * x;
        bend += w * p.d2 * x;
        bend_2 += w * p.d2 * x * x;
        d3 += w * p.d3;
    }
    /* Where the first are quotients of small numbers, the rule is exact and they are the same, but
     * for the last, which does not matter there. */
    bool wide = sd > 1e-4;
    e.by_variance = wide ? slope / (2 * sd) : e.by_mean_2 / 2;
    e.by_both = wide ? bend / (2 * sd) : d3 / 2;
    e.by_variance_2 = wide ? (bend_2 - slope / sd) / (4 * variance) : 0;
    return e;
}

void lth__seen_expect_params(const lth__seen *s, size_t row, double mean, double variance,
                             double *by_params) {
    if (s->likelihood->expect_params) {
        expect_params_closed(s, row, mean, variance, by_params);
        return;
    }
    double sd = sqrt(variance > 0 ? variance : 0);
    lth__log_p by[LTH__MOST_OWN];
    const lth__quadrature *q = lth__quadrature_shared();
    for (size_t i = 0; i < LTH__NODES && s->params > 0; i++) {
        lth__seen_by_params(s, row, mean + sd * q->node[i], by);
        for (size_t k = 0; k < s->params; k++) by_params[k] += q->weight[i] * by[k].value;
    }
}
