/* sstk, stk: subset tree and subtree kernels, with a decay and an alpha for each grammar symbol
 * that is named.
 *
 *     k(S,T) = sum over nodes s of S, t of T, of Delta(s,t)
 *     Delta  = 0                                              productions differ
 *              decay_x prod over children (alpha_x + Delta)   else, x the label of the node
 *
 * A child that is a leaf gives the factor 1: it matches with the production. alpha = 1: all
 * fragments made of whole productions count (Collins & Duffy 2001); alpha = 0: only complete
 * subtrees (`stk`); between them a weight for each place where a fragment stops above the leaves.
 * One decay and alpha for each symbol: Beck, Cohn, Hardmeier & Specia 2015.
 *
 * With leaves=yes each pair of equal leaves adds the shared decay.
 *
 * Every derivative comes from one reverse sweep, whatever the number of symbols: tree_match.c for
 * tiles, tree_fragments.c for single pairs. A tile costs about as much as the pairs of different
 * subtrees of equal production in it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/tree/tree_field.h"
#include "kernel/tree/tree_match.h"

typedef struct config {
    bool learns_alpha, leaves;
    lth__names symbols;
    double shrink; /* 0 = no prior */
} config;

/* Parameters: decay, decay[...], then alpha, alpha[...]. */
static size_t owners_of(const config *c) {
    return 1 + c->symbols.count;
}

/* ---- Arguments ---- */

#define DECAY_ARGUMENT                                                                             \
    {                                                                                              \
        .name = "decay",                                                                           \
        .help = "factor for each production of a fragment; with symbols one for each, the shared " \
                "one first",                                                                       \
        .initial = "0.4", .choices = "", .learned = true, .lo = 0, .hi = 1                         \
    }
#define SYMBOLS_ARGUMENTS                                                                          \
    {.name = "symbols",                                                                            \
     .help = "labels with parameters of their own: all that the data have, or a list, as in "      \
             "[S,NP,\",\"]",                                                                       \
     .initial = "none",                                                                            \
     .choices = "none|all|[...]"},                                                                 \
        {.name = "leaves",                                                                         \
         .help = "compare leaves by themselves, too: equal ones add the shared decay",             \
         .initial = "no",                                                                          \
         .choices = "no|yes"},                                                                     \
    {                                                                                              \
        .name = "shrink",                                                                          \
        .help = "with symbols: a prior in learning that keeps their parameters near the shared "   \
                "ones, with this standard deviation (of the logarithm for decay); none unless "    \
                "given",                                                                           \
        .initial = "", .choices = ""                                                               \
    }

static const lth_argument sstk_arguments[] = {SYMBOLS_ARGUMENTS,
                                              DECAY_ARGUMENT,
                                              {.name = "alpha",
                                               .help = "weight of a fragment that stops at a child "
                                                       "instead of going on below it; 0 leaves "
                                                       "only complete subtrees",
                                               .initial = "1",
                                               .choices = "",
                                               .learned = true,
                                               .lo = 0,
                                               .hi = 2},
                                              LTH__TREE_ARGUMENTS,
                                              {0}};
static const lth_argument stk_arguments[] = {
    SYMBOLS_ARGUMENTS, DECAY_ARGUMENT, LTH__TREE_ARGUMENTS, {0}};

static lth_status read_shrink(const lth__node *node, config *c, lth_error *err) {
    LTH_TRY(lth__node_constant(node, "shrink", 0, &c->shrink, err));
    const lth__argument *symbols = lth__node_argument(node, "symbols");
    bool none = !symbols || (symbols->value.kind == LTH__VALUE_WORD && !node->open);
    if (c->shrink == 0 || !none) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, lth__node_argument(node, "shrink")->column,
                        "shrink goes with symbols");
}

