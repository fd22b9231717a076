/* What ranks tell each other: that one has failed, and why; that one has left; bytes, numbers,
 * sums. Run by tests/cluster/ranks_test as any number of ranks. The first prints what must not
 * depend on how many they are; a mistake is told, and the exit status is 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/file.h"
#include "engine/cluster_sum.h"

static lth_ctx *ctx;
static lth__cluster *c;
static unsigned rank, size;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (condition) break;                                                                      \
        fprintf(stderr, "rank %u of %u, line %d: %s\n", rank, size, __LINE__, #condition);         \
        exit(1);                                                                                   \
    } while (0)

/* ---- Failures ---- */

static void test_agree(void) {
    lth_error err = {0};
    EXPECT(lth__cluster_agree(c, LTH_OK, &err) == LTH_OK);
    /* The first of those that failed is heard by all, with its reason. */
    err = (lth_error){.status = LTH_ENUMERIC};
    snprintf(err.message, sizeof err.message, "rank %u fails", rank);
    bool fails = rank + 2 >= size; /* the last two */
    lth_status status = lth__cluster_agree(c, fails ? LTH_ENUMERIC : LTH_OK, &err);
    char first[64];
    snprintf(first, sizeof first, "rank %u fails", size > 2 ? size - 2 : 0);
    EXPECT(status == LTH_ENUMERIC);
    EXPECT(strcmp(err.message, first) == 0);
    /* It was a failure that one can go on after. */
    EXPECT(lth__cluster_agree(c, LTH_OK, &err) == LTH_OK);
    /* A reason may be missing. */
    EXPECT(lth__cluster_agree(c, rank == 0 ? LTH_ENOMEM : LTH_OK, NULL) == LTH_ENOMEM);
}

static void test_any(void) {
    bool flag = rank == size - 1;
    EXPECT(lth__cluster_any(c, &flag, NULL) == LTH_OK && flag);
    flag = false;
    EXPECT(lth__cluster_any(c, &flag, NULL) == LTH_OK && !flag);
    double number = rank == size / 2 ? 2.5 : 0.25;
    EXPECT(lth__cluster_largest(c, &number, NULL) == LTH_OK && number == 2.5);
    number = rank == 0 ? NAN : 1;
    EXPECT(lth__cluster_largest(c, &number, NULL) == LTH_OK && isnan(number));
    number = 0;
    EXPECT(lth__cluster_largest(c, &number, NULL) == LTH_OK && number == 0);
}

/* ---- Bytes and numbers ---- */

static void test_share(void) {
    char text[] = "as it was";
    if (rank == 0) strcpy(text, "by first!");
    EXPECT(lth__cluster_share(c, LTH_OK, 0, text, sizeof text, NULL) == LTH_OK);
    EXPECT(strcmp(text, "by first!") == 0);
    lth_error err = {0};
    lth_status own = rank == size - 1 ? LTH_EIO : LTH_OK;
    EXPECT(lth__cluster_share(c, own, 0, text, sizeof text, &err) == LTH_EIO);
}

