/* What a cross-validation says: figures by fold and target, of labels also by class. */
#ifndef CLI_CV_REPORT_H
#define CLI_CV_REPORT_H

#include <stdio.h>

#include "commands/cv_folds.h"

typedef struct cv_report {
    const lth_table *table;
    const list *targets;
    const folds *folds;
    lth_validation *validation;
    bool labels, svm;
} cv_report;

/* Whether some fold of some target is not finished, and how many are. */
bool is_partial(const cv_report *r);
size_t finished_folds(const cv_report *r);

int print_cv_text(const cv_report *r);
int print_cv_json(const cv_report *r, const lth_kernel *kernel);
/* row, target, fold, y, and what was predicted */
void write_cv_predictions(const cv_report *r, FILE *to);

#endif
