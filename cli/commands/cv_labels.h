/* What a cross-validation says of predicted labels. */
#ifndef CLI_CV_LABELS_H
#define CLI_CV_LABELS_H

#include <stdio.h>

#include "commands/cv_folds.h"

typedef struct labels_report {
    const lth_validation *validation;
    const char *const *targets;
    size_t target_count;
    const folds *folds;
    const char *kernel, *model;
    bool probabilities; /* it has predicted some, so there is a log loss */
} labels_report;

void print_labels_text(const labels_report *r);
void print_labels_json(const labels_report *r);
/* row, target, fold, y, predicted */
void write_label_predictions(const labels_report *r, const lth_table *table, FILE *to);

#endif
