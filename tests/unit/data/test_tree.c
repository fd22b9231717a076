/* Trees from brackets and from CoNLL-U, the table format .conllu, and their errors with exact
 * places. A tree is written as its nodes in post-order, each as label/children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/tree.h"

/* ---- The allocator that fails --------------------------------------------------------------- */

static size_t calls, fail_at; /* 0 = never */

static bool fails_now(void) {
    return ++calls == fail_at;
}

void *__real_lth__alloc(size_t count, size_t size);
void *__wrap_lth__alloc(size_t count, size_t size);
void *__wrap_lth__alloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_lth__alloc(count, size);
}

void *__real_lth__calloc(size_t count, size_t size);
void *__wrap_lth__calloc(size_t count, size_t size);
void *__wrap_lth__calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_lth__calloc(count, size);
}

bool __real_lth__reserve(void **array, size_t *capacity, size_t need, size_t size);
bool __wrap_lth__reserve(void **array, size_t *capacity, size_t need, size_t size);
bool __wrap_lth__reserve(void **array, size_t *capacity, size_t need, size_t size) {
    if (need > *capacity && fails_now()) return false;
    return __real_lth__reserve(array, capacity, need, size);
}

char *__real_lth__pool_strndup(lth__pool *pool, const char *text, size_t length);
char *__wrap_lth__pool_strndup(lth__pool *pool, const char *text, size_t length);
char *__wrap_lth__pool_strndup(lth__pool *pool, const char *text, size_t length) {
    return fails_now() ? NULL : __real_lth__pool_strndup(pool, text, length);
}

/* ---- Helpers -------------------------------------------------------------------------------- */

static lth__symbols *labels;
static lth__tree tree;

static int set_up(void **state) {
    (void)state;
    labels = lth__symbols_create();
    return labels ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    lth__symbols_free(labels);
    lth__tree_free(&tree);
    return 0;
}

/* An exact copy, so that AddressSanitizer sees a read past the end. */
static lth_status read_text(const char *text, size_t length, lth__tree_format format,
                            unsigned strip, lth_error *err) {
    char *copy = malloc(length + !length);
    assert_non_null(copy);
    memcpy(copy, text, length);
    lth_status status = lth__tree_read(copy, length, format, strip, labels, &tree, err);
    free(copy);
    return status;
}

static void check(lth__tree_format format, unsigned strip, const char *text, const char *wanted) {
    char got[1024] = "";
    size_t used = 0;
    lth_error err = {0};
    lth_status status = read_text(text, strlen(text), format, strip, &err);
    if (status != LTH_OK) print_error("%zu:%zu: %s\n", err.line, err.column, err.message);
    assert_int_equal(status, LTH_OK);
    for (size_t i = 0; i < tree.count; i++)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%s/%u", i > 0 ? " " : "",
                                 lth__symbols_text(labels, tree.nodes[i].label, NULL),
                                 tree.nodes[i].children);
    assert_string_equal(got, wanted);
}

static void fails(lth__tree_format format, const char *text, size_t line, size_t column,
                  const char *message) {
    for (unsigned strip = 0; strip < 4; strip++) {
        lth_error err = {0};
        assert_int_equal(read_text(text, strlen(text), format, strip, &err), LTH_EFORMAT);
        assert_string_equal(err.message, message);
        assert_int_equal(err.line, line);
        assert_int_equal(err.column, column);
        assert_int_equal(err.status, LTH_EFORMAT);
        assert_int_equal(tree.count, 0);
    }
    assert_int_equal(read_text(text, strlen(text), format, 0, NULL), LTH_EFORMAT);
}

static void brackets(const char *text, const char *wanted) {
    check(LTH__TREE_BRACKETS, 0, text, wanted);
}

static void brackets_fail(const char *text, size_t column, const char *message) {
    fails(LTH__TREE_BRACKETS, text, 0, column, message);
}

/* ---- Brackets ------------------------------------------------------------------------------- */

