#include "model/common/device_linalg.h"

#include "base/parallel.h"

typedef lth__device_rows rows;

/* A matrix, and the words of its device. */
typedef struct packed {
    lth__device_eval *e;
    const lth__device_table *t;
    lth__device *d;
    size_t n, panels;
    double *cells;
} packed;

static packed of(lth__device_eval *e, size_t n, const double *cells) {
    return (packed){.e = e,
                    .t = e->t,
                    .d = e->d,
                    .n = n,
                    .panels = lth__device_panels(e, n),
                    .cells = (double *)(uintptr_t)cells};
}

static rows rows_of(const packed *a, size_t k) {
    return lth__device_rows_of(a->e, a->n, k);
}

static double *at(const packed *a, const rows *p) {
    return a->cells + p->offset;
}

/* The columns of panel p from those of panel q on. */
static double *at_columns(const packed *a, const rows *p, const rows *q) {
    return at(a, p) + (q->first - p->first);
}

/* Work is only begun by the calls below: before the caller is asked, it is done. */
static lth_status ask(const packed *a, lth_error *err) {
    LTH_TRY(a->t->finish(a->d, err));
    return lth__parallel_ask(a->e->eval->ctx);
}

/* ---- The factor: when a panel is done, those below lose what it explains ---- */

static lth_status subtract_explained(const packed *a, const rows *p, const rows *q,
                                     lth_error *err) {
    const double *U = at_columns(a, p, q);
    return a->t->gemm(a->d, true, false, q->count, q->ld, p->count, -1, U, p->ld, U, p->ld, 1,
                      at(a, q), q->ld, err);
}

lth_status lth__device_factor(lth__device_eval *e, size_t n, double *A, lth_error *err) {
    packed a = of(e, n, A);
    for (size_t k = 0; k < a.panels; k++) {
        rows p = rows_of(&a, k);
        double *U = at(&a, &p);
        LTH_TRY(ask(&a, err));
        LTH_TRY(a.t->cholesky(a.d, p.count, U, p.ld, err));
        if (p.ld > p.count)
            LTH_TRY(
                a.t->solve(a.d, true, p.count, p.ld - p.count, U, p.ld, U + p.count, p.ld, err));
        for (size_t j = k + 1; j < a.panels; j++) {
            rows q = rows_of(&a, j);
            LTH_TRY(subtract_explained(&a, &p, &q, err));
        }
    }
    return LTH_OK;
}

/* ---- The inverse: V = U^-1, then V V^T ---- */

/* x_q .. x_n += -x_q (V_qq .. V_qn) in the rows of p, where x_q itself is replaced. */
static lth_status spread(const packed *a, const rows *p, const rows *q, double *room,
                         lth_error *err) {
    double *x = at_columns(a, p, q);
    const double *V = at(a, q);
    size_t right = q->ld - q->count;
    LTH_TRY(a->t->combine(a->d, p->count, q->count, false, 1, x, p->ld, 0, room, q->count, err));
    LTH_TRY(a->t->gemm(a->d, false, false, p->count, q->count, q->count, -1, room, q->count, V,
                       q->ld, 0, x, p->ld, err));
    if (right == 0) return LTH_OK;
    return a->t->gemm(a->d, false, false, p->count, right, q->count, -1, room, q->count,
                      V + q->count, q->ld, 1, x + q->count, p->ld, err);
}

/* The triangle on the diagonal by itself. */
static lth_status invert_triangle(const packed *a, const rows *p, double *room, lth_error *err) {
    double *U = at(a, p);
    LTH_TRY(a->t->fill(a->d, room, p->count * p->count, 0, err));
    LTH_TRY(a->t->add_diagonal(a->d, p->count, room, p->count, 1, err));
    LTH_TRY(a->t->solve(a->d, false, p->count, p->count, U, p->ld, room, p->count, err));
    return a->t->combine(a->d, p->count, p->count, false, 1, room, p->count, 0, U, p->ld, err);
}

/* V_p,right = -U_pp^-1 U_p,right V_right,right: from the last panel up, so that what is below is
 * inverted; and from the last column back, so that what is multiplied is still there. */
static lth_status invert_panel(const packed *a, size_t k, double *room, lth_error *err) {
    rows p = rows_of(a, k);
    double *U = at(a, &p);
    for (size_t j = a->panels; j-- > k + 1;) {
        rows q = rows_of(a, j);
        LTH_TRY(spread(a, &p, &q, room, err));
    }
    if (p.ld > p.count)
        LTH_TRY(a->t->solve(a->d, false, p.count, p.ld - p.count, U, p.ld, U + p.count, p.ld, err));
    return invert_triangle(a, &p, room, err);
}

/* X_pq = sum over columns from q's on of V_p V_q^T: what is overwritten is not needed again. */
static lth_status square_panel(const packed *a, size_t k, double *room, lth_error *err) {
    rows p = rows_of(a, k);
    for (size_t j = k; j < a->panels; j++) {
        rows q = rows_of(a, j);
        double *X = at_columns(a, &p, &q);
        LTH_TRY(a->t->gemm(a->d, false, true, p.count, q.count, q.ld, 1, X, p.ld, at(a, &q), q.ld,
                           0, room, q.count, err));
        LTH_TRY(a->t->combine(a->d, p.count, q.count, false, 1, room, q.count, 0, X, p.ld, err));
    }
    return LTH_OK;
}

