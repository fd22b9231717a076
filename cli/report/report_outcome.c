/* Predictions against the truth: points with intervals, calibration, residuals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"

enum { MOST_POINTS = 1500, LEVELS = 20, BINS = 24 };

static double z_of(const outcome *o, size_t i) {
    return (o->y[i] - o->mean[i]) / o->sd[i];
}

static size_t row_number(const outcome *o, size_t i) {
    return o->row ? o->row[i] : i + 1;
}

/* ---- Figures ---- */

static void metric(report *r, const char *name, double value) {
    if (isnan(value)) return;
    html_row_head(r->out, name);
    html_number_cell(r->out, value);
    fputs("</tr>\n", r->out);
}

static void write_metrics(report *r, const outcome *o) {
    lth_metrics m;
    lth_error err = {0};
    lth_gp_prediction from = {.y = o->y,
                              .point = o->mean,
                              .sd = o->sd,
                              .lower = o->lo,
                              .upper = o->hi,
                              .log_density = o->log_density,
                              .cdf = o->cdf,
                              .crps = o->crps};
    if (lth_metrics_with(&from, sizeof from, o->count, &m, sizeof m, &err) != LTH_OK) return;
    fputs("<div class=\"card\">", r->out);
    html_open_facts(r->out, "");
    metric(r, "Rows", (double)o->count);
    metric(r, "Correlation, r", m.r);
    metric(r, "Explained variance, r²", m.r2);
    metric(r, "Mean absolute error", m.mae);
    metric(r, "Root mean square error", m.rmse);
    metric(r, "Negative log predictive density", m.nlpd);
    metric(r, "Inside their 95% interval", m.coverage);
    metric(r, "Continuous ranked probability score", m.crps);
    metric(r, "Calibration error", m.calibration);
    metric(r, "Quadratic weighted kappa", m.qwk);
    html_close_table(r->out);
    fputs("</div>\n", r->out);
}

/* ---- Points ---- */

typedef struct cloud {
    size_t count;
    double *x, *y, *lo, *hi;
    double *beside; /* x, moved so that points do not hide each other */
    size_t *of;     /* which row of the outcome */
} cloud;

static void free_cloud(cloud *c) {
    free(c->x);
    free(c->of);
}

/* Every row, or every k-th where they would be too many. */
static int thin(const outcome *o, cloud *c) {
    size_t step = (o->count + MOST_POINTS - 1) / MOST_POINTS;
    size_t room = o->count / step + 1;
    *c = (cloud){.x = calloc(5 * room, sizeof *c->x), .of = calloc(room, sizeof *c->of)};
    if (!c->x || !c->of) {
        free_cloud(c);
        return out_of_memory();
    }
    c->y = c->x + room, c->lo = c->y + room, c->hi = c->lo + room, c->beside = c->hi + room;
    for (size_t i = 0; i < o->count; i += step) {
        double half = o->sd ? sds_95 * o->sd[i] : 0;
        size_t at = c->count++;
        c->of[at] = i;
        c->x[at] = o->y[i];
        c->y[at] = o->mean[i];
        c->lo[at] = o->lo ? o->lo[i] : o->mean[i] - half;
        c->hi[at] = o->hi ? o->hi[i] : o->mean[i] + half;
    }
    return EXIT_DONE;
}