static lth_status configure(lth_kernel *kernel, lth__node *node, bool learns_alpha,
                            lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (config){.learns_alpha = learns_alpha};
    node->config = c;
    int leaves;
    LTH_TRY(lth__node_choice(node, "leaves", false, &leaves, err));
    c->leaves = leaves;
    LTH_TRY(lth__tree_symbols_read(kernel, node, &c->symbols, err));
    LTH_TRY(read_shrink(node, c, err));
    LTH_TRY(lth__tree_field(kernel, node, err));
    const lth__names *s = &c->symbols;
    LTH_TRY(lth__node_param_named(kernel, node, "decay", s->name, s->count, 0.4, false, err));
    if (!learns_alpha) return LTH_OK;
    LTH_TRY(lth__node_param_named(kernel, node, "alpha", s->name, s->count, 1, false, err));
    size_t first = node->first_param + owners_of(c);
    for (size_t i = 0; i < owners_of(c); i++) kernel->origins[first + i].linear = true;
    return LTH_OK;
}

static lth_status configure_sstk(lth_kernel *kernel, lth__node *node, lth_error *err) {
    return configure(kernel, node, true, err);
}

static lth_status configure_stk(lth_kernel *kernel, lth__node *node, lth_error *err) {
    return configure(kernel, node, false, err);
}

/* ---- Encoding: the bag of subtrees of each tree ---- */

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sort bag[0 .. count-1] and count what repeats; returns how many different ones are left. */
static size_t count_equal(uint32_t *bag, size_t count, double *times) {
    size_t used = 0;
    if (count > 0) qsort(bag, count, sizeof *bag, by_number);
    for (size_t i = 0; i < count; i++) {
        if (used > 0 && bag[used - 1] == bag[i]) {
            times[used - 1]++;
            continue;
        }
        bag[used] = bag[i];
        times[used++] = 1;
    }
    return used;
}

static lth_status encode(const lth__node *node, lth_items *items, lth_error *err) {
    const config *c = node->config;
    const lth__forest *forest = lth__trees_of(items->encoder, node->field)->forest;
    const lth__sequences *trees = &items->fields[node->field];
    lth__features *bags = &items->features[node->index];
    size_t nodes = trees->start[trees->count] - trees->start[0], used = 0;
    bags->start = lth__alloc(trees->count + 1, sizeof *bags->start);
    bags->feature = lth__alloc(nodes, sizeof *bags->feature);
    bags->weight = lth__alloc(nodes, sizeof *bags->weight);
    if (!bags->start || !bags->feature || !bags->weight)
        return lth__fail_memory(err, nodes * sizeof *bags->weight);
    bags->start[0] = 0;
    for (size_t i = 0; i < trees->count; i++) {
        size_t count = 0;
        uint32_t *bag = bags->feature + used;
        for (size_t k = trees->start[i]; k < trees->start[i + 1]; k++) {
            uint32_t subtree = trees->symbols[k];
            if (c->leaves || !lth__forest_is_leaf(forest, subtree)) bag[count++] = subtree;
        }
        used += count_equal(bag, count, bags->weight + used);
        bags->start[i + 1] = used;
    }
    return LTH_OK;
}

/* ---- State: decay and alpha of every production ---- */

static void release(void *p) {
    lth__tree_plan *plan = p;
    lth__free(plan->decay);
    lth__free(plan->alpha);
    lth__free(plan->owner);
    lth__tree_rooms_free(plan->rooms);
    lth__free(plan);
}

/* Which labels have parameters of their own, and these for each production. Leaves have the shared
 * ones. */
static lth_status fill_plan(const lth__node *node, const lth__eval *eval,
                            const lth__symbols *labels, lth__tree_plan *plan, lth_error *err) {
    const config *c = node->config;
    uint32_t *owner = lth__calloc(lth__symbols_count(labels), sizeof *owner);
    if (!owner) return lth__fail_memory(err, 0);
    for (size_t s = 0; s < c->symbols.count; s++) {
        const char *name = c->symbols.name[s];
        lth__symbol label = lth__symbols_find(labels, name, strlen(name));
        if (label != LTH__NO_SYMBOL) owner[label] = (uint32_t)s + 1;
    }
    for (size_t p = 0; p < plan->forest->production_count; p++) {
        const lth__production *production = lth__forest_production(plan->forest, p);
        uint32_t own = production->children > 0 ? owner[production->label] : 0;
        plan->owner[p] = own;
        plan->decay[p] = lth__node_value(node, eval, own);
        plan->alpha[p] = c->learns_alpha ? lth__node_value(node, eval, owners_of(c) + own) : 0;
    }
    lth__free(owner);
    return LTH_OK;
}

