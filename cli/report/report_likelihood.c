/* Section of a report on what is seen of the function, where that is not the function with normal
 * noise: what the likelihood and its parameters mean, the warp as a curve, grades. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"

bool has_likelihood(const report *r) {
    return !has_labels(r) && !model_is_normal(r->model);
}

/* ---- In words ---- */

static const char *sentence(lth_likelihood which) {
    switch (which) {
    case LTH_STUDENT:
        return "The target is the function with noise that has heavy tails, so that a few rows far "
               "off do not pull the others along. The fewer its degrees of freedom, the heavier "
               "the tails; above 30 it is as good as normal.";
    case LTH_WARPED:
        return "The target is a function with normal noise, bent by a curve that was learned too. "
               "The function is in units of its own.";
    case LTH_CENSORED:
        return "The target is the function with normal noise, but what would be beyond a bound is "
               "seen as the bound.";
    case LTH_ORDINAL:
        return "The target is a grade: the function with normal noise of variance 1, cut into "
               "pieces. Cut points were learned; from one to the next is a gap.";
    case LTH_POISSON:
        return "The target is a count whose mean is exp(f), and whose variance is the same.";
    case LTH_NEGBINOMIAL:
        return "The target is a count of mean m = exp(f) and variance m + dispersion m²: it "
               "scatters more than a count of independent events.";
    case LTH_BETA:
        return "The target is a share between 0 and 1, of mean m = 1 / (1 + exp(-f)) and variance "
               "m (1 - m) / (1 + precision).";
    default: return "";
    }
}

const char *own_meaning(const char *path) {
    static const struct {
        const char *path, *means;
    } all[] = {
        {"dof", "degrees of freedom of the noise: the fewer, the heavier its tails"},
        {"gap", "distance from one cut point between grades to the next, in units of the function"},
        {"dispersion", "variance of counts beyond their mean, over the square of that"},
        {"precision", "how close shares are to their mean: the higher, the closer"},
        {"scale", "variance of the function, a factor of the kernel"},
        {"c", "of the warp: added to the scaled target before its logarithm or power"},
        {"power", "of the warp: 1 is a straight line, 0 the logarithm"},
        {"tail",
         "of the warp: below 1 the target has heavier tails than the noise, above 1 lighter"},
        {"skew", "of the warp: above 0 the target leans to one side, below 0 to the other"},
        {"height", "of the warp: how high this step is"},
        {"steep", "of the warp: how steep this step is"},
        {"place", "of the warp: where this step is, in scaled units of the target"},
    };
    size_t length = strcspn(path, "[");
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (strlen(all[i].path) == length && memcmp(all[i].path, path, length) == 0)
            return all[i].means;
    return "";
}

static void write_words(report *r, const lth_gp *gp) {
    fprintf(r->out, "<p>%s", sentence(lth_gp_likelihood(gp)));
    if (lth_gp_exposure(gp)) {
        fputs(" Means are in proportion to the column <code>", r->out);
        html_string(r->out, lth_gp_exposure(gp));
        fputs("</code>.", r->out);
    }
    if (lth_kernel_has_noise(lth_gp_kernel(gp)))
        fputs(" The variance of the noise is a function of the row too: its logarithm has the "
              "kernel after <code>|</code>.",
              r->out);
    if (lth_gp_point(gp) == LTH_POINT_MEDIAN)
        fputs(" The median of what is expected stands for a prediction.", r->out);
    fputs("</p>\n", r->out);
}

/* ---- The warp ---- */

