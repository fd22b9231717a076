/* Kernels that are inner products of sparse features, as these features: no Gram matrix is needed.
 *
 *     MAP                   its features
 *     v * k, linear(k)      those of k, times sqrt(v)
 *     normalize(k)          those of k, each row divided by its length; a row of 0 stays so
 *     k1 + k2               those of k1 and those of k2, side by side
 */
#include <math.h>

#include "kernel/feature/sparse.h"
#include "model/svm/svm.h"

enum { MANY_ROWS = 2000 }; /* more are not worth a Gram matrix */

static bool is_number(const lth__node *node) {
    return node->family->rule == LTH__RULE_NUMBER;
}

static bool is_linear(const lth__node *node) {
    size_t linear = 0, numbers = 0;
    for (size_t i = 0; i < node->input_count; i++) {
        linear += is_linear(node->inputs[i]);
        numbers += is_number(node->inputs[i]);
    }
    switch (node->family->rule) {
    case LTH__RULE_FEATURES: return true;
    case LTH__RULE_SUM: return linear == node->input_count;
    case LTH__RULE_PRODUCT: return linear == 1 && linear + numbers == node->input_count;
    case LTH__RULE_SCALE:
    case LTH__RULE_NORMALIZE: return linear == 1;
    case LTH__RULE_NUMBER:
    case LTH__RULE_COLUMNS:
    case LTH__RULE_OWN: break;
    }
    return false;
}

bool lth__svm_is_linear(const lth_kernel *kernel) {
    return is_linear(kernel->root);
}

bool lth__svm_asks_features(const lth_kernel *kernel) {
    bool any = false;
    for (size_t n = 0; n < kernel->node_count; n++)
        any |= kernel->nodes[n]->family->features != NULL;
    return any;
}

/* ---- Maps ---- */

typedef struct builder {
    const lth_kernel *kernel;
    const lth_items *items;
    lth__svm_features out;
} builder;

static double map_square(const lth__svm_map *m, size_t row) {
    const lth__features *f = m->features;
    double sum = 0;
    for (size_t i = f->start[row]; i < f->start[row + 1]; i++) sum += f->weight[i] * f->weight[i];
    return m->scale[row] * m->scale[row] * sum;
}

double lth__svm_features_square(const lth__svm_features *f, size_t row) {
    if (f->dense) return f->square[row];
    double sum = 0;
    for (size_t m = 0; m < f->map_count; m++) sum += map_square(&f->maps[m], row);
    return sum;
}

double lth__svm_features_dot(const lth__svm_features *x, size_t row, const double *w) {
    if (x->dense) return lth__svm_dense_dot(x, row, w);
    double total = 0;
    for (size_t m = 0; m < x->map_count; m++) {
        const lth__features *f = x->maps[m].features;
        const double *weight = f->weight, *at = w + m;
        size_t i = f->start[row], end = f->start[row + 1], stride = x->map_count;
        double sum[4] = {0}; /* an addition need not wait for the one before it */
        for (; i + 4 <= end; i += 4) {
            for (size_t k = 0; k < 4; k++) sum[k] += weight[i + k] * at[f->feature[i + k] * stride];
        }
        for (; i < end; i++) sum[0] += weight[i] * at[f->feature[i] * stride];
        total += x->maps[m].scale[row] * (sum[0] + sum[1] + (sum[2] + sum[3]));
    }
    return total;
}

void lth__svm_features_add(const lth__svm_features *x, size_t row, double factor, double *w) {
    if (x->dense) {
        lth__svm_dense_add(x, row, factor, w);
        return;
    }
    for (size_t m = 0; m < x->map_count; m++) {
        const lth__features *f = x->maps[m].features;
        double scale = factor * x->maps[m].scale[row];
        for (size_t i = f->start[row]; i < f->start[row + 1]; i++)
            w[f->feature[i] * x->map_count + m] += scale * f->weight[i];
    }
}

static lth_status add_map(builder *b, const lth__node *node, lth_error *err) {
    size_t rows = b->items->count;
    lth__svm_map *map = &b->out.maps[b->out.map_count];
    map->features = &b->items->features[node->index];
    map->scale = lth__alloc(rows, sizeof *map->scale);
    if (!map->scale) return lth__fail_memory(err, rows * sizeof *map->scale);
    b->out.map_count++;
    for (size_t i = 0; i < rows; i++) map->scale[i] = 1;
    return LTH_OK;
}

/* Of all maps from `first` on. */
static void scale_rows(builder *b, size_t first, double factor) {
    for (; first < b->out.map_count; first++) {
        for (size_t i = 0; i < b->items->count; i++) b->out.maps[first].scale[i] *= factor;
    }
}

static void normalize_rows(builder *b, size_t first) {
    for (size_t i = 0; i < b->items->count; i++) {
        double square = 0;
        for (size_t k = first; k < b->out.map_count; k++) square += map_square(&b->out.maps[k], i);
        double factor = square > 0 ? 1 / sqrt(square) : 0;
        for (size_t k = first; k < b->out.map_count; k++) b->out.maps[k].scale[i] *= factor;
    }
}

