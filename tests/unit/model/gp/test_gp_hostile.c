/* Model files that are damaged or hostile are refused. */
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

#include "gp_support.h"
#include "hostile.h"
#include "model/common/tensors.h"

static lth_ctx *ctx;
static char folder[] = "test_gp_hostile.XXXXXX";

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

/* ---- Damage ---------------------------------------------------------------------------------- */

static void spill(const char *path, const void *data, size_t size) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_true(fwrite(data, 1, size, stream) == size);
    assert_int_equal(fclose(stream), 0);
}

/* A small model with texts, vectors and numbers. */
static void save_small(const char *path) {
    lth_error err = {0};
    lth_table *table =
        support_table(ctx, "text\tf1\tf2\ty\tz\ngood lamp\t1\t2\t1\t0\n\t0\t0\t2\t1\n"
                           "bad ex-wife\t1\t5\t4\t1\nzig good\t2\t2\t3\t5\n");
    char *vectors = support_vectors();
    lth_gp_options options = support_fixed();
    options.vectors = vectors;
    lth_gp *gp =
        support_fit(ctx, "ssk(text, order=2, sim=dot) + rbf(f1..f2, ard=yes)", table, 2, &options);
    support_ok(lth_gp_save(gp, path, &err), &err);
    lth_gp_free(gp);
    support_remove(vectors);
    lth_table_free(table);
}

static void check_refused(const char *path) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_status status = lth_gp_load(ctx, path, &gp, &err);
    assert_true(status == LTH_EFORMAT || status == LTH_EIO);
    assert_null(gp);
    assert_true(strlen(err.message) > 0 && err.status == status);
}

static void truncated(void **state) {
    (void)state;
    save_small("model");
    support_bytes b = support_slurp("model");
    for (size_t size = 0; size < b.size; size += size < 64 || size + 64 > b.size ? 1 : 13) {
        spill("model", b.data, size);
        check_refused("model");
    }
    /* And with something after its end. */
    b.data[b.size] = 0;
    spill("model", b.data, b.size + 1);
    check_refused("model");
    spill("model", b.data, b.size);
    lth_error err = {0};
    lth_gp *gp = NULL;
    support_ok(lth_gp_load(ctx, "model", &gp, &err), &err); /* whole, it is fine */
    lth_gp_free(gp);
    free(b.data);
    unlink("model");
}

static void flipped(void **state) {
    (void)state;
    save_small("model");
    support_bytes b = support_slurp("model");
    for (size_t i = 0; i < b.size; i++) {
        unsigned char flip = (unsigned char)(1u << i % 8);
        b.data[i] ^= flip;
        spill("model", b.data, b.size);
        check_refused("model");
        b.data[i] ^= flip;
    }
    free(b.data);
    unlink("model");
}

static void not_a_model(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *gp = NULL;
    assert_int_equal(lth_gp_load(ctx, "missing", &gp, &err), LTH_EIO);
    assert_string_equal(err.file, "missing");
    assert_int_equal(lth_gp_load(ctx, ".", &gp, &err), LTH_EIO);
    spill("model", "text\ty\na\t1\n", 11);
    assert_int_equal(lth_gp_load(ctx, "model", &gp, &err), LTH_EFORMAT);
    assert_string_equal(err.file, "model");
    assert_null(gp);
    unlink("model");
}

/* ---- Hostile files, with a good checksum ------------------------------------------------------
 */

static const char *const arrays[] = {"report",
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
                                     "field.0.starts",
                                     "field.0.symbols",
                                     "field.0.vector_rows",
                                     "field.0.vectors",
                                     "field.1.numbers"};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

/* What is wrong with one array (or text) of a file. A change of "factor" is one of a file as 0.1.0
 * wrote it: with the factor as a whole matrix, which is how so few rows are packed too. */
typedef struct change {
    const char *name;
    enum { DROP, SHAPE, TYPE, SET, TEXT } kind;
    size_t rank, shape[3]; /* SHAPE; all of it is there, zeros after the old data */
    lth__dtype dtype;      /* TYPE */
    size_t at;             /* SET: element and its new value */
    double value;
    const char *text; /* TEXT: of that key; NULL = none */
} change;

