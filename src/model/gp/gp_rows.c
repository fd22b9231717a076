/* Learning from some of the rows: a stratified draw, and the same model of the rows drawn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model/gp/gp.h"

/* ---- The draw ---- */

/* A row with its first target; rows of labels are ordered by those of every latent function. */
typedef struct placed {
    const lth_gp *gp;
    size_t row;
} placed;

static int compare(const void *a, const void *b) {
    const placed *x = a, *y = b;
    const lth_gp *gp = x->gp;
    for (size_t i = 0; i < gp->latents; i++) {
        double u = gp->y[i * gp->rows + x->row], v = gp->y[i * gp->rows + y->row];
        bool unknown = isnan(u); /* these come last */
        if (unknown != isnan(v)) return unknown ? 1 : -1;
        if (!unknown && u != v) return u < v ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

static int compare_rows(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* One row of each of `count` strata of the targets in order, so that their distribution is kept. */
lth_status lth__gp_draw_rows(const lth_gp *gp, size_t count, size_t *out, lth_error *err) {
    size_t n = gp->rows;
    placed *order = lth__alloc(n, sizeof *order);
    if (!order) return lth__fail_memory(err, n * sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = (placed){.gp = gp, .row = i};
    qsort(order, n, sizeof *order, compare);
    lth__random random;
    lth__random_seed(&random, gp->ctx.options.seed);
    for (size_t s = 0; s < count; s++) {
        size_t first = (size_t)((double)s * (double)n / (double)count);
        size_t end = (size_t)((double)(s + 1) * (double)n / (double)count);
        size_t at = first + (size_t)(lth__random_uniform(&random) * (double)(end - first));
        out[s] = order[at < end ? at : end - 1].row;
    }
    lth__free(order);
    qsort(out, count, sizeof *out, compare_rows);
    return LTH_OK;
}

/* ---- The model of these rows ---- */

static double *pick_numbers(const lth_gp *gp, const double *from, const size_t *row, size_t count) {
    double *to = lth__alloc(gp->latents * count, sizeof *to);
    for (size_t i = 0; to && i < gp->latents; i++) {
        for (size_t r = 0; r < count; r++) to[i * count + r] = from[i * gp->rows + row[r]];
    }
    return to;
}

static lth_status pick_targets(const lth_gp *gp, const size_t *row, lth_gp *part, lth_error *err) {
    size_t count = part->rows, warp = gp->warp ? lth__warp_params(gp->warp) : 0;
    part->y = pick_numbers(gp, gp->y, row, count);
    if (warp) part->unwarped = pick_numbers(gp, gp->unwarped, row, count);
    if (warp) part->warp_by = lth__alloc(warp * gp->latents * count, sizeof *part->warp_by);
    if (!part->y || (warp && (!part->unwarped || !part->warp_by)))
        return lth__fail_memory(err, count * sizeof *part->y);
    return lth__known_pick(&gp->known, row, count, &part->known, err);
}

static lth_status make_part(const lth_gp *gp, size_t count, lth_gp *part, lth_error *err) {
    *part = *gp;
    part->items = NULL;
    part->rows = count;
    part->solution = part->y = part->unwarped = part->warp_by = NULL;
    part->known = (lth__known){0};
    size_t *row = lth__alloc(count, sizeof *row);
    if (!row) return lth__fail_memory(err, count * sizeof *row);
    lth_status status = lth__gp_draw_rows(gp, count, row, err);
    if (status == LTH_OK) status = lth__items_pick(gp->items, row, count, &part->items, err);
    if (status == LTH_OK) part->items->quiet = true; /* what is odd is told of all rows */
    if (status == LTH_OK) status = pick_targets(gp, row, part, err);
    lth__free(row);
    return status;
}

/* What the search found is the whole model's; the rest of the part goes. */
static void take_back(lth_gp *gp, const lth_gp *part) {
    memcpy(gp->own, part->own, sizeof gp->own);
    gp->jitter = part->jitter;
    gp->report = part->report;
    gp->intervals = part->intervals;
    gp->draws = part->draws;
    gp->steps = part->steps;
    gp->step_count = part->step_count;
    gp->steps_seen = part->steps_seen;
    gp->step_every = part->step_every;
}

lth_status lth__gp_learn_part(lth_gp *gp, size_t count, lth__gp_learn_fn *learn,
                              const lth_gp_options *options, lth_error *err) {
    lth_gp part;
    lth_status status = make_part(gp, count, &part, err);
    bool few = gp->posterior == &lth__cg || gp->posterior == &lth__inducing; /* for many rows */
    part.posterior = few ? lth__gp_posterior(gp, LTH_POSTERIOR_EXACT) : gp->posterior;
    if (status == LTH_OK) status = part.posterior->open(&part, err);
    if (status == LTH_OK) status = learn(&part, options, err);
    take_back(gp, &part);
    if (part.solution) part.posterior->free(part.solution);
    lth_items_free(part.items);
    lth__free(part.y);
    lth__free(part.unwarped);
    lth__free(part.warp_by);
    lth__known_free(&part.known);
    return status;
}
