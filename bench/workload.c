#include "workload.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("luthier-bench-compare: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *allocate(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block) die("out of memory");
    return block;
}

/* ---- Texts ---- */

static uint64_t random_next(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static texts make_texts(size_t count, size_t most_bytes) {
    texts t = {.bytes = allocate(count, most_bytes),
               .text = allocate(count, sizeof *t.text),
               .length = allocate(count, sizeof *t.length),
               .count = count};
    for (size_t i = 0; i < count; i++) t.text[i] = t.bytes + i * most_bytes;
    return t;
}

texts random_letters(size_t count, size_t length) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    texts t = make_texts(count, length);
    uint64_t state = 1;
    for (size_t i = 0; i < count * length; i++)
        t.bytes[i] = letters[random_next(&state) % (sizeof letters - 1)];
    for (size_t i = 0; i < count; i++) t.length[i] = length;
    return t;
}

texts random_words(size_t count, size_t length, size_t vocabulary) {
    enum { LONGEST_WORD = 24 };
    size_t most = length * LONGEST_WORD;
    texts t = make_texts(count, most);
    uint64_t state = 2;
    for (size_t i = 0; i < count; i++) {
        char *text = t.bytes + i * most;
        for (size_t k = 0; k < length; k++) {
            int written = snprintf(text + t.length[i], most - t.length[i], "%sw%zu", k ? " " : "",
                                   (size_t)(random_next(&state) % vocabulary));
            t.length[i] += (size_t)written;
        }
    }
    return t;
}

texts common_words(size_t count, size_t length, size_t vocabulary) {
    enum { LONGEST_WORD = 24 };
    size_t most = length * LONGEST_WORD;
    texts t = make_texts(count, most);
    uint64_t state = 4;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < length; k++) {
            double uniform = (double)(random_next(&state) >> 11) * 0x1p-53;
            int written = snprintf(t.bytes + i * most + t.length[i], most - t.length[i], "%sw%.0f",
                                   k ? " " : "", floor(pow((double)vocabulary, uniform)));
            t.length[i] += (size_t)written;
        }
    }
    return t;
}

void free_texts(texts *t) {
    free(t->bytes);
    free(t->text);
    free(t->length);
}

size_t write_table(const char *path, size_t rows, size_t words, bool labelled) {
    texts t = random_words(rows, words, 1000);
    FILE *file = fopen(path, "w");
    if (!file) die("cannot write %s", path);
    fputs(labelled ? "text\ty\n" : "text\n", file);
    size_t bytes = 0;
    for (size_t i = 0; i < rows; i++) {
        fprintf(file, "%.*s", (int)t.length[i], t.text[i]);
        if (labelled) fprintf(file, "\t%zu", i * i % 97);
        fputc('\n', file);
        bytes += t.length[i];
    }
    if (fclose(file) != 0) die("cannot write %s", path);
    free_texts(&t);
    return bytes;
}

void write_vectors(const char *path, size_t vocabulary, size_t dimension) {
    FILE *file = fopen(path, "w");
    if (!file) die("cannot write %s", path);
    uint64_t state = 3;
    double scale = sqrt(3 / (double)dimension); /* uniform in (-1, 1) has variance 1/3 */
    for (size_t word = 0; word < vocabulary; word++) {
        fprintf(file, "w%zu", word);
        for (size_t i = 0; i < dimension; i++) {
            double uniform = (double)(random_next(&state) >> 11) * 0x1p-53;
            fprintf(file, " %.5f", scale * (2 * uniform - 1));
        }
        fputc('\n', file);
    }
    if (fclose(file) != 0) die("cannot write %s", path);
}

/* ---- Gram matrices ---- */

void must(lth_status status, const lth_error *err) {
    if (status == LTH_OK) return;
    if (err->file[0]) die("%s:%zu:%zu: %s", err->file, err->line, err->column, err->message);
    die("%s", err->message[0] ? err->message : lth_status_text(status));
}

static lth_ctx *make_context(const setup *s) {
    lth_ctx_options o;
    lth_ctx_options_init(&o);
    o.isa = s->isa;
    o.precision = s->precision;
    o.dropping = s->dropping;
    o.threads = s->threads ? s->threads : 1;
    lth_ctx *ctx;
    lth_error err = {0};
    must(lth_ctx_create(&o, &ctx, &err), &err);
    return ctx;
}

static lth_table *make_table(lth_ctx *ctx, const setup *s) {
    lth_table *table;
    lth_error err = {0};
    if (s->table)
        must(lth_table_read(ctx, s->table, NULL, &table, &err), &err);
    else
        must(lth_table_from_texts(ctx, "text", s->texts->text, s->texts->length, s->texts->count,
                                  &table, &err),
             &err);
    return table;
}

void open_workload(workload *w, const setup *s) {
    lth_error err = {0};
    *w = (workload){.ctx = make_context(s), .best = INFINITY, .used = INFINITY};
    must(lth_kernel_parse(w->ctx, s->expression, &w->kernel, &err), &err);
    lth_table *table = make_table(w->ctx, s);
    must(lth_kernel_resolve(&w->kernel, table, &err), &err);
    must(lth_encoder_create(w->ctx, w->kernel, &w->encoder, &err), &err);
    must(lth_encode(w->encoder, table, &w->items, &err), &err);
    lth_table_free(table);
    if (s->vectors) must(lth_encoder_read_vectors(w->encoder, s->vectors, &err), &err);
    w->count = lth_items_count(w->items);
    w->matrix = allocate(w->count * w->count, sizeof *w->matrix);
    w->gradient = s->gradient ? allocate(lth_kernel_params(w->kernel), sizeof(double)) : NULL;
    w->cell_orders = lth_gram_cell_orders(w->kernel, w->items, NULL);
    run_workload(w);
    w->best = w->used = INFINITY;
}

void close_workload(workload *w) {
    lth_items_free(w->items);
    lth_encoder_free(w->encoder);
    lth_kernel_free(w->kernel);
    lth_ctx_free(w->ctx);
    free(w->matrix);
    free(w->gradient);
}

static double processor_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double run_workload(workload *w) {
    lth_error err = {0};
    double start = seconds_now(), before = processor_now();
    must(lth_gram(w->kernel, w->items, NULL, w->matrix, w->count, &err), &err);
    if (w->gradient)
        must(lth_gram_pull(w->kernel, w->items, NULL, w->matrix, w->count, w->gradient, &err),
             &err);
    double seconds = seconds_now() - start, used = processor_now() - before;
    if (seconds < w->best) w->best = seconds;
    if (used < w->used) w->used = used;
    return seconds;
}

static void take_turn(workload *w) {
    const double least = 0.05;
    double start = seconds_now();
    do run_workload(w);
    while (seconds_now() - start < least);
}

void run_in_turn(workload *const *w, size_t count, double seconds) {
    double start = seconds_now();
    for (int round = 0; round < 3 || seconds_now() - start < seconds; round++) {
        for (size_t i = 0; i < count; i++) take_turn(w[i]);
    }
}

double multiply_add_rate(const workload *w, lth_precision precision) {
    lth_machine machine;
    lth_error err = {0};
    must(lth_machine_measure(w->ctx, &machine, sizeof machine, &err), &err);
    return precision == LTH_F32 ? machine.fma_f32 : machine.fma_f64;
}

double rate_of(const workload *w) {
    return w->cell_orders / w->best;
}

double used_rate_of(const workload *w) {
    return w->cell_orders / w->used;
}
