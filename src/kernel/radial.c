/* Kernels on a feature space: number columns, a feature map, or the space of any other kernel.
 *
 *     linear     v k_ab
 *     rbf        v exp(-d^2 / (2 l^2))                        d^2 = k_aa + k_bb - 2 k_ab
 *     matern32   v (1 + r) exp(-r)                            r = sqrt(3) d / l
 *     matern52   v (1 + r + r^2 / 3) exp(-r)                  r = sqrt(5) d / l
 *     rq         v (1 + d^2 / (2 alpha l^2))^(-alpha)
 *     arccos     degree 0: v (1 - angle / pi)                 angle between a and b
 *                degree 1: v |a| |b| (sin angle + (pi - angle) cos angle) / pi
 */
#include <math.h>
#include <string.h>

#include "kernel/wrap.h"

enum { VARIANCE, LENGTHSCALE, ALPHA };

/* Rounding can make it slightly negative. */
static double squared_distance(double k, double a, double b) {
    double d2 = a + b - 2 * k;
    return d2 > 0 ? d2 : 0;
}

/* From the derivative by d^2 to those by k_ab, k_aa, k_bb. */
static lth__wrapped by_distance(double value, double dd2) {
    return (lth__wrapped){.value = value, .dk = -2 * dd2, .da = dd2, .db = dd2};
}

/* At distance 0 every radial kernel is v, whatever the length scale. */
static lth__wrapped radial_self(const double *theta, double a) {
    (void)a;
    return (lth__wrapped){.value = theta[VARIANCE], .dtheta = {1}};
}

static double rbf_aid(const double *theta, double k, double a, double b) {
    double l = theta[LENGTHSCALE];
    return exp(-squared_distance(k, a, b) / (2 * l * l));
}

static lth__wrapped rbf_at(const double *theta, double k, double a, double b, double shape) {
    double l = theta[LENGTHSCALE], scaled = squared_distance(k, a, b) / (l * l);
    double value = theta[VARIANCE] * shape;
    lth__wrapped x = by_distance(value, -value / (2 * l * l));
    x.dtheta[VARIANCE] = shape;
    x.dtheta[LENGTHSCALE] = value * scaled / l;
    return x;
}

static double matern32_r(const double *theta, double k, double a, double b) {
    return sqrt(3 * squared_distance(k, a, b)) / theta[LENGTHSCALE];
}

static double matern32_aid(const double *theta, double k, double a, double b) {
    return exp(-matern32_r(theta, k, a, b));
}

static lth__wrapped matern32_at(const double *theta, double k, double a, double b, double e) {
    double l = theta[LENGTHSCALE], r = matern32_r(theta, k, a, b);
    lth__wrapped x =
        by_distance(theta[VARIANCE] * (1 + r) * e, -1.5 * theta[VARIANCE] * e / (l * l));
    x.dtheta[VARIANCE] = (1 + r) * e;
    x.dtheta[LENGTHSCALE] = theta[VARIANCE] * r * r * e / l;
    return x;
}

static double matern52_r(const double *theta, double k, double a, double b) {
    return sqrt(5 * squared_distance(k, a, b)) / theta[LENGTHSCALE];
}

static double matern52_aid(const double *theta, double k, double a, double b) {
    return exp(-matern52_r(theta, k, a, b));
}

static lth__wrapped matern52_at(const double *theta, double k, double a, double b, double e) {
    double l = theta[LENGTHSCALE], r = matern52_r(theta, k, a, b);
    double shape = (1 + r + r * r / 3) * e;
    lth__wrapped x =
        by_distance(theta[VARIANCE] * shape, -5.0 / 6 * theta[VARIANCE] * (1 + r) * e / (l * l));
    x.dtheta[VARIANCE] = shape;
    x.dtheta[LENGTHSCALE] = theta[VARIANCE] * r * r * (1 + r) * e / (3 * l);
    return x;
}

static double rq_t(const double *theta, double k, double a, double b) {
    return squared_distance(k, a, b) / (2 * theta[ALPHA] * theta[LENGTHSCALE] * theta[LENGTHSCALE]);
}

/* log1p takes three times as long as log, and is better only near 0. */
static double rq_aid(const double *theta, double k, double a, double b) {
    double t = rq_t(theta, k, a, b);
    return t < 1e-3 ? log1p(t) : log(1 + t);
}

