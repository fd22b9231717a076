/* Targets that learn from each other, against plain dense code over every cell that is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/eigen.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "model/posterior/outputs.h"

enum { ROWS = 17, TARGETS = 3, TESTS = 5 };
static const char *const targets[TARGETS] = {"a", "b", "c"};

static double *room(size_t count) {
    double *x = calloc(count + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* What is missing, where something is. */
static bool is_missing(size_t row, size_t target) {
    return (target == 1 && row % 3 != 0) || (target == 2 && row == 4) || (target == 0 && row == 7);
}

static double number_of(size_t row, size_t target) {
    double x = (double)(row * 37 % 23) / 5;
    return (double)(target + 1) * sin(x) + 0.3 * cos(3 * x + (double)target) + 10 * (double)target;
}

static lth_table *make_table(lth_ctx *ctx, size_t rows, bool gaps) {
    static const char *const words[] = {"one", "two", "three", "four", "five"};
    lth__string lines = {0};
    lth__string_format(&lines, "f1\ttext\ta\tb\tc\n");
    for (size_t i = 0; i < rows; i++) {
        lth__string_format(&lines, "%g\t%s %s %s", (double)(i * 37 % 23) / 5, words[i % 5],
                           words[i * i % 5], words[i / 3 % 5]);
        for (size_t t = 0; t < TARGETS; t++) {
            if (gaps && is_missing(i, t))
                lth__string_format(&lines, "\t");
            else
                lth__string_format(&lines, "\t%.17g", number_of(i, t));
        }
        lth__string_format(&lines, "\n");
    }
    lth_table *table = support_table(ctx, lines.bytes);
    lth__string_free(&lines);
    return table;
}

static lth_gp *fit(lth_ctx *ctx, const char *kernel, const lth_table *table, size_t rank,
                   bool learn) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_gp_options options = support_fixed();
    options.learn = learn;
    options.restarts = 0;
    options.coregion = rank;
    support_ok(lth_gp_fit(ctx, kernel, table, targets, TARGETS, &options, &gp, &err), &err);
    return gp;
}

/* ---- Plain dense code ------------------------------------------------------------------------ */

typedef struct dense {
    size_t cells, row[ROWS * TARGETS], target[ROWS * TARGETS];
    double *X, *y; /* G^-1 */
    double log_det, B[TARGETS * TARGETS];
} dense;

static double *invert(const double *A, size_t n, double *log_det) {
    double *M = room(n * n), *X = room(n * n);
    memcpy(M, A, n * n * sizeof *M);
    for (size_t i = 0; i < n; i++) X[i * n + i] = 1;
    *log_det = 0;
    for (size_t p = 0; p < n; p++) {
        double pivot = M[p * n + p];
        assert_true(pivot > 0);
        *log_det += log(pivot);
        for (size_t c = 0; c < n; c++) M[p * n + c] /= pivot, X[p * n + c] /= pivot;
        for (size_t r = 0; r < n; r++) {
            double factor = M[r * n + p];
            if (r == p || factor == 0) continue;
            for (size_t c = 0; c < n; c++) {
                M[r * n + c] -= factor * M[p * n + c];
                X[r * n + c] -= factor * X[p * n + c];
            }
        }
    }
    free(M);
    return X;
}

/* B straight from the parameters: noise, w by target and rank, own. */
static void make_B(const lth_gp *gp, double *B) {
    size_t rank = gp->how.coregion;
    for (size_t t = 0; t < TARGETS; t++) {
        for (size_t u = 0; u < TARGETS; u++) {
            B[t * TARGETS + u] = t == u ? gp->own[1 + TARGETS * rank] : 0;
            for (size_t r = 0; r < rank; r++)
                B[t * TARGETS + u] += gp->own[1 + t * rank + r] * gp->own[1 + u * rank + r];
        }
    }
}

static dense dense_of(const lth_gp *gp) {
    lth_error err = {0};
    dense d = {0};
    size_t n = gp->rows;
    double *K = room(n * n), *G = room(n * TARGETS * n * TARGETS);
    support_ok(lth_gram(gp->kernel, gp->items, NULL, K, n, &err), &err);
    make_B(gp, d.B);
    d.y = room(n * TARGETS);
    for (size_t i = 0; i < n; i++) {
        for (size_t t = 0; t < TARGETS; t++) {
            if (isnan(gp->y[t * n + i])) continue;
            d.row[d.cells] = i;
            d.target[d.cells] = t;
            d.y[d.cells++] = gp->y[t * n + i];
        }
    }
    for (size_t c = 0; c < d.cells; c++) {
        for (size_t e = 0; e < d.cells; e++)
            G[c * d.cells + e] =
                d.B[d.target[c] * TARGETS + d.target[e]] * K[d.row[c] * n + d.row[e]] +
                (c == e ? gp->own[0] : 0);
    }
    d.X = invert(G, d.cells, &d.log_det);
    free(K);
    free(G);
    return d;
}

