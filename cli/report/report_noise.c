/* Of a model whose noise is a function: whether rows that it is unsure of are those that it errs
 * in. */
#include <math.h>
#include <stdlib.h>

#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"

enum { MOST_GROUPS = 10 };

/* A row left out. */
typedef struct judged {
    double sd, error;
} judged;

static int by_sd(const void *a, const void *b) {
    double x = ((const judged *)a)->sd, y = ((const judged *)b)->sd;
    return x < y ? -1 : x > y;
}

/* Of groups of as many rows each, from the most to the least sure: root mean squares. */
static size_t group(const outcome *o, judged *rows, double *expected, double *seen) {
    size_t groups = o->count < 2 * MOST_GROUPS ? 1 : MOST_GROUPS;
    for (size_t i = 0; i < o->count; ++i) rows[i] = (judged){o->sd[i], o->y[i] - o->mean[i]};
    qsort(rows, o->count, sizeof *rows, by_sd);
    for (size_t g = 0; g < groups; ++g) {
        size_t first = g * o->count / groups, end = (g + 1) * o->count / groups;
        double sd = 0, error = 0;
        for (size_t i = first; i < end; ++i) {
            sd += rows[i].sd * rows[i].sd;
            error += rows[i].error * rows[i].error;
        }
        expected[g] = sqrt(sd / (double)(end - first));
        seen[g] = sqrt(error / (double)(end - first));
    }
    return groups;
}

static void write_figure(report *r, const double *expected, const double *seen, size_t groups) {
    double most = 0;
    for (size_t g = 0; g < groups; ++g) most = fmax(most, fmax(expected[g], seen[g]));
    open_figure(r, "Errors, and what was expected of them",
                "Rows in groups, from sure to unsure; on the dashed line both are the same");
    svg_chart c = {.out = r->out,
                   .number = r->charts,
                   .title = "Errors against expected errors",
                   .description = "For groups of rows, ordered by their standard deviation: the "
                                  "error of their predictions against the one expected.",
                   .square = true,
                   .x = {.label = "expected", .lo = 0, .hi = most},
                   .y = {.label = "seen", .lo = 0, .hi = most}};
    svg_open(&c);
    svg_segment(&c, "b dash", 0, 0, most, most);
    svg_points(&c, "dot", expected, seen, groups);
    svg_close(&c);
    html_open_numbers(r->out, "expected#|seen#");
    for (size_t g = 0; g < groups; ++g) {
        fputs("<tr>", r->out);
        html_number_cell(r->out, expected[g]);
        html_number_cell(r->out, seen[g]);
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
}

int write_noise(report *r) {
    outcome o;
    double expected[MOST_GROUPS], seen[MOST_GROUPS];
    int code = report_left_out(r, 0, &o);
    if (code || o.count == 0) return code;
    judged *rows = calloc(o.count, sizeof *rows);
    if (!rows) return out_of_memory();
    size_t groups = group(&o, rows, expected, seen);
    write_figure(r, expected, seen, groups);
    free(rows);
    return EXIT_DONE;
}
