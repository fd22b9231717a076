/* Predictions of a support vector machine. */
#ifndef CLI_SVM_PREDICT_H
#define CLI_SVM_PREDICT_H

#include "session.h"

/* To --output. */
int predict_svm(session *s, lth_svm *svm, const lth_table *table);

#endif
