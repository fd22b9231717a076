/* Inner products of dense features: number columns, as they are or scaled to mean 0 and deviation
 * 1 by their moments, and the mean of a text's word vectors.
 *
 *     k_ab = sum_d x_ad x_bd / l_d^2
 *
 * with l_d = 1, or the length scales that a wrapper with ard=yes gives to its number columns:
 * dk_ab / dl_d = -2 x_ad x_bd / l_d^3.
 */
#include <stdlib.h>
#include <string.h>

#include "data/units.h"
#include "engine/blas.h"
#include "kernel/device/device_eval.h"
#include "kernel/feature/number_field.h"
#include "kernel/word/words.h"

/* Features of one side, divided by their length scales: count x width. */
typedef struct side {
    double *x;
    size_t count;
} side;

typedef struct state {
    size_t width;
    bool symmetric, borrowed; /* borrowed: the columns' */
    side rows, cols;          /* the same pointer when symmetric */
    const lth__blas *blas;
    const lth_param *scale; /* length scales, or NULL */
} state;

/* ---- State ---- */

static void release(void *p) {
    state *st = p;
    if (!st->borrowed) lth__free(st->cols.x);
    lth__free(st->rows.x);
    lth__free(st);
}

static lth_status fill_numbers(const lth__node *node, const lth_items *items, const state *st,
                               double *x, lth_error *err) {
    const lth__sequences *field = &items->fields[node->field];
    if (st->scale && field->width != node->param_count) {
        return lth__fail(err, LTH_EARG, "%zu columns where the kernel has %zu length scales",
                         field->width, node->param_count);
    }
    const lth__moments *moments = lth__moments_of(&items->encoder->lexicons[node->field]);
    if (field->width != st->width || (moments && moments->width != st->width)) {
        return lth__fail(err, LTH_EARG, "%zu columns are compared with %zu", st->width,
                         field->width);
    }
    for (size_t i = 0; i < field->count * st->width; i++) {
        size_t d = i % st->width;
        double number = field->numbers[i];
        if (moments) number = lth__moments_scale(moments, d, number);
        x[i] = number / (st->scale ? st->scale[d].value : 1);
    }
    return LTH_OK;
}

/* The mean over the words that have a vector; zero if none has. */
static lth_status fill_means(const lth__node *node, const lth_items *items, const state *st,
                             double *x, lth_error *err) {
    (void)err;
    const lth__sequences *field = &items->fields[node->field];
    const lth__words *words = lth__words_of(&items->encoder->lexicons[node->field]);
    memset(x, 0, field->count * st->width * sizeof *x);
    for (size_t i = 0; i < field->count; i++) {
        double *mean = x + i * st->width;
        size_t known = 0;
        for (size_t k = field->start[i]; k < field->start[i + 1]; k++) {
            const float *vector = lth__words_vector(words, field->symbols[k]);
            if (!vector) continue;
            for (size_t d = 0; d < st->width; d++) mean[d] += (double)vector[d];
            known++;
        }
        for (size_t d = 0; known > 0 && d < st->width; d++) mean[d] /= (double)known;
    }
    return LTH_OK;
}

typedef lth_status fill_fn(const lth__node *, const lth_items *, const state *, double *,
                           lth_error *);

static lth_status fill_side(const lth__node *node, const lth_items *items, const state *st,
                            fill_fn *fill, side *out, lth_error *err) {
    out->count = items->count;
    out->x = lth__alloc(items->count * st->width, sizeof *out->x);
    if (!out->x) return lth__fail_memory(err, items->count * st->width * sizeof *out->x);
    return fill(node, items, st, out->x, err);
}

static lth_status prepare(const lth__node *node, lth__eval *eval, size_t width, fill_fn *fill,
                          void **out, lth_error *err) {
    state *st = lth__calloc(1, sizeof *st);
    if (!st) return lth__fail_memory(err, sizeof *st);
    st->width = width;
    const state *kept = lth__kept_state(node, eval);
    if (kept && kept->width != width) kept = NULL; /* the same failure as without it */
    st->symmetric = eval->rows == eval->cols;
    st->borrowed = st->symmetric || kept;
    if (node->param_count > 0) st->scale = &eval->kernel->params[node->first_param];
    lth_status status = lth__blas_get(&st->blas, err);
    if (status == LTH_OK) status = fill_side(node, eval->rows, st, fill, &st->rows, err);
    if (status == LTH_OK && st->borrowed)
        st->cols = st->symmetric ? st->rows : kept->rows;
    else if (status == LTH_OK)
        status = fill_side(node, eval->cols, st, fill, &st->cols, err);
    if (status == LTH_OK)
        *out = st;
    else
        release(st);
    return status;
}

