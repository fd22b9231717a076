/* Reading a model file, and printing what it has learned. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "session.h"

/* One of them, by the kind of model that was read. */
typedef struct model {
    lth_gp *gp;
    lth_svm *svm;
} model;

/* "-" is standard input. */
int session_load_model(session *s, const char *path, model *out);
void model_free(model *m);
const lth_kernel *model_kernel(const model *m);

bool model_has_labels(const model *m);
size_t model_classes(const model *m); /* 0 = the model is for numbers */
const char *model_class(const model *m, size_t i);
/* What can be explained: targets, classes, or the problems of a support vector machine; the column
 * that each is about, and whether it is about a class. */
size_t model_targets(const model *m);
const char *model_target(const model *m, size_t i);
bool model_concerns(const model *m, size_t i, size_t class);

/* The object that show --json prints, to standard output. */
int print_model_json(const lth_gp *gp);
int print_svm_json(const lth_svm *svm);
int print_svm_text(const lth_svm *svm);

#endif
