/* The minimiser on functions whose minimum is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/common/minimise.h"

typedef struct run {
    size_t evaluations, iterations, stop_at, fail_at;
    double last_f, last_gradient;
    bool rising; /* some iterate was worse than the one before */
    size_t outside;
} run;

static const lth__minimise_options precise = {
    .max_iter = 500, .gradient_tolerance = 1e-8, .decrease_tolerance = 1e-14};

static int told(void *user, size_t iteration, double f, double gradient) {
    run *r = user;
    assert_int_equal(iteration, r->iterations + 1);
    if (r->iterations > 0 && f > r->last_f) r->rising = true;
    r->iterations = iteration;
    r->last_f = f;
    r->last_gradient = gradient;
    return r->stop_at > 0 && iteration >= r->stop_at;
}

static lth_status fails_now(run *r, lth_error *err) {
    r->evaluations++;
    if (r->fail_at == 0 || r->evaluations < r->fail_at) return LTH_OK;
    return lth__fail(err, LTH_EIO, "the disk is on fire");
}

/* (x - 3)^2 + 2 (y + 5)^2 + (z - 0.25)^2 + x z / 8 */
static lth_status quadratic(void *user, const double *x, double *f, double *g, lth_error *err) {
    LTH_TRY(fails_now(user, err));
    double a = x[0] - 3, b = x[1] + 5, c = x[2] - 0.25;
    *f = a * a + 2 * b * b + c * c + x[0] * x[2] / 8;
    g[0] = 2 * a + x[2] / 8;
    g[1] = 4 * b;
    g[2] = 2 * c + x[0] / 8;
    return LTH_OK;
}

static lth_status rosenbrock(void *user, const double *x, double *f, double *g, lth_error *err) {
    LTH_TRY(fails_now(user, err));
    double a = 1 - x[0], b = x[1] - x[0] * x[0];
    *f = a * a + 100 * b * b;
    g[0] = -2 * a - 400 * x[0] * b;
    g[1] = 200 * b;
    return LTH_OK;
}

/* x - log x: infinite for x <= 0, where the first long step may lead; least at 1. */
static lth_status half_line(void *user, const double *x, double *f, double *g, lth_error *err) {
    run *r = user;
    LTH_TRY(fails_now(r, err));
    if (x[0] <= 0) {
        r->outside++;
        *f = INFINITY;
        g[0] = 0;
        return LTH_OK;
    }
    *f = 1000 * (x[0] - log(x[0]));
    g[0] = 1000 * (1 - 1 / x[0]);
    return LTH_OK;
}

/* 1000 - 84 x + 42 x^2, least at 1; beyond 2 no value fits its slope, as where numbers run out. */
static lth_status wild(void *user, const double *x, double *f, double *g, lth_error *err) {
    run *r = user;
    LTH_TRY(fails_now(r, err));
    if (x[0] > 2) {
        r->outside++;
        *f = 1e5;
        g[0] = -1e22;
        return LTH_OK;
    }
    *f = 1000 - 84 * x[0] + 42 * x[0] * x[0];
    g[0] = -84 + 84 * x[0];
    return LTH_OK;
}

static lth_status nowhere(void *user, const double *x, double *f, double *g, lth_error *err) {
    (void)x;
    LTH_TRY(fails_now(user, err));
    *f = INFINITY;
    g[0] = 0;
    return LTH_OK;
}

static void near(double got, double wanted, double tolerance) {
    if (!(fabs(got - wanted) <= tolerance)) fail_msg("%.17g, not %.17g", got, wanted);
}

/* |x - 0.3| + 3 |y + 0.1| + 0.1 |x - y|: kinks, at which the search finds no step that is long
 * enough. */
static lth_status kinks(void *user, const double *x, double *f, double *g, lth_error *err) {
    LTH_TRY(fails_now(user, err));
    double a = x[0] - 0.3, b = x[1] + 0.1, c = x[0] - x[1];
    *f = fabs(a) + 3 * fabs(b) + 0.1 * fabs(c);
    g[0] = copysign(1, a) + copysign(0.1, c);
    g[1] = copysign(3, b) - copysign(0.1, c);
    return LTH_OK;
}

