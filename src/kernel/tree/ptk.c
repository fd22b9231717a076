/* ptk: the partial tree kernel (Moschitti 2006), and its smoothed form (Croce, Moschitti & Basili
 * 2011).
 *
 *     k(S,T) = sum over nodes s of S, t of T, of Delta(s,t)
 *     Delta  = 0                                          labels differ
 *              decay sigma (gap^2 + children(s,t))        else
 *
 * children(s,t) is the string kernel of the two lists of children, all lengths together, where two
 * children match by their Delta and each skipped child costs a factor gap. sigma is 1; with sim= it
 * is the similarity of the two labels by their word vectors, and need not be that of equal labels:
 * for leaves, or with soft=all for any two nodes.
 *
 * Subtrees are compared, each of a tile's rows with each of its columns that has the same label,
 * however many trees have them; the derivatives by decay and gap go along (ptk_sweep.c).
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/tree/ptk_compare.h"
#include "kernel/tree/ptk_device.h"

typedef struct config {
    lth__sim sim;
    lth__oov oov;
    bool soft_all; /* otherwise only leaves match by similarity */
} config;

enum { DECAY, GAP, PARAMS }; /* in the order of their declaration */

/* ---- State ---- */

static void release(void *p) {
    lth__ptk_plan *plan = p;
    lth__tree_rooms_free(plan->rooms);
    lth__free(plan);
}

/* gap^e and e gap^(e - 1), without pow(0, 0) in between. */
static void fill_powers(lth__ptk_plan *plan) {
    plan->power[0] = 1;
    plan->slope[0] = 0;
    for (size_t e = 1; e < LTH__PTK_POWERS; e++) {
        plan->power[e] = plan->power[e - 1] * plan->gap;
        plan->slope[e] = (double)e * plan->power[e - 1];
    }
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    const config *c = node->config;
    const lth_encoder *encoder = eval->rows->encoder;
    lth__ptk_plan *plan = lth__calloc(1, sizeof *plan);
    if (!plan) return lth__fail_memory(err, sizeof *plan);
    *plan = (lth__ptk_plan){.ctx = eval->ctx,
                            .forest = lth__trees_of(encoder, node->field)->forest,
                            .labels = lth__symbols_count(encoder->lexicons[node->field].symbols),
                            .rows = &eval->rows->fields[node->field],
                            .cols = &eval->cols->fields[node->field],
                            .soft_all = c->soft_all,
                            .decay = lth__node_value(node, eval, DECAY),
                            .gap = lth__node_value(node, eval, GAP),
                            .rooms = lth__tree_rooms_create(eval->ctx->options.threads)};
    fill_powers(plan);
    lth__matching matching = {.sim = c->sim, .oov = c->oov, .temperature = 1};
    lth_status status = plan->rooms ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK && c->sim != LTH__SIM_EXACT)
        status = lth__words_similarity(node, eval, matching, &plan->similarity, err);
    if (status == LTH_OK)
        *out = plan;
    else
        release(plan);
    return status;
}

/* ---- The memo: values and both derivatives, which come together ---- */

enum { PLANES = 3 };

static size_t memo_planes(const lth__node *node, const lth__eval *eval) {
    (void)node;
    return eval->gradients ? PLANES : 0;
}

static lth_status compare(const lth__ptk_plan *plan, const lth__tile *tile, double *planes,
                          lth_error *err) {
    size_t pairs = tile->rows * tile->cols;
    lth__ptk_wanted wanted = {.K = planes,
                              .by_decay = planes + (1 + DECAY) * pairs,
                              .by_gap = planes + (1 + GAP) * pairs};
    return lth__ptk_compare(plan, tile, wanted, err);
}

