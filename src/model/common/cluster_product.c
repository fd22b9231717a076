/* Y = A X for tiles, of which each serves its row and its column.
 *
 * Who adds up what depends on the grid, so the sums must not depend on their order. Each product of
 * a tile is rounded to a multiple of some q, the rest of it to one of a far smaller r, both powers
 * of two chosen for a column of X by a bound of all products. Sums of so many multiples of q (or of
 * r) are exact in double precision, in any order. What is lost is below the bound by 2^-(2 BITS).
 * Where the bound is no number, neither is any of Y. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/common/cluster_tiles.h"

enum {
    BITS = 38,        /* of a part: room for the sum of 2^14 of them in the 53 of a double */
    MOST_STRANDS = 16 /* each has sums of its own                                          */
};

typedef struct product {
    lth__tiles *A;
    const lth__blas *blas;
    size_t m, strands, cells; /* cells: n m                                               */
    const double *X;
    double *coarse, *fine; /* m numbers each: added and taken off again, they round       */
    double *sums;          /* [strand][2][cells]                                          */
    double *room;          /* [strand]: a product, and a tile                             */
    double *largest;       /* of each own tile                                            */
} product;

static size_t room_of(const product *p) {
    return p->A->side * p->m + lth__tiles_area(p->A);
}

/* ---- The largest number of A ---- */

static double at_most(double a, double b) {
    return a < b || isnan(b) ? b : a; /* NaN wins */
}

static lth_status find_largest(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const product *p = user;
    lth__own_tile t = lth__tiles_at(p->A, index);
    double most = 0;
    for (size_t r = 0; r < t.rows; r++) {
        size_t cols = t.row == t.col ? r + 1 : t.cols;
        for (size_t c = 0; c < cols; c++) most = at_most(most, fabs(t.cells[r * t.ld + c]));
    }
    p->largest[index] = most;
    return LTH_OK;
}

/* Absolute values are ordered as their bits are, and NaN is the largest of all. */
static lth_status know_largest(const product *p, lth_error *err) {
    lth__tiles *A = p->A;
    if (A->largest >= 0) return LTH_OK;
    size_t own = lth__tiles_own(A);
    lth__tiles_for(A, own, find_largest, (void *)p);
    double most = 0;
    for (size_t t = 0; t < own; t++) most = at_most(most, p->largest[t]);
    int64_t bits;
    most = isnan(most) ? (double)NAN : most;
    memcpy(&bits, &most, sizeof bits);
    bits &= INT64_MAX;
    if (A->cluster) LTH_TRY(A->cluster->table->most(&bits, err));
    memcpy(&A->largest, &bits, sizeof bits);
    return LTH_OK;
}

/* ---- Rounding ---- */

/* Numbers up to `bound` become multiples of bound 2^-BITS, or so, when this is added to them and
 * taken off again. */
static double rounder(double bound) {
    int exponent;
    if (!isfinite(bound)) return (double)NAN;
    frexp(bound, &exponent);
    return ldexp(1.5, exponent - BITS + 52);
}

static void choose_rounders(const product *p) {
    const lth__tiles *A = p->A;
    for (size_t k = 0; k < p->m; k++) {
        double most = 0;
        for (size_t i = 0; i < A->n; i++) most = at_most(most, fabs(p->X[i * p->m + k]));
        double bound = most * A->largest * (double)A->side * 2;
        p->coarse[k] = rounder(bound);
        p->fine[k] = rounder(ldexp(bound, -BITS));
    }
}

/* Rows of a product to the two sums. */
static void add_rows(const product *p, size_t rows, const double *part, double *sum) {
    double *rest = sum + p->cells;
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < p->m; k++) {
            size_t at = r * p->m + k;
            double high = (part[at] + p->coarse[k]) - p->coarse[k], low = part[at] - high;
            sum[at] += high;
            rest[at] += (low + p->fine[k]) - p->fine[k];
        }
    }
}

/* ---- Tiles ---- */

/* A tile of the diagonal with its upper half. */
static void mirror(const lth__own_tile *t, double *out) {
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c <= r; c++)
            out[r * t->ld + c] = out[c * t->ld + r] = t->cells[r * t->ld + c];
}

