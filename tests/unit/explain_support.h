/* Small models, and the reasons of their predictions, in calls that fail the test when they fail.
 */
#ifndef LTH_TEST_EXPLAIN_SUPPORT_H
#define LTH_TEST_EXPLAIN_SUPPORT_H

#include "gp_support.h"

/* Training rows: text, tree, f1, f2, numbers y and z, labels kind (two) and three. */
extern const char explain_lines[];
/* Rows with words and trees that training did not have. */
extern const char explain_new_lines[];
enum { EXPLAIN_NEW_ROWS = 3 };

/* A model of these rows, as its kernel is written; `vectors` may be NULL. */
lth_gp *explain_fit(lth_ctx *ctx, const char *kernel, const char *target, const char *vectors);
/* With up to 200 patterns. */
lth_reasons *explain_new(lth_gp *gp, const lth_table *table, size_t row, size_t target);
/* The weights of all parts. */
double explain_sum(const lth_reasons *r);

#endif
