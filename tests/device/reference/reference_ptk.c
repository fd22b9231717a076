/* Partial tree kernels of the reference device.
 *
 *     K = sum over nodes x of one tree and y of the other of Delta(x, y)
 *     Delta(x, y) = decay sigma (gap^2 + sum over pairs of subsequences of their children of equal
 *                   length of the product of Delta, times gap for each child that is skipped)
 *                 = 0                                                  when their keys differ
 *
 * Delta and its derivatives are tables of all nodes by all nodes: children come before parents.
 */
#include <stdlib.h>
#include <string.h>

#include "reference_device.h"

typedef struct side {
    size_t count, *start;
    uint32_t *label, *key, *children;
} side;

/* The arrays are on the device. */
struct lth__device_ordered {
    int gpu;
    side rows, cols;
};

static void free_side(lth__device *d, side *s) {
    lth__ref_drop(d, s->start);
    lth__ref_drop(d, s->label);
    lth__ref_drop(d, s->key);
    lth__ref_drop(d, s->children);
}

static void *put(lth__device *d, const void *from, size_t bytes, lth_status *status,
                 lth_error *err) {
    void *to = NULL;
    if (*status == LTH_OK) *status = lth__ref_put(d, from, bytes, &to, err);
    return to;
}

static void put_side(lth__device *d, const lth__device_nodes *from, side *to, lth_status *status,
                     lth_error *err) {
    size_t bytes = (from->start[from->count] - from->start[0]) * sizeof *to->label;
    to->count = from->count;
    to->start = put(d, from->start, (from->count + 1) * sizeof *to->start, status, err);
    to->label = put(d, from->label, bytes, status, err);
    to->key = put(d, from->key, bytes, status, err);
    to->children = put(d, from->children, bytes, status, err);
}

static void free_trees(lth__device *d, lth__device_ordered *t) {
    free_side(d, &t->rows);
    free_side(d, &t->cols);
    free(t);
}

lth_status lth__ref_ordered(lth__device *d, const lth__device_nodes *rows,
                            const lth__device_nodes *cols, lth__device_ordered **out,
                            lth_error *err) {
    LTH__REF_DO(d);
    lth__device_ordered *t = calloc(1, sizeof *t);
    if (!t) return lth__ref_fail(err, LTH_ENOMEM, "out of memory");
    lth_status status = LTH_OK;
    t->gpu = d->gpu;
    put_side(d, rows, &t->rows, &status, err);
    put_side(d, cols, &t->cols, &status, err);
    if (status == LTH_OK)
        *out = t;
    else
        free_trees(d, t);
    return status;
}

void lth__ref_ordered_free(lth__device *d, lth__device_ordered *t) {
    LTH__REF_USE(d);
    lth__ref_check_gpu(d, t->gpu, "a collection of ordered trees");
    free_trees(d, t);
}

/* ---- One pair ---- */

/* A number with its derivatives. */
typedef struct number {
    double value, by[LTH__PTK_PARAMS];
} number;

static number plus(number a, number b) {
    a.value += b.value;
    for (int p = 0; p < LTH__PTK_PARAMS; p++) a.by[p] += b.by[p];
    return a;
}

static number times(number a, number b) {
    number x = {.value = a.value * b.value};
    for (int p = 0; p < LTH__PTK_PARAMS; p++) x.by[p] = a.by[p] * b.value + a.value * b.by[p];
    return x;
}

/* A tree, and the children of each node: child[first[i]] .. of children[i] nodes. */
typedef struct tree {
    size_t nodes;
    const uint32_t *label, *key, *children;
    uint32_t *first, *child;
} tree;

static bool open_tree(const side *s, size_t item, tree *t) {
    size_t from = s->start[item] - s->start[0], n = s->start[item + 1] - s->start[item];
    size_t used = 0, depth = 0;
    *t = (tree){.nodes = n,
                .label = s->label + from,
                .key = s->key + from,
                .children = s->children + from,
                .first = malloc((3 * n + 1) * sizeof *t->first)};
    if (!t->first) return false;
    t->child = t->first + n;
    uint32_t *stack = t->child + n;
    for (size_t i = 0; i < n; i++) { /* the last ones that have no parent yet */
        depth -= t->children[i];
        memcpy(t->child + used, stack + depth, t->children[i] * sizeof *stack);
        t->first[i] = (uint32_t)used;
        used += t->children[i];
        stack[depth++] = (uint32_t)i;
    }
    return true;
}