static void set_element(lth__dtype dtype, void *data, size_t at, double value) {
    switch (dtype) {
    case LTH__U8: ((uint8_t *)data)[at] = (uint8_t)value; break;
    case LTH__U32: ((uint32_t *)data)[at] = (uint32_t)value; break;
    case LTH__U64: ((uint64_t *)data)[at] = (uint64_t)value; break;
    case LTH__F32: ((float *)data)[at] = (float)value; break;
    case LTH__F64: ((double *)data)[at] = value; break;
    }
}

static void put_text(lth__tensors_writer *w, const lth__tensors *from, const char *key,
                     const change *c) {
    const char *text = lth__tensors_text(from, key);
    assert_non_null(text);
    if (c->kind == TEXT && strcmp(c->name, key) == 0) text = c->text;
    if (text) assert_true(lth__tensors_put_text(w, key, text));
}

/* Write "hostile": the file "model" with one change. */
static void write_changed(const change *c) {
    static const size_t width[] = {1, 4, 8, 4, 8};
    lth_error err = {0};
    lth__tensors *from = NULL;
    support_ok(lth__tensors_read(NULL, "model", &from, &err), &err);
    lth__tensors_writer *w = lth__tensors_writer_create();
    void *block = NULL;
    put_text(w, from, "model", c);
    put_text(w, from, "kernel", c);
    put_text(w, from, "targets", c);
    bool found = c->kind == TEXT;
    for (size_t i = 0; i < ARRAYS; i++) {
        const lth__tensor *old = lth__tensors_find(from, arrays[i]);
        assert_non_null(old);
        lth__tensor t = *old;
        size_t size = width[t.dtype], room = 4096;
        for (size_t d = 0; d < t.rank; d++) size *= t.shape[d];
        bool whole = strcmp(c->name, "factor") == 0;
        if (whole && strcmp(arrays[i], "factor.height") == 0) continue;
        if (whole && strcmp(arrays[i], "factor.packed") == 0)
            t = (lth__tensor){"factor", LTH__F64, .rank = 2, .shape = {4, 4}, .data = t.data};
        if (c->kind != TEXT && strcmp(c->name, t.name) == 0) {
            found = true;
            if (c->kind == DROP) continue;
            block = calloc(room, 8);
            assert_true(size <= 8 * room);
            memcpy(block, t.data, size);
            t.data = block;
            if (c->kind == SET) set_element(t.dtype, block, c->at, c->value);
            if (c->kind == TYPE) t.dtype = c->dtype;
            if (c->kind == SHAPE) {
                t.rank = c->rank;
                memcpy(t.shape, c->shape, sizeof t.shape);
            }
        }
        assert_true(lth__tensors_put(w, &t));
    }
    assert_true(found);
    support_ok(lth__tensors_write(w, "hostile", &err), &err);
    lth__tensors_writer_free(w);
    lth__tensors_free(from);
    free(block);
}

