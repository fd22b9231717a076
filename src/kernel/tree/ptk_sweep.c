/* The sums over a tile, tree by tree of its rows and node by node in post-order. With c the Delta
 * of two nodes of one key that have no children in common, decay gap^2:
 *
 *     Delta_ij = c + E_ij        E_ij = decay children(i,j), which is 0 but for the columns of the
 *                                row's program; of soft nodes E_ij is all of Delta_ij, and c is 0
 *     v_j  = sum of E_ij over the nodes i of the tree at hand
 *     K_b  = c (pairs of nodes of one key) + sum of v_j over the nodes j of b
 *
 * A row of E is kept for its parent, which reads those of its children: after that its place is
 * free again, unless other nodes of the tile's rows are the same subtree. So what is at hand is
 * little, and even the largest pair of trees needs no more than rows of the nodes whose parents
 * wait. Both derivatives go along with every value, where they are wanted. The sums go by nodes, so
 * no value depends on the tile. */
#include <string.h>

#include "base/copied.h"
#include "base/parallel.h"
#include "kernel/tree/ptk_sweep.h"

typedef lth__ptk_meeting meeting;
typedef lth__ptk_sweep sweep;
typedef lth__ptk_number number;
typedef lth__ptk_ref ref;
typedef lth__ptk_band band;
typedef lth__ptk_group group;
typedef lth__ptk_row row;
typedef lth__ptk_match match;
typedef lth__ptk_entry entry;
typedef lth__ptk_program program;

/* What is copied below is compiled twice: with derivatives and without. */
enum {
    MOST_KEPT = 1 << 21,   /* reals of rows that come again */
    WORK_TO_ASK = 1 << 20, /* steps */
};

/* ---- Numbers ---- */

LTH__COPIED number get(const double *at, bool slopes) {
    return slopes ? (number){at[0], at[1], at[2]} : (number){at[0], 0, 0};
}

LTH__COPIED void put(double *at, number x, bool slopes) {
    at[0] = x.value;
    if (!slopes) return;
    at[1] = x.by_decay;
    at[2] = x.by_gap;
}

LTH__COPIED number sum_of(number a, number b) {
    return (number){a.value + b.value, a.by_decay + b.by_decay, a.by_gap + b.by_gap};
}

LTH__COPIED number product(number a, number b) {
    return (number){a.value * b.value, a.value * b.by_decay + b.value * a.by_decay,
                    a.value * b.by_gap + b.value * a.by_gap};
}

/* times gap^e */
LTH__COPIED number skip(const lth__ptk_plan *p, number a, size_t e) {
    return (number){p->power[e] * a.value, p->power[e] * a.by_decay,
                    p->power[e] * a.by_gap + p->slope[e] * a.value};
}

/* ---- The children of one pair ---- */

/* A list of children of the row, with what the sweep has of them. */
typedef struct children {
    const ref *refs;
    size_t count;
} children;

LTH__COPIED number load(number c, const ref *r, uint32_t column, bool slopes) {
    number base = {r->soft ? 0 : c.value, r->soft ? 0 : c.by_decay, r->soft ? 0 : c.by_gap};
    if (r->at) return sum_of(base, get(r->at + (slopes ? 3 : 1) * (size_t)column, slopes));
    return r->only == column ? sum_of(base, r->one) : base;
}

/* A list of matches, worked out: those of each that end before it, with the children between. */
typedef struct chain {
    size_t count;
    const ref *child[LTH__PTK_MATCHES];
    const uint32_t *kid[LTH__PTK_MATCHES];
    size_t before[LTH__PTK_MATCHES];
    uint8_t which[LTH__PTK_MATCHES][LTH__PTK_MATCHES];
    uint16_t skipped[LTH__PTK_MATCHES][LTH__PTK_MATCHES];
} chain;

