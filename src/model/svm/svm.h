/* Inside support vector machines: the Gram matrix as the solver reads it or features in its place,
 * single problems, machines made of them, the grid of kernels, and the choice among its points. */
#ifndef LTH_SVM_H
#define LTH_SVM_H

#include "base/text.h"
#include "kernel/core/encode.h"
#include "kernel/core/gram.h"
#include "model/common/any_model.h"
#include "model/common/basis.h"
#include "model/common/labels.h"
#include "model/common/source.h"

/* ---- Features (svm_features.c, svm_dense.c) ---- */

/* Each row as a vector whose inner products are the kernel: the features of some maps, one map's
 * beside the other's. Row i has scale[i] weight at the number feature * map_count + map. The
 * maps' own arrays are used, not copied. */
typedef struct lth__svm_map {
    const lth__features *features;
    double *scale;
} lth__svm_map;

/* Without maps, those of a basis: row i has `width` numbers. */
typedef struct lth__svm_features {
    size_t rows, width, map_count;
    lth__svm_map *maps;
    lth__basis *basis;
    float *dense;   /* single, because all rows have theirs at once */
    double *square; /* the squared length of each row               */
} lth__svm_features;

/* Whether the kernel is such an inner product. */
bool lth__svm_is_linear(const lth_kernel *kernel);
/* Whether some of its features are only made when they are asked for: these take much memory. */
bool lth__svm_asks_features(const lth_kernel *kernel);
/* Of such a kernel; `items`, which are asked for them, must live as long. */
lth_status lth__svm_features_make(const lth_kernel *kernel, lth_items *items,
                                  lth__svm_features *out, lth_error *err);
void lth__svm_features_free(lth__svm_features *f);
/* The squared length of a row; its product with weights; w += factor times the row. */
double lth__svm_features_square(const lth__svm_features *f, size_t row);
double lth__svm_features_dot(const lth__svm_features *f, size_t row, const double *w);
void lth__svm_features_add(const lth__svm_features *f, size_t row, double factor, double *w);

/* Of any kernel: of a basis of at most `count` rows; `kernel` must live as long. */
lth_status lth__svm_dense_make(const lth_kernel *kernel, const lth_items *items, size_t count,
                               lth__svm_features *out, lth_error *err);
double lth__svm_dense_dot(const lth__svm_features *f, size_t row, const double *w);
void lth__svm_dense_add(const lth__svm_features *f, size_t row, double factor, double *w);
/* The weights w as coefficients of the rows of the basis. */
lth_status lth__svm_dense_unfold(const lth__svm_features *f, const double *w, double *coef,
                                 lth_error *err);

/* ---- The Gram matrix (svm_gram.c) ---- */

typedef struct lth__svm_gram {
    lth_ctx *ctx;
    size_t rows;
    double *plain; /* while it is being computed; or:     */
    float *cells;  /* rows x rows, times `scale` in value */
    double scale;
    bool linear;  /* no cells; the features stand for them */
    size_t basis; /* rows that a basis may have; 0 = the kernel's own features */
    lth__svm_features features;
} lth__svm_gram;

lth_status lth__svm_gram_create(lth_ctx *ctx, size_t rows, lth__svm_gram *out, lth_error *err);
void lth__svm_gram_free(lth__svm_gram *g);

/* Where to put the values, as an ordinary matrix; what was there is gone. NULL = out of memory.
 * Then they become cells. */
double *lth__svm_gram_plain(lth__svm_gram *g);
void lth__svm_gram_narrow(lth__svm_gram *g);

/* The value of rows r and c. */
static inline double lth__svm_gram_at(const lth__svm_gram *g, size_t r, size_t c) {
    return g->scale * (double)g->cells[r * g->rows + c];
}

/* ---- One problem (svm_solve.c) ---- */

typedef struct lth__svm_setting {
    bool regression, nu_svm;
    bool origin;           /* without a threshold */
    double C, epsilon, nu; /* NaN where the type does not use it */
} lth__svm_setting;

/* Rows of the Gram matrix with their targets: numbers, or +1 and -1, whose C is multiplied by
 * weight[0] and weight[1]. */
typedef struct lth__svm_problem {
    const lth__svm_gram *gram;
    const size_t *row;
    const double *y;
    size_t count;
    double weight[2];
} lth__svm_problem;

