/* The search by a value that is known: what it finds, and how it ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/hash.h"
#include "design/search.h"
#include "failing_allocator.h"
#include "gp_support.h"

static lth_ctx *ctx;

static lth_space *parse(const char *rules) {
    lth_space *space;
    lth_error err = {0};
    if (lth_space_parse(ctx, rules, &space, &err) != LTH_OK) fail_msg("%s", err.message);
    return space;
}

/* ---- Values ---- */

typedef struct objective {
    const char *target; /* the best text; NULL = any text has its own value, at random */
    size_t calls, rows, largest;
    bool fails;
} objective;

static double value_of(const objective *o, const char *text, size_t length) {
    if (!o->target) return (double)(lth__hash(1, text, length) % 1000003);
    double same = 0;
    size_t n = strlen(o->target);
    for (size_t i = 0; i < length && i < n; i++) same += text[i] == o->target[i];
    return same - fabs((double)length - (double)n);
}

static lth_status value_rows(void *user, const lth_table *rows, double *value, lth_error *err) {
    objective *o = user;
    size_t count = lth_table_rows(rows);
    if (o->fails) return lth__fail(err, LTH_ENUMERIC, "no value");
    assert_string_equal(lth_table_column_name(rows, 0), "seq");
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *text = lth_table_cell(rows, i, 0, &length);
        value[i] = value_of(o, text, length);
    }
    o->calls++;
    o->rows += count;
    if (count > o->largest) o->largest = count;
    return LTH_OK;
}

static lth__search search_of(const lth_space *space, objective *o, size_t evaluations) {
    lth__search s = {.ctx = ctx, .space = space, .column = "seq", .value = value_rows, .user = o};
    lth_search_options_init(&s.options);
    s.options.evaluations = evaluations;
    s.pool = 200;
    s.seed = 3;
    return s;
}

static lth__texts run(const lth__search *s) {
    lth__texts found;
    lth_error err = {0};
    support_ok(lth__search_run(s, &found, &err), &err);
    return found;
}

/* ---- Small spaces ---- */

