/* Whole matrices on devices, in panels of rows. The handles of a context take panels from one
 * queue, each in a thread of its own: while the results of one are carried to the host another
 * computes, and several GPUs share the work. */
#include <string.h>

#include "base/parallel.h"
#include "kernel/device/device_eval.h"

/* Work of a panel: a few seconds on a large GPU, so that the caller can be asked whether to go on;
 * and from what work on several GPUs are worth while, and also the way to the host and back. */
static const double panel_work = 1e13, shared_work = 1e11, carried_work = 1e12;
enum { PANELS_TO_A_GPU = 4 }; /* where there are several, at least: so that all end together */

typedef struct sharing {
    lth__device_eval *first;
    size_t rows, count; /* of a panel; panels */
    lth_status (*run)(struct sharing *s, lth__device_eval *e, const lth__panel *p, size_t index,
                      lth_error *err);
    /* Values: planes of them, computed by `compute`. */
    lth_status (*compute)(lth__device_eval *e, const lth__panel *p, double *K, lth_error *err);
    size_t planes;
    double *K;
    /* Pull-backs: sums of every panel, so that they can be added in order. */
    const double *W;
    double *sums;
    size_t ld;
} sharing;

static lth__panel panel_at(const lth__eval *eval, size_t first, size_t rows) {
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

/* ---- How large, and for how many ---- */

/* Handles that can be used side by side: all of them, unless the CPU's threads must help. */
static size_t count_handles(const lth__device_eval *e) {
    const lth_kernel *kernel = e->eval->kernel;
    for (size_t i = 0; i < kernel->node_count; i++)
        if (!lth__device_is_able(kernel->nodes[i], e)) return 1;
    return e->eval->ctx->gpu->gpus * LTH__DEVICE_HANDLES;
}

/* Rows that fit into the memory that is free on every GPU, where `sharers` handles need it. */
static size_t rows_that_fit(const lth__device_eval *e, size_t matrices, size_t sharers) {
    size_t least = e->eval->rows->count, limit = e->eval->ctx->options.device_memory;
    for (size_t i = 0; i < e->eval->ctx->gpu->gpus; i++, e = e->next) {
        size_t bytes = 0, total = 0;
        char name[8];
        e->t->describe(e->d, name, sizeof name, &bytes, &total);
        if (limit > 0 && limit < bytes) bytes = limit;
        size_t rows = bytes / 10 * 9 / sharers / (matrices * e->eval->cols->count * sizeof(double));
        if (rows < least) least = rows;
    }
    return least > 0 ? least : 1;
}

/* Rows of a panel, where an expression needs so many matrices at once. */
static size_t rows_of_panels(const lth__device_eval *e, size_t matrices, size_t handles) {
    size_t n = e->eval->rows->count, gpus = handles > 1 ? e->eval->ctx->gpu->gpus : 1;
    double work = lth__device_work(e->eval), panels = work / panel_work;
    double shares = gpus > 1 && work > shared_work ? (double)(gpus * PANELS_TO_A_GPU) : 1;
    if (panels < shares) panels = shares;
    size_t most = panels > 1 ? (size_t)((double)n / panels) + 1 : n;
    if (most >= n && rows_that_fit(e, matrices, 1) >= n) return n;
    size_t fit = rows_that_fit(e, matrices, handles > 1 ? LTH__DEVICE_HANDLES : 1);
    return most < fit ? most : fit;
}

static size_t matrices_needed(const lth__device_eval *e) {
    return 1 + 2 * e->eval->kernel->node_count; /* the panel, and inputs of every node */
}

/* ---- Sharing ---- */

static lth_status run_panel(void *user, size_t index, unsigned worker, lth_error *err) {
    sharing *s = user;
    lth__device_eval *e = s->first;
    for (unsigned i = 0; i < worker; i++) e = e->next;
    lth__panel p = panel_at(e->eval, index * s->rows, s->rows);
    LTH_TRY(lth__parallel_ask(e->eval->ctx));
    return s->run(s, e, &p, index, err);
}

static lth_status share(sharing *s, size_t handles, lth_error *err) {
    const lth__eval *eval = s->first->eval;
    double *cost = lth__alloc(s->count, sizeof *cost);
    if (!cost) return lth__fail_memory(err, s->count * sizeof *cost);
    for (size_t i = 0; i < s->count; i++) {
        lth__panel p = panel_at(eval, i * s->rows, s->rows);
        cost[i] = (double)p.rows * (double)p.cols;
    }
    lth_status status =
        lth__parallel_by(eval->ctx, handles, "Gram matrix", s->count, cost, run_panel, s, err);
    lth__free(cost);
    return status;
}

static void choose_panels(sharing *s, size_t matrices, size_t handles) {
    size_t n = s->first->eval->rows->count;
    s->rows = rows_of_panels(s->first, matrices, handles);
    s->count = (n + s->rows - 1) / s->rows;
}

/* ---- Values ---- */

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
enum { MIRROR = 64 }; /* rows to a job, columns to a square that stays in the cache */

typedef struct mirror_job {
    double *K;
    size_t ld, n, rows; /* rows: of a panel */
} mirror_job;

static lth_status mirror_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
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

static lth_status mirror_panels(const lth__eval *eval, double *K, size_t ld, size_t rows,
                                lth_error *err) {
    mirror_job m = {.K = K, .ld = ld, .n = eval->rows->count, .rows = rows};
    if (rows >= m.n) return LTH_OK;
    return lth__parallel_for(eval->ctx, NULL, (m.n + MIRROR - 1) / MIRROR, NULL, mirror_rows, &m,
                             err);
}

static lth_status run_values(sharing *s, lth__device_eval *e, const lth__panel *p, size_t index,
                             lth_error *err) {
    (void)index;
    size_t n = e->eval->rows->count, cells = p->rows * p->cols;
    double *on_device;
    LTH_TRY(lth__device_matrix(e, s->planes * cells, &on_device, err));
    lth_status status = s->compute(e, p, on_device, err);
    for (size_t k = 0; k < s->planes && status == LTH_OK; k++) {
        double *to = s->K + (k * n + p->first_row) * s->ld + p->first_col;
        status = e->t->download_panel(e->d, to, s->ld, on_device + k * cells, p->cols, p->rows,
                                      p->cols, err);
    }
    lth__device_drop(e, on_device);
    return status;
}

static lth_status values(sharing *s, lth_error *err) {
    const lth__eval *eval = s->first->eval;
    size_t handles = count_handles(s->first);
    s->run = run_values;
    choose_panels(s, matrices_needed(s->first) + s->planes, handles);
    LTH_TRY(share(s, handles, err));
    if (eval->rows != eval->cols) return LTH_OK;
    for (size_t k = 0; k < s->planes; k++)
        LTH_TRY(mirror_panels(eval, s->K + k * eval->rows->count * s->ld, s->ld, s->rows, err));
    return LTH_OK;
}

static lth_status root_values(lth__device_eval *e, const lth__panel *panel, double *K,
                              lth_error *err) {
    LTH_TRY(lth__device_tile(e->eval->kernel->root, e, panel, K, err));
    return check_finite(e, panel, K, err);
}

lth_status lth__device_gram(lth__device_eval *e, double *K, size_t ld, lth_error *err) {
    sharing s = {.first = e, .compute = root_values, .planes = 1, .K = K, .ld = ld};
    return values(&s, err);
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
    sharing s = {.first = e,
                 .compute = root_orders,
                 .planes = lth_kernel_orders(e->eval->kernel),
                 .K = K,
                 .ld = e->eval->cols->count};
    return values(&s, err);
}

/* ---- Pull-backs ---- */

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

static lth_status upload_weights(const sharing *s, lth__device_eval *e, const lth__panel *p,
                                 double *on_device, lth_error *err) {
    double *row = lth__alloc(p->cols, sizeof *row);
    if (!row) return lth__fail_memory(err, p->cols * sizeof *row);
    lth_status status = LTH_OK;
    for (size_t r = 0; r < p->rows && status == LTH_OK; r++) {
        gather_weights(p, s->W, s->ld, r, row);
        status = e->t->upload(e->d, on_device + r * p->cols, row, p->cols * sizeof *row, err);
    }
    lth__free(row);
    return status;
}

static lth_status run_pull(sharing *s, lth__device_eval *e, const lth__panel *p, size_t index,
                           lth_error *err) {
    double *on_device, *sums = s->sums + index * e->eval->kernel->param_count;
    LTH_TRY(lth__device_matrix(e, p->rows * p->cols, &on_device, err));
    lth_status status = upload_weights(s, e, p, on_device, err);
    if (status == LTH_OK)
        status = lth__device_pull(e->eval->kernel->root, e, p, on_device, NULL, sums, err);
    lth__device_drop(e, on_device);
    return status;
}

lth_status lth__device_gram_pull(lth__device_eval *e, const double *W, size_t ld, double *grad,
                                 lth_error *err) {
    size_t handles = count_handles(e), params = e->eval->kernel->param_count;
    sharing s = {.first = e, .run = run_pull, .W = W, .ld = ld};
    choose_panels(&s, matrices_needed(e), handles);
    s.sums = lth__calloc(s.count * params, sizeof *s.sums);
    if (!s.sums) return lth__fail_memory(err, s.count * params * sizeof *s.sums);
    lth_status status = share(&s, handles, err);
    memset(grad, 0, params * sizeof *grad);
    for (size_t i = 0; i < s.count * params && status == LTH_OK; i++) grad[i % params] += s.sums[i];
    lth__free(s.sums);
    return status;
}

/* ---- A square that stays on the device ---- */

/* Panels go by way of the host: where the whole does not fit at once, where it takes so long that
 * the caller wants to be asked, and where other GPUs can help. */
static bool goes_in_panels(const lth__device_eval *e) {
    size_t n = e->eval->rows->count, gpus = count_handles(e) > 1 ? e->eval->ctx->gpu->gpus : 1;
    double work = lth__device_work(e->eval);
    return work > panel_work || (gpus > 1 && work > carried_work) ||
           rows_that_fit(e, matrices_needed(e), 1) < n;
}

static lth_status square_by_host(lth__device_eval *e, double *K, lth_error *err) {
    size_t n = e->eval->rows->count;
    double *here = lth__alloc(n * n, sizeof *here);
    if (!here) return lth__fail_memory(err, n * n * sizeof *here);
    lth_status status = lth__device_gram(e, here, n, err);
    if (status == LTH_OK) status = e->t->upload(e->d, K, here, n * n * sizeof *here, err);
    lth__free(here);
    return status;
}

static lth_status pull_by_host(lth__device_eval *e, const double *W, double *grad, lth_error *err) {
    size_t n = e->eval->rows->count;
    double *here = lth__alloc(n * n, sizeof *here);
    if (!here) return lth__fail_memory(err, n * n * sizeof *here);
    lth_status status = e->t->download(e->d, here, W, n * n * sizeof *here, err);
    if (status == LTH_OK) status = lth__device_gram_pull(e, here, n, grad, err);
    lth__free(here);
    return status;
}

lth_status lth__device_square(lth__device_eval *e, double *K, lth_error *err) {
    if (goes_in_panels(e)) return square_by_host(e, K, err);
    lth__panel all = panel_at(e->eval, 0, e->eval->rows->count);
    return root_values(e, &all, K, err);
}

lth_status lth__device_square_pull(lth__device_eval *e, double *W, double *grad, lth_error *err) {
    if (goes_in_panels(e)) return pull_by_host(e, W, grad, err);
    lth__panel all = panel_at(e->eval, 0, e->eval->rows->count);
    memset(grad, 0, e->eval->kernel->param_count * sizeof *grad);
    return lth__device_pull(e->eval->kernel->root, e, &all, W, NULL, grad, err);
}
