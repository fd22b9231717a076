/* Checks every function of a cluster's table, whatever its ranks are made of:
 *
 *     mpirun -n 3 cluster_conformance libluthier_mpi.so      ranks -n 3 cluster_conformance ...
 *
 * The first mistake is told and ends all ranks with exit code 1. With --abort after the library,
 * the last rank ends all others, which wait for it, with exit code 7.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cluster.h"

static const lth__cluster_table *table;
static lth__rank at;
static lth_error error;

__attribute__((format(printf, 2, 3), noreturn)) static void fail(int line, const char *text, ...) {
    char what[512];
    va_list args;
    va_start(args, text);
    vsnprintf(what, sizeof what, text, args);
    va_end(args);
    fprintf(stderr, "cluster_conformance: rank %u of %u, line %d: %s\n", at.rank, at.size, line,
            what);
    table->abort(1);
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

static void *get(size_t bytes) {
    void *memory = calloc(bytes + 1, 1);
    CHECK(memory != NULL, "out of memory");
    return memory;
}

/* ---- Who this is ---- */

static void check_rank(void) {
    CHECK(at.rank < at.size, "rank %u of %u", at.rank, at.size);
    CHECK(at.local < at.neighbours && at.neighbours <= at.size, "local rank");
    CHECK(at.rows * at.columns == at.size && at.rows <= at.columns, "grid %u x %u", at.rows,
          at.columns);
    for (unsigned r = at.rows + 1; r * r <= at.size; r++) {
        CHECK(at.size % r != 0, "%u x %u is not as square as can be", at.rows, at.columns);
    }
    CHECK(at.row == at.rank / at.columns && at.column == at.rank % at.columns, "place in the grid");
    CHECK(at.name[0] != '\0' && strpbrk(at.name, "\n\t,") == NULL, "name \"%s\"", at.name);
}

static void check_start(void) {
    lth__rank again;
    DO(table->start(&at, &error));
    check_rank();
    DO(table->start(&again, &error));
    CHECK(again.rank == at.rank && again.size == at.size && strcmp(again.name, at.name) == 0,
          "the second start says something else");
    table->finish();
}

/* ---- Bytes ---- */

/* Where this rank is in a group, how many there are, and what to call the group. */
typedef struct place {
    unsigned member, members, number;
} place;

static place place_in(lth__group group) {
    if (group == LTH__GRID_ROW) return (place){at.column, at.columns, 100 + at.row};
    if (group == LTH__GRID_COLUMN) return (place){at.row, at.rows, 200 + at.column};
    return (place){at.rank, at.size, 0};
}

static unsigned char byte_at(unsigned group, unsigned root, size_t i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u + group * 0xbf58476d1ce4e5b9u + root * 0x94d049bbu;
    return (unsigned char)(x >> 56);
}

/* `size` bytes and a guard: those of the root, or others. */
static unsigned char *fill(place p, unsigned root, size_t size) {
    unsigned char *bytes = get(size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = p.member == root ? byte_at(p.number, root, i) : 0x55;
    }
    bytes[size] = 0xab;
    return bytes;
}

static void check_filled(const unsigned char *bytes, place p, unsigned root, size_t size) {
    for (size_t i = 0; i < size; i++) {
        CHECK(bytes[i] == byte_at(p.number, root, i), "group %u, root %u: byte %zu of %zu is wrong",
              p.number, root, i, size);
    }
    CHECK(bytes[size] == 0xab, "more than %zu bytes were written", size);
}

static const size_t sizes[] = {0, 1, 7, 4096, 65537, 3000017};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void check_broadcast(void) {
    for (lth__group group = LTH__ALL_RANKS; group < LTH__GROUPS; group++) {
        place p = place_in(group);
        for (unsigned root = 0; root < p.members; root++) {
            for (size_t s = 0; s < SIZES; s++) {
                unsigned char *bytes = fill(p, root, sizes[s]);
                DO(table->broadcast(group, root, bytes, sizes[s], &error));
                check_filled(bytes, p, root, sizes[s]);
                free(bytes);
            }
        }
    }
}

/* One of each group and size, all under way at once, and others overtake them. */
static void check_begin(void) {
    enum { COUNT = LTH__GROUPS * SIZES };
    lth__transfer *transfers[COUNT] = {0};
    unsigned char *bytes[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        lth__group group = (lth__group)(i % LTH__GROUPS);
        place p = place_in(group);
        bytes[i] = fill(p, i % p.members, sizes[i / LTH__GROUPS]);
        DO(table->begin(group, i % p.members, bytes[i], sizes[i / LTH__GROUPS], &transfers[i],
                        &error));
    }
    uint64_t word = (uint64_t)1 << at.rank % 64;
    DO(table->join(&word, 1, &error));
    for (unsigned i = COUNT; i-- > 0;) {
        place p = place_in((lth__group)(i % LTH__GROUPS));
        DO(table->wait(transfers[i], &error));
        check_filled(bytes[i], p, i % p.members, sizes[i / LTH__GROUPS]);
        free(bytes[i]);
    }
}

