/* coregion(task): how alike tasks are, for a column that names the task of each row. Times a kernel
 * of the items it is the intrinsic model of coregionalisation (Bonilla, Chai & Williams 2008): one
 * function for each task, of which each learns from the rows of all.
 *
 *     k(t,u) = sum_{r = 1..rank} w_tr w_ur + [t = u] own_t
 *
 *     by w_tr: w_ur      by w_ur: w_tr (both, where t = u)      by own_t: [t = u]
 *
 * A pair costs `rank` products.
 */
#include <math.h>
#include <string.h>

#include "kernel/feature/task_field.h"

enum { STANDARD_RANK = 2, MOST_RANK = 8 };

typedef struct config {
    size_t rank;
    lth__names tasks;
} config;

/* Parameters: w of the first task, of the second, ..., then own. */
static size_t w_at(const config *c, size_t task, size_t r) {
    return task * c->rank + r;
}

static size_t own_at(const config *c, size_t task) {
    return c->tasks.count * c->rank + task;
}

/* ---- Where learning starts ---- */

/* From 1 at 0 down to -1 at 1 and up again: a cosine that every machine rounds alike. */
static double wave(double x) {
    x = fmod(x, 2);
    return x < 1 ? 1 - 2 * x : 2 * x - 3;
}

/* What tasks have in common is half of k(t,t). The further ranks start as small waves, each another
 * one: equal ones would stay equal, and zeros would stay zeros. */
static double start_of_w(const config *c, size_t task, size_t r, double scale) {
    static const double small = 0.3, shift = 0.29; /* so that no wave is 0 for all tasks */
    double size = sqrt(scale / 2);
    if (r == 0) return size;
    return small * size * wave((double)r * ((double)task + shift) / (double)c->tasks.count);
}

static double start_of_own(const config *c, double scale) {
    return c->rank > 0 ? scale / 2 : scale;
}

static lth_status guess(const lth__node *node, const lth__eval *eval, double scale, double *value,
                        lth_error *err) {
    (void)eval, (void)err;
    const config *c = node->config;
    for (size_t t = 0; t < c->tasks.count; t++) {
        for (size_t r = 0; r < c->rank; r++) value[w_at(c, t, r)] = start_of_w(c, t, r, scale);
        value[own_at(c, t)] = start_of_own(c, scale);
    }
    return LTH_OK;
}

/* ---- Arguments ---- */

static lth_status read_tasks(lth_kernel *kernel, lth__node *node, lth__names *out, lth_error *err) {
    static const char wish[] = "tasks of coregion is all, or a list such as [joy,fear]";
    const lth__argument *a = lth__node_argument(node, "tasks");
    const lth__value *v = a ? &a->value : NULL;
    if (!v || (v->kind == LTH__VALUE_WORD && strcmp(v->word, "all") == 0)) {
        node->open = "tasks";
        return LTH_OK;
    }
    if (v->kind != LTH__VALUE_LIST || v->count == 0)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column, "%s", wish);
    return lth__names_read(kernel, v, "task", wish, out, err);
}

/* "joy,1", "joy,2", "fear,1", ... */
static lth_status name_weights(lth_kernel *kernel, const config *c, lth__names *out,
                               lth_error *err) {
    size_t count = c->tasks.count * c->rank;
    const char **names = lth__pool_alloc(&kernel->pool, (count + 1) * sizeof *names);
    if (!names) return lth__fail_memory(err, count * sizeof *names);
    lth__string text = {0};
    for (size_t i = 0; i < count; i++) {
        text.length = 0;
        lth__string_format(&text, "%s,%zu", c->tasks.name[i / c->rank], i % c->rank + 1);
        names[i] = text.failed ? NULL : lth__pool_strndup(&kernel->pool, text.bytes, text.length);
        text.failed |= !names[i];
    }
    bool failed = text.failed;
    lth__string_free(&text);
    if (failed) return lth__fail_memory(err, 0);
    *out = (lth__names){names, count};
    return LTH_OK;
}

static lth_status declare_rows(lth_kernel *kernel, lth__node *node, const config *c,
                               lth_error *err) {
    lth__names weights = {0};
    LTH_TRY(name_weights(kernel, c, &weights, err));
    size_t count = weights.count + c->tasks.count;
    double *start = lth__pool_alloc(&kernel->pool, count * sizeof *start);
    if (!start) return lth__fail_memory(err, count * sizeof *start);
    LTH_TRY(guess(node, NULL, 1, start, err));
    LTH_TRY(lth__node_param_keyed(kernel, node, "w", weights, start, err));
    return lth__node_param_keyed(kernel, node, "own", c->tasks, start + weights.count, err);
}

/* Until the tasks are known, one row stands for those of all. */
static lth_status declare_shared(lth_kernel *kernel, lth__node *node, const config *c,
                                 lth_error *err) {
    if (c->rank > 0) LTH_TRY(lth__node_param(kernel, node, "w", 0, 1, false, err));
    return lth__node_param(kernel, node, "own", 0, 1, false, err);
}

static lth_status check_w(const lth__node *node, const config *c, lth_error *err) {
    const lth__argument *w = lth__node_argument(node, "w");
    if (c->rank > 0 || !w) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, w->column, "w goes with a rank above 0");
}

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    *c = (config){0};
    node->config = c;
    long rank;
    LTH_TRY(lth__node_integer(node, "rank", 0, MOST_RANK, STANDARD_RANK, &rank, err));
    c->rank = (size_t)rank;
    LTH_TRY(read_tasks(kernel, node, &c->tasks, err));
    LTH_TRY(check_w(node, c, err));
    lth__field_def field = {
        .column = node->expr->inputs[0]->name, .type = &lth__field_task, .tasks = c->tasks};
    LTH_TRY(lth__kernel_field(kernel, &field, &node->field, err));
    LTH_TRY(node->open ? declare_shared(kernel, node, c, err) : declare_rows(kernel, node, c, err));
    for (size_t i = 0; i < c->tasks.count * c->rank; i++)
        kernel->origins[node->first_param + i].linear = true;
    return LTH_OK;
}