static void make_chain(const sweep *x, const entry *e, const group *g, children c, chain *out) {
    const match *m = x->meeting.matches + e->match;
    out->count = e->matches < LTH__PTK_MATCHES ? e->matches : LTH__PTK_MATCHES;
    for (size_t t = 0; t < out->count; t++) {
        size_t before = 0;
        out->child[t] = &c.refs[m[t].u];
        out->kid[t] = x->meeting.kids + g->first_kid + (size_t)m[t].v * g->width;
        for (size_t s = 0; s < t && before < LTH__PTK_MATCHES; s++) {
            if (m[s].u >= m[t].u || m[s].v >= m[t].v) continue;
            out->which[t][before] = (uint8_t)s;
            out->skipped[t][before++] = (uint16_t)(m[t].u - m[s].u - 1 + m[t].v - m[s].v - 1);
        }
        out->before[t] = before;
    }
}

/* With A_t = Delta_t (1 + sum over s before t of gap^(skipped) A_s): their sum. */
LTH__COPIED number follow(const sweep *x, const chain *c, size_t j, bool slopes) {
    number A[LTH__PTK_MATCHES], sum = {0, 0, 0};
    for (size_t t = 0; t < c->count; t++) {
        A[t] = load(x->base, c->child[t], c->kid[t][j], slopes);
        if (c->before[t] > 0) {
            number before = {1, 0, 0};
            for (size_t k = 0; k < c->before[t]; k++)
                before = sum_of(before, skip(x->meeting.plan, A[c->which[t][k]], c->skipped[t][k]));
            A[t] = product(A[t], before);
        }
        sum = sum_of(sum, A[t]);
    }
    return sum;
}

/* Asks now and then whether to go on. */
static bool goes_on(sweep *x, size_t work) {
    x->work += work;
    if (x->work < WORK_TO_ASK || x->status != LTH_OK) return x->status == LTH_OK;
    x->work = 0;
    x->status = lth__parallel_ask(x->meeting.plan->ctx);
    return x->status == LTH_OK;
}

/* The same over all children: with A_uv = Delta_uv (1 + P_uv), where P sums what ended strictly
 * before (u, v) in both lists, Q <- gap Q + A along v, P <- gap P + Q along u. */
LTH__COPIED number loop_over(sweep *x, const group *g, children c, size_t j, bool slopes) {
    const uint32_t *kid = x->meeting.kids + g->first_kid + j,
                   *kid_bands = x->meeting.kid_bands + g->first_band;
    number *P = x->along, sum = {0, 0, 0};
    for (size_t v = 0; v < g->children; v++) P[v] = (number){0, 0, 0};
    for (size_t u = 0; u < c.count && goes_on(x, g->children); u++) {
        const ref *r = &c.refs[u];
        number q = {0, 0, 0};
        for (size_t v = 0; v < g->children; v++) {
            number A = {0, 0, 0};
            if (kid_bands[v] == r->band) {
                number before = P[v];
                before.value += 1;
                A = product(load(x->base, r, kid[v * g->width], slopes), before);
            }
            sum = sum_of(sum, A);
            P[v] = sum_of(skip(x->meeting.plan, P[v], 1), q);
            q = sum_of(skip(x->meeting.plan, q, 1), A);
        }
    }
    return sum;
}

/* ---- A row ---- */

/* E of the columns of an entry, from `out` on. */
LTH__COPIED void fill_entry(sweep *x, const entry *e, children c, double *out, bool slopes) {
    const group *g = &x->meeting.groups[e->group];
    number decay = {x->meeting.plan->decay, 1, 0};
    size_t lanes = slopes ? 3 : 1;
    if (e->matches == LTH__PTK_NONE) {
        for (size_t j = 0; j < g->width; j++)
            put(out + j * lanes, product(decay, loop_over(x, g, c, j, slopes)), slopes);
        return;
    }
    chain way;
    make_chain(x, e, g, c, &way);
    if (way.count == 1) { /* the usual case */
        const ref child = *way.child[0];
        const uint32_t *kid = way.kid[0];
        for (size_t j = 0; j < g->width; j++)
            put(out + j * lanes, product(decay, load(x->base, &child, kid[j], slopes)), slopes);
        return;
    }
    for (size_t j = 0; j < g->width; j++)
        put(out + j * lanes, product(decay, follow(x, &way, j, slopes)), slopes);
}

