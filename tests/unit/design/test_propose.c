/* Proposals: what is left out, which way is better, the same for any number of threads, what is
 * said of each, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "design/edits.h"
#include "design/scorer.h"
#include "design_support.h"
#include "failing_allocator.h"
#include "gp_support.h"

enum { LENGTH = DESIGN_LENGTH, MEASURED = 30, POOL = 150 };

static lth_ctx *ctx;
static lth_table *measured, *pool; /* the first of the pool are measured too */

static int open_tables(void **state) {
    (void)state;
    ctx = support_context(2);
    measured = design_rows(ctx, 0, MEASURED);
    pool = design_rows(ctx, MEASURED - 10, POOL);
    return 0;
}

static int close_tables(void **state) {
    (void)state;
    lth_table_free(measured);
    lth_table_free(pool);
    lth_ctx_free(ctx);
    return 0;
}

/* ---- Models and proposals in a call ---- */

static lth_model *fit(const char *target) {
    return design_fit(ctx, measured, &target, 1, LTH_LOGIT);
}

static lth_proposals *propose(lth_model *model, const lth_propose_options *options) {
    return design_propose(&model, 1, pool, options);
}

static void refused(lth_model *const *models, size_t count, const lth_propose_options *options,
                    const char *why) {
    lth_error err = {0};
    lth_proposals *p = NULL;
    assert_int_equal(lth_propose(models, count, pool, options, &p, &err), LTH_EARG);
    assert_null(p);
    if (!strstr(err.message, why)) fail_msg("\"%s\" does not say \"%s\"", err.message, why);
}

/* ---- All acquisitions and batches ---- */

typedef struct way {
    lth_acquisition acquisition;
    lth_batch batch;
} way;

static const way of_numbers[] = {
    {LTH_ACQUIRE_AUTO, LTH_BATCH_AUTO},       {LTH_ACQUIRE_EI, LTH_BATCH_AUTO},
    {LTH_ACQUIRE_LOGEI, LTH_BATCH_BELIEVER},  {LTH_ACQUIRE_LOGEI, LTH_BATCH_THOMPSON},
    {LTH_ACQUIRE_UCB, LTH_BATCH_AUTO},        {LTH_ACQUIRE_TS, LTH_BATCH_AUTO},
    {LTH_ACQUIRE_GREEDY, LTH_BATCH_AUTO},     {LTH_ACQUIRE_PI, LTH_BATCH_AUTO},
    {LTH_ACQUIRE_VARIANCE, LTH_BATCH_AUTO},   {LTH_ACQUIRE_EI, LTH_BATCH_TOP},
    {LTH_ACQUIRE_GREEDY, LTH_BATCH_BELIEVER}, {LTH_ACQUIRE_LOGEI, LTH_BATCH_JOINT},
};
enum { OF_NUMBERS = sizeof of_numbers / sizeof *of_numbers };

static bool is_measured(const char *text) {
    for (size_t i = 0; i < MEASURED; i++) {
        if (strcmp(design_word(measured, i), text) == 0) return true;
    }
    return false;
}

static void left_out(void **state) {
    (void)state;
    lth_model *model = fit("y");
    for (size_t w = 0; w < OF_NUMBERS; w++) {
        lth_propose_options o = design_options(40);
        o.acquisition = of_numbers[w].acquisition;
        o.batch = of_numbers[w].batch;
        lth_proposals *p = propose(model, &o);
        assert_int_equal(lth_proposals_count(p), 40);
        assert_true(lth_proposals_acquisition(p) != LTH_ACQUIRE_AUTO);
        assert_true(lth_proposals_batch(p) != LTH_BATCH_AUTO);
        for (size_t i = 0; i < 40; i++) {
            const char *text = design_word(pool, lth_proposal_at(p, i)->row);
            assert_false(is_measured(text));
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(design_word(pool, lth_proposal_at(p, j)->row), text);
        }
        assert_null(lth_proposal_at(p, 40));
        lth_proposals_free(p);
    }
    lth_model_free(model);
}

/* Rows that were measured without the model: they, and what is near, are left out as well. */
static void said_to_be_measured(void **state) {
    (void)state;
    lth_model *model = fit("y");
    lth_table *others = design_rows(ctx, MEASURED, 20);
    for (size_t distance = 1; distance <= 2; distance++) {
        lth_propose_options o = design_options(POOL);
        o.distance = distance;
        lth_proposals *without = propose(model, &o);
        o.measured = others;
        lth_proposals *p = propose(model, &o);
        size_t count = lth_proposals_count(p);
        assert_true(count > 0 && count < lth_proposals_count(without));
        for (size_t i = 0; i < count * 20; i++) {
            const char *text = design_word(pool, lth_proposal_at(p, i / 20)->row);
            const char *other = design_word(others, i % 20);
            assert_true(lth__edits(text, LENGTH, other, LENGTH, SIZE_MAX - 1) >= distance);
        }
        lth_proposals_free(without);
        lth_proposals_free(p);
    }
    lth_table_free(others);
    lth_model_free(model);
}

