/* A page about a campaign: how far it is, what it has found, how good its predictions were. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "campaign_view.h"
#include "model.h"
#include "output.h"
#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"

typedef struct page {
    report report;
    const campaign_view *view;
} page;

/* ---- Cards ---- */

static void write_summary(page *p) {
    const campaign_view *v = p->view;
    const char *from = lth_design_setting(v->design, "from");
    FILE *out = p->report.out;
    html_open_cards(out);
    html_count_card(out, v->report->rounds, v->report->rounds == 1 ? "round" : "rounds");
    html_count_card(out, v->report->measured, "rows measured");
    html_count_card(out, v->report->pending, "rows pending");
    if (v->report->best_row != LTH_NONE)
        html_card(out, v->report->best, v->minimize ? "lowest so far" : "highest so far");
    if (!isnan(v->optimum) && v->report->best_row != LTH_NONE)
        html_card(out, fabs(v->optimum - v->report->best), "missing to the optimum");
    html_close_cards(out);
    fputs("<p class=\"note\">Target <code>", out);
    html_string(out, v->target);
    fprintf(out, "</code>, rows from <code>");
    html_string(out, from ? from : lth_design_setting(v->design, "space"));
    fputs("</code>, kernel:</p>\n<pre tabindex=\"0\"><code>", out);
    html_string(out, v->kernel ? v->kernel : lth_design_setting(v->design, "kernel"));
    fputs("</code></pre>\n", out);
}

/* ---- Progress ---- */

/* Rows of one round lie beside each other, in their order. */
static void place_rows(const campaign_view *v, double *x) {
    for (size_t r = 1; r <= v->report->rounds; ++r) {
        size_t of_round = 0, seen = 0;
        for (size_t i = 0; i < v->count; ++i) of_round += v->round[i] == r;
        for (size_t i = 0; i < v->count; ++i) {
            if (v->round[i] != r) continue;
            x[i] = (double)r + 0.6 * (((double)seen++ + 0.5) / (double)of_round - 0.5);
        }
    }
}

static void put_steps(page *p) {
    const campaign_view *v = p->view;
    bool regret = !isnan(v->optimum);
    html_open_numbers(p->report.out,
                      regret ? "round#|rows measured#|best so far#|missing to the optimum#"
                             : "round#|rows measured#|best so far#");
    for (size_t i = 0; i < v->step_count; ++i) {
        const campaign_step *s = &v->steps[i];
        fputs("<tr>", p->report.out);
        html_count_cell(p->report.out, s->round);
        html_count_cell(p->report.out, s->measured);
        html_number_cell(p->report.out, s->best);
        if (regret) html_number_cell(p->report.out, fabs(v->optimum - s->best));
        fputs("</tr>\n", p->report.out);
    }
    html_close_folded(p->report.out);
}

static void draw_progress(page *p, double *x, double *round, double *best) {
    static const char caption[] = "What came out, round by round";
    const campaign_view *v = p->view;
    size_t steps = v->step_count;
    open_figure(&p->report, caption, "Every measured row, and the best so far");
    svg_chart chart = {.out = p->report.out,
                       .number = p->report.charts,
                       .title = caption,
                       .description = "A point for each measured row, by its round, and a line "
                                      "through the best values so far.",
                       .x = {.label = "round",
                             .lo = 0.5,
                             .hi = (double)v->report->rounds + 0.5,
                             .whole = true,
                             .exact = true},
                       .y = SVG_AXIS(v->target)};
    svg_include(&chart.y, v->y, v->count);
    svg_include(&chart.y, &v->optimum, 1);
    svg_open(&chart);
    svg_points(&chart, "dots", x, v->y, v->count);
    svg_line(&chart, "a", round, best, steps);
    if (!isnan(v->optimum))
        svg_segment(&chart, "b dash", 0.5, v->optimum, (double)v->report->rounds + 0.5, v->optimum);
    svg_close(&chart);
    html_open_key(p->report.out);
    html_key(p->report.out, "kd", "measured");
    html_key(p->report.out, "", "best so far");
    if (!isnan(v->optimum)) html_key(p->report.out, "kb", "optimum");
    html_close_key(p->report.out);
    put_steps(p);
    close_figure(&p->report);
}

static int write_progress(page *p) {
    const campaign_view *v = p->view;
    size_t steps = v->step_count;
    if (steps == 0 || v->report->best_row == LTH_NONE) return EXIT_DONE;
    double *x = malloc((v->count + 2 * steps + 1) * sizeof *x);
    if (!x) return out_of_memory();
    double *round = x + v->count, *best = round + steps;
    for (size_t i = 0; i < v->count; ++i) x[i] = NAN;
    for (size_t i = 0; i < steps; ++i) {
        round[i] = (double)v->steps[i].round;
        best[i] = v->steps[i].best;
    }
    place_rows(v, x);
    html_open_section(p->report.out, "progress", "Progress");
    draw_progress(p, x, round, best);
    html_close_section(p->report.out);
    free(x);
    return EXIT_DONE;
}

