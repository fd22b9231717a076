/* ssk: the gap-weighted string subsequence kernel.
 *
 *     k_i(s,t) = sum over index tuples I in s, J in t, |I| = |J| = i, of
 *                match^(2i) gap^(span(I) + span(J) - 2i) prod sim(s_I, t_J)
 *     k = sum_i weights_i k_i
 *
 * The engine computes all k_i of a pair in one pass, for match = 1. With nu_i = weights_i
 * match^(2i):
 *
 *     dk/dgap = sum_i nu_i dk_i/dgap      dk/dweights_i = match^(2i) k_i
 *     dk/dmatch = sum_i weights_i 2i match^(2i-1) k_i
 *
 * match and weights together have one flat direction, so match is held unless the expression gives
 * it.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/parallel.h"
#include "kernel/string/ssk.h"

/* ---- State ---- */

static lth_status read_relevance(const lth__node *node, const lth__eval *eval, lth__ssk_state *st,
                                 lth_error *err) {
    const lth__ssk_config *c = node->config;
    if (!c->dimensions) return LTH_OK;
    st->relevance = lth__alloc(c->dimensions, sizeof *st->relevance);
    if (!st->relevance) return lth__fail_memory(err, c->dimensions * sizeof *st->relevance);
    for (size_t d = 0; d < c->dimensions; d++)
        st->relevance[d] = lth__node_value(node, eval, c->relevance + d);
    return LTH_OK;
}

static void read_parameters(const lth__node *node, const lth__eval *eval, lth__ssk_state *st) {
    const lth__ssk_config *c = node->config;
    double match = lth__node_value(node, eval, LTH__SSK_MATCH);
    st->plan.order = c->order;
    st->plan.nu = st->nu;
    st->plan.by[LTH__ALONG_GAP] = true;
    st->plan.by[LTH__ALONG_TEMPERATURE] = c->temperature && !c->dimensions;
    st->plan.by[LTH__ALONG_RARITY] = c->rarity && !c->dimensions;
    st->plan.gap = lth__node_value(node, eval, LTH__SSK_GAP);
    for (size_t i = 0; i < c->order; i++) {
        double weight = lth__node_value(node, eval, LTH__SSK_WEIGHTS + i),
               twice = 2 * (double)(i + 1);
        st->match_power[i] = pow(match, twice);
        st->nu[i] = weight * st->match_power[i];
        st->dnu[i] = weight * twice * pow(match, twice - 1);
    }
}

/* Short strings are matched by what similarities are made of, which does not change; a device, long
 * strings, and what weighs dimensions read the similarities themselves. */
static unsigned kept_tables(const lth__eval *eval, const lth__ssk_state *st) {
    bool brief = st->plan.rows->longest <= LTH__SHORT && st->plan.cols->longest <= LTH__SHORT;
    if (st->relevance || eval->device) return LTH__KEEPS_VALUES;
    return brief ? LTH__KEEPS_BASIS : LTH__KEEPS_BASIS | LTH__KEEPS_VALUES;
}

/* Left as it is where units must be equal. */
static lth_status find_similarity(const lth__node *node, const lth__eval *eval, lth__ssk_state *st,
                                  lth_error *err) {
    const lth__ssk_config *c = node->config;
    if (c->sim == LTH__SIM_EXACT && !c->rarity) return LTH_OK;
    lth__matching matching = {.sim = c->sim,
                              .oov = c->oov,
                              .learns_temperature = c->temperature > 0,
                              .uses_rarity = c->rarity > 0,
                              .temperature = 1,
                              .relevance = st->relevance,
                              .dimensions = c->dimensions};
    matching.keeps = kept_tables(eval, st);
    if (c->temperature) matching.temperature = lth__node_value(node, eval, c->temperature);
    if (c->rarity) matching.rarity = lth__node_value(node, eval, c->rarity);
    uint32_t *number = NULL;
    if (c->sim == LTH__SIM_MATRIX)
        LTH_TRY(lth__ssk_letters(node, eval, &number, &matching.letters, err));
    lth_status status = lth__words_similarity(node, eval, matching, &st->plan.similarity, err);
    lth__free(number);
    st->plan.brief = !st->relevance && !eval->device;
    return status;
}

