/* Tree kernels in expressions, tables and models: arguments and their printing, symbols from the
 * data, priors, learning, and model files. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "gp_support.h"
#include "kernel/tree/tree_field.h"
#include "model/common/tensors.h"
#include "model/gp/gp.h"
#include "tree_reference.h"

static lth_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = support_context(1);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

static lth_kernel *parse(const char *text) {
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    support_ok(lth_kernel_parse(ctx, text, &kernel, &err), &err);
    return kernel;
}

static void check_print(const lth_kernel *kernel, const char *expected) {
    char text[1024];
    lth_kernel_print(kernel, text, sizeof text);
    assert_string_equal(text, expected);
}

/* ---- Expressions ---- */

static void test_printing(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"sstk(tree)", NULL},
        {"sstk(tree, decay=0.4)", NULL},
        {"sstk(tree, decay=0.2, alpha=1!)", NULL},
        {"sstk(tree, symbols=[NP,VP])", NULL},
        {"sstk(tree, symbols=[NP,VP], decay=0.3)", NULL},
        {"sstk(tree, symbols=[NP,VP], decay=0.3!, alpha=[1,0,0.5!])", NULL},
        {"sstk(tree, symbols=[NP], decay=[0.3,0.1]!)", NULL},
        {"sstk(tree, symbols=[NP], decay=$d=0.3)", NULL},
        {"sstk(tree, symbols=[NP,S], decay=[0.3,$d=0.1,$d])", NULL},
        {"sstk(tree, symbols=[NP], decay=[0.5,0.5])", "sstk(tree, symbols=[NP], decay=0.5)"},
        {"sstk(tree, symbols=[\"NP\",\",\",\"''\",\"$\",\"\"\"\",\"-NONE-\",\"a b\"])",
         "sstk(tree, symbols=[NP,\",\",\"''\",\"$\",\"\"\"\",\"-NONE-\",\"a b\"])"},
        {"sstk(tree, symbols=all, shrink=0.5)", "sstk(tree, symbols=all, shrink=0.5!)"},
        {"sstk(tree, symbols=none)", NULL},
        {"sstk(tree, symbols=[])", NULL},
        {"stk(tree, symbols=[S], leaves=yes, decay=[0.5,1])", NULL},
        {"sstk(tree, format=lct, strip=tags, lower=yes)", NULL},
        {"sstk(tree, strip=[tags,traces])", NULL},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *expected = pairs[i][1] ? pairs[i][1] : pairs[i][0];
        lth_kernel *kernel = parse(pairs[i][0]), *again = parse(expected);
        check_print(kernel, expected);
        check_print(again, expected);
        assert_int_equal(kernel->param_count, again->param_count);
        lth_kernel_free(kernel);
        lth_kernel_free(again);
    }
}

