/* Sums, products and bare numbers.
 *
 *     sum:      K = sum_m K_m          each part gets W
 *     product:  K = prod_m K_m         part m gets W times the other factors
 *     number:   K = v                  gets sum W
 */
#include <string.h>

#include "kernel/compose/combine.h"
#include "kernel/core/encode.h"

/* ---- Numbers ---- */

static lth_status number_diagonal(const lth__node *node, const lth__eval *eval,
                                  const lth_items *items, double *a, double *slope,
                                  lth_error *err) {
    (void)err;
    size_t count = lth_items_count(items);
    for (size_t i = 0; i < count; i++) a[i] = lth__node_value(node, eval, 0);
    for (size_t i = 0; slope && i < count; i++) slope[node->first_param * count + i] = 1;
    return LTH_OK;
}

static lth_status number_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    (void)err;
    for (size_t i = 0; i < tile->rows * tile->cols; i++) K[i] = lth__node_value(node, eval, 0);
    return LTH_OK;
}

static lth_status number_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              const double *W, double *K, const lth__sink *sink, lth_error *err) {
    for (size_t i = 0; i < tile->rows * tile->cols; i++)
        lth__sink_add(sink, node->first_param, i, W[i]);
    return K ? number_tile(node, eval, tile, K, err) : LTH_OK;
}

static const lth_argument number_arguments[] = {
    {.name = "variance",
     .help = "how much this part of the kernel counts: a factor in front of it",
     .initial = "1",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e12,
     .role = LTH_ROLE_VARIANCE},
    {.name = "constant",
     .help = "a kernel that is the same for all rows",
     .initial = "1",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e12,
     .role = LTH_ROLE_VARIANCE},
    {0},
};

const lth__family lth__family_number = {
    .manual = {.name = "number",
               .help = "a variance in front of a kernel, or a constant kernel",
               .arguments = number_arguments,
               .kind = LTH_FAMILY_OPERATOR},
    .rule = LTH__RULE_NUMBER,
    .diagonal = number_diagonal,
    .tile = number_tile,
    .pull = number_pull,
    .device_tile = lth__number_device_tile,
    .device_pull = lth__number_device_pull,
};

/* ---- Sums ---- */

static void add_to(double *sum, const double *x, size_t count) {
    for (size_t i = 0; i < count; i++) sum[i] += x[i];
}

static lth_status sum_diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                               double *a, double *slope, lth_error *err) {
    size_t count = lth_items_count(items);
    double *part = lth__alloc(count, sizeof *part);
    if (!part) return lth__fail_memory(err, count * sizeof *part);
    lth_status status = LTH_OK;
    memset(a, 0, count * sizeof *a);
    for (size_t m = 0; m < node->input_count && status == LTH_OK; m++) {
        const lth__node *input = node->inputs[m];
        status = input->family->diagonal(input, eval, items, part, slope, err);
        if (status == LTH_OK) add_to(a, part, count);
    }
    lth__free(part);
    return status;
}

/* The values of the parts, added; with a sink also their pull-backs. */
static lth_status sum_parts(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, double *K, const lth__sink *sink, lth_error *err) {
    size_t pairs = tile->rows * tile->cols;
    double *part = K ? lth__alloc(pairs, sizeof *part) : NULL;
    if (K && !part) return lth__fail_memory(err, pairs * sizeof *part);
    if (K) memset(K, 0, pairs * sizeof *K);
    lth_status status = LTH_OK;
    for (size_t m = 0; m < node->input_count && status == LTH_OK; m++) {
        if (sink)
            status = lth__node_pull(node->inputs[m], eval, tile, W, part, sink, err);
        else
            status = lth__node_tile(node->inputs[m], eval, tile, part, err);
        if (status == LTH_OK && K) add_to(K, part, pairs);
    }
    lth__free(part);
    return status;
}

static lth_status sum_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                           double *K, lth_error *err) {
    return sum_parts(node, eval, tile, NULL, K, NULL, err);
}

static void sum_combine(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                        const double *input, double *value, double *slope) {
    (void)eval;
    size_t pairs = tile->rows * tile->cols;
    memset(value, 0, pairs * sizeof *value);
    for (size_t m = 0; m < node->input_count; m++) add_to(value, input + m * pairs, pairs);
    for (size_t i = 0; slope && i < node->input_count * pairs; i++) slope[i] = 1;
}

static bool sum_is_linear(const lth__node *node, const bool *varies) {
    (void)node, (void)varies;
    return true;
}

const lth__family lth__family_sum = {
    .manual = {.name = "+", .help = "the sum of kernels", .kind = LTH_FAMILY_OPERATOR},
    .rule = LTH__RULE_SUM,
    .diagonal = sum_diagonal,
    .tile = sum_tile,
    .pull = sum_parts,
    .device_tile = lth__sum_device_tile,
    .device_pull = lth__sum_device_pull,
    .combine = sum_combine,
    .is_linear = sum_is_linear,
};

/* ---- Products ---- */

