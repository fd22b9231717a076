/* A model looked at afterwards: leave-one-out predictions are those of a model without the row; the
 * steps of the search are kept, thinned, and come back from a file. */
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
#include "model/common/tensors.h"
#include "model/gp/gp.h"

/* ---- Context ---- */

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

/* ---- Leave-one-out ---- */

enum { ROWS = 12, TARGETS = 2 };

/* The rows of support_rows() but one, or only that one. */
static lth_table *rows_but(const lth_table *table, size_t row, bool only) {
    lth__string text = {0};
    for (size_t c = 0; c < lth_table_columns(table); c++)
        lth__string_format(&text, "%s%s", c ? "\t" : "", lth_table_column_name(table, c));
    for (size_t i = 0; i < lth_table_rows(table); i++) {
        if ((i == row) != only) continue;
        for (size_t c = 0; c < lth_table_columns(table); c++) {
            size_t length;
            const char *cell = lth_table_cell(table, i, c, &length);
            lth__string_format(&text, "%s%.*s", c ? "\t" : "\n", (int)length, cell);
        }
    }
    lth__string_format(&text, "\n");
    lth_table *out = support_table(ctx, text.bytes);
    lth__string_free(&text);
    return out;
}

/* Scale and mean would be others without the row, so neither is taken out. */
static lth_gp_options same_for_all(void) {
    lth_gp_options options = support_fixed();
    options.zero_mean = options.unscaled = true;
    options.noise = 0.3;
    return options;
}

static lth_metrics metrics_of(const double *y, const double *mean, const double *sd, size_t count) {
    lth_metrics m;
    lth_metrics_of(y, mean, sd, count, &m, sizeof m);
    return m;
}

static void check_leave_one_out(const char *kernel, const lth_gp_options *options, bool own_scale) {
    lth_error err = {0};
    lth_table *table = support_rows(ctx, 0, ROWS);
    lth_gp *gp = support_fit(ctx, kernel, table, TARGETS, options);
    for (size_t t = 0; t < TARGETS; t++) {
        double y[ROWS], mean[ROWS], sd[ROWS];
        support_ok(lth_gp_leave_one_out(gp, t, y, mean, sd, &err), &err);
        for (size_t i = 0; i < ROWS; i++) {
            size_t length;
            const char *cell =
                lth_table_cell(table, i, lth_table_find(table, t ? "z" : "y"), &length);
            support_near(y[i], strtod(cell, NULL), 1e-12);
            if (own_scale) continue;
            lth_table *others = rows_but(table, i, false), *left = rows_but(table, i, true);
            lth_gp *without = support_fit(ctx, kernel, others, TARGETS, options);
            double *predicted = support_predict(without, left, false);
            support_near(mean[i], predicted[t], 1e-9);
            support_near(sd[i], predicted[TARGETS + t], 1e-9);
            free(predicted);
            lth_gp_free(without);
            lth_table_free(left);
            lth_table_free(others);
        }
        if (t > 0) continue;
        lth_metrics m = metrics_of(y, mean, sd, ROWS), r = *lth_gp_reported(gp)->loo;
        support_near(m.nlpd, r.nlpd, 1e-12);
        support_near(m.r, r.r, 1e-12);
        assert_true(m.coverage == r.coverage);
    }
    lth_gp_free(gp);
    lth_table_free(table);
}

static void test_leave_one_out(void **state) {
    (void)state;
    lth_gp_options options = same_for_all();
    check_leave_one_out("ssk(text, order=2) + 0.5 * rbf(f1..f2)", &options, false);
    check_leave_one_out("linear(bow(text))", &options, false);
}

/* With scaled targets it still speaks of the target as it is. */
static void test_leave_one_out_units(void **state) {
    (void)state;
    lth_gp_options options = support_fixed();
    check_leave_one_out("ssk(text, order=2)", &options, true);
}

