/* Subset tree kernels of the reference device.
 *
 *     K = sum over subtrees x of one tree and y of the other of Delta(x, y)
 *     Delta(x, y) = decay * product over children of (alpha + Delta)   with the same production
 *                 = 0                                                  otherwise
 *
 * Delta is a table of all subtrees by all subtrees: children have lower numbers, so one sweep up
 * fills it, and one sweep down takes the weights of K to decay and alpha.
 */
#include <stdlib.h>
#include <string.h>

#include "reference_device.h"

typedef struct bags {
    size_t count, *start;
    uint32_t *feature;
    double *weight;
} bags;

/* The arrays are on the device. */
struct lth__device_trees {
    int gpu;
    size_t subtrees, productions;
    uint32_t *production, *child;
    size_t *first_child;
    bags rows, cols;
};

/* ---- Trees ---- */

static void free_bags(lth__device *d, bags *b) {
    lth__ref_drop(d, b->start);
    lth__ref_drop(d, b->feature);
    lth__ref_drop(d, b->weight);
}

static void free_trees(lth__device *d, lth__device_trees *t) {
    lth__ref_drop(d, t->production);
    lth__ref_drop(d, t->child);
    lth__ref_drop(d, t->first_child);
    free_bags(d, &t->rows);
    free_bags(d, &t->cols);
    free(t);
}

/* Copies an array; does nothing after a failure. */
static void *put(lth__device *d, const void *from, size_t count, size_t size, lth_status *status,
                 lth_error *err) {
    void *to = NULL;
    if (*status == LTH_OK) *status = lth__ref_put(d, from, count * size, &to, err);
    return to;
}

static void put_bags(lth__device *d, const lth__device_bags *from, bags *to, lth_status *status,
                     lth_error *err) {
    size_t features = from->start[from->count];
    to->count = from->count;
    to->start = put(d, from->start, from->count + 1, sizeof *to->start, status, err);
    to->feature = put(d, from->feature, features, sizeof *to->feature, status, err);
    to->weight = put(d, from->weight, features, sizeof *to->weight, status, err);
}

lth_status lth__ref_trees(lth__device *d, const lth__device_forest *f, lth__device_trees **out,
                          lth_error *err) {
    LTH__REF_DO(d);
    lth__device_trees *t = calloc(1, sizeof *t);
    if (!t) return lth__ref_fail(err, LTH_ENOMEM, "out of memory");
    lth_status status = LTH_OK;
    t->gpu = d->gpu;
    t->subtrees = f->subtrees;
    t->productions = f->productions;
    t->production = put(d, f->production, f->subtrees, sizeof *t->production, &status, err);
    t->first_child = put(d, f->first_child, f->subtrees + 1, sizeof *t->first_child, &status, err);
    t->child = put(d, f->child, f->first_child[f->subtrees], sizeof *t->child, &status, err);
    put_bags(d, &f->rows, &t->rows, &status, err);
    put_bags(d, &f->cols, &t->cols, &status, err);
    if (status == LTH_OK)
        *out = t;
    else
        free_trees(d, t);
    return status;
}

void lth__ref_trees_free(lth__device *d, lth__device_trees *t) {
    LTH__REF_USE(d);
    lth__ref_check_gpu(d, t->gpu, "a collection of trees");
    free_trees(d, t);
}

/* ---- Pairs of subtrees ---- */

typedef struct table {
    const lth__device_sstk *job;
    const lth__device_trees *t;
    double *delta, *weight; /* [subtree][subtree]; weight: of Delta, or NULL */
} table;

static bool same_production(const lth__device_trees *t, size_t x, size_t y) {
    return t->production[x] == t->production[y];
}

static size_t count_children(const lth__device_trees *t, size_t x) {
    return t->first_child[x + 1] - t->first_child[x];
}

/* Where the Delta of their k-th children is. */
static size_t cell_of_children(const lth__device_trees *t, size_t x, size_t y, size_t k) {
    size_t a = t->child[t->first_child[x] + k], b = t->child[t->first_child[y] + k];
    return a * t->subtrees + b;
}

/* The product over all children but one; `except` past the last = over all. */
static double product(const table *m, size_t x, size_t y, size_t except) {
    double alpha = m->job->alpha[m->t->production[x]], all = 1;
    for (size_t k = 0; k < count_children(m->t, x); k++)
        if (k != except) all *= alpha + m->delta[cell_of_children(m->t, x, y, k)];
    return all;
}

