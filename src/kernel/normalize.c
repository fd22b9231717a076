/* normalize(k) = k_ab / sqrt(k_aa k_bb).
 *
 * An item with k_aa = 0 (an empty text) gives 0 against all, itself included, with gradient 0. An
 * item with itself gives exactly 1.
 */
#include "kernel/encode.h"
#include "kernel/wrap.h"

LTH__WRAPPER(wrapper, LTH__FORM_NORMALIZE, 0, true, false, lth__no_aid, lth__normalize_at,
             lth__normalize_self);
static lth__wrap_config config = {.wrapper = &wrapper};

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    (void)kernel, (void)err;
    node->config = &config;
    return LTH_OK;
}

lth_status lth__normalize_prepare(const lth__node *node, lth__eval *eval, void **state,
                                  lth_error *err) {
    LTH_TRY(lth__wrap_prepare(node, eval, state, err));
    size_t count, empty = 0, first = 0;
    const double *selves = lth__wrap_selves(*state, &count);
    for (size_t i = count; i-- > 0;) {
        if (selves[i] <= 0) empty++, first = i;
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

const lth__family lth__family_normalize = {
    .manual = {.name = "normalize",
               .help = "any kernel scaled so that every item's similarity with itself is 1 (0 for "
                       "an empty item)",
               .usage = "normalize(KERNEL)",
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
