/* Warps: a monotone function of the target after which noise is normal,
 *
 *     z = (g(x) - centre) / spread,   x = (y - shift) / scale
 *     log p(y) = log p(z) + log g'(x) - log spread - log scale
 *
 * where centre and spread are the moments of g(x) over the training rows, at the present parameters
 * of the warp: z is centred and scaled as targets are. One row in the list of warp.c each.
 */
#ifndef LTH_WARP_H
#define LTH_WARP_H

#include "model/likelihood/likelihood.h"

enum { LTH__WARP_PARAMS = 9 };

typedef struct lth__warp {
    const char *name, *help;
    lth__own_param params[LTH__WARP_PARAMS]; /* phi, in this order */
    /* x counts from the least number that targets can be, 0 or their minimum; otherwise from their
     * mean. Below it g goes on as a straight line. */
    bool from_origin;
    /* Bounds of the parameters for targets that pile up at a value: a slope without end there would
     * make a spike of it, whose density the evidence has no end of. 0, 0 = as they are. */
    double gentle[LTH__WARP_PARAMS][2];
    /* g(x) and log g'(x); unless `by` is NULL, by[j] and by[LTH__WARP_PARAMS + j] are their
     * derivatives by parameter j. */
    void (*at)(const double *phi, double x, double *g, double *log_slope, double *by);
    /* x for g(x) = z; NULL = it is searched. */
    double (*inverse)(const double *phi, double z);
} lth__warp;

const lth__warp *lth__warp_find(const char *name);
/* The i-th, or NULL past the last. */
const lth__warp *lth__warp_at(size_t i);
size_t lth__warp_params(const lth__warp *w);
/* The same, as they are searched. */
void lth__warp_list(const lth__warp *w, bool gentle, lth__own_param *out);
/* Whether targets pile up at a value. They are sorted. */
bool lth__warp_has_pile(double *y, size_t rows);
double lth__warp_inverse(const lth__warp *w, const double *phi, double z);

#endif
