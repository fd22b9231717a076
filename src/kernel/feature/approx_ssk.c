/* The string kernel by some of its features (Lodhi et al. 2002, section 6): approx_ssk.
 *
 *     k(x, z) = sum_s K_n(x, s) K_n(z, s)
 *     K_n(x, s) = match^(2n) sum over index tuples I of x with x_I = s, of gap^(span(I) - n)
 *
 * where s runs over sequences of n units that stand next to one another in the first encoded table:
 * the most frequent, the rarest, or any. K_n(x, s) is ssk of order n alone, with weight 1. As s is
 * no longer than n, it is one coordinate of the feature space of ssk, times match^n: with all
 * sequences of n symbols k would be match^(2n) times ssk.
 *
 * All s are found in one pass over x. They are a trie; for each of its inner nodes u
 *
 *     P_u(j) = sum over index tuples I of x_1 .. x_j with x_I = u, of gap^(j - I_1 + 1 - |u|)
 *            = gap P_u(j - 1) + [x_j is the last symbol of u] P_(u without it)(j - 1)
 *
 * and a leaf adds up what its parent had. Kept is Q_u = scale P_u with scale = gap^(-j), so that a
 * unit x_j costs only the nodes that it is the last symbol of, O(nodes / symbols) on the average:
 *
 *     leaves  weight += Q_parent / scale     inner nodes, deepest first  Q += Q_parent / gap
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "data/units.h"
#include "kernel/feature/sparse.h"

enum { FREQUENT, RARE, RANDOM }; /* choose */
enum { MAX_N = 32, MAX_FEATURES = 1000000 };

/* Beyond it all Q are brought back; gaps below its inverse are taken for 0. */
static const double largest_scale = 1e100;

typedef struct config {
    size_t n, features;
    int choose;
    long seed;
    double gap, match;
} config;

/* Nodes by their last symbol: those of symbol c are first[c] .. first[c + 1] - 1. */
typedef struct layer {
    uint32_t *parent; /* an inner node, or the number of inner nodes for the root */
    uint32_t *first;
    size_t count;
} layer;

typedef struct trie {
    size_t symbols;      /* that the first table had; others are in no n-gram */
    layer inner, leaves; /* a leaf is a feature */
} trie;

static void free_trie(void *own) {
    trie *t = own;
    lth__free(t->inner.parent);
    lth__free(t->inner.first);
    lth__free(t->leaves.parent);
    lth__free(t->leaves.first);
    lth__free(t);
}

/* ---- Choosing n-grams ---- */

enum { GRAMS_TO_ASK = 1 << 16 }; /* from one question whether to go on to the next */

static lth_status count_grams(const lth_ctx *ctx, const lth__sequences *texts, size_t n,
                              lth__symbols *grams, lth_error *err) {
    lth__pace pace = {.ctx = ctx, .most = GRAMS_TO_ASK};
    for (size_t i = 0; i < texts->count; i++) {
        const lth__symbol *unit = lth__sequence_symbols(texts, i);
        size_t length = lth__sequence_length(texts, i);
        for (size_t k = 0; k + n <= length; k++) {
            if (!lth__goes_on(&pace, 1)) return LTH_ECANCELED;
            const char *gram = (const char *)(unit + k);
            if (lth__symbols_intern(grams, gram, n * sizeof *unit) == LTH__NO_SYMBOL)
                return lth__fail_memory(err, 0);
        }
    }
    return LTH_OK;
}

typedef struct candidate {
    uint64_t rank;
    uint32_t gram;
} candidate;

/* Of equal ones, the one that the table has first. */
static int by_rank(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->gram < y->gram ? -1 : x->gram > y->gram;
}

static lth_status choose_grams(const config *c, const lth__symbols *grams, candidate **out,
                               size_t *chosen, lth_error *err) {
    size_t count = lth__symbols_count(grams);
    candidate *all = lth__alloc(count, sizeof *all);
    if (!all) return lth__fail_memory(err, count * sizeof *all);
    lth__random random;
    lth__random_seed(&random, (uint64_t)c->seed);
    for (size_t i = 0; i < count; i++) {
        uint64_t seen = lth__symbols_seen(grams, (lth__symbol)i);
        all[i].gram = (uint32_t)i;
        all[i].rank = c->choose == FREQUENT ? UINT64_MAX - seen
                      : c->choose == RARE   ? seen
                                            : lth__random_next(&random);
    }
    if (count > 0) qsort(all, count, sizeof *all, by_rank);
    *out = all;
    *chosen = count < c->features ? count : c->features;
    return LTH_OK;
}

