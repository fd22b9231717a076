/* The path on which what a row shares grows from nothing: the values of the leaves, the weights
 * omega that the expression above them gives to each, and the shares of the row's parts.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "model/explain/explain.h"

/* Of the integral; columns to a job: of shares, whose sums are cut by it, and of values. */
enum { POINTS = 32, CHUNK = 64, VALUES = 1024 };

/* ---- The expression ---- */

static bool is_leaf(const lth__node *node) {
    return node->family->attribute || node->field != LTH_NONE;
}

static lth_status check_node(const lth__node *node, lth_error *err) {
    if (is_leaf(node) || node->family->rule == LTH__RULE_NUMBER) return LTH_OK;
    if (!node->family->combine)
        return lth__fail(err, LTH_EUNSUPPORTED, "%s cannot be explained",
                         node->family->manual.name);
    for (size_t m = 0; m < node->input_count; m++) LTH_TRY(check_node(node->inputs[m], err));
    return LTH_OK;
}

static bool varies(const lth__node *node) {
    bool any = is_leaf(node);
    for (size_t m = 0; !any && m < node->input_count; m++) any = varies(node->inputs[m]);
    return any;
}

static bool is_linear(const lth__node *node) {
    if (is_leaf(node) || !varies(node)) return true;
    bool below[node->input_count + 1];
    for (size_t m = 0; m < node->input_count; m++) {
        if (!is_linear(node->inputs[m])) return false;
        below[m] = varies(node->inputs[m]);
    }
    return node->family->is_linear && node->family->is_linear(node, below);
}

static size_t count_leaves(const lth__node *node) {
    if (is_leaf(node)) return 1;
    size_t count = 0;
    for (size_t m = 0; m < node->input_count; m++) count += count_leaves(node->inputs[m]);
    return count;
}

static void list_leaves(const lth__node *node, lth__path *p) {
    if (is_leaf(node)) {
        size_t degrees = node->family->degrees ? node->family->degrees(node) : 1;
        p->leaves[p->leaf_count++] = (lth__leaf){.node = node, .degrees = degrees};
        return;
    }
    for (size_t m = 0; m < node->input_count; m++) list_leaves(node->inputs[m], p);
}

/* ---- Opening ---- */

static lth_status allocate_node(lth__path *p, const lth__node *node, lth_error *err) {
    size_t need = node->input_count * p->model->cols->count;
    if (is_leaf(node) || node->input_count == 0) return LTH_OK;
    p->input[node->index] = lth__alloc(need, sizeof **p->input);
    p->slope[node->index] = lth__alloc(need, sizeof **p->slope);
    if (!p->input[node->index] || !p->slope[node->index])
        return lth__fail_memory(err, 2 * need * sizeof **p->input);
    for (size_t m = 0; m < node->input_count; m++) LTH_TRY(allocate_node(p, node->inputs[m], err));
    return LTH_OK;
}

static lth_status allocate(lth__path *p, lth_error *err) {
    const lth_kernel *kernel = p->model->kernel;
    size_t n = p->model->cols->count;
    p->leaves = lth__calloc(count_leaves(kernel->root) + 1, sizeof *p->leaves);
    p->input = lth__calloc(kernel->node_count, sizeof *p->input);
    p->slope = lth__calloc(kernel->node_count, sizeof *p->slope);
    p->col = lth__alloc(n, sizeof *p->col);
    p->K = lth__calloc(n, sizeof *p->K);
    if (!p->leaves || !p->input || !p->slope || !p->col || !p->K) return lth__fail_memory(err, 0);
    list_leaves(kernel->root, p);
    for (size_t l = 0; l < p->leaf_count; l++) {
        lth__leaf *leaf = &p->leaves[l];
        leaf->value = lth__calloc(leaf->degrees * n, sizeof *leaf->value);
        leaf->omega = lth__calloc(leaf->degrees * n, sizeof *leaf->omega);
        if (!leaf->value || !leaf->omega)
            return lth__fail_memory(err, 2 * leaf->degrees * n * sizeof *leaf->value);
    }
    for (size_t a = 0; a < n; a++) p->col[a] = (uint32_t)a;
    return allocate_node(p, kernel->root, err);
}

