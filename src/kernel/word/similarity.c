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

/* From what is known of a pair: the inner product, or how far its letters are from each other. */
static double shape(const lth__similarity *s, double dot, bool same) {
    switch (s->sim) {
    case LTH__SIM_DOT: return dot;
    case LTH__SIM_COSINE: return cosine_of(dot, same);
    case LTH__SIM_ARCCOS: return 1 - acos(cosine_of(dot, same)) / M_PI;
    case LTH__SIM_EXP: return exp((cosine_of(dot, same) - 1) / s->temperature);
    case LTH__SIM_MATRIX: return exp(-s->temperature * dot);
    case LTH__SIM_EXACT: break;
    }
    return same ? 1 : 0;
}

static bool is_known(const lth__similarity *s, uint32_t symbol) {
    const lth__similarity *at = lth__similarity_place(s, &symbol);
    return at->known[symbol];
}

static double weight_of(const lth__similarity *s, uint32_t symbol) {
    const lth__similarity *at = lth__similarity_place(s, &symbol);
    return at->weight[symbol];
}

static double weight_slope_of(const lth__similarity *s, uint32_t symbol) {
    const lth__similarity *at = lth__similarity_place(s, &symbol);
    return at->weight_slope[symbol];
}

static double distance_of(const lth__similarity *s, uint32_t a, uint32_t b) {
    if (!s->letter) return a != b;
    const lth__similarity *left = lth__similarity_place(s, &a),
                          *right = lth__similarity_place(s, &b);
    return s->letters.distance[left->letter[a] * s->letters.stride + right->letter[b]];
}

/* The similarity of symbols a and b, whose vectors have this inner product. */
static double similarity_of(const lth__similarity *s, double dot, uint32_t a, uint32_t b) {
    bool known = is_known(s, a) && is_known(s, b);
    if (!known && (a != b || s->oov == LTH__OOV_ZERO)) return 0;
    double x = known ? shape(s, dot, a == b) : 1;
    return s->weight ? x * weight_of(s, a) * weight_of(s, b) : x;
}

/* D, of which similarities are made. */
static double basis_of(const lth__similarity *s, double dot, uint32_t a, uint32_t b) {
    if (is_known(s, a) && is_known(s, b)) {
        if (s->sim == LTH__SIM_EXP) return 1 - cosine_of(dot, a == b);
        return s->sim == LTH__SIM_MATRIX ? dot : shape(s, dot, a == b);
    }
    if (a != b || s->oov == LTH__OOV_ZERO) return lth__similarity_nothing(s);
    return lth__similarity_decays(s, NULL, NULL) ? 0 : 1;
}

bool lth__similarity_decays(const lth__similarity *s, double *decay, double *slope) {
    double t = s->temperature;
    if (decay) *decay = s->sim == LTH__SIM_EXP ? 1 / t : t;
    if (slope) *slope = s->sim == LTH__SIM_EXP ? -1 / (t * t) : 1;
    return s->sim == LTH__SIM_EXP || s->sim == LTH__SIM_MATRIX;
}

/* A decay times it is a number, also in single precision. */
double lth__similarity_nothing(const lth__similarity *s) {
    return lth__similarity_decays(s, NULL, NULL) ? 1e30 : 0;
}

double lth__similarity_weight(const lth__similarity *s, uint32_t symbol, double *slope) {
    *slope = s->weight ? weight_slope_of(s, symbol) : 0;
    return s->weight ? weight_of(s, symbol) : 1;
}

/* The same, or its derivative, from the similarity x. */
static double part_of(const lth__similarity *s, lth__sim_part part, double x, double dot,
                      uint32_t a, uint32_t b) {
    if (part == LTH__SIM_VALUE) return x;
    if (part == LTH__SIM_BY_RARITY) return x * (weight_slope_of(s, a) + weight_slope_of(s, b));
    if (!is_known(s, a) || !is_known(s, b)) return 0;
    double t = s->temperature;
    return s->sim == LTH__SIM_MATRIX ? -dot * x : x * (1 - cosine_of(dot, a == b)) / (t * t);
}