/* ---- State: the values of the parameters, side by side ---- */

static void release(void *state) {
    lth__free(state);
}

static lth_status prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err) {
    double *theta = lth__alloc(node->param_count, sizeof *theta);
    if (!theta) return lth__fail_memory(err, node->param_count * sizeof *theta);
    for (size_t i = 0; i < node->param_count; i++) theta[i] = lth__node_value(node, eval, i);
    *out = theta;
    return LTH_OK;
}

/* ---- Values ---- */

static double value_at(const config *c, const double *theta, size_t t, size_t u) {
    const double *a = theta + w_at(c, t, 0), *b = theta + w_at(c, u, 0);
    double k = t == u ? theta[own_at(c, t)] : 0;
    for (size_t r = 0; r < c->rank; r++) k += a[r] * b[r];
    return k;
}

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    (void)err;
    const double *theta = eval->state[node->index];
    const lth__sequences *rows = &eval->rows->fields[node->field];
    const lth__sequences *cols = &eval->cols->fields[node->field];
    for (size_t i = 0; i < tile->rows; i++) {
        size_t t = lth__task_of(rows, tile->row[i]);
        for (size_t j = 0; j < tile->cols; j++)
            *K++ = value_at(node->config, theta, t, lth__task_of(cols, tile->col[j]));
    }
    return LTH_OK;
}

/* What W times k(t,u) at this pair owes to each parameter. */
static void pull_pair(const lth__node *node, const double *theta, size_t t, size_t u, size_t pair,
                      double W, const lth__sink *sink) {
    const config *c = node->config;
    size_t a = w_at(c, t, 0), b = w_at(c, u, 0), first = node->first_param;
    for (size_t r = 0; r < c->rank; r++) {
        lth__sink_add(sink, first + a + r, pair, W * theta[b + r]);
        lth__sink_add(sink, first + b + r, pair, W * theta[a + r]);
    }
    if (t == u) lth__sink_add(sink, first + own_at(c, t), pair, W);
}

static lth_status pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err) {
    const double *theta = eval->state[node->index];
    const lth__sequences *rows = &eval->rows->fields[node->field];
    const lth__sequences *cols = &eval->cols->fields[node->field];
    for (size_t i = 0, pair = 0; i < tile->rows; i++) {
        size_t t = lth__task_of(rows, tile->row[i]);
        for (size_t j = 0; j < tile->cols; j++, pair++)
            pull_pair(node, theta, t, lth__task_of(cols, tile->col[j]), pair, W[pair], sink);
    }
    return K ? tile_values(node, eval, tile, K, err) : LTH_OK;
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    (void)err;
    const config *c = node->config;
    const double *theta = eval->state[node->index];
    const lth__sequences *s = &items->fields[node->field];
    size_t n = s->count;
    double *own = slope ? slope + node->first_param * n : NULL;
    if (slope) memset(own, 0, node->param_count * n * sizeof *own);
    for (size_t i = 0; i < n; i++) {
        size_t t = lth__task_of(s, i), w = w_at(c, t, 0);
        a[i] = value_at(c, theta, t, t);
        for (size_t r = 0; slope && r < c->rank; r++) own[(w + r) * n + i] = 2 * theta[w + r];
        if (slope) own[own_at(c, t) * n + i] = 1;
    }
    return LTH_OK;
}

/* The task is the one part of its cell. */
static lth_status attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, double *share, lth_error *err) {
    (void)err;
    const double *theta = eval->state[node->index];
    const lth__sequences *cols = &eval->cols->fields[node->field];
    size_t t = lth__task_of(&eval->rows->fields[node->field], *tile->row);
    for (size_t j = 0; j < tile->cols; j++)
        *share += W[j] * value_at(node->config, theta, t, lth__task_of(cols, tile->col[j]));
    return LTH_OK;
}

/* ---- The family ---- */

static const lth_argument arguments[] = {
    {.name = "rank",
     .help = "numbers w for each task, by which tasks are alike; 0 = each is by itself",
     .initial = "2",
     .choices = "0..8"},
    {.name = "tasks",
     .help = "the tasks: all that the data have, or a list, as in [joy,fear]",
     .initial = "all",
     .choices = "all|[...]"},
    {.name = "w",
     .help = "what a task has of each rank, may be negative: all of the first task, then of the "
             "second, ...",
     .initial = "",
     .choices = "",
     .learned = true,
     .lo = -1e4,
     .hi = 1e4},
    {.name = "own",
     .help = "variance that a task has by itself",
     .initial = "",
     .choices = "",
     .learned = true,
     .lo = 1e-6,
     .hi = 1e8,
     .role = LTH_ROLE_VARIANCE},
    {0},
};

const lth__family lth__family_coregion = {
    .manual = {.name = "coregion",
               .help = "how alike tasks are, for a column that names the task of each row",
               .usage =
                   "coregion(COLUMN, rank=2, ...), as in coregion(task) * normalize(ssk(text))",
               .arguments = arguments,
               .kind = LTH_FAMILY_MAP},
    .traits = LTH__TAKES_COLUMN,
    .configure = configure,
    .resolve = lth__tasks_resolve,
    .prepare = prepare,
    .release = release,
    .diagonal = diagonal,
    .tile = tile_values,
    .pull = pull,
    .guess = guess,
    .attribute = attribute,
};
