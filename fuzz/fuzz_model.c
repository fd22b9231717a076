/* Any bytes, loaded as a model, which then predicts a row.
 *
 * Few changes pass the checksum of a file, so an input that begins with 0xFF is a recipe instead: a
 * kernel and a few sizes, from which a plain model is made, and then changes to its arrays, three
 * bytes each: which array; its type, rank, shape or the place of a byte; the new value. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/core/field.h"
#include "model/common/tensors.h"

/* ---- Loading and predicting ---- */

static lth_ctx *ctx;
static lth_table *table;

static int write_memory(const void *data, size_t size, char path[64]) {
    int fd = memfd_create("model", 0);
    if (fd < 0) return -1;
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size) return fd;
    close(fd);
    return -1;
}

static void prepare(void) {
    static const char lines[] = "text\tf1\tf2\nb good zig ex-wife\t1\t-0.5\n";
    char path[64];
    if (ctx) return;
    int fd = write_memory(lines, sizeof lines - 1, path);
    if (fd < 0 || lth_ctx_create(NULL, &ctx, NULL) != LTH_OK ||
        lth_table_read(ctx, path, NULL, &table, NULL) != LTH_OK)
        abort();
    close(fd);
}

static void load_svm(const char *path) {
    lth_error err;
    lth_svm *svm;
    if (lth_svm_load(ctx, path, &svm, &err) != LTH_OK) return;
    lth_svm_report r = *lth_svm_reported(svm);
    double value;
    bool *has = calloc(r.classes + 1, sizeof *has);
    lth_svm_prediction to = {.value = r.regression ? &value : NULL,
                             .has = r.regression ? NULL : has};
    if (has) lth_svm_predict(svm, table, &to, sizeof to, &err);
    free(has);
    lth_svm_free(svm);
}

static void load(const char *path) {
    lth_error err;
    lth_gp *gp;
    if (lth_gp_load(ctx, path, &gp, &err) != LTH_OK) {
        load_svm(path);
        return;
    }
    size_t targets = lth_gp_targets(gp), latents = lth_gp_latents(gp);
    double *mean = calloc(2 * (targets + latents), sizeof *mean), *joint = mean + 2 * targets;
    if (mean) lth_gp_predict(gp, table, false, mean, mean + targets, &err);
    if (mean) lth_gp_predict_joint(gp, table, joint, joint + latents, &err);
    for (size_t i = 0; i < lth_kernel_params(lth_gp_kernel(gp)); i++)
        if (!lth_gp_param_at(gp, i)->path) abort();
    if (!lth_gp_param_at(gp, LTH_NONE)->path) abort();
    free(mean);
    lth_gp_free(gp);
}

/* ---- Recipes ---- */

enum { MOST_ARRAYS = 40, MOST_WORDS = 1024 };

typedef struct array {
    char name[64];
    lth__tensor tensor;
    union {
        uint64_t u64[MOST_WORDS];
        uint32_t u32[2 * MOST_WORDS];
        uint8_t u8[8 * MOST_WORDS];
        double f64[MOST_WORDS];
        float f32[2 * MOST_WORDS];
    } data;
} array;

static array arrays[MOST_ARRAYS];
static size_t array_count;

typedef struct recipe {
    const uint8_t *at, *end;
    size_t rows, targets, words;
} recipe;

static uint8_t next(recipe *r) {
    return r->at < r->end ? *r->at++ : 0;
}

static const char *const kernels[] = {
    "rbf(f1)",
    "rbf(f1..f2, ard=yes)",
    "matern32(f1..f2) + linear(f2)",
    "ssk(text, order=2)",
    "normalize(ssk(text, order=3, units=chars))",
    "ssk(text, order=2, sim=dot)",
    "ssk(text, order=2, sim=exp, oov=parts, rarity=0.01)",
    "rbf(tfidf(text))",
    "linear(ngrams(text)) * rbf(f1)",
    "rbf(mean(text)) + 0.5",
    "linear(scale(f1..f2))",
};

static array *add(const char *name, lth__dtype dtype, size_t rank, size_t rows, size_t cols) {
    if (array_count == MOST_ARRAYS) abort();
    array *a = &arrays[array_count++];
    memset(a, 0, sizeof *a);
    snprintf(a->name, sizeof a->name, "%s", name);
    a->tensor = (lth__tensor){
        .name = a->name, .dtype = dtype, .rank = rank, .shape = {rows, cols, 1}, .data = &a->data};
    return a;
}

static void add_numbers(const recipe *r, size_t params) {
    array *a = add("report", LTH__F64, 1, 18, 1);
    a->data.f64[0] = (double)r->rows;
    add("nu", LTH__F64, 1, 64, 1);
    add("order_share", LTH__F64, 1, 64, 1);
    a = add("scaling", LTH__F64, 2, r->targets, 2);
    for (size_t t = 0; t < r->targets; t++) a->data.f64[2 * t + 1] = 2;
    add("noise", LTH__F64, 1, 2, 1)->data.f64[0] = 0.5;
    add("start", LTH__F64, 1, params + 1, 1);
    add("flags", LTH__U8, 2, params + 1, 2);
    a = add("y", LTH__F64, 2, r->rows, r->targets);
    for (size_t i = 0; i < r->rows; i++) a->data.f64[i] = (double)i - 1;
    a = add("alpha", LTH__F64, 2, r->rows, r->targets);
    for (size_t i = 0; i < r->rows; i++) a->data.f64[i] = 0.25;
    if (r->rows % 2 == 0) { /* few rows are one panel: a whole matrix too */
        add("factor.height", LTH__U32, 1, 1, 1)->data.u32[0] = 64;
        a = add("factor.packed", LTH__F64, 1, r->rows * r->rows, 1);
    } else {
        a = add("factor", LTH__F64, 2, r->rows, r->rows);
    }
    for (size_t i = 0; i < r->rows; i++) a->data.f64[i * r->rows + i] = 1.5;
}

