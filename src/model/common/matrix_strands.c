/* Matrices for conjugate gradients whose panels are dealt out to the ranks of a cluster: packed, in
 * either precision. The whole has addresses in every rank, but only what a rank touches takes its
 * memory, and it touches its own panels alone. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "model/common/product.h"

static bool is_single(const lth__matrix *A) {
    return A->precision == LTH_F32;
}

static size_t bytes_of(const lth__matrix *A) {
    return lth__matrix_store_bytes(A->n, A->precision);
}

static lth_status reserve(lth__matrix *A, lth_error *err) {
    if (A->cells || A->singles) return LTH_OK;
    void *space = lth__space_alloc(bytes_of(A));
    if (!space) return lth__fail_memory(err, bytes_of(A));
    if (is_single(A))
        A->singles = space;
    else
        A->cells = space;
    return LTH_OK;
}

static void release(lth__matrix *A) {
    lth__space_free(is_single(A) ? (void *)A->singles : (void *)A->cells, bytes_of(A));
}

/* ---- Panels of this rank ---- */

typedef struct visit visit;
struct visit {
    lth__packed A;
    const lth__cluster *c;
    double by, plus, *out;
    void (*row)(const visit *v, size_t i);
};

static lth_status visit_panel(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const visit *v = user;
    size_t first = index << v->A.shift, last = first + lth__packed_rows(&v->A, index);
    if (!lth__packed_owns(v->c, &v->A, index)) return LTH_OK;
    for (size_t i = first; i < last; i++) v->row(v, i);
    return LTH_OK;
}

static lth_status visit_rows(const lth__matrix *A, visit v, lth_error *err) {
    v.A = lth__matrix_packed(A);
    v.c = A->ctx->cluster;
    return lth__parallel_for(A->ctx, NULL, lth__packed_panels(&v.A), NULL, visit_panel, &v, err);
}

static void affine_row(const visit *v, size_t i) {
    size_t at = lth__packed_row(&v->A, i);
    for (size_t c = at; c <= at + i; c++) {
        if (v->A.singles)
            v->A.singles[c] = (float)(v->by * v->A.singles[c] + v->plus);
        else
            v->A.cells[c] = v->by * v->A.cells[c] + v->plus;
    }
}

static lth_status affine(lth__matrix *A, double by, double plus, lth_error *err) {
    return visit_rows(A, (visit){.row = affine_row, .by = by, .plus = plus}, err);
}

static void lift_row(const visit *v, size_t i) {
    size_t at = lth__packed_row(&v->A, i) + i;
    if (v->A.singles)
        v->A.singles[at] = (float)(v->A.singles[at] + v->plus);
    else
        v->A.cells[at] += v->plus;
}

static lth_status add_diagonal(lth__matrix *A, double value, lth_error *err) {
    return visit_rows(A, (visit){.row = lift_row, .plus = value}, err);
}

static void copy_diagonal(const visit *v, size_t i) {
    size_t at = lth__packed_row(&v->A, i) + i;
    v->out[i] = v->A.singles ? (double)v->A.singles[at] : v->A.cells[at];
}

static lth_status diagonal(const lth__matrix *A, double *out, lth_error *err) {
    memset(out, 0, A->n * sizeof *out);
    lth_status status = visit_rows(A, (visit){.row = copy_diagonal, .out = out}, err);
    return lth__cluster_join(A->ctx->cluster, status, out, A->n, err);
}

static const lth__matrix_table in_strands = {.reserve = reserve,
                                             .release = release,
                                             .affine = affine,
                                             .add_diagonal = add_diagonal,
                                             .diagonal = diagonal,
                                             .multiply = lth__packed_multiply,
                                             .multiply_roughly = lth__packed_multiply_roughly,
                                             .columns = lth__packed_columns};

lth__matrix lth__matrix_in_strands(lth_ctx *ctx, size_t n, lth_precision precision) {
    return (lth__matrix){
        .table = &in_strands, .ctx = ctx, .n = n, .precision = precision, .in_strands = true};
}

/* ---- The Gram matrix ---- */