static void test_paths(void **state) {
    (void)state;
    static const char *const paths[] = {"sstk.decay",  "sstk.decay[NP]", "sstk.decay[,]",
                                        "sstk.alpha",  "sstk.alpha[NP]", "sstk.alpha[,]",
                                        "stk.decay",   "sstk2.decay",    "sstk2.decay[S]",
                                        "sstk2.alpha", "sstk2.alpha[S]"};
    static const double values[] = {0.4, 0.1, 0.2, 0, 0, 0, 0.4, 0.3, 0.3, 1, 1};
    lth_error err = {0};
    lth_kernel *kernel =
        parse("sstk(a, symbols=[NP,\",\"], decay=[0.4,0.1,0.2], alpha=0!) * stk(b) + "
              "sstk(a, symbols=[S], decay=0.3)");
    assert_int_equal(lth_kernel_params(kernel), 11);
    for (size_t i = 0; i < 11; i++) {
        lth_param p = *lth_kernel_param(kernel, i);
        assert_string_equal(p.path, paths[i]);
        assert_true(p.value == values[i] && p.held == (i >= 3 && i < 6));
        assert_true(p.lo == 0 && p.hi == (strstr(p.path, "alpha") ? 2 : 1));
    }
    assert_int_equal(kernel->field_count, 2); /* both sstk read the same trees */
    assert_int_equal(lth_kernel_set_path(kernel, "sstk.alpha[NP]", 1.5, &err), LTH_OK);
    assert_int_equal(lth_kernel_set_path(kernel, "sstk.decay[NP]", 1.5, &err), LTH_EARG);
    assert_string_equal(err.message, "sstk.decay[NP] is 1.5, but must lie in [0, 1]");
    lth_kernel_free(kernel);
    kernel = parse("sstk(a) + sstk(a, strip=tags) + sstk(a, lower=yes) + sstk(a, format=lct)");
    assert_int_equal(kernel->field_count, 4);
    lth_kernel_free(kernel);
}

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t column;
        const char *message;
    } cases[] = {
        {"sstk(tree, symbols=NP)", 20,
         "symbols of sstk is none, all, or a list of labels such as [NP,VP,\",\"]"},
        {"sstk(tree, symbols=[NP,3])", 24,
         "symbols of sstk is none, all, or a list of labels such as [NP,VP,\",\"]"},
        {"stk(tree, symbols=2)", 19,
         "symbols of stk is none, all, or a list of labels such as [NP,VP,\",\"]"},
        {"sstk(tree, symbols=[NP,S,NP])", 26, "the symbol \"NP\" is given twice"},
        {"sstk(tree, symbols=[\"NP])", 21, "this quoted text is not closed"},
        {"sstk(tree, symbols=[NP], decay=[0.1])", 32, "decay of sstk needs 2 numbers, but has 1"},
        {"sstk(tree, symbols=all, decay=[0.1,0.2])", 31,
         "decay of sstk needs 1 numbers, but has 2"},
        {"sstk(tree, decay=1.5)", 18, "sstk.decay is 1.5, but must lie in [0, 1]"},
        {"sstk(tree, symbols=[NP], alpha=[1,3])", 35,
         "sstk.alpha[NP] is 3, but must lie in [0, 2]"},
        {"stk(tree, alpha=1)", 11, "stk has no argument \"alpha\"; see luthier kernels stk"},
        {"sstk(tree, strip=tag)", 18, "strip of sstk is none, tags, traces or [tags,traces]"},
        {"sstk(tree, strip=[tags,none])", 24,
         "strip of sstk is none, tags, traces or [tags,traces]"},
        {"sstk(tree, format=xml)", 19, "format of sstk is one of brackets|grct|lct"},
        {"sstk(tree, shrink=1)", 12, "shrink goes with symbols"},
        {"sstk(tree, symbols=none, shrink=1)", 26, "shrink goes with symbols"},
        {"sstk(tree, symbols=all, shrink=0)", 32,
         "shrink of sstk is a number above 0, such as 0.5"},
        {"sstk(tree, symbols=all, shrink=$a=1)", 32,
         "shrink of sstk is a number above 0, such as 0.5"},
        {"sstk(f1..f3)", 6, "sstk works on one column, not on a range"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_error err = {0};
        lth_kernel *kernel = NULL;
        assert_int_equal(lth_kernel_parse(ctx, cases[i].text, &kernel, &err), LTH_EFORMAT);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.column, cases[i].column);
        assert_null(kernel);
    }
}

/* ---- Tables ---- */

static void test_bad_cells(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "id\ttree\n1\t(A a)\n2\t\n3\t(S (A a) (B b)\n");
    lth_kernel *kernel = parse("normalize(sstk(tree))"), *open = parse("sstk(tree, symbols=all)");
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    assert_int_equal(lth_encode(encoder, table, &items, &err), LTH_EFORMAT);
    assert_int_equal(err.line, 4);
    assert_int_equal(err.column, 1);
    assert_string_equal(err.file, lth_table_name(table));
    assert_string_equal(err.message, "this bracket is never closed (in a cell of column \"tree\")");
    assert_null(items);
    lth_kernel *before = open;
    assert_int_equal(lth_kernel_resolve(&open, table, &err), LTH_EFORMAT);
    assert_true(open == before && err.line == 4);
    lth_table *other = support_table(ctx, "id\n1\n");
    assert_int_equal(lth_kernel_resolve(&open, other, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "no column \"tree\"");
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_kernel_free(open);
    lth_table_free(table);
    lth_table_free(other);
}

