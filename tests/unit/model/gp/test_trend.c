/* The linear part of a Gaussian process: means as texts, weights against plain algebra, and
 * recovered from data that have them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "failing_allocator.h"
#include "gp_support.h"

enum { ROWS = 40, LONGEST = 16384 };
static lth_ctx *ctx;
static const char text_kernel[] = "linear(normalize(ssk(text, order=2)))";

/* ---- Data ---- */

typedef struct data {
    double zs[ROWS], f[ROWS], y[ROWS];
    lth_table *table;
} data;

static double normal(lth__random *random) {
    double u = lth__random_uniform(random), v = lth__random_uniform(random);
    return sqrt(-2 * log(u + 1e-300)) * cos(2 * M_PI * v);
}

/* y = 3 zs + the words + noise; f says nothing. */
static data make_data(uint64_t seed) {
    static const char *const word[] = {"the", "cat", "dog", "runs", "sleeps", "old", "red"};
    lth__random random;
    lth__random_seed(&random, seed);
    data d;
    double worth[7];
    char lines[LONGEST];
    int used = snprintf(lines, sizeof lines, "text\tzs\tf1\ty\tkind\n");
    for (size_t w = 0; w < 7; w++) worth[w] = 2 * normal(&random);
    for (size_t i = 0; i < ROWS; i++) {
        d.zs[i] = 10 + 5 * normal(&random);
        d.f[i] = 100 * normal(&random);
        d.y[i] = 3 * d.zs[i] + 0.3 * normal(&random);
        for (size_t k = 0; k < 4; k++) {
            size_t w = (size_t)lth__random_below(&random, 7);
            d.y[i] += worth[w] / 4;
            used += snprintf(lines + used, sizeof lines - (size_t)used, "%s ", word[w]);
        }
        used += snprintf(lines + used, sizeof lines - (size_t)used, "\t%.17g\t%.17g\t%.17g\t%s\n",
                         d.zs[i], d.f[i], d.y[i], d.y[i] > 30 ? "high" : "low");
    }
    d.table = support_table(ctx, lines);
    return d;
}

static lth_gp *fit(const data *d, const char *kernel, const char *mean, bool learn,
                   lth_posterior posterior) {
    lth_gp_options options = support_fixed();
    options.learn = learn;
    options.restarts = 0;
    options.mean = mean;
    options.posterior = posterior;
    options.inducing = posterior == LTH_POSTERIOR_INDUCING ? ROWS : 0;
    options.tolerance = posterior == LTH_POSTERIOR_CG ? 1e-12 : 0;
    return support_fit(ctx, kernel, d->table, 1, &options);
}

static lth_trend *trend_of(const lth_gp *gp, size_t target) {
    lth_error err = {0};
    lth_trend *t = NULL;
    support_ok(lth_gp_trend(gp, target, &t, &err), &err);
    return t;
}

/* ---- By definition ---- */

static void scale(const double *x, double *out, double *mean, double *sd) {
    *mean = *sd = 0;
    for (size_t i = 0; i < ROWS; i++) *mean += x[i] / ROWS;
    for (size_t i = 0; i < ROWS; i++) *sd += (x[i] - *mean) * (x[i] - *mean) / ROWS;
    *sd = sqrt(*sd);
    for (size_t i = 0; i < ROWS; i++) out[i] = (x[i] - *mean) / *sd;
}

/* x = G^-1 b by elimination; G is overwritten. */
static void solve(double G[ROWS][ROWS], const double *b, double *x) {
    memcpy(x, b, ROWS * sizeof *x);
    for (size_t k = 0; k < ROWS; k++) {
        for (size_t i = k + 1; i < ROWS; i++) {
            double factor = G[i][k] / G[k][k];
            for (size_t j = k; j < ROWS; j++) G[i][j] -= factor * G[k][j];
            x[i] -= factor * x[k];
        }
    }
    for (size_t i = ROWS; i-- > 0;) {
        for (size_t j = i + 1; j < ROWS; j++) x[i] -= G[i][j] * x[j];
        x[i] /= G[i][i];
    }
}

static void fill_gram(const lth_gp *gp, const data *d, double G[ROWS][ROWS]) {
    lth_error err = {0};
    char text[2000];
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    assert_true(lth_kernel_print(lth_gp_kernel(gp), text, sizeof text) < sizeof text);
    support_ok(lth_kernel_parse(ctx, text, &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, d->table, &items, &err), &err);
    support_ok(lth_gram(kernel, items, NULL, G[0], ROWS, &err), &err);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
}

