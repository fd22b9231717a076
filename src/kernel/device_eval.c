#include "kernel/device_eval.h"

#include <string.h>

#include "base/parallel.h"
#include "kernel/gram.h"

/* ---- What is kept on the device ---- */

static void free_part(lth__device_eval *e, lth__device_part *part) {
    for (int i = 0; i < 2; i++)
        if (part->strings[i]) e->t->strings_free(e->d, part->strings[i]);
    for (int i = 0; i < 3; i++)
        if (part->table[i]) e->t->release(e->d, part->table[i]);
    if (part->trees) e->t->trees_free(e->d, part->trees);
}

void lth__device_eval_free(lth__device_eval *e) {
    if (!e) return;
    for (size_t i = 0; e->fields && i < e->field_count; i++) free_part(e, &e->fields[i]);
    for (size_t i = 0; e->nodes && i < e->node_count; i++) free_part(e, &e->nodes[i]);
    lth__free(e->fields);
    lth__free(e->nodes);
    lth__free(e);
}

static double work_of(const lth__eval *eval) {
    const lth_items *cols = eval->cols == eval->rows ? NULL : eval->cols;
    return lth_gram_cell_orders(eval->kernel, eval->rows, cols);
}

lth_status lth__device_eval_create(const lth__eval *eval, lth__device_eval **out, lth_error *err) {
    *out = NULL;
    const lth__gpu *gpu = eval->ctx->gpu;
    double pairs = (double)eval->rows->count * (double)eval->cols->count;
    if (!gpu || !gpu->device || pairs == 0) return LTH_OK;
    if (!lth__device_pays(gpu, work_of(eval), pairs)) return LTH_OK;
    lth__device_eval *e = lth__calloc(1, sizeof *e);
    if (!e) return lth__fail_memory(err, sizeof *e);
    *e = (lth__device_eval){.t = gpu->table,
                            .d = gpu->device,
                            .eval = eval,
                            .field_count = eval->kernel->field_count,
                            .node_count = eval->kernel->node_count};
    e->fields = lth__calloc(e->field_count, sizeof *e->fields);
    e->nodes = lth__calloc(e->node_count, sizeof *e->nodes);
    if (!e->fields || !e->nodes) {
        lth__device_eval_free(e);
        return lth__fail_memory(err, 0);
    }
    *out = e;
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

enum { STRIP = 64 }; /* rows and columns of a tile */

typedef struct host_job {
    const lth__node *node;
    const lth__eval *eval;
    const lth__panel *panel;
    uint32_t *row, *col; /* items of the panel            */
    double *K;           /* the panel, on the host        */
    const double *W;     /* pull: likewise                */
    double *partial;     /* pull: [strip of rows][parameter] */
} host_job;

/* One tile of the panel, copied out of it and back into it. */
static lth_status host_block(const host_job *j, size_t strip, size_t left, double *buffer) {
    const lth__panel *p = j->panel;
    size_t top = strip * STRIP, rows = p->rows - top < STRIP ? p->rows - top : STRIP;
    size_t cols = p->cols - left < STRIP ? p->cols - left : STRIP;
    lth__tile tile = {.row = j->row + top, .col = j->col + left, .rows = rows, .cols = cols};
    double *weights = buffer, *values = buffer + STRIP * STRIP;
    if (j->W) {
        for (size_t r = 0; r < rows; r++)
            memcpy(weights + r * cols, j->W + (top + r) * p->cols + left, cols * sizeof *weights);
        lth__sink sink = {.sum = j->partial + strip * j->eval->kernel->param_count,
                          .pairs = rows * cols};
        LTH_TRY(
            lth__node_pull(j->node, j->eval, &tile, weights, j->K ? values : NULL, &sink, NULL));
    } else {
        LTH_TRY(lth__node_tile(j->node, j->eval, &tile, values, NULL));
    }
    for (size_t r = 0; j->K && r < rows; r++)
        memcpy(j->K + (top + r) * p->cols + left, values + r * cols, cols * sizeof *values);
    return LTH_OK;
}

static lth_status host_strip(void *user, size_t strip, unsigned worker) {
    (void)worker;
    const host_job *j = user;
    double *buffer = lth__alloc(2 * STRIP * STRIP, sizeof *buffer);
    if (!buffer) return LTH_ENOMEM;
    lth_status status = LTH_OK;
    for (size_t left = 0; left < j->panel->cols && status == LTH_OK; left += STRIP)
        status = host_block(j, strip, left, buffer);
    lth__free(buffer);
    return status;
}

static lth_status host_run(host_job *j, lth_error *err) {
    size_t rows = j->panel->rows, cols = j->panel->cols;
    j->row = lth__alloc(rows + cols, sizeof *j->row);
    if (!j->row) return lth__fail_memory(err, (rows + cols) * sizeof *j->row);
    j->col = j->row + rows;
    for (size_t i = 0; i < rows; i++) j->row[i] = (uint32_t)(j->panel->first_row + i);
    for (size_t i = 0; i < cols; i++) j->col[i] = (uint32_t)(j->panel->first_col + i);
    lth_status status = lth__parallel_for(j->eval->ctx, "Gram matrix", (rows + STRIP - 1) / STRIP,
                                          NULL, host_strip, j, err);
    lth__free(j->row);
    return status;
}

static lth_status tile_from_host(const lth__node *node, lth__device_eval *e,
                                 const lth__panel *panel, double *K, lth_error *err) {
    size_t count = panel->rows * panel->cols;
    host_job j = {.node = node, .eval = e->eval, .panel = panel};
    j.K = lth__alloc(count, sizeof *j.K);
    lth_status status = j.K ? host_run(&j, err) : lth__fail_memory(err, count * sizeof *j.K);
    if (status == LTH_OK) status = e->t->upload(e->d, K, j.K, count * sizeof *K, err);
    lth__free(j.K);
    return status;
}

static lth_status pull_to_host(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                               const double *W, double *K, double *grad, lth_error *err) {
    size_t count = panel->rows * panel->cols, params = e->eval->kernel->param_count;
    size_t strips = (panel->rows + STRIP - 1) / STRIP;
    double *weights = lth__alloc((K ? 2 : 1) * count, sizeof *weights);
    double *partial = lth__calloc(strips * params, sizeof *partial);
    host_job j = {.node = node,
                  .eval = e->eval,
                  .panel = panel,
                  .W = weights,
                  .K = K && weights ? weights + count : NULL,
                  .partial = partial};
    lth_status status = weights && partial ? LTH_OK : lth__fail_memory(err, count * sizeof *W);
    if (status == LTH_OK) status = e->t->download(e->d, weights, W, count * sizeof *W, err);
    if (status == LTH_OK) status = host_run(&j, err);
    for (size_t i = 0; i < strips * params && status == LTH_OK; i++) grad[i % params] += partial[i];
    if (status == LTH_OK && K) status = e->t->upload(e->d, K, j.K, count * sizeof *K, err);
    lth__free(weights);
    lth__free(partial);
    return status;
}

static bool is_able(const lth__node *node, const lth__device_eval *e) {
    const lth__family *f = node->family;
    return f->device_tile && (!f->device_able || f->device_able(node, e->eval));
}

lth_status lth__device_tile(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                            double *K, lth_error *err) {
    if (is_able(node, e)) return node->family->device_tile(node, e, panel, K, err);
    return tile_from_host(node, e, panel, K, err);
}

lth_status lth__device_pull(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                            double *W, double *K, double *grad, lth_error *err) {
    if (is_able(node, e)) return node->family->device_pull(node, e, panel, W, K, grad, err);
    return pull_to_host(node, e, panel, W, K, grad, err);
}

/* ---- Whole matrices ---- */

/* Work of a panel: a few seconds on a large GPU, so that the caller can be asked whether to go on.
 */
static const double panel_work = 2e13;

/* Rows of a panel: what fits into the memory that is free, with as many matrices as the expression
 * needs at once, and does not take too long. */
static size_t panel_rows(lth__device_eval *e, size_t matrices) {
    const lth__eval *eval = e->eval;
    size_t free_bytes = 0, total = 0, rows = eval->rows->count, cols = eval->cols->count;
    char name[8];
    e->t->describe(e->d, name, sizeof name, &free_bytes, &total);
    size_t limit = eval->ctx->options.device_memory;
    if (limit > 0 && limit < free_bytes) free_bytes = limit;
    size_t most = free_bytes / 10 * 9 / (matrices * cols * sizeof(double));
    double work = work_of(eval);
    double share = work > panel_work ? panel_work / work : 1;
    size_t quick = (size_t)((double)rows * share) + 1;
    if (quick < most) most = quick;
    return most >= rows ? rows : most > 0 ? most : 1;
}

/* Between panels: how far it is, or only whether to go on where somebody else tells that. */
static lth_status tell(const lth__device_eval *e, size_t done, lth_error *err) {
    const lth_ctx *ctx = e->eval->ctx;
    lth_status status;
    if (!ctx->options.progress || ctx->quiet || ctx->loop) {
        status = lth__parallel_ask(ctx);
    } else {
        double rows = (double)e->eval->rows->count, part = (double)done;
        if (e->eval->rows == e->eval->cols)
            part = part * (2 - part / rows); /* panels get narrower */
        bool stop = ctx->options.progress(ctx->options.user, "Gram matrix", part, rows);
        status = stop ? LTH_ECANCELED : LTH_OK;
    }
    return status == LTH_OK ? LTH_OK : lth__fail(err, status, "%s", lth_status_text(status));
}

static size_t matrices_needed(const lth__device_eval *e) {
    return 2 + 2 * e->eval->kernel->node_count; /* two panels on their way, inputs of every node */
}

static lth__panel panel_at(const lth__device_eval *e, size_t first, size_t rows) {
    const lth__eval *eval = e->eval;
    bool symmetric = eval->rows == eval->cols;
    size_t last = first + rows < eval->rows->count ? first + rows : eval->rows->count;
    size_t left = symmetric ? first : 0;
    return (lth__panel){.first_row = first,
                        .rows = last - first,
                        .first_col = left,
                        .cols = eval->cols->count - left,
                        .same = symmetric,
                        .symmetric = symmetric};
}

static lth_status check_finite(lth__device_eval *e, const lth__panel *p, const double *K,
                               lth_error *err) {
    size_t count = p->rows * p->cols, first;
    LTH_TRY(e->t->find_infinite(e->d, K, count, &first, err));
    if (first == count) return LTH_OK;
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel of rows %zu and %zu is too large for a number; use f64, "
                     "normalize(), a lower order or a smaller gap",
                     p->first_row + first / p->cols + 1, p->first_col + first % p->cols + 1);
}

