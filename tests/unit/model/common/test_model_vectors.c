/* What models keep of word vectors, where they look for those of new words, and which words they
 * say have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "gp_support.h"
#include "hostile.h"
#include "scratch.h"

static const char kernel[] = "ssk(text, order=2, sim=cosine)";
static const char file[] = "word_vectors.txt", model_file[] = "vectors.model";
static const char lines[] = "good 1 0\nbad -1 0.25\nlamp 0 1\nradio 0.5 0.5\nsun 1 1\nrain -1 1\n";

static char last[600];
static size_t told;
static lth_ctx *ctx;
static lth_table *rows, *new_rows;

static void note(void *user, lth_log_level level, const char *text) {
    (void)user;
    if (level != LTH_LOG_WARNING) return;
    told++;
    snprintf(last, sizeof last, "%s", text);
}

static int open_all(void **state) {
    lth_ctx_options options;
    if (scratch_open(state) != 0) return -1;
    lth_ctx_options_init(&options);
    options.log = note;
    FILE *to = fopen(file, "w");
    if (!to || lth_ctx_create(&options, &ctx, NULL) != LTH_OK) return -1;
    fputs(lines, to);
    rows = support_table(ctx, "text\ty\tkind\ngood lamp\t1\ta\nbad radio\t-1\tb\nzzz good\t2\ta\n"
                              "lamp radio\t0\tb\nbad\t-2\tb\n");
    new_rows = support_table(ctx, "text\ngood sun\nsun rain qqq\nzzz\n");
    return fclose(to);
}

static int close_all(void **state) {
    lth_table_free(rows);
    lth_table_free(new_rows);
    lth_ctx_free(ctx);
    remove(model_file);
    remove(file);
    return scratch_close(state);
}

static lth_model *fit(bool svm, lth_keep_vectors keep, const lth_word_vectors *in_memory) {
    lth_error err = {0};
    const char *target = "y";
    if (svm) {
        lth_svm_options options;
        lth_svm *out = NULL;
        lth_svm_options_init(&options);
        options.vectors = in_memory ? NULL : file;
        options.word_vectors = in_memory;
        options.keep_vectors = keep;
        support_ok(lth_svm_fit(ctx, kernel, rows, target, &options, &out, &err), &err);
        return lth_svm_model(out);
    }
    lth_gp_options options = support_fixed();
    lth_gp *out = NULL;
    options.vectors = in_memory ? NULL : file;
    options.word_vectors = in_memory;
    options.keep_vectors = keep;
    support_ok(lth_gp_fit(ctx, kernel, rows, &target, 1, &options, &out, &err), &err);
    return lth_gp_model(out);
}

static lth_status try_predict(lth_model *m, const lth_table *table, double *out, lth_error *err) {
    lth_svm_prediction to = {.value = out};
    if (lth_model_gp(m)) return lth_gp_predict(lth_model_gp(m), table, false, out, NULL, err);
    return lth_svm_predict(lth_model_svm(m), table, &to, sizeof to, err);
}

static void predict(lth_model *m, double out[3]) {
    lth_error err = {0};
    support_ok(try_predict(m, new_rows, out, &err), &err);
}

static lth_model *reload(lth_model *m) {
    lth_error err = {0};
    lth_model *loaded = NULL;
    support_ok(lth_model_save(m, model_file, &err), &err);
    support_ok(lth_model_load(ctx, model_file, &loaded, &err), &err);
    lth_model_free(m);
    return loaded;
}

static lth_words_without_vector count(const lth_model *m) {
    lth_words_without_vector c;
    lth_model_words_without_vector(m, &c, sizeof c);
    return c;
}

static void use(lth_model *m, const char *path) {
    lth_error err = {0};
    support_ok(lth_model_use_vectors(m, path, &err), &err);
}

/* ---- Warnings -------------------------------------------------------------------------------- */

static const char warning[] =
    "4 of the 6 words of these rows have no vector here (3 different), since training did not have "
    "them; training read word_vectors.txt (6 words, 2 numbers each): give that file as vectors, or "
    "keep all vectors with the model";

