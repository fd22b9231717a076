/* luthier report: a page about a model, section by section. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdio.h>

#include "report/mutations.h"

/* Rows with labels that the model is judged on. */
typedef struct held_out {
    const char *path;
    list targets; /* the columns that hold the truth, by the model's targets */
    lth_table *table;
} held_out;

typedef struct report {
    session *session;
    lth_model *model;
    const char *title;
    FILE *out;
    const held_out *data; /* NULL = none */
    size_t charts;        /* drawn so far */
    double *left_out;     /* see report_left_out() */
    size_t *left_rows;    /* likewise: of each target how many, then their numbers */
    mutations mutations;  /* of which sequence; none where it has no sites         */
    mutation_scan scan;   /* what is expected of them                              */
    const char *which;    /* what that sequence is                                 */
    bool unscanned;       /* it would have been too much                           */
} report;

/* The page, beside and renamed; "-" is standard output. `wild`: a sequence whose mutations are
 * shown, NULL = the kernel's own, or what the training rows have in common. */
int write_report(session *s, lth_model *m, const char *title, const held_out *data,
                 const char *wild, const char *path);

/* The page in memory, freed with free(). */
int make_report(session *s, lth_model *m, const char *title, const held_out *data, const char *wild,
                char **page, size_t *size);
/* A page about these mutations alone. */
int write_mutations_page(session *s, lth_model *m, const mutations *of, const char *title,
                         const char *path);
/* "Model score", from the last part of the path; freed with free(), NULL = out of memory. */
char *report_title(const char *path);

/* ---- What the sections share ---- */

/* From the doctype into the <header>, behind its <h1>. */
void open_report_page(report *r);
/* Closes what it is written to as well; `code` so far becomes that of the page. */
int close_report_page(report *r, int code);
int write_page_file(const char *path, const char *page, size_t size);

/* A figure: its caption (and a line below it), the chart, then the numbers behind it. */
void open_figure(report *r, const char *caption, const char *line);
void close_figure(report *r);
void write_target_head(report *r, size_t target); /* where there are several */

/* Truth and prediction of some rows; `sd` NULL = none; `row` the number of each, NULL = from 1. */
typedef struct outcome {
    size_t count;
    double *y, *mean, *sd; /* mean: or median, the number that stands for it */
    /* Of distributions that are not normal, otherwise NULL: the 95% interval, and of y. */
    double *lo, *hi, *log_density, *cdf, *crps;
    const size_t *row;
} outcome;
/* The leave-one-out predictions of a target, which live as long as the report. */
int report_left_out(report *r, size_t target, outcome *out);
/* Only rows whose y is known stay, whose numbers are in `row`; returns how many. `sd` may be NULL.
 */
size_t keep_known_rows(size_t count, double *y, double *mean, double *sd, size_t *row);
int write_outcome(report *r, const outcome *o); /* figures, points, calibration, residuals */
int write_noise(report *r);                     /* errors against what is expected of them   */

/* ---- Sections ---- */

typedef struct section {
    const char *id, *title;
    bool (*wanted)(const report *r);
    int (*write)(report *r); /* an exit code, after a message */
} section;

bool is_always(const report *r);
bool has_string_kernel(const report *r), has_tree_gaps(const report *r);
bool has_symbols(const report *r), has_trend(const report *r);
bool has_likelihood(const report *r);
bool has_steps(const report *r), has_left_out(const report *r);
bool has_sites(const report *r), has_mutations(const report *r);
bool has_labels(const report *r), has_grid(const report *r), has_held_out(const report *r);

void write_cards(report *r);
int write_training(report *r);
int write_hyperparameters(report *r);
int write_likelihood(report *r);
/* What a parameter of the model means that is not the kernel's; "" = the noise. */
const char *own_meaning(const char *path);
int write_string_kernel(report *r);
int write_tree_gaps(report *r);
int write_symbols(report *r);
int write_trend(report *r);
int write_sites(report *r);
/* Sets what write_mutations() shows. */
int find_mutations(report *r, const char *wild);
int write_mutations(report *r);
int write_steps(report *r);
int write_leave_one_out(report *r);
int write_classes(report *r);
int write_grid(report *r);
int write_held_out(report *r);
int write_patterns(report *r);
int write_surprises(report *r);

#endif
