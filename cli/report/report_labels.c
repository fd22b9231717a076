/* Sections of a report on classes, and on held-out rows: how often each class is found, which is
 * taken for which, how honest the probabilities are; for numbers, predictions against the truth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prediction.h"
#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"
#include "truth.h"

enum { MOST_IN_MATRIX = 24, BINS = 10 };

/* ---- Classes ---- */

int write_classes(report *r) {
    lth_svm *svm = lth_model_svm(r->model);
    size_t rows = lth_model_rows(r->model);
    fputs(lth_model_is_multi_label(r->model)
              ? "<p>A row may have several of these labels, or none.</p>\n"
              : "<p>Each row has one of these labels.</p>\n",
          r->out);
    html_open_table(r->out, "", svm ? "class|rows#|share#|support rows#" : "class|rows#|share#");
    for (size_t i = 0; i < lth_model_classes(r->model); ++i) {
        size_t count =
            svm ? lth_svm_class_at(svm, i)->rows : lth_gp_class(lth_model_gp(r->model), i)->rows;
        double share = rows ? (double)count / (double)rows : 0;
        fputs("<tr>", r->out);
        html_meter_head(r->out, lth_model_class(r->model, i), share);
        html_count_cell(r->out, count);
        html_percent_cell(r->out, share);
        if (svm) html_count_cell(r->out, lth_svm_class_at(svm, i)->support);
        fputs("</tr>\n", r->out);
    }
    html_close_table(r->out);
    return EXIT_DONE;
}

/* ---- Truth and prediction of held-out rows ---- */

/* By [row * classes + class]. The last class is for labels that the model does not know. */
typedef struct judged {
    size_t rows, classes, known;
    bool *truth, *predicted, strange; /* whether that last class occurs */
    prediction prediction;
    const double *probability; /* by [row * known + class]; NULL = none */
} judged;

static void free_judged(judged *j) {
    free(j->truth);
    free(j->predicted);
    prediction_free(&j->prediction);
}

static int fail_prediction(report *r, lth_status status, const lth_error *err) {
    if (status == LTH_EFORMAT) return session_fail_input(r->session, err, r->data->path);
    return session_fail(r->session, err);
}

static int predict_labels(report *r, judged *j) {
    lth_error err = {0};
    lth_status status = prediction_make(r->model, r->data->table, false, &j->prediction, &err);
    if (status != LTH_OK) return fail_prediction(r, status, &err);
    j->rows = j->prediction.rows;
    j->known = j->prediction.classes;
    j->classes = j->known + 1;
    j->probability = j->prediction.values.probability;
    j->truth = calloc(j->rows * j->classes, sizeof *j->truth);
    j->predicted = calloc(j->rows * j->classes, sizeof *j->predicted);
    if (!j->truth || !j->predicted) return out_of_memory();
    for (size_t i = 0; i < j->rows; ++i)
        memcpy(j->predicted + i * j->classes, j->prediction.values.has + i * j->known,
               j->known * sizeof *j->predicted);
    return EXIT_DONE;
}

static const char *class_name(const report *r, const judged *j, size_t c) {
    return c < j->known ? lth_model_class(r->model, c) : "(not in training)";
}

/* ---- Figures of labels ---- */

static void figure(report *r, const char *name, double value) {
    if (!isnan(value)) html_card(r->out, value, name);
}

/* The mean of -log P of the true labels; a label that training did not have has no probability. */
static double log_loss(const report *r, const judged *j) {
    double sum = 0;
    if (!j->probability || j->strange) return NAN;
    for (size_t i = 0; i < j->rows; ++i) {
        for (size_t c = 0; c < j->known; ++c) {
            double p = j->probability[i * j->known + c];
            bool has = j->truth[i * j->classes + c];
            if (has) sum -= log(fmax(p, 1e-15));
            if (!has && lth_model_is_multi_label(r->model)) sum -= log(fmax(1 - p, 1e-15));
        }
    }
    return sum / (double)j->rows;
}

