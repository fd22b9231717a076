/* What nodes keep of the tiles of a matrix, from one evaluation to the next. */
#include <math.h>
#include <string.h>

#include "kernel/core/work.h"

void lth__memo_free(const lth_kernel *kernel, lth__memo *memo) {
    for (size_t n = 0; memo && n < kernel->node_count; n++) {
        lth__free(memo[n].planes);
        lth__free(memo[n].key);
    }
    lth__free(memo);
}

static size_t planes_of(const lth__eval *eval, size_t n) {
    const lth__node *node = eval->kernel->nodes[n];
    bool any = node->family->memo_planes && lth__kernel_has(eval->kernel, node);
    return any ? node->family->memo_planes(node, eval) : 0;
}

size_t lth__memo_planes(const lth__eval *eval) {
    size_t planes = 0;
    for (size_t n = 0; n < eval->kernel->node_count; n++) planes += planes_of(eval, n);
    return planes;
}

void lth__memo_clear(const lth_kernel *kernel, lth__memo *memo, size_t tiles) {
    for (size_t n = 0; n < kernel->node_count; n++) {
        for (size_t i = 0; memo[n].key && i < tiles * LTH__MEMO_KEYS; i++) memo[n].key[i] = NAN;
    }
}

lth__memo *lth__memo_make(const lth__eval *eval, size_t tiles, size_t pairs) {
    size_t nodes = eval->kernel->node_count;
    lth__memo *memo = lth__calloc(nodes, sizeof *memo);
    bool ok = memo != NULL;
    for (size_t n = 0; ok && n < nodes; n++) {
        lth__memo *m = &memo[n];
        m->plane_count = planes_of(eval, n);
        if (m->plane_count == 0) continue;
        m->planes = lth__alloc(pairs * m->plane_count, sizeof *m->planes);
        m->key = lth__alloc(tiles * LTH__MEMO_KEYS, sizeof *m->key);
        ok = m->planes && m->key;
    }
    if (ok) {
        lth__memo_clear(eval->kernel, memo, tiles);
        return memo;
    }
    lth__memo_free(eval->kernel, memo);
    return NULL;
}

/* In half of what is free beside the matrix, whose memory may not have been touched yet. */
lth__memo *lth__memo_make_beside(const lth__eval *eval, size_t tiles, size_t pairs, size_t matrix) {
    size_t free = lth__memory_available(), planes = lth__memo_planes(eval);
    size_t room = free > matrix ? (free - matrix) / 2 : 0;
    if (planes == 0 || pairs > room / sizeof(double) / planes) return NULL;
    return lth__memo_make(eval, tiles, pairs);
}

lth_status lth__memo_constant(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              lth__fill_fn *fill, double *K, lth_error *err) {
    const lth__memo *memo = eval->memo ? &eval->memo[node->index] : NULL;
    if (!memo || !memo->planes) return fill(node, eval, tile, K, err);
    double *kept = memo->planes + tile->first_pair;
    double *key = &memo->key[tile->index * LTH__MEMO_KEYS];
    if (isnan(*key)) {
        LTH_TRY(fill(node, eval, tile, kept, err));
        *key = 0;
    }
    memcpy(K, kept, tile->rows * tile->cols * sizeof *K);
    return LTH_OK;
}
