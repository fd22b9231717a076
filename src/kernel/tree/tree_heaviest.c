/* The fragments of a subset tree kernel that weigh most, best first.
 *
 *     k(a,b) = sum over fragments f of lambda_f n_f(a) n_f(b)
 *     lambda_f = product of decay over its nodes, and of alpha over the places where it stops
 *     weight of f = lambda_f sum_c W_c n_f(c)        (times n_f of the row, if there is one)
 *
 * Whether f begins at a node depends on the node's subtree s alone, so columns are summed up by
 * subtree, m_s = sum_c W_c n_s(c). Fragments grow from single productions; the places where one
 * stops are in a fixed order, and it grows only at those after the last one that grew, so each is
 * met once. What can become of f weighs no more than
 *
 *     sum over its s, of one sign, of |m_s| times lambda, with max(alpha, G) at every open place
 *
 * where G is the largest lambda of any fragment that begins at the subtree there. The search ends
 * when no fragment that waits can pass those found, or after MOST_STEPS of them.
 */
#include <math.h>
#include <stdlib.h>

#include "kernel/tree/heaviest.h"
#include "kernel/tree/tree_field.h"
#include "kernel/tree/tree_match.h"

enum { MOST_NODES = 24, MOST_STEPS = 20000, MOST_FRAGMENTS = 400000 };

/* The last node of a fragment; the others are those of `rest`. */
typedef struct fragment {
    const struct fragment *rest; /* NULL: this is the root  */
    uint32_t production, parent, place;
    uint32_t count; /* nodes                   */
} fragment;

/* A fragment as an array: node i hangs at places[i] below parents[i]. */
typedef struct shape {
    uint32_t production[MOST_NODES], parent[MOST_NODES], place[MOST_NODES];
    size_t count;
} shape;

/* One that waits, with the subtrees that begin with it: of the columns, then of the row. */
typedef struct waiting {
    double bound;
    size_t id;
    uint32_t *match;
    size_t matches, own;
} waiting;

typedef struct search {
    const lth__tree_plan *plan;
    const lth__symbols *labels;
    const lth_items *cols;
    const lth__features *bags;
    const double *W;
    double *mass, *largest, *own; /* by subtree: m, G, and how often the row has it (or NULL) */
    lth__pool pool;
    const fragment **fragments;
    size_t fragment_count, fragment_capacity;
    waiting *heap;
    size_t heap_count, heap_capacity;
    lth__heaviest best;
    lth_error *err;
} search;

/* ---- Shapes ---- */

static void unfold(const fragment *f, shape *out) {
    out->count = f->count;
    for (; f; f = f->rest) {
        out->production[f->count - 1] = f->production;
        out->parent[f->count - 1] = f->parent;
        out->place[f->count - 1] = f->place;
    }
}

static bool is_open(const shape *x, size_t node, uint32_t place) {
    for (size_t i = 1; i < x->count; i++) {
        if (x->parent[i] == node && x->place[i] == place) return false;
    }
    return true;
}

/* Whether a place comes after the one where the fragment grew last. */
static bool can_grow(const shape *x, size_t node, uint32_t place) {
    size_t last = x->count - 1;
    if (last == 0) return true;
    return node > x->parent[last] || (node == x->parent[last] && place > x->place[last]);
}

/* The subtrees at the nodes of a fragment that begins at `root`; false if it does not. */
static bool follow(const lth__forest *f, const shape *x, uint32_t root, uint32_t *at) {
    at[0] = root;
    for (size_t i = 0; i < x->count; i++) {
        if (i > 0) at[i] = lth__forest_children(f, at[x->parent[i]])[x->place[i]];
        if (lth__forest_subtree(f, at[i])->production != x->production[i]) return false;
    }
    return true;
}

/* lambda; with subtrees `at` the most that it can become there. */
static double factor_of(const search *s, const shape *x, const uint32_t *at) {
    const lth__forest *f = s->plan->forest;
    double product = 1;
    for (size_t i = 0; i < x->count; i++) {
        uint32_t production = x->production[i];
        uint32_t example = at ? at[i] : lth__forest_production(f, production)->example;
        double alpha = s->plan->alpha[production];
        const uint32_t *children = lth__forest_children(f, example);
        product *= s->plan->decay[production];
        for (uint32_t k = 0; k < lth__forest_subtree(f, example)->children; k++) {
            if (lth__forest_is_leaf(f, children[k]) || !is_open(x, i, k)) continue;
            bool grows = at && x->count < MOST_NODES && can_grow(x, i, k);
            product *= grows ? fmax(alpha, s->largest[children[k]]) : alpha;
        }
    }
    return product;
}

