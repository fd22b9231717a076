/* predict --score: a few numbers of each row are kept, and judged when all have come. */
#include "commands/predict_score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "output.h"
#include "truth.h"

/* Of numbers; what is not there is a NULL array. */
enum { TRUTH, POINT, SD, LOWER, UPPER, LOG_DENSITY, CDF, CRPS };

void score_columns(lth_model *m, list *more) {
    for (size_t t = 0; t < lth_model_targets(m); ++t)
        more->at[more->count++] = lth_model_target(m, t);
}

void score_free(score *s) {
    for (size_t k = 0; k < SCORE_NUMBERS; ++k) free(s->numbers[k]);
    free(s->truth);
    free(s->predicted);
    free(s->probability);
    free(s->decision);
}

/* ---- Room ---- */

/* A larger block, with [part][from] of each part moved to [part][to]. */
static bool widen(void **block, size_t size, size_t parts, size_t from, size_t to) {
    char *wide = calloc(parts * to + 1, size);
    if (!wide) return false;
    for (size_t p = 0; *block && p < parts; ++p)
        memcpy(wide + p * to * size, (char *)*block + p * from * size, from * size);
    free(*block);
    *block = wide;
    return true;
}

static bool make_room(score *s, size_t more, const model_prediction *v) {
    size_t room = s->room;
    while (room < s->rows + more) room = room ? 2 * room : more;
    if (room == s->room) return true;
    size_t targets = lth_model_targets(s->model), stride = lth_model_classes(s->model) + 1;
    const void *had[SCORE_NUMBERS] = {v->mean, v->mean,        v->sd,  v->lo,
                                      v->hi,   v->log_density, v->cdf, v->crps};
    bool ok = true;
    for (size_t k = 0; ok && k < SCORE_NUMBERS; ++k)
        ok = !had[k] || widen((void **)&s->numbers[k], sizeof(double), targets, s->room, room);
    if (v->has)
        ok = ok && widen((void **)&s->truth, sizeof(bool), 1, s->room * stride, room * stride) &&
             widen((void **)&s->predicted, sizeof(bool), 1, s->room * stride, room * stride);
    if (v->probability)
        ok = ok &&
             widen((void **)&s->probability, sizeof(double), 1, s->room * stride, room * stride);
    if (v->score && model_scores(s->model) == 1)
        ok = ok && widen((void **)&s->decision, sizeof(double), 1, s->room, room);
    if (ok) s->room = room;
    return ok;
}

/* ---- A slice ---- */

static void keep_numbers(score *s, const prediction *p) {
    const model_prediction *v = &p->values;
    const double *from[SCORE_NUMBERS] = {
        v->y, v->point ? v->point : v->mean, v->sd, v->lo, v->hi, v->log_density, v->cdf, v->crps};
    for (size_t k = 0; k < SCORE_NUMBERS; ++k)
        for (size_t t = 0; from[k] && t < p->targets; ++t)
            memcpy(s->numbers[k] + t * s->room + s->rows, from[k] + t * p->rows,
                   p->rows * sizeof *from[k]);
}

static void keep_labels(score *s, const prediction *p) {
    size_t known = p->classes, stride = known + 1;
    const char *column = lth_model_target(s->model, 0);
    truth_read_labels(s->model, p->table, column, s->truth + s->rows * stride, &s->strange);
    if (s->decision) memcpy(s->decision + s->rows, p->values.score, p->rows * sizeof *s->decision);
    for (size_t i = 0; i < p->rows; ++i) {
        size_t at = (s->rows + i) * stride;
        memcpy(s->predicted + at, p->values.has + i * known, known * sizeof(bool));
        if (s->probability)
            memcpy(s->probability + at, p->values.probability + i * known, known * sizeof(double));
    }
}

static int read_truth(score *s, const lth_table *slice, double **y) {
    size_t rows = lth_table_rows(slice), targets = lth_model_targets(s->model);
    int code = EXIT_DONE;
    if (lth_model_classes(s->model) > 0) return code;
    *y = calloc(rows * targets + 1, sizeof **y);
    if (!*y) return out_of_memory();
    for (size_t t = 0; t < targets && !code; ++t)
        code = truth_read_numbers(s->session, s->model, slice, s->path,
                                  lth_model_target(s->model, t), *y + t * rows);
    return code;
}

static int predict(score *s, const lth_table *slice, const double *y, prediction *p) {
    lth_error err = {0};
    lth_status status = prediction_judge(s->model, slice, y, p, &err);
    if (status == LTH_EFORMAT) return session_fail_input(s->session, &err, s->path);
    if (status != LTH_OK) return session_fail(s->session, &err);
    if (!make_room(s, p->rows, &p->values)) return out_of_memory();
    p->classes > 0 ? keep_labels(s, p) : keep_numbers(s, p);
    s->rows += p->rows;
    return session_check_interrupt(s->session);
}