/* gap^d for every distance in the data, with 0^0 = 1, and the derivatives d gap^(d-1). */
static lth_status make_powers(lth__ssk_plan *plan, lth_error *err) {
    size_t count = plan->rows->longest + plan->cols->longest + 2;
    plan->power = lth__alloc(count, sizeof *plan->power);
    plan->power_slope = lth__alloc(count, sizeof *plan->power_slope);
    if (!plan->power || !plan->power_slope)
        return lth__fail_memory(err, 2 * count * sizeof(double));
    plan->power[0] = 1;
    plan->power_slope[0] = 0;
    for (size_t d = 1; d < count; d++) {
        plan->power[d] = plan->power[d - 1] * plan->gap;
        plan->power_slope[d] = (double)d * plan->power[d - 1];
    }
    return LTH_OK;
}

static lth_status choose_dropping(const lth__eval *eval, lth__ssk_plan *plan, lth_error *err) {
    lth_dropping wish = eval->ctx->options.dropping;
    bool possible = !plan->similarity && plan->rows->count > 0 && plan->cols->count > 0;
    if (!possible || wish == LTH_DROP_OFF) return LTH_OK;
    LTH_TRY(make_powers(plan, err));
    if (wish == LTH_DROP_AUTO) return lth__ssk_dropping_pays(plan, &plan->dropping, err);
    plan->dropping = true;
    return LTH_OK;
}

static void release(void *p) {
    lth__ssk_state *st = p;
    lth__free(st->plan.power);
    lth__free(st->plan.power_slope);
    lth__ssk_postings_free(&st->postings);
    lth__ssk_groups_free(&st->groups);
    lth__free(st->relevance);
    lth__free(st);
}

/* What is made once of columns that are compared with many rows, one after the other. */
static lth_status make_kept(lth__ssk_state *st, lth_error *err) {
    const lth__ssk_plan *plan = &st->plan;
    LTH_TRY(lth__ssk_postings_make(plan->rows, plan->vocabulary, &st->postings, err));
    return lth__ssk_groups_make(plan, NULL, plan->cols->count, NULL, LTH__PAD_T, &st->groups, err);
}

static void borrow(lth__ssk_plan *plan, const lth__ssk_state *kept) {
    if (!kept || !kept->postings.start) return;
    plan->postings = &kept->postings;
    if (kept->groups.lanes == plan->lanes && kept->groups.order == plan->order)
        plan->groups = &kept->groups;
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    lth__ssk_state *st = lth__calloc(1, sizeof *st);
    if (!st) return lth__fail_memory(err, sizeof *st);
    st->plan = (lth__ssk_plan){
        .ctx = eval->ctx,
        .lanes = eval->ctx->engine->lanes[eval->ctx->options.precision],
        .vocabulary = lth__symbols_count(eval->rows->encoder->lexicons[node->field].symbols),
        .rows = &eval->rows->fields[node->field],
        .cols = &eval->cols->fields[node->field],
    };
    read_parameters(node, eval, st);
    lth_status status = read_relevance(node, eval, st, err);
    if (status == LTH_OK) status = find_similarity(node, eval, st, err);
    borrow(&st->plan, lth__kept_state(node, eval));
    if (status == LTH_OK && !eval->keeps)
        status = choose_dropping(eval, &st->plan, err);
    else if (status == LTH_OK && !st->plan.similarity)
        status = make_kept(st, err);
    eval->by_size |= !st->plan.dropping; /* for the lanes of a vector */
    if (status == LTH_OK)
        *out = st;
    else
        release(st);
    return status;
}

/* ---- Derivatives: by gap and by each parameter of the similarities, unless these are so many that
 * a reverse pass over all of W serves them better (ssk_relevance.c) ---- */

size_t lth__ssk_directions(const lth__ssk_config *c, lth__ssk_direction out[LTH__ALONG]) {
    size_t count = 0;
    out[count++] = (lth__ssk_direction){LTH__ALONG_GAP, LTH__SSK_GAP};
    if (c->dimensions) return count;
    if (c->temperature) out[count++] = (lth__ssk_direction){LTH__ALONG_TEMPERATURE, c->temperature};
    if (c->rarity) out[count++] = (lth__ssk_direction){LTH__ALONG_RARITY, c->rarity};
    return count;
}

static lth__ssk_plan plan_with_slopes(const lth__ssk_plan *plan, bool slopes) {
    lth__ssk_plan p = *plan;
    p.slopes = slopes;
    return p;
}

/* ---- What becomes of the results of a pair ---- */

