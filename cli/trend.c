/* The linear part of a Gaussian process, printed. */
#include "trend.h"

#include <stdlib.h>

#include "output.h"

bool trend_find(lth_model *m, trend *out) {
    trend t = {.functions = lth_model_functions(m)};
    const lth_gp *gp = lth_model_gp(m);
    t.of = calloc(t.functions + 1, sizeof *t.of);
    t.name = calloc(t.functions + 1, sizeof *t.name);
    bool good = t.of && t.name;
    for (size_t i = 0; good && gp && i < t.functions; ++i) {
        model_function f = model_function_at(m, i);
        t.name[i] = f.class ? f.class : f.target;
        good = lth_gp_trend(gp, i, &t.of[i], NULL) == LTH_OK;
    }
    if (good)
        *out = t;
    else
        trend_free(&t);
    return good;
}

void trend_free(trend *t) {
    for (size_t i = 0; t->of && i < t->functions; ++i) lth_trend_free(t->of[i]);
    free(t->of);
    free(t->name);
    *t = (trend){0};
}

bool trend_at(const trend *t, size_t i, trend_weight *out) {
    for (size_t f = 0; f < t->functions && t->of[f]; ++f) {
        const lth_trend_weight *w;
        for (size_t k = 0; (w = lth_trend_weight_at(t->of[f], k)) != NULL; ++k) {
            if (i-- > 0) continue;
            *out = (trend_weight){t->name[f], w->column, w->weight, w->sd, w->deviation};
            return true;
        }
    }
    return false;
}

bool trend_has(const trend *t) {
    trend_weight first;
    return trend_at(t, 0, &first);
}

/* ---- What show prints ---- */

static void print_cells(const trend_weight *w) {
    const double cell[] = {w->weight, w->sd, w->weight * w->deviation, w->sd * w->deviation};
    print_visible(w->column);
    putchar('\t');
    print_visible(w->of);
    for (size_t i = 0; i < sizeof cell / sizeof *cell; ++i) {
        putchar('\t');
        write_tsv_double(stdout, cell[i]);
    }
    putchar('\n');
}

int print_trend(lth_model *m) {
    trend t;
    trend_weight w;
    if (!trend_find(m, &t)) return out_of_memory();
    if (trend_has(&t)) printf("\nmean\tof\tweight\tsd\tper deviation\tits sd\n");
    for (size_t i = 0; trend_at(&t, i, &w); ++i) print_cells(&w);
    if (trend_has(&t)) printf("\nthe mean explains\tshare\n");
    for (size_t f = 0; trend_has(&t) && f < t.functions; ++f) {
        print_visible(t.name[f]);
        putchar('\t');
        write_tsv_double(stdout, lth_trend_share(t.of[f]));
        putchar('\n');
    }
    trend_free(&t);
    return EXIT_DONE;
}

static void put_weights(json_writer *w, const lth_trend *of) {
    const lth_trend_weight *x;
    json_begin_list(w, "columns");
    for (size_t i = 0; (x = lth_trend_weight_at(of, i)) != NULL; ++i) {
        json_begin_object(w, NULL);
        json_put_text(w, "column", x->column);
        json_put_double(w, "weight", x->weight);
        json_put_double(w, "sd", x->sd);
        json_put_double(w, "deviation", x->deviation);
        json_end(w);
    }
    json_end(w);
}

int json_put_trend(json_writer *w, lth_model *m) {
    trend t;
    if (!trend_find(m, &t)) return out_of_memory();
    if (trend_has(&t)) {
        json_begin_list(w, "mean");
        for (size_t f = 0; f < t.functions; ++f) {
            json_begin_object(w, NULL);
            json_put_text(w, "of", t.name[f]);
            put_weights(w, t.of[f]);
            json_put_double(w, "share", lth_trend_share(t.of[f]));
            json_end(w);
        }
        json_end(w);
    }
    trend_free(&t);
    return EXIT_DONE;
}
