/* Curvature around the end of a search, and intervals of the parameters. */
#include "model/gp/gp_uncertain.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "engine/cluster.h"
#include "engine/eigen.h"

/* Where the rows say nothing about a direction, its standard deviation is this: in logarithms, two
 * orders of magnitude either way. */
static const double most_sd = 3;

/* ---- Free variables ---- */

static void free_normal(lth__normal *n) {
    void *blocks[] = {n->variable, n->root, n->still, n->sd, n->undetermined};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

static lth_status list_free(const lth__variables *v, const double *x, lth__normal *n,
                            lth_error *err) {
    *n = (lth__normal){.end = x, .variable = lth__alloc(v->count, sizeof *n->variable)};
    if (!n->variable) return lth__fail_memory(err, 0);
    for (size_t i = 0; i < v->count; i++) {
        if (!lth__variables_at_bound(v, i, x[i])) n->variable[n->count++] = i;
    }
    n->root = lth__calloc(n->count * n->count, sizeof *n->root);
    n->sd = lth__calloc(n->count, sizeof *n->sd);
    n->undetermined = lth__calloc(n->count, sizeof *n->undetermined);
    n->still = lth__calloc(n->count, sizeof *n->still);
    bool ok = n->root && n->sd && n->undetermined && n->still;
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

/* What is a step of 1 in a logarithm: of a variable as it is, its size. */
static double unit_of(const lth__variables *v, const lth__normal *n, size_t i) {
    size_t of = n->variable[i];
    return v->list[of].scale == LTH__AS_IT_IS ? fmax(fabs(n->end[of]), 1) : 1;
}

/* ---- Second derivatives ---- */

bool lth__gp_goes_on(const lth__variables *v, size_t evaluations) {
    const lth_gp *gp = v->gp;
    const lth_gp_options *options = v->options;
    bool stopped = false;
    if (options->step && gp->step_count > 0) {
        lth_gp_step step = gp->steps[gp->step_count - 1];
        step.evaluations += evaluations;
        stopped = options->step(options->user, &step) != 0;
    }
    if (lth__cluster_any(gp->ctx.cluster, &stopped, NULL) != LTH_OK) stopped = true;
    return !stopped;
}

/* The gradient a step away, within the bounds. *x is where that is; infinite where there is none.
 */
static lth_status step_away(const lth__variables *v, lth__gram *gram, size_t of, double step,
                            double *at, double *x, double *g, lth_error *err) {
    double end = at[of], f;
    at[of] = *x = fmin(fmax(end + step, v->lo[of]), v->hi[of]);
    lth_status status = lth__variables_objective(v, gram, at, &f, g, err);
    at[of] = end;
    if (status == LTH_OK && !isfinite(f)) *x = INFINITY;
    return status;
}

/* Row i: how the gradient changes along variable i. 0 where an end of the step has no evidence. */
static lth_status differentiate(const lth__variables *v, lth__gram *gram, const lth__normal *n,
                                size_t i, double *room, double *row, lth_error *err) {
    double *at = room, *below = at + v->count, *above = below + v->count, from, to;
    double step = 0.01 * unit_of(v, n, i);
    memcpy(at, n->end, v->count * sizeof *at);
    LTH_TRY(step_away(v, gram, n->variable[i], -step, at, &from, below, err));
    LTH_TRY(step_away(v, gram, n->variable[i], step, at, &to, above, err));
    bool known = isfinite(from) && isfinite(to) && to > from;
    for (size_t k = 0; k < n->count; k++) {
        size_t of = n->variable[k];
        row[k] = known ? (above[of] - below[of]) / (to - from) : 0;
    }
    return LTH_OK;
}

lth_status lth__gp_curvature(const lth__variables *v, lth__gram *gram, const lth__normal *n,
                             double *H, bool *stopped, lth_error *err) {
    double *room = lth__alloc(3 * v->count, sizeof *room);
    lth_status status = room ? LTH_OK : lth__fail_memory(err, 3 * v->count * sizeof *room);
    for (size_t i = 0; i < n->count && status == LTH_OK && !*stopped; i++) {
        status = differentiate(v, gram, n, i, room, H + i * n->count, err);
        *stopped = status == LTH_OK && !lth__gp_goes_on(v, 2 * (i + 1));
    }
    for (size_t i = 0; i < n->count; i++) {
        for (size_t k = 0; k < i; k++) {
            double mean = (H[i * n->count + k] + H[k * n->count + i]) / 2;
            H[i * n->count + k] = H[k * n->count + i] = mean;
        }
    }
    lth__free(room);
    return status;
}

/* ---- The normal distribution ---- */

/* Whether it is a weight, of targets or tasks that learn from each other; those of a warp are not.
 */
static bool is_weight(const lth__variables *v, const lth__variable *of) {
    bool own = of->param >= v->gp->kernel->param_count;
    return of->scale == LTH__AS_IT_IS && of->least < 0 && !(own && v->gp->warp);
}

/* Whether a flat direction moves weights. These can be turned, or made smaller where the kernel has
 * a size too, and the model stays what it is; but that is a curve, and the straight line leaves it.
 */
static bool is_curved(const lth__variables *v, const lth__normal *n, const double *V, size_t d) {
    double share = 0;
    for (size_t i = 0; i < n->count; i++) {
        double x = V[i * n->count + d];
        if (is_weight(v, &v->list[n->variable[i]])) share += x * x;
    }
    return share > 1e-4;
}

/* Directions in units of the variables; flat ones, and those that bend the wrong way, get the most
 * that a standard deviation may be. Draws do not move along those that are curved. */
static void take_directions(const lth__variables *v, lth__normal *n, const double *V,
                            const double *value) {
    double least = 1 / (most_sd * most_sd);
    for (size_t d = 0; d < n->count; d++)
        n->still[d] = !(value[d] > least) && is_curved(v, n, V, d);
    for (size_t i = 0; i < n->count; i++) {
        double all = 0, flat = 0, unit = unit_of(v, n, i);
        for (size_t d = 0; d < n->count; d++) {
            bool is_flat = !(value[d] > least);
            double root = V[i * n->count + d] / sqrt(is_flat ? least : value[d]);
            n->root[i * n->count + d] = n->still[d] ? 0 : unit * root;
            all += root * root;
            if (is_flat) flat += root * root;
        }
        n->sd[i] = unit * sqrt(all);
        n->undetermined[i] = flat > all / 2;
    }
}

static lth_status approximate(const lth__variables *v, lth__gram *gram, lth__normal *n,
                              bool *stopped, lth_error *err) {
    size_t k = n->count;
    double *H = lth__calloc(2 * k * k + k, sizeof *H), *V = H + k * k, *value = V + k * k;
    if (!H) return lth__fail_memory(err, (2 * k * k + k) * sizeof *H);
    lth_status status = lth__gp_curvature(v, gram, n, H, stopped, err);
    if (status == LTH_OK && !*stopped) {
        for (size_t i = 0; i < k * k; i++) H[i] *= unit_of(v, n, i / k) * unit_of(v, n, i % k);
        lth__eigen_unordered(k, H, value, V);
        take_directions(v, n, V, value);
    }
    lth__free(H);
    return status;
}

/* ---- Intervals ---- */

static double value_at(const lth__variables *v, size_t of, double x) {
    return lth__variable_value(&v->list[of], fmin(fmax(x, v->lo[of]), v->hi[of]));
}

static lth_status note_intervals(const lth__variables *v, const lth__normal *n, lth_error *err) {
    size_t params = lth__gp_param_count(v->gp);
    lth__interval *out = lth__alloc(params, sizeof *out);
    if (!out) return lth__fail_memory(err, params * sizeof *out);
    for (size_t p = 0; p < params; p++) out[p] = (lth__interval){.low = NAN, .high = NAN};
    for (size_t i = 0; i < n->count; i++) {
        size_t of = n->variable[i];
        double x = n->end[of], reach = 1.959963984540054 * n->sd[i];
        for (size_t p = 0; p < params; p++) {
            if (lth__variables_moves(v, of, p))
                out[p] = (lth__interval){.low = value_at(v, of, x - reach),
                                         .high = value_at(v, of, x + reach),
                                         .undetermined = n->undetermined[i]};
        }
    }
    lth__free(v->gp->intervals);
    v->gp->intervals = out;
    return LTH_OK;
}

/* ---- All of it ---- */

static lth_status find_out(const lth__variables *v, lth__gram *gram, const double *x, bool *stopped,
                           lth_error *err) {
    lth__normal n;
    lth_status status = list_free(v, x, &n, err);
    if (status == LTH_OK) status = approximate(v, gram, &n, stopped, err);
    if (status == LTH_OK && !*stopped) status = note_intervals(v, &n, err);
    if (status == LTH_OK && !*stopped && v->options->average > 0)
        status = lth__gp_draw(v, gram, &n, stopped, err);
    free_normal(&n);
    return status;
}

lth_status lth__gp_uncertain(const lth__variables *v, lth__gram *gram, const double *x,
                             bool *stopped, lth_error *err) {
    lth_gp *gp = v->gp;
    size_t count = 0;
    double *carried = gp->posterior->carried ? gp->posterior->carried(gp, &count) : NULL;
    double *carry = lth__alloc(count, sizeof *carry);
    if (!carry) return lth__fail_memory(err, count * sizeof *carry);
    if (count > 0) memcpy(carry, carried, count * sizeof *carry);
    lth_status status = find_out(v, gram, x, stopped, err);
    if (count > 0) memcpy(gp->posterior->carried(gp, &count), carry, count * sizeof *carry);
    lth__free(carry);
    lth__variables_write(v, x);
    if (*stopped) lth__log(&gp->ctx, LTH_LOG_WARNING, "interrupted: there are no intervals");
    return status;
}
