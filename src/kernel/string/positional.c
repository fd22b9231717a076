/* Words that two texts have in common, by length or by distance. A text is kept as bits, 64 units
 * to a number: plane b has bit b of each unit's symbol. Along a diagonal, where one text is moved
 * on against the other by t, units are the same where no plane differs, and words of d + 1 units
 * are the same where those of d units are at a place and at the next one. So a pair costs a few
 * steps for 64 units at each distance within reach.
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
    LTH_TRY(lth__text_read_wild(kernel, node, &field, err));
    return lth__kernel_field(kernel, &field, &node->field, err);
}

/* ---- Texts as bits ---- */

enum { BITS = 64 };

/* A plane has a number for each 64 units, and one or two of 0 after them. */
typedef struct text {
    const uint64_t *bits; /* [plane][size]      */
    size_t length, size;  /* in units; in numbers */
} text;

typedef struct texts {
    const lth__sequences *sequences;
    uint64_t *bits;
    size_t planes;
} texts;

/* Numbers in a plane of all items before this one: at least as many as they need. */
static size_t size_before(const lth__sequences *s, size_t item) {
    return s->start ? s->start[item] / BITS + 2 * item : 0;
}

static text text_at(const texts *t, size_t item) {
    size_t length = lth__sequence_length(t->sequences, item);
    return (text){.bits = t->bits + size_before(t->sequences, item) * t->planes,
                  .length = length,
                  .size = length / BITS + 2};
}

static void write_text(const texts *t, size_t item) {
    const lth__symbol *unit = lth__sequence_symbols(t->sequences, item);
    size_t length = lth__sequence_length(t->sequences, item), size = length / BITS + 2;
    uint64_t *bits = t->bits + size_before(t->sequences, item) * t->planes;
    for (size_t i = 0; i < length; i++) {
        for (size_t b = 0; b < t->planes; b++)
            bits[b * size + i / BITS] |= (uint64_t)(unit[i] >> b & 1) << i % BITS;
    }
}

static lth_status write_texts(const lth__sequences *s, size_t planes, texts *out, lth_error *err) {
    size_t numbers = size_before(s, s->count) * planes + 1;
    *out = (texts){.sequences = s, .planes = planes};
    out->bits = lth__calloc(numbers, sizeof *out->bits);
    if (!out->bits) return lth__fail_memory(err, numbers * sizeof *out->bits);
    for (size_t i = 0; i < s->count; i++) write_text(out, i);
    return LTH_OK;
}

/* All bits that some symbol has. */
static lth__symbol all_bits(const lth__sequences *s) {
    lth__symbol all = 0;
    for (size_t i = 0; s->start && i < s->start[s->count]; i++) all |= s->symbols[i];
    return all;
}

/* ---- State ---- */

typedef struct state {
    texts rows, cols; /* the same bits where items are the same */
    size_t counts;    /* of a pair                              */
    double *weight;   /* of each count                          */
    double *slope;    /* [parameter of the node][count]         */
} state;

void lth__positional_release(void *p) {
    state *s = p;
    if (!s) return;
    if (s->cols.bits != s->rows.bits) lth__free(s->cols.bits);
    lth__free(s->rows.bits);
    lth__free(s->weight);
    lth__free(s);
}

static lth_status read_texts(const lth__node *node, const lth__eval *eval, state *s,
                             lth_error *err) {
    const lth__sequences *rows = &eval->rows->fields[node->field];
    const lth__sequences *cols = &eval->cols->fields[node->field];
    size_t planes = 0;
    for (lth__symbol all = all_bits(rows) | all_bits(cols); all > 0; all >>= 1) planes++;
    LTH_TRY(write_texts(rows, planes, &s->rows, err));
    s->cols = s->rows;
    if (rows == cols) return LTH_OK;
    s->cols.bits = NULL;
    return write_texts(cols, planes, &s->cols, err);
}

/* Distances from 0 on, or lengths. */
static size_t count_counts(const lth__node *node, const lth__eval *eval) {
    const lth__positional *c = node->config;
    size_t m = eval->rows->fields[node->field].longest;
    size_t n = eval->cols->fields[node->field].longest, most = m > n ? m : n;
    if (!c->by_distance) return c->longest;
    return most > c->shortest ? most - c->shortest + 1 : 1;
}

static lth_status make_state(const lth__node *node, const lth__eval *eval,
                             lth__positional_weigh_fn *weigh, state *s, lth_error *err) {
    s->counts = count_counts(node, eval);
    size_t numbers = s->counts * (1 + node->param_count);
    s->weight = lth__calloc(numbers, sizeof *s->weight);
    if (!s->weight) return lth__fail_memory(err, numbers * sizeof *s->weight);
    s->slope = s->weight + s->counts;
    weigh(node, eval, s->counts, s->weight, s->slope);
    return read_texts(node, eval, s, err);
}

