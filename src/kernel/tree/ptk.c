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
 * Nodes are compared in post-order, so what they need of their children is there; one sweep back
 * gives the derivatives by decay and gap.
 */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/tree/ptk_device.h"
#include "kernel/tree/tree_field.h"

typedef struct config {
    lth__sim sim;
    lth__oov oov;
    bool soft_all; /* otherwise only leaves match by similarity */
} config;

enum { DECAY, GAP, PARAMS }; /* in the order of their declaration */

/* ---- Trees ready to be compared ---- */

#define SOFT UINT32_MAX /* the key of all nodes that match by similarity */

/* Nodes in post-order. Two of them can match when their keys are equal: a bucket has those of one
 * key. */
typedef struct tree {
    size_t nodes, buckets;
    uint32_t *label, *first, *count; /* by node: its children are child[first], ...        */
    uint32_t *child;                 /* nodes                                              */
    uint32_t *bucket, *place;        /* by node: which bucket, and where in it             */
    uint32_t *key;                   /* by bucket, ascending                               */
    uint32_t *member, *start;        /* nodes by bucket; one more start than buckets       */
} tree;

typedef struct keyed {
    uint32_t key, node;
} keyed;

static int by_key(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void fill_buckets(tree *t, keyed *order) {
    if (t->nodes > 0) qsort(order, t->nodes, sizeof *order, by_key);
    for (size_t i = 0; i < t->nodes; i++) {
        if (i == 0 || order[i].key != order[i - 1].key) {
            t->key[t->buckets] = order[i].key;
            t->start[t->buckets++] = (uint32_t)i;
        }
        uint32_t node = order[i].node;
        t->member[i] = node;
        t->bucket[node] = (uint32_t)t->buckets - 1;
        t->place[node] = (uint32_t)i - t->start[t->buckets - 1];
    }
    t->start[t->buckets] = (uint32_t)t->nodes;
}

/* The children of a node are the last on the stack that have no parent yet. */
static void fill_nodes(const config *c, const lth__forest *forest, const lth__symbol *subtree,
                       tree *t, uint32_t *stack, keyed *order) {
    size_t depth = 0, used = 0;
    for (size_t i = 0; i < t->nodes; i++) {
        const lth__subtree *s = lth__forest_subtree(forest, subtree[i]);
        bool soft = c->sim != LTH__SIM_EXACT && (c->soft_all || s->children == 0);
        t->label[i] = s->label;
        t->first[i] = (uint32_t)used;
        t->count[i] = s->children;
        order[i] = (keyed){soft ? SOFT : s->label, (uint32_t)i};
        depth -= s->children;
        if (s->children > 0) memcpy(t->child + used, stack + depth, s->children * sizeof *stack);
        used += s->children;
        stack[depth++] = (uint32_t)i;
    }
}

static void free_tree(tree *t) {
    lth__free(t->label); /* the one block of all arrays */
    *t = (tree){0};
}

static lth_status make_tree(const config *c, const lth__forest *forest, const lth__symbol *subtree,
                            size_t nodes, tree *out, lth_error *err) {
    enum { ARRAYS = 9 };
    uint32_t *block = lth__alloc(ARRAYS * nodes + 1, sizeof *block);
    uint32_t *stack = lth__alloc(nodes, sizeof *stack);
    keyed *order = lth__alloc(nodes, sizeof *order);
    bool ok = block && stack && order;
    if (ok) {
        *out = (tree){.nodes = nodes, .label = block};
        uint32_t **arrays[] = {&out->first, &out->count, &out->child,  &out->bucket,
                               &out->place, &out->key,   &out->member, &out->start};
        for (size_t i = 0; i < ARRAYS - 1; i++) *arrays[i] = block + (i + 1) * nodes;
        fill_nodes(c, forest, subtree, out, stack, order);
        fill_buckets(out, order);
    } else {
        lth__free(block);
    }
    lth__free(stack);
    lth__free(order);
    return ok ? LTH_OK : lth__fail_memory(err, ARRAYS * nodes * sizeof *block);
}

/* ---- State ---- */

typedef struct state {
    const config *config;
    double decay, gap;
    const lth__similarity *similarity; /* NULL = labels must be equal */
    tree *rows, *cols;
    bool borrowed; /* the columns: they are the rows, or another state's */
    size_t row_count, col_count;
} state;

static void free_trees(tree *trees, size_t count) {
    for (size_t i = 0; trees && i < count; i++) free_tree(&trees[i]);
    lth__free(trees);
}

static void release(void *p) {
    state *st = p;
    if (!st->borrowed) free_trees(st->cols, st->col_count);
    free_trees(st->rows, st->row_count);
    lth__free(st);
}

static lth_status make_trees(const lth__node *node, const lth_items *items, tree **out,
                             size_t *count, lth_error *err) {
    const lth__sequences *trees = &items->fields[node->field];
    const lth__forest *forest = lth__trees_of(items->encoder, node->field)->forest;
    *count = items->count;
    *out = lth__calloc(items->count, sizeof **out);
    if (!*out) return lth__fail_memory(err, items->count * sizeof **out);
    for (size_t i = 0; i < items->count; i++) {
        LTH_TRY(make_tree(node->config, forest, lth__sequence_symbols(trees, i),
                          lth__sequence_length(trees, i), &(*out)[i], err));
    }
    return LTH_OK;
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    state *st = lth__calloc(1, sizeof *st);
    if (!st) return lth__fail_memory(err, sizeof *st);
    st->config = node->config;
    st->decay = lth__node_value(node, eval, DECAY);
    st->gap = lth__node_value(node, eval, GAP);
    lth__matching matching = {.sim = st->config->sim, .oov = st->config->oov, .temperature = 1};
    lth_status status = LTH_OK;
    if (matching.sim != LTH__SIM_EXACT)
        status = lth__words_similarity(node, eval, matching, &st->similarity, err);
    if (status == LTH_OK) status = make_trees(node, eval->rows, &st->rows, &st->row_count, err);
    const state *kept = lth__kept_state(node, eval);
    st->borrowed = eval->rows == eval->cols || kept;
    if (status == LTH_OK && st->borrowed)
        st->cols = eval->rows == eval->cols ? st->rows : kept->rows;
    else if (status == LTH_OK)
        status = make_trees(node, eval->cols, &st->cols, &st->col_count, err);
    if (status == LTH_OK)
        *out = st;
    else
        release(st);
    return status;
}

/* ---- One pair ---- */

/* Room that grows, and is used from pair to pair. */
typedef struct workspace {
    size_t *at;      /* by node of a: its Deltas with the bucket of b that has its key      */
    uint32_t *other; /* by bucket of a: the one of b, or UINT32_MAX                    */
    double *delta, *weight; /* weight: what the derivatives of k by Delta sum up to    */
    double *sigma;          /* of the soft buckets: [place in a][place in b]           */
    double *P, *Q, *Pbar;   /* of two lists of children                                */
    lth__symbol *labels;    /* of the two soft buckets                                 */
    size_t at_capacity, other_capacity, delta_capacity, weight_capacity, sigma_capacity, p_capacity,
        q_capacity, pbar_capacity, labels_capacity;
} workspace;

static void free_room(workspace *r) {
    void *blocks[] = {r->at, r->other, r->delta, r->weight, r->sigma,
                      r->P,  r->Q,     r->Pbar,  r->labels};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

typedef struct pair {
    const state *st;
    const tree *a, *b;
    workspace *room;
    double *gradient; /* by decay and gap; NULL = values only */
} pair;

#define RESERVE(array, capacity, need)                                                             \
    (lth__reserve((void **)&(array), &(capacity), (need), sizeof *(array))                         \
         ? LTH_OK                                                                                  \
         : lth__fail_memory(err, (need) * sizeof *(array)))

static size_t bucket_size(const tree *t, uint32_t bucket) {
    return t->start[bucket + 1] - t->start[bucket];
}

/* Which bucket of b has the key of each of a's, and where the Deltas of every node begin. */
static lth_status lay_out(const pair *x, lth_error *err) {
    const tree *a = x->a, *b = x->b;
    workspace *r = x->room;
    LTH_TRY(RESERVE(r->at, r->at_capacity, a->nodes));
    LTH_TRY(RESERVE(r->other, r->other_capacity, a->buckets));
    for (size_t i = 0, j = 0; i < a->buckets; i++) {
        while (j < b->buckets && b->key[j] < a->key[i]) j++;
        r->other[i] = j < b->buckets && b->key[j] == a->key[i] ? (uint32_t)j : UINT32_MAX;
    }
    size_t used = 0;
    for (size_t i = 0; i < a->nodes; i++) {
        uint32_t other = r->other[a->bucket[i]];
        r->at[i] = used;
        used += other == UINT32_MAX ? 0 : bucket_size(b, other);
    }
    LTH_TRY(RESERVE(r->delta, r->delta_capacity, used));
    if (!x->gradient) return LTH_OK;
    return RESERVE(r->weight, r->weight_capacity, used);
}

static double real_at(const lth__similarity *s, const void *table, size_t i) {
    return s->precision == LTH_F32 ? (double)((const float *)table)[i] : ((const double *)table)[i];
}

/* Similarities of all soft nodes of the two trees; these are the last bucket of each. */
static lth_status fill_sigma(const pair *x, lth_error *err) {
    const lth__similarity *s = x->st->similarity;
    const tree *a = x->a, *b = x->b;
    workspace *r = x->room;
    if (!s || a->buckets == 0 || b->buckets == 0 || a->key[a->buckets - 1] != SOFT ||
        b->key[b->buckets - 1] != SOFT)
        return LTH_OK;
    size_t m = bucket_size(a, (uint32_t)a->buckets - 1),
           n = bucket_size(b, (uint32_t)b->buckets - 1);
    LTH_TRY(RESERVE(r->sigma, r->sigma_capacity, m * n));
    LTH_TRY(RESERVE(r->labels, r->labels_capacity, m + n));
    for (size_t i = 0; i < m; i++) r->labels[i] = a->label[a->member[a->start[a->buckets - 1] + i]];
    for (size_t j = 0; j < n; j++)
        r->labels[m + j] = b->label[b->member[b->start[b->buckets - 1] + j]];
    const void *table = s->table[LTH__SIM_VALUE];
    if (!table) { /* a float needs less room than a double: in place, from the end */
        LTH_TRY(lth__similarity_tile(s, LTH__SIM_VALUE, r->labels, m, r->labels + m, n, r->sigma, n,
                                     err));
        for (size_t i = m * n; s->precision == LTH_F32 && i-- > 0;)
            r->sigma[i] = real_at(s, r->sigma, i);
        return LTH_OK;
    }
    for (size_t i = 0; i < m * n; i++)
        r->sigma[i] = real_at(s, table, r->labels[i / n] * (s->symbols + 1) + r->labels[m + i % n]);
    return LTH_OK;
}

static double sigma_of(const pair *x, size_t i, size_t place) {
    const tree *a = x->a, *b = x->b;
    if (a->key[a->bucket[i]] != SOFT) return 1;
    return x->room->sigma[a->place[i] * bucket_size(b, (uint32_t)b->buckets - 1) + place];
}

/* Where the Delta of two nodes is, or NULL when it is 0. */
static size_t find_delta(const pair *x, uint32_t i, uint32_t j) {
    if (x->room->other[x->a->bucket[i]] != x->b->bucket[j]) return SIZE_MAX;
    return x->room->at[i] + x->b->place[j];
}

/* With A_uv = Delta_uv (1 + P_uv), where P sums what ended strictly before (u, v) in both lists:
 * Q <- gap Q + A along v, P <- gap P + Q along u. P and Q are kept for the way back. */
static double compare_children(const pair *x, size_t i, size_t j) {
    const tree *a = x->a, *b = x->b;
    size_t m = a->count[i], n = b->count[j];
    double *P = x->room->P, *Q = x->room->Q, gap = x->st->gap, sum = 0;
    if (m == 0 || n == 0) return 0;
    memset(P, 0, n * sizeof *P);
    for (size_t u = 0; u < m; u++, P += n, Q += n) {
        double q = 0;
        for (size_t v = 0; v < n; v++) {
            size_t at = find_delta(x, a->child[a->first[i] + u], b->child[b->first[j] + v]);
            double A = at == SIZE_MAX ? 0 : x->room->delta[at] * (1 + P[v]);
            sum += A;
            Q[v] = q;
            P[n + v] = gap * P[v] + q;
            q = gap * q + A;
        }
    }
    return sum;
}

/* The adjoint of compare_children(), after it: adds weight dsum/dDelta to the children's weights,
 * and returns weight dsum/dgap. */
static double pull_children(const pair *x, size_t i, size_t j, double weight) {
    const tree *a = x->a, *b = x->b;
    size_t m = a->count[i], n = b->count[j];
    double *Pbar = x->room->Pbar, gap = x->st->gap, by_gap = 0;
    memset(Pbar, 0, n * sizeof *Pbar);
    for (size_t u = m; u-- > 0;) {
        const double *P = x->room->P + u * n, *Q = x->room->Q + u * n;
        double qbar = 0;
        for (size_t v = n; v-- > 0;) {
            size_t at = find_delta(x, a->child[a->first[i] + u], b->child[b->first[j] + v]);
            double Abar = weight + qbar, below = Pbar[v];
            by_gap += below * P[v] + qbar * Q[v];
            Pbar[v] = gap * below;
            if (at != SIZE_MAX) {
                Pbar[v] += Abar * x->room->delta[at];
                x->room->weight[at] += Abar * (1 + P[v]);
            }
            qbar = below + gap * qbar;
        }
    }
    return by_gap;
}

static lth_status reserve_children(const pair *x, lth_error *err) {
    workspace *r = x->room;
    size_t m = 0, n = 0;
    for (size_t i = 0; i < x->a->nodes; i++) m = x->a->count[i] > m ? x->a->count[i] : m;
    for (size_t j = 0; j < x->b->nodes; j++) n = x->b->count[j] > n ? x->b->count[j] : n;
    LTH_TRY(RESERVE(r->P, r->p_capacity, (m + 1) * n));
    LTH_TRY(RESERVE(r->Q, r->q_capacity, (m + 1) * n));
    return RESERVE(r->Pbar, r->pbar_capacity, n);
}

static double sum_deltas(const pair *x) {
    const tree *a = x->a, *b = x->b;
    double k = 0, gap = x->st->gap;
    for (size_t i = 0; i < a->nodes; i++) {
        uint32_t other = x->room->other[a->bucket[i]];
        size_t matches = other == UINT32_MAX ? 0 : bucket_size(b, other);
        for (size_t place = 0; place < matches; place++) {
            size_t j = b->member[b->start[other] + place];
            double sigma = sigma_of(x, i, place);
            double delta =
                sigma == 0 ? 0 : x->st->decay * sigma * (gap * gap + compare_children(x, i, j));
            x->room->delta[x->room->at[i] + place] = delta;
            k += delta;
        }
    }
    return k;
}

/* Parents before their children; every Delta counts once by itself. */
static void pull_deltas(const pair *x, double weight) {
    const tree *a = x->a, *b = x->b;
    double gap = x->st->gap, decay = x->st->decay;
    for (size_t i = 0; i < a->nodes; i++) {
        uint32_t other = x->room->other[a->bucket[i]];
        size_t matches = other == UINT32_MAX ? 0 : bucket_size(b, other);
        for (size_t place = 0; place < matches; place++)
            x->room->weight[x->room->at[i] + place] = weight;
    }
    for (size_t i = a->nodes; i-- > 0;) {
        uint32_t other = x->room->other[a->bucket[i]];
        size_t matches = other == UINT32_MAX ? 0 : bucket_size(b, other);
        for (size_t place = 0; place < matches; place++) {
            size_t j = b->member[b->start[other] + place];
            double w = x->room->weight[x->room->at[i] + place] * sigma_of(x, i, place);
            if (w == 0) continue;
            double children = compare_children(x, i, j);
            x->gradient[DECAY] += w * (gap * gap + children);
            x->gradient[GAP] += w * decay * 2 * gap;
            if (a->count[i] > 0 && b->count[j] > 0)
                x->gradient[GAP] += pull_children(x, i, j, w * decay);
        }
    }
}

/* k(a,b); with a gradient also weight times its derivatives, added to it. */
static lth_status compare(const state *st, const tree *a, const tree *b, workspace *room,
                          double weight, double *value, double *gradient, lth_error *err) {
    pair x = {.st = st, .a = a, .b = b, .room = room, .gradient = gradient};
    LTH_TRY(lay_out(&x, err));
    LTH_TRY(fill_sigma(&x, err));
    LTH_TRY(reserve_children(&x, err));
    *value = sum_deltas(&x);
    if (gradient && weight != 0) pull_deltas(&x, weight);
    return LTH_OK;
}

/* ---- Tiles and diagonals ---- */

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    const state *st = eval->state[node->index];
    workspace room = {0};
    lth_status status = LTH_OK;
    for (size_t i = 0; i < tile->rows * tile->cols && status == LTH_OK; i++) {
        status = compare(st, &st->rows[tile->row[i / tile->cols]],
                         &st->cols[tile->col[i % tile->cols]], &room, 0, &K[i], NULL, err);
        if (status == LTH_OK && i % tile->cols == 0) status = lth__parallel_ask(eval->ctx);
    }
    free_room(&room);
    return status;
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    const state *st = eval->state[node->index];
    workspace room = {0};
    lth_status status = LTH_OK;
    for (size_t i = 0; i < tile->rows * tile->cols && status == LTH_OK; i++) {
        double value, gradient[PARAMS] = {0};
        if (W[i] == 0 && !K) continue;
        status = compare(st, &st->rows[tile->row[i / tile->cols]],
                         &st->cols[tile->col[i % tile->cols]], &room, W[i], &value, gradient, err);
        if (status == LTH_OK && i % tile->cols == 0) status = lth__parallel_ask(eval->ctx);
        if (K) K[i] = value;
        for (size_t p = 0; p < PARAMS; p++)
            lth__sink_add(sink, node->first_param + p, i, gradient[p]);
    }
    free_room(&room);
    return status;
}

/* A node of the row has the fragments below it that a column has, too. */
static lth_status attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, double *share, lth_error *err) {
    const state *st = eval->state[node->index];
    const tree *a = &st->rows[tile->row[0]];
    workspace room = {0};
    lth_status status = LTH_OK;
    for (size_t c = 0; c < tile->cols && status == LTH_OK; c++) {
        const tree *b = &st->cols[tile->col[c]];
        double value;
        if (W[c] == 0) continue;
        status = compare(st, a, b, &room, 0, &value, NULL, err);
        for (size_t i = 0; status == LTH_OK && i < a->nodes; i++) {
            uint32_t other = room.other[a->bucket[i]];
            size_t matches = other == UINT32_MAX ? 0 : bucket_size(b, other);
            for (size_t place = 0; place < matches; place++)
                share[i] += W[c] * room.delta[room.at[i] + place];
        }
    }
    free_room(&room);
    return status;
}

