#include "engine/cluster_sum.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

size_t lth__tree_leaves(size_t jobs) {
    size_t leaves = 1;
    while (2 * leaves <= jobs && 2 * leaves <= LTH__MOST_LEAVES) leaves *= 2;
    return leaves;
}

size_t lth__tree_leaf_of(size_t jobs, size_t job) {
    return job * lth__tree_leaves(jobs) / jobs;
}

unsigned lth__tree_owner(const lth__cluster *c, size_t leaves, size_t leaf) {
    return c ? (unsigned)(leaf * c->at.size / leaves) : 0;
}

static unsigned owner(const lth__tree *t, size_t leaf) {
    return lth__tree_owner(t->c, t->leaves, leaf);
}

static unsigned own_rank(const lth__tree *t) {
    return t->c ? t->c->at.rank : 0;
}

void lth__tree_open(lth__tree *t, lth__cluster *c, size_t leaves, size_t count) {
    *t = (lth__tree){.c = c, .leaves = leaves, .count = count};
    while (t->next < leaves && owner(t, t->next) < own_rank(t)) t->next++;
    t->end = t->next;
    while (t->end < leaves && owner(t, t->end) == own_rank(t)) t->end++;
}

void lth__tree_close(lth__tree *t) {
    for (size_t i = 0; i < t->nodes; i++) lth__free(t->node[i].numbers);
    t->nodes = 0;
}

/* ---- Of one rank ---- */

static void add(const lth__tree *t, double *sum, const double *addend) {
    for (size_t i = 0; i < t->count; i++) sum[i] += addend[i];
}

/* The last two nodes are the halves of a larger one. */
static bool are_halves(const lth__tree *t) {
    if (t->nodes < 2) return false;
    const lth__sum_node *a = &t->node[t->nodes - 2], *b = a + 1;
    return a->leaves == b->leaves && a->from % (2 * a->leaves) == 0;
}

static void join_halves(lth__tree *t) {
    while (are_halves(t)) {
        lth__sum_node *a = &t->node[t->nodes - 2], *b = a + 1;
        add(t, a->numbers, b->numbers);
        a->leaves *= 2;
        lth__free(b->numbers);
        t->nodes--;
    }
}

lth_status lth__tree_leaf(lth__tree *t, double **out, lth_error *err) {
    join_halves(t);
    double *numbers = lth__calloc(t->count, sizeof *numbers);
    if (!numbers) return lth__fail_memory(err, t->count * sizeof *numbers);
    t->node[t->nodes++] = (lth__sum_node){t->next++, 1, numbers};
    *out = numbers;
    return LTH_OK;
}

/* ---- Of all ranks ---- */

static double *find(const lth__tree *t, size_t from) {
    for (size_t i = 0; i < t->nodes; i++)
        if (t->node[i].from == from) return t->node[i].numbers;
    return NULL;
}

/* The sum of the leaves from `from` to `to` comes to the rank that owns the first of them. What one
 * rank owns, it has added. */
static lth_status collect(lth__tree *t, size_t from, size_t to, double *room, lth_error *err) {
    unsigned left = owner(t, from), me = own_rank(t);
    if (left == owner(t, to - 1)) return LTH_OK;
    size_t middle = (from + to) / 2;
    LTH_TRY(collect(t, from, middle, room, err));
    LTH_TRY(collect(t, middle, to, room, err));
    unsigned right = owner(t, middle);
    size_t size = t->count * sizeof *room;
    if (right == me && left != me) return t->c->table->send(left, find(t, middle), size, err);
    if (left != me) return LTH_OK;
    if (right != me) LTH_TRY(t->c->table->receive(right, room, size, err));
    add(t, find(t, from), right != me ? room : find(t, middle));
    return LTH_OK;
}

lth_status lth__tree_sum(lth__tree *t, lth_status status, double *sum, lth_error *err) {
    join_halves(t);
    double *room = t->c ? lth__alloc(t->count, sizeof *room) : NULL;
    if (t->c && !room && status == LTH_OK) status = lth__fail_memory(err, t->count * sizeof *room);
    status = lth__cluster_agree(t->c, status, err);
    if (status == LTH_OK) status = collect(t, 0, t->leaves, room, err);
    lth__free(room);
    LTH_TRY(status);
    size_t size = t->count * sizeof *sum;
    if (own_rank(t) == 0) memcpy(sum, t->node[0].numbers, size);
    return t->c ? t->c->table->broadcast(LTH__ALL_RANKS, 0, sum, size, err) : LTH_OK;
}
