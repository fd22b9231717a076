/* Diagonals, and matrices against columns that stay the same. */
#include <pthread.h>

#include "kernel/core/gram.h"
#include "kernel/core/work.h"

struct lth__prepared {
    const lth_kernel *kernel;
    const lth_items *cols;
    pthread_mutex_t lock; /* of what follows, until it is made */
    bool made;
    lth__eval eval;
    lth__side side[2]; /* as they are, and by size */
};

static lth_status fill_diagonal(const lth__eval *eval, double *diag, lth_error *err) {
    const lth__node *root = eval->kernel->root;
    LTH_TRY(lth__node_diagonal(root, eval, eval->rows, diag, NULL, err));
    for (size_t i = 0; i < eval->rows->count; i++) {
        uint32_t item = (uint32_t)i;
        lth__tile self = {.row = &item, .col = &item, .rows = 1, .cols = 1};
        LTH_TRY(lth__tile_check(&self, &diag[i], err));
    }
    return LTH_OK;
}

/* For what only the diagonal needs; to be released also when this fails. */
static lth_status prepare_diagonal(const lth_kernel *kernel, const lth_items *items, bool keeps,
                                   lth_ctx *ctx, lth__eval *eval, lth_error *err) {
    *eval = (lth__eval){.ctx = ctx,
                        .kernel = kernel,
                        .rows = items,
                        .cols = items,
                        .only_diagonal = true,
                        .quiet = items->quiet,
                        .keeps = keeps};
    return lth__eval_prepare(eval, err);
}

lth_status lth_gram_diagonal(const lth_kernel *kernel, const lth_items *rows, double *diag,
                             lth_error *err) {
    LTH_TRY(lth__items_check(kernel, rows, NULL, err));
    lth__eval eval;
    lth_status status = prepare_diagonal(kernel, rows, false, lth__items_ctx(rows), &eval, err);
    if (status == LTH_OK) status = fill_diagonal(&eval, diag, err);
    lth__eval_release(&eval);
    return status;
}

/* ---- Many matrices with the same columns ---- */

lth_status lth__prepared_create(const lth_kernel *kernel, const lth_items *cols,
                                lth__prepared **out, lth_error *err) {
    LTH_TRY(lth__items_check(kernel, cols, NULL, err));
    lth__prepared *p = lth__calloc(1, sizeof *p);
    if (!p) return lth__fail_memory(err, sizeof *p);
    p->kernel = kernel;
    p->cols = cols;
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return LTH_OK;
}

static void forget(lth__prepared *p) {
    lth__eval_release(&p->eval);
    lth__side_free(&p->side[0]);
    lth__side_free(&p->side[1]);
}

void lth__prepared_free(lth__prepared *p) {
    if (!p) return;
    if (p->made) forget(p);
    pthread_mutex_destroy(&p->lock);
    lth__free(p);
}

static lth_status make(lth__prepared *p, lth_ctx *ctx, lth_error *err) {
    lth_status status = prepare_diagonal(p->kernel, p->cols, true, ctx, &p->eval, err);
    for (int by_size = 0; by_size < 2 && status == LTH_OK; by_size++)
        status = lth__side_make(p->cols, by_size, &p->side[by_size], err);
    p->eval.ctx = NULL; /* it ends with the call */
    p->made = status == LTH_OK;
    if (!p->made) forget(p);
    return status;
}

lth_status lth__prepared_need(lth__prepared *p, lth_ctx *ctx, const lth__eval **out,
                              lth_error *err) {
    pthread_mutex_lock(&p->lock);
    lth_status status = p->made ? LTH_OK : make(p, ctx, err);
    pthread_mutex_unlock(&p->lock);
    if (status == LTH_OK) *out = &p->eval;
    return status;
}

lth_status lth__gram_against(lth__prepared *p, const lth_items *rows, double *K, size_t ld,
                             double *self, lth_error *err) {
    lth__work w = {.K = K, .ld = ld, .order = p->side};
    LTH_TRY(lth__prepared_need(p, lth__items_ctx(rows), &w.kept, err));
    lth_status status = lth__work_open(&w, p->kernel, rows, p->cols, false, err);
    if (status == LTH_OK) status = lth__work_matrix(&w, err);
    bool device = w.eval.device != NULL;
    if (status == LTH_OK && self && !device) status = fill_diagonal(&w.eval, self, err);
    lth__work_close(&w);
    if (status == LTH_OK && self && device) status = lth_gram_diagonal(p->kernel, rows, self, err);
    return status;
}
