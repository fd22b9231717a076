/* The plug-in's words for parts of matrices by themselves, against plain loops: every way of
 * transposing, odd sizes, gaps between rows, and cells that must not be read or written.
 *
 * Then the factor, inverse and products of packed matrices (model/common/device_linalg.c, which is
 * compiled into this program) in panels of that plug-in.
 *
 *     plugin_matrix LIBRARY                    checks
 *     plugin_matrix LIBRARY --speed ROWS...    and how fast it is for matrices of so many rows
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/parallel.h"
#include "model/common/device_linalg.h"

static const lth__device_table *t;
static lth__device *d;
static lth_error err;
static int failures, checks;

static void must(lth_status status, const char *what) {
    if (status == LTH_OK) return;
    fprintf(stderr, "%s: %s\n", what, err.message);
    exit(1);
}

static double random_number(void) {
    static uint64_t seed = 88172645463325252ull;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0 - 0.5;
}

/* Rows x cols numbers that are `ld` apart, with NaN in the gaps; here and on the device. */
typedef struct part {
    size_t rows, cols, ld;
    double *here, *there;
} part;

static size_t bytes_of(const part *p) {
    return p->rows * p->ld * sizeof *p->here;
}

static part make(size_t rows, size_t cols, size_t gap) {
    part p = {.rows = rows, .cols = cols, .ld = cols + gap};
    void *there;
    p.here = malloc(bytes_of(&p));
    for (size_t i = 0; i < rows * p.ld; i++) p.here[i] = i % p.ld < cols ? random_number() : NAN;
    must(t->alloc(d, bytes_of(&p), &there, &err), "memory");
    p.there = there;
    must(t->upload(d, there, p.here, bytes_of(&p), &err), "upload");
    return p;
}

static void drop(part *p) {
    t->release(d, p->there);
    free(p->here);
}

static double at(const part *p, bool transposed, size_t r, size_t c) {
    return transposed ? p->here[c * p->ld + r] : p->here[r * p->ld + c];
}

/* What the device has is what is here, gaps included. */
static void compare(const part *p, const char *what) {
    double *got = malloc(bytes_of(p));
    size_t wrong = 0;
    must(t->download(d, got, p->there, bytes_of(p), &err), what);
    for (size_t i = 0; i < p->rows * p->ld; i++) {
        bool gap = i % p->ld >= p->cols;
        wrong += gap ? !isnan(got[i]) : !(fabs(got[i] - p->here[i]) <= 1e-9);
    }
    checks++;
    if (wrong > 0) {
        failures++;
        printf("FAIL %s of %zu x %zu, rows %zu apart: %zu cells\n", what, p->rows, p->cols, p->ld,
               wrong);
    }
    free(got);
}

static void check_gemm(int kind, size_t m, size_t n, size_t k, double alpha, double beta) {
    bool ta = kind & 1, tb = kind & 2;
    part A = make(ta ? k : m, ta ? m : k, 3), B = make(tb ? n : k, tb ? k : n, 2);
    part C = make(m, n, 5);
    if (beta == 0) { /* then C need not be numbers */
        for (size_t i = 0; i < m * C.ld; i++) C.here[i] = NAN;
        must(t->upload(d, C.there, C.here, bytes_of(&C), &err), "upload");
    }
    must(
        t->gemm(d, ta, tb, m, n, k, alpha, A.there, A.ld, B.there, B.ld, beta, C.there, C.ld, &err),
        "gemm");
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0, *cell = &C.here[i * C.ld + j];
            for (size_t l = 0; l < k; l++) sum += at(&A, ta, i, l) * at(&B, tb, l, j);
            *cell = alpha * sum + (beta == 0 ? 0 : beta * *cell);
        }
    }
    compare(&C, "a product");
    drop(&A), drop(&B), drop(&C);
}

static void check_combine(bool transposed, size_t rows, size_t cols, double a, double b) {
    part X = make(transposed ? cols : rows, transposed ? rows : cols, 4), Y = make(rows, cols, 1);
    must(t->combine(d, rows, cols, transposed, a, X.there, X.ld, b, Y.there, Y.ld, &err), "sum");
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            double *cell = &Y.here[r * Y.ld + c];
            *cell = a * at(&X, transposed, r, c) + b * *cell;
        }
    }
    compare(&Y, "a sum");
    must(t->combine(d, rows, cols, false, 3, Y.there, Y.ld, 0, Y.there, Y.ld, &err), "factor");
    for (size_t i = 0; i < rows * Y.ld; i++) Y.here[i] *= 3;
    compare(&Y, "a sum in its place");
    drop(&X), drop(&Y);
}

