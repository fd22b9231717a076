/* The warps. */
#include "model/likelihood/warp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Logarithm: g = log(x + c) ---- */

/* Of a function that is h(x) from 0 on: below, the straight line that meets it there. `at_zero`
 * gives h(0) and log h'(0) with their derivatives. */
static double below(double x, double h, double log_slope, double *by, size_t params) {
    double slope = exp(log_slope);
    for (size_t j = 0; by && j < params; j++) by[j] += x * slope * by[LTH__WARP_PARAMS + j];
    return h + x * slope;
}

static void log_at(const double *phi, double x, double *g, double *log_slope, double *by) {
    double c = phi[0], from = x > 0 ? x + c : c;
    *g = log(from);
    *log_slope = -log(from);
    if (by) {
        by[0] = 1 / from;
        by[LTH__WARP_PARAMS] = -1 / from;
    }
    if (x < 0) *g = below(x, *g, *log_slope, by, 1);
}

static double log_inverse(const double *phi, double z) {
    double c = phi[0], at_zero = log(c);
    return z < at_zero ? (z - at_zero) * c : exp(z) - c;
}

/* ---- Box and Cox: g = ((x + c)^power - 1) / power ---- */

/* (exp(a t) - 1) / a, and its derivative by a; near 0 by their series. */
static double power_of(double a, double t, double *by_a) {
    double u = a * t;
    if (fabs(u) < 1e-4) {
        *by_a = t * t * (0.5 + u / 3 + u * u / 8);
        return t * (1 + u / 2 + u * u / 6);
    }
    double value = expm1(u) / a;
    *by_a = (t * exp(u) - value) / a;
    return value;
}

static void box_cox_at(const double *phi, double x, double *g, double *log_slope, double *by) {
    double c = phi[0], power = phi[1], from = x > 0 ? x + c : c, t = log(from), by_power;
    *g = power_of(power, t, &by_power);
    *log_slope = (power - 1) * t;
    if (by) {
        by[0] = exp(*log_slope);
        by[1] = by_power;
        by[LTH__WARP_PARAMS] = (power - 1) / from;
        by[LTH__WARP_PARAMS + 1] = t;
    }
    if (x < 0) *g = below(x, *g, *log_slope, by, 2);
}

/* With a power below 0 it never comes to -1 / power: what is beyond is as far as it gets. */
static double box_cox_inverse(const double *phi, double z) {
    const double furthest = 1e12;
    double c = phi[0], power = phi[1], by_power, t = log(c),
           at_zero = power_of(power, t, &by_power);
    if (z < at_zero) return (z - at_zero) * exp((1 - power) * t);
    double u = power * z;
    if (u <= -1) return furthest;
    double x = exp(fabs(u) < 1e-8 ? z * (1 - u / 2) : log1p(u) / power) - c;
    return x < furthest ? x : furthest;
}

/* ---- Sinh and arcsinh: g = sinh(tail asinh(x) - skew) ---- */

static double log_cosh(double u) {
    double a = fabs(u);
    return a + log1p(exp(-2 * a)) - M_LN2;
}

static void sinh_at(const double *phi, double x, double *g, double *log_slope, double *by) {
    double tail = phi[0], skew = phi[1], a = asinh(x), u = tail * a - skew;
    *g = sinh(u);
    *log_slope = log_cosh(u) + log(tail) - 0.5 * log1p(x * x);
    if (!by) return;
    double c = cosh(u), th = tanh(u);
    by[0] = a * c;
    by[1] = -c;
    by[LTH__WARP_PARAMS] = a * th + 1 / tail;
    by[LTH__WARP_PARAMS + 1] = -th;
}

static double sinh_inverse(const double *phi, double z) {
    return sinh((asinh(z) + phi[1]) / phi[0]);
}

/* ---- A sum of tanh: g = x + sum_j height_j tanh(steep_j (x - place_j)) ---- */

enum { STEPS = 3 };

static void tanh_at(const double *phi, double x, double *g, double *log_slope, double *by) {
    double slope = 1;
    *g = x;
    for (size_t j = 0; j < STEPS; j++) {
        double height = phi[3 * j], steep = phi[3 * j + 1], th = tanh(steep * (x - phi[3 * j + 2]));
        *g += height * th;
        slope += height * steep * (1 - th * th);
    }
    *log_slope = log(slope);
    for (size_t j = 0; by && j < STEPS; j++) {
        double height = phi[3 * j], steep = phi[3 * j + 1], from = x - phi[3 * j + 2];
        double th = tanh(steep * from), s = 1 - th * th, *of = by + 3 * j;
        double *log_by = of + LTH__WARP_PARAMS;
        of[0] = th;
        of[1] = height * s * from;
        of[2] = -height * s * steep;
        log_by[0] = steep * s / slope;
        log_by[1] = height * s * (1 - 2 * steep * from * th) / slope;
        log_by[2] = 2 * height * steep * steep * s * th / slope;
    }
}