static array *add_part(size_t field, const char *part, lth__dtype dtype, size_t rank, size_t rows,
                       size_t cols) {
    char name[64];
    snprintf(name, sizeof name, "field.%zu.%s", field, part);
    return add(name, dtype, rank, rows, cols);
}

static void add_text_field(const recipe *r, size_t field, bool vectors) {
    array *a = add_part(field, "texts", LTH__U8, 1, r->words, 1);
    for (size_t i = 0; i < r->words; i++) a->data.u8[i] = (uint8_t)('a' + i);
    a = add_part(field, "text_ends", LTH__U64, 1, r->words, 1);
    for (size_t i = 0; i < r->words; i++) a->data.u64[i] = i + 1;
    size_t units = r->words > 0 ? 2 * (r->rows - 1) : 0; /* the first row is empty */
    a = add_part(field, "starts", LTH__U64, 1, r->rows + 1, 1);
    for (size_t i = 1; i <= r->rows; i++) a->data.u64[i] = units > 0 ? 2 * (i - 1) : 0;
    a = add_part(field, "symbols", LTH__U32, 1, units, 1);
    for (size_t i = 0; i < units; i++) a->data.u32[i] = (uint32_t)(i % r->words);
    if (!vectors) return;
    a = add_part(field, "vector_rows", LTH__U32, 1, r->words, 1);
    for (size_t i = 0; i < r->words; i++) a->data.u32[i] = i == 2 ? UINT32_MAX : (uint32_t)i;
    a = add_part(field, "vectors", LTH__F32, 2, r->words, 2);
    for (size_t i = 0; i < 2 * r->words; i++) a->data.f32[i] = (float)i;
}

static void add_fields(const recipe *r, const lth_kernel *kernel) {
    for (size_t f = 0; f < kernel->field_count; f++) {
        const lth__field_def *def = &kernel->fields[f];
        bool scaled = def->type == &lth__field_scaled;
        if (def->type != &lth__field_numbers && !scaled) {
            add_text_field(r, f, def->vectors);
            continue;
        }
        size_t columns = strstr(def->column, "..") ? 2 : 1;
        array *a = add_part(f, "numbers", LTH__F64, 2, r->rows, columns);
        for (size_t i = 0; i < 2 * r->rows; i++) a->data.f64[i] = (double)i;
        if (!scaled) continue;
        add_part(f, "means", LTH__F64, 1, columns, 1);
        add_part(f, "deviations", LTH__F64, 1, columns, 1)->data.f64[0] = 2;
    }
}

static void change_arrays(recipe *r) {
    while (r->at < r->end) {
        array *a = &arrays[next(r) % array_count];
        uint8_t what = next(r), value = next(r);
        if (what < 8)
            a->tensor.dtype = (lth__dtype)(value % 5);
        else if (what < 16)
            a->tensor.rank = value % 4;
        else if (what < 64)
            a->tensor.shape[what % 3] = value;
        else
            a->data.u8[what - 64] = value;
    }
}

static bool fits(const array *a) {
    static const size_t width[] = {1, 4, 8, 4, 8};
    size_t size = width[a->tensor.dtype];
    for (size_t i = 0; i < a->tensor.rank; i++) size *= a->tensor.shape[i];
    return size <= sizeof a->data;
}

static bool fill(lth__tensors_writer *w, recipe *r) {
    const char *expression = kernels[next(r) % (sizeof kernels / sizeof *kernels)];
    r->rows = 1 + next(r) % 5u;
    r->targets = 1 + next(r) % 2u;
    r->words = next(r) % 6u;
    lth_kernel *kernel;
    if (lth_kernel_parse(ctx, expression, &kernel, NULL) != LTH_OK) return false;
    array_count = 0;
    add_numbers(r, kernel->param_count);
    add_fields(r, kernel);
    lth_kernel_free(kernel);
    change_arrays(r);
    bool ok = lth__tensors_put_text(w, "model", "gp") &&
              lth__tensors_put_text(w, "kernel", expression) &&
              lth__tensors_put_text(w, "targets", r->targets == 1 ? "[\"y\"]" : "[\"y\",\"z\"]");
    for (size_t i = 0; ok && i < array_count; i++)
        if (fits(&arrays[i])) ok = lth__tensors_put(w, &arrays[i].tensor);
    return ok;
}

static void cook(const uint8_t *data, size_t size) {
    recipe r = {.at = data, .end = data + size};
    const char *folder = getenv("TMPDIR");
    char path[256];
    snprintf(path, sizeof path, "%.200s/fuzz_model-%ld", folder ? folder : "/tmp", (long)getpid());
    lth__tensors_writer *w = lth__tensors_writer_create();
    bool written = w && fill(w, &r) && lth__tensors_write(w, path, NULL) == LTH_OK;
    lth__tensors_writer_free(w);
    if (!written) return;
    load(path);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    prepare();
    if (size > 0 && data[0] == 0xFF) {
        cook(data + 1, size - 1);
        return 0;
    }
    char path[64];
    int fd = write_memory(data, size, path);
    if (fd < 0) return 0;
    load(path);
    close(fd);
    return 0;
}
