/* Cross-validation: the columns are encoded once, each fold and target gets a model of its own
 * (gp_cv_fit.c). */
#include <string.h>

#include "kernel/core/gram.h"
#include "model/common/fits.h"
#include "model/gp/gp_cv.h"

typedef lth__gp_cv cv;

/* ---- Side by side, or not ---- */

/* Matrices of N^2 / 2 pairs that a posterior holds at a time, at the most, and some room. */
static size_t count_matrices(const cv *c) {
    size_t classes = 0;
    for (size_t t = 0; c->labels && t < c->targets; t++) {
        if (c->labels[t].class_count > classes) classes = c->labels[t].class_count;
    }
    return 4 + 2 * classes;
}

/* Tables of word similarities may have an eighth of what a fit can have (similarity.c): they must
 * be the same whether others run or not. */
static size_t bytes_of_words(const cv *c) {
    const lth_kernel *kernel = c->source.kernel;
    size_t bytes = 0;
    for (size_t f = 0; f < kernel->field_count; f++) {
        if (!kernel->fields[f].vectors) continue;
        size_t side = lth__symbols_count(c->source.encoder->lexicons[f].symbols) + 1;
        bytes += 8 * side * side * sizeof(double);
    }
    return bytes;
}

/* What is on disk, or shared by targets that learn from each other, is one fit's at a time. */
static unsigned count_workers(const cv *c, size_t count) {
    const lth_gp_options *o = c->options;
    size_t rows = c->rows * (o->coregion > 0 ? c->targets : 1);
    size_t bytes = count_matrices(c) * lth__packed_bytes(rows, sizeof(double)) + bytes_of_words(c);
    if (o->gram || o->on_disk) return 0;
    return lth__fits_workers(c->source.ctx, count, rows, bytes);
}

/* Similarities of words at the values that all fits begin with; those that no parameter changes are
 * so made once. Where it fails, fits say why. */
static void make_similarities(const cv *c) {
    lth__eval eval = {.ctx = c->source.ctx,
                      .kernel = c->source.kernel,
                      .rows = c->source.items,
                      .cols = c->source.items,
                      .gradients = true,
                      .quiet = true};
    if (c->learns || !lth_kernel_needs_vectors(c->source.kernel)) return;
    lth_status status = lth__eval_prepare(&eval, NULL);
    (void)status;
    lth__eval_release(&eval);
}

/* ---- All folds ---- */

typedef struct all_fits {
    cv *c;
    size_t targets; /* that are fitted by themselves: 1 where they learn from each other */
    size_t *fold;   /* those of this rank */
} all_fits;

static lth_status run_fit(void *user, size_t index, lth_ctx *ctx, lth_error *err) {
    const all_fits *a = user;
    return lth__gp_cv_fit(a->c, index % a->targets, a->fold[index / a->targets], ctx, err);
}

/* What is finished may be worth having, where no other rank has the rest. */
static lth_status keep_finished(const all_fits *a, const bool *done, lth_status status) {
    const cv *c = a->c;
    if (status != LTH_ECANCELED || !c->options->partial || c->source.ctx->cluster) return status;
    for (size_t i = 0; i < c->folds * c->targets; i++) {
        size_t target = i % c->targets, fold = i / c->targets;
        if (!done[fold * a->targets + target % a->targets])
            lth__validation_miss(c->validation, target, fold);
    }
    return lth__validation_has_any(c->validation) ? LTH_OK : status;
}

/* Those that are this one's of `ranks`. */
static lth_status run_own(all_fits *a, const lth__cluster *ranks, bool *done, lth_error *err) {
    cv *c = a->c;
    size_t count = 0;
    for (size_t f = 0; f < c->folds; f++) {
        if (lth__cluster_owns(ranks, f)) a->fold[count++] = f;
    }
    count *= a->targets;
    lth__fits fits = {.ctx = c->source.ctx,
                      .what = "cross-validation",
                      .count = count,
                      .workers = count_workers(c, count),
                      .fit = run_fit,
                      .user = a,
                      .done = done};
    if (fits.workers > 0) make_similarities(c);
    return lth__fits_run(&fits, err);
}

/* Each rank has folds of its own, and nothing to share while it is at them; unless their matrices
 * are so large that all ranks hold them together. */
static lth_status share_folds(all_fits *a, bool *done, lth_error *err) {
    cv *c = a->c;
    lth_ctx *ctx = c->source.ctx;
    lth__cluster *ranks = ctx->cluster;
    if (!ranks || lth__cluster_deals(c->rows)) return run_own(a, NULL, done, err);
    ctx->cluster = NULL;
    lth_status status = run_own(a, ranks, done, err);
    ctx->cluster = ranks;
    return lth__validation_join(ranks, status, c->validation, err);
}

static lth_status run_folds(cv *c, lth_error *err) {
    all_fits a = {.c = c, .targets = c->options->coregion > 0 ? 1 : c->targets};
    a.fold = lth__alloc(c->folds, sizeof *a.fold);
    bool *done = lth__calloc(c->folds * a.targets, sizeof *done);
    lth_status status = a.fold && done ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) status = keep_finished(&a, done, share_folds(&a, done, err));
    lth__free(a.fold);
    lth__free(done);
    return status;
}

/* ---- From a table ---- */