/* Where it ends is where it was best, and not where it looked last. */
static void ends_at_the_best(void **state) {
    (void)state;
    size_t not_converged = 0;
    for (size_t start = 0; start < 40; start++) {
        run r = {.stop_at = start % 4 == 0 ? 2 : 0}, own = {0};
        lth__minimum m;
        double f, g[2], x[] = {cos((double)start) * 2, sin(2. * (double)start) * 3};
        double lo[] = {-9, -9}, hi[] = {9, 9};
        assert_int_equal(lth__minimise(2, x, lo, hi, &precise, kinks, told, &r, &m, NULL), LTH_OK);
        assert_int_equal(kinks(&own, x, &f, g, NULL), LTH_OK);
        assert_true(f == m.f);
        not_converged += !m.converged;
    }
    assert_true(not_converged > 10);
}

static void free_quadratic(void **state) {
    (void)state;
    run r = {0};
    lth__minimum m;
    double x[] = {0, 0, 0}, lo[] = {-99, -99, -99}, hi[] = {99, 99, 99};
    assert_int_equal(lth__minimise(3, x, lo, hi, &precise, quadratic, told, &r, &m, NULL), LTH_OK);
    /* 2 a + z/8 = 0 and 2 c + x/8 = 0. */
    double z = (0.5 - 3.0 / 8) / (2 - 1.0 / 128), at = 3 - z / 16;
    near(x[0], at, 1e-8);
    near(x[1], -5, 1e-8);
    near(x[2], z, 1e-8);
    assert_true(m.converged && !m.stopped);
    assert_int_equal(m.iterations, r.iterations);
    assert_int_equal(m.evaluations, r.evaluations);
    assert_false(r.rising);
    assert_true(m.gradient < 1e-6);
}

/* Held at its upper and at its lower bound; the third is free, and one variable cannot move. */
static void active_bounds(void **state) {
    (void)state;
    run r = {0};
    lth__minimum m;
    double x[] = {0, 0, 0.1}, lo[] = {-1, -2, -9}, hi[] = {2, 8, 9};
    assert_int_equal(lth__minimise(3, x, lo, hi, &precise, quadratic, told, &r, &m, NULL), LTH_OK);
    assert_true(x[0] == 2 && x[1] == -2);
    near(x[2], 0.25 - 1.0 / 8, 1e-8);
    double c = x[2] - 0.25;
    near(m.f, 1 + 18 + c * c + 2 * x[2] / 8, 1e-12);
    assert_true(m.converged);
    assert_true(m.gradient < 1e-6); /* projected: the bounds' own do not count */

    double y[] = {0.5, 0.5, 0.5}, same[] = {0.5, 0.5, 0.5};
    assert_int_equal(lth__minimise(3, y, same, same, &precise, quadratic, told,
                                   &(run){.iterations = 0}, &m, NULL),
                     LTH_OK);
    assert_memory_equal(y, same, sizeof y);
    assert_true(m.converged && m.gradient == 0);
}

static void starts_outside(void **state) {
    (void)state;
    run r = {0};
    lth__minimum m;
    double x[] = {50, 50, 50}, lo[] = {-1, -2, -9}, hi[] = {2, 8, 9};
    assert_int_equal(lth__minimise(3, x, lo, hi, &precise, quadratic, told, &r, &m, NULL), LTH_OK);
    assert_true(x[0] == 2 && x[1] == -2);
}

static void banana(void **state) {
    (void)state;
    run r = {0};
    lth__minimum m;
    double x[] = {-1.2, 1}, lo[] = {-5, -5}, hi[] = {5, 5};
    assert_int_equal(lth__minimise(2, x, lo, hi, &precise, rosenbrock, told, &r, &m, NULL), LTH_OK);
    near(x[0], 1, 1e-6);
    near(x[1], 1, 1e-6);
    near(m.f, 0, 1e-12);
    assert_true(m.converged && !r.rising);
    assert_in_range(m.iterations, 10, 100);

    /* The minimum of the strip x <= 1/2 is at its edge. */
    double y[] = {-1.2, 1}, edge[] = {0.5, 5};
    r = (run){0};
    assert_int_equal(lth__minimise(2, y, lo, edge, &precise, rosenbrock, told, &r, &m, NULL),
                     LTH_OK);
    assert_true(y[0] == 0.5);
    near(y[1], 0.25, 1e-6);
}

