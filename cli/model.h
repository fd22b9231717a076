/* A model of either kind, read from a file: what it has, and what it says. Which kind it is matters
 * only here, and to who prints what one kind alone has. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "json.h"
#include "session.h"

/* One of them, by the kind of model. */
typedef struct model {
    lth_gp *gp;
    lth_svm *svm;
} model;

/* "-" is standard input. */
int session_load_model(session *s, const char *path, model *out);
void model_free(model *m);
lth_status model_save(const model *m, const char *path, lth_error *err);

const lth_kernel *model_kernel(const model *m);
size_t model_targets(const model *m); /* columns that it predicts */
const char *model_target(const model *m, size_t i);
size_t model_classes(const model *m); /* 0 = the model is for numbers */
const char *model_class(const model *m, size_t i);
size_t model_find_class(const model *m, const char *name, size_t length); /* LTH_NONE = no such */
size_t model_class_rows(const model *m, size_t i); /* training rows that have it */
bool model_is_multi_label(const model *m);
size_t model_rows(const model *m); /* training rows */
/* What the model keeps of a row, until the next call; NULL = nothing. */
const char *model_row_text(const model *m, size_t row, size_t column);

/* ---- Predictions ---- */

/* Standard deviations to either side of the mean, between which 95% of the values lie. */
static const double sds_95 = 1.959964;

bool model_has_deviations(const model *m);    /* of numbers */
bool model_has_probabilities(const model *m); /* of labels */

/* What it says of rows. Arrays that are NULL are not asked for, or not had. */
typedef struct model_prediction {
    double *mean, *sd;   /* numbers: [target * rows + row]   */
    bool *has;           /* labels: [row * classes + class]  */
    double *probability; /* likewise                         */
} model_prediction;

/* `path` NULL = the vectors that the model has. */
lth_status model_use_vectors(const model *m, const char *path, lth_error *err);
/* `latent`: without the noise of numbers. */
lth_status model_predict(const model *m, const lth_table *table, bool latent,
                         const model_prediction *to, lth_error *err);
/* The class that stands for a row's labels, by the row's part of these arrays. */
size_t model_leading_class(const model *m, const bool *has, const double *probability);

/* ---- Reasons ---- */

/* A function whose values can be explained: a target's, a class's, or one class's against another.
 * `class` and `against` NULL = none. */
typedef struct model_function {
    const char *target, *class, *against;
} model_function;

size_t model_functions(const model *m);
model_function model_function_at(const model *m, size_t i);
bool model_concerns(const model *m, size_t i, size_t class); /* whether it is about the class */

lth_status model_explain(const model *m, const lth_table *table, size_t row,
                         const lth_explain_options *wanted, lth_reasons **out, lth_error *err);
/* The heaviest patterns of a function. */
lth_status model_patterns(const model *m, size_t i, size_t count, lth_reasons **out,
                          lth_error *err);

/* ---- What show prints ---- */

int print_model(const model *m, bool json);
/* What a support vector machine adds to its kernel and target. */
void print_svm(const lth_svm *svm);
void json_put_svm(json_writer *w, const lth_svm *svm);

#endif