/* w = v s^T G^-1 y and var w = v - v^2 s^T G^-1 s, with y scaled; then in the units of both. */
static void check_weight(const lth_gp *gp, const data *d, const double *column, double v,
                         const lth_trend_weight *got, const char *name, double tolerance) {
    static double G[ROWS][ROWS], H[ROWS][ROWS];
    double y[ROWS], s[ROWS], alpha[ROWS], beta[ROWS], mean, unit, m, sd, w = 0, variance = v;
    scale(d->y, y, &mean, &unit);
    scale(column, s, &m, &sd);
    fill_gram(gp, d, G);
    for (size_t i = 0; i < ROWS; i++) G[i][i] += lth_gp_reported(gp)->noise / (unit * unit);
    memcpy(H, G, sizeof H);
    solve(G, y, alpha);
    solve(H, s, beta);
    for (size_t i = 0; i < ROWS; i++) w += v * s[i] * alpha[i], variance -= v * v * s[i] * beta[i];
    assert_string_equal(got->column, name);
    support_near(got->deviation, sd, 1e-12);
    support_near(got->weight, w * unit / sd, tolerance);
    support_near(got->sd, sqrt(variance) * unit / sd, tolerance);
}

static double value_of(const lth_gp *gp, const char *path) {
    return lth_kernel_param(lth_gp_kernel(gp), support_param(gp, path))->value;
}

static void test_weights(void **state) {
    (void)state;
    data d = make_data(1);
    const lth_posterior all[] = {LTH_POSTERIOR_EXACT, LTH_POSTERIOR_INDUCING};
    for (size_t k = 0; k < 2; k++) {
        lth_gp *gp = fit(&d, "2 * normalize(ssk(text, order=2))", "zs + f1", false, all[k]);
        lth_trend *t = trend_of(gp, 0);
        double v = value_of(gp, "linear.variance");
        double tolerance = k == 0 ? 1e-9 : 1e-5;
        check_weight(gp, &d, d.zs, v, lth_trend_weight_at(t, 0), "zs", tolerance);
        check_weight(gp, &d, d.f, v, lth_trend_weight_at(t, 1), "f1", tolerance);
        assert_null(lth_trend_weight_at(t, 2));
        lth_trend_free(t);
        lth_gp_free(gp);
    }
    lth_table_free(d.table);
}

/* By conjugate gradients as by a factor: weights within the tolerance, deviations never above. */
static void test_by_cg(void **state) {
    (void)state;
    data d = make_data(2);
    lth_gp *gp = fit(&d, text_kernel, "zs", false, LTH_POSTERIOR_EXACT);
    lth_gp *cg = fit(&d, text_kernel, "zs", false, LTH_POSTERIOR_CG);
    lth_trend *a = trend_of(gp, 0), *b = trend_of(cg, 0);
    support_near(lth_trend_weight_at(b, 0)->weight, lth_trend_weight_at(a, 0)->weight, 1e-7);
    support_near(lth_trend_weight_at(b, 0)->sd, lth_trend_weight_at(a, 0)->sd, 0.02);
    support_near(lth_trend_share(b), lth_trend_share(a), 1e-6);
    lth_trend_free(a), lth_trend_free(b);
    lth_gp_free(gp), lth_gp_free(cg);
    lth_table_free(d.table);
}

