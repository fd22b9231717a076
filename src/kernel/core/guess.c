/* Where to start learning: values that suit the items at hand; and what can be learned at all. */
#include "kernel/core/encode.h"
#include "kernel/core/field.h"
#include "kernel/core/gram.h"

/* The share of the scale that an input of a node should have. */
static double input_scale(const lth__node *node, size_t input, double scale) {
    switch (node->family->rule) {
    case LTH__RULE_SUM: return scale / (double)node->input_count;
    case LTH__RULE_PRODUCT: return input == 0 ? scale : 1;
    default: return 1; /* wrappers bring a variance of their own, or none */
    }
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

/* ---- What a kernel has ---- */

static bool gives_size(const lth_param *p, bool held) {
    return p->argument->role == LTH_ROLE_VARIANCE ||
           (p->argument->role == LTH_ROLE_WEIGHT && !held);
}

static bool has_size(const lth_kernel *kernel, const lth__node *node, const bool *held) {
    size_t having = 0;
    for (size_t i = 0; i < node->input_count; i++)
        having += has_size(kernel, node->inputs[i], held);
    switch (node->family->rule) {
    case LTH__RULE_NUMBER: return true;
    case LTH__RULE_SUM: return having == node->input_count;
    case LTH__RULE_PRODUCT: return having > 0;
    default: break;
    }
    bool any = false;
    for (size_t i = node->first_param; i < node->first_param + node->param_count; i++)
        any |= gives_size(&kernel->params[i], held[i]);
    return any;
}

bool lth__kernel_has_size(const lth_kernel *kernel, const bool *held) {
    return has_size(kernel, kernel->root, held);
}

static bool has_rarity(const lth_kernel *kernel) {
    bool any = false;
    for (size_t p = 0; p < kernel->param_count; p++)
        any |= kernel->params[p].argument->role == LTH_ROLE_RARITY;
    return any;
}

bool lth__kernel_needs_all_rows(const lth_kernel *kernel) {
    bool any = has_rarity(kernel);
    for (size_t n = 0; n < kernel->node_count; n++) any |= kernel->nodes[n]->family->encode != NULL;
    return any;
}

bool lth__kernel_learns_from_rows(const lth_kernel *kernel) {
    bool any = has_rarity(kernel);
    for (size_t n = 0; n < kernel->node_count; n++) {
        const lth__node *node = kernel->nodes[n];
        any |= node->family->learns && node->family->learns(node);
    }
    for (size_t f = 0; f < kernel->field_count; f++) any |= kernel->fields[f].type->learns;
    return any;
}
