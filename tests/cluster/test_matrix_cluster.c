/* A matrix that is dealt out to ranks against one in host memory:
 *
 *     ranks -n 3 test_matrix_cluster [THREADS]      mpirun -n 3 -x LTH_MPI_PLUGIN=... the same
 *
 * Without a launcher the rank is alone. Rank 0 prints the bits of all results of each size: those
 * of any number of ranks and threads must be the same (tests/cluster/matrix_test). The first
 * mistake is told and ends all ranks with exit code 1.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "failing_allocator.h"
#include "model/common/cluster_tiles.h"
#include "model/common/matrix.h"

static lth_ctx *ctx;
static lth__cluster cluster;
static lth_error error;
static size_t n;
static uint64_t bits; /* of all results */

__attribute__((format(printf, 2, 3), noreturn)) static void fail(int line, const char *text, ...) {
    char what[512];
    va_list args;
    va_start(args, text);
    vsnprintf(what, sizeof what, text, args);
    va_end(args);
    fprintf(stderr, "test_matrix_cluster: rank %u of %u, n %zu, line %d: %s\n", cluster.at.rank,
            cluster.at.size, n, line, what);
    if (cluster.table) cluster.table->abort(1);
    exit(1);
}

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) fail(__LINE__, __VA_ARGS__);                                             \
    } while (0)

#define DO(call)                                                                                   \
    do {                                                                                           \
        lth_status status_ = call;                                                                 \
        CHECK(status_ == LTH_OK, "%s: status %d, %s", #call, (int)status_, error.message);         \
    } while (0)

static double *room(size_t count) {
    double *x = calloc(count + 1, sizeof *x);
    CHECK(x != NULL, "out of memory");
    return x;
}

/* ---- Comparing ---- */

static void add_bits(const double *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, &x[i], sizeof word);
        bits = (bits ^ word) * 0x100000001b3u;
        bits ^= bits >> 29;
    }
}

static void compare(int line, const double *x, const double *want, size_t count) {
    double largest = 1;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < count; i++) {
        if (!(fabs(x[i] - want[i]) <= 1e-12 * largest))
            fail(line, "number %zu is %.17g, not %.17g", i, x[i], want[i]);
    }
    add_bits(x, count);
}

/* A vector, which all ranks have. */
#define SAME(x, want, count) compare(__LINE__, x, want, count)

/* The lower triangle, which rank 0 gets; of `want` in host memory. */
static void compare_matrix(int line, const lth__matrix *A, const lth__matrix *want) {
    bool home = !ctx->cluster || cluster.at.rank == 0;
    lth__packed out = lth__packed_layout(n), there = lth__matrix_packed(want);
    out.cells = home ? room(lth__packed_count(n)) : NULL;
    DO(A->table->fetch(A, &out, &error));
    for (size_t i = 0; i < n && home; i++)
        compare(line, out.cells + lth__packed_row(&out, i),
                there.cells + lth__packed_row(&there, i), i + 1);
    free(out.cells);
}

#define SAME_MATRIX(A, want) compare_matrix(__LINE__, A, want)

/* Rank 0 alone has seen the matrices: the others go on with its bits. */
static void share_bits(void) {
    if (ctx->cluster) DO(cluster.table->broadcast(LTH__ALL_RANKS, 0, &bits, sizeof bits, &error));
}

static void check_alike(int line) {
    int64_t low = (int64_t)(bits >> 1), high = low;
    low = -low;
    if (!ctx->cluster) return;
    DO(cluster.table->most(&high, &error));
    DO(cluster.table->most(&low, &error));
    if (high != -low) fail(line, "ranks have different numbers");
}

/* ---- Matrices ---- */

static double *random_vector(uint64_t seed, size_t count) {
    lth__random random;
    lth__random_seed(&random, seed);
    double *x = room(count);
    for (size_t i = 0; i < count; i++) x[i] = 2 * lth__random_uniform(&random) - 1;
    return x;
}

static double kernel(const double *points, size_t i, size_t j) {
    double d = points[i] - points[j];
    return exp(-4 * d * d) + 0.3 * cos((double)i * 0.01) * cos((double)j * 0.01);
}

