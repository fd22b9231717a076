/* Kernels scaled so that an item's similarity with itself is 1:
 *
 *     normalize(k) = k_ab / sqrt(k_aa k_bb)
 *     tanimoto(k)  = k_ab / (k_aa + k_bb - k_ab)   of two sets, what both have as a share of what
 *                                                  either has
 *
 * An item with k_aa = 0 (an empty text) gives 0 against all, itself included, with gradient 0. An
 * item with itself gives exactly 1.
 *
 * tanimoto(k) is a kernel whatever k is: k_ab is at most (k_aa + k_bb) / 2, so it is the sum of all
 * powers of k_ab / (k_aa + k_bb), and 1 / (k_aa + k_bb) is a kernel, too.
 */
#include "kernel/compose/wrapper.h"
#include "kernel/core/encode.h"

static lth_status prepare(const lth__node *node, lth__eval *eval, void **state, lth_error *err) {
    LTH_TRY(lth__wrapper_prepare(node, eval, state, err));
    size_t count, empty = 0, first = 0;
    const double *self_similarities = lth__wrapper_self_similarities(*state, &count);
    for (size_t i = count; i-- > 0;) {
        if (self_similarities[i] <= 0) empty++, first = i;
    }
    if (empty > 0 && !eval->quiet) {
        lth__log(eval->ctx, LTH_LOG_WARNING,
                 "%zu of %zu texts are empty or too short to compare (the first is row %zu): their "
                 "normalised kernel is 0",
                 empty, count, first + 1);
    }
    return LTH_OK;
}

static const lth_argument arguments[] = {{0}};

#define FAMILY(name_, rule_, help_)                                                                \
    static lth_status name_##_configure(lth_kernel *kernel, lth__node *node, lth_error *err) {     \
        return lth__wrapper_configure(kernel, node, &name_, err);                                  \
    }                                                                                              \
    const lth__family lth__family_##name_ = {                                                      \
        .manual = {.name = #name_,                                                                 \
                   .help = help_,                                                                  \
                   .usage = #name_ "(KERNEL)",                                                     \
                   .arguments = arguments},                                                        \
        .traits = LTH__TAKES_KERNEL,                                                               \
        .rule = rule_,                                                                             \
        .configure = name_##_configure,                                                            \
        .prepare = prepare,                                                                        \
        LTH__WRAPPER_OTHER_FUNCTIONS,                                                              \
    }

LTH__WRAPPER(normalize, lth__normalize_at, lth__normalize_self, .form = LTH__FORM_NORMALIZE,
             .linear = true);
LTH__WRAPPER(tanimoto, lth__tanimoto_at, lth__normalize_self, .form = LTH__FORM_TANIMOTO);

FAMILY(normalize, LTH__RULE_NORMALIZE,
       "any kernel scaled so that every item's similarity with itself is 1 (0 for an empty item)");
FAMILY(tanimoto, LTH__RULE_OWN,
       "what two items have in common, as a share of what either has: 1 for an item with itself (0 "
       "for an empty item)");
