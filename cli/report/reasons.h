/* Printing reasons: for a terminal, as TSV, as JSON, as a web page. */
#ifndef CLI_REASONS_H
#define CLI_REASONS_H

#include <stdio.h>

#include "model.h"

/* What is printed: one row's reasons, or a model's patterns (no table). */
typedef struct explanation {
    const model *model;
    const lth_table *table; /* NULL = of the model                            */
    size_t row;             /* in the table                                   */
    const char *target;     /* the column, or NULL for the model's own        */
    const char *class;      /* of labels: whose function it is, or NULL       */
    const char *against;    /* of two classes of an SVM: the other, or NULL   */
    const lth_reasons *reasons;
} explanation;

/* Of one of the model's functions: the names are set, and nothing else. */
explanation explanation_of(const model *m, size_t target);

typedef struct explain_writer {
    FILE *out;
    bool colour;
    size_t written; /* so far */
} explain_writer;

void explain_text(explain_writer *w, const explanation *x);
void explain_tsv(explain_writer *w, const explanation *x);
void explain_json(explain_writer *w, const explanation *x);
void explain_html(explain_writer *w, const explanation *x);

/* The text of a training row, or NULL. */
const char *explained_row_text(const explanation *x, size_t row);

/* Text in which nothing can do anything to a terminal or a table: control characters, marks that
 * turn the direction of writing, and bytes that are no UTF-8 are written as \xNN and \u{NNNN}.
 * Returns how many characters it took. */
size_t write_visible(FILE *out, const char *text, size_t length);

#endif
