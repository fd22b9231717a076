/* Models of every kind with one number in them changed, or an array shorter or left out, and a good
 * checksum: they are refused with a reason, or load, and then can be saved. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/text.h"
#include "gp_support.h"
#include "model/common/tensors.h"

static lth_ctx *ctx;
static lth_table *table;

static const char lines[] = "text\ttree\tf\tg\ty\tz\tkind\tmulti\tgrade\tcount\n"
                            "abc\t(S (A a))\t1\t0\t0.5\t1\tx\tp,q\t0\t3\n"
                            "bc\t(S (B b))\t2\t1\t1.5\t2\ty\tq\t1\t0\n"
                            "acd\t(S (A b))\t3\t0\t2.5\t1\tz\t\t2\t7\n"
                            "abd\t(S (A a) (B b))\t2\t2\t0.7\t4\tx\tp\t1\t1\n"
                            "ccb\t(S (B a))\t1\t1\t3.5\t3\ty\tq\t0\t2\n"
                            "d\t(S (A a))\t0\t3\t1.1\t2\tz\tp\t2\t4\n";

static int open_all(void **state) {
    (void)state;
    ctx = support_context(1);
    table = support_table(ctx, lines);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_table_free(table);
    lth_ctx_free(ctx);
    return 0;
}

/* ---- One number ---- */

static int append(void *user, const void *bytes, size_t size) {
    lth__string_append(user, bytes, size);
    return 0;
}

static size_t width_of(lth__dtype dtype) {
    static const size_t width[] = {1, 4, 8, 4, 8};
    return width[dtype];
}

static size_t cells_of(const lth__tensor *t) {
    size_t cells = 1;
    for (size_t d = 0; d < t->rank; d++) cells *= t->shape[d];
    return cells;
}

static const double numbers[] = {NAN, -1, 0.5, 1e300};
static const uint64_t counts[] = {0, 1, 5, UINT64_MAX};
enum { NUMBERS = 4, MOST_ELEMENTS = 12, LEFT_OUT = NUMBERS, SHORTER };

static void set(lth__dtype dtype, char *data, size_t at, size_t which) {
    float narrow = (float)fmin(numbers[which], 1e30);
    uint32_t small = (uint32_t)counts[which];
    switch (dtype) {
    case LTH__U8: data[at] = (char)counts[which]; break;
    case LTH__U32: memcpy(data + 4 * at, &small, 4); break;
    case LTH__U64: memcpy(data + 8 * at, &counts[which], 8); break;
    case LTH__F32: memcpy(data + 4 * at, &narrow, 4); break;
    case LTH__F64: memcpy(data + 8 * at, &numbers[which], 8); break;
    }
}

typedef struct file {
    json_t *header;
    lth__tensors *tensors;
} file;

static lth__string write_changed(const file *f, const char *changed, size_t at, size_t which) {
    lth__tensors_writer *w = lth__tensors_writer_create();
    lth__string out = {0};
    json_t *entry;
    const char *name;
    char *block = NULL;
    json_object_foreach(json_object_get(f->header, "__metadata__"), name, entry) {
        if (strcmp(name, "format") != 0 && strcmp(name, "version") != 0 &&
            strcmp(name, "checksum") != 0)
            assert_true(lth__tensors_put_text(w, name, json_string_value(entry)));
    }
    json_object_foreach(f->header, name, entry) {
        if (strcmp(name, "__metadata__") == 0) continue;
        lth__tensor t = *lth__tensors_find(f->tensors, name);
        bool own = strcmp(name, changed) == 0;
        if (own && which == LEFT_OUT) continue;
        if (own && which == SHORTER) {
            t.shape[0] -= t.shape[0] > 0;
        } else if (own) {
            size_t size = cells_of(&t) * width_of(t.dtype);
            block = malloc(size);
            assert_non_null(block);
            memcpy(block, t.data, size);
            set(t.dtype, block, at, which);
            t.data = block;
        }
        assert_true(lth__tensors_put(w, &t));
    }
    assert_int_equal(lth__tensors_write_to(w, append, &out, NULL), LTH_OK);
    lth__tensors_writer_free(w);
    free(block);
    return out;
}

/* Whether it was refused. */
static bool try_changed(const file *f, const char *name, size_t at, size_t which) {
    lth__string bytes = write_changed(f, name, at, which);
    lth_model *model = NULL;
    lth_error err = {0};
    lth_status status = lth_model_load_from(ctx, bytes.bytes, bytes.length, &model, &err);
    if (status == LTH_OK ? !model : status != LTH_EFORMAT || model || !err.message[0])
        fail_msg("%s, element %zu, value %zu: status %d: %s", name, at, which, status, err.message);
    lth__string again = {0};
    if (model && lth_model_save_to(model, append, &again, &err) != LTH_OK)
        fail_msg("%s, element %zu, value %zu: loaded, not saved: %s", name, at, which, err.message);
    lth__string_free(&again);
    lth_model_free(model);
    lth__string_free(&bytes);
    return status != LTH_OK;
}