static void test_resolve(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(
        ctx, "tree\tother\n(S (\" x) (B b))\t(Q q)\n(S (B (B b)) (, ,))\t\n\t(Q (R q))\n");
    lth_kernel *kernel = parse("2 * sstk(tree, symbols=all, decay=0.3!, shrink=2) + "
                               "normalize(stk(other, symbols=all)) + sstk(tree, symbols=[X])");
    lth_encoder *encoder = NULL;
    assert_int_equal(lth_encoder_create(ctx, kernel, &encoder, &err), LTH_EARG);
    assert_string_equal(err.message, "symbols=all of sstk is open until the data are known: call "
                                     "lth_kernel_resolve() with a table first");
    support_ok(lth_kernel_set_path(kernel, "stk.decay", 0.75, &err), &err);
    support_ok(lth_kernel_resolve(&kernel, table, &err), &err);
    check_print(kernel, "2 * sstk(tree, symbols=[B,S,\"\"\"\",\",\"], shrink=2!, decay=0.3!) + "
                        "normalize(stk(other, symbols=[Q,R], decay=0.75)) + "
                        "sstk(tree, symbols=[X])");
    lth_kernel *resolved = kernel;
    support_ok(lth_kernel_resolve(&kernel, table, &err), &err);
    assert_true(kernel == resolved); /* nothing was left to do */
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
}

/* ---- The prior ---- */

static double penalty_of(lth_kernel *kernel, double *gradient) {
    memset(gradient, 0, kernel->param_count * sizeof *gradient);
    return kernel->root->family->penalty(kernel->root, kernel, gradient);
}

static void test_shrink(void **state) {
    (void)state;
    lth_kernel *kernel =
        parse("sstk(tree, symbols=[A,B], decay=[0.4,0.1,0.8], alpha=[1,0,1.5], shrink=0.5)");
    double gradient[6], room[6], a = log(0.1 / 0.4), b = log(0.8 / 0.4);
    support_near(penalty_of(kernel, gradient), (a * a + b * b + 1 + 0.25) / (2 * 0.25), 1e-14);
    for (size_t p = 0; p < 6; p++) {
        double *value = &kernel->params[p].value, start = *value, step = 1e-6;
        *value = start + step;
        double above = penalty_of(kernel, room);
        *value = start - step;
        double below = penalty_of(kernel, room);
        *value = start;
        support_near(gradient[p], (above - below) / (2 * step), 1e-7);
    }
    lth_kernel_free(kernel);
    kernel = parse("sstk(tree, symbols=[A,B], decay=[0.4,0.1,0.8])");
    assert_true(penalty_of(kernel, gradient) == 0);
    lth_kernel_free(kernel);
}

/* ---- Learning ---- */

/* Trees with a number that says how many (B b) they have; more or less by (C c). */
static lth_table *labelled_trees(size_t rows, uint64_t seed) {
    lth__random random;
    lth__random_seed(&random, seed);
    lth__string lines = {0};
    lth__string_format(&lines, "tree\ty\n");
    for (size_t i = 0; i < rows; i++) {
        size_t b = lth__random_below(&random, 4), c = lth__random_below(&random, 3);
        char *noise = reference_tree(&random, 2);
        lth__string_format(&lines, "(S");
        for (size_t k = 0; k < b; k++) lth__string_format(&lines, " (B b)");
        for (size_t k = 0; k < c; k++) lth__string_format(&lines, " (E (C c))");
        lth__string_format(&lines, " %s)\t%.9g\n", noise,
                           3 * (double)b - (double)c + lth__random_uniform(&random));
        free(noise);
    }
    assert_false(lines.failed);
    lth_table *table = support_table(ctx, lines.bytes);
    lth__string_free(&lines);
    return table;
}

static lth_gp_options quick(void) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 1;
    options.max_iter = 40;
    return options;
}

