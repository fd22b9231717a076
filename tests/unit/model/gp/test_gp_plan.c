/* Learning from some of the rows: the draw keeps the distribution of the targets, what is learned
 * is what those rows alone would teach, and the posterior is that of all rows. And what is decided
 * before a fit begins. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "model/gp/gp.h"

static lth_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = support_context(2);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

static const char kernel[] = "ssk(text, order=2, gap=0.4)";

static lth_gp_options few_steps(void) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.max_iter = 5;
    options.restarts = 0;
    return options;
}

/* ---- The draw ---- */

/* One row of every stratum: the i-th smallest target drawn lies between the i-th strata's ends. */
static void draws_one_of_each_stratum(void **state) {
    (void)state;
    enum { ROWS = 40, COUNT = 8 };
    lth_gp_options options = support_fixed();
    lth_table *table = support_rows(ctx, 0, ROWS);
    lth_gp *gp = support_fit(ctx, kernel, table, 1, &options);
    size_t drawn[COUNT], in[COUNT] = {0};
    assert_int_equal(lth__gp_draw_rows(gp, COUNT, drawn, NULL), LTH_OK);
    for (size_t i = 0; i < COUNT; i++) {
        if (i > 0) assert_true(drawn[i] > drawn[i - 1]);
        size_t rank = 0;
        for (size_t r = 0; r < ROWS; r++)
            rank += gp->y[r] < gp->y[drawn[i]] || (gp->y[r] == gp->y[drawn[i]] && r < drawn[i]);
        in[rank / (ROWS / COUNT)]++;
    }
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(in[i], 1);
    size_t all[ROWS];
    assert_int_equal(lth__gp_draw_rows(gp, ROWS, all, NULL), LTH_OK);
    for (size_t i = 0; i < ROWS; i++) assert_int_equal(all[i], i);
    lth_gp_free(gp);
    lth_table_free(table);
}

static void draws_classes_by_their_share(void **state) {
    (void)state;
    enum { ROWS = 60, COUNT = 20 };
    lth_gp_options options = support_fixed();
    lth_table *table = support_labels(ctx, ROWS);
    lth_gp *gp = support_classifier(ctx, "rbf(x)", table, "three", &options);
    size_t drawn[COUNT];
    assert_int_equal(lth__gp_draw_rows(gp, COUNT, drawn, NULL), LTH_OK);
    for (size_t l = 0; l < gp->latents; l++) {
        double of_all = 0, of_drawn = 0;
        for (size_t r = 0; r < ROWS; r++) of_all += gp->y[l * ROWS + r] > 0;
        for (size_t i = 0; i < COUNT; i++) of_drawn += gp->y[l * ROWS + drawn[i]] > 0;
        assert_true(fabs(of_drawn - of_all * COUNT / ROWS) <= 1);
    }
    lth_gp_free(gp);
    lth_table_free(table);
}

/* ---- Two steps ---- */

static lth_table *rows_of(const lth_table *table, const size_t *row, size_t count) {
    lth__string text = {0};
    for (size_t c = 0; c < lth_table_columns(table); c++)
        lth__string_format(&text, "%s%s", c ? "\t" : "", lth_table_column_name(table, c));
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < lth_table_columns(table); c++) {
            size_t length;
            const char *cell = lth_table_cell(table, row[i], c, &length);
            lth__string_format(&text, "%s%.*s", c ? "\t" : "\n", (int)length, cell);
        }
    }
    lth__string_format(&text, "\n");
    lth_table *out = support_table(ctx, text.bytes);
    lth__string_free(&text);
    return out;
}

static void learns_what_the_drawn_rows_teach(void **state) {
    (void)state;
    enum { ROWS = 40, LEARN = 15 };
    lth_gp_options options = few_steps();
    options.unscaled = options.zero_mean = true; /* scale and mean would be others */
    lth_table *table = support_rows(ctx, 0, ROWS);
    options.learn_rows = LEARN;
    lth_gp *two_steps = support_fit(ctx, kernel, table, 1, &options);
    const lth_gp_report *r = lth_gp_reported(two_steps);
    assert_int_equal(r->rows, ROWS);
    assert_int_equal(r->learned_rows, LEARN);
    assert_int_equal(r->posterior, LTH_POSTERIOR_EXACT);
    assert_true(r->iterations > 0);

    size_t drawn[LEARN];
    assert_int_equal(lth__gp_draw_rows(two_steps, LEARN, drawn, NULL), LTH_OK);
    lth_table *few = rows_of(table, drawn, LEARN);
    options.learn_rows = 0;
    lth_gp *of_few = support_fit(ctx, kernel, few, 1, &options);
    for (size_t p = 0; p < lth__gp_param_count(two_steps); p++)
        assert_true(*lth__gp_value(two_steps, p) == *lth__gp_value(of_few, p));

    /* All rows at these values. */
    char learned[512];
    lth_kernel_print(lth_gp_kernel(of_few), learned, sizeof learned);
    lth_gp_options fixed = support_fixed();
    fixed.unscaled = fixed.zero_mean = true;
    fixed.noise = of_few->own[0];
    lth_gp *at_once = support_fit(ctx, learned, table, 1, &fixed);
    support_near(r->evidence, lth_gp_reported(at_once)->evidence, 1e-12);
    double *a = support_predict(two_steps, table, false),
           *b = support_predict(at_once, table, false);
    for (size_t i = 0; i < 2 * ROWS; i++) support_near(a[i], b[i], 1e-12);
    free(a);
    free(b);
    lth_gp_free(at_once);
    lth_gp_free(of_few);
    lth_gp_free(two_steps);
    lth_table_free(few);
    lth_table_free(table);
}

