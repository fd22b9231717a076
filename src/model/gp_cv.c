/* Cross-validation: the columns are encoded once, each fold and target gets a model of its own. */
#include <string.h>

#include "base/clock.h"
#include "model/gp.h"

typedef struct cv {
    lth_ctx *ctx;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    double *initial; /* the kernel's values before any fit */
    double *y;       /* [target][row] */
    size_t rows;
    const char *const *names;
    const size_t *fold;
    const lth_gp_options *options;
    /* Of the fold at hand: */
    size_t *row;       /* rows to learn from, then those to judge */
    double *buffer;    /* 3 x rows */
    double *mean, *sd; /* of all rows, by [row] */
} cv;

/* Rows outside of the fold first; returns how many they are. */
static size_t split_rows(const cv *c, size_t fold) {
    size_t inside = 0, outside = 0;
    for (size_t i = 0; i < c->rows; i++) outside += c->fold[i] != fold;
    for (size_t i = 0, learn = 0; i < c->rows; i++) {
        if (c->fold[i] != fold)
            c->row[learn++] = i;
        else
            c->row[outside + inside++] = i;
    }
    return outside;
}

static void reset_kernel(cv *c) {
    for (size_t p = 0; p < c->kernel->param_count; p++) c->kernel->params[p].value = c->initial[p];
}

/* Learn target `t` from c->row[0 .. learn-1] and judge it on the rest. */
static lth_status judge(cv *c, size_t t, size_t learn, lth_items *train, lth_items *test,
                        lth_metrics *out, double *evidence, lth_error *err) {
    size_t test_count = c->rows - learn;
    double *y = c->buffer, *mean = y + c->rows, *sd = mean + c->rows;
    for (size_t i = 0; i < learn; i++) y[i] = c->y[t * c->rows + c->row[i]];
    reset_kernel(c);
    lth_gp *gp = NULL;
    LTH_TRY(lth__gp_fit_items(c->ctx, c->kernel, c->encoder, train, y, &c->names[t], 1, c->options,
                              &gp, err));
    lth_status status = lth__gp_predict_items(gp, test, false, mean, sd, err);
    bool interrupted = gp->report.interrupted;
    *evidence = gp->report.evidence;
    lth_gp_free(gp);
    LTH_TRY(status);
    if (interrupted) return lth__fail(err, LTH_ECANCELED, "interrupted");
    for (size_t i = 0; i < test_count; i++) {
        size_t row = c->row[learn + i];
        y[i] = c->y[t * c->rows + row];
        c->mean[t * c->rows + row] = mean[i];
        c->sd[t * c->rows + row] = sd[i];
    }
    *out = lth_metrics_of(y, mean, sd, test_count);
    return LTH_OK;
}

static lth_status run_fold(cv *c, size_t fold, size_t folds, size_t targets, lth_cv_result *result,
                           lth_error *err) {
    size_t learn = split_rows(c, fold);
    if (learn == 0 || learn == c->rows)
        return lth__fail(err, LTH_EARG, "fold %zu is empty, or holds all rows", fold + 1);
    lth_items *train = NULL, *test = NULL;
    lth_status status = lth__items_pick(c->items, c->row, learn, &train, err);
    if (status == LTH_OK)
        status = lth__items_pick(c->items, c->row + learn, c->rows - learn, &test, err);
    for (size_t t = 0; t < targets && status == LTH_OK; t++) {
        double began = lth__seconds(), evidence = 0;
        size_t at = t * folds + fold;
        status = judge(c, t, learn, train, test, &result->fold[at], &evidence, err);
        result->seconds[at] = lth__seconds() - began;
        if (result->evidence) result->evidence[at] = evidence;
        lth_ctx_options *told = &c->ctx->options;
        double done = (double)(fold * targets + t + 1), total = (double)(folds * targets);
        if (status == LTH_OK && told->progress &&
            told->progress(told->user, "cross-validation", done, total))
            status = lth__fail(err, LTH_ECANCELED, "interrupted");
    }
    lth_items_free(train);
    lth_items_free(test);
    return status;
}

static lth_status run_folds(cv *c, size_t folds, size_t targets, lth_cv_result *result,
                            lth_error *err) {
    size_t rows = c->rows, params = c->kernel->param_count;
    c->initial = lth__alloc(params, sizeof *c->initial);
    c->row = lth__alloc(rows, sizeof *c->row);
    c->buffer = lth__alloc(3 * rows, sizeof *c->buffer);
    c->mean = lth__alloc(rows * targets, sizeof *c->mean);
    c->sd = lth__alloc(rows * targets, sizeof *c->sd);
    if (!c->initial || !c->row || !c->buffer || !c->mean || !c->sd) return lth__fail_memory(err, 0);
    for (size_t p = 0; p < params; p++) c->initial[p] = c->kernel->params[p].value;
    for (size_t f = 0; f < folds; f++) LTH_TRY(run_fold(c, f, folds, targets, result, err));
    for (size_t t = 0; t < targets; t++) {
        result->pooled[t] =
            lth_metrics_of(c->y + t * rows, c->mean + t * rows, c->sd + t * rows, rows);
    }
    if (result->mean) memcpy(result->mean, c->mean, rows * targets * sizeof *c->mean);
    if (result->sd) memcpy(result->sd, c->sd, rows * targets * sizeof *c->sd);
    return LTH_OK;
}

static lth_status check_folds(const size_t *fold, size_t rows, size_t folds, lth_error *err) {
    for (size_t i = 0; i < rows; i++) {
        if (fold[i] >= folds)
            return lth__fail(err, LTH_EARG, "row %zu is in fold %zu of %zu", i + 1, fold[i] + 1,
                             folds);
    }
    return LTH_OK;
}

lth_status lth_gp_cv(lth_ctx *ctx, const char *expression, const lth_table *table,
                     const char *const *targets, size_t target_count, const size_t *fold,
                     size_t folds, const lth_gp_options *given, lth_cv_result *result,
                     lth_error *err) {
    lth_gp_options options = lth__gp_options_complete(given);
    cv c = {.ctx = ctx,
            .rows = lth_table_rows(table),
            .names = targets,
            .fold = fold,
            .options = &options};
    LTH_TRY(check_folds(fold, c.rows, folds, err));
    lth_status status = lth_kernel_parse(ctx, expression, &c.kernel, err);
    if (status == LTH_OK) status = lth_kernel_resolve(&c.kernel, table, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, c.kernel, &c.encoder, err);
    if (status == LTH_OK) status = lth_encode(c.encoder, table, &c.items, err);
    if (status == LTH_OK && options.vectors && lth_kernel_needs_vectors(c.kernel))
        status = lth_encoder_read_vectors(c.encoder, options.vectors, err);
    if (status == LTH_OK) status = lth__read_targets(table, targets, target_count, &c.y, err);
    if (status == LTH_OK) status = run_folds(&c, folds, target_count, result, err);
    void *blocks[] = {c.initial, c.row, c.buffer, c.mean, c.sd, c.y};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth_items_free(c.items);
    lth_encoder_free(c.encoder);
    lth_kernel_free(c.kernel);
    return status;
}
