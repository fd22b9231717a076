/* Gram matrices: tiles shared among threads, results put in their places. Sums of gradients are
 * kept for each tile and added in tile order: any number of threads gives the same bits.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/cluster.h"
#include "kernel/core/gram.h"
#include "kernel/core/store.h"
#include "kernel/core/work.h"
#include "kernel/device/device_eval.h"

typedef lth__work work;

/* Of a symmetric matrix a pair is used once: where its column does not come before its row. */
static bool is_used(const work *w, const lth__tile_place *place, size_t r, size_t c) {
    return !w->tiling.symmetric || place->col + c >= place->row + r;
}

/* ---- One tile ---- */

lth_status lth__tile_check(const lth__tile *tile, const double *K, lth_error *err) {
    size_t pairs = tile->rows * tile->cols;
    /* 0 * x is 0 unless x is infinite or not a number; eight sums make this a vector loop. */
    double zero[8] = {0};
    size_t whole = pairs / 8 * 8;
    for (size_t i = 0; i < whole; i += 8) {
        for (size_t lane = 0; lane < 8; lane++) zero[lane] += 0 * K[i + lane];
    }
    for (size_t i = whole; i < pairs; i++) zero[0] += 0 * K[i];
    for (size_t lane = 1; lane < 8; lane++) zero[0] += zero[lane];
    for (size_t i = 0; zero[0] != 0 && i < pairs; i++) {
        if (isfinite(K[i])) continue;
        return lth__fail(err, LTH_ENUMERIC,
                         "the kernel of rows %u and %u is too large for a number; use f64, "
                         "normalize(), a lower order or a smaller gap",
                         tile->row[i / tile->cols] + 1, tile->col[i % tile->cols] + 1);
    }
    return LTH_OK;
}

/* A tile of neighbours in a symmetric matrix, as it is and transposed, eight columns at a time. */
static void copy_both_ways(const work *w, const lth__tile_place *place, const lth__tile *tile,
                           const double *from, double *to, size_t ld) {
    double *below = to + tile->col[0] * ld + tile->row[0];
    for (size_t left = 0; left < tile->cols; left += 8) {
        size_t width = left + 8 < tile->cols ? 8 : tile->cols - left;
        for (size_t r = 0; r < tile->rows; r++) {
            for (size_t c = 0; c < width; c++)
                below[(left + c) * ld + r] = from[r * tile->cols + left + c];
        }
    }
    for (size_t r = 0; r < tile->rows; r++) {
        size_t first = 0;
        while (!is_used(w, place, r, first)) first++;
        memcpy(to + tile->row[r] * ld + tile->col[first], from + r * tile->cols + first,
               (tile->cols - first) * sizeof *to);
    }
}

/* Put a tile's values into one of the caller's matrices. Of a symmetric one with its items sorted
 * only the side that was computed; lth__work_mirror() does the other. */
static void scatter(const work *w, const lth__tile_place *place, const lth__tile *tile,
                    const double *from, double *to, size_t ld) {
    if (w->tiling.symmetric && !w->eval.by_size) {
        copy_both_ways(w, place, tile, from, to, ld);
        return;
    }
    for (size_t r = 0; r < tile->rows; r++) {
        double *row = to + tile->row[r] * ld;
        const double *values = from + r * tile->cols;
        size_t first = 0;
        while (!is_used(w, place, r, first)) first++;
        for (size_t c = first; c < tile->cols; c++) row[tile->col[c]] = values[c];
    }
}

/* The caller's weights for a tile; a symmetric pair carries both of its own. */
static void gather_weights(const work *w, const lth__tile_place *place, const lth__tile *tile,
                           double *out) {
    if (w->packed_W) {
        lth__packed_gather(w->packed_W, place, tile, out);
        return;
    }
    for (size_t r = 0; r < tile->rows; r++) {
        for (size_t c = 0; c < tile->cols; c++) {
            size_t i = tile->row[r], j = tile->col[c];
            double weight = 0;
            if (is_used(w, place, r, c)) {
                weight = w->W ? w->W[i * w->ld + j] : 1;
                if (w->W && w->tiling.symmetric && i != j)
                    weight += w->W_is_symmetric ? weight : w->W[j * w->ld + i];
            }
            out[r * tile->cols + c] = weight;
        }
    }
}

