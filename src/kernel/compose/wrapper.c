#include "kernel/compose/wrapper.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "kernel/device/device_eval.h"

/* Self-similarities of the inner kernel on one side. */
typedef struct side {
    double *self;  /* k_aa                                        */
    double *slope; /* [parameter][item]: d k_aa / dtheta; or NULL */
    size_t count;
} side;

typedef struct state {
    const lth__wrapper *wrapper;
    const lth__wrapper_config *config;
    double theta[LTH__WRAPPER_PARAMS];
    bool symmetric, borrowed; /* borrowed: the columns' */
    side rows, cols;          /* the same pointers when the matrix is symmetric */
} state;

/* ---- Parameters ---- */

static lth_status check_ard(const lth__node *node, lth_error *err) {
    const lth__expr *input = node->expr->inputs[0];
    const lth__family *family =
        input->kind == LTH__EXPR_CALL ? lth__family_find(input->name) : NULL;
    if (input->kind == LTH__EXPR_COLUMN) return LTH_OK;
    if (family && family->rule == LTH__RULE_COLUMNS) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, input->column,
                        "ard=yes needs number columns, such as %s(f1..f17, ard=yes)",
                        node->family->manual.name);
}

static lth_status declare(lth_kernel *kernel, lth__node *node, const lth_argument *a,
                          lth__wrapper_config *c, lth_error *err) {
    if (c->params == LTH__WRAPPER_PARAMS)
        return lth__fail(err, LTH_EUNSUPPORTED, "%s has more than %d parameters",
                         node->family->manual.name, LTH__WRAPPER_PARAMS);
    size_t *row = &c->row[c->params++];
    *row = LTH_NONE;
    /* The columns are divided by their own length scales; the common one is 1. */
    if (c->ard && a->role == LTH_ROLE_LENGTHSCALE) return LTH_OK;
    *row = node->param_count;
    double initial = 1;
    lth__parse_double(a->initial, strlen(a->initial), &initial);
    return lth__node_param(kernel, node, a->name, 0, initial, false, err);
}

lth_status lth__wrapper_configure(lth_kernel *kernel, lth__node *node, const lth__wrapper *wrapper,
                                  lth_error *err) {
    lth__wrapper_config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (lth__wrapper_config){.wrapper = wrapper};
    node->config = c;
    int ard;
    LTH_TRY(lth__node_choice(node, "ard", 0, &ard, err));
    c->ard = ard;
    if (ard) LTH_TRY(check_ard(node, err));
    for (const lth_argument *a = node->family->manual.arguments; a && a->name; a++) {
        if (a->learned) LTH_TRY(declare(kernel, node, a, c, err));
    }
    return LTH_OK;
}

/* ---- State ---- */

static void free_side(side *s) {
    lth__free(s->self);
    lth__free(s->slope);
}

/* Products of numbers so small have no digits left: such an item counts as empty. */
static const double least_self = 1e-290;

static lth_status check_self(double *self, size_t count, lth_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (fabs(self[i]) < least_self) self[i] = 0;
        if (isfinite(self[i])) continue;
        return lth__fail(
            err, LTH_ENUMERIC,
            "the self-similarity of row %zu is not finite; use f64, a lower order or a "
            "smaller gap",
            i + 1);
    }
    return LTH_OK;
}

static lth_status prepare_side(const lth__node *input, const lth__eval *eval,
                               const lth_items *items, side *out, lth_error *err) {
    size_t params = eval->kernel->param_count;
    side s = {.count = lth_items_count(items)};
    s.self = lth__alloc(s.count, sizeof *s.self);
    if (eval->gradients) s.slope = lth__calloc(params * s.count, sizeof *s.slope);
    lth_status status = LTH_OK;
    if (!s.self || (eval->gradients && !s.slope))
        status = lth__fail_memory(err, (params + 1) * s.count * sizeof *s.self);
    if (status == LTH_OK) status = lth__node_diagonal(input, eval, items, s.self, s.slope, err);
    if (status == LTH_OK) status = check_self(s.self, s.count, err);
    if (status == LTH_OK)
        *out = s;
    else
        free_side(&s);
    return status;
}

void lth__wrapper_release(void *p) {
    state *st = p;
    if (!st->borrowed) free_side(&st->cols);
    free_side(&st->rows);
    lth__free(st);
}

