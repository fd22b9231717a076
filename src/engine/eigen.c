#include "engine/eigen.h"

#include <float.h>
#include <math.h>

/* Columns p and q of a matrix, turned. */
static void turn_columns(size_t n, double *A, size_t p, size_t q, double c, double s) {
    for (size_t i = 0; i < n; i++) {
        double a = A[i * n + p], b = A[i * n + q];
        A[i * n + p] = c * a - s * b;
        A[i * n + q] = s * a + c * b;
    }
}

static void turn_rows(size_t n, double *A, size_t p, size_t q, double c, double s) {
    for (size_t i = 0; i < n; i++) {
        double a = A[p * n + i], b = A[q * n + i];
        A[p * n + i] = c * a - s * b;
        A[q * n + i] = s * a + c * b;
    }
}

/* The rotation that makes A_pq 0. */
static void rotate(size_t n, double *A, double *U, size_t p, size_t q) {
    double off = A[p * n + q];
    if (off == 0) return;
    double theta = (A[q * n + q] - A[p * n + p]) / (2 * off);
    double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
    double c = 1 / hypot(t, 1), s = t * c;
    turn_columns(n, A, p, q, c, s);
    turn_rows(n, A, p, q, c, s);
    turn_columns(n, U, p, q, c, s);
    A[p * n + q] = A[q * n + p] = 0;
}

static double sum_of_squares(size_t n, const double *A, int outside) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) sum += outside && i == j ? 0 : A[i * n + j] * A[i * n + j];
    }
    return sum;
}

static void swap(double *a, double *b) {
    double kept = *a;
    *a = *b;
    *b = kept;
}

static void sort(size_t n, double *value, double *U) {
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++) best = value[i] > value[best] ? i : best;
        swap(&value[k], &value[best]);
        for (size_t i = 0; i < n && best != k; i++) swap(&U[i * n + k], &U[i * n + best]);
    }
}

void lth__eigen_unordered(size_t n, double *A, double *value, double *U) {
    enum { MOST_SWEEPS = 60 };
    double least = DBL_EPSILON * DBL_EPSILON * sum_of_squares(n, A, 0);
    for (size_t i = 0; i < n * n; i++) U[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < MOST_SWEEPS && sum_of_squares(n, A, 1) > least; sweep++) {
        for (size_t p = 0; p + 1 < n; p++) {
            for (size_t q = p + 1; q < n; q++) rotate(n, A, U, p, q);
        }
    }
    for (size_t i = 0; i < n; i++) value[i] = A[i * n + i];
}

void lth__eigen(size_t n, double *A, double *value, double *U) {
    lth__eigen_unordered(n, A, value, U);
    sort(n, value, U);
}