static lth_status prepare_columns(const lth__node *node, lth__eval *eval, void **out,
                                  lth_error *err) {
    return prepare(node, eval, eval->rows->fields[node->field].width, fill_numbers, out, err);
}

static lth_status prepare_mean(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    const lth__words *words = lth__words_of(&eval->rows->encoder->lexicons[node->field]);
    if (!words->has_vectors)
        return lth__fail(err, LTH_EARG, "mean() averages word vectors, but none were read");
    return prepare(node, eval, words->vectors.dimension, fill_means, out, err);
}

/* ---- Values ---- */

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    (void)err;
    const state *st = eval->state[node->index];
    const side *s = items == eval->rows ? &st->rows : &st->cols;
    for (size_t i = 0; i < s->count; i++) {
        const double *x = s->x + i * st->width;
        a[i] = 0;
        for (size_t d = 0; d < st->width; d++) {
            a[i] += x[d] * x[d];
            if (slope && st->scale)
                slope[(node->first_param + d) * s->count + i] =
                    -2 * x[d] * x[d] / st->scale[d].value;
        }
    }
    return LTH_OK;
}

/* The features of a tile's rows, one after another. */
static void gather(const state *st, const side *s, const uint32_t *item, size_t count,
                   double *out) {
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * st->width, s->x + item[i] * st->width, st->width * sizeof *out);
}

/* Rows and columns of the tile, gathered; freed with lth__free(). */
static lth_status gather_tile(const state *st, const lth__tile *tile, double **rows, double **cols,
                              lth_error *err) {
    size_t need = (tile->rows + tile->cols) * st->width;
    *rows = lth__alloc(need, sizeof **rows);
    if (!*rows) return lth__fail_memory(err, need * sizeof **rows);
    *cols = *rows + tile->rows * st->width;
    gather(st, &st->rows, tile->row, tile->rows, *rows);
    gather(st, &st->cols, tile->col, tile->cols, *cols);
    return LTH_OK;
}

static lth_status multiply(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                           double *K, lth_error *err) {
    const state *st = eval->state[node->index];
    double *rows = NULL, *cols = NULL;
    LTH_TRY(gather_tile(st, tile, &rows, &cols, err));
    st->blas->gemm_nt(tile->rows, tile->cols, st->width, 1, rows, st->width, cols, st->width, 0, K,
                      tile->cols);
    lth__free(rows);
    return LTH_OK;
}

/* Without length scales, what was computed once is right for ever. */
static size_t memo_planes(const lth__node *node, const lth__eval *eval) {
    return node->param_count == 0 && eval->rows->count <= LTH__MEMO_ROWS;
}

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    return lth__memo_constant(node, eval, tile, multiply, K, err);
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    const state *st = eval->state[node->index];
    if (K) LTH_TRY(tile_values(node, eval, tile, K, err));
    if (!st->scale) return LTH_OK;
    for (size_t r = 0; r < tile->rows; r++) {
        const double *x = st->rows.x + tile->row[r] * st->width;
        for (size_t c = 0; c < tile->cols; c++) {
            size_t pair = r * tile->cols + c;
            const double *y = st->cols.x + tile->col[c] * st->width;
            if (W[pair] == 0) continue;
            for (size_t d = 0; d < st->width; d++) {
                double slope = -2 * x[d] * y[d] / st->scale[d].value;
                lth__sink_add(sink, node->first_param + d, pair, W[pair] * slope);
            }
        }
    }
    return LTH_OK;
}

/* ---- On a device ---- */

/* Features of the panel's rows and columns, on the device. */
typedef struct device_features {
    double *rows, *cols, *product; /* product: rows x width */
} device_features;

static void drop(lth__device_eval *e, device_features *x) {
    lth__device_drop(e, x->rows);
    lth__device_drop(e, x->cols);
    lth__device_drop(e, x->product);
}

static lth_status upload_side(lth__device_eval *e, const state *st, const side *s, size_t first,
                              size_t count, double **out, lth_error *err) {
    LTH_TRY(lth__device_matrix(e, count * st->width, out, err));
    return e->t->upload(e->d, *out, s->x + first * st->width, count * st->width * sizeof *s->x,
                        err);
}

static lth_status upload_panel(lth__device_eval *e, const state *st, const lth__panel *p,
                               device_features *x, lth_error *err) {
    LTH_TRY(upload_side(e, st, &st->rows, p->first_row, p->rows, &x->rows, err));
    return upload_side(e, st, &st->cols, p->first_col, p->cols, &x->cols, err);
}

