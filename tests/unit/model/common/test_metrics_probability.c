/* Metrics of probabilities and decision values: by hand, and against their definitions. */
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
#include "model/common/metrics.h"

static lth_label_metrics judged(const lth__labelled *p) {
    lth_error err = {0};
    lth_label_metrics m;
    support_ok(lth__label_metrics_judge(p, &m, &err), &err);
    return m;
}

/* ---- Average precision ---- */

static double precision_by_pairs(const bool *positive, const double *score, size_t n) {
    double sum = 0, positives = 0;
    for (size_t i = 0; i < n; i++) {
        double hits = 0, found = 0;
        for (size_t j = 0; j < n; j++) {
            if (score[j] < score[i]) continue;
            hits += positive[j];
            found++;
        }
        if (positive[i]) sum += hits / found, positives++;
    }
    return sum / positives;
}

static void average_precision(void **state) {
    (void)state;
    lth_error err = {0};
    const bool positive[] = {1, 0, 1, 0, 1};
    const double score[] = {3, 1, 1, 2, 0.5};
    double found;
    /* 1 of 1; 2 of 4, two of them tied; 3 of 5. */
    support_ok(lth__average_precision(positive, score, 5, &found, &err), &err);
    support_near(found, (1 + 2 / 4.0 + 3 / 5.0) / 3, 1e-15);
    support_ok(lth__average_precision(positive + 1, score, 1, &found, &err), &err);
    assert_true(isnan(found));
    uint64_t x = 9;
    for (size_t trial = 0; trial < 200; trial++) {
        bool is[50];
        double by[50];
        for (size_t i = 0; i < 50; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            is[i] = i == 0 || (x >> 40) % 3 == 0;
            by[i] = (double)((x >> 50) % (2 + trial)) + is[i];
        }
        support_ok(lth__average_precision(is, by, 50, &found, &err), &err);
        support_near(found, precision_by_pairs(is, by, 50), 1e-12);
    }
}

/* ---- By hand ---- */

/* Four rows of two classes; the last one is wrong. */
static const bool truth[] = {1, 0, 0, 1, 0, 1, 1, 0}, predicted[] = {1, 0, 0, 1, 0, 1, 0, 1};
static const double probability[] = {0.9, 0.1, 0.2, 0.8, 0.45, 0.55, 0.3, 0.7};

static void two_classes(void **state) {
    (void)state;
    lth__labelled p = {.count = 4, .classes = 2, .truth = truth, .predicted = predicted};
    lth_label_metrics m = judged(&p);
    assert_true(m.accuracy == 0.75 && isnan(m.auc) && isnan(m.log_loss) && isnan(m.brier));
    assert_true(isnan(m.auprc) && isnan(m.calibration) && isnan(m.qwk));
    p.probability = probability;
    m = judged(&p);
    support_near(m.brier, 2 * (0.01 + 0.04 + 0.2025 + 0.49) / 4, 1e-14);
    support_near(m.log_loss, -log(0.9 * 0.8 * 0.55 * 0.3) / 4, 1e-14);
    support_near(m.auc, 3 / 4.0, 1e-15);
    support_near(m.auprc, (1 + 2 / 3.0) / 2, 1e-15); /* the second class: .8, then .7, .55 */
    /* Each row has a bin of its own: .1 + .2 + .45 + .7, of 4. */
    support_near(m.calibration, 1.45 / 4, 1e-14);
    const double decision[] = {-5, 1, 2, -4}; /* for the first class: all the wrong way round */
    p.decision = decision;
    m = judged(&p);
    assert_true(m.auc == 0);
    support_near(m.auprc, (1 / 3.0 + 2 / 4.0) / 2, 1e-15);
}

static void bins_are_shared(void **state) {
    (void)state;
    /* .61 and .69 share a bin: one of two is right, .65 were expected. 1 is in the last bin. */
    const bool is[] = {1, 0, 0, 1, 1, 0}, as[] = {1, 0, 1, 0, 1, 0};
    const double sure[] = {0.61, 0.39, 0.69, 0.31, 1, 0};
    lth__labelled p = {.count = 3, .classes = 2, .truth = is, .predicted = as, .probability = sure};
    support_near(judged(&p).calibration, 2 * (0.65 - 0.5) / 3, 1e-14);
    const double wrong[] = {0.61, 0.39, NAN, 0.31, 1, 0};
    p.probability = wrong;
    assert_true(isnan(judged(&p).calibration));
}

