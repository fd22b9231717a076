/* Kernels: canonical text, parameters and their paths, columns, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/core/kernel.h"
#include "luthier.h"

static lth_ctx *ctx;

static int set_up(void **state) {
    (void)state;
    return lth_ctx_create(NULL, &ctx, NULL) == LTH_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

static lth_kernel *parse(const char *text) {
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    if (lth_kernel_parse(ctx, text, &kernel, &err) != LTH_OK) {
        print_error("%s: column %zu: %s\n", text, err.column, err.message);
        fail();
    }
    return kernel;
}

static void check_print(const lth_kernel *kernel, const char *wanted) {
    char text[4096];
    size_t length = lth_kernel_print(kernel, text, sizeof text);
    assert_string_equal(text, wanted);
    assert_int_equal(length, strlen(wanted));
}

/* ---- Printing ------------------------------------------------------------------------------- */

static void test_print(void **state) {
    (void)state;
    static const char *const same[] = {
        "ssk(text)",
        "ssk(text, order=5)",
        "ssk(text, order=5, sim=dot)",
        "ssk(text, order=2, units=chars, gap=$l=0.5, match=$l)",
        "ssk(text, units=tokens)",
        "ssk(text, units=bytes)",
        "ssk(text, units=chars, lower=yes)",
        "ssk(text, lower=no)",
        "ssk(text, sim=cosine, oov=zero)",
        "ssk(text, sim=arccos, oov=exact)",
        "ssk(text, gap=0.5)",
        "ssk(text, sim=exp, ard=3)",
        "ssk(text, sim=dot, ard=2, relevance=[1!,0.5], shrink=0.7!)",
        "ssk(text, gap=0.25!)",
        "ssk(text, gap=0)",
        "ssk(text, gap=1e-06!)",
        "ssk(text, match=2)",
        "ssk(text, match=1!)",
        "ssk(text, order=2, weights=[1,0.5])",
        "ssk(text, order=2, weights=[1,0.5]!)",
        "ssk(text, order=3, weights=[1!,0.5,0.25!])",
        "ssk(text, order=2, weights=[$w=1,$w])",
        "ssk(text, order=2, weights=[$w=0.1!,$w])",
        "ssk(\"my column\")",
        "ssk(\"2nd\", order=3)",
        "ssk(\"a b..c\")",
        "ssk(\"..\")",
        "ssk(\"f1..f17\")",
        "ssk(source-text)",
        "normalize(ssk(text))",
        "normalize(normalize(ssk(text)))",
        "2.5 * normalize(ssk(text)) + 0.1!",
        "ssk(a) + ssk(b)",
        "ssk(a) * ssk(b)",
        "ssk(a) * ssk(b) + ssk(c) * 2",
        "(ssk(a) + ssk(b)) * ssk(c)",
        "3! * (ssk(a) + 1) * ssk(c)",
        "normalize(ssk(a) + 2 * ssk(b))",
        "normalize(ssk(a) * ssk(b)) + normalize(ssk(c))",
        "$v=2 * ssk(a) + $v * ssk(b)",
        "$v=0.5 * ssk(a, gap=$v)",
        "ssk(a, gap=$g=0.3) + ssk(b, gap=$g)",
        "1 * 2 * ssk(a)",
        "0.1 * ssk(a) + 1000000000000",
        "0.30000000000000004 * ssk(a)",
        "ssk(text, gap=0.3 in 0.2..0.4)",
        "ssk(text, order=3, weights=[1 in 0.5..2,0.5!,0.25])",
        "ssk(text, gap=$g=0.3 in 0.1..0.9, match=$g)",
        "2 in 1..4 * rbf(f1..f3, ard=yes, lengthscale=[1 in 0.1..10,2,3!]) + 0.5 in 0..1",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        lth_kernel *kernel = parse(same[i]);
        check_print(kernel, same[i]);
        lth_kernel_free(kernel);
    }
}