static lth__tree_side side_of(const lth__node *node, const lth_items *items) {
    return (lth__tree_side){&items->features[node->index], &items->fields[node->field]};
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    const lth__trees *trees = lth__trees_of(eval->rows->encoder, node->field);
    lth__tree_plan *plan = lth__calloc(1, sizeof *plan);
    if (!plan) return lth__fail_memory(err, sizeof *plan);
    *plan = (lth__tree_plan){.ctx = eval->ctx,
                             .forest = trees->forest,
                             .index = trees->index,
                             .rows = side_of(node, eval->rows),
                             .cols = side_of(node, eval->cols),
                             .leaves = ((const config *)node->config)->leaves};
    size_t count = trees->forest->production_count;
    plan->decay = lth__alloc(count, sizeof *plan->decay);
    plan->alpha = lth__alloc(count, sizeof *plan->alpha);
    plan->owner = lth__alloc(count, sizeof *plan->owner);
    plan->rooms = lth__tree_rooms_create(eval->ctx->options.threads);
    lth_status status = LTH_OK;
    if (plan->decay && plan->alpha && plan->owner && plan->rooms)
        status =
            fill_plan(node, eval, eval->rows->encoder->lexicons[node->field].symbols, plan, err);
    else
        status = lth__fail_memory(err, 2 * count * sizeof *plan->decay);
    if (status == LTH_OK)
        *out = plan;
    else
        release(plan);
    return status;
}

/* ---- Tiles ---- */

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    return lth__tree_match(node, eval, tile, NULL, K, (lth__tree_gradient){0}, err);
}

/* The two halves of a gradient by parameters. */
static lth__tree_gradient split_gradient(const config *c, double *by_param) {
    return (lth__tree_gradient){by_param, c->learns_alpha ? by_param + owners_of(c) : NULL};
}

/* Views of the trees of a tile's side, freed with free_views(). */
static void free_views(lth__tree_view **views, size_t count) {
    for (size_t i = 0; views && i < count; i++) lth__tree_view_free(views[i]);
    lth__free(views);
}

static lth_status make_views(const lth__tree_plan *plan, const lth__sequences *trees,
                             const uint32_t *item, size_t count, lth__tree_view ***out,
                             lth_error *err) {
    lth__tree_view **views = lth__calloc(count, sizeof *views);
    lth_status status = views ? LTH_OK : lth__fail_memory(err, count * sizeof *views);
    for (size_t i = 0; i < count && status == LTH_OK; i++)
        status = lth__tree_view_create(plan, lth__sequence_symbols(trees, item[i]),
                                       lth__sequence_length(trees, item[i]), &views[i], err);
    if (status == LTH_OK)
        *out = views;
    else
        free_views(views, count);
    return status;
}

/* One pair, whose own derivatives go to its place in the sink. */
typedef struct pairwise {
    const lth__node *node;
    const lth__tree_plan *plan;
    lth__fragment_room room;
    double *by_param; /* of the node */
} pairwise;

static lth_status open_pairwise(pairwise *x, const lth__node *node, const lth__tree_plan *plan,
                                lth_error *err) {
    *x = (pairwise){.node = node, .plan = plan};
    x->by_param = lth__alloc(node->param_count, sizeof *x->by_param);
    return x->by_param ? LTH_OK : lth__fail_memory(err, 0);
}

static void close_pairwise(pairwise *x) {
    lth__fragment_room_free(&x->room);
    lth__free(x->by_param);
}

static lth_status compare_pair(pairwise *x, const lth__tree_view *a, const lth__tree_view *b,
                               double weight, double *value, lth_error *err) {
    memset(x->by_param, 0, x->node->param_count * sizeof *x->by_param);
    return lth__tree_fragments(x->plan, a, b, weight, &x->room, value,
                               split_gradient(x->node->config, x->by_param), err);
}