static int write_quality(report *r, const judged *j) {
    lth_class_metrics *each = calloc(j->classes, sizeof *each);
    if (!each) return out_of_memory();
    lth_label_metrics m;
    lth_label_metrics_of(j->truth, j->predicted, j->rows, j->classes, &m, sizeof m);
    for (size_t c = 0; c < j->classes; ++c)
        lth_class_metrics_of(j->truth, j->predicted, j->rows, j->classes, c, &each[c],
                             sizeof *each);
    html_open_cards(r->out);
    html_count_card(r->out, j->rows, "held-out rows");
    figure(r, "accuracy", m.accuracy);
    figure(r, "macro F1", m.macro_f1);
    figure(r, "micro F1", m.micro_f1);
    figure(r, "log loss", log_loss(r, j));
    html_close_cards(r->out);
    fputs("<h3>By class</h3>\n", r->out);
    html_open_table(r->out, "", "class|rows#|precision#|recall#|F1#");
    for (size_t c = 0; c < j->known + j->strange; ++c) {
        html_row_head(r->out, class_name(r, j, c));
        html_count_cell(r->out, each[c].support);
        html_number_cell(r->out, each[c].precision);
        html_number_cell(r->out, each[c].recall);
        html_number_cell(r->out, each[c].f1);
        fputs("</tr>\n", r->out);
    }
    html_close_table(r->out);
    free(each);
    return EXIT_DONE;
}

static size_t count_confused(const judged *j, size_t truth, size_t predicted) {
    size_t count = 0;
    for (size_t i = 0; i < j->rows; ++i)
        count += j->truth[i * j->classes + truth] && j->predicted[i * j->classes + predicted];
    return count;
}

static void write_matrix(report *r, const judged *j) {
    if (lth_model_is_multi_label(r->model)) return;
    fputs("<h3>Which is taken for which</h3>\n", r->out);
    if (j->known > MOST_IN_MATRIX) {
        fprintf(r->out, "<p class=\"note\">%zu classes are too many for a matrix.</p>\n", j->known);
        return;
    }
    fputs(
        "<p class=\"note\">Rows are the true classes, columns the predicted ones; the darker, the "
        "larger the share of its row.</p>\n",
        r->out);
    html_open_heads(r->out, "matrix");
    html_head(r->out, "true", false);
    for (size_t c = 0; c < j->known; ++c) html_head(r->out, lth_model_class(r->model, c), true);
    html_close_heads(r->out);
    for (size_t t = 0; t < j->known + j->strange; ++t) {
        size_t support = 0;
        for (size_t c = 0; c < j->known; ++c) support += count_confused(j, t, c);
        html_row_head(r->out, class_name(r, j, t));
        for (size_t c = 0; c < j->known; ++c) {
            size_t count = count_confused(j, t, c);
            fprintf(r->out, "<td%s style=\"--w:%.2f\">%zu</td>", t == c ? "" : " class=\"off\"",
                    support ? (double)count / (double)support : 0, count);
        }
        fputs("</tr>\n", r->out);
    }
    html_close_table(r->out);
}

/* ---- Reliability ---- */

typedef struct bins {
    double said[BINS], was[BINS];
    size_t count[BINS];
} bins;

static void add_to_bins(bins *b, double probability, bool was) {
    double at = probability * BINS;
    size_t bin = at > 0 ? at < BINS ? (size_t)at : BINS - 1 : 0;
    b->said[bin] += probability;
    b->was[bin] += was;
    b->count[bin]++;
}

/* Of two classes the second, of several the one that was predicted, of several labels a row each.
 */
static void fill_bins(const report *r, const judged *j, bins *b) {
    for (size_t i = 0; i < j->rows; ++i) {
        for (size_t c = 0; c < j->known; ++c) {
            bool counts = lth_model_is_multi_label(r->model) ||
                          (j->known == 2 ? c == 1 : j->predicted[i * j->classes + c]);
            if (counts)
                add_to_bins(b, j->probability[i * j->known + c], j->truth[i * j->classes + c]);
        }
    }
}

static void name_reliability(const report *r, const judged *j, char *line, size_t size) {
    bool pair = j->known == 2 && !lth_model_is_multi_label(r->model);
    const char *of =
        lth_model_is_multi_label(r->model) ? "Of every label" : "Of the predicted class";
    if (pair)
        snprintf(line, size,
                 "Of %.80s (of %.80s it is the mirror image), in ten groups by its probability",
                 lth_model_class(r->model, 1), lth_model_class(r->model, 0));
    else
        snprintf(line, size, "%s, in ten groups by its probability", of);
}

