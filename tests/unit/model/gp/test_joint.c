/* The joint posterior of rows: against dense algebra, against the variances of predictions, and for
 * what is no number of a row by itself against polarisation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "engine/eigen.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "model/gp/gp_average.h"
#include "model/gp/gp_classes.h"
#include "model/posterior/site_model.h"

enum { ROWS = 40, NEW = 9 };

static lth_ctx *ctx;
static lth_table *rows, *new_rows;
static const char kernel[] = "0.8 * rbf(x, lengthscale=0.7) + 0.3 * normalize(ssk(text, order=2))";

/* Numbers with outliers, one that misses cells, labels, counts, grades and shares. */
static lth_table *make_rows(lth_ctx *of, size_t count, size_t first) {
    char *lines = malloc(count * 160 + 160), *at = lines;
    at += sprintf(at, "x\ttext\treps\ty\tz\tlabel\tthree\tcount\tgrade\tshare\n");
    for (size_t k = 0; k < count; k++) {
        size_t i = first + k;
        double x = -3 + 6 * (double)(i * 17 % 41) / 41 + 0.001 * (double)i;
        double y = sin(2 * x) + 0.2 * cos(7.0 * (double)i) + (i % 8 == 5 ? 2.5 : 0);
        char z[32] = "";
        if (i % 3) sprintf(z, "%.6g", cos(x) - 0.5 * y);
        at +=
            sprintf(at, "%.6g\t%s is%s\t%zu\t%.6g\t%s\t%s\t%s\t%.0f\t%.0f\t%.4g\n", x,
                    i % 2 ? "so" : "no", i % 3 ? " it" : "", 1 + i % 3, y, z, y > 0 ? "up" : "down",
                    y > 0.6    ? "a"
                    : y > -0.3 ? "b"
                               : "c",
                    floor(2 * exp(0.6 * y)), fmin(fmax(round(2 + y), 0), 4), 1 / (1 + exp(-y)));
    }
    lth_table *table = support_table(of, lines);
    free(lines);
    return table;
}

static int open_tables(void **state) {
    (void)state;
    ctx = support_context(2);
    rows = make_rows(ctx, ROWS, 0);
    new_rows = make_rows(ctx, NEW, ROWS);
    return 0;
}

static int close_tables(void **state) {
    (void)state;
    lth_table_free(rows);
    lth_table_free(new_rows);
    lth_ctx_free(ctx);
    return 0;
}

/* ---- Models of every kind ---- */

typedef struct kind {
    const char *name, *targets[2];
    lth_likelihood likelihood;
    lth_posterior posterior;
    size_t coregion;
    bool fitc;
    const char *noise_by, *noise_kernel, *weights;
} kind;

