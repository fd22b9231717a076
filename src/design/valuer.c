/* The value of a row. Of one function it is that of acquisition.c. Of several, what the row is
 * expected to add to the hypervolume of what is known: over the boxes that this leaves open (from
 * the worst of the training rows on, by each function), the sum of products of what is expected of
 * each function inside of them. Of labels it is that of label_value.c.
 */
#include "design/valuer.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/gp/gp.h"

/* ---- Making it ---- */

static lth_status add_point(lth__valuer *v, const double *mean, size_t stride, lth_error *err) {
    size_t need = (v->point_count + 1) * v->functions;
    if (!lth__reserve((void **)&v->points, &v->point_capacity, need, sizeof *v->points))
        return lth__fail_memory(err, need * sizeof *v->points);
    double *to = v->points + v->point_count++ * v->functions;
    for (size_t f = 0; f < v->functions; f++) to[f] = mean[f * stride];
    return LTH_OK;
}

static lth_status cut_boxes(lth__valuer *v, lth_error *err) {
    lth__boxes_free(&v->boxes);
    return lth__boxes_make(v->points, v->point_count, v->functions, v->reference, &v->boxes, err);
}

static lth_status begin_front(lth__valuer *v, const double *means, size_t rows, lth_error *err) {
    v->reference = lth__alloc(v->functions, sizeof *v->reference);
    if (!v->reference) return lth__fail_memory(err, 0);
    for (size_t f = 0; f < v->functions; f++) {
        v->reference[f] = INFINITY;
        for (size_t i = 0; i < rows; i++)
            v->reference[f] = fmin(v->reference[f], means[f * rows + i]);
    }
    for (size_t i = 0; i < rows; i++) LTH_TRY(add_point(v, means + i, rows, err));
    return cut_boxes(v, err);
}

static bool is_apart(const lth__valuer *v) {
    return !v->problem->objectives.labels && !v->problem->objectives.summed;
}

/* What the caller gives, as more is better. */
static double given_best(const lth__problem *p) {
    const lth__objectives *o = &p->objectives;
    return o->count == 1 && o->list[0].minimize ? -p->options.best * o->list[0].weight
           : o->count == 1                      ? p->options.best * o->list[0].weight
                                                : p->options.best;
}

lth_status lth__valuer_make(const lth__problem *p, const double *means, size_t rows,
                            lth__valuer *out, lth_error *err) {
    *out = (lth__valuer){.problem = p, .functions = lth__problem_functions(p)};
    if (p->objectives.labels) {
        const lth_gp *gp = lth_model_gp(p->models[p->objectives.list[0].model]);
        return lth__label_rule_make(gp, p->options.acquisition, &out->rule, err);
    }
    if (is_apart(out)) return begin_front(out, means, rows, err);
    out->best = rows > 0 ? -INFINITY : 0;
    out->base = rows > 0 ? INFINITY : 0;
    for (size_t i = 0; i < rows; i++) {
        out->best = fmax(out->best, means[i]);
        out->base = fmin(out->base, means[i]);
    }
    if (!isnan(p->options.best)) out->best = given_best(p);
    return LTH_OK;
}

lth_status lth__valuer_copy(const lth__valuer *from, lth__valuer *out, lth_error *err) {
    const lth__problem *p = from->problem;
    *out = (lth__valuer){
        .problem = p, .functions = from->functions, .best = from->best, .base = from->base};
    if (p->objectives.labels)
        return lth__label_rule_make(from->rule.gp, from->rule.which, &out->rule, err);
    if (!is_apart(from)) return LTH_OK;
    out->reference = lth__alloc(from->functions, sizeof *out->reference);
    if (!out->reference) return lth__fail_memory(err, 0);
    memcpy(out->reference, from->reference, from->functions * sizeof *out->reference);
    for (size_t i = 0; i < from->point_count; i++)
        LTH_TRY(add_point(out, from->points + i * from->functions, 1, err));
    return cut_boxes(out, err);
}

void lth__valuer_free(lth__valuer *v) {
    lth__label_rule_free(&v->rule);
    lth__boxes_free(&v->boxes);
    lth__free(v->points);
    lth__free(v->reference);
    *v = (lth__valuer){0};
}

lth_status lth__valuer_believe(lth__valuer *v, const double *mean, size_t stride, lth_error *err) {
    if (v->problem->objectives.labels) return LTH_OK;
    if (!is_apart(v)) {
        v->best = fmax(v->best, mean[0]);
        return LTH_OK;
    }
    LTH_TRY(add_point(v, mean, stride, err));
    return cut_boxes(v, err);
}

/* ---- Values ---- */

size_t lth__valuer_room(const lth__valuer *v) {
    size_t labels = lth__label_room(&v->rule), parts = v->functions * (v->boxes.levels + 1);
    return 1 + (labels > parts ? labels : parts);
}

typedef double part_fn(double mean, double sd, double level, double beta);

static double log_part(double mean, double sd, double level, double beta) {
    (void)beta;
    return lth__log_expected_improvement(mean, sd, level);
}

/* part[function][level]; past the last level is nothing, or its logarithm. */
static void list_parts(const lth__valuer *v, part_fn *above, const double *mean,
                       const double *variance, size_t stride, double nothing, double *part) {
    const lth__boxes *b = &v->boxes;
    for (size_t i = 0; i < b->functions * b->levels; i++) {
        size_t f = i / b->levels;
        double sd = variance ? sqrt(fmax(variance[f * stride], 0)) : 0;
        part[i] = b->level[i] < INFINITY
                      ? above(mean[f * stride], sd, b->level[i], v->problem->options.beta)
                      : nothing;
    }
}

static double value_of_several(const lth__valuer *v, const double *mean, const double *variance,
                               size_t stride, double *room) {
    const lth__acquisition *a = v->problem->acquisition;
    list_parts(v, a->above, mean, variance, stride, 0, room);
    double sum = lth__boxes_sum(&v->boxes, room);
    if (a->scale != LTH__LOG_GAIN) return sum;
    if (sum > 1e-250) return log(sum);
    list_parts(v, log_part, mean, variance, stride, -INFINITY, room);
    return fmax(lth__boxes_log_sum(&v->boxes, room), -DBL_MAX);
}

double lth__row_value(const lth__valuer *v, const double *mean, const double *variance,
                      size_t stride, double feasible, double cost, double *room) {
    const lth__problem *p = v->problem;
    double value, base = is_apart(v) ? 0 : v->base;
    if (p->objectives.labels)
        value = lth__label_value(&v->rule, mean, variance, stride, room);
    else if (is_apart(v))
        value = value_of_several(v, mean, variance, stride, room);
    else
        value =
            p->acquisition->value(mean[0], sqrt(fmax(variance[0], 0)), v->best, p->options.beta);
    return lth__acquisition_weigh(p->acquisition, value, feasible, cost, base);
}

double lth__drawn_value(const lth__valuer *v, const double *f, size_t stride, double feasible,
                        double cost, double *room) {
    const lth__acquisition *greedy = lth__acquisition_at(LTH_ACQUIRE_GREEDY);
    if (!is_apart(v)) return lth__acquisition_weigh(greedy, f[0], feasible, cost, v->base);
    list_parts(v, greedy->above, f, NULL, stride, 0, room);
    return lth__acquisition_weigh(greedy, lth__boxes_sum(&v->boxes, room), feasible, cost, 0);
}
