/* Short strings whose symbols match softly: values and all derivatives of a group of pairs at once
 * (engine/ssk_short.h). */
#ifndef LTH_SSK_BRIEF_H
#define LTH_SSK_BRIEF_H

#include "kernel/string/ssk_compare.h"

/* What groups of pairs need beside their symbols. Weights are [position][lane]. */
typedef struct lth__ssk_brief {
    const lth__ssk_plan *plan;
    void *row_weight, *row_slope, *col_weight, *col_slope; /* NULL = symbols are not weighed */
    double *slope;         /* [lth__along][lane]: by parameters, NULL = none */
    double by_temperature; /* the derivative of the decay by it, 0 = nothing decays */
    lth__ssk_short job;
} lth__ssk_brief;

static inline bool lth__ssk_is_brief(const lth__ssk_plan *plan, size_t length) {
    return plan->brief && length <= LTH__SHORT;
}

/* For rows and columns of at most so many symbols, of which the short ones count, and so many
 * positions of all columns. Freed also when this fails. */
lth_status lth__ssk_brief_open(const lth__ssk_plan *plan, size_t rows, size_t cols,
                               size_t positions, lth__ssk_brief *out, lth_error *err);
void lth__ssk_brief_close(lth__ssk_brief *b);

/* Weights of a string in one lane, from position `at` on; of a row in all lanes. */
void lth__ssk_brief_weigh_col(const lth__ssk_brief *b, const uint32_t *symbols, size_t count,
                              size_t at, size_t lane);
void lth__ssk_brief_weigh_row(const lth__ssk_brief *b, const uint32_t *symbols, size_t count);
/* Of a row that is in one lane alone. */
void lth__ssk_brief_weigh_lane(const lth__ssk_brief *b, const uint32_t *symbols, size_t count,
                               size_t lane);

/* One group, whose columns begin at `at` among the symbols of all. The job has shape, symbols and
 * table. */
void lth__ssk_brief_run(lth__ssk_brief *b, size_t at, double *value);

#endif
