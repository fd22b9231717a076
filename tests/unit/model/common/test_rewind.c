/* Going back: vocabularies and forests that forget what came last, and models that know as much
 * after a thousand predictions as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "gp_support.h"
#include "model/common/tensors.h"
#include "model/gp/gp.h"
#include "model/svm/svm.h"

/* ---- Vocabularies ---- */

/* Names of 1 to 400 bytes: single bytes, and blocks too long for a chunk of a pool. */
static size_t make_name(size_t i, char *out) {
    if (i % 7 == 0 && i / 7 < 26) return (size_t)sprintf(out, "%c", (char)('a' + i / 7));
    size_t length = (size_t)sprintf(out, "w%zu", i);
    for (size_t more = i % 97 == 0 ? 1500 : i % 5; more > 0; more--) out[length++] = 'x';
    return length;
}

static void test_symbols_forget_the_last(void **state) {
    (void)state;
    enum { MOST = 3000 };
    static char name[MOST][1600];
    static size_t length[MOST];
    for (size_t i = 0; i < MOST; i++) length[i] = make_name(i, name[i]);
    lth__symbols *s = lth__symbols_create();
    lth__random random;
    lth__random_seed(&random, 1);
    size_t count = 0;
    for (int round = 0; round < 60; round++) {
        size_t until = lth__random_below(&random, MOST + 1);
        for (; count < until; count++)
            assert_int_equal(lth__symbols_intern(s, name[count], length[count]), count);
        lth__symbols_truncate(s, until + 5); /* nothing to forget */
        lth__symbols_truncate(s, until);
        count = until;
        assert_int_equal(lth__symbols_count(s), count);
        for (size_t i = 0; i < MOST; i++)
            assert_int_equal(lth__symbols_find(s, name[i], length[i]),
                             i < count ? i : LTH__NO_SYMBOL);
        for (size_t i = 0; i < count; i++)
            assert_string_equal(lth__symbols_text(s, (lth__symbol)i, NULL), name[i]);
    }
    lth__symbols_free(s);
}

/* ---- Forests ---- */

static const char *const trees[] = {
    "(S (NP (D the) (N cat)) (VP (V sat)))", "(S (NP (D a) (N cat)) (VP (V sat) (NP (N mat))))",
    "(S (NP (N mat)) (VP (V ran)))",         "(NP (D the) (N cat))",
    "(S (VP (V sat)) (NP (D the) (N cat)))", "(X (Y (Z z)) (S (NP (N mat)) (VP (V ran))))"};

static void read_trees(lth__forest *f, lth__symbols *labels, size_t first, size_t last) {
    lth__tree tree = {0};
    uint32_t nodes[32];
    for (size_t i = first; i < last; i++) {
        assert_int_equal(
            lth__tree_read(trees[i], strlen(trees[i]), LTH__TREE_BRACKETS, 0, labels, &tree, NULL),
            LTH_OK);
        assert_int_equal(lth__forest_add(f, &tree, nodes, NULL), LTH_OK);
    }
    lth__tree_free(&tree);
}

/* What is read again after forgetting gets the numbers it had. */
static void test_forests_forget_the_last(void **state) {
    (void)state;
    enum { TREES = sizeof trees / sizeof *trees };
    for (size_t kept = 0; kept <= TREES; kept++) {
        lth__symbols *labels = lth__symbols_create();
        lth__forest *f = lth__forest_create();
        read_trees(f, labels, 0, kept);
        size_t count = f->count, productions = f->production_count, children = f->child_count;
        read_trees(f, labels, kept, TREES);
        size_t all = f->count, all_productions = f->production_count;
        lth__subtree *before = malloc(all * sizeof *before);
        memcpy(before, f->subtrees, all * sizeof *before);
        lth__forest_truncate(f, count);
        assert_int_equal(f->count, count);
        assert_int_equal(f->production_count, productions);
        assert_int_equal(f->child_count, children);
        read_trees(f, labels, 0, kept);
        assert_int_equal(f->count, count);
        read_trees(f, labels, 0, TREES);
        assert_int_equal(f->count, all);
        assert_int_equal(f->production_count, all_productions);
        assert_memory_equal(f->subtrees, before, all * sizeof *before);
        free(before);
        lth__forest_free(f);
        lth__symbols_free(labels);
    }
}

/* ---- Models ---- */

typedef struct size {
    size_t symbols, vectors, vector_symbols, similarities, subtrees, productions, grams;
} size;

