/* Every allocation of a whole run is made to fail in turn: the call that needed it must say that
 * memory is out, and leave nothing behind. Leaks are found by building this with
 * AddressSanitizer. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "failing_allocator.h"

/* ---- Files ---------------------------------------------------------------------------------- */

static char folder[] = "test_faults.XXXXXX";
static const char *const inputs[][2] = {
    {"t.tsv", "text\tbody\nthe cat sat\ta cat\nthe dog sat\tA dog, too\n\tcat\nmat\t\n"},
    {"t.csv", "\"text\",body\nthe cat,\"a \"\"cat\"\"\"\n\"\",x\n"},
    {"t.jsonl", "{\"text\": \"the cat\", \"body\": \"a\"}\n{\"text\": \"sat\", \"body\": \"b\"}\n"},
    {"trees.tsv",
     "text\tbody\n(S (A a) (B (A b) c))\t(A a)\n(S (A a) (B d))\ta cat\n\t(A (A x))\n"},
    {"v.txt", "the 1 2 0.5\ncat 0.5 -1 1\nsat 2 0 0\nunused 1 1 1\na 1 0 1\n"},
    {"noun.exc", "mice mouse\n"},
    {"index.noun", "cat n 1 1 @ 1 0 00000200\ndog n 1 1 @ 1 0 00000300\n"},
    {"data.noun",
     "00000100 05 n 01 pet 0 000 | a\n00000200 05 n 01 cat 0 001 @ 00000100 n 0000 | b\n"
     "00000300 05 n 01 dog 0 001 @ 00000100 n 0000 | c\n"},
    {"verb.exc", "sat sit\n"},
    {"index.verb", "sit v 1 0 1 0 00000100\n"},
    {"data.verb", "00000100 05 v 01 sit 0 000 | d\n"},
};
enum { INPUTS = sizeof inputs / sizeof *inputs };

static const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    for (size_t i = 0; i < INPUTS; i++) {
        FILE *file = fopen(in_folder(inputs[i][0]), "w");
        if (!file || fputs(inputs[i][1], file) < 0 || fclose(file) != 0) return -1;
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < INPUTS; i++) unlink(in_folder(inputs[i][0]));
    return rmdir(folder);
}

static size_t files_in_folder(void) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* ---- The run -------------------------------------------------------------------------------- */

enum { ROWS = 4, MOST_PARAMS = 16 };

/* All that a run makes; freed whatever became of it. */
typedef struct run {
    lth_ctx *ctx;
    lth_table *table, *other;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *rows, *cols;
    double *read;
    lth_error err;
} run;

static void free_run(run *r) {
    lth_npy_free(r->read);
    lth_items_free(r->rows);
    lth_items_free(r->cols);
    lth_encoder_free(r->encoder);
    lth_kernel_free(r->kernel);
    lth_table_free(r->table);
    lth_table_free(r->other);
    lth_ctx_free(r->ctx);
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        lth_status try_status = (call);                                                            \
        if (try_status != LTH_OK) return try_status;                                               \
    } while (0)

/* Texts, numbers and vectors. */
static lth_status make_tables(run *r) {
    static const char *const text[] = {"the cat", "", "a dog"};
    static const double numbers[] = {1, 2, 3};
    static const float x[] = {1, 2, 3, 4, 5, 7}, *const vectors[] = {x, x + 4, NULL};
    static const size_t units[] = {2, 1, 0};
    static const lth_column columns[] = {
        {.name = "body", .text = text},
        {.name = "text", .vectors = vectors, .units = units, .dimension = 2},
        {.name = "n", .numbers = numbers}};
    TRY(lth_table_from_columns(r->ctx, columns, sizeof *columns, 3, 3, &r->table, &r->err));
    return lth_table_from_columns(r->ctx, columns, sizeof *columns, 3, 2, &r->other, &r->err);
}

static lth_status read_tables(run *r, const char *table) {
    const char *const columns[] = {"body", "text"}, *const where[] = {"body=a cat,A dog\\, too,x"};
    lth_table_options wanted;
    lth_table_options_init(&wanted);
    wanted.columns = columns;
    wanted.column_count = 2;
    TRY(lth_table_read(r->ctx, in_folder(table), &wanted, &r->table, &r->err));
    wanted.where = where;
    wanted.where_count = 1;
    bool trees = strcmp(table, "trees.tsv") == 0;
    return lth_table_read(r->ctx, in_folder(trees ? table : "t.tsv"), &wanted, &r->other, &r->err);
}

/* `table` NULL: from memory. */
static lth_status open_all(run *r, const char *kernel, const char *table, lth_dropping dropping) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.dropping = dropping;
    TRY(lth_ctx_create(&options, &r->ctx, &r->err));
    TRY(table ? read_tables(r, table) : make_tables(r));
    TRY(lth_kernel_parse(r->ctx, kernel, &r->kernel, &r->err));
    TRY(lth_kernel_resolve(&r->kernel, r->table, &r->err));
    TRY(lth_encoder_create(r->ctx, r->kernel, &r->encoder, &r->err));
    TRY(lth_encode(r->encoder, r->table, &r->rows, &r->err));
    TRY(lth_encode(r->encoder, r->other, &r->cols, &r->err));
    if (table && lth_kernel_needs_vectors(r->kernel))
        TRY(lth_encoder_read_vectors(r->encoder, in_folder("v.txt"), &r->err));
    return LTH_OK;
}

