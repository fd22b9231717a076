/* What a model says of each row of a table: its columns, written as TSV or as JSON. */
#include "prediction.h"

#include <stdlib.h>
#include <string.h>

#include "available.h"
#include "output.h"

/* ---- Columns ---- */

static double mean_at(const prediction *p, size_t target, size_t row) {
    return p->values.mean[target * p->rows + row];
}

static double sd_at(const prediction *p, size_t target, size_t row) {
    return p->values.sd[target * p->rows + row];
}

static double median_at(const prediction *p, size_t target, size_t row) {
    return p->values.median[target * p->rows + row];
}

static double lo_at(const prediction *p, size_t target, size_t row) {
    if (p->values.lo) return p->values.lo[target * p->rows + row];
    return mean_at(p, target, row) - sds_95 * sd_at(p, target, row);
}

static double hi_at(const prediction *p, size_t target, size_t row) {
    if (p->values.hi) return p->values.hi[target * p->rows + row];
    return mean_at(p, target, row) + sds_95 * sd_at(p, target, row);
}

static double grade_at(const prediction *p, size_t grade, size_t row) {
    return p->values.grades[row * p->grade_count + grade];
}

static double probability_at(const prediction *p, size_t class, size_t row) {
    return p->values.probability[row * p->classes + class];
}

static double score_at(const prediction *p, size_t score, size_t row) {
    return p->values.score[row * p->scores + score];
}

/* Two of three texts put together name it. */
static bool add_column(prediction *p, const char *first, const char *middle, const char *last,
                       size_t of, double (*at)(const prediction *, size_t, size_t)) {
    char *name = malloc(strlen(first) + strlen(middle) + strlen(last) + 1);
    if (!name) return false;
    stpcpy(stpcpy(stpcpy(name, first), middle), last);
    p->columns[p->column_count++] = (prediction_column){name, of, at};
    return true;
}

/* With one target "mean", otherwise "joy.mean". */
static bool add_target(prediction *p, size_t target) {
    const char *of = p->targets > 1 ? lth_model_target(p->model, target) : "",
               *dot = *of ? "." : "";
    if (!add_column(p, of, dot, "mean", target, mean_at)) return false;
    if (p->values.median && !add_column(p, of, dot, "median", target, median_at)) return false;
    return !p->values.sd || (add_column(p, of, dot, "sd", target, sd_at) &&
                             add_column(p, of, dot, "lo", target, lo_at) &&
                             add_column(p, of, dot, "hi", target, hi_at));
}

/* With two classes "score", otherwise "score[joy]". */
static bool add_score(prediction *p, size_t score) {
    if (p->scores != p->classes) return add_column(p, "score", "", "", score, score_at);
    return add_column(p, "score[", lth_model_class(p->model, score), "]", score, score_at);
}

static bool make_columns(prediction *p) {
    size_t size = 1;
    bool ok = true;
    p->columns =
        calloc(5 * p->targets + p->classes + p->grade_count + p->scores, sizeof *p->columns);
    if (!p->columns) return false;
    for (size_t c = 0; c < p->classes; ++c) size += strlen(lth_model_class(p->model, c)) + 1;
    if (p->classes > 0 && !(p->labels = malloc(size))) return false;
    for (size_t t = 0; ok && p->values.mean && t < p->targets; ++t) ok = add_target(p, t);
    for (size_t g = 0; ok && p->values.grades && g < p->grade_count; ++g) {
        char name[32];
        double_text(p->grades[g], name);
        ok = add_column(p, "p[", name, "]", g, grade_at);
    }
    for (size_t c = 0; ok && p->values.probability && c < p->classes; ++c)
        ok = add_column(p, "p[", lth_model_class(p->model, c), "]", c, probability_at);
    for (size_t s = 0; ok && s < p->scores; ++s) ok = add_score(p, s);
    return ok;
}

/* Labels have no commas of their own where a row may have several. */
static const char *labels_of(const prediction *p, size_t row) {
    char *end = p->labels;
    *end = 0;
    for (size_t c = 0; c < p->classes; ++c) {
        if (!p->values.has[row * p->classes + c]) continue;
        if (end > p->labels) *end++ = ',';
        end = stpcpy(end, lth_model_class(p->model, c));
    }
    return p->labels;
}

/* ---- The prediction ---- */

