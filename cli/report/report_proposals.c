/* A page about rows that were chosen to be measured: the rows, where they lie, how they differ. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "proposals.h"
#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"
#include "report/svg_sites.h"

typedef struct page {
    report report;
    const chosen *chosen;
    const lth_table *candidates;
    size_t count, objectives;
} page;

static const char *objective_name(const page *p, size_t o, bool *minimize) {
    return lth_proposals_objective(p->chosen->proposals, o, minimize);
}

/* ---- Cards ---- */

static void write_choice(page *p) {
    const lth_proposals *of = p->chosen->proposals;
    bool minimize = false;
    FILE *out = p->report.out;
    html_open_cards(out);
    html_count_card(out, p->count, p->count == 1 ? "row proposed" : "rows proposed");
    html_count_card(out, lth_model_rows(p->chosen->models[0]), "rows measured");
    html_text_card(out, lth_acquisition_name(lth_proposals_acquisition(of), NULL), "acquisition");
    html_text_card(out, lth_batch_name(lth_proposals_batch(of), NULL), "batch");
    for (size_t o = 0; o < p->objectives && lth_model_classes(p->chosen->models[0]) == 0; ++o) {
        const char *name = objective_name(p, o, &minimize);
        html_text_card(out, name, minimize ? "minimized" : "maximized");
    }
    html_close_cards(out);
}

/* ---- The rows ---- */

static void put_heads(page *p) {
    const chosen *c = p->chosen;
    FILE *out = p->report.out;
    chosen_figure figure;
    html_open_heads(out, "");
    html_head(out, "rank", true);
    if (c->numbered) html_head(out, "row", true);
    for (size_t column = 0; column < lth_table_columns(c->rows); ++column)
        if (chosen_shows(c, column)) html_head(out, lth_table_column_name(c->rows, column), false);
    for (size_t f = 0; chosen_figure_at(c, LTH_NONE, f, &figure); ++f)
        html_head(out, figure.name, !figure.is_text);
    if (c->explained) html_head(out, "reasons", false);
    html_close_heads(out);
}

static void put_figure(FILE *out, const chosen_figure *f) {
    if (f->is_text) {
        html_text_cell(out, f->text ? f->text : "", 80);
    } else if (f->is_count && f->count != LTH_NONE) {
        html_count_cell(out, f->count);
    } else {
        html_number_cell(out, f->number);
    }
}

static int put_cell(page *p, size_t i, size_t column) {
    enum { SHORT = 120 };
    char *cell = chosen_cell(p->chosen, i, column);
    if (!cell) return out_of_memory();
    html_text_cell(p->report.out, cell, SHORT);
    free(cell);
    return EXIT_DONE;
}

/* Of all objectives, each with its name where there are several. */
static int put_reasons(page *p, size_t i) {
    FILE *out = p->report.out;
    int code = EXIT_DONE;
    fputs("<td class=\"text w\">", out);
    for (size_t o = 0; o < p->objectives && !code; ++o) {
        chosen_reasons why;
        char *text = NULL;
        size_t size = 0;
        FILE *to = NULL;
        code = chosen_explain(p->chosen, i, o, true, &why);
        if (!code && why.reasons) to = text_stream(&text, &size);
        if (to) {
            if (p->objectives > 1) fprintf(to, "%s%s: ", o ? "; " : "", objective_name(p, o, NULL));
            write_heaviest(to, p->chosen, i, why.reasons);
            if (fclose(to) != 0) code = out_of_memory();
        }
        if (!code && text) html_text(out, text, size);
        free(text);
        lth_reasons_free(why.reasons);
    }
    fputs("</td>", out);
    return code;
}

static int put_row(page *p, size_t i) {
    const chosen *c = p->chosen;
    FILE *out = p->report.out;
    chosen_figure figure;
    int code = EXIT_DONE;
    fputs("<tr>", out);
    html_count_cell(out, i + 1);
    if (c->numbered) html_count_cell(out, lth_table_number(c->rows, chosen_row(c, i)));
    for (size_t column = 0; column < lth_table_columns(c->rows) && !code; ++column)
        if (chosen_shows(c, column)) code = put_cell(p, i, column);
    for (size_t f = 0; chosen_figure_at(c, i, f, &figure); ++f) put_figure(out, &figure);
    if (c->explained && !code) code = put_reasons(p, i);
    fputs("</tr>\n", out);
    return code;
}

static int write_rows(page *p) {
    int code = EXIT_DONE;
    html_open_section(p->report.out, "rows", "The rows");
    if (p->count == 0)
        fputs("<p>There is nothing to propose: all rows are measured or pending, or too near to "
              "what is.</p>\n",
              p->report.out);
    if (p->count > 0) {
        put_heads(p);
        for (size_t i = 0; i < p->count && !code; ++i) code = put_row(p, i);
        html_close_table(p->report.out);
    }
    html_close_section(p->report.out);
    return code;
}

