#include "reference.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#undef I /* of complex.h: here it is a tuple of positions */

/* ---- By definition -------------------------------------------------------------------------- */

/* A tuple of positions is the set of bits of `set`. */
static size_t size_of(unsigned set) {
    return (size_t)__builtin_popcount(set);
}

static size_t span_of(unsigned set) {
    size_t first = (size_t)__builtin_ctz(set);
    size_t last = 31 - (size_t)__builtin_clz(set);
    return last - first + 1;
}

/* prod S[I, J]: the first of I with the first of J, and so on. */
static double product_of(const reference_pair *x, unsigned I, unsigned J) {
    double product = 1;
    for (; I; I &= I - 1, J &= J - 1)
        product *= x->S[(size_t)__builtin_ctz(I) * x->q + (size_t)__builtin_ctz(J)];
    return product;
}

void reference_brute(const reference_pair *x, size_t order, double *k) {
    for (size_t i = 0; i < order; i++) k[i] = 0;
    for (unsigned I = 1; I < 1U << x->p; I++) {
        for (unsigned J = 1; J < 1U << x->q; J++) {
            size_t i = size_of(I);
            if (i > order || i != size_of(J)) continue;
            double gaps = (double)(span_of(I) + span_of(J) - 2 * i); /* pow(0, 0) is 1 */
            k[i - 1] += pow(x->match, 2 * (double)i) * pow(x->gap, gaps) * product_of(x, I, J);
        }
    }
}

/* ---- By dynamic programming ----------------------------------------------------------------- */

/* The derivative comes with the value by a step along the imaginary axis, where nothing cancels. */
static const double tiny = 1e-170; /* its square is 0 */

/* At cell (j,k): A_i = S[j,k] P_(i-1), where P_i(k) sums all matches of i positions strictly before
 * the cell in both strings, and Q_i those that end in row j. */
static void recurse(const reference_pair *x, size_t order, double complex gap, const double *S,
                    double complex *sum, double complex *A, double complex *Q, double complex *P) {
    for (size_t j = 0; j < x->p; j++) {
        for (size_t i = 1; i <= order; i++) Q[i] = 0;
        for (size_t k = 0; k < x->q; k++) {
            double complex *at = P + k * (order + 1);
            at[0] = 1;
            for (size_t i = 1; i <= order; i++) {
                A[i] = S[j * x->q + k] * at[i - 1];
                sum[i - 1] += A[i];
            }
            for (size_t i = 1; i <= order; i++) {
                at[i] = gap * at[i] + Q[i];
                Q[i] = gap * Q[i] + A[i];
            }
        }
    }
}

static void run(const reference_pair *x, size_t order, const double *S, double *k, double *slope) {
    size_t levels = order + 1;
    double complex *sum = calloc(order + levels * (2 + x->q), sizeof *sum);
    double complex *A = sum + order, *Q = A + levels, *P = Q + levels;
    if (!sum) abort();
    recurse(x, order, x->gap + tiny * _Complex_I, S, sum, A, Q, P);
    for (size_t i = 0; i < order; i++) {
        double scale = pow(x->match, 2 * (double)(i + 1));
        k[i] = scale * creal(sum[i]);
        if (slope) slope[i] = scale * cimag(sum[i]) / tiny;
    }
    free(sum);
}

void reference_ssk(const reference_pair *x, size_t order, double *k, double *slope) {
    run(x, order, x->S, k, slope);
}

void reference_scale(const reference_pair *x, size_t order, double *k, double *slope) {
    double *size = calloc(x->p * x->q + 1, sizeof *size);
    if (!size) abort();
    for (size_t i = 0; i < x->p * x->q; i++) size[i] = fabs(x->S[i]);
    run(x, order, size, k, slope);
    free(size);
}

double *reference_equality(const uint32_t *s, size_t p, const uint32_t *t, size_t q) {
    double *S = calloc(p * q + 1, sizeof *S);
    if (!S) abort();
    for (size_t j = 0; j < p; j++) {
        for (size_t k = 0; k < q; k++) S[j * q + k] = s[j] == t[k];
    }
    return S;
}
