/* Models side by side: resamples against all that there can be, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "gp_support.h"

static const lth_compared *figure_of(const lth_comparison *c, size_t model, const char *name) {
    for (size_t k = 0; k < lth_comparison_figures(c); k++) {
        const lth_compared *f = lth_comparison_at(c, model, k);
        if (strcmp(f->name, name) == 0) return f;
    }
    fail_msg("there is no %s", name);
    return NULL;
}

static lth_comparison *compare_at(double level, unsigned threads, const double *y, double *a,
                                  double *b, size_t rows, size_t resamples, uint64_t seed) {
    lth_error err = {0};
    lth_ctx *ctx = support_context(threads);
    lth_comparison *c = NULL;
    lth_compare_options options;
    lth_compare_options_init(&options);
    options.resamples = resamples;
    options.seed = seed;
    options.level = level;
    lth_gp_prediction of[2] = {{.y = y, .point = a}, {.y = y, .point = b}};
    const lth_gp_prediction *from[] = {&of[0], &of[1]};
    support_ok(lth_compare_numbers(ctx, from, sizeof *of, 2, rows, &options, &c, &err), &err);
    lth_ctx_free(ctx);
    return c;
}

static lth_comparison *compare(unsigned threads, const double *y, double *a, double *b, size_t rows,
                               size_t resamples, uint64_t seed) {
    return compare_at(0.95, threads, y, a, b, rows, resamples, seed);
}

typedef struct limits {
    double lower, upper;
} limits;

static limits limits_at(double level, uint64_t seed) {
    const double y[] = {0, 0, 0, 0};
    double a[] = {1, 4, 2, 0}, b[] = {3, 3.5, 3, 1};
    lth_comparison *c = compare_at(level, 1, y, a, b, 4, 3, seed);
    const lth_compared *f = figure_of(c, 1, "mae");
    limits found = {f->lower, f->upper};
    lth_comparison_free(c);
    return found;
}

/* Between the nearest two of the resamples, in proportion: of three, the outer ones are the limits
 * of all, and the third one those of nothing. */
static void levels(void **state) {
    (void)state;
    size_t apart = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        limits all = limits_at(1 - 1e-14, seed), middle = limits_at(1e-14, seed);
        limits half = limits_at(0.5, seed), most = limits_at(0.8, seed);
        support_near(middle.upper, middle.lower, 1e-12);
        support_near(half.lower, 0.5 * all.lower + 0.5 * middle.lower, 1e-12);
        support_near(half.upper, 0.5 * all.upper + 0.5 * middle.lower, 1e-12);
        support_near(most.lower, 0.8 * all.lower + 0.2 * middle.lower, 1e-12);
        support_near(most.upper, 0.8 * all.upper + 0.2 * middle.lower, 1e-12);
        apart += all.lower < middle.lower && middle.lower < all.upper;
    }
    assert_true(apart > 3);
}

/* Three rows have 27 resamples, all as probable. */
static void all_resamples(void **state) {
    (void)state;
    const double y[] = {0, 0, 0};
    double a[] = {1, 4, 2}, b[] = {3, 3, 3}, sum = 0, better = 0;
    for (size_t i = 0; i < 27; i++) {
        size_t at[] = {i % 3, i / 3 % 3, i / 9};
        double d = 0;
        for (size_t k = 0; k < 3; k++) d += (fabs(a[at[k]]) - fabs(b[at[k]])) / 3;
        sum += d / 27;
        better += d < -1e-9 ? 1.0 / 27 : d < 1e-9 ? 0.5 / 27 : 0;
    }
    lth_comparison *c = compare(1, y, a, b, 3, 40000, 3);
    const lth_compared *f = figure_of(c, 1, "mae");
    support_near(f->value, 3, 1e-12);
    support_near(f->difference, -2.0 / 3, 1e-12);
    support_near(sum, -2.0 / 3, 1e-12);
    assert_string_equal(f->better, "low");
    support_near(f->lower, -2, 1e-12); /* three times the first row: 1 of 27, more than 2.5% */
    support_near(f->upper, 1, 1e-12);
    assert_int_equal(f->resamples, 40000);
    assert_true(fabs(f->first_better - better) < 4 * sqrt(better * (1 - better) / 40000));
    const lth_compared *own = figure_of(c, 0, "mae");
    assert_true(own->difference == 0 && own->lower == 0 && own->upper == 0);
    assert_true(isnan(figure_of(c, 1, "nlpd")->value) && isnan(figure_of(c, 1, "nlpd")->p));
    assert_null(lth_comparison_at(c, 2, 0));
    assert_null(lth_comparison_at(c, 0, lth_comparison_figures(c)));
    lth_comparison_free(c);
    lth_comparison_free(NULL);
}

enum { ROWS = 40 };

/* The same seed makes the same resamples on any number of threads; models that say the same do not
 * differ. */