/* More than there are: each once. And all of them, with repeats. */
static void as_many_as_there_are(void **state) {
    (void)state;
    lth_model *model = fit("y");
    size_t different = 0, new = 0;
    for (size_t i = 0; i < POOL; i++) {
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = strcmp(design_word(pool, i), design_word(pool, j)) != 0;
        different += first;
        new += first && !is_measured(design_word(pool, i));
    }
    assert_true(new < different &&different < POOL);
    for (int repeats = 0; repeats < 2; repeats++) {
        lth_propose_options o = design_options(POOL + 5);
        o.repeats = repeats;
        o.shortlist = 8;
        lth_proposals *p = propose(model, &o);
        assert_int_equal(lth_proposals_count(p), repeats ? different : new);
        lth_proposals_free(p);
    }
    lth_propose_options none = design_options(0);
    lth_proposals *p = propose(model, &none);
    assert_int_equal(lth_proposals_count(p), 0);
    lth_proposals_free(p);
    lth_model_free(model);
}

/* Minimising y is maximising -y. */
static void both_ways(void **state) {
    (void)state;
    lth_model *plus = fit("y"), *minus = fit("minus");
    const char *objectives[] = {"y=min"};
    for (size_t w = 0; w < OF_NUMBERS; w++) {
        lth_propose_options up = design_options(12), down = design_options(12);
        up.acquisition = down.acquisition = of_numbers[w].acquisition;
        up.batch = down.batch = of_numbers[w].batch;
        down.objectives = objectives;
        down.objective_count = 1;
        lth_proposals *a = propose(minus, &up), *b = propose(plus, &down);
        for (size_t i = 0; i < 12; i++) {
            const lth_proposal *x = lth_proposal_at(a, i), *y = lth_proposal_at(b, i);
            assert_int_equal(x->row, y->row);
            support_near(x->mean, -y->mean, 1e-9);
            support_near(x->sd, y->sd, 1e-9);
        }
        bool minimize = false;
        assert_string_equal(lth_proposals_objective(b, 0, &minimize), "y");
        assert_true(minimize);
        assert_null(lth_proposals_objective(b, 1, NULL));
        lth_proposals_free(a);
        lth_proposals_free(b);
    }
    lth_model_free(plus);
    lth_model_free(minus);
}

/* ---- What is said of each ---- */

static void told(void **state) {
    (void)state;
    lth_model *model = fit("y");
    lth_propose_options o = design_options(10);
    o.cost = "cost";
    o.wild_type = "AAAAAA";
    lth_proposals *p = propose(model, &o);
    double *all = support_predict(lth_model_gp(model), pool, true);
    for (size_t i = 0; i < 10; i++) {
        const lth_proposal *one = lth_proposal_at(p, i);
        const char *text = design_word(pool, one->row);
        size_t nearest = SIZE_MAX;
        for (size_t j = 0; j < MEASURED; j++) {
            size_t d = lth__edits(text, LENGTH, design_word(measured, j), LENGTH, SIZE_MAX);
            if (d < nearest) nearest = d;
        }
        assert_int_equal(one->distance, nearest);
        assert_int_equal(
            lth__edits(text, LENGTH, design_word(measured, one->nearest), LENGTH, SIZE_MAX),
            nearest);
        assert_int_equal(one->mutations, lth__edits(text, LENGTH, "AAAAAA", LENGTH, SIZE_MAX));
        support_near(one->mean, all[one->row], 1e-12);
        support_near(one->sd, all[POOL + one->row], 1e-12);
        support_near(lth_proposals_mean(p, i, 0), one->mean, 0);
        support_near(lth_proposals_sd(p, i, 0), one->sd, 0);
        assert_true(one->feasible == 1 && one->label == NULL);
        assert_true(one->cost == (double)(1 + (one->row + MEASURED - 10) % 3));
    }
    assert_true(isnan(lth_proposals_mean(p, 10, 0)) && isnan(lth_proposals_sd(p, 0, 1)));
    free(all);
    lth_proposals_free(p);
    lth_model_free(model);
}

