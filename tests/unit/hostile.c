#include "hostile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "gp_support.h"
#include "model/common/tensors.h"

static const char target[] = "hostile", metadata[] = "__metadata__";

/* The names of all that is in a file: what a test lists by hand it forgets. */
static json_t *read_header(const char *path) {
    support_bytes b = support_slurp(path);
    uint64_t length;
    json_error_t why;
    assert_true(b.size > sizeof length);
    memcpy(&length, b.data, sizeof length);
    assert_true(length <= b.size - sizeof length);
    json_t *header = json_loadb((const char *)b.data + sizeof length, length, 0, &why);
    if (!header) fail_msg("%s: %s", path, why.text);
    free(b.data);
    return header;
}

/* Of the checksum and the format, which the writer makes. */
static bool is_made(const char *key) {
    return strcmp(key, "format") == 0 || strcmp(key, "version") == 0 ||
           strcmp(key, "checksum") == 0;
}

static size_t width_of(lth__dtype dtype) {
    static const size_t width[] = {1, 4, 8, 4, 8};
    return width[dtype];
}

static void set_element(lth__dtype dtype, void *data, const hostile_change *c) {
    switch (dtype) {
    case LTH__U8: ((uint8_t *)data)[c->at] = (uint8_t)c->count; break;
    case LTH__U32: ((uint32_t *)data)[c->at] = (uint32_t)c->count; break;
    case LTH__U64: ((uint64_t *)data)[c->at] = c->count; break;
    case LTH__F32: ((float *)data)[c->at] = (float)c->number; break;
    case LTH__F64: ((double *)data)[c->at] = c->number; break;
    }
}

/* Its data are to be freed. */
static lth__tensor changed(const lth__tensor *t, const hostile_change *c) {
    lth__tensor new = *t;
    size_t row = width_of(t->dtype), rows = t->shape[0];
    for (size_t d = 1; d < t->rank; d++) row *= t->shape[d];
    char *data = calloc(rows + 1, row + 1);
    assert_non_null(data);
    memcpy(data, t->data, rows * row);
    if (c->longer && rows > 0) memcpy(data + rows * row, data + (rows - 1) * row, row);
    if (c->shorter || c->longer) {
        new.shape[0] = c->longer ? rows + 1 : rows - 1;
    } else {
        assert_true(c->at < rows * row / width_of(t->dtype));
        set_element(t->dtype, data, c);
    }
    new.data = data;
    return new;
}

static bool is_of_text(const hostile_change *c) {
    return c->text || c->no_text;
}

/* Whether it is the one to change. */
static bool put_text(lth__tensors_writer *w, const lth__tensors *from, const char *key,
                     const hostile_change *c) {
    bool own = c && is_of_text(c) && strcmp(key, c->name) == 0;
    const char *text = own ? c->text : lth__tensors_text(from, key);
    if (text && !is_made(key)) assert_true(lth__tensors_put_text(w, key, text));
    return own;
}

static bool put_array(lth__tensors_writer *w, const lth__tensors *from, const char *name,
                      const hostile_change *c, void **block) {
    const lth__tensor *t = lth__tensors_find(from, name);
    bool own = c && !is_of_text(c) && strcmp(name, c->name) == 0;
    assert_non_null(t);
    lth__tensor new = *t;
    if (own && c->drop) return true;
    if (own) {
        new = changed(t, c);
        *block = (void *)(uintptr_t) new.data;
    }
    assert_true(lth__tensors_put(w, &new));
    return own;
}

void hostile_write(const char *path, const hostile_change *c) {
    lth_error err = {0};
    lth__tensors *from = NULL;
    void *block = NULL;
    bool found = c == NULL;
    json_t *header = read_header(path), *entry;
    const char *name;
    support_ok(lth__tensors_read(NULL, path, &from, &err), &err);
    lth__tensors_writer *w = lth__tensors_writer_create();
    assert_non_null(w);
    json_object_foreach(json_object_get(header, metadata), name, entry) found |=
        put_text(w, from, name, c);
    json_object_foreach(header, name, entry) {
        if (strcmp(name, metadata) != 0) found |= put_array(w, from, name, c, &block);
    }
    if (!found) fail_msg("%s has no %s", path, c->name);
    support_ok(lth__tensors_write(w, target, &err), &err);
    lth__tensors_writer_free(w);
    lth__tensors_free(from);
    json_decref(header);
    free(block);
}

static const char *kind_of(const hostile_change *c) {
    return c->drop ? "left out" : c->shorter ? "shorter" : c->longer ? "longer" : "changed";
}

/* ---- Loading ---- */

lth_status hostile_gp(lth_ctx *ctx, const char *path, lth_error *err) {
    lth_gp *gp = NULL;
    lth_status status = lth_gp_load(ctx, path, &gp, err);
    assert_true((status == LTH_OK) == (gp != NULL));
    lth_gp_free(gp);
    return status;
}

lth_status hostile_svm(lth_ctx *ctx, const char *path, lth_error *err) {
    lth_svm *svm = NULL;
    lth_status status = lth_svm_load(ctx, path, &svm, err);
    assert_true((status == LTH_OK) == (svm != NULL));
    lth_svm_free(svm);
    return status;
}

void hostile_file(lth_ctx *ctx, const char *path, hostile_load *load) {
    lth_error err = {0};
    assert_int_equal(load(ctx, path, &err), LTH_EFORMAT);
    assert_int_equal(err.status, LTH_EFORMAT);
    assert_true(err.message[0] && strcmp(err.file, path) == 0);
}

void hostile_refused(lth_ctx *ctx, const char *path, const hostile_change *c, hostile_load *load) {
    hostile_write(path, c);
    if (load(ctx, target, NULL) != LTH_EFORMAT)
        print_error("%s, element %zu, %s\n", c->name, c->at, kind_of(c));
    hostile_file(ctx, target, load);
}

static bool is_among(const char *name, const char *const *names) {
    for (; names && *names; names++) {
        if (strcmp(name, *names) == 0) return true;
    }
    return false;
}

void hostile_arrays(lth_ctx *ctx, const char *path, const char *const *may_lack,
                    const char *const *may_be_short, hostile_load *load) {
    lth_error err = {0};
    json_t *header = read_header(path), *entry;
    const char *name;
    json_object_foreach(header, name, entry) {
        if (strcmp(name, metadata) == 0) continue;
        size_t rows =
            (size_t)json_integer_value(json_array_get(json_object_get(entry, "shape"), 0));
        if (!is_among(name, may_lack))
            hostile_refused(ctx, path, &(hostile_change){.name = name, .drop = true}, load);
        if (rows > 0 && !is_among(name, may_be_short))
            hostile_refused(ctx, path, &(hostile_change){.name = name, .shorter = true}, load);
    }
    hostile_write(path, NULL);
    support_ok(load(ctx, target, &err), &err);
    json_decref(header);
    unlink(target);
}
