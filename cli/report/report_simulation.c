/* A page about simulated campaigns: how fast they come to the best rows, against random choice. */
#include <math.h>
#include <stdlib.h>

#include "output.h"
#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"
#include "simulation.h"

static size_t count_found(const simulation *s) {
    size_t found = 0;
    for (size_t i = 0; i < s->campaign_count; ++i) found += s->campaigns[i].found;
    return found;
}

static void put_cards(FILE *out, const simulation *s) {
    size_t last = s->steps - 1;
    html_open_cards(out);
    html_card(out, s->reached.mean[last],
              s->share ? "best at the end, as a share of the maximum" : "best at the end, mean");
    html_card(out, s->random.mean[last], "the same by random choice");
    char found[64];
    snprintf(found, sizeof found, "%zu of %zu", count_found(s), s->campaign_count);
    html_text_card(out, found,
                   s->minimize ? "campaigns found the minimum" : "campaigns found the maximum");
    html_count_card(out, s->start + s->rounds * s->count, "rows measured in each");
    html_count_card(out, s->table_rows, "rows to choose from");
    html_close_cards(out);
    fputs("<p class=\"note\">Kernel <code>", out);
    html_string(out, s->kernel);
    fputs("</code>, target <code>", out);
    html_string(out, s->target);
    fputs("</code>", out);
    if (s->acquisition) fprintf(out, ", acquisition %s, batch %s", s->acquisition, s->batch);
    fprintf(out, "; %zu rows at random, then %zu round%s of %zu.</p>\n", s->start, s->rounds,
            s->rounds == 1 ? "" : "s", s->count);
}

static void draw_curves(report *r, const simulation *s, double *rows) {
    static const char caption[] = "Best so far";
    open_figure(r, caption,
                "The mean of all campaigns and of random choice; thin lines hold 80% of them");
    svg_chart chart = {.out = r->out,
                       .number = r->charts,
                       .title = caption,
                       .description = "The best value so far, by the number of rows measured: of "
                                      "the campaigns, and of random choice.",
                       .x = {.label = "rows measured", .lo = rows[0], .hi = rows[s->steps - 1]},
                       .y = SVG_AXIS(s->share ? "share of the maximum" : "best so far")};
    const simulated_band *bands[] = {&s->reached, &s->random};
    for (size_t i = 0; i < 2; ++i) {
        svg_include(&chart.y, bands[i]->low, s->steps);
        svg_include(&chart.y, bands[i]->high, s->steps);
    }
    svg_open(&chart);
    svg_spans(&chart, rows, s->reached.low, s->reached.high, s->steps);
    svg_line(&chart, "c dash", rows, s->random.low, s->steps);
    svg_line(&chart, "c dash", rows, s->random.high, s->steps);
    svg_line(&chart, "c", rows, s->reached.low, s->steps);
    svg_line(&chart, "c", rows, s->reached.high, s->steps);
    svg_line(&chart, "b dash", rows, s->random.mean, s->steps);
    svg_line(&chart, "a", rows, s->reached.mean, s->steps);
    svg_points(&chart, "dot", rows, s->reached.mean, s->steps);
    svg_close(&chart);
    html_open_key(r->out);
    html_key(r->out, "", "campaigns");
    html_key(r->out, "kb", "random choice");
    html_close_key(r->out);
    html_open_numbers(r->out, "rows#|best#|10%#|90%#|random#|10%#|90%#");
    for (size_t i = 0; i < s->steps; ++i) {
        const double values[] = {s->reached.mean[i], s->reached.low[i], s->reached.high[i],
                                 s->random.mean[i],  s->random.low[i],  s->random.high[i]};
        fputs("<tr>", r->out);
        html_number_cell(r->out, rows[i]);
        for (size_t v = 0; v < sizeof values / sizeof *values; ++v)
            html_number_cell(r->out, values[v]);
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
}

static void draw_campaigns(report *r, const simulation *s, double *rows) {
    static const char caption[] = "Every campaign";
    open_figure(r, caption, "A line for each seed");
    svg_chart chart = {.out = r->out,
                       .number = r->charts,
                       .title = caption,
                       .description = "The best value so far of every campaign, by the number of "
                                      "rows measured.",
                       .x = {.label = "rows measured", .lo = rows[0], .hi = rows[s->steps - 1]},
                       .y = SVG_AXIS(s->share ? "share of the maximum" : "best so far")};
    for (size_t i = 0; i < s->campaign_count; ++i)
        svg_include(&chart.y, s->campaigns[i].best, s->steps);
    svg_open(&chart);
    for (size_t i = 0; i < s->campaign_count; ++i)
        svg_line(&chart, "c", rows, s->campaigns[i].best, s->steps);
    svg_line(&chart, "a", rows, s->reached.median, s->steps);
    svg_close(&chart);
    html_open_key(r->out);
    html_key(r->out, "kc", "a campaign");
    html_key(r->out, "", "their median");
    html_close_key(r->out);
    close_figure(r);
}

static void write_seeds(report *r, const simulation *s) {
    FILE *out = r->out;
    html_open_section(out, "seeds", "Campaigns");
    fprintf(out,
            "<p>The best hundredth of the table are %zu rows; random choice meets the first of "
            "them after ",
            s->top_rows);
    html_number(out, s->random_until_top);
    fputs(" rows on average.</p>\n", out);
    html_open_table(r->out, "", "seed#|start#|end#|found|rows until the best hundredth#|seconds#");
    for (size_t i = 0; i < s->campaign_count; ++i) {
        const simulated *c = &s->campaigns[i];
        fputs("<tr>", out);
        fprintf(out, "<td class=\"n\">%llu</td>", (unsigned long long)c->seed);
        html_number_cell(out, c->best[0]);
        html_number_cell(out, c->best[s->steps - 1]);
        fprintf(out, "<td>%s</td>", c->found ? "yes" : "no");
        html_number_cell(out, c->until_top > 0 ? (double)c->until_top : NAN);
        html_number_cell(out, c->seconds);
        fputs("</tr>\n", out);
    }
    html_close_table(r->out);
    html_close_section(out);
}

static void write_page(report *r, const simulation *s, double *rows) {
    open_report_page(r);
    put_cards(r->out, s);
    fputs("</header>\n", r->out);
    html_open_section(r->out, "progress", "Progress");
    fputs("<div class=\"pair\">\n", r->out);
    draw_curves(r, s, rows);
    draw_campaigns(r, s, rows);
    fputs("</div>\n", r->out);
    html_close_section(r->out);
    write_seeds(r, s);
}

int write_simulation_page(const simulation *s, const char *title, const char *path) {
    char *text = NULL;
    size_t size = 0;
    double *rows = malloc(s->steps * sizeof *rows);
    report r = {.title = title, .out = rows ? text_stream(&text, &size) : NULL};
    for (size_t i = 0; rows && i < s->steps; ++i) rows[i] = (double)(s->start + i * s->count);
    if (r.out) write_page(&r, s, rows);
    int code = r.out ? close_report_page(&r, EXIT_DONE) : out_of_memory();
    if (!code) code = write_page_file(path, text, size);
    free(text);
    free(rows);
    return code;
}
