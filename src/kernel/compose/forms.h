/* Functions of k_ab, k_aa, k_bb and of a few parameters theta that make a kernel from a kernel,
 * with their derivatives. They are written once for CPUs and for devices, so this file includes
 * nothing of the library.
 *
 *     linear     v k_ab
 *     rbf        v exp(-d^2 / (2 l^2))                        d^2 = k_aa + k_bb - 2 k_ab
 *     matern32   v (1 + r) exp(-r)                            r = sqrt(3) d / l
 *     matern52   v (1 + r + r^2 / 3) exp(-r)                  r = sqrt(5) d / l
 *     rq         v (1 + d^2 / (2 alpha l^2))^(-alpha)
 *     arccos     degree 0: v (1 - angle / pi)                 angle between a and b
 *                degree 1: v |a| |b| (sin angle + (pi - angle) cos angle) / pi
 *     normalize  k_ab / sqrt(k_aa k_bb)
 *     tanimoto   k_ab / (k_aa + k_bb - k_ab)
 */
#ifndef LTH_FORMS_H
#define LTH_FORMS_H

#include <math.h>
#include <stdbool.h>

#ifdef __CUDACC__
#define LTH__FORM __host__ __device__ static inline
#else
#define LTH__FORM static inline
#endif

enum { LTH__WRAPPER_PARAMS = 3 };

/* The number by which a device knows a formula. */
typedef enum lth__form {
    LTH__FORM_NONE, /* not on devices */
    LTH__FORM_LINEAR,
    LTH__FORM_RBF,
    LTH__FORM_MATERN32,
    LTH__FORM_MATERN52,
    LTH__FORM_RQ,
    LTH__FORM_ARCCOS0,
    LTH__FORM_ARCCOS1,
    LTH__FORM_NORMALIZE,
    LTH__FORM_TANIMOTO
} lth__form;

/* Value and derivatives at one pair. */
typedef struct lth__wrapper_value {
    double value;
    double dk, da, db;                  /* by k_ab, k_aa, k_bb     */
    double dtheta[LTH__WRAPPER_PARAMS]; /* by its own parameters   */
} lth__wrapper_value;

enum { LTH__VARIANCE, LTH__LENGTHSCALE, LTH__ALPHA };

LTH__FORM lth__wrapper_value lth__wrapper_make(double value, double dk, double da, double db) {
    lth__wrapper_value x = {value, dk, da, db, {0, 0, 0}};
    return x;
}

/* The part of a form that takes long, where there is none. */
LTH__FORM double lth__no_aid(const double *theta, double k, double a, double b) {
    (void)theta, (void)k, (void)a, (void)b;
    return 0;
}

/* ---- By distance ---- */

/* Rounding can make it slightly negative. */
LTH__FORM double lth__squared_distance(double k, double a, double b) {
    double d2 = a + b - 2 * k;
    return d2 > 0 ? d2 : 0;
}

/* From the derivative by d^2 to those by k_ab, k_aa, k_bb. */
LTH__FORM lth__wrapper_value lth__by_distance(double value, double dd2) {
    return lth__wrapper_make(value, -2 * dd2, dd2, dd2);
}

/* At distance 0 every radial kernel is v, whatever the length scale. */
LTH__FORM lth__wrapper_value lth__radial_self(const double *theta, double a) {
    (void)a;
    lth__wrapper_value x = lth__wrapper_make(theta[LTH__VARIANCE], 0, 0, 0);
    x.dtheta[LTH__VARIANCE] = 1;
    return x;
}

LTH__FORM double lth__rbf_aid(const double *theta, double k, double a, double b) {
    double l = theta[LTH__LENGTHSCALE];
    return exp(-lth__squared_distance(k, a, b) / (2 * l * l));
}

LTH__FORM lth__wrapper_value lth__rbf_at(const double *theta, double k, double a, double b,
                                         double shape) {
    double l = theta[LTH__LENGTHSCALE], scaled = lth__squared_distance(k, a, b) / (l * l);
    double value = theta[LTH__VARIANCE] * shape;
    lth__wrapper_value x = lth__by_distance(value, -value / (2 * l * l));
    x.dtheta[LTH__VARIANCE] = shape;
    x.dtheta[LTH__LENGTHSCALE] = value * scaled / l;
    return x;
}

LTH__FORM double lth__matern32_r(const double *theta, double k, double a, double b) {
    return sqrt(3 * lth__squared_distance(k, a, b)) / theta[LTH__LENGTHSCALE];
}

LTH__FORM double lth__matern32_aid(const double *theta, double k, double a, double b) {
    return exp(-lth__matern32_r(theta, k, a, b));
}