/* The scorer says what the first proposal is worth, whatever the table; and nothing of what is
 * measured. */
static void scored(void **state) {
    (void)state;
    lth_model *model = fit("y");
    lth_error err = {0};
    lth_propose_options o = design_options(1);
    lth__scorer *s = NULL;
    double value[POOL], one;
    support_ok(lth__scorer_create(&model, 1, &o, &s, &err), &err);
    support_ok(lth__scorer_rows(s, pool, value, &err), &err);
    lth_proposals *p = propose(model, &o);
    size_t row = lth_proposal_at(p, 0)->row;
    for (size_t i = 0; i < POOL; i++) {
        assert_true(value[i] <= value[row]);
        assert_int_equal(isinf(value[i]) != 0, is_measured(design_word(pool, i)));
    }
    const char *text = design_word(pool, row);
    lth_table *alone = NULL;
    support_ok(lth_table_from_texts(ctx, "text", &text, NULL, 1, &alone, &err), &err);
    support_ok(lth__scorer_rows(s, alone, &one, &err), &err);
    support_near(one, value[row], 1e-10);
    support_near(lth_proposal_at(p, 0)->acquisition, value[row], 1e-8);
    double *all = support_predict(lth_model_gp(model), measured, true), before = INFINITY;
    for (size_t i = 0; i < MEASURED; i++) {
        const char *best = lth__scorer_best_text(s, i);
        size_t k = 0;
        while (strcmp(design_word(measured, k), best) != 0) k++;
        assert_true(all[k] <= before);
        before = all[k];
    }
    assert_null(lth__scorer_best_text(s, MEASURED));
    free(all);
    lth_table_free(alone);
    lth_proposals_free(p);
    lth__scorer_free(s);
    lth_model_free(model);
}

/* Rows of numbers and trees, which have no letters; with a model that keeps some of its rows. */
static void no_texts(void **state) {
    (void)state;
    enum { ROWS = 24 };
    static const char *const kernels[] = {"rbf(x1..x2)", "normalize(sstk(tree)) + rbf(x1)"};
    char lines[ROWS * 64], *at = lines + sprintf(lines, "x1\tx2\ttree\ty\n");
    for (size_t i = 0; i < ROWS; i++)
        at += sprintf(at, "%zu\t%.3g\t(S (A %c) (B %c))\t%.4g\n", i % 5, (double)(i % 7) / 3,
                      "xyz"[i % 3], "uv"[i % 2], sin((double)i));
    lth_table *known = support_table(ctx, lines);
    at += sprintf(at, "9\t1\t(S (A x) (B w))\t0\n4\t7\t(S (C x))\t0\n");
    lth_table *rows = support_table(ctx, lines);
    for (size_t k = 0; k < 4; k++) {
        lth_error err = {0};
        lth_gp *gp = NULL;
        const char *target = "y";
        lth_gp_options options = support_fixed();
        if (k >= 2) options.posterior = LTH_POSTERIOR_INDUCING, options.inducing = 6;
        support_ok(lth_gp_fit(ctx, kernels[k % 2], known, &target, 1, &options, &gp, &err), &err);
        lth_model *model = lth_gp_model(gp);
        lth_propose_options o = design_options(40);
        o.measured = known;
        lth_proposals *p = design_propose(&model, 1, rows, &o);
        assert_int_equal(lth_proposals_count(p), 2);
        for (size_t i = 0; i < 2; i++) {
            assert_true(lth_proposal_at(p, i)->row >= ROWS);
            assert_true(lth_proposal_at(p, i)->distance == LTH_NONE);
            assert_true(lth_proposal_at(p, i)->nearest == LTH_NONE);
            assert_true(lth_proposal_at(p, i)->mutations == LTH_NONE);
        }
        lth_proposals_free(p);
        o.distance = 2;
        refused(&model, 1, &o, "is for texts");
        lth_model_free(model);
    }
    lth_table_free(known);
    lth_table_free(rows);
}

