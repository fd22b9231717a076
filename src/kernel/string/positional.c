/* Words that two texts have in common, by length or by distance. Along a diagonal, where y is moved
 * on against x by t, units that are the same make runs, and a run of r units has r - d + 1 words of
 * length d. So a pair costs a look at each pair of units within reach, and a step for each word
 * length of a run.
 */
#include "kernel/string/positional.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "data/units.h"
#include "kernel/core/field.h"

lth_status lth__positional_field(lth_kernel *kernel, lth__node *node, lth_error *err) {
    int units, lower;
    LTH_TRY(lth__node_choice(node, "units", LTH__CHARS, &units, err));
    bool lowers = units == LTH__WORDS || units == LTH__TOKENS;
    LTH_TRY(lth__node_choice(node, "lower", lowers, &lower, err));
    lth__field_def field = {.column = node->expr->inputs[0]->name,
                            .type = &lth__field_text,
                            .units = units,
                            .lower = lower};
    return lth__kernel_field(kernel, &field, &node->field, err);
}

/* ---- State ---- */

typedef struct state {
    size_t counts;  /* of a pair                          */
    double *weight; /* of each count                      */
    double *slope;  /* [parameter of the node][count]     */
} state;

void lth__positional_release(void *p) {
    state *s = p;
    if (!s) return;
    lth__free(s->weight);
    lth__free(s);
}

/* Distances from 0 on, or lengths. */
static size_t count_counts(const lth__node *node, const lth__eval *eval) {
    const lth__positional *c = node->config;
    size_t m = eval->rows->fields[node->field].longest;
    size_t n = eval->cols->fields[node->field].longest, most = m > n ? m : n;
    if (!c->by_distance) return c->longest;
    return most > c->shortest ? most - c->shortest + 1 : 1;
}

lth_status lth__positional_prepare(const lth__node *node, const lth__eval *eval,
                                   lth__positional_weigh_fn *weigh, void **out, lth_error *err) {
    size_t counts = count_counts(node, eval), numbers = counts * (1 + node->param_count);
    state *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    s->weight = lth__calloc(numbers, sizeof *s->weight);
    if (!s->weight) {
        lth__positional_release(s);
        return lth__fail_memory(err, numbers * sizeof *s->weight);
    }
    s->counts = counts;
    s->slope = s->weight + counts;
    weigh(node, eval, counts, s->weight, s->slope);
    *out = s;
    return LTH_OK;
}

/* ---- Runs ---- */

typedef struct text {
    const lth__symbol *unit;
    size_t length;
} text;

static text text_at(const lth__sequences *s, size_t item) {
    size_t length = lth__sequence_length(s, item);
    return (text){.unit = length > 0 ? lth__sequence_symbols(s, item) : NULL, .length = length};
}

/* Two texts, the first of which is moved on by `distance`. */
typedef struct diagonal {
    const lth__symbol *x, *y;
    size_t length, distance;
} diagonal;

static diagonal diagonal_of(text x, text y, size_t distance) {
    size_t rest = x.length > distance ? x.length - distance : 0;
    return (diagonal){.x = rest > 0 ? x.unit + distance : NULL,
                      .y = y.unit,
                      .length = rest < y.length ? rest : y.length,
                      .distance = distance};
}

/* Of units that are the same: moves *at on to the next and returns its length; 0 = there is none.
 */
static size_t next_run(const diagonal *d, size_t *at) {
    size_t i = *at;
    while (i < d->length && d->x[i] != d->y[i]) i++;
    *at = i;
    while (i < d->length && d->x[i] == d->y[i]) i++;
    return i - *at;
}

static bool is_within_reach(const lth__positional *c, text x, text y, size_t distance) {
    return (distance < x.length || distance < y.length) && distance <= c->reach;
}

static size_t count_at(const lth__positional *c, size_t distance, size_t length) {
    return c->by_distance ? distance : length - 1;
}

static double times_at(const lth__positional *c, size_t distance) {
    return c->by_distance ? 1 : (double)(c->reach + 1 - distance);
}

/* ---- Counts ---- */

static void count_along(const lth__positional *c, diagonal d, double *count, size_t stride) {
    double times = times_at(c, d.distance);
    for (size_t at = 0, run; (run = next_run(&d, &at)) > 0; at += run) {
        for (size_t n = c->shortest; n <= c->longest && n <= run; n++)
            count[count_at(c, d.distance, n) * stride] += times * (double)(run - n + 1);
    }
}

/* Adds to count[c * stride]. */
static void count_pair(const lth__positional *c, text x, text y, double *count, size_t stride) {
    for (size_t t = 0; is_within_reach(c, x, y, t); t++) {
        count_along(c, diagonal_of(x, y, t), count, stride);
        if (t > 0) count_along(c, diagonal_of(y, x, t), count, stride);
    }
}