/* ---- Predictions ---- */

/* Proposals that came out: what was expected of them, with its interval. */
typedef struct proposals {
    size_t count;
    double *y, *mean, *lo, *hi, *other; /* y: moved where points would hide each other */
    bool spread;
} proposals;

static bool find_proposals(const campaign_view *v, proposals *out) {
    *out = (proposals){.y = malloc((5 * v->count + 1) * sizeof *out->y)};
    if (!out->y) return false;
    out->mean = out->y + v->count, out->lo = out->mean + v->count, out->hi = out->lo + v->count;
    out->other = out->hi + v->count;
    for (size_t i = 0; i < v->count; ++i) {
        bool known = !isnan(v->y[i]) && !isnan(v->mean[i]);
        out->y[i] = known ? v->y[i] : NAN;
        out->mean[i] = known ? v->mean[i] : NAN;
        out->lo[i] = out->mean[i] - sds_95 * v->sd[i];
        out->hi[i] = out->mean[i] + sds_95 * v->sd[i];
    }
    out->count = v->count;
    out->spread = svg_spread(out->y, out->count);
    return true;
}

/* Those of the newest round over the others. */
static void put_rounds(svg_chart *chart, const campaign_view *v, const proposals *of) {
    size_t newest = v->predictions[v->prediction_count - 1].asked;
    for (int fresh = 0; fresh < 2; ++fresh) {
        for (size_t i = 0; i < of->count; ++i)
            of->other[i] = (v->asked[i] == newest) == fresh ? of->mean[i] : NAN;
        svg_points(chart, fresh ? "dots b" : "dots", of->y, of->other, of->count);
    }
}

static int draw_predictions(page *p) {
    static const char caption[] = "What was expected, and what came out";
    const campaign_view *v = p->view;
    FILE *out = p->report.out;
    proposals of;
    if (!find_proposals(v, &of)) return out_of_memory();
    open_figure(&p->report, caption,
                of.spread ? "A point for each proposal, with its 95% interval; those that came out "
                            "the same are spread sideways, to be told apart"
                          : "A point for each proposal, with its 95% interval");
    svg_chart chart = {.out = out,
                       .number = p->report.charts,
                       .title = caption,
                       .description = "For each proposal that was measured, the value that came "
                                      "out to the right, and the one that was expected upwards.",
                       .x = SVG_AXIS("came out"),
                       .y = SVG_AXIS("expected")};
    chart.x.exact = of.spread;
    svg_include(&chart.x, of.y, of.count);
    svg_include(&chart.y, of.mean, of.count);
    svg_include(&chart.y, of.lo, of.count);
    svg_include(&chart.y, of.hi, of.count);
    double from = fmax(chart.x.lo, chart.y.lo), to = fmin(chart.x.hi, chart.y.hi);
    svg_open(&chart);
    svg_spans(&chart, of.y, of.lo, of.hi, of.count);
    if (from < to) svg_segment(&chart, "c dash", from, from, to, to);
    put_rounds(&chart, v, &of);
    svg_close(&chart);
    html_open_key(out);
    html_key(out, "kd kb", "newest round");
    if (v->prediction_count > 1) html_key(out, "kd", "rounds before");
    html_key(out, "kc", "as expected");
    html_close_key(out);
    close_figure(&p->report);
    free(of.y);
    return EXIT_DONE;
}

/* Levels against the share of values inside of them, over all rounds. */
static void draw_calibration(page *p) {
    static const char caption[] = "How honest the intervals were";
    enum { LEVELS = 19 };
    const campaign_view *v = p->view;
    double level[LEVELS], inside[LEVELS];
    size_t known = 0;
    for (size_t i = 0; i < v->count; ++i) known += !isnan(v->y[i]) && !isnan(v->mean[i]);
    for (size_t k = 0; k < LEVELS; ++k) {
        level[k] = 0.05 * (double)(k + 1);
        inside[k] = 0;
        for (size_t i = 0; i < v->count; ++i) {
            if (isnan(v->y[i]) || isnan(v->mean[i])) continue;
            double z = fabs(v->y[i] - v->mean[i]) / v->sd[i];
            inside[k] += erf(z / sqrt(2)) <= level[k] ? 1 / (double)known : 0;
        }
    }
    open_figure(&p->report, caption, "On the dashed line they are as wide as they say");
    svg_chart chart = {.out = p->report.out,
                       .number = p->report.charts,
                       .title = caption,
                       .description = "The share of measured values inside the central interval of "
                                      "each level, of the predictions made when rows were asked "
                                      "for.",
                       .x = {.label = "level of the interval", .lo = 0, .hi = 1, .exact = true},
                       .y = {.label = "share inside", .lo = 0, .hi = 1, .exact = true},
                       .square = true};
    svg_open(&chart);
    svg_segment(&chart, "b dash", 0, 0, 1, 1);
    svg_line(&chart, "a", level, inside, LEVELS);
    svg_close(&chart);
    close_figure(&p->report);
}

