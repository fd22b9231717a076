#include "kernel/device/device_eval.h"

#include <string.h>

#include "base/parallel.h"
#include "kernel/core/gram.h"

/* ---- What is kept on the device ---- */

static void free_part(lth__device_eval *e, lth__device_part *part) {
    for (int i = 0; i < 2; i++)
        if (part->strings[i]) e->t->strings_free(e->d, part->strings[i]);
    for (int i = 0; i < 3; i++)
        if (part->table[i]) e->t->release(e->d, part->table[i]);
    if (part->trees) e->t->trees_free(e->d, part->trees);
    if (part->ordered) e->t->ordered_free(e->d, part->ordered);
    if (part->features) e->t->features_free(e->d, part->features);
}

void lth__device_eval_free(lth__device_eval *e) {
    if (!e) return;
    for (size_t i = 0; e->fields && i < e->field_count; i++) free_part(e, &e->fields[i]);
    for (size_t i = 0; e->nodes && i < e->node_count; i++) free_part(e, &e->nodes[i]);
    lth__free(e->fields);
    lth__free(e->nodes);
    lth__device_eval_free(e->next);
    if (e->held) lth__device_leave(e->held);
    lth__free(e);
}

double lth__device_work(const lth__eval *eval) {
    const lth_items *cols = eval->cols == eval->rows ? NULL : eval->cols;
    return lth_gram_cell_orders(eval->kernel, eval->rows, cols);
}

static lth__device_eval *create_on(const lth__eval *eval, lth__device *d) {
    lth__device_eval *e = lth__calloc(1, sizeof *e);
    if (!e) return NULL;
    *e = (lth__device_eval){.t = eval->ctx->gpu->table,
                            .d = d,
                            .eval = eval,
                            .field_count = eval->kernel->field_count,
                            .node_count = eval->kernel->node_count};
    e->fields = lth__calloc(e->field_count, sizeof *e->fields);
    e->nodes = lth__calloc(e->node_count, sizeof *e->nodes);
    if (e->fields && e->nodes) return e;
    lth__device_eval_free(e);
    return NULL;
}

lth_status lth__device_eval_create(const lth__eval *eval, lth__device_eval **out, lth_error *err) {
    *out = NULL;
    lth__gpu *gpu = eval->ctx->gpu;
    double pairs = (double)eval->rows->count * (double)eval->cols->count;
    if (!gpu || gpu->gpus == 0 || pairs == 0) return LTH_OK;
    if (!lth__device_pays(gpu, lth__device_work(eval), pairs)) return LTH_OK;
    lth__device_eval *all = NULL;
    for (size_t i = gpu->gpus * LTH__DEVICE_HANDLES; i-- > 0;) {
        lth__device_eval *e = create_on(eval, gpu->handle[i]);
        if (!e) {
            lth__device_eval_free(all);
            return lth__fail_memory(err, sizeof *e);
        }
        e->next = all;
        all = e;
    }
    lth__device_enter(gpu);
    all->held = gpu;
    *out = all;
    return LTH_OK;
}

lth_status lth__device_matrix(lth__device_eval *e, size_t count, double **out, lth_error *err) {
    void *memory;
    LTH_TRY(e->t->alloc(e->d, count * sizeof(double), &memory, err));
    *out = memory;
    return LTH_OK;
}

void lth__device_drop(lth__device_eval *e, double *matrix) {
    if (matrix) e->t->release(e->d, matrix);
}

lth_status lth__device_sequences(lth__device_eval *e, size_t field, int side,
                                 const lth__device_strings **out, lth_error *err) {
    if (e->eval->rows == e->eval->cols) side = 0;
    lth__device_strings **kept = &e->fields[field].strings[side];
    const lth_items *items = side == 0 ? e->eval->rows : e->eval->cols;
    const lth__sequences *s = &items->fields[field];
    if (!*kept) LTH_TRY(e->t->strings(e->d, s->symbols, s->start, s->count, kept, err));
    *out = *kept;
    return LTH_OK;
}

/* ---- Nodes that only the CPU can compute ---- */

enum { TILE = 64 }; /* rows and columns of a tile */

typedef struct host_job {
    const lth__node *node;
    const lth__eval *eval;
    const lth__panel *panel;
    uint32_t *row, *col; /* items of the panel            */
    double *K;           /* the panel, on the host        */
    const double *W;     /* pull: likewise                */
    double *partial;     /* pull: [row of tiles][parameter] */
} host_job;

