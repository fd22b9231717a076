/* wd(text): words at the same place, or nearly so: the weighted degree kernel with shifts.
 *
 *     k(x,y) = sum_{d = 1..order} weights_d S_d
 *     S_d    = sum_{p,q} [the d units of x at p are those of y at q] max(0, 1 - |p - q| / (shift +
 * 1))
 *
 * A word is seen at shift + 1 places, and S_d is an inner product of what is seen there, so every
 * shift gives a kernel. dk/dweights_d = S_d. See positional.h.
 */
#include "kernel/string/positional.h"

enum { MOST_ORDER = 64, MOST_SHIFT = 10000 };

/* As published: 1 for all together, and short words, of which there are more, for more. */
static double published_weight(size_t order, size_t length) {
    return 2 * (double)(order - length + 1) / ((double)order * (double)(order + 1));
}

static lth_status declare_weights(lth_kernel *kernel, lth__node *node, size_t order,
                                  lth_error *err) {
    LTH_TRY(lth__node_param(kernel, node, "weights", order, 1 / (double)order, false, err));
    for (size_t i = 0; i < order; i++) {
        lth__param_origin *origin = &kernel->origins[node->first_param + i];
        if (origin->given) continue;
        origin->initial = published_weight(order, i + 1);
        kernel->params[node->first_param + i].value = origin->initial;
    }
    return LTH_OK;
}

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    lth__positional *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    long order, shift;
    LTH_TRY(lth__node_integer(node, "order", 1, MOST_ORDER, 20, &order, err));
    LTH_TRY(lth__node_integer(node, "shift", 0, MOST_SHIFT, 0, &shift, err));
    *c = (lth__positional){.shortest = 1, .longest = (size_t)order, .reach = (size_t)shift};
    node->config = c;
    LTH_TRY(lth__positional_field(kernel, node, err));
    return declare_weights(kernel, node, c->longest, err);
}

static void weigh(const lth__node *node, const lth__eval *eval, size_t counts, double *weight,
                  double *slope) {
    double once = 1 / ((double)((const lth__positional *)node->config)->reach + 1);
    for (size_t d = 0; d < counts; d++) {
        weight[d] = lth__node_value(node, eval, d) * once;
        slope[d * counts + d] = once;
    }
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    return lth__positional_prepare(node, eval, weigh, out, err);
}

/* The published weights, times what makes k(x,x) as large as it should be. */
static lth_status guess(const lth__node *node, const lth__eval *eval, double scale, double *value,
                        lth_error *err) {
    size_t n = eval->rows->count, order = node->param_count;
    double *a = lth__alloc(n, sizeof *a), mean = 0;
    double *slope = lth__calloc(eval->kernel->param_count * n, sizeof *slope);
    lth_status status = a && slope ? LTH_OK : lth__fail_memory(err, n * sizeof *a);
    if (status == LTH_OK) status = lth__positional_diagonal(node, eval, eval->rows, a, slope, err);
    for (size_t d = 0; d < order && status == LTH_OK; d++) {
        const double *own = slope + (node->first_param + d) * n;
        for (size_t i = 0; i < n; i++) mean += published_weight(order, d + 1) * own[i] / (double)n;
    }
    for (size_t d = 0; d < order && mean > 0; d++)
        value[d] = published_weight(order, d + 1) * scale / mean;
    lth__free(a);
    lth__free(slope);
    return status;
}

static const lth_argument arguments[] = {
    {.name = "order", .help = "longest word", .initial = "20", .choices = "1..64"},
    {.name = "shift",
     .help = "how many places apart a word may be in the two texts; it counts for less, "
             "1 - distance / (shift + 1)",
     .initial = "0",
     .choices = "0..10000"},
    LTH__POSITIONAL_ARGUMENTS,
    LTH__WILD_ARGUMENTS,
    {.name = "weights",
     .help = "one for each length of words; (order - d + 1) / (1 + ... + order) unless given",
     .initial = "",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e9,
     .role = LTH_ROLE_WEIGHT},
    {0},
};

const lth__family lth__family_wd = {
    .manual = {.name = "wd",
               .help = "weighted degree kernel: words up to a length at the same place, or a few "
                       "places apart",
               .usage = "wd(COLUMN, order=20, shift=0, ...)",
               .arguments = arguments,
               .kind = LTH_FAMILY_STRING},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .prepare = prepare,
    .guess = guess,
    LTH__POSITIONAL_FUNCTIONS,
};
