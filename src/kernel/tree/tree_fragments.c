/* One pair of trees in memory that grows with the smaller of them: for pairs whose table of Delta
 * would be too large, for self-similarities, and where each pair's own gradient is wanted.
 *
 * Two nodes of equal production belong to one largest fragment that both trees have in common
 * there: going up, as long as the parents are of equal production and the nodes stand at the same
 * place below them. So all pairs of nodes are reached from those at the top of a fragment. Nodes
 * with equal subtrees are of one kind: how often two kinds meet at the top is counted, and the
 * fragment below them is listed once, level by level:
 *
 *     backwards over the list:  Delta = decay alpha^u prod over matching children (alpha + Delta)
 *     forwards:                 Dbar of the children from that of the parent
 *
 * u counts the inner children that do not match.
 */
#include <stdlib.h>

#include "base/parallel.h"
#include "kernel/tree/tree_match.h"

typedef struct node {
    uint32_t production, subtree;
    uint32_t above, place; /* production of the parent, LTH__NO_SUBTREE = none; which child it is */
    uint32_t children;     /* 0 also for a leaf                            */
    size_t first;          /* its children are child[first], ...           */
} node;

/* Nodes with the same subtree. */
typedef struct kind {
    uint32_t production, node, count; /* `node` is one of them */
    uint32_t first;                   /* of its hangs          */
} kind;

/* Nodes of a kind that hang at the same place below the same production. */
typedef struct hang {
    uint32_t kind, above, place, count;
} hang;

struct lth__tree_view {
    node *nodes; /* those that are compared, in post-order */
    size_t count;
    uint32_t *child; /* numbers of nodes; LTH__NO_SUBTREE = a leaf */
    kind *kinds;     /* by production, then by subtree; and an end */
    size_t kind_count;
    hang *hangs;  /* by kind                                             */
    hang *places; /* the same by production, parent, place, then by kind */
    size_t hang_count;
};

/* ---- Views ---- */