static const kind kinds[] = {
    {.name = "exact", .targets = {"y"}, .posterior = LTH_POSTERIOR_EXACT},
    {.name = "exact, two targets", .targets = {"y", "x"}, .posterior = LTH_POSTERIOR_EXACT},
    {.name = "laplace",
     .targets = {"y"},
     .likelihood = LTH_STUDENT,
     .posterior = LTH_POSTERIOR_LAPLACE},
    {.name = "sites",
     .targets = {"y"},
     .likelihood = LTH_STUDENT,
     .posterior = LTH_POSTERIOR_SITES},
    {.name = "repeats", .targets = {"y"}, .noise_by = "1/reps"},
    {.name = "warped", .targets = {"y"}, .likelihood = LTH_WARPED},
    {.name = "censored", .targets = {"y"}, .likelihood = LTH_CENSORED},
    {.name = "counts", .targets = {"count"}, .likelihood = LTH_POISSON},
    {.name = "many counts", .targets = {"count"}, .likelihood = LTH_NEGBINOMIAL},
    {.name = "grades", .targets = {"grade"}, .likelihood = LTH_ORDINAL},
    {.name = "shares", .targets = {"share"}, .likelihood = LTH_BETA},
    {.name = "noise", .targets = {"y"}, .noise_kernel = "rbf(x)"},
    {.name = "inducing", .targets = {"y"}, .posterior = LTH_POSTERIOR_INDUCING},
    {.name = "fitc", .targets = {"y", "x"}, .posterior = LTH_POSTERIOR_INDUCING, .fitc = true},
    {.name = "inducing sites",
     .targets = {"y"},
     .likelihood = LTH_STUDENT,
     .posterior = LTH_POSTERIOR_INDUCING},
    {.name = "coregion", .targets = {"y", "x"}, .coregion = 1},
    {.name = "cells", .targets = {"y", "z"}, .coregion = 2},
    {.name = "cg", .targets = {"y", "x"}, .posterior = LTH_POSTERIOR_CG},
    {.name = "two classes", .targets = {"label"}},
    {.name = "classes", .targets = {"three"}},
    {.name = "probit", .targets = {"three"}, .likelihood = LTH_PROBIT},
    {.name = "softmax", .targets = {"three"}, .likelihood = LTH_SOFTMAX},
    {.name = "weighed softmax", .targets = {"three"}, .likelihood = LTH_SOFTMAX, .weights = "reps"},
    {.name = "inducing classes", .targets = {"three"}, .posterior = LTH_POSTERIOR_INDUCING},
    {.name = "inducing softmax",
     .targets = {"three"},
     .likelihood = LTH_SOFTMAX,
     .posterior = LTH_POSTERIOR_INDUCING},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static lth_status fit_of(lth_ctx *of, const lth_table *table, const kind *k, size_t average,
                         lth_gp **out, lth_error *err) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.learn = average > 0;
    options.restarts = 0;
    options.average = average;
    options.likelihood = k->likelihood;
    options.posterior = k->posterior;
    options.coregion = k->coregion;
    options.noise_by = k->noise_by;
    options.noise_kernel = k->noise_kernel;
    options.weights = k->weights;
    options.inducing = k->posterior == LTH_POSTERIOR_INDUCING ? 15 : 0;
    if (average > 0) options.max_iter = 3;
    if (k->fitc) options.bound = LTH_BOUND_FITC;
    if (k->likelihood == LTH_CENSORED) options.lower = -0.7, options.upper = 0.9;
    return lth_gp_fit(of, kernel, table, k->targets, k->targets[1] ? 2 : 1, &options, out, err);
}

static lth_gp *fit(const kind *k, size_t average) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    support_ok(fit_of(ctx, rows, k, average, &gp, &err), &err);
    return gp;
}

typedef struct told {
    size_t latents, rows;
    double *mean, *covariance;
} told;

static told tell(const lth_gp *gp, const lth_table *table) {
    lth_error err = {0};
    told t = {.latents = lth_gp_latents(gp), .rows = lth_table_rows(table)};
    t.mean = malloc(t.latents * t.rows * sizeof *t.mean);
    t.covariance = malloc(t.latents * t.rows * t.rows * sizeof *t.covariance);
    support_ok(lth_gp_predict_joint(gp, table, t.mean, t.covariance, &err), &err);
    return t;
}

static void forget(told *t) {
    free(t->mean);
    free(t->covariance);
}

static double at(const told *t, size_t latent, size_t i, size_t j) {
    return t->covariance[(latent * t->rows + i) * t->rows + j];
}

/* ---- The same as dense algebra ---- */

/* X = A^-1 X, by elimination with pivots on the diagonal. */
static void solve(size_t n, double *A, size_t m, double *X) {
    for (size_t p = 0; p < n; p++) {
        for (size_t i = 0; i < n; i++) {
            double by = i == p ? 0 : A[i * n + p] / A[p * n + p];
            for (size_t j = 0; by != 0 && j < n; j++) A[i * n + j] -= by * A[p * n + j];
            for (size_t j = 0; by != 0 && j < m; j++) X[i * m + j] -= by * X[p * m + j];
        }
    }
    for (size_t i = 0; i < n * m; i++) X[i] /= A[i / m * n + i / m];
}