static void check_sides(size_t rows, size_t cols) {
    part X = make(rows, cols, 2), row = make(1, rows, 0), col = make(1, cols, 0);
    must(t->scale_sides(d, rows, cols, X.there, X.ld, row.there, col.there, &err), "sides");
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) X.here[r * X.ld + c] *= row.here[r] * col.here[c];
    compare(&X, "factors of rows and columns");
    drop(&X), drop(&row), drop(&col);
}

/* G = U^T U from a U with a large diagonal: the factor must be that U. Then U X = B and back. */
static void check_factor(size_t n, size_t m) {
    part U = make(n, n, 6), G = make(n, n, 6), X = make(n, m, 1), B = make(n, m, 1);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) U.here[i * U.ld + j] = 0;
        U.here[i * U.ld + i] = 2 + (double)n / 8;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? -1 : 0; /* comes back below */
            for (size_t k = 0; k < n; k++) sum += at(&U, true, i, k) * at(&U, false, k, j);
            G.here[i * G.ld + j] = sum;
        }
    }
    must(t->upload(d, G.there, G.here, bytes_of(&G), &err), "upload");
    must(t->add_diagonal(d, n, G.there, G.ld, 1, &err), "diagonal");
    must(t->cholesky(d, n, G.there, G.ld, &err), "factor");
    memcpy(G.here, U.here, bytes_of(&U));
    compare(&G, "a factor");
    for (int transposed = 0; transposed < 2; transposed++) {
        for (size_t i = 0; i < n; i++) {
            for (size_t c = 0; c < m; c++) {
                double sum = 0;
                for (size_t k = 0; k < n; k++)
                    sum += at(&U, transposed, i, k) * X.here[k * X.ld + c];
                B.here[i * B.ld + c] = sum;
            }
        }
        must(t->upload(d, B.there, B.here, bytes_of(&B), &err), "upload");
        must(t->solve(d, transposed, n, m, G.there, G.ld, B.there, B.ld, &err), "solve");
        memcpy(B.here, X.here, bytes_of(&X));
        compare(&B, transposed ? "a transposed solution" : "a solution");
    }
    must(t->add_diagonal(d, n, G.there, G.ld, -1e4, &err), "diagonal");
    checks++;
    if (t->cholesky(d, n, G.there, G.ld, &err) != LTH_ENUMERIC) {
        failures++;
        printf("FAIL a matrix of %zu rows that is not positive definite has a factor\n", n);
    }
    drop(&U), drop(&G), drop(&X), drop(&B);
}

/* ---- Packed matrices ---- */

/* What device_linalg.c needs of the library. */
lth_status lth__device_matrix(lth__device_eval *e, size_t count, double **out, lth_error *error) {
    void *memory;
    lth_status status = e->t->alloc(e->d, count * sizeof(double), &memory, error);
    if (status == LTH_OK) *out = memory;
    return status;
}

void lth__device_drop(lth__device_eval *e, double *matrix) {
    e->t->release(e->d, matrix);
}

lth_status lth__parallel_ask(const lth_ctx *ctx) {
    (void)ctx;
    return LTH_OK;
}

static const lth__eval no_eval;
static lth__device_eval evaluation;

static double *upload_packed(size_t n, const double *G) {
    double *A;
    must(lth__device_matrix(&evaluation, lth__device_packed_count(&evaluation, n), &A, &err),
         "memory");
    for (size_t k = 0; k < lth__device_panels(&evaluation, n); k++) {
        lth__device_rows p = lth__device_rows_of(&evaluation, n, k);
        for (size_t r = 0; r < p.count; r++)
            must(t->upload(d, A + p.offset + r * p.ld, G + (p.first + r) * n + p.first,
                           p.ld * sizeof *G, &err),
                 "upload");
    }
    return A;
}