static void brackets_are_read(void **state) {
    (void)state;
    brackets("(S (NP (DT the) (NN cat)) (VP sat))", "the/0 DT/1 cat/0 NN/1 NP/2 sat/0 VP/1 S/2");
    brackets("(S(A a)(B b))", "a/0 A/1 b/0 B/1 S/2");
    brackets(" \n\t( S\r\n\n  ( A a )\t)\n\n", "a/0 A/1 S/1");
    brackets("(NP New York)", "New/0 York/0 NP/2");
    brackets("(NP New (X x) York)", "New/0 x/0 X/1 York/0 NP/3");
    brackets("(NP)", "NP/0");
    brackets("(S (NP ) (VP sat))", "NP/0 sat/0 VP/1 S/2");
    brackets("(S d\xC3\xA9j\xC3\xA0)", "d\xC3\xA9j\xC3\xA0/0 S/1");
    brackets("", "");
    brackets(" \n\t ", "");
}

static void the_same_label_is_the_same_symbol(void **state) {
    (void)state;
    brackets("(x (y x) (x y))", "x/0 y/1 y/0 x/1 x/2");
    assert_int_equal(tree.nodes[0].label, tree.nodes[4].label);
    assert_int_equal(tree.nodes[1].label, tree.nodes[2].label);
    assert_int_equal(lth__symbols_count(labels), 2);
    assert_int_equal(lth__symbols_seen(labels, tree.nodes[0].label), 3);
}

static void roots_without_a_label(void **state) {
    (void)state;
    brackets("( (S (A a)) )", "a/0 A/1 S/1");
    brackets("((S a))", "a/0 S/1");
    brackets("(ROOT (S a))", "a/0 S/1 ROOT/1");
    brackets("((S a) (T b))", "a/0 S/1 b/0 T/1 ROOT/2");
    brackets("((S a) b)", "a/0 S/1 b/0 ROOT/2");
    assert_int_equal(lth__symbols_find(labels, "", 0), LTH__NO_SYMBOL); /* no trace of it */
    brackets("((((S a))))", "a/0 S/1");
    brackets("(((S a) (T b)))", "a/0 S/1 b/0 T/1 ROOT/2");
    brackets("(S ((A a)) b)", "a/0 A/1 /1 b/0 S/2");
}

static void words_may_hold_brackets(void **state) {
    (void)state;
    brackets("(S (-LRB- -LRB-) (-RSB- -RSB-))", "-LRB-/0 -LRB-/1 -RSB-/0 -RSB-/1 S/2");
    brackets("(S \\( a\\)b \\\\)", "(/0 a)b/0 \\/0 S/3");
    brackets("(\\(x y)", "y/0 (x/1");
    brackets("(CD 1\\/2 \\x)", "1\\/2/0 \\x/0 CD/2"); /* other backslashes are themselves */
    brackets("(A a\\\\)", "a\\/0 A/1");
    brackets_fail("(A a\\)", 1, "this bracket is never closed");
    brackets_fail("(A a)\\", 6, "text after the tree");
}

static void bracket_mistakes_have_a_place(void **state) {
    (void)state;
    brackets_fail("word", 1, "a tree begins with (");
    brackets_fail("  word (S a)", 3, "a tree begins with (");
    brackets_fail("()", 1, "an empty bracket");
    brackets_fail("(S (A a) ( \n))", 10, "an empty bracket");
    brackets_fail("(S \xC3\xA9 ())", 6, "an empty bracket"); /* characters, not bytes */
    brackets_fail("(", 1, "this bracket is never closed");
    brackets_fail(" (S (A a)", 2, "this bracket is never closed");
    brackets_fail("(S (A a) (B b", 10, "this bracket is never closed");
    brackets_fail(")", 1, "a ) without its (");
    brackets_fail("(S a))", 6, "a ) without its (");
    brackets_fail("(S a) (T b)", 7, "a second tree begins here; a cell holds one");
    brackets_fail("(S \xC3\xA9)\n\n(T b)", 8, "a second tree begins here; a cell holds one");
    brackets_fail("(-NONE- *) (T b)", 12, "a second tree begins here; a cell holds one");
    brackets_fail("(S a) b", 7, "text after the tree");
}