static void test_canonical_form(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"  ssk( text )", "ssk(text)"},
        {"ssk(gap=.5, order=2, text)", "ssk(text, order=2, gap=0.5)"},
        {"ssk(\"text\")", "ssk(text)"},
        {"((ssk(a)+ssk(b))+ssk(c))", "ssk(a) + ssk(b) + ssk(c)"},
        {"(ssk(a)*ssk(b))*ssk(c)", "ssk(a) * ssk(b) * ssk(c)"},
        {"((2)) * (ssk(a))", "2 * ssk(a)"},
        {"ssk(text, order=2, weights=3)", "ssk(text, order=2, weights=[3,3])"},
        {"ssk(text, order=2, weights=3!)", "ssk(text, order=2, weights=[3,3]!)"},
        {"ssk(text, order=2, weights=[1!,2!])", "ssk(text, order=2, weights=[1,2]!)"},
        {"ssk(text, order=2, weights=$w)", "ssk(text, order=2, weights=[$w=1,$w])"},
        {"ssk(text, gap=$l, match=$l=0.3)", "ssk(text, gap=$l=0.3, match=$l)"},
        {"ssk(text, gap=$l, match=$l=0.3!)", "ssk(text, gap=$l=0.3!, match=$l)"},
        {"ssk(text, gap=$l=0.3, match=$l=0.3)", "ssk(text, gap=$l=0.3, match=$l)"},
        {"ssk(text, gap=$l, match=$l)", "ssk(text, gap=$l=0.5, match=$l)"},
        {"ssk(text, order=5!)", "ssk(text, order=5)"},
        {"1e0*ssk(text,gap=5e-1)", "1 * ssk(text, gap=0.5)"},
        {"ssk(text, gap=0.2..0.6)", "ssk(text, gap=0.4 in 0.2..0.6)"},
        {"4..16 * ssk(text)", "8 in 4..16 * ssk(text)"},
        {"0..16 * ssk(text)", "8 in 0..16 * ssk(text)"},
        {"ssk(text, order=2, weights=1..4)", "ssk(text, order=2, weights=[2 in 1..4,2 in 1..4])"},
        {"ssk(text, gap=$l, match=$l=0.25..1)", "ssk(text, gap=$l=0.5 in 0.25..1, match=$l)"},
        {"ssk(text, gap=$l=0.5 in 0..1, match=$l=0.5 in 0..1)",
         "ssk(text, gap=$l=0.5 in 0..1, match=$l)"},
        {"ssk(text, gap=$l, match=$l=0.5 in 0..2)", "ssk(text, gap=$l=0.5 in 0..1, match=$l)"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        lth_kernel *kernel = parse(pairs[i][0]), *again = parse(pairs[i][1]);
        check_print(kernel, pairs[i][1]);
        check_print(again, pairs[i][1]);
        lth_kernel_free(kernel);
        lth_kernel_free(again);
    }
}

