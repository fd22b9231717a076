/* Cross-validation: the columns are encoded once, each fold and target gets a model of its own. */
#include <string.h>

#include "base/clock.h"
#include "model/common/labels_wanted.h"
#include "model/common/validation.h"
#include "model/gp/gp_classes.h"
#include "model/posterior/outputs.h"

typedef struct cv {
    lth__source source;
    double *initial; /* the kernel's values before any fit */
    double *y;       /* [target][row]; NULL for labels */
    lth__known known;
    double *grades; /* of all rows */
    size_t grade_count;
    lth__labels *labels;
    size_t rows, folds, targets;
    const char *const *names;
    const size_t *fold;
    const lth_gp_options *options;
    /* Of the fold at hand: */
    size_t *row;    /* rows to learn from, then those to judge */
    size_t used;    /* of these: all but those without any target */
    double *buffer; /* 9 x rows */
    size_t judged;  /* targets of folds, in their order */
    lth_validation *validation;
} cv;

/* A row without any target has nothing to say. */
static bool is_learned(const cv *c, size_t row, size_t fold) {
    bool empty = c->options->coregion > 0 && !lth__outputs_has_any(c->y, c->rows, c->targets, row);
    return c->fold[row] != fold && !empty;
}

/* Rows outside of the fold first; returns how many they are. */
static size_t split_rows(cv *c, size_t fold) {
    size_t inside = 0, outside = 0;
    for (size_t i = 0; i < c->rows; i++) outside += is_learned(c, i, fold);
    for (size_t i = 0, learn = 0; i < c->rows; i++) {
        if (is_learned(c, i, fold))
            c->row[learn++] = i;
        else if (c->fold[i] == fold)
            c->row[outside + inside++] = i;
    }
    c->used = outside + inside;
    return outside;
}

static void reset_kernel(cv *c) {
    for (size_t p = 0; p < c->source.kernel->param_count; p++)
        c->source.kernel->params[p].value = c->initial[p];
}

static lth_status check_interrupt(const lth_gp *gp, lth_error *err) {
    return gp->report.interrupted ? lth__fail(err, LTH_ECANCELED, "interrupted") : LTH_OK;
}

/* Of what is judged, whose truth is the first of 9 arrays with room for n. */
static lth_gp_prediction prediction_of(double *b, size_t n, bool normal) {
    lth_gp_prediction to = {.point = b + n, .sd = b + 2 * n};
    if (normal) return to;
    to.y = b;
    to.lower = b + 3 * n;
    to.upper = b + 4 * n;
    to.log_density = b + 5 * n;
    to.cdf = b + 6 * n;
    to.crps = b + 7 * n;
    to.median = b + 8 * n;
    return to;
}

static void write_cell(const lth_gp_prediction *from, size_t at, const lth__validated *v,
                       size_t row) {
    v->lower[row] = from->lower[at];
    v->upper[row] = from->upper[at];
    v->median[row] = from->median[at];
    v->log_density[row] = from->log_density[at];
    v->cdf[row] = from->cdf[at];
    v->crps[row] = from->crps[at];
}

static void write_distribution(const cv *c, size_t learn, const lth_gp_prediction *from,
                               const lth__validated *v) {
    for (size_t i = learn; v->cdf && i < c->rows; i++) write_cell(from, i - learn, v, c->row[i]);
}

/* Learn target `t` from c->row[0 .. learn-1] and predict the rest. */
static lth_status judge(cv *c, size_t t, size_t fold, size_t learn, lth_items *train,
                        lth_items *test, lth_error *err) {
    lth__validated *v = &c->validation->targets[t];
    lth__known known = {0}, known_test = {0};
    for (size_t i = 0; i < c->rows; i++) c->buffer[i] = c->y[t * c->rows + c->row[i]];
    lth_gp *gp = NULL;
    LTH_TRY(lth__known_pick(&c->known, c->row, learn, &known, err));
    lth__gp_numbers numbers = {.y = c->buffer,
                               .known = &known,
                               .grades = c->grade_count > 0 ? c->grades : NULL,
                               .grade_count = c->grade_count};
    lth_status status =
        lth__gp_begin_numbers(&c->source, train, &numbers, &c->names[t], 1, c->options, &gp, err);
    if (status == LTH_OK) status = lth__gp_learn(gp, c->options, err);
    if (status == LTH_OK)
        status = lth__known_pick(&c->known, c->row + learn, c->rows - learn, &known_test, err);
    lth_gp_prediction to = prediction_of(c->buffer, c->rows, !v->cdf);
    if (to.y) to.y += learn;
    if (status == LTH_OK) status = lth__gp_predict_items(gp, test, &known_test, NULL, &to, err);
    if (status == LTH_OK) status = check_interrupt(gp, err);
    if (gp) v->evidence[fold] = gp->report.evidence;
    lth_gp_free(gp);
    lth__known_free(&known);
    lth__known_free(&known_test);
    LTH_TRY(status);
    for (size_t i = learn; i < c->rows; i++) {
        v->value[c->row[i]] = to.point[i - learn];
        v->sd[c->row[i]] = to.sd[i - learn];
    }
    write_distribution(c, learn, &to, v);
    return LTH_OK;
}