typedef struct target {
    const lth__ssk_state *st;
    const lth__node *node;
    const double *W;       /* pull: weights            */
    double *K;             /* values; may be NULL      */
    const lth__sink *sink; /* pull                     */
    double *slope;         /* diagonal: derivatives    */
    size_t pairs;          /* in the tile or diagonal  */
    size_t count;          /* of the directions        */
    lth__ssk_direction direction[LTH__ALONG];
} target;

/* Where the results of the n-th pair begin, and how far apart they are. */
static const double *results_at(const double *x, size_t n, size_t stride) {
    return stride == 0 ? x : x + n;
}

static size_t step_of(size_t stride) {
    return stride == 0 ? 1 : stride;
}

static void take_values(void *user, const size_t *pair, size_t count, size_t stride,
                        const double *value, const double *slope) {
    (void)slope;
    const target *t = user;
    const double *nu = t->st->nu;
    if (stride == 0) {
        double same = lth__ssk_weigh(nu, t->st->plan.order, value, 1);
        for (size_t n = 0; n < count; n++) t->K[pair[n]] = same;
        return;
    }
    for (size_t n = 0; n < count; n++)
        t->K[pair[n]] = lth__ssk_weigh(nu, t->st->plan.order, value + n, stride);
}

static void take_orders(void *user, const size_t *pair, size_t count, size_t stride,
                        const double *value, const double *slope) {
    (void)slope;
    const target *t = user;
    for (size_t n = 0; n < count; n++) {
        const double *x = results_at(value, n, stride);
        for (size_t i = 0; i < t->st->plan.order; i++)
            t->K[i * t->pairs + pair[n]] = t->st->match_power[i] * x[i * step_of(stride)];
    }
}

static void take_pull(void *user, const size_t *pair, size_t count, size_t stride,
                      const double *value, const double *slope) {
    const target *t = user;
    const lth__ssk_state *st = t->st;
    size_t order = st->plan.order, first = t->node->first_param, step = step_of(stride);
    for (size_t n = 0; n < count; n++) {
        double w = t->W[pair[n]];
        const double *x = results_at(value, n, stride), *dx = results_at(slope, n, stride);
        if (t->K) t->K[pair[n]] = lth__ssk_weigh(st->nu, order, x, step);
        if (w == 0) continue;
        for (size_t d = 0; d < t->count; d++)
            lth__sink_add(t->sink, first + t->direction[d].param, pair[n],
                          w * dx[t->direction[d].along * step]);
        lth__sink_add(t->sink, first + LTH__SSK_MATCH, pair[n],
                      w * lth__ssk_weigh(st->dnu, order, x, step));
        for (size_t i = 0; i < order; i++) {
            lth__sink_add(t->sink, first + LTH__SSK_WEIGHTS + i, pair[n],
                          w * st->match_power[i] * x[i * step]);
        }
    }
}

static void take_diagonal(void *user, const size_t *pair, size_t count, size_t stride,
                          const double *value, const double *slope) {
    const target *t = user;
    const lth__ssk_state *st = t->st;
    size_t order = st->plan.order;
    for (size_t n = 0; n < count; n++) {
        size_t item = pair[n];
        t->K[item] = lth__ssk_weigh(st->nu, order, value + n, stride);
        if (!t->slope) continue;
        double *own = t->slope + t->node->first_param * t->pairs + item;
        for (size_t d = 0; d < t->count; d++)
            own[t->direction[d].param * t->pairs] = slope[t->direction[d].along * stride + n];
        own[LTH__SSK_MATCH * t->pairs] = lth__ssk_weigh(st->dnu, order, value + n, stride);
        for (size_t i = 0; i < order; i++)
            own[(LTH__SSK_WEIGHTS + i) * t->pairs] = st->match_power[i] * value[i * stride + n];
    }
}

/* ---- The memo: k_i of every pair, which weights and match do not change, and the derivatives of K
 * by the parameters that do ---- */

static void copy_plane(const size_t *pair, size_t count, bool neighbours, const double *from,
                       double *to) {
    enum { USUAL = 8 };
    if (neighbours && count == USUAL)
        memcpy(to + pair[0], from, USUAL * sizeof *to);
    else
        for (size_t n = 0; n < count; n++) to[pair[n]] = from[n];
}

/* Planes 0 .. n-1 are the values, then one for each direction; K, if it is wanted now, after all.
 */