/* Terms of any shape; a column that is read twice has one weight. */
static void test_terms(void **state) {
    (void)state;
    data d = make_data(3);
    const struct {
        const char *kernel;
        size_t weights;
        double variance; /* of zs, if it is scaled */
    } cases[] = {
        {"ssk(text, order=1)", 0, 0},
        {"rbf(scale(zs))", 0, 0},
        {"linear(scale(zs)) * ssk(text, order=1)", 0, 0},
        {"normalize(scale(zs)) + 0.1", 0, 0},
        {"scale(zs) + ssk(text, order=1)", 1, 1},
        {"2 * 3 * linear(scale(zs) + rbf(f1), variance=0.5) + ssk(text, order=1)", 1, 3},
        {"2 * (scale(zs) + scale(f1)) + linear(scale(zs), variance=0.5) + 0.1", 2, 2.5},
        {"linear(zs)", 1, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lth_gp *gp = fit(&d, cases[k].kernel, NULL, false, LTH_POSTERIOR_EXACT);
        lth_trend *t = trend_of(gp, 0);
        size_t count = 0;
        while (lth_trend_weight_at(t, count)) count++;
        assert_int_equal(count, cases[k].weights);
        assert_int_equal(isnan(lth_trend_share(t)), count == 0);
        if (cases[k].variance > 0)
            check_weight(gp, &d, d.zs, cases[k].variance, lth_trend_weight_at(t, 0), "zs", 1e-8);
        lth_trend_free(t);
        lth_gp_free(gp);
    }
    lth_table_free(d.table);
}

/* Within three deviations of what is true, and with deviations that are small. */
static void test_recovered(void **state) {
    (void)state;
    for (uint64_t seed = 10; seed < 15; seed++) {
        data d = make_data(seed);
        lth_gp *gp = fit(&d, text_kernel, "zs + f1", true, LTH_POSTERIOR_EXACT);
        lth_trend *t = trend_of(gp, 0);
        const lth_trend_weight *zs = lth_trend_weight_at(t, 0), *f = lth_trend_weight_at(t, 1);
        assert_true(fabs(zs->weight - 3) < 3 * zs->sd && zs->sd < 0.1);
        assert_true(fabs(f->weight) < 3 * f->sd && f->sd < 0.01);
        assert_true(lth_trend_share(t) > 0.9 && lth_trend_share(t) < 1.1);
        lth_trend_free(t);
        lth_gp_free(gp);
        lth_table_free(d.table);
    }
}

/* Where the mean is all there is, its share is 1; where rows say nothing of it, 0. */
static void test_share(void **state) {
    (void)state;
    data d = make_data(4);
    lth_gp *gp = fit(&d, "scale(zs)", NULL, false, LTH_POSTERIOR_EXACT);
    lth_trend *t = trend_of(gp, 0);
    support_near(lth_trend_share(t), 1, 1e-9);
    lth_trend_free(t);
    lth_gp_free(gp);
    lth_table_free(d.table);
}

/* ---- As a text ---- */

static void test_text_is_kernel(void **state) {
    (void)state;
    data d = make_data(5);
    static const struct {
        const char *mean, *kernel;
        bool zero;
    } cases[] = {
        {"zs", " + linear(scale(zs))", false},
        {" zs+\"f1\" ", " + linear(scale(zs) + scale(f1))", false},
        {"constant + f1..f1 + zs", " + linear(scale(f1..f1) + scale(zs))", false},
        {"zero + zs", " + linear(scale(zs))", true},
        {"zero", "", true},
        {"constant", "", false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char kernel[200];
        lth_gp_options options = support_fixed();
        options.zero_mean = cases[k].zero;
        snprintf(kernel, sizeof kernel, "%s%s", text_kernel, cases[k].kernel);
        lth_gp *wanted = support_fit(ctx, kernel, d.table, 1, &options);
        lth_gp *gp = fit(&d, text_kernel, cases[k].mean, false, LTH_POSTERIOR_EXACT);
        assert_true(lth_gp_reported(gp)->evidence == lth_gp_reported(wanted)->evidence);
        double *a = support_predict(gp, d.table, false),
               *b = support_predict(wanted, d.table, false);
        assert_memory_equal(a, b, 2 * ROWS * sizeof *a);
        free(a), free(b);
        lth_gp_free(gp), lth_gp_free(wanted);
    }
    lth_table_free(d.table);
}

static void check_mistake(const char *kernel, const char *mean, size_t column,
                          const char *message) {
    lth_error err = {0};
    lth_kernel *none = NULL;
    assert_int_equal(lth_gp_kernel_parse(ctx, kernel, mean, &none, &err), LTH_EFORMAT);
    if (err.column != column || !strstr(err.message, message))
        fail_msg("%s: %zu, %s", mean, err.column, err.message);
    assert_null(none);
}

static void test_mistakes(void **state) {
    (void)state;
    check_mistake("ssk(text", "zs", 9, "the expression ends");
    check_mistake("ssk(text)", "", 1, "a column is expected");
    check_mistake("ssk(text)", "zs +", 5, "a column is expected");
    check_mistake("ssk(text)", "zs, f1", 3, "\"+\" or the end");
    check_mistake("ssk(text)", "h\xc3\xa9 + 3", 6, "a column is expected here, not \"3\"");
    check_mistake("ssk(text)", "linear(zs)", 7, "\"+\" or the end");
    check_mistake("ssk(text)", "zs + \"zs\"", 6, "\"zs\" is given twice");
    check_mistake("ssk(text)", "constant + zs + zero", 17, "zero or has a constant");
    check_mistake("ssk(text)", "\"zs", 1, "not closed");
    check_mistake("ssk(text)", "a\xff", 2, "not valid UTF-8");
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    char text[200];
    support_ok(lth_gp_kernel_parse(ctx, "ssk(text)", "\"zero\" + \"a b\" + x1..x3", &kernel, &err),
               &err);
    lth_kernel_print(kernel, text, sizeof text);
    assert_string_equal(text, "ssk(text) + linear(scale(zero) + scale(\"a b\") + scale(x1..x3))");
    lth_kernel_free(kernel);
}

static void test_not_there(void **state) {
    (void)state;
    data d = make_data(6);
    const char *target = "y";
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_gp_options options = support_fixed();
    options.mean = "zs + f1..f2";
    assert_int_equal(lth_gp_fit(ctx, "ssk(text)", d.table, &target, 1, &options, &gp, &err),
                     LTH_EFORMAT);
    assert_non_null(strstr(err.message, "no column \"f2\""));
    assert_int_equal(err.line, 1);
    lth_trend *t = NULL;
    gp = fit(&d, "ssk(text)", "zs", false, LTH_POSTERIOR_EXACT);
    assert_int_equal(lth_gp_trend(gp, 1, &t, &err), LTH_EARG);
    assert_null(t);
    lth_gp_free(gp);
    lth_table_free(d.table);
}

/* ---- Labels, several targets, reasons, files ---- */

static void test_labels(void **state) {
    (void)state;
    data d = make_data(7);
    lth_gp_options options = support_fixed();
    options.mean = "zs";
    lth_gp *gp = support_classifier(ctx, text_kernel, d.table, "kind", &options);
    lth_trend *high = trend_of(gp, 0), *low = trend_of(gp, 1);
    const lth_trend_weight *a = lth_trend_weight_at(high, 0), *b = lth_trend_weight_at(low, 0);
    assert_true(a->weight > 2 * a->sd && a->weight == -b->weight && a->sd == b->sd);
    lth_trend_free(high), lth_trend_free(low);
    lth_gp_free(gp);
    lth_table_free(d.table);
}

static void test_reasons_and_files(void **state) {
    (void)state;
    data d = make_data(8);
    lth_error err = {0};
    lth_gp *gp = fit(&d, text_kernel, "zs + f1", false, LTH_POSTERIOR_EXACT), *back = NULL;
    char *path = support_file("", 0);
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &back, &err), &err);
    lth_trend *t = trend_of(gp, 0), *again = trend_of(back, 0);
    for (size_t c = 0; c < 2; c++) {
        assert_true(lth_trend_weight_at(t, c)->weight == lth_trend_weight_at(again, c)->weight);
        assert_true(lth_trend_weight_at(t, c)->sd == lth_trend_weight_at(again, c)->sd);
    }
    assert_true(lth_trend_share(t) == lth_trend_share(again));
    double s[ROWS], zs, f, sd;
    scale(d.zs, s, &zs, &sd);
    scale(d.f, s, &f, &sd);
    for (size_t i = 0; i < 3; i++) {
        lth_reasons *r = NULL;
        support_ok(lth_gp_explain(gp, d.table, i, NULL, &r, &err), &err);
        double sum = lth_trend_weight_at(t, 0)->weight * (d.zs[i] - zs) +
                     lth_trend_weight_at(t, 1)->weight * (d.f[i] - f);
        support_near(lth_reasons_summarise(r)->trend, sum, 1e-10);
        lth_reasons_free(r);
    }
    lth_trend_free(t), lth_trend_free(again);
    lth_gp_free(gp), lth_gp_free(back);
    support_remove(path);
    lth_table_free(d.table);
}

static lth_status use(void *user, lth_error *err) {
    const data *d = user;
    const char *target = "y";
    lth_gp_options options = support_fixed();
    options.mean = "zs + f1..f1";
    lth_gp *gp = NULL;
    lth_trend *t = NULL;
    lth_status status = lth_gp_fit(ctx, "bow(text)", d->table, &target, 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_trend(gp, 0, &t, err);
    lth_trend_free(t);
    lth_gp_free(gp);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    data d = make_data(9);
    fail_each(use, &d, true, 60);
    lth_table_free(d.table);
}

static int open_all(void **state) {
    (void)state;
    ctx = support_context(1);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights),  cmocka_unit_test(test_by_cg),
        cmocka_unit_test(test_terms),    cmocka_unit_test(test_recovered),
        cmocka_unit_test(test_share),    cmocka_unit_test(test_text_is_kernel),
        cmocka_unit_test(test_mistakes), cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_labels),   cmocka_unit_test(test_reasons_and_files),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
