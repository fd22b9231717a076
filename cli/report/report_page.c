/* The page of a report: its sections, its table of contents, and the pieces that sections share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "report/html.h"
#include "report/report.h"

static const section sections[] = {
    {"training", "What was learned from what", is_always, write_training},
    {"hyperparameters", "Hyperparameters", is_always, write_hyperparameters},
    {"likelihood", "What is seen of the function", has_likelihood, write_likelihood},
    {"sequences", "What the string kernel counts", has_string_kernel, write_string_kernel},
    {"sites", "How much each site counts", has_sites, write_sites},
    {"mutations", "Single mutations", has_mutations, write_mutations},
    {"fragments", "What the tree kernel counts", has_tree_gaps, write_tree_gaps},
    {"symbols", "Symbols of trees", has_symbols, write_symbols},
    {"mean", "The mean", has_trend, write_trend},
    {"search", "Learning, step by step", has_steps, write_steps},
    {"grid", "The grid", has_grid, write_grid},
    {"leave-one-out", "Leave-one-out predictions", has_left_out, write_leave_one_out},
    {"classes", "Classes", has_labels, write_classes},
    {"held-out", "Held-out rows", has_held_out, write_held_out},
    {"patterns", "Heaviest patterns", is_always, write_patterns},
    {"surprises", "Most surprising rows", has_left_out, write_surprises},
};

enum { SECTIONS = sizeof sections / sizeof *sections };

bool is_always(const report *r) {
    (void)r;
    return true;
}

bool has_left_out(const report *r) {
    const lth_gp *gp = lth_model_gp(r->model);
    return gp && lth_gp_reported(gp)->loo;
}

bool has_labels(const report *r) {
    return lth_model_classes(r->model) > 0;
}

/* ---- Figures ---- */

void open_figure(report *r, const char *caption, const char *line) {
    fputs("<figure>\n<figcaption>", r->out);
    html_string(r->out, caption);
    fputs("<span>", r->out);
    html_string(r->out, line);
    fputs("</span></figcaption>\n", r->out);
    r->charts++;
}

void close_figure(report *r) {
    fputs("</figure>\n", r->out);
}

void write_target_head(report *r, size_t target) {
    if (lth_model_targets(r->model) < 2) return;
    fputs("<h3>", r->out);
    html_string(r->out, lth_model_target(r->model, target));
    fputs("</h3>\n", r->out);
}

/* ---- The page ---- */

static void write_contents(report *r) {
    fputs("<nav aria-label=\"Contents\"><ul>\n", r->out);
    for (size_t i = 0; i < SECTIONS; ++i) {
        if (!sections[i].wanted(r)) continue;
        fprintf(r->out, "<li><a href=\"#%s\">%s</a></li>\n", sections[i].id, sections[i].title);
    }
    fputs("</ul></nav>\n", r->out);
}

void open_report_page(report *r) {
    html_open(r->out, r->title);
    fputs("<header>\n<h1>", r->out);
    html_string(r->out, r->title);
    fputs("</h1>\n", r->out);
}

int close_report_page(report *r, int code) {
    html_close(r->out);
    bool lost = ferror(r->out) != 0;
    if ((fclose(r->out) != 0 || lost) && !code) code = out_of_memory();
    return code;
}

static int write_page(report *r) {
    open_report_page(r);
    write_cards(r);
    write_contents(r);
    fputs("</header>\n", r->out);
    int code = EXIT_DONE;
    for (size_t i = 0; i < SECTIONS && !code; ++i) {
        const section *s = &sections[i];
        if (!s->wanted(r)) continue;
        html_open_section(r->out, s->id, s->title);
        code = s->write(r);
        html_close_section(r->out);
        if (!code) code = session_check_interrupt(r->session);
    }
    return close_report_page(r, code);
}

int write_page_file(const char *path, const char *page, size_t size) {
    text_file file;
    hold_interrupts();
    int code = text_open(&file, path);
    if (!code) {
        fwrite(page, 1, size, file.stream);
        code = text_close(&file, true);
    }
    release_interrupts();
    return code;
}

int make_report(session *s, lth_model *m, const char *title, const held_out *data, const char *wild,
                char **page, size_t *size) {
    char *text = NULL;
    report r = {.session = s, .model = m, .title = title, .data = data};
    int code = find_mutations(&r, wild);
    if (!code) r.out = text_stream(&text, size); /* what fails half-way is never seen */
    if (!code) code = r.out ? write_page(&r) : out_of_memory();
    mutations_close(&r.mutations);
    mutation_scan_close(&r.scan);
    free(r.left_out);
    free(r.left_rows);
    if (code)
        free(text);
    else
        *page = text;
    return code;
}

int write_report(session *s, lth_model *m, const char *title, const held_out *data,
                 const char *wild, const char *path) {
    char *page = NULL;
    size_t size = 0;
    int code = make_report(s, m, title, data, wild, &page, &size);
    if (!code) code = write_page_file(path, page, size);
    free(page);
    return code;
}