/* Distributions of rows that are left out: their figures are those of the report. */
static void check_left_out(lth_likelihood likelihood, lth_point point) {
    lth_error err = {0};
    lth_table *table = support_rows(ctx, 0, ROWS);
    lth_gp_options options = support_fixed();
    options.likelihood = likelihood;
    options.point = point;
    lth_gp *gp = support_fit(ctx, "ssk(text, order=2)", table, 1, &options);
    double y[ROWS], mean[ROWS], room[8][ROWS];
    lth_gp_prediction to = {.point = room[0],
                            .sd = room[1],
                            .lower = room[2],
                            .upper = room[3],
                            .log_density = room[4],
                            .cdf = room[5],
                            .crps = room[6]};
    support_ok(lth_gp_left_out(gp, 0, y, &to, sizeof to, &err), &err);
    support_ok(lth_gp_leave_one_out(gp, 0, room[7], mean, room[1], &err), &err);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(y[i] == room[7][i] && mean[i] == to.point[i]);
        assert_true(to.lower[i] < to.point[i] && to.point[i] < to.upper[i]);
        assert_true((to.cdf[i] > 0.025 && to.cdf[i] < 0.975) ==
                    (y[i] > to.lower[i] && y[i] < to.upper[i]));
    }
    lth_metrics m, r = *lth_gp_reported(gp)->loo;
    to.y = y;
    support_ok(lth_metrics_with(&to, sizeof to, ROWS, &m, sizeof m, &err), &err);
    support_near(m.nlpd, r.nlpd, 1e-9);
    support_near(m.crps, r.crps, 1e-9);
    support_near(m.mae, r.mae, 1e-9);
    assert_true(m.calibration == r.calibration && m.coverage == r.coverage);
    lth_gp_free(gp);
    lth_table_free(table);
}

static void test_left_out(void **state) {
    (void)state;
    check_left_out(LTH_GAUSSIAN, LTH_POINT_MEAN);
    check_left_out(LTH_STUDENT, LTH_POINT_MEAN);
    check_left_out(LTH_WARPED, LTH_POINT_MEDIAN);
}

static lth_status leave_out_with(void *gp, lth_error *err) {
    double y[ROWS], point[ROWS], cdf[ROWS];
    lth_gp_prediction to = {.point = point, .cdf = cdf};
    return lth_gp_left_out(gp, 0, y, &to, sizeof to, err);
}

static void test_left_out_without_memory(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, ROWS);
    lth_gp_options options = support_fixed();
    options.likelihood = LTH_STUDENT;
    lth_gp *gp = support_fit(ctx, "ssk(text, order=2)", table, 1, &options);
    fail_each(leave_out_with, gp, false, 0);
    lth_gp_free(gp);
    lth_table_free(table);
}

static void test_leave_one_out_misuse(void **state) {
    (void)state;
    lth_error err = {0};
    double room[3 * 30];
    lth_table *table = support_rows(ctx, 0, ROWS);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "ssk(text)", table, 2, &options);
    assert_int_equal(lth_gp_leave_one_out(gp, 2, room, room, room, &err), LTH_EARG);
    assert_string_equal(err.message, "there is no target 2: the model has 2");
    lth_gp_free(gp);
    lth_table_free(table);

    table = support_labels(ctx, 30);
    gp = support_classifier(ctx, "rbf(x)", table, "two", &options);
    assert_int_equal(lth_gp_leave_one_out(gp, 0, room, room, room, &err), LTH_EARG);
    assert_string_equal(err.message,
                        "the model is for labels, which have no leave-one-out predictions");
    lth_gp_free(gp);
    lth_table_free(table);
}

/* ---- Steps ---- */

typedef struct witness {
    lth_gp_step at[500];
    size_t count;
} witness;

static int see(void *user, const lth_gp_step *step) {
    witness *w = user;
    assert_true(w->count < 500);
    w->at[w->count++] = *step;
    return 0;
}

static void check_step(lth_gp_step a, lth_gp_step b) {
    assert_true(a.start == b.start && a.iteration == b.iteration && a.evaluations == b.evaluations);
    assert_true(a.evidence == b.evidence && a.gradient == b.gradient && a.seconds == b.seconds);
}

static void check_steps(const lth_gp *gp, const witness *w) {
    for (size_t i = 0; i < w->count; i++) check_step(*lth_gp_step_at(gp, i), w->at[i]);
    assert_null(lth_gp_step_at(gp, w->count));
    assert_null(lth_gp_step_at(gp, LTH_NONE));
}