static void infinite_region(void **state) {
    (void)state;
    const double starts[] = {0.01, 0.5, 3, 40};
    size_t outside = 0;
    for (size_t i = 0; i < 4; i++) {
        run r = {0};
        lth__minimum m;
        double x = starts[i], lo = -1e4, hi = 1e4;
        lth_status status = lth__minimise(1, &x, &lo, &hi, &precise, half_line, told, &r, &m, NULL);
        assert_int_equal(status, LTH_OK);
        near(x, 1, 1e-4);
        near(m.f, 1000, 1e-4);
        outside += r.outside;
    }
    assert_true(outside > 0); /* or nothing was tested */
}

static void wild_region(void **state) {
    (void)state;
    run r = {0};
    lth__minimum m;
    double x = 0, lo = -20, hi = 20;
    assert_int_equal(lth__minimise(1, &x, &lo, &hi, &precise, wild, told, &r, &m, NULL), LTH_OK);
    assert_true(r.outside > 0); /* or nothing was tested */
    assert_true(m.converged);
    near(x, 1, 1e-6);
    near(m.f, 958, 1e-6);
}

static void infinite_everywhere(void **state) {
    (void)state;
    run r = {0};
    lth__minimum m;
    double x = 2, lo = 0, hi = 9;
    assert_int_equal(lth__minimise(1, &x, &lo, &hi, &precise, nowhere, told, &r, &m, NULL), LTH_OK);
    assert_true(x == 2 && m.f == INFINITY);
    assert_true(r.evaluations < 100);
}

static void stopped_by_the_callback(void **state) {
    (void)state;
    run r = {.stop_at = 3};
    lth__minimum m;
    double x[] = {-1.2, 1}, lo[] = {-5, -5}, hi[] = {5, 5}, g[2], f;
    assert_int_equal(lth__minimise(2, x, lo, hi, &precise, rosenbrock, told, &r, &m, NULL), LTH_OK);
    assert_true(m.stopped && !m.converged);
    assert_int_equal(m.iterations, 3);
    assert_int_equal(r.iterations, 3);
    /* x is the best point, f its value. */
    assert_int_equal(rosenbrock(&(run){.iterations = 0}, x, &f, g, NULL), LTH_OK);
    assert_true(f == m.f && f < 24.2);
    assert_true(r.last_f == m.f && r.last_gradient == m.gradient);
}

static void few_iterations(void **state) {
    (void)state;
    for (size_t most = 1; most < 5; most++) {
        lth__minimise_options options = precise;
        options.max_iter = most;
        run r = {0};
        lth__minimum m;
        double x[] = {-1.2, 1}, lo[] = {-5, -5}, hi[] = {5, 5};
        assert_int_equal(lth__minimise(2, x, lo, hi, &options, rosenbrock, told, &r, &m, NULL),
                         LTH_OK);
        assert_int_equal(m.iterations, most);
        assert_false(m.converged || m.stopped);
        assert_true(m.f < 24.2);
    }
}

static void failure_is_passed_on(void **state) {
    (void)state;
    for (size_t when = 1; when < 6; when++) {
        run r = {.fail_at = when};
        lth__minimum m;
        lth_error err = {0};
        double x[] = {-1.2, 1}, lo[] = {-5, -5}, hi[] = {5, 5};
        assert_int_equal(lth__minimise(2, x, lo, hi, &precise, rosenbrock, told, &r, &m, &err),
                         LTH_EIO);
        assert_int_equal(err.status, LTH_EIO);
        assert_string_equal(err.message, "the disk is on fire");
        assert_int_equal(r.evaluations, when); /* and it is not called again */
    }
}

static void without_a_listener(void **state) {
    (void)state;
    run r = {0};
    lth__minimum m;
    double x[] = {-1.2, 1}, lo[] = {-5, -5}, hi[] = {5, 5};
    assert_int_equal(lth__minimise(2, x, lo, hi, &precise, rosenbrock, NULL, &r, &m, NULL), LTH_OK);
    assert_true(m.converged);
    near(x[0], 1, 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_at_the_best),
        cmocka_unit_test(free_quadratic),
        cmocka_unit_test(active_bounds),
        cmocka_unit_test(starts_outside),
        cmocka_unit_test(banana),
        cmocka_unit_test(infinite_region),
        cmocka_unit_test(wild_region),
        cmocka_unit_test(infinite_everywhere),
        cmocka_unit_test(stopped_by_the_callback),
        cmocka_unit_test(few_iterations),
        cmocka_unit_test(failure_is_passed_on),
        cmocka_unit_test(without_a_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