/* All columns of the band, which the program leaves at decay children(i,j). */
LTH__COPIED void make_soft(sweep *x, const band *b, const double *sigma, double *at, bool slopes) {
    size_t lanes = slopes ? 3 : 1;
    for (size_t j = 0; j < b->width; j++) {
        number delta = sum_of(x->base, get(at + j * lanes, slopes));
        put(at + j * lanes, product((number){sigma[j], 0, 0}, delta), slopes);
    }
}

LTH__COPIED void fill_row(sweep *x, const program *p, const band *b, children c, ref *out,
                          bool slopes) {
    const entry *e = x->meeting.entries + p->entry, *end = e + p->entries;
    size_t lanes = slopes ? 3 : 1;
    if (!out->at) { /* one column or none */
        double one[3] = {0};
        if (e < end) {
            fill_entry(x, e, c, one, slopes);
            out->only = (uint32_t)(x->meeting.groups[e->group].first - b->first);
        }
        out->one = get(one, slopes);
        return;
    }
    memset(out->at, 0, b->width * lanes * sizeof *out->at);
    for (; e < end; e++) {
        size_t first = x->meeting.groups[e->group].first - b->first;
        fill_entry(x, e, c, out->at + first * lanes, slopes);
    }
}

/* ---- Where rows are ---- */

/* Twice as many slots as there are. */
static lth_status add_slots(sweep *x, size_t size, lth_error *err) {
    size_t count = x->slot_count > 0 ? 2 * x->slot_count : 2;
    uint32_t *free_slots =
        lth__tree_room_grow(x->meeting.room, LTH__PTK_FREE_SLOTS, count, sizeof *free_slots);
    if (!free_slots) return lth__fail_memory(err, count * sizeof *free_slots);
    x->free_slots = free_slots;
    double *slots =
        lth__tree_room_grow(x->meeting.room, LTH__PTK_SLOTS, count * size, sizeof *slots);
    if (!slots) return lth__fail_memory(err, count * size * sizeof *slots);
    x->slots = slots;
    for (ref *r = x->stack; r < x->top; r++) {
        if (r->slot != LTH__PTK_NONE) r->at = slots + r->slot * size;
    }
    while (x->slot_count < count) x->free_slots[x->free_count++] = (uint32_t)x->slot_count++;
    return LTH_OK;
}

/* A place for a row that is not 0 almost everywhere. */
static lth_status place_row(sweep *x, const row *w, ref *out, size_t lanes, lth_error *err) {
    size_t reals = x->meeting.bands[w->band].width * lanes, size = x->meeting.widest * lanes;
    if (w->times > 1 && reals <= x->kept_reals - x->kept_used) {
        out->at = x->kept_rows + x->kept_used;
        x->kept_used += reals;
        return LTH_OK;
    }
    if (x->free_count == 0) LTH_TRY(add_slots(x, size, err));
    out->slot = x->free_slots[--x->free_count];
    out->at = x->slots + out->slot * size;
    return LTH_OK;
}

/* ---- Sums ---- */

static double *touch(sweep *x, size_t which, size_t first, size_t lanes, size_t tree) {
    if (x->touched_by[which] != tree + 1) {
        x->touched_by[which] = (uint32_t)tree + 1;
        x->touched[x->touched_count++] = (uint32_t)which;
    }
    return x->sums + first * lanes;
}

static void add_up(double *restrict sum, const double *restrict from, size_t reals) {
    for (size_t j = 0; j < reals; j++) sum[j] += from[j];
}

