/* normalize(k) = k_ab / sqrt(k_aa k_bb).
 *
 * An item with k_aa = 0 (an empty text) gives 0 against all, itself included, with gradient 0.
 *
 *     dkh = dk / sqrt(k_aa k_bb) - kh (dk_aa / k_aa + dk_bb / k_bb) / 2
 *
 * so the weights W / sqrt(k_aa k_bb) go down to the tile, and the diagonals, whose slopes are known
 * from prepare, get what W kh adds up to for each item.
 */
#include <math.h>
#include <string.h>

#include "kernel/encode.h"
#include "kernel/kernel.h"

/* Self-similarities of one side. */
typedef struct side {
    double *scale; /* 1 / sqrt(k_aa), 0 where k_aa is 0            */
    double *slope; /* [parameter][item]: d k_aa / k_aa; or NULL    */
} side;

typedef struct state {
    side rows, cols; /* the same pointers when the matrix is symmetric */
    size_t row_count, col_count;
} state;

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    (void)kernel, (void)node, (void)err;
    return LTH_OK;
}

static void free_side(side *s) {
    lth__free(s->scale);
    lth__free(s->slope);
}

static void warn_of_empty_items(const lth__eval *eval, const double *self, size_t count) {
    size_t empty = 0, first = 0;
    for (size_t i = count; i-- > 0;) {
        if (self[i] == 0) empty++, first = i;
    }
    if (empty == 0) return;
    lth__log(eval->ctx, LTH_LOG_WARNING,
             "%zu of %zu texts are empty or too short to compare (the first is row %zu): their "
             "normalised kernel is 0",
             empty, count, first + 1);
}

static lth_status fill_side(const lth__node *input, const lth__eval *eval, const lth_items *items,
                            side *s, lth_error *err) {
    size_t count = lth_items_count(items), params = eval->kernel->param_count;
    LTH_TRY(input->family->diagonal(input, eval, items, s->scale, s->slope, err));
    warn_of_empty_items(eval, s->scale, count);
    for (size_t i = 0; i < count; i++) {
        double self = s->scale[i], inverse = self > 0 ? 1 / self : 0;
        if (!isfinite(self)) {
            return lth__fail(
                err, LTH_ENUMERIC,
                "the self-similarity of row %zu is not finite; use f64, a lower order or "
                "a smaller gap",
                i + 1);
        }
        s->scale[i] = sqrt(inverse);
        for (size_t p = 0; s->slope && p < params; p++) s->slope[p * count + i] *= inverse;
    }
    return LTH_OK;
}

static lth_status prepare_side(const lth__node *input, const lth__eval *eval,
                               const lth_items *items, side *out, lth_error *err) {
    size_t count = lth_items_count(items), params = eval->kernel->param_count;
    side s = {.scale = lth__alloc(count, sizeof *s.scale)};
    if (eval->gradients) s.slope = lth__calloc(params * count, sizeof *s.slope);
    lth_status status = LTH_OK;
    if (!s.scale || (eval->gradients && !s.slope))
        status = lth__fail_memory(err, (params + 1) * count * sizeof *s.scale);
    if (status == LTH_OK) status = fill_side(input, eval, items, &s, err);
    if (status == LTH_OK)
        *out = s;
    else
        free_side(&s);
    return status;
}

static void release(void *p) {
    state *st = p;
    if (st->cols.scale != st->rows.scale) free_side(&st->cols);
    free_side(&st->rows);
    lth__free(st);
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    state *st = lth__calloc(1, sizeof *st);
    if (!st) return lth__fail_memory(err, sizeof *st);
    st->row_count = lth_items_count(eval->rows);
    st->col_count = lth_items_count(eval->cols);
    lth_status status = prepare_side(node->inputs[0], eval, eval->rows, &st->rows, err);
    if (status == LTH_OK && eval->cols == eval->rows)
        st->cols = st->rows;
    else if (status == LTH_OK)
        status = prepare_side(node->inputs[0], eval, eval->cols, &st->cols, err);
    if (status == LTH_OK)
        *out = st;
    else
        release(st);
    return status;
}

/* 1, or 0 for an empty item, whatever the parameters. */
static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    (void)err;
    const state *st = eval->state[node->index];
    const side *s = items == eval->rows ? &st->rows : &st->cols;
    size_t count = lth_items_count(items);
    for (size_t i = 0; i < count; i++) a[i] = s->scale[i] > 0 ? 1 : 0;
    if (slope) {
        memset(slope + node->first_param * count, 0,
               (node->params_end - node->first_param) * count * sizeof *slope);
    }
    return LTH_OK;
}

