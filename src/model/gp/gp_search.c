/* Learning: the evidence is maximised over transformed parameters, from several starts.
 *
 * A parameter between 0 and 1 is searched by its logit, most others by their logarithm, and one
 * that may be best at 0 as it is; tied parameters are one variable. The informed start and the
 * scrambled ones race for a few iterations, and the best of them is finished.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "engine/cluster.h"
#include "model/common/minimise.h"
#include "model/gp/gp_journal.h"

enum { RACE_ITERATIONS = 10 };

/* What a start of the race came to; beside where it ended. */
typedef struct outcome {
    lth__minimum found;
    size_t evaluations, step_count;
    lth_gp_step steps[RACE_ITERATIONS + 2];
} outcome;

/* One variable of the optimiser. */
typedef struct variable {
    size_t param; /* the first of its tag; those of the kernel, then the model's own */
    enum { BY_LOGARITHM, BY_LOGIT, AS_IT_IS } scale;
    double least, most;          /* values it may have                                   */
    double lo, hi;               /* of the transformed variable                          */
    double prior_mean, prior_sd; /* of the logarithm; sd 0 = none                        */
} variable;

typedef struct search {
    lth_gp *gp;
    lth__gram *gram;
    const lth_gp_options *options;
    variable *variables;
    size_t count;
    double *gradient; /* natural, of every parameter */
    double *slope;    /* of the penalties, likewise                */
    double *lo, *hi;
    size_t start, evaluations, iterations;
    double jacobian; /* from the evidence of the scaled targets to that of the targets */
    double began;
    bool stopped;
    outcome *own; /* of a start that this rank makes by itself, or NULL */
} search;

/* ---- Variables ---- */

static double clamp(double x, double lo, double hi) {
    return x < lo ? lo : x > hi ? hi : x;
}

static double to_variable(const variable *v, double value) {
    if (v->scale == AS_IT_IS) return clamp(value, v->lo, v->hi);
    if (value <= 0) return v->lo;
    return clamp(v->scale == BY_LOGIT ? log(value / (1 - value)) : log(value), v->lo, v->hi);
}

/* Within the bounds of the parameter, which the rounding of exp could leave. */
static double to_value(const variable *v, double x) {
    double value = v->scale == AS_IT_IS ? x : v->scale == BY_LOGIT ? 1 / (1 + exp(-x)) : exp(x);
    return clamp(value, v->least, v->most);
}

/* d value / d x */
static double slope_of(const variable *v, double value) {
    if (v->scale == AS_IT_IS) return 1;
    return v->scale == BY_LOGIT ? value * (1 - value) : value;
}

static variable make_variable(size_t param, double lo, double hi, double value) {
    variable v = {.param = param, .least = lo, .most = hi};
    if (lo == 0 && hi == 1) {
        v.scale = BY_LOGIT;
        v.lo = log(1e-6);
        v.hi = log(0.999 / 0.001);
        return v;
    }
    /* Where the bounds are wide open: as far as matters around the start. */
    double centre = value > 0 ? log(value) : 0;
    v.lo = lo > 0 ? log(lo) : centre - 20;
    v.hi = log(hi);
    if (v.lo < centre - 20) v.lo = centre - 20;
    if (v.hi > centre + 15) v.hi = centre + 15;
    return v;
}

/* Whether "ssk.weights" or "ssk.weights[2]" means this path. */
static bool path_matches(const char *pattern, size_t length, const char *path) {
    return strncmp(pattern, path, length) == 0 && (path[length] == 0 || path[length] == '[');
}

static const char *path_at(const void *user, size_t i) {
    const lth_gp *gp = user;
    return i < lth__gp_param_count(gp) ? lth__gp_path(gp, i) : NULL;
}

static lth_status unknown_path(const lth_gp *gp, const char *option, const char *path,
                               lth_error *err) {
    const char *near = lth_nearest(path, path_at, gp);
    return lth__fail(err, LTH_EARG,
                     near ? "%s: there is no parameter \"%s\"; did you mean \"%s\"?"
                          : "%s: there is no parameter \"%s\"",
                     option, path, near);
}

static bool share_a_tag(const lth_kernel *kernel, size_t a, size_t b) {
    if (a == b) return true;
    if (a >= kernel->param_count || b >= kernel->param_count) return false;
    const char *tag = kernel->params[a].tag, *other = kernel->params[b].tag;
    return tag && other && strcmp(tag, other) == 0;
}