lth_status lth__path_open(const lth__explained *model, const lth_items *rows, lth__path *p,
                          lth_error *err) {
    *p = (lth__path){.model = model,
                     .eval = {.ctx = lth__items_ctx(rows),
                              .kernel = model->kernel,
                              .rows = rows,
                              .cols = model->cols,
                              .quiet = true}};
    LTH_TRY(check_node(model->kernel->root, err));
    LTH_TRY(lth__prepared_need(model->prepared, p->eval.ctx, &p->eval.kept, err));
    p->linear = is_linear(model->kernel->root);
    LTH_TRY(allocate(p, err));
    return lth__eval_prepare(&p->eval, err);
}

void lth__path_close(lth__path *p) {
    if (!p->model) return;
    for (size_t l = 0; l < p->leaf_count; l++) {
        lth__free(p->leaves[l].value);
        lth__free(p->leaves[l].omega);
    }
    for (size_t n = 0; n < p->model->kernel->node_count; n++) {
        if (p->input) lth__free(p->input[n]);
        if (p->slope) lth__free(p->slope[n]);
    }
    void *blocks[] = {p->leaves, p->input, p->slope, p->col, p->K};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__eval_release(&p->eval);
    *p = (lth__path){0};
}

/* ---- Jobs over columns ---- */

typedef struct columns {
    const lth__path *path;
    const lth__leaf *leaf;
    uint32_t row;
    double *partial; /* [job][part] */
    size_t parts;
} columns;

static lth__tile tile_of(const columns *c, size_t job, size_t chunk) {
    size_t first = job * chunk, n = c->path->model->cols->count;
    return (lth__tile){.row = &c->row,
                       .rows = 1,
                       .col = c->path->col + first,
                       .cols = n - first < chunk ? n - first : chunk};
}

static lth_status run_columns(columns *c, size_t chunk, lth__job_fn *job, lth_error *err) {
    size_t jobs = (c->path->model->cols->count + chunk - 1) / chunk;
    return lth__parallel_for(c->path->eval.ctx, NULL, jobs, NULL, job, c, err);
}

static lth_status fill_values(void *user, size_t job, unsigned worker, lth_error *err) {
    (void)worker;
    const columns *c = user;
    const lth__leaf *leaf = c->leaf;
    const lth__family *family = leaf->node->family;
    lth__tile tile = tile_of(c, job, VALUES);
    double *K = lth__alloc(leaf->degrees * tile.cols, sizeof *K);
    if (!K) return lth__fail_memory(err, leaf->degrees * tile.cols * sizeof *K);
    lth_status status = family->tile_degrees
                            ? family->tile_degrees(leaf->node, &c->path->eval, &tile, K, err)
                            : family->tile(leaf->node, &c->path->eval, &tile, K, err);
    for (size_t p = 0; status == LTH_OK && p < leaf->degrees; p++) {
        memcpy(leaf->value + p * c->path->model->cols->count + job * VALUES, K + p * tile.cols,
               tile.cols * sizeof *K);
    }
    lth__free(K);
    return status;
}

static lth_status attribute_columns(void *user, size_t job, unsigned worker, lth_error *err) {
    (void)worker;
    const columns *c = user;
    const lth__leaf *leaf = c->leaf;
    lth__tile tile = tile_of(c, job, CHUNK);
    double *W = lth__alloc(leaf->degrees * tile.cols, sizeof *W);
    if (!W) return lth__fail_memory(err, leaf->degrees * tile.cols * sizeof *W);
    for (size_t p = 0; p < leaf->degrees; p++) {
        memcpy(W + p * tile.cols, leaf->omega + p * c->path->model->cols->count + job * CHUNK,
               tile.cols * sizeof *W);
    }
    lth_status status = leaf->node->family->attribute(leaf->node, &c->path->eval, &tile, W,
                                                      c->partial + job * c->parts, err);
    lth__free(W);
    return status;
}

