/* A symmetric matrix, where it lives and what can be done with it there.
 *
 * The mathematics of a model is written once, in these words; each place brings a table of them:
 * host memory (matrix_host.c, and in single precision matrix_single.c) and the memory of a device
 * (matrix_device.c), a store on disk (matrix_stored.c), and the ranks of a cluster
 * (matrix_cluster.c). Matrices are n x n, factors lower
 * triangular. In host memory they are packed lower triangles (engine/packed.h); how they lie on a
 * device is its own affair. Vectors lie in host memory.
 */
#ifndef LTH_MATRIX_H
#define LTH_MATRIX_H

#include "kernel/core/gram.h"

typedef struct lth__matrix lth__matrix;

typedef struct lth__matrix_table {
    /* Memory, if it has none yet; its contents are undefined. */
    lth_status (*reserve)(lth__matrix *A, lth_error *err);
    void (*release)(lth__matrix *A);
    /* The lower triangle into host memory; of rank 0, where it is dealt out, and the others have no
     * `cells` in `out`. */
    lth_status (*fetch)(const lth__matrix *A, const lth__packed *out, lth_error *err);

    /* A = value everywhere; A = by A + plus; A += value on its diagonal. */
    lth_status (*fill)(lth__matrix *A, double value, lth_error *err);
    lth_status (*affine)(lth__matrix *A, double by, double plus, lth_error *err);
    lth_status (*add_diagonal)(lth__matrix *A, double value, lth_error *err);
    /* A_ij *= w_i w_j, and out = I + w A w. */
    lth_status (*scale)(lth__matrix *A, const double *w, lth_error *err);
    lth_status (*sandwich)(const lth__matrix *A, const double *w, lth__matrix *out, lth_error *err);

    lth_status (*diagonal)(const lth__matrix *A, double *out, lth_error *err);
    /* Y (n x m) = A X, and sum_ij A_ij (B_ij - minus). */
    lth_status (*multiply)(const lth__matrix *A, size_t m, const double *X, double *Y,
                           lth_error *err);
    /* The same of the squares of A's cells, where this is known (NULL = it is not). */
    lth_status (*multiply_squares)(const lth__matrix *A, size_t m, const double *X, double *Y,
                                   lth_error *err);
    /* The first where errors of some 1e-6 are tolerated; and Y (n x m) = the columns `at` of A, or
     * NULL where these are had by a product only. */
    lth_status (*multiply_roughly)(const lth__matrix *A, size_t m, const double *X, double *Y,
                                   lth_error *err);
    lth_status (*columns)(const lth__matrix *A, size_t m, const size_t *at, double *Y,
                          lth_error *err);
    lth_status (*inner)(const lth__matrix *A, const lth__matrix *B, double minus, double *out,
                        lth_error *err);

    /* A becomes its Cholesky factor L; LTH_ENUMERIC when it is not positive definite. */
    lth_status (*factor)(lth__matrix *A, double *log_determinant, lth_error *err);
    /* B (n x m) = (L L^T)^-1 B; the diagonal of (L L^T)^-1; and that matrix in the place of L. */
    lth_status (*solve)(const lth__matrix *L, size_t m, double *B, lth_error *err);
    lth_status (*inverse_diagonal)(const lth__matrix *L, double *out, lth_error *err);
    lth_status (*invert)(lth__matrix *L, lth_error *err);

    /* X = (A A^T - m X) / 2 for A of n x m; and M += (a a^T - X + u g^T + g u^T) / 2. */
    lth_status (*weigh)(lth__matrix *X, size_t m, const double *A, lth_error *err);
    lth_status (*add_weights)(lth__matrix *M, const lth__matrix *X, const double *a,
                              const double *u, const double *g, lth_error *err);
} lth__matrix_table;

