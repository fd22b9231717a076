/* The training rows that a prediction comes from. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/explain/explain.h"

typedef struct ranked {
    double rank;
    size_t row;
} ranked;

static int by_rank(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->rank != y->rank) return x->rank > y->rank ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The first `count` come to the front, in their order; of the others nothing is known. */
static void sort_first(ranked *all, size_t n, size_t count) {
    enum { FEW = 64 };
    if (count > n) count = n;
    if (count > FEW) {
        qsort(all, n, sizeof *all, by_rank);
        return;
    }
    for (size_t i = 0; i < n && count > 0; i++) {
        ranked x = all[i];
        size_t at = i < count ? i : count;
        if (at == count && by_rank(&x, &all[count - 1]) > 0) continue;
        if (at == count) all[i] = all[--at];
        while (at > 0 && by_rank(&x, &all[at - 1]) < 0) all[at] = all[at - 1], at--;
        all[at] = x;
    }
}

/* k(a, a) of the rows that are looked at. */
static lth_status find_self_similarities(const lth__path *p, const ranked *rows, size_t count,
                                         double *self, lth_error *err) {
    size_t *item = lth__alloc(count, sizeof *item);
    if (!item) return lth__fail_memory(err, count * sizeof *item);
    for (size_t i = 0; i < count; i++) item[i] = rows[i].row;
    lth_items *picked = NULL;
    lth_status status = lth__items_pick(p->model->cols, item, count, &picked, err);
    if (status == LTH_OK) picked->encoder = p->eval.rows->encoder;
    const lth__node *root = p->model->kernel->root;
    lth__eval eval = p->eval; /* as quiet as it is */
    eval.rows = eval.cols = picked;
    eval.state = NULL;
    eval.kept = NULL;
    if (status == LTH_OK) status = lth__eval_prepare(&eval, err);
    if (status == LTH_OK) status = lth__node_diagonal(root, &eval, picked, self, NULL, err);
    lth__eval_release(&eval);
    lth_items_free(picked);
    lth__free(item);
    return status;
}

static double similarity(double k, double a, double b) {
    return a > 0 && b > 0 ? k / (sqrt(a) * sqrt(b)) : 0;
}

static bool add_row(lth_reasons *r, const lth__path *p, size_t row, double nearness) {
    for (size_t i = 0; i < r->summary.rows; i++) {
        if (r->rows[i].row == row) return true;
    }
    if (!lth__reserve((void **)&r->rows, &r->row_capacity, r->summary.rows + 1, sizeof *r->rows))
        return false;
    r->rows[r->summary.rows++] = (lth_reasons_row){
        .row = row, .weight = p->model->w[row] * p->K[row], .similarity = nearness, .y = NAN};
    return true;
}

static lth_status add_heaviest(lth_reasons *r, const lth__path *p, double self, size_t count,
                               ranked *order, double *self_similarities, lth_error *err) {
    size_t n = p->model->cols->count;
    for (size_t a = 0; a < n; a++) order[a] = (ranked){fabs(p->model->w[a] * p->K[a]), a};
    if (count > n) count = n;
    sort_first(order, n, count);
    while (count > 0 && order[count - 1].rank <= lth__rounding * order[0].rank) count--;
    LTH_TRY(find_self_similarities(p, order, count, self_similarities, err));
    for (size_t i = 0; i < count; i++) {
        size_t a = order[i].row;
        if (!add_row(r, p, a, similarity(p->K[a], self, self_similarities[i])))
            return lth__fail_memory(err, 0);
    }
    return LTH_OK;
}

static lth_status add_nearest(lth_reasons *r, const lth__path *p, double self, size_t count,
                              ranked *order, double *self_similarities, lth_error *err) {
    size_t n = p->model->cols->count, most = r->summary.rows + count;
    for (size_t a = 0; a < n; a++) order[a] = (ranked){0, a};
    LTH_TRY(find_self_similarities(p, order, n, self_similarities, err));
    for (size_t a = 0; a < n; a++) order[a].rank = similarity(p->K[a], self, self_similarities[a]);
    if (n > 0) qsort(order, n, sizeof *order, by_rank);
    for (size_t i = 0; i < n && r->summary.rows < most; i++) {
        if (!add_row(r, p, order[i].row, order[i].rank)) return lth__fail_memory(err, 0);
    }
    return LTH_OK;
}

lth_status lth__reasons_rows(lth_reasons *r, const lth__path *p, double self, size_t heaviest,
                             size_t nearest, lth_error *err) {
    size_t n = p->model->cols->count;
    ranked *order = lth__alloc(n, sizeof *order);
    double *self_similarities = lth__alloc(n, sizeof *self_similarities);
    lth_status status =
        order && self_similarities ? LTH_OK : lth__fail_memory(err, n * sizeof *order);
    if (status == LTH_OK && heaviest > 0)
        status = add_heaviest(r, p, self, heaviest, order, self_similarities, err);
    if (status == LTH_OK && nearest > 0)
        status = add_nearest(r, p, self, nearest, order, self_similarities, err);
    lth__free(order);
    lth__free(self_similarities);
    return status;
}