static int compare_numbers(const uint32_t *a, const uint32_t *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

/* What nodes are sorted by: production, subtree, parent's production, place; and the node. */
enum { KIND_KEYS = 2, HANG_KEYS = 4, KEYS = 5 };
typedef struct keyed {
    uint32_t by[KEYS];
} keyed;

static int by_keys(const void *a, const void *b) {
    return compare_numbers(((const keyed *)a)->by, ((const keyed *)b)->by, KEYS);
}

/* Kinds are in the order of their productions, so that these need not be looked at. */
static int by_place(const void *a, const void *b) {
    const hang *x = a, *y = b;
    const uint32_t p[] = {x->above, x->place, x->kind}, q[] = {y->above, y->place, y->kind};
    return compare_numbers(p, q, 3);
}

static void list_kinds(lth__tree_view *v, const keyed *keys) {
    for (size_t i = 0; i < v->count; i++) {
        const uint32_t *own = keys[i].by, *last = i > 0 ? keys[i - 1].by : NULL;
        bool new_kind = !last || compare_numbers(own, last, KIND_KEYS) != 0;
        if (new_kind) {
            v->kinds[v->kind_count++] =
                (kind){.production = own[0], .node = own[4], .first = (uint32_t)v->hang_count};
        }
        if (new_kind || compare_numbers(own, last, HANG_KEYS) != 0) {
            v->hangs[v->hang_count++] =
                (hang){.kind = (uint32_t)v->kind_count - 1, .above = own[2], .place = own[3]};
        }
        v->kinds[v->kind_count - 1].count++;
        v->hangs[v->hang_count - 1].count++;
    }
    v->kinds[v->kind_count] = (kind){.first = (uint32_t)v->hang_count};
}

static size_t end_of_run(const lth__tree_view *v, size_t first) {
    size_t last = first;
    while (last < v->kind_count && v->kinds[last].production == v->kinds[first].production) last++;
    return last;
}

static void list_places(lth__tree_view *v) {
    for (size_t i = 0; i < v->hang_count; i++) v->places[i] = v->hangs[i];
    for (size_t k = 0, end; k < v->kind_count; k = end) {
        end = end_of_run(v, k);
        size_t first = v->kinds[k].first, last = v->kinds[end].first;
        qsort(v->places + first, last - first, sizeof *v->places, by_place);
    }
}

static lth_status sort_nodes(lth__tree_view *v, lth_error *err) {
    keyed *keys = lth__alloc(v->count, sizeof *keys);
    if (!keys) return lth__fail_memory(err, v->count * sizeof *keys);
    for (size_t i = 0; i < v->count; i++) {
        const node *n = &v->nodes[i];
        keys[i] = (keyed){{n->production, n->subtree, n->above, n->place, (uint32_t)i}};
    }
    if (v->count > 0) qsort(keys, v->count, sizeof *keys, by_keys);
    list_kinds(v, keys);
    list_places(v);
    lth__free(keys);
    return LTH_OK;
}

/* Nodes find their children on a stack. Leaves stay out of the fragments: as nodes, if they are
 * compared, they have no parent. */
static void list_nodes(const lth__tree_plan *plan, const lth__symbol *subtrees, size_t count,
                       uint32_t *stack, lth__tree_view *v) {
    size_t waiting = 0, links = 0;
    for (size_t i = 0; i < count; i++) {
        const lth__subtree *s = lth__forest_subtree(plan->forest, subtrees[i]);
        bool leaf = s->children == 0;
        waiting -= s->children;
        if (!leaf || plan->leaves) {
            v->nodes[v->count] = (node){.production = s->production,
                                        .subtree = subtrees[i],
                                        .above = LTH__NO_SUBTREE,
                                        .children = s->children,
                                        .first = links};
            for (uint32_t k = 0; k < s->children; k++) {
                uint32_t child = stack[waiting + k];
                v->child[links++] = child;
                if (child == LTH__NO_SUBTREE) continue;
                v->nodes[child].above = s->production;
                v->nodes[child].place = k;
            }
        }
        stack[waiting++] = leaf ? LTH__NO_SUBTREE : (uint32_t)v->count;
        v->count += !leaf || plan->leaves;
    }
}

lth_status lth__tree_view_create(const lth__tree_plan *plan, const lth__symbol *nodes, size_t count,
                                 lth__tree_view **out, lth_error *err) {
    lth__tree_view *v = lth__calloc(1, sizeof *v);
    if (!v) return lth__fail_memory(err, sizeof *v);
    v->nodes = lth__alloc(count, sizeof *v->nodes);
    v->child = lth__alloc(count, sizeof *v->child);
    v->kinds = lth__alloc(count + 1, sizeof *v->kinds);
    v->hangs = lth__alloc(count, sizeof *v->hangs);
    v->places = lth__alloc(count, sizeof *v->places);
    uint32_t *stack = lth__alloc(count, sizeof *stack);
    lth_status status = LTH_OK;
    if (!v->nodes || !v->child || !v->kinds || !v->hangs || !v->places || !stack)
        status = lth__fail_memory(err, count * sizeof *v->nodes);
    if (status == LTH_OK) {
        list_nodes(plan, nodes, count, stack, v);
        status = sort_nodes(v, err);
    }
    lth__free(stack);
    if (status == LTH_OK)
        *out = v;
    else
        lth__tree_view_free(v);
    return status;
}

void lth__tree_view_free(lth__tree_view *v) {
    if (!v) return;
    lth__free(v->nodes);
    lth__free(v->child);
    lth__free(v->kinds);
    lth__free(v->hangs);
    lth__free(v->places);
    lth__free(v);
}

/* ---- One fragment ---- */

typedef struct lth__fragment_pair {
    uint32_t a, b;
    uint32_t matching, others; /* inner children: of equal production, and not */
    size_t first;              /* the matching ones are pairs[first], ...       */
    double delta, bar, after;  /* `after`: the factors of its later siblings    */
} pair;

typedef struct comparison {
    const lth__tree_plan *plan;
    const lth__tree_view *a, *b;
    lth__fragment_room *room;
    lth__tree_gradient gradient;
    double weight, value;
    size_t work; /* since it was asked whether to go on */
    lth_error *err;
} comparison;

enum { WORK_TO_ASK = 1 << 20 };

static lth_status note_work(comparison *x, size_t work) {
    x->work += work;
    if (x->work < WORK_TO_ASK) return LTH_OK;
    x->work = 0;
    return lth__parallel_ask(x->plan->ctx);
}

static lth_status reserve(comparison *x, size_t count) {
    if (count <= x->room->capacity ||
        lth__reserve((void **)&x->room->pairs, &x->room->capacity, count, sizeof *x->room->pairs))
        return LTH_OK;
    return lth__fail_memory(x->err, count * sizeof *x->room->pairs);
}

/* The matching children of a pair go to the end of the list. */
static lth_status add_children(comparison *x, size_t parent, size_t *count) {
    const node *a = &x->a->nodes[x->room->pairs[parent].a];
    const node *b = &x->b->nodes[x->room->pairs[parent].b];
    LTH_TRY(reserve(x, *count + a->children));
    pair *p = &x->room->pairs[parent], *first = x->room->pairs + *count, *next = first;
    const uint32_t *of_a = x->a->child + a->first, *of_b = x->b->child + b->first;
    uint32_t others = 0;
    for (uint32_t k = 0; k < a->children; k++) {
        if (of_a[k] == LTH__NO_SUBTREE) continue;
        if (x->a->nodes[of_a[k]].production == x->b->nodes[of_b[k]].production)
            *next++ = (pair){.a = of_a[k], .b = of_b[k]};
        else
            others++;
    }
    p->first = *count;
    p->matching = (uint32_t)(next - first);
    p->others = others;
    *count += p->matching;
    return LTH_OK;
}

static double power(double base, uint32_t exponent) {
    double result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base) {
        if (exponent & 1) result *= base;
    }
    return result;
}

static double fill_delta(comparison *x, size_t count) {
    double sum = 0;
    for (size_t k = count; k-- > 0;) {
        pair *p = &x->room->pairs[k];
        uint32_t production = x->a->nodes[p->a].production;
        double alpha = x->plan->alpha[production], product = 1;
        for (size_t c = p->first + p->matching; c-- > p->first;) {
            x->room->pairs[c].after = product;
            product *= alpha + x->room->pairs[c].delta;
        }
        p->delta = x->plan->decay[production] * power(alpha, p->others) * product;
        p->bar = 0;
        sum += p->delta;
    }
    return sum;
}