static lth_status put_values(const work *w, const lth__tile_place *place, const lth__tile *tile,
                             double *buffer, lth_error *err) {
    if (w->packed_K) return lth__packed_scatter(w->packed_K, place, tile, buffer, err);
    scatter(w, place, tile, buffer, w->K, w->ld);
    return LTH_OK;
}

static lth_status fill_values(const work *w, const lth__tile_place *place, const lth__tile *tile,
                              double *buffer, lth_error *err) {
    LTH_TRY(lth__node_tile(w->eval.kernel->root, &w->eval, tile, buffer, err));
    LTH_TRY(lth__tile_check(tile, buffer, err));
    if (w->given)
        memcpy(w->given + w->given_at[tile->index], buffer,
               tile->rows * tile->cols * sizeof *buffer);
    return put_values(w, place, tile, buffer, err);
}

static lth_status fill_orders(const work *w, const lth__tile_place *place, const lth__tile *tile,
                              double *buffer, lth_error *err) {
    const lth__node *root = w->eval.kernel->root;
    LTH_TRY(root->family->tile_orders(root, &w->eval, tile, buffer, err));
    size_t pairs = tile->rows * tile->cols, cells = w->tiling.rows.count * w->tiling.cols.count;
    for (size_t o = 0; o < root->family->orders(root); o++) {
        LTH_TRY(lth__tile_check(tile, buffer + o * pairs, err));
        scatter(w, place, tile, buffer + o * pairs, w->orders + o * cells, w->tiling.cols.count);
    }
    return LTH_OK;
}

/* Sums go to the tile's own row; whole matrices through the buffer, after the weights. */
static lth_status pull_back(const work *w, size_t index, const lth__tile *tile, double *buffer,
                            lth_error *err) {
    const lth__tile_place *place = &w->tiling.tiles[index];
    size_t pairs = tile->rows * tile->cols, params = w->eval.kernel->param_count;
    double *weights = buffer, *each = w->each ? buffer + pairs : NULL;
    lth__sink sink = {.each = each, .pairs = pairs};
    if (!w->each) sink.sum = w->partial + index * params;
    if (each) memset(each, 0, params * pairs * sizeof *each);
    gather_weights(w, place, tile, weights);
    LTH_TRY(lth__node_pull(w->eval.kernel->root, &w->eval, tile, weights, NULL, &sink, err));
    for (size_t p = 0; each && p < params; p++) {
        double *to = w->each + p * w->tiling.rows.count * w->tiling.cols.count;
        LTH_TRY(lth__tile_check(tile, each + p * pairs, err));
        scatter(w, place, tile, each + p * pairs, to, w->tiling.cols.count);
    }
    return LTH_OK;
}

static lth__tile tile_at(const work *w, size_t index) {
    const lth__tile_place *place = &w->tiling.tiles[index];
    return (lth__tile){.row = w->tiling.rows.item + place->row,
                       .rows = place->rows,
                       .col = w->tiling.cols.item + place->col,
                       .cols = place->cols,
                       .index = index,
                       .first_pair = place->first_pair};
}

static lth_status run_tile(void *user, size_t number, unsigned worker, lth_error *err) {
    (void)worker;
    const work *w = user;
    size_t index = w->own ? w->own[number] : number;
    const lth__tile_place *place = &w->tiling.tiles[index];
    lth__tile tile = tile_at(w, index);
    size_t planes = 1;
    if (w->orders) planes = lth_kernel_orders(w->eval.kernel);
    if (w->each) planes = 1 + w->eval.kernel->param_count;
    double *buffer = lth__alloc(planes * place->rows * place->cols, sizeof *buffer);
    if (!buffer) return lth__fail_memory(err, planes * place->rows * place->cols * sizeof *buffer);
    lth_status status;
    if (w->K || w->packed_K)
        status = fill_values(w, place, &tile, buffer, err);
    else if (w->orders)
        status = fill_orders(w, place, &tile, buffer, err);
    else
        status = pull_back(w, index, &tile, buffer, err);
    lth__free(buffer);
    return status;
}

