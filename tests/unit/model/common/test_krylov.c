/* Conjugate gradients, preconditioners and quadratic forms against dense algebra. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "gp_support.h"
#include "model/common/linalg.h"
#include "model/common/quadratic.h"

static lth_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = support_context(1);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

static double *room(size_t count) {
    double *x = calloc(count + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static double *normals(lth__random *random, size_t count) {
    double *x = room(count);
    for (size_t i = 0; i < count; i++) x[i] = lth__random_normal(random);
    return x;
}

/* ---- Dense problems ---- */

/* G = K + noise I: of points on a line with a short and a long range, some of them equal. */
typedef struct problem {
    size_t n;
    double noise;
    double *at, *dense, *inverse;
    double log_determinant;
    lth__matrix G;
} problem;

static double covariance(double a, double b) {
    return exp(-(a - b) * (a - b) / 2) + (a == b ? 0.5 : 0.5 * exp(-30 * fabs(a - b)));
}

static problem make_problem(lth_ctx *of, size_t n, double noise, lth_precision precision) {
    problem p = {
        .n = n, .noise = noise, .at = room(n), .dense = room(n * n), .inverse = room(n * n)};
    lth__random random;
    lth_error err = {0};
    lth__random_seed(&random, 7);
    for (size_t i = 0; i < n; i++)
        p.at[i] = i % 10 == 9 ? p.at[i - 1] : 10 * lth__random_uniform(&random);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            p.dense[i * n + j] = covariance(p.at[i], p.at[j]) + (i == j ? noise : 0);
    }
    p.G = lth__matrix_store(of, n, precision);
    support_ok(p.G.table->reserve(&p.G, &err), &err);
    lth__packed cells = lth__matrix_packed(&p.G);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            size_t at = lth__packed_row(&cells, i) + j;
            if (cells.singles)
                cells.singles[at] = (float)p.dense[i * n + j];
            else
                cells.cells[at] = p.dense[i * n + j];
        }
    }
    double *L = room(n * n);
    memcpy(L, p.dense, n * n * sizeof *L);
    assert_int_equal(lth__cholesky(ctx, n, L, &err), LTH_OK);
    p.log_determinant = lth__cholesky_log_determinant(n, L);
    support_ok(lth__cholesky_inverse(ctx, n, L, p.inverse, &err), &err);
    free(L);
    return p;
}

static void free_problem(problem *p) {
    lth__matrix_free(&p->G);
    free(p->at);
    free(p->dense);
    free(p->inverse);
}

/* Y = A X, both n x m. */
static double *times(size_t n, const double *A, size_t m, const double *X) {
    double *Y = room(n * m);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            for (size_t j = 0; j < m; j++) Y[i * m + j] += A[i * n + k] * X[k * m + j];
        }
    }
    return Y;
}

static void check_near(const double *a, const double *b, size_t count, double tolerance) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs(b[i]));
    for (size_t i = 0; i < count; i++) {
        if (!(fabs(a[i] - b[i]) <= tolerance * most))
            fail_msg("%zu: %.17g is not %.17g", i, a[i], b[i]);
    }
}

static lth_status multiply(const void *of, size_t m, const double *X, double *Y, lth_error *err) {
    const lth__matrix *G = of;
    return G->table->multiply(G, m, X, Y, err);
}

static lth_status precondition(const void *of, size_t m, const double *X, double *Y,
                               lth_error *err) {
    return lth__preconditioner_solve(of, m, X, Y, err);
}

static lth__krylov krylov_of(const problem *p, const lth__preconditioner *P) {
    return (lth__krylov){.ctx = p->G.ctx,
                         .n = p->n,
                         .multiply = multiply,
                         .matrix = &p->G,
                         .precondition = P ? precondition : NULL,
                         .preconditioner = P,
                         .tolerance = 1e-10,
                         .most = 500};
}

static lth__preconditioner *preconditioner_of(const problem *p, size_t rank) {
    lth__random random;
    lth__preconditioner *P = NULL;
    lth_error err = {0};
    lth__random_seed(&random, 3);
    support_ok(lth__preconditioner_create(&p->G, p->noise, rank, &random, &P, &err), &err);
    return P;
}

