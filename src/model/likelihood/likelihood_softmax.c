/* Labels by all classes' latent functions at once, and their probabilities where these are normal.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/common/special.h"
#include "model/likelihood/likelihood.h"
#include "model/likelihood/softmax_points.h"

const lth__likelihood lth__softmax_likelihood = {
    .name = "softmax",
    .help = "labels, all classes in one model: exp(f_c) / sum_k exp(f_k)",
    .of = LTH__OF_LABELS,
    .own_units = true,
    .coupled = true};

double lth__softmax_at(size_t classes, size_t stride, const double *f, double *p) {
    double most = f[0], sum = 0;
    for (size_t c = 1; c < classes; c++) most = fmax(most, f[c * stride]);
    for (size_t c = 0; c < classes; c++) {
        double e = exp(f[c * stride] - most);
        sum += e;
        if (p) p[c * stride] = e;
    }
    for (size_t c = 0; p && c < classes; c++) p[c * stride] /= sum;
    return most + log(sum);
}

/* ---- Points ---- */

enum { POINTS = 1024 };

static bool is_prime(size_t n) {
    for (size_t d = 2; d * d <= n; d++) {
        if (n % d == 0) return false;
    }
    return true;
}

static size_t prime_after(size_t n) {
    do n++;
    while (!is_prime(n));
    return n;
}

/* Multiples of the roots of primes (Richtmyer's rule) fill the unit cube evenly; folded in the
 * middle, so that what is integrated has no step where they begin again. */
lth_status lth__softmax_points_make(size_t classes, lth__softmax_points *out, lth_error *err) {
    size_t cells = POINTS * classes, room = 2 * classes * (classes + 1), prime = 1;
    lth__softmax_points p = {.classes = classes, .at = lth__alloc(cells, sizeof *p.at)};
    p.room = lth__alloc(room, sizeof *p.room);
    if (!p.at || !p.room) {
        lth__softmax_points_free(&p);
        return lth__fail_memory(err, (cells + room) * sizeof *p.at);
    }
    for (size_t c = 0; c < classes; c++) {
        prime = prime_after(prime);
        for (size_t i = 0; i < POINTS; i++) {
            double x = ((double)i + 0.5) * sqrt((double)prime), u = fabs(2 * (x - floor(x)) - 1);
            p.at[i * classes + c] = lth__phi_inverse(fmin(fmax(u, 1e-12), 1 - 1e-12));
        }
    }
    *out = p;
    return LTH_OK;
}

void lth__softmax_points_free(lth__softmax_points *p) {
    lth__free(p->at);
    lth__free(p->room);
    p->at = p->room = NULL;
}

/* ---- Probabilities ---- */

/* C less what all classes have in common, which no probability depends on: one dimension less. */
static void centre(size_t n, const double *covariance, double *C) {
    memcpy(C, covariance, n * n * sizeof *C);
    for (int pass = 0; pass < 2; pass++) {
        size_t by = pass ? n : 1, along = pass ? 1 : n; /* rows, then columns */
        for (size_t i = 0; i < n; i++) {
            double mean = 0;
            for (size_t k = 0; k < n; k++) mean += C[i * along + k * by] / (double)n;
            for (size_t k = 0; k < n; k++) C[i * along + k * by] -= mean;
        }
    }
}

/* L L^T = C, a column at a time, the class with the most variance left first: points are spread
 * most evenly in their first dimensions. C is used up. Returns how many there are. */
static size_t factor(size_t n, double *C, double *L) {
    const double tie = 1 + 1e-9; /* as the last two classes are: rounding shall not choose */
    double least = 0;
    for (size_t i = 0; i < n; i++) least = fmax(least, 1e-12 * C[i * n + i]);
    for (size_t k = 0; k < n; k++) {
        size_t at = 0;
        for (size_t i = 1; i < n; i++) at = C[i * n + i] > tie * C[at * n + at] ? i : at;
        if (!(C[at * n + at] > least)) return k;
        double *column = L + k * n, root = sqrt(C[at * n + at]);
        for (size_t i = 0; i < n; i++) column[i] = C[i * n + at] / root;
        for (size_t i = 0; i < n * n; i++) C[i] -= column[i / n] * column[i % n];
    }
    return n;
}

static void add_point(size_t n, const double *mean, const double *away, double sign, double *f,
                      double *out) {
    for (size_t c = 0; c < n; c++) f[c] = mean[c] + sign * away[c];
    lth__softmax_at(n, 1, f, f);
    for (size_t c = 0; c < n; c++) out[c] += f[c] / (2 * POINTS);
}

void lth__softmax_probability(const lth__softmax_points *points, const double *mean,
                              const double *covariance, double *out) {
    size_t n = points->classes;
    double *C = points->room, *L = C + n * n, *away = L + n * n, *f = away + n;
    centre(n, covariance, C);
    size_t columns = factor(n, C, L);
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < POINTS; i++) {
        const double *z = points->at + i * n;
        memset(away, 0, n * sizeof *away);
        for (size_t k = 0; k < columns; k++) {
            for (size_t c = 0; c < n; c++) away[c] += L[k * n + c] * z[k];
        }
        add_point(n, mean, away, 1, f, out);
        add_point(n, mean, away, -1, f, out);
    }
}