static size size_of(const lth_encoder *e) {
    size s = {0};
    for (size_t f = 0; f < e->kernel->field_count; f++) {
        const lth__lexicon *l = &e->lexicons[f];
        s.symbols += lth__symbols_count(l->symbols);
        s.vectors += l->vectors.count;
        s.vector_symbols += l->vectors.symbols;
        for (const lth__similarity *k = l->similarities; k; k = k->next) s.similarities++;
        if (!l->forest) continue;
        s.subtrees += l->forest->count;
        s.productions += l->forest->production_count;
        assert_non_null(l->index);
        assert_int_equal(l->index->subtrees, l->forest->count);
    }
    for (size_t n = 0; n < e->kernel->node_count; n++)
        s.grams += e->spaces[n].grams ? lth__symbols_count(e->spaces[n].grams) : 0;
    return s;
}

/* Bytes in use, where malloc() is the usual one. */
static size_t bytes_in_use(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}

/* A row that training did not have, with words of its own and some that have vectors. */
static lth_table *new_row(lth_ctx *ctx, size_t i, bool tree) {
    char text[200];
    if (tree)
        snprintf(text, sizeof text, "(S (NP%zu (D the) (N new%zu)) (VP (V sat)))", i % 9, i);
    else
        snprintf(text, sizeof text, "good new%zu lamp word%zu very%zu", i, i * 7, i % 3);
    const char *texts[] = {text};
    static float x[] = {0, 1, -1, 2, 3, 4}; /* the table does not copy them */
    static const float *const vectors[] = {x};
    static const size_t units[] = {2};
    x[0] = (float)i;
    lth_column columns[] = {{.name = "text", .text = texts},
                            {.name = "v", .vectors = vectors, .units = units, .dimension = 3}};
    lth_table *table = NULL;
    lth_error err = {0};
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, 2, 1, &table, &err), &err);
    return table;
}

static lth_table *training_rows(lth_ctx *ctx, bool tree) {
    enum { ROWS = 12 };
    char text[ROWS][80];
    const char *texts[ROWS], *label[ROWS];
    static float x[ROWS * 3 * 3];
    static const float *vectors[ROWS];
    static size_t units[ROWS];
    static double y[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        if (tree)
            snprintf(text[i], sizeof text[i], "%s", trees[i % 6]);
        else
            snprintf(text[i], sizeof text[i], "good %s lamp w%zu %s", i % 2 ? "bad" : "very", i,
                     i % 3 ? "radio" : "not");
        texts[i] = text[i];
        label[i] = i % 2 ? "odd" : "even";
        units[i] = 1 + i % 3;
        vectors[i] = x + 9 * i;
        y[i] = sin((double)i);
        for (size_t k = 0; k < 9; k++) x[9 * i + k] = (float)cos((double)(9 * i + k));
    }
    lth_column columns[] = {{.name = "text", .text = texts},
                            {.name = "v", .vectors = vectors, .units = units, .dimension = 3},
                            {.name = "y", .numbers = y},
                            {.name = "l", .text = label}};
    lth_table *table = NULL;
    lth_error err = {0};
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, 4, ROWS, &table, &err), &err);
    return table;
}

static void predict(lth_gp *gp, lth_svm *svm, const lth_table *row, double *out) {
    lth_error err = {0};
    if (svm)
        support_ok(lth_svm_predict(svm, row, &(lth_svm_prediction){.decision = out},
                                   sizeof(lth_svm_prediction), &err),
                   &err);
    else if (lth_gp_classes(gp) > 0)
        support_ok(lth_gp_classify(gp, row, out, &err), &err);
    else
        support_ok(lth_gp_predict(gp, row, false, out, out + 1, &err), &err);
}

/* The first row predicted again after a thousand others: the same bits, and nothing that grows. */
static void predict_many(lth_ctx *ctx, lth_gp *gp, lth_svm *svm, bool tree) {
    const lth_encoder *encoder = svm ? svm->encoder : gp->encoder;
    double first[2] = {0}, last[2] = {0};
    lth_table *row = new_row(ctx, 0, tree);
    predict(gp, svm, row, first);
    lth_table_free(row);
    size before = size_of(encoder);
    size_t bytes = 0;
    for (size_t i = 1; i <= 1000; i++) {
        double out[2];
        lth_table *other = new_row(ctx, i, tree);
        predict(gp, svm, other, out);
        lth_table_free(other);
        if (i == 20) bytes = bytes_in_use();
    }
    assert_in_range(bytes_in_use(), 0, bytes + 8000); /* some arrays keep the room they had once */
    size after = size_of(encoder);
    assert_memory_equal(&after, &before, sizeof before);
    row = new_row(ctx, 0, tree);
    predict(gp, svm, row, last);
    assert_memory_equal(last, first, sizeof first);
    lth_table_free(row);
}

