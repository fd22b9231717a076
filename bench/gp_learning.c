/* The rows about Gaussian processes: one evaluation of the evidence with its gradient against what
 * LAPACK needs for a matrix of that size, the way to the optimum against scikit-learn, memory. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"
#include "process.h"
#include "workload.h"

static const char *const target = "joy";

/* Nine tenths of the headlines, as in a fold of a cross-validation. */
typedef struct headlines {
    lth_ctx *ctx;
    lth_table *table, *whole;
    char vectors[4096];
    bool has_vectors;
} headlines;

static bool open_headlines(const plan *p, headlines *h) {
    static const char *const where = "fold=1,2,3,4,5,6,7,8,9";
    char path[4096];
    snprintf(path, sizeof path, "%s/semeval2007.tsv", p->data);
    if (access(path, R_OK) != 0) return false;
    snprintf(h->vectors, sizeof h->vectors, "%s/glove_subset_100d.txt.gz", p->data);
    h->has_vectors = access(h->vectors, R_OK) == 0;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 0;
    lth_table_options some;
    lth_table_options_init(&some);
    some.where = &where;
    some.where_count = 1;
    lth_error err = {0};
    must(lth_ctx_create(&options, &h->ctx, &err), &err);
    must(lth_table_read(h->ctx, path, &some, &h->table, &err), &err);
    must(lth_table_read(h->ctx, path, NULL, &h->whole, &err), &err);
    return true;
}

static void close_headlines(headlines *h) {
    lth_table_free(h->table);
    lth_table_free(h->whole);
    lth_ctx_free(h->ctx);
}

/* ---- LAPACK ---- */

typedef void set_threads_fn(int threads);
typedef void potrf_fn(const char *triangle, const int *n, double *A, const int *lda, int *info);

typedef struct lapack {
    set_threads_fn *set_threads;
    potrf_fn *dpotrf, *dpotri; /* of the same type */
    int n;
    double *matrix, *scratch;
    double best; /* seconds */
} lapack;

/* The one that luthier has loaded, and told what this CPU is. */
static bool open_lapack(lapack *l, size_t n) {
    union {
        void *object;
        set_threads_fn *set_threads;
        potrf_fn *potrf;
    } symbol;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
    if (!library) library = dlopen("libopenblas.so", RTLD_NOW | RTLD_NOLOAD);
    if (!library) return false;
    symbol.object = dlsym(library, "openblas_set_num_threads");
    l->set_threads = symbol.set_threads;
    symbol.object = dlsym(library, "dpotrf_");
    l->dpotrf = symbol.potrf;
    symbol.object = dlsym(library, "dpotri_");
    l->dpotri = symbol.potrf;
    if (!l->set_threads || !l->dpotrf || !l->dpotri) return false;
    l->n = (int)n;
    l->matrix = allocate(n * n, sizeof *l->matrix);
    l->scratch = allocate(n * n, sizeof *l->scratch);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            l->matrix[i * n + j] = i == j ? 2 : exp(-fabs((double)i - (double)j));
    }
    l->best = INFINITY;
    return true;
}

static void close_lapack(lapack *l) {
    free(l->matrix);
    free(l->scratch);
}

/* On all cores; luthier has its own threads, and wants one of the BLAS. */
static void run_lapack(lapack *l) {
    int info = 0;
    memcpy(l->scratch, l->matrix, (size_t)l->n * (size_t)l->n * sizeof *l->scratch);
    l->set_threads((int)sysconf(_SC_NPROCESSORS_ONLN));
    double start = seconds_now();
    l->dpotrf("U", &l->n, l->scratch, &l->n, &info);
    if (info == 0) l->dpotri("U", &l->n, l->scratch, &l->n, &info);
    l->best = fmin(l->best, seconds_now() - start);
    l->set_threads(1);
    if (info != 0) die("LAPACK failed");
}

/* ---- 12 and 13: one evaluation ---- */

/* What the first step came with is left out: tables that are made once. */
typedef struct steps {
    lth_gp_step first, last;
} steps;

static int note_step(void *user, const lth_gp_step *step) {
    steps *s = user;
    if (s->first.evaluations == 0) s->first = *step;
    s->last = *step;
    return 0;
}

static double time_evaluation(headlines *h, const char *expression) {
    steps s = {0};
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 8;
    options.step = note_step;
    options.user = &s;
    options.vectors = h->vectors;
    lth_gp *gp;
    lth_error err = {0};
    must(lth_gp_fit(h->ctx, expression, h->table, &target, 1, &options, &gp, &err), &err);
    lth_gp_free(gp);
    return (s.last.seconds - s.first.seconds) / (double)(s.last.evaluations - s.first.evaluations);
}

static void measure_evaluation(const plan *p, report *r, headlines *h, size_t row, const char *what,
                               const char *expression, double asked) {
    size_t rows = lth_table_rows(h->table);
    double best = time_evaluation(h, expression), start = seconds_now();
    lapack l;
    if (!open_lapack(&l, rows)) {
        skip(r, row, what, "there is no OpenBLAS with LAPACK");
        return;
    }
    for (int round = 0; round < 3 || seconds_now() - start < p->seconds; round++) {
        for (int i = 0; i < 3; i++) run_lapack(&l);
        best = fmin(best, time_evaluation(h, expression));
    }
    found(r, row, what, AT_MOST, best / l.best, asked, "x",
          "%.1f and %.1f ms; %zu headlines, %s, %ld cores", 1e3 * best, 1e3 * l.best, rows,
          expression, sysconf(_SC_NPROCESSORS_ONLN));
    close_lapack(&l);
}

