/* Workloads of the comparison: random texts, and Gram matrices over them through luthier.h. A
 * failure ends the program with its reason. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "luthier.h"

double seconds_now(void);

/* Ends the program: "luthier-bench-compare: what went wrong". */
_Noreturn void die(const char *format, ...) LTH_PRINTF(1, 2);
void *allocate(size_t count, size_t size);
void must(lth_status status, const lth_error *err); /* succeed, or end the program */

/* ---- Texts ---- */

typedef struct texts {
    char *bytes;
    const char **text;
    size_t *length; /* in bytes */
    size_t count;
} texts;

/* `length` random letters a text, of 52; the same for the same arguments. */
texts random_letters(size_t count, size_t length);

/* `length` random words a text, of w0 .. w(vocabulary-1). */
texts random_words(size_t count, size_t length, size_t vocabulary);
/* The same, but some words are frequent, as in a language: the r-th with a share of about 1/r. */
texts common_words(size_t count, size_t length, size_t vocabulary);
void free_texts(texts *t);

/* A table of such texts of 1,000 words, with a column y of numbers when `labelled`. Returns the
 * bytes of text. */
size_t write_table(const char *path, size_t rows, size_t words, bool labelled);

/* A random vector of about unit length for each of these words, in GloVe's format. */
void write_vectors(const char *path, size_t vocabulary, size_t dimension);

/* ---- Gram matrices ---- */

typedef struct setup {
    const char *expression;
    const texts *texts; /* column "text"; or */
    const char *table;  /* a file            */
    const char *vectors;
    const char *isa; /* NULL = the best */
    lth_precision precision;
    lth_dropping dropping;
    unsigned threads; /* 0 = 1 */
    bool gradient;    /* values, then their pull-back */
} setup;

typedef struct workload {
    lth_ctx *ctx;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    size_t count;
    double *matrix, *gradient;
    double cell_orders;
    double best; /* seconds, of all runs so far                    */
    double used; /* of the processor, where other work would count */
} workload;

/* Reads and encodes; then runs once, so that tables which are kept are there. */
void open_workload(workload *w, const setup *s);
void close_workload(workload *w);

/* Seconds of one run. */
double run_workload(workload *w);

/* Runs them in turn for about `seconds` in all, at least three turns each, and keeps the best time
 * of each: what else the machine does then slows all of them alike. A turn is long enough for a
 * short run to have its data back in the cache. */
void run_in_turn(workload *const *w, size_t count, double seconds);

double rate_of(const workload *w);      /* cell-orders per second */
double used_rate_of(const workload *w); /* and of the processor   */

/* Multiply-adds per second, lanes counted, on one core with the workload's instruction set. */
double multiply_add_rate(const workload *w, lth_precision precision);

#endif
