/* Warps: slopes and derivatives by all parameters against differences, and inverses, also below the
 * origin. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/likelihood/warp.h"

typedef struct example {
    const char *name;
    double phi[LTH__WARP_PARAMS];
} example;

static const example examples[] = {
    {"log", {1}},
    {"log", {0.01}},
    {"boxcox", {1, 0.5}},
    {"boxcox", {0.3, 1e-7}},
    {"boxcox", {0.3, -0.7}},
    {"boxcox", {2, 2.5}},
    {"sinh", {1, 0}},
    {"sinh", {0.4, 1.5}},
    {"sinh", {3, -2}},
    {"tanh", {0.2, 1, -1, 0.2, 1, 0, 0.2, 1, 1}},
    {"tanh", {5, 3, -2, 0.01, 0.1, 0.5, 40, 0.3, 4}},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static const double places[] = {-7, -1.3, -0.2, -1e-3, 1e-3, 0.4, 1.7, 9, 60};
enum { PLACES = sizeof places / sizeof *places };

static void near(const example *e, double x, double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
        fail_msg("%s at %g: %.12g is not %.12g", e->name, x, got, want);
}

/* What `at` says, and the two derivatives by a parameter. */
typedef struct found {
    double g, log_slope;
} found;

static found at(const example *e, const double *phi, double x) {
    found f;
    lth__warp_find(e->name)->at(phi, x, &f.g, &f.log_slope, NULL);
    return f;
}

static void slopes(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        for (size_t i = 0; i < PLACES; i++) {
            double x = places[i], h = 1e-5 * fmax(fabs(x), 0.01);
            double want = (at(e, e->phi, x + h).g - at(e, e->phi, x - h).g) / (2 * h);
            near(e, x, exp(at(e, e->phi, x).log_slope), want, 1e-6);
        }
    }
}

static void by_params(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        const lth__warp *w = lth__warp_find(e->name);
        for (size_t i = 0; i < PLACES * lth__warp_params(w); i++) {
            double x = places[i % PLACES], phi[LTH__WARP_PARAMS], by[2 * LTH__WARP_PARAMS];
            size_t j = i / PLACES;
            double h = w->params[j].linear ? 1e-5 : 1e-5 * e->phi[j];
            found f, up, down;
            w->at(e->phi, x, &f.g, &f.log_slope, by);
            memcpy(phi, e->phi, sizeof phi);
            phi[j] = e->phi[j] + h;
            up = at(e, phi, x);
            phi[j] = e->phi[j] - h;
            down = at(e, phi, x);
            near(e, x, by[j], (up.g - down.g) / (2 * h), 1e-6);
            near(e, x, by[LTH__WARP_PARAMS + j], (up.log_slope - down.log_slope) / (2 * h), 1e-6);
        }
    }
}

static void inverses(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        for (size_t i = 0; i < PLACES; i++) {
            found f = at(e, e->phi, places[i]);
            /* As many digits as g has left. */
            double rounding = 1e-15 * fabs(f.g) * exp(-f.log_slope);
            double x = lth__warp_inverse(lth__warp_find(e->name), e->phi, f.g);
            near(e, places[i], x, places[i], 1e-12 + 4 * rounding);
        }
    }
}

/* What a bounded warp never reaches is far away, but a number. */
static void beyond_the_end(void **state) {
    (void)state;
    const double phi[] = {0.3, -0.7};
    const lth__warp *w = lth__warp_find("boxcox");
    double x = lth__warp_inverse(w, phi, 10);
    assert_true(x > 1e6 && isfinite(x));
    assert_true(lth__warp_inverse(w, phi, 1 / 0.7 - 1e-3) < x);
}

static void list(void **state) {
    (void)state;
    size_t count = 0;
    for (; lth__warp_at(count); count++) {
        const lth__warp *w = lth__warp_at(count);
        const char *help;
        assert_ptr_equal(lth__warp_find(w->name), w);
        assert_string_equal(lth_warp_name(count, &help), w->name);
        assert_ptr_equal(help, w->help);
        for (size_t j = 0; j < lth__warp_params(w); j++)
            assert_true(w->params[j].start >= w->params[j].lo &&
                        w->params[j].start <= w->params[j].hi);
    }
    assert_int_equal(count, 4);
    assert_null(lth_warp_name(count, NULL));
    assert_null(lth__warp_find("lo"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slopes), cmocka_unit_test(by_params),
                                       cmocka_unit_test(inverses), cmocka_unit_test(beyond_the_end),
                                       cmocka_unit_test(list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