static void tags_are_stripped(void **state) {
    (void)state;
    static const char text[] = "(S-1 (NP-SBJ-1 (PRP$ my-own) (NN=2 x=y)) (-LRB- -LRB-) (-NONE- *-1)"
                               " (X-Y) (NP=2-SBJ z) (- -) (=a b))";
    check(LTH__TREE_BRACKETS, LTH__STRIP_TAGS, text,
          "my-own/0 PRP$/1 x=y/0 NN/1 NP/2 -LRB-/0 -LRB-/1 *-1/0 -NONE-/1 X-Y/0 z/0 NP/1 -/0 -/1 "
          "b/0 =a/1 S/7");
    brackets("(NP-SBJ a)", "a/0 NP-SBJ/1");
    check(LTH__TREE_BRACKETS, LTH__STRIP_TAGS, "(((A-B a)-c)-d)", "a/0 A/1 -c/0 /2 -d/0 ROOT/2");
}

static void traces_are_stripped(void **state) {
    (void)state;
    enum { TRACES = LTH__STRIP_TRACES };
    check(LTH__TREE_BRACKETS, TRACES, "(S (NP-1 (-NONE- *)) (VP sat))", "sat/0 VP/1 S/1");
    assert_int_equal(lth__symbols_find(labels, "*", 1), LTH__NO_SYMBOL);
    assert_int_equal(lth__symbols_find(labels, "NP-1", 4), LTH__NO_SYMBOL);
    check(LTH__TREE_BRACKETS, TRACES, "(S (A (B (-NONE- *) (-NONE- x y))) (NP) (C (-NONE-) c))",
          "NP/0 c/0 C/1 S/2");
    check(LTH__TREE_BRACKETS, TRACES, "(S (-NONE- (X (-NONE- a) b) (Y c)) d)", "d/0 S/1");
    check(LTH__TREE_BRACKETS, TRACES, "(S a -NONE- -NONE-x)", "a/0 -NONE-x/0 S/2");
    check(LTH__TREE_BRACKETS, TRACES, "( (S (NP (-NONE- *))) )", "");
    check(LTH__TREE_BRACKETS, TRACES, "(-NONE- *)", "");
    check(LTH__TREE_BRACKETS, TRACES, "( (-NONE- *) (S a) )", "a/0 S/1");
    check(LTH__TREE_BRACKETS, TRACES | LTH__STRIP_TAGS, "(S-1 (NP-2 (-NONE- *)) (VP-3 a-b))",
          "a-b/0 VP/1 S/1");
    brackets("(S (NP (-NONE- *)) a)", "*/0 -NONE-/1 NP/1 a/0 S/2");
}

/* ---- CoNLL-U -------------------------------------------------------------------------------- */

#define DOGS "1\tDogs\tdog\tNOUN\tNNS\t_\t3\tnsubj:pass\t_\t_\n"
#define WERE "2\twere\tbe\tAUX\t_\t_\t3\taux:pass\t_\t_\n"
#define SEEN "3\tseen\tsee\tVERB\tVBN\t_\t0\troot\t_\t_\n"
#define HERE "4\there\there\t_\t_\t_\t3\tadvmod\t_\t_\n"
#define SENTENCE DOGS WERE SEEN HERE

#define GRCT                                                                                       \
    "Dogs/0 NNS/1 nsubj:pass/1 were/0 AUX/1 aux:pass/1 seen/0 VBN/1 here/0 _/1 advmod/1 root/4"
#define LCT                                                                                        \
    "nsubj:pass/0 NNS/0 Dogs/2 aux:pass/0 AUX/0 were/2 advmod/0 _/0 here/2 root/0 VBN/0 seen/5"

