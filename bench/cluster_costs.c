/* What bench/cluster_growth reckons with, measured on the ranks that this was started as, as JSON:
 *
 *     LTH_MPI_PLUGIN=.../libluthier_mpi.so mpirun -n 2 luthier-bench-costs > costs.json
 *
 * Seconds of one core for each kind of call on a tile, and for a cell of a product (CPU time, of
 * rank 0); seconds of messages between the ranks by their bytes (when the last one has it). The
 * best of many: the machine may have other work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "engine/blas.h"
#include "engine/cluster.h"
#include "model/common/matrix.h"
#include "model/common/product.h"

enum { TIMES = 15, MOST_SIDE = 1024, RING = 16, PRODUCT_ROWS = 6000, COLUMNS = 16 };

static const lth__cluster_table *table;
static lth__rank at;
static lth_ctx *ctx;
static lth_error error;

static void check(lth_status status, const char *what) {
    if (status == LTH_OK) return;
    fprintf(stderr, "rank %u: %s: %s\n", at.rank, what, error.message);
    if (table) table->abort(1);
    exit(1);
}

static double *numbers(size_t count) {
    double *x = malloc(count * sizeof *x);
    if (!x) check(LTH_ENOMEM, "memory");
    for (size_t i = 0; i < count; i++) x[i] = 1e-3 * (double)(i % 997);
    return x;
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Tiles ---- */

typedef struct work {
    const lth__blas *blas;
    double *A, *B, *C; /* C: a ring of tiles, larger than a cache */
    double *L;         /* a tile that is a factor                 */
    size_t side, ring, next;
} work;

static double *next_tile(work *w) {
    w->next = (w->next + 1) % w->ring;
    return w->C + w->next * w->side * w->side;
}

static void product_nt(work *w) {
    size_t s = w->side;
    w->blas->gemm_nt(s, s, s, -1, w->A, s, w->B, s, 1, next_tile(w), s);
}

static void product_nn(work *w) {
    size_t s = w->side;
    w->blas->gemm_nn(s, s, s, -1, w->A, s, w->B, s, 1, next_tile(w), s);
}

static void product_tn(work *w) {
    size_t s = w->side;
    w->blas->gemm_tn(s, s, s, 1, w->A, s, w->B, s, 1, next_tile(w), s);
}

static void solve_right(work *w) {
    w->blas->solve_right(w->side, w->side, w->L, w->side, next_tile(w), w->side);
}

static void solve(work *w) {
    w->blas->solve(w->side, w->side, w->L, w->side, next_tile(w), w->side);
}

static void cholesky(work *w) {
    double *A = next_tile(w);
    for (size_t i = 0; i < w->side * w->side; i++) A[i] = i % (w->side + 1) == 0 ? 2 : 1e-4;
    w->blas->cholesky(w->side, A, w->side);
}

static void copy(work *w) {
    memcpy(next_tile(w), w->A, w->side * w->side * sizeof *w->A);
}

/* Several calls at a time: the clock has its own grain. */
static double best_of(void (*call)(work *w), work *w) {
    double best = 1e9;
    int calls = 1 + (int)(1e6 / (double)(w->side * w->side));
    for (int t = 0; t < TIMES; t++) {
        double start = cpu_seconds();
        for (int i = 0; i < calls; i++) call(w);
        double one = (cpu_seconds() - start) / calls;
        if (one < best) best = one;
    }
    return best;
}

static void print_tiles(const lth__blas *blas) {
    static const struct {
        const char *name;
        void (*call)(work *w);
    } kinds[] = {{"nt", product_nt},     {"nn", product_nn}, {"tn", product_tn},
                 {"right", solve_right}, {"solve", solve},   {"cholesky", cholesky},
                 {"copy", copy}};
    size_t most = (size_t)MOST_SIDE * MOST_SIDE, count = sizeof kinds / sizeof *kinds;
    work w = {.blas = blas, .A = numbers(most), .B = numbers(most), .C = numbers(RING * most)};
    w.L = numbers(most);
    printf("  \"tiles\": {\n");
    for (size_t side = 64; side <= MOST_SIDE; side *= 2) {
        w.side = side;
        w.ring = RING * most / (side * side);
        for (size_t i = 0; i < side * side; i++) w.L[i] = i % (side + 1) == 0 ? 1 : 1e-4;
        printf("    \"%zu\": {", side);
        for (size_t k = 0; k < count; k++)
            printf("\"%s\": %.3g%s", kinds[k].name, best_of(kinds[k].call, &w),
                   k + 1 < count      ? ", "
                   : side < MOST_SIDE ? "},\n"
                                      : "}\n  },\n");
    }
    free(w.A), free(w.B), free(w.C), free(w.L);
}

