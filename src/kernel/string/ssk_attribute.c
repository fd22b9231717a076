/* What the string kernel of two texts owes to each position of the first.
 *
 * k_i is homogeneous of degree i in the similarities S of positions, so by Euler's identity
 *
 *     k_i = sum_j C_ij      C_ij = (1/i) sum_k S_jk dk_i/dS_jk
 *
 * where C_ij gives position j its even share of every common subsequence that it is part of. One
 * reverse pass with the weights W_i nu_i / i gives the sum over all orders.
 */
#include <string.h>

#include "kernel/string/ssk.h"

lth_status lth__ssk_tile_degrees(const lth__node *node, const lth__eval *eval,
                                 const lth__tile *tile, double *K, lth_error *err) {
    const lth__ssk_state *st = eval->state[node->index];
    size_t pairs = tile->rows * tile->cols;
    LTH_TRY(node->family->tile_orders(node, eval, tile, K, err));
    for (size_t i = 0; i < st->plan.order; i++) {
        double weight = st->match_power[i] > 0 ? st->nu[i] / st->match_power[i] : 0;
        for (size_t n = 0; n < pairs; n++) K[i * pairs + n] *= weight;
    }
    return LTH_OK;
}

void lth__ssk_subsequence_weights(const lth__node *node, const lth__eval *eval, double *gap,
                                  double *nu) {
    const lth__ssk_state *st = eval->state[node->index];
    *gap = st->plan.gap;
    memcpy(nu, st->nu, st->plan.order * sizeof *nu);
}

/* ---- Patterns ---- */

static void take_patterns(const lth__ssk_state *st, const lth__pattern *pattern, size_t count,
                          const lth__ssk_column *column, size_t columns, double *value, double *K) {
    size_t lanes = st->plan.lanes->lanes;
    for (size_t i = 0; i < count; i++) { /* multiplied as in lth__ssk_tile_degrees() */
        double power = st->match_power[pattern[i].units - 1];
        double weight = power > 0 ? st->nu[pattern[i].units - 1] / power : 0;
        for (size_t lane = 0; lane < lanes; lane++)
            value[i * lanes + lane] = power * value[i * lanes + lane] * weight;
    }
    for (size_t lane = 0; lane < columns; lane++) {
        double *to = K + column[lane].index * count;
        for (size_t i = 0; i < count; i++) to[i] = value[i * lanes + lane];
    }
}

lth_status lth__ssk_patterns(const lth__node *node, const lth__eval *eval,
                             const lth__pattern *pattern, size_t count, double *K, bool *able,
                             lth_error *err) {
    const lth__ssk_state *st = eval->state[node->index];
    const lth__ssk_groups *g = st->plan.groups;
    const lth__lanes *lanes = st->plan.lanes;
    *able = g != NULL;
    if (!g || g->columns == 0) return LTH_OK;
    size_t longest = g->column[0].length;
    double *value = lth__alloc(count * lanes->lanes, sizeof *value);
    lth__pattern_job job = {.pattern = pattern,
                            .count = count,
                            .order = st->plan.order,
                            .gap = st->plan.gap,
                            .scratch = lth__alloc(lanes->patterns_scratch(longest), 1)};
    bool room = value && job.scratch;
    for (size_t n = 0; n < g->count && room; n++) {
        const lth__ssk_column *column = g->column + g->first[n];
        job.cols = column[0].length;
        job.t = g->t + g->start[n];
        lanes->patterns(&job, value);
        take_patterns(st, pattern, count, column, g->first[n + 1] - g->first[n], value, K);
    }
    lth__free(value);
    lth__free(job.scratch);
    return room ? LTH_OK : lth__fail_memory(err, lanes->patterns_scratch(longest));
}

/* ---- Parts ---- */