/* ---- The trie ---- */

/* A node while its place is not known; `parent` is a node of the inner ones, or LTH__NO_SYMBOL. */
typedef struct draft {
    lth__symbol symbol;
    uint32_t depth, parent, number;
} draft;

static int by_symbol_deepest_first(const void *a, const void *b) {
    const draft *x = a, *y = b;
    if (x->symbol != y->symbol) return x->symbol < y->symbol ? -1 : 1;
    if (x->depth != y->depth) return x->depth > y->depth ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Numbers of the prefixes of a gram, added where they are new; the leaf goes to `leaf`. */
static lth_status draft_gram(const lth__symbol *gram, size_t n, lth__symbols *prefixes,
                             draft **inner, size_t *capacity, draft *leaf, lth_error *err) {
    lth__symbol parent = LTH__NO_SYMBOL;
    for (size_t depth = 1; depth < n; depth++) {
        size_t before = lth__symbols_count(prefixes);
        lth__symbol node = lth__symbols_intern(prefixes, (const char *)gram, depth * sizeof *gram);
        if (node == LTH__NO_SYMBOL ||
            !lth__reserve((void **)inner, capacity, before + 1, sizeof **inner))
            return lth__fail_memory(err, 0);
        (*inner)[node] = (draft){gram[depth - 1], (uint32_t)depth, parent, node};
        parent = node;
    }
    *leaf = (draft){gram[n - 1], (uint32_t)n, parent, leaf->number};
    return LTH_OK;
}

/* Nodes in their places; place[i] of draft i is told if asked for. */
static lth_status fill_layer(layer *l, draft *drafts, size_t count, size_t symbols, uint32_t *place,
                             lth_error *err) {
    l->count = count;
    l->parent = lth__alloc(count, sizeof *l->parent);
    l->first = lth__calloc(symbols + 1, sizeof *l->first);
    if (!l->parent || !l->first) return lth__fail_memory(err, count * sizeof *l->parent);
    if (count > 0) qsort(drafts, count, sizeof *drafts, by_symbol_deepest_first);
    for (size_t i = 0; i < count; i++) {
        l->first[drafts[i].symbol + 1]++;
        if (place) place[drafts[i].number] = (uint32_t)i;
    }
    for (size_t c = 0; c < symbols; c++) l->first[c + 1] += l->first[c];
    return LTH_OK;
}

static void fill_parents(layer *l, const draft *drafts, const uint32_t *place, size_t root) {
    for (size_t i = 0; i < l->count; i++) {
        uint32_t parent = drafts[i].parent;
        l->parent[i] = parent == LTH__NO_SYMBOL ? (uint32_t)root : place[parent];
    }
}

static lth_status place_nodes(trie *t, draft *inner, size_t inner_count, draft *leaves,
                              size_t leaf_count, lth_error *err) {
    uint32_t *place = lth__alloc(inner_count, sizeof *place);
    if (!place) return lth__fail_memory(err, inner_count * sizeof *place);
    lth_status status = fill_layer(&t->inner, inner, inner_count, t->symbols, place, err);
    if (status == LTH_OK)
        status = fill_layer(&t->leaves, leaves, leaf_count, t->symbols, NULL, err);
    if (status == LTH_OK) {
        fill_parents(&t->inner, inner, place, inner_count);
        fill_parents(&t->leaves, leaves, place, inner_count);
    }
    lth__free(place);
    return status;
}

static lth_status build_trie(trie *t, size_t n, const lth__symbols *grams, const candidate *chosen,
                             size_t count, lth_error *err) {
    lth__symbols *prefixes = lth__symbols_create();
    draft *inner = NULL, *leaves = lth__alloc(count, sizeof *leaves);
    size_t capacity = 0, length;
    lth_status status = prefixes && leaves ? LTH_OK : lth__fail_memory(err, count * sizeof *leaves);
    for (size_t i = 0; i < count && status == LTH_OK; i++) {
        lth__symbol gram[MAX_N]; /* the text of a symbol is not aligned */
        memcpy(gram, lth__symbols_text(grams, chosen[i].gram, &length), n * sizeof *gram);
        leaves[i].number = (uint32_t)i;
        status = draft_gram(gram, n, prefixes, &inner, &capacity, &leaves[i], err);
    }
    if (status == LTH_OK)
        status = place_nodes(t, inner, lth__symbols_count(prefixes), leaves, count, err);
    lth__free(inner);
    lth__free(leaves);
    lth__symbols_free(prefixes);
    return status;
}

/* The features that the first table gives. */
static lth_status learn(const lth_ctx *ctx, const config *c, const lth__sequences *texts,
                        size_t symbols, lth__feature_space *space, lth_error *err) {
    if (space->own) free_trie(space->own); /* of other rows, or a table that failed */
    trie *t = space->own = lth__calloc(1, sizeof *t);
    space->free_own = free_trie;
    lth__symbols *grams = lth__symbols_create();
    candidate *candidates = NULL;
    size_t count = 0;
    lth_status status = t && grams ? LTH_OK : lth__fail_memory(err, sizeof *t);
    if (status == LTH_OK) status = count_grams(ctx, texts, c->n, grams, err);
    if (status == LTH_OK) status = choose_grams(c, grams, &candidates, &count, err);
    if (status == LTH_OK) {
        t->symbols = symbols;
        status = build_trie(t, c->n, grams, candidates, count, err);
    }
    lth__free(candidates);
    lth__symbols_free(grams);
    return status;
}

/* ---- The weights of one text: half of them where the caller is asked to stop ---- */

enum { NODES_TO_ASK = 1 << 20 }; /* from one question whether to go on to the next */

/* That end with a symbol, and a step itself. */
static size_t nodes_of(const trie *t, lth__symbol c) {
    if (c >= t->symbols) return 1;
    return 1 + t->leaves.first[c + 1] - t->leaves.first[c] + t->inner.first[c + 1] -
           t->inner.first[c];
}

/* Without gaps P_u(j) is 1 where u ends at j, and 0 elsewhere. */
static void count_contiguous(const lth_ctx *ctx, const trie *t, const lth__symbol *unit,
                             size_t length, double *Q, double *weight) {
    size_t root = t->inner.count;
    lth__pace pace = {.ctx = ctx, .most = NODES_TO_ASK};
    memset(Q, 0, root * sizeof *Q);
    Q[root] = 1;
    for (size_t j = 0; j < length && lth__goes_on(&pace, nodes_of(t, unit[j])); j++) {
        lth__symbol c = unit[j], before = j > 0 ? unit[j - 1] : LTH__NO_SYMBOL;
        if (c < t->symbols) {
            for (size_t i = t->leaves.first[c]; i < t->leaves.first[c + 1]; i++)
                weight[i] += Q[t->leaves.parent[i]];
            for (size_t i = t->inner.first[c]; i < t->inner.first[c + 1]; i++)
                Q[i] = Q[t->inner.parent[i]];
        }
        if (before == c || before >= t->symbols) continue;
        size_t first = t->inner.first[before];
        memset(Q + first, 0, (t->inner.first[before + 1] - first) * sizeof *Q);
    }
}

static void count_gapped(const lth_ctx *ctx, const trie *t, double gap, const lth__symbol *unit,
                         size_t length, double *Q, double *weight) {
    size_t root = t->inner.count;
    lth__pace pace = {.ctx = ctx, .most = NODES_TO_ASK};
    double by_gap = 1 / gap, scale = 1;
    memset(Q, 0, root * sizeof *Q);
    for (size_t j = 0; j < length; j++, scale *= by_gap) {
        bool rescales = scale * by_gap > largest_scale;
        if (!lth__goes_on(&pace, nodes_of(t, unit[j]) + (rescales ? root : 0))) return;
        if (rescales) {
            for (size_t i = 0; i < root; i++) Q[i] /= scale;
            scale = 1;
        }
        lth__symbol c = unit[j];
        if (c >= t->symbols) continue;
        double by_scale = 1 / scale;
        Q[root] = scale; /* the empty sequence ends everywhere */
        for (size_t i = t->leaves.first[c]; i < t->leaves.first[c + 1]; i++)
            weight[i] += Q[t->leaves.parent[i]] * by_scale;
        for (size_t i = t->inner.first[c]; i < t->inner.first[c + 1]; i++)
            Q[i] += Q[t->inner.parent[i]] * by_gap;
    }
}

/* ---- Encoding ---- */

/* What one text has; its weights take the place of zeros. */
typedef struct found {
    uint32_t *feature;
    double *weight;
    size_t count;
} found;

typedef struct jobs {
    const config *config;
    const lth_ctx *ctx;
    const trie *trie;
    const lth__sequences *texts;
    double **scratch; /* by worker: Q with the root, then a weight for each feature */
    found *found;     /* by text */
} jobs;

static lth_status keep_found(const double *weight, size_t features, double factor, found *out) {
    for (size_t i = 0; i < features; i++) out->count += weight[i] > 0;
    out->feature = lth__alloc(out->count, sizeof *out->feature);
    out->weight = lth__alloc(out->count, sizeof *out->weight);
    if (!out->feature || !out->weight) return LTH_ENOMEM;
    for (size_t i = 0, used = 0; i < features; i++) {
        if (!(weight[i] > 0)) continue;
        out->feature[used] = (uint32_t)i;
        out->weight[used++] = weight[i] * factor;
    }
    return LTH_OK;
}

static lth_status weigh_text(void *user, size_t text, unsigned worker, lth_error *err) {
    (void)err;
    const jobs *j = user;
    const trie *t = j->trie;
    const config *c = j->config;
    size_t nodes = t->inner.count + 1, length = lth__sequence_length(j->texts, text);
    const lth__symbol *unit = lth__sequence_symbols(j->texts, text);
    double **scratch = &j->scratch[worker];
    if (!*scratch) *scratch = lth__alloc(nodes + t->leaves.count, sizeof **scratch);
    if (!*scratch) return LTH_ENOMEM;
    double *Q = *scratch, *weight = Q + nodes;
    memset(weight, 0, t->leaves.count * sizeof *weight);
    if (c->gap * largest_scale < 1)
        count_contiguous(j->ctx, t, unit, length, Q, weight);
    else
        count_gapped(j->ctx, t, c->gap, unit, length, Q, weight);
    return keep_found(weight, t->leaves.count, pow(c->match, 2 * (double)c->n), &j->found[text]);
}

/* One after another; each text's arrays are freed as soon as they are copied. */
static lth_status join(found *texts, size_t count, lth__features *out, lth_error *err) {
    out->start = lth__alloc(count + 1, sizeof *out->start);
    if (!out->start) return lth__fail_memory(err, (count + 1) * sizeof *out->start);
    out->start[0] = 0;
    for (size_t i = 0; i < count; i++) out->start[i + 1] = out->start[i] + texts[i].count;
    out->feature = lth__alloc(out->start[count], sizeof *out->feature);
    if (!out->feature) return lth__fail_memory(err, out->start[count] * sizeof *out->feature);
    for (size_t i = 0; i < count; i++) {
        memcpy(out->feature + out->start[i], texts[i].feature,
               texts[i].count * sizeof *out->feature);
        lth__free(texts[i].feature);
        texts[i].feature = NULL;
    }
    out->weight = lth__alloc(out->start[count], sizeof *out->weight);
    if (!out->weight) return lth__fail_memory(err, out->start[count] * sizeof *out->weight);
    for (size_t i = 0; i < count; i++) {
        memcpy(out->weight + out->start[i], texts[i].weight, texts[i].count * sizeof *out->weight);
        lth__free(texts[i].weight);
        texts[i].weight = NULL;
    }
    return LTH_OK;
}

static lth_status weigh_all(const config *c, const trie *t, const lth__sequences *texts,
                            lth_ctx *ctx, lth__features *out, lth_error *err) {
    unsigned workers = ctx->options.threads;
    jobs j = {.config = c,
              .ctx = ctx,
              .trie = t,
              .texts = texts,
              .scratch = lth__calloc(workers, sizeof *j.scratch),
              .found = lth__calloc(texts->count, sizeof *j.found)};
    lth_status status =
        j.scratch && j.found ? LTH_OK : lth__fail_memory(err, texts->count * sizeof *j.found);
    if (status == LTH_OK)
        status =
            lth__parallel_for(ctx, "features of texts", texts->count, NULL, weigh_text, &j, err);
    if (status == LTH_OK) status = join(j.found, texts->count, out, err);
    for (size_t i = 0; j.found && i < texts->count; i++) {
        lth__free(j.found[i].feature);
        lth__free(j.found[i].weight);
    }
    for (unsigned i = 0; j.scratch && i < workers; i++) lth__free(j.scratch[i]);
    lth__free(j.found);
    lth__free(j.scratch);
    return status;
}

static lth_status encode(const lth__node *node, lth_items *items, lth_error *err) {
    lth_encoder *encoder = items->encoder;
    lth__feature_space *space = &encoder->spaces[node->index];
    const lth__sequences *texts = &items->fields[node->field];
    if (!encoder->has_encoded) {
        size_t symbols = lth__symbols_count(encoder->lexicons[node->field].symbols);
        LTH_TRY(learn(encoder->ctx, node->config, texts, symbols, space, err));
    }
    return weigh_all(node->config, space->own, texts, encoder->ctx, &items->features[node->index],
                     err);
}

static bool learns(const lth__node *node) {
    (void)node;
    return true;
}

/* ---- Explanations ---- */

/* The units of a feature, last first on the way up. */
static size_t feature_units(const lth__node *node, const lth_encoder *encoder, uint32_t feature,
                            uint32_t *unit, size_t most) {
    const config *c = node->config;
    const trie *t = encoder->spaces[node->index].own;
    if (c->n > most) return 0;
    uint32_t at = feature;
    for (size_t depth = c->n; depth-- > 0;) {
        const layer *l = depth + 1 == c->n ? &t->leaves : &t->inner;
        size_t low = 0, high = t->symbols; /* the symbol c with first[c] <= at < first[c + 1] */
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (l->first[middle] <= at)
                low = middle;
            else
                high = middle;
        }
        unit[depth] = (uint32_t)low;
        at = l->parent[at];
    }
    return c->n;
}

