/* Models of the draws of a model, and what averaging leaves in its file. */
#include "model/gp/gp_average.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/gp/gp_uncertain.h"
#include "model/posterior/noise.h"

/* Those of draws that weigh nothing are not made. */
struct lth__drawn {
    lth_gp **model;
    double *weight;
    size_t count;
};

/* ---- What it goes with ---- */

static size_t bytes_of_draw(const lth_gp *gp) {
    if (gp->posterior->settled_bytes) return gp->posterior->settled_bytes(gp);
    size_t factor = lth__packed_bytes(gp->rows, sizeof(double));
    return factor > SIZE_MAX / gp->latents ? SIZE_MAX : factor * gp->latents;
}

static lth_status check_memory(const lth_gp *gp, size_t draws, lth_error *err) {
    size_t one = bytes_of_draw(gp); /* beside what makes them, unless the fit did */
    size_t beside = gp->posterior->draws ? 0 : gp->posterior->bytes(gp);
    size_t all =
        one > SIZE_MAX / 2 / draws || beside > SIZE_MAX / 2 ? SIZE_MAX : draws * one + beside;
    char what[64];
    snprintf(what, sizeof what, "averaging over %zu draws", draws);
    return lth__memory_check(all, what, "use fewer draws or rows, or a machine with more memory",
                             err);
}

lth_status lth__gp_check_average(const lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    size_t draws = options->average;
    if (draws == 0) return LTH_OK;
    if (draws < 2 || draws > LTH__MOST_DRAWS)
        return lth__fail(err, LTH_EARG, "average wants 2 to %d draws, not %zu", LTH__MOST_DRAWS,
                         draws);
    if (!options->learn || options->max_iter == 0)
        return lth__fail(err, LTH_EARG, "nothing is learned, so there is nothing to average over");
    return check_memory(gp, draws, err);
}

/* ---- A model of a draw ---- */

void lth__gp_copy_free(lth_gp *d) {
    if (!d) return;
    if (d->solution) d->posterior->free(d->solution);
    lth__prepared_free(d->prepared);
    if (d->items) lth_encoder_free(d->items->encoder);
    lth__kernel_copy_free(d->kernel);
    void *blocks[] = {d->items, d->y, d->unwarped, d->warp_by, d->targets, d};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

static void *copy_of(const void *from, size_t count, size_t size) {
    void *to = lth__alloc(count, size);
    if (to && count > 0) memcpy(to, from, count * size);
    return to;
}

/* The targets before the warp: the model has them after it. */
static bool unwarp(const lth_gp *gp, lth_gp *d) {
    size_t cells = gp->rows * gp->latents;
    d->unwarped = lth__alloc(cells, sizeof *d->unwarped);
    d->warp_by = lth__alloc(lth__warp_params(gp->warp) * cells, sizeof *d->warp_by);
    for (size_t t = 0; d->unwarped && t < gp->latents; t++) {
        const lth__target *of = &gp->targets[t];
        for (size_t i = 0; i < gp->rows; i++)
            d->unwarped[t * gp->rows + i] = (lth__gp_truth(gp, t, i) - of->shift) / of->scale;
    }
    return d->unwarped && d->warp_by;
}

/* All that it owns is NULL or its own: lth__gp_copy_free() in any case. */
static bool copy_model(const lth_gp *gp, lth_gp *d) {
    *d = *gp;
    d->solution = NULL;
    d->prepared = NULL;
    d->kernel = NULL;
    d->y = d->unwarped = d->warp_by = NULL;
    d->targets = NULL;
    d->items = NULL;
    d->intervals = NULL;
    d->draws = NULL;
    d->only_predicts = true;
    d->kernel = lth__kernel_copy(gp->kernel);
    d->y = copy_of(gp->y, gp->rows * gp->latents, sizeof *d->y);
    d->targets = copy_of(gp->targets, gp->target_count, sizeof *d->targets);
    return d->kernel && d->y && d->targets && (!gp->warp || unwarp(gp, d));
}

/* The same rows, with an encoder of its own: what that keeps depends on the values of the
 * parameters, and other threads read the model's. */
static lth_status take_rows(const lth_gp *gp, lth_gp *d, lth_error *err) {
    d->items = copy_of(gp->items, 1, sizeof *d->items);
    if (!d->items) return lth__fail_memory(err, sizeof *d->items);
    d->items->encoder = NULL;
    LTH_TRY(lth__encoder_extend(gp->encoder, &d->items->encoder, err));
    d->items->borrowed = d->items->of_base = d->items->quiet = true;
    return LTH_OK;
}

static lth_status solve(lth_gp *d, lth_error *err) {
    lth__gram *gram;
    double evidence;
    lth_status status = d->posterior->open(d, err);
    if (status == LTH_OK) status = lth__gram_create(d->kernel, d->items, NULL, &gram, err);
    if (status == LTH_OK) {
        lth__gram_keep_nothing(gram);
        status = lth__gp_solve(d, gram, &evidence, err);
        if (status == LTH_OK) status = d->posterior->settle(d, err);
        if (status != LTH_OK) { /* its matrices may lie beside the Gram matrix */
            d->posterior->free(d->solution);
            d->solution = NULL;
        }
        lth__gram_free(gram);
    }
    if (status == LTH_OK && d->posterior->ready) status = d->posterior->ready(d, err);
    return status;
}

static void write_values(lth_gp *gp, const double *value) {
    for (size_t p = 0; p < lth__gp_param_count(gp); p++) *lth__gp_value(gp, p) = value[p];
}

lth_status lth__gp_copy_at(const lth_gp *gp, const double *value, lth_gp **out, lth_error *err) {
    lth_gp *d = lth__calloc(1, sizeof *d);
    if (!d) return lth__fail_memory(err, sizeof *d);
    lth_status status = copy_model(gp, d) ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) {
        d->kernel->ctx = &d->ctx;
        write_values(d, value);
        status = take_rows(gp, d, err);
    }
    if (status == LTH_OK)
        *out = d;
    else
        lth__gp_copy_free(d);
    return status;
}