static void fill(table *m) {
    size_t n = m->t->subtrees;
    for (size_t x = 0; x < n; x++) {
        double decay = m->job->decay[m->t->production[x]];
        for (size_t y = 0; y < n; y++)
            m->delta[x * n + y] =
                same_production(m->t, x, y) ? decay * product(m, x, y, SIZE_MAX) : 0;
    }
}

/* The weight of one Delta goes to its parameters and to its children's. */
static void pull_pair(table *m, size_t x, size_t y, double weight) {
    uint32_t production = m->t->production[x];
    double decay = m->job->decay[production];
    size_t owner = m->job->owner[production];
    m->job->decay_sums[owner] += weight * product(m, x, y, SIZE_MAX);
    for (size_t k = 0; k < count_children(m->t, x); k++) {
        double by_child = weight * decay * product(m, x, y, k);
        m->job->alpha_sums[owner] += by_child;
        m->weight[cell_of_children(m->t, x, y, k)] += by_child;
    }
}

static void pull_all(table *m) {
    size_t n = m->t->subtrees;
    for (size_t i = 0; i < m->job->owners; i++) m->job->decay_sums[i] = m->job->alpha_sums[i] = 0;
    for (size_t x = n; x-- > 0;) {
        for (size_t y = 0; y < n; y++) {
            double weight = m->weight[x * n + y];
            if (same_production(m->t, x, y) && weight != 0) pull_pair(m, x, y, weight);
        }
    }
}

/* ---- Pairs of trees ---- */

/* Adds up the Delta of two trees, or gives each its weight. */
static double meet(table *m, size_t row, size_t col, double weight) {
    const bags *a = &m->t->rows, *b = &m->t->cols;
    if (row >= a->count || col >= b->count) lth__ref_abort("there is no tree %zu, %zu", row, col);
    double sum = 0;
    for (size_t i = a->start[row]; i < a->start[row + 1]; i++) {
        for (size_t j = b->start[col]; j < b->start[col + 1]; j++) {
            size_t cell = a->feature[i] * m->t->subtrees + b->feature[j];
            double times = a->weight[i] * b->weight[j];
            sum += times * m->delta[cell];
            if (m->weight) m->weight[cell] += weight * times;
        }
    }
    return sum;
}

static void do_panel(table *m) {
    const lth__device_sstk *job = m->job;
    const lth__panel *p = &job->panel;
    for (size_t r = 0; r < p->rows; r++) {
        for (size_t c = 0; c < p->cols; c++) {
            size_t at = r * job->ld + c;
            bool mirrored = p->symmetric && c < p->rows && r != c;
            if (mirrored && c < r) continue; /* the other one stands for both */
            double weight = job->W ? (mirrored ? 2 : 1) * job->W[at] : 0;
            double value = meet(m, p->first_row + r, p->first_col + c, weight);
            if (!job->K) continue;
            job->K[at] = value;
            if (mirrored) job->K[c * job->ld + r] = value;
        }
    }
}

lth_status lth__ref_sstk(lth__device *d, const lth__device_sstk *job, lth_error *err) {
    LTH__REF_DO(d);
    size_t cells = job->trees->subtrees * job->trees->subtrees;
    table m = {.job = job, .t = job->trees};
    void *place;
    lth__ref_check_gpu(d, job->trees->gpu, "a collection of trees");
    lth__ref_check_panel(d, job->K, job->ld, &job->panel, "K of sstk");
    lth__ref_check_panel(d, job->W, job->ld, &job->panel, "W of sstk");
    lth_status status = lth__ref_get(d, cells * sizeof(double), &place, err);
    if (status == LTH_OK) m.delta = place;
    if (status == LTH_OK && job->W) status = lth__ref_get(d, cells * sizeof(double), &place, err);
    if (status == LTH_OK && job->W) m.weight = memset(place, 0, cells * sizeof(double));
    if (status == LTH_OK) {
        fill(&m);
        do_panel(&m);
        if (job->W) pull_all(&m);
    }
    lth__ref_drop(d, m.delta);
    lth__ref_drop(d, m.weight);
    return status;
}
