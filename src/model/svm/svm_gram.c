/* The Gram matrix in the form that LIBSVM reads, without a copy.
 *
 * For a kernel that is given as numbers LIBSVM wants each row as an array of nodes
 * { int index; double value; }, 16 bytes each, of which it only reads
 *
 *     x[r][0].value = 1 + r        x[r][1 + c].value = k(r, c)
 *
 * Half of that memory would be lost. So two rows share their nodes: the values of the odd one lie
 * where the even one has its indices. In doubles, for the rows 2p and 2p + 1 of N:
 *
 *     - | e0 | o0 | e1 | o1 | ... | eN | oN        e_j = x[2p][j].value, o_j = x[2p + 1][j].value
 *
 * where the even row's nodes begin at the first double and the odd row's at the second. The last
 * double of a pair of rows is the first of the next. All takes N (N + 1) doubles, and any part of
 * the rows is an array of pointers into it.
 *
 * A plain matrix with its columns moved by one has its rows 2p and 2p + 1 in the same place, so it
 * is filled as such and then woven in place, two rows at a time.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <libsvm/svm.h>

#include "base/parallel.h"
#include "model/svm/svm.h"

static_assert(sizeof(struct svm_node) == 16 && offsetof(struct svm_node, value) == 8,
              "LIBSVM's nodes are not as this file needs them");

lth_status lth__svm_gram_create(lth_ctx *ctx, size_t rows, lth__svm_gram *out, lth_error *err) {
    bool countable = rows < (size_t)1 << 30; /* also in bytes */
    size_t cells = countable ? (rows + rows % 2) * (rows + 1) + 1 : SIZE_MAX / sizeof(double);
    LTH_TRY(lth__memory_check(cells * sizeof(double), "the Gram matrix",
                              "use --features, fewer rows (--where), or a machine with more memory",
                              err));
    lth__svm_gram g = {.ctx = ctx, .rows = rows, .cells = lth__alloc(cells, sizeof *g.cells)};
    if (!g.cells) return lth__fail_memory(err, cells * sizeof(double));
    *out = g;
    return LTH_OK;
}

void lth__svm_gram_free(lth__svm_gram *g) {
    lth__free(g->cells);
    lth__svm_features_free(&g->features);
    *g = (lth__svm_gram){0};
}

double *lth__svm_gram_plain(const lth__svm_gram *g, size_t *ld) {
    *ld = g->rows + 1;
    return g->cells + 1;
}

struct svm_node *lth__svm_gram_row(const lth__svm_gram *g, size_t row) {
    return (struct svm_node *)(void *)(g->cells + lth__svm_gram_offset(g, row));
}

static void weave_row(const lth__svm_gram *g, size_t row, const double *plain) {
    double *to = g->cells + lth__svm_gram_offset(g, row) + 1;
    to[0] = (double)(1 + row);
    for (size_t c = 0; c < g->rows; c++) to[2 + 2 * c] = plain[c];
}

static lth_status weave_pair(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const lth__svm_gram *g = user;
    size_t n = g->rows, even = 2 * index, ld;
    bool has_odd = even + 1 < n;
    const double *plain = lth__svm_gram_plain(g, &ld);
    double *copy = lth__alloc(2 * n, sizeof *copy);
    if (!copy) return LTH_ENOMEM;
    memcpy(copy, plain + even * ld, n * sizeof *copy);
    if (has_odd) memcpy(copy + n, plain + (even + 1) * ld, n * sizeof *copy);
    weave_row(g, even, copy);
    if (has_odd) weave_row(g, even + 1, copy + n);
    lth__free(copy);
    return LTH_OK;
}

lth_status lth__svm_gram_weave(const lth__svm_gram *g, lth_error *err) {
    return lth__parallel_for(g->ctx, NULL, (g->rows + 1) / 2, NULL, weave_pair, (void *)g, err);
}
