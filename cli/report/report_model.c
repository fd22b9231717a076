/* Sections of a report on the model itself: what it was learned from, key figures, its
 * hyperparameters, how the search for them went, the grid of a support vector machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"

/* ---- Key figures ---- */

static void left_out_cards(report *r, const lth_metrics *loo) {
    bool several = lth_model_targets(r->model) > 1; /* the report of a model is on the first */
    html_card(r->out, loo->r,
              several ? "leave-one-out correlation, first target" : "leave-one-out correlation");
    html_card(r->out, loo->mae,
              several ? "leave-one-out mean error, first target" : "leave-one-out mean error");
    html_percent_card(r->out, loo->coverage, "inside their 95% interval");
}

static void gp_cards(report *r) {
    lth_gp_report g = *lth_gp_reported(lth_model_gp(r->model));
    html_count_card(r->out, g.rows, "training rows");
    if (g.inducing) html_count_card(r->out, g.inducing, "of them stand for all");
    if (g.loo) left_out_cards(r, g.loo);
    if (has_labels(r))
        html_count_card(r->out, lth_gp_classes(lth_model_gp(r->model)), "classes");
    else if (!has_likelihood(r))
        html_card(r->out, sqrt(g.noise), "noise, standard deviation");
    else
        html_text_card(r->out, lth_likelihood_name(lth_gp_likelihood(lth_model_gp(r->model))),
                       "likelihood");
    if (g.sharpness > 0) {
        html_card(r->out, g.sharpness, "sharpness of probabilities");
        html_card(r->out, g.left_out_loss, "leave-one-out log loss");
    }
    html_card(r->out, g.evidence, "log evidence");
}

static void svm_cards(report *r) {
    lth_svm_report v = *lth_svm_reported(lth_model_svm(r->model));
    html_count_card(r->out, lth_model_rows(r->model), "training rows");
    html_text_card(r->out, v.type, "type of machine");
    html_count_card(r->out, v.support, "support rows");
    if (v.classes > 0) html_count_card(r->out, v.classes, "classes");
    if (!isnan(v.C)) html_card(r->out, v.C, "C, the price of errors");
    char what[64];
    snprintf(what, sizeof what, "%.40s over the inner folds",
             strcmp(v.score, "macro_f1") == 0 ? "macro F1" : v.score);
    if (!isnan(v.inner) && v.points > 1) html_card(r->out, v.inner, what);
}

void write_cards(report *r) {
    fputs("<p class=\"lead\">", r->out);
    if (lth_model_svm(r->model))
        fputs("A support vector machine", r->out);
    else
        fputs(has_labels(r) ? "A Gaussian process classifier" : "A Gaussian process", r->out);
    fputs(" that predicts ", r->out);
    for (size_t i = 0; i < lth_model_targets(r->model); ++i) {
        if (i) fputs(i + 1 < lth_model_targets(r->model) ? ", " : " and ", r->out);
        fputs("<code>", r->out);
        html_string(r->out, lth_model_target(r->model, i));
        fputs("</code>", r->out);
    }
    fputs(".</p>\n", r->out);
    html_open_cards(r->out);
    if (lth_model_svm(r->model))
        svm_cards(r);
    else
        gp_cards(r);
    html_close_cards(r->out);
}

/* ---- Training ---- */

static void open_fact(report *r, const char *name) {
    html_row_head(r->out, name);
    fputs("<td>", r->out);
}

static void close_fact(report *r) {
    fputs("</td></tr>\n", r->out);
}

static void number_fact(report *r, const char *name, double value) {
    if (isnan(value)) return;
    open_fact(r, name);
    html_number(r->out, value);
    close_fact(r);
}

static void count_fact(report *r, const char *name, size_t count) {
    open_fact(r, name);
    fprintf(r->out, "%zu", count);
    close_fact(r);
}

static void text_fact(report *r, const char *name, const char *text) {
    open_fact(r, name);
    html_string(r->out, text);
    close_fact(r);
}