static void dense_algebra(void **state) {
    (void)state;
    lth_gp *gp = fit(&kinds[0], 0);
    lth_error err = {0};
    told t = tell(gp, new_rows);
    lth__reading r;
    support_ok(lth__reading_open(gp->encoder, new_rows, &r, &err), &err);
    double G[ROWS * ROWS], K[NEW * ROWS], X[ROWS * NEW], own[NEW * NEW];
    support_ok(lth_gram(gp->kernel, gp->items, NULL, G, ROWS, &err), &err);
    support_ok(lth_gram(gp->kernel, r.items, gp->items, K, ROWS, &err), &err);
    support_ok(lth_gram(gp->kernel, r.items, NULL, own, NEW, &err), &err);
    lth__gp_prior(gp, K, NEW * ROWS);
    lth__gp_prior(gp, own, NEW * NEW);
    double mean_k = 0;
    for (size_t i = 0; i < ROWS; i++) mean_k += G[i * (ROWS + 1)] / ROWS;
    lth__gp_prior(gp, G, ROWS * ROWS);
    for (size_t i = 0; i < ROWS; i++) G[i * (ROWS + 1)] += gp->own[0] + gp->jitter * mean_k;
    for (size_t i = 0; i < ROWS * NEW; i++) X[i] = K[i % NEW * ROWS + i / NEW];
    solve(ROWS, G, NEW, X);
    double scale = gp->targets[0].scale * gp->targets[0].scale;
    for (size_t i = 0; i < NEW; i++) {
        for (size_t j = 0; j < NEW; j++) {
            double left = own[i * NEW + j];
            for (size_t k = 0; k < ROWS; k++) left -= K[i * ROWS + k] * X[k * NEW + j];
            support_near(at(&t, 0, i, j), scale * left, 1e-8);
        }
    }
    lth__reading_close(&r);
    forget(&t);
    lth_gp_free(gp);
}

/* ---- What is so for every kind ---- */

/* Means and variances of latent functions as predictions have them. */
static void check_diagonal(const lth_gp *gp, const told *t, const lth_table *table) {
    double mean[2 * NEW], sd[2 * NEW];
    lth_error err = {0};
    lth_gp_prediction to = {.latent_mean = mean, .latent_sd = sd};
    support_ok(lth_gp_predict_all(gp, table, &to, sizeof to, &err), &err);
    for (size_t i = 0; i < t->latents * t->rows; i++) {
        support_near(t->mean[i], mean[i], 1e-12);
        support_near(at(t, i / t->rows, i % t->rows, i % t->rows), sd[i] * sd[i], 1e-11);
    }
}

/* Symmetric, without negative eigenvalues beyond rounding, and not just a diagonal. */
static void check_shape(const told *t) {
    size_t n = t->rows;
    double *A = malloc(n * n * sizeof *A), *values = malloc(n * sizeof *values),
           *U = malloc(n * n * sizeof *U);
    for (size_t l = 0; l < t->latents; l++) {
        double trace = 0, beside = 0;
        for (size_t i = 0; i < n; i++) {
            trace += at(t, l, i, i);
            for (size_t j = 0; j < i; j++) beside += fabs(at(t, l, i, j));
            for (size_t j = 0; j < n; j++) assert_true(at(t, l, i, j) == at(t, l, j, i));
        }
        memcpy(A, t->covariance + l * n * n, n * n * sizeof *A);
        lth__eigen(n, A, values, U);
        for (size_t i = 0; i < n; i++) assert_true(values[i] > -1e-9 * trace);
        assert_true(beside > 1e-3 * trace);
    }
    free(A);
    free(values);
    free(U);
}

static void every_kind(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        print_message("%s\n", kinds[k].name);
        lth_gp *gp = fit(&kinds[k], 0);
        told t = tell(gp, new_rows);
        if (!gp->classes) check_diagonal(gp, &t, new_rows);
        check_shape(&t);
        forget(&t);
        lth_gp_free(gp);
    }
}

/* ---- Pairs of rows, by polarisation: the variance of f(x) + f(y) is that of a row whose
 * covariances are the sums of theirs ---- */

typedef struct priors {
    double K[NEW * 2 * ROWS], self[NEW], own[NEW * NEW];
} priors;