static void sentences_have_two_shapes(void **state) {
    (void)state;
    check(LTH__TREE_GRCT, 0, SENTENCE, GRCT);
    check(LTH__TREE_LCT, 0, SENTENCE, LCT);
    check(LTH__TREE_GRCT, LTH__STRIP_TAGS, DOGS WERE SEEN,
          "Dogs/0 NNS/1 nsubj/1 were/0 AUX/1 aux/1 seen/0 VBN/1 root/3");
    check(LTH__TREE_LCT, LTH__STRIP_TAGS, DOGS WERE SEEN,
          "nsubj/0 NNS/0 Dogs/2 aux/0 AUX/0 were/2 root/0 VBN/0 seen/4");
    check(LTH__TREE_LCT, LTH__STRIP_TAGS, "1\ta-b\t_\tN-x\t_\t_\t0\t:r:s\t_\t_",
          ":r/0 N-x/0 a-b/2");
}

static void crossing_words_keep_their_order(void **state) {
    (void)state;
    static const char text[] = "1\ta\t_\tA\t_\t_\t3\tx\t_\t_\n2\tb\t_\tB\t_\t_\t0\troot\t_\t_\n"
                               "3\tc\t_\tC\t_\t_\t2\ty\t_\t_\n4\td\t_\tD\t_\t_\t2\tz\t_\t_\n";
    check(LTH__TREE_GRCT, 0, text, "b/0 B/1 a/0 A/1 x/1 c/0 C/1 y/2 d/0 D/1 z/1 root/3");
    check(LTH__TREE_LCT, 0, text, "x/0 A/0 a/2 y/0 C/0 c/3 z/0 D/0 d/2 root/0 B/0 b/4");
}

static void other_lines_are_skipped(void **state) {
    (void)state;
    check(LTH__TREE_GRCT, 0, "", "");
    check(LTH__TREE_GRCT, 0, "# sent_id = 1\n\n \n", "");
    check(LTH__TREE_GRCT, 0, "\n# a\n" SENTENCE "\n\n# b\n", GRCT);
    check(LTH__TREE_GRCT, 0,
          "0.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n1-2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n" DOGS WERE
          "2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n" SEEN "# c\n" HERE,
          GRCT);
    check(LTH__TREE_LCT, 0, "# a\r\n1\tb c\t_\tN\t_\t_\t0\tr\t_\t_\r\n\r\n", "r/0 N/0 b c/2");
}

static void cells_may_have_escapes(void **state) {
    (void)state;
    static const char one[] = "1\\ta\\nb\\t_\\tN";
    check(LTH__TREE_LCT, 0,
          "# x\\n1\\ta\\x\\t_\\tN\\t_\\t_\\t2\\tr\\t_\\t_\\n2\\tb\\t_\\tV\\t_\\t_\\t0\\ts\\t_\\t_",
          "r/0 N/0 a\\x/2 s/0 V/0 b/3");
    /* With a real tab or newline they are text. */
    check(LTH__TREE_LCT, 0, "1\ta\\tb\\n\t_\tN\t_\t_\t0\tr\t_\t_", "r/0 N/0 a\\tb\\n/2");
    check(LTH__TREE_LCT, 0, "# \\n1\\t\n", "");
    fails(LTH__TREE_LCT, one, 1, 4, "2 fields where CoNLL-U has 10");
    fails(LTH__TREE_LCT, "# c\\n1\\ta\\t_\\tN\\t_\\t_\\tx\\tr\\t_\\t_\\", 2, 13,
          "the head is \"x\"; a number is needed");
}

