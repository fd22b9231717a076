/* The grammar of kernel expressions: what is read, and where and why the rest is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "kernel/core/expression.h"

/* ---- Trees written out ---------------------------------------------------------------------- */

static void write_value(const lth__value *v, lth__string *out) {
    switch (v->kind) {
    case LTH__VALUE_WORD: lth__string_format(out, "%s", v->word); break;
    case LTH__VALUE_NUMBER:
        if (v->tag) lth__string_format(out, "$%s", v->tag);
        if (v->tag && v->given) lth__string_format(out, "=");
        if (v->given) lth__string_format(out, "%g", v->number);
        if (v->held) lth__string_format(out, "!");
        break;
    case LTH__VALUE_RANGE:
        if (v->tag) lth__string_format(out, "$%s=", v->tag);
        if (v->given) lth__string_format(out, "%g in ", v->number);
        lth__string_format(out, "%g..%g", v->lo, v->hi);
        break;
    case LTH__VALUE_LIST:
        lth__string_format(out, "[");
        for (size_t i = 0; i < v->count; i++) {
            if (i > 0) lth__string_format(out, " ");
            write_value(&v->items[i], out);
        }
        lth__string_format(out, v->held ? "]!" : "]");
        break;
    }
}

/* (NAME@COLUMN input... name=value...), columns as 'text', ranges as <first..last>. */
static void write_tree(const lth__expr *e, lth__string *out) {
    if (e->kind == LTH__EXPR_COLUMN) lth__string_format(out, e->range ? "<%s>" : "'%s'", e->name);
    if (e->kind == LTH__EXPR_NUMBER) write_value(&e->number, out);
    if (e->kind == LTH__EXPR_COLUMN || e->kind == LTH__EXPR_NUMBER) {
        lth__string_format(out, "@%zu", e->column);
        return;
    }
    const char *name = e->kind == LTH__EXPR_SUM       ? "+"
                       : e->kind == LTH__EXPR_PRODUCT ? "*"
                                                      : e->name;
    lth__string_format(out, "(%s@%zu", name, e->column);
    for (size_t i = 0; i < e->input_count; i++) {
        lth__string_format(out, " ");
        write_tree(e->inputs[i], out);
    }
    for (size_t i = 0; i < e->argument_count; i++) {
        lth__string_format(out, " %s@%zu=", e->arguments[i].name, e->arguments[i].column);
        write_value(&e->arguments[i].value, out);
    }
    lth__string_format(out, ")");
}

static void check_tree(const char *text, const char *wanted) {
    lth__pool pool = {0};
    lth_error err = {0};
    const lth__expr *e = NULL, *noise = NULL;
    lth__string written = {0};
    if (lth__expr_parse(text, &pool, &e, &noise, &err) != LTH_OK) {
        print_error("%s: column %zu: %s\n", text, err.column, err.message);
        fail();
    }
    write_tree(e, &written);
    if (noise) {
        lth__string_format(&written, " | ");
        write_tree(noise, &written);
    }
    assert_string_equal(written.bytes, wanted);
    lth__string_free(&written);
    lth__pool_free(&pool);
}

/* ---- Trees ---------------------------------------------------------------------------------- */

static void test_calls(void **state) {
    (void)state;
    check_tree("ssk(text)", "(ssk@1 'text'@5)");
    check_tree(" ssk ( text ) ", "(ssk@2 'text'@8)");
    check_tree("f()", "(f@1)");
    check_tree("ssk(text, order=5)", "(ssk@1 'text'@5 order@11=5)");
    check_tree("ssk(order=5,text)", "(ssk@1 'text'@13 order@5=5)");
    check_tree("rbf(f1..f17, ard=yes)", "(rbf@1 <f1..f17>@5 ard@14=yes)");
    check_tree("f(a,b,c,d,e)", "(f@1 'a'@3 'b'@5 'c'@7 'd'@9 'e'@11)");
    check_tree("normalize(ssk(text))", "(normalize@1 (ssk@11 'text'@15))");
    check_tree("f(g(h(i(x))))", "(f@1 (g@3 (h@5 (i@7 'x'@9))))");
    check_tree("f(\n\tx\r\n)", "(f@1 'x'@5)");
}

