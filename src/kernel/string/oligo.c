/* oligo(text): words of k units, the more alike the closer they stand.
 *
 *     k(x,y)    = sum_t c_t exp(-t^2 / (4 sigma^2))
 *     dk/dsigma = sum_t c_t exp(-t^2 / (4 sigma^2)) t^2 / (2 sigma^3)
 *
 * with c_t how often x and y have the same word t places apart. A word is a bump of width sigma
 * around its place, and the sum an inner product of these, times a constant. See positional.h.
 */
#include <math.h>

#include "kernel/string/positional.h"

enum { MOST_UNITS = 1000 };

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    lth__positional *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    long k;
    LTH_TRY(lth__node_integer(node, "k", 1, MOST_UNITS, 3, &k, err));
    *c = (lth__positional){
        .shortest = (size_t)k, .longest = (size_t)k, .reach = LTH_NONE, .by_distance = true};
    node->config = c;
    LTH_TRY(lth__positional_field(kernel, node, err));
    return lth__node_param(kernel, node, "sigma", 0, 5, false, err);
}

static void weigh(const lth__node *node, const lth__eval *eval, size_t counts, double *weight,
                  double *slope) {
    double sigma = lth__node_value(node, eval, 0);
    for (size_t t = 0; t < counts; t++) {
        double far = (double)t / sigma;
        weight[t] = exp(-far * far / 4);
        slope[t] = weight[t] * far * far / (2 * sigma);
    }
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    return lth__positional_prepare(node, eval, weigh, out, err);
}

/* A tenth of a text. */
static lth_status guess(const lth__node *node, const lth__eval *eval, double scale, double *value,
                        lth_error *err) {
    (void)scale, (void)err;
    const lth__sequences *s = &eval->rows->fields[node->field];
    double units = 0;
    for (size_t i = 0; i < s->count; i++)
        units += (double)lth__sequence_length(s, i) / (double)s->count;
    value[0] = fmax(units / 10, 1);
    return LTH_OK;
}

static const lth_argument arguments[] = {
    {.name = "k", .help = "units in a word", .initial = "3", .choices = "1..1000"},
    LTH__POSITIONAL_ARGUMENTS,
    LTH__WILD_ARGUMENTS,
    {.name = "sigma",
     .help = "how many places a word may be off and still count",
     .initial = "5",
     .choices = "",
     .learned = true,
     .lo = 1e-2,
     .hi = 1e6,
     .role = LTH_ROLE_LENGTHSCALE},
    {0},
};

const lth__family lth__family_oligo = {
    .manual = {.name = "oligo",
               .help = "oligo kernel: words of k units, the more alike the closer they stand",
               .usage = "oligo(COLUMN, k=3, sigma=5, ...)",
               .arguments = arguments,
               .kind = LTH_FAMILY_STRING},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .prepare = prepare,
    .guess = guess,
    LTH__POSITIONAL_FUNCTIONS,
};
