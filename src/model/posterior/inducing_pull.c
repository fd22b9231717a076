/* The gradient of an evidence by inducing rows: a second pass over all rows makes the weights of
 * covariances, which are pulled back slice by slice (see inducing.h).
 *
 * Covariances are c = scale k + shift. The derivative by `scale` needs no kernel value more, since
 * W_nm . c_m(x_n) = x_n . a_n, and likewise sum W_mm C_mm = -(trace of what is in brackets)/2.
 */
#include <string.h>

#include "base/parallel.h"
#include "model/common/linalg.h"
#include "model/posterior/inducing.h"

enum { ROWS = 128 };

typedef struct pulling {
    lth_gp *gp;
    lth__inducing_state *s;
    const lth__blas *blas;
    lth__row_weights_fn *weigh;
    size_t params, shared; /* of the kernel; latent functions of a factor */
    double *inverse;       /* [factor] B^-1                                */
    double *by_slice;      /* the kernel's part of the gradient, of a slice */
    double *total;         /* sum of h a a^T; gradient; the likelihood's part of it; sums of W c,
                              and of W */

    /* Of a slice: */
    const lth__slice *slice;
    double *X, *U;            /* [row][m]: x_n, later W; room      */
    double *mean, *q, *p, *h; /* [row][shared], [row]              */
    double *sum_h;            /* [row], of all factors             */
    double *piece;            /* [piece][own, then inner, weights] */
} pulling;

enum { INNER = LTH__MOST_OWN, WEIGHTS, OF_PIECE };

static size_t count_sums(const pulling *j) {
    return j->s->m * j->s->m;
}

/* In a total: the gradient, and what pieces have. */
static double *gradient_of(const pulling *j, double *total) {
    return total + count_sums(j);
}

static double *pieces_of(const pulling *j, double *total) {
    return gradient_of(j, total) + j->params;
}

/* ---- Weights of a piece of a slice ---- */

static lth__slice piece_of(const lth__slice *s, size_t m, size_t index) {
    size_t first = index * ROWS, rows = s->rows - first < ROWS ? s->rows - first : ROWS;
    return (lth__slice){.first = s->first + first,
                        .rows = rows,
                        .A = s->A + first * m,
                        .d = s->d + first,
                        .self = s->self + first};
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* X += g b^T - p B^-1 a of the factor's latent functions. */
static void add_factor(const pulling *j, size_t factor, const lth__slice *s, size_t at,
                       double *own) {
    size_t m = j->s->m, t = j->shared, latents = j->s->latents, first = factor * t;
    double *U = j->U + at * m, *X = j->X + at * m, *g = j->mean + at * t;
    double *q = j->q + at, *p = j->p + at, *h = j->h + at;
    const double *b = j->s->b + first;
    j->blas->gemm_nn(s->rows, m, m, 1, s->A, m, j->inverse + factor * m * m, m, 0, U, m);
    j->blas->gemm_nn(s->rows, t, m, 1, s->A, m, b, latents, 0, g, t);
    for (size_t r = 0; r < s->rows; r++) q[r] = dot(s->A + r * m, U + r * m, m);
    j->weigh(j->gp, s, first, t, g, q, p, h, own);
    j->blas->gemm_nt(s->rows, m, t, 1, g, t, b, latents, 1, X, m);
    for (size_t r = 0; r < s->rows; r++) {
        j->sum_h[at + r] += h[r];
        for (size_t k = 0; k < m; k++) X[r * m + k] -= p[r] * U[r * m + k];
    }
}

static lth_status weigh_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const pulling *j = user;
    size_t m = j->s->m, at = index * ROWS;
    lth__slice s = piece_of(j->slice, m, index);
    double *X = j->X + at * m, *own = j->piece + index * OF_PIECE;
    memset(own, 0, OF_PIECE * sizeof *own);
    memset(X, 0, s.rows * m * sizeof *X);
    memset(j->sum_h + at, 0, s.rows * sizeof *j->sum_h);
    for (size_t f = 0; f < j->s->factors; f++) add_factor(j, f, &s, at, own);
    for (size_t r = 0; r < s.rows; r++) {
        for (size_t k = 0; k < m; k++) X[r * m + k] += j->sum_h[at + r] * s.A[r * m + k];
        own[INNER] += dot(X + r * m, s.A + r * m, m);
    }
    j->blas->solve_right_transposed(s.rows, m, j->s->basis->L, m, X, m);
    for (size_t i = 0; i < s.rows * m; i++) own[WEIGHTS] += X[i];
    return LTH_OK;
}

static void add_gradient(const pulling *j, double *total) {
    for (size_t p = 0; p < j->params; p++) gradient_of(j, total)[p] += j->by_slice[p];
}

static void add_pieces(const pulling *j, size_t pieces, double *to) {
    for (size_t i = 0; i < pieces; i++) {
        for (size_t k = 0; k < OF_PIECE; k++) to[k] += j->piece[i * OF_PIECE + k];
    }
}

static lth_status take(void *user, const lth__slice *slice, double *total, lth_error *err) {
    pulling *j = user;
    double *of_pieces = pieces_of(j, total);
    lth__inducing_sum sum = {.m = j->s->m, .S = total, .room = j->U};
    const lth_kernel *kernel = j->gp->kernel;
    size_t m = j->s->m, pieces = (slice->rows + ROWS - 1) / ROWS;
    j->slice = slice;
    LTH_TRY(lth__parallel_for(kernel->ctx, NULL, pieces, NULL, weigh_piece, j, err));
    add_pieces(j, pieces, of_pieces);
    LTH_TRY(lth__inducing_add(j->gp, &sum, slice, j->sum_h, NULL, err));
    LTH_TRY(lth_gram_pull(kernel, slice->items, j->s->basis->items, j->X, m, j->by_slice, err));
    add_gradient(j, total);
    for (size_t r = 0; r < slice->rows; r++) {
        double w = j->sum_h[r] *= -0.5;
        of_pieces[INNER] += w * slice->self[r];
        of_pieces[WEIGHTS] += w;
    }
    LTH_TRY(lth_gram_diagonal_pull(kernel, slice->items, j->sum_h, j->by_slice, err));
    add_gradient(j, total);
    return LTH_OK;
}