/* What lies below the panels of a symmetric matrix is above them too. */
enum { MIRROR = 64 }; /* rows to a job, columns to a block that stays in the cache */

typedef struct mirror_job {
    double *K;
    size_t ld, n, rows; /* rows: of a panel */
} mirror_job;

static lth_status mirror_rows(void *user, size_t index, unsigned worker) {
    (void)worker;
    const mirror_job *m = user;
    size_t first = index * MIRROR, last = first + MIRROR < m->n ? first + MIRROR : m->n;
    for (size_t left = 0; left < last; left += MIRROR) {
        for (size_t i = first; i < last; i++) {
            size_t end = i / m->rows * m->rows; /* where its own panel begins */
            for (size_t j = left; j < left + MIRROR && j < end; j++)
                m->K[i * m->ld + j] = m->K[j * m->ld + i];
        }
    }
    return LTH_OK;
}

static lth_status mirror_panels(const lth__device_eval *e, double *K, size_t ld, size_t rows,
                                lth_error *err) {
    mirror_job m = {.K = K, .ld = ld, .n = e->eval->rows->count, .rows = rows};
    if (rows >= m.n) return LTH_OK;
    return lth__parallel_for(e->eval->ctx, NULL, (m.n + MIRROR - 1) / MIRROR, NULL, mirror_rows, &m,
                             err);
}

