/* What a model has learned, as lists to look at: its parameters, and the symbols of its trees. */
#include <math.h>

#include "model/gp/gp_uncertain.h"

double lth__gp_unit(const lth_gp *gp, size_t param) {
    size_t kernel = gp->kernel->param_count;
    double scale = gp->targets[0].scale;
    bool is_variance = param >= kernel && gp->own_list[param - kernel].variance;
    return is_variance && !gp->warp ? scale * scale : 1;
}

/* The model's own parameters come last; variances are in the first target's units. */
static lth_status list_params(lth_gp *gp, lth_error *err) {
    size_t count = lth__gp_param_count(gp), own = gp->kernel->param_count;
    gp->learned = lth__alloc(count, sizeof *gp->learned);
    if (!gp->learned) return lth__fail_memory(err, count * sizeof *gp->learned);
    for (size_t i = 0; i < count; i++) {
        const lth_param *p = i < own ? &gp->kernel->params[i] : NULL;
        double unit = lth__gp_unit(gp, i);
        gp->learned[i] =
            (lth_gp_param){.path = lth__gp_path(gp, i),
                           .value = *lth__gp_value(gp, i) * unit,
                           .start = gp->start[i] * unit,
                           .held = gp->held[i],
                           .at_bound = gp->at_bound[i],
                           .tag = p ? p->tag : NULL,
                           .low = gp->intervals ? gp->intervals[i].low * unit : NAN,
                           .high = gp->intervals ? gp->intervals[i].high * unit : NAN,
                           .undetermined = gp->intervals && gp->intervals[i].undetermined};
    }
    return LTH_OK;
}

static lth_status list_symbols(lth_gp *gp, lth_error *err) {
    size_t capacity = 0;
    for (size_t n = 0; n < gp->kernel->node_count; n++) {
        const lth__node *node = gp->kernel->nodes[n];
        lth_gp_symbol found;
        for (size_t own = 0; node->family->symbol; own++) {
            if (!node->family->symbol(node, gp->kernel, gp->items, own, &found)) break;
            if (!lth__reserve((void **)&gp->symbols, &capacity, gp->symbol_count + 1, sizeof found))
                return lth__fail_memory(err, sizeof found);
            gp->symbols[gp->symbol_count++] = found;
        }
    }
    return LTH_OK;
}

lth_status lth__gp_list(lth_gp *gp, lth_error *err) {
    LTH_TRY(list_params(gp, err));
    return list_symbols(gp, err);
}

const lth_gp_param *lth_gp_param_at(const lth_gp *gp, size_t i) {
    if (i == LTH_NONE) i = gp->kernel->param_count;
    return i < lth__gp_param_count(gp) ? &gp->learned[i] : NULL;
}

const lth_gp_symbol *lth_gp_symbol_at(const lth_gp *gp, size_t i) {
    return i < gp->symbol_count ? &gp->symbols[i] : NULL;
}