static void pull_pair(comparison *x, pair *p, double weight) {
    uint32_t production = x->a->nodes[p->a].production, owner = x->plan->owner[production];
    double decay = x->plan->decay[production], alpha = x->plan->alpha[production];
    double bar = p->bar + weight, before = 1, by_children = 0;
    double others = power(alpha, p->others);
    for (pair *c = x->room->pairs + p->first, *end = c + p->matching; c < end; c++) {
        double rest = before * c->after;
        c->bar += bar * decay * others * rest;
        by_children += rest;
        before *= alpha + c->delta;
    }
    x->gradient.decay[owner] += bar * others * before;
    if (!x->gradient.alpha) return;
    double slope = others * by_children;
    if (p->others > 0) slope += p->others * power(alpha, p->others - 1) * before;
    x->gradient.alpha[owner] += bar * decay * slope;
}

static lth_status compare_fragment(comparison *x, uint32_t a, uint32_t b, double times) {
    size_t count = 1;
    LTH_TRY(reserve(x, count));
    x->room->pairs[0] = (pair){.a = a, .b = b};
    for (size_t k = 0; k < count; k++) LTH_TRY(add_children(x, k, &count));
    x->value += times * fill_delta(x, count);
    LTH_TRY(note_work(x, count));
    if (!x->gradient.decay || x->weight == 0) return LTH_OK;
    for (size_t k = 0; k < count; k++) pull_pair(x, &x->room->pairs[k], times * x->weight);
    return LTH_OK;
}

/* ---- All fragments ---- */

/* The first hang of b, of kinds from .. to - 1, that is not before this place. */
static const hang *find_place(const lth__tree_view *b, size_t from, size_t to, const hang *h) {
    const hang *low = b->places + b->kinds[from].first, *high = b->places + b->kinds[to].first;
    while (low < high) {
        const hang *middle = low + (high - low) / 2;
        if (middle->above < h->above || (middle->above == h->above && middle->place < h->place))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How often kind i of a meets each of the kinds from .. to - 1 of b, all of one production, at the
 * top of a fragment: not below parents of one production at the same place. */
static void count_meetings(comparison *x, size_t i, size_t from, size_t to) {
    const kind *own = &x->a->kinds[i];
    const hang *last = x->b->places + x->b->kinds[to].first;
    double *times = x->room->times;
    for (size_t j = from; j < to; j++)
        times[j - from] = (double)own->count * (double)x->b->kinds[j].count;
    for (const hang *h = x->a->hangs + own->first; h < x->a->hangs + own[1].first; h++) {
        if (h->above == LTH__NO_SUBTREE) continue;
        for (const hang *o = find_place(x->b, from, to, h);
             o < last && o->above == h->above && o->place == h->place; o++)
            times[o->kind - from] -= (double)h->count * (double)o->count;
    }
}

/* Of a tree with itself, each pair of two kinds is taken once, for both its orders. */
static lth_status compare_kind(comparison *x, size_t i, size_t from, size_t to) {
    bool self = x->a == x->b;
    count_meetings(x, i, from, to);
    LTH_TRY(note_work(x, to - from));
    for (size_t j = self ? i : from; j < to; j++) {
        double times = x->room->times[j - from] * (self && j > i ? 2 : 1);
        if (times > 0)
            LTH_TRY(compare_fragment(x, x->a->kinds[i].node, x->b->kinds[j].node, times));
    }
    return LTH_OK;
}

static lth_status compare_all(comparison *x) {
    const lth__tree_view *a = x->a, *b = x->b;
    if (!lth__reserve((void **)&x->room->times, &x->room->times_capacity, b->kind_count + 1,
                      sizeof *x->room->times))
        return lth__fail_memory(x->err, b->kind_count * sizeof *x->room->times);
    for (size_t i = 0, j = 0; i < a->kind_count && j < b->kind_count;) {
        uint32_t p = a->kinds[i].production, q = b->kinds[j].production;
        size_t end_i = p <= q ? end_of_run(a, i) : i, end_j = q <= p ? end_of_run(b, j) : j;
        for (; p == q && i < end_i; i++) LTH_TRY(compare_kind(x, i, j, end_j));
        i = end_i;
        j = end_j;
    }
    return LTH_OK;
}

void lth__fragment_room_free(lth__fragment_room *room) {
    lth__free(room->pairs);
    lth__free(room->times);
}

lth_status lth__tree_fragments(const lth__tree_plan *plan, const lth__tree_view *a,
                               const lth__tree_view *b, double weight, lth__fragment_room *room,
                               double *value, lth__tree_gradient gradient, lth_error *err) {
    comparison x = {.plan = plan,
                    .a = a,
                    .b = b,
                    .room = room,
                    .gradient = gradient,
                    .weight = weight,
                    .err = err};
    LTH_TRY(compare_all(&x));
    *value = x.value;
    return LTH_OK;
}
