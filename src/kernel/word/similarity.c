#include "kernel/word/similarity.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"

enum { TILE = 256 }; /* symbols to a matrix product: its result stays in the second-level cache */

/* A table may take this much, or an eighth of what is free if that is less: it is used by every
 * pair, while a table for each tile is computed anew. */
static const size_t table_limit = (size_t)2 << 30;

static size_t real_size(lth_precision precision) {
    return precision == LTH_F32 ? sizeof(float) : sizeof(double);
}

/* ---- One pair of symbols ---- */

/* The cosine; exactly 1 for a symbol with itself: rounding would leave 1 - 1e-16, whose angle is
 * 1e-8. */
static double cosine_of(double dot, bool same) {
    return same || dot > 1 ? 1 : dot < -1 ? -1 : dot;
}

static double shape(const lth__similarity *s, double dot, bool same) {
    switch (s->sim) {
    case LTH__SIM_DOT: return dot;
    case LTH__SIM_COSINE: return cosine_of(dot, same);
    case LTH__SIM_ARCCOS: return 1 - acos(cosine_of(dot, same)) / M_PI;
    case LTH__SIM_EXP: return exp((cosine_of(dot, same) - 1) / s->temperature);
    case LTH__SIM_EXACT: break;
    }
    return same ? 1 : 0;
}

/* Where a symbol is kept, and its place there. */
static const lth__similarity *place_of(const lth__similarity *s, uint32_t *symbol) {
    if (*symbol < s->first) return s->base;
    *symbol -= (uint32_t)s->first;
    return s;
}

static bool is_known(const lth__similarity *s, uint32_t symbol) {
    const lth__similarity *at = place_of(s, &symbol);
    return at->known[symbol];
}

static double weight_of(const lth__similarity *s, uint32_t symbol) {
    const lth__similarity *at = place_of(s, &symbol);
    return at->weight[symbol];
}

static double weight_slope_of(const lth__similarity *s, uint32_t symbol) {
    const lth__similarity *at = place_of(s, &symbol);
    return at->weight_slope[symbol];
}

/* The similarity of symbols a and b, whose vectors have this inner product. */
static double similarity_of(const lth__similarity *s, double dot, uint32_t a, uint32_t b) {
    bool known = is_known(s, a) && is_known(s, b);
    if (!known && (a != b || s->oov == LTH__OOV_ZERO)) return 0;
    double x = known ? shape(s, dot, a == b) : 1;
    return s->weight ? x * weight_of(s, a) * weight_of(s, b) : x;
}

/* The same, or its derivative, from the similarity x. */
static double part_of(const lth__similarity *s, lth__sim_part part, double x, double dot,
                      uint32_t a, uint32_t b) {
    if (part == LTH__SIM_VALUE) return x;
    if (part == LTH__SIM_BY_RARITY) return x * (weight_slope_of(s, a) + weight_slope_of(s, b));
    double t = s->temperature;
    return is_known(s, a) && is_known(s, b) ? x * (1 - cosine_of(dot, a == b)) / (t * t) : 0;
}

/* ---- Tiles ---- */

static void store(const lth__similarity *s, void *out, size_t at, double x) {
    if (s->precision == LTH_F32)
        ((float *)out)[at] = (float)x;
    else
        ((double *)out)[at] = x;
}

static void gather_vectors(const lth__similarity *s, const uint32_t *symbols, size_t count,
                           double *out) {
    for (size_t i = 0; i < count; i++) {
        uint32_t symbol = symbols[i];
        const lth__similarity *at = place_of(s, &symbol);
        memcpy(out + i * s->dimension, at->vectors + symbol * s->dimension,
               s->dimension * sizeof *out);
    }
}

lth_status lth__similarity_tile(const lth__similarity *s, lth__sim_part part, const uint32_t *a,
                                size_t a_count, const uint32_t *b, size_t b_count, void *out,
                                size_t ld, lth_error *err) {
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    size_t d = s->dimension;
    size_t height = a_count < TILE ? a_count : TILE, width = b_count < TILE ? b_count : TILE;
    double *left = lth__alloc((height + width) * d + height * width, sizeof *left);
    if (!left) return lth__fail_memory(err, 0);
    double *right = left + height * d, *dots = right + width * d;
    for (size_t j = 0; j < b_count; j += TILE) {
        size_t cols = b_count - j < TILE ? b_count - j : TILE;
        gather_vectors(s, b + j, cols, right);
        for (size_t i = 0; i < a_count; i += TILE) {
            size_t rows = a_count - i < TILE ? a_count - i : TILE;
            gather_vectors(s, a + i, rows, left);
            blas->gemm_nt(rows, cols, d, 1, left, d, right, d, 0, dots, width);
            for (size_t r = 0; r < rows; r++) {
                for (size_t c = 0; c < cols; c++) {
                    double dot = dots[r * width + c];
                    double x = similarity_of(s, dot, a[i + r], b[j + c]);
                    store(s, out, (i + r) * ld + j + c,
                          part_of(s, part, x, dot, a[i + r], b[j + c]));
                }
            }
        }
    }
    lth__free(left);
    return LTH_OK;
}

