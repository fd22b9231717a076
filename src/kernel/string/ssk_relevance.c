/* Derivatives of the string kernel by all parameters of its similarities, where every dimension of
 * the word vectors has one.
 *
 * A reverse pass tells what the value of a pair owes to the similarity of each two positions. Over
 * the pairs of a tile, with their weights W, this adds up to
 *
 *     G[unit of a row][symbol of the columns] = sum over pairs of W dk/dS
 *
 * which then meets the derivatives of the similarities, once for the tile and in products of
 * matrices (lth__similarity_pull). So a hundred parameters cost hardly more than one.
 */
#include <string.h>

#include "base/parallel.h"
#include "kernel/string/ssk.h"

enum {
    UNITS = 256,         /* of the rows that are summed together, or those of one row */
    NO_SLOT = UINT32_MAX /* of a symbol that the columns do not have                  */
};

/* Columns that go through the engine together, one in each lane. */
typedef struct group {
    size_t first, count; /* columns of the tile               */
    size_t width;        /* of the longest                    */
    uint32_t *t;         /* their symbols' slots, interleaved */
} group;

typedef struct reverse {
    const lth__ssk_state *st;
    const lth__ssk_config *config;
    const lth__sequences *rows, *cols;
    lth__similarity_slopes slopes; /* what was found       */
    uint32_t *slot;                /* [vocabulary]: place of a symbol among those of the columns */

    /* Of a tile: */
    uint32_t *symbols; /* of the columns, each once; slot `slots` is for padding */
    size_t slots;
    group *groups;
    size_t group_count;
    uint32_t *t; /* of all groups */

    /* Of some rows: */
    uint32_t *units; /* of one after the other */
    size_t unit_count;
    void *table; /* similarities, [unit][slot] */
    double *G;

    /* Of one row: */
    lth__ssk_job job;
    size_t scratch_size;
    uint32_t *s;
    double *weight; /* [order][lane] */
    double *row_G;
    const uint32_t *group_t;
} reverse;

static const lth__lanes *lanes_of(const reverse *x) {
    return x->st->plan.lanes;
}

static size_t stride_of(const reverse *x) {
    return x->slots + 1;
}

static lth_status open_reverse(reverse *x, const lth__node *node, const lth__eval *eval,
                               const lth__sequences *rows, const lth__sequences *cols,
                               lth_error *err) {
    const lth__ssk_state *st = eval->state[node->index];
    *x = (reverse){.st = st, .config = node->config, .rows = rows, .cols = cols};
    size_t vocabulary = st->plan.vocabulary, weights = st->plan.order * st->plan.lanes->lanes;
    x->slot = lth__alloc(vocabulary, sizeof *x->slot);
    x->weight = lth__alloc(weights, sizeof *x->weight);
    x->slopes.relevance = lth__alloc(x->config->dimensions, sizeof *x->slopes.relevance);
    if (!x->slot || !x->weight || !x->slopes.relevance)
        return lth__fail_memory(err, vocabulary * sizeof *x->slot);
    for (size_t i = 0; i < vocabulary; i++) x->slot[i] = NO_SLOT;
    return LTH_OK;
}