static void put_predictions(page *p) {
    const campaign_view *v = p->view;
    html_open_table(p->report.out, "", "asked in round#|rows#|rmse#|spearman#|inside 95%#");
    for (size_t i = 0; i < v->prediction_count; ++i) {
        const campaign_predictions *of = &v->predictions[i];
        fputs("<tr>", p->report.out);
        html_count_cell(p->report.out, of->asked);
        html_count_cell(p->report.out, of->count);
        html_number_cell(p->report.out, of->rmse);
        html_number_cell(p->report.out, of->spearman);
        html_percent_cell(p->report.out, of->coverage);
        fputs("</tr>\n", p->report.out);
    }
    html_close_table(p->report.out);
}

static int write_predictions(page *p) {
    const campaign_view *v = p->view;
    int code = EXIT_DONE;
    if (v->prediction_count == 0) return code;
    html_open_section(p->report.out, "predictions", "Predictions of past rounds");
    fputs("<p>What the model of the time expected of the rows it asked for. Intervals have the "
          "noise of the last model.</p>\n",
          p->report.out);
    put_predictions(p);
    if (isfinite(v->predictions[0].rmse)) {
        fputs("<div class=\"pair\">\n", p->report.out);
        code = draw_predictions(p);
        draw_calibration(p);
        fputs("</div>\n", p->report.out);
    }
    html_close_section(p->report.out);
    return code;
}

/* ---- Rows ---- */

static int put_row(page *p, size_t row, bool pending) {
    enum { SHORT = 160 };
    const campaign_view *v = p->view;
    FILE *out = p->report.out;
    char *text = campaign_row_text(v, row);
    if (!text) return out_of_memory();
    fputs("<tr>", out);
    html_text_cell(out, text, SHORT);
    free(text);
    if (!pending) html_number_cell(out, v->y[row]);
    if (!pending) html_count_cell(out, v->round[row]);
    if (pending) html_count_cell(out, v->asked[row]);
    html_number_cell(out, v->mean[row]);
    html_number_cell(out, v->sd[row]);
    fputs("</tr>\n", out);
    return EXIT_DONE;
}

static int write_best(page *p) {
    enum { SHOWN = 10 };
    size_t count, *order = campaign_ranking(p->view, &count);
    if (!order) return out_of_memory();
    int code = EXIT_DONE;
    if (count > 0) {
        html_open_section(p->report.out, "best", "The best rows");
        html_open_table(p->report.out, "", "row|came out#|round#|was expected#|sd#");
        for (size_t i = 0; i < count && i < SHOWN && !code; ++i) code = put_row(p, order[i], false);
        html_close_table(p->report.out);
        html_close_section(p->report.out);
    }
    free(order);
    return code;
}

static int write_pending(page *p) {
    const campaign_view *v = p->view;
    if (v->report->pending == 0) return EXIT_DONE;
    int code = EXIT_DONE;
    html_open_section(p->report.out, "pending", "What is pending");
    html_open_table(p->report.out, "", "row|asked in round#|expected#|sd#");
    for (size_t i = 0; i < v->count && !code; ++i)
        if (v->round[i] == 0) code = put_row(p, i, true);
    html_close_table(p->report.out);
    html_close_section(p->report.out);
    return code;
}

int write_campaign_page(session *s, const campaign_view *v, const char *title, const char *path) {
    char *text = NULL;
    size_t size = 0;
    page p = {.report = {.session = s, .title = title, .out = text_stream(&text, &size)},
              .view = v};
    if (!p.report.out) return out_of_memory();
    open_report_page(&p.report);
    write_summary(&p);
    fputs("</header>\n", p.report.out);
    int code = write_progress(&p);
    if (!code) code = write_predictions(&p);
    if (!code) code = write_best(&p);
    if (!code) code = write_pending(&p);
    code = close_report_page(&p.report, code);
    if (!code) code = write_page_file(path, text, size);
    free(text);
    return code;
}