/* One tile of the panel, copied out of it and back into it. */
static lth_status run_host_tile(const host_job *j, size_t tile_row, size_t left, double *buffer,
                                lth_error *err) {
    const lth__panel *p = j->panel;
    size_t top = tile_row * TILE, rows = p->rows - top < TILE ? p->rows - top : TILE;
    size_t cols = p->cols - left < TILE ? p->cols - left : TILE;
    lth__tile tile = {.row = j->row + top, .col = j->col + left, .rows = rows, .cols = cols};
    double *weights = buffer, *values = buffer + TILE * TILE;
    if (j->W) {
        for (size_t r = 0; r < rows; r++)
            memcpy(weights + r * cols, j->W + (top + r) * p->cols + left, cols * sizeof *weights);
        lth__sink sink = {.sum = j->partial + tile_row * j->eval->kernel->param_count,
                          .pairs = rows * cols};
        LTH_TRY(lth__node_pull(j->node, j->eval, &tile, weights, j->K ? values : NULL, &sink, err));
    } else {
        LTH_TRY(lth__node_tile(j->node, j->eval, &tile, values, err));
    }
    for (size_t r = 0; j->K && r < rows; r++)
        memcpy(j->K + (top + r) * p->cols + left, values + r * cols, cols * sizeof *values);
    return LTH_OK;
}

static lth_status run_host_tiles(void *user, size_t tile_row, unsigned worker, lth_error *err) {
    (void)worker;
    const host_job *j = user;
    double *buffer = lth__alloc(2 * TILE * TILE, sizeof *buffer);
    if (!buffer) return lth__fail_memory(err, 2 * TILE * TILE * sizeof *buffer);
    lth_status status = LTH_OK;
    for (size_t left = 0; left < j->panel->cols && status == LTH_OK; left += TILE)
        status = run_host_tile(j, tile_row, left, buffer, err);
    lth__free(buffer);
    return status;
}

static lth_status run_host_panel(host_job *j, lth_error *err) {
    size_t rows = j->panel->rows, cols = j->panel->cols;
    j->row = lth__alloc(rows + cols, sizeof *j->row);
    if (!j->row) return lth__fail_memory(err, (rows + cols) * sizeof *j->row);
    j->col = j->row + rows;
    for (size_t i = 0; i < rows; i++) j->row[i] = (uint32_t)(j->panel->first_row + i);
    for (size_t i = 0; i < cols; i++) j->col[i] = (uint32_t)(j->panel->first_col + i);
    lth_status status = lth__parallel_for(j->eval->ctx, "Gram matrix", (rows + TILE - 1) / TILE,
                                          NULL, run_host_tiles, j, err);
    lth__free(j->row);
    return status;
}

static lth_status tile_from_host(const lth__node *node, lth__device_eval *e,
                                 const lth__panel *panel, double *K, lth_error *err) {
    size_t count = panel->rows * panel->cols;
    host_job j = {.node = node, .eval = e->eval, .panel = panel};
    j.K = lth__alloc(count, sizeof *j.K);
    lth_status status = j.K ? run_host_panel(&j, err) : lth__fail_memory(err, count * sizeof *j.K);
    if (status == LTH_OK) status = e->t->upload(e->d, K, j.K, count * sizeof *K, err);
    lth__free(j.K);
    return status;
}

static lth_status pull_to_host(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                               const double *W, double *K, double *grad, lth_error *err) {
    size_t count = panel->rows * panel->cols, params = e->eval->kernel->param_count;
    size_t tile_rows = (panel->rows + TILE - 1) / TILE;
    double *weights = lth__alloc((K ? 2 : 1) * count, sizeof *weights);
    double *partial = lth__calloc(tile_rows * params, sizeof *partial);
    host_job j = {.node = node,
                  .eval = e->eval,
                  .panel = panel,
                  .W = weights,
                  .K = K && weights ? weights + count : NULL,
                  .partial = partial};
    lth_status status = weights && partial ? LTH_OK : lth__fail_memory(err, count * sizeof *W);
    if (status == LTH_OK) status = e->t->download(e->d, weights, W, count * sizeof *W, err);
    if (status == LTH_OK) status = run_host_panel(&j, err);
    for (size_t i = 0; i < tile_rows * params && status == LTH_OK; i++)
        grad[i % params] += partial[i];
    if (status == LTH_OK && K) status = e->t->upload(e->d, K, j.K, count * sizeof *K, err);
    lth__free(weights);
    lth__free(partial);
    return status;
}

bool lth__device_is_able(const lth__node *node, const lth__device_eval *e) {
    const lth__family *f = node->family;
    return f->device_tile && (!f->device_able || f->device_able(node, e->eval));
}

lth_status lth__device_tile(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                            double *K, lth_error *err) {
    if (lth__device_is_able(node, e)) return node->family->device_tile(node, e, panel, K, err);
    return tile_from_host(node, e, panel, K, err);
}

lth_status lth__device_pull(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                            double *W, double *K, double *grad, lth_error *err) {
    if (lth__device_is_able(node, e))
        return node->family->device_pull(node, e, panel, W, K, grad, err);
    return pull_to_host(node, e, panel, W, K, grad, err);
}