/* ---- Tridiagonal matrices ---- */

static void tridiagonal(void **state) {
    (void)state;
    enum { MOST = 40 };
    lth__random random;
    lth__random_seed(&random, 1);
    for (size_t n = 1; n <= MOST; n += n < 4 ? 1 : 6) {
        for (int kind = 0; kind < 3; kind++) { /* full, with gaps, all equal */
            double d[MOST], e[MOST], values[MOST], off[MOST], Q[MOST * MOST];
            for (size_t i = 0; i < n; i++) {
                d[i] = kind == 2 ? 2 : lth__random_normal(&random);
                e[i] = kind == 1 && i % 3 == 0 ? 0 : kind == 2 ? 1 : lth__random_normal(&random);
            }
            memcpy(values, d, sizeof d);
            memcpy(off, e, sizeof e);
            assert_true(lth__tridiagonal(n, values, off, Q));
            for (size_t i = 0; i < n; i++) {
                for (size_t j = 0; j < n; j++) {
                    double sum = 0, unit = 0;
                    for (size_t k = 0; k < n; k++) {
                        sum += Q[i * n + k] * values[k] * Q[j * n + k];
                        unit += Q[k * n + i] * Q[k * n + j];
                    }
                    double expected = i == j ? d[i] : i + 1 == j ? e[i] : i == j + 1 ? e[j] : 0;
                    support_near(sum, expected, 1e-13);
                    support_near(unit, i == j, 1e-13);
                }
            }
        }
    }
    double nan[2] = {NAN, 1}, off[2] = {1, 0}, Q[4];
    assert_false(lth__tridiagonal(2, nan, off, Q));
}

/* ---- Solutions ---- */

static void solve(void **state) {
    (void)state;
    enum { M = 4 };
    problem p = make_problem(ctx, 150, 0.05, LTH_F64);
    lth__random random;
    lth__random_seed(&random, 5);
    double *B = normals(&random, p.n * M), *X = room(p.n * M);
    for (size_t i = 0; i < p.n; i++) {
        B[i * M + 1] = 0;      /* nothing to solve */
        B[i * M + 2] *= 1e-20; /* of any size      */
        B[i * M + 3] = i == 4;
    }
    size_t steps[3];
    for (size_t rank = 0; rank < 3; rank++) {
        lth__preconditioner *P = rank > 0 ? preconditioner_of(&p, rank == 1 ? 40 : p.n) : NULL;
        lth__krylov k = krylov_of(&p, P);
        lth__krylov_report report;
        lth_error err = {0};
        support_ok(lth__krylov_solve(&k, M, B, X, &report, &err), &err);
        assert_true(report.residual <= k.tolerance);
        steps[rank] = report.steps;
        double *expected = times(p.n, p.inverse, M, B);
        for (size_t j = 0; j < M; j++) {
            double *a = room(p.n), *b = room(p.n);
            for (size_t i = 0; i < p.n; i++) {
                a[i] = X[i * M + j];
                b[i] = expected[i * M + j];
            }
            check_near(a, b, p.n, 1e-8);
            free(a);
            free(b);
        }
        free(expected);
        lth__preconditioner_free(P);
    }
    assert_true(steps[1] < steps[0] && steps[2] <= 2);
    free(B);
    free(X);
    free_problem(&p);
}

/* What was not reached is told. */
static void too_few_steps(void **state) {
    (void)state;
    problem p = make_problem(ctx, 100, 0.01, LTH_F64);
    lth__random random;
    lth__random_seed(&random, 5);
    double *b = normals(&random, p.n), *x = room(p.n), residual = 0, size = 0;
    lth__krylov k = krylov_of(&p, NULL);
    lth__krylov_report report;
    lth_error err = {0};
    k.most = 3;
    support_ok(lth__krylov_solve(&k, 1, b, x, &report, &err), &err);
    double *product = times(p.n, p.dense, 1, x);
    for (size_t i = 0; i < p.n; i++) {
        residual += (b[i] - product[i]) * (b[i] - product[i]);
        size += b[i] * b[i];
    }
    assert_int_equal(report.steps, 3);
    assert_true(report.residual > 1e-3);
    support_near(report.residual, sqrt(residual / size), 1e-10);
    free(product);
    free(b);
    free(x);
    free_problem(&p);
}

