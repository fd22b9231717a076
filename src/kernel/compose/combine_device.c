/* Sums, products and numbers on a device: see combine.c. */
#include "kernel/compose/combine.h"
#include "kernel/device/device_eval.h"

static size_t pairs_of(const lth__panel *panel) {
    return panel->rows * panel->cols;
}

/* ---- Numbers ---- */

lth_status lth__number_device_tile(const lth__node *node, lth__device_eval *e,
                                   const lth__panel *panel, double *K, lth_error *err) {
    return e->t->fill(e->d, K, pairs_of(panel), lth__node_value(node, e->eval, 0), err);
}

lth_status lth__number_device_pull(const lth__node *node, lth__device_eval *e,
                                   const lth__panel *panel, double *W, double *K, double *grad,
                                   lth_error *err) {
    double sum;
    LTH_TRY(e->t->dot(e->d, W, NULL, pairs_of(panel), &sum, err));
    grad[node->first_param] += sum;
    return K ? lth__number_device_tile(node, e, panel, K, err) : LTH_OK;
}

/* ---- Sums ---- */

/* Every part gets weights of its own to overwrite, the last one those at hand. */
static lth_status pull_part(const lth__node *node, size_t m, lth__device_eval *e,
                            const lth__panel *panel, double *W, double *room, double *K,
                            double *grad, lth_error *err) {
    bool last = m + 1 == node->input_count;
    if (!last) LTH_TRY(e->t->copy(e->d, room, W, pairs_of(panel), err));
    return lth__device_pull(node->inputs[m], e, panel, last ? W : room, K, grad, err);
}

static lth_status add_parts(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                            double *W, double *weights, double *K, double *part, double *grad,
                            lth_error *err) {
    for (size_t m = 0; m < node->input_count; m++) {
        double *to = m == 0 ? K : part;
        if (W)
            LTH_TRY(pull_part(node, m, e, panel, W, weights, K ? to : NULL, grad, err));
        else
            LTH_TRY(lth__device_tile(node->inputs[m], e, panel, to, err));
        if (K && m > 0) LTH_TRY(e->t->add(e->d, K, part, pairs_of(panel), err));
    }
    return LTH_OK;
}

lth_status lth__sum_device_pull(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                                double *W, double *K, double *grad, lth_error *err) {
    double *part = NULL, *weights = NULL;
    lth_status status = LTH_OK;
    if (K) status = lth__device_matrix(e, pairs_of(panel), &part, err);
    if (status == LTH_OK && W) status = lth__device_matrix(e, pairs_of(panel), &weights, err);
    if (status == LTH_OK) status = add_parts(node, e, panel, W, weights, K, part, grad, err);
    lth__device_drop(e, part);
    lth__device_drop(e, weights);
    return status;
}

lth_status lth__sum_device_tile(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                                double *K, lth_error *err) {
    return lth__sum_device_pull(node, e, panel, NULL, K, NULL, err);
}

/* ---- Products ---- */

static lth_status multiply_parts(const lth__node *node, lth__device_eval *e,
                                 const lth__panel *panel, double *K, double *part, lth_error *err) {
    for (size_t m = 0; m < node->input_count; m++) {
        LTH_TRY(lth__device_tile(node->inputs[m], e, panel, m == 0 ? K : part, err));
        if (m > 0) LTH_TRY(e->t->multiply(e->d, K, part, pairs_of(panel), err));
    }
    return LTH_OK;
}

lth_status lth__product_device_tile(const lth__node *node, lth__device_eval *e,
                                    const lth__panel *panel, double *K, lth_error *err) {
    double *part = NULL;
    LTH_TRY(lth__device_matrix(e, pairs_of(panel), &part, err));
    lth_status status = multiply_parts(node, e, panel, K, part, err);
    lth__device_drop(e, part);
    return status;
}

/* factors: every input's values; part m gets W times those of the others. */
static lth_status pull_factors(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                               const double *W, double *factors, double *room, double *grad,
                               lth_error *err) {
    size_t count = pairs_of(panel);
    for (size_t m = 0; m < node->input_count; m++)
        LTH_TRY(lth__device_tile(node->inputs[m], e, panel, factors + m * count, err));
    for (size_t m = 0; m < node->input_count; m++) {
        LTH_TRY(e->t->copy(e->d, room, W, count, err));
        for (size_t other = 0; other < node->input_count; other++) {
            if (other != m)
                LTH_TRY(e->t->multiply(e->d, room, factors + other * count, count, err));
        }
        LTH_TRY(lth__device_pull(node->inputs[m], e, panel, room, NULL, grad, err));
    }
    return LTH_OK;
}

lth_status lth__product_device_pull(const lth__node *node, lth__device_eval *e,
                                    const lth__panel *panel, double *W, double *K, double *grad,
                                    lth_error *err) {
    size_t count = pairs_of(panel);
    double *factors = NULL;
    LTH_TRY(lth__device_matrix(e, (node->input_count + 1) * count, &factors, err));
    double *room = factors + node->input_count * count;
    lth_status status = pull_factors(node, e, panel, W, factors, room, grad, err);
    if (status == LTH_OK && K) status = e->t->copy(e->d, K, factors, count, err);
    for (size_t m = 1; m < node->input_count && K && status == LTH_OK; m++)
        status = e->t->multiply(e->d, K, factors + m * count, count, err);
    lth__device_drop(e, factors);
    return status;
}
