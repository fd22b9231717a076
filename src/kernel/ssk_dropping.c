/* Exact matching where most symbols of a string do not occur in the other, as with words: pairs
 * that share no symbol are never looked at, and of the others only the positions that can match
 * remain. */
#include <string.h>

#include "base/random.h"
#include "kernel/ssk_compare.h"

#define NONE UINT32_MAX

/* For each symbol the columns of the tile that have it, as linked lists. */
typedef struct column_lists {
    uint32_t *head;          /* by symbol         */
    uint32_t *column, *next; /* by list entry    */
} column_lists;

typedef struct workspace {
    column_lists lists;
    uint32_t *in_s,
        *in_t; /* by symbol: number of the last row / pair in which it was seen, from 1 */
    uint32_t *candidate_of; /* by column: number of the last row it was a candidate for */
    uint32_t *candidates;
    uint32_t *s_position, *s_symbol, *t_position, *t_symbol;
    double *scratch, *value, *tangent;
    uint32_t pairs; /* pairs seen so far, which stamp in_t */
} workspace;

static void free_workspace(workspace *w) {
    void *blocks[] = {w->lists.head,   w->lists.column, w->lists.next, w->in_s,     w->in_t,
                      w->candidate_of, w->candidates,   w->s_position, w->s_symbol, w->t_position,
                      w->t_symbol,     w->scratch,      w->value,      w->tangent};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

static lth_status allocate(const lth__ssk_plan *plan, size_t cols, size_t units, bool tangent,
                           workspace *w, lth_error *err) {
    size_t vocabulary = plan->vocabulary, p = plan->rows->longest, q = plan->cols->longest;
    w->lists.head = lth__alloc(vocabulary, sizeof *w->lists.head);
    w->lists.column = lth__alloc(units, sizeof *w->lists.column);
    w->lists.next = lth__alloc(units, sizeof *w->lists.next);
    w->in_s = lth__calloc(vocabulary, sizeof *w->in_s);
    w->in_t = lth__calloc(vocabulary, sizeof *w->in_t);
    w->candidate_of = lth__calloc(cols, sizeof *w->candidate_of);
    w->candidates = lth__alloc(cols, sizeof *w->candidates);
    w->s_position = lth__alloc(p, sizeof *w->s_position);
    w->s_symbol = lth__alloc(p, sizeof *w->s_symbol);
    w->t_position = lth__alloc(q, sizeof *w->t_position);
    w->t_symbol = lth__alloc(q, sizeof *w->t_symbol);
    w->scratch = lth__alloc(lth__ssk_sparse_scratch(plan->order, q, tangent), sizeof *w->scratch);
    w->value = lth__alloc(plan->order, sizeof *w->value);
    w->tangent = tangent ? lth__alloc(plan->order, sizeof *w->tangent) : NULL;
    bool ok = w->lists.head && w->lists.column && w->lists.next && w->in_s && w->in_t &&
              w->candidate_of && w->candidates && w->s_position && w->s_symbol && w->t_position &&
              w->t_symbol && w->scratch && w->value && (!tangent || w->tangent);
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

static size_t count_units(const lth__sequences *sequences, const lth__tile *tile) {
    size_t units = 0;
    for (size_t c = 0; c < tile->cols; c++) units += lth__sequence_length(sequences, tile->col[c]);
    return units;
}

static void list_columns(const lth__ssk_plan *plan, const lth__tile *tile, column_lists *lists) {
    uint32_t used = 0;
    memset(lists->head, 0xff, plan->vocabulary * sizeof *lists->head);
    for (size_t c = 0; c < tile->cols; c++) {
        const uint32_t *t = plan->cols->symbols + plan->cols->start[tile->col[c]];
        size_t length = lth__sequence_length(plan->cols, tile->col[c]);
        for (size_t k = 0; k < length; k++) {
            uint32_t top = lists->head[t[k]];
            if (top != NONE && lists->column[top] == c) continue; /* a repeated symbol */
            lists->column[used] = (uint32_t)c;
            lists->next[used] = top;
            lists->head[t[k]] = used++;
        }
    }
}

/* The columns that share a symbol with s, each once, in no particular order. */
static size_t find_candidates(const uint32_t *s, size_t length, uint32_t row, workspace *w) {
    size_t count = 0;
    for (size_t j = 0; j < length; j++) {
        if (w->in_s[s[j]] == row) continue;
        w->in_s[s[j]] = row;
        for (uint32_t e = w->lists.head[s[j]]; e != NONE; e = w->lists.next[e]) {
            uint32_t c = w->lists.column[e];
            if (w->candidate_of[c] == row) continue;
            w->candidate_of[c] = row;
            w->candidates[count++] = c;
        }
    }
    return count;
}

/* The positions whose symbol bears `stamp` in `seen`. */
static size_t keep(const uint32_t *symbols, size_t length, const uint32_t *seen, uint32_t stamp,
                   uint32_t *position, uint32_t *symbol) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        position[count] = (uint32_t)i;
        symbol[count] = symbols[i];
        count += seen[symbols[i]] == stamp;
    }
    return count;
}

