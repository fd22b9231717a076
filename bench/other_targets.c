/* The rows about other targets: an evaluation of the evidence with its gradient under another
 * likelihood against one under Gaussian noise, and of six targets that learn from each other
 * against one. Processor time of one thread counts: both are mostly products of matrices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "workload.h"

enum { ROUNDS = 3, TARGETS = 6 };

typedef struct learner {
    const char *name;
    lth_likelihood likelihood;
    const char *const *targets;
    size_t count, coregion;
} learner;

/* ---- The table ---- */

static const char *const emotions[] = {"anger", "disgust", "fear", "joy", "sadness", "surprise"};
static const char *const joy[] = {"joy"}, *const grade[] = {"grade"}, *const share[] = {"share"},
                         *const counted[] = {"count"};

/* Nine tenths of the headlines, with joy as a count, a grade and a share as well. */
static bool write_headlines(const plan *p, lth_ctx *ctx, char *path, size_t size) {
    static const char *const where = "fold=1,2,3,4,5,6,7,8,9";
    lth_table_options some;
    lth_table *from;
    lth_error err = {0};
    snprintf(path, size, "%s/semeval2007.tsv", p->data);
    if (access(path, R_OK) != 0) return false;
    lth_table_options_init(&some);
    some.where = &where;
    some.where_count = 1;
    must(lth_table_read(ctx, path, &some, &from, &err), &err);
    snprintf(path, size, "%s/emotions.tsv", p->folder);
    FILE *file = fopen(path, "w");
    if (!file) die("cannot write %s", path);
    fputs("text\ttokens\tanger\tdisgust\tfear\tjoy\tsadness\tsurprise\tcount\tgrade\tshare\n",
          file);
    for (size_t i = 0; i < lth_table_rows(from); i++) {
        size_t length;
        const char *cell = lth_table_cell(from, i, lth_table_find(from, "text"), &length);
        fprintf(file, "%.*s", (int)length, cell);
        cell = lth_table_cell(from, i, lth_table_find(from, "tokens"), &length);
        fprintf(file, "\t%.*s", (int)length, cell);
        for (size_t t = 0; t < TARGETS; t++) {
            cell = lth_table_cell(from, i, lth_table_find(from, emotions[t]), &length);
            fprintf(file, "\t%.*s", (int)length, cell);
        }
        cell = lth_table_cell(from, i, lth_table_find(from, "joy"), &length);
        int of = atoi(cell);
        fprintf(file, "\t%d\t%d\t%.4f\n", of / 5, of < 75 ? of / 25 : 3, (of + 0.5) / 101);
    }
    lth_table_free(from);
    if (fclose(file) != 0) die("cannot write %s", path);
    return true;
}

/* ---- One evaluation ---- */

/* What came before the first step is left out: tables that are made once, and the first sites. */
typedef struct steps {
    double first, last;
    size_t from, to;
} steps;

static double processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int note_step(void *user, const lth_gp_step *step) {
    steps *s = user;
    s->last = processor_time();
    s->to = step->evaluations;
    if (s->from > 0) return 0;
    s->first = s->last;
    s->from = s->to;
    return 0;
}

static double time_evaluation(lth_ctx *ctx, const lth_table *table, const char *expression,
                              const learner *l) {
    steps s = {0};
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.step = note_step;
    options.user = &s;
    options.likelihood = l->likelihood;
    options.coregion = l->coregion;
    if (l->likelihood == LTH_CENSORED) {
        options.lower = 0;
        options.upper = 100;
    }
    if (l->likelihood != LTH_GAUSSIAN) options.posterior = LTH_POSTERIOR_SITES;
    lth_gp *gp;
    lth_error err = {0};
    must(lth_gp_fit(ctx, expression, table, l->targets, l->count, &options, &gp, &err), &err);
    lth_gp_free(gp);
    return (s.last - s.first) / (double)(s.to - s.from);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Medians of rounds in which all take their turns. */
static void time_all(lth_ctx *ctx, const lth_table *table, const char *expression,
                     const learner *list, size_t count, double *median) {
    double times[16][ROUNDS];
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++)
            times[i][round] = time_evaluation(ctx, table, expression, &list[i]);
    }
    for (size_t i = 0; i < count; i++) {
        qsort(times[i], ROUNDS, sizeof *times[i], compare);
        median[i] = times[i][ROUNDS / 2];
    }
}

/* ---- The rows ---- */

static void measure_likelihoods(report *r, lth_ctx *ctx, const lth_table *table, const char *what) {
    static const char expression[] = "normalize(ssk(text))";
    static const learner list[] = {
        {"gaussian", LTH_GAUSSIAN, joy, 1, 0},   {"student", LTH_STUDENT, joy, 1, 0},
        {"censored", LTH_CENSORED, joy, 1, 0},   {"ordinal", LTH_ORDINAL, grade, 1, 0},
        {"poisson", LTH_POISSON, counted, 1, 0}, {"negbinomial", LTH_NEGBINOMIAL, counted, 1, 0},
        {"beta", LTH_BETA, share, 1, 0}};
    enum { COUNT = sizeof list / sizeof *list };
    double median[COUNT], worst = 0;
    char parts[200] = "";
    time_all(ctx, table, expression, list, COUNT, median);
    for (size_t i = 1; i < COUNT; i++) {
        size_t at = strlen(parts);
        snprintf(parts + at, sizeof parts - at, "%s %.2f, ", list[i].name, median[i] / median[0]);
        worst = fmax(worst, median[i] / median[0]);
    }
    found(r, 25, what, AT_MOST, worst, 3, "x", "%sthe worst counts; gaussian %.1f ms; %s", parts,
          1e3 * median[0], expression);
}

static void measure_six(report *r, lth_ctx *ctx, const lth_table *table, const char *what) {
    static const char *const expressions[] = {"ssk(tokens, order=5)", "normalize(ssk(text))"};
    static const learner list[] = {{"one", LTH_GAUSSIAN, joy, 1, 0},
                                   {"six", LTH_GAUSSIAN, emotions, TARGETS, 2}};
    double median[2][2];
    for (size_t i = 0; i < 2; i++) time_all(ctx, table, expressions[i], list, 2, median[i]);
    double a = median[0][1] / median[0][0], b = median[1][1] / median[1][0];
    found(r, 26, what, AT_MOST, fmax(a, b), 1.5, "x",
          "%.2f with %s, %.1f and %.1f ms; %.2f with %s, %.1f and %.1f ms; rank 2: three factors",
          a, expressions[0], 1e3 * median[0][1], 1e3 * median[0][0], b, expressions[1],
          1e3 * median[1][1], 1e3 * median[1][0]);
}

void measure_targets(const plan *p, report *r) {
    static const char *const what[] = {
        "evidence with gradient by sites, one core, against Gaussian noise",
        "the same of six targets that learn from each other, against one"};
    char path[4096];
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 1;
    lth_ctx *ctx;
    lth_table *table;
    lth_error err = {0};
    must(lth_ctx_create(&options, &ctx, &err), &err);
    if (write_headlines(p, ctx, path, sizeof path)) {
        must(lth_table_read(ctx, path, NULL, &table, &err), &err);
        measure_likelihoods(r, ctx, table, what[0]);
        measure_six(r, ctx, table, what[1]);
        lth_table_free(table);
    } else {
        skip(r, 25, what[0], "there is no semeval2007.tsv in %.100s", p->data);
        skip(r, 26, what[1], "there is no semeval2007.tsv in %.100s", p->data);
    }
    lth_ctx_free(ctx);
}
