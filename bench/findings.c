/* The rows with a demand. Alternatives are run in turn within one row, and the best time of each
 * counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"
#include "process.h"
#include "scalar_baseline.h"
#include "workload.h"

#define LETTERS "ssk(text, units=chars, order=5)"

static const double mib = 1024 * 1024;

/* ---- 1 to 3: the engine ---- */

/* The plain loop over the pairs of the first texts, whose values must be those of `matrix`. */
static double time_baseline(const texts *t, size_t count, const double *matrix, size_t ld) {
    size_t length = t->length[0];
    double *scratch = allocate(scalar_ssk_scratch(length, length), sizeof *scratch);
    double *found = allocate(count * count, sizeof *found);
    double start = seconds_now();
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i; j < count; j++)
            found[i * count + j] =
                scalar_ssk(t->text[i], length, t->text[j], length, 5, 0.5, scratch);
    }
    double seconds = seconds_now() - start;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i; j < count; j++) {
            double a = found[i * count + j], b = matrix[i * ld + j];
            if (!(fabs(a - b) <= 1e-12 * fabs(a)))
                die("the plain loop found %.17g for rows %zu and %zu, luthier %.17g", a, i + 1,
                    j + 1, b);
        }
    }
    free(found);
    free(scratch);
    return seconds;
}

void measure_engine(const plan *p, report *r) {
    enum { STRINGS = 600, SUBSET = 40 };
    const double pairs = STRINGS * (STRINGS + 1) / 2., subset_pairs = SUBSET * (SUBSET + 1) / 2.;
    texts t = random_letters(STRINGS, 100);
    workload f64, f32;
    open_workload(&f64, &(setup){.expression = LETTERS, .texts = &t, .dropping = LTH_DROP_OFF});
    open_workload(&f32, &(setup){.expression = LETTERS,
                                 .texts = &t,
                                 .dropping = LTH_DROP_OFF,
                                 .precision = LTH_F32});
    double plain = INFINITY, fma = 0, start = seconds_now();
    for (int round = 0; round < 3 || seconds_now() - start < 3 * p->seconds; round++) {
        run_workload(&f64);
        run_workload(&f32);
        plain = fmin(plain, time_baseline(&t, SUBSET, f64.matrix, STRINGS));
        fma = fmax(fma, multiply_add_rate(&f64, LTH_F64));
    }
    double whole = plain * pairs / subset_pairs, rate = rate_of(&f64);
    found(r, 1, "600 strings of 100 letters, order 5, one core, against a plain C loop", AT_LEAST,
          whole / f64.best, 12, "x",
          "%s f64 %.3f s; plain loop %.2f s (%.0f of the %.0f pairs in %.3f s)",
          lth_ctx_isa(f64.ctx), f64.best, whole, subset_pairs, pairs, plain);
    found(r, 2, "the same, as a share of the multiply-add rate / 4", AT_LEAST,
          100 * rate / (fma / 4), 60, "%", "%.3g cell-orders/s; %.3g multiply-adds/s", rate, fma);
    found(r, 3, "f32 against f64", AT_LEAST, f64.best / f32.best, 1.6, "x",
          "%.3g and %.3g cell-orders/s", rate_of(&f32), rate);
    close_workload(&f64);
    close_workload(&f32);
    free_texts(&t);
}

/* ---- 4: soft matching ---- */

void measure_soft(const plan *p, report *r) {
    enum { STRINGS = 300, LENGTH = 100, VOCABULARY = 3000, DIMENSION = 100 };
    char path[4096];
    snprintf(path, sizeof path, "%s/vectors.txt", p->folder);
    write_vectors(path, VOCABULARY, DIMENSION);
    texts t = random_words(STRINGS, LENGTH, VOCABULARY);
    workload soft, exact;
    open_workload(
        &soft, &(setup){.expression = "ssk(text, order=5, sim=dot)", .texts = &t, .vectors = path});
    open_workload(
        &exact,
        &(setup){.expression = "ssk(text, order=5)", .texts = &t, .dropping = LTH_DROP_OFF});
    run_in_turn((workload *[]){&soft, &exact}, 2, p->seconds);
    found(r, 4, "soft matching (dot, 3,000 words) against exact", AT_LEAST, exact.best / soft.best,
          0.5, "x",
          "%.3g and %.3g cell-orders/s; %d strings of %d words; the table of similarities is "
          "made once, before",
          rate_of(&soft), rate_of(&exact), STRINGS, LENGTH);
    close_workload(&soft);
    close_workload(&exact);
    free_texts(&t);
}

/* ---- 5: gradients ---- */

void measure_gradient(const plan *p, report *r) {
    texts t = random_letters(300, 100);
    workload value, both;
    setup s = {.expression = LETTERS, .texts = &t, .dropping = LTH_DROP_OFF};
    open_workload(&value, &s);
    s.gradient = true;
    open_workload(&both, &s);
    run_in_turn((workload *[]){&value, &both}, 2, p->seconds);
    found(r, 5, "value and full gradient against value", AT_MOST, both.best / value.best, 4.5, "x",
          "%.3f and %.3f s; 300 strings of 100 letters, %zu parameters", both.best, value.best,
          lth_kernel_params(both.kernel));
    close_workload(&value);
    close_workload(&both);
    free_texts(&t);
}

/* ---- 6: small numbers ---- */

