/* Fitting a Gaussian process: its parameters are learned, from all rows or from some, and then all
 * rows are taken into account. */
#include <math.h>
#include <string.h>

#include "engine/cluster.h"
#include "kernel/core/lookup.h"
#include "model/gp/gp_average.h"
#include "model/gp/gp_journal.h"
#include "model/posterior/outputs.h"

/* ---- Starts ---- */

/* Half of the targets' variance, unless the caller knows better. */
static double start_of_noise(const lth_gp *gp, const lth_gp_options *options) {
    size_t count = gp->rows * gp->latents;
    double square = 0, scale = gp->targets[0].scale;
    if (options->noise > 0) return options->noise / (scale * scale);
    if (!options->unscaled) return 0.5;
    for (size_t i = 0; i < gp->rows; i++) {
        for (size_t t = 0; t < gp->latents; t++) {
            double y = gp->y[t * gp->rows + i];
            square += y * y;
        }
    }
    return square > 0 ? 0.5 * square / (double)count : 0.5;
}

/* Values before learning, and what is held; the kernel's own are guessed later. */
static lth_status set_starts(lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    size_t params = gp->kernel->param_count;
    /* A matrix on disk is that of these values. */
    for (size_t p = 0; p < params; p++)
        gp->held[p] = gp->kernel->params[p].held || gp->items->stored;
    for (size_t i = 0; i < gp->own_count; i++) gp->held[params + i] = false;
    if (gp->likelihood->has_noise) gp->held[params] = options->noise_held;
    LTH_TRY(lth__gp_hold(gp, options, err));
    for (size_t i = 0; i < gp->own_count; i++) gp->own[i] = gp->own_list[i].start;
    if (gp->likelihood->has_noise) gp->own[0] = start_of_noise(gp, options);
    if (gp->how.coregion > 0) /* a kernel without a size has k(x,x) = 1 or so */
        lth__outputs_start(gp, lth__kernel_has_size(gp->kernel, gp->held) ? 1 : 0.5);
    lth__terms terms = lth__gp_terms(gp, 0);
    if (gp->likelihood->start) gp->likelihood->start(&terms, gp->y, gp->rows, gp->own);
    if (gp->likelihood->own_units) {
        bool has_size =
            lth__kernel_has_size(gp->kernel, gp->held); /* a factor would say the same */
        gp->own[gp->own_count - 1] = has_size ? 1 : gp->likelihood->of == LTH__OF_LABELS ? 5 : 1;
        gp->held[params + gp->own_count - 1] |= has_size;
    }
    for (size_t i = 0; i < gp->own_count; i++) gp->start[params + i] = gp->own[i];
    return LTH_OK;
}

/* k(x,x) to begin with: as much signal as noise, or what makes a label rather sure; other f in
 * units of their own vary by about 1. */
static double starting_variance(const lth_gp *gp, const lth_gp_options *options) {
    bool labels = gp->likelihood->of == LTH__OF_LABELS;
    if (gp->likelihood->own_units) return (labels ? 5 : 1) / lth__gp_scale(gp);
    return options->unscaled ? gp->own[0] : 0.5;
}

/* ---- Fitting ---- */

static bool nothing_to_learn(const lth_gp *gp) {
    for (size_t t = 0; t < gp->target_count; t++) {
        if (!gp->targets[t].constant) return false;
    }
    return true;
}

/* On the lowest rung of the jitter ladder that bears it. */
lth_status lth__gp_solve(lth_gp *gp, lth__gram *gram, double *evidence, lth_error *err) {
    for (;;) {
        lth_status status = lth__gp_evidence(gp, gram, evidence, NULL, err);
        if (status != LTH_ENUMERIC) return status;
        if (gp->jitter > 1e-4) break;
        gp->jitter = gp->jitter == 0 ? 1e-10 : gp->jitter * 10;
    }
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel matrix is not positive definite, even with jitter: check the word "
                     "vectors and numbers, or use more noise");
}

/* nu_i and the share of each order in the mean of k(x,x), for the first string kernel. */
static lth_status report_orders(lth_gp *gp, lth_error *err) {
    const lth__node *node = NULL;
    for (size_t n = 0; n < gp->kernel->node_count && !node; n++) {
        const lth__node *at = gp->kernel->nodes[n];
        if (at->family->order_shares && lth__kernel_has(gp->kernel, at)) node = at;
    }
    if (!node) return LTH_OK;
    lth__eval eval = {.ctx = &gp->ctx,
                      .kernel = gp->kernel,
                      .rows = gp->items,
                      .cols = gp->items,
                      .gradients = true,
                      .quiet = true};
    lth_status status = lth__eval_prepare(&eval, err);
    if (status == LTH_OK) {
        gp->report.orders = node->family->orders(node);
        status =
            node->family->order_shares(node, &eval, gp->report.nu, gp->report.order_share, err);
    }
    lth__eval_release(&eval);
    return status;
}