/* What the places of one feature in a text are worth, to each of their units: F and B sum over the
 * matches that end and that begin there. */
static void share_feature(const config *c, const lth__symbol *text, size_t length,
                          const uint32_t *gram, double *F, double *B, double *worth) {
    size_t n = c->n;
    for (size_t i = 0; i < n; i++) {
        double before = 0, after = 0; /* gap-weighted sums over what came strictly earlier */
        size_t r = n - 1 - i;
        for (size_t j = 0; j < length; j++) {
            size_t k = length - 1 - j;
            F[i * length + j] = text[j] == gram[i] ? (i == 0 ? 1 : before) : 0;
            B[r * length + k] = text[k] == gram[r] ? (i == 0 ? 1 : after) : 0;
            if (i > 0) before = c->gap * before + F[(i - 1) * length + j];
            if (i > 0) after = c->gap * after + B[(r + 1) * length + k];
        }
    }
    for (size_t j = 0; j < length; j++) {
        worth[j] = 0;
        for (size_t i = 0; i < n; i++) worth[j] += F[i * length + j] * B[i * length + j];
    }
}

/* A feature's share goes to the units of its places by what these are worth. */
static lth_status features_to_units(const lth__node *node, const lth_items *items, size_t item,
                                    const double *share, double *unit, lth_error *err) {
    const config *c = node->config;
    const lth__features *f = &items->features[node->index];
    const lth__sequences *texts = &items->fields[node->field];
    size_t length = lth__sequence_length(texts, item);
    double *F = lth__alloc((2 * c->n + 1) * length, sizeof *F), *B = F + c->n * length;
    double *worth = B + c->n * length;
    if (!F) return lth__fail_memory(err, (2 * c->n + 1) * length * sizeof *F);
    for (size_t i = f->start[item]; i < f->start[item + 1]; i++) {
        uint32_t gram[MAX_N];
        double sum = 0;
        feature_units(node, items->encoder, f->feature[i], gram, MAX_N);
        share_feature(c, lth__sequence_symbols(texts, item), length, gram, F, B, worth);
        for (size_t j = 0; j < length; j++) sum += worth[j];
        for (size_t j = 0; sum > 0 && j < length; j++)
            unit[j] += share[i - f->start[item]] * worth[j] / sum;
    }
    lth__free(F);
    return LTH_OK;
}