/* ---- 14: to the optimum ---- */

typedef struct peer {
    char name[80];
    double seconds, evidence;
} peer;

static bool read_peer(const plan *p, peer *out) {
    FILE *file = p->gp_peer ? fopen(p->gp_peer, "r") : NULL;
    if (!file) return false;
    bool ok = fscanf(file, "%79[^\t]\t%lf\t%lf", out->name, &out->seconds, &out->evidence) == 3;
    fclose(file);
    return ok;
}

/* Cross-validation says what a fit takes once the words are encoded and the vectors read: here the
 * fit to the same nine tenths, and predictions for the rest. */
static double time_fit(headlines *h, const char *expression, const lth_gp_options *options) {
    size_t rows = lth_table_rows(h->whole), column = lth_table_find(h->whole, "fold"), length;
    size_t *fold = allocate(rows, sizeof *fold);
    for (size_t i = 0; i < rows; i++)
        fold[i] = lth_table_cell(h->whole, i, column, &length)[0] != '0';
    lth_validation *found;
    lth_error err = {0};
    must(lth_gp_cv(h->ctx, expression, h->whole, &target, 1, fold, 2, options, &found, &err), &err);
    double seconds = lth_validation_seconds(found, 0, 0);
    lth_validation_free(found);
    free(fold);
    return seconds;
}

static void measure_optimum(const plan *p, report *r, headlines *h) {
    static const char what[] = "rbf(mean(tokens)) to the optimum, against scikit-learn",
                      expression[] = "rbf(mean(tokens))";
    peer other;
    if (!read_peer(p, &other)) {
        skip(r, 14, what, "scikit-learn is not installed here, or was not asked");
        return;
    }
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.vectors = h->vectors;
    lth_gp *gp;
    lth_error err = {0};
    must(lth_gp_fit(h->ctx, expression, h->table, &target, 1, &options, &gp, &err), &err);
    lth_gp_report fit = *lth_gp_reported(gp);
    lth_gp_free(gp);
    double best = INFINITY;
    for (int i = 0; i < 3; i++) best = fmin(best, time_fit(h, expression, &options));
    bool as_good = fit.evidence > other.evidence - 0.01;
    found(r, 14, what, AT_LEAST, as_good ? other.seconds / best : 0, 4, "x",
          "%.3f s, log evidence %.2f; %s %.3f s, %.2f; %zu headlines, no restarts", best,
          fit.evidence, other.name, other.seconds, other.evidence, fit.rows);
}

void measure_learning(const plan *p, report *r) {
    static const char *const what[] = {
        "evidence with gradient, exact matching, against LAPACK's dpotrf and dpotri",
        "the same with soft matching"};
    headlines h = {0};
    bool there = open_headlines(p, &h);
    if (there)
        measure_evaluation(p, r, &h, 12, what[0], "ssk(tokens)", 2.5);
    else
        skip(r, 12, what[0], "there is no semeval2007.tsv in %.100s", p->data);
    if (there && h.has_vectors) {
        measure_evaluation(p, r, &h, 13, what[1], "ssk(tokens, sim=dot)", 2);
        measure_optimum(p, r, &h);
    } else {
        skip(r, 13, what[1], "there are no word vectors in %.100s", p->data);
        skip(r, 14, "rbf(mean(tokens)) to the optimum, against scikit-learn",
             "there are no word vectors in %.100s", p->data);
    }
    close_headlines(&h);
}

/* ---- 15: memory ---- */

static double peak_of_fit(const plan *p, const char *table, const char *model,
                          const char *dropping) {
    const char *argv[] = {p->program,  "fit",        table,    "--target",   "y", "--kernel",
                          "ssk(text)", "-o",         model,    "--max-iter", "1", "--restarts",
                          "0",         "--dropping", dropping, "--quiet",    NULL};
    return run_process((char *const *)argv).peak_bytes;
}

/* 0.1.0 held two whole matrices; a fit may take 0.3 of that, all in all. */
void measure_fit_memory(const plan *p, report *r) {
    enum { ROWS = 6000, KEPT_ROWS = 3000, WORDS = 10, ORDER = 5 };
    const double mib = 1024 * 1024, two = 2 * 8. * ROWS * ROWS, matrix = 8. * KEPT_ROWS * KEPT_ROWS;
    char table[4096], model[4096];
    snprintf(table, sizeof table, "%s/labelled.tsv", p->folder);
    snprintf(model, sizeof model, "%s/model", p->folder);
    write_table(table, KEPT_ROWS, WORDS, true);
    double with = peak_of_fit(p, table, model, "off");
    write_table(table, ROWS, WORDS, true);
    double without = peak_of_fit(p, table, model, "on");
    double worse = fmax(without / (0.3 * two), with / ((1 + ORDER) * matrix));
    found(
        r, 15,
        "memory: luthier fit on 6,000 short texts, against 0.3 of two matrices; on 3,000, one and "
        "those it keeps",
        AT_MOST, worse, 1, "x",
        "peak %.0f MiB, %.3f of two matrices; with a matrix for each of the %d orders kept, %.0f "
        "of %.0f",
        without / mib, without / two, ORDER, with / mib, (1 + ORDER) * matrix / mib);
}