/* |A X - want| over the largest of `want`, on the device. */
static double residual(size_t n, const double *A, const double *X, const double *want, size_t m) {
    double *Y, worst = 0, most = 0, *got = malloc(n * m * sizeof *got);
    must(lth__device_matrix(&evaluation, n * m, &Y, &err), "memory");
    must(lth__device_multiply(&evaluation, n, A, m, X, Y, &err), "product");
    must(t->download(d, got, Y, n * m * sizeof *got, &err), "product");
    for (size_t i = 0; i < n * m; i++) {
        double off = fabs(got[i] - want[i]);
        if (!(off <= worst) && !isnan(worst)) worst = off;
        most = fmax(most, fabs(want[i]));
    }
    lth__device_drop(&evaluation, Y);
    free(got);
    return worst / most;
}

static void expect(bool holds, const char *what, size_t n) {
    checks++;
    if (holds) return;
    failures++;
    printf("FAIL %s of %zu rows in panels of %zu\n", what, n, t->panel_rows);
}

/* G has a diagonal that outweighs the rest. Products are compared with plain loops, all else with
 * products: G (U^T U)^-1 B = B, and the inverse's product and diagonal likewise. */
static void check_packed(size_t n, size_t m) {
    part G = make(n, n, 0), B = make(n, m, 0), product = make(n, m, 0);
    double *diagonal, *mine = malloc(n * sizeof *mine), *his = malloc(n * sizeof *his);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) G.here[i * n + j] = G.here[j * n + i];
        G.here[i * n + i] = (double)n;
    }
    for (size_t i = 0; i < n * m; i++) {
        product.here[i] = 0;
        for (size_t k = 0; k < n; k++)
            product.here[i] += G.here[i / m * n + k] * B.here[k * m + i % m];
    }
    double *A = upload_packed(n, G.here), *U = upload_packed(n, G.here);
    expect(residual(n, A, B.there, product.here, m) <= 1e-13, "a product", n);
    must(lth__device_factor(&evaluation, n, U, &err), "factor");
    must(t->copy(d, product.there, B.there, n * m, &err), "copy");
    must(lth__device_solve(&evaluation, n, U, m, product.there, &err), "solve");
    expect(residual(n, A, product.there, B.here, m) <= 1e-12, "a solution", n);
    must(t->download(d, product.here, product.there, n * m * sizeof *mine, &err), "solution");
    must(lth__device_matrix(&evaluation, n, &diagonal, &err), "memory");
    must(lth__device_inverse_diagonal(&evaluation, n, U, diagonal, &err), "diagonal");
    must(t->download(d, mine, diagonal, n * sizeof *mine, &err), "diagonal");
    must(lth__device_invert(&evaluation, n, U, &err), "inverse");
    expect(residual(n, U, B.there, product.here, m) <= 1e-12, "an inverse", n);
    for (size_t k = 0; k < lth__device_panels(&evaluation, n); k++) {
        lth__device_rows p = lth__device_rows_of(&evaluation, n, k);
        must(t->download_panel(d, his + p.first, 1, U + p.offset, p.ld + 1, p.count, 1, &err),
             "diagonal");
    }
    for (size_t i = 0; i < n; i++)
        expect(fabs(mine[i] - his[i]) <= 1e-12 * his[i], "the inverse's diagonal", n);
    lth__device_drop(&evaluation, A), lth__device_drop(&evaluation, U);
    lth__device_drop(&evaluation, diagonal);
    free(mine), free(his);
    drop(&G), drop(&B), drop(&product);
}

/* ---- Speed ---- */

