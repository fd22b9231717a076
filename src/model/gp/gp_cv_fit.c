/* One fit of a cross-validation: a model of its own, with values, encoder and rows of its own,
 * since others run beside it. */
#include <string.h>

#include "base/clock.h"
#include "model/gp/gp_classes.h"
#include "model/gp/gp_cv.h"
#include "model/posterior/outputs.h"

typedef lth__gp_cv cv;

typedef struct one_fit {
    cv *c;
    size_t fold, target;
    lth__source source; /* without items */
    lth_gp_options options;
    size_t *row;        /* rows to learn from, then those to judge       */
    size_t learn, used; /* of these: all but those without any target    */
    lth_items *train, *test;
} one_fit;

/* A row without any target has nothing to say. */
static bool is_learned(const cv *c, size_t row, size_t fold) {
    bool empty = c->options->coregion > 0 && !lth__outputs_has_any(c->y, c->rows, c->targets, row);
    return c->fold[row] != fold && !empty;
}

size_t lth__gp_cv_split(const cv *c, size_t fold, size_t *row, size_t *used) {
    size_t inside = 0, outside = 0;
    for (size_t i = 0; i < c->rows; i++) outside += is_learned(c, i, fold);
    for (size_t i = 0, learn = 0; i < c->rows; i++) {
        if (is_learned(c, i, fold))
            row[learn++] = i;
        else if (c->fold[i] == fold)
            row[outside + inside++] = i;
    }
    *used = outside + inside;
    return outside;
}

/* ---- Learning, and judging ---- */

/* Of what is judged, whose truth is the first of 9 arrays with room for n. */
enum { ARRAYS = 9 };
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
    v->value[row] = from->point[at];
    v->sd[row] = from->sd[at];
    if (!v->cdf) return;
    v->lower[row] = from->lower[at];
    v->upper[row] = from->upper[at];
    v->median[row] = from->median[at];
    v->log_density[row] = from->log_density[at];
    v->cdf[row] = from->cdf[at];
    v->crps[row] = from->crps[at];
}

static lth_status check_interrupt(const lth_gp *gp, lth_error *err) {
    return gp->report.interrupted ? lth__fail(err, LTH_ECANCELED, "interrupted") : LTH_OK;
}

/* `known` of the rows to judge, or NULL. */
static lth_status learn_numbers(const one_fit *f, lth_gp *gp, const lth__known *known,
                                const lth_gp_prediction *to, lth_error *err) {
    LTH_TRY(lth__gp_learn(gp, &f->options, err));
    LTH_TRY(lth__gp_predict_items(gp, f->test, known, NULL, to, err));
    return check_interrupt(gp, err);
}

/* y of the rows to learn from, then of those to judge, with room for all about these. */
static lth_status judge_one(const one_fit *f, const double *y, const lth_gp_prediction *to,
                            lth_error *err) {
    const cv *c = f->c;
    lth_gp *gp = NULL;
    lth__known known = {0}, known_test = {0};
    LTH_TRY(lth__known_pick(&c->known, f->row, f->learn, &known, err));
    lth__gp_numbers numbers = {.y = y,
                               .known = &known,
                               .grades = c->grade_count > 0 ? c->grades : NULL,
                               .grade_count = c->grade_count};
    lth_status status = lth__gp_begin_numbers(&f->source, f->train, &numbers, &c->names[f->target],
                                              1, &f->options, &gp, err);
    if (status == LTH_OK)
        status =
            lth__known_pick(&c->known, f->row + f->learn, f->used - f->learn, &known_test, err);
    if (status == LTH_OK) status = learn_numbers(f, gp, &known_test, to, err);
    if (gp) c->validation->targets[f->target].evidence[f->fold] = gp->report.evidence;
    lth_gp_free(gp);
    lth__known_free(&known);
    lth__known_free(&known_test);
    return status;
}