/* The counts of a tile, a row of it at a time: from the memo, or made in its place. */
typedef struct counting {
    const lth__node *node;
    const lth__eval *eval;
    const lth__tile *tile;
    size_t counts, stride;
    double *kept, *key; /* NULL = nothing is kept         */
    double *row;        /* else: the row at hand          */
} counting;

static lth_status open_counting(counting *k, const lth__node *node, const lth__eval *eval,
                                const lth__tile *tile, lth_error *err) {
    const state *s = eval->state[node->index];
    const lth__memo *memo = eval->memo ? &eval->memo[node->index] : NULL;
    *k = (counting){.node = node, .eval = eval, .tile = tile, .counts = s->counts};
    if (memo && memo->planes) {
        k->kept = memo->planes + tile->first_pair * memo->plane_count;
        k->key = memo->key + tile->index * LTH__MEMO_KEYS;
        k->stride = tile->rows * tile->cols;
        return LTH_OK;
    }
    k->stride = tile->cols;
    k->row = lth__alloc(s->counts * tile->cols, sizeof *k->row);
    return k->row ? LTH_OK : lth__fail_memory(err, s->counts * tile->cols * sizeof *k->row);
}

/* All rows were asked for, or something failed. */
static void close_counting(counting *k, lth_status status) {
    if (k->key && status == LTH_OK) *k->key = 0;
    lth__free(k->row);
}

/* count[c * stride + col]; NULL when the caller is asked to stop. */
static const double *count_row(const counting *k, size_t row) {
    const lth__tile *tile = k->tile;
    double *count = k->kept ? k->kept + row * tile->cols : k->row;
    if (k->kept && !isnan(*k->key)) return count;
    if (lth__parallel_ask(k->eval->ctx) != LTH_OK) return NULL;
    text x = text_at(&k->eval->rows->fields[k->node->field], tile->row[row]);
    for (size_t c = 0; c < k->counts; c++)
        memset(count + c * k->stride, 0, tile->cols * sizeof *count);
    for (size_t j = 0; j < tile->cols; j++) {
        text y = text_at(&k->eval->cols->fields[k->node->field], tile->col[j]);
        count_pair(k->node->config, x, y, count + j, k->stride);
    }
    return count;
}

/* Worth it where a pair has few of them. */
size_t lth__positional_memo_planes(const lth__node *node, const lth__eval *eval) {
    enum { MOST = 128 };
    const state *s = eval->state[node->index];
    bool pays = s->counts <= MOST && eval->rows->count <= LTH__MEMO_ROWS;
    return pays ? s->counts : 0;
}

/* ---- Values and derivatives ---- */

/* out[j] = sum_c by[c] count[c * stride + j] */
static void add_up(const double *by, size_t counts, const double *count, size_t stride,
                   size_t width, double *out) {
    memset(out, 0, width * sizeof *out);
    for (size_t c = 0; c < counts; c++, count += stride) {
        for (size_t j = 0; by[c] != 0 && j < width; j++) out[j] += by[c] * count[j];
    }
}

lth_status lth__positional_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                                double *K, lth_error *err) {
    const state *s = eval->state[node->index];
    counting k;
    LTH_TRY(open_counting(&k, node, eval, tile, err));
    lth_status status = LTH_OK;
    for (size_t i = 0; i < tile->rows && status == LTH_OK; i++) {
        const double *count = count_row(&k, i);
        if (count)
            add_up(s->weight, s->counts, count, k.stride, tile->cols, K + i * tile->cols);
        else
            status = LTH_ECANCELED;
    }
    close_counting(&k, status);
    return status;
}