/* `kept` of all rows, where the model does not have them. */
static lth_status make_model(const lth_gp *gp, const double *value, const double *kept,
                             lth_gp **out, lth_error *err) {
    lth_gp *d = NULL;
    LTH_TRY(lth__gp_copy_at(gp, value, &d, err));
    lth_status status = kept ? d->posterior->draws->take(d, kept, err) : solve(d, err);
    if (status == LTH_OK) status = lth__gp_prepare(d, err);
    if (status == LTH_OK)
        *out = d;
    else
        lth__gp_copy_free(d);
    return status;
}

/* ---- All of them ---- */

void lth__drawn_free(struct lth__drawn *d) {
    if (!d) return;
    for (size_t i = 0; d->model && i < d->count; i++) lth__gp_copy_free(d->model[i]);
    lth__free(d->model);
    lth__free(d->weight);
    lth__free(d);
}

static lth_status make_models(const lth_gp *gp, struct lth__drawn *to, lth_error *err) {
    const struct lth__draws *d = gp->draws;
    to->model = lth__calloc(d->count, sizeof *to->model);
    to->weight = lth__calloc(d->count, sizeof *to->weight);
    if (!to->model || !to->weight) return lth__fail_memory(err, d->count * sizeof *to->model);
    for (size_t i = 0; i < d->count; i++) {
        if (d->weight[i] == 0) continue;
        const double *kept = d->kept ? d->kept + i * d->numbers : NULL;
        LTH_TRY(make_model(gp, d->value + i * d->params, kept, &to->model[to->count], err));
        to->weight[to->count++] = d->weight[i];
    }
    return LTH_OK;
}

static lth_status make_drawn(const lth_gp *gp, struct lth__drawn **out, lth_error *err) {
    lth_ctx ctx = gp->ctx;
    const lth__eval *kept;
    LTH_TRY(check_memory(gp, gp->draws->count, err));
    /* What the model's encoder keeps is complete before draws look at it. */
    LTH_TRY(lth__prepared_need(gp->prepared, &ctx, &kept, err));
    const lth_gp *noise = lth__gp_noise_model(gp);
    if (noise) LTH_TRY(lth__prepared_need(noise->prepared, &ctx, &kept, err));
    struct lth__drawn *d = lth__calloc(1, sizeof *d);
    if (!d) return lth__fail_memory(err, sizeof *d);
    lth_status status = make_models(gp, d, err);
    if (status == LTH_OK)
        *out = d;
    else
        lth__drawn_free(d);
    return status;
}