static void not_definite(void **state) {
    (void)state;
    problem p = make_problem(ctx, 30, 0.1, LTH_F64);
    lth_error err = {0};
    support_ok(p.G.table->add_diagonal(&p.G, -2, &err), &err);
    double *b = room(p.n), *x = room(p.n);
    b[3] = 1;
    lth__krylov k = krylov_of(&p, NULL);
    lth__krylov_report report;
    assert_int_equal(lth__krylov_solve(&k, 1, b, x, &report, &err), LTH_ENUMERIC);
    free(b);
    free(x);
    free_problem(&p);
}

/* ---- Roots and logarithms ---- */

/* S = C^-T H^-1/2 C^-1 has S P S = G^-1. */
static void roots(void **state) {
    (void)state;
    enum { M = 3 };
    problem p = make_problem(ctx, 120, 0.1, LTH_F64);
    lth__random random;
    lth__random_seed(&random, 9);
    double *B = normals(&random, p.n * M), logarithm[M], linear[M];
    float *U = calloc(p.n * M, sizeof *U);
    for (int preconditioned = 0; preconditioned < 2; preconditioned++) {
        lth__preconditioner *P = preconditioned ? preconditioner_of(&p, 30) : NULL;
        lth__krylov k = krylov_of(&p, P);
        lth_error err = {0};
        support_ok(lth__krylov_root(&k, M, B, U, logarithm, linear, &err), &err);
        double *half = room(p.n * M), *dense = room(p.n * p.n);
        for (size_t i = 0; i < p.n * M; i++) half[i] = U[i];
        for (size_t i = 0; i < p.n; i++) {
            for (size_t j = 0; j < p.n; j++) {
                double sum = i == j;
                for (size_t r = 0; P && r < P->rank; r++)
                    sum += P->V[i * P->rank + r] * P->V[j * P->rank + r];
                dense[i * p.n + j] = P ? P->root[i] * sum * P->root[j] : sum;
            }
        }
        double *again = times(p.n, dense, M, half);
        support_ok(lth__krylov_root(&k, M, again, U, logarithm, linear, &err), &err);
        for (size_t i = 0; i < p.n * M; i++) half[i] = U[i];
        double *expected = times(p.n, p.inverse, M, B);
        check_near(half, expected, p.n * M, 1e-5);
        free(half);
        free(dense);
        free(again);
        free(expected);
        lth__preconditioner_free(P);
    }
    free(B);
    free(U);
    free_problem(&p);
}

static lth_status multiply_diagonal(const void *of, size_t m, const double *X, double *Y,
                                    lth_error *err) {
    (void)err;
    const double *d = of;
    for (size_t i = 0; i < 50 * m; i++) Y[i] = d[i / m] * X[i];
    return LTH_OK;
}

static void logarithms(void **state) {
    (void)state;
    enum { N = 50, M = 2 };
    double d[N], logarithm[M], linear[M], expected[M] = {0}, expected_linear[M] = {0};
    float U[N * M];
    lth__random random;
    lth__random_seed(&random, 2);
    double *B = normals(&random, N * M);
    for (size_t i = 0; i < N; i++) {
        d[i] = 0.1 + 3 * lth__random_uniform(&random);
        B[i * M + 1] = 0;
        expected[0] += B[i * M] * B[i * M] * log(d[i]);
        expected_linear[0] += B[i * M] * B[i * M] * (d[i] - 1);
    }
    lth__krylov k = {.ctx = ctx,
                     .n = N,
                     .multiply = multiply_diagonal,
                     .matrix = d,
                     .tolerance = 1e-9,
                     .most = 200};
    lth_error err = {0};
    support_ok(lth__krylov_root(&k, M, B, U, logarithm, linear, &err), &err);
    for (size_t j = 0; j < M; j++) {
        support_near(logarithm[j], expected[j], 1e-9);
        support_near(linear[j], expected_linear[j], 1e-9);
    }
    for (size_t i = 0; i < N; i++) {
        support_near(U[i * M], B[i * M] / sqrt(d[i]), 1e-6);
        assert_true(U[i * M + 1] == 0);
    }
    free(B);
}