static void test_models_do_not_grow(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        bool tree, vectors;
    } models[] = {{"ssk(text, order=2)", false, false},
                  {"normalize(ssk(text, order=2, sim=cosine)) + rbf(mean(text))", false, true},
                  {"ssk(text, order=2, sim=exp, rarity=0.1, oov=parts)", false, true},
                  {"normalize(ssk(v, order=2, sim=exp)) + mean(v)", false, false},
                  {"ngrams(text, n=2, units=chars) + tfidf(text)", false, false},
                  {"approx_ssk(text)", false, false},
                  {"sstk(text)", true, false},
                  {"ptk(text)", true, false}};
    lth_ctx *ctx = support_context(1);
    char *vectors = support_vectors();
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        lth_table *train = training_rows(ctx, models[m].tree);
        lth_gp_options how = support_fixed();
        lth_svm_options svm_how;
        lth_svm_options_init(&svm_how);
        if (models[m].vectors) how.vectors = svm_how.vectors = vectors;
        lth_error err = {0};
        lth_gp *gp = NULL, *classifier = NULL;
        lth_svm *svm = NULL;
        const char *y = "y", *l = "l";
        support_ok(lth_gp_fit(ctx, models[m].kernel, train, &y, 1, &how, &gp, &err), &err);
        support_ok(lth_gp_fit(ctx, models[m].kernel, train, &l, 1, &how, &classifier, &err), &err);
        support_ok(lth_svm_fit(ctx, models[m].kernel, train, l, &svm_how, &svm, &err), &err);
        if (models[m].vectors && m == 1) { /* reads the file for each row: once is enough */
            support_ok(lth_gp_use_vectors(gp, vectors, &err), &err);
            support_ok(lth_svm_use_vectors(svm, vectors, &err), &err);
        }
        predict_many(ctx, gp, NULL, models[m].tree);
        predict_many(ctx, classifier, NULL, models[m].tree);
        predict_many(ctx, NULL, svm, models[m].tree);
        lth_gp_free(gp);
        lth_gp_free(classifier);
        lth_svm_free(svm);
        lth_table_free(train);
    }
    support_remove(vectors);
    lth_ctx_free(ctx);
}

/* A model that has predicted new words with vectors of their own is saved as it was. */
static void test_saving_after_predictions(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    char *vectors = support_vectors(), *path[2] = {support_file("", 0), support_file("", 0)};
    lth_table *train = training_rows(ctx, false);
    const char *texts[] = {"ex radio unheard wife", "bad"};
    lth_gp_options how = support_fixed();
    how.vectors = vectors;
    lth_error err = {0};
    lth_table *table = NULL;
    lth_gp *gp = support_fit(ctx, "ssk(text, order=2, sim=cosine)", train, 1, &how);
    support_ok(lth_gp_save(gp, path[0], &err), &err);
    support_ok(lth_table_from_texts(ctx, "text", texts, NULL, 2, &table, &err), &err);
    support_ok(lth_gp_use_vectors(gp, vectors, &err), &err);
    double *first = support_predict(gp, table, false);
    support_ok(lth_gp_save(gp, path[1], &err), &err);
    support_bytes a = support_slurp(path[0]), b = support_slurp(path[1]);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    lth_gp *loaded = NULL;
    support_ok(lth_gp_load(ctx, path[1], &loaded, &err), &err);
    support_ok(lth_gp_use_vectors(loaded, vectors, &err), &err);
    double *second = support_predict(loaded, table, false);
    for (size_t i = 0; i < 4; i++) support_near(second[i], first[i], 1e-12);
    /* A row that cannot be read leaves no trace either. */
    size before = size_of(gp->encoder);
    lth_table *bad = NULL;
    lth_column column = {.name = "other", .text = texts};
    support_ok(lth_table_from_columns(ctx, &column, sizeof column, 1, 2, &bad, &err), &err);
    assert_int_equal(lth_gp_predict(gp, bad, false, first, NULL, &err), LTH_EFORMAT);
    size after = size_of(gp->encoder);
    assert_memory_equal(&after, &before, sizeof before);
    free(a.data);
    free(b.data);
    free(first);
    free(second);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    lth_table_free(bad);
    lth_table_free(table);
    lth_table_free(train);
    support_remove(vectors);
    support_remove(path[0]);
    support_remove(path[1]);
    lth_ctx_free(ctx);
}

