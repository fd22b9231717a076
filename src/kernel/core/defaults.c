/* What a family may leave out: self-similarities from its tiles, and a pull-back where nothing is
 * learned. */
#include <string.h>

#include "base/parallel.h"
#include "kernel/core/encode.h"

lth_status lth__node_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                          const double *W, double *K, const lth__sink *sink, lth_error *err) {
    if (node->family->pull) return node->family->pull(node, eval, tile, W, K, sink, err);
    return K ? lth__node_tile(node, eval, tile, K, err) : LTH_OK;
}

/* One item with itself. */
static lth_status compare_with_itself(const lth__node *node, const lth__eval *eval, uint32_t item,
                                      double *a, double *gradient, lth_error *err) {
    lth__tile self = {.row = &item, .col = &item, .rows = 1, .cols = 1};
    if (!gradient) return lth__node_tile(node, eval, &self, a, err);
    const double one = 1;
    lth__sink sink = {.sum = gradient, .pairs = 1};
    memset(gradient, 0, eval->kernel->param_count * sizeof *gradient);
    LTH_TRY(lth__node_tile(node, eval, &self, a, err));
    return lth__node_pull(node, eval, &self, &one, NULL, &sink, err);
}

typedef struct diagonal {
    const lth__node *node;
    const lth__eval *eval;
    double *a, *slope;
    double *gradient; /* of an item, for each worker; NULL = no slopes are asked for */
} diagonal;

static lth_status fill_item(void *user, size_t i, unsigned worker, lth_error *err) {
    const diagonal *d = user;
    size_t params = d->eval->kernel->param_count, count = d->eval->rows->count;
    double *gradient = d->gradient ? d->gradient + worker * params : NULL;
    LTH_TRY(compare_with_itself(d->node, d->eval, (uint32_t)i, &d->a[i], gradient, err));
    for (size_t p = d->node->first_param; gradient && p < d->node->params_end; p++)
        d->slope[p * count + i] = gradient[p];
    return LTH_OK;
}

static lth_status fill_diagonal(const lth__node *node, const lth__eval *eval, double *a,
                                double *slope, lth_error *err) {
    size_t size = eval->kernel->param_count * eval->ctx->options.threads;
    diagonal d = {.node = node, .eval = eval, .a = a, .slope = slope};
    if (slope) d.gradient = lth__alloc(size, sizeof *d.gradient);
    if (slope && !d.gradient) return lth__fail_memory(err, size * sizeof *d.gradient);
    lth_status status =
        lth__parallel_for(eval->ctx, NULL, eval->rows->count, NULL, fill_item, &d, err);
    lth__free(d.gradient);
    return status;
}

/* The items are both rows and columns here, so a leaf's state is made for them alone. */
static lth_status diagonal_of_leaf(const lth__node *node, const lth__eval *eval,
                                   const lth_items *items, double *a, double *slope,
                                   lth_error *err) {
    lth__eval own = *eval;
    own.rows = own.cols = items;
    own.only_diagonal = false;
    own.memo = NULL;
    own.kept = NULL;
    own.state = lth__calloc(eval->kernel->node_count, sizeof *own.state);
    if (!own.state) return lth__fail_memory(err, 0);
    void **state = &own.state[node->index];
    lth_status status = LTH_OK;
    if (node->family->prepare) status = node->family->prepare(node, &own, state, err);
    if (status == LTH_OK) status = fill_diagonal(node, &own, a, slope, err);
    if (*state) node->family->release(*state);
    lth__free(own.state);
    return status;
}

lth_status lth__node_diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                              double *a, double *slope, lth_error *err) {
    if (node->family->diagonal) return node->family->diagonal(node, eval, items, a, slope, err);
    return diagonal_of_leaf(node, eval, items, a, slope, err);
}
