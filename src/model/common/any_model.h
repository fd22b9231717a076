/* What a Gaussian process and a support vector machine have in common: each begins with an
 * lth_model, so that a pointer to one is a pointer to the other. */
#ifndef LTH_ANY_MODEL_H
#define LTH_ANY_MODEL_H

#include "model/common/model_file.h"

typedef enum lth__model_kind { LTH__MODEL_GP, LTH__MODEL_SVM } lth__model_kind;

struct lth_model {
    lth__model_kind kind;
};

/* A model of one kind from an open file. */
lth__load_fn lth__gp_load, lth__svm_load;

/* What it has encoded its training rows by. */
lth_encoder *lth__gp_encoder(const lth_gp *gp);
lth_encoder *lth__svm_encoder(const lth_svm *svm);
lth_encoder *lth__model_encoder(const lth_model *model);

#endif
