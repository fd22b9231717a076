/* Models by inducing rows in files, damaged ones, and each allocation failing in turn. */
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

#include "failing_allocator.h"
#include "gp_support.h"
#include "model/common/tensors.h"
#include "model/gp/gp_classes.h"

static lth_ctx *ctx;
static char folder[] = "test_inducing_file.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(1);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

static lth_gp_options inducing(size_t rows) {
    lth_gp_options options = support_fixed();
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = rows;
    return options;
}

/* ---- There and back ---- */

static void check_same_report(const lth_gp *a, const lth_gp *b) {
    const lth_gp_report *r = lth_gp_reported(a), *s = lth_gp_reported(b);
    assert_true(r->rows == s->rows && r->evidence == s->evidence && r->noise == s->noise);
    assert_true(r->posterior == s->posterior && r->inducing == s->inducing && !s->loo);
    assert_true(r->trace_left == s->trace_left && r->left_to_noise == s->left_to_noise);
}

/* The same bits, and the same file again. */
static void check_file(lth_gp *gp, const lth_table *table) {
    lth_error err = {0};
    lth_gp *loaded = NULL;
    bool labels = lth_gp_classes(gp) > 0;
    support_ok(lth_gp_save(gp, "m", &err), &err);
    support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
    support_ok(lth_gp_save(loaded, "again", &err), &err);
    support_bytes a = support_slurp("m"), b = support_slurp("again");
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    check_same_report(gp, loaded);
    double *p = labels ? support_classify(gp, table) : support_predict(gp, table, false);
    double *q = labels ? support_classify(loaded, table) : support_predict(loaded, table, false);
    size_t cells = lth_table_rows(table) * (labels ? lth_gp_classes(gp) : 2 * lth_gp_targets(gp));
    assert_memory_equal(p, q, cells * sizeof *p);
    for (size_t c = 0; c < lth_gp_classes(gp); c++)
        assert_int_equal(lth_gp_class(gp, c)->rows, lth_gp_class(loaded, c)->rows);
    free(p);
    free(q);
    free(a.data);
    free(b.data);
    lth_gp_free(loaded);
    unlink("m");
    unlink("again");
}

static void there_and_back(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "normalize(ssk(text, order=2)) + rbf(f1..f2, ard=yes)",
        "tfidf(text)", /* weighs by all rows */
        "ssk(text, order=2, rarity=0.5)",
    };
    static const char *const columns[] = {"two", "three", "several"};
    lth_table *table = support_rows(ctx, 0, 40), *labels = support_labels(ctx, 40);
    lth_gp_options options = inducing(9);
    for (size_t k = 0; k < 3; k++) {
        for (size_t targets = 1; targets <= 2; targets++) {
            lth_gp *gp = support_fit(ctx, kernels[k], table, targets, &options);
            assert_int_equal(gp->rows, 9);
            assert_true((gp->all != NULL) == (k > 0));
            check_file(gp, table);
            lth_gp_free(gp);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        lth_gp *gp = support_classifier(ctx, c == 1 ? "tfidf(text) + rbf(x)" : "rbf(x)", labels,
                                        columns[c], &options);
        check_file(gp, labels);
        lth_gp_free(gp);
    }
    lth_table_free(table);
    lth_table_free(labels);
}

/* ---- Damage ---- */

static const char *const arrays[] = {"report",
                                     "report.more",
                                     "nu",
                                     "order_share",
                                     "scaling",
                                     "noise",
                                     "start",
                                     "flags",
                                     "class_rows",
                                     "kept_rows",
                                     "y",
                                     "inducing.beta",
                                     "inducing.factor",
                                     "inducing.factor_b",
                                     "field.0.texts",
                                     "field.0.text_ends",
                                     "field.0.starts",
                                     "field.0.symbols"};
enum { ARRAYS = sizeof arrays / sizeof *arrays };
static const char *const texts[] = {"model", "kernel",     "targets", "posterior",
                                    "multi", "likelihood", "classes"};
enum { TEXTS = sizeof texts / sizeof *texts };

typedef struct change {
    const char *name, *text; /* a text */
    size_t element;          /* or a number of an array  */
    double number;
    bool drop, cut; /* or without it, or less its last row */
} change;

static lth__tensor changed(const lth__tensor *t, const change *c, double *room) {
    lth__tensor new = *t;
    size_t count = t->shape[0] * (t->rank > 1 ? t->shape[1] : 1);
    assert_true((t->dtype == LTH__F64 || t->dtype == LTH__U64) && count <= 256);
    memcpy(room, t->data, count * sizeof *room);
    if (c->cut)
        new.shape[0]--;
    else if (t->dtype == LTH__U64)
        ((uint64_t *)(void *)room)[c->element] = (uint64_t)c->number;
    else
        room[c->element] = c->number;
    new.data = room;
    return new;
}

static void rewrite(const change *c) {
    lth_error err = {0};
    lth__tensors *file = NULL;
    double room[256];
    support_ok(lth__tensors_read("m", &file, &err), &err);
    lth__tensors_writer *writer = lth__tensors_writer_create();
    for (size_t i = 0; i < TEXTS; i++) {
        bool own = c->text && strcmp(texts[i], c->name) == 0;
        const char *text = own ? c->text : lth__tensors_text(file, texts[i]);
        if (text) assert_true(lth__tensors_put_text(writer, texts[i], text));
    }
    for (size_t i = 0; i < ARRAYS; i++) {
        const lth__tensor *t = lth__tensors_find(file, arrays[i]);
        bool own = !c->text && strcmp(arrays[i], c->name) == 0;
        if (!t || (own && c->drop)) continue;
        lth__tensor new = own ? changed(t, c, room) : *t;
        assert_true(lth__tensors_put(writer, &new));
    }
    support_ok(lth__tensors_write(writer, "hostile", &err), &err);
    lth__tensors_writer_free(writer);
    lth__tensors_free(file);
}

