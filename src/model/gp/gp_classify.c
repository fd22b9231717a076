/* Probabilities of classes, a block of rows at a time. For each problem
 *
 *     mean of f = K* a      variance = k** - |L^-1 W^1/2 k*|^2
 *
 * and P(y = 1) is the mean of the likelihood over f.
 */
#include <string.h>

#include "base/parallel.h"
#include "model/gp/gp_classes.h"

enum { BLOCK = 512, PIECE = 32 };

typedef struct block {
    const lth_gp *gp;
    const lth__blas *blas;
    size_t rows;
    double *K, *self; /* rows x training rows; k(x,x)           */
    double *V;        /* as K: what is known of the rows        */
    double *p;        /* [row][problem]: P(y = 1)               */
} block;

/* One problem for rows first .. first+rows-1. */
static void explain(const block *b, size_t problem, size_t first, size_t rows) {
    const lth__classes *c = b->gp->classes;
    size_t n = c->rows;
    const double *K = b->K + first * n, *a = c->a + problem * n, *root_w = c->root_w + problem * n;
    double *V = b->V + first * n;
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < n; i++) V[r * n + i] = root_w[i] * K[r * n + i];
    }
    b->blas->solve_right(rows, n, c->L + problem * n * n, n, V, n);
    for (size_t r = 0; r < rows; r++) {
        double mean = 0, explained = 0;
        for (size_t i = 0; i < n; i++) {
            mean += K[r * n + i] * a[i];
            explained += V[r * n + i] * V[r * n + i];
        }
        b->p[(first + r) * c->problem_count + problem] =
            lth__laplace_probability(c->link, mean, b->self[first + r] - explained);
    }
}

static lth_status explain_rows(void *user, size_t index, unsigned worker) {
    (void)worker;
    const block *b = user;
    size_t first = index * PIECE, rows = b->rows - first < PIECE ? b->rows - first : PIECE;
    for (size_t p = 0; p < b->gp->classes->problem_count; p++) explain(b, p, first, rows);
    return LTH_OK;
}

/* From the problems of a row to its classes. */
static void spread(const lth__classes *c, const double *p, double *out) {
    if (c->problem_count < c->class_count) {
        out[0] = 1 - p[0];
        out[1] = p[0];
        return;
    }
    double sum = 0;
    for (size_t i = 0; i < c->class_count; i++) sum += p[i];
    for (size_t i = 0; i < c->class_count; i++) {
        if (c->multi)
            out[i] = p[i];
        else
            out[i] = sum > 0 ? p[i] / sum : 1 / (double)c->class_count;
    }
}

static lth_status classify_block(block *b, const lth_items *items, double *out, lth_error *err) {
    const lth_gp *gp = b->gp;
    const lth__classes *c = gp->classes;
    LTH_TRY(lth__gram_against(gp->prepared, items, b->K, c->rows, b->self, err));
    lth__gp_classes_latent(gp, b->K, b->rows * c->rows);
    lth__gp_classes_latent(gp, b->self, b->rows);
    size_t pieces = (b->rows + PIECE - 1) / PIECE;
    LTH_TRY(lth__parallel_for(lth__items_ctx(items), NULL, pieces, NULL, explain_rows, b, err));
    for (size_t r = 0; r < b->rows; r++)
        spread(c, b->p + r * c->problem_count, out + r * c->class_count);
    return LTH_OK;
}

lth_status lth__gp_classify_items(const lth_gp *gp, const lth_items *items, double *probability,
                                  lth_error *err) {
    block b = {.gp = gp};
    LTH_TRY(lth__blas_get(&b.blas, err));
    b.K = lth__alloc(BLOCK * gp->rows, sizeof *b.K);
    b.V = lth__alloc(BLOCK * gp->rows, sizeof *b.V);
    b.self = lth__alloc(BLOCK, sizeof *b.self);
    b.p = lth__alloc(BLOCK * gp->classes->problem_count, sizeof *b.p);
    lth_status status = LTH_OK;
    if (!b.K || !b.V || !b.self || !b.p)
        status = lth__fail_memory(err, 2 * BLOCK * gp->rows * sizeof *b.K);
    for (size_t first = 0; first < items->count && status == LTH_OK; first += BLOCK) {
        lth_items *slice = NULL;
        b.rows = items->count - first < BLOCK ? items->count - first : BLOCK;
        status = lth__items_slice(items, first, b.rows, &slice, err);
        if (status == LTH_OK)
            status = classify_block(&b, slice, probability + first * gp->classes->class_count, err);
        lth_items_free(slice);
    }
    lth__free(b.K);
    lth__free(b.V);
    lth__free(b.self);
    lth__free(b.p);
    return status;
}

void lth__classes_decide(const lth__classes *c, const double *probability, bool *has) {
    size_t best = 0;
    for (size_t i = 0; i < c->class_count; i++) {
        has[i] = c->multi && probability[i] > 0.5;
        if (probability[i] > probability[best]) best = i;
    }
    if (!c->multi) has[best] = true;
}

lth_status lth_gp_classify(const lth_gp *gp, const lth_table *table, double *probability,
                           lth_error *err) {
    if (!gp->classes) return lth__fail(err, LTH_EARG, "the model is for numbers, not for labels");
    lth__reading r;
    LTH_TRY(lth__reading_open(gp->encoder, table, gp->vectors, &r, err));
    lth_status status = lth__gp_classify_items(gp, r.items, probability, err);
    lth__reading_close(&r);
    return status;
}