static void check_warnings(bool svm) {
    double with[3], without[3];
    lth_model *m = reload(fit(svm, LTH_KEEP_USED, NULL));
    const lth_vectors_origin *o = lth_model_vectors_origin(m);
    assert_string_equal(o->name, file);
    assert_true(o->words == 6 && o->dimension == 2 && o->keep == LTH_KEEP_USED);
    told = 0;
    predict(m, without);
    assert_int_equal(told, 1);
    assert_string_equal(last, warning);
    lth_words_without_vector c = count(m);
    assert_true(c.rows == 3 && c.units == 6 && c.occurrences == 5 && c.words == 4);
    assert_true(c.new_occurrences == 4 && c.new_words == 3); /* zzz is one of training's */
    use(m, file);
    predict(m, with);
    assert_int_equal(told, 1); /* qqq has none anywhere: that is no news */
    assert_true(with[0] != without[0]);
    c = count(m);
    assert_true(c.rows == 6 && c.occurrences == 7 && c.words == 4 && c.new_occurrences == 5);
    use(m, NULL);
    lth_model_gather_words(m, true);
    predict(m, without);
    predict(m, without);
    assert_int_equal(told, 1);
    lth_model_gather_words(m, true);
    lth_model_gather_words(m, false);
    assert_int_equal(told, 2);
    assert_non_null(strstr(last, "8 of the 12 words of these rows have no vector here (3 diff"));
    lth_model_gather_words(m, false);
    lth_model_gather_words(m, true); /* the same words again */
    predict(m, without);
    lth_model_gather_words(m, false);
    assert_int_equal(told, 2);
    predict(m, without);
    assert_int_equal(told, 3);
    assert_string_equal(last, warning);
    lth_model_free(m);
}

static void warnings(void **state) {
    (void)state;
    check_warnings(false);
    check_warnings(true);
}

/* Leaves of trees alone, unless all labels are soft; contextual columns never. */
static void trees(void **state) {
    (void)state;
    lth_table *table = support_table(ctx, "tree\ty\n(good lamp bad)\t1\n(sun (good rain))\t2\n");
    lth_table *more = support_table(ctx, "tree\n(qqq sun www)\n");
    const char *kernels[] = {"ptk(tree, sim=dot)", "ptk(tree, sim=dot, soft=all)"}, *target = "y";
    for (size_t i = 0; i < 2; i++) {
        lth_gp_options options = support_fixed();
        lth_gp *gp = NULL;
        lth_error err = {0};
        double mean[1];
        options.vectors = file;
        support_ok(lth_gp_fit(ctx, kernels[i], table, &target, 1, &options, &gp, &err), &err);
        support_ok(lth_gp_predict(gp, more, true, mean, NULL, &err), &err);
        lth_words_without_vector c = count(lth_gp_model(gp));
        assert_int_equal(c.units, 2 + i);
        assert_int_equal(c.new_words, 1 + i);
        lth_gp_free(gp);
    }
    lth_table_free(table);
    lth_table_free(more);
}

/* A kernel that compares no words by vectors has nothing to tell. */
static void without_vectors(void **state) {
    (void)state;
    lth_gp_options options = support_fixed();
    lth_error err = {0};
    lth_gp *gp = NULL;
    const char *target = "y";
    double mean[3];
    options.keep_vectors = LTH_KEEP_ALL;
    support_ok(lth_gp_fit(ctx, "ssk(text)", rows, &target, 1, &options, &gp, &err), &err);
    told = 0;
    support_ok(lth_gp_predict(gp, new_rows, false, mean, NULL, &err), &err);
    assert_int_equal(told, 0);
    assert_null(lth_model_vectors_origin(lth_gp_model(gp)));
    lth_words_without_vector c = count(lth_gp_model(gp));
    assert_true(c.rows == 0 && c.units == 0 && c.words == 0);
    lth_model_gather_words(lth_gp_model(gp), true);
    lth_model_gather_words(lth_gp_model(gp), false);
    use(lth_gp_model(gp), "no/such/file"); /* is never read */
    support_ok(lth_gp_predict(gp, new_rows, false, mean, NULL, &err), &err);
    lth_gp_free(gp);
}

/* ---- What is kept ---------------------------------------------------------------------------- */