lth_status lth__device_invert(lth__device_eval *e, size_t n, double *U, lth_error *err) {
    packed a = of(e, n, U);
    size_t height = rows_of(&a, 0).count;
    double *room;
    LTH_TRY(lth__device_matrix(e, height * height, &room, err));
    lth_status status = LTH_OK;
    for (size_t k = a.panels; k-- > 0 && status == LTH_OK;) {
        status = ask(&a, err);
        if (status == LTH_OK) status = invert_panel(&a, k, room, err);
    }
    for (size_t k = 0; k < a.panels && status == LTH_OK; k++) {
        status = ask(&a, err);
        if (status == LTH_OK) status = square_panel(&a, k, room, err);
    }
    lth__device_drop(e, room);
    return status;
}

/* ---- The diagonal of the inverse: V = U^-1 by columns, whose squares are added ---- */

/* Columns of panel k: V_kk = U_kk^-1, then V_jk = -U_jj^-1 (U_j,j+1 .. U_jk) (V_j+1,k .. V_kk) from
 * below. */
static lth_status invert_columns(const packed *a, size_t k, double *V, lth_error *err) {
    rows last = rows_of(a, k);
    size_t width = last.count, end = last.first + width;
    double *corner = V + last.first * width;
    LTH_TRY(a->t->fill(a->d, corner, width * width, 0, err));
    LTH_TRY(a->t->add_diagonal(a->d, width, corner, width, 1, err));
    LTH_TRY(a->t->solve(a->d, false, width, width, at(a, &last), last.ld, corner, width, err));
    for (size_t j = k; j-- > 0;) {
        rows p = rows_of(a, j);
        size_t next = p.first + p.count;
        const double *U = at(a, &p);
        double *x = V + p.first * width;
        LTH_TRY(a->t->gemm(a->d, false, false, p.count, width, end - next, -1, U + p.count, p.ld,
                           V + next * width, width, 0, x, width, err));
        LTH_TRY(a->t->solve(a->d, false, p.count, width, U, p.ld, x, width, err));
    }
    return LTH_OK;
}

/* `room` has the columns of a panel, and a row of ones behind them. */
static lth_status add_squares(const packed *a, double *room, double *out, lth_error *err) {
    size_t height = rows_of(a, 0).count;
    double *ones = room + a->n * height;
    LTH_TRY(a->t->fill(a->d, ones, height, 1, err));
    LTH_TRY(a->t->fill(a->d, out, a->n, 0, err));
    for (size_t k = 0; k < a->panels; k++) {
        rows p = rows_of(a, k);
        size_t filled = p.first + p.count;
        LTH_TRY(ask(a, err));
        LTH_TRY(invert_columns(a, k, room, err));
        LTH_TRY(a->t->multiply(a->d, room, room, filled * p.count, err));
        LTH_TRY(a->t->gemm(a->d, false, false, filled, 1, p.count, 1, room, p.count, ones, 1, 1,
                           out, 1, err));
    }
    return LTH_OK;
}

lth_status lth__device_inverse_diagonal(lth__device_eval *e, size_t n, const double *U, double *out,
                                        lth_error *err) {
    packed a = of(e, n, U);
    double *room;
    LTH_TRY(lth__device_matrix(e, (n + 1) * rows_of(&a, 0).count, &room, err));
    lth_status status = add_squares(&a, room, out, err);
    lth__device_drop(e, room);
    return status;
}

/* ---- With vectors ---- */

lth_status lth__device_solve(lth__device_eval *e, size_t n, const double *U, size_t m, double *B,
                             lth_error *err) {
    packed a = of(e, n, U);
    for (size_t k = 0; k < a.panels; k++) {
        rows p = rows_of(&a, k);
        double *b = B + p.first * m;
        LTH_TRY(a.t->solve(a.d, true, p.count, m, at(&a, &p), p.ld, b, m, err));
        if (p.ld > p.count)
            LTH_TRY(a.t->gemm(a.d, true, false, p.ld - p.count, m, p.count, -1,
                              at(&a, &p) + p.count, p.ld, b, m, 1, b + p.count * m, m, err));
    }
    for (size_t k = a.panels; k-- > 0;) {
        rows p = rows_of(&a, k);
        double *b = B + p.first * m;
        if (p.ld > p.count)
            LTH_TRY(a.t->gemm(a.d, false, false, p.count, m, p.ld - p.count, -1,
                              at(&a, &p) + p.count, p.ld, b + p.count * m, m, 1, b, m, err));
        LTH_TRY(a.t->solve(a.d, false, p.count, m, at(&a, &p), p.ld, b, m, err));
    }
    return LTH_OK;
}

/* It is used as it is, for its own rows, and transposed, for those below. */
lth_status lth__device_multiply_panel(lth__device_eval *e, const lth__device_rows *p,
                                      const double *cells, size_t m, const double *X, double *Y,
                                      lth_error *err) {
    const double *x = X + p->first * m;
    double *y = Y + p->first * m;
    LTH_TRY(
        e->t->gemm(e->d, false, false, p->count, m, p->ld, 1, cells, p->ld, x, m, 1, y, m, err));
    if (p->ld == p->count) return LTH_OK;
    return e->t->gemm(e->d, true, false, p->ld - p->count, m, p->count, 1, cells + p->count, p->ld,
                      x, m, 1, y + p->count * m, m, err);
}

lth_status lth__device_multiply(lth__device_eval *e, size_t n, const double *A, size_t m,
                                const double *X, double *Y, lth_error *err) {
    packed a = of(e, n, A);
    LTH_TRY(a.t->fill(a.d, Y, n * m, 0, err));
    for (size_t k = 0; k < a.panels; k++) {
        rows p = rows_of(&a, k);
        LTH_TRY(lth__device_multiply_panel(e, &p, at(&a, &p), m, X, Y, err));
    }
    return LTH_OK;
}