/* Shares are kept for each job and added in their order: any number of threads gives the same. */
lth_status lth__path_attribute(const lth__path *p, const lth__leaf *leaf, size_t r, double *share,
                               lth_error *err) {
    if (!leaf->node->family->attribute) return lth__path_leave_out(p, leaf, r, share, err);
    size_t parts = lth__node_parts(leaf->node, p->eval.rows, r);
    size_t jobs = (p->model->cols->count + CHUNK - 1) / CHUNK;
    columns c = {.path = p, .leaf = leaf, .row = (uint32_t)r, .parts = parts};
    c.partial = lth__calloc(jobs * parts, sizeof *c.partial);
    if (!c.partial) return lth__fail_memory(err, jobs * parts * sizeof *c.partial);
    memset(share, 0, parts * sizeof *share);
    lth_status status = run_columns(&c, CHUNK, attribute_columns, err);
    for (size_t job = 0; status == LTH_OK && job < jobs; job++) {
        for (size_t i = 0; i < parts; i++) share[i] += c.partial[job * parts + i];
    }
    lth__free(c.partial);
    return status;
}

/* ---- Values along the path ---- */

/* sum_p t^p P */
static void leaf_at(const lth__leaf *leaf, double t, size_t n, double *out) {
    memset(out, 0, n * sizeof *out);
    double power = t;
    for (size_t p = 0; p < leaf->degrees; p++, power *= t) {
        for (size_t a = 0; a < n; a++) out[a] += power * leaf->value[p * n + a];
    }
}

/* Values of a node at t; leaves come in the order of list_leaves(). */
static lth_status evaluate(lth__path *p, const lth__node *node, uint32_t row, double t,
                           size_t *leaf, double *out, lth_error *err) {
    size_t n = p->model->cols->count;
    lth__tile tile = {.row = &row, .rows = 1, .col = p->col, .cols = n};
    if (is_leaf(node)) {
        leaf_at(&p->leaves[(*leaf)++], t, n, out);
        return LTH_OK;
    }
    if (!node->family->combine) return node->family->tile(node, &p->eval, &tile, out, err);
    double *input = p->input[node->index];
    for (size_t m = 0; m < node->input_count; m++)
        LTH_TRY(evaluate(p, node->inputs[m], row, t, leaf, input + m * n, err));
    node->family->combine(node, &p->eval, &tile, input, out, p->slope[node->index]);
    return LTH_OK;
}

/* From the derivatives by a node's values, in `bar`, to those by the leaves; a point of the
 * integral with this weight. */
static void pull(lth__path *p, const lth__node *node, double t, double weight, double *bar,
                 size_t *leaf) {
    size_t n = p->model->cols->count;
    if (is_leaf(node)) {
        lth__leaf *l = &p->leaves[(*leaf)++];
        double power = weight;
        for (size_t d = 0; d < l->degrees; d++, power *= t) {
            for (size_t a = 0; a < n; a++) l->omega[d * n + a] += power * (double)(d + 1) * bar[a];
        }
        return;
    }
    double *slope = p->slope[node->index];
    for (size_t m = 0; node->family->combine && m < node->input_count; m++) {
        for (size_t a = 0; a < n; a++) slope[m * n + a] *= bar[a];
        pull(p, node->inputs[m], t, weight, slope + m * n, leaf);
    }
}

static double total(const lth__path *p, const double *K) {
    double sum = 0;
    for (size_t a = 0; a < p->model->cols->count; a++) sum += p->model->w[a] * K[a];
    return p->model->bias + sum;
}

/* ---- The integral ---- */