/* ---- Where they lie ---- */

/* Numbers of some rows: proposals, candidates, or measured ones. */
typedef struct cloud {
    double *mean, *sd;
    size_t count;
} cloud;

static void free_cloud(cloud *c) {
    free(c->mean);
    free(c->sd);
    *c = (cloud){0};
}

static int open_cloud(cloud *c, size_t count) {
    *c = (cloud){calloc(count + 1, sizeof *c->mean), calloc(count + 1, sizeof *c->sd), count};
    return c->mean && c->sd ? EXIT_DONE : out_of_memory();
}

static int expect_proposals(const page *p, size_t objective, cloud *out) {
    int code = open_cloud(out, p->count);
    for (size_t i = 0; i < p->count && !code; ++i) {
        out->mean[i] = lth_proposals_mean(p->chosen->proposals, i, objective);
        out->sd[i] = lth_proposals_sd(p->chosen->proposals, i, objective);
    }
    return code;
}

/* The model and target that have this name; false = a class has it. */
static bool find_target(const page *p, size_t objective, lth_model **model, size_t *target) {
    const char *name = objective_name(p, objective, NULL);
    for (size_t m = 0; m < p->chosen->model_count; ++m) {
        *model = p->chosen->models[m];
        for (*target = 0; *target < lth_model_targets(*model); ++*target)
            if (strcmp(lth_model_target(*model, *target), name) == 0)
                return lth_model_classes(*model) == 0;
    }
    return false;
}

static int expect_candidates(page *p, lth_model *m, size_t target, cloud *out) {
    lth_error err = {0};
    size_t rows = p->candidates ? lth_table_rows(p->candidates) : 0;
    size_t values = rows * lth_model_targets(m);
    int code = open_cloud(out, values);
    if (code || rows == 0) return code;
    model_prediction to = {.mean = out->mean, .sd = out->sd};
    if (model_predict(m, p->candidates, true, &to, &err) != LTH_OK)
        return session_fail(p->report.session, &err);
    memmove(out->mean, out->mean + target * rows, rows * sizeof *out->mean);
    memmove(out->sd, out->sd + target * rows, rows * sizeof *out->sd);
    out->count = rows;
    return EXIT_DONE;
}

/* What was measured, in the place of its mean, where it is in the units of the function; sd 0. */
static int find_measured(page *p, lth_model *m, size_t target, cloud *out) {
    const lth_gp *gp = lth_model_gp(m);
    lth_error err = {0};
    size_t rows = lth_model_rows(m), known = 0;
    int code = open_cloud(out, rows);
    out->count = 0;
    if (code || !model_is_normal(m) || !lth_gp_reported(gp)->loo) return code;
    double *left = calloc(rows + 1, sizeof *left);
    if (!left) return out_of_memory();
    if (lth_gp_leave_one_out(gp, target, out->mean, left, out->sd, &err) != LTH_OK)
        code = session_fail(p->report.session, &err);
    free(left);
    for (size_t i = 0; i < rows && !code; ++i) {
        if (isnan(out->mean[i])) continue;
        out->mean[known] = out->mean[i];
        out->sd[known++] = 0;
    }
    out->count = code ? 0 : known;
    return code;
}

static double best_of(const cloud *c, bool minimize) {
    double best = NAN;
    for (size_t i = 0; i < c->count; ++i)
        best = minimize ? fmin(best, c->mean[i]) : fmax(best, c->mean[i]);
    return best;
}

static void put_key(page *p, const cloud *grey, const cloud *measured) {
    FILE *out = p->report.out;
    html_open_key(out);
    html_key(out, "kd", "proposed");
    if (grey->count > 0)
        html_key(out, "kd kc", p->chosen->numbered ? "candidates" : "texts of the space at random");
    if (measured->count > 0) html_key(out, "kd kb", "measured, at sd 0");
    if (measured->count > 0) html_key(out, "kb", "best measured");
    html_close_key(out);
}

static void draw_clouds(page *p, size_t objective, const cloud *blue, const cloud *grey,
                        const cloud *measured) {
    bool minimize = false;
    const char *name = objective_name(p, objective, &minimize);
    double best = best_of(measured, minimize);
    char caption[160];
    snprintf(caption, sizeof caption, "What is expected of %.100s, and how surely", name);
    open_figure(&p->report, caption,
                minimize ? "To the left is better, further up less is known"
                         : "To the right is better, further up less is known");
    svg_chart chart = {.out = p->report.out,
                       .number = p->report.charts,
                       .title = caption,
                       .description = "A point for each proposal, of some candidates, and of each "
                                      "measured row: the mean to the right, the standard deviation "
                                      "upwards.",
                       .x = SVG_AXIS("mean"),
                       .y = {.label = "sd"}};
    const cloud *all[] = {blue, grey, measured};
    for (size_t i = 0; i < 3; ++i) {
        svg_include(&chart.x, all[i]->mean, all[i]->count);
        svg_include(&chart.y, all[i]->sd, all[i]->count);
    }
    svg_open(&chart);
    svg_points(&chart, "dots c", grey->mean, grey->sd, grey->count);
    if (isfinite(best)) svg_segment(&chart, "b dash", best, chart.y.lo, best, chart.y.hi);
    svg_points(&chart, "dots b", measured->mean, measured->sd, measured->count);
    svg_points(&chart, "dot", blue->mean, blue->sd, blue->count);
    svg_close(&chart);
    put_key(p, grey, measured);
    close_figure(&p->report);
}

