/* What the comparison measures, part by part; each part fills its rows of the report. */
#ifndef MEASURE_H
#define MEASURE_H

#include "bench_report.h"

typedef struct plan {
    double seconds;         /* to spend on a row, about                          */
    size_t rows;            /* of row 21                                         */
    const char *program;    /* the command line                                  */
    const char *data;       /* folder with semeval2007.tsv and the Penn trees    */
    const char *peers;      /* file with the times of other programs; NULL = none */
    const char *gp_peer;    /* file with scikit-learn's time and evidence; NULL = none */
    const char *sites_peer; /* file with NumPy's time for aligned sites; NULL = none     */
    const char *svm_peer;   /* file with its time and scores on Reuters; NULL = none    */
    char folder[4096 - 64]; /* for temporary files                               */
} plan;

/* Rows 10 and 11. First of all: see run_process(). */
void measure_processes(const plan *p, report *r);

void measure_engine(const plan *p, report *r);    /* rows 1 to 3 */
void measure_soft(const plan *p, report *r);      /* row 4       */
void measure_gradient(const plan *p, report *r);  /* row 5       */
void measure_small_gap(const plan *p, report *r); /* row 6       */
void measure_threads(const plan *p, report *r);   /* row 7       */
void measure_long(const plan *p, report *r);      /* row 8       */
void measure_dropping(const plan *p, report *r);  /* row 9       */

/* Rows 12 to 14; row 15, which starts processes as well. */
void measure_learning(const plan *p, report *r);
void measure_fit_memory(const plan *p, report *r);

void measure_trees(const plan *p, report *r); /* rows 16 to 18, 29 and 30 */

void measure_classification(const plan *p, report *r); /* row 19 */
void measure_features(const plan *p, report *r);       /* row 20 */
void measure_svm_problems(const plan *p, report *r);   /* row 35 */

void measure_inducing(const plan *p, report *r);  /* row 21 */
void measure_cg(const plan *p, report *r);        /* rows 22 and 23 */
void measure_store(const plan *p, report *r);     /* row 24 */
void measure_targets(const plan *p, report *r);   /* rows 25 and 26 */
void measure_sequences(const plan *p, report *r); /* row 27 */
void measure_aligned(const plan *p, report *r);   /* row 28 */
void measure_orders(const plan *p, report *r);    /* row 31 */
void measure_few(const plan *p, report *r);       /* row 32 */
void measure_folds(const plan *p, report *r);     /* rows 33 and 34 */

/* Speeds of a prediction and an explanation of one row. */
void measure_one_row(const plan *p, report *r);

/* Speeds of instruction sets, lengths and orders, and of other programs. */
void measure_speeds(const plan *p, report *r);

#endif