static void close_reverse(reverse *x) {
    void *blocks[] = {x->slot, x->weight, x->slopes.relevance, x->job.scratch};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

/* ---- The columns of a tile ---- */

static lth_status number_symbols(reverse *x, const lth__tile *tile, lth_error *err) {
    size_t units = 0, vocabulary = x->st->plan.vocabulary;
    for (size_t c = 0; c < tile->cols; c++) units += lth__sequence_length(x->cols, tile->col[c]);
    x->symbols = lth__alloc(units < vocabulary ? units : vocabulary, sizeof *x->symbols);
    if (!x->symbols) return lth__fail_memory(err, units * sizeof *x->symbols);
    for (size_t c = 0; c < tile->cols; c++) {
        const uint32_t *symbols = lth__sequence_symbols(x->cols, tile->col[c]);
        for (size_t k = 0; k < lth__sequence_length(x->cols, tile->col[c]); k++) {
            if (x->slot[symbols[k]] != NO_SLOT) continue;
            x->slot[symbols[k]] = (uint32_t)x->slots;
            x->symbols[x->slots++] = symbols[k];
        }
    }
    return LTH_OK;
}

static group group_at(const reverse *x, const lth__tile *tile, size_t first) {
    group g = {.first = first};
    for (; g.count < lanes_of(x)->lanes && first + g.count < tile->cols; g.count++) {
        size_t length = lth__sequence_length(x->cols, tile->col[first + g.count]);
        if (length > g.width) g.width = length;
    }
    return g;
}

static void interleave(const reverse *x, const lth__tile *tile, const group *g) {
    size_t lanes = lanes_of(x)->lanes;
    for (size_t lane = 0; lane < lanes; lane++) {
        size_t column = tile->col[g->first + (lane < g->count ? lane : 0)];
        size_t length = lane < g->count ? lth__sequence_length(x->cols, column) : 0;
        const uint32_t *symbols = lth__sequence_symbols(x->cols, column);
        for (size_t k = 0; k < g->width; k++)
            g->t[k * lanes + lane] = k < length ? x->slot[symbols[k]] : (uint32_t)x->slots;
    }
}

static lth_status group_columns(reverse *x, const lth__tile *tile, lth_error *err) {
    size_t lanes = lanes_of(x)->lanes, total = 0;
    x->group_count = (tile->cols + lanes - 1) / lanes;
    x->groups = lth__alloc(x->group_count, sizeof *x->groups);
    if (!x->groups) return lth__fail_memory(err, x->group_count * sizeof *x->groups);
    for (size_t g = 0; g < x->group_count; g++) {
        x->groups[g] = group_at(x, tile, g * lanes);
        total += x->groups[g].width * lanes;
    }
    x->t = lth__alloc(total, sizeof *x->t);
    if (!x->t) return lth__fail_memory(err, total * sizeof *x->t);
    uint32_t *t = x->t;
    for (size_t g = 0; g < x->group_count; g++) {
        x->groups[g].t = t;
        t += x->groups[g].width * lanes;
        interleave(x, tile, &x->groups[g]);
    }
    return LTH_OK;
}

static void close_tile(reverse *x) {
    for (size_t i = 0; x->symbols && i < x->slots; i++) x->slot[x->symbols[i]] = NO_SLOT;
    void *blocks[] = {x->symbols, x->groups, x->t};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    x->symbols = x->t = NULL;
    x->groups = NULL;
    x->slots = x->group_count = 0;
}

/* ---- One row ---- */

/* The column for padding gets what nobody reads. */
static void take_row(void *user, size_t j, const double *slope) {
    const reverse *x = user;
    double *G = x->row_G + j * stride_of(x);
    size_t count = x->job.cols * lanes_of(x)->lanes;
    for (size_t i = 0; i < count; i++) G[x->group_t[i]] += slope[i];
}

/* false when all of them are 0. */
static bool fill_weights(reverse *x, const group *g, const double *W) {
    size_t lanes = lanes_of(x)->lanes;
    bool any = false;
    for (size_t lane = 0; lane < lanes; lane++) {
        double w = lane < g->count ? W[g->first + lane] : 0;
        any |= w != 0;
        for (size_t i = 0; i < x->st->plan.order; i++)
            x->weight[i * lanes + lane] = w * x->st->nu[i];
    }
    return any;
}

/* Fewer columns may need more of it. */
static lth_status reserve_scratch(reverse *x, lth_error *err) {
    size_t need = lanes_of(x)->ssk_reverse_scratch(&x->job);
    if (need <= x->scratch_size && x->job.scratch) return LTH_OK;
    lth__free(x->job.scratch);
    x->job.scratch = lth__alloc(need, 1);
    x->scratch_size = x->job.scratch ? need : 0;
    return x->job.scratch ? LTH_OK : lth__fail_memory(err, need);
}

/* Row of `length` units, the first of which is unit `at` of the table. */
static lth_status reverse_row(reverse *x, size_t at, size_t length, const double *W,
                              lth_error *err) {
    const lth__lanes *lanes = lanes_of(x);
    size_t cells = at * stride_of(x);
    for (size_t i = 0; i < length * lanes->lanes; i++)
        x->s[i] = (uint32_t)(i / lanes->lanes * stride_of(x));
    x->row_G = x->G + cells;
    x->job = (lth__ssk_job){.order = x->st->plan.order,
                            .gap = x->st->plan.gap,
                            .rows = length,
                            .s = x->s,
                            .match = LTH__MATCH_TABLE,
                            .table = (const char *)x->table + cells * lanes->real_size,
                            .scratch = x->job.scratch,
                            .stops = lth__ssk_canceled,
                            .user = x->st->plan.ctx};
    for (size_t g = 0; g < x->group_count; g++) {
        const group *columns = &x->groups[g];
        if (columns->width == 0 || !fill_weights(x, columns, W)) continue;
        x->job.cols = columns->width;
        x->job.t = x->group_t = columns->t;
        LTH_TRY(reserve_scratch(x, err));
        if (!lanes->ssk_reverse(&x->job, x->weight, take_row, x)) return LTH_ECANCELED;
    }
    return LTH_OK;
}

/* ---- Some rows ---- */

/* As many as have UNITS units, and one at least; `longest` of them. */
static size_t gather_rows(reverse *x, const lth__tile *tile, size_t first, size_t *longest) {
    size_t count = 0;
    *longest = x->unit_count = 0;
    for (; first + count < tile->rows; count++) {
        size_t length = lth__sequence_length(x->rows, tile->row[first + count]);
        if (count > 0 && x->unit_count + length > UNITS) break;
        x->unit_count += length;
        if (length > *longest) *longest = length;
    }
    return count;
}

static void list_units(reverse *x, const lth__tile *tile, size_t first, size_t count) {
    uint32_t *to = x->units;
    for (size_t r = first; r < first + count; r++) {
        size_t length = lth__sequence_length(x->rows, tile->row[r]);
        if (length > 0)
            memcpy(to, lth__sequence_symbols(x->rows, tile->row[r]), length * sizeof *to);
        to += length;
    }
}

static lth_status allocate_rows(reverse *x, size_t longest, lth_error *err) {
    const lth__lanes *lanes = lanes_of(x);
    size_t cells = x->unit_count * stride_of(x);
    if (longest * stride_of(x) > INT32_MAX) /* the engine's offsets */
        return lth__fail(err, LTH_EUNSUPPORTED, "a text of %zu units is too long for ard", longest);
    x->units = lth__alloc(x->unit_count, sizeof *x->units);
    x->s = lth__alloc(longest * lanes->lanes, sizeof *x->s);
    x->table = lth__calloc(cells, lanes->real_size);
    x->G = lth__calloc(cells, sizeof *x->G);
    if (!x->units || !x->s || !x->table || !x->G)
        return lth__fail_memory(err, cells * (sizeof *x->G + lanes->real_size));
    return LTH_OK;
}

static void close_rows(reverse *x) {
    void *blocks[] = {x->units, x->s, x->table, x->G};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    x->units = x->s = NULL;
    x->table = x->G = NULL;
}

/* A unit's row of the table of all symbols, of which only those of the columns are taken. */
static void copy_row(const reverse *x, size_t unit) {
    const lth__similarity *sim = x->st->plan.similarity;
    const void *all = sim->table[LTH__SIM_VALUE];
    size_t from = x->units[unit] * (sim->symbols + 1), to = unit * stride_of(x);
    for (size_t k = 0; k < x->slots; k++) {
        if (sim->precision == LTH_F32)
            ((float *)x->table)[to + k] = ((const float *)all)[from + x->symbols[k]];
        else
            ((double *)x->table)[to + k] = ((const double *)all)[from + x->symbols[k]];
    }
}

static lth_status fill_table(reverse *x, lth_error *err) {
    const lth__similarity *sim = x->st->plan.similarity;
    if (!sim->table[LTH__SIM_VALUE])
        return lth__similarity_tile(sim, LTH__SIM_VALUE, x->units, x->unit_count, x->symbols,
                                    x->slots, x->table, stride_of(x), err);
    for (size_t i = 0; i < x->unit_count; i++) copy_row(x, i);
    return LTH_OK;
}

static lth_status reverse_rows(reverse *x, const lth__tile *tile, const double *W, size_t first,
                               size_t count, lth_error *err) {
    list_units(x, tile, first, count);
    LTH_TRY(fill_table(x, err));
    for (size_t r = first, at = 0, length; r < first + count; r++, at += length) {
        length = lth__sequence_length(x->rows, tile->row[r]);
        if (length > 0) LTH_TRY(reverse_row(x, at, length, W + r * tile->cols, err));
        LTH_TRY(lth__parallel_ask(x->st->plan.ctx));
    }
    return lth__similarity_pull(x->st->plan.similarity, x->units, x->unit_count, x->symbols,
                                x->slots, x->table, x->G, stride_of(x), &x->slopes, err);
}

/* ---- Tiles ---- */

static lth_status reverse_columns(reverse *x, const lth__tile *tile, const double *W,
                                  lth_error *err) {
    LTH_TRY(number_symbols(x, tile, err));
    LTH_TRY(group_columns(x, tile, err));
    for (size_t first = 0, count, longest; first < tile->rows && x->slots > 0; first += count) {
        count = gather_rows(x, tile, first, &longest);
        if (longest == 0) continue;
        lth_status status = allocate_rows(x, longest, err);
        if (status == LTH_OK) status = reverse_rows(x, tile, W, first, count, err);
        close_rows(x);
        LTH_TRY(status);
    }
    return LTH_OK;
}

/* Leaves the sums over the tile in x->slopes. */
static lth_status reverse_tile(reverse *x, const lth__tile *tile, const double *W, lth_error *err) {
    x->slopes.temperature = x->slopes.rarity = 0;
    memset(x->slopes.relevance, 0, x->config->dimensions * sizeof *x->slopes.relevance);
    lth_status status = reverse_columns(x, tile, W, err);
    close_tile(x);
    return status;
}

/* The i-th of what was found, and its parameter; false past the last. */
static bool slope_at(const reverse *x, size_t i, size_t *param, double *slope) {
    const lth__ssk_config *c = x->config;
    *param = c->relevance + i;
    *slope = i < c->dimensions ? x->slopes.relevance[i] : 0;
    if (i == c->dimensions) *param = c->temperature, *slope = x->slopes.temperature;
    if (i == c->dimensions + 1) *param = c->rarity, *slope = x->slopes.rarity;
    return i < c->dimensions + 2;
}

static void put_slopes(const reverse *x, size_t first_param, size_t pair, const lth__sink *sink) {
    size_t param;
    double slope;
    for (size_t i = 0; slope_at(x, i, &param, &slope); i++) {
        if (param > 0) lth__sink_add(sink, first_param + param, pair, slope);
    }
}

static lth_status pull_pairs(reverse *x, const lth__node *node, const lth__tile *tile,
                             const double *W, const lth__sink *sink, lth_error *err) {
    for (size_t pair = 0; pair < sink->pairs; pair++) {
        lth__tile one = {.row = &tile->row[pair / tile->cols],
                         .col = &tile->col[pair % tile->cols],
                         .rows = 1,
                         .cols = 1};
        LTH_TRY(reverse_tile(x, &one, &W[pair], err));
        put_slopes(x, node->first_param, pair, sink);
    }
    return LTH_OK;
}

lth_status lth__ssk_pull_relevance(const lth__node *node, const lth__eval *eval,
                                   const lth__tile *tile, const double *W, const lth__sink *sink,
                                   lth_error *err) {
    const lth__ssk_plan *plan = &((const lth__ssk_state *)eval->state[node->index])->plan;
    reverse x;
    lth_status status = open_reverse(&x, node, eval, plan->rows, plan->cols, err);
    if (status == LTH_OK && sink->each) {
        status = pull_pairs(&x, node, tile, W, sink, err);
    } else if (status == LTH_OK) {
        status = reverse_tile(&x, tile, W, err);
        if (status == LTH_OK) put_slopes(&x, node->first_param, 0, sink);
    }
    close_reverse(&x);
    return status;
}

/* ---- Self-similarities ---- */

enum { ITEMS_TO_A_JOB = 64 };

typedef struct diagonal_job {
    const lth__node *node;
    const lth__eval *eval;
    const lth__sequences *sequences;
    double *slope;
} diagonal_job;

/* One pair of the item with itself. */
static lth_status reverse_item(reverse *x, const diagonal_job *s, size_t i, lth_error *err) {
    const double one = 1;
    uint32_t item = (uint32_t)i;
    lth__tile self = {.row = &item, .col = &item, .rows = 1, .cols = 1};
    LTH_TRY(reverse_tile(x, &self, &one, err));
    size_t param, count = s->sequences->count;
    double slope;
    for (size_t k = 0; slope_at(x, k, &param, &slope); k++) {
        if (param > 0) s->slope[(s->node->first_param + param) * count + i] = slope;
    }
    return LTH_OK;
}

static lth_status reverse_items(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const diagonal_job *s = user;
    size_t first = index * ITEMS_TO_A_JOB, last = first + ITEMS_TO_A_JOB;
    if (last > s->sequences->count) last = s->sequences->count;
    reverse x;
    lth_status status = open_reverse(&x, s->node, s->eval, s->sequences, s->sequences, err);
    for (size_t i = first; i < last && status == LTH_OK; i++) status = reverse_item(&x, s, i, err);
    close_reverse(&x);
    return status;
}

lth_status lth__ssk_diagonal_relevance(const lth__node *node, const lth__eval *eval,
                                       const lth_items *items, double *slope, lth_error *err) {
    diagonal_job s = {
        .node = node, .eval = eval, .sequences = &items->fields[node->field], .slope = slope};
    size_t jobs = (items->count + ITEMS_TO_A_JOB - 1) / ITEMS_TO_A_JOB;
    return lth__parallel_for(eval->ctx, "self-similarities", jobs, NULL, reverse_items, &s, err);
}