static void test_columns(void **state) {
    (void)state;
    check_tree("f(\"my column\")", "(f@1 'my column'@3)");
    check_tree("f(\"a,b)\", n=1)", "(f@1 'a,b)'@3 n@11=1)");
    check_tree("f(\"f1..f2\")", "(f@1 'f1..f2'@3)");
    check_tree("f(source-text_2)", "(f@1 'source-text_2'@3)");
    check_tree("f(b\u00E9b\u00E9, n=1)", "(f@1 'b\u00E9b\u00E9'@3 n@9=1)");
    check_tree("f(_x)", "(f@1 '_x'@3)");
    check_tree("f(1 + g(x))", "(f@1 (+@3 1@3 (g@7 'x'@9)))");
    check_tree("f((g(x)))", "(f@1 (g@4 'x'@6))");
}

static void test_sums_and_products(void **state) {
    (void)state;
    check_tree("a(x) + b(y)", "(+@1 (a@1 'x'@3) (b@8 'y'@10))");
    check_tree("a(x) * b(y)", "(*@1 (a@1 'x'@3) (b@8 'y'@10))");
    check_tree("a(x)+b(x)*c(x)", "(+@1 (a@1 'x'@3) (*@6 (b@6 'x'@8) (c@11 'x'@13)))");
    check_tree("(a(x)+b(x))*c(x)", "(*@2 (+@2 (a@2 'x'@4) (b@7 'x'@9)) (c@13 'x'@15))");
    check_tree("(a(x)+b(x))+c(x)", "(+@2 (a@2 'x'@4) (b@7 'x'@9) (c@13 'x'@15))");
    check_tree("a(x)+(b(x)+c(x))", "(+@1 (a@1 'x'@3) (b@7 'x'@9) (c@12 'x'@14))");
    check_tree("(a(x)*b(x))*(c(x)*1)", "(*@2 (a@2 'x'@4) (b@7 'x'@9) (c@14 'x'@16) 1@19)");
    check_tree("((a(x)))", "(a@3 'x'@5)");
    check_tree("2.5 * a(x) + 0.1!", "(+@1 (*@1 2.5@1 (a@7 'x'@9)) 0.1!@14)");
    check_tree("$v * a(x) + $v=3!", "(+@1 (*@1 $v@1 (a@6 'x'@8)) $v=3!@13)");
    check_tree("a(x) | 2 * b(y)", "(a@1 'x'@3) | (*@8 2@8 (b@12 'y'@14))");
}

static void test_values(void **state) {
    (void)state;
    check_tree("f(x, a=0.5)", "(f@1 'x'@3 a@6=0.5)");
    check_tree("f(x, a=0.5!)", "(f@1 'x'@3 a@6=0.5!)");
    check_tree("f(x, a = $t)", "(f@1 'x'@3 a@6=$t)");
    check_tree("f(x, a=$t=0.5)", "(f@1 'x'@3 a@6=$t=0.5)");
    check_tree("f(x, a=$t = 0.5 !)", "(f@1 'x'@3 a@6=$t=0.5!)");
    check_tree("f(x, a=-1e-3)", "(f@1 'x'@3 a@6=-0.001)");
    check_tree("f(x, a=+.5E+2)", "(f@1 'x'@3 a@6=50)");
    check_tree("f(x, a=word)", "(f@1 'x'@3 a@6=word)");
    check_tree("f(x, a=[1,.5,-.25])", "(f@1 'x'@3 a@6=[1 0.5 -0.25])");
    check_tree("f(x, a=[.5, .25])", "(f@1 'x'@3 a@6=[0.5 0.25])");
    check_tree("f(x, a=[])", "(f@1 'x'@3 a@6=[])");
    check_tree("f(x, a=[]!)", "(f@1 'x'@3 a@6=[]!)");
    check_tree("f(x, a=[1, 2!,$t,$u=3,w])", "(f@1 'x'@3 a@6=[1 2! $t $u=3 w])");
    check_tree("f(x, a=[1,2]!)", "(f@1 'x'@3 a@6=[1! 2!]!)");
}