typedef struct pair {
    const lth__device_ptk *job;
    tree a, b;
    number *delta; /* [node][node] */
    number *P;     /* of the children of a node of b */
} pair;

static number compare_children(pair *x, size_t i, size_t j) {
    number gap = {x->job->theta[LTH__PTK_GAP], {[LTH__PTK_GAP] = 1}}, one = {1, {0}}, sum = {0};
    size_t m = x->a.children[i], n = x->b.children[j];
    memset(x->P, 0, n * sizeof *x->P);
    for (size_t u = 0; u < m; u++) {
        number Q = {0};
        for (size_t v = 0; v < n; v++) {
            size_t s = x->a.child[x->a.first[i] + u], t = x->b.child[x->b.first[j] + v];
            number A = times(x->delta[s * x->b.nodes + t], plus(one, x->P[v]));
            sum = plus(sum, A);
            x->P[v] = plus(times(gap, x->P[v]), Q);
            Q = plus(times(gap, Q), A);
        }
    }
    return sum;
}

static number compare_nodes(pair *x, size_t i, size_t j) {
    number decay = {x->job->theta[LTH__PTK_DECAY], {[LTH__PTK_DECAY] = 1}};
    number gap = {x->job->theta[LTH__PTK_GAP], {[LTH__PTK_GAP] = 1}}, sigma = {1, {0}};
    if (x->a.key[i] != x->b.key[j]) return (number){0};
    if (x->a.key[i] == LTH__DEVICE_SOFT)
        sigma.value = x->job->table[x->a.label[i] * x->job->stride + x->b.label[j]];
    return times(times(decay, sigma), plus(times(gap, gap), compare_children(x, i, j)));
}

static bool compare(const lth__device_ptk *job, size_t row, size_t col, number *out) {
    const side *rows = &job->trees->rows, *cols = &job->trees->cols;
    pair x = {.job = job};
    if (row >= rows->count || col >= cols->count)
        lth__ref_abort("there is no tree %zu, %zu", row, col);
    bool ok = open_tree(rows, row, &x.a);
    ok = open_tree(cols, col, &x.b) && ok;
    x.delta = ok ? malloc((x.a.nodes + 1) * (x.b.nodes + 1) * sizeof *x.delta) : NULL;
    x.P = ok ? malloc((x.b.nodes + 1) * sizeof *x.P) : NULL;
    ok = x.delta && x.P;
    *out = (number){0};
    for (size_t i = 0; ok && i < x.a.nodes; i++)
        for (size_t j = 0; j < x.b.nodes; j++) {
            x.delta[i * x.b.nodes + j] = compare_nodes(&x, i, j);
            *out = plus(*out, x.delta[i * x.b.nodes + j]);
        }
    free(x.a.first), free(x.b.first), free(x.delta), free(x.P);
    return ok;
}

/* ---- All pairs ---- */

lth_status lth__ref_ptk(lth__device *d, const lth__device_ptk *job, lth_error *err) {
    LTH__REF_DO(d);
    const lth__panel *p = &job->panel;
    lth__ref_check_gpu(d, job->trees->gpu, "a collection of ordered trees");
    lth__ref_check_panel(d, job->K, job->ld, p, "K of ptk");
    lth__ref_check_panel(d, job->W, job->ld, p, "W of ptk");
    lth__ref_check_numbers(d, job->table, job->stride * job->stride, "a table of similarities");
    for (size_t i = 0; job->W && i < LTH__PTK_PARAMS; i++) job->sums[i] = 0;
    for (size_t r = 0; r < p->rows; r++) {
        for (size_t c = 0; c < p->cols; c++) {
            bool mirrored = p->symmetric && c < p->rows && r != c;
            number k;
            if (mirrored && c < r) continue; /* the other one stands for both */
            if (!compare(job, p->first_row + r, p->first_col + c, &k))
                return lth__ref_fail(err, LTH_ENOMEM, "out of memory");
            if (job->K) job->K[r * job->ld + c] = k.value;
            if (job->K && mirrored) job->K[c * job->ld + r] = k.value;
            for (size_t i = 0; job->W && i < LTH__PTK_PARAMS; i++)
                job->sums[i] += (mirrored ? 2 : 1) * job->W[r * job->ld + c] * k.by[i];
        }
    }
    return LTH_OK;
}