static void take_planes(void *user, const size_t *pair, size_t count, size_t stride,
                        const double *value, const double *slope) {
    const target *t = user;
    size_t order = t->st->plan.order, n = 1;
    double *planes = t->slope, *slopes = planes + order * t->pairs;
    while (n < count && pair[n] == pair[0] + n) n++;
    for (size_t i = 0; i < order; i++)
        copy_plane(pair, count, n == count, value + i * stride, planes + i * t->pairs);
    for (size_t d = 0; d < t->count; d++)
        copy_plane(pair, count, n == count, slope + t->direction[d].along * stride,
                   slopes + d * t->pairs);
    if (t->K) take_values(user, pair, count, stride, value, slope);
}

/* A number that tells weights of dimensions apart. */
static double hash_relevance(const lth__similarity *sim) {
    if (!sim->relevance) return 0;
    uint64_t hash = lth__hash(0, sim->relevance, sim->dimension * sizeof *sim->relevance);
    return (double)(hash >> 11); /* as many bits as a double has */
}

/* The derivatives depend on the orders' weights too. */
static void memo_key(const lth__ssk_state *st, size_t directions, double key[LTH__MEMO_KEYS]) {
    const lth__similarity *sim = st->plan.similarity;
    uint64_t weights = lth__hash(0, st->nu, st->plan.order * sizeof *st->nu);
    key[4] = directions > 0 ? (double)(weights >> 11) : 0;
    key[0] = st->plan.gap;
    key[1] = sim ? sim->temperature : 0;
    key[2] = sim ? sim->rarity : 0;
    key[3] = sim ? hash_relevance(sim) : 0;
}

/* Pairs with an empty string are not compared, and stay as they were. */
static bool has_empty(const lth__ssk_plan *plan, const lth__tile *tile) {
    bool empty = false;
    for (size_t r = 0; r < tile->rows; r++)
        empty |= lth__sequence_length(plan->rows, tile->row[r]) == 0;
    for (size_t c = 0; c < tile->cols; c++)
        empty |= lth__sequence_length(plan->cols, tile->col[c]) == 0;
    return empty;
}

/* The directions that the memo has: none where they are all held, as then nobody asks for them. */
static size_t kept_directions(const lth__node *node, const lth__eval *eval,
                              lth__ssk_direction out[LTH__ALONG]) {
    size_t count = lth__ssk_directions(node->config, out);
    bool held = true;
    for (size_t d = 0; d < count; d++)
        held = held && eval->kernel->params[node->first_param + out[d].param].held;
    return held ? 0 : count;
}

/* K = sum_i nu_i planes_i */
static void weigh_planes(const lth__ssk_state *st, const double *planes, size_t pairs, double *K) {
    for (size_t n = 0; n < pairs; n++) K[n] = st->nu[0] * planes[n];
    for (size_t i = 1; i < st->plan.order; i++) {
        for (size_t n = 0; n < pairs; n++) K[n] += st->nu[i] * planes[i * pairs + n];
    }
}

/* The planes of a tile at the present values, or NULL when nothing is kept; and K, if not NULL. */
static lth_status find_planes(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, const double **out, lth_error *err) {
    const lth__ssk_state *st = eval->state[node->index];
    lth__memo *memo = eval->memo ? &eval->memo[node->index] : NULL;
    *out = NULL;
    if (!memo || !memo->planes) return LTH_OK;
    double *planes = memo->planes + tile->first_pair * memo->plane_count;
    double key[LTH__MEMO_KEYS], *kept = memo->key + tile->index * LTH__MEMO_KEYS;
    target t = {.st = st, .K = K, .slope = planes, .pairs = tile->rows * tile->cols};
    t.count = kept_directions(node, eval, t.direction);
    memo_key(st, t.count, key);
    if (memcmp(kept, key, sizeof key) != 0) {
        lth__ssk_plan plan = plan_with_slopes(&st->plan, t.count > 0);
        bool empty = has_empty(&st->plan, tile);
        kept[0] = NAN; /* should this fail */
        if (empty) memset(planes, 0, memo->plane_count * t.pairs * sizeof *planes);
        if (empty && K) memset(K, 0, t.pairs * sizeof *K);
        LTH_TRY(lth__ssk_compare_tile(&plan, tile, take_planes, &t, err));
        memcpy(kept, key, sizeof key);
    } else if (K) {
        weigh_planes(st, planes, t.pairs, K);
    }
    *out = planes;
    return LTH_OK;
}

