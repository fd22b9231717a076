/* Special functions against values with 17 digits, identities, and draws against moments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/common/draws.h"
#include "model/common/special.h"

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance * fabs(want) + 1e-300))
        fail_msg("%.17g, not %.17g", got, want);
}

#define EACH(row, table)                                                                           \
    size_t row = 0;                                                                                \
    row < sizeof(table) / sizeof *(table);                                                         \
    row++

static void normal(void **state) {
    (void)state;
    static const double known[][3] = {{-40, -804.60844201375379, 40.024968847207264},
                                      {-36, -652.5032275937984, 36.027735075281061},
                                      {-34, -582.44616224687169, 34.029361097995019},
                                      {-10, -53.231285150512471, 10.098093233962512},
                                      {-6.1, -21.35749841921556, 6.2561181317111611},
                                      {-5.9, -20.125799580203172, 6.0609166256353462},
                                      {-1, -1.8410216450092635, 1.5251352761609812},
                                      {0, -0.69314718055994531, 0.79788456080286536},
                                      {3, -0.0013508099647481938, 0.0044378390421256638}};
    for (EACH(i, known)) {
        near(lth__log_phi(known[i][0]), known[i][1], 1e-13);
        near(lth__phi_ratio(known[i][0]), known[i][2], 1e-13);
    }
    near(lth__phi_ratio(-1e9), 1e9, 1e-14);
    near(lth__phi_inverse(1e-300), -37.047096299361199, 1e-13);
    near(lth__phi_inverse(1e-10), -6.3613409024040562, 1e-13);
    near(lth__phi_inverse(0.025), -1.9599639845400542, 1e-13);
    near(lth__phi_inverse(0.9), 1.2815515655446005, 1e-13);
    assert_true(fabs(lth__phi_inverse(0.5)) < 1e-15);
    near(lth__phi_squared(-3), 2.6679865712230118e-7, 1e-8);
    near(lth__phi_squared(0), 0.11684748862755453, 1e-14);
    near(lth__phi_squared(1.5), 0.99337495267375324, 1e-14);
    assert_true(lth__phi_squared(-INFINITY) == 0);
}

static void gamma_function(void **state) {
    (void)state;
    static const double known[][5] = {
        {0.001, 6.9071788853838537, -1000.5755719318103, 1000001.6425331959, -2000000002.3976323},
        {0.5, 0.57236494292470009, -1.9635100260214235, 4.9348022005446793, -16.82879664423432},
        {3.7, 1.4280723266653879, 1.1671535393615114, 0.31003785767003832, -0.095395308728554044},
        {15.9, 27.625493215168691, 2.7345430701757739, 0.064912281599060115,
         -0.0042121286901396971},
        {16.1, 28.173694494813543, 2.747442005514623, 0.064080645042418563, -0.0041049275419100553},
        {250, 1128.5237708729907, 5.5194595845310464, 0.0040080106666325337,
         -1.6064127999317344e-5},
        {100000, 1051287.7089736569, 11.512920464961895, 1.0000050000166667e-5,
         -1.00001000005e-10}};
    for (EACH(i, known)) {
        near(lth__log_gamma(known[i][0]), known[i][1], 5e-15);
        near(lth__digamma(known[i][0]), known[i][2], 5e-15);
        near(lth__trigamma(known[i][0]), known[i][3], 5e-15);
        near(lth__tetragamma(known[i][0]), known[i][4], 5e-15);
    }
    assert_true(fabs(lth__log_gamma(1)) < 1e-14);
    near(lth__log_gamma(1e-80), 80 * log(10), 1e-14);
    near(lth__digamma(1e-80), -1e80, 1e-14);
    static const double rest[][2] = {{16, 0.00520765591960964044},
                                     {17.5, 0.00476138694171444981},
                                     {40, 0.00208328993830242175},
                                     {300, 0.000277777674897445944}};
    for (EACH(i, rest)) near(lth__stirling_rest(rest[i][0]), rest[i][1], 5e-16);
}

static void gamma_shares(void **state) {
    (void)state;
    static const double known[][4] = {{0.3, 0.01, 0.27924099635901485, 0.72075900364098515},
                                      {1, 2.5, 0.9179150013761012, 0.082084998623898795},
                                      {10, 4, 0.0081322427969338632, 0.99186775720306614},
                                      {10, 25, 0.99977852336175122, 0.00022147663824878358},
                                      {199, 180, 0.085582191125694469, 0.91441780887430553},
                                      {250, 200, 0.00036207045828969313, 0.99963792954171031},
                                      {250, 260, 0.74061051739235273, 0.25938948260764727},
                                      {100001, 100000, 0.49915895690065988, 0.50084104309934012},
                                      {100001, 99000, 0.0007492003083298784, 0.99925079969167012},
                                      {1e9, 1000030000, 0.82860941259815861, 0.17139058740184139}};
    for (EACH(i, known)) {
        near(lth__gamma_below(known[i][0], known[i][1]), known[i][2], 2e-11);
        near(lth__gamma_above(known[i][0], known[i][1]), known[i][3], 2e-11);
    }
    /* One method gives way to another. */
    near(lth__gamma_below(200, 195), lth__gamma_below(199.999999999, 195), 1e-9);
    assert_true(lth__gamma_below(3, 0) == 0 && lth__gamma_above(3, 0) == 1);
    assert_true(lth__gamma_below(3, INFINITY) == 1 && lth__gamma_above(300, INFINITY) == 0);
    assert_true(lth__gamma_above(3, 1e300) == 0 && lth__gamma_above(300, 1e300) == 0);
    assert_true(lth__gamma_below(300, 1e-300) == 0);
}

