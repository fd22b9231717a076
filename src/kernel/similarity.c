#include "kernel/similarity.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"

enum { BLOCK = 256 }; /* symbols to a matrix product: its result stays in the second-level cache */

/* The table may take this much, or a quarter of what is free if that is less: it is used by every
 * pair, while a table for each tile is computed anew. */
static const size_t table_limit = (size_t)2 << 30;

static size_t real_size(lth_precision precision) {
    return precision == LTH_F32 ? sizeof(float) : sizeof(double);
}

/* ---- Blocks ---- */

/* From the inner product of two (unit) vectors to the similarity. */
static double finish(const lth__similarity *s, double dot, bool same) {
    if (s->sim == LTH__SIM_DOT) return dot;
    if (same) return 1; /* rounding would leave 1 - 1e-16, whose angle is 1e-8 */
    double cosine = dot > 1 ? 1 : dot < -1 ? -1 : dot;
    return s->sim == LTH__SIM_COSINE ? cosine : 1 - acos(cosine) / M_PI;
}

static double similarity_of(const lth__similarity *s, double dot, uint32_t a, uint32_t b) {
    if (s->known[a] && s->known[b]) return finish(s, dot, a == b);
    return a == b && s->oov == LTH__OOV_EXACT ? 1 : 0;
}

static void store(const lth__similarity *s, void *out, size_t at, double x) {
    if (s->precision == LTH_F32)
        ((float *)out)[at] = (float)x;
    else
        ((double *)out)[at] = x;
}

static void gather_vectors(const lth__similarity *s, const uint32_t *symbols, size_t count,
                           double *out) {
    for (size_t i = 0; i < count; i++) {
        memcpy(out + i * s->dimension, s->vectors + symbols[i] * s->dimension,
               s->dimension * sizeof *out);
    }
}

lth_status lth__similarity_block(const lth__similarity *s, const uint32_t *a, size_t a_count,
                                 const uint32_t *b, size_t b_count, void *out, size_t ld,
                                 lth_error *err) {
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    size_t d = s->dimension;
    double *left = lth__alloc(2 * BLOCK * d + BLOCK * BLOCK, sizeof *left);
    if (!left) return lth__fail_memory(err, 0);
    double *right = left + BLOCK * d, *dots = right + BLOCK * d;
    for (size_t j = 0; j < b_count; j += BLOCK) {
        size_t cols = b_count - j < BLOCK ? b_count - j : BLOCK;
        gather_vectors(s, b + j, cols, right);
        for (size_t i = 0; i < a_count; i += BLOCK) {
            size_t rows = a_count - i < BLOCK ? a_count - i : BLOCK;
            gather_vectors(s, a + i, rows, left);
            blas->gemm_nt(rows, cols, d, 1, left, d, right, d, 0, dots, BLOCK);
            for (size_t r = 0; r < rows; r++) {
                for (size_t c = 0; c < cols; c++) {
                    double x = similarity_of(s, dots[r * BLOCK + c], a[i + r], b[j + c]);
                    store(s, out, (i + r) * ld + j + c, x);
                }
            }
        }
    }
    lth__free(left);
    return LTH_OK;
}

/* ---- The table of a whole vocabulary ---- */

typedef struct table_job {
    lth__similarity *s;
    uint32_t *all; /* 0, 1, 2, ... */
    lth_error *err;
} table_job;

static lth_status fill_rows(void *user, size_t index, unsigned worker) {
    (void)worker;
    table_job *job = user;
    lth__similarity *s = job->s;
    size_t first = index * BLOCK, ld = s->symbols + 1;
    size_t rows = s->symbols - first < BLOCK ? s->symbols - first : BLOCK;
    void *out = (char *)s->table + first * ld * real_size(s->precision);
    return lth__similarity_block(s, job->all + first, rows, job->all, s->symbols, out, ld, NULL);
}

static lth_status fill_table(lth_ctx *ctx, lth__similarity *s, lth_error *err) {
    size_t side = s->symbols + 1, available = lth__memory_available();
    if (side > UINT16_MAX) return LTH_OK; /* offsets into the table are 32 bits */
    size_t bytes = side * side * real_size(s->precision);
    if (bytes > table_limit || bytes > available / 4) return LTH_OK;

    s->table = lth__calloc(side * side, real_size(s->precision));
    table_job job = {.s = s, .all = lth__alloc(side, sizeof *job.all)};
    lth_status status = LTH_OK;
    if (!s->table || !job.all) status = lth__fail_memory(err, bytes);
    if (status == LTH_OK) {
        for (size_t i = 0; i < s->symbols; i++) job.all[i] = (uint32_t)i;
        size_t jobs = (s->symbols + BLOCK - 1) / BLOCK;
        status = lth__parallel_for(ctx, "word similarities", jobs, NULL, fill_rows, &job, err);
    }
    lth__free(job.all);
    return status;
}

/* ---- Making one ---- */

static void copy_vector(const lth__similarity *s, const float *from, double *to, bool *known) {
    double norm = 0;
    for (size_t i = 0; i < s->dimension; i++) norm += (double)from[i] * (double)from[i];
    double scale = s->sim == LTH__SIM_DOT ? 1 : norm > 0 ? 1 / sqrt(norm) : 0;
    for (size_t i = 0; i < s->dimension; i++) to[i] = scale * (double)from[i];
    *known = norm > 0 || s->sim == LTH__SIM_DOT;
}

lth_status lth__similarity_create(lth_ctx *ctx, const lth__vectors *vectors, size_t symbols,
                                  lth__sim sim, lth__oov oov, lth__similarity **out,
                                  lth_error *err) {
    lth__similarity *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    *s = (lth__similarity){.sim = sim,
                           .oov = oov,
                           .precision = ctx->options.precision,
                           .symbols = symbols,
                           .dimension = vectors->dimension > 0 ? vectors->dimension : 1};
    s->vectors = lth__calloc(symbols * s->dimension, sizeof *s->vectors);
    s->known = lth__calloc(symbols, sizeof *s->known);
    lth_status status = LTH_OK;
    if (!s->vectors || !s->known)
        status = lth__fail_memory(err, symbols * s->dimension * sizeof *s->vectors);
    for (size_t i = 0; status == LTH_OK && i < symbols && i < vectors->symbols; i++) {
        if (vectors->row_of[i] < 0) continue;
        copy_vector(s, vectors->values + (size_t)vectors->row_of[i] * vectors->dimension,
                    s->vectors + i * s->dimension, &s->known[i]);
    }
    if (status == LTH_OK) status = fill_table(ctx, s, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth__similarity_free(s);
    return status;
}

void lth__similarity_free(lth__similarity *s) {
    if (!s) return;
    lth__free(s->vectors);
    lth__free(s->known);
    lth__free(s->table);
    lth__free(s);
}
