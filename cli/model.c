/* A model of either kind, as the command line uses it: from standard input too, with names for what
 * can be explained. */
#include "model.h"
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All of standard input, freed with free(); false = errno says why. */
static bool read_stdin(char **bytes, size_t *size) {
    char block[1 << 16];
    FILE *all = text_stream(bytes, size);
    size_t count = 0;
    if (!all) return false;
    while ((count = fread(block, 1, sizeof block, stdin)) > 0)
        if (fwrite(block, 1, count, all) != count) break;
    bool complete = count == 0 && !ferror(stdin);
    return fclose(all) == 0 && complete;
}

static lth_status load_stdin(session *s, lth_model **out, lth_error *err) {
    char *bytes = NULL;
    size_t size = 0;
    errno = 0;
    if (read_stdin(&bytes, &size)) {
        lth_model_load_from(s->ctx, bytes, size, out, err);
    } else {
        err->status = LTH_EIO;
        snprintf(err->message, sizeof err->message, "cannot read: %s",
                 strerror(errno ? errno : EIO));
    }
    free(bytes);
    return err->status;
}

int session_load_model(session *s, const char *path, lth_model **out) {
    lth_error err = {0};
    lth_status status =
        strcmp(path, "-") == 0 ? load_stdin(s, out, &err) : lth_model_load(s->ctx, path, out, &err);
    if (status != LTH_OK) return session_fail_input(s, &err, path);
    const lth_gp *gp = lth_model_gp(*out);
    s->optional = gp ? lth_gp_noise_by(gp) : NULL;
    lth_model_gather_words(*out, true); /* a command makes many calls, but tells once */
    return session_check_interrupt(s);
}

void tell_words(lth_model *m) {
    lth_model_gather_words(m, false);
    lth_model_gather_words(m, true);
}

void free_model(lth_model *m) {
    if (m) lth_model_gather_words(m, false);
    lth_model_free(m);
}

int session_use_vectors(session *s, lth_model *m) {
    const char *path = s->options->vectors;
    lth_error err = {0};
    lth_status status = lth_model_use_vectors(m, path, &err);
    return status == LTH_OK ? EXIT_DONE : session_fail_input(s, &err, path);
}

/* ---- Classes ---- */

size_t model_find_class(const lth_model *m, const char *name, size_t length) {
    for (size_t c = 0; c < lth_model_classes(m); ++c) {
        const char *own = lth_model_class(m, c);
        if (strlen(own) == length && memcmp(own, name, length) == 0) return c;
    }
    return LTH_NONE;
}

/* ---- Predictions ---- */

bool model_has_probabilities(lth_model *m) {
    const lth_svm *svm = lth_model_svm(m);
    return !svm || lth_svm_reported(svm)->probability;
}

size_t model_scores(lth_model *m) {
    size_t classes = lth_model_classes(m);
    if (!lth_model_svm(m)) return 0;
    return classes == 2 && !lth_model_is_multi_label(m) ? 1 : classes;
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

bool model_is_normal(lth_model *m) {
    const lth_gp *gp = lth_model_gp(m);
    return !gp || (lth_gp_likelihood(gp) == LTH_GAUSSIAN && lth_gp_reported(gp)->draws == 0 &&
                   !lth_kernel_has_noise(lth_gp_kernel(gp)));
}

list model_columns(lth_model *m, const char *room[1]) {
    const lth_gp *gp = lth_model_gp(m);
    room[0] = gp ? lth_gp_exposure(gp) : NULL;
    return (list){room, room[0] != NULL};
}

static lth_status predict_numbers(const lth_gp *gp, const lth_table *table, bool latent,
                                  const model_prediction *to, lth_error *err) {
    lth_gp_prediction all = {.mean = latent ? NULL : to->mean,
                             .sd = latent ? NULL : to->sd,
                             .latent_mean = latent ? to->mean : NULL,
                             .latent_sd = latent ? to->sd : NULL,
                             .given = to->given ? to->given->at : NULL,
                             .given_count = to->given ? to->given->count : 0,
                             .median = to->median,
                             .lower = to->lo,
                             .upper = to->hi,
                             .probability = to->grades,
                             .y = to->y,
                             .point = to->point,
                             .log_density = to->log_density,
                             .cdf = to->cdf,
                             .crps = to->crps};
    return lth_gp_predict_all(gp, table, &all, sizeof all, err);
}

lth_status model_predict(lth_model *m, const lth_table *table, bool latent,
                         const model_prediction *to, lth_error *err) {
    lth_gp *gp = lth_model_gp(m);
    lth_svm_prediction by_svm = {
        .value = to->mean, .has = to->has, .probability = to->probability, .score = to->score};
    if (!gp) return lth_svm_predict(lth_model_svm(m), table, &by_svm, sizeof by_svm, err);
    if (to->mean) return predict_numbers(gp, table, latent, to, err);
    lth_status status = lth_gp_classify(gp, table, to->probability, err);
    if (status == LTH_OK) decide(gp, lth_table_rows(table), to->probability, to->has);
    return status;
}

size_t model_leading_class(lth_model *m, const bool *has, const double *probability) {
    size_t classes = lth_model_classes(m), first = 0;
    if (lth_model_gp(m)) return most_probable(probability, classes);
    while (first < classes && !has[first]) ++first;
    return first < classes ? first : 0;
}

/* ---- Reasons ---- */

/* The classes that a function tells apart; LTH_NONE = none, or the rest. */
static void find_classes(lth_model *m, size_t i, size_t *positive, size_t *negative) {
    *positive = lth_model_classes(m) > 0 ? i : LTH_NONE;
    *negative = LTH_NONE;
    if (!lth_model_gp(m)) lth_svm_problem_at(lth_model_svm(m), i, positive, negative);
}

model_function model_function_at(lth_model *m, size_t i) {
    size_t positive, negative;
    find_classes(m, i, &positive, &negative);
    model_function f = {.target = lth_model_target(m, lth_model_classes(m) > 0 ? 0 : i)};
    if (positive != LTH_NONE) f.class = lth_model_class(m, positive);
    if (negative != LTH_NONE) f.against = lth_model_class(m, negative);
    return f;
}

bool model_concerns(lth_model *m, size_t i, size_t class) {
    size_t positive, negative;
    find_classes(m, i, &positive, &negative);
    return positive == class || negative == class;
}

lth_status model_explain(const lth_model *m, const lth_table *table, size_t row,
                         const lth_explain_options *wanted, lth_reasons **out, lth_error *err) {
    lth_reasons *reasons = NULL;
    lth_status status = lth_model_explain(m, table, row, wanted, &reasons, err);
    if (status != LTH_OK) return status;
    for (size_t i = 0; i < lth_reasons_summarise(reasons)->rows; ++i) {
        if (lth_model_row_line(m, lth_reasons_row_at(reasons, i)->row)) continue;
        lth_reasons_free(reasons);
        *err = (lth_error){.status = LTH_ENOMEM, .message = "out of memory"};
        return LTH_ENOMEM;
    }
    *out = reasons;
    return LTH_OK;
}
