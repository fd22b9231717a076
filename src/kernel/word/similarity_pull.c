/* The pull-back of a tile, dimensions being weighed.
 *
 * With v = x / |sqrt(relevance) x|, the cosine c of a and b is sum_d relevance_d v_ad v_bd, and
 *
 *     dc/drelevance_d = v_ad v_bd - c (v_ad^2 + v_bd^2) / 2
 *
 * So with H_ab = G_ab dS_ab/dc the sums over all pairs are products of matrices. A dot product has
 * v = x and no second term.
 */
#include <string.h>

#include "base/memory.h"
#include "engine/blas.h"
#include "kernel/word/similarity.h"

enum { TILE = 256 }; /* symbols to a matrix product: its result stays in the second-level cache */

/* What is needed of symbols on one side. */
typedef struct pulled_side {
    double *v;
    double *weight; /* 0 without a vector                             */
    double *slope;  /* by rarity, over the weight                     */
    double *sum;    /* of H c over the symbols of the other side      */
    const uint32_t *symbols;
    size_t count;
} pulled_side;

/* Room for a square of it; H begins as the inner products. */
typedef struct pulled {
    pulled_side a, b;
    double *product; /* relevance v of a; then H v of b */
    double *H;
    size_t width;
} pulled;

static void gather_side(const lth__similarity *s, const uint32_t *symbols, size_t count,
                        pulled_side *out) {
    out->symbols = symbols;
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        uint32_t symbol = symbols[i];
        const lth__similarity *at = lth__similarity_place(s, &symbol);
        const double *x = at->plain + symbol * s->dimension;
        double *v = out->v + i * s->dimension;
        for (size_t d = 0; d < s->dimension; d++) v[d] = at->scale[symbol] * x[d];
        out->weight[i] = !at->known[symbol] ? 0 : s->weight ? at->weight[symbol] : 1;
        out->slope[i] = s->weight ? at->weight_slope[symbol] : 0;
    }
}

static double load(const lth__similarity *s, const void *from, size_t at) {
    return s->precision == LTH_F32 ? (double)((const float *)from)[at] : ((const double *)from)[at];
}

/* H of a pair with weight g and similarity x: g dx/dc. */
static double slope_by_cosine(const lth__similarity *s, const pulled *p, size_t r, size_t c,
                              double g, double x) {
    double weight = p->a.weight[r] * p->b.weight[c];
    if (s->sim == LTH__SIM_DOT) return g * weight;
    if (weight == 0 || p->a.symbols[r] == p->b.symbols[c]) return 0;
    return s->sim == LTH__SIM_EXP ? g * x / s->temperature : g * weight;
}

/* From inner products to H, and what temperature and rarity have of G. */
static void fill_slopes(const lth__similarity *s, const void *S, const double *G, size_t first,
                        size_t ld, pulled *p, lth__similarity_slopes *out) {
    memset(p->a.sum, 0, p->a.count * sizeof *p->a.sum);
    memset(p->b.sum, 0, p->b.count * sizeof *p->b.sum);
    for (size_t r = 0; r < p->a.count; r++) {
        double by_temperature = 0, by_rarity = 0;
        for (size_t c = 0; c < p->b.count; c++) {
            size_t at = first + r * ld + c;
            double *cell = &p->H[r * p->width + c], dot = *cell, x = load(s, S, at);
            *cell = slope_by_cosine(s, p, r, c, G[at], x);
            by_temperature += *cell * (1 - dot);
            by_rarity += G[at] * x * (p->a.slope[r] + p->b.slope[c]);
            p->a.sum[r] += *cell * dot;
            p->b.sum[c] += *cell * dot;
        }
        if (s->sim == LTH__SIM_EXP) out->temperature += by_temperature / s->temperature;
        out->rarity += by_rarity;
    }
}

/* by[d] -= sum_i sum[i] v_id^2 / 2 */
static void subtract_squares(const pulled_side *x, size_t dimension, double *by) {
    const double *v = x->v;
    for (size_t i = 0; i < x->count; i++, v += dimension) {
        for (size_t d = 0; d < dimension; d++) by[d] -= x->sum[i] * v[d] * v[d] / 2;
    }
}

static void pull_square(const lth__similarity *s, const lth__blas *blas, const void *S,
                        const double *G, size_t first, size_t ld, pulled *p,
                        lth__similarity_slopes *out) {
    size_t d = s->dimension, rows = p->a.count, cols = p->b.count;
    for (size_t r = 0; r < rows * d; r += d) {
        for (size_t i = 0; i < d; i++) p->product[r + i] = s->relevance[i] * p->a.v[r + i];
    }
    blas->gemm_nt(rows, cols, d, 1, p->product, d, p->b.v, d, 0, p->H, p->width);
    fill_slopes(s, S, G, first, ld, p, out);
    blas->gemm_nn(rows, d, cols, 1, p->H, p->width, p->b.v, d, 0, p->product, d);
    for (size_t r = 0; r < rows * d; r += d) {
        for (size_t i = 0; i < d; i++) out->relevance[i] += p->a.v[r + i] * p->product[r + i];
    }
    if (s->sim == LTH__SIM_DOT) return;
    subtract_squares(&p->a, d, out->relevance);
    subtract_squares(&p->b, d, out->relevance);
}

/* Its arrays from `at` on, for `count` symbols; returns their end. */
static double *place_side(pulled_side *x, double *at, size_t count, size_t dimension) {
    x->v = at;
    x->weight = at + count * dimension;
    x->slope = x->weight + count;
    x->sum = x->slope + count;
    return x->sum + count;
}

lth_status lth__similarity_pull(const lth__similarity *s, const uint32_t *a, size_t a_count,
                                const uint32_t *b, size_t b_count, const void *S, const double *G,
                                size_t ld, lth__similarity_slopes *out, lth_error *err) {
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    size_t d = s->dimension;
    size_t height = a_count < TILE ? a_count : TILE, width = b_count < TILE ? b_count : TILE;
    size_t need = (height + width) * (d + 3) + height * d + height * width;
    double *room = lth__alloc(need, sizeof *room);
    if (!room) return lth__fail_memory(err, need * sizeof *room);
    pulled p = {.width = width};
    p.product = place_side(&p.b, place_side(&p.a, room, height, d), width, d);
    p.H = p.product + height * d;
    for (size_t i = 0; i < a_count; i += TILE) {
        gather_side(s, a + i, a_count - i < TILE ? a_count - i : TILE, &p.a);
        for (size_t j = 0; j < b_count; j += TILE) {
            gather_side(s, b + j, b_count - j < TILE ? b_count - j : TILE, &p.b);
            pull_square(s, blas, S, G, i * ld + j, ld, &p, out);
        }
    }
    lth__free(room);
    return LTH_OK;
}