const lth_gp *lth__averaged_at(const lth__averaged *a, size_t i) {
    return a->model ? a->model[i] : a->itself;
}

lth_status lth__gp_averaged(const lth_gp *gp, lth__averaged *out, lth_error *err) {
    static const double one = 1;
    struct lth__draws *d = gp->draws;
    *out = (lth__averaged){.count = 1, .itself = gp, .weight = &one};
    if (!d) return LTH_OK;
    pthread_mutex_lock(&d->lock);
    lth_status status = d->drawn ? LTH_OK : make_drawn(gp, &d->drawn, err);
    pthread_mutex_unlock(&d->lock);
    if (status != LTH_OK) return status;
    *out = (lth__averaged){
        .count = d->drawn->count, .model = d->drawn->model, .weight = d->drawn->weight};
    return LTH_OK;
}

/* ---- Of rows that the model will not keep ---- */

static lth_status keep_draw(lth_gp *gp, lth__gram *gram, size_t i, lth_error *err) {
    struct lth__draws *d = gp->draws;
    double evidence, jitter = gp->jitter;
    write_values(gp, d->value + i * d->params);
    gp->at_a_draw = true;
    lth_status status = lth__gp_solve(gp, gram, &evidence, err);
    gp->at_a_draw = false;
    gp->jitter = jitter;
    if (status == LTH_OK) gp->posterior->draws->keep(gp, d->kept + i * d->numbers);
    return status;
}

/* `best`: room for the model's own values. */
static lth_status keep_draws(lth_gp *gp, lth__gram *gram, double *best, lth_error *err) {
    struct lth__draws *d = gp->draws;
    lth_status status = LTH_OK;
    for (size_t p = 0; p < d->params; p++) best[p] = *lth__gp_value(gp, p);
    for (size_t i = 0; i < d->count && status == LTH_OK; i++) {
        if (d->weight[i] > 0) status = keep_draw(gp, gram, i, err);
    }
    write_values(gp, best);
    return status;
}

lth_status lth__gp_keep_draws(lth_gp *gp, lth__gram *gram, lth_error *err) {
    struct lth__draws *d = gp->draws;
    d->numbers = gp->posterior->draws->count(gp);
    lth__free(d->kept);
    d->kept = lth__calloc(d->count * d->numbers, sizeof *d->kept);
    double *best = lth__alloc(d->params, sizeof *best);
    lth_status status = d->kept && best
                            ? keep_draws(gp, gram, best, err)
                            : lth__fail_memory(err, d->count * d->numbers * sizeof *d->kept);
    lth__free(best);
    return status;
}

/* ---- In the report, and in a file ---- */

void lth__gp_uncertain_report(lth_gp *gp) {
    gp->report.draws = gp->draws ? gp->draws->count : 0;
    gp->report.effective_draws = gp->draws ? gp->draws->effective : 0;
}

enum { INTERVAL_NUMBERS = 3 };

void lth__gp_uncertain_save(const lth_gp *gp, lth__saver *s) {
    size_t params = lth__gp_param_count(gp);
    if (!s->ok || !gp->intervals) return;
    double *x = lth__saver_keep(s, lth__alloc(params * INTERVAL_NUMBERS, sizeof *x));
    s->ok = s->ok && x;
    if (!s->ok) return;
    for (size_t p = 0; p < params; p++) {
        const lth__interval *i = &gp->intervals[p];
        double all[INTERVAL_NUMBERS] = {i->low, i->high, i->undetermined};
        memcpy(x + p * INTERVAL_NUMBERS, all, sizeof all);
    }
    lth__saver_put_gaps(s, "intervals", params, INTERVAL_NUMBERS, x);
    const struct lth__draws *d = gp->draws;
    if (!d) return;
    lth__saver_put(s, "draws", LTH__F64, d->count, d->params, d->value);
    lth__saver_put(s, "draws.weight", LTH__F64, d->count, 0, d->weight);
    if (d->kept) lth__saver_put(s, "draws.kept", LTH__F64, d->count, d->numbers, d->kept);
}