static int write_clouds(page *p, size_t objective) {
    lth_model *m = NULL;
    size_t target = 0;
    cloud blue = {0}, grey = {0}, measured = {0};
    if (!find_target(p, objective, &m, &target)) return EXIT_DONE;
    int code = expect_proposals(p, objective, &blue);
    if (!code) code = expect_candidates(p, m, target, &grey);
    if (!code) code = find_measured(p, m, target, &measured);
    if (!code) draw_clouds(p, objective, &blue, &grey, &measured);
    free_cloud(&blue);
    free_cloud(&grey);
    free_cloud(&measured);
    return code;
}

/* Two objectives against each other. */
static void draw_front(page *p, const cloud blue[2], const cloud grey[2]) {
    static const char caption[] = "Two objectives";
    open_figure(&p->report, caption, "What is expected of the first two, against each other");
    svg_chart chart = {.out = p->report.out,
                       .number = p->report.charts,
                       .title = caption,
                       .description =
                           "A point for each proposal and some candidates: the mean of the first "
                           "objective to the right, that of the second upwards.",
                       .x = SVG_AXIS(objective_name(p, 0, NULL)),
                       .y = SVG_AXIS(objective_name(p, 1, NULL))};
    svg_include(&chart.x, blue[0].mean, blue[0].count);
    svg_include(&chart.x, grey[0].mean, grey[0].count);
    svg_include(&chart.y, blue[1].mean, blue[1].count);
    svg_include(&chart.y, grey[1].mean, grey[1].count);
    svg_open(&chart);
    svg_points(&chart, "dots c", grey[0].mean, grey[1].mean, grey[0].count);
    svg_points(&chart, "dot", blue[0].mean, blue[1].mean, blue[0].count);
    svg_close(&chart);
    put_key(p, &grey[0], &(cloud){0});
    close_figure(&p->report);
}

static int write_front(page *p) {
    cloud blue[2] = {{0}}, grey[2] = {{0}};
    lth_model *m = NULL;
    size_t target = 0;
    int code = EXIT_DONE;
    bool found = p->objectives > 1;
    for (size_t o = 0; o < 2 && found && !code; ++o) {
        found = find_target(p, o, &m, &target);
        if (found) code = expect_proposals(p, o, &blue[o]);
        if (found && !code) code = expect_candidates(p, m, target, &grey[o]);
    }
    if (found && !code) draw_front(p, blue, grey);
    for (size_t o = 0; o < 2; ++o) {
        free_cloud(&blue[o]);
        free_cloud(&grey[o]);
    }
    return code;
}

static int write_places(page *p) {
    lth_model *m;
    size_t target;
    if (p->count == 0 || !find_target(p, 0, &m, &target)) return EXIT_DONE;
    html_open_section(p->report.out, "places", "Where they lie");
    fputs("<div class=\"pair\">\n", p->report.out);
    int code = EXIT_DONE;
    for (size_t o = 0; o < p->objectives && !code; ++o) code = write_clouds(p, o);
    if (!code) code = write_front(p);
    fputs("</div>\n", p->report.out);
    html_close_section(p->report.out);
    return code;
}

/* ---- Letters ---- */

/* The proposals' texts, where they are letters of one length; otherwise NULL. */
static char **find_letters(const page *p, size_t *sites) {
    const chosen *c = p->chosen;
    size_t column = lth_table_find(c->rows, lth_kernel_column(lth_model_kernel(c->models[0]), 0));
    if (p->count < 2 || column == LTH_NONE || mutations_obstacle(c->models[0]) ||
        lth_kernel_wild_type(lth_model_kernel(c->models[0])))
        return NULL;
    char **texts = calloc(p->count, sizeof *texts);
    bool fit = texts;
    for (size_t i = 0; i < p->count && texts; ++i) {
        texts[i] = chosen_cell(c, i, column);
        fit = fit && texts[i] && mutations_are_letters(texts[i]) &&
              strlen(texts[i]) == strlen(texts[0]);
    }
    if (fit) {
        *sites = strlen(texts[0]);
        return texts;
    }
    for (size_t i = 0; i < p->count && texts; ++i) free(texts[i]);
    free(texts);
    return NULL;
}