/* From each rank to each other one. */
static void check_send(void) {
    for (unsigned from = 0; from < at.size; from++) {
        for (unsigned to = 0; to < at.size; to++) {
            if (from == to || (at.rank != from && at.rank != to)) continue;
            for (size_t s = 0; s < SIZES; s++) {
                place p = {at.rank, 0, 300 + to};
                unsigned char *bytes = fill(p, from, sizes[s]);
                if (at.rank == from) {
                    DO(table->send(to, bytes, sizes[s], &error));
                } else {
                    DO(table->receive(from, bytes, sizes[s], &error));
                }
                check_filled(bytes, p, from, sizes[s]);
                free(bytes);
            }
        }
    }
}

/* ---- Numbers ---- */

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* What the i-th word must become: numbers of all kinds, with every bit of theirs. */
static uint64_t word_at(size_t i) {
    const uint64_t special[] = {bits_of(-0.0),
                                bits_of(0.0),
                                bits_of(INFINITY),
                                bits_of(NAN),
                                0xfff8dead0beef1,
                                0x7ff0000000000001,
                                1,
                                bits_of(-1e-310),
                                UINT64_MAX};
    enum { SPECIAL = sizeof special / sizeof *special };
    return i % 16 < SPECIAL ? special[i % 16] : bits_of(sin((double)i) * 1e10);
}

static void check_join(size_t count) {
    uint64_t *words = get(count * sizeof *words);
    for (size_t i = 0; i < count; i++) words[i] = i % at.size == at.rank ? word_at(i) : 0;
    DO(table->join(words, count, &error));
    for (size_t i = 0; i < count; i++) {
        CHECK(words[i] == word_at(i), "word %zu of %zu is %016llx, not %016llx", i, count,
              (unsigned long long)words[i], (unsigned long long)word_at(i));
    }
    free(words);
    uint64_t ranks = (uint64_t)1 << at.rank % 64;
    DO(table->join(&ranks, 1, &error));
    if (at.size <= 64) CHECK(ranks == UINT64_MAX >> (64 - at.size), "ranks are not 0, 1, 2 ...");
}

static void check_most(void) {
    int64_t value = -10 - (int64_t)at.rank;
    DO(table->most(&value, &error));
    CHECK(value == -10, "the largest of negative values is %lld", (long long)value);
    value = at.rank == at.size / 2 ? INT64_MAX : INT64_MIN;
    DO(table->most(&value, &error));
    CHECK(value == INT64_MAX, "the largest value is %lld", (long long)value);
}

/* The numbers that a rank got have its bit; in the end each has just one. */
static void check_counter(void) {
    enum { NUMBERS = 300 };
    uint64_t taken[NUMBERS] = {0}, number = 0;
    DO(table->restart(&error));
    for (;;) {
        uint64_t before = number;
        DO(table->next(&number, &error));
        CHECK(number >= before, "the counter falls");
        if (number >= NUMBERS) break;
        CHECK(taken[number] == 0, "number %llu came twice", (unsigned long long)number);
        taken[number] = (uint64_t)1 << at.rank % 64;
    }
    CHECK(number < NUMBERS + at.size, "the counter jumped to %llu", (unsigned long long)number);
    DO(table->join(taken, NUMBERS, &error));
    for (size_t i = 0; i < NUMBERS; i++) {
        CHECK(__builtin_popcountll(taken[i]) == 1, "number %zu went to %d ranks", i,
              __builtin_popcountll(taken[i]));
    }
    DO(table->restart(&error));
    if (at.rank == at.size - 1) {
        DO(table->next(&number, &error));
        CHECK(number == 0, "the counter starts at %llu", (unsigned long long)number);
    }
}

/* ---- ScaLAPACK ---- */

/* Of a matrix that is positive definite. */
static double cell_of(size_t n, size_t i, size_t j) {
    double d = (double)i - (double)j;
    return exp(-d * d / (double)n) + cos((double)(i + j)) + (i == j ? (double)n : 0);
}

/* The lower triangle of A becomes its factor, then that of the inverse of A: by definition. */
static void factor_here(size_t n, double *A) {
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++) {
            double sum = A[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = i == j ? sqrt(sum) : sum / A[j * n + j];
        }
    }
}