void measure_small_gap(const plan *p, report *r) {
    texts t = random_letters(300, 100);
    workload small[2], usual[2];
    for (int i = 0; i < 2; i++) {
        setup s = {.expression = LETTERS,
                   .texts = &t,
                   .dropping = LTH_DROP_OFF,
                   .precision = i ? LTH_F32 : LTH_F64};
        open_workload(&usual[i], &s);
        s.expression = "ssk(text, units=chars, order=5, gap=0.000001)";
        open_workload(&small[i], &s);
    }
    run_in_turn((workload *[]){&usual[0], &small[0], &usual[1], &small[1]}, 4, p->seconds);
    double f64 = small[0].best / usual[0].best, f32 = small[1].best / usual[1].best;
    found(r, 6, "gap 0.000001 against gap 0.5", AT_MOST, fmax(f64, f32), 1.2, "x",
          "%.2f in f64, %.2f in f32: the worse counts", f64, f32);
    for (int i = 0; i < 2; i++) {
        close_workload(&usual[i]);
        close_workload(&small[i]);
    }
    free_texts(&t);
}

/* ---- 7: threads ---- */

void measure_threads(const plan *p, report *r) {
    static const char what[] = "two threads against one";
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        skip(r, 7, what, "this machine has one core");
        return;
    }
    texts t = random_letters(400, 100);
    workload one, two;
    setup s = {.expression = LETTERS, .texts = &t, .dropping = LTH_DROP_OFF};
    open_workload(&one, &s);
    s.threads = 2;
    open_workload(&two, &s);
    run_in_turn((workload *[]){&one, &two}, 2, 2 * p->seconds);
    found(r, 7, what, AT_LEAST, one.best / two.best, 1.85, "x",
          "%.3g and %.3g cell-orders/s; 400 strings of 100 letters", rate_of(&two), rate_of(&one));
    close_workload(&one);
    close_workload(&two);
    free_texts(&t);
}

/* ---- 8: long strings ---- */

/* As many strings of either length, since how full the lanes are depends on their number. */
void measure_long(const plan *p, report *r) {
    enum { STRINGS = 100 };
    texts short_texts = random_letters(STRINGS, 100), long_texts = random_letters(STRINGS, 700);
    workload shorter, longer;
    open_workload(&shorter,
                  &(setup){.expression = LETTERS, .texts = &short_texts, .dropping = LTH_DROP_OFF});
    open_workload(&longer,
                  &(setup){.expression = LETTERS, .texts = &long_texts, .dropping = LTH_DROP_OFF});
    run_in_turn((workload *[]){&shorter, &longer}, 2, p->seconds);
    found(r, 8, "strings of 700 against strings of 100, cell-orders per second", AT_LEAST,
          rate_of(&longer) / rate_of(&shorter), 0.8, "x",
          "%.3g and %.3g cell-orders/s; %d strings each", rate_of(&longer), rate_of(&shorter),
          STRINGS);
    close_workload(&shorter);
    close_workload(&longer);
    free_texts(&short_texts);
    free_texts(&long_texts);
}

/* ---- 9: words that do not match ---- */

void measure_dropping(const plan *p, report *r) {
    static const char what[] = "headlines as words: dropping auto against off";
    char path[4096];
    snprintf(path, sizeof path, "%s/semeval2007.tsv", p->data);
    if (access(path, R_OK) != 0) {
        skip(r, 9, what, "there is no semeval2007.tsv in %.100s; --data names its folder", p->data);
        return;
    }
    workload dropping, whole;
    setup s = {.expression = "ssk(text, order=5)", .table = path};
    open_workload(&dropping, &s);
    s.dropping = LTH_DROP_OFF;
    open_workload(&whole, &s);
    run_in_turn((workload *[]){&dropping, &whole}, 2, p->seconds / 2);
    found(r, 9, what, AT_LEAST, whole.best / dropping.best, 10, "x",
          "%.4f and %.3f s; %zu rows, encoded before", dropping.best, whole.best, whole.count);
    close_workload(&dropping);
    close_workload(&whole);
}

/* ---- 10 and 11: start-up and memory ---- */

static process_use run_gram(const plan *p, const char *table) {
    const char *argv[] = {p->program, "gram", table,        "--kernel", "ssk(text, order=5)",
                          "-o",       "-",    "--progress", "never",    NULL};
    return run_process((char *const *)argv);
}

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void measure_processes(const plan *p, report *r) {
    enum { RUNS = 20, ROWS = 6000, WORDS = 10 };
    char one[4096], many[4096];
    snprintf(one, sizeof one, "%s/one.tsv", p->folder);
    snprintf(many, sizeof many, "%s/many.tsv", p->folder);
    write_table(one, 1, WORDS, false);
    double seconds[RUNS], tiny = 0;
    for (int i = 0; i < RUNS; i++) {
        process_use use = run_gram(p, one);
        seconds[i] = use.seconds;
        tiny = use.peak_bytes;
    }
    qsort(seconds, RUNS, sizeof *seconds, by_size);
    found(r, 10, "start-up: luthier gram on a table of one row", AT_MOST,
          1e3 * (seconds[RUNS / 2 - 1] + seconds[RUNS / 2]) / 2, 20, " ms",
          "median of %d; the quickest %.1f ms", RUNS, 1e3 * seconds[0]);

    double text = (double)write_table(many, ROWS, WORDS, false);
    double peak = run_gram(p, many).peak_bytes, gram = 8. * ROWS * ROWS;
    double items =
        text + 4. * ROWS * WORDS + 8. * ROWS; /* the text, its symbols, where each begins */
    found(r, 11, "memory: luthier gram on 6,000 short texts, against the matrix itself", AT_MOST,
          (peak - tiny) / gram, 1.1 + items / gram, "x",
          "peak %.1f MiB, less %.1f of a one-row run; matrix %.1f, a tenth of it %.1f, items %.1f",
          peak / mib, tiny / mib, gram / mib, gram / mib / 10, items / mib);
}