LTH__COPIED void add_row(sweep *x, const program *p, const ref *r, size_t tree, bool slopes) {
    const band *b = &x->meeting.bands[r->band];
    const entry *e = x->meeting.entries + p->entry, *end = e + p->entries;
    size_t lanes = slopes ? 3 : 1;
    if (r->soft && r->at) {
        double *sum = touch(x, x->meeting.group_count + r->band, b->first, lanes, tree);
        add_up(sum, r->at, b->width * lanes);
        return;
    }
    for (; e < end; e++) {
        const group *g = &x->meeting.groups[e->group];
        double *sum = touch(x, e->group, g->first, lanes, tree);
        if (r->at)
            add_up(sum, r->at + (g->first - b->first) * lanes, g->width * lanes);
        else
            put(sum, sum_of(get(sum, slopes), r->one), slopes);
    }
}

static void forget_sums(sweep *x, size_t lanes) {
    for (size_t t = 0; t < x->touched_count; t++) {
        size_t which = x->touched[t], groups = x->meeting.group_count;
        bool whole = which >= groups;
        size_t first =
            whole ? x->meeting.bands[which - groups].first : x->meeting.groups[which].first;
        size_t width =
            whole ? x->meeting.bands[which - groups].width : x->meeting.groups[which].width;
        memset(x->sums + first * lanes, 0, width * lanes * sizeof *x->sums);
    }
    x->touched_count = 0;
}

static const row *row_at(const sweep *x, uint32_t subtree) {
    return &x->meeting.rows[x->meeting.row_of[subtree] - 1];
}

/* How many pairs of nodes of one key the tree has with each of the columns. */
static void count_pairs(sweep *x, const lth__symbol *node, size_t nodes) {
    memset(x->counts, 0, x->meeting.tile->cols * sizeof *x->counts);
    for (size_t i = 0; i < nodes; i++) x->band_counts[row_at(x, node[i])->band]++;
    for (size_t i = 0; i < nodes; i++) {
        uint32_t which = row_at(x, node[i])->band;
        const band *b = &x->meeting.bands[which];
        double count = x->band_counts[which];
        x->band_counts[which] = 0;
        if (count == 0 || b->soft) continue;
        const lth__ptk_holder *h = x->meeting.holders + b->holder, *end = h + b->holders;
        for (; h < end; h++) x->counts[h->tree] += count * h->times;
    }
}

LTH__COPIED void give_values(const sweep *x, size_t tree, lth__ptk_wanted wanted, bool slopes) {
    const meeting *m = &x->meeting;
    for (size_t c = 0; c < m->tile->cols; c++) {
        size_t at = tree * m->tile->cols + c;
        number k = {x->base.value * x->counts[c], x->base.by_decay * x->counts[c],
                    x->base.by_gap * x->counts[c]};
        for (size_t n = m->node_start[c]; n < m->node_start[c + 1]; n++)
            k = sum_of(k, get(x->sums + m->node[n] * (slopes ? 3u : 1u), slopes));
        wanted.K[at] = k.value;
        if (slopes) {
            wanted.by_decay[at] = k.by_decay;
            wanted.by_gap[at] = k.by_gap;
        }
    }
}

/* ---- For explanations ---- */

static void weigh_columns(sweep *x, const double *W) {
    const meeting *m = &x->meeting;
    double *by_band = x->weights + m->column_count;
    memset(x->weights, 0, (m->column_count + m->band_count) * sizeof *x->weights);
    for (size_t c = 0; c < m->tile->cols; c++) {
        for (size_t n = m->node_start[c]; n < m->node_start[c + 1]; n++)
            x->weights[m->node[n]] += W[c];
    }
    for (size_t b = 0; b < m->band_count; b++) {
        const lth__ptk_holder *h = m->holders + m->bands[b].holder;
        for (size_t k = 0; k < m->bands[b].holders && !m->bands[b].soft; k++)
            by_band[b] += W[h[k].tree] * h[k].times;
    }
}