static void test_bounds(void **state) {
    (void)state;
    check_tree("f(x, a=0.2..0.4)", "(f@1 'x'@3 a@6=0.2..0.4)");
    check_tree("f(x, a=-1..+.5)", "(f@1 'x'@3 a@6=-1..0.5)");
    check_tree("f(x, a=1e-3 .. 1E3)", "(f@1 'x'@3 a@6=0.001..1000)");
    check_tree("f(x, a=.1...5)", "(f@1 'x'@3 a@6=0.1..0.5)");
    check_tree("f(x, a=0.3 in 0.2..0.4)", "(f@1 'x'@3 a@6=0.3 in 0.2..0.4)");
    check_tree("f(x, a=0.2 in 0.2 ..0.4)", "(f@1 'x'@3 a@6=0.2 in 0.2..0.4)");
    check_tree("f(x, a=$t=1..2, b=$t)", "(f@1 'x'@3 a@6=$t=1..2 b@17=$t)");
    check_tree("f(x, a=$t=1 in 1..2)", "(f@1 'x'@3 a@6=$t=1 in 1..2)");
    check_tree("f(x, a=[1..2,3!,4 in 3..5])", "(f@1 'x'@3 a@6=[1..2 3! 4 in 3..5])");
    check_tree("1..2 * g(f1..f2) + 3 in 2..4", "(+@1 (*@1 1..2@1 (g@8 <f1..f2>@10)) 3 in 2..4@20)");
}

/* ---- Mistakes ------------------------------------------------------------------------------- */

typedef struct mistake {
    const char *text;
    size_t column;
    const char *message;
} mistake;

static const char not_a_kernel[] = "a kernel, a number or \"(\" is expected here, not \"%s\"";
static const char kernel_ends[] =
    "a kernel, a number or \"(\" is expected, but the expression ends";
static const char input_ends[] = "a column or a kernel is expected, but the expression ends";
static const char call_goes_on[] = "\",\" or \")\" is expected, but the expression ends";
static const char not_a_number[] = "this is not a number";

static void check_mistake(const mistake *m, const char *wanted) {
    lth__pool pool = {0};
    lth_error err = {0};
    const lth__expr *e = NULL, *noise = NULL;
    lth_status status = lth__expr_parse(m->text, &pool, &e, &noise, &err);
    lth__pool_free(&pool);
    if (status != LTH_EFORMAT || err.column != m->column || strcmp(err.message, wanted) != 0)
        print_error("%s: status %d, column %zu: %s\n", m->text, status, err.column, err.message);
    assert_null(e);
    assert_int_equal(status, LTH_EFORMAT);
    assert_int_equal(err.status, LTH_EFORMAT);
    assert_int_equal(err.line, 0);
    assert_int_equal(err.column, m->column);
    assert_string_equal(err.file, "");
    assert_string_equal(err.message, wanted);
}

