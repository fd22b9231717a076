/* Probabilities from decision values.
 *
 * Platt's sigmoid p = 1 / (1 + exp(A f + B)) has the A and B that minimise the cross-entropy with
 * the targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2), which are not quite 1 and 0; by Newton's method
 * with backtracking, in the form of Lin, Lin and Weng (2007), which loses no digits.
 *
 * Several classes: from r_ij = p(i | i or j), the p with sum 1 that minimises
 * sum_ij (r_ji p_i - r_ij p_j)^2; Wu, Lin and Weng (2004), second method.
 */
#include <math.h>

#include "model/svm/svm.h"

double lth__sigmoid_at(lth__sigmoid s, double decision) {
    double z = s.slope * decision + s.offset;
    return z >= 0 ? exp(-z) / (1 + exp(-z)) : 1 / (1 + exp(z));
}

/* Cross-entropy of target t at z = A f + B. */
static double loss_at(double z, double t) {
    return z >= 0 ? t * z + log1p(exp(-z)) : (t - 1) * z + log1p(exp(z));
}

static double loss_of(lth__sigmoid s, const double *decision, const double *target, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += loss_at(s.slope * decision[i] + s.offset, target[i]);
    return sum;
}

/* Gradient by A and B, and the Hessian, whose diagonal is raised a little so that it can be
 * inverted. */
typedef struct derivatives {
    double a, b, aa, bb, ab;
} derivatives;

static derivatives derive(lth__sigmoid s, const double *decision, const double *target,
                          size_t count) {
    const double ridge = 1e-12;
    derivatives d = {.aa = ridge, .bb = ridge};
    for (size_t i = 0; i < count; i++) {
        double f = decision[i], p = lth__sigmoid_at(s, f);
        double curve = p * (1 - p), slope = target[i] - p;
        d.a += f * slope;
        d.b += slope;
        d.aa += f * f * curve;
        d.bb += curve;
        d.ab += f * curve;
    }
    return d;
}

static void fill_targets(const double *y, size_t count, double *target, lth__sigmoid *start) {
    double positive = 0;
    for (size_t i = 0; i < count; i++) positive += y[i] > 0;
    double negative = (double)count - positive;
    for (size_t i = 0; i < count; i++)
        target[i] = y[i] > 0 ? (positive + 1) / (positive + 2) : 1 / (negative + 2);
    *start = (lth__sigmoid){.offset = log((negative + 1) / (positive + 1))};
}

lth__sigmoid lth__sigmoid_fit(const double *decision, const double *y, size_t count, double *room) {
    const double enough = 1e-5, least_step = 1e-10;
    enum { MOST = 100 };
    lth__sigmoid s;
    fill_targets(y, count, room, &s);
    double loss = loss_of(s, decision, room, count);
    for (int i = 0; i < MOST; i++) {
        derivatives d = derive(s, decision, room, count);
        if (fabs(d.a) < enough && fabs(d.b) < enough) break;
        double det = d.aa * d.bb - d.ab * d.ab;
        double da = -(d.bb * d.a - d.ab * d.b) / det, db = -(d.aa * d.b - d.ab * d.a) / det;
        double descent = d.a * da + d.b * db, step = 1;
        for (; step >= least_step; step /= 2) {
            lth__sigmoid next = {s.slope + step * da, s.offset + step * db};
            double there = loss_of(next, decision, room, count);
            if (there < loss + 1e-4 * step * descent) {
                s = next;
                loss = there;
                break;
            }
        }
        if (step < least_step) break;
    }
    return s;
}

/* ---- Several classes ---- */

/* Q_ii = sum_j r_ji^2, Q_ij = -r_ji r_ij: p minimises p^T Q p. One coordinate after the other is
 * solved for and all are scaled to sum 1, with Q p and p^T Q p kept up to date. */
static double fill_products(const double *Q, const double *p, size_t n, double *Qp) {
    double pQp = 0;
    for (size_t i = 0; i < n; i++) {
        Qp[i] = 0;
        for (size_t j = 0; j < n; j++) Qp[i] += Q[i * n + j] * p[j];
        pQp += p[i] * Qp[i];
    }
    return pQp;
}

static double farthest_from(const double *Qp, size_t n, double pQp) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(Qp[i] - pQp));
    return most;
}

void lth__couple(const double *r, size_t n, double *p, double *room) {
    double *Q = room, *Qp = room + n * n;
    double enough = 1e-9 / (double)n;
    for (size_t i = 0; i < n; i++) {
        p[i] = 1 / (double)n;
        Q[i * n + i] = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            Q[i * n + i] += r[j * n + i] * r[j * n + i];
            Q[i * n + j] = -r[j * n + i] * r[i * n + j];
        }
    }
    size_t most = n > 100 ? n : 100;
    for (size_t round = 0; round < most; round++) {
        double pQp = fill_products(Q, p, n, Qp); /* anew, so that errors do not add up */
        if (farthest_from(Qp, n, pQp) < enough) break;
        for (size_t i = 0; i < n; i++) {
            double change = (pQp - Qp[i]) / Q[i * n + i], scale = 1 / (1 + change);
            p[i] += change;
            pQp = (pQp + change * (change * Q[i * n + i] + 2 * Qp[i])) * scale * scale;
            for (size_t j = 0; j < n; j++) {
                Qp[j] = (Qp[j] + change * Q[i * n + j]) * scale;
                p[j] *= scale;
            }
        }
    }
}
