/* What is left of the variances of rows when others are known. */
#include "base/parallel.h"
#include "model/common/linalg.h"
#include "model/gp/gp.h"

enum { PIECE = 32 };

typedef struct variance_job {
    const lth__blas *blas;
    size_t n, rows, stride;
    lth__packed L;
    const double *self;
    double *V, *variance;
} variance_job;

static lth_status variance_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const variance_job *j = user;
    size_t n = j->n, first = index * PIECE;
    size_t last = first + PIECE < j->rows ? first + PIECE : j->rows;
    lth__packed_solve_right(j->blas, &j->L, last - first, j->V + first * n);
    for (size_t r = first; r < last; r++) {
        double explained = 0;
        for (size_t i = 0; i < n; i++) explained += j->V[r * n + i] * j->V[r * n + i];
        double rest = j->self[r] - explained;
        j->variance[r * j->stride] = rest > 0 ? rest : 0;
    }
    return LTH_OK;
}

lth_status lth__gp_variances(lth_ctx *ctx, size_t n, const double *L, size_t rows, double *V,
                             const double *self, double *variance, size_t stride, lth_error *err) {
    variance_job j = {.n = n,
                      .rows = rows,
                      .stride = stride,
                      .L = lth__packed_layout(n),
                      .self = self,
                      .V = V,
                      .variance = variance};
    j.L.cells = (double *)L;
    LTH_TRY(lth__blas_get(&j.blas, err));
    return lth__parallel_for(ctx, NULL, (rows + PIECE - 1) / PIECE, NULL, variance_piece, &j, err);
}
