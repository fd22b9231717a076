/* Learning: the evidence is maximised over transformed parameters (gp_variables.h), from several
 * starts. The informed one and the scrambled ones race for a few iterations, and the best of them
 * is finished. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "engine/cluster.h"
#include "model/common/minimise.h"
#include "model/gp/gp_journal.h"
#include "model/gp/gp_uncertain.h"

enum { RACE_ITERATIONS = 10 };

/* What a start of the race came to; beside where it ended. */
typedef struct outcome {
    lth__minimum found;
    size_t evaluations, step_count;
    lth_gp_step steps[RACE_ITERATIONS + 2];
} outcome;

typedef struct search {
    lth_gp *gp;
    lth__gram *gram;
    const lth_gp_options *options;
    lth__variables v;
    size_t start, evaluations, iterations;
    double jacobian; /* from the evidence of the scaled targets to that of the targets */
    double began;
    bool stopped;
    outcome *own; /* of a start that this rank makes by itself, or NULL */
} search;

/* Minus the evidence (and the priors), for the optimiser. */
static lth_status objective(void *user, const double *x, double *f, double *g, lth_error *err) {
    search *s = user;
    s->evaluations++;
    return lth__variables_objective(&s->v, s->gram, x, f, g, err);
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
    for (size_t i = 0; i < s->v.count; i++) {
        const lth__variable *v = &s->v.list[i];
        double u = 2 * lth__random_uniform(random) - 1, centre = informed[i], reach = 2.5;
        if (v->bounded) { /* anywhere between them */
            centre = (v->lo + v->hi) / 2;
            reach = (v->hi - v->lo) / 2;
        } else if (v->scale == LTH__BY_LOGIT) {
            centre = 0;
            reach = 3;
        } else if (v->scale == LTH__AS_IT_IS &&
                   v->lo < 0) { /* the same magnitude, of either sign */
            reach *= fabs(centre);
        } else if (v->scale == LTH__AS_IT_IS) {
            centre = (v->lo + v->hi) / 2;
            reach = (v->hi - v->lo) / 2;
        }
        x[i] = fmin(fmax(centre + reach * u, v->lo), v->hi);
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
    LTH_TRY(lth__minimise(s->v.count, x, s->v.lo, s->v.hi, &options, objective, told, s, out, err));
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
    r->x = lth__calloc(r->starts * s->v.count, sizeof *r->x);
    r->carry = lth__alloc(r->carried, sizeof *r->carry);
    if (!r->outcomes || !r->x || !r->carry) return lth__fail_memory(err, 0);
    if (r->carried > 0) memcpy(r->carry, carry, r->carried * sizeof *carry);
    lth__random_seed(&random, gp->ctx.options.seed);
    memcpy(r->x, informed, s->v.count * sizeof *r->x);
    for (size_t i = 1; i < r->starts; i++) scramble(s, informed, &random, r->x + i * s->v.count);
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
    lth_status status = run(s, race_limit(s), r->x + s->start * s->v.count, &o->found, err);
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
        double *x = r->x + s->start * s->v.count;
        bool own = lth__cluster_owns(c, s->start) && status == LTH_OK && !s->stopped;
        if (own)
            status = run_own_start(s, r, err);
        else
            memset(x, 0, s->v.count * sizeof *x);
    }
    return status;
}

static lth_status join_starts(search *s, const shared_race *r, lth__cluster *c, lth_status status,
                              lth_error *err) {
    status = lth__cluster_join_bytes(c, status, r->outcomes, r->starts * sizeof *r->outcomes, err);
    if (status == LTH_OK) status = lth__cluster_join(c, LTH_OK, r->x, r->starts * s->v.count, err);
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
        memcpy(winner, r->x + i * s->v.count, s->v.count * sizeof *winner);
    }
    s->start = best_start;
}

static lth_status race_together(search *s, double *points, lth__minimum *best, lth_error *err) {
    shared_race r = {0};
    lth_ctx *ctx = s->gp->kernel->ctx, *own = &s->gp->ctx;
    lth__cluster *c = own->cluster;
    double *winner = points + 2 * s->v.count;
    memcpy(winner, points, s->v.count * sizeof *winner);
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
    memcpy(points, winner, s->v.count * sizeof *points);
    void *blocks[] = {r.outcomes, r.x, r.carry};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    return status;
}

/* ---- The race ---- */

/* The best of all starts after a few iterations; `points` is room for two. */
static lth_status race(search *s, double *points, lth__minimum *best, lth_error *err) {
    double *informed = points, *x = points + s->v.count, *winner = points + 2 * s->v.count;
    size_t starts = s->options->restarts + 1, best_start = 0;
    if (shares_starts(s)) return race_together(s, points, best, err);
    lth__random random;
    lth__random_seed(&random, s->gp->ctx.options.seed);
    *best = (lth__minimum){.f = INFINITY};
    for (s->start = 0; s->start < starts && !s->stopped; s->start++) {
        memcpy(x, informed, s->v.count * sizeof *x);
        if (s->start > 0) scramble(s, informed, &random, x);
        lth__minimum found;
        LTH_TRY(run(s, race_limit(s), x, &found, err));
        s->gp->report.starts++;
        if (found.f < best->f) {
            *best = found;
            best_start = s->start;
            memcpy(winner, x, s->v.count * sizeof *x);
        }
    }
    s->start = best_start;
    memcpy(points, winner, s->v.count * sizeof *points);
    return LTH_OK;
}

static lth_status learn(search *s, lth_error *err) {
    double *points = lth__alloc(3 * s->v.count + 1, sizeof *points);
    if (!points) return lth__fail_memory(err, 0);
    lth__variables_read(&s->v, points);
    lth__minimum best = {0};
    lth_status status = find_jitter(s, points, points + s->v.count, err);
    if (status == LTH_OK) status = race(s, points, &best, err);
    bool unfinished = s->options->restarts > 0 && s->options->max_iter > RACE_ITERATIONS &&
                      !s->stopped && !best.converged;
    if (status == LTH_OK && unfinished)
        status = run(s, s->options->max_iter - RACE_ITERATIONS, points, &best, err);
    if (status == LTH_OK) lth__variables_write(&s->v, points);
    for (size_t i = 0; i < s->v.count; i++) {
        bool at_bound = lth__variables_at_bound(&s->v, i, points[i]);
        for (size_t p = 0; p < lth__gp_param_count(s->gp); p++) {
            if (lth__variables_moves(&s->v, i, p)) s->gp->at_bound[p] = at_bound;
        }
    }
    s->gp->report.converged = best.converged;
    bool wanted = s->options->intervals || s->options->average > 0;
    if (status == LTH_OK && wanted && !s->stopped)
        status = lth__gp_uncertain(&s->v, s->gram, points, &s->stopped, err);
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
    if (status == LTH_OK) status = lth__variables_list(gp, options, &s.v, err);
    if (status == LTH_OK && s.v.count > 0 && options->max_iter > 0) status = learn(&s, err);
    gp->report.iterations = s.iterations;
    gp->report.evaluations = s.evaluations;
    gp->report.interrupted = s.stopped;
    gp->report.seconds = lth__seconds() - s.began;
    lth__variables_free(&s.v);
    return status;
}
