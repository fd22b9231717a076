/* luthier bench: cell-orders per second on this machine, for each instruction set and precision,
 * beside a yardstick made from its multiply-adds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "session.h"

/* The yardstick: four vector instructions for each cell-order, all as dear as a multiply-add. Only
 * 2 (order - 1) / order of them are multiply-adds, so a CPU that adds or masks beside them, in
 * other units, passes a share of 1. */
static const double fmas_per_cell_order = 4;

static const double target_seconds = 0.12; /* of one measurement, which is the best of three */
static const char *const precision_names[] = {"f64", "f32"};

enum { MOST_ROWS = 32, FEWEST_STRINGS = 24, MOST_STRINGS = 600 };

typedef struct row {
    const char *what, *isa, *precision;
    unsigned threads;
    double rate, share, gflops; /* NAN = does not apply */
} row;

typedef struct bench {
    const options *options;
    row rows[MOST_ROWS];
    size_t count;
    char blas[96]; /* name and core */
    double fma[2]; /* of the best instruction set, by precision */
} bench;

typedef struct workload {
    const char *what;
    size_t length; /* letters of each string */
    bool gradient;
} workload;

static const workload shorter = {"ssk-100", 100, false};
static const workload longer = {"ssk-700", 700, false};
static const workload learning = {"ssk-100-gradient", 100, true};

/* ---- Printing ---- */

static void print_cell(double value) {
    putchar('\t');
    if (!isnan(value)) printf("%.4g", value);
}

static void print_row(const row *r) {
    printf("%s\t%s\t%s\t%u", r->what, r->isa, r->precision, r->threads);
    print_cell(r->rate);
    print_cell(r->share);
    print_cell(r->gflops);
    putchar('\n');
    fflush(stdout); /* the next one takes a while */
}

static void print_json(const bench *b) {
    json_writer w = {.to = stdout};
    json_begin_result(&w, NULL);
    json_put_text(&w, "blas", b->blas);
    json_begin_list(&w, "rows");
    for (const row *r = b->rows; r < b->rows + b->count; ++r) {
        json_begin_object(&w, NULL);
        json_put_text(&w, "what", r->what);
        json_put_text(&w, "isa", r->isa);
        json_put_text(&w, "precision", r->precision);
        json_put_count(&w, "threads", r->threads);
        json_put_double(&w, "cell_orders_per_s", r->rate);
        json_put_double(&w, "per_fma_rate_over_4", r->share);
        json_put_double(&w, "gflops", r->gflops);
        json_end(&w);
    }
    json_end(&w);
    json_end(&w);
}

static void add_row(bench *b, row r) {
    if (b->count == MOST_ROWS) return;
    b->rows[b->count++] = r;
    if (b->options->json) return;
    if (b->count == 1)
        printf("what\tisa\tprecision\tthreads\tcell_orders_per_s\tper_fma_rate_over_4\tgflops\n");
    print_row(&r);
}

/* ---- Random strings and one measurement ---- */

typedef struct fixture {
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    size_t count;
    double *matrix;
    double *gradient;
} fixture;

static uint64_t random_next(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static lth_status make_table(session *s, size_t count, size_t length, lth_table **out,
                             lth_error *err) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    lth_status status = LTH_ENOMEM;
    char *bytes = malloc(count * length);
    const char **texts = malloc(count * sizeof *texts);
    size_t *lengths = malloc(count * sizeof *lengths);
    uint64_t state = s->options->seed;
    if (bytes && texts && lengths) {
        for (size_t i = 0; i < count * length; ++i)
            bytes[i] = letters[random_next(&state) % (sizeof letters - 1)];
        for (size_t i = 0; i < count; ++i) texts[i] = bytes + i * length, lengths[i] = length;
        status = lth_table_from_texts(s->ctx, "text", texts, lengths, count, out, err);
    }
    free(bytes);
    free(texts);
    free(lengths);
    return status;
}

static void free_fixture(fixture *f) {
    lth_items_free(f->items);
    lth_encoder_free(f->encoder);
    lth_kernel_free(f->kernel);
    free(f->matrix);
    free(f->gradient);
}

static lth_status make_fixture(session *s, size_t count, size_t length, fixture *f,
                               lth_error *err) {
    *f = (fixture){.count = count};
    lth_table *table = NULL;
    lth_status status =
        lth_kernel_parse(s->ctx, "ssk(text, units=chars, order=5)", &f->kernel, err);
    if (!status) status = lth_encoder_create(s->ctx, f->kernel, &f->encoder, err);
    if (!status) status = make_table(s, count, length, &table, err);
    if (!status) status = lth_encode(f->encoder, table, &f->items, err);
    lth_table_free(table);
    if (status) return status;
    f->matrix = malloc(count * count * sizeof *f->matrix);
    f->gradient = malloc(lth_kernel_params(f->kernel) * sizeof *f->gradient);
    return f->matrix && f->gradient ? LTH_OK : LTH_ENOMEM;
}

