/* Vocabularies and forests that extend others, and models that know as much after a thousand
 * predictions as before. */
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
#include "kernel/tree/tree_field.h"
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

/* Whatever the base has keeps its number, what is new goes on from there, and the base stays. */
static void test_symbols_extend(void **state) {
    (void)state;
    enum { MOST = 3000 };
    static char name[MOST][1600];
    static size_t length[MOST];
    for (size_t i = 0; i < MOST; i++) length[i] = make_name(i, name[i]);
    lth__random random;
    lth__random_seed(&random, 1);
    for (int round = 0; round < 20; round++) {
        size_t known = round == 0 ? 0 : lth__random_below(&random, MOST + 1);
        lth__symbols *base = lth__symbols_create();
        for (size_t i = 0; i < known; i++) lth__symbols_intern(base, name[i], length[i]);
        lth__symbols *s = lth__symbols_extend(base);
        assert_int_equal(lth__symbols_count(s), known);
        assert_int_equal(lth__symbols_first(s), known);
        for (size_t i = known; i < MOST; i++)
            assert_int_equal(lth__symbols_find(s, name[i], length[i]), LTH__NO_SYMBOL);
        for (size_t i = 0; i < MOST; i++)
            assert_int_equal(lth__symbols_intern(s, name[i], length[i]), i);
        assert_int_equal(lth__symbols_count(s), MOST);
        for (size_t i = 0; i < MOST; i++) {
            size_t got;
            assert_string_equal(lth__symbols_text(s, (lth__symbol)i, &got), name[i]);
            assert_int_equal(got, length[i]);
            assert_int_equal(lth__symbols_seen(s, (lth__symbol)i), 1);
            assert_int_equal(lth__symbols_find(s, name[i], length[i]), i);
            assert_int_equal(lth__symbols_find(base, name[i], length[i]),
                             i < known ? i : LTH__NO_SYMBOL);
        }
        assert_int_equal(lth__symbols_count(base), known);
        lth__symbols_free(s);
        lth__symbols_free(base);
    }
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

static void check_same(const lth__forest *f, const lth__forest *whole) {
    assert_int_equal(f->count, whole->count);
    assert_int_equal(f->production_count, whole->production_count);
    assert_int_equal(lth__forest_child_count(f), whole->child_count);
    for (uint32_t u = 0; u < f->count; u++) {
        const lth__subtree *a = lth__forest_subtree(f, u), *b = lth__forest_subtree(whole, u);
        assert_int_equal(a->label, b->label);
        assert_int_equal(a->production, b->production);
        assert_int_equal(a->children, b->children);
        assert_int_equal(lth__forest_is_leaf(f, u), lth__forest_is_leaf(whole, u));
        for (uint32_t k = 0; k < a->children; k++)
            assert_int_equal(lth__forest_children(f, u)[k], lth__forest_children(whole, u)[k]);
    }
    for (uint32_t p = 0; p < f->production_count; p++)
        assert_memory_equal(lth__forest_production(f, p), lth__forest_production(whole, p),
                            sizeof(lth__production));
}

static void check_index(const lth__tree_index *x, const lth__tree_index *whole,
                        const lth__forest *f) {
    for (uint32_t p = 0; p < f->production_count; p++) {
        assert_int_equal(lth__tree_index_members(x, p), lth__tree_index_members(whole, p));
        for (size_t i = 0; i < lth__tree_index_members(x, p); i++)
            assert_int_equal(lth__tree_index_member(x, p, i), lth__tree_index_member(whole, p, i));
    }
}

/* Trees on top of others get the numbers that they would have had behind them. */
static void test_forests_extend(void **state) {
    (void)state;
    enum { TREES = sizeof trees / sizeof *trees };
    for (size_t kept = 0; kept <= TREES; kept++) {
        lth__symbols *labels = lth__symbols_create();
        lth__forest *base = lth__forest_create(), *whole = lth__forest_create();
        read_trees(whole, labels, 0, TREES);
        read_trees(base, labels, 0, kept);
        size_t count = base->count, productions = base->production_count;
        lth__forest *f = lth__forest_extend(base);
        read_trees(f, labels, kept, TREES);
        read_trees(f, labels, 0, TREES);
        check_same(f, whole);
        lth__tree_index *first = NULL, *own = NULL, *all = NULL;
        assert_int_equal(lth__tree_index_create(base, NULL, &first, NULL), LTH_OK);
        assert_int_equal(lth__tree_index_create(f, first, &own, NULL), LTH_OK);
        assert_int_equal(lth__tree_index_create(whole, NULL, &all, NULL), LTH_OK);
        check_index(own, all, whole);
        assert_int_equal(base->count, count);
        assert_int_equal(base->production_count, productions);
        lth__tree_index_free(all);
        lth__tree_index_free(own);
        lth__tree_index_free(first);
        lth__forest_free(f);
        lth__forest_free(base);
        lth__forest_free(whole);
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
        const lth__words *w = lth__words_of(l);
        s.symbols += lth__symbols_count(l->symbols);
        s.vectors += w->vectors.count;
        s.vector_symbols += w->vectors.symbols;
        for (const lth__similarity *k = w->similarities; k; k = k->next) s.similarities++;
        if (l->def->type != &lth__field_tree) continue;
        const lth__trees *t = lth__trees_of(e, f);
        s.subtrees += t->forest->count;
        s.productions += t->forest->production_count;
        assert_non_null(t->index);
        assert_int_equal(t->index->subtrees, t->forest->count);
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

static void predict(const lth_gp *gp, const lth_svm *svm, const lth_table *row, double *out) {
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
static void predict_many(lth_ctx *ctx, const lth_gp *gp, const lth_svm *svm, bool tree) {
    const lth_encoder *encoder = svm ? svm->encoder : gp->encoder;
    double first[2] = {0}, last[2] = {0};
    size before = size_of(encoder);
    lth_table *row = new_row(ctx, 0, tree);
    predict(gp, svm, row, first);
    lth_table_free(row);
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
        lth_gp_options options = support_fixed();
        lth_svm_options svm_options;
        lth_svm_options_init(&svm_options);
        if (models[m].vectors) options.vectors = svm_options.vectors = vectors;
        lth_error err = {0};
        lth_gp *gp = NULL, *classifier = NULL;
        lth_svm *svm = NULL;
        const char *y = "y", *l = "l";
        support_ok(lth_gp_fit(ctx, models[m].kernel, train, &y, 1, &options, &gp, &err), &err);
        support_ok(lth_gp_fit(ctx, models[m].kernel, train, &l, 1, &options, &classifier, &err),
                   &err);
        support_ok(lth_svm_fit(ctx, models[m].kernel, train, l, &svm_options, &svm, &err), &err);
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
    lth_gp_options options = support_fixed();
    options.vectors = vectors;
    lth_error err = {0};
    lth_table *table = NULL;
    lth_gp *gp = support_fit(ctx, "ssk(text, order=2, sim=cosine)", train, 1, &options);
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
        "factor.height",
        "factor.packed",
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
    support_ok(lth__tensors_read(NULL, path, &from, &err), &err);
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
    lth_gp_options options = support_fixed();
    lth_error err = {0};
    lth_gp *gp = support_fit(ctx, "ssk(v, order=2, sim=dot)", train, 1, &options), *loaded = NULL;
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
        cmocka_unit_test(test_symbols_extend),
        cmocka_unit_test(test_forests_extend),
        cmocka_unit_test(test_models_do_not_grow),
        cmocka_unit_test(test_saving_after_predictions),
        cmocka_unit_test(test_hostile_columns_of_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
