/* Gaussian process regression against plain dense code. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "data/table.h"
#include "gp_support.h"
#include "model/gp/gp.h"

/* ---- Plain dense code ------------------------------------------------------------------------ */

static double *room(size_t count) {
    double *x = calloc(count + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* The inverse of a positive definite matrix, by Gauss and Jordan; *log_det its log determinant. */
static double *invert(const double *A, size_t n, double *log_det) {
    double *M = room(n * n), *X = room(n * n);
    memcpy(M, A, n * n * sizeof *M);
    for (size_t i = 0; i < n; i++) X[i * n + i] = 1;
    *log_det = 0;
    for (size_t p = 0; p < n; p++) {
        double pivot = M[p * n + p];
        assert_true(pivot > 0);
        *log_det += log(pivot);
        for (size_t c = 0; c < n; c++) {
            M[p * n + c] /= pivot;
            X[p * n + c] /= pivot;
        }
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

static double *gram(const lth_gp *gp, const lth_items *rows, const lth_items *cols) {
    lth_error err = {0};
    double *K = room(lth_items_count(rows) * lth_items_count(cols ? cols : rows));
    support_ok(lth_gram(gp->kernel, rows, cols, K, lth_items_count(cols ? cols : rows), &err),
               &err);
    return K;
}

/* (K + noise)^-1 of the training rows. */
static double *inverse_of(const lth_gp *gp, double *log_det) {
    size_t n = gp->rows;
    double *K = gram(gp, gp->items, NULL);
    for (size_t i = 0; i < n; i++) K[i * n + i] += gp->own[0];
    double *X = invert(K, n, log_det);
    free(K);
    return X;
}

static double naive_evidence(const lth_gp *gp) {
    size_t n = gp->rows, t = gp->target_count;
    double log_det, sum = 0, *X = inverse_of(gp, &log_det);
    for (size_t k = 0; k < t; k++) {
        double fit = 0;
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++)
                fit += gp->y[k * n + i] * X[i * n + j] * gp->y[k * n + j];
        }
        sum -= 0.5 * fit + 0.5 * log_det + 0.5 * (double)n * log(2 * acos(-1.0));
    }
    free(X);
    return sum;
}

/* ---- Evidence and gradient ------------------------------------------------------------------- */

/* By parameter p, or the noise when p is past the last. */
static double *place_of(lth_gp *gp, size_t p) {
    return lth__gp_value(gp, p);
}

static double central_difference(lth_gp *gp, size_t p) {
    double *place = place_of(gp, p), value = *place, h = 2e-4 * fabs(value), f[4];
    const double steps[] = {-2, -1, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        *place = value + steps[i] * h;
        f[i] = naive_evidence(gp);
    }
    *place = value;
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
}

static void check_evidence(const char *kernel, size_t targets) {
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_rows(ctx, 0, 23);
    char *vectors = support_vectors();
    lth_gp_options options = support_fixed();
    options.vectors = vectors;
    lth_gp *gp = support_fit(ctx, kernel, table, targets, &options);
    lth__gram *session = NULL;
    support_ok(lth__gram_create(gp->kernel, gp->items, NULL, &session, &err), &err);
    size_t params = gp->kernel->param_count + 1;
    double *gradient = room(params), evidence = 0, alone = 0;
    assert_true(gp->jitter == 0);
    for (int round = 0; round < 2; round++) {
        support_ok(lth__gp_evidence(gp, session, &evidence, gradient, &err), &err);
        support_near(evidence, naive_evidence(gp), 1e-11);
        support_ok(lth__gp_evidence(gp, session, &alone, NULL, &err), &err);
        assert_true(alone == evidence);
        for (size_t p = 0; p < params; p++)
            support_near(gradient[p], central_difference(gp, p), 2e-7);
        /* Once more from elsewhere: what the session keeps must not be stale. */
        for (size_t p = 0; p < params; p++) *place_of(gp, p) *= 0.9;
    }
    double scales = 0;
    for (size_t k = 0; k < targets; k++) scales += 23 * log(gp->targets[k].scale);
    for (size_t p = 0; p < params; p++) *place_of(gp, p) /= 0.9 * 0.9;
    support_near(gp->report.evidence, naive_evidence(gp) - scales, 1e-10);
    free(gradient);
    lth__gram_free(session);
    lth_gp_free(gp);
    support_remove(vectors);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static const char *const kernels[] = {
    "rbf(f1, variance=1.5, lengthscale=0.7)",
    "rbf(f1..f2, ard=yes, lengthscale=[0.7,1.5])",
    "matern32(f2, lengthscale=0.9)",
    "rq(f1..f2, alpha=2, lengthscale=1.3)",
    "linear(f1, variance=0.3) + matern52(f2, variance=0.5) * rbf(f1)",
    "ssk(text, order=3, gap=0.4, match=0.8, weights=[1,0.5,0.25])",
    "normalize(ssk(text, units=chars, order=3, gap=$l=0.6, match=$l))",
    "rbf(tfidf(text), lengthscale=2)",
    "arccos(ngrams(text)) + 0.7",
    "ssk(text, order=2, sim=exp, temperature=0.8, rarity=0.1, gap=0.3)",
    "normalize(ssk(text, order=2, sim=dot, oov=parts)) + matern52(mean(text))",
    "normalize(ssk(text, order=2, sim=exp, rarity=0.1, ard=3, relevance=[0.5,2,1]))",
};

static void evidence_of_one_target(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) check_evidence(kernels[i], 1);
}

static void evidence_of_three_targets(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) check_evidence(kernels[i], 3);
}

/* ---- Predictions ----------------------------------------------------------------------------- */

static void check_predictions(const char *kernel, size_t targets) {
    enum { TRAIN = 23, TEST = 9 };
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *train = support_rows(ctx, 0, TRAIN), *test = support_rows(ctx, 50, TEST);
    char *vectors = support_vectors();
    lth_gp_options options = support_fixed();
    options.vectors = vectors;
    options.noise = 0.25;
    lth_gp *gp = support_fit(ctx, kernel, train, targets, &options);
    double *latent = support_predict(gp, test, true), *noisy = support_predict(gp, test, false);
    lth_items *items = NULL;
    support_ok(lth_encode(gp->encoder, test, &items, &err), &err);
    double log_det, *X = inverse_of(gp, &log_det);
    double *K = gram(gp, items, gp->items), *self = gram(gp, items, NULL);
    size_t y_column[] = {3, 4, 5};
    for (size_t t = 0; t < targets; t++) {
        double y[TRAIN], mean_y = 0, scale = 0;
        for (size_t i = 0; i < TRAIN; i++) {
            support_ok(lth__table_number(train, i, y_column[t], &y[i], &err), &err);
            mean_y += y[i] / TRAIN;
        }
        for (size_t i = 0; i < TRAIN; i++) scale += (y[i] - mean_y) * (y[i] - mean_y) / TRAIN;
        scale = sqrt(scale);
        for (size_t r = 0; r < TEST; r++) {
            double mean = 0, variance = self[r * TEST + r];
            for (size_t i = 0; i < TRAIN; i++) {
                for (size_t j = 0; j < TRAIN; j++) {
                    double k = K[r * TRAIN + i] * X[i * TRAIN + j];
                    mean += k * (y[j] - mean_y) / scale;
                    variance -= k * K[r * TRAIN + j];
                }
            }
            size_t at = t * TEST + r, sd = targets * TEST + at;
            support_near(latent[at] / scale, mean + mean_y / scale, 1e-9);
            support_near(latent[sd] / scale, sqrt(variance > 0 ? variance : 0), 1e-6);
            support_near(noisy[sd] / scale, sqrt(variance + gp->own[0]), 1e-9);
            assert_true(noisy[at] == latent[at]);
        }
    }
    /* The noise given is that of the first target, in its own units. */
    support_near(gp->own[0] * gp->targets[0].scale * gp->targets[0].scale, 0.25, 1e-14);
    support_near(lth_gp_param_at(gp, LTH_NONE)->value, 0.25, 1e-14);
    assert_string_equal(lth_gp_param_at(gp, LTH_NONE)->path, "noise");
    /* Without sd the means are the same. */
    double *alone = room(targets * TEST);
    support_ok(lth_gp_predict(gp, test, false, alone, NULL, &err), &err);
    assert_memory_equal(alone, noisy, targets * TEST * sizeof *alone);
    double *blocks[] = {latent, noisy, X, K, self, alone};
    for (size_t i = 0; i < 6; i++) free(blocks[i]);
    lth_items_free(items);
    lth_gp_free(gp);
    support_remove(vectors);
    lth_table_free(train);
    lth_table_free(test);
    lth_ctx_free(ctx);
}

static void predictions_by_the_book(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        check_predictions(kernels[i], i % 2 ? 3 : 1);
}

/* More rows than one slice of predictions, in another order than they are computed. */
static void many_rows(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *train = support_rows(ctx, 0, 12), *test = support_rows(ctx, 0, 1100),
              *last = support_rows(ctx, 1090, 10), *none = support_rows(ctx, 0, 0);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "rbf(f1..f2) + ssk(text, order=2)", train, 2, &options);
    double *all = support_predict(gp, test, false), *few = support_predict(gp, last, false);
    for (size_t k = 0; k < 4; k++) {
        for (size_t i = 0; i < 10; i++)
            support_near(all[k * 1100 + 1090 + i], few[k * 10 + i], 1e-12);
    }
    free(support_predict(gp, none, false));
    free(all);
    free(few);
    lth_gp_free(gp);
    lth_table_free(train);
    lth_table_free(test);
    lth_table_free(last);
    lth_table_free(none);
    lth_ctx_free(ctx);
}