static void fields_are_checked(void **state) {
    (void)state;
    fails(LTH__TREE_GRCT, "# c\n(S a)", 2, 6, "1 field where CoNLL-U has 10");
    fails(LTH__TREE_GRCT, DOGS "2\tw\xC3\xA9re\tbe\r\n", 2, 10, "3 fields where CoNLL-U has 10");
    fails(LTH__TREE_GRCT, "1\ta\t_\tN\t_\t_\t0\tr\t_\t_\tx\ty\n", 1, 21,
          "12 fields where CoNLL-U has 10");
    fails(LTH__TREE_GRCT, "1\t\t_\tN\t_\t_\t0\tr\t_\t_", 1, 3, "the field FORM is empty; write _");
    fails(LTH__TREE_GRCT, "1\ta\t_\tN\t_\t_\t0\tr\t_\t", 1, 19, "the field MISC is empty; write _");
}

static void ids_are_checked(void **state) {
    (void)state;
    fails(LTH__TREE_LCT, WERE, 1, 1, "the ID is 2 where 1 comes next");
    fails(LTH__TREE_LCT, DOGS SEEN, 2, 1, "the ID is 3 where 2 comes next");
    fails(LTH__TREE_LCT, DOGS DOGS, 2, 1, "the ID is 1 where 2 comes next");
    fails(LTH__TREE_LCT, "99999999999999999999\ta\t_\tN\t_\t_\t0\tr\t_\t_", 1, 1,
          "the ID is 99999999999999999999 where 1 comes next");
    static const char *const bad[] = {"x", "1-", "-1", "1.2.3", "1-2-3", "+1", "1 "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[64], message[96];
        snprintf(line, sizeof line, "%s\ta\t_\tN\t_\t_\t0\tr\t_\t_", bad[i]);
        snprintf(message, sizeof message, "the ID is \"%s\"; a number, 3-4 or 8.1 is needed",
                 bad[i]);
        fails(LTH__TREE_LCT, line, 1, 1, message);
    }
}

static void heads_are_checked(void **state) {
    (void)state;
    fails(LTH__TREE_GRCT, DOGS WERE "3\tseen\tsee\tVERB\tVBN\t_\t_\troot\t_\t_\n", 3, 23,
          "the head is \"_\"; a number is needed");
    fails(LTH__TREE_GRCT, "1\t\xC3\xA9t\xC3\xA9\t_\tN\t_\t_\t-1\tr\t_\t_\n", 1, 15,
          "the head is \"-1\"; a number is needed");
    fails(LTH__TREE_GRCT, DOGS WERE, 1, 23, "the head of word 1 does not exist: there are 2 words");
    fails(LTH__TREE_GRCT, "1\ta\t_\tN\t_\t_\t99999999999\tr\t_\t_\n", 1, 13,
          "the head of word 1 does not exist: there is 1 word");
    fails(LTH__TREE_GRCT, DOGS WERE SEEN "# c\n4\ta\t_\tN\t_\t_\t0\tr\t_\t_\n", 5, 13,
          "a second root: word 3 has head 0 already");
    fails(LTH__TREE_GRCT, "# c\n1\ta\t_\tN\t_\t_\t2\tr\t_\t_\n2\tb\t_\tN\t_\t_\t1\tr\t_\t_\n", 2,
          13, "no root: a word with head 0 is needed");
    fails(LTH__TREE_GRCT, "1\ta\t_\tN\t_\t_\t1\tr\t_\t_\n", 1, 13,
          "no root: a word with head 0 is needed");
    fails(LTH__TREE_GRCT,
          "1\ta\t_\tN\t_\t_\t2\tr\t_\t_\n2\tb\t_\tN\t_\t_\t3\tr\t_\t_\n"
          "3\tc\t_\tN\t_\t_\t2\tr\t_\t_\n4\td\t_\tN\t_\t_\t0\tr\t_\t_\n",
          2, 13, "the heads run in a circle through word 2");
}

static void one_sentence_is_read(void **state) {
    (void)state;
    fails(LTH__TREE_GRCT, SENTENCE "\n" DOGS, 6, 1,
          "a second sentence begins here; a cell holds one");
    fails(LTH__TREE_GRCT, "# c\n" SENTENCE " \n\n# d\nx\n", 9, 1,
          "a second sentence begins here; a cell holds one");
}

