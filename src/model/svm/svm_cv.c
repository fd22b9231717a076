/* Cross-validation of support vector machines: the Gram matrix of all rows, or their features, are
 * computed once for each kernel of the grid, and every fold of every target searches and trains
 * inside of it. Where kernels learn from rows (frequencies, moments), they are those that a fold
 * learns from: then each fold has matrices of its own. */
#include "base/clock.h"
#include "base/parallel.h"
#include "model/common/validation.h"
#include "model/svm/svm.h"

typedef struct cv {
    lth_ctx *ctx;
    lth_svm_options options;
    size_t rows, folds, target_count;
    const size_t *fold;
    lth__svm_target *targets;
    lth__svm_settings *settings;
    lth__svm_kernels kernels;
    lth__svm_gram gram;
    lth__svm_choice *choices;    /* [target][fold] */
    bool *judged;                /* likewise: no other point of the grid is to come */
    size_t point, finished;      /* folds of targets, of all points */
    size_t first_fold, end_fold; /* at hand */
    lth_validation *validation;
} cv;

/* ---- One fold of one target ---- */

/* `rows` are those of the fold. */
static lth_status predict_fold(const cv *c, const lth__svm_machine *m, size_t target,
                               const size_t *rows, size_t count) {
    lth__validated *v = &c->validation->targets[target];
    double *decisions = lth__alloc(count * m->part_count, sizeof *decisions);
    size_t *votes = lth__alloc(m->classes, sizeof *votes);
    lth_status status = decisions && votes ? LTH_OK : LTH_ENOMEM;
    if (status == LTH_OK) status = lth__svm_decide_all(m, &c->gram, rows, count, decisions);
    for (size_t i = 0; status == LTH_OK && i < count; i++) {
        const double *decision = decisions + i * m->part_count;
        if (m->classes == 0)
            v->value[rows[i]] = decision[0];
        else
            lth__svm_classify(m, decision, votes, v->predicted + rows[i] * m->classes);
        if (v->decision) v->decision[rows[i]] = m->part_count > 0 ? decision[0] : 0;
    }
    lth__free(decisions);
    lth__free(votes);
    return status;
}

/* The rows of a fold, or all others. */
static void list_rows(const cv *c, size_t fold, bool inside, size_t *rows, size_t *count) {
    *count = 0;
    for (size_t i = 0; i < c->rows; i++) {
        if ((c->fold[i] == fold) == inside) rows[(*count)++] = i;
    }
}

/* ---- Some folds of some targets ---- */

/* Folds of targets that are searched together. */
typedef struct wave {
    cv *c;
    size_t count, *target, *fold;
    size_t **rows; /* of each, those of the fold last */
    lth__svm_search *searches;
} wave;