enum { ITEMS_TO_A_JOB = 16 }; /* of a diagonal */

typedef struct diagonal_job {
    const lth__node *node;
    const state *st;
    const tree *trees;
    size_t count;
    double *a, *slope;
} diagonal_job;

static lth_status fill_diagonal(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const diagonal_job *s = user;
    size_t first = index * ITEMS_TO_A_JOB,
           last = first + ITEMS_TO_A_JOB < s->count ? first + ITEMS_TO_A_JOB : s->count;
    workspace room = {0};
    lth_status status = LTH_OK;
    for (size_t i = first; i < last && status == LTH_OK; i++) {
        double gradient[PARAMS] = {0};
        status = compare(s->st, &s->trees[i], &s->trees[i], &room, 1, &s->a[i],
                         s->slope ? gradient : NULL, err);
        for (size_t p = 0; s->slope && p < PARAMS; p++)
            s->slope[(s->node->first_param + p) * s->count + i] = gradient[p];
    }
    free_room(&room);
    return status;
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    const state *st = eval->state[node->index];
    diagonal_job s = {.node = node,
                      .st = st,
                      .trees = items == eval->rows ? st->rows : st->cols,
                      .count = items->count,
                      .a = a,
                      .slope = slope};
    size_t jobs = (items->count + ITEMS_TO_A_JOB - 1) / ITEMS_TO_A_JOB;
    return lth__parallel_for(eval->ctx, "self-similarities", jobs, NULL, fill_diagonal, &s, err);
}

/* ---- On a device ---- */

static lth__ptk_terms terms_of(const lth__node *node, const lth__eval *eval) {
    const state *st = eval->state[node->index];
    bool soft = st->config->sim != LTH__SIM_EXACT;
    return (lth__ptk_terms){.soft_leaves = soft,
                            .soft_all = soft && st->config->soft_all,
                            .decay = st->decay,
                            .gap = st->gap,
                            .similarity = st->similarity};
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
    .attribute = attribute,
    .fragments = lth__ptk_fragments,
    .device_able = device_able,
    .device_tile = device_tile,
    .device_pull = device_pull,
};