/* f(x) = sum_i coef_i k(x, row_i) - rho, where a linear kernel has sum_i weight_i x[feature_i] for
 * the sum; features in ascending order. With a basis both sums are the same, and the rows are its.
 */
typedef struct lth__svm_solution {
    size_t count, *row;
    double *coef, rho;
    size_t weight_count;
    uint32_t *feature;
    double *weight;
    bool unfinished; /* the solver gave up before it was as exact as it should be */
} lth__svm_solution;

lth_status lth__svm_solve(const lth__svm_problem *problem, const lth__svm_setting *setting,
                          lth__svm_solution *out, lth_error *err);
/* The same for settings that differ in C alone, in ascending order. */
lth_status lth__svm_solve_all(const lth__svm_problem *problem, const lth__svm_setting *settings,
                              size_t count, lth__svm_solution *out, lth_error *err);
/* Room for `count` rows with their coefficients; all else is 0. */
lth_status lth__svm_solution_create(size_t count, lth__svm_solution *out, lth_error *err);
void lth__svm_solution_free(lth__svm_solution *s);
double lth__svm_decide(const lth__svm_solution *s, const lth__svm_gram *g, size_t row);
/* out[i * stride] for row rows[i], with a Gram matrix or with features. */
lth_status lth__svm_decide_rows(const lth__svm_solution *s, const lth__svm_gram *g,
                                const size_t *rows, size_t count, double *out, size_t stride);

/* With a Gram matrix (svm_path.c), likewise. */
lth_status lth__svm_path_solve(const lth__svm_problem *problem, const lth__svm_setting *settings,
                               size_t count, lth__svm_solution *out, lth_error *err);

/* Of C-SVC and epsilon-SVR, in units of the matrix: the largest beta of a side; and how exact. */
double lth__svm_bound(const lth__svm_problem *p, const lth__svm_setting *s, bool positive);
double lth__svm_tolerance(const lth__svm_problem *p, const lth__svm_setting *s);
/* All rows are on one side: the solution is a function that says so. */
bool lth__svm_is_one_sided(const lth__svm_problem *p, const lth__svm_setting *s);
/* LTH_ENUMERIC when it is not finite. */
lth_status lth__svm_check_solution(const lth__svm_solution *z, const lth__svm_setting *s,
                                   lth_error *err);

/* On a device (svm_device.c): a problem with settings that differ in C, and where their solutions
 * go. *done = false when the device has too little memory. */
typedef struct lth__svm_device_task {
    lth__svm_problem problem;
    size_t setting_count;
    const lth__svm_setting *settings;
    lth__svm_solution **solutions;
} lth__svm_device_task;

bool lth__svm_device_wants(const lth__svm_gram *g, size_t problems, const lth__svm_setting *s);
lth_status lth__svm_device_solve(const lth__svm_gram *g, const lth__svm_device_task *tasks,
                                 size_t count, const char *what, bool *done, lth_error *err);

/* Without a threshold (svm_origin.c). */
lth_status lth__svm_origin_solve(const lth__svm_problem *problem, const lth__svm_setting *setting,
                                 lth__svm_solution *out, lth_error *err);

/* With features (svm_linear.c). */
lth_status lth__svm_linear_solve(const lth__svm_problem *problem, const lth__svm_setting *setting,
                                 lth__svm_solution *out, lth_error *err);
lth_status lth__svm_linear_decide(const lth__svm_solution *s, const lth__svm_features *f,
                                  const size_t *rows, size_t count, double *out, size_t stride);

/* ---- Probabilities (svm_probability.c) ---- */

/* p(positive) = 1 / (1 + exp(slope f + offset)) */
typedef struct lth__sigmoid {
    double slope, offset;
} lth__sigmoid;

/* Platt's fit to decision values; `room` for `count` numbers. */
lth__sigmoid lth__sigmoid_fit(const double *decision, const double *y, size_t count, double *room);
double lth__sigmoid_at(lth__sigmoid s, double decision);

/* p[i] from the pairwise r[i * classes + j] = p(i | i or j); `room` for classes * (classes + 1)
 * numbers. */
void lth__couple(const double *r, size_t classes, double *p, double *room);