/* Dropping positions is faster than reading the memo. */
static size_t memo_planes(const lth__node *node, const lth__eval *eval) {
    const lth__ssk_state *st = eval->state[node->index];
    lth__ssk_direction directions[LTH__ALONG];
    return st->plan.dropping ? 0 : st->plan.order + kept_directions(node, eval, directions);
}

/* sum_n W_n x_n in eight interleaved sums: a fixed order that vectors can follow. */
static double dot(const double *W, const double *x, size_t count) {
    double sum[8] = {0}, rest = 0;
    size_t n = 0;
    for (; n + 8 <= count; n += 8) {
        for (size_t lane = 0; lane < 8; lane++) sum[lane] += W[n + lane] * x[n + lane];
    }
    for (; n < count; n++) rest += W[n] * x[n];
    for (size_t lane = 0; lane < 8; lane++) rest += sum[lane];
    return rest;
}

static void pull_planes(const lth__node *node, const lth__eval *eval, const double *planes,
                        const double *W, const lth__sink *sink) {
    const lth__ssk_state *st = eval->state[node->index];
    size_t order = st->plan.order, pairs = sink->pairs;
    double *sum = sink->sum + node->first_param;
    lth__ssk_direction directions[LTH__ALONG];
    size_t count = kept_directions(node, eval, directions);
    for (size_t i = 0; i < order; i++) {
        double value = dot(W, planes + i * pairs, pairs);
        sum[LTH__SSK_MATCH] += st->dnu[i] * value;
        sum[LTH__SSK_WEIGHTS + i] += st->match_power[i] * value;
    }
    for (size_t d = 0; d < count; d++)
        sum[directions[d].param] += dot(W, planes + (order + d) * pairs, pairs);
}

/* ---- Tiles and diagonals ---- */

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    target t = {.st = eval->state[node->index], .K = K};
    const double *planes;
    LTH_TRY(find_planes(node, eval, tile, K, &planes, err));
    if (planes) return LTH_OK;
    memset(K, 0, tile->rows * tile->cols * sizeof *K);
    return lth__ssk_compare_tile(&t.st->plan, tile, take_values, &t, err);
}

static lth_status tile_orders(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    target t = {.st = eval->state[node->index], .K = K, .pairs = tile->rows * tile->cols};
    memset(K, 0, t.st->plan.order * t.pairs * sizeof *K);
    return lth__ssk_compare_tile(&t.st->plan, tile, take_orders, &t, err);
}

static lth_status pull_directions(const lth__node *node, const lth__eval *eval,
                                  const lth__tile *tile, const double *W, double *K,
                                  const lth__sink *sink, lth_error *err) {
    target t = {.st = eval->state[node->index], .node = node, .W = W, .K = K, .sink = sink};
    const double *planes = NULL;
    if (sink->sum) LTH_TRY(find_planes(node, eval, tile, K, &planes, err));
    if (planes) {
        pull_planes(node, eval, planes, W, sink);
        return LTH_OK;
    }
    if (K) memset(K, 0, tile->rows * tile->cols * sizeof *K);
    lth__ssk_plan plan = plan_with_slopes(&t.st->plan, true);
    t.count = lth__ssk_directions(node->config, t.direction);
    return lth__ssk_compare_tile(&plan, tile, take_pull, &t, err);
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    LTH_TRY(pull_directions(node, eval, tile, W, K, sink, err));
    const lth__ssk_config *c = node->config;
    return c->dimensions ? lth__ssk_pull_relevance(node, eval, tile, W, sink, err) : LTH_OK;
}

enum { ITEMS_TO_A_JOB = 64 }; /* of a diagonal */

typedef struct diagonal_job {
    target t;
    lth__ssk_plan plan;
    const lth__sequences *sequences;
} diagonal_job;

