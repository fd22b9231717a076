/* Support vector machines: fitting, reporting. */
#include "model/svm/svm.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "kernel/core/lookup.h"

/* ---- Support rows ---- */

/* place[row] = its number among the support rows, or LTH_NONE; returns their number. */
static size_t number_support(const lth__svm_machine *m, size_t rows, size_t *place) {
    for (size_t i = 0; i < rows; i++) place[i] = LTH_NONE;
    for (size_t p = 0; p < m->part_count; p++) {
        const lth__svm_solution *s = &m->parts[p].solution;
        for (size_t i = 0; i < s->count; i++) place[s->row[i]] = 0;
    }
    size_t count = 0;
    for (size_t i = 0; i < rows; i++) {
        if (place[i] != LTH_NONE) place[i] = count++;
    }
    return count;
}

/* Of a class: the rows that have it and that some problem about it needs. */
static lth_status count_class_support(lth_svm *svm, const lth__svm_target *target, lth_error *err) {
    const lth__labels *labels = &target->labels;
    bool *counted = lth__calloc(labels->rows * labels->class_count, sizeof *counted);
    if (!counted) return lth__fail_memory(err, 0);
    for (size_t p = 0; p < svm->machine.part_count; p++) {
        const lth__svm_part *part = &svm->machine.parts[p];
        for (size_t i = 0; i < part->solution.count; i++) {
            size_t row = part->solution.row[i];
            for (size_t k = labels->start[row]; k < labels->start[row + 1]; k++) {
                size_t c = labels->of[k];
                bool about = !labels->multi || part->positive == c;
                bool *seen = &counted[row * labels->class_count + c];
                if (!about || *seen) continue;
                *seen = true;
                svm->classes[c].support++;
            }
        }
    }
    lth__free(counted);
    return LTH_OK;
}

/* Weights of features need no rows. */
static void drop_rows(lth__svm_machine *m) {
    for (size_t p = 0; p < m->part_count; p++) {
        lth__svm_solution *s = &m->parts[p].solution;
        lth__free(s->row);
        lth__free(s->coef);
        s->row = NULL;
        s->coef = NULL;
        s->count = 0;
    }
}

/* With the rows of a basis there is no need of its features. */
static void drop_weights(lth__svm_machine *m) {
    for (size_t p = 0; p < m->part_count; p++) {
        lth__svm_solution *s = &m->parts[p].solution;
        lth__free(s->feature);
        lth__free(s->weight);
        s->feature = NULL;
        s->weight = NULL;
        s->weight_count = 0;
    }
}

/* Rows of the machine become numbers of support rows, and the items are picked. */
static lth_status keep_support(lth_svm *svm, const lth_items *all, lth_error *err) {
    size_t rows = all->count;
    size_t *place = lth__alloc(rows, sizeof *place), *row = lth__alloc(rows, sizeof *row);
    lth_status status = place && row ? LTH_OK : lth__fail_memory(err, rows * sizeof *place);
    if (status == LTH_OK) {
        size_t count = number_support(&svm->machine, rows, place);
        bool whole = svm->report.linear || lth__kernel_needs_all_rows(svm->kernel);
        svm->report.support = count;
        svm->support_at = lth__alloc(count, sizeof *svm->support_at);
        if (!svm->support_at) status = lth__fail_memory(err, 0);
        for (size_t i = 0; status == LTH_OK && i < rows; i++) {
            if (place[i] == LTH_NONE) continue;
            row[place[i]] = i;
            svm->support_at[place[i]] = whole ? i : place[i];
        }
        if (status == LTH_OK && !svm->report.linear)
            status = lth__items_pick(all, row, count, &svm->support, err);
        for (size_t p = 0; p < svm->machine.part_count; p++) {
            lth__svm_solution *s = &svm->machine.parts[p].solution;
            for (size_t i = 0; i < s->count; i++) s->row[i] = place[s->row[i]];
        }
    }
    lth__free(place);
    lth__free(row);
    return status;
}

/* ---- Fitting ---- */

typedef struct fitting {
    lth_ctx *ctx;
    lth_svm_options options;
    lth__svm_target target;
    lth__svm_kernels kernels;
    lth__svm_settings settings;
    lth__svm_gram gram;
    lth__svm_choice choice;
    size_t *rows;
    double *score; /* [point of kernels][setting] */
} fitting;

static void free_fitting(fitting *f) {
    lth__svm_machine_free(&f->choice.machine);
    lth__svm_gram_free(&f->gram);
    lth__svm_kernels_close(&f->kernels);
    lth__svm_target_free(&f->target);
    lth__free(f->settings.at);
    lth__free(f->rows);
    lth__free(f->score);
}