static lth_status add_node(builder *b, const lth__node *node, lth_error *err) {
    size_t first = b->out.map_count;
    double factor = 1;
    if (node->family->rule == LTH__RULE_FEATURES) return add_map(b, node, err);
    for (size_t i = 0; i < node->input_count; i++) {
        const lth__node *input = node->inputs[i];
        if (is_number(input))
            factor *= b->kernel->params[input->first_param].value;
        else
            LTH_TRY(add_node(b, input, err));
    }
    if (node->family->rule == LTH__RULE_SCALE) factor = b->kernel->params[node->first_param].value;
    if (node->family->rule == LTH__RULE_NORMALIZE) normalize_rows(b, first);
    if (factor != 1) scale_rows(b, first, sqrt(fmax(factor, 0)));
    return LTH_OK;
}

/* Features are in ascending order, so that the last one of each row is enough. */
static size_t count_features(const lth__features *f, size_t rows) {
    size_t count = 0;
    for (size_t i = 0; i < rows; i++) {
        if (f->start[i] == f->start[i + 1]) continue;
        size_t last = f->feature[f->start[i + 1] - 1];
        if (last >= count) count = last + 1;
    }
    return count;
}

static lth_status measure_width(lth__svm_features *f, lth_error *err) {
    size_t most = 0;
    for (size_t m = 0; m < f->map_count; m++) {
        size_t count = count_features(f->maps[m].features, f->rows);
        if (count > most) most = count;
    }
    f->width = most * f->map_count;
    if (f->width <= UINT32_MAX) return LTH_OK;
    return lth__fail(err, LTH_EARG, "the kernel has too many features: %zu", f->width);
}

lth_status lth__svm_features_make(const lth_kernel *kernel, lth_items *items,
                                  lth__svm_features *out, lth_error *err) {
    builder b = {.kernel = kernel, .items = items, .out.rows = items->count};
    LTH_TRY(lth__items_ask_features(items, err));
    b.out.maps = lth__calloc(kernel->node_count, sizeof *b.out.maps);
    if (!b.out.maps) return lth__fail_memory(err, 0);
    lth_status status = add_node(&b, kernel->root, err);
    if (status == LTH_OK) status = measure_width(&b.out, err);
    if (status == LTH_OK)
        *out = b.out;
    else
        lth__svm_features_free(&b.out);
    return status;
}

void lth__svm_features_free(lth__svm_features *f) {
    for (size_t m = 0; m < f->map_count; m++) lth__free(f->maps[m].scale);
    lth__free(f->maps);
    lth__free(f->dense);
    lth__free(f->square);
    lth__basis_free(f->basis);
    *f = (lth__svm_features){0};
}

/* ---- Which way ---- */

/* The points of a grid differ in arguments, not in what wraps what: one stands for all. Features
 * that take a Gram matrix's time and more memory are for those who want them. */
static lth_status could_be_linear(const lth__svm_kernels *k, bool wanted, bool *out,
                                  lth_error *err) {
    lth_kernel *kernel = NULL;
    LTH_TRY(lth_kernel_parse(k->ctx, k->text[0], &kernel, err));
    *out = lth__svm_is_linear(kernel) && (wanted || !lth__svm_asks_features(kernel));
    lth_kernel_free(kernel);
    return LTH_OK;
}

/* Features of a basis: 4 bytes each. */
static lth_status dense_room(const lth__svm_kernels *k, const lth_svm_options *o,
                             lth__svm_gram *out, lth_error *err) {
    size_t rows = lth_table_rows(k->table), count = o->features;
    if (o->solver == LTH_SVM_KERNEL || o->solver == LTH_SVM_LINEAR)
        return lth__fail(err, LTH_EARG, "features of some rows go with the solver auto or origin");
    if (o->nu_svm)
        return lth__fail(err, LTH_EARG,
                         "with features of some rows there is no nu-SVC and no "
                         "nu-SVR");
    if (count > rows) {
        lth__log(k->ctx, LTH_LOG_WARNING, "there are %zu rows: features of all of them", rows);
        count = rows;
    }
    if (count > SIZE_MAX / sizeof(float) / rows)
        return lth__fail(err, LTH_EARG, "%zu features of %zu rows are too many", count, rows);
    LTH_TRY(lth__memory_check(rows * count * sizeof(float), "the features",
                              "use fewer features, or fewer rows (--where)", err));
    *out = (lth__svm_gram){.ctx = k->ctx, .rows = rows, .linear = true, .basis = count};
    return LTH_OK;
}

lth_status lth__svm_kernels_room(const lth__svm_kernels *k, const lth_svm_options *o,
                                 lth__svm_gram *out, lth_error *err) {
    size_t rows = lth_table_rows(k->table);
    if (o->features > 0) return dense_room(k, o, out, err);
    bool linear = false, wanted = o->solver == LTH_SVM_LINEAR;
    if ((o->solver == LTH_SVM_AUTO && !o->gram) || wanted)
        LTH_TRY(could_be_linear(k, wanted, &linear, err));
    if (wanted && !linear)
        return lth__fail(err, LTH_EARG,
                         "the linear solver wants a kernel that is an inner product of sparse "
                         "features (bow, tfidf, ngrams, approx_ssk, semantic, gkm; linear(), "
                         "normalize(), a number times and sums of these)");
    if (wanted && o->nu_svm)
        return lth__fail(err, LTH_EARG, "the linear solver has no nu-SVC and no nu-SVR");
    if (linear && !o->nu_svm && (wanted || rows > MANY_ROWS)) {
        *out = (lth__svm_gram){.ctx = k->ctx, .rows = rows, .linear = true};
        return LTH_OK;
    }
    return lth__svm_gram_create(k->ctx, rows, out, err);
}