static void dense_free(dense *d) {
    free(d->X);
    free(d->y);
}

static double naive_evidence(const lth_gp *gp) {
    dense d = dense_of(gp);
    double fit = 0;
    for (size_t c = 0; c < d.cells; c++) {
        for (size_t e = 0; e < d.cells; e++) fit += d.y[c] * d.X[c * d.cells + e] * d.y[e];
    }
    double sum = -0.5 * (fit + d.log_det + (double)d.cells * log(2 * acos(-1.0)));
    dense_free(&d);
    return sum;
}

static double central_difference(lth_gp *gp, size_t p) {
    double *place = lth__gp_value(gp, p), value = *place, h = 2e-4 * fabs(value), f[4];
    const double steps[] = {-2, -1, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        *place = value + steps[i] * h;
        f[i] = naive_evidence(gp);
    }
    *place = value;
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
}

/* ---- Evidence -------------------------------------------------------------------------------- */

static void check_evidence(const char *kernel, size_t rank, bool gaps) {
    lth_error err = {0};
    lth_ctx *ctx = support_context(2);
    lth_table *table = make_table(ctx, ROWS, gaps);
    lth_gp *gp = fit(ctx, kernel, table, rank, false);
    lth__gram *session = NULL;
    size_t params = lth__gp_param_count(gp);
    double *gradient = room(params), evidence = 0, alone = 0, scales = 0;
    assert_int_equal(params, gp->kernel->param_count + 2 + TARGETS * rank);
    for (size_t t = 0; t < TARGETS; t++) {
        for (size_t i = 0; i < ROWS; i++)
            scales += isnan(gp->y[t * ROWS + i]) ? 0 : log(gp->targets[t].scale);
    }
    support_near(gp->report.evidence, naive_evidence(gp) - scales, 1e-10);
    gp->posterior->free(gp->solution);
    gp->solution = NULL;
    support_ok(gp->posterior->open(gp, &err), &err);
    support_ok(lth__gram_create(gp->kernel, gp->items, NULL, &session, &err), &err);
    for (int round = 0; round < 2; round++) {
        support_ok(lth__gp_evidence(gp, session, &evidence, gradient, &err), &err);
        support_near(evidence, naive_evidence(gp), 1e-11);
        support_ok(lth__gp_evidence(gp, session, &alone, NULL, &err), &err);
        assert_true(alone == evidence);
        for (size_t p = 0; p < params; p++)
            support_near(gradient[p], central_difference(gp, p), 2e-7);
        for (size_t p = 0; p < params; p++) *lth__gp_value(gp, p) *= p % 2 ? 0.8 : 1.1;
    }
    free(gradient);
    lth__gram_free(session);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static const char *const kernels[] = {"rbf(f1, variance=1.5, lengthscale=0.7)",
                                      "normalize(ssk(text, order=2, gap=0.4, match=0.8))",
                                      "ssk(text, order=2) + matern52(f1)"};

static void evidence_by_the_book(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        for (size_t rank = 1; rank <= TARGETS; rank++) {
            check_evidence(kernels[k], rank, false);
            check_evidence(kernels[k], rank, true);
        }
    }
}

/* The form for empty cells, of a table that has none. */
static void use_cells(lth_gp *gp) {
    lth__outputs *o = gp->solution;
    o->row = lth__calloc(ROWS * TARGETS, sizeof *o->row);
    o->target = lth__calloc(ROWS * TARGETS, sizeof *o->target);
    assert_true(o->row && o->target);
    for (size_t c = 0; c < ROWS * TARGETS; c++) {
        o->row[c] = c / TARGETS;
        o->target[c] = c % TARGETS;
    }
}