/* Targets that learn from each other: one model for all. */
static lth_status judge_together(const one_fit *f, const double *y, const lth_gp_prediction *to,
                                 lth_error *err) {
    const cv *c = f->c;
    lth_gp *gp = NULL;
    lth__gp_numbers numbers = {.y = y};
    lth_status status = lth__gp_begin_numbers(&f->source, f->train, &numbers, c->names, c->targets,
                                              &f->options, &gp, err);
    if (status == LTH_OK) status = learn_numbers(f, gp, NULL, to, err);
    for (size_t t = 0; gp && t < c->targets; t++)
        c->validation->targets[t].evidence[f->fold] = gp->report.evidence;
    lth_gp_free(gp);
    return status;
}

/* The targets from the fit's own on, by [target][row]. */
static void gather(const one_fit *f, const size_t *row, size_t count, size_t targets, double *to) {
    const cv *c = f->c;
    for (size_t i = 0; i < targets * count; i++)
        to[i] = c->y[(f->target + i / count) * c->rows + row[i % count]];
}

static lth_status judge_numbers(const one_fit *f, size_t targets, lth_error *err) {
    const cv *c = f->c;
    size_t learn = f->learn, tests = f->used - learn, size = targets * (learn + ARRAYS * tests);
    double *y = lth__alloc(size, sizeof *y), *truth = y + targets * learn;
    if (!y) return lth__fail_memory(err, size * sizeof *y);
    gather(f, f->row, learn, targets, y);
    gather(f, f->row + learn, tests, targets, truth);
    lth_gp_prediction to =
        prediction_of(truth, targets * tests, !c->validation->targets[f->target].cdf);
    lth_status status = (c->options->coregion > 0 ? judge_together : judge_one)(f, y, &to, err);
    for (size_t i = 0; i < targets * tests && status == LTH_OK; i++)
        write_cell(&to, i, &c->validation->targets[f->target + i / tests],
                   f->row[learn + i % tests]);
    lth__free(y);
    return status;
}

/* ---- Labels ---- */

/* What a model found for the rows that are judged; its classes may be fewer than there are. */
static void write_classes(const one_fit *f, const lth__classes *classes, const double *probability,
                          bool *has) {
    const cv *c = f->c;
    lth__validated *v = &c->validation->targets[f->target];
    for (size_t i = f->learn; i < f->used; i++) {
        size_t row = f->row[i], own = classes->class_count;
        const double *p = probability + (i - f->learn) * own;
        lth__classes_decide(classes, p, has);
        for (size_t k = 0; k < own; k++) {
            const char *name = classes->name[k];
            size_t at = lth__labels_find(&c->labels[f->target], name, strlen(name));
            v->predicted[row * v->class_count + at] = has[k];
            v->probability[row * v->class_count + at] = p[k];
        }
        if (v->decision) v->decision[row] = v->probability[row * v->class_count];
    }
}

/* Where all rows are alike there is nothing to learn: so are the others. */
static void write_alike(const one_fit *f, const lth__classes *classes, double *probability,
                        bool *has) {
    size_t cells = (f->used - f->learn) * classes->class_count;
    for (size_t i = 0; i < cells; i++) probability[i] = 1;
    write_classes(f, classes, probability, has);
}

static lth_status judge_classes(const one_fit *f, lth__classes *classes, double *probability,
                                bool *has, lth_error *err) {
    const cv *c = f->c;
    if (lth__classes_all_alike(classes)) {
        write_alike(f, classes, probability, has);
        lth__classes_free(classes);
        return LTH_OK;
    }
    lth_gp *gp = NULL;
    lth__known known = {0};
    lth_status status = lth__known_pick(&c->known, f->row, f->learn, &known, err);
    if (status == LTH_OK)
        status = lth__gp_begin_classes(&f->source, f->train, classes, &known, c->names[f->target],
                                       &f->options, &gp, err);
    else
        lth__classes_free(classes);
    lth__known_free(&known);
    if (status == LTH_OK) status = lth__gp_learn(gp, &f->options, err);
    if (status == LTH_OK) status = lth__gp_classify_items(gp, f->test, probability, err);
    if (status == LTH_OK) status = check_interrupt(gp, err);
    if (status == LTH_OK) write_classes(f, gp->classes, probability, has);
    lth_gp_free(gp);
    return status;
}

