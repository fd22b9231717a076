/* A kernel with the rows of a table, encoded for it, in one call. */
#ifndef LTH_TEST_PROBLEM_SUPPORT_H
#define LTH_TEST_PROBLEM_SUPPORT_H

#include "luthier.h"

typedef struct problem {
    lth_kernel *kernel;
    lth_table *table;
    lth_encoder *encoder;
    lth_items *items;
} problem;

/* Of the rows of a table, which stays the caller's. Close it in any case. */
lth_status problem_of(lth_ctx *ctx, const char *kernel, const lth_table *table, problem *out,
                      lth_error *err);
/* Of tab-separated lines, header first. Close it in any case; support_problem() fails the test
 * where the other one fails. */
lth_status problem_try(lth_ctx *ctx, const char *kernel, const char *lines, problem *out,
                       lth_error *err);
problem support_problem(lth_ctx *ctx, const char *kernel, const char *lines);
void problem_close(problem *p);

/* The Gram matrix of all rows. */
void problem_fill(const problem *p, double *K);

#endif