static void invert_here(size_t n, double *L) {
    double *X = get(n * n * sizeof *X);
    for (size_t c = 0; c < n; c++) {
        for (size_t i = c; i < n; i++) {
            double sum = i == c ? 1 : 0;
            for (size_t k = c; k < i; k++) sum -= L[i * n + k] * X[k * n + c];
            X[i * n + c] = sum / L[i * n + i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = i; k < n; k++) sum += X[k * n + i] * X[k * n + j];
            L[i * n + j] = sum;
        }
    }
    free(X);
}

/* Calls f for the cells of the lower triangle that are this rank's. */
typedef void cell_fn(double *cell, size_t i, size_t j, const void *of);

static void for_cells(const lth__dealt *A, cell_fn *f, const void *of) {
    for (size_t j = 0; j < A->n; j++) {
        size_t J = j / A->side, c = J / at.columns * A->side + j % A->side;
        for (size_t i = j; i < A->n; i++) {
            size_t I = i / A->side, r = I / at.rows * A->side + i % A->side;
            if (I % at.rows != at.row || J % at.columns != at.column) continue;
            f(&A->cells[c * A->ld + r], i, j, of);
        }
    }
}

typedef struct expected {
    size_t n;
    double *cells;
} expected;

static void put_cell(double *cell, size_t i, size_t j, const void *of) {
    const expected *e = of;
    *cell = e->cells[i * e->n + j];
}

static void compare_cell(double *cell, size_t i, size_t j, const void *of) {
    const expected *e = of;
    double should = e->cells[i * e->n + j];
    CHECK(fabs(*cell - should) <= 1e-10 * (1 + fabs(should)), "cell %zu, %zu of %zu is %g, not %g",
          i, j, e->n, *cell, should);
}

static void check_dense(size_t n, size_t side, size_t gap) {
    expected e = {n, get(n * n * sizeof(double))};
    lth__dealt A = {n, side, n + gap, get((n + gap) * (n + side) * sizeof(double))};
    for (size_t i = 0; i < n * n; i++) e.cells[i] = cell_of(n, i / n, i % n);
    for_cells(&A, put_cell, &e);
    DO(table->factor(&A, &error));
    factor_here(n, e.cells);
    for_cells(&A, compare_cell, &e);
    DO(table->invert(&A, &error));
    invert_here(n, e.cells);
    for_cells(&A, compare_cell, &e);

    /* not positive definite: all hear it, and can go on */
    for (size_t i = 0; i < n * n; i++) e.cells[i] = cell_of(n, i / n, i % n);
    e.cells[(n / 2) * n + n / 2] = -1;
    for_cells(&A, put_cell, &e);
    lth_status status = table->factor(&A, &error);
    CHECK(status == LTH_ENUMERIC, "status of what is not positive definite: %d", (int)status);
    free(A.cells);
    free(e.cells);
}

static bool check_scalapack(void) {
    CHECK((table->factor != NULL) == (table->invert != NULL), "half of ScaLAPACK");
    if (table->factor == NULL) return false;
    check_dense(1, 4, 0);
    check_dense(5, 4, 3);
    check_dense(64, 8, 0);
    check_dense(101, 16, 1);
    return true;
}

/* ---- All of it ---- */

static void load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    lth__cluster_table_fn *table_get = NULL;
    if (library != NULL) {
        void *found = dlsym(library, "lth__cluster_table_get");
        memcpy(&table_get, &found, sizeof table_get);
    }
    if (table_get == NULL) {
        fprintf(stderr, "cluster_conformance: %s\n", dlerror());
        exit(2);
    }
    table = table_get();
    CHECK(table->version == LTH__CLUSTER_VERSION, "version %u", table->version);
}

static void abort_all(void) {
    char byte = 0;
    if (at.rank == at.size - 1) table->abort(7);
    DO(table->broadcast(LTH__ALL_RANKS, at.size - 1, &byte, 1, &error));
    CHECK(false, "still here after the end");
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: cluster_conformance LIBRARY [--abort]\n");
        return 2;
    }
    load(argv[1]);
    check_start();
    if (argc > 2 && strcmp(argv[2], "--abort") == 0) abort_all();
    check_broadcast();
    check_begin();
    check_send();
    check_join(0);
    check_join(37);
    check_join(300007);
    check_most();
    check_counter();
    bool dense = check_scalapack();
    table->finish();
    /* one cluster after the other */
    check_start();
    check_join(100);
    check_counter();
    if (at.rank == 0) {
        printf("%s: %u ranks, grid %u x %u, %s ScaLAPACK: all is well\n", at.name, at.size, at.rows,
               at.columns, dense ? "with" : "without");
    }
    table->finish();
    return 0;
}