/* In four interleaved sums: a fixed order that vectors can follow. */
static double dot(const double *a, const double *b, size_t count) {
    double sum[4] = {0}, rest = 0;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (size_t lane = 0; lane < 4; lane++) sum[lane] += a[i + lane] * b[i + lane];
    }
    for (; i < count; i++) rest += a[i] * b[i];
    return rest + (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* total[c] = sum over the tile of W count_c, from which all sums of derivatives come. */
static void pull_row(const counting *k, const double *count, const double *W, double *total) {
    for (size_t c = 0; c < k->counts; c++) total[c] += dot(W, count + c * k->stride, k->tile->cols);
}

/* One derivative for each pair. */
static void pull_each(const counting *k, const double *count, const double *W, size_t row,
                      const lth__sink *sink) {
    const state *s = k->eval->state[k->node->index];
    size_t cols = k->tile->cols;
    for (size_t p = 0; p < k->node->param_count; p++) {
        double *each = sink->each + (k->node->first_param + p) * sink->pairs + row * cols;
        for (size_t c = 0; c < s->counts; c++) {
            double slope = s->slope[p * s->counts + c];
            for (size_t j = 0; slope != 0 && j < cols; j++)
                each[j] += W[j] * slope * count[c * k->stride + j];
        }
    }
}

static lth_status pull_rows(const counting *k, const double *W, double *K, double *total,
                            const lth__sink *sink) {
    const state *s = k->eval->state[k->node->index];
    size_t cols = k->tile->cols;
    for (size_t i = 0; i < k->tile->rows; i++) {
        const double *count = count_row(k, i);
        if (!count) return LTH_ECANCELED;
        if (sink->each)
            pull_each(k, count, W + i * cols, i, sink);
        else
            pull_row(k, count, W + i * cols, total);
        if (K) add_up(s->weight, s->counts, count, k->stride, cols, K + i * cols);
    }
    for (size_t p = 0; sink->sum && p < k->node->param_count; p++)
        sink->sum[k->node->first_param + p] += dot(s->slope + p * s->counts, total, s->counts);
    return LTH_OK;
}

lth_status lth__positional_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                                const double *W, double *K, const lth__sink *sink, lth_error *err) {
    counting k;
    LTH_TRY(open_counting(&k, node, eval, tile, err));
    double *total = lth__calloc(k.counts, sizeof *total);
    lth_status status =
        total ? pull_rows(&k, W, K, total, sink) : lth__fail_memory(err, k.counts * sizeof *total);
    lth__free(total);
    close_counting(&k, status);
    return status;
}

/* ---- Self-similarities ---- */

enum { ITEMS_TO_A_JOB = 64 };

typedef struct diagonal_job {
    const lth__node *node;
    const lth__eval *eval;
    const lth_items *items;
    double *a, *slope;
} diagonal_job;

static lth_status fill_diagonal(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const diagonal_job *job = user;
    const lth__node *node = job->node;
    const state *s = job->eval->state[node->index];
    size_t first = index * ITEMS_TO_A_JOB, n = job->items->count, last = first + ITEMS_TO_A_JOB;
    double *count = lth__alloc(s->counts, sizeof *count);
    if (!count) return lth__fail_memory(err, s->counts * sizeof *count);
    for (size_t i = first; i < last && i < n; i++) {
        text x = text_at(&job->items->fields[node->field], i);
        memset(count, 0, s->counts * sizeof *count);
        count_pair(node->config, x, x, count, 1);
        add_up(s->weight, s->counts, count, 1, 1, &job->a[i]);
        for (size_t p = 0; job->slope && p < node->param_count; p++)
            job->slope[(node->first_param + p) * n + i] =
                dot(s->slope + p * s->counts, count, s->counts);
    }
    lth__free(count);
    return LTH_OK;
}

lth_status lth__positional_diagonal(const lth__node *node, const lth__eval *eval,
                                    const lth_items *items, double *a, double *slope,
                                    lth_error *err) {
    diagonal_job job = {.node = node, .eval = eval, .items = items, .a = a, .slope = slope};
    size_t jobs = (items->count + ITEMS_TO_A_JOB - 1) / ITEMS_TO_A_JOB;
    return lth__parallel_for(eval->ctx, "self-similarities", jobs, NULL, fill_diagonal, &job, err);
}

/* ---- Explanations: a word that is shared is due to its units alike ---- */

/* `share` is of the units at which the diagonal begins. */
static void share_along(const lth__positional *c, const state *s, diagonal d, double W,
                        double *share) {
    double times = times_at(c, d.distance);
    for (size_t at = 0, run; (run = next_run(&d, &at)) > 0; at += run) {
        for (size_t n = c->shortest; n <= c->longest && n <= run; n++) {
            double part = W * times * s->weight[count_at(c, d.distance, n)] / (double)n;
            for (size_t first = at; first + n <= at + run; first++) {
                for (size_t i = first; i < first + n; i++) share[i] += part;
            }
        }
    }
}

lth_status lth__positional_attribute(const lth__node *node, const lth__eval *eval,
                                     const lth__tile *tile, const double *W, double *share,
                                     lth_error *err) {
    (void)err;
    const lth__positional *c = node->config;
    const state *s = eval->state[node->index];
    text x = text_at(&eval->rows->fields[node->field], *tile->row);
    for (size_t j = 0; j < tile->cols; j++) {
        LTH_TRY(lth__parallel_ask(eval->ctx));
        text y = text_at(&eval->cols->fields[node->field], tile->col[j]);
        for (size_t t = 0; is_within_reach(c, x, y, t); t++) {
            if (t < x.length) share_along(c, s, diagonal_of(x, y, t), W[j], share + t);
            if (t > 0) share_along(c, s, diagonal_of(y, x, t), W[j], share);
        }
    }
    return LTH_OK;
}