static void close_wave(wave *w) {
    for (size_t i = 0; w->rows && i < w->count; i++) lth__free(w->rows[i]);
    void *blocks[] = {w->target, w->fold, (void *)w->rows, w->searches};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

static lth_status open_wave(cv *c, const size_t *jobs, size_t count, wave *w, lth_error *err) {
    size_t folds = c->end_fold - c->first_fold;
    *w = (wave){.c = c,
                .count = count,
                .target = lth__alloc(count, sizeof *w->target),
                .fold = lth__alloc(count, sizeof *w->fold),
                .rows = lth__calloc(count, sizeof *w->rows),
                .searches = lth__calloc(count, sizeof *w->searches)};
    if (!w->target || !w->fold || !w->rows || !w->searches) return lth__fail_memory(err, 0);
    for (size_t i = 0; i < count; i++) {
        size_t target = w->target[i] = jobs[i] / folds, others, inside;
        size_t fold = w->fold[i] = c->first_fold + jobs[i] % folds;
        size_t *rows = w->rows[i] = lth__alloc(c->rows, sizeof *rows);
        if (!rows) return lth__fail_memory(err, c->rows * sizeof *rows);
        list_rows(c, fold, false, rows, &others);
        list_rows(c, fold, true, rows + others, &inside);
        w->searches[i] =
            (lth__svm_search){.target = &c->targets[target],
                              .rows = rows,
                              .count = others,
                              .settings = &c->settings[target],
                              .choice = &c->choices[target * c->folds + fold],
                              .alone = c->kernels.count * c->settings[target].count == 1};
    }
    return LTH_OK;
}

static lth_status predict_one(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const wave *w = user;
    const lth__svm_search *s = &w->searches[index];
    if (!s->better) return LTH_OK;
    return predict_fold(w->c, &s->choice->machine, w->target[index], s->rows + s->count,
                        w->c->rows - s->count);
}

static lth_status run_wave(cv *c, const size_t *jobs, size_t count, lth_error *err) {
    double began = lth__seconds();
    wave w;
    lth_status status = open_wave(c, jobs, count, &w, err);
    if (status == LTH_OK)
        status = lth__svm_choose(&c->gram, w.searches, count, c->options.inner_folds, c->point,
                                 "inner folds", "training", err);
    if (status == LTH_OK)
        status = lth__parallel_for(c->ctx, NULL, count, NULL, predict_one, &w, err);
    double seconds = (lth__seconds() - began) / (double)count;
    for (size_t i = 0; status == LTH_OK && i < count; i++) {
        size_t at = w.target[i] * c->folds + w.fold[i];
        lth__svm_machine_free(&c->choices[at].machine);
        c->validation->targets[w.target[i]].seconds[w.fold[i]] += seconds;
        c->judged[at] = c->point + 1 == c->kernels.count;
    }
    close_wave(&w);
    LTH_TRY(status);
    c->finished += count;
    return lth__tell(c->ctx, "cross-validation", (double)c->finished,
                     (double)(c->target_count * c->folds * c->kernels.count), err);
}

/* ---- All of them ---- */

static lth_status check_folds(const cv *c, lth_error *err) {
    for (size_t f = 0; f < c->folds; f++) {
        size_t count = 0;
        for (size_t i = 0; i < c->rows; i++) {
            if (c->fold[i] >= c->folds)
                return lth__fail(err, LTH_EARG, "row %zu is in fold %zu of %zu", i + 1,
                                 c->fold[i] + 1, c->folds);
            count += c->fold[i] == f;
        }
        if (count == 0 || count == c->rows)
            return lth__fail(err, LTH_EARG, "fold %zu is empty, or holds all rows", f + 1);
    }
    return LTH_OK;
}

static lth_status read_targets(cv *c, const lth_table *table, const char *const *names,
                               lth_error *err) {
    size_t n = c->target_count;
    c->targets = lth__calloc(n, sizeof *c->targets);
    c->settings = lth__calloc(n, sizeof *c->settings);
    c->choices = lth__calloc(n * c->folds, sizeof *c->choices);
    c->judged = lth__calloc(n * c->folds, sizeof *c->judged);
    if (!c->targets || !c->settings || !c->choices || !c->judged) return lth__fail_memory(err, 0);
    LTH_TRY(lth__validation_create(n, c->folds, &c->validation, err));
    for (size_t t = 0; t < n; t++) {
        lth__svm_target *target = &c->targets[t];
        LTH_TRY(lth__svm_target_read(c->ctx, table, names[t], &c->options, target, err));
        target->probability = false; /* not judged here */
        target->quiet = true;
        LTH_TRY(lth__svm_settings_make(&c->options, target, &c->settings[t], err));
        LTH_TRY(lth__validation_add(c->validation, target->y, &target->labels, c->rows, err));
    }
    return LTH_OK;
}

static void share_seconds(const cv *c, double seconds) {
    double jobs = (double)(c->target_count * (c->end_fold - c->first_fold));
    for (size_t t = 0; t < c->target_count; t++) {
        for (size_t f = c->first_fold; f < c->end_fold; f++)
            c->validation->targets[t].seconds[f] += seconds / jobs;
    }
}

static lth_status check_chosen(const cv *c, lth_error *err) {
    for (size_t i = 0; i < c->target_count * c->folds; i++) {
        if (!lth_validation_done(c->validation, i / c->folds, i % c->folds)) continue;
        if (!c->choices[i].made && lth__cluster_owns(c->ctx->cluster, i % c->folds))
            return lth__fail(err, LTH_EARG, "fold %zu: every nu is too large for its classes",
                             i % c->folds + 1);
    }
    return LTH_OK;
}

/* So many problems keep all cores at work; what is finished is kept when the rest is canceled. */
enum { WAVE = 64 };

static size_t problems_of(const cv *c, size_t target) {
    const lth__svm_target *t = &c->targets[target];
    size_t classes = t->y ? 1 : t->labels.class_count;
    bool alone = t->one_vs_rest || t->labels.multi || classes <= 2;
    size_t problems = alone ? classes : classes * (classes - 1) / 2;
    return problems * c->settings[target].count * c->options.inner_folds;
}

/* One wave after the other; those of this rank. */
static lth_status run_waves(cv *c, lth_error *err) {
    size_t folds = c->end_fold - c->first_fold, jobs = c->target_count * folds;
    size_t *list = lth__alloc(jobs, sizeof *list), count = 0, problems = 0;
    lth_status status = list ? LTH_OK : lth__fail_memory(err, jobs * sizeof *list);
    for (size_t i = 0; status == LTH_OK && i < jobs; i++) {
        if (lth__cluster_owns(c->ctx->cluster, c->first_fold + i % folds)) {
            list[count++] = i;
            problems += problems_of(c, i / folds);
        }
        if (count == 0 || (problems < WAVE && i + 1 < jobs)) continue;
        status = run_wave(c, list, count, err);
        count = problems = 0;
    }
    lth__free(list);
    return status;
}

/* Every kernel, in the folds first .. end-1. */
static lth_status run_folds(cv *c, size_t first, size_t end, lth_error *err) {
    c->first_fold = first;
    c->end_fold = end;
    for (c->point = 0; c->point < c->kernels.count; c->point++) {
        double began = lth__seconds();
        LTH_TRY(lth__svm_kernels_gram(&c->kernels, c->point, &c->gram, err));
        share_seconds(c, lth__seconds() - began);
        LTH_TRY(run_waves(c, err));
    }
    return LTH_OK;
}

static lth_status run_fold_by_itself(cv *c, size_t fold, size_t *rows, lth_error *err) {
    size_t count;
    list_rows(c, fold, false, rows, &count);
    LTH_TRY(lth__svm_kernels_learn(&c->kernels, rows, count, err));
    return run_folds(c, fold, fold + 1, err);
}

static lth_status run_each_fold(cv *c, lth_error *err) {
    size_t *rows = lth__alloc(c->rows, sizeof *rows);
    lth_status status = rows ? LTH_OK : lth__fail_memory(err, c->rows * sizeof *rows);
    for (size_t f = 0; f < c->folds && status == LTH_OK; f++)
        status = run_fold_by_itself(c, f, rows, err);
    lth__free(rows);
    return status;
}

/* What is finished may be worth having, where no other rank has the rest. */
static lth_status keep_finished(cv *c, lth_status status) {
    if (status != LTH_ECANCELED || !c->options.partial || c->ctx->cluster) return status;
    for (size_t i = 0; i < c->target_count * c->folds; i++) {
        if (!c->judged[i]) lth__validation_miss(c->validation, i / c->folds, i % c->folds);
    }
    return lth__validation_has_any(c->validation) ? LTH_OK : status;
}

static lth_status run(cv *c, lth_error *err) {
    LTH_TRY(lth__svm_kernels_room(&c->kernels, &c->options, &c->gram, err));
    bool apart = c->kernels.learns && !c->options.gram;
    lth_status status = apart ? run_each_fold(c, err) : run_folds(c, 0, c->folds, err);
    LTH_TRY(keep_finished(c, status));
    status = check_chosen(c, err);
    LTH_TRY(lth__validation_join(c->ctx->cluster, status, c->validation, err));
    return lth__validation_judge(c->validation, c->fold, err);
}

static void free_cv(cv *c) {
    for (size_t t = 0; c->targets && t < c->target_count; t++) lth__svm_target_free(&c->targets[t]);
    for (size_t t = 0; c->settings && t < c->target_count; t++) lth__free(c->settings[t].at);
    lth__free(c->targets);
    lth__free(c->settings);
    for (size_t i = 0; c->choices && i < c->target_count * c->folds; i++)
        lth__svm_machine_free(&c->choices[i].machine);
    lth__free(c->choices);
    lth__free(c->judged);
    lth__svm_gram_free(&c->gram);
    lth__svm_kernels_close(&c->kernels);
}

lth_status lth_svm_cv(lth_ctx *ctx, const char *expression, const lth_table *table,
                      const char *const *targets, size_t target_count, const size_t *fold,
                      size_t folds, const lth_svm_options *given, lth_validation **out,
                      lth_error *err) {
    cv c = {.ctx = ctx,
            .rows = lth_table_rows(table),
            .folds = folds,
            .fold = fold,
            .target_count = target_count};
    LTH_TRY(lth__svm_options_complete(given, &c.options, err));
    const lth_svm_options *o = &c.options;
    lth__source_files files = lth__svm_files(o);
    lth_status status = check_folds(&c, err);
    if (status == LTH_OK)
        status = lth__svm_kernels_open(ctx, expression, table, o->set, o->set_count, files,
                                       &c.kernels, err);
    if (status == LTH_OK) status = read_targets(&c, table, targets, err);
    if (status == LTH_OK) status = lth__svm_warn(ctx, expression, targets, target_count, err);
    if (status == LTH_OK) status = run(&c, err);
    free_cv(&c);
    if (status == LTH_OK)
        *out = c.validation;
    else
        lth_validation_free(c.validation);
    return status;
}