/* ---- Preconditioners ---- */

static void preconditioner(void **state) {
    (void)state;
    enum { M = 2 };
    problem p = make_problem(ctx, 90, 0.02, LTH_F64);
    lth__random random;
    lth__random_seed(&random, 2);
    double *X = normals(&random, p.n * M), *Y = room(p.n * M);
    static const size_t ranks[] = {0, 1, 30, 33, 90, 200};
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++) {
        lth__preconditioner *P = preconditioner_of(&p, ranks[r]);
        lth_error err = {0};
        size_t n = p.n, rank = P->rank;
        double *dense = room(n * n), *L = room(n * n);
        assert_true(rank <= ranks[r] && rank <= n);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                double sum = i == j;
                for (size_t k = 0; k < rank; k++) sum += P->V[i * rank + k] * P->V[j * rank + k];
                dense[i * n + j] = P->root[i] * sum * P->root[j];
                if (i == j) support_near(dense[i * n + j], p.dense[i * n + j], 1e-9);
            }
        }
        if (ranks[r] >= n) check_near(dense, p.dense, n * n, 1e-7);
        support_ok(lth__preconditioner_solve(P, M, X, Y, &err), &err);
        double *back = times(n, dense, M, Y);
        check_near(back, X, n * M, 1e-9);
        memcpy(L, dense, n * n * sizeof *L);
        assert_int_equal(lth__cholesky(ctx, n, L, &err), LTH_OK);
        support_near(P->log_determinant, lth__cholesky_log_determinant(n, L), 1e-9);
        free(back);
        free(L);
        free(dense);
        lth__preconditioner_free(P);
    }
    free(X);
    free(Y);
    free_problem(&p);
}

/* P^-1 B and W differ by what P^-1 A spans, and by nothing else. */
static void draws(void **state) {
    (void)state;
    enum { M = 3 };
    problem p = make_problem(ctx, 80, 0.1, LTH_F64);
    lth__preconditioner *P = preconditioner_of(&p, 12);
    lth__random random;
    lth_error err = {0};
    lth__random_seed(&random, 2);
    size_t n = p.n, rank = P->rank;
    double *B = room(n * M), *D = room(n * M), *S = room(n * rank), *C = room(rank * rank);
    double *T = room(rank * M);
    float *W = calloc(n * M, sizeof *W);
    support_ok(lth__preconditioner_draw(P, M, &random, B, W, &err), &err);
    support_ok(lth__preconditioner_solve(P, M, B, D, &err), &err);
    support_ok(lth__preconditioner_span(P, S, &err), &err);
    double before = 0, after = 0;
    for (size_t i = 0; i < n * M; i++) {
        D[i] -= W[i];
        before += D[i] * D[i];
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t a = 0; a < rank; a++) {
            for (size_t b = 0; b < rank; b++) C[a * rank + b] += S[i * rank + a] * S[i * rank + b];
            for (size_t j = 0; j < M; j++) T[a * M + j] += S[i * rank + a] * D[i * M + j];
        }
    }
    assert_int_equal(lth__cholesky(ctx, rank, C, &err), LTH_OK);
    support_ok(lth__cholesky_solve(ctx, rank, C, M, T, &err), &err);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < M; j++) {
            double rest = D[i * M + j];
            for (size_t a = 0; a < rank; a++) rest -= S[i * rank + a] * T[a * M + j];
            after += rest * rest;
        }
    }
    assert_true(before > 1e-3 && after < 1e-8 * before);
    free(B);
    free(D);
    free(S);
    free(C);
    free(T);
    free(W);
    lth__preconditioner_free(P);
    free_problem(&p);
}

/* ---- Quadratic forms ---- */

typedef struct forms {
    lth__quadratic *q;
    lth__log_determinant log_determinant;
    double *values, *diagonal; /* of `rows` new points, and of G^-1 */
} forms;

enum { NEW = 45 };

/* Covariances of new points with those of the problem, [point][n]. */
static double *new_rows(const problem *p) {
    double *K = room(NEW * p->n);
    for (size_t r = 0; r < NEW; r++) {
        for (size_t i = 0; i < p->n; i++)
            K[r * p->n + i] = covariance(12.0 * (double)r / NEW - 1, p->at[i]);
    }
    return K;
}

