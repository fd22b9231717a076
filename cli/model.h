/* A model of either kind, as the command line uses it. Which kind it is matters only here, and to
 * who prints what one kind alone has. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "json.h"
#include "session.h"

/* "-" is standard input. */
int session_load_model(session *s, const char *path, lth_model **out);
/* New words are looked up in --vectors. */
int session_use_vectors(session *s, lth_model *m);
/* Tells which words of the rows so far have no vector; so does the end of a model, while the
 * session is open, but not of the same words again. */
void tell_words(lth_model *m);
void free_model(lth_model *m);

size_t model_find_class(const lth_model *m, const char *name, size_t length); /* LTH_NONE = none */

/* ---- Predictions ---- */

/* Standard deviations to either side of the mean, between which 95% of the values lie. */
static const double sds_95 = 1.959964;

bool model_has_probabilities(lth_model *m); /* of labels */
size_t model_scores(lth_model *m);          /* decision values of an SVM for labels */
bool model_is_normal(lth_model *m);         /* what it predicts are numbers with normal noise */
/* A column that it reads beside those of its kernel, as a list for session_read_table(). */
list model_columns(lth_model *m, const char *room[1]);

/* What it says of rows. Arrays that are NULL are not asked for, or not had. */
typedef struct model_prediction {
    double *mean, *sd;        /* numbers: [target * rows + row]   */
    double *median, *lo, *hi; /* likewise, where the distribution is not normal */
    const double *y;          /* the truth, likewise, for the rest: */
    double *point, *log_density, *cdf, *crps;
    double *grades;      /* [row * grades + grade]           */
    bool *has;           /* labels: [row * classes + class]  */
    double *probability; /* likewise                         */
    double *score;       /* of an SVM: [row * scores + score] */
    const list *given;   /* targets whose numbers the table has, or NULL */
} model_prediction;

/* `latent`: without the noise of numbers. */
lth_status model_predict(lth_model *m, const lth_table *table, bool latent,
                         const model_prediction *to, lth_error *err);
/* The class that stands for a row's labels, by the row's part of these arrays. */
size_t model_leading_class(lth_model *m, const bool *has, const double *probability);

/* ---- Reasons ---- */

/* A function whose values can be explained: a target's, a class's, or one class's against another.
 * `class` and `against` NULL = none. */
typedef struct model_function {
    const char *target, *class, *against;
} model_function;

model_function model_function_at(lth_model *m, size_t i);
bool model_concerns(lth_model *m, size_t i, size_t class); /* whether it is about the class */

/* ---- What show prints ---- */

int print_model(lth_model *m, bool json);
const char *posterior_name(lth_posterior posterior);
/* What a support vector machine adds to its kernel and target. */
void print_svm(const lth_svm *svm);
void json_put_svm(json_writer *w, const lth_svm *svm);

/* lth_model_explain(), and the lines of the training rows that it names can be had by this thread:
 * there is room for them. */
lth_status model_explain(const lth_model *m, const lth_table *table, size_t row,
                         const lth_explain_options *wanted, lth_reasons **out, lth_error *err);

#endif