static void gp_facts(report *r) {
    const lth_gp *gp = lth_model_gp(r->model);
    lth_gp_report g = *lth_gp_reported(gp);
    if (has_labels(r)) {
        text_fact(r, "Labels", lth_gp_is_multi_label(gp) ? "several a row" : "one a row");
        text_fact(r, "Likelihood", lth_likelihood_name(lth_gp_likelihood(gp)));
    }
    number_fact(r, "Log evidence", g.evidence);
    if (g.learned_rows > 0 && g.learned_rows < g.rows)
        count_fact(r, "Rows learned from", g.learned_rows);
    if (g.posterior == LTH_POSTERIOR_CG) count_fact(r, "Steps of conjugate gradients", g.cg_steps);
    if (g.posterior == LTH_POSTERIOR_INDUCING) {
        count_fact(r, "Inducing rows", g.inducing);
        number_fact(r, "Share of the variance that they leave", g.trace_left);
        number_fact(r, "Variance left, in parts of the noise", g.left_to_noise);
    }
    if (g.jitter > 0) number_fact(r, "Jitter", g.jitter);
    open_fact(r, "Learning");
    const char *ended = g.interrupted ? "interrupted" : g.converged ? "converged" : "not converged";
    if (g.starts == 0)
        fputs("none: the values are as they were given", r->out);
    else
        fprintf(r->out, "%s: %zu start%s, %zu iterations, %zu evaluations, %.3g s", ended, g.starts,
                g.starts == 1 ? "" : "s", g.iterations, g.evaluations, g.seconds);
    close_fact(r);
}

static void svm_facts(report *r) {
    lth_svm_report v = *lth_svm_reported(lth_model_svm(r->model));
    text_fact(r, "Type", v.type);
    number_fact(r, "C", v.C);
    number_fact(r, "Epsilon", v.epsilon);
    number_fact(r, "Nu", v.nu);
    count_fact(r, "Support rows", v.support);
    if (v.classes > 2 || v.multi_label) {
        open_fact(r, "Problems");
        fprintf(r->out, "%zu, %s", v.problems,
                v.multi_label   ? "one for each label"
                : v.one_vs_rest ? "each class against the rest"
                                : "in pairs");
        close_fact(r);
    }
    if (v.linear) count_fact(r, "Weights of features", v.weights);
    if (v.classes > 0) text_fact(r, "Probabilities", v.probability ? "calibrated" : "none");
}

int write_training(report *r) {
    const lth_kernel *kernel = lth_model_kernel(r->model);
    char *text = kernel_text(kernel);
    if (!text) return out_of_memory();
    fputs("<p>The kernel says how two rows are compared, with the values that were ", r->out);
    fputs(lth_model_svm(r->model) ? "used" : "learned", r->out);
    fputs(":</p>\n<pre tabindex=\"0\"><code>", r->out);
    html_string(r->out, text);
    fputs("</code></pre>\n", r->out);
    html_open_facts(r->out, "plain");
    free(text);
    count_fact(r, "Training rows", lth_model_rows(r->model));
    open_fact(r, lth_model_targets(r->model) > 1 ? "Targets" : "Target");
    for (size_t i = 0; i < lth_model_targets(r->model); ++i) {
        if (i) fputs(", ", r->out);
        html_string(r->out, lth_model_target(r->model, i));
    }
    close_fact(r);
    open_fact(r, "Columns read");
    for (size_t i = 0; lth_kernel_column(kernel, i); ++i) {
        if (i) fputs(", ", r->out);
        html_string(r->out, lth_kernel_column(kernel, i));
    }
    close_fact(r);
    if (lth_model_svm(r->model))
        svm_facts(r);
    else
        gp_facts(r);
    html_close_table(r->out);
    return EXIT_DONE;
}

/* ---- Hyperparameters ---- */

/* NULL = the model's own: noise, or scale of a classifier. */
static const char *meaning(const report *r, const lth_argument *argument, const char *path) {
    if (!argument && lth_gp_classes(lth_model_gp(r->model)) > 0)
        return "how far the kernel can push the classes apart: the variance in front of it";
    if (!argument && *own_meaning(path)) return own_meaning(path);
    if (!argument)
        return "variance of what the kernel does not explain, in the target's units squared";
    if (argument->role == LTH_ROLE_WEIGHT)
        return "weight of shared sequences with as many units as the number in brackets says";
    return argument->help;
}

static void write_value(report *r, const char *path, double value, double start,
                        const lth_gp_param *p, const lth_argument *argument, const char **help) {
    fputs("<tr><th scope=\"row\"><code>", r->out);
    html_string(r->out, path);
    fputs("</code></th>", r->out);
    html_number_cell(r->out, value);
    if (p) {
        html_number_cell(r->out, start);
        fprintf(r->out, "<td>%s", p->held ? "held" : "learned");
        if (p->tag) {
            fputs(", tied by <code>$", r->out);
            html_string(r->out, p->tag);
            fputs("</code>", r->out);
        }
        if (p->at_bound) fputs(", at its bound", r->out);
        if (p->undetermined)
            fputs(", not determined", r->out);
        else if (!isnan(p->low))
            fprintf(r->out, ", 95%% %.4g to %.4g", p->low, p->high);
        fputs("</td>", r->out);
    }
    fputs("<td class=\"w\">", r->out);
    const char *means = meaning(r, argument, path);
    if (!*help || strcmp(*help, means) != 0)
        html_string(r->out, means); /* once for all of a group */
    *help = means;
    fputs("</td></tr>\n", r->out);
}