/* ---- Size ----------------------------------------------------------------------------------- */

static void deep_brackets(size_t depth) {
    char *text = malloc(3 * depth);
    assert_non_null(text);
    for (size_t i = 0; i < depth; i++) memcpy(text + 2 * i, "(a", 2);
    memset(text + 2 * depth, ')', depth);
    lth_error err;
    assert_int_equal(lth__tree_read(text, 3 * depth, LTH__TREE_BRACKETS, 3, labels, &tree, &err),
                     LTH_OK);
    assert_int_equal(tree.count, depth);
    assert_int_equal(tree.nodes[0].children, 0);
    assert_int_equal(tree.nodes[depth - 1].children, 1);
    assert_int_equal(
        lth__tree_read(text, 3 * depth - 1, LTH__TREE_BRACKETS, 0, labels, &tree, &err),
        LTH_EFORMAT);
    assert_int_equal(err.column, 1);
    assert_int_equal(lth__tree_read(text, 2 * depth, LTH__TREE_BRACKETS, 0, labels, &tree, &err),
                     LTH_EFORMAT);
    assert_int_equal(err.column, 2 * depth - 1);
    free(text);
}

static void deep_trees_are_read(void **state) {
    (void)state;
    deep_brackets(50000);
    deep_brackets(10000000);
}

/* Each word hangs on the one after it, or all on the last. */
static void long_sentence(size_t words, bool chain) {
    enum { LINE = 64 };
    char *text = malloc(words * LINE);
    assert_non_null(text);
    size_t used = 0;
    for (size_t i = 1; i <= words; i++)
        used += (size_t)snprintf(text + used, LINE, "%zu\tw\t_\tN\t_\t_\t%zu\tr\t_\t_\n", i,
                                 i == words ? 0
                                 : chain    ? i + 1
                                            : words);
    lth_error err;
    assert_int_equal(lth__tree_read(text, used, LTH__TREE_GRCT, 0, labels, &tree, &err), LTH_OK);
    assert_int_equal(tree.count, 3 * words);
    assert_int_equal(tree.nodes[3 * words - 1].children, chain ? 2 : words);
    assert_int_equal(lth__tree_read(text, used, LTH__TREE_LCT, 0, labels, &tree, &err), LTH_OK);
    assert_int_equal(tree.nodes[3 * words - 1].children, chain ? 3 : words + 1);
    free(text);
}

static void long_sentences_are_read(void **state) {
    (void)state;
    long_sentence(200000, true);
    long_sentence(200000, false);
}

/* ---- The table format ----------------------------------------------------------------------- */

static lth_ctx ctx;
static char path[64];

static void write_table(const char *extension, const char *text) {
    snprintf(path, sizeof path, "test_tree_%d%s", (int)getpid(), extension);
    bool gzip = strstr(extension, ".gz") != NULL;
    gzFile f = gzopen(path, gzip ? "wb" : "wbT");
    assert_non_null(f);
    if (*text) assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
}

static lth_table *table_of(const char *extension, const char *text,
                           const lth_table_options *options) {
    lth_error err = {0};
    lth_table *table = NULL;
    write_table(extension, text);
    lth_status status = lth_table_read(&ctx, path, options, &table, &err);
    unlink(path);
    if (status != LTH_OK) print_error("%zu:%zu: %s\n", err.line, err.column, err.message);
    assert_int_equal(status, LTH_OK);
    return table;
}

static void table_fails(const char *text, size_t line, size_t column, const char *message) {
    lth_error err = {0};
    lth_table *table = NULL;
    write_table(".conllu", text);
    assert_int_equal(lth_table_read(&ctx, path, NULL, &table, &err), LTH_EFORMAT);
    unlink(path);
    assert_null(table);
    assert_string_equal(err.message, message);
    assert_string_equal(err.file, path);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
}

