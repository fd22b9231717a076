/* The functions of LIBSVM that are used, in the library as it was loaded. */
#ifndef LTH_SVM_LIBRARY_H
#define LTH_SVM_LIBRARY_H

#include "base/status.h"

struct svm_model;
struct svm_node;
struct svm_parameter;
struct svm_problem;

typedef struct lth__libsvm {
    struct svm_model *(*train)(const struct svm_problem *, const struct svm_parameter *);
    double (*predict_values)(const struct svm_model *, const struct svm_node *, double *);
    void (*free_model)(struct svm_model **);
} lth__libsvm;

lth_status lth__libsvm_get(const lth__libsvm **out, lth_error *err);

#endif