static void write_parameter(report *r, size_t i, const char **help) {
    const lth_kernel *kernel = lth_model_kernel(r->model);
    const lth_gp *gp = lth_model_gp(r->model);
    lth_param own = {.path = NULL};
    if (i < lth_kernel_params(kernel)) own = *lth_kernel_param(kernel, i);
    if (gp) {
        lth_gp_param p = *lth_gp_param_at(gp, i);
        write_value(r, p.path, p.value, p.start, &p, own.argument, help);
    } else {
        write_value(r, own.path, own.value, NAN, NULL, own.argument, help);
    }
}

/* The first of them, as many as are read at a glance; the others wait behind their number. */
static void write_parameters(report *r, size_t count) {
    enum { SHOWN = 16, FEW = 4 };
    const char *heads = lth_model_gp(r->model) ? "parameter|value#|start#|state|meaning"
                                               : "parameter|value#|meaning";
    size_t shown = count <= SHOWN + FEW ? count : SHOWN;
    const char *help = NULL;
    char more[64];
    html_open_table(r->out, "whole", heads);
    for (size_t i = 0; i < shown; ++i) write_parameter(r, i, &help);
    html_close_table(r->out);
    if (shown == count) return;
    snprintf(more, sizeof more, "%zu more parameters", count - shown);
    help = NULL;
    html_open_folded(r->out, more, heads);
    for (size_t i = shown; i < count; ++i) write_parameter(r, i, &help);
    html_close_folded(r->out);
}

int write_hyperparameters(report *r) {
    const lth_gp *gp = lth_model_gp(r->model);
    size_t count = lth_kernel_params(lth_model_kernel(r->model));
    while (gp && lth_gp_param_at(gp, count)) ++count;
    if (count == 0) {
        fputs("<p>This kernel has none.</p>\n", r->out);
        return EXIT_DONE;
    }
    if (gp)
        fputs("<p>Learned means: chosen so that the training rows are as probable as possible. "
              "A value at its bound would have gone on if it could.</p>\n",
              r->out);
    else
        fputs("<p>A support vector machine does not learn them: they are as written, or the best "
              "of the grid.</p>\n",
              r->out);
    write_parameters(r, count);
    return EXIT_DONE;
}

/* ---- The search ---- */

bool has_steps(const report *r) {
    return lth_model_gp(r->model) && lth_gp_step_at(lth_model_gp(r->model), 1) != NULL;
}

typedef struct steps {
    size_t count;
    lth_gp_step *at;
    double *x, *y;
    double least, most; /* of the evidence, without the first leaps */
} steps;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* A start that begins far away would squeeze all the others: the lowest tenth may leave the chart.
 */
static void find_range(steps *s) {
    for (size_t i = 0; i < s->count; ++i) s->y[i] = s->at[i].evidence;
    qsort(s->y, s->count, sizeof *s->y, by_value);
    s->most = s->y[s->count - 1];
    double tenth = s->y[s->count / 10], reach = 2 * (s->most - tenth);
    s->least = s->y[0] < s->most - reach ? tenth : s->y[0];
}

static int collect_steps(const lth_gp *gp, steps *s) {
    while (lth_gp_step_at(gp, s->count)) s->count++;
    s->at = calloc(s->count, sizeof *s->at);
    s->x = calloc(2 * s->count, sizeof *s->x);
    if (!s->at || !s->x) return out_of_memory();
    s->y = s->x + s->count;
    for (size_t i = 0; i < s->count; ++i) s->at[i] = *lth_gp_step_at(gp, i);
    find_range(s);
    return EXIT_DONE;
}

/* A run of the optimiser: the winner of the race has two. */
static size_t end_of_run(const steps *s, size_t first) {
    size_t i = first + 1;
    while (i < s->count && s->at[i].start == s->at[first].start &&
           s->at[i].iteration > s->at[i - 1].iteration)
        ++i;
    return i;
}

static bool has_other_starts(const steps *s) {
    for (size_t i = 1; i < s->count; ++i)
        if (s->at[i].start != s->at[0].start) return true;
    return false;
}

