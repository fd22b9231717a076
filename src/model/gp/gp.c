/* A fitted Gaussian process, looked at. */
#include "model/gp/gp_classes.h"

void lth_gp_free(lth_gp *gp) {
    if (!gp) return;
    if (gp->solution) gp->posterior->free(gp->solution);
    lth__prepared_free(gp->prepared);
    lth_items_free(gp->kept);
    if (!gp->borrowed) {
        if (!gp->kept) lth_items_free(gp->items);
        lth_encoder_free(gp->encoder);
        lth_kernel_free(gp->kernel);
    }
    for (size_t t = 0; gp->targets && t < gp->target_count; t++) lth__free(gp->targets[t].name);
    void *blocks[] = {gp->vectors,  gp->targets, gp->y,       gp->start,  gp->held,
                      gp->at_bound, gp->steps,   gp->learned, gp->symbols};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__classes_free(gp->classes);
    lth__free(gp);
}

const lth_kernel *lth_gp_kernel(const lth_gp *gp) {
    return gp->kernel;
}

size_t lth_gp_targets(const lth_gp *gp) {
    return gp->target_count;
}

const char *lth_gp_target(const lth_gp *gp, size_t i) {
    return i < gp->target_count ? gp->targets[i].name : NULL;
}

const lth_gp_report *lth_gp_reported(const lth_gp *gp) {
    return &gp->report;
}