static bool is_tied(const lth_kernel *kernel, size_t param) {
    return param < kernel->param_count && kernel->params[param].tag;
}

/* Past the last that may share its tag with this one. */
static size_t end_of_tag(const lth_kernel *kernel, size_t param) {
    return is_tied(kernel, param) ? kernel->param_count : param + 1;
}

lth_status lth__gp_hold(lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    for (size_t f = 0; f < options->fix_count; f++) {
        bool found = false;
        for (size_t p = 0; p < lth__gp_param_count(gp); p++) {
            const char *path = lth__gp_path(gp, p);
            if (!path_matches(options->fix[f], strlen(options->fix[f]), path)) continue;
            found = true;
            size_t first = is_tied(gp->kernel, p) ? 0 : p;
            for (size_t q = first; q < end_of_tag(gp->kernel, p); q++)
                gp->held[q] |= share_a_tag(gp->kernel, p, q);
        }
        if (!found) return unknown_path(gp, "fix", options->fix[f], err);
    }
    return LTH_OK;
}

/* "PATH=MEDIAN,SD" */
static lth_status apply_prior(search *s, const char *text, lth_error *err) {
    const char *equals = strchr(text, '='), *comma = equals ? strchr(equals, ',') : NULL;
    double median, sd;
    if (!comma || !lth__parse_double(equals + 1, (size_t)(comma - equals - 1), &median) ||
        !lth__parse_double(comma + 1, strlen(comma + 1), &sd) || !(median > 0 && sd > 0) ||
        !isfinite(median) || !isfinite(sd))
        return lth__fail(err, LTH_EARG, "prior \"%s\" is not PATH=MEDIAN,SD, both positive", text);
    const lth_kernel *kernel = s->gp->kernel;
    bool found = false;
    for (size_t p = 0; p < lth__gp_param_count(s->gp); p++) {
        if (!path_matches(text, (size_t)(equals - text), lth__gp_path(s->gp, p))) continue;
        found = true; /* but a held one has no variable */
        if (p < kernel->param_count && kernel->params[p].lo < 0)
            return lth__fail(err, LTH_EARG,
                             "prior: %s may be negative, and a prior is one of the logarithm",
                             kernel->params[p].path);
        for (size_t i = 0; i < s->count; i++) {
            variable *v = &s->variables[i];
            if (!share_a_tag(kernel, p, v->param)) continue;
            if (p >= kernel->param_count && v->scale == AS_IT_IS)
                return lth__fail(err, LTH_EARG, "a prior is for parameters above 0, not for \"%s\"",
                                 lth__gp_path(s->gp, p));
            if (v->scale == AS_IT_IS) /* 0 has no place in this prior */
                *v = make_variable(v->param, v->least, v->most, kernel->params[v->param].value);
            v->prior_mean = log(median);
            v->prior_sd = sd;
        }
    }
    char path[80];
    size_t length =
        (size_t)(equals - text) < sizeof path - 1 ? (size_t)(equals - text) : sizeof path - 1;
    memcpy(path, text, length);
    path[length] = 0;
    return found ? LTH_OK : unknown_path(s->gp, "prior", path, err);
}

static bool leads_its_tag(const lth_kernel *kernel, size_t param) {
    for (size_t i = 0; is_tied(kernel, param) && i < param; i++) {
        if (share_a_tag(kernel, i, param)) return false;
    }
    return true;
}

/* Within the bounds of every parameter of the tag. */
static variable shared_variable(const lth_kernel *kernel, size_t param) {
    double lo = kernel->params[param].lo, hi = kernel->params[param].hi;
    for (size_t p = param + 1; p < end_of_tag(kernel, param); p++) {
        if (!share_a_tag(kernel, p, param)) continue;
        lo = fmax(lo, kernel->params[p].lo);
        hi = fmin(hi, kernel->params[p].hi);
    }
    if (kernel->origins[param].linear) {
        return (variable){
            .param = param, .scale = AS_IT_IS, .least = lo, .most = hi, .lo = lo, .hi = hi};
    }
    return make_variable(param, lo, hi, kernel->params[param].value);
}

/* The variance that the bounds of the model's own parameters are for: 1, unless targets are not
 * scaled. */
