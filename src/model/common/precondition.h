/* What stands in for a symmetric matrix G = K + noise I when its inverse is too dear:
 *
 *     P = A A^T + Lambda        A (n x rank) from K ~ A A^T,  Lambda = diag(G - A A^T)
 *
 * A is the Cholesky factor of K at a few rows, each drawn with a probability proportional to what
 * the others leave of its variance (randomly pivoted Cholesky). The diagonal of P is that of G, so
 * P is good both where a few rows stand for all and where K is nearly diagonal. With
 * V = Lambda^-1/2 A and B = I + V^T V
 *
 *     P^-1 = Lambda^-1/2 (I - V B^-1 V^T) Lambda^-1/2       |P| = |B| |Lambda|
 */
#ifndef LTH_PRECONDITION_H
#define LTH_PRECONDITION_H

#include "base/random.h"
#include "model/common/matrix.h"

typedef struct lth__preconditioner {
    lth_ctx *ctx;
    size_t n, rank; /* the rank is at most what was asked for */
    double *V;      /* n x rank                               */
    double *root;   /* of Lambda                              */
    double *B, *L;  /* rank x rank, and its factor            */
    double log_determinant;
} lth__preconditioner;

/* `noise` is what G has on its diagonal beside K, at least 0. Only the diagonal and products of G
 * are asked for. All threads work; any number gives the same bits. */
lth_status lth__preconditioner_create(const lth__matrix *G, double noise, size_t rank,
                                      lth__random *random, lth__preconditioner **out,
                                      lth_error *err);
void lth__preconditioner_free(lth__preconditioner *p);

/* Y (n x m) = P^-1 X. */
lth_status lth__preconditioner_solve(const lth__preconditioner *p, size_t m, const double *X,
                                     double *Y, lth_error *err);

/* B (n x m): draws from N(0, P); with W (n x m) from N(0, Lambda^-1), which differ from P^-1 B by
 * what Lambda^-1 A spans. */
lth_status lth__preconditioner_draw(const lth__preconditioner *p, size_t m, lth__random *random,
                                    double *B, float *W, lth_error *err);

/* out (n x rank) = P^-1 A. */
lth_status lth__preconditioner_span(const lth__preconditioner *p, double *out, lth_error *err);

#endif