static double one_part(const lth__similarity *s, lth__sim_part part, double dot, uint32_t a,
                       uint32_t b) {
    if (part == LTH__SIM_BASIS) return basis_of(s, dot, a, b);
    return part_of(s, part, similarity_of(s, dot, a, b), dot, a, b);
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
        const lth__similarity *at = lth__similarity_place(s, &symbol);
        memcpy(out + i * s->dimension, at->vectors + symbol * s->dimension,
               s->dimension * sizeof *out);
    }
}

static void fill_distances(const lth__similarity *s, const uint32_t *a, size_t rows,
                           const uint32_t *b, size_t cols, double *out, size_t ld) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) out[r * ld + c] = distance_of(s, a[r], b[c]);
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
            if (s->sim == LTH__SIM_MATRIX)
                fill_distances(s, a + i, rows, b + j, cols, dots, width);
            else
                blas->gemm_nt(rows, cols, d, 1, left, d, right, d, 0, dots, width);
            for (size_t r = 0; r < rows; r++) {
                for (size_t c = 0; c < cols; c++) {
                    store(s, out, (i + r) * ld + j + c,
                          one_part(s, part, dots[r * width + c], a[i + r], b[j + c]));
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

/* Inner products of a few symbols with all, or how far they are from all. */
static lth_status fill_dots(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const table_job *job = user;
    const lth__similarity *s = job->s;
    size_t first = index * TILE, d = s->dimension;
    for (size_t r = first; s->sim == LTH__SIM_MATRIX && r < first + rows_of_job(s, index); r++) {
        for (size_t c = 0; c < s->symbols; c++)
            s->dots[r * s->symbols + c] = distance_of(s, (uint32_t)r, (uint32_t)c);
    }
    if (s->sim == LTH__SIM_MATRIX) return LTH_OK;
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
                    for (int part = 0; part < LTH__SIM_BASIS; part++) {
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

static lth_status allocate_values(lth__similarity *s, lth_error *err) {
    size_t side = s->symbols + 1;
    s->dots = lth__alloc(s->symbols * s->symbols, sizeof *s->dots);
    bool ok = s->dots != NULL;
    for (int part = 0; ok && part < LTH__SIM_BASIS; part++) {
        if (!s->wanted[part]) continue;
        s->table[part] = lth__calloc(side * side, real_size(s->precision));
        ok = s->table[part] != NULL;
    }
    return ok ? LTH_OK : lth__fail_memory(err, side * side * real_size(s->precision));
}

/* The inner products of the vectors as they are now. */
static lth_status find_dots(lth_ctx *ctx, lth__similarity *s, lth_error *err) {
    table_job job = {.s = s};
    LTH_TRY(lth__blas_get(&job.blas, err));
    if (!s->dots) LTH_TRY(allocate_values(s, err));
    return lth__parallel_for(ctx, "word similarities", count_jobs(s), NULL, fill_dots, &job, err);
}

/* ---- The table of D ---- */

/* A square of it, as it is and transposed. */
static void place_square(const lth__similarity *s, const void *from, size_t first, size_t rows,
                         size_t left, size_t cols) {
    size_t ld = s->symbols + 1, real = real_size(s->precision);
    char *table = s->table[LTH__SIM_BASIS];
    for (size_t r = 0; r < rows; r++)
        memcpy(table + ((first + r) * ld + left) * real, (const char *)from + r * TILE * real,
               cols * real);
    for (size_t c = 0; c < cols; c++) {
        size_t to = (left + c) * ld + first;
        for (size_t r = 0; r < rows && s->precision == LTH_F32; r++)
            ((float *)table)[to + r] = ((const float *)from)[r * TILE + c];
        for (size_t r = 0; r < rows && s->precision == LTH_F64; r++)
            ((double *)table)[to + r] = ((const double *)from)[r * TILE + c];
    }
}

static lth_status fill_basis(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const lth__similarity *s = user;
    size_t first = index * TILE, rows = rows_of_job(s, index);
    void *square = lth__alloc(TILE * TILE, real_size(s->precision));
    lth_status status = square ? LTH_OK : lth__fail_memory(err, TILE * TILE * sizeof(double));
    for (size_t left = first; left < s->symbols && status == LTH_OK; left += TILE) {
        size_t cols = s->symbols - left < TILE ? s->symbols - left : TILE;
        status = lth__similarity_tile(s, LTH__SIM_BASIS, s->symbol_at + first, rows,
                                      s->symbol_at + left, cols, square, TILE, err);
        if (status == LTH_OK) place_square(s, square, first, rows, left, cols);
    }
    lth__free(square);
    return status;
}

/* Once: no parameter changes it. */
static lth_status make_basis(lth_ctx *ctx, lth__similarity *s, lth_error *err) {
    size_t side = s->symbols + 1, end = s->symbols;
    double nothing = lth__similarity_nothing(s);
    void *table = s->table[LTH__SIM_BASIS] = lth__alloc(side * side, real_size(s->precision));
    if (!table) return lth__fail_memory(err, side * side * real_size(s->precision));
    for (size_t i = 0; i < side; i++) {
        store(s, table, i * side + end, nothing);
        store(s, table, end * side + i, nothing);
    }
    return lth__parallel_for(ctx, "word similarities", count_jobs(s), NULL, fill_basis, s, err);
}

static void weigh_symbols(lth__similarity *s) {
    for (size_t i = 0; i < s->symbols - s->first; i++) {
        double sum = s->rarity + s->frequency[i];
        s->weight[i] = sum > 0 ? s->rarity / sum : 1;
        s->weight_slope[i] = sum > 0 && s->rarity > 0 ? s->frequency[i] / (s->rarity * sum) : 0;
    }
}

/* x becomes sqrt(relevance) x, of unit length unless sim is dot. */
static void weigh_vector(const lth__similarity *s, const double *root, size_t i) {
    const double *from = s->plain + i * s->dimension;
    double *to = s->vectors + i * s->dimension, norm = 0;
    for (size_t d = 0; d < s->dimension; d++) {
        to[d] = root[d] * from[d];
        norm += to[d] * to[d];
    }
    double scale = s->sim == LTH__SIM_DOT ? 1 : norm > 0 ? 1 / sqrt(norm) : 0;
    for (size_t d = 0; d < s->dimension; d++) to[d] *= scale;
    s->scale[i] = scale;
}

static lth_status weigh_dimensions(lth__similarity *s, const double *relevance, lth_error *err) {
    double *root = lth__alloc(s->dimension, sizeof *root);
    if (!root) return lth__fail_memory(err, s->dimension * sizeof *root);
    memcpy(s->relevance, relevance, s->dimension * sizeof *relevance);
    for (size_t d = 0; d < s->dimension; d++) root[d] = sqrt(relevance[d]);
    for (size_t i = 0; i < s->symbols - s->first; i++) weigh_vector(s, root, i);
    lth__free(root);
    return LTH_OK;
}

static void drop_tables(lth__similarity *s) {
    lth__free(s->dots);
    s->dots = NULL;
    for (int part = 0; part < LTH__SIM_PARTS; part++) {
        lth__free(s->table[part]);
        s->table[part] = NULL;
    }
}

/* The tables of the values; `relevance`: of other vectors than before. */
static lth_status make_values(lth_ctx *ctx, lth__similarity *s, bool relevance, lth_error *err) {
    if (!s->dots || relevance) LTH_TRY(find_dots(ctx, s, err));
    table_job job = {.s = s};
    LTH_TRY(lth__parallel_for(ctx, NULL, count_jobs(s), NULL, fill_rows, &job, err));
    if (!s->weight && !s->relevance && !lth__similarity_decays(s, NULL, NULL)) {
        lth__free(s->dots); /* never computed again */
        s->dots = NULL;
    }
    return LTH_OK;
}

/* `relevance` NULL = as before. */
static lth_status update(lth_ctx *ctx, lth__similarity *s, const double *relevance,
                         lth_error *err) {
    bool values = s->keeps & LTH__KEEPS_VALUES, basis = s->keeps & LTH__KEEPS_BASIS;
    if (s->weight) weigh_symbols(s);
    if (relevance) LTH_TRY(weigh_dimensions(s, relevance, err));
    if (s->by_tile) return LTH_OK;
    if (!s->table[LTH__SIM_VALUE] && !s->table[LTH__SIM_BASIS] && !fits_in_tables(s)) return LTH_OK;
    if (basis && !s->table[LTH__SIM_BASIS]) LTH_TRY(make_basis(ctx, s, err));
    return values ? make_values(ctx, s, relevance != NULL, err) : LTH_OK;
}

/* Both tables are in one order. */
void lth__similarity_keep(lth__similarity *s, unsigned keeps) {
    if ((s->keeps | keeps) == s->keeps) return;
    s->keeps |= keeps;
    s->temperature = NAN; /* so that they are made */
    drop_tables(s);
    for (size_t i = 0; i < s->symbols; i++) s->slot[i] = s->symbol_at[i] = (uint32_t)i;
}

static bool has_relevance(const lth__similarity *s, const double *relevance) {
    return !s->relevance || memcmp(s->relevance, relevance, s->dimension * sizeof *relevance) == 0;
}

bool lth__similarity_is_at(const lth__similarity *s, double temperature, double rarity,
                           const double *relevance) {
    return s->temperature == temperature && s->rarity == rarity && has_relevance(s, relevance);
}

lth_status lth__similarity_set(lth_ctx *ctx, lth__similarity *s, double temperature, double rarity,
                               const double *relevance, lth_error *err) {
    if (lth__similarity_is_at(s, temperature, rarity, relevance)) return LTH_OK;
    s->temperature = temperature;
    s->rarity = rarity;
    lth_status status = update(ctx, s, has_relevance(s, relevance) ? NULL : relevance, err);
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

/* As it is where dimensions are weighed: that comes before its length. */
static void copy_vector(const lth__similarity *s, const float *from, const double *centre,
                        double *to, bool *known) {
    double norm = 0;
    for (size_t i = 0; i < s->dimension; i++) {
        to[i] = (double)from[i] - (centre ? centre[i] : 0);
        norm += to[i] * to[i];
    }
    bool as_it_is = s->relevance || s->sim == LTH__SIM_DOT;
    double scale = as_it_is ? 1 : norm > 0 ? 1 / sqrt(norm) : 0;
    for (size_t i = 0; i < s->dimension; i++) to[i] *= scale;
    *known = norm > 0 || s->sim == LTH__SIM_DOT;
}

static const float *vector_of(const lth__similarity_def *def, lth__symbol symbol) {
    const float *own = lth__vectors_at(def->vectors, symbol);
    return own || !def->base_vectors ? own : lth__vectors_at(def->base_vectors, symbol);
}

static lth_status copy_vectors(lth__similarity *s, const lth__similarity_def *def, lth_error *err) {
    double *centre = NULL, *to = s->plain ? s->plain : s->vectors;
    if (s->sim == LTH__SIM_EXP) {
        centre = lth__alloc(s->dimension, sizeof *centre);
        if (!centre) return lth__fail_memory(err, 0);
        find_centre(def->base_vectors ? def->base_vectors : def->vectors, def->centre_rows, centre);
    }
    for (size_t i = s->first; i < s->symbols; i++) {
        const float *vector = vector_of(def, (lth__symbol)i);
        size_t at = i - s->first;
        if (vector) copy_vector(s, vector, centre, to + at * s->dimension, &s->known[at]);
    }
    lth__free(centre);
    return LTH_OK;
}

static lth_status copy_letters(lth__similarity *s, const lth__letter_distances *from,
                               lth_error *err) {
    size_t n = s->symbols - s->first;
    s->letters = *from;
    s->letters.number = NULL; /* the caller's */
    for (size_t i = 0; i < n; i++) s->known[i] = true;
    if (!from->distance) return LTH_OK;
    s->letter = lth__calloc(n, sizeof *s->letter);
    if (!s->letter) return lth__fail_memory(err, n * sizeof *s->letter);
    for (size_t i = 0; i < n; i++) {
        uint32_t number = from->number[s->first + i];
        s->known[i] = number != LTH__NO_LETTER_NUMBER;
        if (s->known[i]) s->letter[i] = number;
    }
    return LTH_OK;
}

static lth_status fill(lth__similarity *s, const lth__similarity_def *def, lth_error *err) {
    size_t n = s->symbols - s->first;
    s->vectors = lth__calloc(n * s->dimension, sizeof *s->vectors);
    s->known = lth__calloc(n, sizeof *s->known);
    s->slot = lth__alloc(s->symbols, sizeof *s->slot);
    s->symbol_at = lth__alloc(s->symbols, sizeof *s->symbol_at);
    bool ok = s->vectors && s->known && s->slot && s->symbol_at;
    if (def->uses_rarity) {
        s->frequency = lth__calloc(n, sizeof *s->frequency);
        s->weight = lth__alloc(n, sizeof *s->weight);
        s->weight_slope = lth__alloc(n, sizeof *s->weight_slope);
        ok = ok && s->frequency && s->weight && s->weight_slope;
    }
    if (def->weighs_dimensions) {
        s->plain = lth__calloc(n * s->dimension, sizeof *s->plain);
        s->scale = lth__alloc(n, sizeof *s->scale);
        s->relevance = lth__alloc(s->dimension, sizeof *s->relevance);
        ok = ok && s->plain && s->scale && s->relevance;
    }
    if (!ok) return lth__fail_memory(err, n * s->dimension * sizeof *s->vectors);
    for (size_t d = 0; s->relevance && d < s->dimension; d++) s->relevance[d] = NAN; /* not yet */
    for (size_t i = s->first; s->frequency && i < s->symbols && i < def->frequencies; i++)
        s->frequency[i - s->first] = def->frequency[i];
    bool ordered = def->symbol_at && s->keeps == LTH__KEEPS_BASIS;
    for (size_t i = 0; i < s->symbols; i++) {
        s->symbol_at[i] = ordered ? def->symbol_at[i] : (uint32_t)i;
        s->slot[s->symbol_at[i]] = (uint32_t)i;
    }
    if (def->sim == LTH__SIM_MATRIX) return copy_letters(s, &def->letters, err);
    return def->sim == LTH__SIM_EXACT ? LTH_OK : copy_vectors(s, def, err);
}

lth_status lth__similarity_create(lth_ctx *ctx, const lth__similarity_def *def,
                                  lth__similarity **out, lth_error *err) {
    lth__similarity *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    bool vectors = def->sim != LTH__SIM_EXACT && def->sim != LTH__SIM_MATRIX;
    size_t dimension = vectors ? def->vectors->dimension : 0;
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
                           .keeps = def->keeps ? def->keeps : LTH__KEEPS_VALUES,
                           .wanted = {true, def->learns_temperature && !def->weighs_dimensions,
                                      def->uses_rarity && !def->weighs_dimensions}};
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
    void *blocks[] = {s->vectors,   s->known, s->frequency, s->weight, s->letter,   s->weight_slope,
                      s->relevance, s->plain, s->scale,     s->slot,   s->symbol_at};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__free(s);
}