lth_status lth__positional_prepare(const lth__node *node, const lth__eval *eval,
                                   lth__positional_weigh_fn *weigh, void **out, lth_error *err) {
    state *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    lth_status status = make_state(node, eval, weigh, s, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth__positional_release(s);
    return status;
}

/* ---- Diagonals ---- */

/* Two texts, the first of which is moved on by `distance`. */
typedef struct diagonal {
    text x, y;
    size_t length, distance;
} diagonal;

static diagonal diagonal_of(text x, text y, size_t distance) {
    size_t rest = x.length > distance ? x.length - distance : 0;
    return (diagonal){
        .x = x, .y = y, .length = rest < y.length ? rest : y.length, .distance = distance};
}

/* Whether a word fits in at that distance. */
static bool is_within_reach(const lth__positional *c, text x, text y, size_t distance) {
    size_t most = x.length > y.length ? x.length : y.length;
    return most >= c->shortest && distance <= most - c->shortest && distance <= c->reach;
}

static size_t count_at(const lth__positional *c, size_t distance, size_t length) {
    return c->by_distance ? distance : length - 1;
}

static double times_at(const lth__positional *c, size_t distance) {
    return c->by_distance ? 1 : (double)(c->reach + 1 - distance);
}

/* ---- Words that are the same along a diagonal: bit i = those that begin at its i-th units ---- */

typedef struct matches {
    uint64_t *bits; /* and one more, which is 0 */
    size_t count;   /* of such numbers          */
    size_t planes;  /* of the texts             */
    lth__pace pace; /* of such numbers          */
    bool canceled;  /* counts mean nothing      */
} matches;

enum { NUMBERS_TO_ASK = 1 << 16 }; /* from one question whether to go on to the next */

static bool open_matches(matches *m, const lth__node *node, const lth__eval *eval) {
    size_t rows = eval->rows->fields[node->field].longest;
    size_t cols = eval->cols->fields[node->field].longest, most = rows > cols ? rows : cols;
    const state *s = eval->state[node->index];
    *m = (matches){.bits = lth__alloc(most / BITS + 2, sizeof *m->bits),
                   .planes = s->rows.planes,
                   .pace = {.ctx = eval->ctx, .most = NUMBERS_TO_ASK}};
    return m->bits != NULL;
}

/* The 64 bits from `at` on. */
static uint64_t bits_from(const uint64_t *plane, size_t at) {
    const uint64_t *first = plane + at / BITS;
    size_t off = at % BITS;
    return off == 0 ? first[0] : first[0] >> off | first[1] << (BITS - off);
}

static void match_units(const diagonal *d, matches *m) {
    m->count = 0;
    for (size_t at = 0; at < d->length; at += BITS) {
        size_t rest = d->length - at;
        uint64_t differ = rest < BITS ? UINT64_MAX << rest : 0;
        for (size_t b = 0; b < m->planes; b++)
            differ |= bits_from(d->x.bits + b * d->x.size, at + d->distance) ^
                      d->y.bits[b * d->y.size + at / BITS];
        m->bits[m->count++] = ~differ;
    }
    m->bits[m->count] = 0;
}

/* From words of some length to those with a unit more; false = there are none. */
static bool lengthen(matches *m) {
    uint64_t any = 0;
    for (size_t i = 0; i < m->count; i++) {
        m->bits[i] &= m->bits[i] >> 1 | m->bits[i + 1] << (BITS - 1);
        any |= m->bits[i];
    }
    return any != 0;
}

/* Before a diagonal whose texts have so many units. */
static bool goes_on(matches *m, size_t units) {
    m->canceled |= !lth__goes_on(&m->pace, units / BITS + 1);
    return !m->canceled;
}

static size_t count_words(const matches *m) {
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) count += (size_t)__builtin_popcountll(m->bits[i]);
    return count;
}

/* ---- Counts ---- */

static void count_along(const lth__positional *c, diagonal d, matches *m, double *count,
                        size_t stride) {
    double times = times_at(c, d.distance);
    match_units(&d, m);
    for (size_t n = 1; n <= c->longest; n++) {
        if (n >= c->shortest && n <= d.length)
            count[count_at(c, d.distance, n) * stride] += times * (double)count_words(m);
        if (!lengthen(m)) break;
    }
}

