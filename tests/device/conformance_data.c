/* Random tables, and kernels that are ready to be evaluated over them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "conformance.h"

/* ---- Counting ---- */

static int checks, failures;

void conformance_fail(const char *what, const lth_error *err) {
    printf("FAIL %s: %s\n", what, err->message);
    failures++;
}

bool conformance_expect(bool holds, const char *format, ...) {
    checks++;
    if (holds) return true;
    failures++;
    va_list args;
    va_start(args, format);
    printf("FAIL ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    return false;
}

int conformance_checks(void) {
    return checks;
}

int conformance_failures(void) {
    return failures;
}

double conformance_worst(const double *want, const double *got, size_t count, double scale,
                         double floor) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double size = scale > 0 ? scale : fabs(want[i]) + floor;
        double off = fabs(got[i] - want[i]) / size;
        if (!(off <= worst)) worst = off; /* also where it is not a number */
    }
    return worst;
}

double conformance_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Tables ---- */

enum { SHORT, MIXED, LONG, EMPTY }; /* shapes */

unsigned conformance_below(unsigned n) {
    static uint64_t seed = 88172645463325252ull;
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (unsigned)((seed >> 20) % n);
}

static unsigned between(unsigned least, unsigned most) {
    return least + conformance_below(most - least + 1);
}

/* Words of row i. For a slow device there are fewer, but some texts still are longer than what a
 * GPU compares in one pass. */
static unsigned length_of(size_t shape, size_t i, bool quick) {
    if (shape == SHORT) return between(1, 15);
    if (shape == EMPTY) return i % 3 == 0 ? 0 : between(0, 3);
    if (shape == LONG && quick) return i % 16 == 15 ? between(280, 320) : between(1, 30);
    if (shape == LONG) return i % 8 == 0 ? between(900, 1599) : between(90, 129);
    if (quick) return conformance_below(10) == 0 ? between(40, 80) : between(1, 20);
    return conformance_below(10) == 0 ? between(150, 299) : between(1, 60);
}

/* Sequences of letters that are alike, as proteins of a family are; by numbers of their own, so
 * that the other columns do not depend on them. */
static unsigned hash(size_t a, size_t b) {
    uint64_t x = (uint64_t)a * 0x9e3779b97f4a7c15ull + (uint64_t)b * 0xd1342543de82ef95ull;
    x ^= x >> 31, x *= 0xbf58476d1ce4e5b9ull, x ^= x >> 29;
    return (unsigned)(x >> 33);
}

static size_t letters_of(size_t shape, size_t i, bool quick) {
    static const unsigned exact[] = {1, 33, 64, 31, 32, 300, 384, 385}; /* of passes, too */
    const size_t exactly = quick ? 5 : sizeof exact / sizeof *exact;
    unsigned any = hash(shape + 100, i);
    if (shape == SHORT) return 1 + any % 40;
    if (shape == EMPTY) return i % 3 == 0 ? 0 : any % 4;
    if (shape == MIXED && i < exactly) return exact[i];
    if (shape == LONG)
        return i % 10 == 9 ? (quick ? 70 : 1000) + any % 90 : any % (quick ? 30 : 90);
    return 1 + any % (quick ? 30 : 350);
}

static void write_sequence(FILE *out, size_t shape, size_t i, bool quick) {
    for (size_t k = 0, n = letters_of(shape, i, quick); k < n; k++) {
        size_t changed = hash(i + 1000, k) % 5 == 0 ? i + 1 : 0;
        fputc("ACDEFGHIKLMNPQRSTVWY"[hash(changed, k) % 20], out);
    }
}

static double number(void) {
    return conformance_below(1000) / 500.0 - 1;
}

static void write_tree(FILE *out, unsigned depth) {
    static const char *const labels[] = {"S", "NP", "VP", "PP"};
    const char *label = labels[conformance_below(4)];
    if (depth == 0 || conformance_below(3) == 0) {
        fprintf(out, "(%s w%u)", label, conformance_below(5));
        return;
    }
    fprintf(out, "(%s", label);
    for (unsigned i = 0, n = between(1, 3); i < n; i++) fputc(' ', out), write_tree(out, depth - 1);
    fputc(')', out);
}

