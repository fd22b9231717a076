/* A model of either kind: reading its file, and what it has and says. */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The library reads models from files only: standard input is copied to one without a name. */
static FILE *spool_stdin(void) {
    char block[1 << 16];
    FILE *spool = tmpfile();
    size_t count = 0;
    while (spool && (count = fread(block, 1, sizeof block, stdin)) > 0)
        if (fwrite(block, 1, count, spool) != count) break;
    if (spool && (ferror(stdin) || count > 0 || fflush(spool) != 0)) {
        fclose(spool);
        spool = NULL;
    }
    return spool;
}

/* What is no model at all is left to the reader of Gaussian processes, which says why. */
static lth_status load(session *s, const char *path, model *out, lth_error *err) {
    char kind[16];
    bool known = lth_model_kind(path, kind, NULL) == LTH_OK;
    if (known && strcmp(kind, "svm") == 0) return lth_svm_load(s->ctx, path, &out->svm, err);
    return lth_gp_load(s->ctx, path, &out->gp, err);
}

static lth_status load_stdin(session *s, model *out, lth_error *err) {
    errno = 0;
    FILE *spool = spool_stdin();
    lth_status status = LTH_EIO;
    if (spool) {
        char path[64];
        snprintf(path, sizeof path, "/dev/fd/%d", fileno(spool));
        status = load(s, path, out, err);
        fclose(spool);
    } else {
        err->status = LTH_EIO;
        snprintf(err->message, sizeof err->message, "cannot read: %s",
                 strerror(errno ? errno : EIO));
    }
    err->file[0] = 0; /* nobody knows that path */
    return status;
}

int session_load_model(session *s, const char *path, model *out) {
    lth_error err = {0};
    lth_status status =
        strcmp(path, "-") == 0 ? load_stdin(s, out, &err) : load(s, path, out, &err);
    if (status != LTH_OK) return session_fail_input(s, &err, path);
    return session_check_interrupt(s);
}

void model_free(model *m) {
    lth_gp_free(m->gp);
    lth_svm_free(m->svm);
    *m = (model){0};
}

lth_status model_save(const model *m, const char *path, lth_error *err) {
    return m->svm ? lth_svm_save(m->svm, path, err) : lth_gp_save(m->gp, path, err);
}

/* ---- What it has ---- */

const lth_kernel *model_kernel(const model *m) {
    return m->svm ? lth_svm_kernel(m->svm) : lth_gp_kernel(m->gp);
}

size_t model_targets(const model *m) {
    return m->svm ? 1 : lth_gp_targets(m->gp);
}

const char *model_target(const model *m, size_t i) {
    return m->svm ? lth_svm_target(m->svm) : lth_gp_target(m->gp, i);
}

size_t model_classes(const model *m) {
    return m->svm ? lth_svm_reported(m->svm)->classes : lth_gp_classes(m->gp);
}

const char *model_class(const model *m, size_t i) {
    return m->svm ? lth_svm_class_at(m->svm, i)->name : lth_gp_class(m->gp, i)->name;
}

size_t model_find_class(const model *m, const char *name, size_t length) {
    for (size_t c = 0; c < model_classes(m); ++c) {
        const char *own = model_class(m, c);
        if (strlen(own) == length && memcmp(own, name, length) == 0) return c;
    }
    return LTH_NONE;
}

size_t model_class_rows(const model *m, size_t i) {
    return m->svm ? lth_svm_class_at(m->svm, i)->rows : lth_gp_class(m->gp, i)->rows;
}

bool model_is_multi_label(const model *m) {
    return m->svm ? lth_svm_reported(m->svm)->multi_label : lth_gp_is_multi_label(m->gp);
}

size_t model_rows(const model *m) {
    return m->svm ? lth_svm_reported(m->svm)->rows : lth_gp_reported(m->gp)->rows;
}

const char *model_row_text(const model *m, size_t row, size_t column) {
    return m->svm ? lth_svm_row_text(m->svm, row, column) : lth_gp_row_text(m->gp, row, column);
}