lth_status lth__wrapper_prepare(const lth__node *node, lth__eval *eval, void **out,
                                lth_error *err) {
    state *st = lth__calloc(1, sizeof *st);
    if (!st) return lth__fail_memory(err, sizeof *st);
    st->config = node->config;
    st->wrapper = st->config->wrapper;
    const state *kept = lth__kept_state(node, eval);
    st->symmetric = eval->rows == eval->cols;
    st->borrowed = st->symmetric || kept;
    for (size_t i = 0; i < st->config->params; i++) {
        size_t row = st->config->row[i];
        st->theta[i] = row == LTH_NONE ? 1 : lth__node_value(node, eval, row);
    }
    lth_status status = prepare_side(node->inputs[0], eval, eval->rows, &st->rows, err);
    if (status == LTH_OK && st->borrowed)
        st->cols = st->symmetric ? st->rows : kept->rows;
    else if (status == LTH_OK)
        status = prepare_side(node->inputs[0], eval, eval->cols, &st->cols, err);
    if (status == LTH_OK)
        *out = st;
    else
        lth__wrapper_release(st);
    return status;
}

const double *lth__wrapper_self_similarities(const void *p, size_t *count) {
    const state *st = p;
    *count = st->rows.count;
    return st->rows.self;
}

/* ---- Values ---- */

lth_status lth__wrapper_diagonal(const lth__node *node, const lth__eval *eval,
                                 const lth_items *items, double *a, double *slope, lth_error *err) {
    (void)err;
    const state *st = eval->state[node->index];
    const side *s = items == eval->rows ? &st->rows : &st->cols;
    size_t count = s->count, own = node->first_param;
    for (size_t i = 0; i < count; i++) {
        lth__wrapper_value x = st->wrapper->self(st->theta, s->self[i]);
        a[i] = x.value;
        if (!slope) continue;
        for (size_t p = 0; p < st->config->params; p++) {
            size_t row = st->config->row[p];
            if (row != LTH_NONE) slope[(own + row) * count + i] = x.dtheta[p];
        }
        for (size_t p = own + node->param_count; p < node->params_end; p++)
            slope[p * count + i] = x.da * s->slope[p * count + i];
    }
    return LTH_OK;
}

/* ---- Rows of a tile ---- */

/* The costly parts of a tile's pairs, kept from the values to the pull-back; or NULL. */
static double *kept_aids(const lth__node *node, const lth__eval *eval, const lth__tile *tile) {
    const lth__memo *memo = eval->memo ? &eval->memo[node->index] : NULL;
    return memo && memo->planes ? memo->planes + tile->first_pair : NULL;
}

size_t lth__wrapper_memo_planes(const lth__node *node, const lth__eval *eval) {
    const state *st = eval->state[node->index];
    return st->wrapper->has_aid && eval->rows->count <= LTH__MEMO_ROWS;
}

/* Where the row meets itself, which is not for the wrapper's loops; past the end if it does not. */
static size_t find_self(const state *st, const lth__tile *tile, size_t r) {
    size_t c = 0;
    if (!st->symmetric) return tile->cols;
    while (c < tile->cols && tile->col[c] != tile->row[r]) c++;
    return c;
}

/* Columns first .. last-1 of row r; k and aid are those of the whole tile. */
static lth__wrapper_row row_part(const state *st, const lth__tile *tile, size_t r, size_t first,
                                 size_t last, const double *b, double *k, double *aid) {
    size_t pair = r * tile->cols + first;
    return (lth__wrapper_row){.theta = st->theta,
                              .a = st->rows.self[tile->row[r]],
                              .b = b + first,
                              .k = k ? k + pair : NULL,
                              .aid = aid ? aid + pair : NULL,
                              .count = last - first};
}

static void gather_self_similarities(const state *st, const lth__tile *tile, double *b) {
    for (size_t c = 0; c < tile->cols; c++) b[c] = st->cols.self[tile->col[c]];
}

lth_status lth__wrapper_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                             double *K, lth_error *err) {
    const state *st = eval->state[node->index];
    LTH_TRY(lth__node_tile(node->inputs[0], eval, tile, K, err));
    double *b = lth__alloc(tile->cols, sizeof *b), *aid = kept_aids(node, eval, tile);
    if (!b) return lth__fail_memory(err, tile->cols * sizeof *b);
    gather_self_similarities(st, tile, b);
    for (size_t r = 0; r < tile->rows; r++) {
        size_t self = find_self(st, tile, r);
        lth__wrapper_row left = row_part(st, tile, r, 0, self, b, K, aid);
        st->wrapper->values(&left);
        if (self == tile->cols) continue;
        lth__wrapper_row right = row_part(st, tile, r, self + 1, tile->cols, b, K, aid);
        st->wrapper->values(&right);
        K[r * tile->cols + self] = st->wrapper->self(st->theta, left.a).value;
    }
    lth__free(b);
    if (aid) eval->memo[node->index].key[tile->index * LTH__MEMO_KEYS] = 0;
    return LTH_OK;
}