#define STEP(n, at)                                                                                \
    {.path = "height[" #n "]", .lo = 1e-3, .hi = 100, .start = 0.2},                               \
        {.path = "steep[" #n "]", .lo = 1e-2, .hi = 20, .start = 1}, {                             \
        .path = "place[" #n "]", .lo = -10, .hi = 10, .start = at, .linear = true                  \
    }

/* ---- The list ---- */

static const lth__warp warps[] = {
    {.name = "log",
     .help = "log(y + c)",
     .params = {{.path = "c", .lo = 1e-4, .hi = 1e3, .start = 2}},
     .gentle = {{1, 1e3}},
     .from_origin = true,
     .at = log_at,
     .inverse = log_inverse},
    {.name = "boxcox",
     .help = "((y + c)^power - 1) / power",
     .params = {{.path = "c", .lo = 1e-4, .hi = 1e3, .start = 2},
                {.path = "power", .lo = -3, .hi = 3, .start = 0.5, .linear = true}},
     .gentle = {{1, 1e3}, {0, 3}},
     .from_origin = true,
     .at = box_cox_at,
     .inverse = box_cox_inverse},
    {.name = "sinh",
     .help = "sinh(tail asinh(y) - skew), for tails on both sides",
     .params = {{.path = "tail", .lo = 0.05, .hi = 20, .start = 1},
                {.path = "skew", .lo = -5, .hi = 5, .start = 0, .linear = true}},
     .gentle = {{0.5, 2}, {-1, 1}},
     .at = sinh_at,
     .inverse = sinh_inverse},
    {.name = "tanh",
     .help = "y + a sum of three steps, for any shape",
     .params = {STEP(1, -1), STEP(2, 0), STEP(3, 1)},
     .gentle = {{1e-3, 1}, {1e-2, 1}, {0, 0}, {1e-3, 1}, {1e-2, 1}, {0, 0}, {1e-3, 1}, {1e-2, 1}},
     .at = tanh_at},
};

const lth__warp *lth__warp_at(size_t i) {
    return i < sizeof warps / sizeof *warps ? &warps[i] : NULL;
}

const lth__warp *lth__warp_find(const char *name) {
    for (size_t i = 0; lth__warp_at(i); i++) {
        if (strcmp(warps[i].name, name) == 0) return &warps[i];
    }
    return NULL;
}

size_t lth__warp_params(const lth__warp *w) {
    size_t count = 0;
    while (count < LTH__WARP_PARAMS && w->params[count].path[0]) count++;
    return count;
}

void lth__warp_list(const lth__warp *w, bool gentle, lth__own_param *out) {
    for (size_t i = 0; i < lth__warp_params(w); i++) {
        const double *bounds = w->gentle[i];
        out[i] = w->params[i];
        if (!gentle || bounds[0] == bounds[1]) continue;
        out[i].lo = bounds[0];
        out[i].hi = bounds[1];
        out[i].start = fmin(fmax(out[i].start, bounds[0]), bounds[1]);
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* A fiftieth of the rows, and more than chance would have of few. */
bool lth__warp_has_pile(double *sorted, size_t rows) {
    enum { LEAST = 3, SHARE = 50 };
    size_t most = 0, run = 0;
    qsort(sorted, rows, sizeof *sorted, compare);
    for (size_t i = 0; i < rows; i++) {
        run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
        if (run > most) most = run;
    }
    return most >= LEAST && most * SHARE >= rows;
}

/* By Newton's method between bounds, which are halved where it would leave them or comes nearer too
 * slowly. */
static double search_between(const lth__warp *w, const double *phi, double z, double lo,
                             double hi) {
    double x = (lo + hi) / 2, width = hi - lo, g, log_slope;
    for (int i = 0; i < 200; i++) {
        w->at(phi, x, &g, &log_slope, NULL);
        *(g < z ? &lo : &hi) = x;
        double next = x + (z - g) * exp(-log_slope);
        if (!(next > lo && next < hi) || (i % 4 == 3 && hi - lo > width / 2)) next = (lo + hi) / 2;
        if (i % 4 == 3) width = hi - lo;
        if (fabs(next - x) <= 1e-15 * (1 + fabs(x))) return next;
        x = next;
    }
    return x;
}

/* From an interval that is widened until it holds z. */
static double search(const lth__warp *w, const double *phi, double z) {
    double lo = -1, hi = 1, g, log_slope;
    for (int i = 0; i < 200; i++, lo *= 2) {
        w->at(phi, lo, &g, &log_slope, NULL);
        if (!(g > z)) break;
    }
    for (int i = 0; i < 200; i++, hi *= 2) {
        w->at(phi, hi, &g, &log_slope, NULL);
        if (!(g < z)) break;
    }
    return search_between(w, phi, z, lo, hi);
}

double lth__warp_inverse(const lth__warp *w, const double *phi, double z) {
    return w->inverse ? w->inverse(phi, z) : search(w, phi, z);
}
