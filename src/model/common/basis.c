/* A basis in use: its factor, and the features of rows. basis_choose.c finds its rows. */
#include "model/common/basis.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "model/common/linalg.h"

void lth__basis_free(lth__basis *b) {
    if (!b) return;
    lth__prepared_free(b->prepared);
    lth_items_free(b->items);
    lth__free(b->row);
    lth__free(b->L);
    lth__free(b);
}

/* ---- The factor ---- */

/* K_mm + jitter I, of which only the lower triangle is kept. */
static lth_status fill(lth__basis *b, lth_error *err) {
    size_t m = b->count;
    LTH_TRY(lth_gram(b->kernel, b->items, NULL, b->L, m, err));
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j <= i; j++) b->L[i * m + j] = b->scale * b->L[i * m + j] + b->shift;
        b->L[i * m + i] += b->jitter;
        memset(b->L + i * m + i + 1, 0, (m - i - 1) * sizeof *b->L);
    }
    return LTH_OK;
}

/* A pivot that is nothing but rounding would make features of noise. */
static bool has_pivots(const lth__basis *b) {
    size_t m = b->count;
    for (size_t i = 0; i < m; i++) {
        double square = 0, pivot = b->L[i * m + i] * b->L[i * m + i];
        for (size_t j = 0; j <= i; j++) square += b->L[i * m + j] * b->L[i * m + j];
        if (!(pivot > 1e-14 * square)) return false;
    }
    return true;
}

lth_status lth__basis_renew(lth__basis *b, double scale, double shift, double jitter,
                            lth_error *err) {
    size_t m = b->count;
    b->scale = scale;
    b->shift = shift;
    b->jitter = jitter;
    lth__prepared_free(b->prepared);
    b->prepared = NULL;
    LTH_TRY(lth__prepared_create(b->kernel, b->items, &b->prepared, err));
    if (!b->L) b->L = lth__alloc(m * m, sizeof *b->L);
    if (!b->L) return lth__fail_memory(err, m * m * sizeof *b->L);
    LTH_TRY(fill(b, err));
    LTH_TRY(lth__cholesky(b->kernel->ctx, m, b->L, err));
    for (size_t i = 0; i < m; i++) /* diagonal blocks may have something there */
        memset(b->L + i * m + i + 1, 0, (m - i - 1) * sizeof *b->L);
    return has_pivots(b) ? LTH_OK : LTH_ENUMERIC;
}

/* ---- Features ---- */

enum { ROWS = 128 };

typedef struct whitening {
    const lth__basis *b;
    const lth__blas *blas;
    double *K, *square;
    size_t rows;
} whitening;

static lth_status whiten_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const whitening *w = user;
    size_t m = w->b->count, first = index * ROWS;
    size_t rows = w->rows - first < ROWS ? w->rows - first : ROWS;
    w->blas->solve_right(rows, m, w->b->L, m, w->K + first * m, m);
    for (size_t r = first; w->square && r < first + rows; r++) {
        double sum = 0;
        for (size_t k = 0; k < m; k++) sum += w->K[r * m + k] * w->K[r * m + k];
        w->square[r] = sum;
    }
    return LTH_OK;
}

lth_status lth__basis_whiten(const lth__basis *b, lth_ctx *ctx, size_t rows, double *K,
                             double *square, lth_error *err) {
    whitening w = {.b = b, .K = K, .square = square, .rows = rows};
    LTH_TRY(lth__blas_get(&w.blas, err));
    return lth__parallel_for(ctx, NULL, (rows + ROWS - 1) / ROWS, NULL, whiten_rows, &w, err);
}

lth_status lth__basis_covariances(const lth__basis *b, const lth_items *rows, double *K,
                                  double *self, lth_error *err) {
    size_t cells = rows->count * b->count;
    LTH_TRY(lth__gram_against(b->prepared, rows, K, b->count, self, err));
    if (b->scale == 1 && b->shift == 0) return LTH_OK;
    for (size_t i = 0; i < cells; i++) K[i] = b->scale * K[i] + b->shift;
    for (size_t i = 0; self && i < rows->count; i++) self[i] = b->scale * self[i] + b->shift;
    return LTH_OK;
}

lth_status lth__basis_features(const lth__basis *b, const lth_items *rows, double *phi,
                               double *self, lth_error *err) {
    if (rows->count == 0) return LTH_OK;
    LTH_TRY(lth__basis_covariances(b, rows, phi, self, err));
    return lth__basis_whiten(b, lth__items_ctx(rows), rows->count, phi, NULL, err);
}
