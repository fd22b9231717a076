/* The true values of a table's rows, against which a model is judged. */
#ifndef CLI_TRUTH_H
#define CLI_TRUTH_H

#include "model.h"

/* The numbers of a column. `path` is where the table is from, for messages. */
int truth_read_numbers(session *s, lth_model *m, const lth_table *table, const char *path,
                       const char *column, double *y);
/* Whether cells may be empty, which are NaN then: targets of the model know of each other. */
bool truth_has_gaps(lth_model *m);

/* The labels of a column: truth[row * (classes + 1) + class], where the last class is for those
 * that the model does not know, and *strange says whether it occurs. */
void truth_read_labels(const lth_model *m, const lth_table *table, const char *column, bool *truth,
                       bool *strange);

#endif
