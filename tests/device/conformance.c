/* A device against the CPU: every kernel, every shape, values and gradients, models, failures.
 * Says so where there is no device, unless one is asked for.
 *
 *     conformance                      checks
 *     conformance --quick              with small tables: for compute-sanitizer, or a slow device
 *     conformance --rows 12            with tables of so many rows
 *     conformance --speed              and how fast it is
 *     conformance --large              and on 40,000 to 100,000 rows, which takes minutes, a large
 *                                      GPU and 50 GB of host memory
 *     conformance --device cuda:0,1    another device than "cuda"
 *
 * Results in double precision must agree with the CPU's. Those in single precision are compared
 * with the CPU's in double precision, and may be off by as much as 1e-5, or four times as far as
 * the CPU's own single precision is: sums of derivatives can cancel.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static const char *const kernels[] = {
    "ssk(text, order=1)",
    "ssk(text, order=4, gap=0.7)",
    "ssk(text, units=chars, order=5, gap=0.4, match=0.9)",
    "ssk(text, order=8)",
    "ssk(text, order=13, gap=0.3)",
    "ssk(text, order=16, gap=0.2, match=0.5)",
    "ssk(text, order=20, gap=0.2, match=0.5)",
    "normalize(ssk(text, order=3))",
    "ssk(text, order=3, sim=cosine)",
    "ssk(text, order=4, sim=dot, gap=0.3)",
    "normalize(ssk(text, order=3, sim=exp, rarity=0.01))",
    "ssk(text, order=12, sim=exp, gap=0.4)",
    "rq(normalize(ssk(text, order=2, sim=exp, ard=8)))",
    "normalize(ssk(text, order=3, sim=matrix, matrix=identity)) + ssk(kind, sim=matrix, gap=0.4)",
    "rq(normalize(ssk(text, order=3)))",
    "wd(text, order=4, shift=2) + normalize(oligo(text, k=2))",
    "rbf(normalize(ssk(text, order=2, sim=arccos)))",
    "tanimoto(ssk(text, order=3) + bow(text))",
    "matern32(f1..f2)",
    "matern52(normalize(ssk(text)))",
    "arccos(f1..f2, degree=0) + arccos(f1..f2)",
    "rbf(f1..f2, ard=yes)",
    "rbf(scale(f1..f2), ard=yes) + linear(scale(f1) + scale(f2))",
    "rbf(2 * linear(f1..f2) + rq(normalize(ssk(text, order=2))))",
    "rbf(mean(text))",
    "linear(bow(text)) + 0.5 * normalize(tfidf(text))",
    "rbf(ngrams(text, n=[2,4], units=chars, idf=yes, weighting=log))",
    "normalize(intersection(ngrams(text, n=2))) + tanimoto(gappy(text, g=4, k=2))",
    "normalize(sstk(tree)) * normalize(ssk(text, order=2))",
    "2 * normalize(sstk(tree, symbols=all)) + rbf(f1..f2) * normalize(ssk(text, order=3)) + 0.3",
    "la(seq)",
    "la(seq, matrix=identity, beta=0.2, open=4) + ssk(seq, units=chars, order=2)",
    "rbf(la(seq, matrix=pam250, beta=0.05, open=3, extend=0.4, power=0.6))",
    "la(seq, beta=3, open=40, extend=30, power=0.1)",
    "normalize(ptk(tree))",
    "ptk(tree, decay=0.7, gap=0.2) + normalize(ptk(tree, sim=cosine))",
    "ptk(tree, sim=arccos, soft=all, oov=zero) * rbf(f1..f2)",
    "coregion(kind, tasks=[above,below,third]) * normalize(ssk(text, order=2))",
};

/* ---- What a context finds ---- */

/* Of two matrices: rows by rows, and rows by other rows. */
typedef struct answers {
    conformance_side side;
    size_t cols[2];
    double *values[2], *planes[2], *gradient[2], *diagonal;
} answers;

/* Full of what no result may be. */
static double *numbers(size_t count) {
    double *x = malloc((count + 1) * sizeof *x);
    for (size_t i = 0; x && i < count; i++) x[i] = NAN;
    return x;
}

static lth_status evaluate(answers *x, int against, const double *W, lth_error *err) {
    const conformance_side *s = &x->side;
    const lth_items *cols = against ? s->others : NULL;
    size_t n = lth_items_count(s->items), m = lth_items_count(against ? s->others : s->items);
    size_t orders = lth_kernel_orders(s->kernel);
    x->cols[against] = m;
    x->values[against] = numbers(n * m);
    x->planes[against] = numbers(orders * n * m);
    x->gradient[against] = numbers(lth_kernel_params(s->kernel));
    lth_status status = lth_gram(s->kernel, s->items, cols, x->values[against], m, err);
    if (!status && orders > 0)
        status = lth_gram_orders(s->kernel, s->items, cols, x->planes[against], err);
    if (!status) status = lth_gram_pull(s->kernel, s->items, cols, W, m, x->gradient[against], err);
    return status;
}

