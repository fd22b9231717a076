#include "model/common/precondition.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "model/common/blocks.h"
#include "model/common/linalg.h"

enum { ROUND = 32, ROWS = 256, COLS = 32 };

/* ---- Products ---- */

/* Y = by X T + plus Y, for the rows of X (n x k, with a stride of its own) and Y (n x m). */
typedef struct product_job {
    const lth__blas *blas;
    size_t n, m, k, ldx;
    double by, plus;
    const double *X, *T;
    bool transposed; /* T is m x k */
    size_t ldt;
    double *Y;
} product_job;

static lth_status product_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const product_job *j = user;
    size_t first = index * ROWS, rows = first + ROWS < j->n ? ROWS : j->n - first;
    const double *X = j->X + first * j->ldx;
    double *Y = j->Y + first * j->m;
    if (j->transposed)
        j->blas->gemm_nt(rows, j->m, j->k, j->by, X, j->ldx, j->T, j->ldt, j->plus, Y, j->m);
    else
        j->blas->gemm_nn(rows, j->m, j->k, j->by, X, j->ldx, j->T, j->ldt, j->plus, Y, j->m);
    return LTH_OK;
}

static lth_status multiply_rows(lth_ctx *ctx, product_job *j, lth_error *err) {
    if (j->n == 0 || j->m == 0 || j->k == 0) return LTH_OK; /* BLAS would complain */
    LTH_TRY(lth__blas_get(&j->blas, err));
    double operations = (double)j->n * (double)j->m * (double)j->k;
    return lth__blocks_run(ctx, product_rows, j, j->Y, ROWS * j->m, j->n * j->m, operations, err);
}

/* T (rank x m) = V^T X, by blocks of V's columns. */
typedef struct inner_job {
    const lth__blas *blas;
    const lth__preconditioner *p;
    size_t m;
    const double *X;
    double *T;
} inner_job;

static lth_status inner_cols(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const inner_job *j = user;
    size_t rank = j->p->rank, first = index * COLS,
           cols = first + COLS < rank ? COLS : rank - first;
    j->blas->gemm_tn(cols, j->m, j->p->n, 1, j->p->V + first, rank, j->X, j->m, 0,
                     j->T + first * j->m, j->m);
    return LTH_OK;
}

static lth_status multiply_cols(const lth__preconditioner *p, size_t m, const double *X, double *T,
                                lth_error *err) {
    inner_job j = {.p = p, .m = m, .X = X, .T = T};
    LTH_TRY(lth__blas_get(&j.blas, err));
    double operations = (double)p->n * (double)m * (double)p->rank;
    return lth__blocks_run(p->ctx, inner_cols, &j, T, COLS * m, p->rank * m, operations, err);
}

/* ---- Choosing rows ---- */

/* Rows are proposed many at a time, since on a device their columns are had by one product with G;
 * one that the others of its round explain too well is passed over. */
typedef struct choice {
    const lth__matrix *G;
    double noise;
    size_t n, rank, count; /* asked for, and chosen */
    double *A;             /* n x rank; so far its first `count` columns */
    double *left;          /* of each row's variance                      */
    double *E, *Y;         /* n x ROUND: units, their columns of K        */
    double *T;             /* ROUND x rank                                */
    size_t row[ROUND], proposed;
    double before[ROUND];
} choice;

static double total(const choice *c) {
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) sum += c->left[i];
    return sum;
}

/* One row with a probability proportional to what is left of it, c->n if nothing is. */
static size_t draw_row(const choice *c, lth__random *random) {
    double sum = total(c), at = sum * lth__random_uniform(random);
    size_t last = c->n;
    if (!(sum > 0)) return last;
    for (size_t i = 0; i < c->n; i++) {
        if (c->left[i] <= 0) continue;
        last = i;
        if (at < c->left[i]) break;
        at -= c->left[i];
    }
    return last;
}

static void propose(choice *c, lth__random *random) {
    size_t most = c->rank - c->count < ROUND ? c->rank - c->count : ROUND;
    for (c->proposed = 0; c->proposed < most; c->proposed++) {
        size_t row = draw_row(c, random);
        if (row == c->n) break;
        c->row[c->proposed] = row;
        c->before[c->proposed] = c->left[row];
        c->left[row] = 0; /* not twice */
    }
    for (size_t j = 0; j < c->proposed; j++) c->left[c->row[j]] = c->before[j];
}

/* Y: the columns of K at the rows proposed. */
static lth_status columns(choice *c, lth_error *err) {
    size_t m = c->proposed;
    if (c->G->table->columns) {
        LTH_TRY(c->G->table->columns(c->G, m, c->row, c->Y, err));
    } else {
        memset(c->E, 0, c->n * m * sizeof *c->E);
        for (size_t j = 0; j < m; j++) c->E[c->row[j] * m + j] = 1;
        LTH_TRY(c->G->table->multiply(c->G, m, c->E, c->Y, err));
    }
    for (size_t j = 0; j < m; j++) c->Y[c->row[j] * m + j] -= c->noise;
    return LTH_OK;
}