/* ---- The family ---- */

static const lth_argument arguments[] = {
    {.name = "n",
     .help = "units in a feature, which is also the order of the string kernel",
     .initial = "3",
     .choices = "1..32"},
    {.name = "features",
     .help = "how many n-grams of the first table are features; all, if it has no more",
     .initial = "3000",
     .choices = "1..1000000"},
    {.name = "choose",
     .help = "which ones: those that the first table has most often, least often, or any",
     .initial = "frequent",
     .choices = "frequent|rare|random"},
    {.name = "seed", .help = "of choose=random", .initial = "1", .choices = "0..1000000000"},
    {.name = "gap",
     .help = "factor for each unit that a match skips; fixed, with or without !, since features "
             "are computed once",
     .initial = "0.5",
     .choices = "0..1"},
    {.name = "match",
     .help = "factor for each matched unit, in the text and in the feature; fixed like gap",
     .initial = "1",
     .choices = "0..1000"},
    LTH__UNITS_ARGUMENT("chars"),
    LTH__LOWER_ARGUMENT("no"),
    {0}};

static lth_status read_number(const lth__node *node, const char *name, double hi, double *out,
                              lth_error *err) {
    const lth__argument *a = lth__node_argument(node, name);
    if (!a) return LTH_OK;
    const lth__value *v = &a->value;
    bool plain = v->kind == LTH__VALUE_NUMBER && v->given && !v->tag;
    if (!plain || !(v->number >= 0 && v->number <= hi)) {
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                            "%s of approx_ssk is a number from 0 to %g; it is not learned, and "
                            "cannot be shared",
                            name, hi);
    }
    *out = v->number;
    return LTH_OK;
}

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (config){.gap = 0.5, .match = 1};
    node->config = c;
    int units, lower;
    long n, features;
    LTH_TRY(lth__node_integer(node, "n", 1, MAX_N, 3, &n, err));
    LTH_TRY(lth__node_integer(node, "features", 1, MAX_FEATURES, 3000, &features, err));
    LTH_TRY(lth__node_choice(node, "choose", FREQUENT, &c->choose, err));
    LTH_TRY(lth__node_integer(node, "seed", 0, 1000000000, 1, &c->seed, err));
    LTH_TRY(read_number(node, "gap", 1, &c->gap, err));
    LTH_TRY(read_number(node, "match", 1000, &c->match, err));
    LTH_TRY(lth__node_choice(node, "units", LTH__CHARS, &units, err));
    LTH_TRY(
        lth__node_choice(node, "lower", units == LTH__WORDS || units == LTH__TOKENS, &lower, err));
    c->n = (size_t)n;
    c->features = (size_t)features;
    lth__field_def field = {.column = node->expr->inputs[0]->name,
                            .type = &lth__field_text,
                            .units = units,
                            .lower = lower};
    return lth__kernel_field(kernel, &field, &node->field, err);
}

const lth__family lth__family_approx_ssk = {
    .manual = {.name = "approx_ssk",
               .help = "feature map: the string kernel of order n of a text with each of some "
                       "n-grams, which approximates the string kernel of two texts",
               .usage = "approx_ssk(COLUMN, n=3), as in normalize(approx_ssk(text, n=5))",
               .arguments = arguments,
               .kind = LTH_FAMILY_MAP},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .encode = encode,
    .learns = learns,
    .features_to_units = features_to_units,
    .feature_units = feature_units,
    LTH__SPARSE_FUNCTIONS,
};
