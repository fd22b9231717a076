/* Matrices in host memory in single precision, packed: what conjugate gradients need. Vectors and
 * arithmetic are in double precision. */
#include "base/memory.h"
#include "base/parallel.h"
#include "model/common/matrix.h"
#include "model/common/product.h"

static lth_status reserve(lth__matrix *A, lth_error *err) {
    if (!A->singles) A->singles = lth__alloc(lth__packed_count(A->n), sizeof *A->singles);
    return A->singles ? LTH_OK : lth__fail_memory(err, lth__packed_bytes(A->n, sizeof *A->singles));
}

static void release(lth__matrix *A) {
    lth__free(A->singles);
}

typedef struct affine_job {
    lth__packed A;
    double by, plus;
} affine_job;

static lth_status affine_panel(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const affine_job *j = user;
    size_t first = index << j->A.shift, last = first + lth__packed_rows(&j->A, index);
    for (size_t i = first; i < last; i++) {
        float *row = j->A.singles + lth__packed_row(&j->A, i);
        for (size_t c = 0; c <= i; c++) row[c] = (float)(j->by * row[c] + j->plus);
    }
    return LTH_OK;
}

static lth_status affine(lth__matrix *A, double by, double plus, lth_error *err) {
    affine_job j = {.A = lth__matrix_packed(A), .by = by, .plus = plus};
    return lth__parallel_for(A->ctx, NULL, lth__packed_panels(&j.A), NULL, affine_panel, &j, err);
}

static lth_status add_diagonal(lth__matrix *A, double value, lth_error *err) {
    (void)err;
    lth__packed p = lth__matrix_packed(A);
    for (size_t i = 0; i < A->n; i++) {
        float *cell = &p.singles[lth__packed_row(&p, i) + i];
        *cell = (float)(*cell + value);
    }
    return LTH_OK;
}

static lth_status diagonal(const lth__matrix *A, double *out, lth_error *err) {
    (void)err;
    lth__packed p = lth__matrix_packed(A);
    for (size_t i = 0; i < A->n; i++) out[i] = p.singles[lth__packed_row(&p, i) + i];
    return LTH_OK;
}

const lth__matrix_table lth__matrix_in_single = {.reserve = reserve,
                                                 .release = release,
                                                 .affine = affine,
                                                 .add_diagonal = add_diagonal,
                                                 .diagonal = diagonal,
                                                 .multiply = lth__packed_multiply,
                                                 .multiply_roughly = lth__packed_multiply_roughly,
                                                 .columns = lth__packed_columns};
