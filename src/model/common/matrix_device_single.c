/* Matrices on a device in single precision: what conjugate gradients need. Arithmetic is in double
 * precision, panel by panel. */
#include "model/common/device_linalg.h"
#include "model/common/matrix.h"

typedef lth__device_rows rows;

static lth_status reserve(lth__matrix *A, lth_error *err) {
    if (A->singles) return LTH_OK;
    void *memory;
    size_t count = lth__device_packed_count(A->device, A->n);
    LTH_TRY(A->device->t->alloc(A->device->d, count * sizeof *A->singles, &memory, err));
    A->singles = memory;
    return LTH_OK;
}

static void release(lth__matrix *A) {
    A->device->t->release(A->device->d, A->singles);
}

/* A panel in double precision, for whatever is to be done with it. */
typedef struct visitor {
    lth_status (*visit)(const struct visitor *v, const rows *p, double *cells, lth_error *err);
    const lth__matrix *A;
    bool changes; /* the panel goes back */
    double by, plus;
    const double *ones;
    double *out; /* diagonal: on the host */
    size_t m;
    const double *X; /* products: on the device */
    double *Y;
} visitor;

static lth_status visit_panel(const visitor *v, const rows *p, double *cells, lth_error *err) {
    const lth__device_eval *e = v->A->device;
    float *singles = v->A->singles + p->offset;
    size_t count = p->count * p->ld;
    LTH_TRY(e->t->widen(e->d, cells, singles, count, err));
    LTH_TRY(v->visit(v, p, cells, err));
    return v->changes ? e->t->narrow(e->d, singles, cells, count, err) : LTH_OK;
}

static lth_status visit_all(const visitor *v, lth_error *err) {
    lth__device_eval *e = v->A->device;
    size_t n = v->A->n, panels = lth__device_panels(e, n);
    double *cells;
    LTH_TRY(lth__device_matrix(e, lth__device_rows_of(e, n, 0).count * n, &cells, err));
    lth_status status = LTH_OK;
    for (size_t k = 0; k < panels && status == LTH_OK; k++) {
        rows p = lth__device_rows_of(e, n, k);
        status = visit_panel(v, &p, cells, err);
    }
    lth__device_drop(e, cells);
    return status;
}

/* ---- Elementwise ---- */

static lth_status affine_panel(const visitor *v, const rows *p, double *cells, lth_error *err) {
    const lth__device_eval *e = v->A->device;
    return e->t->gemm(e->d, false, true, p->count, p->ld, 1, v->plus, v->ones, 1, v->ones, 1, v->by,
                      cells, p->ld, err);
}

static lth_status affine(lth__matrix *A, double by, double plus, lth_error *err) {
    lth__device_eval *e = A->device;
    double *ones;
    LTH_TRY(lth__device_matrix(e, A->n, &ones, err));
    visitor v = {affine_panel, A, .changes = true, .by = by, .plus = plus, .ones = ones};
    lth_status status = e->t->fill(e->d, ones, A->n, 1, err);
    if (status == LTH_OK) status = visit_all(&v, err);
    lth__device_drop(e, ones);
    return status;
}

static lth_status add_to_panel(const visitor *v, const rows *p, double *cells, lth_error *err) {
    const lth__device_eval *e = v->A->device;
    return e->t->add_diagonal(e->d, p->count, cells, p->ld, v->plus, err);
}

static lth_status add_diagonal(lth__matrix *A, double value, lth_error *err) {
    visitor v = {add_to_panel, A, .changes = true, .plus = value};
    return visit_all(&v, err);
}

/* ---- Sums ---- */

static lth_status diagonal_of_panel(const visitor *v, const rows *p, double *cells,
                                    lth_error *err) {
    const lth__device_eval *e = v->A->device;
    return e->t->download_panel(e->d, v->out + p->first, 1, cells, p->ld + 1, p->count, 1, err);
}

static lth_status diagonal(const lth__matrix *A, double *out, lth_error *err) {
    visitor v = {diagonal_of_panel, A, .out = out};
    return visit_all(&v, err);
}

static lth_status multiply_panel(const visitor *v, const rows *p, double *cells, lth_error *err) {
    return lth__device_multiply_panel(v->A->device, p, cells, v->m, v->X, v->Y, err);
}

static lth_status multiply(const lth__matrix *A, size_t m, const double *X, double *Y,
                           lth_error *err) {
    lth__device_eval *e = A->device;
    size_t count = A->n * m;
    double *room; /* X, then Y */
    LTH_TRY(lth__device_matrix(e, 2 * count, &room, err));
    visitor v = {multiply_panel, A, .m = m, .X = room, .Y = room + count};
    lth_status status = e->t->upload(e->d, room, X, count * sizeof *X, err);
    if (status == LTH_OK) status = e->t->fill(e->d, room + count, count, 0, err);
    if (status == LTH_OK) status = visit_all(&v, err);
    if (status == LTH_OK) status = e->t->download(e->d, Y, room + count, count * sizeof *Y, err);
    lth__device_drop(e, room);
    return status;
}

const lth__matrix_table lth__matrix_on_device_in_single = {.reserve = reserve,
                                                           .release = release,
                                                           .affine = affine,
                                                           .add_diagonal = add_diagonal,
                                                           .diagonal = diagonal,
                                                           .multiply = multiply,
                                                           .multiply_roughly = multiply};