/* What remains of s and t; in_s already bears `row` for the symbols of s. */
static lth__sparse_pair drop_positions(const lth__ssk_plan *plan, const uint32_t *s,
                                       size_t s_length, const uint32_t *t, size_t t_length,
                                       uint32_t row, workspace *w) {
    uint32_t stamp = ++w->pairs;
    lth__sparse_pair pair = {.order = plan->order,
                             .s_position = w->s_position,
                             .t_position = w->t_position,
                             .s_symbol = w->s_symbol,
                             .t_symbol = w->t_symbol,
                             .power = plan->power,
                             .power_slope = w->tangent ? plan->power_slope : NULL,
                             .scratch = w->scratch};
    pair.t_count = keep(t, t_length, w->in_s, row, w->t_position, w->t_symbol);
    for (size_t k = 0; k < pair.t_count; k++) w->in_t[w->t_symbol[k]] = stamp;
    pair.s_count = keep(s, s_length, w->in_t, stamp, w->s_position, w->s_symbol);
    return pair;
}

lth_status lth__ssk_compare_dropping(const lth__ssk_plan *plan, const lth__tile *tile, bool tangent,
                                     lth__ssk_take *take, void *user, lth_error *err) {
    workspace w = {0};
    size_t units = count_units(plan->cols, tile);
    lth_status status = allocate(plan, tile->cols, units, tangent, &w, err);
    if (status == LTH_OK) {
        list_columns(plan, tile, &w.lists);
        for (size_t r = 0; r < tile->rows; r++) {
            const uint32_t *s = plan->rows->symbols + plan->rows->start[tile->row[r]];
            size_t length = lth__sequence_length(plan->rows, tile->row[r]);
            size_t count = find_candidates(s, length, (uint32_t)r + 1, &w);
            for (size_t i = 0; i < count; i++) {
                uint32_t c = w.candidates[i], item = tile->col[c];
                lth__sparse_pair pair =
                    drop_positions(plan, s, length, plan->cols->symbols + plan->cols->start[item],
                                   lth__sequence_length(plan->cols, item), (uint32_t)r + 1, &w);
                lth__ssk_sparse(&pair, w.value, w.tangent);
                size_t index = r * tile->cols + c;
                take(user, &index, 1, 1, w.value, w.tangent);
            }
        }
    }
    free_workspace(&w);
    return status;
}

/* ---- Whether it pays ---- */

/* Nanoseconds, roughly; only their proportions matter. */
static double dense_cost(const lth__ssk_plan *plan, size_t p, size_t q) {
    double cell = 0.6 / (double)plan->lanes->lanes;
    return cell * (double)plan->order * (double)p * (double)q;
}

static double dropping_cost(const lth__ssk_plan *plan, const lth__sparse_pair *pair, size_t p,
                            size_t q) {
    if (pair->s_count == 0) return 1;
    double cells = (double)pair->s_count * (double)pair->t_count;
    return 30 + 2 * (double)(p + q) + 1.2 * (double)plan->order * cells;
}

lth_status lth__ssk_dropping_pays(const lth__ssk_plan *plan, bool *out, lth_error *err) {
    enum { SAMPLE = 300 };
    workspace w = {0};
    lth_status status = allocate(plan, 1, 1, false, &w, err);
    double dense = 0, dropping = 0;
    lth__random random;
    lth__random_seed(&random, 1);
    for (uint32_t n = 1; status == LTH_OK && n <= SAMPLE; n++) {
        size_t i = lth__random_below(&random, plan->rows->count);
        size_t j = lth__random_below(&random, plan->cols->count);
        const uint32_t *s = plan->rows->symbols + plan->rows->start[i];
        const uint32_t *t = plan->cols->symbols + plan->cols->start[j];
        size_t p = lth__sequence_length(plan->rows, i), q = lth__sequence_length(plan->cols, j);
        for (size_t k = 0; k < p; k++) w.in_s[s[k]] = n;
        lth__sparse_pair pair = drop_positions(plan, s, p, t, q, n, &w);
        dense += dense_cost(plan, p, q);
        dropping += dropping_cost(plan, &pair, p, q);
    }
    free_workspace(&w);
    if (status == LTH_OK) *out = dropping < dense;
    return status;
}