static void write_reliability(report *r, const judged *j) {
    fputs("<h3>How honest the probabilities are</h3>\n", r->out);
    if (!j->probability) {
        fputs("<p class=\"note\">This machine has no probabilities: it was fitted without "
              "<code>--probability</code>.</p>\n",
              r->out);
        return;
    }
    bins b = {0};
    fill_bins(r, j, &b);
    double x[BINS], y[BINS];
    size_t used = 0;
    for (size_t i = 0; i < BINS; ++i) {
        if (b.count[i] == 0) continue;
        x[used] = b.said[i] / (double)b.count[i];
        y[used++] = b.was[i] / (double)b.count[i];
    }
    fputs("<div class=\"pair\">\n", r->out);
    char line[240];
    name_reliability(r, j, line, sizeof line);
    open_figure(r, "Reliability", line);
    svg_chart c = {.out = r->out,
                   .number = r->charts,
                   .title = "Reliability of the probabilities",
                   .description = "How often the label was there against the probability that the "
                                  "model gave it; on the dashed line both are the same.",
                   .square = true,
                   .x = {.label = "predicted probability", .lo = 0, .hi = 1},
                   .y = {.label = "observed share", .lo = 0, .hi = 1}};
    svg_open(&c);
    svg_segment(&c, "b dash", 0, 0, 1, 1);
    svg_line(&c, "a", x, y, used);
    svg_points(&c, "dot", x, y, used);
    svg_close(&c);
    html_open_numbers(r->out, "predicted#|observed#|cases#");
    for (size_t i = 0; i < BINS; ++i) {
        if (b.count[i] == 0) continue;
        fputs("<tr>", r->out);
        html_number_cell(r->out, b.said[i] / (double)b.count[i]);
        html_number_cell(r->out, b.was[i] / (double)b.count[i]);
        html_count_cell(r->out, b.count[i]);
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
    fputs("</div>\n", r->out);
}

/* ---- Held-out rows ---- */

static int judge_labels(report *r) {
    judged j = {0};
    int code = predict_labels(r, &j);
    if (!code) {
        truth_read_labels(r->model, r->data->table, r->data->targets.at[0], j.truth, &j.strange);
        code = write_quality(r, &j);
    }
    if (!code) {
        write_matrix(r, &j);
        write_reliability(r, &j);
    }
    free_judged(&j);
    return code;
}

/* The part of an array that is a target's. */
static double *part_of(double *array, const prediction *p, size_t target) {
    return array ? array + target * p->rows : NULL;
}

static int write_numbers(report *r, const prediction *p, double *y, size_t *row) {
    const model_prediction *v = &p->values;
    int code = EXIT_DONE;
    for (size_t t = 0; t < p->targets && !code; ++t) {
        for (size_t i = 0; i < p->rows; ++i) row[i] = lth_table_number(r->data->table, i);
        write_target_head(r, t);
        outcome o = {.count = p->rows,
                     .y = y + t * p->rows,
                     .mean = part_of(v->point ? v->point : v->mean, p, t),
                     .sd = part_of(v->sd, p, t),
                     .lo = part_of(v->lo, p, t),
                     .hi = part_of(v->hi, p, t),
                     .log_density = part_of(v->log_density, p, t),
                     .cdf = part_of(v->cdf, p, t),
                     .crps = part_of(v->crps, p, t),
                     .row = row};
        if (truth_has_gaps(r->model)) o.count = keep_known_rows(p->rows, o.y, o.mean, o.sd, row);
        code = write_outcome(r, &o);
    }
    return code;
}

static int read_numbers(report *r, double *y) {
    const held_out *d = r->data;
    size_t rows = lth_table_rows(d->table);
    int code = EXIT_DONE;
    for (size_t t = 0; t < d->targets.count && !code; ++t)
        code = truth_read_numbers(r->session, r->model, d->table, d->path, d->targets.at[t],
                                  y + t * rows);
    return code;
}

static int judge_numbers(report *r) {
    prediction p = {0};
    lth_error err = {0};
    size_t rows = lth_table_rows(r->data->table);
    double *y = calloc(rows * r->data->targets.count + 1, sizeof *y);
    size_t *row = calloc(rows + 1, sizeof *row);
    int code = y && row ? read_numbers(r, y) : out_of_memory();
    if (!code) {
        lth_status status = prediction_judge(r->model, r->data->table, y, &p, &err);
        if (status != LTH_OK) code = fail_prediction(r, status, &err);
    }
    if (!code) code = write_numbers(r, &p, y, row);
    free(y);
    free(row);
    prediction_free(&p);
    return code;
}

bool has_held_out(const report *r) {
    return r->data || has_labels(r) || lth_model_svm(r->model);
}

int write_held_out(report *r) {
    if (!r->data) {
        fputs("<p>A model does not keep rows that it was not trained on. Give some, with their "
              "true values, to see here how well it does on them:</p>\n"
              "<pre><code>luthier report MODEL --data TABLE -o report.html</code></pre>\n",
              r->out);
        return EXIT_DONE;
    }
    fputs("<p>Rows of <code>", r->out);
    html_string(r->out, r->data->path);
    fputs("</code>, predicted by the model and compared with their true values.</p>\n", r->out);
    return has_labels(r) ? judge_labels(r) : judge_numbers(r);
}