/* ---- Leave one out --------------------------------------------------------------------------- */

/* f1 and y of n rows, all but one of them; LTH_NONE = all. */
static lth_table *rows_but(lth_ctx *ctx, size_t n, size_t without, double scale, double shift) {
    lth__string lines = {0};
    lth__string_format(&lines, "f1\ttext\ty\n");
    for (size_t i = 0; i < n; i++) {
        if (i == without) continue;
        double x = (double)(i * 5 % 7) + 0.1 * (double)i;
        lth__string_format(&lines, "%.17g\t%s %s\t%.17g\n", x, i % 2 ? "good" : "bad",
                           i % 3 ? "lamp" : "radio",
                           shift + scale * (sin(x) + 0.1 * (double)(i % 4)));
    }
    lth_table *table = support_table(ctx, lines.bytes);
    lth__string_free(&lines);
    return table;
}

static void compare_metrics(lth_metrics a, lth_metrics b) {
    assert_int_equal(a.count, b.count);
    support_near(a.nlpd, b.nlpd, 1e-10);
    support_near(a.mae, b.mae, 1e-10);
    support_near(a.rmse, b.rmse, 1e-10);
    support_near(a.r, b.r, 1e-10);
    support_near(a.r2, b.r2, 1e-10);
    assert_true(a.coverage == b.coverage);
}