static void write_curve(report *r, size_t target, double lo, double hi) {
    enum { STEPS = 120 };
    double x[STEPS + 1], z[STEPS + 1];
    for (size_t i = 0; i <= STEPS; ++i) {
        x[i] = lo + (hi - lo) * (double)i / STEPS;
        z[i] = lth_gp_warped(lth_model_gp(r->model), target, x[i]);
    }
    open_figure(r, "The warp", "From the target to what has normal noise");
    svg_chart c = {.out = r->out,
                   .number = r->charts,
                   .title = "The warp",
                   .description = "The target, from its least to its largest value in training, "
                                  "and what the function and its normal noise make of it.",
                   .x = {.label = lth_model_target(r->model, target), .lo = lo, .hi = hi},
                   .y = {.label = "warped", .lo = z[0], .hi = z[STEPS]}};
    svg_open(&c);
    svg_line(&c, "a", x, z, STEPS + 1);
    svg_close(&c);
    html_open_numbers(r->out, "target#|warped#");
    for (size_t i = 0; i <= STEPS; i += 6) {
        fputs("<tr>", r->out);
        html_number_cell(r->out, x[i]);
        html_number_cell(r->out, z[i]);
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
}

static int write_warp(report *r, size_t target) {
    outcome o;
    int code = report_left_out(r, target, &o);
    if (code) return code;
    svg_axis seen = SVG_AXIS("");
    svg_include(&seen, o.y, o.count);
    if (seen.lo < seen.hi) write_curve(r, target, seen.lo, seen.hi);
    return EXIT_DONE;
}

/* ---- Grades ---- */

/* The mean probability of each grade, of rows that are left out. */
static int expect_grades(report *r, size_t target, size_t grades, double *y, double *mean) {
    const lth_gp *gp = lth_model_gp(r->model);
    size_t rows = lth_model_rows(r->model);
    double *probability = NULL;
    int code =
        session_allocate(r->session, "probabilities of grades", 1, rows, grades, &probability);
    lth_error err = {0};
    lth_gp_prediction to = {.probability = probability};
    if (!code && lth_gp_left_out(gp, target, y, &to, sizeof to, &err) != LTH_OK)
        code = session_fail(r->session, &err);
    for (size_t i = 0; i < rows && !code; ++i)
        for (size_t g = 0; g < grades; ++g) mean[g] += probability[i * grades + g] / (double)rows;
    free(probability);
    return code;
}

static void write_grade(report *r, double grade, size_t count, double share, double expected) {
    fputs("<tr><th scope=\"row\">", r->out);
    html_number(r->out, grade);
    fputs("</th>", r->out);
    html_count_cell(r->out, count);
    html_percent_cell(r->out, share);
    html_percent_cell(r->out, expected);
    fputs("</tr>\n", r->out);
}

static int write_grades(report *r, size_t target) {
    const double *grades;
    size_t count = lth_gp_grades(lth_model_gp(r->model), &grades), rows = lth_model_rows(r->model);
    double *y = calloc(rows + count + 1, sizeof *y), *mean = y + rows;
    int code = y ? expect_grades(r, target, count, y, mean) : out_of_memory();
    if (!code) html_open_table(r->out, "", "grade|rows#|share#|expected of rows left out#");
    for (size_t g = 0; g < count && !code; ++g) {
        size_t of_grade = 0;
        for (size_t i = 0; i < rows; ++i) of_grade += y[i] == grades[g];
        write_grade(r, grades[g], of_grade, (double)of_grade / (double)rows, mean[g]);
    }
    if (!code) html_close_table(r->out);
    free(y);
    return code;
}

int write_likelihood(report *r) {
    const lth_gp *gp = lth_model_gp(r->model);
    int code = EXIT_DONE;
    write_words(r, gp);
    if (!has_left_out(r)) return EXIT_DONE;
    bool curve = lth_gp_warp(gp) != NULL, grades = lth_gp_grades(gp, NULL) > 0;
    for (size_t t = 0; t < lth_model_targets(r->model) && !code && (curve || grades); ++t) {
        write_target_head(r, t);
        code = curve ? write_warp(r, t) : write_grades(r, t);
    }
    if (!code && lth_kernel_has_noise(lth_gp_kernel(gp))) code = write_noise(r);
    return code;
}
