/* Row 27: local alignments. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "alignment_baseline.h"
#include "measure.h"
#include "workload.h"

enum { SEQUENCES = 96, LENGTH = 200, SUBSET = 32 };
static const double beta = 0.1, open_cost = 11, extend_cost = 1;

static texts random_sequences(void) {
    texts t = random_letters(SEQUENCES, LENGTH);
    for (size_t i = 0; i < SEQUENCES * LENGTH; i++) t.bytes[i] = (char)('A' + t.bytes[i] % 20);
    return t;
}

static void make_scoring(plain_scoring *s) {
    for (int a = 0; a < PLAIN_LETTERS; a++) {
        for (int b = 0; b < PLAIN_LETTERS; b++) {
            s->score[a][b] = a == b ? 5 : -4;
            s->factor[a][b] = exp(beta * s->score[a][b]);
        }
    }
    s->open = exp(-beta * open_cost);
    s->extend = exp(-beta * extend_cost);
}

/* All have one thread; what else the machine does is not counted. */
static double processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double time_values(workload *w) {
    lth_error err = {0};
    double start = processor_time();
    must(lth_gram(w->kernel, w->items, NULL, w->matrix, w->count, &err), &err);
    return processor_time() - start;
}

/* The pull-back makes the values too. */
static double time_pull(workload *w) {
    lth_error err = {0};
    double start = processor_time();
    must(lth_gram_pull(w->kernel, w->items, NULL, w->matrix, w->count, w->gradient, &err), &err);
    return processor_time() - start;
}

/* Values and derivatives of some pairs, so many that it takes about as long as the pull-back;
 * their values must be those of `matrix`. */
static double time_baseline(const plain_scoring *s, const texts *t, const double *matrix) {
    static double scratch[12 * (LENGTH + 1)], sum[SUBSET][SUBSET];
    double start = processor_time();
    for (size_t i = 0; i < SUBSET; i++) {
        for (size_t j = i; j < SUBSET; j++)
            sum[i][j] = plain_alignments(s, t->text[i], LENGTH, t->text[j], LENGTH, scratch).all;
    }
    double seconds = processor_time() - start;
    for (size_t i = 0; i < SUBSET; i++) {
        for (size_t j = i; j < SUBSET; j++) {
            double k = sum[i][j] / sqrt(sum[i][i]) / sqrt(sum[j][j]),
                   other = matrix[i * t->count + j];
            if (!(fabs(k - other) <= 1e-10 * k))
                die("the plain loop found %.17g for sequences %zu and %zu, luthier %.17g", k, i + 1,
                    j + 1, other);
        }
    }
    return seconds;
}

void measure_sequences(const plan *p, report *r) {
    static plain_scoring s;
    texts t = random_sequences();
    make_scoring(&s);
    workload w;
    setup wish = {
        .expression = "la(text, matrix=identity, beta=0.1)", .texts = &t, .gradient = true};
    open_workload(&w, &wish);
    double plain = INFINITY, values = INFINITY, pull = INFINITY, start = seconds_now();
    for (int round = 0; round < 3 || seconds_now() - start < p->seconds; round++) {
        plain = fmin(plain, time_baseline(&s, &t, w.matrix));
        values = fmin(values, time_values(&w));
        pull = fmin(pull, time_pull(&w));
    }
    double whole = plain * (SEQUENCES * (SEQUENCES + 1)) / (SUBSET * (SUBSET + 1));
    found(r, 27,
          "96 sequences of 200 letters, la, value and gradient, one core, against a plain C loop",
          AT_LEAST, whole / pull, 8, "x",
          "values and gradient together %.3f s, values alone %.3f s; plain loop %.2f s (%d of %d "
          "pairs in %.4f s)",
          pull, values, whole, SUBSET * (SUBSET + 1) / 2, SEQUENCES * (SEQUENCES + 1) / 2, plain);
    close_workload(&w);
    free_texts(&t);
}