static const char *const one_target[] = {"y"};

static lth_gp *fit(const char *kernel, const lth_table *table, const lth_gp_options *options) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    support_ok(lth_gp_fit(ctx, kernel, table, one_target, 1, options, &gp, &err), &err);
    return gp;
}

static double spread(const lth_gp *gp) {
    double sum = 0;
    for (size_t i = 0; lth_gp_symbol_at(gp, i); i++) {
        double z = log(lth_gp_symbol_at(gp, i)->decay / lth_gp_param_at(gp, 1)->value);
        sum += z * z;
    }
    return sum;
}

static void test_learning(void **state) {
    (void)state;
    lth_table *table = labelled_trees(60, 2);
    lth_gp_options options = quick();
    lth_gp *shared = fit("1 * sstk(tree)", table, &options);
    lth_gp *free_symbols = fit("1 * sstk(tree, symbols=all)", table, &options);
    lth_gp *loose = fit("1 * sstk(tree, symbols=all, shrink=1)", table, &options);
    lth_gp *tight = fit("1 * sstk(tree, symbols=all, shrink=0.01)", table, &options);
    assert_true(lth_gp_reported(free_symbols)->evidence > lth_gp_reported(shared)->evidence + 5);
    assert_true(spread(free_symbols) > spread(loose) && spread(loose) > 10 * spread(tight));
    support_near(lth_gp_reported(tight)->evidence, lth_gp_reported(shared)->evidence, 0.02);
    /* Symbols by descending frequency, with the nodes that have them. */
    size_t before = SIZE_MAX, symbols = 0, nodes = 0;
    for (; lth_gp_symbol_at(free_symbols, symbols); symbols++) {
        lth_gp_symbol s = *lth_gp_symbol_at(free_symbols, symbols);
        char path[32];
        assert_string_equal(s.kernel, "sstk");
        assert_true(s.count <= before && s.count > 0);
        before = s.count;
        nodes += s.count;
        snprintf(path, sizeof path, "sstk.decay[%s]", s.symbol);
        assert_true(lth_gp_param_at(free_symbols, support_param(free_symbols, path))->value ==
                    s.decay);
        snprintf(path, sizeof path, "sstk.alpha[%s]", s.symbol);
        assert_true(lth_gp_param_at(free_symbols, support_param(free_symbols, path))->value ==
                    s.alpha);
        if (strcmp(s.symbol, "S") == 0) assert_int_equal(s.count, 60);
    }
    assert_int_equal(symbols, 6); /* A B C D E S */
    const lth__sequences *trees = &free_symbols->items->fields[0];
    size_t leaves = 0;
    for (size_t k = 0; k < trees->start[60]; k++)
        leaves +=
            lth__forest_is_leaf(lth__trees_of(free_symbols->encoder, 0)->forest, trees->symbols[k]);
    assert_int_equal(nodes + leaves, trees->start[60]);
    assert_null(lth_gp_symbol_at(shared, 0));
    lth_gp_free(shared);
    lth_gp_free(free_symbols);
    lth_gp_free(loose);
    lth_gp_free(tight);
    lth_table_free(table);
}

/* alpha is learned as it is: it can start at 0 and leave, or come from 1 and stay there. */
static void test_alpha_zero(void **state) {
    (void)state;
    lth_table *table = labelled_trees(40, 3);
    lth_gp_options options = quick();
    options.restarts = 0;
    lth_gp *from_0 = fit("1 * sstk(tree, alpha=0)", table, &options);
    lth_gp *from_1 = fit("1 * sstk(tree, alpha=1)", table, &options);
    lth_gp *held = fit("1 * sstk(tree, alpha=0!)", table, &options);
    size_t alpha = support_param(from_0, "sstk.alpha");
    double a = lth_gp_param_at(from_0, alpha)->value, b = lth_gp_param_at(from_1, alpha)->value;
    assert_true(lth_gp_param_at(from_0, alpha)->start == 0);
    assert_true(a >= 0 && b >= 0 && a <= 2 && b <= 2);
    assert_true(lth_gp_param_at(held, alpha)->value == 0);
    assert_true(lth_gp_reported(from_0)->evidence >= lth_gp_reported(held)->evidence - 1e-6);
    assert_true(lth_gp_reported(from_1)->evidence >= lth_gp_reported(held)->evidence - 0.5);
    /* A log-normal prior keeps it away from 0. */
    static const char *const prior[] = {"sstk.alpha=0.5,0.1"};
    options.prior = prior;
    options.prior_count = 1;
    lth_gp *drawn = fit("1 * sstk(tree)", table, &options);
    double near = lth_gp_param_at(drawn, alpha)->value;
    assert_true(near > 0.3 && near < 0.8);
    lth_gp_free(from_0);
    lth_gp_free(from_1);
    lth_gp_free(held);
    lth_gp_free(drawn);
    lth_table_free(table);
}

