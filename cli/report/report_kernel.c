/* Sections of a report on what the kernel counts: orders and gaps of a string kernel, gaps and
 * symbols of trees. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"

/* ---- Gaps ---- */

/* The i-th hyperparameter that is the price of a gap in such a kernel, or one without a path. */
static lth_param gap_at(const report *r, lth_family_kind kind, size_t i) {
    const lth_kernel *kernel = lth_model_kernel(r->model);
    for (size_t p = 0; p < lth_kernel_params(kernel); ++p) {
        lth_param found = *lth_kernel_param(kernel, p);
        bool is_gap = found.argument->role == LTH_ROLE_GAP && found.family->kind == kind;
        if (is_gap && i-- == 0) return found;
    }
    return (lth_param){0};
}

enum { SKIPPED = 11 }; /* 0 to 10 */

static void draw_gap(report *r, const lth_param *gap) {
    bool tree = gap->family->kind == LTH_FAMILY_TREE;
    double x[SKIPPED], y[SKIPPED];
    for (size_t i = 0; i < SKIPPED; ++i) {
        x[i] = (double)i;
        y[i] = pow(gap->value, (double)i);
    }
    char caption[160], value[32], line[160];
    snprintf(caption, sizeof caption, "Price of gaps: %.80s", gap->path);
    snprintf(line, sizeof line, "Each %s skipped multiplies the weight by %s",
             tree ? "child" : "position", number_text(gap->value, value));
    open_figure(r, caption, line);
    svg_chart c = {.out = r->out,
                   .number = r->charts,
                   .title = caption,
                   .description = tree ? "Weight of a fragment against the children skipped inside "
                                         "of it; 1 without gaps."
                                       : "Weight of a sequence against the positions skipped "
                                         "inside of it; 1 without gaps.",
                   .x = {.label = tree ? "children skipped" : "positions skipped",
                         .lo = 0,
                         .hi = SKIPPED - 1,
                         .whole = true},
                   .y = {.label = "weight", .lo = 0, .hi = 1}};
    svg_open(&c);
    svg_line(&c, "a", x, y, SKIPPED);
    svg_points(&c, "dot", x, y, SKIPPED);
    svg_close(&c);
    html_open_numbers(r->out, "skipped#|weight#");
    for (size_t i = 0; i < SKIPPED; ++i) {
        fputs("<tr>", r->out);
        html_count_cell(r->out, i);
        html_number_cell(r->out, y[i]);
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
}

static void draw_gaps(report *r, lth_family_kind kind) {
    for (size_t i = 0; gap_at(r, kind, i).path; ++i) {
        lth_param gap = gap_at(r, kind, i);
        draw_gap(r, &gap);
    }
}

/* ---- Strings ---- */

static size_t orders_of(const report *r) {
    return lth_model_gp(r->model) ? lth_gp_reported(lth_model_gp(r->model))->orders : 0;
}

bool has_string_kernel(const report *r) {
    return orders_of(r) > 0 || gap_at(r, LTH_FAMILY_STRING, 0).path;
}

static void draw_orders(report *r) {
    lth_gp_report g = *lth_gp_reported(lth_model_gp(r->model));
    double most = 0;
    for (size_t i = 0; i < g.orders; ++i) most = fmax(most, g.order_share[i]);
    open_figure(r, "Share of each order", "How much sequences of this many units count");
    svg_chart c = {.out = r->out,
                   .number = r->charts,
                   .title = "Share of each order",
                   .description = "A bar for each length of sequence: its share of the kernel's "
                                  "mean self-similarity.",
                   .x = {.label = "units in a sequence",
                         .lo = 0.5,
                         .hi = (double)g.orders + 0.5,
                         .whole = true,
                         .exact = true},
                   .y = {.label = "share", .lo = 0, .hi = most}};
    svg_open(&c);
    for (size_t i = 0; i < g.orders; ++i)
        svg_column(&c, (double)i + 0.65, (double)i + 1.35, g.order_share[i]);
    svg_close(&c);
    html_open_numbers(r->out, "order#|share#|nu#");
    for (size_t i = 0; i < g.orders; ++i) {
        fputs("<tr>", r->out);
        html_count_cell(r->out, i + 1);
        html_number_cell(r->out, g.order_share[i]);
        html_number_cell(r->out, g.nu[i]);
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
}

int write_string_kernel(report *r) {
    fputs("<p>A string kernel counts the sequences of units that two texts share, in order but "
          "not necessarily side by side.</p>\n<div class=\"pair\">\n",
          r->out);
    if (orders_of(r) > 0) draw_orders(r);
    draw_gaps(r, LTH_FAMILY_STRING);
    fputs("</div>\n", r->out);
    return EXIT_DONE;
}

/* ---- Trees ---- */

bool has_tree_gaps(const report *r) {
    return gap_at(r, LTH_FAMILY_TREE, 0).path;
}

int write_tree_gaps(report *r) {
    fputs("<p>A tree kernel with gaps counts the fragments that two trees share, whose nodes keep "
          "any of their children, in order.</p>\n<div class=\"pair\">\n",
          r->out);
    draw_gaps(r, LTH_FAMILY_TREE);
    fputs("</div>\n", r->out);
    return EXIT_DONE;
}

bool has_symbols(const report *r) {
    return lth_model_gp(r->model) && lth_gp_symbol_at(lth_model_gp(r->model), 0) != NULL;
}

static int by_descending_decay(const void *a, const void *b) {
    const lth_gp_symbol *x = a, *y = b;
    if (x->decay != y->decay) return x->decay > y->decay ? -1 : 1;
    return x->count != y->count ? (x->count > y->count ? -1 : 1) : strcmp(x->symbol, y->symbol);
}

static void write_symbol_figure(report *r, const lth_gp_symbol *symbols, size_t count) {
    enum { MOST = 40 };
    const char *names[MOST];
    double decays[MOST];
    size_t shown = count < MOST ? count : MOST;
    for (size_t i = 0; i < shown; ++i) names[i] = symbols[i].symbol, decays[i] = symbols[i].decay;
    open_figure(r, "Decay of each symbol",
                shown < count ? "The largest; all of them are below" : "By size");
    svg_bars(r->out, r->charts, "Decay of each symbol",
             "A bar for each grammar symbol: how much fragments that go on below it count.", names,
             decays, shown, 1);
    html_open_numbers(r->out, "symbol|kernel|decay#|alpha#|nodes#");
    for (size_t i = 0; i < count; ++i) {
        html_row_head(r->out, symbols[i].symbol);
        fputs("<td>", r->out);
        html_string(r->out, symbols[i].kernel);
        fputs("</td>", r->out);
        html_number_cell(r->out, symbols[i].decay);
        html_number_cell(r->out, symbols[i].alpha);
        html_count_cell(r->out, symbols[i].count);
        fputs("</tr>\n", r->out);
    }
    html_close_folded(r->out);
    close_figure(r);
}

int write_symbols(report *r) {
    const lth_gp *gp = lth_model_gp(r->model);
    size_t count = 0;
    while (lth_gp_symbol_at(gp, count)) ++count;
    lth_gp_symbol *symbols = calloc(count, sizeof *symbols);
    if (!symbols) return out_of_memory();
    for (size_t i = 0; i < count; ++i) symbols[i] = *lth_gp_symbol_at(gp, i);
    qsort(symbols, count, sizeof *symbols, by_descending_decay);
    fputs("<p>A symbol with a large decay matters together with what is below it; one near 0 is "
          "the end of what the kernel looks at.</p>\n",
          r->out);
    write_symbol_figure(r, symbols, count);
    free(symbols);
    return EXIT_DONE;
}
