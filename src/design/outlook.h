/* Inside a scorer: all that is expected of the rows of a table. */
#ifndef LTH_OUTLOOK_H
#define LTH_OUTLOOK_H

#include "data/symbols.h"
#include "design/scorer.h"
#include "design/valuer.h"

/* Rows that are known by their keys, of each model. */
typedef struct lth__row_set {
    size_t model_count;
    lth__symbols **of_model;
} lth__row_set;

struct lth__scorer {
    lth__problem problem;
    lth__valuer valuer;
    lth__row_set measured, pending;
    lth__row_set others; /* that the caller says are measured */
    char **best;         /* texts of training rows, best first */
    size_t best_count;
};

typedef struct lth__outlook {
    size_t rows;
    double *mean, *variance; /* [series][row], [spread][row] */
    double *feasible, *cost; /* by row; NULL = 1 */
    double *value;           /* by row; -INFINITY = not to be proposed */
} lth__outlook;

/* To be freed also when this fails. */
lth_status lth__outlook_make(const lth__scorer *s, const lth_table *table,
                             const lth__candidates *rows, lth__outlook *out, lth_error *err);
void lth__outlook_free(lth__outlook *o);

static inline double lth__outlook_feasible(const lth__outlook *o, size_t row) {
    return o->feasible ? o->feasible[row] : 1;
}
static inline double lth__outlook_cost(const lth__outlook *o, size_t row) {
    return o->cost ? o->cost[row] : 1;
}

#endif