static void test_cv(void **state) {
    (void)state;
    enum { ROWS = 40, FOLDS = 4 };
    lth_table *table = labelled_trees(ROWS, 4);
    lth_error err = {0};
    size_t fold[ROWS];
    lth_gp_options options = quick();
    lth_validation *found;
    lth_folds_shuffled(1, ROWS, FOLDS, fold);
    support_ok(lth_gp_cv(ctx, "1 * sstk(tree, symbols=all, shrink=0.5)", table, one_target, 1, fold,
                         FOLDS, &options, &found, &err),
               &err);
    assert_true(lth_validation_metrics(found, 0, LTH_NONE)->r > 0.9);
    lth_validation_free(found);
    lth_table_free(table);
}

/* ---- Model files ---- */

static void check_same_predictions(lth_gp *a, lth_gp *b, const lth_table *table) {
    double *p = support_predict(a, table, false), *q = support_predict(b, table, false);
    assert_memory_equal(p, q, 2 * lth_table_rows(table) * sizeof *p);
    free(p);
    free(q);
}

static void test_round_trip(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = labelled_trees(30, 6), *other = labelled_trees(20, 7);
    lth_table *odd = support_table(ctx, "tree\ty\n\t0\n(New (words in) it)\t1\n(S (B b))\t2\n");
    lth_gp_options options = quick();
    options.max_iter = 5;
    lth_gp *gp = fit("1 * normalize(sstk(tree, symbols=all, leaves=yes)) + stk(tree, lower=yes)",
                     table, &options);
    char *first = support_file("", 0), *second = support_file("", 0);
    for (int round = 0; round < 2; round++) { /* before and after it has seen other trees */
        lth_gp *copy = NULL;
        support_ok(lth_gp_save(gp, round ? second : first, &err), &err);
        support_ok(lth_gp_load(ctx, round ? second : first, &copy, &err), &err);
        check_same_predictions(gp, copy, odd);
        check_same_predictions(gp, copy, other);
        check_same_predictions(gp, copy, table);
        for (size_t i = 0; lth_gp_symbol_at(gp, i); i++) {
            lth_gp_symbol s = *lth_gp_symbol_at(gp, i), c = *lth_gp_symbol_at(copy, i);
            assert_true(s.decay == c.decay && s.alpha == c.alpha && s.count == c.count);
        }
        lth_gp_free(copy);
    }
    support_bytes a = support_slurp(first), b = support_slurp(second);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    free(a.data);
    free(b.data);
    support_remove(first);
    support_remove(second);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_table_free(other);
    lth_table_free(odd);
}

/* A model with one array or text changed, loaded again. */
typedef struct change {
    const char *name;
    size_t at;
    uint64_t value;
    size_t drop; /* elements from its end */
    const char *kernel, *message;
} change;