static void two_forms_agree(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = make_table(ctx, ROWS, false);
    lth_gp *gp = fit(ctx, kernels[2], table, 2, false);
    size_t params = lth__gp_param_count(gp);
    double evidence[2], *gradient[2] = {room(params), room(params)};
    lth__gram *session = NULL;
    support_ok(lth__gram_create(gp->kernel, gp->items, NULL, &session, &err), &err);
    for (int form = 0; form < 2; form++) {
        gp->posterior->free(gp->solution);
        gp->solution = NULL;
        support_ok(gp->posterior->open(gp, &err), &err);
        if (form == 1) use_cells(gp);
        support_ok(lth__gp_evidence(gp, session, &evidence[form], gradient[form], &err), &err);
    }
    support_near(evidence[0], evidence[1], 1e-11);
    for (size_t p = 0; p < params; p++) support_near(gradient[0][p], gradient[1][p], 1e-8);
    free(gradient[0]);
    free(gradient[1]);
    lth__gram_free(session);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* ---- Predictions ----------------------------------------------------------------------------- */

/* Mean and variance of f at row r of `K` (against the rows) and `self`. */
static void naive_predict(const lth_gp *gp, const dense *d, const double *K, double self, size_t t,
                          double *mean, double *variance) {
    double k[ROWS * TARGETS];
    for (size_t c = 0; c < d->cells; c++) k[c] = d->B[t * TARGETS + d->target[c]] * K[d->row[c]];
    *mean = 0;
    *variance = d->B[t * TARGETS + t] * self;
    for (size_t c = 0; c < d->cells; c++) {
        for (size_t e = 0; e < d->cells; e++) {
            *mean += k[c] * d->X[c * d->cells + e] * d->y[e];
            *variance -= k[c] * d->X[c * d->cells + e] * k[e];
        }
    }
    *mean = gp->targets[t].shift + gp->targets[t].scale * *mean;
}

static void check_predictions(bool gaps) {
    lth_error err = {0};
    lth_ctx *ctx = support_context(2);
    lth_table *table = make_table(ctx, ROWS, gaps), *test = make_table(ctx, TESTS + ROWS, false);
    lth_gp *gp = fit(ctx, kernels[0], table, 2, false);
    size_t n = TESTS + ROWS;
    double *found = support_predict(gp, test, true), *K = room(n * ROWS), *self = room(n);
    lth_items *items = NULL;
    support_ok(lth_encode(gp->encoder, test, &items, &err), &err);
    support_ok(lth_gram(gp->kernel, items, gp->items, K, ROWS, &err), &err);
    support_ok(lth_gram_diagonal(gp->kernel, items, self, &err), &err);
    dense d = dense_of(gp);
    for (size_t t = 0; t < TARGETS; t++) {
        for (size_t r = 0; r < n; r++) {
            double mean, variance;
            naive_predict(gp, &d, K + r * ROWS, self[r], t, &mean, &variance);
            support_near(found[t * n + r], mean, 1e-8);
            double sd = found[(TARGETS + t) * n + r] / gp->targets[t].scale;
            support_near(sd * sd, variance, 1e-8);
        }
    }
    /* The same from a file, and with a mean alone. */
    char *path = support_file("", 0);
    lth_gp *again = NULL;
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &again, &err), &err);
    double *same = support_predict(again, test, true);
    assert_memory_equal(same, found, 2 * TARGETS * n * sizeof *same);
    assert_int_equal(again->report.evidence == gp->report.evidence, true);
    assert_string_equal(lth__gp_path(again, gp->kernel->param_count + 1), "w[a,1]");
    double *mean = room(TARGETS * n);
    support_ok(lth_gp_predict(again, test, true, mean, NULL, &err), &err);
    assert_memory_equal(mean, found, TARGETS * n * sizeof *mean);
    support_remove(path);
    dense_free(&d);
    double *blocks[] = {found, K, self, same, mean};
    for (size_t i = 0; i < 5; i++) free(blocks[i]);
    lth_items_free(items);
    lth_gp_free(gp);
    lth_gp_free(again);
    lth_table_free(table);
    lth_table_free(test);
    lth_ctx_free(ctx);
}

static void predictions_by_the_book(void **state) {
    (void)state;
    check_predictions(false);
    check_predictions(true);
}

/* ---- Given other targets of the same row ----------------------------------------------------- */

