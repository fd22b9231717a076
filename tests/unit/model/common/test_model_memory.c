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

/* Either kind of model. */
typedef struct model {
    lth_gp *gp;
    lth_svm *svm;
} model;

static lth_status save(const model *m, const char *path, lth_error *err) {
    return m->gp ? lth_gp_save(m->gp, path, err) : lth_svm_save(m->svm, path, err);
}

static lth_status save_to(const model *m, sink *s, lth_error *err) {
    return m->gp ? lth_gp_save_to(m->gp, take, s, err) : lth_svm_save_to(m->svm, take, s, err);
}

static lth_status load_from(bool gp, const void *bytes, size_t size, model *out, lth_error *err) {
    *out = (model){0};
    return gp ? lth_gp_load_from(ctx, bytes, size, &out->gp, err)
              : lth_svm_load_from(ctx, bytes, size, &out->svm, err);
}

static void close_model(model *m) {
    lth_gp_free(m->gp);
    lth_svm_free(m->svm);
}

static void check_bytes(const support_bytes *a, const support_bytes *b) {
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

/* As the file, and back, from any place in memory. */
static void check_round_trip(const model *m, const support_bytes *bytes) {
    lth_error err = {0};
    char *path = support_file("", 0);
    support_ok(save(m, path, &err), &err);
    support_bytes file = support_slurp(path);
    check_bytes(bytes, &file);
    for (size_t shift = 0; shift < 2; shift++) {
        unsigned char *moved = malloc(bytes->size + shift);
        memcpy(moved + shift, bytes->data, bytes->size);
        model back;
        support_ok(load_from(m->gp, moved + shift, bytes->size, &back, &err), &err);
        free(moved); /* nothing of it is kept */
        sink again = {.fails_at = LTH_NONE};
        support_ok(save_to(&back, &again, &err), &err);
        check_bytes(bytes, &again.got);
        free(again.got.data);
        close_model(&back);
    }
    free(file.data);
    support_remove(path);
}

static void check_damage(const model *m, const support_bytes *bytes) {
    lth_error err = {0};
    model none;
    for (size_t size = 0; size < bytes->size; size += 1 + size / 8) {
        assert_int_equal(load_from(m->gp, bytes->data, size, &none, &err), LTH_EFORMAT);
        assert_string_equal(err.file, "");
        assert_true(!none.gp && !none.svm);
    }
    assert_int_equal(load_from(m->gp, NULL, 0, &none, &err), LTH_EFORMAT);
    assert_int_equal(load_from(!m->gp, bytes->data, bytes->size, &none, &err), LTH_EFORMAT);
    bytes->data[bytes->size - 1] ^= 1;
    assert_int_equal(load_from(m->gp, bytes->data, bytes->size, &none, &err), LTH_EFORMAT);
    bytes->data[bytes->size - 1] ^= 1;
}

static void check_failing_writer(const model *m, size_t calls) {
    lth_error err = {0};
    for (size_t k = 0; k < calls; k++) {
        sink s = {.fails_at = k};
        assert_int_equal(save_to(m, &s, &err), LTH_EIO);
        assert_int_equal(s.calls, k + 1);
        assert_non_null(strstr(err.message, "cannot write"));
        free(s.got.data);
    }
}

static void check_model(model m) {
    lth_error err = {0};
    sink s = {.fails_at = LTH_NONE};
    support_ok(save_to(&m, &s, &err), &err);
    check_round_trip(&m, &s.got);
    check_damage(&m, &s.got);
    check_failing_writer(&m, s.calls);
    free(s.got.data);
    close_model(&m);
}

static void test_gaussian_processes(void **state) {
    (void)state;
    check_model((model){.gp = explain_fit(ctx, "ssk(text) + linear(f1)", "y", NULL)});
    check_model((model){.gp = explain_fit(ctx, "sstk(tree)", "three", NULL)});
}

static void test_support_vector_machines(void **state) {
    (void)state;
    lth_error err = {0};
    static const char *const targets[] = {"y", "three"};
    for (size_t t = 0; t < 2; t++) {
        model m = {0};
        support_ok(lth_svm_fit(ctx, "ssk(text)", table, targets[t], NULL, &m.svm, &err), &err);
        check_model(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaussian_processes),
        cmocka_unit_test(test_support_vector_machines),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