static forms make_forms(const problem *p, size_t rank, size_t probes) {
    forms f = {.values = room(NEW), .diagonal = room(p->n)};
    lth__preconditioner *P = preconditioner_of(p, rank);
    lth__krylov k = krylov_of(p, P);
    lth__random random;
    lth_error err = {0};
    lth__random_seed(&random, 4);
    support_ok(lth__quadratic_create(&k, &p->G, P, probes, &random, &f.q, &f.log_determinant, &err),
               &err);
    double *K = new_rows(p);
    support_ok(lth__quadratic_of(f.q, p->G.ctx, NEW, K, f.values, &err), &err);
    support_ok(lth__quadratic_diagonal(f.q, p->G.ctx, f.diagonal, &err), &err);
    lth__preconditioner_free(P);
    free(K);
    return f;
}

static void free_forms(forms *f) {
    lth__quadratic_free(f->q);
    free(f->values);
    free(f->diagonal);
}

static double *expected_values(const problem *p) {
    double *K = new_rows(p), *values = room(NEW);
    for (size_t r = 0; r < NEW; r++) {
        double *x = times(p->n, p->inverse, 1, K + r * p->n);
        for (size_t i = 0; i < p->n; i++) values[r] += K[r * p->n + i] * x[i];
        free(x);
    }
    free(K);
    return values;
}

/* At rank n nothing is left to chance. */
static void all_known(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 33, 260};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        problem p = make_problem(ctx, sizes[s], 0.1, LTH_F64);
        forms f = make_forms(&p, p.n, 5);
        double *values = expected_values(&p);
        check_near(f.values, values, NEW, 1e-6);
        for (size_t i = 0; i < p.n; i++) support_near(f.diagonal[i], p.inverse[i * p.n + i], 1e-6);
        support_near(f.log_determinant.value, p.log_determinant, 1e-6);
        free(values);
        free_forms(&f);
        free_problem(&p);
    }
}

/* Root mean square of a / b - 1. */
static double spread(const double *a, const double *b, size_t stride, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double d = a[i] / b[i * stride] - 1;
        sum += d * d / (double)count;
    }
    return sqrt(sum);
}

/* By chance alone, 64 probes would be off by 0.18. */
static void estimated(void **state) {
    (void)state;
    problem p = make_problem(ctx, 300, 0.02, LTH_F64);
    double *values = expected_values(&p);
    for (size_t rank = 20; rank <= 80; rank += 60) {
        forms f = make_forms(&p, rank, 64);
        assert_true(spread(f.values, values, 1, NEW) < (rank == 20 ? 0.05 : 0.02));
        assert_true(spread(f.diagonal, p.inverse, p.n + 1, p.n) < (rank == 20 ? 0.12 : 0.08));
        assert_true(f.log_determinant.error > 0 && f.log_determinant.error < 5);
        assert_true(fabs(f.log_determinant.value - p.log_determinant) <
                    4 * f.log_determinant.error);
        free_forms(&f);
    }
    free(values);
    free_problem(&p);
}

/* Without a span, and without covariances at all: G is noise. */
static void nothing_but_noise(void **state) {
    (void)state;
    problem p = make_problem(ctx, 20, 0.1, LTH_F64);
    lth_error err = {0};
    support_ok(p.G.table->affine(&p.G, 0, 0, &err), &err);
    support_ok(p.G.table->add_diagonal(&p.G, 0.25, &err), &err);
    p.noise = 0.25;
    forms f = make_forms(&p, 10, 9);
    assert_int_equal(f.q->rank, 0);
    support_near(f.log_determinant.value, 20 * log(0.25), 1e-12);
    for (size_t i = 0; i < p.n; i++) support_near(f.diagonal[i], 4, 1e-6);
    free_forms(&f);
    free_problem(&p);
}

static void single_precision(void **state) {
    (void)state;
    problem p = make_problem(ctx, 300, 0.1, LTH_F32);
    double *values = expected_values(&p);
    forms f = make_forms(&p, 80, 64);
    assert_true(spread(f.values, values, 1, NEW) < 0.02);
    free_forms(&f);
    free(values);
    free_problem(&p);
}