static lth_metrics metrics_of(const double *y, const double *mean, const double *sd, size_t count) {
    lth_metrics m;
    lth_metrics_of(y, mean, sd, count, &m, sizeof m);
    return m;
}

static void leaving_out(void **state) {
    (void)state;
    enum { N = 12 };
    const char *const list[] = {"rbf(f1, variance=2)",
                                "ssk(text, order=2, gap=0.3) + matern32(f1, lengthscale=2)"};
    for (size_t k = 0; k < 2; k++) {
        lth_error err = {0};
        lth_ctx *ctx = support_context(1);
        lth_table *all = rows_but(ctx, N, LTH_NONE, 3, 1);
        lth_gp_options options = support_fixed();
        options.zero_mean = options.unscaled = true; /* so that each model has the same */
        options.noise = 0.2;
        lth_gp *gp = support_fit(ctx, list[k], all, 1, &options);
        double y[N], mean[N], sd[N];
        size_t fold[N];
        for (size_t i = 0; i < N; i++) {
            lth_table *rest = rows_but(ctx, N, i, 3, 1);
            lth_gp *without = support_fit(ctx, list[k], rest, 1, &options);
            double *p = support_predict(without, all, false);
            mean[i] = p[i];
            sd[i] = p[N + i];
            fold[i] = i;
            support_ok(lth__table_number(all, i, 2, &y[i], &err), &err);
            free(p);
            lth_gp_free(without);
            lth_table_free(rest);
        }
        compare_metrics(*lth_gp_reported(gp)->loo, metrics_of(y, mean, sd, N));

        /* Cross-validation with as many folds as rows does the same. */
        lth_validation *v;
        const char *name = "y";
        support_ok(lth_gp_cv(ctx, list[k], all, &name, 1, fold, N, &options, &v, &err), &err);
        compare_metrics(*lth_validation_metrics(v, 0, LTH_NONE), *lth_gp_reported(gp)->loo);
        for (size_t i = 0; i < N; i++) {
            support_near(lth_validation_value(v, 0, i), mean[i], 1e-12);
            support_near(lth_validation_sd(v, 0, i), sd[i], 1e-12);
            support_near(lth_validation_metrics(v, 0, i)->mae, fabs(y[i] - mean[i]), 1e-12);
        }
        lth_validation_free(v);
        lth_gp_free(gp);
        lth_table_free(all);
        lth_ctx_free(ctx);
    }
}

