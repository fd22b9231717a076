/* Options of models that do not go with each other, or with the targets: each is refused with its
 * reason. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gp_support.h"

static lth_ctx *ctx;
static lth_table *table;

static int open_all(void **state) {
    (void)state;
    ctx = support_context(1);
    table = support_table(ctx, "text\tf\ty\tz\tkind\tone\tnone\tpile\tcount\n"
                               "ab\t1\t0.5\t1\tx\tx\t\t2\t3\nbc\t2\t1.5\t2\ty\tx\t\t3\t0\n"
                               "ac\t3\t2.5\t1\tx\tx\t\t2\t-7\n");
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_table_free(table);
    lth_ctx_free(ctx);
    return 0;
}

/* ---- Gaussian processes ---- */

static lth_gp_options gp;
static const char *targets[] = {"y", "z"};
static size_t target_count;

static void begin(const char *first) {
    lth_gp_options_init(&gp);
    targets[0] = first;
    target_count = 1;
}

static void refused_as(lth_status expected, const char *message) {
    lth_gp *model = NULL;
    lth_error err = {0};
    lth_status status =
        lth_gp_fit(ctx, "ssk(text, units=chars)", table, targets, target_count, &gp, &model, &err);
    if (status != expected || model || strcmp(err.message, message) != 0)
        fail_msg("status %d: \"%s\", not \"%s\"", status, err.message, message);
}

static void refused(const char *message) {
    refused_as(LTH_EARG, message);
}

static void test_labels(void **state) {
    (void)state;
    begin("kind");
    gp.zero_mean = true;
    refused("a mean of zero is for numbers, but \"kind\" has labels");
    begin("kind");
    gp.unscaled = true;
    refused("unscaled is for numbers, but \"kind\" has labels");
    begin("kind");
    gp.noise_held = true;
    refused("noise is for numbers, but \"kind\" has labels");
    begin("kind");
    gp.noise = 0.1;
    refused("noise is for numbers, but \"kind\" has labels");
    begin("kind");
    gp.noise_by = "f";
    refused("noise-by is for numbers, but \"kind\" has labels");
    begin("kind");
    gp.exposure = "f";
    refused("exposure is for numbers, but \"kind\" has labels");
    begin("kind");
    gp.point = LTH_POINT_MEDIAN;
    refused("point is for numbers, but \"kind\" has labels");
    begin("kind");
    target_count = 2;
    refused("\"kind\" has labels: a model learns one column of labels; fit a model for each");
    begin("kind");
    gp.task = LTH_TASK_CLASSIFICATION;
    gp.likelihood = LTH_STUDENT;
    refused("the likelihood student is for numbers, but \"kind\" has labels");
    begin("kind");
    gp.coregion = 1;
    refused("coregion is for numbers, but \"kind\" has labels");
}

static void test_numbers(void **state) {
    (void)state;
    begin("y");
    gp.likelihood = LTH_PROBIT;
    refused("the likelihood probit is for labels, but \"y\" has numbers");
    gp.likelihood = (lth_likelihood)99;
    refused("there is no such likelihood");
    begin("y");
    gp.warp = "log";
    refused("warp goes with the likelihood warped");
    gp.likelihood = LTH_WARPED;
    gp.warp = "lug";
    refused("there is no warp \"lug\"");
    gp.warp = "log";
    gp.noise_by = "f";
    refused("noise-by does not go with a warp: noise is normal after it");
    gp.noise_by = NULL;
    gp.weights = "f";
    refused("weights does not go with a warp: noise is normal after it");
    begin("y");
    gp.upper = 2;
    refused("lower and upper go with the likelihood censored");
    gp.likelihood = LTH_CENSORED;
    gp.lower = 2;
    refused("lower is 2, which is not below upper, 2");
    begin("y");
    gp.likelihood = LTH_CENSORED;
    refused("the likelihood censored wants a bound: lower, or upper");
    begin("pile");
    gp.likelihood = LTH_CENSORED;
    gp.lower = 2;
    gp.upper = 3;
    refused_as(LTH_EFORMAT, "every number in column \"pile\" is at or beyond a bound: there is "
                            "nothing to learn from");
    begin("y");
    gp.exposure = "f";
    refused("an exposure goes with counts: the likelihood poisson or negbinomial");
}