/* The planes of a tile at the present values, or NULL when nothing is kept. */
static lth_status find_planes(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              const double **out, lth_error *err) {
    const lth__ptk_plan *plan = eval->state[node->index];
    const lth__memo *memo = eval->memo ? &eval->memo[node->index] : NULL;
    *out = NULL;
    if (!memo || !memo->planes) return LTH_OK;
    double *planes = memo->planes + tile->first_pair * PLANES;
    double *key = memo->key + tile->index * LTH__MEMO_KEYS;
    if (key[DECAY] != plan->decay || key[GAP] != plan->gap) {
        key[DECAY] = NAN; /* should this fail */
        LTH_TRY(compare(plan, tile, planes, err));
        key[DECAY] = plan->decay;
        key[GAP] = plan->gap;
    }
    *out = planes;
    return LTH_OK;
}

/* ---- Tiles and diagonals ---- */

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    const double *planes;
    LTH_TRY(find_planes(node, eval, tile, &planes, err));
    if (!planes)
        return lth__ptk_compare(eval->state[node->index], tile, (lth__ptk_wanted){.K = K}, err);
    memcpy(K, planes, tile->rows * tile->cols * sizeof *K);
    return LTH_OK;
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

static void pull_planes(const lth__node *node, const double *planes, const double *W, double *K,
                        const lth__sink *sink) {
    size_t pairs = sink->pairs;
    if (K) memcpy(K, planes, pairs * sizeof *K);
    for (size_t p = 0; p < PARAMS; p++) {
        const double *slope = planes + (1 + p) * pairs;
        if (sink->sum) sink->sum[node->first_param + p] += dot(W, slope, pairs);
        for (size_t n = 0; sink->each && n < pairs; n++)
            lth__sink_add(sink, node->first_param + p, n, W[n] * slope[n]);
    }
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    const double *kept;
    LTH_TRY(find_planes(node, eval, tile, &kept, err));
    if (kept) {
        pull_planes(node, kept, W, K, sink);
        return LTH_OK;
    }
    double *planes = lth__alloc(PLANES * sink->pairs, sizeof *planes);
    if (!planes) return lth__fail_memory(err, PLANES * sink->pairs * sizeof *planes);
    lth_status status = compare(eval->state[node->index], tile, planes, err);
    if (status == LTH_OK) pull_planes(node, planes, W, K, sink);
    lth__free(planes);
    return status;
}

/* A node of the row has the fragments below it that a column has, too. */
static lth_status attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, double *share, lth_error *err) {
    lth__ptk_wanted wanted = {.W = W, .share = share};
    return lth__ptk_compare(eval->state[node->index], tile, wanted, err);
}

enum { ITEMS_TO_A_JOB = 16 }; /* of a diagonal */

typedef struct diagonal_job {
    const lth__node *node;
    lth__ptk_plan plan; /* of these items with themselves */
    double *a, *slope;
} diagonal_job;

static lth_status fill_diagonal(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const diagonal_job *s = user;
    size_t count = s->plan.rows->count, first = index * ITEMS_TO_A_JOB,
           last = first + ITEMS_TO_A_JOB < count ? first + ITEMS_TO_A_JOB : count;
    for (size_t i = first; i < last; i++) {
        uint32_t item = (uint32_t)i;
        lth__tile tile = {.row = &item, .col = &item, .rows = 1, .cols = 1};
        double planes[PLANES];
        LTH_TRY(s->slope ? compare(&s->plan, &tile, planes, err)
                         : lth__ptk_compare(&s->plan, &tile, (lth__ptk_wanted){.K = planes}, err));
        s->a[i] = planes[0];
        for (size_t p = 0; s->slope && p < PARAMS; p++)
            s->slope[(s->node->first_param + p) * count + i] = planes[1 + p];
    }
    return LTH_OK;
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    const lth__ptk_plan *plan = eval->state[node->index];
    diagonal_job s = {.node = node, .plan = *plan, .a = a, .slope = slope};
    s.plan.rows = s.plan.cols = items == eval->rows ? plan->rows : plan->cols;
    size_t jobs = (items->count + ITEMS_TO_A_JOB - 1) / ITEMS_TO_A_JOB;
    return lth__parallel_for(eval->ctx, "self-similarities", jobs, NULL, fill_diagonal, &s, err);
}