static lth__wrapped rq_at(const double *theta, double k, double a, double b, double log_base) {
    double l = theta[LENGTHSCALE], alpha = theta[ALPHA], t = rq_t(theta, k, a, b), base = 1 + t;
    double shape = exp(-alpha * log_base), value = theta[VARIANCE] * shape;
    lth__wrapped x = by_distance(value, -value / (2 * l * l * base));
    x.dtheta[VARIANCE] = shape;
    x.dtheta[LENGTHSCALE] = 2 * alpha * value * t / (base * l);
    x.dtheta[ALPHA] = value * (t / base - log_base);
    return x;
}

static lth__wrapped linear_at(const double *theta, double k, double a, double b, double aid) {
    (void)aid;
    (void)a, (void)b;
    return (lth__wrapped){.value = theta[VARIANCE] * k, .dk = theta[VARIANCE], .dtheta = {k}};
}

static lth__wrapped linear_self(const double *theta, double a) {
    return (lth__wrapped){.value = theta[VARIANCE] * a, .da = theta[VARIANCE], .dtheta = {a}};
}

/* The cosine and its derivatives; no angle with an item of length 0. */
typedef struct angle {
    double cosine, sine, theta, scale; /* scale = 1 / (|a| |b|) */
} angle;

static bool angle_of(double k, double a, double b, angle *out) {
    if (a <= 0 || b <= 0) return false;
    out->scale = 1 / (sqrt(a) * sqrt(b));
    double c = k * out->scale;
    out->cosine = c > 1 ? 1 : c < -1 ? -1 : c;
    out->sine = sqrt(1 - out->cosine * out->cosine);
    out->theta = acos(out->cosine);
    return true;
}

/* By the cosine c = k / sqrt(a b): dc = dk / sqrt(ab) - c (da / 2a + db / 2b). */
static lth__wrapped by_cosine(double value, double dc, const angle *t, double a, double b) {
    return (lth__wrapped){.value = value,
                          .dk = dc * t->scale,
                          .da = -dc * t->cosine / (2 * a),
                          .db = -dc * t->cosine / (2 * b)};
}

static lth__wrapped arccos0_at(const double *theta, double k, double a, double b, double aid) {
    (void)aid;
    angle t;
    if (!angle_of(k, a, b, &t)) return (lth__wrapped){0};
    double shape = 1 - t.theta / M_PI;
    /* The slope of the angle is infinite where two items coincide; there nothing moves it. */
    double dc = t.sine > 1e-7 ? theta[VARIANCE] / (M_PI * t.sine) : 0;
    lth__wrapped x = by_cosine(theta[VARIANCE] * shape, dc, &t, a, b);
    x.dtheta[VARIANCE] = shape;
    return x;
}

static lth__wrapped arccos0_self(const double *theta, double a) {
    if (a <= 0) return (lth__wrapped){0};
    return (lth__wrapped){.value = theta[VARIANCE], .dtheta = {1}};
}

static lth__wrapped arccos1_at(const double *theta, double k, double a, double b, double aid) {
    (void)aid;
    angle t;
    if (!angle_of(k, a, b, &t)) return (lth__wrapped){0};
    double lengths = 1 / t.scale;
    double shape = (t.sine + (M_PI - t.theta) * t.cosine) / M_PI * lengths;
    double dc = theta[VARIANCE] * lengths * (M_PI - t.theta) / M_PI;
    lth__wrapped x = by_cosine(theta[VARIANCE] * shape, dc, &t, a, b);
    x.da += x.value / (2 * a);
    x.db += x.value / (2 * b);
    x.dtheta[VARIANCE] = shape;
    return x;
}

/* ---- Families ---- */

LTH__WRAPPER(wrap_linear, 1, true, false, lth__no_aid, linear_at, linear_self);
LTH__WRAPPER(wrap_rbf, 2, false, true, rbf_aid, rbf_at, radial_self);
LTH__WRAPPER(wrap_matern32, 2, false, true, matern32_aid, matern32_at, radial_self);
LTH__WRAPPER(wrap_matern52, 2, false, true, matern52_aid, matern52_at, radial_self);
LTH__WRAPPER(wrap_rq, 3, false, true, rq_aid, rq_at, radial_self);
LTH__WRAPPER(wrap_arccos0, 1, false, false, lth__no_aid, arccos0_at, arccos0_self);
LTH__WRAPPER(wrap_arccos1, 1, false, false, lth__no_aid, arccos1_at, linear_self);

#define VARIANCE_ARGUMENT                                                                          \
    {                                                                                              \
        .name = "variance", .help = "factor", .initial = "1", .choices = "", .learned = true,      \
        .lo = 0, .hi = 1e9                                                                         \
    }