/* ---- The model file of a column of vectors ---- */

/* `path` again, but with another first byte of one array (NULL = no change; 256 = without it). */
static void write_changed(const char *path, const char *to, const char *name, int byte,
                          const char *kernel) {
    static const char *const arrays[] = {
        "report",
        "nu",
        "order_share",
        "scaling",
        "noise",
        "start",
        "flags",
        "y",
        "alpha",
        "factor",
        "field.0.texts",
        "field.0.text_ends",
        "field.0.starts",
        "field.0.symbols",
        "field.0.vector_rows",
        "field.0.vectors",
        "field.0.contextual",
    };
    lth_error err = {0};
    lth__tensors *from = NULL;
    support_ok(lth__tensors_read(path, &from, &err), &err);
    lth__tensors_writer *w = lth__tensors_writer_create();
    assert_true(lth__tensors_put_text(w, "model", "gp"));
    assert_true(lth__tensors_put_text(w, "targets", lth__tensors_text(from, "targets")));
    assert_true(
        lth__tensors_put_text(w, "kernel", kernel ? kernel : lth__tensors_text(from, "kernel")));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const lth__tensor *t = lth__tensors_find(from, arrays[i]);
        assert_non_null(t);
        if (name && strcmp(arrays[i], name) == 0) {
            if (byte == 256) continue;
            *(uint8_t *)t->data = (uint8_t)byte;
        }
        assert_true(lth__tensors_put(w, t));
    }
    support_ok(lth__tensors_write(w, to, &err), &err);
    lth__tensors_writer_free(w);
    lth__tensors_free(from);
}

static void test_hostile_columns_of_vectors(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int byte;
        const char *kernel;
    } changes[] = {{"field.0.contextual", 0, NULL},
                   {"field.0.contextual", 2, NULL},
                   {"field.0.texts", 'x', NULL},
                   {"field.0.vector_rows", 1, NULL},
                   {"field.0.vector_rows", 255, NULL},
                   {NULL, 0, "ssk(v, order=2, weights=[1,1])"},
                   {NULL, 0, "ssk(v, order=2, sim=dot) + 0! * ssk(v, order=1)"}};
    lth_ctx *ctx = support_context(1);
    lth_table *train = training_rows(ctx, false), *row = new_row(ctx, 1, false);
    char *path = support_file("", 0), *to = support_file("", 0);
    lth_gp_options how = support_fixed();
    lth_error err = {0};
    lth_gp *gp = support_fit(ctx, "ssk(v, order=2, sim=dot)", train, 1, &how), *loaded = NULL;
    support_ok(lth_gp_save(gp, path, &err), &err);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        write_changed(path, to, changes[i].name, changes[i].byte, changes[i].kernel);
        assert_int_equal(lth_gp_load(ctx, to, &loaded, &err), LTH_EFORMAT);
        assert_string_equal(err.file, to);
    }
    write_changed(path, to, NULL, 0, NULL);
    double mean;
    support_ok(lth_gp_load(ctx, to, &loaded, &err), &err);
    support_ok(lth_gp_predict(loaded, row, false, &mean, NULL, &err), &err);
    lth_gp_free(loaded);
    /* Without the mark it is a model of texts, as those of old files are. */
    write_changed(path, to, "field.0.contextual", 256, NULL);
    support_ok(lth_gp_load(ctx, to, &loaded, &err), &err);
    assert_int_equal(lth_gp_predict(loaded, row, false, &mean, NULL, &err), LTH_EARG);
    assert_string_equal(err.message, "column \"v\" holds vectors, where the first table has text");
    lth_gp_free(loaded);
    lth_gp_free(gp);
    lth_table_free(train);
    lth_table_free(row);
    support_remove(path);
    support_remove(to);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbols_forget_the_last),
        cmocka_unit_test(test_forests_forget_the_last),
        cmocka_unit_test(test_models_do_not_grow),
        cmocka_unit_test(test_saving_after_predictions),
        cmocka_unit_test(test_hostile_columns_of_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