static void test_print_into_little_room(void **state) {
    (void)state;
    lth_kernel *kernel = parse("ssk(text)");
    char text[16] = "untouched";
    assert_int_equal(lth_kernel_print(kernel, NULL, 0), 9);
    assert_int_equal(lth_kernel_print(kernel, text, 0), 9);
    assert_string_equal(text, "untouched");
    assert_int_equal(lth_kernel_print(kernel, text, 1), 9);
    assert_string_equal(text, "");
    assert_int_equal(lth_kernel_print(kernel, text, 5), 9);
    assert_string_equal(text, "ssk(");
    assert_int_equal(lth_kernel_print(kernel, text, 10), 9);
    assert_string_equal(text, "ssk(text)");
    lth_kernel_free(kernel);
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static void check_param(const lth_kernel *kernel, size_t i, const char *path, double value,
                        bool held, const char *tag) {
    lth_param p = *lth_kernel_param(kernel, i);
    assert_string_equal(p.path, path);
    assert_true(p.value == value);
    assert_int_equal(p.held, held);
    if (tag)
        assert_string_equal(p.tag, tag);
    else
        assert_null(p.tag);
}

static void test_paths(void **state) {
    (void)state;
    lth_kernel *kernel = parse("2 * ssk(a, order=2) + 3! * normalize(ssk(b, order=1, match=2) + 4) "
                               "+ 0.5");
    static const char *const paths[] = {
        "variance",        "ssk.gap",   "ssk.match", "ssk.weights[1]",
        "ssk.weights[2]",  "variance2", "ssk2.gap",  "ssk2.match",
        "ssk2.weights[1]", "constant",  "constant2",
    };
    static const double values[] = {2, 0.5, 1, 1, 1, 3, 0.5, 2, 1, 4, 0.5};
    size_t count = sizeof paths / sizeof *paths;
    assert_int_equal(lth_kernel_params(kernel), count);
    for (size_t i = 0; i < count; i++) {
        bool held = strcmp(paths[i], "ssk.match") == 0 || strcmp(paths[i], "variance2") == 0;
        check_param(kernel, i, paths[i], values[i], held, NULL);
    }
    lth_kernel_free(kernel);
}

static void test_bounds(void **state) {
    (void)state;
    lth_kernel *kernel = parse("2 * ssk(a, order=1)");
    static const double bounds[][2] = {{0, 1e12}, {0, 1}, {0, 1000}, {0, 1e9}};
    for (size_t i = 0; i < 4; i++) {
        lth_param p = *lth_kernel_param(kernel, i);
        assert_true(p.lo == bounds[i][0] && p.hi == bounds[i][1]);
        assert_int_equal(lth_kernel_set(kernel, i, p.lo, NULL), LTH_OK);
        assert_int_equal(lth_kernel_set(kernel, i, p.hi, NULL), LTH_OK);
        assert_int_equal(lth_kernel_set(kernel, i, -1e-9, NULL), LTH_EARG);
        assert_int_equal(lth_kernel_set(kernel, i, 1.1 * p.hi, NULL), LTH_EARG);
        assert_int_equal(lth_kernel_set(kernel, i, NAN, NULL), LTH_EARG);
        assert_int_equal(lth_kernel_set(kernel, i, INFINITY, NULL), LTH_EARG);
        assert_true(lth_kernel_param(kernel, i)->value == p.hi);
    }
    lth_kernel_free(kernel);
}

static void test_set(void **state) {
    (void)state;
    lth_error err = {0};
    lth_kernel *kernel = parse("ssk(text, order=2)");
    assert_int_equal(lth_kernel_set_path(kernel, "ssk.gap", 0.25, &err), LTH_OK);
    assert_int_equal(lth_kernel_set_path(kernel, "ssk.match", 2, &err), LTH_OK);
    assert_int_equal(lth_kernel_set_path(kernel, "ssk.weights[2]", 0.1, &err), LTH_OK);
    check_param(kernel, 0, "ssk.gap", 0.25, false, NULL);
    check_param(kernel, 3, "ssk.weights[2]", 0.1, false, NULL);
    check_print(kernel, "ssk(text, order=2, gap=0.25, match=2!, weights=[1,0.1])");
    assert_int_equal(lth_kernel_set(kernel, 0, 0.75, &err), LTH_OK);
    check_print(kernel, "ssk(text, order=2, gap=0.75, match=2!, weights=[1,0.1])");

    assert_int_equal(lth_kernel_set_path(kernel, "ssk.gab", 0.5, &err), LTH_EARG);
    assert_string_equal(err.message,
                        "the kernel has no parameter \"ssk.gab\"; did you mean \"ssk.gap\"?");
    assert_int_equal(lth_kernel_set_path(kernel, "lengthscale", 0.5, &err), LTH_EARG);
    assert_string_equal(err.message, "the kernel has no parameter \"lengthscale\"");
    assert_int_equal(lth_kernel_set(kernel, 4, 0.5, &err), LTH_EARG);
    assert_string_equal(err.message, "there is no parameter 4; the kernel has 4");
    assert_int_equal(lth_kernel_set_path(kernel, "ssk.gap", 2, &err), LTH_EARG);
    assert_string_equal(err.message, "ssk.gap is 2, but must lie in [0, 1]");
    assert_int_equal(err.column, 0);
    lth_kernel_free(kernel);
}

static void test_ties(void **state) {
    (void)state;
    lth_error err = {0};
    lth_kernel *kernel = parse("$v=0.5! * ssk(text, order=1, gap=$v) + ssk(text, order=1, gap=$v)");
    check_param(kernel, 0, "variance", 0.5, true, "v");
    check_param(kernel, 1, "ssk.gap", 0.5, true, "v");
    check_param(kernel, 4, "ssk2.gap", 0.5, true, "v");
    assert_int_equal(lth_kernel_set_path(kernel, "ssk2.gap", 0.75, &err), LTH_OK);
    check_param(kernel, 0, "variance", 0.75, true, "v");
    check_param(kernel, 1, "ssk.gap", 0.75, true, "v");
    check_param(kernel, 4, "ssk2.gap", 0.75, true, "v");
    /* A variance of 5 would do, but not a gap: nothing changes. */
    assert_int_equal(lth_kernel_set_path(kernel, "variance", 5, &err), LTH_EARG);
    assert_string_equal(err.message, "ssk.gap is 5, but must lie in [0, 1]");
    check_param(kernel, 0, "variance", 0.75, true, "v");
    check_param(kernel, 4, "ssk2.gap", 0.75, true, "v");
    check_print(kernel, "$v=0.75! * ssk(text, order=1, gap=$v) + ssk(text, order=1, gap=$v)");
    lth_kernel_free(kernel);
}

/* ---- Columns, orders, vectors --------------------------------------------------------------- */

static void test_columns(void **state) {
    (void)state;
    lth_kernel *kernel = parse("ssk(b) + ssk(\"a b\", units=chars) * ssk(b, units=chars) + ssk(c)");
    assert_string_equal(lth_kernel_column(kernel, 0), "b");
    assert_string_equal(lth_kernel_column(kernel, 1), "a b");
    assert_string_equal(lth_kernel_column(kernel, 2), "c");
    assert_null(lth_kernel_column(kernel, 3));
    assert_null(lth_kernel_column(kernel, 100));
    lth_kernel_free(kernel);
}

static void test_kinds_of_columns(void **state) {
    (void)state;
    lth_kernel *kernel = parse("bow(a) + ptk(b) * rbf(f1..f3) + linear(mean(c)) + rbf(x)");
    static const lth_column_kind kinds[] = {LTH_COLUMN_TEXT, LTH_COLUMN_TREE, LTH_COLUMN_NUMBERS,
                                            LTH_COLUMN_TEXT, LTH_COLUMN_NUMBERS};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(lth_kernel_column_kind(kernel, i), kinds[i]);
    lth_kernel_free(kernel);
}

/* Whatever is learned knows the manual that it comes from. */
static void test_roles(void **state) {
    (void)state;
    static const struct {
        const char *path, *family;
        lth_role role;
    } rows[] = {{"variance", "number", LTH_ROLE_VARIANCE},
                {"ssk.gap", "ssk", LTH_ROLE_GAP},
                {"ssk.match", "ssk", LTH_ROLE_OTHER},
                {"ssk.weights[1]", "ssk", LTH_ROLE_WEIGHT},
                {"ssk.rarity", "ssk", LTH_ROLE_RARITY},
                {"rbf.variance", "rbf", LTH_ROLE_VARIANCE},
                {"rbf.lengthscale[1]", "rbf", LTH_ROLE_LENGTHSCALE},
                {"rbf.lengthscale[2]", "rbf", LTH_ROLE_LENGTHSCALE},
                {"constant", "number", LTH_ROLE_VARIANCE}};
    lth_kernel *kernel =
        parse("2 * ssk(text, order=1, sim=cosine, rarity=1) + rbf(f1..f2, ard=yes) + 3");
    assert_int_equal(lth_kernel_params(kernel), sizeof rows / sizeof *rows);
    for (size_t i = 0; i < lth_kernel_params(kernel); i++) {
        lth_param p = *lth_kernel_param(kernel, i);
        assert_string_equal(p.path, rows[i].path);
        assert_string_equal(p.family->name, rows[i].family);
        assert_int_equal(p.argument->role, rows[i].role);
    }
    lth_kernel_free(kernel);
}

static void test_size(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool has, has_held; /* `has_held`: when nothing is learned */
    } cases[] = {
        {"ssk(text)", true, false},
        {"normalize(ssk(text))", false, false},
        {"2 * normalize(ssk(text))", true, true},
        {"ssk(text) + sstk(tree)", false, false},
        {"ssk(text) + rbf(x)", true, false},
        {"ssk(text) * sstk(tree)", true, false},
        {"normalize(ssk(text)) * 3", true, true},
        {"normalize(ssk(text)) + 3", false, false},
        {"linear(bow(text))", true, true},
        {"tanimoto(bow(text))", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_kernel *kernel = parse(cases[i].text);
        bool held[16] = {false};
        assert_int_equal(lth__kernel_has_size(kernel, held), cases[i].has);
        for (size_t p = 0; p < 16; p++) held[p] = true;
        assert_int_equal(lth__kernel_has_size(kernel, held), cases[i].has_held);
        lth_kernel_free(kernel);
    }
}

static void test_orders_and_vectors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t orders;
        bool vectors;
    } cases[] = {
        {"ssk(text)", 5, false},
        {"ssk(text, order=64, sim=dot)", 64, true},
        {"(ssk(text, order=1, sim=exact))", 1, false},
        {"normalize(ssk(text))", 0, false},
        {"2 * ssk(text)", 0, false},
        {"ssk(text) + ssk(text, sim=arccos)", 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_kernel *kernel = parse(cases[i].text);
        assert_int_equal(lth_kernel_orders(kernel), cases[i].orders);
        assert_int_equal(lth_kernel_needs_vectors(kernel), cases[i].vectors);
        lth_kernel_free(kernel);
    }
}

