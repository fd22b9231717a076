/* Parts of the Gram matrix of the same items, for many values of the parameters. Threads share the
 * parts; each has its own cells and sums, so it does not matter which others there are. */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/core/gram.h"
#include "kernel/core/store.h"
#include "kernel/core/work.h"

/* ---- What is kept ---- */

static void forget_list(lth__gram *g) {
    lth__kept_parts *k = &g->parts;
    lth__memo_free(g->w.eval.kernel, k->memo);
    lth__free(k->list);
    lth__free(k->before);
    k->memo = NULL;
    k->list = NULL;
    k->before = NULL;
    k->count = 0;
}

void lth__gram_forget_parts(lth__gram *g) {
    forget_list(g);
    lth__parts_close(&g->parts.of);
}

static bool is_same(const lth__gram_part *a, const lth__gram_part *b) {
    return a->row == b->row && a->rows == b->rows && a->col == b->col && a->cols == b->cols;
}

static bool is_kept(const lth__gram *g, const lth__gram_part *parts, size_t count) {
    const lth__kept_parts *k = &g->parts;
    bool same = k->memo && k->count == count;
    for (size_t i = 0; same && i < count; i++) same = is_same(&k->list[i], &parts[i]);
    return same;
}

/* Number the tiles of all parts, and keep what can be kept of them; going without is no error. */
static lth_status keep(lth__gram *g, const lth__gram_part *parts, size_t count, lth_error *err) {
    lth__kept_parts *k = &g->parts;
    lth__part_count all = {0};
    size_t bytes = 0;
    forget_list(g);
    if (g->keeps_nothing || !lth__memo_wanted(&g->w.eval)) return LTH_OK;
    k->list = lth__alloc(count, sizeof *k->list);
    k->before = lth__alloc(count, sizeof *k->before);
    if (!k->list || !k->before) return lth__fail_memory(err, count * sizeof *k->list);
    for (size_t i = 0; i < count; i++) {
        lth__part_count own;
        LTH_TRY(lth__part_count_tiles(&k->of, &parts[i], &own, err));
        k->list[i] = parts[i];
        k->before[i] = all;
        all.tiles += own.tiles;
        all.pairs += own.pairs;
        bytes += parts[i].rows * parts[i].cols * sizeof(double);
    }
    k->count = count;
    k->memo = lth__memo_make_beside(&g->w.eval, all.tiles, all.pairs, bytes);
    if (!k->memo) forget_list(g);
    return LTH_OK;
}

/* ---- By threads ---- */

typedef struct queued {
    double cost;
    size_t part;
} queued;

typedef struct sharing {
    lth__gram *g;
    const lth__gram_part *parts;
    queued *queue;
    double *partial; /* NULL = values are wanted */
} sharing;

