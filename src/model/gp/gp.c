/* A fitted Gaussian process, looked at. */
#include "model/gp/gp_classes.h"
#include "model/gp/gp_uncertain.h"

void lth_gp_free(lth_gp *gp) {
    if (!gp) return;
    lth__draws_free(gp->draws); /* which borrow the rest */
    if (gp->solution) gp->posterior->free(gp->solution);
    lth__prepared_free(gp->prepared);
    if (!gp->borrowed || gp->keeps_few) lth_items_free(gp->items);
    if (!gp->borrowed) {
        lth_items_free(gp->all);
        lth_encoder_free(gp->encoder);
        lth_kernel_free(gp->kernel);
    }
    for (size_t t = 0; gp->targets && t < gp->target_count; t++) lth__free(gp->targets[t].name);
    void *blocks[] = {gp->intervals, gp->targets,  gp->y,        gp->start,
                      gp->held,      gp->at_bound, gp->steps,    gp->learned,
                      gp->symbols,   gp->kept,     gp->unwarped, gp->warp_by,
                      gp->noise_by,  gp->weights,  gp->exposure, gp->grades};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__known_free(&gp->known);
    lth__classes_free(gp->classes);
    lth__free(gp);
}

void lth__gp_keep(lth_gp *gp, lth_items *items, size_t *kept) {
    gp->all = lth__kernel_needs_all_rows(gp->kernel) ? gp->items : NULL;
    gp->items = items;
    gp->kept = kept;
    gp->keeps_few = true;
}

lth_encoder *lth__gp_encoder(const lth_gp *gp) {
    return gp->encoder;
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