/* Sites at which proposals differ, at most as many as there is room for; returns how many. */
static size_t varied_sites(char *const *texts, size_t count, size_t sites, size_t *out,
                           size_t most) {
    size_t found = 0;
    for (size_t s = 0; s < sites && found < most; ++s) {
        bool varied = false;
        for (size_t i = 1; i < count; ++i) varied |= texts[i][s] != texts[0][s];
        if (varied) out[found++] = s;
    }
    return found;
}

static void write_letters(page *p) {
    enum { MOST = 40 };
    size_t sites = 0, shown[MOST];
    char **texts = find_letters(p, &sites);
    if (!texts) return;
    size_t count = varied_sites(texts, p->count, sites, shown, MOST);
    const char *wild = p->chosen->wild;
    if (count > 0) {
        static const char caption[] = "Letters of the proposals";
        html_open_section(p->report.out, "letters", "Letters");
        open_figure(&p->report, caption,
                    count == MOST
                        ? "As high as their share, at the first 40 sites at which "
                          "proposals differ"
                        : "As high as their share, at the sites at which proposals differ");
        svg_sites s = {.out = p->report.out,
                       .number = p->report.charts,
                       .title = caption,
                       .description = "A stack of letters for each site, each as high as the share "
                                      "of the proposals that have it there.",
                       .sites = count,
                       .first = 1,
                       .wild = wild && strlen(wild) == sites ? wild : NULL};
        svg_letters(&s, (const char *const *)texts, p->count, shown);
        close_figure(&p->report);
        html_close_section(p->report.out);
    }
    for (size_t i = 0; i < p->count; ++i) free(texts[i]);
    free(texts);
}

/* ---- Distances ---- */

static size_t distance_of(const lth_proposal *of) {
    return of->distance;
}

static size_t mutations_of(const lth_proposal *of) {
    return of->mutations;
}

/* A bar for each number of edits that some proposals have; the last stands for all above. */
static void write_counts(page *p, const char *caption, const char *line,
                         size_t (*of)(const lth_proposal *)) {
    enum { MOST = 16 };
    char names[MOST + 1][24];
    const char *name[MOST + 1];
    double count[MOST + 1] = {0}, most = 0;
    size_t bars = 0;
    for (size_t i = 0; i < p->count; ++i) {
        size_t edits = of(lth_proposal_at(p->chosen->proposals, i));
        if (edits == LTH_NONE) return;
        size_t bar = edits < MOST ? edits : MOST;
        count[bar] += 1;
        most = fmax(most, count[bar]);
        if (bar + 1 > bars) bars = bar + 1;
    }
    for (size_t b = 0; b < bars; ++b) {
        snprintf(names[b], sizeof names[b], b < MOST ? "%zu edit%s" : "%zu and more", b,
                 b == 1 ? "" : "s");
        name[b] = names[b];
    }
    size_t first = 0;
    while (first < bars && count[first] == 0) ++first;
    open_figure(&p->report, caption, line);
    svg_bars(p->report.out, p->report.charts, caption,
             "How many proposals there are with each "
             "number of edits.",
             name + first, count + first, bars - first, most);
    close_figure(&p->report);
}

static void write_distances(page *p) {
    const lth_proposal *first = p->count > 0 ? lth_proposal_at(p->chosen->proposals, 0) : NULL;
    if (!first || (first->distance == LTH_NONE && first->mutations == LTH_NONE)) return;
    html_open_section(p->report.out, "distances", "How far away");
    fputs("<div class=\"pair\">\n", p->report.out);
    write_counts(p, "From the nearest measured row", "Proposals by edits", distance_of);
    write_counts(p, "From the wild type", "Proposals by mutations", mutations_of);
    fputs("</div>\n", p->report.out);
    html_close_section(p->report.out);
}

/* ---- The page ---- */

static int write_all(page *p) {
    open_report_page(&p->report);
    write_choice(p);
    fputs("</header>\n", p->report.out);
    int code = write_rows(p);
    if (!code) code = write_places(p);
    if (!code) write_letters(p);
    if (!code) write_distances(p);
    return close_report_page(&p->report, code);
}

int write_chosen_page(const chosen *c, const lth_table *candidates, const char *title,
                      const char *path) {
    char *text = NULL;
    size_t size = 0;
    page p = {.report = {.session = c->session, .model = c->models[0], .title = title},
              .chosen = c,
              .candidates = candidates,
              .count = chosen_count(c)};
    while (objective_name(&p, p.objectives, NULL)) ++p.objectives;
    p.report.out = text_stream(&text, &size);
    int code = p.report.out ? write_all(&p) : out_of_memory();
    if (!code) code = write_page_file(path, text, size);
    free(text);
    return code;
}
