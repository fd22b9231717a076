/* The Gram matrix as the solver reads it: all rows from end to end, in single precision.
 *
 * A step of the solver reads whole rows, so they lie together, which a packed triangle has only
 * half of; single precision makes up for that: 4 N^2 bytes, as many as a packed triangle of doubles
 * has, and half as much to read. LIBSVM's cache rounds in the same way. So that no kernel's values
 * are too large or too small for it, all are divided by a power of two, which makes the largest
 * self-similarity about 1.
 *
 * The matrix is computed in doubles, then narrowed in its place, and the rest is given back.
 */
#include <math.h>

#include "model/svm/svm.h"

lth_status lth__svm_gram_create(lth_ctx *ctx, size_t rows, lth__svm_gram *out, lth_error *err) {
    bool countable = rows < (size_t)1 << 30; /* also in bytes */
    size_t cells = countable ? rows * rows : SIZE_MAX / sizeof(double);
    LTH_TRY(lth__memory_check(cells * sizeof(double), "the Gram matrix",
                              "use --features, fewer rows (--where), or a machine with more memory",
                              err));
    lth__svm_gram g = {.ctx = ctx, .rows = rows, .scale = 1};
    if (!lth__svm_gram_plain(&g)) return lth__fail_memory(err, cells * sizeof(double));
    *out = g;
    return LTH_OK;
}

void lth__svm_gram_free(lth__svm_gram *g) {
    lth__free(g->plain);
    lth__free(g->cells);
    lth__svm_features_free(&g->features);
    *g = (lth__svm_gram){0};
}

double *lth__svm_gram_plain(lth__svm_gram *g) {
    lth__free(g->cells);
    g->cells = NULL;
    if (!g->plain) g->plain = lth__alloc(g->rows * g->rows, sizeof *g->plain);
    return g->plain;
}

/* A power of two; 1 where there is nothing to go by. */
static double scale_of(const lth__svm_gram *g) {
    double largest = 0;
    for (size_t i = 0; i < g->rows; i++) largest = fmax(largest, fabs(g->plain[i * (g->rows + 1)]));
    int exponent;
    if (!(largest > 0) || !isfinite(largest)) return 1;
    frexp(largest, &exponent);
    return ldexp(1, exponent);
}

void lth__svm_gram_narrow(lth__svm_gram *g) {
    size_t count = g->rows * g->rows;
    unsigned char *bytes = (unsigned char *)g->plain;
    g->scale = scale_of(g);
    double by = 1 / g->scale;
    for (size_t i = 0; i < count; i++) {
        float x = (float)(g->plain[i] * by);
        __builtin_memcpy(bytes + i * sizeof x, &x, sizeof x); /* behind what is still to be read */
    }
    void *less = lth__realloc(g->plain, count, sizeof(float));
    g->cells = less ? less : (void *)g->plain;
    g->plain = NULL;
}