static lth_status prepare(fitting *f, const char *expression, const lth_table *table,
                          const char *target, lth_error *err) {
    const lth_svm_options *o = &f->options;
    lth__source_files files = lth__svm_files(o);
    LTH_TRY(lth__svm_kernels_open(f->ctx, expression, table, o->set, o->set_count, files,
                                  &f->kernels, err));
    LTH_TRY(lth__svm_target_read(f->ctx, table, target, o, &f->target, err));
    LTH_TRY(lth__svm_warn(f->ctx, expression, &target, 1, err));
    LTH_TRY(lth__svm_settings_make(o, &f->target, &f->settings, err));
    size_t rows = lth_table_rows(table), points = f->kernels.count * f->settings.count;
    f->rows = lth__alloc(rows, sizeof *f->rows);
    f->score = lth__alloc(points, sizeof *f->score);
    if (!f->rows || !f->score) return lth__fail_memory(err, 0);
    for (size_t i = 0; i < rows; i++) f->rows[i] = i;
    return lth__svm_kernels_room(&f->kernels, o, &f->gram, err);
}

static void log_scores(const fitting *f, size_t point) {
    for (size_t i = 0; i < f->settings.count; i++) {
        const lth__svm_setting *s = &f->settings.at[i];
        lth__string text = {0};
        lth__string_format(&text, "grid: %s", f->kernels.text[point]);
        if (!isnan(s->C)) lth__string_format(&text, ", C %g", s->C);
        if (!isnan(s->epsilon)) lth__string_format(&text, ", epsilon %g", s->epsilon);
        if (!isnan(s->nu)) lth__string_format(&text, ", nu %g", s->nu);
        lth__string_format(&text, ": %s %.6g", lth__svm_score_name(&f->target),
                           f->score[point * f->settings.count + i]);
        if (!text.failed) lth__log(f->ctx, LTH_LOG_INFO, "%s", text.bytes);
        lth__string_free(&text);
    }
}

static lth_status search(fitting *f, lth_error *err) {
    bool alone = f->kernels.count * f->settings.count == 1;
    for (size_t p = 0; p < f->kernels.count; p++) {
        LTH_TRY(lth__svm_kernels_gram(&f->kernels, p, &f->gram, err));
        lth__svm_search all = {.target = &f->target,
                               .rows = f->rows,
                               .count = f->gram.rows,
                               .settings = &f->settings,
                               .choice = &f->choice,
                               .score = f->score + p * f->settings.count,
                               .alone = alone};
        LTH_TRY(lth__svm_choose(&f->gram, &all, 1, f->options.inner_folds, p, "grid",
                                "support vectors", err));
        if (!alone) log_scores(f, p);
    }
    if (f->choice.made) return LTH_OK;
    return lth__fail(err, LTH_EARG,
                     "no point of the grid can be trained: every nu is too large "
                     "for the classes");
}

/* ---- The model ---- */

void lth__svm_report_texts(lth_svm_report *r, bool nu_svm) {
    if (r->regression)
        r->type = nu_svm ? "nu-SVR" : "epsilon-SVR";
    else
        r->type = nu_svm ? "nu-SVC" : "C-SVC";
    r->score = r->regression ? "rmse" : r->multi_label ? "macro_f1" : "accuracy";
}

static size_t count_weights(const lth__svm_machine *m) {
    size_t count = 0;
    for (size_t p = 0; p < m->part_count; p++) count += m->parts[p].solution.weight_count;
    return count;
}

static void fill_report(lth_svm *svm, const fitting *f) {
    const lth__svm_choice *c = &f->choice;
    svm->report = (lth_svm_report){.regression = f->target.y != NULL,
                                   .multi_label = f->target.labels.multi,
                                   .one_vs_rest = f->options.one_vs_rest &&
                                                  !f->target.labels.multi && c->machine.classes > 2,
                                   .probability = f->target.probability,
                                   .linear = f->gram.linear && f->gram.basis == 0,
                                   .C = c->setting.C,
                                   .epsilon = c->setting.epsilon,
                                   .nu = c->setting.nu,
                                   .inner = c->score,
                                   .rows = f->gram.rows,
                                   .classes = c->machine.classes,
                                   .problems = c->machine.part_count,
                                   .points = f->kernels.count * f->settings.count,
                                   .inner_folds = f->options.inner_folds};
    if (svm->report.linear) svm->report.weights = count_weights(&c->machine);
    lth__svm_report_texts(&svm->report, f->options.nu_svm);
}

static char *copy_text(const char *text) {
    return lth__strndup(text, strlen(text));
}