LTH__FORM lth__wrapper_value lth__matern32_at(const double *theta, double k, double a, double b,
                                              double e) {
    double l = theta[LTH__LENGTHSCALE], v = theta[LTH__VARIANCE];
    double r = lth__matern32_r(theta, k, a, b);
    lth__wrapper_value x = lth__by_distance(v * (1 + r) * e, -1.5 * v * e / (l * l));
    x.dtheta[LTH__VARIANCE] = (1 + r) * e;
    x.dtheta[LTH__LENGTHSCALE] = v * r * r * e / l;
    return x;
}

LTH__FORM double lth__matern52_r(const double *theta, double k, double a, double b) {
    return sqrt(5 * lth__squared_distance(k, a, b)) / theta[LTH__LENGTHSCALE];
}

LTH__FORM double lth__matern52_aid(const double *theta, double k, double a, double b) {
    return exp(-lth__matern52_r(theta, k, a, b));
}

LTH__FORM lth__wrapper_value lth__matern52_at(const double *theta, double k, double a, double b,
                                              double e) {
    double l = theta[LTH__LENGTHSCALE], v = theta[LTH__VARIANCE];
    double r = lth__matern52_r(theta, k, a, b), shape = (1 + r + r * r / 3) * e;
    lth__wrapper_value x = lth__by_distance(v * shape, -5.0 / 6 * v * (1 + r) * e / (l * l));
    x.dtheta[LTH__VARIANCE] = shape;
    x.dtheta[LTH__LENGTHSCALE] = v * r * r * (1 + r) * e / (3 * l);
    return x;
}

LTH__FORM double lth__rq_t(const double *theta, double k, double a, double b) {
    double l = theta[LTH__LENGTHSCALE];
    return lth__squared_distance(k, a, b) / (2 * theta[LTH__ALPHA] * l * l);
}

/* log1p takes three times as long as log, and is better only near 0. */
LTH__FORM double lth__rq_aid(const double *theta, double k, double a, double b) {
    double t = lth__rq_t(theta, k, a, b);
    return t < 1e-3 ? log1p(t) : log(1 + t);
}

LTH__FORM lth__wrapper_value lth__rq_at(const double *theta, double k, double a, double b,
                                        double log_base) {
    double l = theta[LTH__LENGTHSCALE], alpha = theta[LTH__ALPHA];
    double t = lth__rq_t(theta, k, a, b), base = 1 + t;
    double shape = exp(-alpha * log_base), value = theta[LTH__VARIANCE] * shape;
    lth__wrapper_value x = lth__by_distance(value, -value / (2 * l * l * base));
    x.dtheta[LTH__VARIANCE] = shape;
    x.dtheta[LTH__LENGTHSCALE] = 2 * alpha * value * t / (base * l);
    x.dtheta[LTH__ALPHA] = value * (t / base - log_base);
    return x;
}

/* ---- By inner product and angle ---- */

LTH__FORM lth__wrapper_value lth__linear_at(const double *theta, double k, double a, double b) {
    (void)a, (void)b;
    double v = theta[LTH__VARIANCE];
    lth__wrapper_value x = lth__wrapper_make(v * k, v, 0, 0);
    x.dtheta[LTH__VARIANCE] = k;
    return x;
}

LTH__FORM lth__wrapper_value lth__linear_self(const double *theta, double a) {
    double v = theta[LTH__VARIANCE];
    lth__wrapper_value x = lth__wrapper_make(v * a, 0, v, 0);
    x.dtheta[LTH__VARIANCE] = a;
    return x;
}

/* The cosine and its derivatives; no angle with an item of length 0. */
typedef struct lth__angle {
    double cosine, sine, theta, scale; /* scale = 1 / (|a| |b|) */
} lth__angle;

LTH__FORM bool lth__angle_of(double k, double a, double b, lth__angle *out) {
    if (a <= 0 || b <= 0) return false;
    out->scale = 1 / (sqrt(a) * sqrt(b));
    double c = k * out->scale;
    out->cosine = c > 1 ? 1 : c < -1 ? -1 : c;
    out->sine = sqrt(1 - out->cosine * out->cosine);
    out->theta = acos(out->cosine);
    return true;
}

/* By the cosine c = k / sqrt(a b): dc = dk / sqrt(ab) - c (da / 2a + db / 2b). */
LTH__FORM lth__wrapper_value lth__by_cosine(double value, double dc, const lth__angle *t, double a,
                                            double b) {
    return lth__wrapper_make(value, dc * t->scale, -dc * t->cosine / (2 * a),
                             -dc * t->cosine / (2 * b));
}

