/* A batch of rows to measure together.
 *
 * The rows that are worth most by themselves are the shortlist, whose joint posterior is looked at.
 * Then
 *
 *   joint     draws f_s of the function at all of them; the row c that adds most to what the batch
 *             improves on average, mean_s max(f_s(c) - best_s, 0), where best_s is the best so far
 *             and of the rows taken before it. The first is taken by the formula, without draws;
 *             once no draw improves any more, the rest by believing.
 *   believer  the row that is worth most; then the model believes that it comes out as expected:
 *             its mean may be the best so far, and variances around it fall.
 *   thompson  for each row a draw of its own, and the row at which that is highest.
 *   top       the rows that are worth most by themselves.
 *
 * Rows that are left out are those that are measured or pending, equal to one of the batch, or
 * nearer than the least distance to any of these. Should the shortlist have too few, those behind
 * it come next, by themselves. Equal values go to the row that is worth more by itself, then to the
 * first of the table.
 */
#include "design/batch.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "design/belief.h"

typedef struct batch {
    const lth__scorer *s;
    const lth_propose_options *options;
    const lth__candidates *rows;
    const lth__outlook *outlook;
    lth_error *err;
    lth__pick *order;         /* all that may be proposed, best first */
    size_t order_count, next; /* from `next` on they were not looked at */
    lth__symbols *seen;       /* keys of rows that were taken from it */
    lth__string key;
    size_t *list; /* the shortlist */
    bool *gone;   /* those that can no longer be picked */
    size_t list_count;
    lth__pick *out;
    size_t count;
} batch;

/* ---- In order ---- */