/* Adds to count[c * stride]. */
static void count_pair(const lth__positional *c, text x, text y, matches *m, double *count,
                       size_t stride) {
    for (size_t t = 0; is_within_reach(c, x, y, t) && goes_on(m, x.length); t++) {
        count_along(c, diagonal_of(x, y, t), m, count, stride);
        if (t > 0) count_along(c, diagonal_of(y, x, t), m, count, stride);
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
    matches matches;
} counting;

static lth_status open_counting(counting *k, const lth__node *node, const lth__eval *eval,
                                const lth__tile *tile, lth_error *err) {
    const state *s = eval->state[node->index];
    const lth__memo *memo = eval->memo ? &eval->memo[node->index] : NULL;
    *k = (counting){.node = node, .eval = eval, .tile = tile, .counts = s->counts};
    if (!open_matches(&k->matches, node, eval)) return lth__fail_memory(err, 0);
    if (memo && memo->planes) {
        k->kept = memo->planes + tile->first_pair * memo->plane_count;
        k->key = memo->key + tile->index * LTH__MEMO_KEYS;
        k->stride = tile->rows * tile->cols;
        return LTH_OK;
    }
    k->stride = tile->cols;
    k->row = lth__alloc(s->counts * tile->cols, sizeof *k->row);
    if (k->row) return LTH_OK;
    lth__free(k->matches.bits);
    return lth__fail_memory(err, s->counts * tile->cols * sizeof *k->row);
}

/* All rows were asked for, or something failed. */
static void close_counting(counting *k, lth_status status) {
    if (k->key && status == LTH_OK) *k->key = 0;
    lth__free(k->row);
    lth__free(k->matches.bits);
}

/* count[c * stride + col]; NULL when the caller is asked to stop. */
static const double *count_row(counting *k, size_t row) {
    const lth__tile *tile = k->tile;
    double *count = k->kept ? k->kept + row * tile->cols : k->row;
    if (k->kept && !isnan(*k->key)) return count;
    if (lth__parallel_ask(k->eval->ctx) != LTH_OK) return NULL;
    const state *s = k->eval->state[k->node->index];
    text x = text_at(&s->rows, tile->row[row]);
    for (size_t c = 0; c < k->counts; c++)
        memset(count + c * k->stride, 0, tile->cols * sizeof *count);
    for (size_t j = 0; j < tile->cols; j++) {
        text y = text_at(&s->cols, tile->col[j]);
        count_pair(k->node->config, x, y, &k->matches, count + j, k->stride);
    }
    return k->matches.canceled ? NULL : count;
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

static lth_status pull_rows(counting *k, const double *W, double *K, double *total,
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

static void compare_with_itself(const diagonal_job *job, size_t i, matches *m, double *count) {
    const lth__node *node = job->node;
    const state *s = job->eval->state[node->index];
    text x = text_at(job->items == job->eval->rows ? &s->rows : &s->cols, i);
    memset(count, 0, s->counts * sizeof *count);
    count_pair(node->config, x, x, m, count, 1);
    add_up(s->weight, s->counts, count, 1, 1, &job->a[i]);
    for (size_t p = 0; job->slope && p < node->param_count; p++)
        job->slope[(node->first_param + p) * job->items->count + i] =
            dot(s->slope + p * s->counts, count, s->counts);
}

static lth_status fill_diagonal(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const diagonal_job *job = user;
    const state *s = job->eval->state[job->node->index];
    size_t first = index * ITEMS_TO_A_JOB, last = first + ITEMS_TO_A_JOB;
    if (last > job->items->count) last = job->items->count;
    matches m;
    double *count = lth__alloc(s->counts, sizeof *count);
    lth_status status = open_matches(&m, job->node, job->eval) && count
                            ? LTH_OK
                            : lth__fail_memory(err, s->counts * sizeof *count);
    for (size_t i = first; i < last && status == LTH_OK; i++) {
        status = lth__parallel_ask(job->eval->ctx);
        if (status == LTH_OK) compare_with_itself(job, i, &m, count);
        if (m.canceled) status = LTH_ECANCELED;
    }
    lth__free(m.bits);
    lth__free(count);
    return status;
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
static void share_along(const lth__positional *c, const state *s, diagonal d, double W, matches *m,
                        double *share) {
    match_units(&d, m);
    for (size_t n = 1; n <= c->longest && n <= d.length; n++) {
        bool counts = n >= c->shortest;
        double whole = counts ? s->weight[count_at(c, d.distance, n)] * times_at(c, d.distance) : 0;
        double part = W * whole / (double)n;
        for (size_t at = 0; counts && at < d.length; at++) {
            bool same = m->bits[at / BITS] >> at % BITS & 1;
            for (size_t i = at; same && i < at + n; i++) share[i] += part;
        }
        if (!lengthen(m)) break;
    }
}

static void share_pair(const lth__positional *c, const state *s, text x, text y, double W,
                       matches *m, double *share) {
    for (size_t t = 0; is_within_reach(c, x, y, t) && goes_on(m, x.length); t++) {
        if (t < x.length) share_along(c, s, diagonal_of(x, y, t), W, m, share + t);
        if (t > 0) share_along(c, s, diagonal_of(y, x, t), W, m, share);
    }
}

lth_status lth__positional_attribute(const lth__node *node, const lth__eval *eval,
                                     const lth__tile *tile, const double *W, double *share,
                                     lth_error *err) {
    const state *s = eval->state[node->index];
    text x = text_at(&s->rows, *tile->row);
    lth_status status = LTH_OK;
    matches m;
    if (!open_matches(&m, node, eval)) return lth__fail_memory(err, 0);
    for (size_t j = 0; j < tile->cols && status == LTH_OK; j++) {
        text y = text_at(&s->cols, tile->col[j]);
        status = lth__parallel_ask(eval->ctx);
        if (status == LTH_OK) share_pair(node->config, s, x, y, W[j], &m, share);
        if (m.canceled) status = LTH_ECANCELED;
    }
    lth__free(m.bits);
    return status;
}