/* ---- Targets that learn from each other: one model for all ---- */

static lth_status learn_together(cv *c, size_t fold, size_t learn, lth_items *train,
                                 lth_items *test, const double *y, const lth_gp_prediction *to,
                                 lth_error *err) {
    lth_gp *gp = NULL;
    lth__gp_numbers numbers = {.y = y};
    lth_status status = lth__gp_begin_numbers(&c->source, train, &numbers, c->names, c->targets,
                                              c->options, &gp, err);
    if (status == LTH_OK) status = lth__gp_learn(gp, c->options, err);
    if (status == LTH_OK) status = lth__gp_predict_items(gp, test, NULL, NULL, to, err);
    if (status == LTH_OK) status = check_interrupt(gp, err);
    for (size_t t = 0; gp && t < c->targets; t++)
        c->validation->targets[t].evidence[fold] = gp->report.evidence;
    lth_gp_free(gp);
    size_t tests = c->used - learn;
    for (size_t i = 0; i < c->targets * tests && status == LTH_OK; i++) {
        lth__validated *v = &c->validation->targets[i / tests];
        size_t row = c->row[learn + i % tests];
        v->value[row] = to->point[i];
        v->sd[row] = to->sd[i];
        if (v->cdf) write_cell(to, i, v, row);
    }
    return status;
}

static lth_status judge_together(cv *c, size_t fold, size_t learn, lth_items *train,
                                 lth_items *test, lth_error *err) {
    enum { ARRAYS = 9 }; /* of what is judged */
    size_t tests = c->used - learn, size = c->targets * (learn + ARRAYS * tests);
    double *y = lth__alloc(size, sizeof *y), began = lth__seconds();
    if (!y) return lth__fail_memory(err, size * sizeof *y);
    for (size_t i = 0; i < c->targets * learn; i++)
        y[i] = c->y[i / learn * c->rows + c->row[i % learn]];
    double *truth = y + c->targets * learn;
    for (size_t i = 0; i < c->targets * tests; i++)
        truth[i] = c->y[i / tests * c->rows + c->row[learn + i % tests]];
    lth_gp_prediction to = prediction_of(truth, c->targets * tests, c->options->average == 0);
    reset_kernel(c);
    lth_status status = learn_together(c, fold, learn, train, test, y, &to, err);
    lth__free(y);
    LTH_TRY(status);
    for (size_t t = 0; t < c->targets; t++)
        c->validation->targets[t].seconds[fold] = (lth__seconds() - began) / (double)c->targets;
    c->judged += c->targets;
    return lth__tell(c->source.ctx, "cross-validation", (double)fold + 1, (double)c->folds, err);
}

/* ---- Labels ---- */

/* What a model found for the rows that are judged; its classes may be fewer than there are. */
static void write_classes(const cv *c, size_t t, size_t learn, const lth__classes *classes,
                          const double *probability, bool *has) {
    lth__validated *v = &c->validation->targets[t];
    for (size_t i = learn; i < c->rows; i++) {
        size_t row = c->row[i], own = classes->class_count;
        const double *p = probability + (i - learn) * own;
        lth__classes_decide(classes, p, has);
        for (size_t k = 0; k < own; k++) {
            const char *name = classes->name[k];
            size_t at = lth__labels_find(&c->labels[t], name, strlen(name));
            v->predicted[row * v->class_count + at] = has[k];
            v->probability[row * v->class_count + at] = p[k];
        }
        if (v->decision) v->decision[row] = v->probability[row * v->class_count];
    }
}

/* Where all rows are alike there is nothing to learn: so are the others. */
static void write_alike(const cv *c, size_t t, size_t learn, const lth__classes *classes,
                        double *probability, bool *has) {
    for (size_t i = 0; i < (c->rows - learn) * classes->class_count; i++) probability[i] = 1;
    write_classes(c, t, learn, classes, probability, has);
}

static lth_status judge_classes(cv *c, size_t t, size_t learn, lth_items *train, lth_items *test,
                                lth__classes *classes, double *probability, bool *has,
                                lth_error *err) {
    if (lth__classes_all_alike(classes)) {
        write_alike(c, t, learn, classes, probability, has);
        lth__classes_free(classes);
        return LTH_OK;
    }
    lth_gp *gp = NULL;
    lth__known known = {0};
    lth_status status = lth__known_pick(&c->known, c->row, learn, &known, err);
    if (status == LTH_OK)
        status = lth__gp_begin_classes(&c->source, train, classes, &known, c->names[t], c->options,
                                       &gp, err);
    else
        lth__classes_free(classes);
    lth__known_free(&known);
    if (status == LTH_OK) status = lth__gp_learn(gp, c->options, err);
    if (status == LTH_OK) status = lth__gp_classify_items(gp, test, probability, err);
    if (status == LTH_OK) status = check_interrupt(gp, err);
    if (status == LTH_OK) write_classes(c, t, learn, gp->classes, probability, has);
    lth_gp_free(gp);
    return status;
}

