/* Predictions of models for labels, and of support vector machines of any kind. */
#ifndef CLI_PREDICT_LABELS_H
#define CLI_PREDICT_LABELS_H

#include "session.h"

/* To --output. */
int predict_svm(session *s, lth_svm *svm, const lth_table *table);
int predict_classes(session *s, lth_gp *gp, const lth_table *table);

#endif