/* Points and weights of Gauss and Legendre on [0, 1]: roots of the Legendre polynomial. */
static void gauss_legendre(double *point, double *weight) {
    for (size_t i = 0; i < POINTS; i++) {
        double x = cos(M_PI * ((double)i + 0.75) / (POINTS + 0.5)), slope = 1;
        for (int step = 0; step < 100; step++) {
            double before = 1, here = x;
            for (int k = 2; k <= POINTS; k++) {
                double next = ((2 * k - 1) * x * here - (k - 1) * before) / k;
                before = here;
                here = next;
            }
            slope = POINTS * (x * here - before) / (x * x - 1);
            double move = here / slope;
            x -= move;
            if (fabs(move) < 1e-16) break;
        }
        point[i] = (1 + x) / 2;
        weight[i] = 1 / ((1 - x * x) * slope * slope);
    }
}

static lth_status add_point(lth__path *p, uint32_t row, double t, double weight, double *K,
                            double *bar, lth_error *err) {
    size_t n = p->model->cols->count, leaf = 0;
    const lth__node *root = p->model->kernel->root;
    LTH_TRY(evaluate(p, root, row, t, &leaf, K, err));
    memcpy(bar, p->model->w, n * sizeof *bar);
    leaf = 0;
    pull(p, root, t, weight, bar, &leaf);
    return LTH_OK;
}

/* Of a linear expression every degree has the same slope, wherever it is taken. */
static lth_status integrate(lth__path *p, uint32_t row, double *room, lth_error *err) {
    size_t n = p->model->cols->count;
    for (size_t l = 0; l < p->leaf_count; l++)
        memset(p->leaves[l].omega, 0, p->leaves[l].degrees * n * sizeof(double));
    if (!p->linear) {
        double point[POINTS], weight[POINTS];
        gauss_legendre(point, weight);
        for (size_t i = 0; i < POINTS; i++)
            LTH_TRY(add_point(p, row, point[i], weight[i], room, room + n, err));
        return LTH_OK;
    }
    LTH_TRY(add_point(p, row, 1, 1, room, room + n, err));
    for (size_t l = 0; l < p->leaf_count; l++) {
        lth__leaf *leaf = &p->leaves[l];
        for (size_t d = 1; d < leaf->degrees; d++)
            memcpy(leaf->omega + d * n, leaf->omega, n * sizeof *leaf->omega);
    }
    return LTH_OK;
}

static lth_status find_values(lth__path *p, uint32_t row, lth_error *err) {
    for (size_t l = 0; l < p->leaf_count; l++) {
        columns c = {.path = p, .leaf = &p->leaves[l], .row = row};
        LTH_TRY(run_columns(&c, VALUES, fill_values, err));
    }
    return LTH_OK;
}

static lth_status find_ends(lth__path *p, uint32_t row, double *room, lth_error *err) {
    const lth__node *root = p->model->kernel->root;
    size_t leaf = 0;
    LTH_TRY(evaluate(p, root, row, 0, &leaf, room, err));
    p->f0 = total(p, room);
    leaf = 0;
    LTH_TRY(evaluate(p, root, row, 1, &leaf, p->K, err));
    p->f1 = total(p, p->K);
    if (isfinite(p->f0) && isfinite(p->f1)) return LTH_OK;
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel of this row is too large for a number; use f64, normalize(), a "
                     "lower order or a smaller gap");
}

lth_status lth__path_weigh(lth__path *p, size_t r, bool values, lth_error *err) {
    size_t n = p->model->cols->count;
    double *room = lth__alloc(2 * n, sizeof *room);
    if (!room) return lth__fail_memory(err, 2 * n * sizeof *room);
    lth_status status = LTH_OK;
    if (values || !p->linear) status = find_values(p, (uint32_t)r, err);
    if (status == LTH_OK) status = integrate(p, (uint32_t)r, room, err);
    if (status == LTH_OK && values) status = find_ends(p, (uint32_t)r, room, err);
    lth__free(room);
    return status;
}
