/* Matrices in the memory of a device, packed (kernel/device/device_packed.h). Only vectors and sums
 * are carried to it and back. */
#include <math.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "model/common/device_linalg.h"
#include "model/common/matrix.h"

/* Short names for what every function below needs. */
#define ON(A) ((A)->device->t)
#define AT(A) ((A)->device->d)

typedef lth__device_rows rows;

static size_t count_of(const lth__matrix *A) {
    return lth__device_packed_count(A->device, A->n);
}

static size_t panels_of(const lth__matrix *A) {
    return lth__device_panels(A->device, A->n);
}

static rows rows_of(const lth__matrix *A, size_t k) {
    return lth__device_rows_of(A->device, A->n, k);
}

static lth_status reserve(lth__matrix *A, lth_error *err) {
    return A->cells ? LTH_OK : lth__device_matrix(A->device, count_of(A), &A->cells, err);
}

static void release(lth__matrix *A) {
    lth__device_drop(A->device, A->cells);
}

/* ---- The way home ---- */

/* What panel p of the device has for the rows first .. end - 1 of the lower triangle: its columns
 * are their cells, so it is turned over. */
static lth_status turn_over(const lth__matrix *L, const rows *p, size_t first, size_t end,
                            double *out, lth_error *err) {
    size_t top = first > p->first ? first : p->first;
    size_t right = p->first + p->count < end ? p->first + p->count : end;
    if (top >= end || p->first >= right) return LTH_OK;
    return ON(L)->combine(AT(L), end - top, right - p->first, true, 1,
                          L->cells + p->offset + (top - p->first), p->ld, 0,
                          out + (top - first) * end + p->first, end, err);
}

/* The rows first .. end - 1 of the lower triangle, with as many columns as the last of them has. */
static lth_status fetch_rows(const lth__matrix *L, size_t first, size_t end, double *room,
                             double *out, size_t ld, lth_error *err) {
    LTH_TRY(ON(L)->fill(AT(L), room, (end - first) * end, 0, err));
    for (size_t k = 0; k < panels_of(L); k++) {
        rows p = rows_of(L, k);
        LTH_TRY(turn_over(L, &p, first, end, room, err));
    }
    return ON(L)->download_panel(AT(L), out, ld, room, end, end - first, end, err);
}

/* Fresh memory gets its pages when it is first written to, which takes one thread as long as the
 * way from the device. */
static lth_status touch_panel(void *user, size_t p, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    enum { PAGE = 4096 / sizeof(double) };
    const lth__packed *out = user;
    double *cells = out->cells + lth__packed_panel(out, p);
    size_t count = lth__packed_rows(out, p) * lth__packed_stride(out, p);
    for (size_t i = 0; i < count; i += PAGE) cells[i] = 0;
    return LTH_OK;
}

static lth_status fetch(const lth__matrix *L, const lth__packed *out, lth_error *err) {
    double *room;
    lth__packed to = *out;
    LTH_TRY(lth__parallel_for(L->ctx, NULL, lth__packed_panels(out), NULL, touch_panel, &to, err));
    LTH_TRY(lth__device_matrix(L->device, lth__packed_height(out) * L->n, &room, err));
    lth_status status = LTH_OK;
    for (size_t p = 0; p < lth__packed_panels(out) && status == LTH_OK; p++) {
        size_t first = p << out->shift, end = lth__packed_cols(out, p);
        status = fetch_rows(L, first, end, room, out->cells + lth__packed_panel(out, p),
                            lth__packed_stride(out, p), err);
    }
    lth__device_drop(L->device, room);
    return status;
}

/* ---- Vectors on the device for the time of an operation ---- */

/* n x m numbers, from host memory unless `from` is NULL. */
static lth_status carry(const lth__matrix *A, size_t m, const double *from, double **out,
                        lth_error *err) {
    LTH_TRY(lth__device_matrix(A->device, A->n * m, out, err));
    if (!from) return LTH_OK;
    lth_status status = ON(A)->upload(AT(A), *out, from, A->n * m * sizeof *from, err);
    if (status != LTH_OK) lth__device_drop(A->device, *out);
    return status;
}

static lth_status carry_back(const lth__matrix *A, size_t m, const double *on_device, double *out,
                             lth_error *err) {
    return ON(A)->download(AT(A), out, on_device, A->n * m * sizeof *out, err);
}

/* ---- Elementwise ---- */

/* A = by A + alpha sum over the columns of two n x m arrays on the device of w v^T. */
static lth_status add_outer(lth__matrix *A, size_t m, const double *w, const double *v,
                            double alpha, double by, lth_error *err) {
    for (size_t k = 0; k < panels_of(A); k++) {
        rows p = rows_of(A, k);
        LTH_TRY(ON(A)->gemm(AT(A), false, true, p.count, p.ld, m, alpha, w + p.first * m, m,
                            v + p.first * m, m, by, A->cells + p.offset, p.ld, err));
    }
    return LTH_OK;
}

