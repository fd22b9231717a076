/* What a model has learned of the symbols of its trees. */
#include "model/gp/gp.h"

lth_gp_symbol lth_gp_symbol_at(const lth_gp *gp, size_t i) {
    for (size_t n = 0; n < gp->kernel->node_count; n++) {
        const lth__node *node = gp->kernel->nodes[n];
        lth_gp_symbol found;
        for (size_t own = 0; node->family->symbol; own++) {
            if (!node->family->symbol(node, gp->kernel, gp->items, own, &found)) break;
            if (i-- == 0) return found;
        }
    }
    return (lth_gp_symbol){0};
}