static void write_table(const char *path, size_t shape, size_t rows, bool quick) {
    FILE *out = fopen(path, "w");
    if (!out) return; /* reading it will fail */
    fprintf(out, "text\ttree\tseq\tf1\tf2\ty\tkind\n");
    for (size_t i = 0; i < rows; i++) {
        unsigned length = length_of(shape, i, quick);
        for (unsigned k = 0; k < length; k++)
            fprintf(out, "%sw%u", k ? " " : "", conformance_below(30));
        fputc('\t', out);
        write_tree(out, quick ? 3 : 4);
        fputc('\t', out);
        write_sequence(out, shape, i, quick);
        double y = 0;
        for (int k = 0; k < 3; k++) fprintf(out, "\t%.3f", y = number());
        fprintf(out, "\t%s\n", i % 3 == 0 ? "third" : y > 0 ? "above" : "below");
    }
    fclose(out);
}

void conformance_tables_write(const conformance_tables *t, size_t shape, size_t rows, size_t others,
                              bool quick) {
    write_table(t->a, shape, rows, quick);
    write_table(t->b, shape, others, quick);
}

static void write_vectors(const char *path) {
    FILE *out = fopen(path, "w");
    if (!out) return;
    for (unsigned w = 0; w < 30; w++) {
        fprintf(out, "w%u", w);
        for (int k = 0; k < 8; k++) fprintf(out, " %.3f", number());
        fputc('\n', out);
    }
    fclose(out);
}

bool conformance_tables_create(conformance_tables *t) {
    snprintf(t->folder, sizeof t->folder, "/tmp/luthier-conformance-XXXXXX");
    if (!mkdtemp(t->folder)) return false;
    snprintf(t->a, sizeof t->a, "%s/a.tsv", t->folder);
    snprintf(t->b, sizeof t->b, "%s/b.tsv", t->folder);
    snprintf(t->vectors, sizeof t->vectors, "%s/v.txt", t->folder);
    write_vectors(t->vectors);
    return true;
}

void conformance_tables_remove(conformance_tables *t) {
    remove(t->a), remove(t->b), remove(t->vectors);
    rmdir(t->folder);
}

/* ---- Contexts and kernels ---- */

lth_ctx *conformance_context(const char *device, lth_precision precision, size_t memory,
                             lth_error *err) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.device = device;
    options.precision = precision;
    options.threads = 0;
    options.device_memory = memory;
    lth_ctx *ctx = NULL;
    return lth_ctx_create(&options, &ctx, err) == LTH_OK ? ctx : NULL;
}

lth_status conformance_side_open(conformance_side *s, lth_ctx *ctx, const char *expression,
                                 const conformance_tables *t, lth_error *err) {
    *s = (conformance_side){.ctx = ctx};
    lth_status status = lth_table_read(ctx, t->a, NULL, &s->table, err);
    if (!status) status = lth_table_read(ctx, t->b, NULL, &s->other, err);
    if (!status) status = lth_kernel_parse(ctx, expression, &s->kernel, err);
    if (!status) status = lth_kernel_resolve(&s->kernel, s->table, err);
    if (!status) status = lth_encoder_create(ctx, s->kernel, &s->encoder, err);
    if (!status) status = lth_encode(s->encoder, s->table, &s->items, err);
    if (!status) status = lth_encode(s->encoder, s->other, &s->others, err);
    if (!status && lth_kernel_needs_vectors(s->kernel))
        status = lth_encoder_read_vectors(s->encoder, t->vectors, err);
    return status;
}

void conformance_side_close(conformance_side *s) {
    lth_items_free(s->items), lth_items_free(s->others);
    lth_encoder_free(s->encoder);
    lth_kernel_free(s->kernel);
    lth_table_free(s->table), lth_table_free(s->other);
}
