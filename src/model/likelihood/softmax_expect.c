/* What is expected of the logarithm of a class' probability, where the classes' f are normal and
 * independent. For any a
 *
 *     E log sum_c exp(f_c) <= g(a) = sum_c a_c^2 v_c / 2 + log sum_c exp(x_c)
 *     x_c = m_c + (1 - 2 a_c) v_c / 2
 *
 * (Knowles and Minka 2011). g is convex, and least where a = softmax(x): there its derivatives are
 * a_c by m_c and a_c (1 - a_c) / 2 by v_c. Newton's step from a, with s = softmax(x),
 *
 *     (I + (diag(s) - s s^T) diag(v)) step = s - a
 *
 * costs no more than the sums, since what is in brackets is diagonal but for a product of vectors.
 */
#include <math.h>
#include <string.h>

#include "model/likelihood/softmax_points.h"

/* g, and s. */
static double height(size_t n, const double *mean, const double *variance, const double *a,
                     double *s) {
    double square = 0;
    for (size_t c = 0; c < n; c++) {
        s[c] = mean[c] + (1 - 2 * a[c]) * variance[c] / 2;
        square += a[c] * a[c] * variance[c] / 2;
    }
    return square + lth__softmax_at(n, 1, s, s);
}

/* In place of the sum of s less that of s^2 v / (1 + s v), that of s / (1 + s v): s sums to 1. */
static void find_step(size_t n, const double *variance, const double *a, const double *s,
                      double *step) {
    double above = 0, below = 0;
    for (size_t c = 0; c < n; c++) {
        double by = 1 + s[c] * variance[c];
        above += s[c] * variance[c] * (s[c] - a[c]) / by;
        below += s[c] / by;
    }
    for (size_t c = 0; c < n; c++)
        step[c] = (s[c] - a[c] + s[c] * above / below) / (1 + s[c] * variance[c]);
}

static double largest_gap(size_t n, const double *a, const double *s) {
    double most = 0;
    for (size_t c = 0; c < n; c++) most = fmax(most, fabs(s[c] - a[c]));
    return most;
}

double lth__softmax_expect(size_t n, const double *mean, const double *variance, double *a,
                           double *room) {
    enum { MOST_STEPS = 100 };
    const double close_enough = 1e-13;
    double *s = room, *step = room + n;
    memcpy(a, mean, n * sizeof *a);
    lth__softmax_at(n, 1, a, a);
    double least = height(n, mean, variance, a, s);
    for (int i = 0; i < MOST_STEPS && largest_gap(n, a, s) > close_enough; i++) {
        find_step(n, variance, a, s, step);
        double length = 1, found;
        for (size_t c = 0; c < n; c++) a[c] += step[c];
        while ((found = height(n, mean, variance, a, s)) > least + 1e-12 * (1 + fabs(least)) &&
               length > 1e-6) {
            length /= 2; /* too far */
            for (size_t c = 0; c < n; c++) a[c] -= length * step[c];
        }
        least = found;
    }
    return least;
}