static void check_given(bool gaps) {
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = make_table(ctx, ROWS, gaps);
    lth_table *test =
        support_table(ctx, "f1\ttext\ta\tc\n1.3\tone\t2\t\n2.9\tone\t\t\n3.1\tone\t1\t30\n");
    lth_gp *gp = fit(ctx, kernels[0], table, 2, false);
    const char *const given[] = {"c", "a"};
    double mean[TARGETS * 3], sd[TARGETS * 3];
    lth_gp_prediction to = {.latent_mean = mean, .latent_sd = sd, .given = given, .given_count = 2};
    support_ok(lth_gp_predict_all(gp, test, &to, sizeof to, &err), &err);
    double *alone = support_predict(gp, test, true);
    static const double seen[3][TARGETS] = {{2, NAN, NAN}, {NAN, NAN, NAN}, {1, NAN, 30}};
    static const double f1[] = {1.3, 2.9, 3.1};
    double K[ROWS + 1], numbers[ROWS];
    for (size_t i = 0; i < ROWS; i++) numbers[i] = (double)(i * 37 % 23) / 5;
    for (size_t r = 0; r < 3; r++) {
        for (size_t i = 0; i < ROWS; i++) {
            double d = (f1[r] - numbers[i]) / 0.7;
            K[i] = 1.5 * exp(-d * d / 2);
        }
        /* The joint distribution of the three targets, then of those that are left. */
        dense d = dense_of(gp);
        double m[TARGETS], C[TARGETS * TARGETS];
        for (size_t t = 0; t < TARGETS; t++) {
            m[t] = 0;
            for (size_t u = 0; u < TARGETS; u++) C[t * TARGETS + u] = 1.5 * d.B[t * TARGETS + u];
            for (size_t c = 0; c < d.cells; c++) {
                double k = d.B[t * TARGETS + d.target[c]] * K[d.row[c]];
                for (size_t e = 0; e < d.cells; e++) {
                    m[t] += k * d.X[c * d.cells + e] * d.y[e];
                    for (size_t u = 0; u < TARGETS; u++)
                        C[t * TARGETS + u] -=
                            k * d.X[c * d.cells + e] * d.B[u * TARGETS + d.target[e]] * K[d.row[e]];
                }
            }
        }
        size_t known[TARGETS], count = 0;
        double S[TARGETS * TARGETS], y[TARGETS], log_det;
        for (size_t t = 0; t < TARGETS; t++)
            if (!isnan(seen[r][t])) known[count++] = t;
        for (size_t a = 0; a < count; a++) {
            y[a] = (seen[r][known[a]] - gp->targets[known[a]].shift) / gp->targets[known[a]].scale -
                   m[known[a]];
            for (size_t b = 0; b < count; b++)
                S[a * count + b] = C[known[a] * TARGETS + known[b]] + (a == b ? gp->own[0] : 0);
        }
        double *X = invert(S, count, &log_det);
        for (size_t t = 0; t < TARGETS; t++) {
            double expected = m[t], variance = C[t * TARGETS + t], scale = gp->targets[t].scale;
            for (size_t i = 0; i < count * count; i++) {
                size_t a = i / count, b = i % count;
                double gain = C[t * TARGETS + known[a]] * X[a * count + b];
                expected += gain * y[b];
                variance -= gain * C[t * TARGETS + known[b]];
            }
            support_near(mean[t * 3 + r], gp->targets[t].shift + scale * expected, 1e-9);
            support_near(sd[t * 3 + r], scale * sqrt(variance), 1e-8);
        }
        free(X);
        dense_free(&d);
    }
    for (size_t t = 0; t < TARGETS; t++) support_near(mean[t * 3 + 1], alone[t * 3 + 1], 1e-12);
    free(alone);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_table_free(test);
    lth_ctx_free(ctx);
}

static void given_by_the_book(void **state) {
    (void)state;
    check_given(false);
    check_given(true);
}