static void test_mistakes(void **state) {
    (void)state;
    static const mistake mistakes[] = {
        {"", 1, kernel_ends},
        {"   ", 4, kernel_ends},
        {"ssk(", 5, input_ends},
        {"ssk(text", 9, call_goes_on},
        {"ssk(text,", 10, input_ends},
        {"ssk(text,)", 10, "a column or a kernel is expected here, not \")\""},
        {"ssk(text))", 10, "this \")\" closes nothing"},
        {"ssk(text) ssk(text)", 11, "\"+\", \"*\" or the end is expected here, not \"s\""},
        {"ssk(text) | ", 13, kernel_ends},
        {"rbf(x) | rbf(x) | rbf(x)", 17, "\"+\", \"*\" or the end is expected here, not \"|\""},
        {"normalize(rbf(x) | rbf(x))", 18, "\",\" or \")\" is expected here, not \"|\""},
        {"ssk(text) 2", 11, "\"+\", \"*\" or the end is expected here, not \"2\""},
        {"ssk(text) +", 12, kernel_ends},
        {"ssk(text) *  ", 14, kernel_ends},
        {"(ssk(text)", 11, "\")\" is expected, but the expression ends"},
        {"(ssk(text) 2)", 12, "\")\" is expected here, not \"2\""},
        {"ssk(text; order=5)", 9, "\",\" or \")\" is expected here, not \";\""},
        {"ssk(text order=5)", 10, "\",\" or \")\" is expected here, not \"o\""},
        {"ssk(b\u00E9 \u00E9)", 8, "\",\" or \")\" is expected here, not \"\u00E9\""},
        {"ssk(x, a=)", 10, "a number, a word or a list is expected here, not \")\""},
        {"ssk(x, a=", 10, "a number, a word or a list is expected, but the expression ends"},
        {"ssk(x, a=1, a=2)", 13, "\"a\" is given twice"},
        {"ssk(x, a=1!!)", 12, "\",\" or \")\" is expected here, not \"!\""},
        {"ssk(x, a=1.2.3)", 10, not_a_number},
        {"ssk(x, a=1e)", 10, not_a_number},
        {"ssk(x, a=1e999)", 10, not_a_number},
        {"ssk(x, a=0x10)", 11, "\",\" or \")\" is expected here, not \"x\""},
        {"ssk(x, a=-)", 10, "a number, a word or a list is expected here, not \"-\""},
        {"2..1 * ssk(x)", 1, "the lower bound must be below the upper"},
        {"ssk(x, a=0.3..0.3)", 10, "the lower bound must be below the upper"},
        {"ssk(x, a=1 in 3..2)", 10, "the lower bound must be below the upper"},
        {"ssk(x, a=1 in 2..3)", 10, "1 is not within its bounds, 2..3"},
        {"ssk(x, a=[1,4 in 2..3])", 13, "4 is not within its bounds, 2..3"},
        {"ssk(x, a=1..2!)", 10, "a number is held by \"!\" or learned between bounds, not both"},
        {"ssk(x, a=1! in 1..2)", 10,
         "a number is held by \"!\" or learned between bounds, not both"},
        {"ssk(x, a=[1,1..2]!)", 13,
         "a number is held by \"!\" or learned between bounds, not both"},
        {"ssk(x, a=1..)", 13, "a number is expected here, not \")\""},
        {"ssk(x, a=1 in 2)", 16, "\"..\" and the upper bound is expected here, not \")\""},
        {"ssk(x, a=1 in b..c)", 15, "a number is expected here, not \"b\""},
        {"ssk(x, a=1 inside)", 12, "\",\" or \")\" is expected here, not \"i\""},
        {"ssk(x, a=1..2..3)", 14, "\",\" or \")\" is expected here, not \".\""},
        {"ssk(x, a=1....2)", 13, "a number is expected here, not \".\""},
        {"ssk(x, a=$)", 11, "the name of a shared value, as in $a, is expected here, not \")\""},
        {"ssk(x, a=$ b)", 11, "the name of a shared value, as in $a, is expected here, not \" \""},
        {"ssk(x, a=$1)", 11, "the name of a shared value, as in $a, is expected here, not \"1\""},
        {"ssk(x, a=$b=)", 13, "a number is expected here, not \")\""},
        {"ssk(x, a=$b=c)", 13, "a number is expected here, not \"c\""},
        {"ssk(x, a=$b!)", 12, "\",\" or \")\" is expected here, not \"!\""},
        {"ssk(x, a=[1)", 12, "\",\" or \"]\" is expected here, not \")\""},
        {"ssk(x, a=[1,)", 13, "a number, a word or a list is expected here, not \")\""},
        {"ssk(x, a=[1", 12, "\",\" or \"]\" is expected, but the expression ends"},
        {"ssk(x, a=[1, [2]])", 14, "a list cannot hold a list"},
        {"ssk(f1..)", 9, "the last column of the range is expected here, not \")\""},
        {"ssk(f1..2)", 9, "the last column of the range is expected here, not \"2\""},
        {"ssk(f1.f2)", 7, "\",\" or \")\" is expected here, not \".\""},
        {"ssk(\"text)", 5, "this quoted column name is not closed"},
        {"ssk(\"\")", 5, "this column name is empty"},
        {"text", 1,
         "\"text\" is not followed by \"(\": a kernel is written as NAME(COLUMN, ...), as in "
         "ssk(text)"},
        {"ssk(x) + text", 10,
         "\"text\" is not followed by \"(\": a kernel is written as NAME(COLUMN, ...), as in "
         "ssk(text)"},
        {"ssk(x\xff)", 6, "this byte is not valid UTF-8"},
        {"ssk(\u00E9\xc3", 6, "this byte is not valid UTF-8"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        check_mistake(&mistakes[i], mistakes[i].message);
}

static void test_characters_that_begin_nothing(void **state) {
    (void)state;
    static const mistake mistakes[] = {
        {"+", 1, "+"},  {"*", 1, "*"},     {")", 1, ")"},   {"ssk(x) + * 2", 10, "*"},
        {"()", 2, ")"}, {"-a(x)", 1, "-"}, {"[1]", 1, "["},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, not_a_kernel, mistakes[i].message);
        check_mistake(&mistakes[i], wanted);
    }
    check_mistake(&(mistake){"ssk(x) * (", 11, NULL}, kernel_ends);
}

/* 200 may be open at once, whatever they are; one more is refused, where it stands. */
static void test_depth(void **state) {
    (void)state;
    enum { MOST = 200 };
    char text[4 * MOST + 64];
    for (size_t depth = MOST - 1; depth <= MOST; depth++) {
        char *at = text;
        for (size_t i = 0; i < depth; i++) *at++ = '(';
        at += sprintf(at, "f(x)");
        for (size_t i = 0; i < depth; i++) *at++ = ')';
        *at = 0;
        if (depth < MOST)
            check_tree(text, "(f@200 'x'@202)");
        else
            check_mistake(&(mistake){text, MOST + 1, NULL}, "too many nested parentheses");
    }
    strcpy(text, "f(x, a=");
    memset(text + 7, '[', MOST + 1);
    text[7 + MOST + 1] = 0;
    check_mistake(&(mistake){text, 7 + MOST, NULL}, "too many nested brackets");
}

/* Each is compared with those before it, so that there are few. */
static void test_most_arguments(void **state) {
    (void)state;
    enum { MOST = 64 };
    char text[16 * MOST] = "f(x", *at = text + 3;
    for (size_t i = 0; i < MOST; i++) at += sprintf(at, ",a%zu=1", i);
    strcpy(at, ",b=1)");
    check_mistake(&(mistake){text, (size_t)(at - text) + 2, NULL}, "too many arguments");
    strcpy(at, ")");
    lth__pool pool = {0};
    lth_error err = {0};
    const lth__expr *e = NULL, *noise = NULL;
    assert_int_equal(lth__expr_parse(text, &pool, &e, &noise, &err), LTH_OK);
    lth__pool_free(&pool);
}

static void test_names(void **state) {
    (void)state;
    assert_true(lth__expr_is_name("text"));
    assert_true(lth__expr_is_name("_a-1"));
    assert_true(lth__expr_is_name("\u00E9"));
    assert_false(lth__expr_is_name(""));
    assert_false(lth__expr_is_name("1a"));
    assert_false(lth__expr_is_name("-a"));
    assert_false(lth__expr_is_name("a b"));
    assert_false(lth__expr_is_name("f1..f2"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_sums_and_products),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_characters_that_begin_nothing),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_most_arguments),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