static double seconds(void) {
    struct timespec now;
    must(t->finish(d, &err), "finish");
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void random_to(double *there, size_t count, double *here) {
    for (size_t i = 0; i < count; i++) here[i] = random_number();
    must(t->upload(d, there, here, count * sizeof *here, &err), "upload");
}

/* X X^T + c I for X of n x 64: nothing is the same twice, and it has an inverse. */
static void fill_packed(size_t n, double *A, const double *X) {
    for (size_t k = 0; k < lth__device_panels(&evaluation, n); k++) {
        lth__device_rows p = lth__device_rows_of(&evaluation, n, k);
        must(t->gemm(d, false, true, p.count, p.ld, 64, 1, X + p.first * 64, 64, X + p.first * 64,
                     64, 0, A + p.offset, p.ld, &err),
             "values");
        must(t->add_diagonal(d, p.count, A + p.offset, p.ld, 10, &err), "values");
    }
}

static void measure(size_t n) {
    enum { M = 16 };
    double *A, *X, *B, *here = malloc(64 * n * sizeof *here), time[7];
    must(lth__device_matrix(&evaluation, lth__device_packed_count(&evaluation, n), &A, &err),
         "memory");
    must(lth__device_matrix(&evaluation, 64 * n, &X, &err), "memory");
    must(lth__device_matrix(&evaluation, M * n, &B, &err), "memory");
    random_to(X, 64 * n, here);
    fill_packed(n, A, X);
    random_to(B, M * n,
              here); /* B stays here; on the device it becomes A^-1 B, then A^-1 B again */
    time[0] = seconds();
    must(lth__device_multiply(&evaluation, n, A, M, B, X, &err), "product");
    time[1] = seconds();
    must(lth__device_multiply(&evaluation, n, A, 1, B, X, &err), "product");
    time[2] = seconds();
    must(lth__device_factor(&evaluation, n, A, &err), "factor");
    time[3] = seconds();
    must(lth__device_solve(&evaluation, n, A, M, B, &err), "solve");
    time[4] = seconds();
    must(lth__device_inverse_diagonal(&evaluation, n, A, X, &err), "diagonal");
    time[5] = seconds();
    must(lth__device_invert(&evaluation, n, A, &err), "inverse");
    time[6] = seconds();
    double *solution = malloc(M * n * sizeof *solution);
    must(t->download(d, solution, B, M * n * sizeof *solution, &err), "download");
    must(t->upload(d, B, here, M * n * sizeof *here, &err), "upload");
    double off = residual(n, A, B, solution, M), cube = (double)n * (double)n * (double)n / 3e12;
    printf("%zu rows: factor %.2f s (%.1f TFLOP/s), inverse %.2f s (%.1f), its diagonal %.2f s; "
           "solve for %d %.3f s, product with %d %.3f s, with 1 %.3f s; off by %.1e\n",
           n, time[3] - time[2], cube / (time[3] - time[2]), time[6] - time[5],
           2 * cube / (time[6] - time[5]), time[5] - time[4], M, time[4] - time[3], M,
           time[1] - time[0], time[2] - time[1], off);
    expect(off <= 1e-9, "an inverse", n);
    lth__device_drop(&evaluation, A), lth__device_drop(&evaluation, X);
    lth__device_drop(&evaluation, B);
    free(here), free(solution);
}

int main(int argc, char **argv) {
    void *library = dlopen(argc > 1 ? argv[1] : "libluthier_cuda.so", RTLD_NOW);
    if (!library) return printf("%s\n", dlerror()), 1;
    union {
        void *object;
        lth__device_table_fn *get;
    } symbol = {dlsym(library, "lth__device_table_get")};
    t = symbol.get();
    if (t->open(0, &d, &err) != LTH_OK) return printf("skipped: %s\n", err.message), 0;
    static const size_t sizes[] = {1, 2, 7, 33, 100};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (size_t a = 0; a < SIZES; a++) {
        for (size_t b = 0; b < SIZES; b++) {
            for (int kind = 0; kind < 4; kind++)
                check_gemm(kind, sizes[a], sizes[b], sizes[(a + b) % SIZES], kind - 1.5, kind % 3);
            check_combine(false, sizes[a], sizes[b], -2, 0.5);
            check_combine(true, sizes[a], sizes[b], 1, 0);
            check_sides(sizes[a], sizes[b]);
            check_factor(sizes[a], sizes[b]);
        }
    }
    evaluation = (lth__device_eval){.t = t, .d = d, .eval = &no_eval};
    for (size_t n = 1; n < 60; n += 1 + n / 4) check_packed(n, 1 + n % 3);
    size_t height = t->panel_rows;
    if (height <= 64) check_packed(3 * height, 2), check_packed(3 * height + 1, 1);
    printf("%d checks, %d failures\n", checks, failures);
    for (int i = 3; i < argc && strcmp(argv[2], "--speed") == 0; i++)
        measure(strtoul(argv[i], NULL, 10));
    t->close(d);
    return failures > 0;
}