static void beta_shares(void **state) {
    (void)state;
    static const double known[][4] = {
        {0.5, 0.5, 0.3, 0.36901011956554538},   {2, 5, 0.1, 0.114265},
        {1e-10, 3, 0.5, 0.99999999999318528},   {30, 2, 0.99, 0.96161048540476455},
        {10000, 12, 0.999, 0.6955807163252729}, {40000, 60000, 0.401, 0.74077851046506115},
        {1.025, 0.5, 0.7, 0.44546341128569198}, {1000, 100001, 0.01, 0.62833723267537856}};
    for (EACH(i, known)) {
        double a = known[i][0], b = known[i][1], x = known[i][2], want = known[i][3];
        near(lth__beta_below(a, b, x, 1 - x), want, 1e-9);
        near(1 - lth__beta_below(b, a, 1 - x, x), want, 1e-9);
    }
    assert_true(lth__beta_below(2, 3, 0, 1) == 0 && lth__beta_below(2, 3, 1, 0) == 1);
}

static double to_the_seventh(void *user, double x) {
    return *(const double *)user * pow(x, 7);
}

static void integrals(void **state) {
    (void)state;
    double factor = 3;
    near(lth__integrate(to_the_seventh, &factor, -1, 2, 1), factor * 255 / 8, 1e-14);
    near(lth__integrate(to_the_seventh, &factor, -1, 2, 5), factor * 255 / 8, 1e-14);
}

static void draws(void **state) {
    (void)state;
    enum { DRAWS = 40000 };
    static const double means[] = {0.3, 7, 12, 400, 1e6};
    static const double shapes[] = {0.2, 1, 3.5, 800};
    lth__random random;
    lth__random_seed(&random, 3);
    for (EACH(i, means)) {
        double sum = 0, square = 0, below = 0, m = means[i], at = floor(m);
        for (size_t k = 0; k < DRAWS; k++) {
            double y = lth__draw_poisson(&random, m);
            sum += (y - m) / DRAWS;
            square += (y - m) * (y - m) / DRAWS;
            below += (y <= at) / (double)DRAWS;
        }
        double share = lth__gamma_above(at + 1, m);
        assert_true(fabs(sum) < 4 * sqrt(m / DRAWS));
        assert_true(fabs(square - m) < 4 * sqrt((2 * m * m + m) / DRAWS));
        assert_true(fabs(below - share) < 4 * sqrt(share * (1 - share) / DRAWS));
    }
    for (EACH(i, shapes)) {
        double sum = 0, logs = 0, below = 0, a = shapes[i], share = lth__gamma_below(a, a);
        for (size_t k = 0; k < DRAWS; k++) {
            double x = lth__draw_log_gamma(&random, a);
            logs += x / DRAWS;
            sum += exp(x) / DRAWS;
            below += (exp(x) <= a) / (double)DRAWS;
        }
        assert_true(fabs(sum - a) < 4 * sqrt(a / DRAWS));
        assert_true(fabs(logs - lth__digamma(a)) < 4 * sqrt(lth__trigamma(a) / DRAWS));
        assert_true(fabs(below - share) < 4 * sqrt(share * (1 - share) / DRAWS));
    }
    assert_true(isfinite(lth__draw_log_gamma(&random, 1e-80)));
    assert_true(lth__draw_poisson(&random, 0) == 0);
    assert_true(lth__draw_poisson(&random, 1e200) == 1e200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal),       cmocka_unit_test(gamma_function),
        cmocka_unit_test(gamma_shares), cmocka_unit_test(beta_shares),
        cmocka_unit_test(integrals),    cmocka_unit_test(draws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