static lth_status take_numbers(cv *c, const lth_table *table, lth_error *err) {
    LTH_TRY(lth__gp_read_numbers(table, c->names, c->targets, c->options, &c->y, err));
    c->grades = lth__alloc(LTH__MOST_GRADES, sizeof *c->grades);
    if (!c->grades) return lth__fail_memory(err, 0);
    if (lth__likelihood_of(c->options->likelihood, false)->of == LTH__OF_GRADES)
        LTH_TRY(lth__grades_list(c->y, c->rows * c->targets, c->grades, &c->grade_count, err));
    for (size_t t = 0; t < c->targets; t++) {
        LTH_TRY(lth__validation_add(c->validation, c->y + t * c->rows, NULL, c->rows, err));
        lth__validated *v = &c->validation->targets[t];
        v->sd = lth__calloc(c->rows, sizeof *v->sd);
        if (!v->sd) return lth__fail_memory(err, 0);
        /* A mixture of normal distributions is none. */
        if (lth__likelihood_of(c->options->likelihood, false) != &lth__gaussian ||
            c->options->average > 0 || c->source.kernel->noise)
            LTH_TRY(lth__validation_distribution(c->validation, t, err));
    }
    return LTH_OK;
}

static lth_status take_labels(cv *c, const lth_table *table, lth_error *err) {
    c->labels = lth__calloc(c->targets, sizeof *c->labels);
    if (!c->labels) return lth__fail_memory(err, 0);
    for (size_t t = 0; t < c->targets; t++) {
        LTH_TRY(lth__labels_read(table, c->names[t], &c->labels[t], err));
        lth__labels_warn(c->source.ctx, c->names[t], &c->labels[t]);
        LTH_TRY(lth__validation_add(c->validation, NULL, &c->labels[t], c->rows, err));
        lth__validated *v = &c->validation->targets[t];
        v->probability = lth__calloc(c->rows * v->class_count, sizeof *v->probability);
        if (!v->probability) return lth__fail_memory(err, 0);
    }
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

/* Once it is known which rows have targets. */
static lth_status check_rows(const cv *c, lth_error *err) {
    size_t *row = lth__alloc(c->rows, sizeof *row), used, whole = LTH_NONE;
    if (!row) return lth__fail_memory(err, c->rows * sizeof *row);
    for (size_t f = 0; f < c->folds && whole == LTH_NONE; f++) {
        size_t learn = lth__gp_cv_split(c, f, row, &used);
        if (learn == 0 || learn == used) whole = f;
    }
    lth__free(row);
    if (whole == LTH_NONE) return LTH_OK;
    return lth__fail(err, LTH_EARG, "fold %zu is empty, or holds all rows", whole + 1);
}

static lth_status run(cv *c, lth_ctx *ctx, const char *expression, const lth_table *table,
                      lth_error *err) {
    bool labels = false;
    c->rows = lth_table_rows(table);
    LTH_TRY(check_folds(c->fold, c->rows, c->folds, err));
    LTH_TRY(lth__source_open(&c->source, ctx, expression, table, lth__gp_files(c->options), err));
    size_t together = c->options->coregion > 0 ? c->targets : 1;
    LTH_TRY(lth__gp_takes_labels(table, c->names, together, c->options, &labels, err));
    lth__targets_warn(ctx, c->source.kernel, c->names, c->targets);
    lth__known_columns columns = lth__gp_known_columns(c->options);
    LTH_TRY(lth__known_read(table, &columns, true, &c->known, err));
    LTH_TRY(lth__validation_create(c->targets, c->folds, &c->validation, err));
    LTH_TRY((labels ? take_labels : take_numbers)(c, table, err));
    LTH_TRY(check_rows(c, err));
    c->learns = lth__kernel_learns_from_rows(c->source.kernel);
    LTH_TRY(run_folds(c, err));
    return lth__validation_judge(c->validation, c->fold, err);
}

static void close_cv(cv *c) {
    for (size_t t = 0; c->labels && t < c->targets; t++) lth__labels_free(&c->labels[t]);
    lth__known_free(&c->known);
    void *blocks[] = {c->y, c->labels, c->grades};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__source_close(&c->source);
    pthread_mutex_destroy(&c->lock);
}

lth_status lth_gp_cv(lth_ctx *ctx, const char *expression, const lth_table *table,
                     const char *const *targets, size_t target_count, const size_t *fold,
                     size_t folds, const lth_gp_options *given, lth_validation **out,
                     lth_error *err) {
    if (target_count == 0) return lth__fail(err, LTH_EARG, "no target column is named");
    lth_gp_options options = lth__gp_options_complete(given);
    options.journal = NULL; /* it is one fit's */
    cv c = {.folds = folds,
            .targets = target_count,
            .names = targets,
            .fold = fold,
            .options = &options,
            .lock = PTHREAD_MUTEX_INITIALIZER,
            .learned = LTH_NONE};
    char *whole = NULL;
    LTH_TRY(lth__gp_expression(ctx, expression, &options, &whole, err));
    lth_status status = run(&c, ctx, whole, table, err);
    lth__free(whole);
    close_cv(&c);
    if (status == LTH_OK)
        *out = c.validation;
    else
        lth_validation_free(c.validation);
    return status;
}