/* Both numbers, or neither. */
static bool is_interval(const double *x) {
    bool known = isfinite(x[0]) && isfinite(x[1]) && x[0] <= x[1];
    return known || (isnan(x[0]) && isnan(x[1]));
}

static lth_status load_intervals(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *t;
    size_t params = lth__gp_param_count(gp);
    LTH_TRY(lth__loader_get_gaps(l, "intervals", 2, params, INTERVAL_NUMBERS, &t));
    gp->intervals = lth__alloc(params, sizeof *gp->intervals);
    if (!gp->intervals) return lth__fail_memory(l->err, params * sizeof *gp->intervals);
    for (size_t p = 0; p < params; p++) {
        const double *x = (const double *)t->data + p * INTERVAL_NUMBERS;
        if (!is_interval(x)) return lth__loader_damaged(l, "intervals");
        gp->intervals[p] = (lth__interval){x[0], x[1], x[2] != 0};
    }
    return LTH_OK;
}

/* As the kernel, or what is learned beside it, can have. */
static bool is_possible(const lth_gp *gp, size_t param, double value) {
    size_t kernel = gp->kernel->param_count;
    if (param >= kernel) return gp->own_list[param - kernel].linear || value >= 0;
    const lth_param *p = &gp->kernel->params[param];
    return value >= p->lo && value <= p->hi;
}

static lth_status load_kept(lth_gp *gp, const lth__loader *l) {
    struct lth__draws *d = gp->draws;
    const lth__tensor *t;
    d->numbers = gp->posterior->draws->count(gp);
    LTH_TRY(lth__loader_get(l, "draws.kept", LTH__F64, 2, d->count, d->numbers, &t));
    LTH_TRY(lth__loader_copy(l, t, &d->kept));
    for (size_t i = 0; i < d->count; i++) {
        const double *kept = d->kept + i * d->numbers;
        if (d->weight[i] > 0 && !gp->posterior->draws->is_possible(gp, kept))
            return lth__loader_damaged(l, "draws.kept");
    }
    return LTH_OK;
}

static lth_status load_draws(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *t, *weight;
    size_t params = lth__gp_param_count(gp);
    LTH_TRY(lth__loader_get(l, "draws", LTH__F64, 2, LTH_NONE, params, &t));
    size_t count = t->shape[0];
    if (count < 2 || count > LTH__MOST_DRAWS) return lth__loader_damaged(l, "draws");
    LTH_TRY(lth__loader_get(l, "draws.weight", LTH__F64, 1, count, 0, &weight));
    LTH_TRY(lth__draws_create(count, params, &gp->draws, l->err));
    struct lth__draws *d = gp->draws;
    memcpy(d->value, t->data, count * params * sizeof *d->value);
    memcpy(d->weight, weight->data, count * sizeof *d->weight);
    double sum = 0, square = 0;
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        good = good && d->weight[i] >= 0 && d->weight[i] <= 1;
        sum += d->weight[i];
        square += d->weight[i] * d->weight[i];
        for (size_t p = 0; p < params; p++)
            good = good && is_possible(gp, p, d->value[i * params + p]);
    }
    if (!good || !(fabs(sum - 1) < 1e-6)) return lth__loader_damaged(l, "draws");
    d->effective = 1 / square;
    return gp->posterior->draws ? load_kept(gp, l) : LTH_OK;
}

lth_status lth__gp_uncertain_load(lth_gp *gp, const lth__loader *l) {
    if (lth__tensors_find(l->file, "intervals")) LTH_TRY(load_intervals(gp, l));
    if (lth__tensors_find(l->file, "draws")) LTH_TRY(load_draws(gp, l));
    lth__gp_uncertain_report(gp);
    return LTH_OK;
}