/* ---- Mistakes ------------------------------------------------------------------------------- */

/* "..." stands for any beginning. */
static void check_message(const char *message, const char *wanted) {
    if (strncmp(wanted, "...", 3) == 0) {
        size_t length = strlen(message), end = strlen(wanted += 3);
        if (length > end) message += length - end;
    }
    assert_string_equal(message, wanted);
}

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t column;
        const char *message;
    } cases[] = {
        {"sk(text)", 1, "unknown kernel \"sk\"; did you mean \"ssk\"?"},
        {"2 * normalise(ssk(text))", 5,
         "unknown kernel \"normalise\"; did you mean \"normalize\"?"},
        {"zebra(text)", 1, "unknown kernel \"zebra\"; `luthier kernels` lists them"},
        {"ssk(text, gab=1)", 11, "ssk has no argument \"gab\"; did you mean \"gap\"?"},
        {"ssk(text, lengthscale=1)", 11,
         "ssk has no argument \"lengthscale\"; see luthier kernels ssk"},
        {"normalize(ssk(text), gap=1)", 22,
         "normalize has no argument \"gap\"; see luthier kernels normalize"},
        {"ssk()", 1,
         "ssk needs a column: ssk(COLUMN, order=5, units=words, sim=exact, gap=0.5, ...)"},
        {"1 + normalize()", 5, "normalize needs a kernel: normalize(KERNEL)"},
        {"normalize(text)", 11, "normalize works on a kernel, not on a column: normalize(KERNEL)"},
        {"ssk(ssk(text))", 5,
         "ssk works on a column, not on a kernel: ssk(COLUMN, order=5, units=words, sim=exact, "
         "gap=0.5, ...)"},
        {"ssk(a, b)", 8, "...; other arguments are written name=value"},
        {"ssk(f1..f3)", 5, "ssk works on one column, not on a range"},
        {"normalize(ssk(a), ssk(b))", 19, "...; other arguments are written name=value"},
        {"ssk(text, order=0)", 17, "order of ssk is a whole number from 1 to 64"},
        {"ssk(text, order=65)", 17, "order of ssk is a whole number from 1 to 64"},
        {"ssk(text, order=2.5)", 17, "order of ssk is a whole number from 1 to 64"},
        {"ssk(text, order=$n=2)", 17, "order of ssk is a whole number from 1 to 64"},
        {"ssk(text, order=[2])", 17, "order of ssk is a whole number from 1 to 64"},
        {"ssk(text, order=five)", 17, "order of ssk is a whole number from 1 to 64"},
        {"ssk(text, units=word)", 17, "units of ssk is one of words|tokens|chars|bytes"},
        {"ssk(text, sim=1)", 15, "sim of ssk is one of exact|dot|cosine|arccos|exp|matrix"},
        {"ssk(text, lower=maybe)", 17, "lower of ssk is one of no|yes"},
        {"ssk(text, gap=1.5)", 15, "ssk.gap is 1.5, but must lie in [0, 1]"},
        {"ssk(text, gap=-0.1)", 15, "ssk.gap is -0.1, but must lie in [0, 1]"},
        {"ssk(text, gap=small)", 15, "ssk.gap is a number, such as 0.5"},
        {"ssk(text, gap=[0.5])", 15, "ssk.gap is a number, such as 0.5"},
        {"ssk(text, weights=[1,2])", 19, "weights of ssk needs 5 numbers, but has 2"},
        {"ssk(text, order=1, weights=[])", 28, "weights of ssk needs 1 numbers, but has 0"},
        {"ssk(text, order=2, weights=[1,-2])", 31,
         "ssk.weights[2] is -2, but must lie in [0, 1e+09]"},
        {"ssk(text, order=2, weights=[1,a])", 31, "ssk.weights[2] is a number, such as 1"},
        {"ssk(a) + ssk(b, gap=2)", 21, "ssk2.gap is 2, but must lie in [0, 1]"},
        {"-1 * ssk(text)", 1, "variance is -1, but must lie in [0, 1e+12]"},
        {"ssk(text, gap=$a=0.5, match=$a=0.6)", 29, "$a has two values, 0.5 and 0.6: give it once"},
        {"ssk(text, order=1, gap=$a, match=$a=0.3, weights=$a=0.4)", 50,
         "$a has two values, 0.3 and 0.4: give it once"},
        {"ssk(text, gap=0.5..1.5)", 15, "ssk.gap has the bounds 0.5..1.5, but must lie in [0, 1]"},
        {"ssk(text, order=2..3)", 17, "order of ssk is a whole number from 1 to 64"},
        {"ssk(text, order=2 in 2..3)", 17, "order of ssk is a whole number from 1 to 64"},
        {"ssk(text, sim=1..2)", 15, "sim of ssk is one of exact|dot|cosine|arccos|exp|matrix"},
        {"ssk(text, gap=$a=0.1..0.5, match=$a=0.2..0.4)", 34,
         "$a has other bounds elsewhere: give it once"},
        {"ssk(text, gap=$a=0.3, match=$a=0.2..0.4)", 29,
         "$a has other bounds elsewhere: give it once"},
        {"ssk(text, gap=$a=0.1..0.5, match=$a=0.4)", 34,
         "$a has other bounds elsewhere: give it once"},
        {"ssk(text, gap=$a=0.1..0.5, match=$a=0.4 in 0.1..0.5)", 34,
         "$a has two values, 0.3 and 0.4: give it once"},
        {"ssk(text, gap=$a, match=$a=2)", 25, "ssk.gap is 2, but must lie in [0, 1]"},
        {"$a=2 * ssk(text, gap=$a)", 22, "ssk.gap is 2, but must lie in [0, 1]"},
        {"2", 1, "the expression reads no column"},
        {"2 * 3 + normalize(1)", 1, "the expression reads no column"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_error err = {0};
        lth_kernel *kernel = NULL;
        lth_status status = lth_kernel_parse(ctx, cases[i].text, &kernel, &err);
        if (status != LTH_EFORMAT || err.column != cases[i].column)
            print_error("%s: column %zu: %s\n", cases[i].text, err.column, err.message);
        assert_int_equal(status, LTH_EFORMAT);
        assert_null(kernel);
        assert_int_equal(err.column, cases[i].column);
        check_message(err.message, cases[i].message);
        assert_int_equal(lth_kernel_parse(ctx, cases[i].text, &kernel, NULL), LTH_EFORMAT);
    }
}