static void must_be_refused(void **state) {
    (void)state;
    static const change changes[] = {
        {"model", TEXT, .text = NULL},
        {"model", TEXT, .text = "svm"},
        {"kernel", TEXT, .text = NULL},
        {"kernel", TEXT, .text = ""},
        {"kernel", TEXT, .text = "ssk(text"},
        {"kernel", TEXT, .text = "ssk(text, order=3, sim=dot) + rbf(f1..f2, ard=yes)"},
        {"kernel", TEXT, .text = "ssk(text, order=2, sim=dot) + rbf(f1..f3, ard=yes)"},
        {"kernel", TEXT, .text = "rbf(f1..f2, ard=yes) + ssk(text, order=2, sim=dot)"},
        {"kernel", TEXT, .text = "ssk(text, order=2, gap=7, sim=dot) + rbf(f1..f2, ard=yes)"},
        {"targets", TEXT, .text = NULL},
        {"targets", TEXT, .text = "[]"},
        {"targets", TEXT, .text = "[\"y\"]"},
        {"targets", TEXT, .text = "[\"y\",\"z\",\"w\"]"},
        {"targets", TEXT, .text = "[\"y\",7]"},
        {"targets", TEXT, .text = "{\"y\":\"z\"}"},
        {"targets", TEXT, .text = "[\"y\","},
        {"y", SHAPE, .rank = 2, .shape = {0, 2}},
        {"y", SHAPE, .rank = 2, .shape = {3, 2}},
        {"y", SHAPE, .rank = 2, .shape = {5, 2}},
        {"y", SHAPE, .rank = 2, .shape = {4, 1}},
        {"y", SHAPE, .rank = 1, .shape = {8}},
        {"y", SET, .at = 3, .value = NAN},
        {"alpha", SHAPE, .rank = 2, .shape = {2, 4}},
        {"alpha", SHAPE, .rank = 3, .shape = {4, 2, 1}},
        {"alpha", SET, .at = 0, .value = INFINITY},
        {"factor.packed", SHAPE, .rank = 1, .shape = {15}},
        {"factor.packed", SHAPE, .rank = 1, .shape = {17}},
        {"factor.packed", SHAPE, .rank = 2, .shape = {4, 4}},
        {"factor.packed", TYPE, .dtype = LTH__U64},
        {"factor.packed", SET, .at = 5, .value = 0},
        {"factor.packed", SET, .at = 10, .value = -1},
        {"factor.packed", SET, .at = 4, .value = NAN},
        {"factor.packed", SET, .at = 15, .value = INFINITY},
        {"factor.height", SET, .at = 0, .value = 0},
        {"factor.height", SET, .at = 0, .value = 2}, /* then it would be shorter */
        {"factor.height", SET, .at = 0, .value = 3},
        {"factor.height", SET, .at = 0, .value = 4294967295.0},
        {"factor.height", SHAPE, .rank = 1, .shape = {2}},
        {"factor.height", SHAPE, .rank = 1, .shape = {0}},
        {"factor.height", TYPE, .dtype = LTH__F32},
        {"factor", DROP, .rank = 0},
        {"factor", SHAPE, .rank = 2, .shape = {4, 3}},
        {"factor", SHAPE, .rank = 2, .shape = {3, 4}},
        {"factor", SHAPE, .rank = 1, .shape = {16}},
        {"factor", TYPE, .dtype = LTH__U64},
        {"factor", SET, .at = 5, .value = 0},
        {"factor", SET, .at = 10, .value = -1},
        {"factor", SET, .at = 4, .value = NAN},
        {"start", SHAPE, .rank = 1, .shape = {7}},
        {"start", SHAPE, .rank = 2, .shape = {8, 1}},
        {"start", SET, .at = 1, .value = NAN},
        {"flags", SHAPE, .rank = 2, .shape = {7, 2}},
        {"flags", SHAPE, .rank = 2, .shape = {8, 1}},
        {"flags", SHAPE, .rank = 1, .shape = {16}},
        {"scaling", SHAPE, .rank = 2, .shape = {1, 2}},
        {"scaling", SHAPE, .rank = 2, .shape = {2, 1}},
        {"scaling", SET, .at = 0, .value = NAN},
        {"scaling", SET, .at = 1, .value = 0},
        {"scaling", SET, .at = 3, .value = -1},
        {"scaling", SET, .at = 1, .value = INFINITY},
        {"noise", SHAPE, .rank = 1, .shape = {1}},
        {"noise", SET, .at = 0, .value = -1},
        {"noise", SET, .at = 0, .value = NAN},
        {"noise", SET, .at = 0, .value = INFINITY},
        {"noise", SET, .at = 1, .value = NAN},
        {"noise", SET, .at = 1, .value = -1e-10},
        {"report", SHAPE, .rank = 1, .shape = {17}},
        {"report", SHAPE, .rank = 1, .shape = {19}},
        {"report", SET, .at = 0, .value = 1e300},
        {"report", SET, .at = 1, .value = -1},
        {"report", SET, .at = 2, .value = NAN},
        {"report", SET, .at = 3, .value = INFINITY},
        {"report", SET, .at = 10, .value = 65},
        {"report", SET, .at = 11, .value = -7},
        {"nu", SHAPE, .rank = 1, .shape = {63}},
        {"order_share", SHAPE, .rank = 1, .shape = {65}},
        {"order_share", TYPE, .dtype = LTH__U64},
        {"field.0.texts", TYPE, .dtype = LTH__F32},
        {"field.0.texts", SHAPE, .rank = 1, .shape = {3}},
        {"field.0.text_ends", SET, .at = 0, .value = 1e6},
        {"field.0.text_ends", SET, .at = 4, .value = 1},
        {"field.0.text_ends", SET, .at = 4, .value = 1e19},
        {"field.0.text_ends", SHAPE, .rank = 1, .shape = {2}},
        {"field.0.text_ends", SHAPE, .rank = 1, .shape = {0}},
        {"field.0.starts", SHAPE, .rank = 1, .shape = {4}},
        {"field.0.starts", SHAPE, .rank = 1, .shape = {6}},
        {"field.0.starts", SET, .at = 0, .value = 1},
        {"field.0.starts", SET, .at = 1, .value = 5},
        {"field.0.starts", SET, .at = 4, .value = 5},
        {"field.0.starts", SET, .at = 4, .value = 7},
        {"field.0.starts", SET, .at = 4, .value = 1e19},
        {"field.0.symbols", SET, .at = 0, .value = 5},
        {"field.0.symbols", SET, .at = 5, .value = 4294967295.0},
        {"field.0.symbols", SHAPE, .rank = 1, .shape = {5}},
        {"field.0.symbols", SHAPE, .rank = 1, .shape = {7}},
        {"field.0.vector_rows", SHAPE, .rank = 1, .shape = {6}},
        {"field.0.vector_rows", SET, .at = 0, .value = 77},
        {"field.0.vector_rows", SET, .at = 0, .value = 2147483648.0},
        {"field.0.vectors", SHAPE, .rank = 2, .shape = {1, 3}},
        {"field.0.vectors", SHAPE, .rank = 2, .shape = {3, 0}},
        {"field.0.vectors", SHAPE, .rank = 1, .shape = {9}},
        {"field.0.vectors", SET, .at = 0, .value = NAN},
        {"field.1.numbers", SHAPE, .rank = 2, .shape = {4, 1}},
        {"field.1.numbers", SHAPE, .rank = 2, .shape = {4, 3}},
        {"field.1.numbers", SHAPE, .rank = 2, .shape = {4, 0}},
        {"field.1.numbers", SHAPE, .rank = 2, .shape = {2, 4}},
        {"field.1.numbers", SHAPE, .rank = 1, .shape = {8}},
        {"field.1.numbers", SET, .at = 7, .value = NAN},
    };
    save_small("model");
    lth_table *table = support_rows(ctx, 0, 2);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        lth_error err = {0};
        lth_gp *gp = NULL;
        write_changed(&changes[i]);
        lth_status status = lth_gp_load(ctx, "hostile", &gp, &err);
        if (status != LTH_EFORMAT || err.message[0] == 0) {
            print_error("change %zu of %s is not refused: %d %s\n", i, changes[i].name, status,
                        err.message);
            fail();
        }
        assert_null(gp);
    }
    for (size_t i = 0; i < ARRAYS; i++) { /* every array is needed */
        write_changed(&(change){.name = arrays[i], .kind = DROP});
        check_refused("hostile");
    }
    lth_table_free(table);
    unlink("model");
    unlink("hostile");
}

