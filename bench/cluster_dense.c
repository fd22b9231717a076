/* Factor and inverse of a matrix dealt out to ranks: by own tile algorithms and by ScaLAPACK, on
 * the same ranks in the same run.
 *
 *     LTH_MPI_PLUGIN=.../libluthier_mpi.so mpirun -n 4 luthier-bench-cluster N [own|both] [REPEATS]
 * [THREADS]
 *
 * ScaLAPACK is given blocks of 64, 128 and 256, and the best time of each routine counts. Memory is
 * the peak of a rank after the first own run, beside the bytes of its share of the triangle.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "engine/blas.h"
#include "model/common/cluster_tiles.h"
#include "model/common/matrix.h"

static lth_ctx *ctx;
static lth__cluster cluster;
static lth_error error;
static size_t n;

typedef struct seconds {
    double factor, invert;
    double factor_cpu, invert_cpu; /* CPU time of the rank that spent most */
} seconds;

static void check(lth_status status, const char *what) {
    if (status == LTH_OK) return;
    fprintf(stderr, "rank %u: %s: %s\n", cluster.at.rank, what, error.message);
    if (cluster.table) cluster.table->abort(1);
    exit(1);
}

/* When all are here. */
static double now(void) {
    int64_t nothing = 0;
    check(cluster.table->most(&nothing, &error), "meeting");
    return lth__seconds();
}

/* Of this process, and of the rank that spent most since. A machine with other work shows less of
 * it here than by the clock; ranks that wait give the core away and spend little. */
static double cpu_now(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static double cpu_since(double start) {
    int64_t spent = (int64_t)(1e9 * (cpu_now() - start));
    check(cluster.table->most(&spent, &error), "meeting");
    return 1e-9 * (double)spent;
}

static void keep_less(double *best, double other) {
    if (*best == 0 || other < *best) *best = other;
}

static double value(size_t i, size_t j) {
    double d = (double)i - (double)j;
    return i == j ? 1.1 : exp(-1e-3 * d * d) * 0.5;
}

static void keep_best(seconds *best, double factor, double invert) {
    keep_less(&best->factor, factor);
    keep_less(&best->invert, invert);
}

static void run_own(seconds *best) {
    lth__matrix A = lth__matrix_dealt(ctx, n);
    double log_determinant, start;
    check(A.table->reserve(&A, &error), "reserve");
    for (size_t t = 0; t < lth__tiles_own(A.tiles); t++) {
        lth__own_tile own = lth__tiles_at(A.tiles, t);
        for (size_t r = 0; r < own.rows; r++)
            for (size_t c = 0; c < own.cols; c++)
                own.cells[r * own.ld + c] = value(own.row + r, own.col + c);
    }
    start = now();
    double cpu = cpu_now();
    check(A.table->factor(&A, &log_determinant, &error), "factor");
    double factor = now() - start;
    keep_less(&best->factor_cpu, cpu_since(cpu));
    start = now();
    cpu = cpu_now();
    check(A.table->invert(&A, &error), "invert");
    keep_best(best, factor, now() - start);
    keep_less(&best->invert_cpu, cpu_since(cpu));
    lth__matrix_free(&A);
}

/* Blocks of `side` rows that a rank has, of `ranks`. */
static size_t share(size_t side, size_t rank, size_t ranks) {
    size_t blocks = (n + side - 1) / side;
    return blocks > rank ? (blocks - rank + ranks - 1) / ranks : 0;
}

static void run_scalapack(size_t side, seconds *best) {
    const lth__rank *at = &cluster.at;
    size_t rows = share(side, at->row, at->rows) * side;
    size_t columns = share(side, at->column, at->columns) * side;
    lth__dealt A = {.n = n, .side = side, .ld = rows + 1};
    A.cells = calloc((rows + 1) * (columns + 1), sizeof *A.cells);
    if (!A.cells) check(LTH_ENOMEM, "memory");
    for (size_t c = 0; c < columns; c++) {
        for (size_t r = 0; r < rows; r++) {
            size_t i = (r / side * at->rows + at->row) * side + r % side;
            size_t j = (c / side * at->columns + at->column) * side + c % side;
            if (i < n && j <= i) A.cells[c * A.ld + r] = value(i, j);
        }
    }
    double start = now();
    check(cluster.table->factor(&A, &error), "pdpotrf");
    double factor = now() - start;
    start = now();
    check(cluster.table->invert(&A, &error), "pdpotri");
    keep_best(best, factor, now() - start);
    free(A.cells);
}

static double peak_memory(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    int64_t kilobytes = usage.ru_maxrss;
    check(cluster.table->most(&kilobytes, &error), "meeting");
    return (double)kilobytes * 1024;
}

/* Both get the same BLAS kernels, and one thread. */
static void join_cluster(lth_ctx_options *options) {
    const lth__blas *blas;
    check(lth__blas_get(&blas, &error), "BLAS");
    setenv("OPENBLAS_CORETYPE", blas->core, 0);
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    options->cluster = "mpi";
    check(lth_ctx_create(options, &ctx, &error), "context");
    cluster = *ctx->cluster;
}

static void print_rates(const char *what, seconds best) {
    double cubed = (double)n * (double)n * (double)n;
    if (cluster.at.rank == 0)
        printf("%-16s factor %8.3f s (%6.2f GF/s)   inverse %8.3f s (%6.2f GF/s)\n", what,
               best.factor, cubed / 3e9 / best.factor, best.invert, 2 * cubed / 3e9 / best.invert);
}

int main(int argc, char **argv) {
    static const size_t sides[] = {64, 128, 256};
    n = argc > 1 ? (size_t)atol(argv[1]) : 3000;
    bool both = argc <= 2 || strcmp(argv[2], "own") != 0;
    int repeats = argc > 3 ? atoi(argv[3]) : 3;
    seconds own = {0}, there[3] = {{0}}, best = {0};
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    if (argc > 4) options.threads = (unsigned)atoi(argv[4]);
    join_cluster(&options);
    run_own(&own);
    double peak = peak_memory();
    for (int i = 0; i < repeats; i++) {
        if (i > 0) run_own(&own);
        for (size_t s = 0; s < 3 && both && cluster.table->factor; s++)
            run_scalapack(sides[s], &there[s]);
    }
    if (cluster.at.rank == 0)
        printf(
            "%u x %u ranks (%s), N %zu, tiles of %zu; peak of a rank %.1f MB, its share %.1f MB\n",
            cluster.at.rows, cluster.at.columns, cluster.at.name, n, lth__tiles_side(n), peak / 1e6,
            4e-6 * (double)n * (double)n / cluster.at.size);
    print_rates("own tiles", own);
    if (cluster.at.rank == 0)
        printf("%-16s factor %8.3f s                 inverse %8.3f s\n", "CPU of a rank",
               own.factor_cpu, own.invert_cpu);
    for (size_t s = 0; s < 3 && both && cluster.table->factor; s++) {
        char name[32];
        snprintf(name, sizeof name, "ScaLAPACK %zu", sides[s]);
        print_rates(name, there[s]);
        keep_best(&best, there[s].factor, there[s].invert);
    }
    if (best.factor > 0 && cluster.at.rank == 0)
        printf("own / ScaLAPACK   factor %.2fx   inverse %.2fx\n", best.factor / own.factor,
               best.invert / own.invert);
    lth_ctx_free(ctx);
    return 0;
}