#define LENGTHSCALE_ARGUMENT                                                                       \
    {                                                                                              \
        .name = "lengthscale",                                                                     \
        .help = "distance over which the kernel falls off; one for each feature with ard=yes",     \
        .initial = "1", .choices = "", .learned = true, .lo = 1e-6, .hi = 1e6                      \
    }
#define ARD_ARGUMENT                                                                               \
    {                                                                                              \
        .name = "ard", .help = "a length scale for each of the number columns", .initial = "no",   \
        .choices = "no|yes"                                                                        \
    }
#define ALPHA_ARGUMENT                                                                             \
    {                                                                                              \
        .name = "alpha", .help = "mixture of length scales: small = many, large = rbf",            \
        .initial = "1", .choices = "", .learned = true, .lo = 1e-3, .hi = 1e4                      \
    }
#define DEGREE_ARGUMENT                                                                            \
    { .name = "degree", .help = "0: step, 1: ramp", .initial = "1", .choices = "0..1" }

static const lth_argument linear_arguments[] = {VARIANCE_ARGUMENT, {0}};
static const lth_argument radial_arguments[] = {
    ARD_ARGUMENT, VARIANCE_ARGUMENT, LENGTHSCALE_ARGUMENT, {0}};
static const lth_argument rq_arguments[] = {
    ARD_ARGUMENT, VARIANCE_ARGUMENT, LENGTHSCALE_ARGUMENT, ALPHA_ARGUMENT, {0}};
static const lth_argument arccos_arguments[] = {DEGREE_ARGUMENT, VARIANCE_ARGUMENT, {0}};

static lth_status configure(lth_kernel *kernel, lth__node *node, const lth__wrapper *wrapper,
                            lth_error *err) {
    lth__wrap_config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (lth__wrap_config){.wrapper = wrapper};
    node->config = c;
    int ard = 0;
    if (wrapper->params > LENGTHSCALE) LTH_TRY(lth__node_choice(node, "ard", 0, &ard, err));
    const lth__expr *input = node->expr->inputs[0];
    if (ard && input->kind != LTH__EXPR_COLUMN) {
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, input->column,
                            "ard=yes needs number columns, such as %s(f1..f17, ard=yes)",
                            node->family->manual.name);
    }
    c->ard = ard;
    static const char *const names[] = {"variance", "lengthscale", "alpha"};
    for (size_t i = 0, row = 0; i < wrapper->params; i++) {
        /* With ard the columns are divided by their own length scales; the common one is 1. */
        c->row[i] = ard && i == LENGTHSCALE ? LTH_NONE : row++;
        if (c->row[i] != LTH_NONE)
            LTH_TRY(lth__node_param(kernel, node, names[i], 0, 1, false, err));
    }
    return LTH_OK;
}

#define FAMILY(name_, help_, arguments_)                                                           \
    static lth_status configure_##name_(lth_kernel *kernel, lth__node *node, lth_error *err) {     \
        return configure(kernel, node, &wrap_##name_, err);                                        \
    }                                                                                              \
    const lth__family lth__family_##name_ = {                                                      \
        .manual = {.name = #name_,                                                                 \
                   .help = help_,                                                                  \
                   .usage = #name_ "(COLUMNS | MAP | KERNEL, ...)",                                \
                   .arguments = arguments_},                                                       \
        .traits = LTH__TAKES_COLUMN | LTH__TAKES_RANGE | LTH__TAKES_KERNEL,                        \
        .configure = configure_##name_,                                                            \
        LTH__WRAP_FUNCTIONS,                                                                       \
    }

FAMILY(linear, "inner product", linear_arguments);
FAMILY(rbf, "squared exponential of the distance", radial_arguments);
FAMILY(matern32, "Matern kernel, once differentiable", radial_arguments);
FAMILY(matern52, "Matern kernel, twice differentiable", radial_arguments);
FAMILY(rq, "rational quadratic: a mixture of rbf kernels", rq_arguments);

static lth_status configure_arccos(lth_kernel *kernel, lth__node *node, lth_error *err) {
    long degree;
    LTH_TRY(lth__node_integer(node, "degree", 0, 1, 1, &degree, err));
    return configure(kernel, node, degree == 0 ? &wrap_arccos0 : &wrap_arccos1, err);
}

const lth__family lth__family_arccos = {
    .manual = {.name = "arccos",
               .help = "arc-cosine kernel: an infinite layer of step or ramp units",
               .usage = "arccos(COLUMNS | MAP | KERNEL, degree=1)",
               .arguments = arccos_arguments},
    .traits = LTH__TAKES_COLUMN | LTH__TAKES_RANGE | LTH__TAKES_KERNEL,
    .configure = configure_arccos,
    LTH__WRAP_FUNCTIONS,
};