static void multiply_by(double *product, const double *x, size_t count) {
    for (size_t i = 0; i < count; i++) product[i] *= x[i];
}

/* out = W times every factor but the m-th; no division, so that factors may be zero. */
static void weigh_by_others(const double *W, const double *factors, size_t m, size_t inputs,
                            size_t count, double *out) {
    memcpy(out, W, count * sizeof *out);
    for (size_t other = 0; other < inputs; other++) {
        if (other != m) multiply_by(out, factors + other * count, count);
    }
}

static void multiply_all(const double *factors, size_t inputs, size_t count, double *out) {
    memcpy(out, factors, count * sizeof *out);
    for (size_t m = 1; m < inputs; m++) multiply_by(out, factors + m * count, count);
}

static lth_status product_slopes(const lth__node *node, const double *factors, size_t count,
                                 double *slope, lth_error *err) {
    double *others = lth__alloc(2 * count, sizeof *others), *ones = others + count;
    if (!others) return lth__fail_memory(err, 2 * count * sizeof *others);
    for (size_t i = 0; i < count; i++) ones[i] = 1;
    for (size_t m = 0; m < node->input_count; m++) {
        const lth__node *input = node->inputs[m];
        weigh_by_others(ones, factors, m, node->input_count, count, others);
        for (size_t p = input->first_param; p < input->params_end; p++)
            multiply_by(slope + p * count, others, count);
    }
    lth__free(others);
    return LTH_OK;
}

static lth_status product_diagonal(const lth__node *node, const lth__eval *eval,
                                   const lth_items *items, double *a, double *slope,
                                   lth_error *err) {
    size_t count = lth_items_count(items);
    double *factors = lth__alloc(node->input_count * count, sizeof *factors);
    if (!factors) return lth__fail_memory(err, node->input_count * count * sizeof *factors);
    lth_status status = LTH_OK;
    for (size_t m = 0; m < node->input_count && status == LTH_OK; m++) {
        const lth__node *input = node->inputs[m];
        status = input->family->diagonal(input, eval, items, factors + m * count, slope, err);
    }
    if (status == LTH_OK) multiply_all(factors, node->input_count, count, a);
    if (status == LTH_OK && slope) status = product_slopes(node, factors, count, slope, err);
    lth__free(factors);
    return status;
}

static lth_status product_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                               double *K, lth_error *err) {
    size_t pairs = tile->rows * tile->cols;
    double *factor = lth__alloc(pairs, sizeof *factor);
    if (!factor) return lth__fail_memory(err, pairs * sizeof *factor);
    lth_status status = lth__node_tile(node->inputs[0], eval, tile, K, err);
    for (size_t m = 1; m < node->input_count && status == LTH_OK; m++) {
        status = lth__node_tile(node->inputs[m], eval, tile, factor, err);
        if (status == LTH_OK) multiply_by(K, factor, pairs);
    }
    lth__free(factor);
    return status;
}

static lth_status product_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                               const double *W, double *K, const lth__sink *sink, lth_error *err) {
    size_t pairs = tile->rows * tile->cols, inputs = node->input_count;
    double *factors = lth__alloc((inputs + 1) * pairs, sizeof *factors);
    if (!factors) return lth__fail_memory(err, (inputs + 1) * pairs * sizeof *factors);
    double *weights = factors + inputs * pairs;
    lth_status status = LTH_OK;
    for (size_t m = 0; m < inputs && status == LTH_OK; m++)
        status = lth__node_tile(node->inputs[m], eval, tile, factors + m * pairs, err);
    for (size_t m = 0; m < inputs && status == LTH_OK; m++) {
        weigh_by_others(W, factors, m, inputs, pairs, weights);
        status = lth__node_pull(node->inputs[m], eval, tile, weights, NULL, sink, err);
    }
    if (status == LTH_OK && K) multiply_all(factors, inputs, pairs, K);
    lth__free(factors);
    return status;
}

static void product_combine(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *input, double *value, double *slope) {
    (void)eval;
    size_t pairs = tile->rows * tile->cols;
    multiply_all(input, node->input_count, pairs, value);
    for (size_t m = 0; slope && m < node->input_count; m++) {
        double *own = slope + m * pairs;
        for (size_t i = 0; i < pairs; i++) own[i] = 1;
        for (size_t other = 0; other < node->input_count; other++) {
            if (other != m) multiply_by(own, input + other * pairs, pairs);
        }
    }
}

static bool product_is_linear(const lth__node *node, const bool *varies) {
    size_t varying = 0;
    for (size_t m = 0; m < node->input_count; m++) varying += varies[m];
    return varying <= 1;
}

const lth__family lth__family_product = {
    .manual = {.name = "*", .help = "the product of kernels", .kind = LTH_FAMILY_OPERATOR},
    .rule = LTH__RULE_PRODUCT,
    .diagonal = product_diagonal,
    .tile = product_tile,
    .pull = product_pull,
    .device_tile = lth__product_device_tile,
    .device_pull = lth__product_device_pull,
    .combine = product_combine,
    .is_linear = product_is_linear,
};
