/* A basis: a few rows that stand for all, and features of any row by comparison with these.
 *
 * Rows are chosen by randomly pivoted Cholesky: each with a probability proportional to what the
 * rows chosen before it leave of its variance. With K_mm + jitter I = L L^T a row x has the
 * features
 *
 *     phi(x) = L^-1 k_m(x),     phi(x) . phi(z) ~ c(x, z),     d(x) = c(x, x) - |phi(x)|^2 >= 0
 *
 * where c = scale k + shift are covariances (scale 1 and shift 0: kernel values).
 */
#ifndef LTH_BASIS_H
#define LTH_BASIS_H

#include "kernel/core/encode.h"
#include "kernel/core/gram.h"

typedef struct lth__basis {
    const lth_kernel *kernel;
    lth_items *items; /* the rows chosen, in the order of the choice; its own */
    lth__prepared *prepared;
    size_t count;        /* at most as many as were asked for                         */
    size_t *row;         /* their numbers among the rows they were chosen from        */
    double *L;           /* count x count, row major, 0 above the diagonal            */
    double scale, shift; /* from kernel values to covariances                         */
    double jitter;       /* absolute                                                  */
    double trace, left;  /* sum of the candidates' variances; what the basis leaves   */
} lth__basis;

typedef struct lth__basis_options {
    size_t count;        /* rows to choose                                                  */
    double scale, shift; /* scale 0 counts as 1                                             */
    double enough;       /* stop when the mean variance left of a candidate is below this    */
    uint64_t seed;
} lth__basis_options;

/* From how many of `rows` so many are chosen: at most 50,000, and above 2,000 to choose as many as
 * take 800 MB, but four times the choice. */
size_t lth__basis_candidates(size_t rows, size_t count);

/* Choose from `items`: from that many of them, drawn by the seed, equal rows once, and
 * never one without variance; where no row has any, the basis is the first row: there is always
 * one. All threads of the kernel's context work; any number gives the same rows. The jitter is the
 * least that K_mm needs, most often 0. */
lth_status lth__basis_choose(const lth_kernel *kernel, const lth_items *items,
                             const lth__basis_options *options, lth__basis **out, lth_error *err);
void lth__basis_free(lth__basis *b);

/* The same rows at the kernel's present values and these covariances. LTH_ENUMERIC, without a
 * message, when K_mm is not positive definite with this jitter. */
lth_status lth__basis_renew(lth__basis *b, double scale, double shift, double jitter,
                            lth_error *err);

/* phi by [row][count], and unless NULL the covariance of each row with itself. The kernel's values
 * are those of the choice. */
lth_status lth__basis_features(const lth__basis *b, const lth_items *rows, double *phi,
                               double *self, lth_error *err);
/* The two steps of it: covariances by [row][count]; and from these phi, in their place, with
 * |phi|^2 of each row unless NULL. */
lth_status lth__basis_covariances(const lth__basis *b, const lth_items *rows, double *K,
                                  double *self, lth_error *err);
lth_status lth__basis_whiten(const lth__basis *b, lth_ctx *ctx, size_t rows, double *K,
                             double *square, lth_error *err);

#endif