/* ---- A machine: all problems of one target (svm_train.c, svm_machine.c) ---- */

/* What is to be learned. */
typedef struct lth__svm_target {
    const char *name;
    double *y;          /* numbers, or NULL:  */
    lth__labels labels; /* of all rows        */
    double *weight;     /* factors of C by class; NULL = 1                    */
    bool balanced;      /* factors that make up for the sizes of the classes  */
    bool one_vs_rest, probability;
    bool quiet; /* no progress: this is part of another job */
} lth__svm_target;

typedef struct lth__svm_part {
    size_t positive, negative; /* classes; negative LTH_NONE = the rest */
    lth__svm_solution solution;
    lth__sigmoid sigmoid;
} lth__svm_part;

typedef struct lth__svm_machine {
    size_t classes; /* of the target; 0 for numbers                       */
    bool multi;
    size_t only;       /* the class of all rows, when there is just one      */
    size_t part_count; /* problems                                           */
    lth__svm_part *parts;
    bool probability;
} lth__svm_machine;

/* n classes make n (n - 1) / 2 pairs. */
size_t lth__svm_paired_classes(const lth__svm_machine *m);

/* What is to be learned from rows[0 .. count-1]: a machine for each setting. These differ in C
 * alone, and come in ascending order. A nu that cannot be met is LTH_EARG, or is refused. */
typedef struct lth__svm_lesson {
    const lth__svm_target *target;
    const size_t *rows;
    size_t count;
    const lth__svm_setting *settings;
    size_t setting_count;
    lth__svm_machine *machines;
    bool *refused; /* by setting; NULL = that is an error */
} lth__svm_lesson;

/* All problems of all lessons side by side (svm_train.c); `what` as for lth__parallel_for(). */
lth_status lth__svm_train_all(const lth__svm_gram *gram, const lth__svm_lesson *lessons,
                              size_t count, const char *what, lth_error *err);
/* Of problems that the solver gave up. */
void lth__svm_warn_unfinished(const lth__svm_gram *gram, const lth__svm_machine *m);
/* One lesson of one setting. */
lth_status lth__svm_train(const lth__svm_target *target, const lth__svm_gram *gram,
                          const size_t *rows, size_t count, const lth__svm_setting *setting,
                          lth__svm_machine *out, lth_error *err);
void lth__svm_machine_free(lth__svm_machine *m);
/* decision[i * part_count + part] of row rows[i]. */
lth_status lth__svm_decide_all(const lth__svm_machine *m, const lth__svm_gram *g,
                               const size_t *rows, size_t count, double *decision);

/* What decision values mean: the classes of a row, their probabilities and scores (see
 * lth_svm_prediction). `votes` is room for a number for each class, `room` for 2 classes * (classes
 * + 1). */
void lth__svm_classify(const lth__svm_machine *m, const double *decision, size_t *votes, bool *has);
void lth__svm_probabilities(const lth__svm_machine *m, const double *decision, double *p,
                            double *room);
size_t lth__svm_score_count(const lth__svm_machine *m);
void lth__svm_scores(const lth__svm_machine *m, const double *decision, double *score,
                     double *room);

/* ---- The kernels of a grid (svm_kernels.c) ---- */

/* A kernel, and the table encoded for it. */
typedef struct lth__svm_encoded {
    lth__source source;
    size_t structure;
} lth__svm_encoded;

typedef struct lth__svm_kernels {
    lth_ctx *ctx;
    const lth_table *table;
    lth__source_files files;
    size_t count;
    char **text;       /* the expression of each point                                   */
    bool learns;       /* values of some point depend on the rows learned from           */
    const size_t *row; /* these are row[0 .. rows-1]; NULL = all                         */
    size_t rows;
    size_t *structure;        /* points with the same number differ in their parameters alone   */
    size_t orders;            /* above 1: so many neighbours differ in the order of one string
                                 kernel alone, and their matrices come from one pass            */
    bool normalized;          /* that string kernel is inside of normalize()                    */
    size_t longest;           /* the one of them that has the highest order                     */
    lth__svm_encoded current; /* the kernel of the point that was taken last */
    lth__svm_encoded all_orders; /* the string kernel by itself, of the highest order */
    double *planes;
    size_t planes_of; /* group of neighbours that the planes are for, from 1; 0 = none */
} lth__svm_kernels;