/* ---- Threads, and stops ---- */

static void same_bits(void **state) {
    (void)state;
    double *values[2], determinant[2];
    for (unsigned t = 0; t < 2; t++) {
        lth_ctx *of = support_context(t == 0 ? 1 : 3);
        problem p = make_problem(of, 700, 0.1, LTH_F64);
        forms f = make_forms(&p, 70, 40);
        values[t] = room(NEW + p.n);
        memcpy(values[t], f.values, NEW * sizeof(double));
        memcpy(values[t] + NEW, f.diagonal, p.n * sizeof(double));
        determinant[t] = f.log_determinant.value;
        free_forms(&f);
        free_problem(&p);
        lth_ctx_free(of);
    }
    assert_memory_equal(values[0], values[1], (NEW + 700) * sizeof(double));
    assert_true(determinant[0] == determinant[1]);
    free(values[0]);
    free(values[1]);
}

static int stop(void *user, const char *what, double done, double total) {
    (void)what, (void)done, (void)total;
    return *(const bool *)user;
}

/* Every part of it can be ended. */
static void canceled(void **state) {
    (void)state;
    lth_ctx_options options;
    lth_ctx *of = NULL;
    lth_error err = {0};
    bool now = false;
    lth_ctx_options_init(&options);
    options.progress = stop;
    options.user = &now;
    support_ok(lth_ctx_create(&options, &of, &err), &err);
    problem p = make_problem(of, 100, 0.1, LTH_F64);
    lth__preconditioner *P = preconditioner_of(&p, 20), *none = NULL;
    lth__krylov k = krylov_of(&p, P);
    lth__krylov_report report;
    lth__log_determinant log_determinant;
    lth__quadratic *q = NULL;
    lth__random random;
    double *b = room(p.n), *x = room(p.n);
    lth__random_seed(&random, 1);
    b[0] = 1;
    now = true;
    of->asked_at = 1e-9; /* long ago */
    assert_int_equal(lth__preconditioner_create(&p.G, p.noise, 20, &random, &none, &err),
                     LTH_ECANCELED);
    of->asked_at = 1e-9;
    assert_int_equal(lth__krylov_solve(&k, 1, b, x, &report, &err), LTH_ECANCELED);
    of->asked_at = 1e-9;
    assert_int_equal(lth__quadratic_create(&k, &p.G, P, 4, &random, &q, &log_determinant, &err),
                     LTH_ECANCELED);
    assert_true(!none && !q);
    lth__preconditioner_free(P);
    free(b);
    free(x);
    free_problem(&p);
    lth_ctx_free(of);
}

static void controlled(void **state) {
    (void)state;
    double x[20], y[20], error;
    lth__random random;
    lth__random_seed(&random, 6);
    for (size_t i = 0; i < 20; i++) {
        x[i] = lth__random_normal(&random) + 3;
        y[i] = 2 * x[i] + 1;
    }
    support_near(lth__controlled_mean(20, y, x, 3, &error), 7, 1e-12);
    assert_true(error < 1e-6);
    support_near(lth__controlled_mean(1, y, x, x[0], &error), y[0], 1e-12);
    support_near(lth__controlled_mean(3, x, x, 3, NULL), 3, 1e-12);
    for (size_t i = 0; i < 20; i++) x[i] = 1; /* it tells nothing */
    double mean = 0;
    for (size_t i = 0; i < 20; i++) mean += y[i] / 20;
    support_near(lth__controlled_mean(20, y, x, 1, NULL), mean, 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tridiagonal),
        cmocka_unit_test(solve),
        cmocka_unit_test(too_few_steps),
        cmocka_unit_test(not_definite),
        cmocka_unit_test(roots),
        cmocka_unit_test(logarithms),
        cmocka_unit_test(preconditioner),
        cmocka_unit_test(draws),
        cmocka_unit_test(all_known),
        cmocka_unit_test(estimated),
        cmocka_unit_test(nothing_but_noise),
        cmocka_unit_test(single_precision),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(canceled),
        cmocka_unit_test(controlled),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