static lth_status compute_all(run *r) {
    double K[ROWS * ROWS], G[MOST_PARAMS * ROWS * ROWS], grad[MOST_PARAMS];
    size_t n = lth_items_count(r->rows), m = lth_items_count(r->cols);
    assert_true(n <= ROWS && m <= ROWS && lth_kernel_params(r->kernel) <= MOST_PARAMS);
    TRY(lth_gram(r->kernel, r->rows, NULL, K, n, &r->err));
    TRY(lth_gram_diagonal(r->kernel, r->rows, grad, &r->err));
    TRY(lth_gram_pull(r->kernel, r->rows, NULL, K, n, grad, &r->err));
    TRY(lth_gram_gradients(r->kernel, r->rows, NULL, G, &r->err));
    TRY(lth_gram(r->kernel, r->rows, r->cols, K, m, &r->err));
    TRY(lth_gram_pull(r->kernel, r->rows, r->cols, K, m, grad, &r->err));
    TRY(lth_gram_gradients(r->kernel, r->rows, r->cols, G, &r->err));
    if (lth_kernel_orders(r->kernel) > 0)
        TRY(lth_gram_orders(r->kernel, r->rows, NULL, G, &r->err));
    size_t shape[3] = {n, m}, rank;
    TRY(lth_npy_write(in_folder("K.npy"), K, shape, 2, &r->err));
    return lth_npy_read(in_folder("K.npy"), &r->read, shape, &rank, &r->err);
}

/* Returns whether the run went through without coming to the allocation that fails. */
static bool run_once(const char *kernel, const char *table, lth_dropping dropping) {
    run r = {0};
    calls = 0;
    lth_status status = open_all(&r, kernel, table, dropping);
    if (status == LTH_OK) status = compute_all(&r);
    if (status == LTH_OK) {
        char text[256];
        assert_true(lth_kernel_print(r.kernel, text, sizeof text) > 0 || calls >= fail_at);
    }
    size_t made = calls;
    if (status != LTH_OK && status != LTH_ENOMEM)
        print_error("allocation %zu: status %d: %s\n", fail_at, status, r.err.message);
    assert_true(status == LTH_OK || status == LTH_ENOMEM);
    assert_int_equal(r.err.status, status);
    assert_true(status == LTH_OK || r.err.message[0]);
    free_run(&r);
    bool written = unlink(in_folder("K.npy")) == 0;
    if (status == LTH_OK) assert_true(written);
    /* No half file, and no temporary one. */
    assert_int_equal(files_in_folder(), INPUTS);
    return status == LTH_OK && made < fail_at;
}

static void run_all(const char *kernel, const char *table, lth_dropping dropping) {
    fail_at = 0;
    run_once(kernel, table, dropping);
    assert_true(calls > 50);
    for (int after = 0; after < 2; after++) {
        fail_after = after;
        fail_at = 1;
        /* Where all others fail too, there is less to tell one from the next. */
        while (!run_once(kernel, table, dropping)) fail_at += after ? 1 + fail_at / 20 : 1;
        assert_true(fail_at > 50);
    }
}

static void test_exact_kernels(void **state) {
    (void)state;
    run_all("ssk(text, order=3, gap=$g=0.4, match=$g, weights=[1,2,0.5])", "t.tsv", LTH_DROP_ON);
    run_all("ssk(\"text\", units=chars, order=2)", "t.csv", LTH_DROP_OFF);
    run_all("ssk(body, units=tokens, order=9)", "t.jsonl", LTH_DROP_AUTO);
}

static void test_soft_kernel(void **state) {
    (void)state;
    run_all("ssk(text, order=2, sim=cosine)", "t.tsv", LTH_DROP_AUTO);
    run_all("normalize(ssk(text, order=2, sim=exp, ard=3))", "t.tsv", LTH_DROP_AUTO);
}

static void test_combined_kernel(void **state) {
    (void)state;
    run_all("2 * normalize(ssk(text, order=2) + 0.5!) * ssk(text, order=2, sim=dot) + "
            "normalize(ssk(body, order=1))",
            "t.tsv", LTH_DROP_OFF);
}

static void test_columns_in_memory(void **state) {
    (void)state;
    run_all("normalize(ssk(text, order=2, sim=exp)) + rbf(mean(text)) + linear(n) + bow(body)",
            NULL, LTH_DROP_AUTO);
}

static void test_tree_kernels(void **state) {
    (void)state;
    run_all("sstk(text, symbols=all, leaves=yes, lower=yes)", "trees.tsv", LTH_DROP_AUTO);
    run_all("normalize(sstk(text, symbols=[S,\",\"], strip=tags)) + 0.5 * stk(text)", "trees.tsv",
            LTH_DROP_AUTO);
}

static void test_feature_maps(void **state) {
    (void)state;
    run_all("coregion(body, rank=1) * normalize(ssk(text, order=1))", "trees.tsv", LTH_DROP_AUTO);
    run_all("normalize(intersection(ngrams(text, n=[1,2], idf=yes))) + rbf(tfidf(body))", "t.tsv",
            LTH_DROP_AUTO);
    run_all("approx_ssk(text, n=2, features=9) * normalize(approx_ssk(body, choose=random))",
            "t.tsv", LTH_DROP_AUTO);
    setenv("WNSEARCHDIR", folder, 1);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    run_all("semantic(text, least=0.3)", "t.tsv", LTH_DROP_AUTO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_kernels),   cmocka_unit_test(test_soft_kernel),
        cmocka_unit_test(test_combined_kernel), cmocka_unit_test(test_tree_kernels),
        cmocka_unit_test(test_feature_maps),    cmocka_unit_test(test_columns_in_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