/* All points of "PATH=V1,V2" lists, checked. */
lth_status lth__svm_kernels_open(lth_ctx *ctx, const char *expression, const lth_table *table,
                                 const char *const *set, size_t set_count, lth__source_files files,
                                 lth__svm_kernels *out, lth_error *err);
void lth__svm_kernels_close(lth__svm_kernels *k);
/* Room for the Gram matrix of each point, or for the features in its place, as the options, the
 * kernel and the number of rows decide. */
lth_status lth__svm_kernels_room(const lth__svm_kernels *k, const lth_svm_options *options,
                                 lth__svm_gram *out, lth_error *err);
lth_status lth__svm_kernels_gram(lth__svm_kernels *k, size_t point, lth__svm_gram *gram,
                                 lth_error *err);
/* The rows to learn frequencies and moments from; `row` must stay, NULL = all. */
lth_status lth__svm_kernels_learn(lth__svm_kernels *k, const size_t *row, size_t rows,
                                  lth_error *err);
/* Makes the point's kernel, with its items, the current one. */
lth_status lth__svm_kernels_take(lth__svm_kernels *k, size_t point, lth_error *err);

/* ---- The choice (svm_grid.c, svm_choose.c) ---- */

typedef struct lth__svm_settings {
    lth__svm_setting *at;
    size_t count;
} lth__svm_settings;

/* Options with their defaults for whatever the caller's struct does not have, checked. */
lth_status lth__svm_options_complete(const lth_svm_options *given, lth_svm_options *out,
                                     lth_error *err);
lth__source_files lth__svm_files(const lth_svm_options *options);
/* The target column, as the options want it. */
lth_status lth__svm_target_read(lth_ctx *ctx, const lth_table *table, const char *name,
                                const lth_svm_options *options, lth__svm_target *out,
                                lth_error *err);
void lth__svm_target_free(lth__svm_target *target);
/* Of a kernel that reads one of the targets. */
lth_status lth__svm_warn(lth_ctx *ctx, const char *expression, const char *const *targets,
                         size_t count, lth_error *err);

/* All combinations of C, epsilon and nu that matter to this target. */
lth_status lth__svm_settings_make(const lth_svm_options *options, const lth__svm_target *target,
                                  lth__svm_settings *out, lth_error *err);

/* The best so far. */
typedef struct lth__svm_choice {
    bool made;
    size_t point;
    lth__svm_setting setting;
    double score; /* as shown; NaN when there was nothing to choose from */
    lth__svm_machine machine;
} lth__svm_choice;

/* The name of the score. */
const char *lth__svm_score_name(const lth__svm_target *target);

/* Rows of one target, among whose settings is chosen. */
typedef struct lth__svm_search {
    const lth__svm_target *target;
    const size_t *rows;
    size_t count;
    const lth__svm_settings *settings;
    lth__svm_choice *choice;
    double *score; /* by setting; may be NULL */
    bool alone;    /* just one point and one setting: it is trained without being judged */
    bool better;   /* the choice is another */
} lth__svm_search;

/* Judge all settings of all searches with this Gram matrix by inner folds of the rows; if one of
 * them is better than the choice so far, train it on all rows. `judging` and `training` name the
 * work, as for lth__parallel_for(). */
lth_status lth__svm_choose(const lth__svm_gram *gram, lth__svm_search *searches, size_t count,
                           size_t folds, size_t point, const char *judging, const char *training,
                           lth_error *err);

/* ---- The model (svm.c, svm_file.c) ---- */

struct lth_svm {
    lth_model base;
    lth_ctx ctx; /* the caller's, but quiet */
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;        /* training rows that are kept; see lth__kernel_needs_all_rows() */
    lth_items *support;      /* those of them that predictions need; NULL for weights    */
    lth__prepared *prepared; /* of these */
    size_t *support_at;      /* their numbers among `items`                               */
    char *target;
    lth__svm_machine machine; /* its rows are numbers of support rows */
    char **class_name;
    lth_svm_class *classes;
    lth_svm_report report; /* the texts in it are static */
    char **point_kernel;
    lth_svm_point *points;
};

void lth__svm_report_texts(lth_svm_report *report, bool nu_svm);

#endif