static void check_keeping(bool svm) {
    double expected[3], found[3];
    lth_error err = {0};
    lth_model *m = reload(fit(svm, LTH_KEEP_USED, NULL));
    use(m, file);
    predict(m, expected);
    lth_model_free(m);
    told = 0;

    m = reload(reload(fit(svm, LTH_KEEP_ALL, NULL)));
    predict(m, found);
    for (size_t i = 0; i < 3; i++) support_near(found[i], expected[i], 0.01);
    use(m, file); /* is looked in first, and has all digits */
    predict(m, found);
    assert_memory_equal(found, expected, sizeof found);
    assert_int_equal(lth_model_vectors_origin(m)->keep, LTH_KEEP_ALL);
    lth_model_free(m);

    m = fit(svm, LTH_KEEP_NONE, NULL);
    use(m, file);
    predict(m, found); /* here it still has them */
    assert_memory_equal(found, expected, sizeof found);
    m = reload(reload(m));
    assert_int_equal(try_predict(m, new_rows, found, &err), LTH_EARG);
    assert_string_equal(
        err.message,
        "this model keeps no word vectors: give those that training used, word_vectors.txt");
    char *other = support_file("good 1 0 0\n", 11);
    assert_int_equal(lth_model_use_vectors(m, other, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "vectors of 3 numbers, where training had vectors of 2");
    support_remove(other);
    assert_int_equal(try_predict(m, new_rows, found, &err), LTH_EARG);
    assert_int_equal(lth_model_use_vectors(m, "no/such/file", &err), LTH_EIO);
    use(m, file);
    predict(m, found);
    for (size_t i = 0; i < 3; i++) support_near(found[i], expected[i], 1e-12);
    assert_int_equal(told, 0);
    lth_model_free(m);
}

static void keeping(void **state) {
    (void)state;
    check_keeping(false);
    check_keeping(true);
}

static void in_memory(void **state) {
    (void)state;
    double expected[3], found[3];
    lth_error err = {0};
    lth_word_vectors *v = NULL;
    lth_model *m = fit(false, LTH_KEEP_USED, NULL);
    use(m, file);
    predict(m, expected);
    lth_model_free(m);
    support_ok(lth_word_vectors_read(ctx, file, &v, &err), &err);
    m = fit(false, LTH_KEEP_USED, v);
    support_ok(lth_model_use_word_vectors(m, v, &err), &err);
    lth_word_vectors_free(v); /* the model has them */
    predict(m, found);
    assert_memory_equal(found, expected, sizeof found);
    m = reload(m);
    assert_string_equal(lth_model_vectors_origin(m)->name, "");
    told = 0;
    predict(m, found);
    assert_int_equal(told, 1);
    assert_non_null(strstr(last, "; training had 6 word vectors in memory, of 2 numbers: give"));
    lth_model_free(m);
}

/* ---- Files that are damaged, or old ---------------------------------------------------------- */

static void damaged(void **state) {
    (void)state;
    lth_error err = {0};
    lth_model *m = fit(false, LTH_KEEP_ALL, NULL), *old = NULL;
    support_ok(lth_model_save(m, model_file, &err), &err);
    lth_model_free(m);
    static const char good[] = "{\"name\":\"v\",\"words\":6,\"dimension\":2,\"keep\":\"all\"}";
    static const char *const texts[] = {
        "",
        "[]",
        "7",
        "{\"name\":\"v\"}",
        "{\"name\":3,\"words\":6,\"dimension\":2,\"keep\":\"all\"}",
        "{\"name\":\"v\",\"words\":0,\"dimension\":2,\"keep\":\"all\"}",
        "{\"name\":\"v\",\"words\":6,\"dimension\":3,\"keep\":\"all\"}",
        "{\"name\":\"v\",\"words\":6,\"dimension\":-1,\"keep\":\"all\"}",
        "{\"name\":\"v\",\"words\":6,\"dimension\":1e9,\"keep\":\"all\"}",
        "{\"name\":\"v\",\"words\":6,\"dimension\":2,\"keep\":\"some\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hostile_refused(ctx, model_file, &(hostile_change){.name = "vectors", .text = texts[i]},
                        hostile_gp);
    hostile_write(model_file, &(hostile_change){.name = "vectors", .text = good});
    support_ok(lth_model_load(ctx, "hostile", &old, &err), &err);
    lth_model_free(old);
    const hostile_change changes[] = {
        {.name = "vectors.texts", .shorter = true},
        {.name = "vectors.text_ends", .longer = true},
        {.name = "vectors.bytes", .drop = true},
        {.name = "vectors.bytes", .shorter = true},
        {.name = "vectors.scales", .at = 1, .number = -1},
        {.name = "vectors.scales", .at = 2, .number = 3e38},
        {.name = "vectors.text_ends", .at = 0, .count = 1000},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, model_file, &changes[i], hostile_gp);
    /* A model from before all this was kept. */
    hostile_write(model_file, &(hostile_change){.name = "vectors", .no_text = true});
    support_ok(lth_model_load(ctx, "hostile", &old, &err), &err);
    assert_null(lth_model_vectors_origin(old));
    told = 0;
    double found[3];
    predict(old, found);
    assert_int_equal(told, 1);
    assert_non_null(strstr(last, "did not have them; give the file of vectors that training read"));
    use(old, file);
    predict(old, found);
    assert_int_equal(told, 1);
    lth_model_free(old);
    remove("hostile");
}

static lth_status use_all(void *user, lth_error *err) {
    lth_model *m = NULL;
    double found[3];
    lth_status status = lth_model_load(user, model_file, &m, err);
    if (status == LTH_OK) status = try_predict(m, new_rows, found, err);
    if (status == LTH_OK) status = lth_model_use_vectors(m, file, err);
    if (status == LTH_OK) status = try_predict(m, new_rows, found, err);
    lth_model_free(m);
    return status;
}

static void without_memory(void **state) {
    (void)state;
    lth_error err = {0};
    lth_model *m = fit(true, LTH_KEEP_ALL, NULL);
    support_ok(lth_model_save(m, model_file, &err), &err);
    lth_model_free(m);
    fail_each(use_all, ctx, true, 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warnings),        cmocka_unit_test(trees),
        cmocka_unit_test(without_vectors), cmocka_unit_test(keeping),
        cmocka_unit_test(in_memory),       cmocka_unit_test(damaged),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