static void folds_out_of_range(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *all = rows_but(ctx, 4, LTH_NONE, 3, 1);
    lth_gp_options options = support_fixed();
    lth_validation *result = NULL;
    const char *name = "y";
    const size_t beyond[] = {0, 1, 0, 2}, empty[] = {0, 0, 0, 0};
    assert_int_equal(lth_gp_cv(ctx, "rbf(f1)", all, &name, 1, beyond, 2, &options, &result, &err),
                     LTH_EARG);
    assert_int_equal(lth_gp_cv(ctx, "rbf(f1)", all, &name, 1, empty, 2, &options, &result, &err),
                     LTH_EARG);
    assert_int_equal(lth_gp_cv(ctx, "rbf(f1)", all, &name, 1, empty, 0, &options, &result, &err),
                     LTH_EARG);
    assert_null(result);
    lth_table_free(all);
    lth_ctx_free(ctx);
}

/* ---- Units of the target --------------------------------------------------------------------- */

static void check_units(double scale, double shift, bool learn) {
    enum { N = 14 };
    lth_ctx *ctx = support_context(1);
    lth_table *plain = rows_but(ctx, N, LTH_NONE, 1, 0),
              *moved = rows_but(ctx, N, LTH_NONE, scale, shift);
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.learn = learn;
    options.max_iter = 6;
    options.restarts = 0;
    lth_gp *a = support_fit(ctx, "rbf(f1) + ssk(text, order=2)", plain, 1, &options);
    lth_gp *b = support_fit(ctx, "rbf(f1) + ssk(text, order=2)", moved, 1, &options);
    double *p = support_predict(a, moved, false), *q = support_predict(b, plain, false);
    double size = fabs(scale);
    for (size_t i = 0; i < N; i++) {
        support_near((q[i] - shift) / scale, p[i], 1e-8);
        support_near(q[N + i] / size, p[N + i], 1e-8);
    }
    lth_gp_report r = *lth_gp_reported(a), s = *lth_gp_reported(b);
    support_near(s.evidence, r.evidence - N * log(size), 1e-8);
    support_near(s.noise / (size * size), r.noise, 1e-8);
    support_near(s.loo->rmse / size, r.loo->rmse, 1e-8);
    support_near(s.loo->mae / size, r.loo->mae, 1e-8);
    support_near(s.loo->nlpd, r.loo->nlpd + log(size), 1e-8);
    support_near(s.loo->r, r.loo->r, 1e-8);
    support_near(s.loo->r2, r.loo->r2, 1e-8);
    assert_true(s.loo->coverage == r.loo->coverage);
    free(p);
    free(q);
    lth_gp_free(a);
    lth_gp_free(b);
    lth_table_free(plain);
    lth_table_free(moved);
    lth_ctx_free(ctx);
}

static void shifted_and_scaled(void **state) {
    (void)state;
    for (int learn = 0; learn < 2; learn++) {
        check_units(1000, 0, learn);
        check_units(1, -77, learn);
        check_units(-0.25, 3, learn);
        check_units(1e-15, 0, learn); /* small, but not constant */
    }
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void same_bits(void **state) {
    (void)state;
    enum { TRAIN = 130, TEST = 70 };
    const char *const list[] = {"rbf(f1..f2, ard=yes)",
                                "normalize(ssk(text, order=3)) * matern52(f1)"};
    for (size_t k = 0; k < 2; k++) {
        double *first = NULL, evidence = 0;
        for (unsigned threads = 1; threads <= 3; threads++) {
            lth_ctx *ctx = support_context(threads);
            lth_table *train = support_rows(ctx, 0, TRAIN), *test = support_rows(ctx, 200, TEST);
            lth_gp_options options;
            lth_gp_options_init(&options);
            options.restarts = 1;
            options.max_iter = 3;
            lth_gp *gp = support_fit(ctx, list[k], train, 2, &options);
            double *p = support_predict(gp, test, false);
            if (threads == 1) {
                first = p;
                evidence = lth_gp_reported(gp)->evidence;
            } else {
                assert_memory_equal(p, first, 4 * TEST * sizeof *p);
                assert_true(evidence == lth_gp_reported(gp)->evidence);
                free(p);
            }
            lth_gp_free(gp);
            lth_table_free(train);
            lth_table_free(test);
            lth_ctx_free(ctx);
        }
        free(first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_of_one_target),
        cmocka_unit_test(evidence_of_three_targets),
        cmocka_unit_test(predictions_by_the_book),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(leaving_out),
        cmocka_unit_test(folds_out_of_range),
        cmocka_unit_test(shifted_and_scaled),
        cmocka_unit_test(same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