void lth__wrapper_combine(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                          const double *input, double *value, double *slope) {
    const state *st = eval->state[node->index];
    for (size_t pair = 0; pair < tile->rows * tile->cols; pair++) {
        double a = st->rows.self[tile->row[pair / tile->cols]];
        double b = st->cols.self[tile->col[pair % tile->cols]];
        lth__wrapper_value x = st->wrapper->at(st->theta, input[pair], a, b);
        value[pair] = x.value;
        if (slope) slope[pair] = x.dk;
    }
}

bool lth__wrapper_is_linear(const lth__node *node, const bool *varies) {
    return !varies[0] || ((const lth__wrapper_config *)node->config)->wrapper->linear;
}

/* ---- Pull-back ---- */

/* Weights that are passed on: to the inner values, and to the self-similarities. */
typedef struct weights {
    double *k, *values; /* [pair] */
    double *row, *col;  /* [item of the tile], summed over its pairs */
    double *b;          /* self-similarities of the columns */
} weights;

static void add_sums(const lth__node *node, const state *st, const lth__wrapper_sums *sums,
                     const lth__sink *sink) {
    for (size_t p = 0; p < st->config->params; p++) {
        size_t row = st->config->row[p];
        if (row != LTH_NONE) sink->sum[node->first_param + row] += sums->theta[p];
    }
}

/* An item with itself: the weight of its self-similarity is all there is. */
static void pull_self(const lth__node *node, const state *st, const lth__tile *tile, size_t r,
                      size_t c, double w, weights *out, const lth__sink *sink) {
    lth__wrapper_value x = st->wrapper->self(st->theta, st->rows.self[tile->row[r]]);
    lth__wrapper_sums sums = {.a = w * x.da};
    for (size_t p = 0; p < st->config->params; p++) sums.theta[p] = w * x.dtheta[p];
    add_sums(node, st, &sums, sink);
    out->row[r] += sums.a;
    out->k[r * tile->cols + c] = 0;
    out->values[r * tile->cols + c] = x.value;
}

static void pull_part(const lth__node *node, const state *st, const lth__tile *tile, size_t r,
                      size_t first, size_t last, const double *W, double *aid, weights *out,
                      const lth__sink *sink) {
    lth__wrapper_row part = row_part(st, tile, r, first, last, out->b, out->values, aid);
    size_t pair = r * tile->cols + first;
    lth__wrapper_sums sums = {0};
    st->wrapper->pull(&part, W + pair, out->k + pair, out->col + first, &sums);
    out->row[r] += sums.a;
    add_sums(node, st, &sums, sink);
}

static void pull_rows(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                      const double *W, weights *out, const lth__sink *sink) {
    const state *st = eval->state[node->index];
    double *aid = kept_aids(node, eval, tile);
    if (aid && isnan(eval->memo[node->index].key[tile->index * LTH__MEMO_KEYS])) aid = NULL;
    for (size_t r = 0; r < tile->rows; r++) {
        size_t self = find_self(st, tile, r);
        pull_part(node, st, tile, r, 0, self, W, aid, out, sink);
        if (self == tile->cols) continue;
        pull_self(node, st, tile, r, self, W[r * tile->cols + self], out, sink);
        pull_part(node, st, tile, r, self + 1, tile->cols, W, aid, out, sink);
    }
}

/* One pair for whole matrices of derivatives. */
static void pull_pair(const lth__node *node, const state *st, const lth__tile *tile, size_t r,
                      size_t c, double w, weights *out, const lth__sink *sink) {
    size_t pair = r * tile->cols + c, row = tile->row[r], col = tile->col[c];
    bool self = st->symmetric && row == col;
    double a = st->rows.self[row], b = st->cols.self[col];
    lth__wrapper_value x = self ? st->wrapper->self(st->theta, a)
                                : st->wrapper->at(st->theta, out->values[pair], a, b);
    double da = w * x.da, db = self ? 0 : w * x.db;
    out->k[pair] = self ? 0 : w * x.dk;
    out->values[pair] = x.value;
    for (size_t p = 0; p < st->config->params; p++) {
        size_t row_of = st->config->row[p];
        if (row_of != LTH_NONE)
            lth__sink_add(sink, node->first_param + row_of, pair, w * x.dtheta[p]);
    }
    for (size_t p = node->first_param + node->param_count; p < node->params_end; p++) {
        double slope = da * st->rows.slope[p * st->rows.count + row] +
                       db * st->cols.slope[p * st->cols.count + col];
        lth__sink_add(sink, p, pair, slope);
    }
}