/* The same, less what the rows chosen explain. */
static lth_status residual_columns(choice *c, lth_error *err) {
    size_t m = c->proposed;
    LTH_TRY(columns(c, err));
    for (size_t j = 0; j < m; j++)
        memcpy(c->T + j * c->rank, c->A + c->row[j] * c->rank, c->count * sizeof *c->T);
    product_job job = {.n = c->n,
                       .m = m,
                       .k = c->count,
                       .by = -1,
                       .plus = 1,
                       .X = c->A,
                       .ldx = c->rank,
                       .T = c->T,
                       .transposed = true,
                       .ldt = c->rank,
                       .Y = c->Y};
    return multiply_rows(c->G->ctx, &job, err);
}

/* Column `column` of A from proposal j; the later proposals lose what it explains. */
static void take(choice *c, size_t j, double pivot) {
    size_t m = c->proposed, column = c->count++;
    double by = 1 / sqrt(pivot), at[ROUND];
    for (size_t l = j + 1; l < m; l++) at[l] = c->Y[c->row[l] * m + j] * by;
    for (size_t i = 0; i < c->n; i++) {
        double *row = c->Y + i * m, a = row[j] * by, rest = c->left[i] - a * a;
        c->A[i * c->rank + column] = a;
        c->left[i] = rest > 0 ? rest : 0;
        for (size_t l = j + 1; l < m; l++) row[l] -= at[l] * a;
    }
    c->left[c->row[j]] = 0;
}

/* Until there are enough, or what is left is rounding, or nothing beside the noise. */
static lth_status choose(choice *c, lth__random *random, lth_error *err) {
    double rounding = (lth__matrix_is_single(c->G) ? 1e-6 : 1e-12) * total(c), n = (double)c->n;
    double enough = fmax(rounding, 1e-7 * c->noise * n);
    while (c->count < c->rank && total(c) > enough) {
        propose(c, random);
        LTH_TRY(residual_columns(c, err));
        for (size_t j = 0; j < c->proposed; j++) {
            double pivot = c->Y[c->row[j] * c->proposed + j];
            if (!isfinite(pivot)) return LTH_ENUMERIC;
            if (pivot > rounding / n && pivot > lth__random_uniform(random) * c->before[j])
                take(c, j, pivot);
            else if (j == 0)
                c->left[c->row[0]] = 0; /* none of the others can be the reason */
        }
    }
    return LTH_OK;
}

/* ---- Making one ---- */

/* From A, in place of V, with the diagonal of G in `root`. */
static void whiten(lth__preconditioner *p, double noise) {
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) sum += p->root[i];
    double least = noise > 0 ? noise : 1e-10 * sum / (double)p->n;
    if (!(least > 0)) least = 1;
    for (size_t i = 0; i < p->n; i++) {
        double explained = 0, *row = p->V + i * p->rank;
        for (size_t r = 0; r < p->rank; r++) explained += row[r] * row[r];
        double rest = p->root[i] - explained;
        p->root[i] = sqrt(rest > least ? rest : least);
        for (size_t r = 0; r < p->rank; r++) row[r] /= p->root[i];
    }
}

static lth_status factor(lth__preconditioner *p, lth_error *err) {
    size_t rank = p->rank;
    p->log_determinant = 0;
    for (size_t i = 0; i < p->n; i++) p->log_determinant += 2 * log(p->root[i]);
    if (rank == 0) return LTH_OK;
    LTH_TRY(multiply_cols(p, rank, p->V, p->B, err));
    for (size_t r = 0; r < rank; r++) p->B[r * rank + r] += 1;
    memcpy(p->L, p->B, rank * rank * sizeof *p->L);
    LTH_TRY(lth__cholesky(p->ctx, rank, p->L, err));
    p->log_determinant += lth__cholesky_log_determinant(rank, p->L);
    return LTH_OK;
}

/* The columns that were not taken away. */
static void pack(double *A, size_t n, size_t rank, size_t count) {
    if (count == rank) return;
    for (size_t i = 0; i < n; i++) memmove(A + i * count, A + i * rank, count * sizeof *A);
}

static lth_status make(lth__preconditioner *p, const lth__matrix *G, double noise,
                       lth__random *random, lth_error *err) {
    choice c = {.G = G, .noise = noise, .n = p->n, .rank = p->rank, .A = p->V};
    size_t cells = p->n + 2 * p->n * ROUND + ROUND * p->rank;
    LTH_TRY(G->table->diagonal(G, p->root, err));
    c.left = lth__alloc(cells, sizeof *c.left);
    if (!c.left) return lth__fail_memory(err, cells * sizeof *c.left);
    c.E = c.left + p->n;
    c.Y = c.E + p->n * ROUND;
    c.T = c.Y + p->n * ROUND;
    for (size_t i = 0; i < p->n; i++) c.left[i] = p->root[i] > noise ? p->root[i] - noise : 0;
    lth_status status = choose(&c, random, err);
    lth__free(c.left);
    LTH_TRY(status);
    pack(p->V, p->n, p->rank, c.count);
    p->rank = c.count;
    whiten(p, noise);
    return factor(p, err);
}

