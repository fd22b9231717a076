/* The other side of a symmetric matrix. */
#include "base/parallel.h"
#include "kernel/core/work.h"

enum { MIRROR = 32 }; /* rows to a job, columns to a square that stays in the cache */

typedef struct mirror_job {
    const lth__work *w;
    double *K;
    size_t ld;
    uint32_t *position; /* of each item in w->tiling.rows.item */
} mirror_job;

/* Entries in rows and columns first .. first+MIRROR of K and of its transpose: whichever of the two
 * was computed is copied to the other. */
static lth_status mirror_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const mirror_job *m = user;
    size_t n = m->w->tiling.rows.count, first = index * MIRROR;
    size_t last = first + MIRROR < n ? first + MIRROR : n;
    for (size_t left = 0; left < last; left += MIRROR) {
        for (size_t i = first; i < last; i++) {
            size_t end = left + MIRROR < i ? left + MIRROR : i;
            for (size_t j = left; j < end; j++) {
                double *below = &m->K[i * m->ld + j], *above = &m->K[j * m->ld + i];
                if (m->position[i] < m->position[j])
                    *above = *below;
                else
                    *below = *above;
            }
        }
    }
    return LTH_OK;
}

lth_status lth__work_mirror(const lth__work *w, double *K, size_t ld, size_t planes,
                            lth_error *err) {
    size_t n = w->tiling.rows.count;
    if (!w->eval.by_size) return LTH_OK; /* a tile has been put on both sides */
    mirror_job m = {.w = w, .ld = ld, .position = lth__alloc(n, sizeof *m.position)};
    if (!m.position) return lth__fail_memory(err, n * sizeof *m.position);
    for (size_t i = 0; i < n; i++) m.position[w->tiling.rows.item[i]] = (uint32_t)i;
    lth_status status = LTH_OK;
    for (size_t p = 0; p < planes && status == LTH_OK; p++) {
        m.K = K + p * n * n;
        status = lth__parallel_for(w->eval.ctx, "Gram matrix", (n + MIRROR - 1) / MIRROR, NULL,
                                   mirror_rows, &m, err);
    }
    lth__free(m.position);
    return status;
}