static void test_counts(void **state) {
    (void)state;
    begin("count");
    gp.likelihood = LTH_POISSON;
    gp.noise = 1;
    refused("the likelihood poisson has no noise of its own");
    gp.noise = 0;
    gp.noise_held = true;
    refused("the likelihood poisson has no noise of its own");
    begin("count");
    gp.likelihood = LTH_POISSON;
    gp.noise_by = "f";
    refused("the likelihood poisson has no noise of its own");
    begin("count");
    gp.likelihood = LTH_POISSON;
    gp.zero_mean = true;
    refused("a mean of zero does not go with the likelihood poisson");
    gp.zero_mean = false;
    gp.unscaled = true;
    refused("unscaled does not go with the likelihood poisson");
    gp.unscaled = false;
    refused_as(LTH_EFORMAT,
               "-7 in column \"count\" is not a count: counts are whole numbers from 0 on");
}

static void test_coregion(void **state) {
    (void)state;
    begin("y");
    gp.coregion = 1;
    refused("coregion is for several targets that learn from each other, but \"y\" is the only "
            "one");
    target_count = 2;
    gp.coregion = 3;
    refused("coregion of rank 3, but there are 2 targets: take 2 at most");
}

/* ---- Support vector machines ---- */

static lth_svm_options svm;

static void svm_refused_as(lth_status expected, const char *target, const char *message) {
    lth_svm *model = NULL;
    lth_error err = {0};
    lth_status status =
        lth_svm_fit(ctx, "ssk(text, units=chars)", table, target, &svm, &model, &err);
    if (status != expected || model || strcmp(err.message, message) != 0)
        fail_msg("status %d: \"%s\", not \"%s\"", status, err.message, message);
    lth_svm_options_init(&svm);
}

static void svm_refused(const char *target, const char *message) {
    svm_refused_as(LTH_EARG, target, message);
}

static void test_machines(void **state) {
    (void)state;
    static const double zero = 0, below = -1, above = 1.5, odd = NAN;
    static const char *const set[] = {"ssk.order=1,2"};
    lth_svm_options_init(&svm);
    svm.C = &zero;
    svm.C_count = 1;
    svm_refused("kind", "C is a number above 0, not 0");
    svm.C_count = 0;
    svm_refused("kind", "C has no value");
    svm.epsilon = &below;
    svm.epsilon_count = 1;
    svm_refused("y", "epsilon is 0 or a number above it, not -1");
    svm.epsilon = &odd;
    svm.epsilon_count = 1;
    svm_refused("y", "epsilon is 0 or a number above it, not nan");
    svm.nu = &above;
    svm.nu_count = 1;
    svm_refused("kind", "nu is above 0 and at most 1, not 1.5");
    svm.inner_folds = 1;
    svm_refused("kind", "inner folds are 2 at least");
    svm.nu_svm = true;
    svm.class_weights = "balanced";
    svm_refused("kind", "class weights are factors of C, which nu-SVC has not");
    svm.gram = "K";
    svm.set = set;
    svm.set_count = 1;
    svm_refused("kind", "a Gram matrix on disk is of one kernel, without a grid");
    svm.gram = "K";
    svm.solver = LTH_SVM_LINEAR;
    svm_refused("kind", "the linear solver needs no Gram matrix");
    static const char *const weights[] = {"x", "x=", "x=0", "x=-1", "x=inf"};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        char message[96];
        snprintf(message, sizeof message,
                 "class weights are \"balanced\" or NAME=W,..., with W above 0, not \"%s\"",
                 weights[i]);
        svm.class_weights = weights[i];
        svm_refused("kind", message);
    }
    svm.probability = true;
    svm_refused("y", "probabilities are for labels, but \"y\" has numbers");
    svm.class_weights = "balanced";
    svm_refused("y", "class weights are for labels, but \"y\" has numbers");
    svm.task = LTH_TASK_CLASSIFICATION;
    svm_refused_as(LTH_EFORMAT, "one",
                   "all rows have the same label in column \"one\": there is nothing to tell "
                   "apart");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),   cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_counts),   cmocka_unit_test(test_coregion),
        cmocka_unit_test(test_machines),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
