/* Newton's step for sites (sites.h). When they go by dl and dD, the mean and variance of f go by
 *
 *     dm = S (dl - m dD)       dv = -(S o S) dD       S_ij = [i = j] / D_i - R_ij / (D_i D_j)
 *
 * with squares cell by cell, to first order. With slope g and precision D' asked for, which turn
 * with both, sites are where they are to be after
 *
 *     dm = S (g - a + (dg/dm + D) dm + dg/dv dv)
 *     dv = -(S o S) (D' - D + dD'/dm dm + dD'/dv dv)
 *
 * which GMRES solves (Saad and Schultz 1986). Where D is as good as 0, S is taken for diagonal.
 */
#ifndef LTH_SITE_NEWTON_H
#define LTH_SITE_NEWTON_H

#include "model/common/matrix.h"

/* All by row. */
typedef struct lth__site_newton {
    const lth__matrix *R; /* of site_factor.h: its table has multiply_squares */
    const double *D, *variance;
    double *short_of_g, *short_of_d; /* g - a, D' - D                                       */
    double *g_by_m, *g_by_v;         /* dg/dm + D and dg/dv                                 */
    double *d_by_m, *d_by_v;
    double *dm, *dv; /* the result                                                          */
    double lack;     /* and about what the bound lacks where the sites are                  */
    double *room;    /* numbers that lth__site_newton_room() says                           */
} lth__site_newton;

size_t lth__site_newton_room(size_t n);

/* `lack` alone, with dm and dv as if nothing turned; then the step from there, to within this share
 * of them. */
lth_status lth__site_newton_measure(lth__site_newton *x, lth_error *err);
lth_status lth__site_newton_solve(lth__site_newton *x, double share, lth_error *err);

#endif