/* A kernel matrix, symmetric, with something on its diagonal that makes it definite. */
static double value(const double *points, double diagonal, size_t i, size_t j) {
    double k = kernel(points, i > j ? i : j, i > j ? j : i);
    return i == j ? k + diagonal : k;
}

static lth__matrix on_host(double diagonal) {
    lth__matrix A = lth__matrix_on_host(ctx, n, NULL);
    double *points = random_vector(7, n);
    DO(A.table->reserve(&A, &error));
    lth__packed p = lth__matrix_packed(&A);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            A.cells[lth__packed_row(&p, i) + j] = value(points, diagonal, i, j);
    free(points);
    return A;
}

static void fill_tiles(lth__matrix *A, double diagonal) {
    double *points = random_vector(7, n);
    for (size_t t = 0; t < lth__tiles_own(A->tiles); t++) {
        lth__own_tile own = lth__tiles_at(A->tiles, t);
        CHECK(own.cells >= A->cells && own.row >= own.col && own.row + own.rows <= n, "tile %zu",
              t);
        for (size_t r = 0; r < own.rows; r++)
            for (size_t c = 0; c < own.cols; c++)
                own.cells[r * own.ld + c] = own.row + r < own.col + c
                                                ? (double)NAN /* nobody may use it */
                                                : value(points, diagonal, own.row + r, own.col + c);
    }
    lth__tiles_changed(A->tiles);
    free(points);
}

static lth__matrix dealt(double diagonal) {
    lth__matrix A = lth__matrix_dealt(ctx, n);
    DO(A.table->reserve(&A, &error));
    fill_tiles(&A, diagonal);
    return A;
}

/* Each tile of the lower triangle that is this rank's comes once, in the order of columns. */
static void check_layout(const lth__tiles *T) {
    size_t own = 0;
    for (size_t j = 0; j < T->count; j++) {
        for (size_t i = j; i < T->count; i++) {
            if (!lth__tiles_mine(T, i, j)) continue;
            CHECK(own < lth__tiles_own(T), "a tile is missing");
            lth__own_tile tile = lth__tiles_at(T, own++);
            CHECK(tile.row == i * T->side && tile.col == j * T->side, "tile %zu is another", own);
            CHECK(tile.cells == lth__tiles_cells(T, i, j), "tile %zu is elsewhere", own);
            CHECK(tile.row + tile.rows <= n && tile.rows > 0 && tile.cols > 0, "no tile %zu", own);
        }
    }
    CHECK(own == lth__tiles_own(T), "%zu tiles, not %zu", lth__tiles_own(T), own);
}

/* ---- Cell by cell ---- */

static void check_cells(void) {
    lth__matrix A = dealt(2), B = on_host(2);
    check_layout(A.tiles);
    double *w = random_vector(3, n), *x = room(n), *y = room(n), a, b;
    SAME_MATRIX(&A, &B);
    DO(A.table->diagonal(&A, x, &error));
    DO(B.table->diagonal(&B, y, &error));
    SAME(x, y, n);
    DO(A.table->affine(&A, 1.5, 0.25, &error));
    DO(B.table->affine(&B, 1.5, 0.25, &error));
    DO(A.table->add_diagonal(&A, 0.125, &error));
    DO(B.table->add_diagonal(&B, 0.125, &error));
    SAME_MATRIX(&A, &B);
    DO(lth__matrix_trace(&A, &a, &error));
    DO(lth__matrix_trace(&B, &b, &error));
    SAME(&a, &b, 1);
    lth__matrix C = lth__matrix_dealt(ctx, n), D = lth__matrix_on_host(ctx, n, NULL);
    DO(A.table->sandwich(&A, w, &C, &error));
    DO(B.table->sandwich(&B, w, &D, &error));
    SAME_MATRIX(&C, &D);
    DO(A.table->scale(&A, w, &error));
    DO(B.table->scale(&B, w, &error));
    SAME_MATRIX(&A, &B);
    DO(A.table->inner(&A, &C, 0.75, &a, &error));
    DO(B.table->inner(&B, &D, 0.75, &b, &error));
    SAME(&a, &b, 1);
    DO(A.table->fill(&A, 3, &error));
    DO(B.table->fill(&B, 3, &error));
    SAME_MATRIX(&A, &B);
    lth__matrix_free(&D);
    lth__matrix_free(&C);
    lth__matrix_free(&B);
    lth__matrix_free(&A);
    free(w);
    free(x);
    free(y);
}

