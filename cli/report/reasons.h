/* Printing reasons: for a terminal, as TSV, as JSON, as a web page. */
#ifndef CLI_REASONS_H
#define CLI_REASONS_H

#include "json.h"
#include "model.h"

/* What is printed: one row's reasons, or a model's patterns (no table). */
typedef struct explanation {
    const lth_model *model;
    const lth_table *table; /* NULL = of the model                            */
    size_t row;             /* in the table                                   */
    model_function of;
    const lth_reasons *reasons;
} explanation;

typedef struct explain_writer {
    FILE *out;
    bool colour;
    size_t written; /* so far */
    bool failed;    /* for lack of memory */
} explain_writer;

void explain_text(explain_writer *w, const explanation *x);
void explain_tsv(explain_writer *w, const explanation *x);
void explain_json(explain_writer *w, const explanation *x);
void explain_html(explain_writer *w, const explanation *x);
/* The page that explain_html() writes its sections into, up to the first; html_close() ends it. */
void html_open_reasons(FILE *out, const char *title, bool of_rows);
/* Text in which the parts of a column are marked by what they add; false = out of memory. */
bool html_marked(FILE *out, const lth_reasons *reasons, const char *column, const char *text,
                 size_t length);
/* The members of the object that explain_json() writes. */
void json_put_reasons(json_writer *w, const explanation *x);

/* Whether the function that is explained is in units of its own, as where counts are exp(f). */
bool is_latent(const lth_reasons_summary *s);
double heaviest_part(const lth_reasons *r); /* the size of its weight */
double heaviest_pattern(const lth_reasons *r);

#endif
