/* What nodes keep of the tiles of a matrix, from one evaluation to the next. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "kernel/core/work.h"

static void drop_kept(const lth_kernel *kernel, size_t n, lth__memo *memo) {
    for (size_t i = 0; memo->kept && i < memo->tiles; i++) {
        if (memo->kept[i]) kernel->nodes[n]->family->memo_drop(memo->kept[i]);
        memo->kept[i] = NULL;
    }
}

void lth__memo_free(const lth_kernel *kernel, lth__memo *memo) {
    for (size_t n = 0; memo && n < kernel->node_count; n++) {
        drop_kept(kernel, n, &memo[n]);
        lth__free(memo[n].kept);
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

static bool has_own_form(const lth__eval *eval, size_t n) {
    const lth__node *node = eval->kernel->nodes[n];
    return node->family->memo_drop && lth__kernel_has(eval->kernel, node) &&
           eval->rows->count <= LTH__MEMO_ROWS;
}

static size_t count_planes(const lth__eval *eval) {
    size_t planes = 0;
    for (size_t n = 0; n < eval->kernel->node_count; n++) planes += planes_of(eval, n);
    return planes;
}

bool lth__memo_wanted(const lth__eval *eval) {
    for (size_t n = 0; n < eval->kernel->node_count; n++) {
        if (planes_of(eval, n) > 0 || has_own_form(eval, n)) return true;
    }
    return false;
}

void lth__memo_clear(const lth_kernel *kernel, lth__memo *memo) {
    for (size_t n = 0; n < kernel->node_count; n++) {
        for (size_t i = 0; memo[n].key && i < memo[n].tiles * LTH__MEMO_KEYS; i++)
            memo[n].key[i] = NAN;
        drop_kept(kernel, n, &memo[n]);
    }
}

static bool make_node(const lth__eval *eval, size_t n, size_t tiles, size_t pairs, size_t room,
                      lth__memo *m) {
    m->tiles = tiles;
    m->plane_count = planes_of(eval, n);
    atomic_init(&m->room, room);
    if (has_own_form(eval, n)) {
        m->kept = lth__calloc(tiles, sizeof *m->kept);
        if (!m->kept) return false;
    }
    if (m->plane_count == 0) return true;
    m->planes = lth__alloc(pairs * m->plane_count, sizeof *m->planes);
    m->key = lth__alloc(tiles * LTH__MEMO_KEYS, sizeof *m->key);
    return m->planes && m->key;
}

static lth__memo *make(const lth__eval *eval, size_t tiles, size_t pairs, size_t room) {
    size_t nodes = eval->kernel->node_count;
    lth__memo *memo = lth__calloc(nodes, sizeof *memo);
    bool ok = memo != NULL;
    for (size_t n = 0; ok && n < nodes; n++) ok = make_node(eval, n, tiles, pairs, room, &memo[n]);
    if (ok) {
        lth__memo_clear(eval->kernel, memo);
        return memo;
    }
    lth__memo_free(eval->kernel, memo);
    return NULL;
}

lth__memo *lth__memo_make(const lth__eval *eval, size_t tiles, size_t pairs) {
    return make(eval, tiles, pairs, 0); /* for planes alone */
}

/* In half of what is free beside the matrix, whose memory may not have been touched yet. */
lth__memo *lth__memo_make_beside(const lth__eval *eval, size_t tiles, size_t pairs, size_t matrix) {
    size_t free = lth__memory_available(), planes = count_planes(eval);
    size_t room = free > matrix ? (free - matrix) / 2 : 0;
    if (!lth__memo_wanted(eval)) return NULL;
    if (planes > 0 && pairs > room / sizeof(double) / planes) return NULL;
    return make(eval, tiles, pairs, room - pairs * planes * sizeof(double));
}

void **lth__memo_slot(const lth__node *node, const lth__eval *eval, const lth__tile *tile) {
    lth__memo *memo = eval->memo ? &eval->memo[node->index] : NULL;
    return memo && memo->kept ? &memo->kept[tile->index] : NULL;
}

bool lth__memo_fits(const lth__node *node, const lth__eval *eval, size_t bytes) {
    _Atomic size_t *room = &eval->memo[node->index].room;
    size_t left = atomic_load(room);
    while (left >= bytes) {
        if (atomic_compare_exchange_weak(room, &left, left - bytes)) return true;
    }
    return false;
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