static void test_join(void) {
    enum { COUNT = 1000 };
    double numbers[COUNT] = {0};
    char bytes[13] = {0};
    for (size_t i = 0; i < COUNT; i++)
        if (lth__cluster_owns(c, i)) numbers[i] = i % 2 ? -0.0 : 1.0 / (double)(i + 1);
    EXPECT(lth__cluster_join(c, LTH_OK, numbers, COUNT, NULL) == LTH_OK);
    for (size_t i = 0; i < COUNT; i++) {
        double want = i % 2 ? -0.0 : 1.0 / (double)(i + 1);
        EXPECT(memcmp(&numbers[i], &want, sizeof want) == 0);
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        if (lth__cluster_owns(c, i)) bytes[i] = (char)(i + 1);
    EXPECT(lth__cluster_join_bytes(c, LTH_OK, bytes, sizeof bytes, NULL) == LTH_OK);
    for (size_t i = 0; i < sizeof bytes; i++) EXPECT(bytes[i] == (char)(i + 1));
}

/* Each job has one owner, and as many fall to every rank as can be. */
static void test_owners(void) {
    size_t own = 0, jobs = 10 * (size_t)size;
    for (size_t i = 0; i < jobs; i++) own += lth__cluster_owns(c, i);
    EXPECT(own == 10);
    EXPECT(lth__cluster_owns(NULL, 7) && lth__cluster_reads(NULL));
    EXPECT(lth__cluster_reads(c) == (rank == 0));
}

/* ---- Sums: their bits are compared between runs ---- */

static void test_sum(size_t jobs, bool print) {
    enum { COUNT = 37 };
    size_t leaves = lth__tree_leaves(jobs);
    double sum[COUNT], *leaf = NULL;
    lth__tree tree;
    lth__tree_open(&tree, c, leaves, COUNT);
    size_t before = LTH_NONE;
    for (size_t j = 0; j < jobs; j++) {
        size_t at = lth__tree_leaf_of(jobs, j);
        EXPECT(at < leaves);
        if (lth__tree_owner(c, leaves, at) != rank) continue;
        if (at != before) EXPECT(lth__tree_leaf(&tree, &leaf, NULL) == LTH_OK);
        before = at;
        for (size_t i = 0; i < COUNT; i++) leaf[i] += sin((double)(j * COUNT + i)) / 3;
    }
    EXPECT(lth__tree_sum(&tree, LTH_OK, sum, NULL) == LTH_OK);
    lth__tree_close(&tree);
    double want = 0;
    for (size_t j = 0; j < jobs; j++) want += sin((double)(j * COUNT)) / 3;
    EXPECT(fabs(sum[0] - want) < 1e-12 * (double)jobs);
    for (size_t i = 0; print && i < COUNT; i++) printf("%a ", sum[i]);
    if (print) puts("");
}

static void test_failing_sum(void) {
    lth__tree tree;
    double sum[2], *leaf;
    lth_error err = {0};
    lth__tree_open(&tree, c, 8, 2);
    if (tree.next < tree.end) EXPECT(lth__tree_leaf(&tree, &leaf, NULL) == LTH_OK);
    lth_status own = rank == size - 1 ? LTH_ENOMEM : LTH_OK;
    EXPECT(lth__tree_sum(&tree, own, sum, &err) == LTH_ENOMEM);
    lth__tree_close(&tree);
}

/* ---- Files: the first reads for all ---- */

static void test_input(const char *folder) {
    char path[4096], line_wanted[32];
    snprintf(path, sizeof path, "%s/lines-%u", folder, size);
    lth__input *in = NULL;
    lth_error err = {0};
    const char *line;
    size_t length, count = 0;
    EXPECT(lth__input_open(ctx->relay, "/nosuch/file", &in, &err) == LTH_EIO);
    EXPECT(strcmp(err.file, "/nosuch/file") == 0 && strstr(err.message, "cannot open"));
    if (rank == 0) {
        FILE *f = fopen(path, "w");
        EXPECT(f);
        for (int i = 0; i < 100000; i++) fprintf(f, "line %d\n", i);
        EXPECT(fclose(f) == 0);
    } /* no other rank ever opens it */
    EXPECT(lth__input_open(ctx->relay, path, &in, &err) == LTH_OK);
    while (lth__input_line(in, &line, &length, &err) == LTH_OK && line) {
        int wanted = snprintf(line_wanted, sizeof line_wanted, "line %zu", count++);
        EXPECT(length == (size_t)wanted && memcmp(line, line_wanted, length) == 0);
    }
    EXPECT(count == 100000);
    lth__input_close(in);
    if (rank == 0) unlink(path);
}

/* ---- Leaving ---- */

/* One leaves for a reason; the others, wherever they next wait, hear it, and need not be told
 * again.
 */
static void test_leave(void) {
    lth_error why = {.status = LTH_EFORMAT}, err = {0};
    double number = 1;
    snprintf(why.message, sizeof why.message, "nothing to be done");
    if (rank == size - 1) {
        EXPECT(lth_ctx_leave(ctx, &why, &err) == LTH_EFORMAT);
    } else {
        EXPECT(lth__cluster_join(c, LTH_OK, &number, 1, &err) == LTH_EFORMAT);
        EXPECT(strcmp(err.message, "nothing to be done") == 0);
        EXPECT(lth__cluster_agree(c, LTH_OK, &err) == LTH_ECANCELED);
    }
}

int main(int argc, char **argv) {
    lth_ctx_options options;
    lth_error err = {0};
    lth_ctx_options_init(&options);
    options.cluster = "mpi";
    if (argc != 2) return 2;
    if (lth_ctx_create(&options, &ctx, &err) != LTH_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    c = ctx->cluster;
    rank = lth_ctx_rank(ctx, &size);
    unsigned launched, as = lth_launched_rank(&launched);
    EXPECT(size == 1 || (as == rank && launched == size));
    test_agree();
    test_any();
    test_share();
    test_join();
    test_owners();
    static const size_t jobs[] = {1, 2, 3, 5, 16, 17, 63, 64, 65, 300};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) test_sum(jobs[i], rank == 0);
    test_failing_sum();
    test_input(argv[1]);
    test_leave();
    lth_ctx_free(ctx);
    return 0;
}