static lth_status fill(lth__matrix *A, double value, lth_error *err) {
    return ON(A)->fill(AT(A), A->cells, count_of(A), value, err);
}

static lth_status affine(lth__matrix *A, double by, double plus, lth_error *err) {
    if (plus == 0) return ON(A)->scale(AT(A), A->cells, count_of(A), by, err);
    double *ones;
    LTH_TRY(carry(A, 1, NULL, &ones, err));
    lth_status status = ON(A)->fill(AT(A), ones, A->n, 1, err);
    if (status == LTH_OK) status = add_outer(A, 1, ones, ones, plus, by, err);
    lth__device_drop(A->device, ones);
    return status;
}

static lth_status add_diagonal(lth__matrix *A, double value, lth_error *err) {
    for (size_t k = 0; k < panels_of(A); k++) {
        rows p = rows_of(A, k);
        LTH_TRY(ON(A)->add_diagonal(AT(A), p.count, A->cells + p.offset, p.ld, value, err));
    }
    return LTH_OK;
}

static lth_status scale(lth__matrix *A, const double *w, lth_error *err) {
    double *on_device;
    LTH_TRY(carry(A, 1, w, &on_device, err));
    lth_status status = LTH_OK;
    for (size_t k = 0; k < panels_of(A) && status == LTH_OK; k++) {
        rows p = rows_of(A, k);
        status = ON(A)->scale_sides(AT(A), p.count, p.ld, A->cells + p.offset, p.ld,
                                    on_device + p.first, on_device + p.first, err);
    }
    lth__device_drop(A->device, on_device);
    return status;
}

static lth_status sandwich(const lth__matrix *A, const double *w, lth__matrix *out,
                           lth_error *err) {
    LTH_TRY(reserve(out, err));
    LTH_TRY(ON(A)->copy(AT(A), out->cells, A->cells, count_of(A), err));
    LTH_TRY(scale(out, w, err));
    return add_diagonal(out, 1, err);
}

/* ---- Sums ---- */

/* Every ld + 1 cells one: as a panel of single numbers. */
static lth_status diagonal(const lth__matrix *A, double *out, lth_error *err) {
    for (size_t k = 0; k < panels_of(A); k++) {
        rows p = rows_of(A, k);
        LTH_TRY(ON(A)->download_panel(AT(A), out + p.first, 1, A->cells + p.offset, p.ld + 1,
                                      p.count, 1, err));
    }
    return LTH_OK;
}

static lth_status multiply(const lth__matrix *A, size_t m, const double *X, double *Y,
                           lth_error *err) {
    double *device_x, *device_y;
    LTH_TRY(carry(A, m, X, &device_x, err));
    lth_status status = carry(A, m, NULL, &device_y, err);
    if (status == LTH_OK) {
        status = lth__device_multiply(A->device, A->n, A->cells, m, device_x, device_y, err);
        if (status == LTH_OK) status = carry_back(A, m, device_y, Y, err);
        lth__device_drop(A->device, device_y);
    }
    lth__device_drop(A->device, device_x);
    return status;
}

/* sum A (B - minus) over so many cells. */
static lth_status inner_cells(const lth__matrix *on, const double *A, const double *B, size_t count,
                              double minus, double *out, lth_error *err) {
    double product, sum = 0;
    LTH_TRY(ON(on)->dot(AT(on), A, B, count, &product, err));
    if (minus != 0) LTH_TRY(ON(on)->dot(AT(on), A, NULL, count, &sum, err));
    *out = product - minus * sum;
    return LTH_OK;
}

/* All cells stand for two, but those of the blocks on the diagonal. */
static lth_status inner_twice(const lth__matrix *A, const lth__matrix *B, double minus,
                              double *room, double *out, lth_error *err) {
    double all, block, *a = room, *b;
    LTH_TRY(inner_cells(A, A->cells, B->cells, count_of(A), minus, &all, err));
    all *= 2;
    for (size_t k = 0; k < panels_of(A); k++) {
        rows p = rows_of(A, k);
        b = a + p.count * p.count;
        LTH_TRY(ON(A)->combine(AT(A), p.count, p.count, false, 1, A->cells + p.offset, p.ld, 0, a,
                               p.count, err));
        LTH_TRY(ON(A)->combine(AT(A), p.count, p.count, false, 1, B->cells + p.offset, p.ld, 0, b,
                               p.count, err));
        LTH_TRY(inner_cells(A, a, b, p.count * p.count, minus, &block, err));
        all -= block;
    }
    *out = all;
    return LTH_OK;
}