static lth_status fill_diagonal(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    diagonal_job *s = user;
    size_t first = index * ITEMS_TO_A_JOB, last = first + ITEMS_TO_A_JOB;
    if (last > s->sequences->count) last = s->sequences->count;
    return lth__ssk_self_similarities(&s->plan, s->sequences, first, last, take_diagonal, &s->t,
                                      err);
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    const lth__ssk_state *st = eval->state[node->index];
    if (eval->device && lth__ssk_device_able(node, eval))
        return lth__ssk_device_diagonal(node, eval, items, a, slope, err);
    diagonal_job s = {.t = {.st = st, .node = node, .K = a, .slope = slope, .pairs = items->count},
                      .sequences = &items->fields[node->field]};
    size_t jobs = (items->count + ITEMS_TO_A_JOB - 1) / ITEMS_TO_A_JOB;
    memset(a, 0, items->count * sizeof *a);
    s.t.count = lth__ssk_directions(node->config, s.t.direction);
    s.plan = plan_with_slopes(&st->plan, slope != NULL);
    if (slope && st->relevance) LTH_TRY(lth__ssk_diagonal_relevance(node, eval, items, slope, err));
    return lth__parallel_for(eval->ctx, "self-similarities", jobs, NULL, fill_diagonal, &s, err);
}

/* mean[i] = the mean of match^(2i) k_i(x,x), which is the slope of the diagonal along weights_i. */
static lth_status mean_self_similarities(const lth__node *node, const lth__eval *eval, double *mean,
                                         lth_error *err) {
    size_t count = eval->rows->count, order = ((const lth__ssk_config *)node->config)->order;
    double *self = lth__alloc(count, sizeof *self);
    double *slope = lth__calloc(eval->kernel->param_count * count, sizeof *slope);
    lth_status status = self && slope ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) status = diagonal(node, eval, eval->rows, self, slope, err);
    for (size_t i = 0; i < order && status == LTH_OK; i++) {
        const double *own = slope + (node->first_param + LTH__SSK_WEIGHTS + i) * count;
        mean[i] = 0;
        for (size_t n = 0; n < count; n++) mean[i] += own[n] / (double)count;
    }
    lth__free(self);
    lth__free(slope);
    return status;
}

/* A start with the same share for every order. */
static lth_status guess(const lth__node *node, const lth__eval *eval, double scale, double *value,
                        lth_error *err) {
    size_t order = ((const lth__ssk_config *)node->config)->order;
    double mean[LTH__MAX_ORDER];
    LTH_TRY(mean_self_similarities(node, eval, mean, err));
    for (size_t i = 0; i < order; i++) {
        if (mean[i] > 0) value[LTH__SSK_WEIGHTS + i] = scale / (double)order / mean[i];
    }
    return LTH_OK;
}

static lth_status order_shares(const lth__node *node, const lth__eval *eval, double *nu,
                               double *share, lth_error *err) {
    const lth__ssk_state *st = eval->state[node->index];
    size_t order = st->plan.order;
    double mean[LTH__MAX_ORDER], sum = 0;
    LTH_TRY(mean_self_similarities(node, eval, mean, err));
    for (size_t i = 0; i < order; i++) {
        nu[i] = st->nu[i];
        share[i] = lth__node_value(node, eval, LTH__SSK_WEIGHTS + i) * mean[i];
        sum += share[i];
    }
    for (size_t i = 0; i < order; i++) share[i] = sum > 0 ? share[i] / sum : 0;
    return LTH_OK;
}

/* ---- The string kernel's own ---- */

static size_t orders(const lth__node *node) {
    return ((const lth__ssk_config *)node->config)->order;
}

const lth__family lth__family_ssk = {
    .manual = {.name = "ssk",
               .help = "string subsequence kernel: all subsequences up to a length in common, with "
                       "gaps, found in one pass",
               .usage = "ssk(COLUMN, order=5, units=words, sim=exact, gap=0.5, ...)",
               .arguments = lth__ssk_arguments,
               .kind = LTH_FAMILY_STRING},
    .traits = LTH__TAKES_COLUMN,
    .configure = lth__ssk_configure,
    .prepare = prepare,
    .release = release,
    .diagonal = diagonal,
    .tile = tile_values,
    .pull = pull,
    .orders = orders,
    .tile_orders = tile_orders,
    .cell_orders = lth__ssk_cell_orders,
    .memo_planes = memo_planes,
    .guess = guess,
    .order_shares = order_shares,
    .penalty = lth__ssk_penalty,
    .device_able = lth__ssk_device_able,
    .device_tile = lth__ssk_device_tile,
    .device_pull = lth__ssk_device_pull,
    .device_orders = lth__ssk_device_orders,
    .degrees = orders,
    .tile_degrees = lth__ssk_tile_degrees,
    .attribute = lth__ssk_attribute,
    .subsequence_weights = lth__ssk_subsequence_weights,
    .patterns = lth__ssk_patterns,
};