static lth_gp *reload(const lth_gp *gp) {
    lth_error err = {0};
    lth_gp *back = NULL;
    char *path = support_file("", 0);
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &back, &err), &err);
    support_remove(path);
    return back;
}

/* What the caller is told of, of all starts; also after a file. */
static void test_steps_are_kept(void **state) {
    (void)state;
    witness w = {0};
    lth_table *table = support_rows(ctx, 0, 20);
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 2;
    options.step = see;
    options.user = &w;
    lth_gp *gp = support_fit(ctx, "ssk(text, order=2)", table, 1, &options), *back = reload(gp);
    assert_true(w.count > 5 && w.at[w.count - 1].evaluations <= lth_gp_reported(gp)->evaluations);
    bool other_start = false;
    for (size_t i = 0; i < w.count; i++) other_start |= w.at[i].start == 2;
    assert_true(other_start);
    check_steps(gp, &w);
    check_steps(back, &w);
    lth_gp_free(back);
    lth_gp_free(gp);
    lth_table_free(table);
}

static void test_no_steps_without_learning(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 20);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "ssk(text)", table, 1, &options), *back = reload(gp);
    assert_null(lth_gp_step_at(gp, 0));
    assert_null(lth_gp_step_at(back, 0));
    lth_gp_free(back);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* However many there are, at most 2,000 stay, evenly, with the first and the last. */
static void test_steps_are_thinned(void **state) {
    (void)state;
    static const size_t counts[] = {1, 1999, 2000, 2001, 2002, 3999, 4000, 4001, 100003};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        lth_error err = {0};
        lth_gp *gp = lth__calloc(1, sizeof *gp);
        assert_non_null(gp);
        support_ok(lth__gp_steps_begin(gp, &err), &err);
        for (size_t i = 0; i < counts[k]; i++)
            lth__gp_steps_add(gp, &(lth_gp_step){.iteration = i, .evidence = 1});
        size_t stride = 1;
        while ((counts[k] - 1) / stride + 1 > LTH__MOST_STEPS) stride *= 2;
        size_t kept = gp->step_count, last = counts[k] - 1;
        assert_true(kept <= LTH__MOST_STEPS);
        assert_true(lth_gp_step_at(gp, kept - 1)->iteration == last);
        for (size_t i = 0; i + 1 < kept; i++)
            assert_true(lth_gp_step_at(gp, i)->iteration == i * gp->step_every);
        assert_true(gp->step_every == stride || gp->step_every == 2 * stride);
        lth__free(gp->steps);
        lth__free(gp);
    }
}

static void test_steps_without_numbers_are_left_out(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *gp = lth__calloc(1, sizeof *gp);
    assert_non_null(gp);
    support_ok(lth__gp_steps_begin(gp, &err), &err);
    lth__gp_steps_add(gp, &(lth_gp_step){.iteration = 1, .evidence = -INFINITY});
    lth__gp_steps_add(gp, &(lth_gp_step){.iteration = 2, .evidence = 1, .gradient = NAN});
    lth__gp_steps_add(gp, &(lth_gp_step){.iteration = 3, .evidence = 1});
    assert_int_equal(gp->step_count, 1);
    assert_int_equal(lth_gp_step_at(gp, 0)->iteration, 3);
    lth__free(gp->steps);
    lth__free(gp);
}

/* ---- Files ---- */

static const char *const texts[] = {"model", "kernel", "targets", "made_by"};
static const char *const arrays[] = {"report",
                                     "nu",
                                     "order_share",
                                     "scaling",
                                     "noise",
                                     "start",
                                     "flags",
                                     "y",
                                     "alpha",
                                     "factor.height",
                                     "factor.packed",
                                     "field.0.texts",
                                     "field.0.text_ends",
                                     "field.0.starts",
                                     "field.0.symbols"};

