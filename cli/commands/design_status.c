/* luthier design status: how far a campaign is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign_view.h"
#include "design.h"
#include "json.h"
#include "output.h"

/* ---- For people ---- */

static int print_best(const campaign_view *v) {
    size_t row = v->report->best_row;
    char best[32];
    if (row == LTH_NONE) return EXIT_DONE;
    char *text = campaign_row_text(v, row);
    if (!text) return out_of_memory();
    printf("best\t%s\t", double_text(v->report->best, best));
    print_visible(text);
    printf("\tround %zu\n", v->round[row]);
    if (!isnan(v->optimum))
        printf("regret\t%s\n", double_text(fabs(v->optimum - v->report->best), best));
    free(text);
    return EXIT_DONE;
}

static void print_rounds(const campaign_view *v) {
    if (v->step_count > 0) puts("\nround\tmeasured\tbest");
    for (size_t i = 0; i < v->step_count; ++i) {
        printf("%zu\t%zu", v->steps[i].round, v->steps[i].measured);
        print_short_cell(v->steps[i].best);
        putchar('\n');
    }
    if (v->prediction_count > 0) puts("\nasked\trows\trmse\tspearman\tcoverage");
    for (size_t i = 0; i < v->prediction_count; ++i) {
        const campaign_predictions *p = &v->predictions[i];
        printf("%zu\t%zu", p->asked, p->count);
        print_short_cell(p->rmse);
        print_short_cell(p->spearman);
        print_short_cell(p->coverage);
        putchar('\n');
    }
}

static int print_text(const campaign_view *v) {
    const lth_design_report *r = v->report;
    const char *target, *from = lth_design_setting(v->design, "from");
    printf("rounds\t%zu\nmeasured\t%zu\npending\t%zu\n", r->rounds, r->measured, r->pending);
    for (size_t t = 0; (target = lth_design_target(v->design, t)); ++t) {
        printf("target\t");
        print_visible(target);
        printf("\t%s\n", t > 0 ? "" : v->minimize ? "low values" : "high values");
    }
    print_text_line(from ? "from" : "space", from ? from : lth_design_setting(v->design, "space"));
    print_text_line("kernel", v->kernel ? v->kernel : lth_design_setting(v->design, "kernel"));
    int code = print_best(v);
    if (!code) print_rounds(v);
    return code;
}

/* ---- For programs ---- */

static int json_put_best(json_writer *w, const campaign_view *v) {
    size_t row = v->report->best_row;
    json_put_double(w, "best", v->report->best);
    if (!isnan(v->optimum)) json_put_double(w, "regret", fabs(v->optimum - v->report->best));
    if (row == LTH_NONE) return EXIT_DONE;
    json_begin_object(w, "best_row");
    for (size_t j = 0; j < v->columns; ++j) {
        size_t length = 0;
        const char *cell = lth_table_cell(v->rows, row, j, &length);
        char *text = calloc(length + 1, 1);
        if (!text) return out_of_memory();
        if (length > 0) memcpy(text, cell, length);
        json_put_text(w, lth_table_column_name(v->rows, j), text);
        free(text);
    }
    json_end(w);
    return EXIT_DONE;
}

static void json_put_rounds(json_writer *w, const campaign_view *v) {
    json_begin_list(w, "progress");
    for (size_t i = 0; i < v->step_count; ++i) {
        json_begin_object(w, NULL);
        json_put_count(w, "round", v->steps[i].round);
        json_put_count(w, "measured", v->steps[i].measured);
        json_put_double(w, "best", v->steps[i].best);
        json_end(w);
    }
    json_end(w);
    json_begin_list(w, "predictions");
    for (size_t i = 0; i < v->prediction_count; ++i) {
        const campaign_predictions *p = &v->predictions[i];
        json_begin_object(w, NULL);
        json_put_count(w, "asked", p->asked);
        json_put_count(w, "rows", p->count);
        json_put_double(w, "rmse", p->rmse);
        json_put_double(w, "spearman", p->spearman);
        json_put_double(w, "coverage", p->coverage);
        json_end(w);
    }
    json_end(w);
}

static int print_json(const campaign_view *v) {
    const char *target;
    json_writer w = {.to = stdout};
    json_begin_result(&w, NULL);
    json_put_count(&w, "rounds", v->report->rounds);
    json_put_count(&w, "measured", v->report->measured);
    json_put_count(&w, "pending", v->report->pending);
    json_begin_list(&w, "targets");
    for (size_t t = 0; (target = lth_design_target(v->design, t)); ++t)
        json_put_text(&w, NULL, target);
    json_end(&w);
    json_put_bool(&w, "minimize", v->minimize);
    json_put_text(&w, "kernel", lth_design_setting(v->design, "kernel"));
    json_put_text(&w, "learned", v->kernel);
    json_put_text(&w, "from", lth_design_setting(v->design, "from"));
    json_put_text(&w, "space", lth_design_setting(v->design, "space"));
    int code = json_put_best(&w, v);
    json_put_rounds(&w, v);
    json_end(&w);
    return code;
}

static int show(session *s, const campaign_view *v) {
    const options *o = s->options;
    int code = EXIT_DONE;
    if (o->output) code = write_campaign_page(s, v, o->title ? o->title : "Campaign", o->output);
    if (code || (o->output && strcmp(o->output, "-") == 0)) return code;
    code = (o->json ? print_json : print_text)(v);
    return code ? code : finish_stdout();
}

int design_status(const options *o) {
    session s;
    lth_design *design = NULL;
    campaign_view v = {0};
    if (o->title && !o->output)
        return usage_error(o->command, "--title is the heading of a page; give -o FILE.html");
    int code = session_open(&s, o);
    if (!code && o->output) code = check_output(o->output);
    if (!code) code = design_open(&s, &design);
    if (!code) code = campaign_look(&v, &s, design);
    if (!code) code = show(&s, &v);
    campaign_close(&v);
    lth_design_free(design);
    session_close(&s);
    return code;
}