static bool find_answers(lth_ctx *ctx, const char *expression, const conformance_tables *t,
                         const double *W, answers *out) {
    lth_error err = {0};
    *out = (answers){0};
    lth_status status = conformance_side_open(&out->side, ctx, expression, t, &err);
    for (int against = 0; against < 2 && !status; against++)
        status = evaluate(out, against, W, &err);
    if (!status) {
        out->diagonal = numbers(lth_items_count(out->side.items));
        status = lth_gram_diagonal(out->side.kernel, out->side.items, out->diagonal, &err);
    }
    if (status) conformance_fail(expression, &err);
    return !status;
}

static void free_answers(answers *x) {
    for (int i = 0; i < 2; i++) free(x->values[i]), free(x->planes[i]), free(x->gradient[i]);
    free(x->diagonal);
    conformance_side_close(&x->side);
}

/* ---- Comparing them ---- */

/* Against the CPU's answers; `rough`: those of its single precision, where that is compared. */
typedef struct comparison {
    const char *expression;
    const answers *want, *got, *rough;
} comparison;

static double largest(const double *x, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

/* How far single precision is off on the CPU; -1 where double precision is compared. */
static double error_of(const double *want, const double *rough, size_t count, double scale) {
    return rough ? conformance_worst(want, rough, count, scale, 1e-25) : -1;
}

/* With scale 0 each number is judged by its own size. In single precision (`own` is what
 * error_of() says) sums that cancel may be off as far as the CPU's are, or a little further. */
static void judge(const comparison *c, const char *what, const double *want, const double *got,
                  double own, size_t count, double scale, double tolerance) {
    bool single = own >= 0;
    double off = conformance_worst(want, got, count, scale, single ? 1e-25 : 1e-290);
    double allowed = !single ? tolerance : 4 * own > 1e-5 ? 4 * own : 1e-5;
    conformance_expect(off <= allowed, "%s of %s%s: off by %.3g where %.3g is allowed", what,
                       c->expression, single ? " in f32" : "", off, allowed);
}

/* Local alignments are logarithms, thousands of them, of which the difference is taken. */
static double tolerance_of(const comparison *c, double usual) {
    return strstr(c->expression, "la(") ? 100 * usual : usual;
}

/* A kernel with cancellation is judged by its largest value, not pair by pair. */
static void judge_values(const comparison *c, const char *what, const double *want,
                         const double *got, const double *rough, size_t count) {
    bool cancels =
        lth_kernel_needs_vectors(c->want->side.kernel) || strstr(c->expression, "arccos");
    double scale = cancels ? largest(want, count) : 0;
    judge(c, what, want, got, error_of(want, rough, count, scale), count, scale,
          tolerance_of(c, 1e-12));
}

static void judge_gradient(const comparison *c, const double *want, const double *got,
                           const double *rough) {
    const lth_kernel *kernel = c->want->side.kernel;
    size_t params = lth_kernel_params(kernel);
    double size = 1e-6 * largest(want, params), own = -1;
    for (size_t p = 0; p < params; p++) { /* the largest, since a small one may be luck */
        double error = error_of(&want[p], rough ? &rough[p] : NULL, 1, fabs(want[p]) + size);
        if (error > own) own = error;
    }
    for (size_t p = 0; p < params; p++)
        judge(c, lth_kernel_param(kernel, p)->path, &want[p], &got[p], own, 1, fabs(want[p]) + size,
              tolerance_of(c, 1e-11));
}

static void compare(const comparison *c) {
    const answers *w = c->want, *g = c->got, *r = c->rough;
    size_t rows = lth_items_count(w->side.items), orders = lth_kernel_orders(w->side.kernel);
    for (int i = 0; i < 2; i++) {
        size_t cells = rows * w->cols[i];
        judge_values(c, i ? "values against" : "values", w->values[i], g->values[i],
                     r ? r->values[i] : NULL, cells);
        judge_values(c, i ? "orders against" : "orders", w->planes[i], g->planes[i],
                     r ? r->planes[i] : NULL, orders * cells);
        judge_gradient(c, w->gradient[i], g->gradient[i], r ? r->gradient[i] : NULL);
    }
    judge_values(c, "diagonal", w->diagonal, g->diagonal, r ? r->diagonal : NULL, rows);
}

/* ---- Kernels ---- */

enum { F64, FEW, F32, DEVICES }; /* on the device: all of its memory, little of it, f32 */

typedef struct contexts {
    lth_ctx *cpu, *cpu_f32, *device[DEVICES];
} contexts;

static void check_kernel(const contexts *c, const char *expression, const conformance_tables *t,
                         const double *W) {
    answers want, rough, got;
    bool is_found = find_answers(c->cpu, expression, t, W, &want);
    bool is_rough = find_answers(c->cpu_f32, expression, t, W, &rough);
    for (int i = 0; i < DEVICES && is_found && is_rough; i++) {
        comparison x = {expression, &want, &got, i == F32 ? &rough : NULL};
        if (find_answers(c->device[i], expression, t, W, &got)) compare(&x);
        free_answers(&got);
    }
    free_answers(&rough);
    free_answers(&want);
}

static void check_kernels(const contexts *c, const conformance_options *o,
                          const conformance_tables *t) {
    size_t rows = o->rows;
    double *W = numbers(rows * rows);
    for (size_t i = 0; i < rows * rows; i++) W[i] = conformance_below(1000) / 1000.0;
    for (size_t s = 0; s < CONFORMANCE_SHAPES; s++) {
        conformance_tables_write(t, s, rows, rows * 3 / 5, o->quick);
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
            check_kernel(c, kernels[k], t, W);
    }
    free(W);
}

/* More rows than a tile of the CPU has, which does what a device cannot. */
static void check_host_tiles(const contexts *c, const conformance_tables *t) {
    enum { MANY = 150 };
    double *W = numbers(MANY * MANY);
    for (size_t i = 0; i < MANY * MANY; i++) W[i] = conformance_below(1000) / 1000.0;
    conformance_tables_write(t, 1, MANY, MANY * 3 / 5, true);
    check_kernel(c, "2 * wd(text, order=2)", t, W);
    check_kernel(c, "rbf(oligo(text, k=1)) * wd(text, order=2)", t, W);
    free(W);
}

/* ---- Models ---- */

enum { MODEL_ROWS = 60, CLASSES = 3 };

/* Of labels, `mean` has the probabilities. */
typedef struct model_answers {
    double evidence, left_out, mean[MODEL_ROWS * CLASSES], sd[MODEL_ROWS];
} model_answers;

/* A model of one target. */
typedef struct question {
    const char *expression, *target;
    lth_posterior posterior;
    lth_precision store;
    lth_likelihood likelihood;
    bool fixed;  /* at the parameters that it begins with                                     */
    bool coarse; /* sites are found in other steps than on the CPU, and while it learns only as
                  * well as the search needs them: 8 iterations on, parameters differ a little */
} question;

static bool fit(lth_ctx *ctx, const question *q, const conformance_tables *t, model_answers *out) {
    lth_error err = {0};
    lth_table *table = NULL;
    lth_gp *gp = NULL;
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 8;
    options.learn = !q->fixed;
    options.vectors = t->vectors;
    options.posterior = q->posterior;
    options.store = q->store;
    options.likelihood = q->likelihood;
    *out = (model_answers){0};
    lth_status status = lth_table_read(ctx, t->a, NULL, &table, &err);
    if (!status) status = lth_gp_fit(ctx, q->expression, table, &q->target, 1, &options, &gp, &err);
    if (!status && lth_gp_classes(gp) == CLASSES)
        status = lth_gp_classify(gp, table, out->mean, &err);
    else if (!status)
        status = lth_gp_predict(gp, table, false, out->mean, out->sd, &err);
    if (!status) out->evidence = lth_gp_reported(gp)->evidence;
    if (!status && lth_gp_reported(gp)->loo) out->left_out = lth_gp_reported(gp)->loo->nlpd;
    if (status) conformance_fail(q->expression, &err);
    lth_gp_free(gp);
    lth_table_free(table);
    return !status;
}

static void check_model(const contexts *c, const question *q, const conformance_tables *t,
                        size_t rows) {
    model_answers want, got;
    comparison x = {.expression = q->expression};
    double tolerance = q->coarse ? 1e-3 : q->store == LTH_F32 ? 1e-5 : 1e-7;
    double of_means = q->coarse ? 2e-2 : 1e-5;
    if (!fit(c->cpu, q, t, &want)) return;
    for (int i = 0; i < F32; i++) {
        if (!fit(c->device[i], q, t, &got)) continue;
        judge(&x, "evidence", &want.evidence, &got.evidence, -1, 1, 0, tolerance);
        judge(&x, "leave-one-out", &want.left_out, &got.left_out, -1, 1, 1, 10 * tolerance);
        judge(&x, "means", want.mean, got.mean, -1, rows * CLASSES, 1, of_means);
        judge(&x, "sds", want.sd, got.sd, -1, rows, 1, of_means);
    }
}

static void check_models(const contexts *c, const conformance_options *o,
                         const conformance_tables *t) {
    static const question all[] = {
        {.expression = "normalize(ssk(text, order=3))", .target = "y"},
        {.expression = "rq(normalize(ssk(text, order=3, sim=cosine))) + rbf(f1..f2)",
         .target = "y"},
        {.expression = "1 * normalize(sstk(tree)) + linear(f1..f2)", .target = "y"},
        {.expression = "normalize(ssk(text, order=2))", .target = "kind"}, /* learns `scale` too */
        {.expression = "rbf(f1..f2) + normalize(sstk(tree))", .target = "kind"},
        {.expression = "normalize(ssk(text, order=2))",
         .target = "kind",
         .posterior = LTH_POSTERIOR_SITES,
         .coarse = true},
        {.expression = "2 * normalize(ssk(text, order=2))",
         .target = "kind",
         .posterior = LTH_POSTERIOR_SITES,
         .fixed = true},
        {.expression = "normalize(ssk(text, order=2)) | rbf(f1..f2)", .target = "y", .fixed = true},
        {.expression = "normalize(ssk(text, order=2))",
         .target = "kind",
         .likelihood = LTH_SOFTMAX},
        {.expression = "la(seq, beta=0.1) + rbf(f1..f2)", .target = "y"},
        {.expression = "normalize(ssk(text, order=3))",
         .target = "y",
         .posterior = LTH_POSTERIOR_CG},
        {.expression = "normalize(ssk(text, order=2))",
         .target = "y",
         .posterior = LTH_POSTERIOR_CG,
         .store = LTH_F32},
    };
    size_t rows = o->quick ? 30 : MODEL_ROWS;
    conformance_tables_write(t, 1, rows, 1, o->quick);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_model(c, &all[i], t, rows);
}

/* ---- All of it ---- */

static size_t count_names(const char *list) {
    size_t count = 1;
    for (; *list; list++) count += *list == ',';
    return count;
}

static bool read_options(int argc, char **argv, conformance_options *o) {
    *o = (conformance_options){.device = "cuda"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            o->quick = true;
        else if (strcmp(argv[i], "--speed") == 0)
            o->speed = true;
        else if (strcmp(argv[i], "--large") == 0)
            o->speed = o->large = true;
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            o->device = argv[++i], o->must = true;
        else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            o->rows = strtoul(argv[++i], NULL, 10);
        else
            return false;
    }
    o->gpus = count_names(o->device);
    if (o->rows == 0) o->rows = o->quick ? 21 : 61;
    return true;
}

/* As little memory as one matrix takes, so that there are many panels. */
static bool open_contexts(const conformance_options *o, contexts *c, lth_error *err) {
    size_t little = o->rows * o->rows * sizeof(double);
    c->cpu = conformance_context("cpu", LTH_F64, 0, err);
    c->cpu_f32 = conformance_context("cpu", LTH_F32, 0, err);
    c->device[F64] = conformance_context(o->device, LTH_F64, 0, err);
    c->device[FEW] = conformance_context(o->device, LTH_F64, little, err);
    c->device[F32] = conformance_context(o->device, LTH_F32, 0, err);
    return c->cpu && c->cpu_f32 && c->device[F64] && c->device[FEW] && c->device[F32];
}

static void close_contexts(contexts *c) {
    for (int i = 0; i < DEVICES; i++) lth_ctx_free(c->device[i]);
    lth_ctx_free(c->cpu_f32);
    lth_ctx_free(c->cpu);
}

static void run_checks(const conformance_options *o, const contexts *c) {
    const char *name = lth_ctx_device(c->device[F64]);
    conformance_tables t;
    printf("on %s: %zu GPU%s\n", name, o->gpus, o->gpus == 1 ? "" : "s");
    conformance_expect(count_names(name) == o->gpus, "\"%s\" are not %zu names", name, o->gpus);
    if (!conformance_expect(conformance_tables_create(&t), "no temporary files")) return;
    check_kernels(c, o, &t);
    check_host_tiles(c, &t);
    check_models(c, o, &t);
    conformance_svm(c->cpu, c->device[F64], o, &t);
    conformance_tables_remove(&t);
    conformance_faults(o);
}

int main(int argc, char **argv) {
    conformance_options o;
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: conformance [--quick] [--speed] [--large] [--rows N] [--device NAME]\n");
        return 2;
    }
    lth_error err = {0};
    contexts c = {0};
    if (open_contexts(&o, &c, &err)) {
        run_checks(&o, &c);
        printf("%d checks, %d failures\n", conformance_checks(), conformance_failures());
        if (o.speed) conformance_speed(&o);
    } else if (o.must) {
        conformance_fail(o.device, &err);
    } else {
        printf("skipped: %s\n", err.message);
    }
    close_contexts(&c);
    return conformance_failures() > 0;
}