/* Each label stands for itself: every yes and no is a decision. */
static void several_labels(void **state) {
    (void)state;
    const bool is[] = {1, 1, 0, 0, 0, 1}, as[] = {1, 0, 0, 0, 0, 1};
    const double p_of[] = {0.8, 0.3, 0.1, 0.25, 0.4, 0.95};
    const char *const names[] = {"1", "2", "3"};
    lth__labelled p = {.count = 2,
                       .classes = 3,
                       .multi = true,
                       .truth = is,
                       .predicted = as,
                       .probability = p_of,
                       .name = names};
    lth_label_metrics m = judged(&p);
    support_near(m.brier, (0.04 + 0.49 + 0.01 + 0.0625 + 0.16 + 0.0025) / 6, 1e-14);
    /* Bins: .6; .7 (wrong) and .75; .8; .9 and .95. */
    support_near(m.calibration, (0.4 + (1.45 - 1) + 0.2 + 0.15) / 6, 1e-14);
    assert_true(isnan(m.auc) && isnan(m.auprc) && isnan(m.qwk));
}

static void grades(void **state) {
    (void)state;
    /* Truth 1 2 4 4, taken for 1 4 4 2. By squares: seen 8, expected 4 x 4 pairs: 60 / 4. */
    const bool is[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1},
               as[] = {1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0};
    const char *const names[] = {"1", "2", "4"}, *const words[] = {"1", "2", "four"},
                      *const halves[] = {"1", "2", "2.5"}, *const signs[] = {"-1", "+2", " 4"};
    lth__labelled p = {.count = 4, .classes = 3, .truth = is, .predicted = as, .name = names};
    double expected = 0;
    const double a[] = {1, 2, 4, 4}, b[] = {1, 4, 4, 2};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) expected += (a[i] - b[j]) * (a[i] - b[j]) / 4;
    support_near(judged(&p).qwk, 1 - 8 / expected, 1e-14);
    p.name = words;
    assert_true(isnan(judged(&p).qwk));
    p.name = halves;
    assert_true(isnan(judged(&p).qwk));
    p.name = signs;
    assert_true(judged(&p).qwk < 1);
    p.name = NULL;
    assert_true(isnan(judged(&p).qwk));
    p.name = names, p.count = 1;
    assert_true(isnan(judged(&p).qwk)); /* one grade alone */
    p.count = 0;
    assert_true(isnan(judged(&p).qwk));
}

/* ---- The public way ---- */

static void with_a_size(void **state) {
    (void)state;
    lth_error err = {0};
    lth_label_metrics m = {.brier = 7, .qwk = 8};
    support_ok(lth_label_metrics_with(truth, predicted, probability, NULL, 4, 2, false, &m,
                                      offsetof(lth_label_metrics, brier), &err),
               &err);
    assert_true(m.auc == 0.75 && m.brier == 7 && m.qwk == 8);
    support_ok(
        lth_label_metrics_with(truth, predicted, NULL, NULL, 4, 2, false, &m, sizeof m, &err),
        &err);
    assert_true(m.accuracy == 0.75 && isnan(m.brier) && isnan(m.qwk));
}

/* Higher for the second class, as the decision values of a machine are given out. */
static void with_scores(void **state) {
    (void)state;
    lth_error err = {0};
    lth_label_metrics m;
    const double score[] = {-3, 2, 1, 1.5};
    support_ok(
        lth_label_metrics_scored(truth, predicted, score, NULL, 4, 2, false, &m, sizeof m, &err),
        &err);
    assert_true(m.auc == 0.75 && isnan(m.log_loss) && isnan(m.brier) && isnan(m.calibration));
    support_near(m.auprc, (1 + 2 / 3.0) / 2, 1e-15);
}

static lth_status judge(void *user, lth_error *err) {
    (void)user;
    const char *const names[] = {"0", "1"};
    lth_label_metrics m = {.count = 77};
    lth_status status = lth_label_metrics_with(truth, predicted, probability, names, 4, 2, false,
                                               &m, sizeof m, err);
    assert_true(status == LTH_OK ? m.count == 4 : m.count == 77);
    return status;
}

static void without_memory(void **state) {
    (void)state;
    fail_each(judge, NULL, false, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_precision),
        cmocka_unit_test(two_classes),
        cmocka_unit_test(bins_are_shared),
        cmocka_unit_test(several_labels),
        cmocka_unit_test(grades),
        cmocka_unit_test(with_a_size),
        cmocka_unit_test(with_scores),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
