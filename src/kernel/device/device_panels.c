/* Whole matrices on devices, in panels of rows. The handles of a context take panels from one
 * queue, each in a thread of its own: while the results of one are carried to the host another
 * computes, and several GPUs share the work. */
#include <string.h>

#include "base/parallel.h"
#include "kernel/device/device_packed.h"

/* Work of a panel: a few seconds on a large GPU, so that the caller can be asked whether to go on;
 * and from what work on several GPUs are worth while, and also the way to the host and back. */
static const double panel_work = 1e13, shared_work = 1e11, carried_work = 1e12;
enum { PANELS_TO_A_GPU = 4 }; /* where there are several, at least: so that all end together */

typedef struct sharing {
    lth__device_eval *first;
    size_t rows, count; /* of a panel; panels */
    bool packed;        /* they are pieces of a packed matrix */
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

/* The panels of a packed matrix in pieces of so many rows: how many, and one of them. */
static size_t count_pieces(const lth__device_eval *e, size_t rows) {
    size_t n = e->eval->rows->count, height = e->t->panel_rows, panels = lth__device_panels(e, n);
    size_t last = n - (panels - 1) * height;
    return (panels - 1) * ((height + rows - 1) / rows) + (last + rows - 1) / rows;
}

/* `all`: the panel that it is a piece of. Like any panel of a symmetric matrix it has the columns
 * from its own rows on. */
static lth__panel piece_at(const lth__device_eval *e, size_t rows, size_t index,
                           lth__device_rows *all) {
    size_t n = e->eval->rows->count, each = (e->t->panel_rows + rows - 1) / rows;
    *all = lth__device_rows_of(e, n, index / each);
    size_t top = index % each * rows, left = all->count - top;
    return panel_at(e->eval, all->first + top, left < rows ? left : rows);
}

/* Where its first number is in the packed matrix, whose rows there are all->ld apart. */
static size_t offset_of(const lth__panel *p, const lth__device_rows *all) {
    return all->offset + (p->first_row - all->first) * (all->ld + 1);
}

static lth__panel panel_of(const sharing *s, size_t index) {
    lth__device_rows all;
    return s->packed ? piece_at(s->first, s->rows, index, &all)
                     : panel_at(s->first->eval, index * s->rows, s->rows);
}

/* ---- How large, and for how many ---- */

/* Handles that can be used side by side: all of them, unless the CPU's threads must help. */
static size_t count_handles(const lth__device_eval *e) {
    const lth_kernel *kernel = e->eval->kernel;
    for (size_t i = 0; i < kernel->node_count; i++) {
        const lth__node *node = kernel->nodes[i];
        if (lth__kernel_has(kernel, node) && !lth__device_is_able(node, e)) return 1;
    }
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
    lth__panel p = panel_of(s, index);
    LTH_TRY(lth__parallel_ask(e->eval->ctx));
    return s->run(s, e, &p, index, err);
}

static lth_status share(sharing *s, size_t handles, lth_error *err) {
    const lth__eval *eval = s->first->eval;
    double *cost = lth__alloc(s->count, sizeof *cost);
    if (!cost) return lth__fail_memory(err, s->count * sizeof *cost);
    for (size_t i = 0; i < s->count; i++) {
        lth__panel p = panel_of(s, i);
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

/* Fresh memory gets its pages when it is first written to, which takes one thread several times as
 * long as the way from the device. */
static lth_status touch_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    enum { PAGE = 4096 / sizeof(double) };
    const sharing *s = user;
    const lth__eval *eval = s->first->eval;
    size_t rows = s->planes * eval->rows->count, cols = eval->cols->count;
    for (size_t r = index * MIRROR; r < rows && r < (index + 1) * MIRROR; r++) {
        double *row = s->K + r * s->ld;
        for (size_t c = 0; c < cols; c += PAGE) row[c] = 0;
        row[cols - 1] = 0;
    }
    return LTH_OK;
}

static lth_status values(sharing *s, lth_error *err) {
    const lth__eval *eval = s->first->eval;
    size_t handles = count_handles(s->first);
    size_t jobs = (s->planes * eval->rows->count + MIRROR - 1) / MIRROR;
    LTH_TRY(lth__parallel_for(eval->ctx, NULL, jobs, NULL, touch_rows, s, err));
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

/* Weights of some rows of the panel. Of a symmetric matrix both sides have their mean, and pairs to
 * the right of the panel's own items, which come once, their sum. */
static void gather_square(const sharing *s, const lth__panel *p, size_t first, size_t end,
                          size_t left, double *out) {
    size_t right = left + MIRROR < p->cols ? left + MIRROR : p->cols;
    for (size_t r = first; r < end; r++, out += p->cols) {
        size_t row = p->first_row + r;
        for (size_t c = left; c < right; c++) {
            size_t col = p->first_col + c;
            out[c] = s->W[row * s->ld + col];
            if (p->symmetric) out[c] = (out[c] + s->W[col * s->ld + row]) * (c < p->rows ? 0.5 : 1);
        }
    }
}

static void gather_weights(const sharing *s, const lth__panel *p, size_t first, size_t end,
                           double *out) {
    for (size_t top = first; top < end; top += MIRROR) {
        size_t bottom = top + MIRROR < end ? top + MIRROR : end;
        for (size_t left = 0; left < p->cols; left += MIRROR)
            gather_square(s, p, top, bottom, left, out + (top - first) * p->cols);
    }
}

/* Many rows at a time: each way to the device takes as long as some thousand numbers. */
static lth_status upload_weights(const sharing *s, lth__device_eval *e, const lth__panel *p,
                                 double *on_device, lth_error *err) {
    enum { NUMBERS = 1 << 20 };
    size_t some = NUMBERS / p->cols / MIRROR * MIRROR + MIRROR;
    if (some > p->rows) some = p->rows;
    double *room = lth__alloc(some * p->cols, sizeof *room);
    if (!room) return lth__fail_memory(err, some * p->cols * sizeof *room);
    lth_status status = LTH_OK;
    for (size_t r = 0; r < p->rows && status == LTH_OK; r += some) {
        size_t end = r + some < p->rows ? r + some : p->rows;
        gather_weights(s, p, r, end, room);
        status = e->t->upload(e->d, on_device + r * p->cols, room,
                              (end - r) * p->cols * sizeof *room, err);
    }
    lth__free(room);
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

static lth_status share_pull(sharing *s, size_t handles, double *grad, lth_error *err) {
    size_t params = s->first->eval->kernel->param_count;
    s->sums = lth__calloc(s->count * params, sizeof *s->sums);
    if (!s->sums) return lth__fail_memory(err, s->count * params * sizeof *s->sums);
    lth_status status = share(s, handles, err);
    memset(grad, 0, params * sizeof *grad);
    for (size_t i = 0; i < s->count * params && status == LTH_OK; i++)
        grad[i % params] += s->sums[i];
    lth__free(s->sums);
    return status;
}

lth_status lth__device_gram_pull(lth__device_eval *e, const double *W, size_t ld, double *grad,
                                 lth_error *err) {
    size_t handles = count_handles(e);
    sharing s = {.first = e, .run = run_pull, .W = W, .ld = ld};
    choose_panels(&s, matrices_needed(e), handles);
    return share_pull(&s, handles, grad, err);
}

/* ---- A symmetric matrix that stays on the device, packed ---- */

/* A small one is computed as a whole, which is quicker than many panels, and then packed: up to so
 * many bytes, where it does not take so long that the caller wants to be asked. */
static const double whole_bytes = 1 << 30;

static bool is_whole(const lth__device_eval *e) {
    size_t n = e->eval->rows->count;
    return (double)n * (double)n * sizeof(double) <= whole_bytes &&
           lth__device_work(e->eval) <= panel_work &&
           rows_that_fit(e, 1 + matrices_needed(e), 1) >= n;
}

/* Where other GPUs can help, panels go by way of the host: if there is much to do, or if the whole
 * would not fit at once anyway. */
static bool is_shared(const lth__device_eval *e) {
    return count_handles(e) > 1 && e->eval->ctx->gpu->gpus > 1 &&
           (lth__device_work(e->eval) > carried_work ||
            rows_that_fit(e, matrices_needed(e), 1) < e->eval->rows->count);
}

static sharing cut_packed(lth__device_eval *e, size_t handles) {
    size_t rows = rows_of_panels(e, matrices_needed(e), handles);
    sharing s = {.first = e, .packed = true};
    s.rows = rows < e->t->panel_rows ? rows : e->t->panel_rows;
    s.count = count_pieces(e, s.rows);
    return s;
}

static lth_status alloc_packed(const lth__device_eval *e, double **out, size_t *bytes,
                               lth_error *err) {
    size_t count = lth__device_packed_count(e, e->eval->rows->count);
    *bytes = count * sizeof **out;
    *out = lth__alloc(count, sizeof **out);
    return *out ? LTH_OK : lth__fail_memory(err, *bytes);
}

static lth_status values_as_whole(lth__device_eval *e, double *K, lth_error *err) {
    size_t n = e->eval->rows->count;
    lth__panel all = panel_at(e->eval, 0, n);
    if (lth__device_panels(e, n) == 1) return root_values(e, &all, K, err);
    double *square;
    LTH_TRY(lth__device_matrix(e, n * n, &square, err));
    lth_status status = root_values(e, &all, square, err);
    for (size_t k = 0; k < lth__device_panels(e, n) && status == LTH_OK; k++) {
        lth__device_rows p = lth__device_rows_of(e, n, k);
        status = e->t->combine(e->d, p.count, p.ld, false, 1, square + p.first * (n + 1), n, 0,
                               K + p.offset, p.ld, err);
    }
    lth__device_drop(e, square);
    return status;
}

static lth_status run_packed_values(sharing *s, lth__device_eval *e, const lth__panel *p,
                                    size_t index, lth_error *err) {
    lth__device_rows all;
    double *on_device;
    piece_at(e, s->rows, index, &all);
    LTH_TRY(lth__device_matrix(e, p->rows * p->cols, &on_device, err));
    lth_status status = root_values(e, p, on_device, err);
    if (status == LTH_OK)
        status = e->t->download_panel(e->d, s->K + offset_of(p, &all), all.ld, on_device, p->cols,
                                      p->rows, p->cols, err);
    lth__device_drop(e, on_device);
    return status;
}

/* Blocks on the diagonal are whole: what is below a piece there is what is beside it. */
static lth_status mirror_pieces(const sharing *s, double *K, lth_error *err) {
    lth__device_eval *e = s->first;
    for (size_t i = 0; i < s->count; i++) {
        lth__device_rows all;
        lth__panel p = piece_at(e, s->rows, i, &all);
        size_t below = all.first + all.count - p.first_row - p.rows;
        double *corner = K + offset_of(&p, &all);
        if (below > 0)
            LTH_TRY(e->t->combine(e->d, below, p.rows, true, 1, corner + p.rows, all.ld, 0,
                                  corner + p.rows * all.ld, all.ld, err));
    }
    return LTH_OK;
}

static lth_status share_values(lth__device_eval *e, double *K, lth_error *err) {
    size_t handles = count_handles(e), bytes;
    sharing s = cut_packed(e, handles);
    s.run = run_packed_values;
    LTH_TRY(alloc_packed(e, &s.K, &bytes, err));
    lth_status status = share(&s, handles, err);
    if (status == LTH_OK) status = e->t->upload(e->d, K, s.K, bytes, err);
    if (status == LTH_OK) status = mirror_pieces(&s, K, err);
    lth__free(s.K);
    return status;
}

/* Where it lies, if it is a whole panel there. */
static lth_status piece_values(lth__device_eval *e, const lth__panel *p,
                               const lth__device_rows *all, double *K, lth_error *err) {
    double *place = K + offset_of(p, all), *piece;
    if (p->rows == all->count) return root_values(e, p, place, err);
    LTH_TRY(lth__device_matrix(e, p->rows * p->cols, &piece, err));
    lth_status status = root_values(e, p, piece, err);
    if (status == LTH_OK)
        status =
            e->t->combine(e->d, p->rows, p->cols, false, 1, piece, p->cols, 0, place, all->ld, err);
    lth__device_drop(e, piece);
    return status;
}

lth_status lth__device_packed_values(lth__device_eval *e, double *K, lth_error *err) {
    if (is_shared(e)) return share_values(e, K, err);
    if (is_whole(e)) return values_as_whole(e, K, err);
    sharing s = cut_packed(e, 1);
    for (size_t i = 0; i < s.count; i++) {
        lth__device_rows all;
        lth__panel p = piece_at(e, s.rows, i, &all);
        LTH_TRY(lth__parallel_ask(e->eval->ctx));
        LTH_TRY(piece_values(e, &p, &all, K, err));
    }
    return mirror_pieces(&s, K, err);
}

/* What is finite in double precision need not be in single. */
static lth_status narrow_values(lth__device_eval *e, const lth__panel *p, double *values, float *K,
                                lth_error *err) {
    size_t count = p->rows * p->cols, first;
    LTH_TRY(e->t->narrow(e->d, K, values, count, err));
    LTH_TRY(e->t->widen(e->d, values, K, count, err));
    LTH_TRY(e->t->find_infinite(e->d, values, count, &first, err));
    if (first == count) return LTH_OK;
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel of rows %zu and %zu is too large for single precision",
                     p->first_row + first / p->cols + 1, p->first_col + first % p->cols + 1);
}

/* All that its rows have in the packed matrix, without gaps. */
static lth__panel whole_rows(lth__panel p, const lth__device_rows *all) {
    p.symmetric = p.rows == all->count;
    p.first_col = all->first;
    p.cols = all->ld;
    return p;
}

lth_status lth__device_packed_singles(lth__device_eval *e, float *K, lth_error *err) {
    sharing s = cut_packed(e, 1);
    double *values;
    LTH_TRY(lth__device_matrix(e, s.rows * e->eval->rows->count, &values, err));
    lth_status status = LTH_OK;
    for (size_t i = 0; i < s.count && status == LTH_OK; i++) {
        lth__device_rows all;
        lth__panel p = whole_rows(piece_at(e, s.rows, i, &all), &all);
        size_t offset = all.offset + (p.first_row - all.first) * all.ld;
        status = lth__parallel_ask(e->eval->ctx);
        if (status == LTH_OK) status = root_values(e, &p, values, err);
        if (status == LTH_OK) status = narrow_values(e, &p, values, K + offset, err);
    }
    lth__device_drop(e, values);
    return status;
}

/* Both sides of W, without gaps. */
static lth_status unpack_weights(lth__device_eval *e, const double *W, double *square,
                                 lth_error *err) {
    size_t n = e->eval->rows->count;
    for (size_t k = 0; k < lth__device_panels(e, n); k++) {
        lth__device_rows p = lth__device_rows_of(e, n, k);
        double *corner = square + p.first * (n + 1);
        size_t right = p.ld - p.count;
        LTH_TRY(
            e->t->combine(e->d, p.count, p.ld, false, 1, W + p.offset, p.ld, 0, corner, n, err));
        if (right > 0)
            LTH_TRY(e->t->combine(e->d, right, p.count, true, 1, W + p.offset + p.count, p.ld, 0,
                                  corner + p.count * n, n, err));
    }
    return LTH_OK;
}

static lth_status pull_as_whole(lth__device_eval *e, double *W, double *grad, lth_error *err) {
    size_t n = e->eval->rows->count;
    const lth__node *root = e->eval->kernel->root;
    lth__panel all = panel_at(e->eval, 0, n);
    memset(grad, 0, e->eval->kernel->param_count * sizeof *grad);
    if (lth__device_panels(e, n) == 1) return lth__device_pull(root, e, &all, W, NULL, grad, err);
    double *square;
    LTH_TRY(lth__device_matrix(e, n * n, &square, err));
    lth_status status = unpack_weights(e, W, square, err);
    if (status == LTH_OK) status = lth__device_pull(root, e, &all, square, NULL, grad, err);
    lth__device_drop(e, square);
    return status;
}

/* Pairs to the right of a panel's own items come once, and have the weights of both. */
static lth_status pull_weights(lth__device_eval *e, const lth__panel *p, double *W, double *grad,
                               lth_error *err) {
    double *right = W + p->rows;
    if (p->cols > p->rows)
        LTH_TRY(e->t->combine(e->d, p->rows, p->cols - p->rows, false, 2, right, p->cols, 0, right,
                              p->cols, err));
    return lth__device_pull(e->eval->kernel->root, e, p, W, NULL, grad, err);
}

static lth_status pull_piece(lth__device_eval *e, const lth__panel *p, const lth__device_rows *all,
                             double *W, double *grad, lth_error *err) {
    double *place = W + offset_of(p, all), *piece;
    if (p->rows == all->count) return pull_weights(e, p, place, grad, err);
    LTH_TRY(lth__device_matrix(e, p->rows * p->cols, &piece, err));
    lth_status status =
        e->t->combine(e->d, p->rows, p->cols, false, 1, place, all->ld, 0, piece, p->cols, err);
    if (status == LTH_OK) status = pull_weights(e, p, piece, grad, err);
    lth__device_drop(e, piece);
    return status;
}

static lth_status run_packed_pull(sharing *s, lth__device_eval *e, const lth__panel *p,
                                  size_t index, lth_error *err) {
    lth__device_rows all;
    double *on_device, *sums = s->sums + index * e->eval->kernel->param_count;
    piece_at(e, s->rows, index, &all);
    const double *W = s->W + offset_of(p, &all);
    LTH_TRY(lth__device_matrix(e, p->rows * p->cols, &on_device, err));
    lth_status status = LTH_OK;
    for (size_t r = 0; r < p->rows && status == LTH_OK; r++)
        status =
            e->t->upload(e->d, on_device + r * p->cols, W + r * all.ld, p->cols * sizeof *W, err);
    if (status == LTH_OK) status = pull_weights(e, p, on_device, sums, err);
    lth__device_drop(e, on_device);
    return status;
}

static lth_status share_packed_pull(lth__device_eval *e, const double *W, double *grad,
                                    lth_error *err) {
    size_t handles = count_handles(e), bytes;
    sharing s = cut_packed(e, handles);
    double *here;
    s.run = run_packed_pull;
    LTH_TRY(alloc_packed(e, &here, &bytes, err));
    s.W = here;
    lth_status status = e->t->download(e->d, here, W, bytes, err);
    if (status == LTH_OK) status = share_pull(&s, handles, grad, err);
    lth__free(here);
    return status;
}

lth_status lth__device_packed_pull(lth__device_eval *e, double *W, double *grad, lth_error *err) {
    if (is_shared(e)) return share_packed_pull(e, W, grad, err);
    if (is_whole(e)) return pull_as_whole(e, W, grad, err);
    sharing s = cut_packed(e, 1);
    memset(grad, 0, e->eval->kernel->param_count * sizeof *grad);
    for (size_t i = 0; i < s.count; i++) {
        lth__device_rows all;
        lth__panel p = piece_at(e, s.rows, i, &all);
        LTH_TRY(lth__parallel_ask(e->eval->ctx));
        LTH_TRY(pull_piece(e, &p, &all, W, grad, err));
    }
    return LTH_OK;
}