/* ---- Tables of a whole vocabulary ---- */

typedef struct table_job {
    lth__similarity *s;
    const lth__blas *blas;
} table_job;

static size_t rows_of_job(const lth__similarity *s, size_t index) {
    size_t first = index * TILE;
    return s->symbols - first < TILE ? s->symbols - first : TILE;
}

/* Inner products of a few symbols with all. */
static lth_status fill_dots(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const table_job *job = user;
    const lth__similarity *s = job->s;
    size_t first = index * TILE, d = s->dimension;
    job->blas->gemm_nt(rows_of_job(s, index), s->symbols, d, 1, s->vectors + first * d, d,
                       s->vectors, d, 0, s->dots + first * s->symbols, s->symbols);
    return LTH_OK;
}

/* The rows of a few symbols from their own columns on, in every table, and the same as columns. A
 * square of it at a time: what is written down the columns then stays in the cache. */
static lth_status fill_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const table_job *job = user;
    lth__similarity *s = job->s;
    enum { SQUARE = 64 };
    size_t first = index * TILE, last = first + rows_of_job(s, index), ld = s->symbols + 1;
    for (size_t top = first; top < last; top += SQUARE) {
        for (size_t left = top; left < s->symbols; left += SQUARE) {
            size_t bottom = top + SQUARE < last ? top + SQUARE : last;
            size_t right = left + SQUARE < s->symbols ? left + SQUARE : s->symbols;
            for (size_t r = top; r < bottom; r++) {
                for (size_t c = left > r ? left : r; c < right; c++) {
                    double dot = s->dots[r * s->symbols + c];
                    double x = similarity_of(s, dot, (uint32_t)r, (uint32_t)c);
                    for (int part = 0; part < LTH__SIM_PARTS; part++) {
                        if (!s->table[part]) continue;
                        double y =
                            part_of(s, (lth__sim_part)part, x, dot, (uint32_t)r, (uint32_t)c);
                        store(s, s->table[part], r * ld + c, y);
                        store(s, s->table[part], c * ld + r, y);
                    }
                }
            }
        }
    }
    return LTH_OK;
}

static bool fits_in_tables(const lth__similarity *s) {
    size_t side = s->symbols + 1;
    if (side > 46340) return false; /* offsets into a table are signed 32-bit numbers */
    size_t bytes = side * side * real_size(s->precision);
    return bytes <= table_limit && bytes <= lth__memory_available() / 8;
}

static size_t count_jobs(const lth__similarity *s) {
    return (s->symbols + TILE - 1) / TILE;
}

static lth_status make_tables(lth_ctx *ctx, lth__similarity *s, lth_error *err) {
    if (s->dots || s->by_tile || !fits_in_tables(s)) return LTH_OK;
    size_t side = s->symbols + 1;
    table_job job = {.s = s};
    LTH_TRY(lth__blas_get(&job.blas, err));
    s->dots = lth__alloc(s->symbols * s->symbols, sizeof *s->dots);
    bool ok = s->dots != NULL;
    for (int part = 0; ok && part < LTH__SIM_PARTS; part++) {
        if (!s->wanted[part]) continue;
        s->table[part] = lth__calloc(side * side, real_size(s->precision));
        ok = s->table[part] != NULL;
    }
    if (!ok) return lth__fail_memory(err, side * side * real_size(s->precision));
    return lth__parallel_for(ctx, "word similarities", count_jobs(s), NULL, fill_dots, &job, err);
}

static void weigh_symbols(lth__similarity *s) {
    for (size_t i = 0; i < s->symbols - s->first; i++) {
        double sum = s->rarity + s->frequency[i];
        s->weight[i] = sum > 0 ? s->rarity / sum : 1;
        s->weight_slope[i] = sum > 0 && s->rarity > 0 ? s->frequency[i] / (s->rarity * sum) : 0;
    }
}

static void drop_tables(lth__similarity *s) {
    lth__free(s->dots);
    s->dots = NULL;
    for (int part = 0; part < LTH__SIM_PARTS; part++) {
        lth__free(s->table[part]);
        s->table[part] = NULL;
    }
}

static lth_status update(lth_ctx *ctx, lth__similarity *s, lth_error *err) {
    if (s->weight) weigh_symbols(s);
    LTH_TRY(make_tables(ctx, s, err));
    if (!s->dots) return LTH_OK;
    table_job job = {.s = s};
    LTH_TRY(lth__parallel_for(ctx, NULL, count_jobs(s), NULL, fill_rows, &job, err));
    bool constant = !s->weight && s->sim != LTH__SIM_EXP;
    if (constant) { /* never computed again */
        lth__free(s->dots);
        s->dots = NULL;
    }
    return LTH_OK;
}