/* Cells that are mutations: letters are counted in the sequences that they make. */
static void variants(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *known = support_table(ctx, "mut\ty\nWT\t0\nA1C\t1\nA1C:G3T\t2\nT4A\t-1\n");
    lth_table *rows = support_table(ctx, "mut\nG3T:A1C\nA1G\nA1C:G3T:T4A\nA1T:C2A:G3A:T4C\n");
    const char *target = "y";
    lth_gp_options options = support_fixed();
    lth_gp *gp = NULL;
    char *path = support_file(">wt\nACGT\n", 9), kernel[512];
    snprintf(kernel, sizeof kernel, "sites(mut, wild_type=\"%s\")", path);
    support_ok(lth_gp_fit(ctx, kernel, known, &target, 1, &options, &gp, &err), &err);
    lth_model *model = lth_gp_model(gp);
    lth_propose_options o = design_options(4);
    lth_proposals *p = design_propose(&model, 1, rows, &o);
    assert_int_equal(lth_proposals_count(p), 3); /* the first is measured, the other way round */
    for (size_t i = 0; i < 3; i++) {
        static const size_t mutations[] = {2, 1, 3, 4}, nearest[] = {0, 1, 1, 4};
        const lth_proposal *one = lth_proposal_at(p, i);
        assert_int_not_equal(one->row, 0);
        assert_int_equal(one->mutations, mutations[one->row]);
        assert_int_equal(one->distance, nearest[one->row]);
    }
    lth_proposals_free(p);
    lth_model_free(model);
    support_remove(path);
    lth_table_free(known);
    lth_table_free(rows);
}

/* ---- Threads ---- */

static void any_threads(void **state) {
    (void)state;
    for (size_t w = 0; w < OF_NUMBERS; w++) {
        lth_proposals *p[3];
        for (unsigned t = 0; t < 3; t++) {
            lth_ctx *of = support_context(1u << t);
            const char *target = "y";
            lth_model *model = design_fit(of, measured, &target, 1, LTH_LOGIT);
            lth_propose_options o = design_options(15);
            o.acquisition = of_numbers[w].acquisition;
            o.batch = of_numbers[w].batch;
            p[t] = propose(model, &o);
            lth_model_free(model);
            lth_ctx_free(of);
        }
        for (size_t i = 0; i < 15; i++) {
            for (size_t t = 1; t < 3; t++) {
                const lth_proposal *a = lth_proposal_at(p[0], i), *b = lth_proposal_at(p[t], i);
                assert_int_equal(a->row, b->row);
                assert_memory_equal(&a->acquisition, &b->acquisition, sizeof(double));
                assert_memory_equal(&a->mean, &b->mean, sizeof(double));
            }
        }
        for (size_t t = 0; t < 3; t++) lth_proposals_free(p[t]);
    }
}

/* ---- Mistakes ---- */

static void mistakes(void **state) {
    (void)state;
    lth_error err = {0};
    lth_model *numbers = fit("y"), *labels = fit("label"), *both[2] = {numbers, labels};
    lth_propose_options o = design_options(3);
    const char *objectives[] = {"yy", "z"};
    const double weights[] = {-1};
    refused(NULL, 0, &o, "no model");
    o.objectives = objectives, o.objective_count = 1;
    refused(&numbers, 1, &o, "did you mean \"y\"?");
    objectives[0] = "goood=max";
    refused(&labels, 1, &o, "did you mean \"good\"?");
    objectives[0] = objectives[1] = "y";
    o.objective_count = 2;
    refused(&numbers, 1, &o, "named twice");
    o = design_options(3);
    refused(both, 2, &o, "labels of one target");
    o.acquisition = LTH_ACQUIRE_ENTROPY;
    refused(&numbers, 1, &o, "entropy is for labels; numbers take ei");
    o.acquisition = LTH_ACQUIRE_EI;
    refused(&labels, 1, &o, "ei is for numbers; labels take entropy");
    o.acquisition = (lth_acquisition)99;
    refused(&numbers, 1, &o, "no such acquisition");
    o = design_options(3);
    o.batch = (lth_batch)99;
    refused(&numbers, 1, &o, "no such batch");
    o.batch = LTH_BATCH_JOINT;
    o.acquisition = LTH_ACQUIRE_UCB;
    refused(&numbers, 1, &o, "not for ucb");
    refused(&labels, 1,
            &(lth_propose_options){.size = sizeof o,
                                   .batch = LTH_BATCH_JOINT,
                                   .best = NAN,
                                   .feasible_least = NAN,
                                   .feasible_most = NAN},
            "labels take the batches believer and top");
    o = design_options(3);
    o.weights = weights;
    refused(&numbers, 1, &o, "not above 0");
    o = design_options(3);
    o.beta = -1;
    refused(&numbers, 1, &o, "beta");
    o = design_options(3);
    o.feasible = labels;
    o.feasible_class = "badd";
    refused(&numbers, 1, &o, "did you mean \"bad\"?");
    o = design_options(3);
    o.feasible = numbers;
    refused(&numbers, 1, &o, "from where to where");
    o = design_options(3);
    o.cost = "costs";
    lth_proposals *p = NULL;
    assert_int_equal(lth_propose(&numbers, 1, pool, &o, &p, &err), LTH_EFORMAT);
    o.cost = "y";
    assert_int_equal(lth_propose(&numbers, 1, pool, &o, &p, &err), LTH_EFORMAT);
    assert_true(err.line > 1 && strstr(err.message, "a cost is above 0"));
    lth_model_free(numbers);
    lth_model_free(labels);
}