/* ---- Weights among the inducing rows ---- */

/* What is in the brackets of W_mm, both triangles, in place of the sum of h a a^T. */
static void fill_brackets(pulling *j) {
    size_t m = j->s->m, latents = j->s->latents;
    double *T = j->total, t = (double)j->shared;
    for (size_t r = 0; r < m; r++) {
        for (size_t c = 0; c <= r; c++) {
            double *cell = &T[r * m + c];
            *cell += dot(j->s->b + r * latents, j->s->b + c * latents, latents);
            for (size_t f = 0; f < j->s->factors; f++)
                *cell += t * (j->inverse[(f * m + r) * m + c] - (r == c));
            T[c * m + r] = *cell;
        }
    }
}

static lth_status pull_basis(pulling *j, lth_error *err) {
    size_t m = j->s->m;
    const lth__basis *basis = j->s->basis;
    double *W = j->total, *of_pieces = pieces_of(j, j->total);
    fill_brackets(j);
    for (size_t i = 0; i < m; i++) of_pieces[INNER] -= 0.5 * W[i * m + i];
    j->blas->solve_transposed(m, m, basis->L, m, W, m);
    j->blas->solve_right_transposed(m, m, basis->L, m, W, m);
    for (size_t i = 0; i < m * m; i++) {
        W[i] *= -0.5;
        of_pieces[WEIGHTS] += W[i];
    }
    for (size_t i = 0; i < m; i++) of_pieces[INNER] -= basis->jitter * W[i * m + i];
    LTH_TRY(lth_gram_pull(j->gp->kernel, basis->items, NULL, W, m, j->by_slice, err));
    add_gradient(j, j->total);
    return LTH_OK;
}

/* ---- All of it ---- */

static size_t count_totals(const pulling *j) {
    return count_sums(j) + j->params + OF_PIECE;
}

static lth_status make_room(pulling *j, lth_error *err) {
    size_t m = j->s->m, rows = lth__inducing_rows(m);
    if (rows > j->gp->rows) rows = j->gp->rows;
    size_t pieces = (rows + ROWS - 1) / ROWS;
    j->inverse = lth__alloc(j->s->factors * m * m, sizeof *j->inverse);
    j->by_slice = lth__alloc(j->params + 1, sizeof *j->by_slice);
    j->X = lth__alloc(rows * m, sizeof *j->X);
    j->U = lth__alloc(rows * m, sizeof *j->U);
    j->mean = lth__alloc(rows * (j->shared + 4), sizeof *j->mean);
    j->piece = lth__alloc(pieces * OF_PIECE, sizeof *j->piece);
    j->total = lth__alloc(count_totals(j), sizeof *j->total);
    if (!j->inverse || !j->by_slice || !j->X || !j->U || !j->mean || !j->piece || !j->total)
        return lth__fail_memory(err, 2 * rows * m * sizeof *j->X);
    j->q = j->mean + rows * j->shared;
    j->p = j->q + rows;
    j->h = j->p + rows;
    j->sum_h = j->h + rows;
    return LTH_OK;
}

static lth_status pull(pulling *j, lth_error *err) {
    size_t m = j->s->m;
    LTH_TRY(lth__blas_get(&j->blas, err));
    LTH_TRY(make_room(j, err));
    for (size_t f = 0; f < j->s->factors; f++)
        LTH_TRY(lth__cholesky_inverse(j->gp->kernel->ctx, m, j->s->LB + f * m * m,
                                      j->inverse + f * m * m, err));
    LTH_TRY(lth__inducing_pass(j->gp, true, take, j, j->total, count_totals(j), err));
    return pull_basis(j, err);
}

static void write_gradient(const pulling *j, double *gradient) {
    const lth_gp *gp = j->gp;
    const double *by_kernel = gradient_of(j, j->total), *of_pieces = pieces_of(j, j->total);
    size_t own = gp->own_count;
    for (size_t p = 0; p < j->params; p++) gradient[p] = lth__gp_scale(gp) * by_kernel[p];
    for (size_t i = 0; i < own; i++) gradient[j->params + i] = of_pieces[i];
    if (gp->likelihood->own_units) /* `scale` is the last of them */
        gradient[j->params + own - 1] =
            (of_pieces[INNER] - gp->mean->variance * of_pieces[WEIGHTS]) / lth__gp_scale(gp);
}

static lth__row_weights_fn *weights_of(const lth_gp *gp) {
    const lth__inducing_state *s = gp->solution;
    if (s->factors < s->latents || lth__gp_is_gaussian(gp)) return lth__inducing_number_weights;
    return gp->likelihood->coupled ? lth__inducing_softmax_weights : lth__inducing_site_weights;
}

lth_status lth__inducing_pull(lth_gp *gp, double *gradient, lth_error *err) {
    lth__inducing_state *s = gp->solution;
    pulling j = {.gp = gp,
                 .s = s,
                 .weigh = weights_of(gp),
                 .params = gp->kernel->param_count,
                 .shared = s->latents / s->factors};
    lth_status status = pull(&j, err);
    if (status == LTH_OK) write_gradient(&j, gradient);
    void *blocks[] = {j.inverse, j.by_slice, j.X, j.U, j.mean, j.piece, j.total};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    return status;
}