/* Where draws are conditioned too while all rows are there: then the model itself again, from where
 * it began. */
static lth_status solve_draws(lth_gp *gp, lth__gram *gram, double *evidence, lth_error *err) {
    size_t count = 0;
    double *carried = gp->posterior->carried ? gp->posterior->carried(gp, &count) : NULL;
    double *carry = lth__alloc(count, sizeof *carry), jitter = gp->jitter;
    if (!carry) return lth__fail_memory(err, count * sizeof *carry);
    if (count > 0) memcpy(carry, carried, count * sizeof *carry);
    lth_status status = lth__gp_solve(gp, gram, evidence, err);
    if (status == LTH_OK) status = lth__gp_keep_draws(gp, gram, err);
    if (count > 0) memcpy(gp->posterior->carried(gp, &count), carry, count * sizeof *carry);
    lth__free(carry);
    gp->jitter = jitter;
    return status;
}

static lth_status finish(lth_gp *gp, lth__gram *gram, lth_error *err) {
    double evidence;
    gp->report.rows = gp->rows; /* a posterior may keep fewer */
    if (gp->draws && gp->posterior->draws) LTH_TRY(solve_draws(gp, gram, &evidence, err));
    LTH_TRY(lth__gp_solve(gp, gram, &evidence, err));
    gp->report.evidence = evidence + lth__gp_jacobian(gp);
    if (!isfinite(gp->report.evidence))
        return lth__fail(err, LTH_ENUMERIC,
                         "the evidence is not a finite number: check the numbers in the table, and "
                         "the values that options give");
    gp->report.jitter = gp->jitter;
    LTH_TRY(gp->posterior->settle(gp, err));
    return report_orders(gp, err);
}

/* The logarithm of the noise varies by about 1. */
static lth_status guess_noise(const lth_gp *gp, lth_error *err) {
    lth_kernel noise = lth__kernel_of_noise(gp->kernel);
    return lth__kernel_guess(&noise, gp->items, gp->held, 0.5, err);
}

/* The search, from values that suit the rows. */
static lth_status learn(lth_gp *gp, lth__gram *gram, const lth_gp_options *options,
                        lth_error *err) {
    LTH_TRY(set_starts(gp, options, err));
    LTH_TRY(
        lth__kernel_guess(gp->kernel, gp->items, gp->held, starting_variance(gp, options), err));
    if (gp->kernel->noise) LTH_TRY(guess_noise(gp, err));
    for (size_t p = 0; p < gp->kernel->param_count; p++) gp->start[p] = gp->kernel->params[p].value;
    gp->report.learned_rows = gp->rows;
    return lth__gp_search(gp, gram, options, err);
}

static lth_status keep_values(lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    LTH_TRY(set_starts(gp, options, err));
    for (size_t p = 0; p < gp->kernel->param_count; p++) gp->start[p] = gp->kernel->params[p].value;
    return LTH_OK;
}

/* Learning on a part of the rows. */
static lth_status learn_part(lth_gp *part, const lth_gp_options *options, lth_error *err) {
    lth__gram *gram = NULL;
    LTH_TRY(lth__gram_create(part->kernel, part->items, NULL, &gram, err));
    lth_status status = learn(part, gram, options, err);
    part->posterior->free(part->solution); /* its matrices may lie beside the Gram matrix */
    part->solution = NULL;
    lth__gram_free(gram);
    return status;
}

/* On all rows, from where the search on a part ended. */
static lth_status refine(lth_gp *gp, lth__gram *gram, const lth_gp_options *options,
                         lth_error *err) {
    lth_gp_options once = *options;
    lth_gp_report before = gp->report;
    once.restarts = 0;
    LTH_TRY(lth__gp_search(gp, gram, &once, err));
    gp->report.learned_rows = gp->rows;
    gp->report.iterations += before.iterations;
    gp->report.evaluations += before.evaluations;
    gp->report.seconds += before.seconds;
    return LTH_OK;
}

static lth_status condition(lth_gp *gp, const lth_gp_plan *plan, bool learns,
                            const lth_gp_options *options, lth_error *err) {
    lth__gram *gram = NULL;
    bool at_once = learns && lth__gp_learns_at_once(plan),
         again = learns && !at_once && gp->how.bound != LTH_BOUND_NONE;
    LTH_TRY(gp->posterior->open(gp, err));
    LTH_TRY(lth__gram_create(gp->kernel, gp->items, NULL, &gram, err));
    if (!at_once && !again) lth__gram_keep_nothing(gram);
    lth_status status = LTH_OK;
    if (at_once) status = learn(gp, gram, options, err);
    if (again) status = refine(gp, gram, options, err);
    if (status == LTH_OK) status = finish(gp, gram, err);
    if (status != LTH_OK) { /* its matrices may lie beside the Gram matrix */
        gp->posterior->free(gp->solution);
        gp->solution = NULL;
    }
    lth__gram_free(gram);
    return status;
}