static void find_priors(const lth_gp *gp, priors *p) {
    lth_error err = {0};
    lth__reading r;
    support_ok(lth__reading_open(gp->encoder, new_rows, &r, &err), &err);
    support_ok(lth__gram_against(gp->prepared, r.items, p->K, gp->rows, p->self, &err), &err);
    support_ok(lth_gram(gp->kernel, r.items, NULL, p->own, NEW, &err), &err);
    lth__reading_close(&r);
    lth__gp_prior(gp, p->K, NEW * gp->rows);
    lth__gp_prior(gp, p->self, NEW);
    lth__gp_prior(gp, p->own, NEW * NEW);
}

/* Variances of f(x_i) + by f(x_j), of all latent functions. */
static void vary_sum(const lth_gp *gp, const priors *p, size_t i, size_t j, double by,
                     double *variance) {
    double k[2 * ROWS], mean[4], self;
    lth_ctx own = gp->ctx;
    lth_error err = {0};
    for (size_t a = 0; a < gp->rows; a++)
        k[a] = p->K[i * gp->rows + a] + by * p->K[j * gp->rows + a];
    self = p->self[i] + by * (by * p->self[j] + 2 * p->own[i * NEW + j]);
    support_ok(gp->posterior->predict(gp, &own, 1, k, &self, mean, variance, &err), &err);
}

/* A posterior that is an estimate of each row by itself has no such sums. */
static bool has_sums(const lth_gp *gp) {
    return gp->posterior != &lth__cg;
}

static void check_pairs(const lth_gp *gp, const told *t) {
    priors p;
    find_priors(gp, &p);
    for (size_t i = 0; i < NEW; i++) {
        for (size_t j = 0; j < NEW; j++) {
            double of_i[4], of_j[4], sum[4];
            vary_sum(gp, &p, i, j, 0, of_i);
            vary_sum(gp, &p, j, i, 0, of_j);
            vary_sum(gp, &p, i, j, 1, sum);
            for (size_t l = 0; l < t->latents; l++) {
                bool own = gp->classes || lth__gp_has_own_units(gp);
                double unit = own ? 1 : pow(gp->targets[l].scale, 2);
                support_near(at(t, l, i, j), unit * (sum[l] - of_i[l] - of_j[l]) / 2, 1e-10);
            }
        }
    }
}

static void pairs_of_rows(void **state) {
    (void)state;
    size_t negative = 0;
    for (size_t k = 0; k < KINDS; k++) {
        print_message("%s\n", kinds[k].name);
        lth_gp *gp = fit(&kinds[k], 0);
        told t = tell(gp, new_rows);
        if (has_sums(gp)) check_pairs(gp, &t);
        if (gp->posterior == &lth__laplace_posterior)
            negative += ((const lth__site_model *)gp->solution)->negative[0];
        forget(&t);
        lth_gp_free(gp);
    }
    assert_true(negative > 0); /* sites that take precision away were among them */
}

/* Where the span is nearly everything, conjugate gradients come to the same as a factor. */
static void near_a_factor(void **state) {
    (void)state;
    lth_gp *exact = fit(&kinds[1], 0), *steps = NULL;
    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].posterior == LTH_POSTERIOR_CG) steps = fit(&kinds[k], 0);
    }
    told a = tell(exact, new_rows), b = tell(steps, new_rows);
    for (size_t i = 0; i < a.latents * NEW * NEW; i++)
        support_near(b.covariance[i], a.covariance[i], 1e-2);
    forget(&a);
    forget(&b);
    lth_gp_free(exact);
    lth_gp_free(steps);
}

/* ---- Averages ---- */

enum { DRAWS = 4 };

/* The mean of covariances, and the covariance of means. */
static void check_total(const lth_gp *gp, const told *t) {
    lth__averaged by;
    lth_error err = {0};
    told of[DRAWS];
    support_ok(lth__gp_averaged(gp, &by, &err), &err);
    assert_true(by.count > 1 && by.count <= DRAWS);
    for (size_t m = 0; m < by.count; m++) of[m] = tell(lth__averaged_at(&by, m), new_rows);
    for (size_t at = 0; at < t->latents * NEW * NEW; at++) {
        size_t i = at / NEW, j = at / (NEW * NEW) * NEW + at % NEW;
        double sum = 0;
        for (size_t m = 0; m < by.count; m++)
            sum += by.weight[m] * (of[m].covariance[at] +
                                   (of[m].mean[i] - t->mean[i]) * (of[m].mean[j] - t->mean[j]));
        support_near(t->covariance[at], sum, 1e-11);
    }
    for (size_t m = 0; m < by.count; m++) forget(&of[m]);
}

