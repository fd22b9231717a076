#include "gp_support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"

void support_ok(lth_status status, const lth_error *err) {
    if (status == LTH_OK) return;
    print_error("%s:%zu:%zu: %s\n", err->file, err->line, err->column, err->message);
    fail();
}

void support_near(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance * (1 + fabs(b)))) fail_msg("%.17g is not %.17g", a, b);
}

lth_ctx *support_context(unsigned threads) {
    lth_error err = {0};
    lth_ctx *ctx = NULL;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = threads;
    support_ok(lth_ctx_create(&options, &ctx, &err), &err);
    return ctx;
}

/* ---- Files and tables ---- */

char *support_file(const void *bytes, size_t length) {
    char *path = strdup("support.XXXXXX");
    assert_non_null(path);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(write(fd, bytes, length) == (ssize_t)length);
    close(fd);
    return path;
}

void support_remove(char *path) {
    unlink(path);
    free(path);
}

void support_write(const char *path, const void *bytes, size_t length) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

support_bytes support_slurp(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    support_bytes b = {malloc((size_t)info.st_size + 1), (size_t)info.st_size};
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_true(fread(b.data, 1, b.size, stream) == b.size);
    fclose(stream);
    return b;
}

lth_table *support_table(lth_ctx *ctx, const char *lines) {
    lth_error err = {0};
    lth_table *table = NULL;
    char *path = support_file(lines, strlen(lines));
    lth_status status = lth_table_read(ctx, path, NULL, &table, &err);
    support_remove(path);
    support_ok(status, &err);
    return table;
}

static const char *const words[] = {"good", "bad", "not", "very", "lamp",   "radio",
                                    "box",  "two", "red", "loud", "ex-wife"};

lth_table *support_rows(lth_ctx *ctx, size_t first, size_t rows) {
    lth__string text = {0};
    const char header[] = "text\tf1\tf2\ty\tz\tw\n";
    lth__string_append(&text, header, strlen(header));
    for (size_t i = first; i < first + rows; i++) {
        size_t length = 1 + i * 7 % 5, state = i * 2654435761u;
        for (size_t k = 0; k < length; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            lth__string_format(&text, "%s%s", k > 0 ? " " : "", words[(state >> 33) % 11]);
        }
        double a = (double)(i * 37 % 101) / 25, b = (double)(i * 61 % 97) / 40;
        lth__string_format(&text, "\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\n", a, b,
                           2 + sin(2 * a) + 0.3 * b + 0.2 * (double)length,
                           cos(a) - b + 0.1 * (double)(i % 7), 1e3 * a + 20 * (double)(i % 5));
    }
    assert_false(text.failed);
    lth_table *table = support_table(ctx, text.bytes);
    lth__string_free(&text);
    return table;
}

char *support_vectors(void) {
    static const char lines[] = "good 1 0 0.5\nbad -1 0.2 0\nnot 0 1 0.25\nvery 0 0.9 -0.1\n"
                                "lamp 0.5 0 1\nradio 0.25 0.1 1\nex 0.5 -1 0\nwife 0 0.5 -1\n";
    return support_file(lines, strlen(lines));
}

/* ---- Models ---- */

lth_gp_options support_fixed(void) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.learn = false;
    return options;
}

lth_gp *support_fit(lth_ctx *ctx, const char *kernel, const lth_table *table, size_t targets,
                    const lth_gp_options *options) {
    static const char *const names[] = {"y", "z", "w"};
    lth_error err = {0};
    lth_gp *gp = NULL;
    assert_true(targets <= 3);
    support_ok(lth_gp_fit(ctx, kernel, table, names, targets, options, &gp, &err), &err);
    return gp;
}

size_t support_param(const lth_gp *gp, const char *path) {
    const lth_kernel *kernel = lth_gp_kernel(gp);
    for (size_t i = 0; i < lth_kernel_params(kernel); i++) {
        if (strcmp(lth_kernel_param(kernel, i)->path, path) == 0) return i;
    }
    fail_msg("there is no %s", path);
    return LTH_NONE;
}

double *support_predict(lth_gp *gp, const lth_table *table, bool latent) {
    lth_error err = {0};
    size_t count = lth_table_rows(table) * lth_gp_targets(gp);
    double *out = malloc((2 * count + 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < 2 * count; i++) out[i] = NAN; /* so that a gap is seen */
    support_ok(lth_gp_predict(gp, table, latent, out, out + count, &err), &err);
    return out;
}

/* ---- Labels ---- */

/* A position x from -3 to 3, which two, three and several kinds depend on, and a text. */
lth_table *support_labels(lth_ctx *ctx, size_t rows) {
    lth__string text = {0};
    lth__string_format(&text, "x\ttext\ttwo\tthree\tseveral\n");
    for (size_t i = 0; i < rows; i++) {
        double x = -3 + 6 * (double)(i * 29 % rows) / (double)(rows - 1);
        const char *three = x < -1 ? "low" : x < 1 ? "mid" : "top";
        bool b = fabs(x) > 1.5;
        lth__string_format(&text, "%.9g\t%s%s%s\t%s\t%s\t%s%s%s\n", x, x < 0 ? "no" : "so",
                           i % 3 ? " it is" : " is", i % 5 ? "" : " so", x < 0 ? "left" : "right",
                           three, x < 0 ? "n" : "", x < 0 && b ? "," : "", b ? "far" : "");
    }
    assert_false(text.failed);
    lth_table *table = support_table(ctx, text.bytes);
    lth__string_free(&text);
    return table;
}

lth_gp *support_classifier(lth_ctx *ctx, const char *kernel, const lth_table *table,
                           const char *target, const lth_gp_options *options) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    support_ok(lth_gp_fit(ctx, kernel, table, &target, 1, options, &gp, &err), &err);
    return gp;
}

double *support_classify(lth_gp *gp, const lth_table *table) {
    lth_error err = {0};
    size_t cells = lth_table_rows(table) * lth_gp_classes(gp);
    double *p = malloc((cells + 1) * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < cells; i++) p[i] = NAN;
    support_ok(lth_gp_classify(gp, table, p, &err), &err);
    return p;
}