static void machines(void **state) {
    (void)state;
    lth_error err = {0};
    lth_svm *svm = NULL;
    support_ok(lth_svm_fit(ctx, design_kernel, measured, "y", NULL, &svm, &err), &err);
    lth_model *model = lth_svm_model(svm);
    lth_propose_options o = design_options(5);
    lth_proposals *p = propose(model, &o);
    assert_int_equal(lth_proposals_acquisition(p), LTH_ACQUIRE_GREEDY);
    assert_int_equal(lth_proposals_count(p), 5);
    for (size_t i = 1; i < 5; i++)
        assert_true(lth_proposal_at(p, i)->mean <= lth_proposal_at(p, i - 1)->mean);
    assert_true(isnan(lth_proposal_at(p, 0)->sd));
    lth_proposals_free(p);
    o.acquisition = LTH_ACQUIRE_EI;
    refused(&model, 1, &o, "has no uncertainty");
    lth_model_free(model);
    support_ok(lth_svm_fit(ctx, design_kernel, measured, "label", NULL, &svm, &err), &err);
    model = lth_svm_model(svm);
    o = design_options(5);
    refused(&model, 1, &o, "name a class to optimise");
    o.objectives = (const char *[]){"good"};
    o.objective_count = 1;
    p = propose(model, &o);
    assert_int_equal(lth_proposals_count(p), 5);
    assert_true(lth_proposal_at(p, 0)->mean > 0);
    lth_proposals_free(p);
    lth_model_free(model);
}

static int cancel(void *user, const char *what, double done, double total) {
    (void)user, (void)what, (void)done, (void)total;
    return 1;
}

static void cancelled(void **state) {
    (void)state;
    lth_error err = {0};
    lth_model *model = fit("y"), *same = NULL;
    lth_ctx_options of;
    lth_ctx_options_init(&of);
    of.progress = cancel;
    lth_ctx *other = NULL;
    support_ok(lth_ctx_create(&of, &other, &err), &err);
    char *path = support_file("", 0);
    support_ok(lth_model_save(model, path, &err), &err);
    support_ok(lth_model_load(other, path, &same, &err), &err);
    lth_proposals *p = NULL;
    lth_propose_options o = design_options(5);
    assert_int_equal(lth_propose(&same, 1, pool, &o, &p, &err), LTH_ECANCELED);
    support_remove(path);
    lth_model_free(same);
    lth_model_free(model);
    lth_ctx_free(other);
}

/* ---- Memory ---- */

typedef struct failing {
    lth_model *model;
    lth_propose_options options;
} failing;

static lth_status use(void *user, lth_error *err) {
    failing *f = user;
    lth_proposals *p = NULL;
    lth_status status = lth_propose(&f->model, 1, pool, &f->options, &p, err);
    lth_proposals_free(p);
    return status;
}

static void failing_memory(void **state) {
    (void)state;
    lth_model *model = fit("y"), *label = fit("three");
    static const lth_batch batches[] = {LTH_BATCH_JOINT, LTH_BATCH_BELIEVER, LTH_BATCH_THOMPSON,
                                        LTH_BATCH_TOP};
    for (size_t i = 0; i < 4; i++) {
        failing f = {model, design_options(4)};
        f.options.acquisition = LTH_ACQUIRE_EI;
        f.options.batch = batches[i];
        f.options.shortlist = 20;
        f.options.draws = 8;
        f.options.distance = 2;
        f.options.pending = measured;
        f.options.measured = measured;
        f.options.cost = "cost";
        f.options.feasible = label;
        fail_each(use, &f, true, 20);
    }
    failing f = {label, design_options(4)};
    fail_each(use, &f, true, 20);
    lth_model_free(model);
    lth_model_free(label);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_out),
        cmocka_unit_test(as_many_as_there_are),
        cmocka_unit_test(both_ways),
        cmocka_unit_test(told),
        cmocka_unit_test(scored),
        cmocka_unit_test(any_threads),
        cmocka_unit_test(no_texts),
        cmocka_unit_test(variants),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(machines),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(failing_memory),
        cmocka_unit_test(said_to_be_measured),
    };
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