static void averages(void **state) {
    (void)state;
    const char *some[] = {"exact, two targets", "laplace", "noise", "inducing",
                          "inducing sites",     "cells",   "cg",    "classes"};
    for (size_t k = 0; k < KINDS; k++) {
        bool wanted = false;
        for (size_t i = 0; i < sizeof some / sizeof *some; i++)
            wanted |= strcmp(some[i], kinds[k].name) == 0;
        if (!wanted) continue;
        print_message("%s\n", kinds[k].name);
        lth_gp *gp = fit(&kinds[k], DRAWS);
        told t = tell(gp, new_rows);
        if (!gp->classes) check_diagonal(gp, &t, new_rows);
        check_shape(&t);
        check_total(gp, &t);
        forget(&t);
        lth_gp_free(gp);
    }
}

/* ---- Noise ---- */

static void find_noise(const lth_gp *gp, const lth__known *known, const double *mean, double *out) {
    lth_error err = {0};
    lth__reading r;
    support_ok(lth__reading_open(gp->encoder, new_rows, &r, &err), &err);
    support_ok(lth__gp_noise_items(gp, r.items, known, mean, out, &err), &err);
    lth__reading_close(&r);
}

/* What a number of a row has beside f: where that is normal, what y has beside it. */
static void noise_of_numbers(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].likelihood != 0 || kinds[k].targets[0][0] != 'y') continue;
        lth_gp *gp = fit(&kinds[k], 0);
        double noise[2 * NEW], mean[2 * NEW], sd[2 * NEW], latent[2 * NEW];
        lth_error err = {0};
        lth__known known = {0};
        lth__known_columns columns = {.noise_by = gp->noise_by};
        lth_gp_prediction to = {.latent_mean = mean, .latent_sd = latent, .sd = sd};
        support_ok(lth_gp_predict_all(gp, new_rows, &to, sizeof to, &err), &err);
        support_ok(lth__known_read(new_rows, &columns, false, &known, &err), &err);
        find_noise(gp, &known, mean, noise);
        for (size_t i = 0; i < gp->latents * NEW; i++)
            support_near(noise[i], sd[i] * sd[i] - latent[i] * latent[i], 1e-9);
        lth__known_free(&known);
        lth_gp_free(gp);
    }
}

/* What counts, labels and classes say is known in closed form. */
static void noise_of_others(void **state) {
    (void)state;
    static const double f[NEW + 1] = {-2, -1, 0, 1, 2, 50, -50, 0.3, 0.7, 1};
    for (size_t k = 0; k < KINDS; k++) {
        bool counts = kinds[k].likelihood == LTH_POISSON;
        bool labels = strcmp(kinds[k].name, "two classes") == 0;
        if (!counts && !labels) continue;
        lth_gp *gp = fit(&kinds[k], 0);
        double noise[2 * NEW];
        find_noise(gp, NULL, f, noise);
        for (size_t i = 0; i < NEW; i++) {
            double p = 1 / (1 + exp(-f[i])), information = counts ? exp(f[i]) : p * (1 - p);
            assert_true(noise[i] > 0 && noise[i] <= 1e12);
            if (fabs(f[i]) < 10) support_near(noise[i], 1 / information, 1e-6);
        }
        lth_gp_free(gp);
    }
}

static void noise_of_classes_together(void **state) {
    (void)state;
    double f[3 * NEW], noise[3 * NEW];
    for (size_t i = 0; i < 3 * NEW; i++) f[i] = cos((double)(5 * i));
    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].likelihood != LTH_SOFTMAX) continue;
        lth_gp *gp = fit(&kinds[k], 0);
        find_noise(gp, NULL, f, noise);
        for (size_t i = 0; i < 3 * NEW; i++) {
            double sum = 0;
            for (size_t c = 0; c < 3; c++) sum += exp(f[c * NEW + i % NEW]);
            double p = exp(f[i]) / sum;
            support_near(noise[i], 1 / (p * (1 - p)), 1e-12);
        }
        lth_gp_free(gp);
    }
}