static lth_status judge_labels(const one_fit *f, lth_error *err) {
    const lth__labels *labels = &f->c->labels[f->target];
    lth__classes *classes = NULL;
    size_t cells = (f->used - f->learn) * labels->class_count;
    double *probability = lth__alloc(cells, sizeof *probability);
    bool *has = lth__alloc(labels->class_count, sizeof *has);
    lth_status status = LTH_OK;
    if (!probability || !has) status = lth__fail_memory(err, cells * sizeof *probability);
    if (status == LTH_OK) status = lth__classes_create(labels, f->row, f->learn, &classes, err);
    if (status == LTH_OK) status = judge_classes(f, classes, probability, has, err);
    lth__free(probability);
    lth__free(has);
    return status;
}

/* ---- What it is of its own ---- */

/* A fit beside others is called by a thread of its own. */
static int step_alone(void *user, const lth_gp_step *step) {
    cv *c = user;
    pthread_mutex_lock(&c->lock);
    int stop = c->options->step(c->options->user, step);
    pthread_mutex_unlock(&c->lock);
    return stop;
}

static lth_status pick_rows(one_fit *f, lth_error *err) {
    cv *c = f->c;
    if (c->learns && c->learned != f->fold) {
        c->learned = LTH_NONE;
        LTH_TRY(lth__items_learn(c->source.items, f->row, f->learn, err));
        c->learned = f->fold;
    }
    LTH_TRY(lth__encoder_lend(c->source.encoder, f->source.kernel, &f->source.encoder, err));
    LTH_TRY(lth__items_pick(c->source.items, f->row, f->learn, &f->train, err));
    LTH_TRY(lth__items_pick(c->source.items, f->row + f->learn, f->used - f->learn, &f->test, err));
    f->train->encoder = f->test->encoder = f->source.encoder;
    return LTH_OK;
}

static lth_status open_fit(one_fit *f, lth_ctx *ctx, lth_error *err) {
    cv *c = f->c;
    f->options = *c->options;
    if (f->options.step) f->options.step = step_alone;
    f->options.user = c;
    f->source = (lth__source){.ctx = ctx, .kernel = lth__kernel_copy(c->source.kernel)};
    f->row = lth__alloc(c->rows, sizeof *f->row);
    if (!f->source.kernel || !f->row) return lth__fail_memory(err, c->rows * sizeof *f->row);
    f->source.kernel->ctx = ctx;
    f->learn = lth__gp_cv_split(c, f->fold, f->row, &f->used);
    if (c->learns) pthread_mutex_lock(&c->lock);
    lth_status status = pick_rows(f, err);
    if (c->learns) pthread_mutex_unlock(&c->lock);
    return status;
}

static void close_fit(one_fit *f) {
    lth_items_free(f->train);
    lth_items_free(f->test);
    lth_encoder_free(f->source.encoder);
    lth__kernel_copy_free(f->source.kernel);
    lth__free(f->row);
}

lth_status lth__gp_cv_fit(cv *c, size_t target, size_t fold, lth_ctx *ctx, lth_error *err) {
    one_fit f = {.c = c, .target = target, .fold = fold};
    size_t targets = c->options->coregion > 0 ? c->targets : 1;
    double began = lth__seconds();
    lth_status status = open_fit(&f, ctx, err);
    if (status == LTH_OK) status = c->y ? judge_numbers(&f, targets, err) : judge_labels(&f, err);
    close_fit(&f);
    for (size_t t = target; t < target + targets; t++)
        c->validation->targets[t].seconds[fold] = (lth__seconds() - began) / (double)targets;
    return status;
}