/* Sums over the tile: the weights of each item meet its slopes once. */
static void pull_sides(const lth__node *node, const state *st, const lth__tile *tile,
                       const weights *w, const lth__sink *sink) {
    for (size_t p = node->first_param + node->param_count; p < node->params_end; p++) {
        double sum = 0;
        for (size_t r = 0; r < tile->rows; r++)
            sum += w->row[r] * st->rows.slope[p * st->rows.count + tile->row[r]];
        for (size_t c = 0; c < tile->cols; c++)
            sum += w->col[c] * st->cols.slope[p * st->cols.count + tile->col[c]];
        sink->sum[p] += sum;
    }
}

/* Weights of the inner values where they do not depend on these. */
static void weigh_linear(const state *st, const lth__tile *tile, const double *W, const double *b,
                         double *out) {
    for (size_t r = 0; r < tile->rows; r++) {
        size_t self = find_self(st, tile, r), first = r * tile->cols;
        lth__wrapper_row row = row_part(st, tile, r, 0, tile->cols, b, NULL, NULL);
        st->wrapper->weigh(&row, W + first, out + first);
        if (self < tile->cols) out[first + self] = 0;
    }
}

static lth_status pull_with(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, weights *w, const lth__sink *sink, lth_error *err) {
    const state *st = eval->state[node->index];
    const lth__node *input = node->inputs[0];
    gather_self_similarities(st, tile, w->b);
    if (st->wrapper->linear) { /* one pass gives inner values and pull-back together */
        weigh_linear(st, tile, W, w->b, w->k);
        LTH_TRY(lth__node_pull(input, eval, tile, w->k, w->values, sink, err));
    } else {
        LTH_TRY(lth__node_tile(input, eval, tile, w->values, err));
    }
    if (sink->sum) pull_rows(node, eval, tile, W, w, sink);
    for (size_t r = 0; !sink->sum && r < tile->rows; r++) {
        for (size_t c = 0; c < tile->cols; c++)
            pull_pair(node, st, tile, r, c, W[r * tile->cols + c], w, sink);
    }
    if (!st->wrapper->linear) LTH_TRY(lth__node_pull(input, eval, tile, w->k, NULL, sink, err));
    if (sink->sum) pull_sides(node, st, tile, w, sink);
    return LTH_OK;
}

lth_status lth__wrapper_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                             const double *W, double *K, const lth__sink *sink, lth_error *err) {
    size_t rows = tile->rows, cols = tile->cols, pairs = rows * cols;
    size_t need = 2 * pairs + rows + 2 * cols;
    weights w = {.k = lth__alloc(need, sizeof *w.k)};
    if (!w.k) return lth__fail_memory(err, need * sizeof *w.k);
    w.values = w.k + pairs;
    w.row = w.values + pairs;
    w.col = w.row + rows;
    w.b = w.col + cols;
    memset(w.row, 0, (rows + cols) * sizeof *w.row);
    lth_status status = pull_with(node, eval, tile, W, &w, sink, err);
    if (status == LTH_OK && K) memcpy(K, w.values, pairs * sizeof *K);
    lth__free(w.k);
    return status;
}

/* ---- On a device ---- */

bool lth__wrapper_device_able(const lth__node *node, const lth__eval *eval) {
    (void)eval;
    return ((const lth__wrapper_config *)node->config)->wrapper->form != LTH__FORM_NONE;
}

static lth__device_wrapper wrapper_of(const state *st, const lth__panel *panel) {
    lth__device_wrapper w = {.form = (int)st->wrapper->form,
                             .a = st->rows.self + panel->first_row,
                             .b = st->cols.self + panel->first_col,
                             .panel = *panel};
    memcpy(w.theta, st->theta, sizeof st->theta);
    return w;
}

lth_status lth__wrapper_device_tile(const lth__node *node, lth__device_eval *e,
                                    const lth__panel *panel, double *K, lth_error *err) {
    const state *st = e->eval->state[node->index];
    lth__device_wrapper w = wrapper_of(st, panel);
    LTH_TRY(lth__device_tile(node->inputs[0], e, panel, K, err));
    return e->t->wrap(e->d, &w, K, panel->cols, err);
}

