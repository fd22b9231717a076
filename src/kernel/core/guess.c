/* Where to start learning: values that suit the items at hand. */
#include "kernel/core/encode.h"
#include "kernel/core/gram.h"

/* The share of the scale that an input of a node should have. */
static double input_scale(const lth__node *node, size_t input, double scale) {
    if (node->family == &lth__family_sum) return scale / (double)node->input_count;
    if (node->family == &lth__family_product) return input == 0 ? scale : 1;
    return 1; /* wrappers bring a variance of their own, or none */
}

static lth_status guess_node(lth_kernel *kernel, const lth__node *node, const lth_items *items,
                             const bool *held, double scale, lth_error *err) {
    for (size_t i = 0; i < node->input_count; i++)
        LTH_TRY(guess_node(kernel, node->inputs[i], items, held, input_scale(node, i, scale), err));
    if (!node->family->guess || node->param_count == 0) return LTH_OK;
    lth__eval eval = {.ctx = kernel->ctx,
                      .kernel = kernel,
                      .rows = items,
                      .cols = items,
                      .gradients = true,
                      .quiet = true};
    double *value = lth__alloc(node->param_count, sizeof *value);
    lth_status status = value ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t i = 0; value && i < node->param_count; i++)
        value[i] = kernel->params[node->first_param + i].value;
    if (status == LTH_OK) status = lth__eval_prepare(&eval, err);
    if (status == LTH_OK) status = node->family->guess(node, &eval, scale, value, err);
    lth__eval_release(&eval);
    for (size_t i = 0; i < node->param_count && status == LTH_OK; i++) {
        size_t place = node->first_param + i;
        lth_param *p = &kernel->params[place];
        if (kernel->origins[place].given || held[place]) continue;
        p->value = value[i] < p->lo ? p->lo : value[i] > p->hi ? p->hi : value[i];
    }
    lth__free(value);
    return status;
}

lth_status lth__kernel_guess(lth_kernel *kernel, const lth_items *items, const bool *held,
                             double scale, lth_error *err) {
    if (lth_items_count(items) == 0) return LTH_OK;
    return guess_node(kernel, kernel->root, items, held, scale, err);
}