static double unit_of(const search *s) {
    const lth_gp *gp = s->gp;
    double square = 0;
    for (size_t i = 0; s->options->unscaled && i < gp->rows; i++) {
        for (size_t t = 0; t < gp->latents; t++) {
            double y = gp->y[t * gp->rows + i];
            square += y * y / (double)(gp->rows * gp->latents);
        }
    }
    return square > 0 ? square : 1;
}

static variable own_variable(const search *s, size_t i) {
    const lth__own_param *p = &s->gp->own_list[i];
    double unit = p->variance ? unit_of(s) : 1;
    variable v = {.param = s->gp->kernel->param_count + i, .least = -INFINITY, .most = INFINITY};
    if (p->linear) {
        v.scale = AS_IT_IS;
        v.lo = p->lo;
        v.hi = p->hi;
    } else {
        v.lo = log(p->lo * unit);
        v.hi = log(p->hi * unit);
    }
    return v;
}

static lth_status list_variables(search *s, lth_error *err) {
    lth_kernel *kernel = s->gp->kernel;
    size_t most = lth__gp_param_count(s->gp);
    s->variables = lth__alloc(most, sizeof *s->variables);
    s->gradient = lth__alloc(most, sizeof *s->gradient);
    s->slope = lth__alloc(most, sizeof *s->slope);
    s->lo = lth__alloc(most, sizeof *s->lo);
    s->hi = lth__alloc(most, sizeof *s->hi);
    if (!s->variables || !s->gradient || !s->slope || !s->lo || !s->hi)
        return lth__fail_memory(err, 0);
    for (size_t p = 0; p < kernel->param_count; p++) {
        if (s->gp->held[p] || !leads_its_tag(kernel, p)) continue;
        s->variables[s->count++] = shared_variable(kernel, p);
    }
    for (size_t p = kernel->param_count; p < most; p++) {
        if (!s->gp->held[p]) s->variables[s->count++] = own_variable(s, p - kernel->param_count);
    }
    for (size_t i = 0; i < s->options->prior_count; i++)
        LTH_TRY(apply_prior(s, s->options->prior[i], err));
    for (size_t i = 0; i < s->count; i++) {
        s->lo[i] = s->variables[i].lo;
        s->hi[i] = s->variables[i].hi;
    }
    return LTH_OK;
}

/* ---- From the optimiser's point to the model and back ---- */

static void read_point(const search *s, double *x) {
    for (size_t i = 0; i < s->count; i++) {
        const variable *v = &s->variables[i];
        x[i] = to_variable(v, *lth__gp_value(s->gp, v->param));
    }
}

static void write_point(search *s, const double *x) {
    for (size_t i = 0; i < s->count; i++) {
        const variable *v = &s->variables[i];
        double value = to_value(v, x[i]);
        for (size_t p = v->param; p < end_of_tag(s->gp->kernel, v->param); p++) {
            if (share_a_tag(s->gp->kernel, p, v->param)) *lth__gp_value(s->gp, p) = value;
        }
    }
}

/* The derivative by a variable: all parameters of its tag together. */
static double chain(const search *s, const variable *v, double value) {
    const lth_kernel *kernel = s->gp->kernel;
    double sum = s->gradient[v->param];
    for (size_t p = v->param + 1; p < end_of_tag(kernel, v->param); p++) {
        if (share_a_tag(kernel, p, v->param)) sum += s->gradient[p];
    }
    return sum * slope_of(v, value);
}

/* The priors that kernels have of their own; their slopes leave that of the evidence. */
static double subtract_penalties(const search *s) {
    const lth_kernel *kernel = s->gp->kernel;
    double sum = 0;
    memset(s->slope, 0, kernel->param_count * sizeof *s->slope);
    for (size_t n = 0; n < kernel->node_count; n++) {
        const lth__node *node = kernel->nodes[n];
        if (node->family->penalty) sum += node->family->penalty(node, kernel, s->slope);
    }
    for (size_t p = 0; p < kernel->param_count; p++) s->gradient[p] -= s->slope[p];
    return sum;
}

/* All ranks go the way of the first, also where their processors round otherwise. */
static lth_status share_evidence(const search *s, lth_status status, double *evidence,
                                 lth_error *err) {
    lth__cluster *c = s->gp->ctx.cluster;
    size_t params = lth__gp_param_count(s->gp);
    LTH_TRY(lth__cluster_share(c, status, 0, evidence, sizeof *evidence, err));
    return lth__cluster_share(c, LTH_OK, 0, s->gradient, params * sizeof *s->gradient, err);
}