static void draw_steps(report *r, steps *s) {
    svg_chart c = {.out = r->out,
                   .number = r->charts,
                   .title = "Evidence during learning",
                   .description = has_other_starts(s)
                                      ? "Log evidence against the evaluations so far, a line for "
                                        "each start; the start that won is drawn in colour."
                                      : "Log evidence against the evaluations so far.",
                   .x = {.label = "evaluations so far", .lo = 0, .hi = 0, .whole = true},
                   .y = {.label = "log evidence", .lo = s->least, .hi = s->most}};
    size_t winner = s->at[s->count - 1].start;
    double best = -INFINITY;
    for (size_t i = 0; i < s->count; ++i) {
        c.x.hi = fmax(c.x.hi, (double)s->at[i].evaluations);
        if (s->at[i].evidence > best) best = s->at[i].evidence, winner = s->at[i].start;
        s->x[i] = (double)s->at[i].evaluations;
        s->y[i] = s->at[i].evidence;
    }
    svg_open(&c);
    for (size_t i = 0, end; i < s->count; i = end) {
        end = end_of_run(s, i);
        bool won = s->at[i].start == winner;
        svg_line(&c, won ? "a" : "c", s->x + i, s->y + i, end - i);
        if (end - i == 1 || won)
            svg_points(&c, won ? "dots" : "c", s->x + end - 1, s->y + end - 1, 1);
    }
    svg_close(&c);
}

int write_steps(report *r) {
    steps s = {0};
    int code = collect_steps(lth_model_gp(r->model), &s);
    if (!code) {
        bool race = has_other_starts(&s);
        fputs(race ? "<p>Several starts race for a few iterations, and the best of them is "
                     "finished. Starts that end at the same height have found the same "
                     "answer.</p>\n"
                   : "<p>From one start, step by step to where the evidence grows no more. More "
                     "starts (<code>--restarts</code>) would say whether there is a better "
                     "answer elsewhere.</p>\n",
              r->out);
        open_figure(r, "Evidence during learning",
                    "How probable the training rows are, step by step");
        draw_steps(r, &s);
        if (race) {
            html_open_key(r->out);
            html_key(r->out, "", "the start that won");
            html_key(r->out, "kc", "other starts");
            html_close_key(r->out);
        }
        html_open_numbers(r->out, "start#|iteration#|evaluations#|log evidence#|gradient#");
        for (size_t i = 0; i < s.count; ++i) {
            fputs("<tr>", r->out);
            html_count_cell(r->out, s.at[i].start + 1);
            html_count_cell(r->out, s.at[i].iteration);
            html_count_cell(r->out, s.at[i].evaluations);
            html_number_cell(r->out, s.at[i].evidence);
            html_number_cell(r->out, s.at[i].gradient);
            fputs("</tr>\n", r->out);
        }
        html_close_folded(r->out);
        close_figure(r);
    }
    free(s.at);
    free(s.x);
    return code;
}

/* ---- The grid ---- */

bool has_grid(const report *r) {
    return lth_model_svm(r->model) && lth_svm_reported(lth_model_svm(r->model))->points > 1;
}

int write_grid(report *r) {
    const lth_svm *svm = lth_model_svm(r->model);
    lth_svm_report v = *lth_svm_reported(svm);
    bool errors = strcmp(v.score, "rmse") == 0;
    double best = NAN;
    for (size_t i = 0; i < v.points; ++i) {
        double score = lth_svm_point_at(svm, i)->score;
        best = errors ? fmin(best, score) : fmax(best, score);
    }
    fprintf(r->out,
            "<p>Each point was judged on %zu inner folds of the training rows. The bar is its "
            "%s; the best point was trained on all rows.</p>\n",
            v.inner_folds,
            errors                             ? "root mean square error, of which less is better"
            : strcmp(v.score, "macro_f1") == 0 ? "macro F1"
                                               : "accuracy");
    html_open_table(r->out, "", "score#||C#|epsilon#|nu#|kernel");
    for (size_t i = 0; i < v.points; ++i) {
        lth_svm_point p = *lth_svm_point_at(svm, i);
        fputs("<tr>", r->out);
        html_number_cell(r->out, p.score);
        double full = errors ? best / p.score : p.score;
        fprintf(
            r->out, "<td class=\"m\"><span class=\"meter up\" style=\"--m:%.0f%%\">%s</span></td>",
            isnan(full) ? 0 : 100 * fmax(0, fmin(1, full)), p.score == best ? "best" : "&nbsp;");
        html_number_cell(r->out, p.C);
        html_number_cell(r->out, p.epsilon);
        html_number_cell(r->out, p.nu);
        fputs("<td class=\"w\"><code>", r->out);
        html_string(r->out, p.kernel);
        fputs("</code></td></tr>\n", r->out);
    }
    html_close_table(r->out);
    return EXIT_DONE;
}