static int best_first(const void *a, const void *b) {
    const lth__pick *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static lth_status sort_rows(batch *b) {
    b->order = lth__alloc(b->outlook->rows, sizeof *b->order);
    if (!b->order) return lth__fail_memory(b->err, b->outlook->rows * sizeof *b->order);
    for (size_t i = 0; i < b->outlook->rows; i++) {
        if (b->outlook->value[i] > -INFINITY)
            b->order[b->order_count++] = (lth__pick){i, b->outlook->value[i]};
    }
    qsort(b->order, b->order_count, sizeof *b->order, best_first);
    return LTH_OK;
}

/* ---- Distances ---- */

/* Whether a row is too near to some of others; those are items of the first model. */
static lth_status is_near(batch *b, size_t row, const lth_items *others, bool *near) {
    size_t most = b->options->distance - 1;
    for (size_t j = 0; j < others->count && !*near; j++) {
        size_t distance = lth__row_distance(b->rows->items[0], row, others, j, most);
        if (distance == LTH_NONE) return lth__fail_memory(b->err, 0);
        *near = distance <= most;
    }
    return LTH_OK;
}

static lth_status is_near_known(batch *b, size_t row, bool *near) {
    const lth_items *measured = lth__model_items(b->s->problem.models[0]);
    if (b->options->distance <= 1 || b->options->repeats) return LTH_OK;
    if (measured) LTH_TRY(is_near(b, row, measured, near));
    if (b->rows->others) LTH_TRY(is_near(b, row, b->rows->others, near));
    if (b->rows->pending_count > 0) LTH_TRY(is_near(b, row, b->rows->pending[0], near));
    return LTH_OK;
}

/* To a row that was picked. */
static lth_status is_near_row(batch *b, size_t row, size_t picked, bool *near) {
    const lth_items *items = b->rows->items[0];
    size_t most = b->options->distance - 1;
    if (most == 0) return LTH_OK; /* equal ones were left out before */
    size_t distance = lth__row_distance(items, row, items, picked, most);
    if (distance == LTH_NONE) return lth__fail_memory(b->err, 0);
    *near = *near || distance <= most;
    return LTH_OK;
}

/* The next row that is like none before it, nor too near to what is known; LTH_NONE = none. */
static lth_status next_row(batch *b, size_t *out) {
    for (*out = LTH_NONE; b->next < b->order_count && *out == LTH_NONE; b->next++) {
        size_t row = b->order[b->next].row, known = lth__symbols_count(b->seen);
        bool near = false;
        if (b->next % 1024 == 0) LTH_TRY(lth__parallel_ask(lth__problem_ctx(b->rows)));
        lth__row_key(b->rows->items[0], row, &b->key);
        for (size_t m = 1; m < b->rows->model_count; m++) {
            lth__string more = {0};
            lth__row_key(b->rows->items[m], row, &more);
            lth__string_append(&b->key, more.bytes, more.length);
            b->key.failed = b->key.failed || more.failed;
            lth__string_free(&more);
        }
        if (b->key.failed ||
            lth__symbols_intern(b->seen, b->key.bytes, b->key.length) == LTH__NO_SYMBOL)
            return lth__fail_memory(b->err, 0);
        if (lth__symbols_count(b->seen) == known) continue;
        LTH_TRY(is_near_known(b, row, &near));
        if (!near) *out = row;
    }
    return LTH_OK;
}

/* ---- The shortlist ---- */

/* A batch that is large for the shortlist makes it longer, but not longer than this. */
enum { LONGEST = 8192 };

static lth_status fill_list(batch *b) {
    size_t most = b->options->shortlist, row;
    size_t wanted = b->options->count < LONGEST / 4 ? 4 * b->options->count : LONGEST;
    if (most < wanted) most = wanted;
    if (most > b->order_count) most = b->order_count;
    b->list = lth__alloc(most, sizeof *b->list);
    b->gone = lth__calloc(most, sizeof *b->gone);
    if (!b->list || !b->gone) return lth__fail_memory(b->err, most * sizeof *b->list);
    while (b->list_count < most) {
        LTH_TRY(next_row(b, &row));
        if (row == LTH_NONE) break;
        b->list[b->list_count++] = row;
    }
    return LTH_OK;
}

static double feasible_at(const batch *b, size_t i) {
    return lth__outlook_feasible(b->outlook, b->list[i]);
}

static double cost_at(const batch *b, size_t i) {
    return lth__outlook_cost(b->outlook, b->list[i]);
}

/* Row i of the shortlist, and what is too near to it is gone. */
static lth_status take(batch *b, size_t i, double value) {
    size_t picked = b->list[i];
    b->out[b->count++] = (lth__pick){picked, value};
    b->gone[i] = true;
    LTH_TRY(lth__tell(lth__problem_ctx(b->rows), "proposing", (double)b->count,
                      (double)b->options->count, b->err));
    for (size_t k = 0; k < b->list_count; k++) {
        if (!b->gone[k]) LTH_TRY(is_near_row(b, b->list[k], picked, &b->gone[k]));
    }
    return LTH_OK;
}

/* The best of those that are left; LTH_NONE = none is. */
static size_t find_best(const batch *b, const double *value) {
    size_t best = LTH_NONE;
    for (size_t i = 0; i < b->list_count; i++) {
        if (!b->gone[i] && (best == LTH_NONE || value[i] > value[best])) best = i;
    }
    return best;
}

/* ---- Believing ---- */

typedef struct value_job {
    const batch *b;
    const lth__valuer *valuer;
    const lth__belief *belief;
    double *value;
} value_job;

enum { CHUNK = 256 };

/* Variances of the functions at a row, as they are now. Of covariances of coupled functions, which
 * a belief does not have, those by itself, with what became of each function's own. */
static void list_variances(const value_job *j, size_t i, double *to) {
    const lth__belief *f = j->belief;
    const lth__outlook *o = j->b->outlook;
    size_t n = f->functions, row = j->b->list[i];
    bool coupled = lth__problem_spreads(f->problem) > n && f->problem->objectives.labels;
    for (size_t a = 0; a < n && !coupled; a++) to[a] = f->variance[a * f->rows + i];
    for (size_t cell = 0; coupled && cell < n * n; cell++) {
        const size_t both[] = {cell / n, cell % n};
        double share = 1;
        for (int k = 0; k < 2; k++) {
            size_t at = both[k] * f->rows + i;
            double before = f->covariance[at * f->rows + i];
            share *= before > 0 ? f->variance[at] / before : 0;
        }
        to[cell] = sqrt(share) * o->variance[cell * o->rows + row];
    }
}

static lth_status value_chunk(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const value_job *j = user;
    const lth__belief *f = j->belief;
    size_t spreads = lth__problem_spreads(f->problem) + f->functions;
    size_t need = f->functions + spreads + lth__valuer_room(j->valuer);
    size_t first = index * CHUNK, last = first + CHUNK;
    double *room = lth__alloc(need, sizeof *room);
    if (!room) return lth__fail_memory(err, need * sizeof *room);
    double *mean = room, *variance = mean + f->functions, *rest = variance + spreads;
    for (size_t i = first; i < last && i < j->b->list_count; i++) {
        if (j->b->gone[i]) continue;
        for (size_t k = 0; k < f->functions; k++) mean[k] = f->mean[k * f->rows + i];
        list_variances(j, i, variance);
        j->value[i] = lth__row_value(j->valuer, mean, variance, 1, feasible_at(j->b, i),
                                     cost_at(j->b, i), rest);
    }
    lth__free(room);
    return LTH_OK;
}

static lth_status value_list(const batch *b, const lth__valuer *valuer, const lth__belief *belief,
                             double *value) {
    value_job j = {.b = b, .valuer = valuer, .belief = belief, .value = value};
    return lth__parallel_for(belief->ctx, NULL, (b->list_count + CHUNK - 1) / CHUNK, NULL,
                             value_chunk, &j, b->err);
}

static lth_status pick_believing(batch *b, lth__belief *belief, lth__valuer *valuer,
                                 double *value) {
    while (b->count < b->options->count) {
        LTH_TRY(value_list(b, valuer, belief, value));
        size_t best = find_best(b, value);
        if (best == LTH_NONE) break;
        LTH_TRY(take(b, best, value[best]));
        LTH_TRY(lth__belief_learn(belief, best, b->err));
        LTH_TRY(lth__valuer_believe(valuer, belief->mean + best, belief->rows, b->err));
    }
    return LTH_OK;
}

/* ---- All together ---- */

/* value[i] = what row i adds to draws that have `best`, on average. */
static void add_gains(const batch *b, const double *f, const double *best, double *value) {
    size_t n = b->list_count, draws = b->options->draws;
    memset(value, 0, n * sizeof *value);
    for (size_t s = 0; s < draws; s++) {
        const double *of = f + s * n;
        for (size_t i = 0; i < n; i++) {
            double gain = of[i] - best[s];
            value[i] += gain > 0 ? gain : 0;
        }
    }
    for (size_t i = 0; i < n; i++) value[i] *= feasible_at(b, i) / cost_at(b, i) / (double)draws;
}

/* What was picked comes out as expected. */
static lth_status believe_picks(const batch *b, lth__belief *belief, lth__valuer *valuer) {
    for (size_t k = 0; k < b->count; k++) {
        size_t i = 0;
        while (b->list[i] != b->out[k].row) i++;
        LTH_TRY(lth__belief_learn(belief, i, b->err));
        LTH_TRY(lth__valuer_believe(valuer, belief->mean + i, belief->rows, b->err));
    }
    return LTH_OK;
}

/* By draws, for as long as some of them improve. */
static lth_status pick_improving(batch *b, const lth__belief *belief, const double *f,
                                 double *bests, double *value) {
    size_t n = b->list_count, draws = b->options->draws, best = 0;
    while (b->count < b->options->count) {
        while (b->list[best] != b->out[b->count - 1].row) best++;
        for (size_t s = 0; s < draws; s++) bests[s] = fmax(bests[s], f[s * n + best]);
        add_gains(b, f, bests, value);
        best = find_best(b, value);
        if (best == LTH_NONE || !(value[best] > 0)) break;
        bool log_gain = b->s->problem.acquisition->scale == LTH__LOG_GAIN;
        LTH_TRY(take(b, best, log_gain ? log(value[best]) : value[best]));
        LTH_TRY(lth__parallel_ask(belief->ctx));
        best = 0;
    }
    return LTH_OK;
}

static lth_status pick_together(batch *b, lth__belief *belief, lth__valuer *valuer, double *value) {
    size_t n = b->list_count, draws = b->options->draws;
    LTH_TRY(value_list(b, valuer, belief, value));
    size_t best = find_best(b, value);
    if (best == LTH_NONE || b->options->count == 0) return LTH_OK;
    LTH_TRY(take(b, best, value[best]));
    if (b->count == b->options->count) return LTH_OK;
    double *f = lth__alloc(draws * n, sizeof *f), *bests = lth__alloc(draws, sizeof *bests);
    lth_status status = f && bests ? LTH_OK : lth__fail_memory(b->err, draws * (n + 1) * sizeof *f);
    if (status == LTH_OK)
        status = lth__belief_draw(belief, belief->ctx->options.seed, draws, n, f, b->err);
    for (size_t s = 0; s < draws && status == LTH_OK; s++) bests[s] = valuer->best;
    if (status == LTH_OK) status = pick_improving(b, belief, f, bests, value);
    lth__free(f);
    lth__free(bests);
    LTH_TRY(status);
    if (b->count < b->options->count) LTH_TRY(believe_picks(b, belief, valuer));
    return pick_believing(b, belief, valuer, value);
}

/* ---- Draws ---- */

static lth_status pick_by_draws(batch *b, lth__belief *belief, lth__valuer *valuer, double *value) {
    size_t n = b->list_count, draws = b->options->count < n ? b->options->count : n;
    size_t cells = belief->functions * draws * n, need = lth__valuer_room(valuer);
    double *f = lth__alloc(cells, sizeof *f), *room = lth__alloc(need, sizeof *room);
    lth_status status = f && room ? LTH_OK : lth__fail_memory(b->err, cells * sizeof *f);
    if (status == LTH_OK)
        status = lth__belief_draw(belief, belief->ctx->options.seed, draws, n, f, b->err);
    for (size_t s = 0; s < draws && status == LTH_OK; s++) {
        for (size_t i = 0; i < n; i++)
            value[i] = lth__drawn_value(valuer, f + s * n + i, draws * n, feasible_at(b, i),
                                        cost_at(b, i), room);
        size_t best = find_best(b, value);
        if (best == LTH_NONE) break;
        status = take(b, best, value[best]);
        if (status == LTH_OK) status = lth__parallel_ask(belief->ctx);
    }
    lth__free(f);
    lth__free(room);
    return status;
}

/* ---- By the rule ---- */

typedef lth_status rule(batch *b, lth__belief *belief, lth__valuer *valuer, double *value);

static lth_status pick_by(batch *b, rule *pick) {
    lth__belief belief = {0};
    lth__valuer valuer = {0};
    double *value = lth__alloc(b->list_count, sizeof *value);
    lth_status status = value ? LTH_OK : lth__fail_memory(b->err, b->list_count * sizeof *value);
    if (status == LTH_OK) status = lth__valuer_copy(&b->s->valuer, &valuer, b->err);
    if (status == LTH_OK)
        status = lth__belief_open(&b->s->problem, b->rows, b->list, b->list_count, &belief, b->err);
    if (status == LTH_OK) status = pick(b, &belief, &valuer, value);
    lth__valuer_free(&valuer);
    lth__belief_free(&belief);
    lth__free(value);
    return status;
}

/* Those that are next by themselves. */
static lth_status pick_next(batch *b) {
    size_t row;
    while (b->count < b->options->count) {
        bool near = false;
        LTH_TRY(next_row(b, &row));
        if (row == LTH_NONE) break;
        for (size_t i = 0; i < b->count && !near; i++)
            LTH_TRY(is_near_row(b, row, b->out[i].row, &near));
        if (!near) b->out[b->count++] = (lth__pick){row, b->outlook->value[row]};
    }
    return LTH_OK;
}

static lth_status pick_all(batch *b) {
    static rule *const rules[] = {[LTH_BATCH_JOINT] = pick_together,
                                  [LTH_BATCH_BELIEVER] = pick_believing,
                                  [LTH_BATCH_THOMPSON] = pick_by_draws,
                                  [LTH_BATCH_TOP] = NULL};
    rule *pick = rules[b->options->batch];
    LTH_TRY(sort_rows(b));
    if (pick) LTH_TRY(fill_list(b));
    if (pick && b->list_count > 0) LTH_TRY(pick_by(b, pick));
    return pick_next(b);
}

lth_status lth__batch_pick(const lth__scorer *s, const lth__candidates *rows,
                           const lth__outlook *outlook, lth__pick *out, size_t *count,
                           lth_error *err) {
    batch b = {.s = s,
               .options = &s->problem.options,
               .rows = rows,
               .outlook = outlook,
               .err = err,
               .seen = lth__symbols_create(),
               .out = out};
    lth_status status = b.seen ? pick_all(&b) : lth__fail_memory(err, 0);
    if (status == LTH_OK) *count = b.count;
    lth__symbols_free(b.seen);
    lth__string_free(&b.key);
    lth__free(b.order);
    lth__free(b.list);
    lth__free(b.gone);
    return status;
}