static lth_status inner(const lth__matrix *A, const lth__matrix *B, double minus, double *out,
                        lth_error *err) {
    double *room;
    size_t most = A->n < ON(A)->panel_rows ? A->n : ON(A)->panel_rows;
    LTH_TRY(lth__device_matrix(A->device, 2 * most * most, &room, err));
    lth_status status = inner_twice(A, B, minus, room, out, err);
    lth__device_drop(A->device, room);
    return status;
}

/* ---- Linear algebra ---- */

static lth_status factor(lth__matrix *A, double *log_determinant, lth_error *err) {
    double *cells = lth__alloc(A->n, sizeof *cells);
    if (!cells) return lth__fail_memory(err, A->n * sizeof *cells);
    lth_status status = lth__device_factor(A->device, A->n, A->cells, err);
    if (status == LTH_OK) status = diagonal(A, cells, err);
    double sum = 0;
    for (size_t i = 0; i < A->n && status == LTH_OK; i++) sum += 2 * log(cells[i]);
    if (status == LTH_OK) *log_determinant = sum;
    lth__free(cells);
    return status;
}

static lth_status solve(const lth__matrix *L, size_t m, double *B, lth_error *err) {
    double *on_device;
    LTH_TRY(carry(L, m, B, &on_device, err));
    lth_status status = lth__device_solve(L->device, L->n, L->cells, m, on_device, err);
    if (status == LTH_OK) status = carry_back(L, m, on_device, B, err);
    lth__device_drop(L->device, on_device);
    return status;
}

static lth_status invert(lth__matrix *L, lth_error *err) {
    return lth__device_invert(L->device, L->n, L->cells, err);
}

static lth_status inverse_diagonal(const lth__matrix *L, double *out, lth_error *err) {
    double *on_device;
    LTH_TRY(carry(L, 1, NULL, &on_device, err));
    lth_status status = lth__device_inverse_diagonal(L->device, L->n, L->cells, on_device, err);
    if (status == LTH_OK) status = carry_back(L, 1, on_device, out, err);
    lth__device_drop(L->device, on_device);
    return status;
}

/* ---- Weights of pull-backs ---- */

static lth_status weigh(lth__matrix *X, size_t m, const double *A, lth_error *err) {
    double *on_device;
    LTH_TRY(carry(X, m, A, &on_device, err));
    lth_status status = add_outer(X, m, on_device, on_device, 0.5, -0.5 * (double)m, err);
    lth__device_drop(X->device, on_device);
    return status;
}

/* As one product, (a u g) (a g u)^T, after M -= X / 2. */
static lth_status add_products(lth__matrix *M, const lth__matrix *X, const double *left,
                               const double *right, lth_error *err) {
    double *device_left, *device_right;
    for (size_t k = 0; k < panels_of(M); k++) {
        rows p = rows_of(M, k);
        LTH_TRY(ON(M)->combine(AT(M), p.count, p.ld, false, -0.5, X->cells + p.offset, p.ld, 1,
                               M->cells + p.offset, p.ld, err));
    }
    LTH_TRY(carry(M, 3, left, &device_left, err));
    lth_status status = carry(M, 3, right, &device_right, err);
    if (status == LTH_OK) {
        status = add_outer(M, 3, device_left, device_right, 0.5, 1, err);
        lth__device_drop(M->device, device_right);
    }
    lth__device_drop(M->device, device_left);
    return status;
}

static lth_status add_weights(lth__matrix *M, const lth__matrix *X, const double *a,
                              const double *u, const double *g, lth_error *err) {
    double *left = lth__alloc(6 * M->n, sizeof *left), *right = left + 3 * M->n;
    if (!left) return lth__fail_memory(err, 6 * M->n * sizeof *left);
    for (size_t i = 0; i < M->n; i++) {
        left[3 * i] = right[3 * i] = a[i];
        left[3 * i + 1] = right[3 * i + 2] = u[i];
        left[3 * i + 2] = right[3 * i + 1] = g[i];
    }
    lth_status status = add_products(M, X, left, right, err);
    lth__free(left);
    return status;
}

const lth__matrix_table lth__matrix_on_device = {.reserve = reserve,
                                                 .release = release,
                                                 .fetch = fetch,
                                                 .fill = fill,
                                                 .affine = affine,
                                                 .add_diagonal = add_diagonal,
                                                 .scale = scale,
                                                 .sandwich = sandwich,
                                                 .diagonal = diagonal,
                                                 .multiply = multiply,
                                                 .multiply_roughly = multiply,
                                                 .inner = inner,
                                                 .factor = factor,
                                                 .solve = solve,
                                                 .inverse_diagonal = inverse_diagonal,
                                                 .invert = invert,
                                                 .weigh = weigh,
                                                 .add_weights = add_weights};
