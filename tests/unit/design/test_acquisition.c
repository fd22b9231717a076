/* Acquisitions: known values, numerical integrals, and far below the best, where the logarithm of
 * the expected improvement is all that is left of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "design/acquisition.h"
#include "model/common/special.h"

static void assert_close(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance * (1 + fabs(b)))) fail_msg("%.17g is not %.17g", a, b);
}

static double value(lth_acquisition which, double mean, double sd, double best) {
    return lth__acquisition_at(which)->value(mean, sd, best, 2);
}

/* max(f - best, 0) times the density of f. */
typedef struct improvement {
    double mean, sd, best;
} improvement;

static double at_f(void *user, double f) {
    const improvement *i = user;
    double z = (f - i->mean) / i->sd;
    return fmax(f - i->best, 0) * exp(-0.5 * z * z) / (i->sd * sqrt(2 * M_PI));
}

static void integrals(void **state) {
    (void)state;
    for (double mean = -3; mean <= 3; mean += 0.7) {
        for (double sd = 0.1; sd < 4; sd *= 2.3) {
            improvement i = {mean, sd, 0.4};
            double top = fmax(mean + 14 * sd, 0.4);
            double truth = lth__integrate(at_f, &i, 0.4, top, 200);
            assert_close(value(LTH_ACQUIRE_EI, mean, sd, 0.4), truth, 1e-12);
            if (truth > 1e-12)
                assert_close(value(LTH_ACQUIRE_LOGEI, mean, sd, 0.4), log(truth), 1e-8);
        }
    }
}

/* From arbitrary precision: log(phi(z) + z Phi(z)). */
static void far_below(void **state) {
    (void)state;
    static const struct {
        double z, log_h;
    } known[] = {
        {0, -0.9189385332046727},           {-0.5, -1.6205162643873199},
        {-1, -2.4851210257126413},          {-2, -4.7687835239171142},
        {-5, -16.7443011626609901},         {-10, -55.5531220361223559},
        {-29.999, -457.6945878133436756},   {-30, -457.7246537605980041},
        {-30.001, -457.7547207056520488},   {-100, -5010.1295788002497923},
        {-1e4, -50000019.3396193071570372}, {-1e8, -5000000000000037.76},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_close(value(LTH_ACQUIRE_LOGEI, known[i].z, 1, 0), known[i].log_h, 1e-12);
    assert_true(isfinite(value(LTH_ACQUIRE_LOGEI, -1e200, 1, 0)));
    assert_true(isfinite(value(LTH_ACQUIRE_LOGEI, -1, 0, 0)));
    assert_close(value(LTH_ACQUIRE_LOGEI, 1e200, 1, 0), log(1e200), 1e-14);
}

static void rises_with_mean_and_sd(void **state) {
    (void)state;
    for (double z = -60; z < 5; z += 0.01) {
        assert_true(value(LTH_ACQUIRE_LOGEI, z + 0.01, 1, 0) > value(LTH_ACQUIRE_LOGEI, z, 1, 0));
        assert_true(value(LTH_ACQUIRE_LOGEI, z, 1.01, 0) > value(LTH_ACQUIRE_LOGEI, z, 1, 0));
    }
}

static void known_values(void **state) {
    (void)state;
    assert_close(value(LTH_ACQUIRE_UCB, 1, 0.5, 9), 2, 1e-15);
    assert_close(value(LTH_ACQUIRE_TS, 1, 0.5, 9), 2.5, 1e-15);
    assert_close(value(LTH_ACQUIRE_GREEDY, 1, 0.5, 9), 1, 1e-15);
    assert_close(value(LTH_ACQUIRE_VARIANCE, 1, 0.5, 9), 0.25, 1e-15);
    assert_close(value(LTH_ACQUIRE_PI, 2.96, 1, 1), 0.975002104851779, 1e-12);
    assert_close(value(LTH_ACQUIRE_EI, 1, 0, 0.25), 0.75, 1e-15);
    assert_close(value(LTH_ACQUIRE_EI, 0, 0, 0.25), 0, 0);
    assert_close(value(LTH_ACQUIRE_PI, 1, 0, 0.25), 1, 0);
}

/* Gains are divided by cost, logarithms lose its logarithm, levels count from the base. */
static void weighed(void **state) {
    (void)state;
    const lth__acquisition *ei = lth__acquisition_at(LTH_ACQUIRE_EI);
    const lth__acquisition *logei = lth__acquisition_at(LTH_ACQUIRE_LOGEI);
    const lth__acquisition *ucb = lth__acquisition_at(LTH_ACQUIRE_UCB);
    assert_close(lth__acquisition_weigh(ei, 3, 0.5, 2, -1), 0.75, 1e-15);
    assert_close(lth__acquisition_weigh(logei, log(3), 0.5, 2, -1), log(0.75), 1e-15);
    assert_close(lth__acquisition_weigh(ucb, 3, 0.5, 2, -1), 0, 1e-15);
    assert_close(lth__acquisition_weigh(ucb, -4, 0.5, 2, -1), -4, 1e-15);
    assert_true(isfinite(lth__acquisition_weigh(logei, 1, 0, 1, 0)));
    for (int a = LTH_ACQUIRE_EI; lth_acquisition_name((lth_acquisition)a, NULL); a++) {
        const lth__acquisition *all = lth__acquisition_at((lth_acquisition)a);
        assert_close(lth__acquisition_weigh(all, 3.5, 1, 1, -2), 3.5, 0);
    }
}

static void names(void **state) {
    (void)state;
    const char *help = NULL;
    assert_string_equal(lth_acquisition_name(LTH_ACQUIRE_LOGEI, &help), "logei");
    assert_non_null(help);
    assert_string_equal(lth_acquisition_name(LTH_ACQUIRE_MARGIN, NULL), "margin");
    assert_null(lth_acquisition_name((lth_acquisition)(LTH_ACQUIRE_MARGIN + 1), NULL));
    assert_null(lth__acquisition_at(LTH_ACQUIRE_AUTO));
    assert_string_equal(lth_batch_name(LTH_BATCH_THOMPSON, &help), "thompson");
    assert_null(lth_batch_name((lth_batch)(LTH_BATCH_TOP + 1), NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integrals),    cmocka_unit_test(far_below),
        cmocka_unit_test(known_values), cmocka_unit_test(rises_with_mean_and_sd),
        cmocka_unit_test(weighed),      cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