static lth_status make_room(lth_gp *gp, lth_error *err) {
    size_t params = lth__gp_param_count(gp);
    gp->start = lth__alloc(params, sizeof *gp->start);
    gp->held = lth__calloc(params, sizeof *gp->held);
    gp->at_bound = lth__calloc(params, sizeof *gp->at_bound);
    return gp->start && gp->held && gp->at_bound ? LTH_OK : lth__fail_memory(err, 0);
}

static lth_status learn_by(lth_gp *gp, const lth_gp_plan *plan, const lth_gp_options *options,
                           lth_error *err) {
    if (options->journal) LTH_TRY(lth__journal_open(gp, options, plan, &gp->journal, err));
    lth_status status = LTH_OK;
    lth_gp_options first = *options;
    if (gp->how.bound != LTH_BOUND_NONE) { /* these are of the search that follows */
        first.intervals = false;
        first.average = 0;
    }
    if (!lth__gp_learns_at_once(plan))
        status = lth__gp_learn_part(gp, plan->learn_rows, learn_part, &first, err);
    if (status == LTH_OK) status = condition(gp, plan, true, options, err);
    lth__journal_close(gp->journal);
    gp->journal = NULL;
    return status;
}

/* That of the first rank, whose memory is taken for everybody's. */
static lth_status make_plan(lth_gp *gp, const lth_gp_options *options, bool learns,
                            lth_gp_plan *plan, lth_error *err) {
    lth__cluster *c = gp->ctx.cluster;
    lth_status status = lth__gp_plan(gp, options, plan, err);
    LTH_TRY(lth__cluster_share(c, status, 0, plan, sizeof *plan, err));
    status = lth__gp_plan_check(gp, options, plan, learns, err);
    return lth__cluster_agree(c, status, err);
}

lth_status lth__gp_learn(lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    lth_gp_plan plan;
    bool learns = options->learn && !nothing_to_learn(gp);
    LTH_TRY(make_plan(gp, options, learns, &plan, err));
    LTH_TRY(make_room(gp, err));
    gp->posterior = lth__gp_posterior(gp, plan.posterior);
    gp->how.store = plan.store;
    gp->how.on_disk = plan.on_disk;
    LTH_TRY(lth__gp_check_average(gp, options, err));
    if (options->learn && !learns) {
        lth__log(&gp->ctx, LTH_LOG_WARNING, "the target is constant: there is nothing to learn");
        gp->report.converged = true;
    }
    if (learns) {
        LTH_TRY(learn_by(gp, &plan, options, err));
    } else {
        LTH_TRY(keep_values(gp, options, err));
        LTH_TRY(condition(gp, &plan, false, options, err));
    }
    gp->report.posterior = lth__gp_posterior_number(gp);
    lth__gp_uncertain_report(gp);
    return lth__gp_prepare(gp, err);
}

/* ---- From a table ---- */

lth_status lth_gp_fit(lth_ctx *ctx, const char *expression, const lth_table *table,
                      const char *const *targets, size_t target_count, const lth_gp_options *given,
                      lth_gp **out, lth_error *err) {
    lth_gp_options options = lth__gp_options_complete(given);
    lth__source s;
    lth_gp *gp = NULL;
    char *whole = NULL;
    if (target_count == 0) return lth__fail(err, LTH_EARG, "no target column is named");
    LTH_TRY(lth__gp_expression(ctx, expression, &options, &whole, err));
    lth_status status = lth__source_open(&s, ctx, whole, table, lth__gp_files(&options), err);
    lth__free(whole);
    if (status == LTH_OK)
        status = lth__gp_begin(&s, table, targets, target_count, &options, &gp, err);
    if (status == LTH_OK) status = lth__gp_learn(gp, &options, err);
    if (status == LTH_OK) status = lth__gp_list(gp, err);
    if (status == LTH_OK)
        status = lth__encoder_keep(s.encoder, lth__gp_files(&options).vectors, options.keep_vectors,
                                   err);
    if (status == LTH_OK) {
        lth__source_give(&s, gp->items, gp->all);
        gp->borrowed = false;
        *out = gp;
    } else {
        lth_gp_free(gp);
        lth__source_close(&s);
    }
    return status;
}