typedef lth_status panel_fn(lth__device_eval *e, const lth__panel *panel, double *K,
                            lth_error *err);

static lth_status root_values(lth__device_eval *e, const lth__panel *panel, double *K,
                              lth_error *err) {
    LTH_TRY(lth__device_tile(e->eval->kernel->root, e, panel, K, err));
    return check_finite(e, panel, K, err);
}

/* Panels one after the other; while one is carried to the host, the next is computed. */
static lth_status each_panel(lth__device_eval *e, size_t planes, panel_fn *compute, double *K,
                             size_t ld, lth_error *err) {
    size_t n = e->eval->rows->count, m = e->eval->cols->count;
    size_t rows = panel_rows(e, matrices_needed(e) + 2 * planes);
    double *buffer[2] = {NULL, NULL};
    lth_status status = LTH_OK;
    for (size_t first = 0, turn = 0; first < n && status == LTH_OK; first += rows, turn++) {
        lth__panel p = panel_at(e, first, rows);
        double **to = &buffer[turn % 2];
        if (!*to) status = lth__device_matrix(e, planes * rows * m, to, err);
        if (status == LTH_OK) status = compute(e, &p, *to, err);
        for (size_t k = 0; k < planes && status == LTH_OK; k++) {
            status = e->t->download_panel(e->d, K + (k * n + p.first_row) * ld + p.first_col, ld,
                                          *to + k * p.rows * p.cols, p.cols, p.rows, p.cols, err);
        }
        if (status == LTH_OK && p.rows < n) status = tell(e, p.first_row + p.rows, err);
    }
    if (status == LTH_OK) status = e->t->finish(e->d, err);
    lth__device_drop(e, buffer[0]);
    lth__device_drop(e, buffer[1]);
    if (status != LTH_OK || e->eval->rows != e->eval->cols) return status;
    for (size_t k = 0; k < planes && status == LTH_OK; k++)
        status = mirror_panels(e, K + k * n * ld, ld, rows, err);
    return status;
}