static void multiply_tile(const product *p, const lth__own_tile *t, double *sum, double *room) {
    size_t m = p->m;
    double *part = room, *square = room + p->A->side * m;
    const double *cells = t->cells;
    if (t->row == t->col) {
        mirror(t, square);
        cells = square;
    }
    p->blas->gemm_nn(t->rows, m, t->cols, 1, cells, t->ld, p->X + t->col * m, m, 0, part, m);
    add_rows(p, t->rows, part, sum + t->row * m);
    if (t->row == t->col) return;
    p->blas->gemm_tn(t->cols, m, t->rows, 1, cells, t->ld, p->X + t->row * m, m, 0, part, m);
    add_rows(p, t->cols, part, sum + t->col * m);
}

/* Tiles are dealt out to strands, each with sums of its own. */
static lth_status multiply_strand(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const product *p = user;
    size_t own = lth__tiles_own(p->A);
    double *sum = p->sums + index * 2 * p->cells, *room = p->room + index * room_of(p);
    for (size_t t = index; t < own; t += p->strands) {
        lth__own_tile tile = lth__tiles_at(p->A, t);
        multiply_tile(p, &tile, sum, room);
    }
    return LTH_OK;
}

/* ---- All together ---- */

/* Along a tree to rank 0, and back to all; `other` has room for what comes from one of them. */
static lth_status add_ranks(const product *p, double *other, lth_error *err) {
    const lth__cluster *c = p->A->cluster;
    size_t count = 2 * p->cells, bytes = count * sizeof *other;
    for (unsigned step = 1; c && step < c->at.size; step *= 2) {
        if (c->at.rank % (2 * step) == step) {
            LTH_TRY(c->table->send(c->at.rank - step, p->sums, bytes, err));
            break;
        }
        if (c->at.rank + step >= c->at.size) continue;
        LTH_TRY(c->table->receive(c->at.rank + step, other, bytes, err));
        for (size_t k = 0; k < count; k++) p->sums[k] += other[k];
    }
    return c ? c->table->broadcast(LTH__ALL_RANKS, 0, p->sums, bytes, err) : LTH_OK;
}

static lth_status multiply(const product *p, double *other, double *Y, lth_error *err) {
    const double *sums = p->sums, *rests = p->sums + p->cells;
    LTH_TRY(know_largest(p, err));
    choose_rounders(p);
    lth__tiles_for(p->A, p->strands, multiply_strand, (void *)p);
    for (size_t s = 1; s < p->strands; s++)
        for (size_t k = 0; k < 2 * p->cells; k++) p->sums[k] += p->sums[s * 2 * p->cells + k];
    LTH_TRY(add_ranks(p, other, err));
    for (size_t k = 0; k < p->cells; k++) {
        double sum = sums[k] + rests[k];
        Y[k] = isnan(sum) ? (double)NAN : sum;
    }
    return LTH_OK;
}

/* In one piece: the sums of the strands, those of another rank, and all that is small. */
static lth_status reserve(product *p, lth_error *err) {
    size_t numbers =
        (p->strands + 1) * 2 * p->cells + p->strands * room_of(p) + 2 * p->m + lth__tiles_own(p->A);
    LTH_TRY(lth__blas_get(&p->blas, err));
    p->sums = lth__calloc(numbers, sizeof *p->sums);
    if (!p->sums) return lth__fail_memory(err, numbers * sizeof *p->sums);
    p->room = p->sums + (p->strands + 1) * 2 * p->cells;
    p->coarse = p->room + p->strands * room_of(p);
    p->fine = p->coarse + p->m;
    p->largest = p->fine + p->m;
    return LTH_OK;
}

lth_status lth__tiles_multiply(lth__tiles *A, size_t m, const double *X, double *Y,
                               lth_error *err) {
    if (m == 0 || A->n == 0) return LTH_OK;
    size_t threads = A->ctx->options.threads;
    product p = {.A = A, .m = m, .X = X, .cells = A->n * m};
    p.strands = threads < MOST_STRANDS ? threads : MOST_STRANDS;
    lth_status status = lth__tiles_enter(A, reserve(&p, err), err);
    if (status == LTH_OK) status = multiply(&p, p.sums + p.strands * 2 * p.cells, Y, err);
    lth__free(p.sums);
    return status;
}