static int by_descending_cost(const void *a, const void *b) {
    const queued *x = a, *y = b;
    if (x->cost != y->cost) return x->cost > y->cost ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

static lth_status run_part(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const sharing *s = user;
    const lth__kept_parts *k = &s->g->parts;
    size_t i = s->queue[index].part, params = s->g->w.eval.kernel->param_count;
    lth__part_count before = {0};
    if (s->g->w.eval.memo) before = k->before[i];
    if (!s->partial) return lth__part_values(&k->of, &s->parts[i], before, err);
    return lth__part_pull(&k->of, &s->parts[i], before, s->partial + i * params, err);
}

/* The dearest first. */
static lth_status share(sharing *s, size_t count, lth_error *err) {
    lth__gram *g = s->g;
    double *cost = lth__alloc(count, sizeof *cost);
    s->queue = lth__alloc(count, sizeof *s->queue);
    lth_status status = cost && s->queue ? LTH_OK : lth__fail_memory(err, count * sizeof *cost);
    if (status == LTH_OK && count > 0) {
        for (size_t i = 0; i < count; i++)
            s->queue[i] = (queued){lth__part_cost(&g->parts.of, &s->parts[i]), i};
        qsort(s->queue, count, sizeof *s->queue, by_descending_cost);
        for (size_t i = 0; i < count; i++) cost[i] = s->queue[i].cost;
        g->w.eval.memo = is_kept(g, s->parts, count) ? g->parts.memo : NULL;
        status = lth__parallel_for(g->w.eval.ctx, "Gram matrix", count, cost, run_part, s, err);
    }
    lth__free(cost);
    lth__free(s->queue);
    return status;
}

/* ---- By a device, which has its own way to cut a matrix ---- */

typedef lth_status slices_fn(const lth__gram *g, const lth__gram_part *part, const lth_items *rows,
                             const lth_items *cols, double *square, double *sum, lth_error *err);

static lth_status make_slice(const lth_items *items, size_t first, size_t count, lth_items **out,
                             lth_error *err) {
    LTH_TRY(lth__items_slice(items, first, count, out, err));
    (*out)->quiet = true;
    return LTH_OK;
}

/* On the diagonal `cols` is NULL, and there is a square for both of its halves. */
static lth_status with_slices(const lth__gram *g, const lth__gram_part *part, slices_fn *what,
                              double *sum, lth_error *err) {
    const lth_items *items = g->w.eval.rows;
    bool diagonal = part->row == part->col;
    lth_items *rows = NULL, *cols = NULL;
    double *square = NULL;
    lth_status status = make_slice(items, part->row, part->rows, &rows, err);
    if (status == LTH_OK && !diagonal)
        status = make_slice(items, part->col, part->cols, &cols, err);
    if (status == LTH_OK && diagonal) {
        square = lth__alloc(part->rows * part->rows, sizeof *square);
        if (!square) status = lth__fail_memory(err, part->rows * part->rows * sizeof *square);
    }
    if (status == LTH_OK) status = what(g, part, rows, cols, square, sum, err);
    lth__free(square);
    lth_items_free(rows);
    lth_items_free(cols);
    return status;
}

static lth_status values_of_slices(const lth__gram *g, const lth__gram_part *part,
                                   const lth_items *rows, const lth_items *cols, double *square,
                                   double *sum, lth_error *err) {
    (void)sum;
    const lth_kernel *kernel = g->w.eval.kernel;
    if (cols) return lth_gram(kernel, rows, cols, part->cells, part->ld, err);
    LTH_TRY(lth_gram(kernel, rows, NULL, square, part->rows, err));
    for (size_t i = 0; i < part->rows; i++)
        memcpy(part->cells + i * part->ld, square + i * part->rows, (i + 1) * sizeof *square);
    return LTH_OK;
}

static lth_status pull_of_slices(const lth__gram *g, const lth__gram_part *part,
                                 const lth_items *rows, const lth_items *cols, double *square,
                                 double *sum, lth_error *err) {
    const lth_kernel *kernel = g->w.eval.kernel;
    size_t n = part->rows;
    if (cols) {
        LTH_TRY(lth_gram_pull(kernel, rows, cols, part->cells, part->ld, sum, err));
        for (size_t p = 0; p < kernel->param_count; p++) sum[p] *= 2;
        return LTH_OK;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            square[i * n + j] = square[j * n + i] = part->cells[i * part->ld + j];
    }
    return lth_gram_pull(kernel, rows, NULL, square, n, sum, err);
}

static lth_status go_by_device(const lth__gram *g, const lth__gram_part *parts, size_t count,
                               slices_fn *what, double *partial, lth_error *err) {
    size_t params = g->w.eval.kernel->param_count;
    lth_ctx *ctx = g->w.eval.ctx;
    struct lth__cluster *ranks = ctx->cluster;
    lth_status status = LTH_OK;
    ctx->cluster = NULL; /* the parts are this rank's own */
    for (size_t i = 0; i < count && status == LTH_OK; i++) {
        if (parts[i].rows == 0 || parts[i].cols == 0) continue;
        status = with_slices(g, &parts[i], what, partial ? partial + i * params : NULL, err);
    }
    ctx->cluster = ranks;
    return status;
}

/* ---- Both ---- */

lth_status lth__gram_values_parts(lth__gram *g, const lth__gram_part *parts, size_t count,
                                  lth_error *err) {
    const lth__eval *eval = &g->w.eval;
    if (g->is_read) return lth__store_fill_parts(eval->ctx, eval->rows, parts, count, err);
    if (eval->device) return go_by_device(g, parts, count, values_of_slices, NULL, err);
    LTH_TRY(lth__gram_prepare(g, err));
    if (!g->parts.of.eval) {
        lth__parts of;
        lth_status status = lth__parts_open(eval, &of, err);
        if (status != LTH_OK) lth__parts_close(&of);
        if (status != LTH_OK) return status;
        g->parts.of = of;
    }
    if (!is_kept(g, parts, count)) LTH_TRY(keep(g, parts, count, err));
    sharing s = {.g = g, .parts = parts};
    return share(&s, count, err);
}

lth_status lth__gram_pull_parts(lth__gram *g, const lth__gram_part *parts, size_t count,
                                double *partial, lth_error *err) {
    memset(partial, 0, count * g->w.eval.kernel->param_count * sizeof *partial);
    if (g->is_read) return LTH_OK; /* what is on disk does not change */
    if (g->w.eval.device) return go_by_device(g, parts, count, pull_of_slices, partial, err);
    sharing s = {.g = g, .parts = parts, .partial = partial};
    return share(&s, count, err);
}
