/* Models through memory: the same bytes as in a file, and every way in which they can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "explain_support.h"

static lth_ctx *ctx;
static lth_table *table;

static int open_all(void **state) {
    (void)state;
    ctx = support_context(1);
    table = support_table(ctx, explain_lines);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_table_free(table);
    lth_ctx_free(ctx);
    return 0;
}

typedef struct sink {
    support_bytes got;
    size_t calls, fails_at; /* LTH_NONE = never */
} sink;

static int take(void *user, const void *bytes, size_t size) {
    sink *s = user;
    assert_true(size > 0);
    if (s->calls++ == s->fails_at) return 1;
    s->got.data = realloc(s->got.data, s->got.size + size);
    assert_non_null(s->got.data);
    memcpy(s->got.data + s->got.size, bytes, size);
    s->got.size += size;
    return 0;
}

static lth_status save_to(const lth_model *m, sink *s, lth_error *err) {
    return lth_model_save_to(m, take, s, err);
}

/* By the call for one kind of model. */
static lth_status load_from(bool gp, const void *bytes, size_t size, lth_model **out,
                            lth_error *err) {
    lth_gp *g = NULL;
    lth_svm *s = NULL;
    lth_status status = gp ? lth_gp_load_from(ctx, bytes, size, &g, err)
                           : lth_svm_load_from(ctx, bytes, size, &s, err);
    *out = g ? lth_gp_model(g) : s ? lth_svm_model(s) : NULL;
    return status;
}

static void check_bytes(const support_bytes *a, const support_bytes *b) {
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

static void check_same(lth_model *back, const support_bytes *bytes) {
    lth_error err = {0};
    sink again = {.fails_at = LTH_NONE};
    support_ok(save_to(back, &again, &err), &err);
    check_bytes(bytes, &again.got);
    free(again.got.data);
    lth_model_free(back);
}

/* As the file, and back, from any place in memory. */
static void check_round_trip(const lth_model *m, bool gp, const support_bytes *bytes) {
    lth_error err = {0};
    lth_model *back;
    char *path = support_file("", 0);
    support_ok(lth_model_save(m, path, &err), &err);
    support_bytes file = support_slurp(path);
    check_bytes(bytes, &file);
    support_ok(lth_model_load(ctx, path, &back, &err), &err);
    check_same(back, bytes);
    for (size_t shift = 0; shift < 2; shift++) {
        unsigned char *moved = malloc(bytes->size + shift);
        memcpy(moved + shift, bytes->data, bytes->size);
        support_ok(load_from(gp, moved + shift, bytes->size, &back, &err), &err);
        memset(moved, 0, bytes->size + shift); /* nothing of it is kept */
        check_same(back, bytes);
        free(moved);
    }
    support_ok(lth_model_load_from(ctx, bytes->data, bytes->size, &back, &err), &err);
    assert_int_equal(lth_model_gp(back) != NULL, gp);
    check_same(back, bytes);
    free(file.data);
    support_remove(path);
}

static void check_damage(bool gp, const support_bytes *bytes) {
    lth_error err = {0};
    lth_model *none = NULL;
    for (size_t size = 0; size < bytes->size; size += 1 + size / 8) {
        assert_int_equal(load_from(gp, bytes->data, size, &none, &err), LTH_EFORMAT);
        assert_string_equal(err.file, "");
        assert_int_equal(lth_model_load_from(ctx, bytes->data, size, &none, &err), LTH_EFORMAT);
    }
    assert_int_equal(load_from(gp, NULL, 0, &none, &err), LTH_EFORMAT);
    assert_int_equal(load_from(!gp, bytes->data, bytes->size, &none, &err), LTH_EFORMAT);
    bytes->data[bytes->size - 1] ^= 1;
    assert_int_equal(load_from(gp, bytes->data, bytes->size, &none, &err), LTH_EFORMAT);
    bytes->data[bytes->size - 1] ^= 1;
    assert_null(none);
}

static void check_failing_writer(const lth_model *m, size_t calls) {
    lth_error err = {0};
    for (size_t k = 0; k < calls; k++) {
        sink s = {.fails_at = k};
        assert_int_equal(save_to(m, &s, &err), LTH_EIO);
        assert_int_equal(s.calls, k + 1);
        assert_non_null(strstr(err.message, "cannot write"));
        free(s.got.data);
    }
}

static void check_model(lth_model *m, bool gp) {
    lth_error err = {0};
    sink s = {.fails_at = LTH_NONE};
    support_ok(save_to(m, &s, &err), &err);
    check_round_trip(m, gp, &s.got);
    check_damage(gp, &s.got);
    check_failing_writer(m, s.calls);
    free(s.got.data);
    lth_model_free(m);
}

static void test_gaussian_processes(void **state) {
    (void)state;
    check_model(lth_gp_model(explain_fit(ctx, "ssk(text) + linear(f1)", "y", NULL)), true);
    check_model(lth_gp_model(explain_fit(ctx, "sstk(tree)", "three", NULL)), true);
}

static void test_support_vector_machines(void **state) {
    (void)state;
    lth_error err = {0};
    static const char *const targets[] = {"y", "three"};
    for (size_t t = 0; t < 2; t++) {
        lth_svm *svm;
        support_ok(lth_svm_fit(ctx, "ssk(text)", table, targets[t], NULL, &svm, &err), &err);
        check_model(lth_svm_model(svm), false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaussian_processes),
        cmocka_unit_test(test_support_vector_machines),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