/* The factor as a whole matrix, and panels of another height: the same predictions. What is above
 * the diagonal means nothing. */
static void other_layouts_of_the_factor(void **state) {
    (void)state;
    static const change changes[] = {{"factor", SET, .at = 1, .value = NAN},
                                     {"factor.packed", SET, .at = 1, .value = NAN},
                                     {"factor.height", SET, .at = 0, .value = 4}};
    save_small("model");
    lth_table *table = support_rows(ctx, 0, 2);
    lth_error err = {0};
    lth_gp *gp = NULL;
    double mean[4], sd[4], wanted_mean[4], wanted_sd[4];
    support_ok(lth_gp_load(ctx, "model", &gp, &err), &err);
    support_ok(lth_gp_predict(gp, table, false, wanted_mean, wanted_sd, &err), &err);
    lth_gp_free(gp);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        write_changed(&changes[i]);
        support_ok(lth_gp_load(ctx, "hostile", &gp, &err), &err);
        support_ok(lth_gp_predict(gp, table, false, mean, sd, &err), &err);
        assert_memory_equal(mean, wanted_mean, sizeof mean);
        assert_memory_equal(sd, wanted_sd, sizeof sd);
        lth_gp_free(gp);
    }
    lth_table_free(table);
    unlink("model");
    unlink("hostile");
}

