/* The plug-in's words for parts of matrices by themselves, against plain loops: every way of
 * transposing, odd sizes, gaps between rows, and cells that must not be read or written.
 *
 *     plugin_matrix LIBRARY
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"

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
    printf("%d checks, %d failures\n", checks, failures);
    t->close(d);
    return failures > 0;
}
