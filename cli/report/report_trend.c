/* The mean of a Gaussian process: the weights of its number columns. */
#include "report/html.h"
#include "report/report.h"
#include "trend.h"

bool has_trend(const report *r) {
    trend t;
    if (!trend_find(r->model, &t)) return false;
    bool has = trend_has(&t);
    trend_free(&t);
    return has;
}

static void write_weight(report *r, const trend_weight *w, bool several) {
    html_row_head(r->out, w->column);
    if (several) {
        fputs("<td>", r->out);
        html_string(r->out, w->of);
        fputs("</td>", r->out);
    }
    const double cell[] = {w->weight, w->sd, w->weight * w->deviation, w->sd * w->deviation};
    for (size_t i = 0; i < sizeof cell / sizeof *cell; ++i) html_number_cell(r->out, cell[i]);
    fputs("</tr>\n", r->out);
}

static void write_share(report *r, const trend *t, size_t function) {
    fprintf(r->out, "<p>%.3g of the variance over training rows is the mean's",
            lth_trend_share(t->of[function]));
    if (t->functions > 1) {
        fputs(" for ", r->out);
        html_string(r->out, t->name[function]);
    }
    fputs(".</p>\n", r->out);
}

int write_trend(report *r) {
    trend t;
    trend_weight w;
    if (!trend_find(r->model, &t)) return out_of_memory();
    bool several = t.functions > 1;
    fputs("<p>A linear model of number columns: what one unit of a column adds to the prediction, "
          "and what one standard deviation of it adds, each with its own standard "
          "deviation.</p>\n",
          r->out);
    html_open_table(r->out, "",
                    several ? "column|of|weight#|sd#|per deviation#|its sd#"
                            : "column|weight#|sd#|per deviation#|its sd#");
    for (size_t i = 0; trend_at(&t, i, &w); ++i) write_weight(r, &w, several);
    html_close_table(r->out);
    for (size_t f = 0; f < t.functions; ++f) write_share(r, &t, f);
    trend_free(&t);
    return EXIT_DONE;
}