static void check_cell(const lth_table *table, size_t row, size_t column, const char *wanted) {
    size_t length;
    const char *cell = lth_table_cell(table, row, column, &length);
    assert_non_null(cell);
    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(cell, wanted, length);
}

#define GO "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_"
#define GONE "1\tGone\tgo\tVERB\tVBN\t_\t0\troot\t_\t_"
#define TWO                                                                                        \
    "# newdoc id = d\n# sent_id = s1\n#label=yes \n" GO "\n\n\n"                                   \
    "# a comment\n# label =  no = not \n# other = 1\n# sent_id = s2\n" DOGS WERE "# c\n" SEEN

static void sentences_are_rows(void **state) {
    (void)state;
    static const char *const extension[] = {".conllu", ".CONLLU", ".conllu.gz"};
    for (size_t i = 0; i < 3; i++) {
        lth_table *t = table_of(extension[i], TWO, NULL);
        assert_int_equal(lth_table_rows(t), 2);
        assert_int_equal(lth_table_columns(t), 3);
        assert_string_equal(lth_table_column_name(t, 0), "conllu");
        assert_string_equal(lth_table_column_name(t, 1), "sent_id");
        assert_string_equal(lth_table_column_name(t, 2), "label");
        check_cell(t, 0, 0, GO);
        check_cell(t, 0, 1, "s1");
        check_cell(t, 0, 2, "yes");
        size_t length;
        const char *cell = lth_table_cell(t, 1, 0, &length);
        assert_int_equal(length, strlen(DOGS WERE "# c\n" SEEN) - 1);
        assert_memory_equal(cell, DOGS WERE "# c\n" SEEN, length);
        check_cell(t, 1, 1, "s2");
        check_cell(t, 1, 2, "no = not");
        assert_int_equal(lth_table_line(t, 0), 1);
        assert_int_equal(lth_table_line(t, 1), 7);
        lth_table_free(t);
    }
    lth_table *t = table_of(".conllu", "\xEF\xBB\xBF\r\n" GO "\r\n\r\n" GONE, NULL);
    assert_int_equal(lth_table_rows(t), 2);
    assert_int_equal(lth_table_columns(t), 1);
    check_cell(t, 0, 0, GO);
    check_cell(t, 1, 0, GONE);
    assert_int_equal(lth_table_line(t, 0), 2);
    assert_int_equal(lth_table_line(t, 1), 4);
    lth_table_free(t);
}

static void columns_and_filters_work(void **state) {
    (void)state;
    static const char *const columns[] = {"sent_id"}, *const where[] = {"label=no = not"};
    lth_table_options o;
    lth_table_options_init(&o);
    o.format = LTH_TABLE_CONLLU;
    o.columns = columns;
    o.column_count = 1;
    o.where = where;
    o.where_count = 1;
    lth_table *t = table_of(".txt", TWO, &o);
    assert_int_equal(lth_table_rows(t), 1);
    assert_int_equal(lth_table_columns(t), 1);
    check_cell(t, 0, 0, "s2");
    assert_int_equal(lth_table_line(t, 0), 7);
    lth_table_free(t);
    /* What is not needed may be missing or wrong. */
    o.where_count = 0;
    t = table_of(".txt", "# sent_id = a\n# x = y\n" GO "\n\n# sent_id = b\nx\n", &o);
    assert_int_equal(lth_table_rows(t), 2);
    check_cell(t, 1, 0, "b");
    lth_table_free(t);
}