/* ---- On a device ---- */

static lth__ptk_terms terms_of(const lth__node *node, const lth__eval *eval) {
    const lth__ptk_plan *plan = eval->state[node->index];
    bool soft = plan->similarity != NULL;
    return (lth__ptk_terms){.soft_leaves = soft,
                            .soft_all = soft && plan->soft_all,
                            .decay = plan->decay,
                            .gap = plan->gap,
                            .similarity = plan->similarity};
}

static bool device_able(const lth__node *node, const lth__eval *eval) {
    lth__ptk_terms terms = terms_of(node, eval);
    return lth__ptk_device_able(&terms);
}

static lth_status device_tile(const lth__node *node, lth__device_eval *e,
                              const struct lth__panel *panel, double *K, lth_error *err) {
    lth__ptk_terms terms = terms_of(node, e->eval);
    return lth__ptk_device(node, e, &terms, panel, NULL, K, NULL, err);
}

static lth_status device_pull(const lth__node *node, lth__device_eval *e,
                              const struct lth__panel *panel, double *W, double *K, double *grad,
                              lth_error *err) {
    lth__ptk_terms terms = terms_of(node, e->eval);
    return lth__ptk_device(node, e, &terms, panel, W, K, grad + node->first_param, err);
}

/* ---- The family ---- */

static const lth_argument arguments[] = {
    {.name = "sim",
     .help = "how the labels of leaves match: when equal, or by their word vectors",
     .initial = "exact",
     .choices = "exact|dot|cosine|arccos"},
    {.name = "soft",
     .help = "with sim: which nodes match by it: leaves, or all of them",
     .initial = "leaves",
     .choices = "leaves|all"},
    {.name = "oov",
     .help = "what a word without a vector matches: itself, or nothing",
     .initial = "exact",
     .choices = "exact|zero"},
    {.name = "decay",
     .help = "factor for each node of a fragment (mu): how much depth counts",
     .initial = "0.4",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1},
    {.name = "gap",
     .help = "factor for each child that is skipped, and its square for a node by itself (lambda)",
     .initial = "0.4",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1,
     .role = LTH_ROLE_GAP},
    LTH__TREE_ARGUMENTS,
    {0},
};

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    int sim, soft, oov;
    LTH_TRY(lth__node_choice(node, "sim", LTH__SIM_EXACT, &sim, err));
    LTH_TRY(lth__node_choice(node, "soft", 0, &soft, err));
    LTH_TRY(lth__node_choice(node, "oov", LTH__OOV_EXACT, &oov, err));
    *c = (config){.sim = (lth__sim)sim, .oov = (lth__oov)oov, .soft_all = soft == 1};
    node->config = c;
    LTH_TRY(lth__tree_field(kernel, node, err));
    kernel->fields[node->field].vectors |= sim != LTH__SIM_EXACT;
    kernel->fields[node->field].vectors_inside |= sim != LTH__SIM_EXACT && c->soft_all;
    LTH_TRY(lth__node_param(kernel, node, "decay", 0, 0.4, false, err));
    return lth__node_param(kernel, node, "gap", 0, 0.4, false, err);
}

const lth__family lth__family_ptk = {
    .manual = {.name = "ptk",
               .help = "partial tree kernel: fragments whose nodes keep any of their children, in "
                       "order, with gaps",
               .usage = "ptk(COLUMN, decay=0.4, gap=0.4, sim=exact, ...)",
               .arguments = arguments,
               .kind = LTH_FAMILY_TREE},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .prepare = prepare,
    .release = release,
    .diagonal = diagonal,
    .tile = tile_values,
    .pull = pull,
    .memo_planes = memo_planes,
    .attribute = attribute,
    .fragments = lth__ptk_fragments,
    .device_able = device_able,
    .device_tile = device_tile,
    .device_pull = device_pull,
};