static lth_status judge_labels(cv *c, size_t t, size_t learn, lth_items *train, lth_items *test,
                               lth_error *err) {
    const lth__labels *labels = &c->labels[t];
    lth__classes *classes = NULL;
    size_t cells = (c->rows - learn) * labels->class_count;
    double *probability = lth__alloc(cells, sizeof *probability);
    bool *has = lth__alloc(labels->class_count, sizeof *has);
    lth_status status = LTH_OK;
    if (!probability || !has) status = lth__fail_memory(err, cells * sizeof *probability);
    if (status == LTH_OK) status = lth__classes_create(labels, c->row, learn, &classes, err);
    if (status == LTH_OK)
        status = judge_classes(c, t, learn, train, test, classes, probability, has, err);
    lth__free(probability);
    lth__free(has);
    return status;
}

/* ---- All folds ---- */

static lth_status run_target(cv *c, size_t t, size_t fold, size_t learn, lth_items *train,
                             lth_items *test, lth_error *err) {
    double began = lth__seconds();
    reset_kernel(c);
    if (c->y)
        LTH_TRY(judge(c, t, fold, learn, train, test, err));
    else
        LTH_TRY(judge_labels(c, t, learn, train, test, err));
    c->validation->targets[t].seconds[fold] = lth__seconds() - began;
    c->judged++;
    double done = (double)(fold * c->targets + t + 1), total = (double)(c->folds * c->targets);
    return lth__tell(c->source.ctx, "cross-validation", done, total, err);
}

static lth_status run_fold(cv *c, size_t fold, lth_error *err) {
    size_t learn = split_rows(c, fold);
    if (learn == 0 || learn == c->used)
        return lth__fail(err, LTH_EARG, "fold %zu is empty, or holds all rows", fold + 1);
    lth_items *train = NULL, *test = NULL;
    lth_status status = lth__items_learn(c->source.items, c->row, learn, err);
    if (status == LTH_OK) status = lth__items_pick(c->source.items, c->row, learn, &train, err);
    if (status == LTH_OK)
        status = lth__items_pick(c->source.items, c->row + learn, c->used - learn, &test, err);
    bool together = c->options->coregion > 0;
    if (together && status == LTH_OK) status = judge_together(c, fold, learn, train, test, err);
    for (size_t t = 0; t < c->targets && status == LTH_OK && !together; t++)
        status = run_target(c, t, fold, learn, train, test, err);
    lth_items_free(train);
    lth_items_free(test);
    return status;
}

/* Those that are this one's of `ranks`. */
static lth_status run_folds(cv *c, const lth__cluster *ranks, lth_error *err) {
    size_t params = c->source.kernel->param_count;
    c->initial = lth__alloc(params, sizeof *c->initial);
    c->row = lth__alloc(c->rows, sizeof *c->row);
    if (!c->initial || !c->row) return lth__fail_memory(err, 0);
    for (size_t p = 0; p < params; p++) c->initial[p] = c->source.kernel->params[p].value;
    for (size_t f = 0; f < c->folds; f++) {
        if (lth__cluster_owns(ranks, f)) LTH_TRY(run_fold(c, f, err));
    }
    return LTH_OK;
}

/* Each rank has folds of its own, and nothing to share while it is at them; unless their matrices
 * are so large that all ranks hold them together. */
static lth_status share_folds(cv *c, lth_ctx *ctx, lth_error *err) {
    lth__cluster *ranks = ctx->cluster;
    if (!ranks || lth__cluster_deals(c->rows)) return run_folds(c, NULL, err);
    ctx->cluster = NULL;
    lth_status status = run_folds(c, ranks, err);
    ctx->cluster = ranks;
    return lth__validation_join(ranks, status, c->validation, err);
}

/* What is finished may be worth having, where no other rank has the rest. */
static lth_status keep_finished(cv *c, const lth_ctx *ctx, lth_status status) {
    if (status != LTH_ECANCELED || !c->options->partial || ctx->cluster) return status;
    for (size_t i = c->judged; i < c->folds * c->targets; i++)
        lth__validation_miss(c->validation, i % c->targets, i / c->targets);
    return lth__validation_has_any(c->validation) ? LTH_OK : status;
}

static lth_status take_numbers(cv *c, const lth_table *table, lth_error *err) {
    LTH_TRY(lth__gp_read_numbers(table, c->names, c->targets, c->options, &c->y, err));
    c->buffer = lth__alloc(9 * c->rows, sizeof *c->buffer);
    c->grades = lth__alloc(LTH__MOST_GRADES, sizeof *c->grades);
    if (!c->buffer || !c->grades) return lth__fail_memory(err, 0);
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
    LTH_TRY(keep_finished(c, ctx, share_folds(c, ctx, err)));
    return lth__validation_judge(c->validation, c->fold, err);
}

static void close_cv(cv *c) {
    for (size_t t = 0; c->labels && t < c->targets; t++) lth__labels_free(&c->labels[t]);
    lth__known_free(&c->known);
    void *blocks[] = {c->initial, c->row, c->buffer, c->y, c->labels, c->grades};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__source_close(&c->source);
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
            .options = &options};
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