static void copy_arrays(const lth__tensors *from, lth__tensors_writer *to, const change *c,
                        void *room) {
    static const char *const names[] = {"report",
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
                                        "field.0.tree_labels",
                                        "field.0.tree_child_ends",
                                        "field.0.tree_children",
                                        "field.0.starts",
                                        "field.0.symbols"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        lth__tensor t = *lth__tensors_find(from, names[i]);
        if (c->name && strcmp(names[i], c->name) == 0) {
            size_t size = t.dtype == LTH__U32 ? 4 : 8;
            memcpy(room, t.data, t.shape[0] * size);
            memcpy((char *)room + c->at * size, &c->value, size);
            t.data = room;
            t.shape[0] -= c->drop;
        }
        assert_true(lth__tensors_put(to, &t));
    }
}

static void load_changed(const char *path, const change *c) {
    static char room[1 << 16];
    static const char *const texts[] = {"model", "targets", "made_by"};
    lth_error err = {0};
    lth__tensors *from = NULL;
    support_ok(lth__tensors_read(NULL, path, &from, &err), &err);
    lth__tensors_writer *to = lth__tensors_writer_create();
    assert_non_null(to);
    for (size_t i = 0; i < 3; i++)
        assert_true(lth__tensors_put_text(to, texts[i], lth__tensors_text(from, texts[i])));
    assert_true(lth__tensors_put_text(to, "kernel",
                                      c->kernel ? c->kernel : lth__tensors_text(from, "kernel")));
    copy_arrays(from, to, c, room);
    char *changed = support_file("", 0);
    support_ok(lth__tensors_write(to, changed, &err), &err);
    lth_gp *gp = NULL;
    lth_status status = lth_gp_load(ctx, changed, &gp, &err);
    if (!c->message) {
        support_ok(status, &err);
        lth_gp_free(gp);
    } else {
        assert_int_equal(status, LTH_EFORMAT);
        assert_string_equal(err.message, c->message);
        assert_string_equal(err.file, changed);
    }
    support_remove(changed);
    lth__tensors_writer_free(to);
    lth__tensors_free(from);
}

static void test_hostile_files(void **state) {
    (void)state;
    lth_error err = {0};
    /* a A b B S = 0 1 2 3 4, and again with c C in the place of b B */
    lth_table *table = support_table(ctx, "tree\ty\n(S (A a) (B b))\t1\n(S (A a) (C c))\t2\n"
                                          "\t1.5\n");
    lth_gp_options options = support_fixed();
    lth_gp *gp = fit("sstk(tree, symbols=[S,A])", table, &options);
    char *path = support_file("", 0);
    support_ok(lth_gp_save(gp, path, &err), &err);
    static const char trees[] = "the model is damaged: its trees";
    static const change changes[] = {
        {0},
        {"field.0.tree_labels", 2, 8, 0, NULL, trees},
        {"field.0.tree_labels", 2, UINT32_MAX, 0, NULL, trees},
        {"field.0.tree_labels", 2, 0, 0, NULL, "the model is damaged: it has a tree twice"},
        {"field.0.tree_labels", 0, 0, 1, NULL, "the model is damaged: field.0.tree_child_ends"},
        {"field.0.tree_child_ends", 4, 1, 0, NULL, trees},
        {"field.0.tree_child_ends", 4, UINT64_MAX, 0, NULL, trees},
        {"field.0.tree_child_ends", 7, 5, 0, NULL, trees},
        {"field.0.tree_children", 0, 1, 0, NULL,
         "the model is damaged: a tree that is part of itself"},
        {"field.0.tree_children", 0, UINT32_MAX, 0, NULL,
         "the model is damaged: a tree that is part of itself"},
        {"field.0.symbols", 4, 7, 0, NULL, "the model is damaged: its training trees"},
        {"field.0.symbols", 4, 8, 0, NULL, "the model is damaged: its training rows"},
        {"field.0.starts", 1, 4, 0, NULL, "the model is damaged: its training trees"},
        {.kernel = "sstk(tree, symbols=all)",
         .message = "the model is damaged: its kernel has symbols=all"},
        {.kernel = "sstk(tree, symbols=[S])", .message = "the model is damaged: start"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) load_changed(path, &changes[i]);
    support_remove(path);
    lth_gp_free(gp);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printing),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_bad_cells),
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_alpha_zero),
        cmocka_unit_test(test_cv),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_hostile_files),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