lth_status lth__similarity_set(lth_ctx *ctx, lth__similarity *s, double temperature, double rarity,
                               lth_error *err) {
    if (s->temperature == temperature && s->rarity == rarity) return LTH_OK;
    s->temperature = temperature;
    s->rarity = rarity;
    lth_status status = update(ctx, s, err);
    if (status != LTH_OK) { /* the next call begins anew */
        drop_tables(s);
        s->temperature = NAN;
    }
    return status;
}

/* ---- Making one ---- */

/* The mean of the first rows of the vectors. */
static void find_centre(const lth__vectors *v, size_t rows, double *centre) {
    memset(centre, 0, v->dimension * sizeof *centre);
    for (size_t i = 0; i < rows; i++) {
        for (size_t d = 0; d < v->dimension; d++)
            centre[d] += (double)v->values[i * v->dimension + d] / (double)rows;
    }
}

static void copy_vector(const lth__similarity *s, const float *from, const double *centre,
                        double *to, bool *known) {
    double norm = 0;
    for (size_t i = 0; i < s->dimension; i++) {
        to[i] = (double)from[i] - (centre ? centre[i] : 0);
        norm += to[i] * to[i];
    }
    double scale = s->sim == LTH__SIM_DOT ? 1 : norm > 0 ? 1 / sqrt(norm) : 0;
    for (size_t i = 0; i < s->dimension; i++) to[i] *= scale;
    *known = norm > 0 || s->sim == LTH__SIM_DOT;
}

static const float *vector_of(const lth__similarity_def *def, lth__symbol symbol) {
    const float *own = lth__vectors_at(def->vectors, symbol);
    return own || !def->base_vectors ? own : lth__vectors_at(def->base_vectors, symbol);
}

static lth_status copy_vectors(lth__similarity *s, const lth__similarity_def *def, lth_error *err) {
    double *centre = NULL;
    if (s->sim == LTH__SIM_EXP) {
        centre = lth__alloc(s->dimension, sizeof *centre);
        if (!centre) return lth__fail_memory(err, 0);
        find_centre(def->base_vectors ? def->base_vectors : def->vectors, def->centre_rows, centre);
    }
    for (size_t i = s->first; i < s->symbols; i++) {
        const float *vector = vector_of(def, (lth__symbol)i);
        size_t at = i - s->first;
        if (vector) copy_vector(s, vector, centre, s->vectors + at * s->dimension, &s->known[at]);
    }
    lth__free(centre);
    return LTH_OK;
}

static lth_status fill(lth__similarity *s, const lth__similarity_def *def, lth_error *err) {
    size_t n = s->symbols - s->first;
    s->vectors = lth__calloc(n * s->dimension, sizeof *s->vectors);
    s->known = lth__calloc(n, sizeof *s->known);
    bool ok = s->vectors && s->known;
    if (def->uses_rarity) {
        s->frequency = lth__calloc(n, sizeof *s->frequency);
        s->weight = lth__alloc(n, sizeof *s->weight);
        s->weight_slope = lth__alloc(n, sizeof *s->weight_slope);
        ok = ok && s->frequency && s->weight && s->weight_slope;
    }
    if (!ok) return lth__fail_memory(err, n * s->dimension * sizeof *s->vectors);
    for (size_t i = s->first; s->frequency && i < s->symbols && i < def->frequencies; i++)
        s->frequency[i - s->first] = def->frequency[i];
    return def->sim == LTH__SIM_EXACT ? LTH_OK : copy_vectors(s, def, err);
}

lth_status lth__similarity_create(lth_ctx *ctx, const lth__similarity_def *def,
                                  lth__similarity **out, lth_error *err) {
    lth__similarity *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    size_t dimension = def->sim == LTH__SIM_EXACT ? 0 : def->vectors->dimension;
    *s = (lth__similarity){.owner = def->owner,
                           .sim = def->sim,
                           .oov = def->oov,
                           .precision = ctx->options.precision,
                           .symbols = def->symbols,
                           .base = def->base,
                           .first = def->base ? def->base->symbols : 0,
                           .dimension = dimension > 0 ? dimension : 1,
                           .temperature = NAN,
                           .by_tile = def->by_tile,
                           .wanted = {true, def->learns_temperature, def->uses_rarity}};
    lth_status status = fill(s, def, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth__similarity_free(s);
    return status;
}

void lth__similarity_free(lth__similarity *s) {
    if (!s) return;
    drop_tables(s);
    void *blocks[] = {s->vectors, s->known, s->frequency, s->weight, s->weight_slope};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__free(s);
}