static void change_all(lth_model *model, size_t least) {
    lth__string bytes = {0};
    lth_error err = {0};
    json_t *entry;
    const char *name;
    file f;
    uint64_t length;
    size_t refused = 0;
    support_ok(lth_model_save_to(model, append, &bytes, &err), &err);
    memcpy(&length, bytes.bytes, sizeof length);
    f.header = json_loadb(bytes.bytes + sizeof length, length, 0, NULL);
    assert_non_null(f.header);
    support_ok(lth__tensors_read_from(bytes.bytes, bytes.length, &f.tensors, &err), &err);
    json_object_foreach(f.header, name, entry) {
        if (strcmp(name, "__metadata__") == 0) continue;
        for (size_t k = LEFT_OUT; k <= SHORTER; k++) refused += try_changed(&f, name, 0, k);
        size_t cells = cells_of(lth__tensors_find(f.tensors, name));
        for (size_t at = 0; at < cells && at < MOST_ELEMENTS; at++)
            for (size_t k = 0; k < NUMBERS; k++) refused += try_changed(&f, name, at, k);
    }
    if (refused < least) fail_msg("%zu were refused, not %zu", refused, least);
    json_decref(f.header);
    lth__tensors_free(f.tensors);
    lth__string_free(&bytes);
    lth_model_free(model);
}

/* ---- Gaussian processes ---- */

static const char kernel[] = "ssk(text, order=2, units=chars)";

static void change_gp(const char *expression, const char *const *targets, size_t count,
                      const lth_gp_options *options) {
    lth_gp *gp = NULL;
    lth_error err = {0};
    support_ok(lth_gp_fit(ctx, expression, table, targets, count, options, &gp, &err), &err);
    change_all(lth_gp_model(gp), 30);
}

static void change_one(const char *expression, const char *target, lth_likelihood likelihood) {
    lth_gp_options o = support_fixed();
    o.likelihood = likelihood;
    if (likelihood == LTH_CENSORED) o.upper = 3.5;
    change_gp(expression, &target, 1, &o);
}

static void test_likelihoods(void **state) {
    (void)state;
    change_one(kernel, "y", LTH_GAUSSIAN);
    change_one(kernel, "y", LTH_STUDENT);
    change_one(kernel, "y", LTH_WARPED);
    change_one(kernel, "y", LTH_CENSORED);
    change_one(kernel, "grade", LTH_ORDINAL);
    change_one(kernel, "count", LTH_POISSON);
}

static void test_labels(void **state) {
    (void)state;
    change_one(kernel, "kind", LTH_LOGIT);
    change_one("sstk(tree) + linear(f)", "multi", LTH_LOGIT);
    change_one("tfidf(text, units=words) + rbf(f)", "kind", LTH_SOFTMAX);
}

static void test_posteriors(void **state) {
    (void)state;
    static const char *const y = "y", *const kind = "kind", *const two[] = {"y", "z"};
    lth_gp_options o = support_fixed();
    o.posterior = LTH_POSTERIOR_CG;
    change_gp(kernel, &y, 1, &o);
    o.posterior = LTH_POSTERIOR_INDUCING;
    o.inducing = 3;
    change_gp(kernel, &y, 1, &o);
    change_gp(kernel, &kind, 1, &o);
    o = support_fixed();
    o.coregion = 1;
    change_gp(kernel, two, 2, &o);
    o = support_fixed();
    o.mean = "f + g";
    change_gp(kernel, &y, 1, &o);
    o = support_fixed();
    o.noise_kernel = "rbf(f)";
    change_gp(kernel, &y, 1, &o);
}

static void test_draws(void **state) {
    (void)state;
    static const char *const y = "y";
    lth_gp_options o;
    lth_gp_options_init(&o);
    o.max_iter = 2;
    o.restarts = 0;
    o.average = 3;
    change_gp(kernel, &y, 1, &o);
}

/* ---- Support vector machines ---- */

static void change_svm(const char *expression, const char *target, lth_svm_solver solver) {
    lth_svm *svm = NULL;
    lth_error err = {0};
    lth_svm_options o;
    lth_svm_options_init(&o);
    o.solver = solver;
    o.probability = strcmp(target, "y") != 0;
    support_ok(lth_svm_fit(ctx, expression, table, target, &o, &svm, &err), &err);
    change_all(lth_svm_model(svm), 30);
}

static void test_machines(void **state) {
    (void)state;
    change_svm(kernel, "kind", LTH_SVM_KERNEL);
    change_svm(kernel, "y", LTH_SVM_KERNEL);
    change_svm(kernel, "multi", LTH_SVM_ORIGIN);
    change_svm("bow(text) + ngrams(text, n=1)", "kind", LTH_SVM_LINEAR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_likelihoods), cmocka_unit_test(test_labels),
        cmocka_unit_test(test_posteriors),  cmocka_unit_test(test_draws),
        cmocka_unit_test(test_machines),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