/* A cell from all others: mean = y - alpha / inverse, variance = 1 / inverse. */
static void check_left_out(bool gaps) {
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = make_table(ctx, ROWS, gaps);
    lth_gp *gp = fit(ctx, kernels[0], table, 1, false);
    dense d = dense_of(gp);
    double y[ROWS], mean[ROWS], sd[ROWS];
    size_t known = 0;
    for (size_t t = 0; t < TARGETS; t++) {
        support_ok(lth_gp_leave_one_out(gp, t, y, mean, sd, &err), &err);
        for (size_t c = 0; c < d.cells; c++) {
            if (d.target[c] != t) continue;
            double alpha = 0, inverse = d.X[c * d.cells + c], scale = gp->targets[t].scale;
            for (size_t e = 0; e < d.cells; e++) alpha += d.X[c * d.cells + e] * d.y[e];
            support_near(mean[d.row[c]], gp->targets[t].shift + scale * (d.y[c] - alpha / inverse),
                         1e-9);
            support_near(sd[d.row[c]], scale / sqrt(inverse), 1e-9);
            support_near(y[d.row[c]], number_of(d.row[c], t), 1e-9);
            known += t == 0;
        }
        for (size_t i = 0; i < ROWS; i++) {
            if (gaps && is_missing(i, t))
                assert_true(isnan(y[i]) && isnan(mean[i]) && isnan(sd[i]));
        }
    }
    assert_int_equal(gp->loo.count, known);
    dense_free(&d);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static void left_out_by_the_book(void **state) {
    (void)state;
    check_left_out(false);
    check_left_out(true);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* A row without any target changes nothing. */
static void empty_rows_count_for_nothing(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *with =
                  support_table(ctx, "f1\ta\tb\tc\n1\t1\t2\t1\n7\t\t\t\n2\t3\t\t2\n4\t2\t1\t5\n"),
              *without = support_table(ctx, "f1\ta\tb\tc\n1\t1\t2\t1\n2\t3\t\t2\n4\t2\t1\t5\n");
    lth_gp *a = fit(ctx, "rbf(f1)", with, 1, true), *b = fit(ctx, "rbf(f1)", without, 1, true);
    assert_int_equal(a->rows, 3);
    assert_true(a->report.evidence == b->report.evidence);
    lth_gp_free(a);
    lth_gp_free(b);
    lth_table_free(with);
    lth_table_free(without);
    lth_ctx_free(ctx);
}

/* Each target is judged by the rows that have it. */
static void folds_of_wide_rows(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = make_table(ctx, ROWS, true);
    lth_gp_options options = support_fixed();
    lth_validation *v = NULL;
    size_t fold[ROWS], known[TARGETS] = {0};
    options.coregion = 2;
    for (size_t i = 0; i < ROWS; i++) fold[i] = i % 4;
    for (size_t i = 0; i < ROWS * TARGETS; i++)
        known[i % TARGETS] += !is_missing(i / TARGETS, i % TARGETS);
    support_ok(lth_gp_cv(ctx, kernels[0], table, targets, TARGETS, fold, 4, &options, &v, &err),
               &err);
    for (size_t t = 0; t < TARGETS; t++) {
        assert_int_equal(lth_validation_metrics(v, t, LTH_NONE)->count, known[t]);
        assert_true(isfinite(lth_validation_value(v, t, 4)));
        assert_true(lth_validation_evidence(v, t, 0) == lth_validation_evidence(v, 0, 0));
    }
    lth_validation_free(v);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* ---- Mistakes -------------------------------------------------------------------------------- */

static void refused(lth_ctx *ctx, const lth_table *table, const char *const *names, size_t count,
                    const lth_gp_options *options, const char *why) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    assert_int_not_equal(lth_gp_fit(ctx, "rbf(f1)", table, names, count, options, &gp, &err),
                         LTH_OK);
    assert_null(gp);
    if (!strstr(err.message, why)) fail_msg("\"%s\" does not say \"%s\"", err.message, why);
}

static void mistakes(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "f1\ta\tb\tl\te\n1\t1\t2\tyes\t\n2\t\t5\tno\t\n");
    const char *const two[] = {"a", "b"}, *const labels[] = {"l", "a"}, *const empty[] = {"a", "e"};
    lth_gp_options o = support_fixed();
    refused(ctx, table, two, 2, &o, "number");
    o.coregion = 2;
    refused(ctx, table, two, 1, &o, "is the only one");
    refused(ctx, table, labels, 2, &o, "has labels");
    refused(ctx, table, empty, 2, &o, "\"e\" has no number");
    o.coregion = 3;
    refused(ctx, table, two, 2, &o, "there are 2 targets");
    o.coregion = 1;
    o.likelihood = LTH_STUDENT;
    refused(ctx, table, two, 2, &o, "gaussian");
    o.likelihood = LTH_GAUSSIAN;
    o.posterior = LTH_POSTERIOR_CG;
    refused(ctx, table, two, 2, &o, "posterior");
    o.posterior = LTH_POSTERIOR_AUTO;
    o.unscaled = true;
    refused(ctx, table, two, 2, &o, "unscaled");
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* ---- Memory and files ------------------------------------------------------------------------ */

typedef struct use {
    lth_ctx *ctx;
    const lth_table *table;
} use;

/* Fit, save, load, predict, validate. */
static lth_status use_all(void *user, lth_error *err) {
    const use *u = user;
    lth_gp_options options = support_fixed();
    options.learn = true;
    options.restarts = 0;
    options.max_iter = 1;
    options.coregion = 1;
    lth_gp *gp = NULL, *loaded = NULL;
    lth_validation *v = NULL;
    size_t fold[ROWS];
    for (size_t i = 0; i < ROWS; i++) fold[i] = i % 2;
    double y[ROWS], mean[TARGETS * ROWS], sd[TARGETS * ROWS];
    lth_gp_prediction to = {.mean = mean, .sd = sd, .given = &targets[1], .given_count = 1};
    lth_status status =
        lth_gp_fit(u->ctx, "rbf(f1)", u->table, targets, TARGETS, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, "outputs.model", err);
    if (status == LTH_OK) status = lth_gp_load(u->ctx, "outputs.model", &loaded, err);
    if (status == LTH_OK) status = lth_gp_leave_one_out(loaded, 1, y, mean, sd, err);
    if (status == LTH_OK) status = lth_gp_predict_all(loaded, u->table, &to, sizeof to, err);
    options.learn = false;
    if (status == LTH_OK)
        status =
            lth_gp_cv(u->ctx, "rbf(f1)", u->table, targets, TARGETS, fold, 2, &options, &v, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    lth_validation_free(v);
    unlink("outputs.model");
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    for (int gaps = 0; gaps < 2; gaps++) {
        lth_table *table = make_table(ctx, ROWS, gaps);
        fail_each(use_all, &(use){ctx, table}, true, 100);
        lth_table_free(table);
    }
    lth_ctx_free(ctx);
}

/* A file whose parts do not agree is refused; the checksum does not save it. */
static void hostile_files(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = make_table(ctx, ROWS, true);
    lth_gp *gp = fit(ctx, kernels[0], table, 2, false), *again = NULL;
    lth__outputs *o = gp->solution;
    size_t own = gp->own_count - 1, rank = gp->how.coregion;
    for (int way = 0; way < 5; way++) {
        double kept_own = gp->own[own], kept_y = gp->y[0], kept = o->L[0][0];
        if (way == 0) gp->own[own] = 0;
        if (way == 1) gp->how.coregion = 1;
        if (way == 2) gp->how.coregion = 4;
        if (way == 3) gp->y[0] = NAN; /* one cell less than its factor is for */
        if (way == 4) o->L[0][0] = NAN;
        lth_status saved = lth_gp_save(gp, "outputs.model", &err);
        gp->own[own] = kept_own;
        gp->how.coregion = rank;
        gp->y[0] = kept_y;
        o->L[0][0] = kept;
        if (way == 4) { /* which nobody would read */
            assert_int_equal(saved, LTH_ENUMERIC);
            assert_non_null(strstr(err.message, "not finite (factor0.packed)"));
            continue;
        }
        support_ok(saved, &err);
        assert_int_equal(lth_gp_load(ctx, "outputs.model", &again, &err), LTH_EFORMAT);
        assert_null(again);
    }
    unlink("outputs.model");
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* ---- Eigenvalues ----------------------------------------------------------------------------- */

static void eigenvalues(void **state) {
    (void)state;
    enum { N = 7 };
    double A[N * N], copy[N * N], l[N], U[N * N];
    for (size_t i = 0; i < N * N; i++) A[i] = cos((double)(i / N * (i % N))) + (i % (N + 1) == 0);
    memcpy(copy, A, sizeof A);
    lth__eigen(N, copy, l, U);
    for (size_t i = 0; i < N; i++) {
        if (i > 0) assert_true(l[i - 1] >= l[i]);
        for (size_t j = 0; j < N; j++) {
            double back = 0, one = 0;
            for (size_t e = 0; e < N; e++) {
                back += U[i * N + e] * l[e] * U[j * N + e];
                one += U[e * N + i] * U[e * N + j];
            }
            support_near(back, A[i * N + j], 1e-13);
            support_near(one, i == j, 1e-13);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_by_the_book),
        cmocka_unit_test(two_forms_agree),
        cmocka_unit_test(predictions_by_the_book),
        cmocka_unit_test(given_by_the_book),
        cmocka_unit_test(left_out_by_the_book),
        cmocka_unit_test(empty_rows_count_for_nothing),
        cmocka_unit_test(folds_of_wide_rows),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(each_allocation_fails),
        cmocka_unit_test(hostile_files),
        cmocka_unit_test(eigenvalues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