/* ---- The whole ---- */

void lth__eval_release(lth__eval *eval) {
    const lth_kernel *kernel = eval->kernel;
    for (size_t n = 0; eval->state && n < kernel->node_count; n++) {
        if (eval->state[n]) kernel->nodes[n]->family->release(eval->state[n]);
    }
    lth__free(eval->state);
    eval->state = NULL;
}

/* Inputs before the nodes that use them: nodes are numbered from the root down. */
lth_status lth__eval_prepare(lth__eval *eval, lth_error *err) {
    const lth_kernel *kernel = eval->kernel;
    eval->state = lth__calloc(kernel->node_count, sizeof *eval->state);
    if (!eval->state) return lth__fail_memory(err, 0);
    for (size_t n = kernel->node_count; n-- > 0;) {
        const lth__node *node = kernel->nodes[n];
        if (!node->family->prepare || !lth__kernel_has(kernel, node)) continue;
        LTH_TRY(node->family->prepare(node, eval, &eval->state[n], err));
    }
    return LTH_OK;
}

void lth__work_close(work *w) {
    lth__eval_release(&w->eval);
    lth__device_eval_free(w->eval.device);
    lth__tiling_free(&w->tiling);
    lth__free(w->partial);
}

/* Columns may also be those of the encoder that the rows' one extends. */
lth_status lth__items_check(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                            lth_error *err) {
    const lth_encoder *e = rows->encoder;
    /* A kernel with other values for the same nodes will do. */
    const lth_encoder *first = e->base ? e->base : e;
    bool together = !cols || cols->encoder == e || cols->encoder == e->base ||
                    (cols->of_base && cols->encoder->base == first);
    if (e->kernel->nodes != kernel->nodes || !together)
        return lth__fail(err, LTH_EARG, "the items were not encoded for this kernel together");
    return LTH_OK;
}

static lth_status make_tiling(work *w, lth_error *err) {
    const lth__eval *e = &w->eval;
    const lth__side *order = w->order ? &w->order[e->by_size] : NULL;
    return lth__tiling_make(e->rows, e->cols, e->by_size, order, &w->tiling, err);
}

lth_status lth__work_open(work *w, const lth_kernel *kernel, const lth_items *rows,
                          const lth_items *cols, bool gradients, lth_error *err) {
    LTH_TRY(lth__items_check(kernel, rows, cols, err));
    w->eval = (lth__eval){.ctx = lth__items_ctx(rows),
                          .kernel = kernel,
                          .rows = rows,
                          .cols = cols ? cols : rows,
                          .gradients = gradients,
                          .quiet = rows->quiet,
                          .kept = w->kept};
    if (!w->each) LTH_TRY(lth__device_eval_create(&w->eval, &w->eval.device, err));
    LTH_TRY(lth__eval_prepare(&w->eval, err));
    return w->eval.device ? LTH_OK : make_tiling(w, err);
}

/* ---- Running ---- */

/* The tiles of this rank, of `c`, or all of them. */
static lth_status run_own_tiles(work *w, const lth__cluster *c, lth_error *err) {
    size_t tiles = w->tiling.tile_count, count = 0;
    double *cost = lth__alloc(tiles, sizeof *cost);
    size_t *own = lth__alloc(tiles, sizeof *own);
    lth_status status = cost && own ? LTH_OK : lth__fail_memory(err, tiles * sizeof *cost);
    for (size_t i = 0; i < tiles && status == LTH_OK; i++) {
        if (!lth__cluster_owns(c, i)) continue;
        own[count] = i;
        cost[count++] = w->tiling.tiles[i].cost;
    }
    w->own = own;
    if (status == LTH_OK)
        status = lth__parallel_for(w->eval.ctx, "Gram matrix", count, cost, run_tile, w, err);
    w->own = NULL;
    lth__free(cost);
    lth__free(own);
    return status;
}