int score_take(score *s, const lth_table *slice, prediction *p) {
    double *y = NULL;
    int code = read_truth(s, slice, &y);
    if (!code) code = predict(s, slice, y, p);
    p->values.y = NULL;
    free(y);
    return code;
}

/* ---- All of them ---- */

static figure_kind kind_of(const score *s) {
    return (figure_kind){.labels = lth_model_classes(s->model) > 0,
                         .svm = lth_model_svm(s->model) != NULL,
                         .probabilities = s->probability != NULL};
}

/* Rows without the truth go; returns how many are left. */
static size_t keep_known(const score *s, double *at[SCORE_NUMBERS]) {
    size_t known = 0;
    for (size_t i = 0; i < s->rows; ++i) {
        if (isnan(at[TRUTH][i])) continue;
        for (size_t k = 0; k < SCORE_NUMBERS; ++k)
            if (at[k]) at[k][known] = at[k][i];
        ++known;
    }
    return known;
}

size_t score_numbers(score *s, size_t target, lth_gp_prediction *out) {
    double *at[SCORE_NUMBERS];
    for (size_t k = 0; k < SCORE_NUMBERS; ++k)
        at[k] = s->numbers[k] ? s->numbers[k] + target * s->room : NULL;
    size_t known = keep_known(s, at);
    *out = (lth_gp_prediction){.y = at[TRUTH],
                               .point = at[POINT],
                               .sd = at[SD],
                               .lower = at[LOWER],
                               .upper = at[UPPER],
                               .log_density = at[LOG_DENSITY],
                               .cdf = at[CDF],
                               .crps = at[CRPS]};
    return known;
}

static lth_status judge_numbers(score *s, size_t target, figures *out, lth_error *err) {
    lth_gp_prediction from;
    size_t known = score_numbers(s, target, &from);
    lth_metrics m;
    lth_status status = lth_metrics_with(&from, sizeof from, known, &m, sizeof m, err);
    if (status == LTH_OK) *out = figures_of_numbers(&m, NAN, NAN);
    return status;
}

/* Without the last class, where no row has it. */
static void narrow(score *s, size_t classes) {
    for (size_t i = 0; i < s->rows; ++i) {
        memmove(s->truth + i * classes, s->truth + i * (classes + 1), classes * sizeof(bool));
        memmove(s->predicted + i * classes, s->predicted + i * (classes + 1),
                classes * sizeof(bool));
        if (s->probability)
            memmove(s->probability + i * classes, s->probability + i * (classes + 1),
                    classes * sizeof(double));
    }
}

size_t score_labels(score *s, lth_label_prediction *out) {
    size_t classes = lth_model_classes(s->model);
    if (!s->strange) narrow(s, classes);
    bool by_score = s->decision && !s->probability;
    *out = (lth_label_prediction){.predicted = s->predicted,
                                  .probability = s->probability,
                                  .score = by_score ? s->decision : NULL};
    return classes + s->strange;
}

static lth_status judge_labels(score *s, figures *out, lth_error *err) {
    size_t classes = lth_model_classes(s->model);
    const char *names[classes];
    for (size_t c = 0; c < classes; ++c) names[c] = lth_model_class(s->model, c);
    lth_label_prediction from;
    (void)score_labels(s, &from);
    bool by_score = from.score != NULL;
    lth_label_metrics m;
    lth_status status = (by_score ? lth_label_metrics_scored : lth_label_metrics_with)(
        s->truth, s->predicted, by_score ? s->decision : s->probability, s->strange ? NULL : names,
        s->rows, classes + s->strange, lth_model_is_multi_label(s->model), &m, sizeof m, err);
    if (status == LTH_OK) *out = figures_of_labels(&m, NAN);
    return status;
}

static lth_status judge(score *s, size_t target, figures *out, lth_error *err) {
    return kind_of(s).labels ? judge_labels(s, out, err) : judge_numbers(s, target, out, err);
}

static void print_text(const score *s, size_t target, const figures *f) {
    if (target == 0) {
        printf("target\tn");
        print_figure_names(kind_of(s));
        putchar('\n');
    }
    print_visible(lth_model_target(s->model, target));
    printf("\t%zu", f->count);
    print_figures(kind_of(s), f);
    putchar('\n');
}

int score_print(score *s, bool json) {
    json_writer w = {.to = stdout};
    lth_error err = {0};
    if (json) {
        json_begin_result(&w, NULL);
        json_put_count(&w, "n", s->rows);
        json_begin_object(&w, "targets");
    }
    for (size_t t = 0; t < lth_model_targets(s->model); ++t) {
        figures f;
        if (judge(s, t, &f, &err) != LTH_OK) return session_fail(s->session, &err);
        if (json)
            json_put_figures(&w, lth_model_target(s->model, t), kind_of(s), &f);
        else
            print_text(s, t, &f);
    }
    if (json) {
        json_end(&w);
        json_end(&w);
    }
    return EXIT_DONE;
}