/* The weights of the self-similarities meet their slopes. */
static void pull_self_similarities(const lth__node *node, const state *st, const lth__panel *panel,
                                   const double *row, const double *col, double *grad) {
    for (size_t p = node->first_param + node->param_count; p < node->params_end; p++) {
        const double *a = st->rows.slope + p * st->rows.count + panel->first_row;
        const double *b = st->cols.slope + p * st->cols.count + panel->first_col;
        for (size_t r = 0; r < panel->rows; r++) grad[p] += row[r] * a[r];
        for (size_t c = 0; c < panel->cols; c++) grad[p] += col[c] * b[c];
    }
}

static lth_status pull_on_device(const lth__node *node, lth__device_eval *e,
                                 const lth__panel *panel, double *W, double *K, double *sides,
                                 double *grad, lth_error *err) {
    const state *st = e->eval->state[node->index];
    lth__device_wrapper w = wrapper_of(st, panel);
    double theta[LTH__DEVICE_THETA], *row = sides, *col = sides + panel->rows;
    LTH_TRY(lth__device_tile(node->inputs[0], e, panel, K, err));
    LTH_TRY(e->t->wrap_pull(e->d, &w, K, W, panel->cols, row, col, theta, err));
    for (size_t p = 0; p < st->config->params; p++) {
        if (st->config->row[p] != LTH_NONE)
            grad[node->first_param + st->config->row[p]] += theta[p];
    }
    pull_self_similarities(node, st, panel, row, col, grad);
    return lth__device_pull(node->inputs[0], e, panel, W, NULL, grad, err);
}

lth_status lth__wrapper_device_pull(const lth__node *node, lth__device_eval *e,
                                    const lth__panel *panel, double *W, double *K, double *grad,
                                    lth_error *err) {
    double *values = K, *sides = lth__alloc(panel->rows + panel->cols, sizeof *sides);
    lth_status status = sides ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK && !K)
        status = lth__device_matrix(e, panel->rows * panel->cols, &values, err);
    if (status == LTH_OK) status = pull_on_device(node, e, panel, W, values, sides, grad, err);
    if (!K) lth__device_drop(e, values);
    lth__free(sides);
    return status;
}

/* ---- A start for learning ---- */

/* The mean of d^2 over a sample of pairs. */
static lth_status mean_distance(const lth__node *node, const lth__eval *eval, const state *st,
                                double *out, lth_error *err) {
    enum { SAMPLE = 200 };
    lth__random random;
    lth__random_seed(&random, 1);
    double sum = 0;
    for (size_t n = 0; n < SAMPLE; n++) {
        uint32_t i = (uint32_t)lth__random_below(&random, st->rows.count);
        uint32_t j = (uint32_t)lth__random_below(&random, st->rows.count);
        lth__tile tile = {.row = &i, .col = &j, .rows = 1, .cols = 1};
        double k = 0;
        LTH_TRY(lth__node_tile(node->inputs[0], eval, &tile, &k, err));
        double d2 = st->rows.self[i] + st->rows.self[j] - 2 * k;
        sum += d2 > 0 ? d2 : 0;
    }
    *out = sum / SAMPLE;
    return LTH_OK;
}

/* The place of the node's parameter with this role, or LTH_NONE. */
static size_t find_role(const lth__node *node, const lth__eval *eval, lth_role role) {
    for (size_t i = 0; i < node->param_count; i++) {
        if (eval->kernel->params[node->first_param + i].argument->role == role) return i;
    }
    return LTH_NONE;
}

/* Variance so that k(x,x) is the scale; length scale of about the typical distance. */
lth_status lth__wrapper_guess(const lth__node *node, const lth__eval *eval, double scale,
                              double *value, lth_error *err) {
    const state *st = eval->state[node->index];
    size_t variance = find_role(node, eval, LTH_ROLE_VARIANCE);
    size_t lengthscale = find_role(node, eval, LTH_ROLE_LENGTHSCALE);
    double unit[LTH__WRAPPER_PARAMS] = {1, 1, 1}, self = 0, d2 = 0;
    for (size_t i = 0; i < st->rows.count; i++)
        self += st->wrapper->self(unit, st->rows.self[i]).value / (double)st->rows.count;
    if (variance != LTH_NONE && self > 0 && isfinite(self)) value[variance] = scale / self;
    if (lengthscale == LTH_NONE) return LTH_OK;
    LTH_TRY(mean_distance(node, eval, st, &d2, err));
    if (d2 > 0) value[lengthscale] = sqrt(d2);
    return LTH_OK;
}