static int downwards(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* All texts are valued once, and the best of them come out in order. */
static void lists(void **state) {
    (void)state;
    static const struct {
        const char *rules;
        size_t texts;
    } cases[] = {{"alphabet=ACGT, length=6", 4096},
                 {"alphabet=ACGT, length=1..5", 4 + 16 + 64 + 256 + 1024},
                 {"from=MKVLA, sites=2,4", 400},
                 {"alphabet=AC, length=11, forbid=AA", 233}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        lth_space *space = parse(cases[c].rules);
        objective o = {0};
        lth__search s = search_of(space, &o, 5000);
        lth__texts found = run(&s);
        assert_int_equal(o.rows, cases[c].texts);
        lth_table *all;
        lth_error err = {0};
        support_ok(lth_space_sample(space, "seq", 10000, 1, &all, &err), &err);
        assert_int_equal(lth_table_rows(all), cases[c].texts);
        double *value = malloc(cases[c].texts * sizeof *value);
        objective other = {0};
        value_rows(&other, all, value, &err);
        qsort(value, cases[c].texts, sizeof *value, downwards);
        assert_int_equal(found.count, 200);
        for (size_t i = 0; i < found.count; i++) {
            size_t length;
            const char *text = lth__texts_at(&found, i, &length);
            assert_true(value_of(&o, text, length) == value[i]);
        }
        free(value);
        lth_table_free(all);
        lth__texts_free(&found);
        lth_space_free(space);
    }
}

/* ---- Large ones ---- */

static void check_finds(const char *rules, const char *target, const char *const *starts,
                        size_t start_count) {
    lth_space *space = parse(rules);
    objective o = {.target = target};
    lth__search s = search_of(space, &o, 20000);
    s.starts = starts;
    s.start_count = start_count;
    lth__texts found = run(&s);
    assert_true(found.count > 50 && found.count <= 200);
    assert_string_equal(lth__texts_at(&found, 0, NULL), target);
    assert_true(o.rows <= 20000);
    lth__text_set seen = {0};
    for (size_t i = 0; i < found.count; i++) {
        size_t length;
        bool fresh;
        const char *text = lth__texts_at(&found, i, &length);
        assert_true(lth_space_has(space, text, length, NULL));
        assert_true(lth__text_set_add(&seen, lth__hash(0, text, length), &fresh));
        assert_true(fresh);
    }
    lth__text_set_free(&seen);
    lth__texts_free(&found);
    lth_space_free(space);
}

static void finds(void **state) {
    (void)state;
    static const char *const starts[] = {"AAAAAAAAAAAA", "not of the space", "WWWWWWWWWWWW"};
    check_finds("alphabet=protein, length=12", "MKVLAWGHHHKL", NULL, 0);
    check_finds("alphabet=protein, length=12", "MKVLAWGHHHKL", starts, 3);
    check_finds("alphabet=protein, length=8..14", "MKVLAWGHHHKL", NULL, 0);
    check_finds("from=MKVLAWGHHHKLMKVLAWGHHHKL, max-mutations=6", "MKVLAWGWWWWWWKVLAWGHHHKL", NULL,
                0);
    check_finds("alphabet=dna, length=40, forbid=AAA", "ACGTTTTTGCATGCATGCCATTACCATTAGCCATTGCGTA",
                NULL, 0);
}

static void trusts(void **state) {
    (void)state;
    static const char *const starts[] = {"AAAAAAAAAAAA", "WWWWWWWWWWWW"};
    static const char *const rules[] = {"alphabet=protein, length=12",
                                        "alphabet=protein, length=10..14",
                                        "from=AAAAAAAAAAAA, alphabet=protein"};
    for (size_t c = 0; c < 3; c++) {
        lth_space *space = parse(rules[c]);
        objective o = {.target = "MKVLAWGHHHKL"};
        lth__search s = search_of(space, &o, 5000);
        s.starts = starts;
        s.start_count = 2;
        s.options.trust = 3;
        lth__texts found = run(&s);
        size_t length;
        const char *text = lth__texts_at(&found, 0, &length);
        assert_true(value_of(&o, text, length) == 4); /* one was right already */
        for (size_t i = 0; i < found.count; i++) {
            text = lth__texts_at(&found, i, &length);
            size_t kept[2] = {0};
            for (size_t k = 0; k < length; k++) {
                kept[0] += text[k] == 'A';
                kept[1] += text[k] == 'W';
            }
            assert_true(kept[0] + 3 >= 12 || kept[1] + 3 >= 12);
        }
        lth__texts_free(&found);
        lth_space_free(space);
    }
}

/* The same texts for any number of threads, others for another seed. */
static void repeats(void **state) {
    (void)state;
    lth_space *space = parse("alphabet=protein, length=8..14");
    lth__texts found[3];
    for (size_t i = 0; i < 3; i++) {
        objective o = {0};
        lth__search s = search_of(space, &o, 3000);
        lth_ctx *other = support_context(i == 1 ? 4 : 1);
        s.ctx = other;
        s.seed += i == 2;
        found[i] = run(&s);
        assert_int_equal(o.rows, 3000);
        lth_ctx_free(other);
    }
    assert_int_equal(found[0].count, found[1].count);
    assert_int_equal(found[0].bytes.length, found[1].bytes.length);
    assert_memory_equal(found[0].bytes.bytes, found[1].bytes.bytes, found[0].bytes.length);
    assert_string_not_equal(lth__texts_at(&found[0], 0, NULL), lth__texts_at(&found[2], 0, NULL));
    for (size_t i = 0; i < 3; i++) lth__texts_free(&found[i]);
    lth_space_free(space);
}

/* ---- What is valid ---- */

typedef struct validity {
    size_t texts, calls, fail_at;
    bool all_refused;
} validity;

static int no_w(void *user, const char *const *texts, size_t count, bool *valid) {
    validity *v = user;
    assert_true(count > 0);
    v->texts += count;
    for (size_t i = 0; i < count; i++) valid[i] = !v->all_refused && !strchr(texts[i], 'W');
    return ++v->calls == v->fail_at ? 1 : 0;
}

static void valid(void **state) {
    (void)state;
    lth_space *space = parse("alphabet=protein, length=12");
    objective o = {.target = "MKVLAWGHHHKL"};
    validity v = {0};
    lth__search s = search_of(space, &o, 20000);
    s.options.valid = no_w;
    s.options.user = &v;
    lth__texts found = run(&s);
    size_t length;
    const char *text = lth__texts_at(&found, 0, &length);
    assert_true(value_of(&o, text, length) == 11);
    for (size_t i = 0; i < found.count; i++)
        assert_null(strchr(lth__texts_at(&found, i, NULL), 'W'));
    assert_true(v.texts > o.rows);
    lth__texts_free(&found);

    lth_error err = {0};
    v = (validity){.fail_at = 3};
    found.count = 77;
    assert_int_equal(lth__search_run(&s, &found, &err), LTH_EIO);
    assert_int_equal(found.count, 77);
    assert_int_equal(v.calls, 3);

    v = (validity){.all_refused = true};
    found = run(&s); /* it ends all the same */
    assert_int_equal(found.count, 0);
    lth__texts_free(&found);
    lth_space_free(space);
}

/* ---- Ends ---- */

static int stop(void *user, const char *what, double done, double total) {
    (void)what, (void)total;
    return done >= *(double *)user;
}

static void canceled(void **state) {
    (void)state;
    double when = 2000;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.progress = stop;
    options.user = &when;
    lth_ctx *other;
    lth_error err = {0};
    support_ok(lth_ctx_create(&options, &other, &err), &err);
    lth_space *space = parse("alphabet=protein, length=12");
    objective o = {0};
    lth__search s = search_of(space, &o, 20000);
    s.ctx = other;
    lth__texts found;
    assert_int_equal(lth__search_run(&s, &found, &err), LTH_ECANCELED);
    assert_true(o.rows >= 2000 && o.rows < 4000);
    o.fails = true;
    assert_int_equal(lth__search_run(&s, &found, &err), LTH_ENUMERIC);
    lth_space_free(space);
    lth_ctx_free(other);
}

static lth_status use(void *user, lth_error *err) {
    lth__texts found;
    objective o = {0};
    lth__search s = *(lth__search *)user;
    s.user = &o;
    lth_status status = lth__search_run(&s, &found, err);
    if (status == LTH_OK) lth__texts_free(&found);
    return status;
}

static void failing(void **state) {
    (void)state;
    static const char *const starts[] = {"AAAAAAAAAAAA", "WWWWWWWWWWWW"};
    lth_space *space = parse("alphabet=protein, length=10..14");
    lth__search s = search_of(space, NULL, 1000);
    s.starts = starts;
    s.start_count = 2;
    s.options.trust = 3;
    fail_each(use, &s, true, 20);
    lth_space_free(space);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),   cmocka_unit_test(finds), cmocka_unit_test(trusts),
        cmocka_unit_test(repeats), cmocka_unit_test(valid), cmocka_unit_test(canceled),
        cmocka_unit_test(failing),
    };
    ctx = support_context(1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lth_ctx_free(ctx);
    return failed;
}