static void write_cloud_numbers(report *r, const outcome *o, const cloud *points) {
    html_open_numbers(r->out,
                      o->sd ? "row#|true#|predicted#|sd#|from#|to#" : "row#|true#|predicted#");
    for (size_t i = 0; i < points->count; ++i) {
        fputs("<tr>", r->out);
        html_count_cell(r->out, row_number(o, points->of[i]));
        html_number_cell(r->out, points->x[i]);
        html_number_cell(r->out, points->y[i]);
        if (o->sd) {
            html_number_cell(r->out, o->sd[points->of[i]]);
            html_number_cell(r->out, points->lo[i]);
            html_number_cell(r->out, points->hi[i]);
        }
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
}

/* What the points are: how many of all, what the lines are, and whether they were moved. */
static void name_points(const outcome *o, size_t shown, bool spread, char *line, size_t size) {
    char rows[64] = "A point for each row";
    if (shown < o->count) snprintf(rows, sizeof rows, "%zu of %zu rows", shown, o->count);
    snprintf(line, size, "%s%s%s", rows, o->sd ? ", with its 95% interval" : "",
             spread ? "; those of the same true value are spread sideways, to be told apart" : "");
}

static int write_points(report *r, const outcome *o) {
    cloud points;
    int code = thin(o, &points);
    if (code) return code;
    double *beside = points.beside;
    memcpy(beside, points.x, points.count * sizeof *beside);
    char line[200];
    bool spread = svg_spread(beside, points.count);
    name_points(o, points.count, spread, line, sizeof line);
    open_figure(r, "Predicted against true", line);
    svg_chart c = {.out = r->out,
                   .number = r->charts,
                   .title = "Predicted against true values",
                   .description = "A point for each row; on the dashed line prediction and truth "
                                  "are the same. Upright lines are 95% intervals.",
                   .square = true,
                   .x = SVG_AXIS("true"),
                   .y = SVG_AXIS("predicted")};
    c.x.exact = spread; /* else the next grade up and down would have room */
    svg_include(&c.x, beside, points.count);
    svg_include(&c.y, points.y, points.count);
    svg_include(&c.y, points.lo, points.count);
    svg_include(&c.y, points.hi, points.count);
    svg_open(&c);
    if (o->sd) svg_spans(&c, beside, points.lo, points.hi, points.count);
    double from = fmax(c.x.lo, c.y.lo), to = fmin(c.x.hi, c.y.hi);
    svg_points(&c, points.count > 200 ? "dots" : "dot", beside, points.y, points.count);
    if (from < to) svg_segment(&c, "b dash", from, from, to, to);
    svg_close(&c);
    write_cloud_numbers(r, o, &points);
    close_figure(r);
    free_cloud(&points);
    return EXIT_DONE;
}

/* ---- Calibration ---- */

/* The probability of the central interval that just reaches the truth. */
static double level_of(const outcome *o, size_t i) {
    return o->cdf ? fabs(2 * o->cdf[i] - 1) : erf(fabs(z_of(o, i)) / sqrt(2));
}

/* The share of rows whose central interval of probability `expected` holds the truth. */
static double observed(const outcome *o, double expected) {
    size_t inside = 0;
    for (size_t i = 0; i < o->count; ++i) inside += level_of(o, i) <= expected;
    return (double)inside / (double)o->count;
}

static void write_calibration(report *r, const outcome *o) {
    double x[LEVELS + 1], y[LEVELS + 1];
    for (size_t i = 0; i <= LEVELS; ++i) {
        x[i] = (double)i / LEVELS;
        y[i] = i == LEVELS ? 1 : observed(o, x[i]);
    }
    open_figure(r, "Calibration", "Above the dashed line intervals are too wide, below too narrow");
    svg_chart c = {.out = r->out,
                   .number = r->charts,
                   .title = "Calibration of the intervals",
                   .description = "Share of true values inside of intervals against the share that "
                                  "should be inside; on the dashed line both are the same.",
                   .square = true,
                   .x = {.label = "expected share", .lo = 0, .hi = 1},
                   .y = {.label = "observed share", .lo = 0, .hi = 1}};
    svg_open(&c);
    svg_segment(&c, "b dash", 0, 0, 1, 1);
    svg_line(&c, "a", x, y, LEVELS + 1);
    svg_points(&c, "dot", x, y, LEVELS + 1);
    svg_close(&c);
    html_open_numbers(r->out, "expected#|observed#");
    for (size_t i = 1; i < LEVELS; ++i) {
        fputs("<tr>", r->out);
        html_number_cell(r->out, x[i]);
        html_number_cell(r->out, y[i]);
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
}

/* ---- Residuals ---- */

static const double widest = 6; /* standard deviations; what is further goes into the last bin */

/* Density of the residuals by bin; how many bins there are either side of 0 depends on them. */
static double fill_bins(const outcome *o, double *density) {
    double furthest = 3;
    for (size_t i = 0; i < o->count; ++i) furthest = fmax(furthest, fabs(z_of(o, i)));
    furthest = furthest < widest ? ceil(furthest) : widest;
    double width = 2 * furthest / BINS;
    for (size_t i = 0; i < o->count; ++i) {
        double at = (z_of(o, i) + furthest) / width;
        size_t bin = at > 0 ? at < BINS ? (size_t)at : BINS - 1 : 0;
        density[bin] += 1 / ((double)o->count * width);
    }
    return furthest;
}

static void draw_normal(svg_chart *c, double furthest) {
    enum { STEPS = 96 };
    double x[STEPS + 1], y[STEPS + 1];
    for (size_t i = 0; i <= STEPS; ++i) {
        x[i] = furthest * (2 * (double)i / STEPS - 1);
        y[i] = exp(-x[i] * x[i] / 2) / sqrt(2 * M_PI);
    }
    svg_line(c, "b", x, y, STEPS + 1);
}

static void write_residuals(report *r, const outcome *o) {
    double density[BINS] = {0}, most = 0.4;
    double furthest = fill_bins(o, density), width = 2 * furthest / BINS;
    for (size_t i = 0; i < BINS; ++i) most = fmax(most, density[i]);
    open_figure(r, "Residuals",
                "True minus predicted, in predicted standard deviations; the line is what to "
                "expect");
    svg_chart c = {
        .out = r->out,
        .number = r->charts,
        .title = "Residuals",
        .description = "Histogram of true minus predicted values, each divided by its "
                       "predicted standard deviation, with the normal curve.",
        .x = {.label = "standard deviations", .lo = -furthest, .hi = furthest, .exact = true},
        .y = {.label = "density", .lo = 0, .hi = most}};
    svg_open(&c);
    for (size_t i = 0; i < BINS; ++i) {
        double left = -furthest + (double)i * width;
        if (density[i] > 0) svg_column(&c, left + 0.06 * width, left + 0.94 * width, density[i]);
    }
    draw_normal(&c, furthest);
    svg_close(&c);
    html_open_numbers(r->out, "from#|to#|rows#");
    for (size_t i = 0; i < BINS; ++i) {
        double left = -furthest + (double)i * width;
        fputs("<tr>", r->out);
        html_number_cell(r->out, left);
        html_number_cell(r->out, left + width);
        html_number_cell(r->out, round(density[i] * width * (double)o->count));
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
}

/* ---- Where the truth is in its distribution ---- */

static void write_shares(report *r, const outcome *o) {
    enum { SHARES = 20 };
    double density[SHARES] = {0}, most = 1.2;
    for (size_t i = 0; i < o->count; ++i) {
        size_t bin = (size_t)(fmin(fmax(o->cdf[i], 0), 1) * SHARES);
        density[bin < SHARES ? bin : SHARES - 1] += SHARES / (double)o->count;
    }
    for (size_t i = 0; i < SHARES; ++i) most = fmax(most, density[i]);
    open_figure(r, "Where true values lie in what was predicted",
                "Level where the model is honest; a hill: too unsure; a valley: too sure");
    svg_chart c = {.out = r->out,
                   .number = r->charts,
                   .title = "Where true values lie",
                   .description = "Histogram of the probability that was predicted to be below "
                                  "each true value; the dashed line is what to expect.",
                   .x = {.label = "probability below", .lo = 0, .hi = 1, .exact = true},
                   .y = {.label = "density", .lo = 0, .hi = most}};
    svg_open(&c);
    for (size_t i = 0; i < SHARES; ++i) {
        double left = (double)i / SHARES;
        if (density[i] > 0) svg_column(&c, left + 0.06 / SHARES, left + 0.94 / SHARES, density[i]);
    }
    svg_segment(&c, "b dash", 0, 1, 1, 1);
    svg_close(&c);
    html_open_numbers(r->out, "from#|to#|rows#");
    for (size_t i = 0; i < SHARES; ++i) {
        fputs("<tr>", r->out);
        html_number_cell(r->out, (double)i / SHARES);
        html_number_cell(r->out, (double)(i + 1) / SHARES);
        html_number_cell(r->out, round(density[i] * (double)o->count / SHARES));
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
}

int write_outcome(report *r, const outcome *o) {
    fputs("<div class=\"pair\">\n", r->out);
    int code = write_points(r, o);
    if (o->sd) {
        write_calibration(r, o);
        o->cdf ? write_shares(r, o) : write_residuals(r, o);
    }
    write_metrics(r, o);
    fputs("</div>\n", r->out);
    return code;
}

/* ---- The section ---- */

/* Of an outcome. */
static size_t arrays_of(const report *r) {
    return model_is_normal(r->model) ? 3 : 8;
}

static outcome left_out_at(const report *r, size_t target) {
    size_t n = lth_model_rows(r->model);
    double *y = r->left_out + arrays_of(r) * target * n;
    outcome o = {.count = n, .y = y, .mean = y + n, .sd = y + 2 * n};
    if (model_is_normal(r->model)) return o;
    o.lo = y + 3 * n, o.hi = y + 4 * n;
    o.log_density = y + 5 * n, o.cdf = y + 6 * n, o.crps = y + 7 * n;
    return o;
}

size_t keep_known_rows(size_t count, double *y, double *mean, double *sd, size_t *row) {
    size_t known = 0;
    for (size_t i = 0; i < count; ++i) {
        if (isnan(y[i])) continue;
        y[known] = y[i];
        mean[known] = mean[i];
        if (sd) sd[known] = sd[i];
        row[known++] = row[i];
    }
    return known;
}

/* Each costs the inverse of a matrix, and two sections want them all. */
static int leave_out(report *r) {
    size_t n = lth_model_rows(r->model), targets = lth_model_targets(r->model);
    int code = session_allocate(r->session, "the leave-one-out prediction", arrays_of(r) * targets,
                                n, 1, &r->left_out);
    lth_error err = {0};
    r->left_rows = calloc(targets * (n + 1), sizeof *r->left_rows);
    if (!code && !r->left_rows) code = out_of_memory();
    for (size_t t = 0; t < targets && !code; ++t) {
        outcome o = left_out_at(r, t);
        lth_gp_prediction to = {.point = o.mean,
                                .sd = o.sd,
                                .lower = o.lo,
                                .upper = o.hi,
                                .log_density = o.log_density,
                                .cdf = o.cdf,
                                .crps = o.crps};
        size_t *row = r->left_rows + t * (n + 1);
        for (size_t i = 0; i < n; ++i) row[i + 1] = i + 1;
        if (lth_gp_left_out(lth_model_gp(r->model), t, o.y, &to, sizeof to, &err) != LTH_OK)
            code = session_fail(r->session, &err);
        else
            row[0] = keep_known_rows(n, o.y, o.mean, o.sd, row + 1);
    }
    return code;
}

int report_left_out(report *r, size_t target, outcome *out) {
    int code = r->left_out ? EXIT_DONE : leave_out(r);
    if (code) return code;
    const size_t *row = r->left_rows + target * (lth_model_rows(r->model) + 1);
    *out = left_out_at(r, target);
    out->count = row[0];
    out->row = row + 1;
    return EXIT_DONE;
}

int write_leave_one_out(report *r) {
    fputs("<p>Each training row as the model predicts it from all the others, with the same "
          "hyperparameters: what to expect of new rows, though a little kind, since all rows "
          "took part in the choice of the hyperparameters.</p>\n",
          r->out);
    int code = EXIT_DONE;
    for (size_t t = 0; t < lth_model_targets(r->model) && !code; ++t) {
        write_target_head(r, t);
        outcome o;
        code = report_left_out(r, t, &o);
        if (!code) code = write_outcome(r, &o);
    }
    return code;
}
