/* One row and a model: what a request to a server costs the library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "workload.h"

enum { ROWS = 480, WORDS = 11, VOCABULARY = 200 };

typedef struct one_row {
    lth_ctx *ctx;
    lth_gp *gp;
    const texts *texts; /* of which the last is asked for */
    bool variance, explains;
} one_row;

static lth_table *make_table(lth_ctx *ctx, const texts *t, size_t first, size_t count,
                             const double *y) {
    lth_column columns[] = {{.name = "text", .text = t->text + first, .length = t->length + first},
                            {.name = "y", .numbers = y}};
    lth_table *table;
    lth_error err = {0};
    must(lth_table_from_columns(ctx, columns, sizeof *columns, y ? 2 : 1, count, &table, &err),
         &err);
    return table;
}

static void ask(const one_row *o) {
    lth_error err = {0};
    lth_table *row = make_table(o->ctx, o->texts, ROWS, 1, NULL);
    double mean, sd;
    lth_reasons *reasons = NULL;
    if (o->explains)
        must(lth_gp_explain(o->gp, row, 0, NULL, &reasons, &err), &err);
    else
        must(lth_gp_predict(o->gp, row, false, &mean, o->variance ? &sd : NULL, &err), &err);
    lth_reasons_free(reasons);
    lth_table_free(row);
}

/* The best of several turns of about a millisecond or more. */
static void measure_asking(const plan *p, report *r, const one_row *o, const char *what) {
    double best = INFINITY, until = seconds_now() + p->seconds / 8;
    for (size_t turn = 0; turn < 3 || seconds_now() < until; turn++) {
        size_t times = o->explains ? 4 : 50;
        double start = seconds_now();
        for (size_t i = 0; i < times; i++) ask(o);
        best = fmin(best, (seconds_now() - start) / (double)times);
    }
    speed found = {.group = "one row by a model of 480 rows, one core",
                   .seconds = best,
                   .rate = NAN,
                   .share = NAN};
    snprintf(found.what, sizeof found.what, "%s, %.0f a second", what, 1 / best);
    add_speed(r, found);
}

void measure_one_row(const plan *p, report *r) {
    texts t = common_words(ROWS + 1, WORDS, VOCABULARY);
    double *y = allocate(ROWS, sizeof *y);
    for (size_t i = 0; i < ROWS; i++) y[i] = (double)(i * i % 97);
    const char *target = "y";
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.learn = false;
    lth_ctx_options one;
    lth_ctx_options_init(&one);
    one.threads = 1;
    one_row o = {.texts = &t};
    lth_error err = {0};
    must(lth_ctx_create(&one, &o.ctx, &err), &err);
    lth_table *table = make_table(o.ctx, &t, 0, ROWS, y);
    must(lth_gp_fit(o.ctx, "ssk(text, units=tokens, order=3)", table, &target, 1, &options, &o.gp,
                    &err),
         &err);
    measure_asking(p, r, &o, "mean");
    o.variance = true;
    measure_asking(p, r, &o, "mean and sd");
    o.explains = true;
    measure_asking(p, r, &o, "explanation");
    lth_gp_free(o.gp);
    lth_table_free(table);
    lth_ctx_free(o.ctx);
    free(y);
    free_texts(&t);
}