/* Minus the evidence (and the priors), for the optimiser. */
static lth_status objective(void *user, const double *x, double *f, double *g, lth_error *err) {
    search *s = user;
    write_point(s, x);
    s->evaluations++;
    double evidence;
    lth_status status =
        lth__journal_evidence(s->gp->journal, s->gp, s->gram, &evidence, s->gradient, err);
    status = share_evidence(s, status, &evidence, err);
    if (status == LTH_ENUMERIC || (status == LTH_OK && !isfinite(evidence))) {
        *f = INFINITY;
        memset(g, 0, s->count * sizeof *g);
        return LTH_OK;
    }
    LTH_TRY(status);
    *f = subtract_penalties(s) - evidence;
    for (size_t i = 0; i < s->count; i++) {
        const variable *v = &s->variables[i];
        double value = to_value(v, x[i]);
        g[i] = -chain(s, v, value);
        if (v->prior_sd == 0) continue;
        double z = (log(value) - v->prior_mean) / v->prior_sd;
        *f += z * z / 2;
        g[i] += z / v->prior_sd * slope_of(v, value) / value;
    }
    return LTH_OK;
}

static int told(void *user, size_t iteration, double f, double gradient) {
    search *s = user;
    lth_gp_step step = {.start = s->start,
                        .iteration = iteration,
                        .evaluations = s->evaluations,
                        .evidence = s->jacobian - f,
                        .gradient = gradient,
                        .seconds = lth__seconds() - s->began};
    if (!s->own)
        lth__gp_steps_add(s->gp, &step);
    else if (s->own->step_count < sizeof s->own->steps / sizeof *s->own->steps)
        s->own->steps[s->own->step_count++] = step;
    if (s->options->step && s->options->step(s->options->user, &step)) s->stopped = true;
    /* One rank that is told to stop stops all; who cannot ask cannot go on. */
    if (lth__cluster_any(s->gp->ctx.cluster, &s->stopped, NULL) != LTH_OK) s->stopped = true;
    return s->stopped;
}

/* ---- Starts ---- */

/* A random point of the same orders of magnitude as the informed start. */
static void scramble(const search *s, const double *informed, lth__random *random, double *x) {
    for (size_t i = 0; i < s->count; i++) {
        const variable *v = &s->variables[i];
        double u = 2 * lth__random_uniform(random) - 1, centre = informed[i], reach = 2.5;
        if (v->scale == BY_LOGIT) {
            centre = 0;
            reach = 3;
        } else if (v->scale == AS_IT_IS && v->lo < 0) { /* the same magnitude, of either sign */
            reach *= fabs(centre);
        } else if (v->scale == AS_IT_IS) {
            centre = (v->lo + v->hi) / 2;
            reach = (v->hi - v->lo) / 2;
        }
        x[i] = clamp(centre + reach * u, v->lo, v->hi);
    }
}

/* The first rung of the jitter ladder on which the start has an evidence; it then stays as it is.
 */
static lth_status find_jitter(search *s, const double *x, double *g, lth_error *err) {
    double f = INFINITY;
    for (double jitter = 0; jitter < 2e-4; jitter = jitter == 0 ? 1e-10 : jitter * 10) {
        s->gp->jitter = jitter;
        LTH_TRY(objective(s, x, &f, g, err));
        if (isfinite(f)) return LTH_OK;
    }
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel matrix is not positive definite, even with jitter: check the word "
                     "vectors and numbers, or use more noise");
}

/* One run of the optimiser from x, which becomes its best point. */
static lth_status run(search *s, size_t max_iter, double *x, lth__minimum *out, lth_error *err) {
    lth__minimise_options options = {.max_iter = max_iter,
                                     .gradient_tolerance = 1e-4 * sqrt((double)s->gp->rows),
                                     .decrease_tolerance =
                                         s->gp->posterior->approximate ? 1e-5 : 1e-7};
    LTH_TRY(lth__minimise(s->count, x, s->lo, s->hi, &options, objective, told, s, out, err));
    s->iterations += out->iterations;
    return LTH_OK;
}