/* ---- The heap ---- */

static bool comes_before(const waiting *a, const waiting *b) {
    return a->bound != b->bound ? a->bound > b->bound : a->id < b->id;
}

static bool push(search *s, waiting w) {
    if (!lth__reserve((void **)&s->heap, &s->heap_capacity, s->heap_count + 1, sizeof *s->heap))
        return false;
    size_t i = s->heap_count++;
    for (; i > 0 && comes_before(&w, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = w;
    return true;
}

static waiting pop(search *s) {
    waiting top = s->heap[0], last = s->heap[--s->heap_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->heap_count) break;
        if (child + 1 < s->heap_count && comes_before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!comes_before(&s->heap[child], &last)) break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

/* ---- Weighing ---- */

static double own_count(const search *s, const uint32_t *match, size_t count) {
    double sum = 0;
    if (!s->own) return 1;
    for (size_t i = 0; i < count; i++) sum += s->own[match[i]];
    return sum;
}

/* A new fragment: into the lists if it is heavy, and on the heap if it may become so. Takes the
 * matches, of the columns and then of the row. */
static lth_status meet_fragment(search *s, fragment new, uint32_t *match, size_t matches,
                                size_t own) {
    shape x;
    uint32_t at[MOST_NODES];
    fragment *f = NULL;
    bool ok = lth__reserve((void **)&s->fragments, &s->fragment_capacity, s->fragment_count + 1,
                           sizeof *s->fragments);
    if (ok) f = lth__pool_alloc(&s->pool, sizeof *f);
    if (!f) {
        lth__free(match);
        return lth__fail_memory(s->err, sizeof *f);
    }
    *f = new;
    unfold(f, &x);
    double times = own_count(s, match + matches, own), sum = 0, bound[2] = {0};
    for (size_t i = 0; i < matches; i++) {
        double m = s->mass[match[i]];
        sum += m;
        if (follow(s->plan->forest, &x, match[i], at))
            bound[m < 0] += fabs(m) * times * factor_of(s, &x, at);
    }
    size_t id = s->fragment_count;
    s->fragments[s->fragment_count++] = f;
    lth__heaviest_add(&s->best, factor_of(s, &x, NULL) * times * sum, id);
    bool hopeful =
        bound[0] > lth__heaviest_least(&s->best, 0) || bound[1] > lth__heaviest_least(&s->best, 1);
    waiting w = {fmax(bound[0], bound[1]), id, match, matches, own};
    if (!hopeful || s->fragment_count > MOST_FRAGMENTS) {
        lth__free(match);
    } else if (!push(s, w)) {
        lth__free(match);
        return lth__fail_memory(s->err, sizeof w);
    }
    return LTH_OK;
}

/* ---- Growing ---- */

typedef struct grown {
    uint32_t production, subtree;
} grown;

static int by_production(const void *a, const void *b) {
    const grown *x = a, *y = b;
    if (x->production != y->production) return x->production < y->production ? -1 : 1;
    return (x->subtree > y->subtree) - (x->subtree < y->subtree);
}

/* What hangs at one place of each match, in order. */
static void list_below(const search *s, const shape *x, const uint32_t *match, size_t count,
                       size_t node, uint32_t place, grown *out) {
    uint32_t at[MOST_NODES];
    for (size_t i = 0; i < count; i++) {
        follow(s->plan->forest, x, match[i], at);
        uint32_t child = lth__forest_children(s->plan->forest, at[node])[place];
        out[i] = (grown){lth__forest_subtree(s->plan->forest, child)->production, match[i]};
    }
    if (count > 0) qsort(out, count, sizeof *out, by_production);
}

static size_t end_of_run(const grown *g, size_t first, size_t count) {
    size_t end = first;
    while (end < count && g[end].production == g[first].production) end++;
    return end;
}

static lth_status grow_at(search *s, const waiting *w, const shape *x, size_t node, uint32_t place,
                          grown *below) {
    grown *of_row = below + w->matches;
    list_below(s, x, w->match, w->matches, node, place, below);
    list_below(s, x, w->match + w->matches, w->own, node, place, of_row);
    for (size_t i = 0, end, r = 0, row_end; i < w->matches; i = end) {
        end = end_of_run(below, i, w->matches);
        while (r < w->own && of_row[r].production < below[i].production) r++;
        row_end = r;
        while (row_end < w->own && of_row[row_end].production == below[i].production) row_end++;
        if (s->own && row_end == r) continue;
        uint32_t *match = lth__alloc(end - i + row_end - r, sizeof *match);
        if (!match) return lth__fail_memory(s->err, 0);
        for (size_t k = i; k < end; k++) match[k - i] = below[k].subtree;
        for (size_t k = r; k < row_end; k++) match[end - i + k - r] = of_row[k].subtree;
        fragment new = {.rest = s->fragments[w->id],
                        .production = below[i].production,
                        .parent = (uint32_t)node,
                        .place = place,
                        .count = (uint32_t)x->count + 1};
        LTH_TRY(meet_fragment(s, new, match, end - i, row_end - r));
    }
    return LTH_OK;
}

static lth_status grow(search *s, const waiting *w) {
    const lth__forest *f = s->plan->forest;
    shape x;
    unfold(s->fragments[w->id], &x);
    if (x.count == MOST_NODES) return LTH_OK;
    grown *below = lth__alloc(w->matches + w->own, sizeof *below);
    lth_status status = below ? LTH_OK : lth__fail_memory(s->err, 0);
    for (size_t i = 0; i < x.count && status == LTH_OK; i++) {
        uint32_t example = lth__forest_production(f, x.production[i])->example;
        const uint32_t *children = lth__forest_children(f, example);
        for (uint32_t k = 0; k < lth__forest_subtree(f, example)->children && status == LTH_OK;
             k++) {
            if (!lth__forest_is_leaf(f, children[k]) && is_open(&x, i, k) && can_grow(&x, i, k))
                status = grow_at(s, w, &x, i, k, below);
        }
    }
    lth__free(below);
    return status;
}

/* ---- From single productions ---- */

static lth_status begin_with(search *s, uint32_t production) {
    const lth__tree_index *index = s->plan->index;
    size_t count = lth__tree_index_members(index, production), matches = 0, own = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t member = lth__tree_index_member(index, production, i);
        matches += s->mass[member] != 0;
        own += s->own && s->own[member] > 0;
    }
    if (matches == 0 || (s->own && own == 0)) return LTH_OK;
    uint32_t *match = lth__alloc(matches + own, sizeof *match);
    if (!match) return lth__fail_memory(s->err, 0);
    for (size_t i = 0, a = 0, b = matches; i < count; i++) {
        uint32_t member = lth__tree_index_member(index, production, i);
        if (s->mass[member] != 0) match[a++] = member;
        if (s->own && s->own[member] > 0) match[b++] = member;
    }
    return meet_fragment(s, (fragment){.production = production, .count = 1}, match, matches, own);
}

static lth_status run(search *s) {
    for (size_t p = 0; p < s->plan->forest->production_count; p++) {
        if (lth__forest_production(s->plan->forest, p)->children > 0 || s->plan->leaves)
            LTH_TRY(begin_with(s, (uint32_t)p));
    }
    for (size_t step = 0; step < MOST_STEPS && s->heap_count > 0; step++) {
        waiting w = pop(s);
        double least = fmin(lth__heaviest_least(&s->best, 0), lth__heaviest_least(&s->best, 1));
        lth_status status = w.bound > least ? grow(s, &w) : LTH_OK;
        lth__free(w.match);
        LTH_TRY(status);
        if (w.bound <= least) break;
    }
    return LTH_OK;
}

static void sum_columns(search *s) {
    for (size_t c = 0; c < s->cols->count; c++) {
        for (size_t i = s->bags->start[c]; i < s->bags->start[c + 1]; i++)
            s->mass[s->bags->feature[i]] += s->W[c] * s->bags->weight[i];
    }
}

/* Children come before their parents. */
static void find_largest(search *s) {
    const lth__forest *f = s->plan->forest;
    for (size_t u = 0; u < f->count; u++) {
        const lth__subtree *t = lth__forest_subtree(f, u);
        const uint32_t *children = lth__forest_children(f, (uint32_t)u);
        double alpha = s->plan->alpha[t->production], largest = s->plan->decay[t->production];
        for (uint32_t k = 0; k < t->children; k++) {
            if (!lth__forest_is_leaf(f, children[k]))
                largest *= fmax(alpha, s->largest[children[k]]);
        }
        s->largest[u] = largest;
    }
}

/* ---- What was found ---- */

static void write_node(const search *s, const shape *x, size_t node, lth__string *out) {
    const lth__forest *f = s->plan->forest;
    uint32_t example = lth__forest_production(f, x->production[node])->example;
    const uint32_t *children = lth__forest_children(f, example);
    if (lth__forest_subtree(f, example)->children == 0) {
        lth__tree_write_label(s->labels, lth__forest_subtree(f, example)->label, out);
        return;
    }
    lth__string_append(out, "(", 1);
    lth__tree_write_label(s->labels, lth__forest_subtree(f, example)->label, out);
    for (uint32_t k = 0; k < lth__forest_subtree(f, example)->children; k++) {
        size_t below = 1;
        while (below < x->count && !(x->parent[below] == node && x->place[below] == k)) below++;
        lth__string_append(out, " ", 1);
        if (below < x->count)
            write_node(s, x, below, out);
        else
            lth__tree_write_label(s->labels, lth__forest_subtree(f, children[k])->label, out);
    }
    lth__string_append(out, ")", 1);
}

/* Columns that have the fragment, and which of them weighs most. */
static size_t count_columns(const search *s, const shape *x, size_t *example) {
    uint32_t at[MOST_NODES];
    size_t columns = 0;
    double most = -1;
    *example = LTH_NONE;
    for (size_t c = 0; c < s->cols->count; c++) {
        double times = 0;
        for (size_t i = s->bags->start[c]; i < s->bags->start[c + 1]; i++) {
            if (follow(s->plan->forest, x, s->bags->feature[i], at)) times += s->bags->weight[i];
        }
        columns += times > 0;
        if (times > 0 && fabs(s->W[c]) * times > most) {
            most = fabs(s->W[c]) * times;
            *example = c;
        }
    }
    return columns;
}

static lth_status tell(const search *s, const lth__heavy *found, lth__fragment_fn *take,
                       void *user) {
    shape x;
    lth__string text = {0};
    size_t example;
    unfold(s->fragments[found->id], &x);
    write_node(s, &x, 0, &text);
    size_t columns = count_columns(s, &x, &example);
    lth_status status =
        text.failed ? lth__fail_memory(s->err, 0)
                    : take(user, text.bytes, text.length, found->weight, columns, example, s->err);
    lth__string_free(&text);
    return status;
}

static lth_status prepare(search *s, const lth__node *node, const lth__eval *eval, bool of_row,
                          size_t count) {
    size_t subtrees = s->plan->forest->count;
    LTH_TRY(lth__heaviest_create(count, &s->best, s->err));
    s->mass = lth__calloc(subtrees, sizeof *s->mass);
    s->largest = lth__calloc(subtrees, sizeof *s->largest);
    s->own = of_row ? lth__calloc(subtrees, sizeof *s->own) : NULL;
    if (!s->mass || !s->largest || (of_row && !s->own))
        return lth__fail_memory(s->err, subtrees * sizeof *s->mass);
    const lth__features *row = &eval->rows->features[node->index];
    for (size_t i = row->start[0]; of_row && i < row->start[1]; i++)
        s->own[row->feature[i]] = row->weight[i];
    sum_columns(s);
    find_largest(s);
    return LTH_OK;
}

static void close_search(search *s) {
    for (size_t i = 0; i < s->heap_count; i++) lth__free(s->heap[i].match);
    void *blocks[] = {s->mass, s->largest, s->own, s->fragments, s->heap};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__heaviest_free(&s->best);
    lth__pool_free(&s->pool);
}

lth_status lth__tree_heaviest(const lth__node *node, const lth__eval *eval, const double *W,
                              bool of_row, size_t count, lth__fragment_fn *take, void *user,
                              lth_error *err) {
    search s = {.plan = eval->state[node->index],
                .labels = eval->rows->encoder->lexicons[node->field].symbols,
                .cols = eval->cols,
                .bags = &eval->cols->features[node->index],
                .W = W,
                .err = err};
    lth_status status = prepare(&s, node, eval, of_row, count);
    if (status == LTH_OK) status = run(&s);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < s.best.count[side] && status == LTH_OK; i++)
            status = tell(&s, &s.best.at[side][i], take, user);
    }
    close_search(&s);
    return status;
}