lth_status lth__device_gram(lth__device_eval *e, double *K, size_t ld, lth_error *err) {
    return each_panel(e, 1, root_values, K, ld, err);
}

static lth_status root_orders(lth__device_eval *e, const lth__panel *panel, double *K,
                              lth_error *err) {
    const lth__node *root = e->eval->kernel->root;
    LTH_TRY(root->family->device_orders(root, e, panel, K, err));
    for (size_t k = 0; k < lth_kernel_orders(e->eval->kernel); k++)
        LTH_TRY(check_finite(e, panel, K + k * panel->rows * panel->cols, err));
    return LTH_OK;
}

lth_status lth__device_gram_orders(lth__device_eval *e, double *K, lth_error *err) {
    size_t orders = lth_kernel_orders(e->eval->kernel);
    return each_panel(e, orders, root_orders, K, e->eval->cols->count, err);
}

/* Weights of a row of the panel. Of a symmetric matrix both sides have their mean, and pairs to the
 * right of the panel's own items, which come once, their sum. */
static void gather_weights(const lth__panel *p, const double *W, size_t ld, size_t r, double *out) {
    size_t row = p->first_row + r;
    for (size_t c = 0; c < p->cols; c++) {
        size_t col = p->first_col + c;
        out[c] = W[row * ld + col];
        if (p->symmetric) out[c] = (out[c] + W[col * ld + row]) * (c < p->rows ? 0.5 : 1);
    }
}

lth_status lth__device_gram_pull(lth__device_eval *e, const double *W, size_t ld, double *grad,
                                 lth_error *err) {
    size_t n = e->eval->rows->count, m = e->eval->cols->count;
    size_t rows = panel_rows(e, matrices_needed(e));
    double *there = NULL, *row = lth__alloc(m, sizeof *row);
    lth_status status = row ? LTH_OK : lth__fail_memory(err, m * sizeof *row);
    if (status == LTH_OK) status = lth__device_matrix(e, rows * m, &there, err);
    memset(grad, 0, e->eval->kernel->param_count * sizeof *grad);
    for (size_t first = 0; first < n && status == LTH_OK; first += rows) {
        lth__panel p = panel_at(e, first, rows);
        for (size_t r = 0; r < p.rows && status == LTH_OK; r++) {
            gather_weights(&p, W, ld, r, row);
            status = e->t->upload(e->d, there + r * p.cols, row, p.cols * sizeof *row, err);
        }
        if (status == LTH_OK)
            status = lth__device_pull(e->eval->kernel->root, e, &p, there, NULL, grad, err);
        if (status == LTH_OK && p.rows < n) status = tell(e, p.first_row + p.rows, err);
    }
    lth__device_drop(e, there);
    lth__free(row);
    return status;
}

lth_status lth__device_square(lth__device_eval *e, double *K, lth_error *err) {
    lth__panel all = panel_at(e, 0, e->eval->rows->count);
    return root_values(e, &all, K, err);
}

lth_status lth__device_square_pull(lth__device_eval *e, double *W, double *grad, lth_error *err) {
    lth__panel all = panel_at(e, 0, e->eval->rows->count);
    memset(grad, 0, e->eval->kernel->param_count * sizeof *grad);
    return lth__device_pull(e->eval->kernel->root, e, &all, W, NULL, grad, err);
}