/* Odd values that are accepted or refused, as long as nothing breaks. */
static void may_be_refused(void **state) {
    (void)state;
    static const double values[] = {0, 1, -1, 4, 1e300, -INFINITY, 0.5};
    save_small("model");
    lth_table *table = support_rows(ctx, 0, 2);
    size_t accepted = 0;
    for (size_t i = 0; i < ARRAYS; i++) {
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            if (strcmp(arrays[i], "factor.height") == 0) continue; /* it has one number */
            if (strstr(arrays[i], "field") && strcmp(arrays[i], "field.1.numbers") != 0 &&
                !(values[v] >= 0 && values[v] <= 4))
                continue; /* no such number */
            if (strcmp(arrays[i], "flags") == 0 && !(values[v] >= 0 && values[v] <= 4)) continue;
            lth_error err = {0};
            lth_gp *gp = NULL;
            double mean[4], sd[4];
            write_changed(&(change){.name = arrays[i], .kind = SET, .at = 1, .value = values[v]});
            lth_status status = lth_gp_load(ctx, "hostile", &gp, &err);
            assert_true(status == LTH_OK || status == LTH_EFORMAT);
            if (status != LTH_OK) continue;
            accepted++;
            status = lth_gp_predict(gp, table, false, mean, sd, &err);
            assert_true(status == LTH_OK || status == LTH_ENUMERIC || status == LTH_EARG);
            lth_gp_free(gp);
        }
    }
    assert_true(accepted > 10);
    lth_table_free(table);
    unlink("model");
    unlink("hostile");
}

/* The kernel of a model with `from` in the place of `to`, and both loaded: a model has what its
 * expression needs, and whoever wrote the file does not choose what is read here. */
static void check_file_refused(const char *kernel, const lth_table *table, const char *from,
                               const char *to) {
    lth_error err = {0};
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, kernel, table, 1, &options);
    char text[512], changed[512];
    assert_true(lth_kernel_print(lth_gp_kernel(gp), text, sizeof text) < sizeof text);
    support_ok(lth_gp_save(gp, "model", &err), &err);
    lth_gp_free(gp);
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    lth_kernel *good = NULL; /* it is nothing else that is wrong */
    support_ok(lth_kernel_parse(ctx, changed, &good, &err), &err);
    lth_kernel_free(good);
    hostile_write("model", &(hostile_change){.name = "kernel", .text = changed});
    gp = NULL;
    assert_int_equal(lth_gp_load(ctx, "hostile", &gp, &err), LTH_EFORMAT);
    assert_null(gp);
    assert_non_null(strstr(err.message, "the model names a file"));
    unlink("hostile");
    unlink("model");
}

static void names_of_files(void **state) {
    (void)state;
    static const char wild[] = ">wild\nACDE\n", matrix[] = "  A C\nA 4 -1\nC -1 5\n";
    spill("wild.fa", wild, sizeof wild - 1);
    spill("matrix.txt", matrix, sizeof matrix - 1);
    lth_table *mutants = support_table(ctx, "m\ty\nA1C\t1\nC2A\t2\nWT\t3\n");
    lth_table *texts = support_table(ctx, "m\ty\nACA\t1\nCCA\t2\nAAC\t3\n");
    check_file_refused("sites(m, wild_type=\"wild.fa\")", mutants, "wild_type=ACDE",
                       "wild_type=\"wild.fa\"");
    check_file_refused("la(m, matrix=\"matrix.txt\")", texts, "matrix=[AC,4,-1,5]",
                       "matrix=\"matrix.txt\"");
    lth_table_free(mutants);
    lth_table_free(texts);
    unlink("wild.fa");
    unlink("matrix.txt");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated),      cmocka_unit_test(flipped),
        cmocka_unit_test(not_a_model),    cmocka_unit_test(must_be_refused),
        cmocka_unit_test(may_be_refused), cmocka_unit_test(other_layouts_of_the_factor),
        cmocka_unit_test(names_of_files),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