static lth_status pull_each(pairwise *x, const lth__tile *tile, lth__tree_view *const *rows,
                            lth__tree_view *const *cols, const double *W, double *K,
                            const lth__sink *sink, lth_error *err) {
    for (size_t pair = 0; pair < tile->rows * tile->cols; pair++) {
        double value;
        const lth__tree_view *a = rows[pair / tile->cols], *b = cols[pair % tile->cols];
        LTH_TRY(compare_pair(x, a, b, W[pair], &value, err));
        if (K) K[pair] = value;
        for (size_t p = 0; p < x->node->param_count; p++)
            lth__sink_add(sink, x->node->first_param + p, pair, x->by_param[p]);
    }
    return LTH_OK;
}

static lth_status pull_pairs(const lth__node *node, const lth__tree_plan *plan,
                             const lth__tile *tile, const double *W, double *K,
                             const lth__sink *sink, lth_error *err) {
    lth__tree_view **rows = NULL, **cols = NULL;
    pairwise x;
    lth_status status = open_pairwise(&x, node, plan, err);
    if (status == LTH_OK)
        status = make_views(plan, plan->rows.nodes, tile->row, tile->rows, &rows, err);
    if (status == LTH_OK)
        status = make_views(plan, plan->cols.nodes, tile->col, tile->cols, &cols, err);
    if (status == LTH_OK) status = pull_each(&x, tile, rows, cols, W, K, sink, err);
    free_views(rows, tile->rows);
    free_views(cols, tile->cols);
    close_pairwise(&x);
    return status;
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    const lth__tree_plan *plan = eval->state[node->index];
    if (sink->each) return pull_pairs(node, plan, tile, W, K, sink, err);
    lth__tree_gradient gradient = split_gradient(node->config, sink->sum + node->first_param);
    return lth__tree_match(node, eval, tile, W, K, gradient, err);
}

static lth_status device_pull(const lth__node *node, lth__device_eval *e,
                              const struct lth__panel *panel, double *W, double *K, double *grad,
                              lth_error *err) {
    lth__tree_gradient gradient = split_gradient(node->config, grad + node->first_param);
    return lth__tree_device_pull(node, e, panel, W, K, owners_of(node->config), gradient, err);
}

/* ---- Self-similarities ---- */

enum { ITEMS_TO_A_JOB = 64 }; /* of a diagonal */

typedef struct diagonal_job {
    const lth__node *node;
    const lth__tree_plan *plan;
    const lth__sequences *trees;
    double *a, *slope;
} diagonal_job;

static lth_status compare_self(const diagonal_job *s, pairwise *x, size_t item, lth_error *err) {
    lth__tree_view *view = NULL;
    LTH_TRY(lth__tree_view_create(s->plan, lth__sequence_symbols(s->trees, item),
                                  lth__sequence_length(s->trees, item), &view, err));
    lth_status status = compare_pair(x, view, view, s->slope ? 1 : 0, &s->a[item], err);
    lth__tree_view_free(view);
    for (size_t p = 0; status == LTH_OK && s->slope && p < s->node->param_count; p++)
        s->slope[(s->node->first_param + p) * s->trees->count + item] = x->by_param[p];
    return status;
}

static lth_status fill_diagonal(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const diagonal_job *s = user;
    size_t first = index * ITEMS_TO_A_JOB, last = first + ITEMS_TO_A_JOB;
    if (last > s->trees->count) last = s->trees->count;
    pairwise x;
    lth_status status = open_pairwise(&x, s->node, s->plan, err);
    for (size_t i = first; i < last && status == LTH_OK; i++) status = compare_self(s, &x, i, err);
    close_pairwise(&x);
    return status;
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    diagonal_job s = {.node = node,
                      .plan = eval->state[node->index],
                      .trees = &items->fields[node->field],
                      .a = a,
                      .slope = slope};
    size_t jobs = (items->count + ITEMS_TO_A_JOB - 1) / ITEMS_TO_A_JOB;
    return lth__parallel_for(eval->ctx, "self-similarities", jobs, NULL, fill_diagonal, &s, err);
}

/* ---- The prior of shrink ---- */