static void check_refused(const change *c) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    rewrite(c);
    lth_status status = lth_gp_load(ctx, "hostile", &gp, &err);
    if (status != LTH_EFORMAT) print_error("%s, element %zu: %d\n", c->name, c->element, status);
    assert_int_equal(status, LTH_EFORMAT);
    assert_null(gp);
    assert_true(strlen(err.message) > 0);
}

/* A classifier of three classes that needs all 15 rows and keeps five. */
static void hostile(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_labels(ctx, 15);
    lth_gp_options options = inducing(5);
    lth_gp *gp =
        support_classifier(ctx, "ssk(text, order=2, rarity=0.5)", table, "three", &options);
    size_t m = gp->rows;
    assert_true(m > 1 && gp->all);
    support_ok(lth_gp_save(gp, "m", &err), &err);
    const change changes[] = {
        {"posterior", .text = "laplace"},
        {"posterior", .text = "exact"},
        {"posterior", .text = "sloth"},
        {"inducing.beta", .element = 1, .number = NAN},
        {"inducing.beta", .cut = true},
        {"inducing.factor", .element = 0, .number = 0},
        {"inducing.factor", .element = 0, .number = -1},
        {"inducing.factor", .element = 1, .number = 0.5}, /* above the diagonal */
        {"inducing.factor", .element = m, .number = INFINITY},
        {"inducing.factor", .cut = true},
        {"inducing.factor_b", .element = 0, .number = 0.5}, /* B is at least I */
        {"inducing.factor_b", .element = 1, .number = 0.5},
        {"inducing.factor_b", .element = m * m, .number = NAN},
        {"inducing.factor_b", .cut = true},
        {"kept_rows", .element = 1, .number = 15},
        {"kept_rows", .element = 1, .number = 1e18},
        {"kept_rows", .cut = true},
        {"class_rows", .element = 0, .number = -1},
        {"class_rows", .element = 0, .number = NAN},
        {"class_rows", .cut = true},
        {"report", .element = 0, .number = 14},
        {"report", .element = 0, .number = 1e14},
        {"report.more", .element = 0, .number = 16}, /* more than all */
        {"report.more", .element = 2, .number = -1},
        {"report.more", .element = 3, .number = NAN},
        {"report.more", .cut = true},
        {"y", .element = 0, .number = 3},
        {"y", .element = 0, .number = NAN},
        {"noise", .element = 0, .number = 0},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) check_refused(&changes[i]);
    for (size_t i = 0; i < ARRAYS; i++) {
        bool optional = strcmp(arrays[i], "report.more") == 0 ||
                        strcmp(arrays[i], "class_rows") == 0; /* of older files */
        if (!optional) check_refused(&(change){.name = arrays[i], .drop = true});
    }
    rewrite(&(change){.name = "", .text = ""}); /* nothing changed */
    lth_gp *loaded = NULL;
    support_ok(lth_gp_load(ctx, "hostile", &loaded, &err), &err);
    lth_gp_free(loaded);
    lth_gp_free(gp);
    lth_table_free(table);
    unlink("m");
    unlink("hostile");
}

/* ---- Memory ---- */

/* Fit, save, load, predict; numbers are learned, and cross-validated. */
static lth_status use_all(const char *kernel, const lth_table *table, const char *target,
                          bool labels, lth_error *err) {
    const size_t fold[6] = {0, 1, 0, 1, 0, 1};
    lth_gp_options options = inducing(3);
    options.learn = !labels;
    options.restarts = 0;
    options.max_iter = 1;
    options.bound = labels ? LTH_BOUND_TITSIAS : LTH_BOUND_FITC;
    lth_gp *gp = NULL, *loaded = NULL;
    lth_validation *v = NULL;
    double p[18], sd[18];
    lth_status status = lth_gp_fit(ctx, kernel, table, &target, 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, "m", err);
    if (status == LTH_OK) status = lth_gp_load(ctx, "m", &loaded, err);
    if (status == LTH_OK)
        status = labels ? lth_gp_classify(loaded, table, p, err)
                        : lth_gp_predict(loaded, table, false, p, sd, err);
    options.learn = false;
    if (status == LTH_OK && !labels)
        status = lth_gp_cv(ctx, kernel, table, &target, 1, fold, 2, &options, &v, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    lth_validation_free(v);
    unlink("m");
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *target;
        bool labels;
    } cases[] = {{"ssk(text, order=2, rarity=0.5)", "y", false},
                 {"normalize(ssk(text, order=2))", "k", true}};
    fail_at = 0;
    lth_table *table = support_table(ctx, "text\tk\ty\na b\tx\t1\nb c\ty\t2\na c d\tx\t3\n"
                                          "a b d\tx\t0\nc c b\ty\t5\nd\ty\t4\n");
    for (size_t t = 0; t < 2; t++) {
        size_t refused = 0;
        for (size_t k = 1;; k += 1 + k / 50) {
            lth_error err = {0};
            calls = 0;
            fail_at = k;
            lth_status status =
                use_all(cases[t].kernel, table, cases[t].target, cases[t].labels, &err);
            bool reached = calls >= k;
            fail_at = 0;
            if (status != LTH_OK && status != LTH_ENOMEM)
                print_error("allocation %zu: status %d: %s\n", k, status, err.message);
            assert_true(status == LTH_OK || status == LTH_ENOMEM);
            assert_int_equal(err.status, status);
            refused += status == LTH_ENOMEM;
            if (!reached) break;
        }
        assert_true(refused > 50);
    }
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(hostile),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
