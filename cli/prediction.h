/* What a model says of each row of a table: its columns, written as TSV or as JSON. */
#ifndef CLI_PREDICTION_H
#define CLI_PREDICTION_H

#include "model.h"

typedef struct prediction prediction;

/* "sd", "joy.mean", "p[yes]", "score": a number of each row, of a target or class. */
typedef struct prediction_column {
    char *name;
    size_t of;
    double (*at)(const prediction *p, size_t of, size_t row);
} prediction_column;

struct prediction {
    lth_model *model;
    const lth_table *table;
    size_t rows, targets, classes, scores;
    size_t grade_count;
    const double *grades; /* their names */
    model_prediction values;
    prediction_column *columns;
    size_t column_count;
    char *labels; /* room for those of a row; NULL = the model is for numbers */
};

/* Free it in any case. With y, the truth of numbers by [target * rows + row], also what is needed
 * to judge them; NULL = it is not known. */
lth_status prediction_judge(lth_model *m, const lth_table *table, const double *y, prediction *out,
                            lth_error *err);
lth_status prediction_make(lth_model *m, const lth_table *table, bool latent, prediction *out,
                           lth_error *err);
/* The same given these targets, which the table has; NULL = none. */
lth_status prediction_make_given(lth_model *m, const lth_table *table, const list *given,
                                 bool latent, prediction *out, lth_error *err);
void prediction_free(prediction *p);

/* The class that stands for a row's labels. */
size_t prediction_class(const prediction *p, size_t row);

/* Lines of a TSV table, behind what says which row it is. */
void write_prediction_names(FILE *to, const prediction *p);
void write_prediction(FILE *to, const prediction *p, size_t row);
/* The same as members of an object, and the object of a row of a table. */
void json_put_values(json_writer *w, const prediction *p, size_t row);
void json_put_prediction(json_writer *w, const char *key, const prediction *p, size_t row);

#endif