LTH__FORM lth__wrapper_value lth__arccos0_at(const double *theta, double k, double a, double b) {
    lth__angle t;
    if (!lth__angle_of(k, a, b, &t)) return lth__wrapper_make(0, 0, 0, 0);
    double v = theta[LTH__VARIANCE], shape = 1 - t.theta / M_PI;
    /* The slope of the angle is infinite where two items coincide; there nothing moves it. */
    double dc = t.sine > 1e-7 ? v / (M_PI * t.sine) : 0;
    lth__wrapper_value x = lth__by_cosine(v * shape, dc, &t, a, b);
    x.dtheta[LTH__VARIANCE] = shape;
    return x;
}

LTH__FORM lth__wrapper_value lth__arccos0_self(const double *theta, double a) {
    if (a <= 0) return lth__wrapper_make(0, 0, 0, 0);
    return lth__radial_self(theta, a);
}

LTH__FORM lth__wrapper_value lth__arccos1_at(const double *theta, double k, double a, double b) {
    lth__angle t;
    if (!lth__angle_of(k, a, b, &t)) return lth__wrapper_make(0, 0, 0, 0);
    double v = theta[LTH__VARIANCE], lengths = 1 / t.scale;
    double shape = (t.sine + (M_PI - t.theta) * t.cosine) / M_PI * lengths;
    lth__wrapper_value x =
        lth__by_cosine(v * shape, v * lengths * (M_PI - t.theta) / M_PI, &t, a, b);
    x.da += x.value / (2 * a);
    x.db += x.value / (2 * b);
    x.dtheta[LTH__VARIANCE] = shape;
    return x;
}

LTH__FORM lth__wrapper_value lth__normalize_at(const double *theta, double k, double a, double b) {
    (void)theta;
    if (a <= 0 || b <= 0) return lth__wrapper_make(0, 0, 0, 0);
    double scale = 1 / (sqrt(a) * sqrt(b)), value = k * scale;
    return lth__wrapper_make(value, scale, -value / (2 * a), -value / (2 * b));
}

LTH__FORM lth__wrapper_value lth__tanimoto_at(const double *theta, double k, double a, double b) {
    (void)theta;
    if (a <= 0 || b <= 0) return lth__wrapper_make(0, 0, 0, 0);
    double scale = 1 / (a + b - k), value = k * scale; /* k is at most the mean of a and b */
    return lth__wrapper_make(value, (1 + value) * scale, -value * scale, -value * scale);
}

/* Of normalize and tanimoto. */
LTH__FORM lth__wrapper_value lth__normalize_self(const double *theta, double a) {
    (void)theta;
    return lth__wrapper_make(a > 0 ? 1 : 0, 0, 0, 0);
}

/* ---- By number, for devices ---- */

LTH__FORM bool lth__form_is_known(int form) {
    return form > LTH__FORM_NONE && form <= LTH__FORM_TANIMOTO;
}

LTH__FORM lth__wrapper_value lth__form_at(int form, const double *theta, double k, double a,
                                          double b) {
    switch ((lth__form)form) {
    case LTH__FORM_LINEAR: return lth__linear_at(theta, k, a, b);
    case LTH__FORM_RBF: return lth__rbf_at(theta, k, a, b, lth__rbf_aid(theta, k, a, b));
    case LTH__FORM_MATERN32:
        return lth__matern32_at(theta, k, a, b, lth__matern32_aid(theta, k, a, b));
    case LTH__FORM_MATERN52:
        return lth__matern52_at(theta, k, a, b, lth__matern52_aid(theta, k, a, b));
    case LTH__FORM_RQ: return lth__rq_at(theta, k, a, b, lth__rq_aid(theta, k, a, b));
    case LTH__FORM_ARCCOS0: return lth__arccos0_at(theta, k, a, b);
    case LTH__FORM_ARCCOS1: return lth__arccos1_at(theta, k, a, b);
    case LTH__FORM_NORMALIZE: return lth__normalize_at(theta, k, a, b);
    case LTH__FORM_TANIMOTO: return lth__tanimoto_at(theta, k, a, b);
    case LTH__FORM_NONE: break;
    }
    return lth__wrapper_make(NAN, NAN, NAN, NAN);
}

/* An item with itself, as a function of its self-similarity alone: `da` is the whole derivative. */
LTH__FORM lth__wrapper_value lth__form_self(int form, const double *theta, double a) {
    switch ((lth__form)form) {
    case LTH__FORM_LINEAR:
    case LTH__FORM_ARCCOS1: return lth__linear_self(theta, a);
    case LTH__FORM_RBF:
    case LTH__FORM_MATERN32:
    case LTH__FORM_MATERN52:
    case LTH__FORM_RQ: return lth__radial_self(theta, a);
    case LTH__FORM_ARCCOS0: return lth__arccos0_self(theta, a);
    case LTH__FORM_NORMALIZE:
    case LTH__FORM_TANIMOTO: return lth__normalize_self(theta, a);
    case LTH__FORM_NONE: break;
    }
    return lth__wrapper_make(NAN, NAN, NAN, NAN);
}

#endif