static void same(void **state) {
    (void)state;
    double y[ROWS], a[ROWS], b[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        y[i] = sin((double)i);
        a[i] = y[i] + 0.3 * cos(3.0 * (double)i);
        b[i] = y[i] + 0.4 * cos(5.0 * (double)i);
    }
    lth_comparison *one = compare(1, y, a, b, ROWS, 300, 5),
                   *four = compare(4, y, a, b, ROWS, 300, 5);
    lth_comparison *other = compare(1, y, a, b, ROWS, 300, 6),
                   *equal = compare(1, y, a, a, ROWS, 300, 5);
    size_t figures = lth_comparison_figures(one), different = 0;
    for (size_t k = 0; k < figures; k++) {
        const lth_compared *f = lth_comparison_at(one, 1, k), *e = lth_comparison_at(equal, 1, k);
        assert_memory_equal(f, lth_comparison_at(four, 1, k), sizeof *f);
        different += !isnan(f->lower) && f->lower != lth_comparison_at(other, 1, k)->lower;
        if (isnan(e->value)) continue;
        assert_true(e->difference == 0 && e->lower == 0 && e->upper == 0);
        assert_true(e->first_better == 0.5 && e->p == 1);
    }
    assert_true(different > 2);
    lth_comparison_free(one);
    lth_comparison_free(four);
    lth_comparison_free(other);
    lth_comparison_free(equal);
}

static void of_labels(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(2);
    bool truth[2 * ROWS], right[2 * ROWS], wrong[2 * ROWS];
    double p[2 * ROWS], score[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t c = 0; c < 2; c++) {
            truth[2 * i + c] = right[2 * i + c] = (i % 2 == c);
            wrong[2 * i + c] = i % 4 ? i % 2 == c : i % 2 != c;
            p[2 * i + c] = i % 2 == c ? 0.9 : 0.1;
        }
        score[i] = i % 4 ? (i % 2 ? 1 : -1) : 1;
    }
    lth_label_prediction of[2] = {{.predicted = right, .probability = p},
                                  {.predicted = wrong, .score = score}};
    const lth_label_prediction *from[] = {&of[0], &of[1]};
    const char *const names[] = {"a", "b"};
    lth_comparison *c = NULL;
    support_ok(
        lth_compare_labels(ctx, truth, from, sizeof *of, 2, names, ROWS, 2, false, NULL, &c, &err),
        &err);
    const lth_compared *f = figure_of(c, 1, "accuracy");
    support_near(f->difference, 0.25, 1e-12);
    assert_true(f->first_better == 1 && f->p < 0.01 && f->lower > 0.05 && f->upper < 0.5);
    support_near(figure_of(c, 0, "log_loss")->value, -log(0.9), 1e-12);
    assert_true(isnan(figure_of(c, 1, "log_loss")->difference));
    support_near(figure_of(c, 1, "auc")->difference, 0.25, 1e-12);
    lth_comparison_free(c);
    lth_ctx_free(ctx);
}

static void refused(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    double y[] = {1, 2};
    lth_gp_prediction of = {.y = y, .point = y};
    const lth_gp_prediction *from[] = {&of, &of};
    lth_comparison *c = NULL;
    lth_compare_options options;
    lth_compare_options_init(&options);
    assert_int_equal(lth_compare_numbers(ctx, from, sizeof of, 1, 2, &options, &c, &err), LTH_EARG);
    assert_int_equal(lth_compare_numbers(ctx, from, sizeof of, 2, 1, &options, &c, &err), LTH_EARG);
    options.resamples = 0;
    assert_int_equal(lth_compare_numbers(ctx, from, sizeof of, 2, 2, &options, &c, &err), LTH_EARG);
    options.resamples = 10;
    options.level = 1;
    assert_int_equal(lth_compare_numbers(ctx, from, sizeof of, 2, 2, &options, &c, &err), LTH_EARG);
    assert_null(c);
    lth_ctx_free(ctx);
}

typedef struct use {
    lth_ctx *ctx;
    bool labels;
} use;

static lth_status compare_all(void *user, lth_error *err) {
    static const double y[] = {0, 1, 2, 3}, p[] = {.9, .1, .2, .8, .6, .4, .3, .7};
    double a[] = {0.5, 1, 2.5, 2};
    static const bool truth[] = {1, 0, 0, 1, 1, 0, 1, 0}, said[] = {1, 0, 0, 1, 1, 0, 0, 1};
    static const char *const names[] = {"a", "b"};
    const use *u = user;
    lth_comparison *c = NULL;
    lth_compare_options options;
    lth_compare_options_init(&options);
    options.resamples = 20;
    lth_gp_prediction numbers = {.y = y, .point = a};
    lth_label_prediction labels = {.predicted = said, .probability = p};
    const lth_gp_prediction *from[] = {&numbers, &numbers};
    const lth_label_prediction *of[] = {&labels, &labels};
    lth_status status =
        u->labels ? lth_compare_labels(u->ctx, truth, of, sizeof labels, 2, names, 4, 2, false,
                                       &options, &c, err)
                  : lth_compare_numbers(u->ctx, from, sizeof numbers, 2, 4, &options, &c, err);
    assert_true((status == LTH_OK) == (c != NULL));
    lth_comparison_free(c);
    return status;
}

static void each_place_fails(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    fail_each(compare_all, &(use){ctx, false}, false, 3);
    fail_each(compare_all, &(use){ctx, true}, false, 3);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),  cmocka_unit_test(all_resamples),
        cmocka_unit_test(same),    cmocka_unit_test(of_labels),
        cmocka_unit_test(refused), cmocka_unit_test(each_place_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
