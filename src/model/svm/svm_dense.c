/* Features of a basis (model/common/basis.h): dense vectors whose inner products are close to the
 * values of any kernel, so that a machine is solved by weights of features, without a Gram matrix.
 *
 * Once the weights w are there, the features are not needed any more:
 *
 *     w . phi(x) = w . L^-1 k_m(x) = sum_i c_i k(x, row_i),   c = L^-T w
 *
 * To whoever predicts or explains, it is a machine whose support rows are those of the basis.
 * Features are kept in single precision; weights and sums are double.
 */
#include <math.h>
#include <string.h>

#include "engine/blas.h"
#include "model/svm/svm.h"

enum { SLICE_CELLS = 1 << 22, LEAST_SLICE = 256 }; /* of double features at once */

/* ---- Products ---- */

double lth__svm_dense_dot(const lth__svm_features *f, size_t row, const double *restrict w) {
    const float *restrict x = f->dense + row * f->width;
    double sum[8] = {0}; /* which the compiler makes vectors of */
    size_t i = 0;
    for (; i + 8 <= f->width; i += 8) {
        for (size_t k = 0; k < 8; k++) sum[k] += (double)x[i + k] * w[i + k];
    }
    for (; i < f->width; i++) sum[0] += (double)x[i] * w[i];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

void lth__svm_dense_add(const lth__svm_features *f, size_t row, double factor, double *restrict w) {
    const float *restrict x = f->dense + row * f->width;
    for (size_t i = 0; i < f->width; i++) w[i] += factor * (double)x[i];
}

/* ---- Making them ---- */

static void take_row(lth__svm_features *f, size_t row, const double *phi) {
    float *x = f->dense + row * f->width;
    f->square[row] = 0;
    for (size_t i = 0; i < f->width; i++) {
        x[i] = (float)phi[i];
        f->square[row] += (double)x[i] * (double)x[i];
    }
}

static lth_status fill_slice(lth__svm_features *f, const lth_items *items, size_t first,
                             size_t count, double *phi, lth_error *err) {
    lth_items *slice = NULL;
    LTH_TRY(lth__items_slice(items, first, count, &slice, err));
    lth_status status = lth__basis_features(f->basis, slice, phi, NULL, err);
    for (size_t i = 0; i < count && status == LTH_OK; i++)
        take_row(f, first + i, phi + i * f->width);
    lth_items_free(slice);
    return status;
}

static lth_status fill(lth__svm_features *f, const lth_items *items, lth_error *err) {
    size_t most = SLICE_CELLS / f->width;
    if (most < LEAST_SLICE) most = LEAST_SLICE;
    if (most > f->rows) most = f->rows;
    f->dense = lth__alloc(f->rows * f->width, sizeof *f->dense);
    f->square = lth__alloc(f->rows, sizeof *f->square);
    double *phi = lth__alloc(most * f->width, sizeof *phi);
    lth_status status = f->dense && f->square && phi
                            ? LTH_OK
                            : lth__fail_memory(err, f->rows * f->width * sizeof *f->dense);
    for (size_t first = 0; first < f->rows && status == LTH_OK; first += most) {
        size_t count = f->rows - first < most ? f->rows - first : most;
        status = fill_slice(f, items, first, count, phi, err);
    }
    lth__free(phi);
    return status;
}

lth_status lth__svm_dense_make(const lth_kernel *kernel, const lth_items *items, size_t count,
                               lth__svm_features *out, lth_error *err) {
    const lth_ctx *ctx = kernel->ctx;
    lth__basis_options options = {.count = count, .seed = ctx->options.seed};
    lth__svm_features f = {.rows = items->count};
    LTH_TRY(lth__basis_choose(kernel, items, &options, &f.basis, err));
    f.width = f.basis->count;
    if (!(f.basis->trace > 0)) {
        lth__svm_features_free(&f);
        return lth__fail(err, LTH_EARG,
                         "the kernel is 0 for every row with itself: there is nothing to make "
                         "features of");
    }
    lth__log(ctx, LTH_LOG_INFO, "features: %zu rows stand for all; %.3g%% of the variance is left",
             f.width, 100 * f.basis->left / f.basis->trace);
    lth_status status = fill(&f, items, err);
    if (status == LTH_OK)
        *out = f;
    else
        lth__svm_features_free(&f);
    return status;
}

lth_status lth__svm_dense_unfold(const lth__svm_features *f, const double *w, double *coef,
                                 lth_error *err) {
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    memcpy(coef, w, f->width * sizeof *coef);
    blas->solve_transposed(f->width, 1, f->basis->L, f->width, coef, 1);
    return LTH_OK;
}