/* Adds (x - y)^2 / (2 sd^2), and its slope by x and y. */
static double pull_together(double x, double y, double sd, double *by_x, double *by_y) {
    double z = (x - y) / sd;
    *by_x = z / sd;
    *by_y = -z / sd;
    return z * z / 2;
}

static double penalty(const lth__node *node, const lth_kernel *kernel, double *gradient) {
    static const double least = 1e-12; /* a decay of 0 has no logarithm */
    const config *c = node->config;
    size_t decay = node->first_param, alpha = decay + owners_of(c);
    double sum = 0, by_own, by_shared;
    for (size_t s = 1; c->shrink > 0 && s < owners_of(c); s++) {
        double own = fmax(kernel->params[decay + s].value, least);
        double shared = fmax(kernel->params[decay].value, least);
        sum += pull_together(log(own), log(shared), c->shrink, &by_own, &by_shared);
        gradient[decay + s] += by_own / own;
        gradient[decay] += by_shared / shared;
        if (!c->learns_alpha) continue;
        sum += pull_together(kernel->params[alpha + s].value, kernel->params[alpha].value,
                             c->shrink, &by_own, &by_shared);
        gradient[alpha + s] += by_own;
        gradient[alpha] += by_shared;
    }
    return sum;
}

/* ---- What is said of a model ---- */

static size_t count_label(const lth_items *items, size_t field, const char *name) {
    const lth__lexicon *l = &items->encoder->lexicons[field];
    const lth__forest *forest = lth__trees_of(items->encoder, field)->forest;
    const lth__sequences *trees = &items->fields[field];
    lth__symbol label = lth__symbols_find(l->symbols, name, strlen(name));
    size_t count = 0;
    for (size_t k = trees->start[0]; k < trees->start[trees->count]; k++) {
        const lth__subtree *s = lth__forest_subtree(forest, trees->symbols[k]);
        count += s->children > 0 && s->label == label;
    }
    return count;
}

static bool symbol(const lth__node *node, const lth_kernel *kernel, const lth_items *items,
                   size_t i, lth_gp_symbol *out) {
    const config *c = node->config;
    if (i >= c->symbols.count) return false;
    const lth_param *decay = &kernel->params[node->first_param + 1 + i];
    *out = (lth_gp_symbol){.kernel = node->path,
                           .symbol = c->symbols.name[i],
                           .decay = decay->value,
                           .alpha = c->learns_alpha ? decay[owners_of(c)].value : 0,
                           .count = count_label(items, node->field, c->symbols.name[i])};
    return true;
}

/* ---- Families ---- */

#define FAMILY(name_, help_, usage_)                                                               \
    const lth__family lth__family_##name_ = {                                                      \
        .manual = {.name = #name_,                                                                 \
                   .help = help_,                                                                  \
                   .usage = usage_,                                                                \
                   .arguments = name_##_arguments,                                                 \
                   .kind = LTH_FAMILY_TREE},                                                       \
        .traits = LTH__TAKES_COLUMN,                                                               \
        .configure = configure_##name_,                                                            \
        .resolve = lth__tree_symbols_resolve,                                                      \
        .encode = encode,                                                                          \
        .prepare = prepare,                                                                        \
        .release = release,                                                                        \
        .diagonal = diagonal,                                                                      \
        .tile = tile_values,                                                                       \
        .pull = pull,                                                                              \
        .memo_drop = lth__free,                                                                    \
        .penalty = penalty,                                                                        \
        .symbol = symbol,                                                                          \
        .attribute = lth__tree_attribute,                                                          \
        .device_able = lth__tree_device_able,                                                      \
        .device_tile = lth__tree_device_tile,                                                      \
        .device_pull = device_pull,                                                                \
        .fragments = lth__tree_heaviest,                                                           \
    }

FAMILY(sstk, "subset tree kernel: all fragments of whole productions in common",
       "sstk(COLUMN, decay=0.4, alpha=1, symbols=none, ...), as in normalize(sstk(tree))");
FAMILY(stk, "subtree kernel: all complete subtrees in common; sstk with alpha 0",
       "stk(COLUMN, decay=0.4, symbols=none, ...), as in normalize(stk(tree))");