/* x_rc *= scale_r scale_c. */
static void scale_tile(const state *st, const lth__tile *tile, double *x) {
    for (size_t r = 0; r < tile->rows; r++) {
        double scale = st->rows.scale[tile->row[r]];
        for (size_t c = 0; c < tile->cols; c++)
            x[r * tile->cols + c] *= scale * st->cols.scale[tile->col[c]];
    }
}

static void set_self_similarities(const lth__eval *eval, const state *st, const lth__tile *tile,
                                  double *K) {
    if (eval->rows != eval->cols) return;
    for (size_t r = 0; r < tile->rows; r++) {
        for (size_t c = 0; c < tile->cols; c++) {
            if (tile->row[r] == tile->col[c])
                K[r * tile->cols + c] = st->rows.scale[tile->row[r]] > 0 ? 1 : 0;
        }
    }
}

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    const state *st = eval->state[node->index];
    LTH_TRY(lth__node_tile(node->inputs[0], eval, tile, K, err));
    scale_tile(st, tile, K);
    set_self_similarities(eval, st, tile, K);
    return LTH_OK;
}

/* The diagonals' share of one pair, for every parameter. */
static void pull_pair(const lth__node *node, const state *st, const lth__tile *tile, size_t r,
                      size_t c, double weight, const lth__sink *sink) {
    for (size_t p = node->first_param; p < node->params_end; p++) {
        double slope = st->rows.slope[p * st->row_count + tile->row[r]] +
                       st->cols.slope[p * st->col_count + tile->col[c]];
        lth__sink_add(sink, p, r * tile->cols + c, -0.5 * weight * slope);
    }
}

/* The same summed over the tile: each item's weights are added up before its slopes are used. */
static void pull_sums(const lth__node *node, const state *st, const lth__tile *tile,
                      const double *row_weight, const double *col_weight, const lth__sink *sink) {
    for (size_t p = node->first_param; p < node->params_end; p++) {
        double sum = 0;
        for (size_t r = 0; r < tile->rows; r++)
            sum += row_weight[r] * st->rows.slope[p * st->row_count + tile->row[r]];
        for (size_t c = 0; c < tile->cols; c++)
            sum += col_weight[c] * st->cols.slope[p * st->col_count + tile->col[c]];
        sink->sum[p] -= 0.5 * sum;
    }
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    const state *st = eval->state[node->index];
    size_t rows = tile->rows, cols = tile->cols, pairs = rows * cols;
    double *weights = lth__alloc(2 * pairs + rows + cols, sizeof *weights);
    if (!weights) return lth__fail_memory(err, (2 * pairs + rows + cols) * sizeof *weights);
    double *values = weights + pairs, *row_weight = values + pairs, *col_weight = row_weight + rows;
    memcpy(weights, W, pairs * sizeof *weights);
    memset(row_weight, 0, (rows + cols) * sizeof *row_weight);
    scale_tile(st, tile, weights);
    lth_status status = lth__node_pull(node->inputs[0], eval, tile, weights, values, sink, err);
    if (status == LTH_OK) {
        scale_tile(st, tile, values);
        for (size_t r = 0; r < rows; r++) {
            for (size_t c = 0; c < cols; c++) {
                double weight = W[r * cols + c] * values[r * cols + c];
                row_weight[r] += weight;
                col_weight[c] += weight;
                if (sink->each) pull_pair(node, st, tile, r, c, weight, sink);
            }
        }
        if (sink->sum) pull_sums(node, st, tile, row_weight, col_weight, sink);
        if (K) {
            set_self_similarities(eval, st, tile, values);
            memcpy(K, values, pairs * sizeof *K);
        }
    }
    lth__free(weights);
    return status;
}

static const lth_argument arguments[] = {{0}};

const lth__family lth__family_normalize = {
    .manual = {.name = "normalize",
               .help = "any kernel scaled so that every item's similarity with itself is 1 (0 for "
                       "an empty item)",
               .usage = "normalize(KERNEL)",
               .arguments = arguments},
    .traits = LTH__TAKES_KERNEL,
    .configure = configure,
    .prepare = prepare,
    .release = release,
    .diagonal = diagonal,
    .tile = tile_values,
    .pull = pull,
};