static void learns_labels_from_a_part(void **state) {
    (void)state;
    lth_gp_options options = few_steps();
    options.learn_rows = 20;
    lth_table *table = support_labels(ctx, 60);
    const char *const targets[] = {"two", "three", "several"};
    for (size_t t = 0; t < 3; t++) {
        lth_gp *gp = support_classifier(ctx, "rbf(x)", table, targets[t], &options);
        assert_int_equal(lth_gp_reported(gp)->rows, 60);
        assert_int_equal(lth_gp_reported(gp)->learned_rows, 20);
        assert_true(isfinite(lth_gp_reported(gp)->evidence));
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

static void survives_every_failing_allocation(void **state) {
    (void)state;
    lth_gp_options options = few_steps();
    options.max_iter = 1;
    options.learn_rows = 6;
    lth_table *table = support_rows(ctx, 0, 12);
    const char *target = "y";
    lth_status status = LTH_ENOMEM;
    for (size_t at = 1; status != LTH_OK; at++) {
        lth_gp *gp = NULL;
        lth_error err = {0};
        calls = 0;
        fail_at = at;
        status = lth_gp_fit(ctx, kernel, table, &target, 1, &options, &gp, &err);
        fail_at = 0;
        assert_true(status == LTH_OK || status == LTH_ENOMEM);
        assert_true((status == LTH_OK) == (gp != NULL));
        lth_gp_free(gp);
        assert_true(at < 100000);
    }
    lth_table_free(table);
}

/* ---- The plan ---- */

static lth_status plan(const char *target, const lth_gp_options *options, lth_gp_plan *out,
                       lth_error *err) {
    lth_table *table =
        strcmp(target, "y") == 0 ? support_rows(ctx, 0, 40) : support_labels(ctx, 40);
    const char *expression = strcmp(target, "y") == 0 ? kernel : "rbf(x)";
    lth_status status =
        lth_gp_plan_fit(ctx, expression, table, &target, 1, options, out, sizeof *out, err);
    lth_table_free(table);
    return status;
}

static void plans_what_a_fit_does(void **state) {
    (void)state;
    lth_gp_plan p;
    assert_int_equal(plan("y", NULL, &p, NULL), LTH_OK);
    assert_int_equal(p.posterior, LTH_POSTERIOR_EXACT);
    assert_int_equal(p.rows, 40);
    assert_int_equal(p.learn_rows, 40);
    assert_int_equal(p.inducing, 0);
    assert_true(p.pairs == 820 && p.learn_pairs == 820 && p.cell_orders > 0);
    assert_true(p.seconds > 0 && p.learn_seconds > 0 && p.bytes > 0 && p.available > 0);

    lth_gp_options options = few_steps();
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = 10;
    options.learn_rows = 20;
    assert_int_equal(plan("y", &options, &p, NULL), LTH_OK);
    assert_int_equal(p.inducing, 10);
    assert_int_equal(p.learn_rows, 20);
    assert_true(p.pairs == 400 && p.learn_pairs == 210);
    assert_string_equal(p.name, "inducing");
    assert_int_equal(plan("three", NULL, &p, NULL), LTH_OK);
    assert_int_equal(p.posterior, LTH_POSTERIOR_EXACT);
}

/* Which posterior EXACT and AUTO come to. */
static void names_what_is_taken(void **state) {
    (void)state;
    const struct {
        const char *target, *name;
        lth_likelihood likelihood;
        lth_posterior posterior;
    } cases[] = {{"y", "exact", LTH_GAUSSIAN, LTH_POSTERIOR_AUTO},
                 {"y", "cg", LTH_GAUSSIAN, LTH_POSTERIOR_CG},
                 {"y", "exact", LTH_WARPED, LTH_POSTERIOR_AUTO},
                 {"y", "sites", LTH_STUDENT, LTH_POSTERIOR_AUTO},
                 {"y", "laplace", LTH_STUDENT, LTH_POSTERIOR_LAPLACE},
                 {"y", "inducing", LTH_STUDENT, LTH_POSTERIOR_INDUCING},
                 {"three", "laplace", LTH_LOGIT, LTH_POSTERIOR_AUTO},
                 {"three", "laplace", LTH_LOGIT, LTH_POSTERIOR_EXACT},
                 {"three", "sites", LTH_LOGIT, LTH_POSTERIOR_SITES},
                 {"three", "softmax", LTH_SOFTMAX, LTH_POSTERIOR_AUTO}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_gp_options options = few_steps();
        lth_gp_plan p;
        options.likelihood = cases[i].likelihood;
        options.posterior = cases[i].posterior;
        assert_int_equal(plan(cases[i].target, &options, &p, NULL), LTH_OK);
        assert_string_equal(p.name, cases[i].name);
    }
}

/* All rows while that is an hour of a core, then what takes it ten minutes; any number of threads.
 */
static void learns_from_fewer_of_many(void **state) {
    (void)state;
    static const size_t rows[] = {10000, 20000};
    const char *target = "y";
    for (size_t i = 0; i < 2; i++) {
        lth_gp_plan p;
        lth_table *table = support_rows(ctx, 0, rows[i]);
        assert_int_equal(
            lth_gp_plan_fit(ctx, "rbf(f1)", table, &target, 1, NULL, &p, sizeof p, NULL), LTH_OK);
        assert_int_equal(p.learn_rows, i == 0 ? 10000 : 6100);
        lth_table_free(table);
    }
}

/* More of them with more rows, until all passes together are too long; any number of threads. */
static void chooses_more_rows_of_more(void **state) {
    (void)state;
    enum { NUMBERS, TWO_CLASSES, FIVE_CLASSES, WITH_A_BOUND };
    static const struct {
        size_t rows, of[4];
    } cases[] = {
        {20, {1000, 1000, 1000, 1000}},       {8000, {1000, 1000, 1000, 1000}},
        {9999, {1000, 1000, 1000, 1000}},     {10000, {1250, 1250, 1250, 1250}},
        {19999, {2250, 2250, 2250, 1250}},    {31000, {3750, 3750, 2500, 1000}},
        {40000, {4000, 4000, 2000, 1000}},    {100000, {4000, 3000, 1250, 1000}},
        {1000000, {3250, 1000, 1000, 1000}},  {10000000, {1000, 1000, 1000, 1000}},
        {SIZE_MAX, {1000, 1000, 1000, 1000}},
    };
    lth_kernel plain = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t kind = NUMBERS; kind <= WITH_A_BOUND; kind++) {
            bool labels = kind == TWO_CLASSES || kind == FIVE_CLASSES;
            lth_gp gp = {.kernel = &plain,
                         .rows = cases[i].rows,
                         .latents = kind == FIVE_CLASSES ? 5 : 1,
                         .likelihood = labels ? &lth__logit : &lth__gaussian,
                         .how.bound = kind == WITH_A_BOUND ? LTH_BOUND_FITC : LTH_BOUND_NONE};
            assert_int_equal(lth__gp_default_inducing(&gp), cases[i].of[kind]);
        }
    }
    lth_gp_plan p;
    const char *target = "y";
    lth_gp_options options = few_steps();
    lth_table *table = support_rows(ctx, 0, 12345);
    options.posterior = LTH_POSTERIOR_INDUCING;
    assert_int_equal(
        lth_gp_plan_fit(ctx, "rbf(f1)", table, &target, 1, &options, &p, sizeof p, NULL), LTH_OK);
    assert_int_equal(p.inducing, 1500);
    lth_table_free(table);
}