static lth_status device_tile(const lth__node *node, lth__device_eval *e, const lth__panel *p,
                              double *K, lth_error *err) {
    const state *st = e->eval->state[node->index];
    device_features x = {0};
    lth_status status = upload_panel(e, st, p, &x, err);
    if (status == LTH_OK)
        status = e->t->gemm(e->d, false, true, p->rows, p->cols, st->width, 1, x.rows, st->width,
                            x.cols, st->width, 0, K, p->cols, err);
    drop(e, &x);
    return status;
}

/* sum_rc W_rc x_rd y_cd for every feature: the rows with W times the columns. */
static lth_status pull_scales(const lth__node *node, lth__device_eval *e, const lth__panel *p,
                              const double *W, device_features *x, double *on_host, double *grad,
                              lth_error *err) {
    const state *st = e->eval->state[node->index];
    size_t count = p->rows * st->width;
    LTH_TRY(upload_panel(e, st, p, x, err));
    LTH_TRY(lth__device_matrix(e, count, &x->product, err));
    LTH_TRY(e->t->gemm(e->d, false, false, p->rows, st->width, p->cols, 1, W, p->cols, x->cols,
                       st->width, 0, x->product, st->width, err));
    LTH_TRY(e->t->download(e->d, on_host, x->product, count * sizeof *on_host, err));
    const double *rows = st->rows.x + p->first_row * st->width;
    for (size_t i = 0; i < count; i++) {
        size_t d = i % st->width;
        grad[node->first_param + d] += -2 * rows[i] * on_host[i] / st->scale[d].value;
    }
    return LTH_OK;
}

static lth_status device_pull(const lth__node *node, lth__device_eval *e, const lth__panel *p,
                              double *W, double *K, double *grad, lth_error *err) {
    const state *st = e->eval->state[node->index];
    if (K) LTH_TRY(device_tile(node, e, p, K, err));
    if (!st->scale) return LTH_OK;
    device_features x = {0};
    double *on_host = lth__alloc(p->rows * st->width, sizeof *on_host);
    lth_status status =
        on_host ? LTH_OK : lth__fail_memory(err, p->rows * st->width * sizeof *on_host);
    if (status == LTH_OK) status = pull_scales(node, e, p, W, &x, on_host, grad, err);
    drop(e, &x);
    lth__free(on_host);
    return status;
}

/* ---- Explanations ---- */

/* y[d] = sum_c W_c x_cd */
static void sum_columns(const state *st, const lth__tile *tile, const double *W, double *y) {
    memset(y, 0, st->width * sizeof *y);
    for (size_t c = 0; c < tile->cols; c++) {
        const double *x = st->cols.x + tile->col[c] * st->width;
        for (size_t d = 0; W[c] != 0 && d < st->width; d++) y[d] += W[c] * x[d];
    }
}

static lth_status attribute_numbers(const lth__node *node, const lth__eval *eval,
                                    const lth__tile *tile, const double *W, double *share,
                                    lth_error *err) {
    const state *st = eval->state[node->index];
    double *y = lth__alloc(st->width, sizeof *y);
    if (!y) return lth__fail_memory(err, st->width * sizeof *y);
    sum_columns(st, tile, W, y);
    const double *x = st->rows.x + tile->row[0] * st->width;
    for (size_t d = 0; d < st->width; d++) share[d] += x[d] * y[d];
    lth__free(y);
    return LTH_OK;
}

/* A word has its part of the mean. */
static lth_status attribute_words(const lth__node *node, const lth__eval *eval,
                                  const lth__tile *tile, const double *W, double *share,
                                  lth_error *err) {
    const state *st = eval->state[node->index];
    const lth__sequences *field = &eval->rows->fields[node->field];
    const lth__words *words = lth__words_of(&eval->rows->encoder->lexicons[node->field]);
    const lth__symbol *word = lth__sequence_symbols(field, tile->row[0]);
    size_t length = lth__sequence_length(field, tile->row[0]), known = 0;
    double *y = lth__alloc(st->width, sizeof *y);
    if (!y) return lth__fail_memory(err, st->width * sizeof *y);
    sum_columns(st, tile, W, y);
    for (size_t k = 0; k < length; k++) known += lth__words_vector(words, word[k]) != NULL;
    for (size_t k = 0; k < length; k++) {
        const float *vector = lth__words_vector(words, word[k]);
        double sum = 0;
        for (size_t d = 0; vector && d < st->width; d++) sum += (double)vector[d] * y[d];
        if (vector) share[k] += sum / (double)known;
    }
    lth__free(y);
    return LTH_OK;
}