/* A group of columns, one in each lane, against the row. */
typedef struct group {
    const lth__ssk_plan *plan;
    const lth__symbol *row;
    size_t length; /* of the row           */
    lth__ssk_job job;
    size_t scratch_size;
    uint32_t *s, *t;     /* interleaved          */
    lth__symbol *others; /* the columns' symbols */
    void *table;         /* similarities of the row's positions with those of the columns */
    double *weight;
    double *share;
} group;

static void free_group(group *g) {
    void *blocks[] = {g->s, g->t, g->others, g->table, g->weight, g->job.scratch};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

static double similarity_at(const group *g, size_t j, size_t at) {
    uint32_t s = g->s[j * g->plan->lanes->lanes], t = g->t[at];
    size_t cell = (size_t)s + t;
    bool single = g->plan->similarity->precision == LTH_F32;
    return single ? (double)((const float *)g->table)[cell] : ((const double *)g->table)[cell];
}

/* Without a table, a place where the symbols are equal has the similarity 1. */
static double sum_equal(const group *g, size_t j, const double *slope) {
    size_t lanes = g->plan->lanes->lanes;
    uint32_t s = g->s[j * lanes];
    double sum = 0;
    for (size_t at = 0; at < g->job.cols * lanes; at++) {
        if (g->t[at] == s) sum += slope[at];
    }
    return sum;
}

static void take_row(void *user, size_t j, const double *slope) {
    const group *g = user;
    double sum = 0;
    if (!g->table) {
        g->share[j] += sum_equal(g, j, slope);
        return;
    }
    for (size_t at = 0; at < g->job.cols * g->plan->lanes->lanes; at++) {
        double s = similarity_at(g, j, at);
        if (s != 0) sum += s * slope[at];
    }
    g->share[j] += sum;
}

/* Similarities of every position of the row with every position of the columns, and a column of
 * zeros for padding. */
static lth_status fill_table(group *g, size_t units, lth_error *err) {
    size_t ld = units + 1, cells = g->length * ld;
    if (cells > INT32_MAX) return lth__fail(err, LTH_EUNSUPPORTED, "a text is too long to explain");
    lth__free(g->table);
    g->table = lth__calloc(cells, g->plan->lanes->real_size);
    if (!g->table) return lth__fail_memory(err, cells * g->plan->lanes->real_size);
    return lth__similarity_tile(g->plan->similarity, LTH__SIM_VALUE, g->row, g->length, g->others,
                                units, g->table, ld, err);
}

static lth_status fill_lanes(group *g, const lth__tile *tile, size_t first, size_t count,
                             lth_error *err) {
    const lth__ssk_plan *plan = g->plan;
    size_t lanes = plan->lanes->lanes, units = 0, start[LTH__MAX_LANES];
    for (size_t lane = 0; lane < count; lane++) {
        size_t c = tile->col[first + lane], length = lth__sequence_length(plan->cols, c);
        start[lane] = units;
        if (length > 0)
            memcpy(g->others + units, lth__sequence_symbols(plan->cols, c),
                   length * sizeof *g->others);
        units += length;
    }
    uint32_t stride = plan->similarity ? (uint32_t)units + 1 : 0;
    if (plan->similarity) LTH_TRY(fill_table(g, units, err));
    for (size_t j = 0; j < g->length * lanes; j++)
        g->s[j] = stride > 0 ? (uint32_t)(j / lanes) * stride : g->row[j / lanes];
    for (size_t lane = 0; lane < lanes; lane++) {
        size_t length =
            lane < count ? lth__sequence_length(plan->cols, tile->col[first + lane]) : 0;
        for (size_t k = 0; k < g->job.cols; k++) {
            uint32_t pad = stride > 0 ? (uint32_t)units : LTH__PAD_T;
            uint32_t own = 0;
            if (k < length)
                own = stride > 0 ? (uint32_t)(start[lane] + k) : g->others[start[lane] + k];
            g->t[k * lanes + lane] = k < length ? own : pad;
        }
    }
    g->job.s = g->s;
    g->job.t = g->t;
    g->job.table = g->table;
    return LTH_OK;
}

/* false when all of them are 0. */
static bool fill_weights(group *g, const lth__ssk_state *st, const double *W, size_t cols,
                         size_t first, size_t count) {
    size_t lanes = st->plan.lanes->lanes;
    bool any = false;
    memset(g->weight, 0, st->plan.order * lanes * sizeof *g->weight);
    for (size_t i = 0; i < st->plan.order; i++) {
        for (size_t lane = 0; lane < count; lane++) {
            double w = W[i * cols + first + lane] * st->nu[i] / (double)(i + 1);
            g->weight[i * lanes + lane] = w;
            any |= w != 0;
        }
    }
    return any;
}

static lth_status allocate(group *g, size_t longest, lth_error *err) {
    const lth__ssk_plan *plan = g->plan;
    size_t lanes = plan->lanes->lanes;
    g->job = (lth__ssk_job){.order = plan->order,
                            .gap = plan->gap,
                            .rows = g->length,
                            .cols = longest,
                            .match = plan->similarity ? LTH__MATCH_TABLE : LTH__MATCH_EXACT,
                            .stops = lth__ssk_canceled,
                            .user = plan->ctx};
    g->s = lth__alloc(g->length * lanes, sizeof *g->s);
    g->t = lth__alloc(longest * lanes, sizeof *g->t);
    g->others = lth__alloc(longest * lanes, sizeof *g->others);
    g->weight = lth__alloc(plan->order * lanes, sizeof *g->weight);
    bool ok = g->s && g->t && g->others && g->weight;
    return ok ? LTH_OK : lth__fail_memory(err, longest * lanes * sizeof *g->s);
}

/* Fewer columns may need more of it. */
static lth_status reserve_scratch(group *g, lth_error *err) {
    size_t need = g->plan->lanes->ssk_reverse_scratch(&g->job);
    if (need <= g->scratch_size && g->job.scratch) return LTH_OK;
    lth__free(g->job.scratch);
    g->job.scratch = lth__alloc(need, 1);
    g->scratch_size = g->job.scratch ? need : 0;
    return g->job.scratch ? LTH_OK : lth__fail_memory(err, need);
}

static size_t longest_of(const lth__ssk_plan *plan, const lth__tile *tile, size_t first,
                         size_t count) {
    size_t longest = 0;
    for (size_t c = first; c < first + count; c++) {
        size_t length = lth__sequence_length(plan->cols, tile->col[c]);
        if (length > longest) longest = length;
    }
    return longest;
}

static lth_status attribute_groups(group *g, const lth__ssk_state *st, const lth__tile *tile,
                                   const double *W, lth_error *err) {
    size_t lanes = st->plan.lanes->lanes;
    for (size_t first = 0; first < tile->cols; first += lanes) {
        size_t count = tile->cols - first < lanes ? tile->cols - first : lanes;
        g->job.cols = longest_of(&st->plan, tile, first, count);
        if (g->job.cols == 0 || !fill_weights(g, st, W, tile->cols, first, count)) continue;
        LTH_TRY(fill_lanes(g, tile, first, count, err));
        LTH_TRY(reserve_scratch(g, err));
        if (!st->plan.lanes->ssk_reverse(&g->job, g->weight, take_row, g)) return LTH_ECANCELED;
    }
    return LTH_OK;
}

lth_status lth__ssk_attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              const double *W, double *share, lth_error *err) {
    const lth__ssk_state *st = eval->state[node->index];
    group g = {.plan = &st->plan,
               .row = lth__sequence_symbols(st->plan.rows, tile->row[0]),
               .length = lth__sequence_length(st->plan.rows, tile->row[0]),
               .share = share};
    size_t longest = longest_of(&st->plan, tile, 0, tile->cols);
    if (g.length == 0 || longest == 0) return LTH_OK;
    lth_status status = allocate(&g, longest, err);
    if (status == LTH_OK) status = attribute_groups(&g, st, tile, W, err);
    free_group(&g);
    return status;
}