static void check_weights(void) {
    lth__matrix A = dealt(2), B = on_host(2), C = dealt(1), D = on_host(1);
    double *v = random_vector(5, 5 * n);
    DO(A.table->weigh(&A, 3, v, &error));
    DO(B.table->weigh(&B, 3, v, &error));
    SAME_MATRIX(&A, &B);
    DO(A.table->add_weights(&A, &C, v, v + n, v + 2 * n, &error));
    DO(B.table->add_weights(&B, &D, v, v + n, v + 2 * n, &error));
    SAME_MATRIX(&A, &B);
    lth__matrix_free(&D);
    lth__matrix_free(&C);
    lth__matrix_free(&B);
    lth__matrix_free(&A);
    free(v);
}

/* ---- Products ---- */

static void check_products(void) {
    lth__matrix A = dealt(2), B = on_host(2);
    for (size_t m = 1; m <= 5; m += 2) {
        double *X = random_vector(m, n * m), *Y = room(n * m), *Z = room(n * m);
        for (size_t i = 0; i < n; i++) X[i * m] *= 1e-3; /* columns of their own sizes */
        DO(A.table->multiply(&A, m, X, Y, &error));
        DO(B.table->multiply(&B, m, X, Z, &error));
        SAME(Y, Z, n * m);
        DO(A.table->multiply_roughly(&A, m, X, Z, &error));
        CHECK(memcmp(Y, Z, n * m * sizeof *Y) == 0, "the same product has other bits");
        memset(X, 0, n * m * sizeof *X);
        DO(A.table->multiply(&A, m, X, Y, &error));
        SAME(Y, X, n * m);
        free(X);
        free(Y);
        free(Z);
    }
    size_t at[3] = {0, n / 2, n - 1};
    double *Y = room(3 * n), *Z = room(3 * n);
    DO(A.table->columns(&A, 3, at, Y, &error));
    DO(B.table->columns(&B, 3, at, Z, &error));
    CHECK(memcmp(Y, Z, 3 * n * sizeof *Y) == 0, "columns");
    /* What was known of the matrix does not outlive a change. */
    double *X = random_vector(9, n);
    DO(A.table->affine(&A, 1e9, 0, &error));
    DO(B.table->affine(&B, 1e9, 0, &error));
    DO(A.table->multiply(&A, 1, X, Y, &error));
    DO(B.table->multiply(&B, 1, X, Z, &error));
    SAME(Y, Z, n);
    X[n - 1] = NAN;
    DO(A.table->multiply(&A, 1, X, Y, &error));
    CHECK(isnan(Y[0]) && isnan(Y[n - 1]), "NaN is lost");
    lth__matrix_free(&B);
    lth__matrix_free(&A);
    free(X);
    free(Y);
    free(Z);
}

/* ---- Factors ---- */

static void check_factor(void) {
    lth__matrix A = dealt(2), B = on_host(2);
    double a, b, *x = room(n), *y = room(n);
    DO(A.table->factor(&A, &a, &error));
    DO(B.table->factor(&B, &b, &error));
    SAME(&a, &b, 1);
    SAME_MATRIX(&A, &B);
    for (size_t m = 1; m <= 4; m += 3) {
        double *X = random_vector(m, n * m), *Y = random_vector(m, n * m);
        DO(A.table->solve(&A, m, X, &error));
        DO(B.table->solve(&B, m, Y, &error));
        SAME(X, Y, n * m);
        free(X);
        free(Y);
    }
    DO(A.table->inverse_diagonal(&A, x, &error));
    DO(B.table->inverse_diagonal(&B, y, &error));
    SAME(x, y, n);
    SAME_MATRIX(&A, &B);
    DO(A.table->invert(&A, &error));
    DO(B.table->invert(&B, &error));
    SAME_MATRIX(&A, &B);
    DO(A.table->diagonal(&A, y, &error));
    SAME(x, y, n);
    double *cells;
    DO(lth__matrix_take(&A, &cells, &error));
    CHECK((cells == NULL) == (ctx->cluster && cluster.at.rank > 0) && A.cells == NULL, "take");
    lth__free(cells);
    lth__matrix_free(&B);
    lth__matrix_free(&A);
    free(x);
    free(y);
}