/* What a distribution has that is not normal, and with the truth what that is under it. */
static lth_status allocate_distribution(prediction *p, lth_error *err) {
    const char *what = "the prediction";
    model_prediction *to = &p->values;
    double **const arrays[] = {&to->median, &to->lo,          &to->hi,  &to->point,
                               &to->cdf,    &to->log_density, &to->crps};
    lth_status status = LTH_OK;
    for (size_t i = 0; i < (to->y ? 7 : 3) && status == LTH_OK; ++i)
        status = allocate_doubles(what, p->targets, p->rows, 1, arrays[i], err);
    p->grade_count = p->targets == 1 ? lth_gp_grades(lth_model_gp(p->model), &p->grades) : 0;
    if (status == LTH_OK && p->grade_count > 0)
        status = allocate_doubles(what, 1, p->rows, p->grade_count, &to->grades, err);
    return status;
}

static lth_status allocate(prediction *p, bool latent, lth_error *err) {
    const char *what = "the prediction";
    model_prediction *to = &p->values;
    lth_status status = LTH_OK;
    if (p->classes == 0) {
        status = allocate_doubles(what, p->targets, p->rows, 1, &to->mean, err);
        if (status == LTH_OK && lth_model_gp(p->model))
            status = allocate_doubles(what, p->targets, p->rows, 1, &to->sd, err);
        if (status == LTH_OK && !latent && !model_is_normal(p->model))
            status = allocate_distribution(p, err);
    } else {
        to->has = calloc(p->rows * p->classes, sizeof *to->has);
        if (!to->has) return err->status = LTH_ENOMEM;
        if (model_has_probabilities(p->model))
            status = allocate_doubles(what, 1, p->rows, p->classes, &to->probability, err);
        if (status == LTH_OK && p->scores > 0)
            status = allocate_doubles(what, 1, p->rows, p->scores, &to->score, err);
    }
    if (status == LTH_OK && !make_columns(p)) status = err->status = LTH_ENOMEM;
    return status;
}

static lth_status make(lth_model *m, const lth_table *table, const list *given, bool latent,
                       const double *y, prediction *out, lth_error *err) {
    *out = (prediction){.model = m,
                        .values.given = given,
                        .table = table,
                        .rows = lth_table_rows(table),
                        .targets = lth_model_targets(m),
                        .classes = lth_model_classes(m),
                        .scores = model_scores(m),
                        .values.y = y};
    lth_status status = allocate(out, latent, err);
    return status == LTH_OK ? model_predict(m, table, latent, &out->values, err) : status;
}

lth_status prediction_make(lth_model *m, const lth_table *table, bool latent, prediction *out,
                           lth_error *err) {
    return make(m, table, NULL, latent, NULL, out, err);
}

lth_status prediction_make_given(lth_model *m, const lth_table *table, const list *given,
                                 bool latent, prediction *out, lth_error *err) {
    return make(m, table, given, latent, NULL, out, err);
}

lth_status prediction_judge(lth_model *m, const lth_table *table, const double *y, prediction *out,
                            lth_error *err) {
    return make(m, table, NULL, false, y, out, err);
}

void prediction_free(prediction *p) {
    for (size_t i = 0; i < p->column_count; ++i) free(p->columns[i].name);
    free(p->columns);
    free(p->labels);
    free(p->values.mean);
    free(p->values.sd);
    free(p->values.median);
    free(p->values.lo);
    free(p->values.hi);
    free(p->values.point);
    free(p->values.log_density);
    free(p->values.cdf);
    free(p->values.crps);
    free(p->values.grades);
    free(p->values.has);
    free(p->values.probability);
    free(p->values.score);
    *p = (prediction){0};
}

size_t prediction_class(const prediction *p, size_t row) {
    const model_prediction *v = &p->values;
    size_t first = row * p->classes;
    return model_leading_class(p->model, v->has + first,
                               v->probability ? v->probability + first : NULL);
}

/* ---- Writing ---- */

void write_prediction_names(FILE *to, const prediction *p) {
    if (p->labels) fputs("\tlabel", to);
    for (size_t i = 0; i < p->column_count; ++i) {
        putc('\t', to);
        write_text_cell(to, p->columns[i].name);
    }
}

void write_prediction(FILE *to, const prediction *p, size_t row) {
    if (p->labels) putc('\t', to), write_text_cell(to, labels_of(p, row));
    for (size_t i = 0; i < p->column_count; ++i) {
        putc('\t', to);
        write_tsv_double(to, p->columns[i].at(p, p->columns[i].of, row));
    }
}

void json_put_values(json_writer *w, const prediction *p, size_t row) {
    if (p->labels) json_put_text(w, "label", labels_of(p, row));
    for (size_t i = 0; i < p->column_count; ++i)
        json_put_double(w, p->columns[i].name, p->columns[i].at(p, p->columns[i].of, row));
}

void json_put_prediction(json_writer *w, const char *key, const prediction *p, size_t row) {
    json_begin_result(w, key);
    json_put_count(w, "row", lth_table_number(p->table, row));
    json_put_values(w, p, row);
    json_end(w);
}
