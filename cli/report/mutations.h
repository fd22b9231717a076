/* Every single mutation of a sequence, and what a model expects of each: for mutate, report and
 * serve. */
#ifndef CLI_MUTATIONS_H
#define CLI_MUTATIONS_H

#include "prediction.h"

enum { MUTATION_NAME = 32 };

/* Row 0 is the sequence itself, the wild type; then the letters come site by site. */
typedef struct mutations {
    const char *column; /* that the kernel reads                                */
    char *wild;         /* the sequence                                         */
    bool by_name;       /* cells of the column are mutations, not sequences     */
    long first;         /* the number of its first letter                       */
    char *letters;      /* that are tried at each site                          */
    size_t sites, letter_count, rows;
    double expected; /* of the wild type, to count effects from; set while predicting */
} mutations;

/* NULL, or what the model reads in the place of one column of sequences; for scan, too. */
const char *mutations_obstacle(lth_model *m);
/* Whether the model reads sequences: of a wild type, or in letters of a known alphabet. */
bool mutations_are_wanted(lth_model *m);
/* Whether these can be letters. */
bool mutations_are_letters(const char *letters);
/* The mutations of `wild`; NULL = of the kernel's own wild type. `letters` NULL = those of the
 * alphabet that the sequence and the training rows have, in the order of a picture. False = out of
 * memory. */
bool mutations_open(mutations *out, lth_model *m, const char *wild, const char *letters);
void mutations_close(mutations *m);

/* A usage error where --wild-type names a second one. */
int mutations_check_wild(const options *o, const lth_model *m);
/* The first record of a FASTA file. */
int session_read_wild(session *s, const char *path, char **out);
/* What the training rows have most at each site; NULL if they are no sequences of one length, or
 * for lack of memory. */
char *mutations_consensus(const lth_model *m);
/* Whether training rows of one length differ at each site; NULL = as above. */
bool *mutations_varied(const lth_model *m, size_t sites);

size_t mutation_site(const mutations *m, size_t row);
char mutation_letter(const mutations *m, size_t row);
/* Whether the wild type has this letter there: that is no mutation. */
bool mutation_is_own(const mutations *m, size_t site, char letter);
/* "WT", "K2R" */
const char *mutation_name(const mutations *m, size_t row, char out[MUTATION_NAME]);

/* About how many steps it takes to predict all of them. */
double mutations_work(const mutations *m, lth_model *model);

/* Called with some rows after the others, and what is expected of them; false = that is enough. */
typedef bool mutation_visit(void *user, const prediction *p, const size_t *row, size_t count);
lth_status mutations_predict(mutations *m, session *s, lth_model *model, bool latent,
                             mutation_visit *visit, void *user, lth_error *err);
/* The column that says it all where there are two classes, else NULL. */
const prediction_column *mutation_column(const prediction *p);
/* Whether one number stands for a row, and what the i-th row of a prediction adds to that of the
 * wild type: to the first target, or to the score or probability of the last of two classes. */
bool mutation_has_effect(const prediction *p);
double mutation_effect(const mutations *m, const prediction *p, size_t i);
/* The object of a mutation. */
void json_put_mutation(json_writer *w, const mutations *m, const prediction *p, size_t row,
                       size_t i);

/* ---- For pictures ---- */

/* One number that is predicted, by [site * letters + letter]; the wild type's own letter has its
 * value. */
typedef struct mutation_values {
    char *name; /* of the target, or "p[yes]" */
    bool of_target;
    double wild, wild_sd;
    double *value, *sd; /* sd NULL = none */
} mutation_values;

typedef struct mutation_scan {
    mutation_values *at;
    size_t count; /* 0 = the model predicts no numbers */
} mutation_scan;

/* Close it in any case. */
lth_status mutations_scan(mutations *m, session *s, lth_model *model, bool latent,
                          mutation_scan *out, lth_error *err);
void mutation_scan_close(mutation_scan *s);

#endif
