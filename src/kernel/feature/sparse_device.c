/* Sparse features on a device. */
#include "kernel/device/device_eval.h"
#include "kernel/feature/sparse.h"

static lth__device_bags bags_of(const lth_items *items, size_t map) {
    const lth__features *f = &items->features[map];
    return (lth__device_bags){
        .count = items->count, .start = f->start, .feature = f->feature, .weight = f->weight};
}

/* By the features of node number `map`, which are kept with the node that compares by them. */
static lth_status compare(const lth__node *node, size_t map, lth__device_eval *e,
                          const lth__panel *panel, bool smaller, double *K, lth_error *err) {
    lth__device_features **kept = &e->nodes[node->index].features;
    if (!*kept) {
        lth__device_bags rows = bags_of(e->eval->rows, map), cols = bags_of(e->eval->cols, map);
        bool same = e->eval->rows == e->eval->cols;
        LTH_TRY(e->t->features(e->d, &rows, same ? &rows : &cols, kept, err));
    }
    lth__device_sparse job = {
        .features = *kept, .panel = *panel, .smaller = smaller, .K = K, .ld = panel->cols};
    return e->t->sparse(e->d, &job, err);
}

lth_status lth__sparse_device_tile(const lth__node *node, lth__device_eval *e,
                                   const lth__panel *panel, double *K, lth_error *err) {
    return compare(node, node->index, e, panel, false, K, err);
}

lth_status lth__sparse_device_pull(const lth__node *node, lth__device_eval *e,
                                   const lth__panel *panel, double *W, double *K, double *grad,
                                   lth_error *err) {
    (void)W, (void)grad;
    return K ? lth__sparse_device_tile(node, e, panel, K, err) : LTH_OK;
}

lth_status lth__intersection_device_tile(const lth__node *node, lth__device_eval *e,
                                         const lth__panel *panel, double *K, lth_error *err) {
    return compare(node, node->inputs[0]->index, e, panel, true, K, err);
}

lth_status lth__intersection_device_pull(const lth__node *node, lth__device_eval *e,
                                         const lth__panel *panel, double *W, double *K,
                                         double *grad, lth_error *err) {
    (void)W, (void)grad;
    return K ? lth__intersection_device_tile(node, e, panel, K, err) : LTH_OK;
}
