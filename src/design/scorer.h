/* Acquisition values of many rows, each by itself: what shortlists and searches go by. */
#ifndef LTH_SCORER_H
#define LTH_SCORER_H

#include "luthier.h"

/* Models, objectives, incumbent, feasibility, cost and what is measured or pending, looked up
 * once. It borrows models and options. */
typedef struct lth__scorer lth__scorer;

lth_status lth__scorer_create(lth_model *const *models, size_t count,
                              const lth_propose_options *options, lth__scorer **out,
                              lth_error *err);
void lth__scorer_free(lth__scorer *s);

/* value[row], the higher the better, also where objectives are to be minimised; -INFINITY = not to
 * be proposed: measured or pending. The same value for a row whatever the table around it. */
lth_status lth__scorer_rows(lth__scorer *s, const lth_table *rows, double *value, lth_error *err);

/* The training rows as texts, best first by what is expected of them: where a search begins.
 * Borrowed from the scorer; NULL past the last. */
const char *lth__scorer_best_text(lth__scorer *s, size_t i);

#endif