struct lth__matrix {
    const lth__matrix_table *table;
    lth_ctx *ctx;
    lth__device_eval *device; /* NULL in host memory */
    size_t n;
    double *cells; /* NULL = no memory yet */
    bool borrowed;
    float *singles;           /* instead of `cells`, of a matrix in single precision */
    const lth_items *items;   /* instead of both, of a matrix on disk: those with the store */
    lth_precision precision;  /* of its cells, where it has none yet */
    bool in_strands;          /* of a packed one: this rank of a cluster has some panels alone */
    double by, plus, lift;    /* what was done to it since; see matrix_stored.c             */
    struct lth__tiles *tiles; /* of a matrix that is dealt out: `cells` are this rank's       */
    bool by_scalapack;        /* such a one: factor and inverse are not by own tile algorithms */
};

/* A matrix without memory, where the Gram matrix is computed. */
lth__matrix lth__matrix_beside(lth_ctx *ctx, const lth__gram *gram, size_t n);
/* The same for the large matrices of a posterior: of many rows it is dealt out to the ranks of a
 * cluster, if there is one. */
lth__matrix lth__matrix_shared_beside(lth_ctx *ctx, const lth__gram *gram, size_t n);
/* A matrix in host memory: `cells` are borrowed; NULL = none yet. */
lth__matrix lth__matrix_on_host(lth_ctx *ctx, size_t n, double *cells);
/* A matrix in host memory to be multiplied with vectors, as conjugate gradients do: without memory
 * yet. In single precision it has no factor, and of the table above only reserve, affine,
 * add_diagonal, diagonal, and what gives products and columns. */
lth__matrix lth__matrix_store(lth_ctx *ctx, size_t n, lth_precision precision);
/* The same where the Gram matrix is computed. */
lth__matrix lth__matrix_store_beside(lth_ctx *ctx, const lth__gram *gram, size_t n,
                                     lth_precision precision);
/* The same in host memory, of which each rank of a cluster has some panels (product.h). */
lth__matrix lth__matrix_in_strands(lth_ctx *ctx, size_t n, lth_precision precision);
/* The same on disk, of items with a store. */
lth__matrix lth__matrix_stored(lth_ctx *ctx, const lth_items *items);
/* The same dealt out to the ranks of the context's cluster, all of which call the same functions;
 * vectors are whole on each. */
lth__matrix lth__matrix_dealt(lth_ctx *ctx, size_t n);
/* Whether its cells are rounded to single precision. */
bool lth__matrix_is_single(const lth__matrix *A);
void lth__matrix_free(lth__matrix *A);
/* The bytes it takes, SIZE_MAX when these cannot be counted. */
size_t lth__matrix_store_bytes(size_t n, lth_precision precision);
/* Where its cells are, in host memory. */
lth__packed lth__matrix_packed(const lth__matrix *A);

/* Of one that is dealt out, or in strands: what the two below do there. */
lth_status lth__matrix_strands_gram(lth__matrix *A, lth__gram *gram, lth_error *err);
lth_status lth__matrix_dealt_gram(lth__matrix *A, lth__gram *gram, lth_error *err);
lth_status lth__matrix_dealt_pull(lth__matrix *W, lth__gram *gram, double *gradient,
                                  lth_error *err);

/* The Gram matrix, and the pull-back of the weights W, which may be overwritten. */
lth_status lth__matrix_gram(lth__matrix *A, lth__gram *gram, lth_error *err);
lth_status lth__matrix_pull(lth__matrix *W, lth__gram *gram, double *gradient, lth_error *err);

/* Y (n x m) = the columns `at` of A, wherever it is; `room` is of that size too. */
lth_status lth__matrix_columns(const lth__matrix *A, size_t m, const size_t *at, double *room,
                               double *Y, lth_error *err);

/* The sum of its diagonal. */
lth_status lth__matrix_trace(const lth__matrix *A, double *out, lth_error *err);

/* Its lower triangle in host memory, freed with lth__free(); it has none afterwards. Where it is
 * dealt out rank 0 gets it, the others NULL. */
lth_status lth__matrix_take(lth__matrix *A, double **out, lth_error *err);

extern const lth__matrix_table lth__matrix_on_device, lth__matrix_in_single,
    lth__matrix_on_device_in_single, lth__matrix_in_cluster;

#endif