/* ---- What has no factor ---- */

static void check_failure(size_t row, double pivot) {
    lth__matrix A = dealt(2);
    double log_determinant = 5, *x = room(n), *y = random_vector(11, n);
    for (size_t t = 0; t < lth__tiles_own(A.tiles); t++) {
        lth__own_tile own = lth__tiles_at(A.tiles, t);
        if (own.row == own.col && row >= own.row && row < own.row + own.rows)
            own.cells[(row - own.row) * (own.ld + 1)] = pivot;
    }
    lth_status status = A.table->factor(&A, &log_determinant, &error);
    CHECK(status == LTH_ENUMERIC && log_determinant == 5, "status %d with %g in row %zu",
          (int)status, pivot, row);
    DO(A.table->reserve(&A, &error)); /* and all ranks are there for the next one */
    fill_tiles(&A, 2);
    DO(A.table->factor(&A, &log_determinant, &error));
    lth__matrix_free(&A);
    free(x);
    free(y);
}

static void check_failures(void) {
    check_failure(0, -1);
    check_failure(n - 1, -1);
    check_failure(n / 2, NAN);
    check_failure(0, NAN);
}

static void check_scalapack(void) {
    lth__matrix A = dealt(2), B = on_host(2);
    double a = 0, b;
    A.by_scalapack = true;
    lth_status status = A.table->factor(&A, &a, &error);
    if (ctx->cluster && cluster.table->factor) {
        uint64_t before = bits; /* its bits depend on the ranks */
        CHECK(status == LTH_OK, "ScaLAPACK: %s", error.message);
        DO(B.table->factor(&B, &b, &error));
        SAME(&a, &b, 1);
        SAME_MATRIX(&A, &B);
        DO(A.table->invert(&A, &error));
        DO(B.table->invert(&B, &error));
        SAME_MATRIX(&A, &B);
        bits = before;
    } else {
        CHECK(status == LTH_EUNSUPPORTED && strstr(error.message, "ScaLAPACK"), "status %d",
              (int)status);
    }
    lth__matrix_free(&B);
    lth__matrix_free(&A);
}

/* ---- When one rank cannot go on ---- */

/* Everything that allocates, or can be cancelled. */
static lth_status use_all(void) {
    lth__matrix A = lth__matrix_dealt(ctx, n);
    double *x = room(6 * n), number, *cells = NULL;
    lth_status status = A.table->reserve(&A, &error);
    if (status == LTH_OK) {
        fill_tiles(&A, 2);
        status = A.table->multiply(&A, 3, x, x + 3 * n, &error);
    }
    if (status == LTH_OK) status = A.table->inner(&A, &A, 0, &number, &error);
    if (status == LTH_OK) status = A.table->factor(&A, &number, &error);
    if (status == LTH_OK) status = A.table->solve(&A, 3, x, &error);
    if (status == LTH_OK) status = A.table->inverse_diagonal(&A, x, &error);
    if (status == LTH_OK) status = A.table->invert(&A, &error);
    if (status == LTH_OK) status = lth__matrix_take(&A, &cells, &error);
    lth__free(cells);
    lth__matrix_free(&A);
    free(x);
    return status;
}

/* The k-th allocation of the last rank, for one k after the other: all ranks leave together. */
static void check_memory(void) {
    unsigned last = ctx->cluster ? cluster.at.size - 1 : 0;
    int64_t reached = 1, refused = 0;
    for (size_t k = 1; reached; k++) {
        calls = 0;
        fail_at = cluster.at.rank == last ? k : 0;
        lth_status status = use_all();
        reached = fail_at > 0 && calls >= fail_at;
        fail_at = 0;
        if (ctx->cluster) DO(cluster.table->most(&reached, &error));
        CHECK(status == (reached ? LTH_ENOMEM : LTH_OK), "allocation %zu: status %d", k,
              (int)status);
        refused += reached;
    }
    CHECK(refused > 12, "%d allocations", (int)refused);
}