/* The same model file with other steps; `steps` NULL = without, as files of before are. */
static lth_status load_with(const lth__tensors *file, const lth__tensor *steps, lth_gp **out,
                            lth_error *err) {
    lth__tensors_writer *w = lth__tensors_writer_create();
    assert_non_null(w);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = lth__tensors_text(file, texts[i]);
        if (text) assert_true(lth__tensors_put_text(w, texts[i], text));
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const lth__tensor *t = lth__tensors_find(file, arrays[i]);
        assert_non_null(t);
        assert_true(lth__tensors_put(w, t));
    }
    if (steps) assert_true(lth__tensors_put(w, steps));
    char *path = support_file("", 0);
    support_ok(lth__tensors_write(w, path, err), err);
    lth_status status = lth_gp_load(ctx, path, out, err);
    support_remove(path);
    lth__tensors_writer_free(w);
    return status;
}

static void check_refused(const lth__tensors *file, const double *x, size_t rows, size_t cols) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth__tensor steps = {
        .name = "steps", .dtype = LTH__F64, .rank = 2, .shape = {rows, cols}, .data = x};
    assert_int_equal(load_with(file, &steps, &gp, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.message, "steps"));
    assert_null(gp);
}

static void test_steps_of_a_file_are_checked(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_rows(ctx, 0, 10);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "ssk(text, order=2)", table, 1, &options), *back = NULL;
    char *path = support_file("", 0);
    lth__tensors *file = NULL;
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth__tensors_read(NULL, path, &file, &err), &err);

    support_ok(load_with(file, NULL, &back, &err), &err);
    assert_null(lth_gp_step_at(back, 0));
    lth_gp_free(back);

    double good[] = {0, 1, 2, -30, 0.5, 0.01, 1, 2, 5, -20, 0.25, 0.02};
    lth__tensor steps = {
        .name = "steps", .dtype = LTH__F64, .rank = 2, .shape = {2, 6}, .data = good};
    support_ok(load_with(file, &steps, &back, &err), &err);
    check_step(*lth_gp_step_at(back, 1), (lth_gp_step){1, 2, 5, -20, 0.25, 0.02});
    assert_null(lth_gp_step_at(back, 2));
    lth_gp_free(back);

    static const double bad[] = {-1, 1e16, NAN, INFINITY};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        for (size_t place = 0; place < 6; place++) {
            if (k < 2 && place >= 3) continue; /* numbers, not counts */
            double x[12];
            memcpy(x, good, sizeof x);
            x[6 + place] = bad[k];
            check_refused(file, x, 2, 6);
        }
    }
    check_refused(file, good, 2, 5);
    double *many = calloc(2001 * 6, sizeof *many);
    assert_non_null(many);
    check_refused(file, many, 2001, 6);
    free(many);

    lth__tensors_free(file);
    support_remove(path);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* ---- Memory ---- */

/* Learn, save, load, leave out. */
typedef struct use {
    const lth_table *table;
    const char *path;
} use;

static lth_status use_all(void *user, lth_error *err) {
    const use *u = user;
    static const char *const target = "y";
    lth_gp *gp = NULL, *back = NULL;
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.max_iter = 2;
    options.restarts = 1;
    lth_status status = lth_gp_fit(ctx, "rbf(f1)", u->table, &target, 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, u->path, err);
    if (status == LTH_OK) status = lth_gp_load(ctx, u->path, &back, err);
    double room[3 * 6];
    if (status == LTH_OK) status = lth_gp_leave_one_out(back, 0, room, room + 6, room + 12, err);
    if (status == LTH_OK) assert_true(lth_gp_step_at(back, 0));
    lth_gp_free(back);
    lth_gp_free(gp);
    return status;
}

static void test_each_allocation_fails(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 6);
    char *path = support_file("", 0);
    fail_each(use_all, &(use){table, path}, false, 50);
    support_remove(path);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave_one_out),
        cmocka_unit_test(test_leave_one_out_units),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_left_out_without_memory),
        cmocka_unit_test(test_leave_one_out_misuse),
        cmocka_unit_test(test_steps_are_kept),
        cmocka_unit_test(test_no_steps_without_learning),
        cmocka_unit_test(test_steps_are_thinned),
        cmocka_unit_test(test_steps_without_numbers_are_left_out),
        cmocka_unit_test(test_steps_of_a_file_are_checked),
        cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
