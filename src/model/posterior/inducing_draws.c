/* Draws of the parameters with inducing rows: the same rows stand for all, whatever the parameters.
 * Of all rows a draw leaves b and the factor of each B; what it needs beside them, the factor of
 * C_mm, is made again from the rows that are kept.
 *
 * Its numbers: the jitter of C_mm, what centres the targets after a warp, b, and the lower
 * triangles of the factors, by row.
 */
#include <math.h>
#include <string.h>

#include "model/posterior/inducing.h"

static size_t triangle(size_t m) {
    return m * (m + 1) / 2;
}

/* Numbers before b. */
static size_t count_first(const lth_gp *gp) {
    return 1 + (gp->warp ? 2 * gp->target_count : 0);
}

static size_t count(const lth_gp *gp) {
    const lth__inducing_state *s = gp->solution;
    return count_first(gp) + s->m * s->latents + s->factors * triangle(s->m);
}

static void keep(const lth_gp *gp, double *out) {
    const lth__inducing_state *s = gp->solution;
    size_t m = s->m, cells = m * s->latents;
    *out++ = s->basis->jitter;
    for (size_t t = 0; gp->warp && t < gp->target_count; t++) {
        *out++ = gp->targets[t].centre;
        *out++ = gp->targets[t].spread;
    }
    memcpy(out, s->b, cells * sizeof *out);
    out += cells;
    for (size_t r = 0; r < s->factors * m; r++) {
        memcpy(out, s->LB + r * m, (r % m + 1) * sizeof *out);
        out += r % m + 1;
    }
}

static bool is_possible(const lth_gp *gp, const double *kept) {
    const lth__inducing_state *s = gp->solution;
    const double *row = kept + count_first(gp) + s->m * s->latents;
    if (!(kept[0] >= 0)) return false;
    for (size_t i = 2; i < count_first(gp); i += 2) {
        if (!(kept[i] > 0)) return false; /* a spread */
    }
    for (size_t r = 0; r < s->factors * s->m; r++) {
        if (!lth__inducing_is_pivot(row[r % s->m])) return false;
        row += r % s->m + 1;
    }
    return true;
}

static void unpack(lth__inducing_state *s, const double *from) {
    for (size_t r = 0; r < s->factors * s->m; r++) {
        memcpy(s->LB + r * s->m, from, (r % s->m + 1) * sizeof *from);
        from += r % s->m + 1;
    }
}

static lth_status factor_rows(const lth_gp *gp, double jitter, double **out, lth_error *err) {
    lth__basis basis = {.kernel = gp->kernel, .items = gp->items, .count = gp->rows};
    lth_status status =
        lth__basis_renew(&basis, lth__gp_scale(gp), gp->mean->variance, jitter, err);
    lth__prepared_free(basis.prepared);
    *out = basis.L;
    return status == LTH_ENUMERIC
               ? lth__fail(err, status, "the kernel matrix is not positive definite")
               : status;
}

static lth_status take(lth_gp *gp, const double *kept, lth_error *err) {
    const double *b = kept + count_first(gp);
    lth__inducing_state *s = gp->solution = lth__inducing_create(gp);
    if (!s) return lth__fail_memory(err, sizeof *s);
    size_t m = s->m = gp->rows, cells = s->factors * m * m;
    s->b = lth__alloc(m * s->latents, sizeof *s->b);
    s->LB = lth__calloc(cells, sizeof *s->LB);
    if (!s->b || !s->LB) return lth__fail_memory(err, cells * sizeof *s->LB);
    for (size_t t = 0; gp->warp && t < gp->target_count; t++) {
        gp->targets[t].centre = kept[1 + 2 * t];
        gp->targets[t].spread = kept[2 + 2 * t];
    }
    memcpy(s->b, b, m * s->latents * sizeof *s->b);
    unpack(s, b + m * s->latents);
    LTH_TRY(factor_rows(gp, kept[0], &s->L, err));
    return lth__inducing_weigh(s, s->L, err);
}

const lth__draw_keeper lth__inducing_draws = {
    .count = count, .keep = keep, .is_possible = is_possible, .take = take};