static lth_status use_places(void *user, lth_error *err) {
    (void)user;
    error = (lth_error){0};
    lth_status status = use_all();
    *err = error;
    return status;
}

/* Whatever a rank meets in any place: of one that is alone, as others would wait for it. */
static void check_places(void) {
    if (!ctx->cluster) fail_each(use_places, NULL, true, 20);
}

static int cancel(void *user, const char *what, double done, double total) {
    (void)user, (void)what, (void)done, (void)total;
    return 1;
}

/* The caller of one rank. */
static void check_cancelling(void) {
    lth_status status = LTH_OK;
    if (!ctx->cluster || cluster.at.rank == cluster.at.size - 1) ctx->options.progress = cancel;
    for (int i = 0; i < 1000 && status == LTH_OK; i++) status = use_all();
    ctx->options.progress = NULL;
    CHECK(status == LTH_ECANCELED, "status %d", (int)status);
    DO(use_all());
}

/* What waits for others, one after the other: false when there are no more. */
static bool use_one(lth__matrix *A, size_t which, double *x, lth_status *status) {
    const lth__matrix_table *t = A->table;
    lth__matrix B = lth__matrix_dealt(ctx, n);
    lth__packed out = lth__packed_layout(n);
    size_t at = 0;
    switch (which) {
    case 0: *status = t->reserve(&B, &error); break;
    case 1: *status = t->fetch(A, &out, &error); break;
    case 2: *status = t->diagonal(A, x, &error); break;
    case 3: *status = t->multiply(A, 1, x, x + n, &error); break;
    case 4: *status = t->columns(A, 1, &at, x, &error); break;
    case 5: *status = t->inner(A, A, 0, x, &error); break;
    case 6: *status = t->factor(A, x, &error); break;
    case 7: *status = t->solve(A, 1, x, &error); break;
    case 8: *status = t->inverse_diagonal(A, x, &error); break;
    case 9: *status = t->invert(A, &error); break;
    default: return false;
    }
    lth__matrix_free(&B);
    return true;
}

/* The last rank goes, and the others hear why, whatever they are about to do. */
static void check_leaving(void) {
    if (!ctx->cluster || cluster.at.size == 1) return;
    lth__matrix A = dealt(2);
    lth_error why = {.status = LTH_EIO, .message = "the disk is full"};
    lth_status status = LTH_OK;
    double *x = room(2 * n);
    for (size_t which = 0;; which++) {
        bool leaves = cluster.at.rank == cluster.at.size - 1;
        if (leaves && which < 10) lth__cluster_leave(&cluster, &why, NULL);
        if (leaves ? which == 10 : !use_one(&A, which, x, &status)) break;
        CHECK(leaves || (status == LTH_EIO && strcmp(error.message, why.message) == 0),
              "use %zu: status %d", which, (int)status);
        lth__cluster_return();
    }
    lth__matrix_free(&A);
    free(x);
}

static void check_size(size_t size) {
    n = size;
    bits = 0xcbf29ce484222325u;
    void (*const checks[])(void) = {check_cells,  check_weights,  check_products,
                                    check_factor, check_failures, check_scalapack};
    for (size_t k = 0; k < sizeof checks / sizeof *checks; k++) {
        checks[k]();
        share_bits();
    }
    check_alike(__LINE__);
    if (!ctx->cluster || cluster.at.rank == 0)
        printf("%zu: %016llx\n", n, (unsigned long long)bits);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {1, 40, 64, 65, 130, 517};
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    if (getenv("LTH_MPI_PLUGIN")) options.cluster = "mpi";
    DO(lth_ctx_create(&options, &ctx, &error));
    if (ctx->cluster) cluster = *ctx->cluster;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) check_size(sizes[k]);
    n = 200;
    check_memory();
    check_places();
    check_cancelling();
    check_leaving();
    lth_ctx_free(ctx);
    return 0;
}