static void test_families(void **state) {
    (void)state;
    assert_string_equal(lth_family_at(0)->name, "ssk");
    size_t count = 0;
    for (const lth_family *f; (f = lth_family_at(count)); count++) {
        assert_true(f->name && f->help && f->usage);
        for (const lth_argument *a = f->arguments; a && a->name; a++) {
            assert_true(a->help && a->initial && a->choices);
            assert_true(!a->learned || a->lo < a->hi);
        }
    }
    assert_true(count >= 2);
    assert_null(lth_family_at(count + 1));
    lth_kernel_free(NULL);
}

/* ---- The prior of relevances ---------------------------------------------------------------- */

static double penalty_of(lth_kernel *kernel, double *gradient) {
    memset(gradient, 0, kernel->param_count * sizeof *gradient);
    return kernel->root->family->penalty(kernel->root, kernel, gradient);
}

static void test_shrink(void **state) {
    (void)state;
    enum { PARAMS = 7, GAP = 0, FIRST = 4 }; /* after gap, match, weights[1], temperature */
    lth_kernel *kernel =
        parse("ssk(text, order=1, sim=exp, ard=3, relevance=[0.1,1,8], shrink=0.5)");
    assert_int_equal(kernel->param_count, PARAMS);
    double gradient[PARAMS], room[PARAMS], a = log(0.1), b = log(8);
    assert_true(fabs(penalty_of(kernel, gradient) - (a * a + b * b) / (2 * 0.25)) < 1e-12);
    for (size_t p = 0; p < PARAMS; p++) {
        double *value = &kernel->params[p].value, start = *value, step = 1e-6;
        *value = start + step;
        double above = penalty_of(kernel, room);
        *value = start - step;
        double below = penalty_of(kernel, room);
        *value = start;
        assert_true(fabs(gradient[p] - (above - below) / (2 * step)) < 1e-6);
    }
    assert_true(gradient[GAP] == 0 && gradient[FIRST] < 0);
    lth_kernel_free(kernel);
    kernel = parse("ssk(text, order=1, sim=exp)");
    assert_true(penalty_of(kernel, gradient) == 0);
    lth_kernel_free(kernel);
}

/* A sum and 4,095 terms; the next is refused where it stands, not the first of millions. */
static void test_most_kernels(void **state) {
    (void)state;
    enum { TERMS = 4095, LENGTH = 7 };
    static char text[(TERMS + 1) * LENGTH + 1];
    for (size_t i = 0; i <= TERMS; i++) memcpy(text + i * LENGTH, "bow(x)+", LENGTH);
    text[(TERMS + 1) * LENGTH - 1] = 0;
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    assert_int_equal(lth_kernel_parse(ctx, text, &kernel, &err), LTH_EFORMAT);
    assert_int_equal(err.column, TERMS * LENGTH + 1);
    assert_string_equal(err.message, "an expression has at most 4096 kernels, sums and products");
    text[TERMS * LENGTH - 1] = 0;
    kernel = parse(text);
    assert_string_equal(kernel->nodes[TERMS]->path, "bow4095");
    lth_kernel_free(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_canonical_form),
        cmocka_unit_test(test_print_into_little_room),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_kinds_of_columns),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_orders_and_vectors),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_most_kernels),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