void lth__preconditioner_free(lth__preconditioner *p) {
    if (!p) return;
    lth__free(p->V);
    lth__free(p->root);
    lth__free(p->B);
    lth__free(p->L);
    lth__free(p);
}

lth_status lth__preconditioner_create(const lth__matrix *G, double noise, size_t rank,
                                      lth__random *random, lth__preconditioner **out,
                                      lth_error *err) {
    lth__preconditioner *p = lth__calloc(1, sizeof *p);
    if (!p) return lth__fail_memory(err, sizeof *p);
    *p = (lth__preconditioner){.ctx = G->ctx, .n = G->n, .rank = rank < G->n ? rank : G->n};
    p->V = lth__alloc(p->n * p->rank, sizeof *p->V);
    p->root = lth__alloc(p->n, sizeof *p->root);
    p->B = lth__alloc(p->rank * p->rank, sizeof *p->B);
    p->L = lth__alloc(p->rank * p->rank, sizeof *p->L);
    bool room = p->V && p->root && p->B && p->L;
    lth_status status =
        room ? LTH_OK : lth__fail_memory(err, (p->n + p->rank) * p->rank * sizeof *p->V);
    if (status == LTH_OK) status = make(p, G, noise, random, err);
    if (status == LTH_OK)
        *out = p;
    else
        lth__preconditioner_free(p);
    return status;
}

/* ---- Using it ---- */

static void scale_rows(const lth__preconditioner *p, size_t m, const double *X, double *Y) {
    for (size_t i = 0; i < p->n; i++) {
        double by = 1 / p->root[i];
        for (size_t j = 0; j < m; j++) Y[i * m + j] = by * X[i * m + j];
    }
}

/* Y (n x m) = by V T + plus Y. */
static lth_status add_span(const lth__preconditioner *p, size_t m, double by, const double *T,
                           double plus, double *Y, lth_error *err) {
    product_job job = {.n = p->n,
                       .m = m,
                       .k = p->rank,
                       .by = by,
                       .plus = plus,
                       .X = p->V,
                       .ldx = p->rank,
                       .T = T,
                       .ldt = m,
                       .Y = Y};
    return multiply_rows(p->ctx, &job, err);
}

lth_status lth__preconditioner_solve(const lth__preconditioner *p, size_t m, const double *X,
                                     double *Y, lth_error *err) {
    double *T = lth__alloc(p->rank * m, sizeof *T);
    if (!T) return lth__fail_memory(err, p->rank * m * sizeof *T);
    scale_rows(p, m, X, Y);
    lth_status status = multiply_cols(p, m, Y, T, err);
    if (status == LTH_OK) status = lth__cholesky_solve(p->ctx, p->rank, p->L, m, T, err);
    if (status == LTH_OK) status = add_span(p, m, -1, T, 1, Y, err);
    if (status == LTH_OK) scale_rows(p, m, Y, Y);
    lth__free(T);
    return status;
}

/* B = Lambda^1/2 (z + V y) with z and y from N(0, I), and W = Lambda^-1/2 z. */
lth_status lth__preconditioner_draw(const lth__preconditioner *p, size_t m, lth__random *random,
                                    double *B, float *W, lth_error *err) {
    double *T = lth__alloc(p->rank * m, sizeof *T);
    if (!T) return lth__fail_memory(err, p->rank * m * sizeof *T);
    for (size_t i = 0; i < p->n * m; i++) {
        B[i] = lth__random_normal(random);
        W[i] = (float)(B[i] / p->root[i / m]);
    }
    for (size_t i = 0; i < p->rank * m; i++) T[i] = lth__random_normal(random);
    lth_status status = add_span(p, m, 1, T, 1, B, err);
    for (size_t i = 0; i < p->n * m; i++) B[i] *= p->root[i / m];
    lth__free(T);
    return status;
}

/* P^-1 A = Lambda^-1/2 V B^-1. */
lth_status lth__preconditioner_span(const lth__preconditioner *p, double *out, lth_error *err) {
    size_t rank = p->rank;
    double *inverse = lth__alloc(rank * rank, sizeof *inverse);
    if (!inverse) return lth__fail_memory(err, rank * rank * sizeof *inverse);
    lth_status status = lth__cholesky_inverse(p->ctx, rank, p->L, inverse, err);
    if (status == LTH_OK) status = add_span(p, rank, 1, inverse, 0, out, err);
    if (status == LTH_OK) scale_rows(p, rank, out, out);
    lth__free(inverse);
    return status;
}