static lth_status copy_classes(lth_svm *svm, const lth__labels *labels, lth_error *err) {
    size_t n = labels->class_count;
    svm->class_name = lth__calloc(n, sizeof *svm->class_name);
    svm->classes = lth__alloc(n, sizeof *svm->classes);
    bool ok = svm->class_name && svm->classes;
    for (size_t c = 0; ok && c < n; c++) {
        ok = (svm->class_name[c] = copy_text(labels->name[c])) != NULL;
        svm->classes[c] = (lth_svm_class){.name = svm->class_name[c], .rows = labels->count[c]};
    }
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

static lth_status copy_points(lth_svm *svm, const fitting *f, lth_error *err) {
    size_t points = svm->report.points, settings = f->settings.count;
    svm->point_kernel = lth__calloc(points, sizeof *svm->point_kernel);
    svm->points = lth__alloc(points, sizeof *svm->points);
    bool ok = svm->point_kernel && svm->points;
    for (size_t i = 0; ok && i < points; i++) {
        const lth__svm_setting *s = &f->settings.at[i % settings];
        ok = (svm->point_kernel[i] = copy_text(f->kernels.text[i / settings])) != NULL;
        svm->points[i] =
            (lth_svm_point){svm->point_kernel[i], s->C, s->epsilon, s->nu, f->score[i]};
    }
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

/* Kernel, encoder and items are taken over from the grid, the machine from the choice. */
static lth_status make_model(lth_svm *svm, fitting *f, const char *target, lth_error *err) {
    lth__svm_features_free(&f->gram.features); /* they are of a kernel that may go */
    LTH_TRY(lth__svm_kernels_take(&f->kernels, f->choice.point, err));
    lth__source *current = &f->kernels.current.source;
    svm->kernel = current->kernel;
    svm->encoder = current->encoder;
    svm->items = current->items;
    lth__source_give(current, svm->items, NULL);
    svm->kernel->ctx = svm->encoder->ctx = &svm->ctx;
    fill_report(svm, f);
    svm->machine = f->choice.machine;
    f->choice.machine = (lth__svm_machine){0};
    if (!(svm->target = copy_text(target))) return lth__fail_memory(err, 0);
    LTH_TRY(copy_classes(svm, &f->target.labels, err));
    LTH_TRY(copy_points(svm, f, err));
    if (!svm->report.regression) LTH_TRY(count_class_support(svm, &f->target, err));
    LTH_TRY(keep_support(svm, svm->items, err));
    if (f->gram.basis > 0) {
        svm->report.features = svm->report.support;
        drop_weights(&svm->machine);
    }
    LTH_TRY(lth__encoder_keep(svm->encoder, lth__svm_files(&f->options).vectors,
                              f->options.keep_vectors, err));
    if (svm->support) LTH_TRY(lth__prepared_create(svm->kernel, svm->support, &svm->prepared, err));
    if (svm->report.linear) drop_rows(&svm->machine);
    lth__items_drop_features(svm->items);
    if (svm->report.linear || lth__kernel_needs_all_rows(svm->kernel)) return LTH_OK;
    lth_items_free(svm->items);
    svm->items = NULL; /* the support rows are all there is */
    return LTH_OK;
}

lth_status lth_svm_fit(lth_ctx *ctx, const char *expression, const lth_table *table,
                       const char *target, const lth_svm_options *given, lth_svm **out,
                       lth_error *err) {
    double began = lth__seconds();
    fitting f = {.ctx = ctx};
    LTH_TRY(lth__svm_options_complete(given, &f.options, err));
    lth_svm *svm = NULL;
    lth_status status = prepare(&f, expression, table, target, err);
    if (status == LTH_OK) status = search(&f, err);
    if (status == LTH_OK) {
        svm = lth__calloc(1, sizeof *svm);
        if (!svm) status = lth__fail_memory(err, sizeof *svm);
    }
    if (status == LTH_OK) {
        svm->base.kind = LTH__MODEL_SVM;
        svm->ctx = *ctx;
        svm->ctx.quiet = true;
        status = make_model(svm, &f, target, err);
        svm->report.seconds = lth__seconds() - began;
    }
    free_fitting(&f);
    if (status == LTH_OK)
        *out = svm;
    else
        lth_svm_free(svm);
    return status;
}

void lth_svm_free(lth_svm *svm) {
    if (!svm) return;
    for (size_t c = 0; svm->class_name && c < svm->report.classes; c++)
        lth__free(svm->class_name[c]);
    for (size_t i = 0; svm->point_kernel && i < svm->report.points; i++)
        lth__free(svm->point_kernel[i]);
    lth__svm_machine_free(&svm->machine);
    lth__prepared_free(svm->prepared);
    lth_items_free(svm->support);
    lth_items_free(svm->items);
    lth_encoder_free(svm->encoder);
    lth_kernel_free(svm->kernel);
    void *blocks[] = {svm->support_at, svm->target,       svm->class_name,
                      svm->classes,    svm->point_kernel, svm->points};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__free(svm);
}

/* ---- Looking at it ---- */

lth_encoder *lth__svm_encoder(const lth_svm *svm) {
    return svm->encoder;
}

const lth_kernel *lth_svm_kernel(const lth_svm *svm) {
    return svm->kernel;
}

const char *lth_svm_target(const lth_svm *svm) {
    return svm->target;
}

const lth_svm_report *lth_svm_reported(const lth_svm *svm) {
    return &svm->report;
}

const lth_svm_class *lth_svm_class_at(const lth_svm *svm, size_t i) {
    return i < svm->report.classes ? &svm->classes[i] : NULL;
}

const lth_svm_point *lth_svm_point_at(const lth_svm *svm, size_t i) {
    return i < svm->report.points ? &svm->points[i] : NULL;
}

void lth_svm_problem_at(const lth_svm *svm, size_t i, size_t *positive, size_t *negative) {
    bool there = i < svm->machine.part_count;
    *positive = there ? svm->machine.parts[i].positive : LTH_NONE;
    *negative = there ? svm->machine.parts[i].negative : LTH_NONE;
}