static void table_mistakes_have_a_place(void **state) {
    (void)state;
    table_fails("", 1, 1, "the file is empty; a sentence is needed");
    table_fails("# sent_id = 1\n\n", 1, 1, "the file is empty; a sentence is needed");
    table_fails("# sent_id = s1\n" GO "\n\n# text = x\n# y = z\n" GO "\n", 4, 1,
                "no comment \"# sent_id = ...\" in this sentence");
    table_fails("# a = 1\n" GO "\n\n# a = 1\n\n" GO "\n", 6, 1,
                "no comment \"# a = ...\" in this sentence");
    table_fails("# a = 1\n#  a = 2\n" GO "\n", 2, 4, "two columns have the name \"a\"");
    table_fails("# conllu = 1\n" GO "\n", 1, 3, "two columns have the name \"conllu\"");
    table_fails("# a = 1\n" GO "\n\n# a = 1\n# a = 2\n" GO "\n", 5, 3,
                "a second \"a\" in one sentence");
    table_fails("# a = 1\n\n# b\n# a = 2\n" GO "\n2\tb\n", 6, 4, "2 fields where CoNLL-U has 10");
    table_fails("# a = 1\n" GO "\n# c\n" GO "\n", 4, 1, "the ID is 1 where 2 comes next");
    table_fails(GO "\n\n# c\n" DOGS WERE, 4, 23,
                "the head of word 1 does not exist: there are 2 words");
    table_fails(GO "\n2\t\xFF\n", 2, 3, "byte 0xFF is not valid UTF-8");
}

/* ---- Memory --------------------------------------------------------------------------------- */

static lth_status run_tree(lth__tree_format format, const char *text) {
    lth__symbols *own = lth__symbols_create();
    lth__tree read = {0};
    lth_error err = {0};
    lth_status status = LTH_ENOMEM;
    if (own) status = lth__tree_read(text, strlen(text), format, 3, own, &read, &err);
    if (own) assert_int_equal(err.status, status);
    if (status != LTH_OK) assert_int_equal(read.count, 0);
    lth__tree_free(&read);
    lth__symbols_free(own);
    return status;
}

static lth_status run_table(void) {
    lth_table *table = NULL;
    lth_error err = {0};
    lth_status status = lth_table_read(&ctx, path, NULL, &table, &err);
    assert_int_equal(err.status, status);
    assert_int_equal(table != NULL, status == LTH_OK);
    lth_table_free(table);
    return status;
}

static lth_status run_case(size_t i) {
    switch (i) {
    case 0: return run_tree(LTH__TREE_BRACKETS, "((((S-1 (A \\(a) (B (C (D (E (F (G))))))) (X))))");
    case 1: return run_tree(LTH__TREE_BRACKETS, "((A a) (((((((((B b))))))))) c)");
    case 2: return run_tree(LTH__TREE_GRCT, SENTENCE);
    case 3: return run_tree(LTH__TREE_LCT, "1\\ta\\t_\\tN\\t_\\t_\\t0\\tr\\t_\\t_");
    default: return run_table();
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    write_table(".conllu", TWO);
    for (size_t i = 0; i < 5; i++) {
        lth_status status = LTH_ENOMEM;
        for (fail_at = 1; status != LTH_OK; fail_at++) {
            calls = 0;
            status = run_case(i);
            assert_int_equal(status, calls < fail_at ? LTH_OK : LTH_ENOMEM);
        }
        assert_true(fail_at > 5);
        fail_at = 0;
    }
    unlink(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(brackets_are_read),
        TEST(the_same_label_is_the_same_symbol),
        TEST(roots_without_a_label),
        TEST(words_may_hold_brackets),
        TEST(bracket_mistakes_have_a_place),
        TEST(tags_are_stripped),
        TEST(traces_are_stripped),
        TEST(sentences_have_two_shapes),
        TEST(crossing_words_keep_their_order),
        TEST(other_lines_are_skipped),
        TEST(cells_may_have_escapes),
        TEST(fields_are_checked),
        TEST(ids_are_checked),
        TEST(heads_are_checked),
        TEST(one_sentence_is_read),
        TEST(deep_trees_are_read),
        TEST(long_sentences_are_read),
        cmocka_unit_test(sentences_are_rows),
        cmocka_unit_test(columns_and_filters_work),
        cmocka_unit_test(table_mistakes_have_a_place),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