static lth_status run_tiles(work *w, lth_error *err) {
    return run_own_tiles(w, NULL, err);
}

/* ---- Shared among ranks: each computes some tiles, and all get all ---- */

/* The values of a rank's tiles lie one after the other. */
typedef struct exchange {
    work *w;
    const lth__cluster *c;
    unsigned giver;
    size_t *at;    /* of each tile, among its owner's */
    size_t *total; /* of each rank                    */
    double *own, *others;
} exchange;

static lth_status begin_exchange(exchange *r, lth_error *err) {
    size_t tiles = r->w->tiling.tile_count, ranks = r->c->at.size, most = 0;
    r->at = lth__alloc(tiles, sizeof *r->at);
    r->total = lth__calloc(ranks, sizeof *r->total);
    if (!r->at || !r->total) return lth__fail_memory(err, tiles * sizeof *r->at);
    for (size_t i = 0; i < tiles; i++) {
        const lth__tile_place *place = &r->w->tiling.tiles[i];
        size_t *total = &r->total[lth__cluster_owner(r->c, i)];
        r->at[i] = *total;
        *total += place->rows * place->cols;
        if (*total > most) most = *total;
    }
    r->own = lth__alloc(r->total[r->c->at.rank], sizeof *r->own);
    r->others = lth__alloc(most, sizeof *r->others);
    return r->own && r->others ? LTH_OK : lth__fail_memory(err, most * sizeof *r->others);
}