/* ---- Number columns ---- */

/* How many columns "f1..f17" means; 1 for a single one, 0 for a range without numbers. */
static size_t count_columns(const lth__expr *column) {
    if (!column->range) return 1;
    const char *dots = strstr(column->name, "..");
    const char *first = dots, *last = column->name + strlen(column->name);
    while (first > column->name && first[-1] >= '0' && first[-1] <= '9') first--;
    while (last > dots + 2 && last[-1] >= '0' && last[-1] <= '9') last--;
    if (first == dots || !*last) return 0;
    long from = atol(first), to = atol(last);
    return to < from ? 0 : (size_t)(to - from + 1);
}

/* The length scales that a wrapper with ard=yes gives to its columns. */
static lth_status declare_scales(lth_kernel *kernel, lth__node *node, const lth__expr *columns,
                                 lth_error *err) {
    int ard = 0;
    if (node->outer) LTH_TRY(lth__node_choice(node->outer, "ard", 0, &ard, err));
    if (!ard) return LTH_OK;
    size_t count = count_columns(columns);
    if (count == 0 || count > 100000) {
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, columns->column,
                            "\"%s\" is not a range of numbered columns such as f1..f17",
                            columns->name);
    }
    return lth__node_param_of(kernel, node, node->outer, "lengthscale", count, 1, err);
}

static lth_status configure(lth_kernel *kernel, lth__node *node, const lth__expr *columns,
                            const lth__field_type *type, lth_error *err) {
    lth__field_def field = {.column = columns->name, .type = type};
    LTH_TRY(lth__kernel_field(kernel, &field, &node->field, err));
    return declare_scales(kernel, node, columns, err);
}

lth_status lth__columns_configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    return configure(kernel, node, node->expr, &lth__field_numbers, err);
}

static lth_status configure_scale(lth_kernel *kernel, lth__node *node, lth_error *err) {
    return configure(kernel, node, node->expr->inputs[0], &lth__field_scaled, err);
}

#define DENSE_FUNCTIONS                                                                            \
    .release = release, .diagonal = diagonal, .tile = tile_values, .pull = pull,                   \
    .memo_planes = memo_planes, .device_tile = device_tile, .device_pull = device_pull
#define COLUMN_FUNCTIONS                                                                           \
    .rule = LTH__RULE_COLUMNS, .prepare = prepare_columns, .attribute = attribute_numbers,         \
    DENSE_FUNCTIONS

const lth__family lth__family_columns = {
    .manual = {.name = "columns", .help = "number columns", .kind = LTH_FAMILY_MAP},
    COLUMN_FUNCTIONS,
};

const lth__family lth__family_scale = {
    .manual = {.name = "scale",
               .help =
                   "feature map: number columns, each with mean 0 and standard deviation 1 over "
                   "the training rows; as a kernel, their inner product",
               .usage = "scale(COLUMNS), as in rbf(scale(f1..f17))",
               .kind = LTH_FAMILY_MAP},
    .traits = LTH__TAKES_COLUMN | LTH__TAKES_RANGE,
    .configure = configure_scale,
    COLUMN_FUNCTIONS,
};

/* ---- mean ---- */

static const lth_argument mean_arguments[] = {
    {.name = "units",
     .help = "what a text is cut into",
     .initial = "words",
     .choices = "words|tokens"},
    {.name = "lower", .help = "lower-case the text first", .initial = "yes", .choices = "no|yes"},
    {0},
};

static lth_status configure_mean(lth_kernel *kernel, lth__node *node, lth_error *err) {
    int units, lower;
    LTH_TRY(lth__node_choice(node, "units", LTH__WORDS, &units, err));
    LTH_TRY(lth__node_choice(node, "lower", 1, &lower, err));
    lth__field_def field = {.column = node->expr->inputs[0]->name,
                            .type = &lth__field_text,
                            .units = units,
                            .lower = lower,
                            .vectors = true};
    return lth__kernel_field(kernel, &field, &node->field, err);
}

const lth__family lth__family_mean = {
    .manual = {.name = "mean",
               .help = "feature map: the mean of a text's word vectors; as a kernel, their inner "
                       "product",
               .usage = "mean(COLUMN), as in rbf(mean(text))",
               .arguments = mean_arguments,
               .kind = LTH_FAMILY_MAP},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure_mean,
    .prepare = prepare_mean,
    .attribute = attribute_words,
    DENSE_FUNCTIONS,
};