/* ---- Predictions ---- */

bool model_has_deviations(const model *m) {
    return m->gp != NULL;
}

bool model_has_probabilities(const model *m) {
    return m->gp || lth_svm_reported(m->svm)->probability;
}

lth_status model_use_vectors(const model *m, const char *path, lth_error *err) {
    return m->svm ? lth_svm_use_vectors(m->svm, path, err) : lth_gp_use_vectors(m->gp, path, err);
}

static size_t most_probable(const double *probability, size_t classes) {
    size_t best = 0;
    for (size_t c = 1; c < classes; ++c)
        if (probability[c] > probability[best]) best = c;
    return best;
}

/* The most probable label, or for several labels a row those that are more probable than not. */
static void decide(const lth_gp *gp, size_t rows, const double *probability, bool *has) {
    bool several = lth_gp_is_multi_label(gp);
    size_t classes = lth_gp_classes(gp);
    for (size_t i = 0; i < rows * classes; ++i) has[i] = several && probability[i] > 0.5;
    for (size_t i = 0; i < rows && !several; ++i)
        has[i * classes + most_probable(probability + i * classes, classes)] = true;
}

lth_status model_predict(const model *m, const lth_table *table, bool latent,
                         const model_prediction *to, lth_error *err) {
    lth_svm_prediction by_svm = {.value = to->mean, .has = to->has, .probability = to->probability};
    if (m->svm) return lth_svm_predict(m->svm, table, &by_svm, sizeof by_svm, err);
    if (to->mean) return lth_gp_predict(m->gp, table, latent, to->mean, to->sd, err);
    lth_status status = lth_gp_classify(m->gp, table, to->probability, err);
    if (status == LTH_OK) decide(m->gp, lth_table_rows(table), to->probability, to->has);
    return status;
}

size_t model_leading_class(const model *m, const bool *has, const double *probability) {
    size_t classes = model_classes(m), first = 0;
    if (m->gp) return most_probable(probability, classes);
    while (first < classes && !has[first]) ++first;
    return first < classes ? first : 0;
}

/* ---- Reasons ---- */

size_t model_functions(const model *m) {
    if (m->svm) return lth_svm_reported(m->svm)->problems;
    size_t classes = lth_gp_classes(m->gp);
    return classes > 0 ? classes : lth_gp_targets(m->gp);
}

/* The classes that a function tells apart; LTH_NONE = none, or the rest. */
static void find_classes(const model *m, size_t i, size_t *positive, size_t *negative) {
    *positive = model_classes(m) > 0 ? i : LTH_NONE;
    *negative = LTH_NONE;
    if (m->svm) lth_svm_problem_at(m->svm, i, positive, negative);
}

model_function model_function_at(const model *m, size_t i) {
    size_t positive, negative;
    find_classes(m, i, &positive, &negative);
    model_function f = {.target = model_target(m, model_classes(m) > 0 ? 0 : i)};
    if (positive != LTH_NONE) f.class = model_class(m, positive);
    if (negative != LTH_NONE) f.against = model_class(m, negative);
    return f;
}

bool model_concerns(const model *m, size_t i, size_t class) {
    size_t positive, negative;
    find_classes(m, i, &positive, &negative);
    return positive == class || negative == class;
}

lth_status model_explain(const model *m, const lth_table *table, size_t row,
                         const lth_explain_options *wanted, lth_reasons **out, lth_error *err) {
    return m->svm ? lth_svm_explain(m->svm, table, row, wanted, out, err)
                  : lth_gp_explain(m->gp, table, row, wanted, out, err);
}

lth_status model_patterns(const model *m, size_t i, size_t count, lth_reasons **out,
                          lth_error *err) {
    return m->svm ? lth_svm_patterns(m->svm, i, count, out, err)
                  : lth_gp_patterns(m->gp, i, count, out, err);
}
