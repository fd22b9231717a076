/* The string kernel in the matrix form of Beck and Cohn (2017), O(order l^3), with the gradients of
 * their supplement: A = S * P,   k_i = sum of A,   P <- D^T A D,   D[j,k] = gap^(k-j-1) above the
 * diagonal (their printed equation lacks the transpose). Products of matrices are OpenBLAS's dgemm
 * on one thread if it is installed, else plain loops; the last line says which. */
#include "gram_clock.h"

#include <dlfcn.h>

enum { ROOM = LONGEST * LONGEST };

typedef void gemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
static gemm *blas;

/* c = a b, or a^T b. */
static void multiply(int transpose, size_t n, const double *a, const double *b, double *c) {
    int m = (int)n;
    if (blas) {
        blas(101, transpose ? 112 : 111, 111, m, m, m, 1, a, m, b, m, 0, c, m);
        return;
    }
    memset(c, 0, n * n * sizeof *c);
    for (size_t i = 0; i < n; i++) {
        for (size_t l = 0; l < n; l++) {
            double factor = transpose ? a[l * n + i] : a[i * n + l];
            for (size_t j = 0; j < n; j++) c[i * n + j] += factor * b[l * n + j];
        }
    }
}

static double mask(size_t n, const char *s, const char *t, const double *p, double *a) {
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < n; k++) {
            double x = (s[j] == t[k]) * p[j * n + k];
            a[j * n + k] = x;
            sum += x;
        }
    }
    return sum;
}

static double D[ROOM], dD[ROOM];

static void fill_decays(size_t n) {
    memset(D, 0, sizeof D);
    memset(dD, 0, sizeof dD);
    for (size_t j = 0; j < n; j++) {
        double power = 1, before = 0;
        for (size_t k = j + 1; k < n; k++) {
            D[j * n + k] = power;
            dD[j * n + k] = (double)(k - j - 1) * before;
            before = power;
            power *= GAP;
        }
    }
}

/* At match 1: d(match^2 S P)/dmatch = 2 A + S dP. */
static void pair(const char *s, const char *t, size_t n, int gradients, pair_result *out) {
    static double P[ROOM], A[ROOM], left[ROOM], gP[ROOM], gA[ROOM], mP[ROOM], mA[ROOM], part[ROOM],
        half[ROOM];
    for (size_t i = 0; i < n * n; i++) P[i] = 1, gP[i] = mP[i] = 0;
    for (int i = 0; i < ORDER; i++) {
        double k = mask(n, s, t, P, A);
        out->value += k;
        out->weights[i] = k;
        if (gradients) {
            out->gap += mask(n, s, t, gP, gA);
            out->match += 2 * k + mask(n, s, t, mP, mA);
            for (size_t j = 0; j < n * n; j++) mA[j] += 2 * A[j];
        }
        if (i + 1 == ORDER) break;
        multiply(1, n, D, A, left);
        multiply(0, n, left, D, P);
        if (!gradients) continue;
        multiply(1, n, D, mA, half);
        multiply(0, n, half, D, mP);
        multiply(1, n, dD, A, half);
        multiply(1, n, D, gA, part);
        for (size_t j = 0; j < n * n; j++) half[j] += part[j];
        multiply(0, n, half, D, gP);
        multiply(0, n, left, dD, part);
        for (size_t j = 0; j < n * n; j++) gP[j] += part[j];
    }
}

int main(int count, char **words) {
    if (count != 2) return 2;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    if (library) blas = (gemm *)dlsym(library, "cblas_dgemm");
    strings s = read_strings(words[1]);
    fill_decays(s.length);
    time_both(&s, pair);
    printf("products\t%s\n", blas ? "OpenBLAS" : "plain loops");
    return 0;
}