static size_t race_limit(const search *s) {
    size_t most = s->options->max_iter, limit = s->options->restarts ? RACE_ITERATIONS : most;
    return limit < most ? limit : most;
}

/* ---- Starts of several ranks ---- */

/* Each rank makes some starts by itself, unless a matrix is held by all of them, or a journal is to
 * know all evaluations. */
static bool shares_starts(const search *s) {
    const lth_gp *gp = s->gp;
    return gp->ctx.cluster && s->options->restarts > 0 && !gp->journal &&
           !lth__cluster_deals(gp->rows);
}

typedef struct shared_race {
    size_t starts, carried;
    outcome *outcomes;
    double *x;     /* [start][variable]                                        */
    double *carry; /* with which each start begins, whatever was done before */
} shared_race;

static lth_status begin_race(const search *s, const double *informed, shared_race *r,
                             lth_error *err) {
    const lth_gp *gp = s->gp;
    lth__random random;
    const double *carry = gp->posterior->carried ? gp->posterior->carried(gp, &r->carried) : NULL;
    r->starts = s->options->restarts + 1;
    r->outcomes = lth__calloc(r->starts, sizeof *r->outcomes);
    r->x = lth__calloc(r->starts * s->count, sizeof *r->x);
    r->carry = lth__alloc(r->carried, sizeof *r->carry);
    if (!r->outcomes || !r->x || !r->carry) return lth__fail_memory(err, 0);
    if (r->carried > 0) memcpy(r->carry, carry, r->carried * sizeof *carry);
    lth__random_seed(&random, gp->ctx.options.seed);
    memcpy(r->x, informed, s->count * sizeof *r->x);
    for (size_t i = 1; i < r->starts; i++) scramble(s, informed, &random, r->x + i * s->count);
    return LTH_OK;
}

static void restore_carry(const search *s, const shared_race *r) {
    size_t count;
    if (r->carried > 0)
        memcpy(s->gp->posterior->carried(s->gp, &count), r->carry, r->carried * sizeof *r->carry);
}

static lth_status run_own_start(search *s, const shared_race *r, lth_error *err) {
    outcome *o = s->own = &r->outcomes[s->start];
    size_t evaluations = s->evaluations;
    restore_carry(s, r);
    s->evaluations = 0;
    lth_status status = run(s, race_limit(s), r->x + s->start * s->count, &o->found, err);
    o->evaluations = s->evaluations;
    s->evaluations = evaluations;
    s->iterations -= o->found.iterations; /* they are counted when all are known */
    s->own = NULL;
    return status;
}

static lth_status run_own_starts(search *s, const shared_race *r, const lth__cluster *c,
                                 lth_error *err) {
    lth_status status = LTH_OK;
    for (s->start = 0; s->start < r->starts; s->start++) {
        double *x = r->x + s->start * s->count;
        bool own = lth__cluster_owns(c, s->start) && status == LTH_OK && !s->stopped;
        if (own)
            status = run_own_start(s, r, err);
        else
            memset(x, 0, s->count * sizeof *x);
    }
    return status;
}

static lth_status join_starts(search *s, const shared_race *r, lth__cluster *c, lth_status status,
                              lth_error *err) {
    status = lth__cluster_join_bytes(c, status, r->outcomes, r->starts * sizeof *r->outcomes, err);
    if (status == LTH_OK) status = lth__cluster_join(c, LTH_OK, r->x, r->starts * s->count, err);
    return status == LTH_OK ? lth__cluster_any(c, &s->stopped, err) : status;
}

/* As if they had been made one after the other. */
static void take_starts(search *s, const shared_race *r, double *winner, lth__minimum *best) {
    size_t best_start = 0;
    for (size_t i = 0; i < r->starts; i++) {
        outcome *o = &r->outcomes[i];
        if (o->evaluations == 0) continue; /* the search was stopped before */
        for (size_t k = 0; k < o->step_count; k++) {
            o->steps[k].evaluations += s->evaluations;
            lth__gp_steps_add(s->gp, &o->steps[k]);
        }
        s->evaluations += o->evaluations;
        s->iterations += o->found.iterations;
        s->gp->report.starts++;
        if (!(o->found.f < best->f)) continue;
        *best = o->found;
        best_start = i;
        memcpy(winner, r->x + i * s->count, s->count * sizeof *winner);
    }
    s->start = best_start;
}