/* ---- A product of a packed matrix in single precision ---- */

static void print_product(void) {
    lth__matrix A = lth__matrix_store(ctx, PRODUCT_ROWS, LTH_F32);
    double *X = numbers(PRODUCT_ROWS * COLUMNS), *Y = numbers(PRODUCT_ROWS * COLUMNS);
    check(A.table->reserve(&A, &error), "reserve");
    size_t cells = lth__matrix_store_bytes(PRODUCT_ROWS, LTH_F32) / sizeof *A.singles;
    for (size_t i = 0; i < cells; i++) A.singles[i] = 1e-3f * (float)(i % 997);
    printf("  \"product\": {");
    for (size_t m = 1; m <= COLUMNS; m *= COLUMNS) {
        double best = 1e9;
        for (int t = 0; t < TIMES; t++) {
            double start = cpu_seconds();
            check(lth__packed_multiply_roughly(&A, m, X, Y, &error), "product");
            double one = (cpu_seconds() - start) / (double)cells;
            if (one < best) best = one;
        }
        printf("\"%zu\": %.3g%s", m, best, m == 1 ? ", " : "},\n");
    }
    lth__matrix_free(&A);
    free(X), free(Y);
}

/* ---- Messages ---- */

static void broadcast(double *x, size_t size) {
    check(table->broadcast(LTH__ALL_RANKS, 0, x, size, &error), "broadcast");
}

static void begin_and_wait(double *x, size_t size) {
    lth__transfer *t;
    check(table->begin(LTH__ALL_RANKS, 0, x, size, &t, &error), "begin");
    check(table->wait(t, &error), "wait");
}

static void join(double *x, size_t size) {
    memset(x, 0, size);
    check(table->join((uint64_t *)(void *)x, size / sizeof *x, &error), "join");
}

static void send(double *x, size_t size) {
    if (at.rank == 0) check(table->send(1, x, size, &error), "send");
    if (at.rank == 1) check(table->receive(0, x, size, &error), "receive");
}

/* From when all are there until the last one has it; meeting takes as long as that of nobody late.
 */
static double message_seconds(void (*call)(double *x, size_t size), double *x, size_t size) {
    double best = 1e9;
    for (int t = 0; t < 4 * TIMES; t++) {
        int64_t nothing = 0;
        check(table->most(&nothing, &error), "meeting");
        double start = lth__seconds();
        call(x, size);
        int64_t took = (int64_t)(1e9 * (lth__seconds() - start));
        check(table->most(&took, &error), "meeting");
        if (1e-9 * (double)took < best) best = 1e-9 * (double)took;
    }
    return best;
}

static void print_messages(void) {
    static const struct {
        const char *name;
        void (*call)(double *x, size_t size);
    } kinds[] = {
        {"broadcast", broadcast}, {"begin", begin_and_wait}, {"join", join}, {"send", send}};
    static const size_t sizes[] = {8, 1 << 12, 1 << 17, 1 << 19, 1 << 21, 1 << 23};
    double *x = numbers(sizes[5] / sizeof *x);
    bool tells = at.rank == 0;
    if (tells) printf("  \"messages\": {\"ranks\": %u", at.size);
    for (size_t k = 0; k < 4 && at.size > 1; k++) {
        if (tells) printf(",\n    \"%s\": {", kinds[k].name);
        for (size_t s = 0; s < 6; s++) {
            double seconds = message_seconds(kinds[k].call, x, sizes[s]);
            if (tells) printf("\"%zu\": %.3g%s", sizes[s], seconds, s < 5 ? ", " : "}");
        }
    }
    if (tells) printf("}\n");
    free(x);
}

/* ---- All ---- */

int main(void) {
    const lth__blas *blas;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 1;
    options.cluster = "mpi";
    check(lth_ctx_create(&options, &ctx, &error), "context");
    check(lth__blas_get(&blas, &error), "BLAS");
    table = ctx->cluster->table;
    at = ctx->cluster->at;
    if (at.rank == 0) {
        printf("{\n");
        print_tiles(blas);
        print_product();
    }
    print_messages();
    if (at.rank == 0) printf("}\n");
    lth_ctx_free(ctx);
    return 0;
}