/* ---- In a file, with any number of threads, without memory, without patience ---- */

enum { MANY = 150 }; /* more than a tile */

static told of_threads(unsigned threads, const kind *k, bool by_file) {
    lth_ctx *of = support_context(threads);
    lth_table *table = make_rows(of, ROWS, 0), *many = make_rows(of, MANY, ROWS);
    lth_gp *gp = NULL, *loaded = NULL;
    lth_error err = {0};
    char *path = support_file("", 0);
    support_ok(fit_of(of, table, k, 0, &gp, &err), &err);
    if (by_file) support_ok(lth_gp_save(gp, path, &err), &err);
    if (by_file) support_ok(lth_gp_load(of, path, &loaded, &err), &err);
    told t = tell(by_file ? loaded : gp, many);
    support_remove(path);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    lth_table_free(table);
    lth_table_free(many);
    lth_ctx_free(of);
    return t;
}

static void any_number_of_threads(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        told a = of_threads(1, &kinds[k], false), b = of_threads(3, &kinds[k], true);
        assert_memory_equal(a.mean, b.mean, a.latents * MANY * sizeof *a.mean);
        assert_memory_equal(a.covariance, b.covariance,
                            a.latents * MANY * MANY * sizeof *a.covariance);
        forget(&a);
        forget(&b);
    }
}

static lth_status use(void *user, lth_error *err) {
    double mean[3 * NEW], covariance[3 * NEW * NEW];
    return lth_gp_predict_joint(user, new_rows, mean, covariance, err);
}

static void each_allocation_fails(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        lth_gp *gp = fit(&kinds[k], 0);
        fail_each(use, gp, true, 5);
        lth_gp_free(gp);
    }
    lth_gp *gp = fit(&kinds[0], DRAWS);
    fail_each(use, gp, true, 5);
    lth_gp_free(gp);
}

static bool impatient;

static int stop(void *user, const char *what, double done, double total) {
    (void)user, (void)what, (void)done, (void)total;
    return impatient;
}

static void cancelled(void **state) {
    (void)state;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.progress = stop;
    lth_ctx *of = NULL;
    lth_gp *gp = NULL;
    lth_error err = {0};
    support_ok(lth_ctx_create(&options, &of, &err), &err);
    lth_table *table = make_rows(of, ROWS, 0), *many = make_rows(of, MANY, ROWS);
    support_ok(fit_of(of, table, &kinds[0], 0, &gp, &err), &err);
    double *mean = malloc(MANY * sizeof *mean), *C = malloc(MANY * MANY * sizeof *C);
    impatient = true;
    gp->ctx.asked_at = 1e-9; /* long ago */
    assert_int_equal(lth_gp_predict_joint(gp, many, mean, C, &err), LTH_ECANCELED);
    impatient = false;
    support_ok(lth_gp_predict_joint(gp, many, mean, C, &err), &err);
    free(mean);
    free(C);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_table_free(many);
    lth_ctx_free(of);
}

/* Means alone are those of both. */
static void means_alone(void **state) {
    (void)state;
    lth_gp *gp = fit(&kinds[1], 0);
    lth_error err = {0};
    double mean[2 * NEW];
    told t = tell(gp, new_rows);
    support_ok(lth_gp_predict_joint(gp, new_rows, mean, NULL, &err), &err);
    assert_memory_equal(mean, t.mean, sizeof mean);
    forget(&t);
    lth_gp_free(gp);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_algebra),
        cmocka_unit_test(every_kind),
        cmocka_unit_test(pairs_of_rows),
        cmocka_unit_test(near_a_factor),
        cmocka_unit_test(averages),
        cmocka_unit_test(noise_of_numbers),
        cmocka_unit_test(noise_of_others),
        cmocka_unit_test(noise_of_classes_together),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(each_allocation_fails),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(means_alone),
    };
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
