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
#include <string.h>

#include "base/parallel.h"
#include "engine/blas.h"
#include "model/svm/svm.h"

enum { SLICE_CELLS = 1 << 19, LEAST_SLICE = 64 }; /* a job has so many cells, or rows */

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

typedef struct filling {
    lth__svm_features *f;
    const lth_items *items;
    size_t slice; /* rows of a job */
} filling;

static void take_row(lth__svm_features *f, size_t row, const double *phi) {
    float *x = f->dense + row * f->width;
    double square = 0;
    for (size_t i = 0; i < f->width; i++) {
        x[i] = (float)phi[i];
        square += (double)x[i] * (double)x[i];
    }
    f->square[row] = square;
}

static lth_status fill_slice(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const filling *j = user;
    lth__svm_features *f = j->f;
    size_t first = index * j->slice;
    size_t count = f->rows - first < j->slice ? f->rows - first : j->slice;
    lth_items *slice = NULL;
    double *phi = lth__alloc(count * f->width, sizeof *phi);
    lth_status status = phi ? LTH_OK : lth__fail_memory(err, count * f->width * sizeof *phi);
    if (status == LTH_OK) status = lth__items_slice(j->items, first, count, &slice, err);
    if (status == LTH_OK) {
        slice->quiet = true;
        status = lth__basis_features(f->basis, slice, phi, NULL, err);
    }
    for (size_t i = 0; i < count && status == LTH_OK; i++)
        take_row(f, first + i, phi + i * f->width);
    lth_items_free(slice);
    lth__free(phi);
    return status;
}

static lth_status fill(lth__svm_features *f, const lth_items *items, lth_error *err) {
    filling j = {.f = f, .items = items, .slice = SLICE_CELLS / f->width};
    if (j.slice < LEAST_SLICE) j.slice = LEAST_SLICE;
    f->dense = lth__alloc(f->rows * f->width, sizeof *f->dense);
    if (!f->dense) return lth__fail_memory(err, f->rows * f->width * sizeof *f->dense);
    return lth__parallel_for(lth__items_ctx(items), "features", (f->rows + j.slice - 1) / j.slice,
                             NULL, fill_slice, &j, err);
}

/* Whatever is to be said of single rows is said here, of all at once. */
static lth_status check_rows(const lth_kernel *kernel, const lth_items *items, lth__svm_features *f,
                             lth_error *err) {
    f->square = lth__alloc(f->rows, sizeof *f->square);
    if (!f->square) return lth__fail_memory(err, f->rows * sizeof *f->square);
    LTH_TRY(lth_gram_diagonal(kernel, items, f->square, err));
    for (size_t i = 0; i < f->rows; i++) {
        if (f->square[i] > 0) return LTH_OK;
    }
    return lth__fail(err, LTH_EARG,
                     "the kernel is 0 for every row with itself: there is nothing to make features "
                     "of");
}

static lth_status choose_basis(const lth_kernel *kernel, const lth_items *items, size_t count,
                               lth__svm_features *f, lth_error *err) {
    lth__basis_options options = {.count = count, .seed = kernel->ctx->options.seed};
    LTH_TRY(lth__basis_choose(kernel, items, &options, &f->basis, err));
    f->width = f->basis->count;
    lth__log(kernel->ctx, LTH_LOG_INFO,
             "%zu of %zu rows stand for all, and leave %.3g%% of the variance", f->width, f->rows,
             100 * f->basis->left / f->basis->trace);
    return LTH_OK;
}

lth_status lth__svm_dense_make(const lth_kernel *kernel, const lth_items *items, size_t count,
                               lth__svm_features *out, lth_error *err) {
    lth__svm_features f = {.rows = items->count};
    lth_status status = check_rows(kernel, items, &f, err);
    if (status == LTH_OK) status = choose_basis(kernel, items, count, &f, err);
    if (status == LTH_OK) status = fill(&f, items, err);
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
