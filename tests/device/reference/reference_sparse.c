/* Sparse features of the reference device: pairs of items are merged, feature by feature. */
#include <stdlib.h>

#include "reference_device.h"

typedef struct side {
    size_t count, *start;
    uint32_t *feature;
    double *weight;
} side;

/* The arrays are on the device. */
struct lth__device_features {
    int gpu;
    side rows, cols;
};

static void free_side(lth__device *d, side *s) {
    lth__ref_drop(d, s->start);
    lth__ref_drop(d, s->feature);
    lth__ref_drop(d, s->weight);
}

static lth_status put(lth__device *d, const void *from, size_t bytes, void *out, lth_error *err) {
    void *to;
    lth_status status = lth__ref_put(d, from, bytes, &to, err);
    if (status == LTH_OK) *(void **)out = to;
    return status;
}

static lth_status put_side(lth__device *d, const lth__device_bags *from, side *to, lth_error *err) {
    size_t features = from->start[from->count];
    to->count = from->count;
    lth_status status = put(d, from->start, (from->count + 1) * sizeof *to->start, &to->start, err);
    if (status == LTH_OK)
        status = put(d, from->feature, features * sizeof *to->feature, &to->feature, err);
    if (status == LTH_OK)
        status = put(d, from->weight, features * sizeof *to->weight, &to->weight, err);
    return status;
}

void lth__ref_features_free(lth__device *d, lth__device_features *f) {
    LTH__REF_USE(d);
    lth__ref_check_gpu(d, f->gpu, "a collection of features");
    free_side(d, &f->rows);
    free_side(d, &f->cols);
    free(f);
}

lth_status lth__ref_features(lth__device *d, const lth__device_bags *rows,
                             const lth__device_bags *cols, lth__device_features **out,
                             lth_error *err) {
    LTH__REF_DO(d);
    lth__device_features *f = calloc(1, sizeof *f);
    if (!f) return lth__ref_fail(err, LTH_ENOMEM, "out of memory");
    f->gpu = d->gpu;
    lth_status status = put_side(d, rows, &f->rows, err);
    if (status == LTH_OK) status = put_side(d, cols, &f->cols, err);
    if (status == LTH_OK) {
        *out = f;
        return LTH_OK;
    }
    free_side(d, &f->rows);
    free_side(d, &f->cols);
    free(f);
    return status;
}

static double compare(const side *rows, size_t row, const side *cols, size_t col, bool smaller) {
    size_t i = rows->start[row], j = cols->start[col];
    double sum = 0;
    while (i < rows->start[row + 1] && j < cols->start[col + 1]) {
        if (rows->feature[i] < cols->feature[j]) {
            i++;
        } else if (cols->feature[j] < rows->feature[i]) {
            j++;
        } else {
            double a = rows->weight[i++], b = cols->weight[j++];
            sum += !smaller ? a * b : a < b ? a : b;
        }
    }
    return sum;
}

lth_status lth__ref_sparse(lth__device *d, const lth__device_sparse *job, lth_error *err) {
    LTH__REF_DO(d);
    const lth__device_features *f = job->features;
    const lth__panel *p = &job->panel;
    lth__ref_check_gpu(d, f->gpu, "a collection of features");
    lth__ref_check_panel(d, job->K, job->ld, p, "K of sparse features");
    if (p->first_row + p->rows > f->rows.count || p->first_col + p->cols > f->cols.count)
        lth__ref_abort("a panel of items that there are not");
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->cols; c++)
            job->K[r * job->ld + c] =
                compare(&f->rows, p->first_row + r, &f->cols, p->first_col + c, job->smaller);
    return LTH_OK;
}