static void end_exchange(exchange *r) {
    void *blocks[] = {r->at, r->total, r->own, r->others};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

static lth_status take_tile(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const exchange *r = user;
    if (lth__cluster_owner(r->c, index) != r->giver) return LTH_OK;
    lth__tile tile = tile_at(r->w, index);
    return put_values(r->w, &r->w->tiling.tiles[index], &tile, r->others + r->at[index], err);
}

/* Each rank in turn gives its tiles to all others, and goes on giving whatever happens to it. */
static lth_status hand_round(exchange *r, lth_error *err) {
    size_t tiles = r->w->tiling.tile_count;
    lth_status status = LTH_OK;
    for (r->giver = 0; r->giver < r->c->at.size; r->giver++) {
        bool gives = r->giver == r->c->at.rank;
        double *values = gives ? r->own : r->others;
        LTH_TRY(r->c->table->broadcast(LTH__ALL_RANKS, r->giver, values,
                                       r->total[r->giver] * sizeof *values, err));
        if (!gives && status == LTH_OK)
            status = lth__parallel_for(r->w->eval.ctx, NULL, tiles, NULL, take_tile, r, err);
    }
    return status;
}

static lth_status share_values(work *w, lth__cluster *c, lth_error *err) {
    exchange r = {.w = w, .c = c};
    lth_status status = begin_exchange(&r, err);
    w->given = r.own;
    w->given_at = r.at;
    if (status == LTH_OK) status = run_own_tiles(w, c, err);
    w->given = NULL;
    status = lth__cluster_agree(c, status, err);
    if (status == LTH_OK) status = lth__cluster_agree(c, hand_round(&r, err), err);
    end_exchange(&r);
    return status;
}

/* Of a symmetric matrix: its values, or a gradient by tiles. */
static lth_status share_tiles(work *w, lth_error *err) {
    lth__cluster *c = w->eval.ctx->cluster;
    if (!c || c->at.size == 1) return run_tiles(w, err);
    if (w->K || w->packed_K) return share_values(w, c, err);
    lth_status status = run_own_tiles(w, c, err);
    size_t count = w->tiling.tile_count * w->eval.kernel->param_count;
    return lth__cluster_join(c, status, w->partial, count, err);
}

/* Where a device was to do it, but cannot. */
static lth_status tile_and_run(work *w, lth_error *err) {
    if (w->eval.device) LTH_TRY(make_tiling(w, err));
    return run_tiles(w, err);
}

lth_status lth__work_matrix(work *w, lth_error *err) {
    if (w->eval.device) return lth__device_gram(w->eval.device, w->K, w->ld, err);
    LTH_TRY((w->shared ? share_tiles : run_tiles)(w, err));
    return w->tiling.symmetric ? lth__work_mirror(w, w->K, w->ld, 1, err) : LTH_OK;
}

/* From the store of the items. */
static lth_status read_whole(const lth_items *items, double *K, size_t ld, lth_error *err) {
    lth__packed whole = lth__packed_layout(items->count);
    whole.cells = K;
    whole.ld = ld;
    return lth__store_fill(lth__items_ctx(items), items, &whole, err);
}

lth_status lth_gram(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                    double *K, size_t ld, lth_error *err) {
    work w = {.K = K, .ld = ld, .shared = !cols};
    if (!cols && rows->stored) return read_whole(rows, K, ld, err);
    lth_status status = lth__work_open(&w, kernel, rows, cols, false, err);
    if (status == LTH_OK) status = lth__work_matrix(&w, err);
    lth__work_close(&w);
    return status;
}

lth_status lth_gram_orders(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                           double *K, lth_error *err) {
    if (lth_kernel_orders(kernel) == 0)
        return lth__fail(err, LTH_EARG, "only a string kernel by itself, ssk(...), has orders");
    work w = {.orders = K};
    lth_status status = lth__work_open(&w, kernel, rows, cols, false, err);
    const lth__node *root = kernel->root;
    if (status == LTH_OK && w.eval.device && root->family->device_able(root, &w.eval))
        status = lth__device_gram_orders(w.eval.device, K, err);
    else if (status == LTH_OK)
        status = tile_and_run(&w, err);
    if (status == LTH_OK && w.tiling.symmetric)
        status = lth__work_mirror(&w, K, rows->count, lth_kernel_orders(kernel), err);
    lth__work_close(&w);
    return status;
}

lth_status lth__gradient_check(const lth_kernel *kernel, const double *grad, lth_error *err) {
    for (size_t p = 0; p < kernel->param_count; p++) {
        if (isfinite(grad[p])) continue;
        return lth__fail(err, LTH_ENUMERIC, "the derivative by %s is not finite",
                         kernel->params[p].path);
    }
    return LTH_OK;
}

static lth_status add_partials(const work *w, double *grad, lth_error *err) {
    size_t params = w->eval.kernel->param_count;
    memset(grad, 0, params * sizeof *grad);
    for (size_t t = 0; t < w->tiling.tile_count; t++) {
        for (size_t p = 0; p < params; p++) grad[p] += w->partial[t * params + p];
    }
    return lth__gradient_check(w->eval.kernel, grad, err);
}

lth_status lth_gram_pull(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                         const double *W, size_t ld, double *grad, lth_error *err) {
    work w = {.W = W, .ld = ld};
    lth_status status = lth__work_open(&w, kernel, rows, cols, true, err);
    if (status == LTH_OK && w.eval.device) {
        status = lth__device_gram_pull(w.eval.device, W, ld, grad, err);
        if (status == LTH_OK) status = lth__gradient_check(kernel, grad, err);
        lth__work_close(&w);
        return status;
    }
    if (status == LTH_OK) {
        w.partial = lth__calloc(w.tiling.tile_count * kernel->param_count, sizeof *w.partial);
        if (!w.partial) status = lth__fail_memory(err, 0);
    }
    if (status == LTH_OK) status = (cols ? run_tiles : share_tiles)(&w, err);
    if (status == LTH_OK) status = add_partials(&w, grad, err);
    lth__work_close(&w);
    return status;
}

/* Slopes of a slice of the diagonal, weighed and added. */
static lth_status pull_slice(const lth_kernel *kernel, const lth_items *rows, const double *w,
                             double *room, double *grad, lth_error *err) {
    size_t params = kernel->param_count, count = rows->count;
    double *a = room + params * count;
    lth__eval eval = {.ctx = kernel->ctx,
                      .kernel = kernel,
                      .rows = rows,
                      .cols = rows,
                      .gradients = true,
                      .only_diagonal = true};
    memset(room, 0, params * count * sizeof *room);
    lth_status status = lth__eval_prepare(&eval, err);
    if (status == LTH_OK) status = lth__node_diagonal(kernel->root, &eval, rows, a, room, err);
    for (size_t p = 0; p < params && status == LTH_OK; p++) {
        for (size_t i = 0; i < count; i++) grad[p] += w[i] * room[p * count + i];
    }
    lth__eval_release(&eval);
    return status;
}

lth_status lth_gram_diagonal_pull(const lth_kernel *kernel, const lth_items *rows, const double *w,
                                  double *grad, lth_error *err) {
    enum { SLICE = 512 };
    size_t params = kernel->param_count, cells = (params + 1) * SLICE;
    LTH_TRY(lth__items_check(kernel, rows, NULL, err));
    double *room = lth__alloc(cells, sizeof *room);
    if (!room) return lth__fail_memory(err, cells * sizeof *room);
    memset(grad, 0, params * sizeof *grad);
    lth_status status = LTH_OK;
    for (size_t first = 0; first < rows->count && status == LTH_OK; first += SLICE) {
        lth_items *slice = NULL;
        size_t count = rows->count - first < SLICE ? rows->count - first : SLICE;
        status = lth__items_slice(rows, first, count, &slice, err);
        if (status == LTH_OK) status = pull_slice(kernel, slice, w + first, room, grad, err);
        lth_items_free(slice);
    }
    lth__free(room);
    return status == LTH_OK ? lth__gradient_check(kernel, grad, err) : status;
}

lth_status lth_gram_gradients(const lth_kernel *kernel, const lth_items *rows,
                              const lth_items *cols, double *G, lth_error *err) {
    work w = {.each = G};
    lth_status status = lth__work_open(&w, kernel, rows, cols, true, err);
    if (status == LTH_OK) status = run_tiles(&w, err);
    if (status == LTH_OK && w.tiling.symmetric)
        status = lth__work_mirror(&w, G, rows->count, kernel->param_count, err);
    lth__work_close(&w);
    return status;
}

/* ---- The same matrix again and again ---- */

static size_t count_pairs(const work *w) {
    if (w->tiling.tile_count == 0) return 0;
    const lth__tile_place *last = &w->tiling.tiles[w->tiling.tile_count - 1];
    return last->first_pair + last->rows * last->cols;
}

lth_status lth__gram_create(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                            lth__gram **out, lth_error *err) {
    LTH_TRY(lth__items_check(kernel, rows, cols, err));
    lth__gram *g = lth__calloc(1, sizeof *g);
    if (!g) return lth__fail_memory(err, sizeof *g);
    g->w.eval = (lth__eval){.ctx = lth__items_ctx(rows),
                            .kernel = kernel,
                            .rows = rows,
                            .quiet = rows->quiet,
                            .cols = cols ? cols : rows,
                            .gradients = true};
    g->w.W_is_symmetric = g->w.eval.rows == g->w.eval.cols;
    lth_status status = LTH_OK;
    g->is_read = g->w.W_is_symmetric && rows->stored;
    if (g->w.W_is_symmetric && !g->is_read) /* a device keeps whole squares only */
        status = lth__device_eval_create(&g->w.eval, &g->w.eval.device, err);
    if (status != LTH_OK) {
        lth__free(g);
        return status;
    }
    *out = g;
    return LTH_OK;
}

void lth__gram_free(lth__gram *g) {
    if (!g) return;
    lth__memo_free(g->w.eval.kernel, g->memo);
    lth__gram_forget_parts(g);
    lth__work_close(&g->w);
    lth__free(g);
}

void lth__gram_keep_nothing(lth__gram *g) {
    g->keeps_nothing = true;
}

lth_status lth__gram_prepare(lth__gram *g, lth_error *err) {
    work *w = &g->w;
    lth__eval_release(&w->eval);
    LTH_TRY(lth__eval_prepare(&w->eval, err));
    w->eval.quiet = true;
    return LTH_OK;
}

const lth_kernel *lth__gram_kernel(const lth__gram *g) {
    return g->w.eval.kernel;
}

lth__device_eval *lth__gram_device(const lth__gram *g) {
    return g->w.eval.device;
}

/* Tiles, and what is kept of them, at the first evaluation. */
static lth_status tile_once(lth__gram *g, lth_error *err) {
    work *w = &g->w;
    if (!g->is_tiled) {
        LTH_TRY(make_tiling(w, err));
        g->is_tiled = true;
        if (!g->keeps_nothing)
            g->memo =
                lth__memo_make_beside(&w->eval, w->tiling.tile_count, count_pairs(w),
                                      lth__packed_bytes(w->tiling.rows.count, sizeof(double)));
    }
    w->eval.memo = g->memo;
    return LTH_OK;
}

lth_status lth__gram_values(lth__gram *g, double *K, size_t ld, lth_error *err) {
    work *w = &g->w;
    if (g->is_read) return read_whole(w->eval.rows, K, ld, err);
    LTH_TRY(lth__gram_prepare(g, err));
    if (w->eval.device) return lth__device_packed_values(w->eval.device, K, err);
    LTH_TRY(tile_once(g, err));
    w->K = K;
    w->packed_K = NULL;
    w->ld = ld;
    LTH_TRY((w->tiling.symmetric ? share_tiles : run_tiles)(w, err));
    return w->tiling.symmetric ? lth__work_mirror(w, K, ld, 1, err) : LTH_OK;
}

lth_status lth__gram_values_single(lth__gram *g, float *K, lth_error *err) {
    LTH_TRY(lth__gram_prepare(g, err));
    return lth__device_packed_singles(g->w.eval.device, K, err);
}

lth_status lth__gram_values_packed(lth__gram *g, const lth__packed *K, lth_error *err) {
    work *w = &g->w;
    if (g->is_read) return lth__store_fill(w->eval.ctx, w->eval.rows, K, err);
    LTH_TRY(lth__gram_prepare(g, err));
    LTH_TRY(tile_once(g, err));
    w->K = NULL;
    w->packed_K = K;
    return share_tiles(w, err);
}

/* Of the weights that are set. */
static lth_status pull_tiles(lth__gram *g, double *grad, lth_error *err) {
    work *w = &g->w;
    size_t size = w->tiling.tile_count * w->eval.kernel->param_count;
    w->eval.memo = g->memo;
    w->K = NULL;
    w->packed_K = NULL;
    if (!w->partial) w->partial = lth__alloc(size, sizeof *w->partial);
    if (!w->partial) return lth__fail_memory(err, size * sizeof *w->partial);
    memset(w->partial, 0, size * sizeof *w->partial);
    LTH_TRY((w->tiling.symmetric ? share_tiles : run_tiles)(w, err));
    return add_partials(w, grad, err);
}

/* What is on disk does not change. */
static lth_status pull_nothing(const work *w, double *grad) {
    memset(grad, 0, w->eval.kernel->param_count * sizeof *grad);
    return LTH_OK;
}

lth_status lth__gram_pull(lth__gram *g, double *W, size_t ld, double *grad, lth_error *err) {
    work *w = &g->w;
    if (g->is_read) return pull_nothing(w, grad);
    if (w->eval.device) {
        LTH_TRY(lth__device_packed_pull(w->eval.device, W, grad, err));
        return lth__gradient_check(w->eval.kernel, grad, err);
    }
    w->W = W;
    w->packed_W = NULL;
    w->ld = ld;
    return pull_tiles(g, grad, err);
}

lth_status lth__gram_pull_packed(lth__gram *g, const lth__packed *W, double *grad, lth_error *err) {
    if (g->is_read) return pull_nothing(&g->w, grad);
    g->w.packed_W = W;
    return pull_tiles(g, grad, err);
}

double lth_gram_cell_orders(const lth_kernel *kernel, const lth_items *rows,
                            const lth_items *cols) {
    double sum = 0;
    for (size_t n = 0; n < kernel->node_count; n++) {
        const lth__node *node = kernel->nodes[n];
        if (node->family->cell_orders && lth__kernel_has(kernel, node))
            sum += node->family->cell_orders(node, rows, cols ? cols : rows);
    }
    return sum;
}