/* What W owes to one node. */
static double share_of(const sweep *x, const ref *r) {
    const meeting *m = &x->meeting;
    const double *weight = x->weights + m->bands[r->band].first;
    double share = x->base.value * x->weights[m->column_count + r->band];
    if (!r->at) return r->only == LTH__PTK_NONE ? share : share + r->one.value * weight[r->only];
    for (size_t j = 0; j < m->bands[r->band].width; j++) share += r->at[j] * weight[j];
    return share;
}

/* ---- Trees ---- */

/* A node, whose children are on top of the stack. */
LTH__COPIED lth_status make_row(sweep *x, const lth__symbol *node, size_t nodes, size_t i,
                                const program *p, ref *out, bool slopes, lth_error *err) {
    const row *w = row_at(x, node[i]);
    const band *b = &x->meeting.bands[w->band];
    size_t count = lth__forest_subtree(x->meeting.plan->forest, node[i])->children;
    const double *sigma = NULL;
    *out = (ref){.only = LTH__PTK_NONE, .slot = LTH__PTK_NONE, .band = w->band, .soft = b->soft};
    if (b->soft ? b->width > 0 : p->width > 1) LTH_TRY(place_row(x, w, out, slopes ? 3 : 1, err));
    if (b->soft) LTH_TRY(lth__ptk_sigma(x, node, nodes, i, &sigma, err));
    fill_row(x, p, b, (children){x->top - count, count}, out, slopes);
    if (b->soft) make_soft(x, b, sigma, out->at, slopes);
    return LTH_OK;
}

static void keep_row(sweep *x, uint32_t subtree, const ref *made) {
    row *w = &x->meeting.rows[x->meeting.row_of[subtree] - 1];
    if (w->times < 2 || w->kept != LTH__PTK_NONE || made->slot != LTH__PTK_NONE) return;
    w->kept = (uint32_t)x->kept_count;
    x->kept[x->kept_count++] = *made;
}

static void pop(sweep *x, size_t count) {
    for (; count > 0; count--) {
        uint32_t slot = (--x->top)->slot;
        if (slot != LTH__PTK_NONE) x->free_slots[x->free_count++] = slot;
    }
}

LTH__COPIED lth_status sweep_tree(sweep *x, size_t tree, lth__ptk_wanted wanted, bool slopes,
                                  lth_error *err) {
    const lth__sequences *trees = x->meeting.plan->rows;
    size_t item = x->meeting.tile->row[tree], nodes = lth__sequence_length(trees, item);
    const lth__symbol *node = lth__sequence_symbols(trees, item);
    for (size_t i = 0; i < nodes; i++) {
        const row *w = row_at(x, node[i]);
        const program *p;
        ref made;
        LTH_TRY(lth__ptk_find_program(&x->meeting, w, &p, err));
        if (w->kept == LTH__PTK_NONE)
            LTH_TRY(make_row(x, node, nodes, i, p, &made, slopes, err));
        else
            made = x->kept[w->kept];
        keep_row(x, node[i], &made);
        if (!goes_on(x, 1 + p->width + x->meeting.bands[w->band].width / 8)) return x->status;
        if (wanted.K) add_row(x, p, &made, tree, slopes);
        if (wanted.share) wanted.share[i] += share_of(x, &made);
        pop(x, lth__forest_subtree(x->meeting.plan->forest, node[i])->children);
        *x->top++ = made;
    }
    pop(x, nodes > 0);
    if (!wanted.K) return LTH_OK;
    count_pairs(x, node, nodes);
    give_values(x, tree, wanted, slopes);
    forget_sums(x, slopes ? 3 : 1);
    return LTH_OK;
}

static lth_status sweep_values(sweep *x, size_t tree, lth__ptk_wanted wanted, lth_error *err) {
    return sweep_tree(x, tree, wanted, false, err);
}

static lth_status sweep_slopes(sweep *x, size_t tree, lth__ptk_wanted wanted, lth_error *err) {
    return sweep_tree(x, tree, wanted, true, err);
}

/* ---- A tile ---- */

/* LTH_OK, and *out has room for `count` elements; `zero` clears them. */
#define GET(out, number, count, zero)                                                              \
    get_block(x, number, count, sizeof **(out), zero, (void **)(out), err)

