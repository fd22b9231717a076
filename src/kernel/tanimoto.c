/* tanimoto(k) = k_ab / (k_aa + k_bb - k_ab): of two sets, the share of what either has that both
 * have.
 *
 * It is a kernel whatever k is: k_ab is at most (k_aa + k_bb) / 2, so it is the sum of all powers
 * of k_ab / (k_aa + k_bb), and 1 / (k_aa + k_bb) is a kernel, too. Empty items are as in
 * normalize().
 */
#include "kernel/encode.h"
#include "kernel/wrap.h"

LTH__WRAPPER(wrapper, LTH__FORM_TANIMOTO, 0, false, false, lth__no_aid, lth__tanimoto_at,
             lth__normalize_self);
static lth__wrap_config config = {.wrapper = &wrapper};

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    (void)kernel, (void)err;
    node->config = &config;
    return LTH_OK;
}

static const lth_argument arguments[] = {{0}};

const lth__family lth__family_tanimoto = {
    .manual = {.name = "tanimoto",
               .help =
                   "what two items have in common, as a share of what either has: 1 for an item "
                   "with itself (0 for an empty item)",
               .usage = "tanimoto(KERNEL)",
               .arguments = arguments},
    .traits = LTH__TAKES_KERNEL,
    .configure = configure,
    .prepare = lth__normalize_prepare,
    .release = lth__wrap_release,
    .diagonal = lth__wrap_diagonal,
    .tile = lth__wrap_tile,
    .pull = lth__wrap_pull,
    .device_tile = lth__wrap_device_tile,
    .device_pull = lth__wrap_device_pull,
    .combine = lth__wrap_combine,
    .is_linear = lth__wrap_is_linear,
};
