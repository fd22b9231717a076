/* Tables and models for the tests of design. */
#ifndef LTH_TEST_DESIGN_SUPPORT_H
#define LTH_TEST_DESIGN_SUPPORT_H

#include "luthier.h"

enum { DESIGN_LENGTH = 6 };
extern const char design_kernel[];

/* Words of ACGT, the column text, from the `first` on of one sequence of them; with numbers y,
 * minus (y the other way round) and z, labels of two and of three classes, and several labels a
 * row; what they cost, 1 to 3; and a count, from 0. */
lth_table *design_rows(lth_ctx *ctx, size_t first, size_t count);
/* A copy of the first cell of a row, which does not end with NUL in the table; freed by free(). */
char *design_cell(const lth_table *table, size_t row);
/* The word of a row, until so many more were asked for that it does not matter. */
const char *design_word(const lth_table *table, size_t row);

/* A model that learns nothing: noise 0.1, and kernel values in the units of the targets. */
lth_model *design_fit(lth_ctx *ctx, const lth_table *table, const char *const *targets,
                      size_t count, lth_likelihood likelihood);

lth_propose_options design_options(size_t count);
lth_proposals *design_propose(lth_model *const *models, size_t count, const lth_table *pool,
                              const lth_propose_options *options);

#endif