static lth_status race_together(search *s, double *points, lth__minimum *best, lth_error *err) {
    shared_race r = {0};
    lth_ctx *ctx = s->gp->kernel->ctx, *own = &s->gp->ctx;
    lth__cluster *c = own->cluster;
    double *winner = points + 2 * s->count;
    memcpy(winner, points, s->count * sizeof *winner);
    *best = (lth__minimum){.f = INFINITY};
    lth_status status = begin_race(s, points, &r, err);
    status = lth__cluster_agree(c, status, err);
    if (status == LTH_OK) {
        ctx->cluster = own->cluster = NULL;
        status = run_own_starts(s, &r, c, err);
        ctx->cluster = own->cluster = c;
        status = join_starts(s, &r, c, status, err);
    }
    if (status == LTH_OK) {
        take_starts(s, &r, winner, best);
        restore_carry(s, &r); /* of all ranks the same */
    }
    memcpy(points, winner, s->count * sizeof *points);
    void *blocks[] = {r.outcomes, r.x, r.carry};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    return status;
}

/* ---- The race ---- */

/* The best of all starts after a few iterations; `points` is room for two. */
static lth_status race(search *s, double *points, lth__minimum *best, lth_error *err) {
    double *informed = points, *x = points + s->count, *winner = points + 2 * s->count;
    size_t starts = s->options->restarts + 1, best_start = 0;
    if (shares_starts(s)) return race_together(s, points, best, err);
    lth__random random;
    lth__random_seed(&random, s->gp->ctx.options.seed);
    *best = (lth__minimum){.f = INFINITY};
    for (s->start = 0; s->start < starts && !s->stopped; s->start++) {
        memcpy(x, informed, s->count * sizeof *x);
        if (s->start > 0) scramble(s, informed, &random, x);
        lth__minimum found;
        LTH_TRY(run(s, race_limit(s), x, &found, err));
        s->gp->report.starts++;
        if (found.f < best->f) {
            *best = found;
            best_start = s->start;
            memcpy(winner, x, s->count * sizeof *x);
        }
    }
    s->start = best_start;
    memcpy(points, winner, s->count * sizeof *points);
    return LTH_OK;
}

static lth_status learn(search *s, lth_error *err) {
    double *points = lth__alloc(3 * s->count + 1, sizeof *points);
    if (!points) return lth__fail_memory(err, 0);
    read_point(s, points);
    lth__minimum best = {0};
    lth_status status = find_jitter(s, points, points + s->count, err);
    if (status == LTH_OK) status = race(s, points, &best, err);
    bool unfinished = s->options->restarts > 0 && s->options->max_iter > RACE_ITERATIONS &&
                      !s->stopped && !best.converged;
    if (status == LTH_OK && unfinished)
        status = run(s, s->options->max_iter - RACE_ITERATIONS, points, &best, err);
    if (status == LTH_OK) write_point(s, points);
    for (size_t i = 0; i < s->count; i++) {
        const lth_kernel *kernel = s->gp->kernel;
        size_t first = s->variables[i].param;
        bool at_bound = points[i] <= s->lo[i] + 1e-6 || points[i] >= s->hi[i] - 1e-6;
        for (size_t p = first; p < end_of_tag(kernel, first); p++) {
            if (share_a_tag(kernel, p, first)) s->gp->at_bound[p] = at_bound;
        }
    }
    s->gp->report.converged = best.converged;
    lth__free(points);
    return status;
}

lth_status lth__gp_search(lth_gp *gp, lth__gram *gram, const lth_gp_options *options,
                          lth_error *err) {
    search s = {.gp = gp,
                .gram = gram,
                .options = options,
                .jacobian = lth__gp_jacobian(gp),
                .began = lth__seconds()};
    lth__journal_search(gp->journal);
    lth_status status = lth__gp_steps_begin(gp, err);
    if (status == LTH_OK) status = list_variables(&s, err);
    if (status == LTH_OK && s.count > 0 && options->max_iter > 0) status = learn(&s, err);
    gp->report.iterations = s.iterations;
    gp->report.evaluations = s.evaluations;
    gp->report.interrupted = s.stopped;
    gp->report.seconds = lth__seconds() - s.began;
    lth__free(s.variables);
    lth__free(s.gradient);
    lth__free(s.slope);
    lth__free(s.lo);
    lth__free(s.hi);
    return status;
}