/* Seconds for the values, and with `gradient` for a pull-back by these values too. */
static lth_status time_once(fixture *f, bool gradient, double *seconds, lth_error *err) {
    double start = seconds_now();
    lth_status status = lth_gram(f->kernel, f->items, NULL, f->matrix, f->count, err);
    if (!status && gradient)
        status = lth_gram_pull(f->kernel, f->items, NULL, f->matrix, f->count, f->gradient, err);
    *seconds = seconds_now() - start;
    return status;
}

static int measure_count(session *s, const workload *w, size_t count, int repeats, double *seconds,
                         double *cell_orders) {
    fixture f;
    lth_error err = {.status = LTH_ENOMEM};
    lth_status status = make_fixture(s, count, w->length, &f, &err);
    *seconds = INFINITY;
    for (int i = 0; i < repeats && !status; ++i) {
        double now;
        status = time_once(&f, w->gradient, &now, &err);
        if (now < *seconds) *seconds = now;
    }
    if (!status) *cell_orders = lth_gram_cell_orders(f.kernel, f.items, NULL);
    free_fixture(&f);
    return status ? session_fail(s, &err) : session_check_interrupt(s);
}

/* A small run says how many strings make a run long enough to time. */
static int measure_rate(session *s, const workload *w, double *rate) {
    double seconds, cell_orders;
    int code = measure_count(s, w, FEWEST_STRINGS, 2, &seconds, &cell_orders);
    if (code) return code;
    double strings = FEWEST_STRINGS * sqrt(target_seconds / seconds);
    size_t count = strings < FEWEST_STRINGS ? FEWEST_STRINGS
                   : strings > MOST_STRINGS ? MOST_STRINGS
                                            : (size_t)strings;
    code = measure_count(s, w, count, 3, &seconds, &cell_orders);
    if (!code) *rate = cell_orders / seconds;
    return code;
}

/* ---- What is measured ---- */

static bool wants_precision(const bench *b, int precision) {
    return b->options->precision < 0 || b->options->precision == precision;
}

static int bench_workload(bench *b, const workload *w, const char *isa, int precision,
                          uint64_t threads, double fma) {
    options o = *b->options;
    o.isa = isa, o.precision = precision, o.threads = threads;
    if (o.dropping < 0) o.dropping = LTH_DROP_OFF; /* skipped cells are no measure of the loop */
    session s;
    double rate = 0;
    int code = session_open(&s, &o);
    if (!code) code = measure_rate(&s, w, &rate);
    if (!code) {
        unsigned used = lth_ctx_threads(s.ctx);
        add_row(b, (row){w->what, isa, precision_names[precision], used, rate,
                         rate * fmas_per_cell_order / (fma * used), NAN});
    }
    session_close(&s);
    return code;
}

static int measure_machine(bench *b, const char *isa, lth_machine *machine) {
    options o = *b->options;
    o.isa = isa, o.threads = 1;
    session s;
    lth_error err = {0};
    int code = session_open(&s, &o);
    if (!code && lth_machine_measure(s.ctx, machine, sizeof *machine, &err) != LTH_OK)
        code = session_fail(&s, &err);
    if (!code) code = session_check_interrupt(&s);
    session_close(&s);
    return code;
}

static int bench_isa(bench *b, const char *isa, bool best) {
    lth_machine machine;
    int code = measure_machine(b, isa, &machine);
    if (code) return code;
    const double fma[] = {machine.fma_f64, machine.fma_f32};
    if (best) {
        snprintf(b->blas, sizeof b->blas, "%s %s", machine.blas, machine.core);
        memcpy(b->fma, fma, sizeof fma);
        add_row(b, (row){"dgemm", b->blas, "f64", 1, NAN, NAN, machine.dgemm_flops / 1e9});
    }
    for (int p = 0; p < 2 && !code; ++p) {
        if (!wants_precision(b, p)) continue;
        add_row(b, (row){"fma", isa, precision_names[p], 1, NAN, NAN, 2 * fma[p] / 1e9});
        code = bench_workload(b, &shorter, isa, p, 1, fma[p]);
    }
    return code;
}

static int bench_best(bench *b, const char *isa) {
    int code = EXIT_DONE;
    for (int p = 0; p < 2 && !code; ++p) {
        if (!wants_precision(b, p)) continue;
        code = bench_workload(b, &longer, isa, p, 1, b->fma[p]);
        if (!code) code = bench_workload(b, &learning, isa, p, 1, b->fma[p]);
        if (!code) code = bench_workload(b, &shorter, isa, p, b->options->threads, b->fma[p]);
    }
    return code;
}

int run_bench(const options *o) {
    bench b = {.options = o};
    const char *best = o->isa ? o->isa : lth_isa_available(0);
    int code = bench_isa(&b, best, true);
    for (size_t i = 1; !code && !o->isa && lth_isa_available(i); ++i)
        code = bench_isa(&b, lth_isa_available(i), false);
    if (!code) code = bench_best(&b, best);
    if (!code && o->json) print_json(&b);
    return code;
}