enum { WIDTH = 1024, AT_ONCE = 256 << 20 }; /* columns of a part; bytes to be rounded */

/* Panels of this rank cut into parts, as many as go at once. Cells in double precision are the
 * matrix itself; others are rounded from room beside it. */
typedef struct filling {
    lth__matrix *A;
    lth__packed packed;
    lth__gram *gram;
    lth__gram_part *parts;
    size_t count, most;
    double *room;
    size_t used, cells; /* of the room */
} filling;

static lth_status round_part(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const filling *f = user;
    const lth__gram_part *p = &f->parts[index];
    for (size_t r = 0; r < p->rows; r++) {
        float *to = f->packed.singles + lth__packed_row(&f->packed, p->row + r) + p->col;
        size_t cols = p->row == p->col ? r + 1 : p->cols;
        for (size_t c = 0; c < cols; c++) {
            to[c] = (float)p->cells[r * p->ld + c];
            if (!isfinite(to[c]))
                return lth__fail(err, LTH_ENUMERIC,
                                 "the kernel of rows %zu and %zu is too large for single precision",
                                 p->row + r + 1, p->col + c + 1);
        }
    }
    return LTH_OK;
}

static lth_status flush(filling *f, lth_error *err) {
    if (f->count == 0) return LTH_OK;
    LTH_TRY(lth__gram_values_parts(f->gram, f->parts, f->count, err));
    if (f->room) LTH_TRY(lth__parallel_for(f->A->ctx, NULL, f->count, NULL, round_part, f, err));
    f->count = f->used = 0;
    return LTH_OK;
}

static lth_status add_part(filling *f, size_t panel, size_t row, size_t rows, size_t col,
                           size_t cols, lth_error *err) {
    size_t needed = f->room ? rows * cols : 0;
    if (f->count == f->most || f->used + needed > f->cells) LTH_TRY(flush(f, err));
    lth__gram_part part = {.row = row, .rows = rows, .col = col, .cols = cols};
    part.ld = f->room ? cols : lth__packed_stride(&f->packed, panel);
    part.cells =
        f->room ? f->room + f->used : f->packed.cells + lth__packed_row(&f->packed, row) + col;
    f->used += needed;
    f->parts[f->count++] = part;
    return LTH_OK;
}

/* What is left of the diagonal in parts of equal width, then the square on it. */
static lth_status add_panel(filling *f, size_t panel, lth_error *err) {
    size_t first = panel << f->packed.shift, rows = lth__packed_rows(&f->packed, panel);
    for (size_t col = 0; col < first; col += WIDTH) {
        size_t cols = first - col < WIDTH ? first - col : WIDTH;
        LTH_TRY(add_part(f, panel, first, rows, col, cols, err));
    }
    return add_part(f, panel, first, rows, first, rows, err);
}

static lth_status make_room(filling *f, lth_error *err) {
    size_t height = lth__packed_height(&f->packed), panels = lth__packed_panels(&f->packed);
    f->most = panels * (f->A->n / WIDTH + 2);
    if (is_single(f->A)) {
        f->cells = AT_ONCE / sizeof *f->room;
        if (f->cells < height * WIDTH) f->cells = height * WIDTH;
        f->room = lth__alloc(f->cells, sizeof *f->room);
    }
    f->parts = lth__alloc(f->most, sizeof *f->parts);
    if (f->parts && (f->room || !is_single(f->A))) return LTH_OK;
    return lth__fail_memory(err, f->cells * sizeof *f->room);
}

lth_status lth__matrix_strands_gram(lth__matrix *A, lth__gram *gram, lth_error *err) {
    filling f = {.A = A, .packed = lth__matrix_packed(A), .gram = gram};
    lth_status status = make_room(&f, err);
    for (size_t p = 0; p < lth__packed_panels(&f.packed) && status == LTH_OK; p++) {
        if (lth__packed_owns(A->ctx->cluster, &f.packed, p)) status = add_panel(&f, p, err);
    }
    if (status == LTH_OK) status = flush(&f, err);
    lth__free(f.parts);
    lth__free(f.room);
    return lth__cluster_agree(A->ctx->cluster, status, err);
}