static void refuses_what_does_not_go_together(void **state) {
    (void)state;
    static const struct {
        const char *target, *message;
        lth_posterior posterior;
        lth_bound bound;
    } cases[] = {
        {"three", "conjugate gradients are for numbers", LTH_POSTERIOR_CG, LTH_BOUND_NONE},
        {"y", "inducing posterior only", LTH_POSTERIOR_EXACT, LTH_BOUND_FITC},
        {"three", "fitc is for numbers", LTH_POSTERIOR_INDUCING, LTH_BOUND_FITC},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_gp_options options = few_steps();
        lth_gp_plan p;
        lth_error err = {0};
        options.posterior = cases[i].posterior;
        options.bound = cases[i].bound;
        assert_int_equal(plan(cases[i].target, &options, &p, &err), LTH_EARG);
        assert_non_null(strstr(err.message, cases[i].message));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_one_of_each_stratum),
        cmocka_unit_test(draws_classes_by_their_share),
        cmocka_unit_test(learns_what_the_drawn_rows_teach),
        cmocka_unit_test(learns_labels_from_a_part),
        cmocka_unit_test(survives_every_failing_allocation),
        cmocka_unit_test(plans_what_a_fit_does),
        cmocka_unit_test(names_what_is_taken),
        cmocka_unit_test(learns_from_fewer_of_many),
        cmocka_unit_test(chooses_more_rows_of_more),
        cmocka_unit_test(refuses_what_does_not_go_together),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