static lth_status get_block(sweep *x, size_t which, size_t count, size_t size, bool zero,
                            void **out, lth_error *err) {
    *out = lth__tree_room_get(x->meeting.room, which, count, size);
    if (!*out) return lth__fail_memory(err, count * size);
    if (zero) memset(*out, 0, count * size);
    return LTH_OK;
}

/* Reals that are worth keeping, and the most children of a column. */
static void measure(sweep *x, size_t lanes, size_t *most) {
    const meeting *m = &x->meeting;
    for (size_t r = 0; r < m->row_count && x->kept_reals < MOST_KEPT; r++) {
        bool leaf = lth__forest_is_leaf(m->plan->forest, m->rows[r].subtree);
        if (m->rows[r].times < 2 || (leaf && !m->bands[m->rows[r].band].soft)) continue;
        x->kept_reals += m->bands[m->rows[r].band].width * lanes;
    }
    if (x->kept_reals > MOST_KEPT) x->kept_reals = MOST_KEPT;
    for (size_t g = 0; g < m->group_count; g++)
        *most = m->groups[g].children > *most ? m->groups[g].children : *most;
}

static lth_status open_sweep(sweep *x, lth__ptk_wanted wanted, lth_error *err) {
    const meeting *m = &x->meeting;
    size_t lanes = wanted.by_gap ? 3 : 1, longest = 0, numbers = m->group_count + m->band_count;
    measure(x, lanes, &longest);
    LTH_TRY(GET(&x->stack, LTH__PTK_STACK, m->plan->rows->longest + 1, false));
    LTH_TRY(GET(&x->kept, LTH__PTK_KEPT, m->row_count, false));
    LTH_TRY(GET(&x->kept_rows, LTH__PTK_KEPT_ROWS, x->kept_reals, false));
    LTH_TRY(GET(&x->sums, LTH__PTK_SUMS, m->column_count * lanes, true));
    LTH_TRY(GET(&x->touched, LTH__PTK_TOUCHED, numbers, false));
    LTH_TRY(GET(&x->touched_by, LTH__PTK_TOUCHED_BY, numbers, true));
    LTH_TRY(GET(&x->counts, LTH__PTK_COUNTS, m->tile->cols, false));
    LTH_TRY(GET(&x->band_counts, LTH__PTK_BAND_COUNTS, m->band_count, true));
    LTH_TRY(GET(&x->along, LTH__PTK_ALONG, longest, false));
    x->top = x->stack;
    if (!wanted.share) return LTH_OK;
    LTH_TRY(GET(&x->weights, LTH__PTK_WEIGHTS, m->column_count + m->band_count, false));
    weigh_columns(x, wanted.W);
    return LTH_OK;
}

static lth_status compare(sweep *x, lth__ptk_wanted wanted, lth_error *err) {
    LTH_TRY(lth__ptk_meet(&x->meeting, err));
    LTH_TRY(open_sweep(x, wanted, err));
    for (size_t tree = 0; tree < x->meeting.tile->rows; tree++) {
        LTH_TRY(wanted.by_gap ? sweep_slopes(x, tree, wanted, err)
                              : sweep_values(x, tree, wanted, err));
    }
    return LTH_OK;
}

lth_status lth__ptk_compare(const lth__ptk_plan *plan, const lth__tile *tile,
                            lth__ptk_wanted wanted, lth_error *err) {
    double decay = plan->decay, gap = plan->gap;
    sweep x = {.meeting = {.plan = plan, .tile = tile, .room = lth__tree_room_enter(plan->rooms)},
               .base = {decay * gap * gap, gap * gap, 2 * decay * gap}};
    if (!x.meeting.room) return lth__fail_memory(err, sizeof *x.meeting.room);
    lth_status status = compare(&x, wanted, err);
    lth__ptk_part(&x.meeting);
    lth__tree_room_leave(plan->rooms, x.meeting.room);
    return status;
}
