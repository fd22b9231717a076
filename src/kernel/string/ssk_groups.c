#include "kernel/string/ssk_groups.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/string/ssk_brief.h"

/* A pair by itself loses less of the lanes while they fill and empty than few pairs leave empty.
 * With a table, each lane looks up its own row, which is slower than four rows that all share. */
enum { LONG_FOR_A_LANE = 180, LONG_WITH_TABLE = 8000 };

bool lth__ssk_is_long(const lth__ssk_plan *plan, size_t length) {
    if (!plan->similarity) return length >= LONG_FOR_A_LANE * plan->lanes->lanes;
    bool tabled = plan->similarity->table[LTH__SIM_VALUE];
    return tabled && !lth__ssk_along_similarities(plan) && length >= LONG_WITH_TABLE;
}

/* Longest first, as the items of a tile are: so those of a group are mostly neighbours. */
static int by_length(const void *a, const void *b) {
    const lth__ssk_column *x = a, *y = b;
    if (x->length != y->length) return x->length > y->length ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void lth__ssk_sort_columns(lth__ssk_column *column, size_t count) {
    bool sorted = true; /* as they are where the kernel reads one column */
    for (size_t c = 1; c < count && sorted; c++) sorted = by_length(&column[c - 1], &column[c]) < 0;
    if (!sorted) qsort(column, count, sizeof *column, by_length);
}

size_t lth__ssk_group_size(const lth__ssk_plan *plan, const lth__ssk_column *column, size_t count,
                           size_t *width) {
    size_t taken = 1;
    *width = column[0].length;
    while (taken < plan->lanes->lanes && taken < count &&
           lth__ssk_is_long(plan, column[taken].length) == lth__ssk_is_long(plan, *width) &&
           lth__ssk_is_brief(plan, column[taken].length) == lth__ssk_is_brief(plan, *width))
        taken++;
    return taken;
}

void lth__ssk_interleave(const uint32_t *symbols, size_t count, size_t length, const uint32_t *slot,
                         uint32_t stride, uint32_t pad, size_t lanes, size_t lane, uint32_t *out) {
    for (size_t i = 0; i < count; i++)
        out[i * lanes + lane] = (slot ? slot[symbols[i]] : symbols[i]) * stride;
    for (size_t i = count; i < length; i++) out[i * lanes + lane] = pad;
}

/* ---- Making ---- */

static void cut(const lth__ssk_plan *plan, lth__ssk_groups *g) {
    size_t total = 0, width, count;
    for (size_t first = 0; first < g->columns; first += count) {
        count = lth__ssk_group_size(plan, g->column + first, g->columns - first, &width);
        g->first[g->count] = first;
        g->start[g->count++] = total;
        total += width * plan->lanes->lanes;
    }
    g->first[g->count] = g->columns;
    g->start[g->count] = total;
}

static void fill(const lth__ssk_plan *plan, const uint32_t *item, const uint32_t *slot,
                 uint32_t pad, const lth__ssk_groups *g) {
    size_t lanes = plan->lanes->lanes;
    for (size_t n = 0; n < g->count; n++) {
        const lth__ssk_column *column = g->column + g->first[n];
        size_t count = g->first[n + 1] - g->first[n], width = column[0].length;
        for (size_t lane = 0; lane < lanes; lane++) {
            const lth__ssk_column *c = &column[lane < count ? lane : 0];
            size_t number = item ? item[c->index] : c->index;
            lth__ssk_interleave(lth__sequence_symbols(plan->cols, number),
                                lane < count ? c->length : 0, width, slot, 1, pad, lanes, lane,
                                g->t + g->start[n]);
        }
    }
}

lth_status lth__ssk_groups_make(const lth__ssk_plan *plan, const uint32_t *item, size_t count,
                                const uint32_t *slot, uint32_t pad, lth__ssk_groups *out,
                                lth_error *err) {
    lth__ssk_groups *g = out;
    *g = (lth__ssk_groups){.columns = count,
                           .lanes = plan->lanes,
                           .order = plan->order,
                           .column = lth__alloc(count, sizeof *g->column),
                           .first = lth__alloc(count + 1, sizeof *g->first),
                           .start = lth__alloc(count + 1, sizeof *g->start)};
    if (!g->column || !g->first || !g->start)
        return lth__fail_memory(err, count * sizeof *g->column);
    for (size_t c = 0; c < count; c++)
        g->column[c] = (lth__ssk_column){lth__sequence_length(plan->cols, item ? item[c] : c), c};
    lth__ssk_sort_columns(g->column, count);
    cut(plan, g);
    g->t = lth__alloc(g->start[g->count], sizeof *g->t);
    if (!g->t) return lth__fail_memory(err, g->start[g->count] * sizeof *g->t);
    fill(plan, item, slot, pad, g);
    return LTH_OK;
}

void lth__ssk_groups_free(lth__ssk_groups *g) {
    lth__free(g->column);
    lth__free(g->first);
    lth__free(g->start);
    lth__free(g->t);
}

/* ---- Finding ---- */

/* Where column `item` is among those of the groups. */
static size_t position_of(const lth__ssk_groups *g, size_t item, size_t length) {
    lth__ssk_column wanted = {length, item};
    const lth__ssk_column *at = bsearch(&wanted, g->column, g->columns, sizeof wanted, by_length);
    return at ? (size_t)(at - g->column) : SIZE_MAX;
}

static bool are_neighbours(const lth__ssk_groups *g, const lth__tile *tile, size_t at) {
    if (at > g->columns || g->columns - at < tile->cols) return false;
    size_t c = 0;
    while (c < tile->cols && g->column[at + c].index == tile->col[c]) c++;
    return c == tile->cols;
}

static lth_status reserve(const lth__ssk_groups *g, lth__ssk_part *part, lth_error *err) {
    size_t count = g->first[part->end] - g->first[part->begin];
    part->place = lth__alloc(count, sizeof *part->place);
    return part->place ? LTH_OK : lth__fail_memory(err, count * sizeof *part->place);
}

/* The groups that hold columns at .. at + cols - 1. */
static lth_status find_neighbours(const lth__ssk_groups *g, size_t at, size_t cols,
                                  lth__ssk_part *out, lth_error *err) {
    lth__ssk_part part = {0};
    while (g->first[part.begin + 1] <= at) part.begin++;
    for (part.end = part.begin; g->first[part.end] < at + cols;) part.end++;
    LTH_TRY(reserve(g, &part, err));
    for (size_t n = g->first[part.begin]; n < g->first[part.end]; n++) {
        bool inside = n >= at && n < at + cols;
        part.place[n - g->first[part.begin]] = inside ? (uint32_t)(n - at) : LTH__SSK_ELSEWHERE;
    }
    *out = part;
    return LTH_OK;
}

/* All columns, in any order. */
static lth_status find_all(const lth__ssk_groups *g, const lth__tile *tile, lth__ssk_part *out,
                           lth_error *err) {
    lth__ssk_part part = {.end = g->count};
    uint32_t *at = lth__alloc(g->columns, sizeof *at);
    if (!at) return lth__fail_memory(err, g->columns * sizeof *at);
    for (size_t c = 0; c < tile->cols; c++) at[tile->col[c]] = (uint32_t)c;
    lth_status status = reserve(g, &part, err);
    for (size_t n = 0; status == LTH_OK && n < g->columns; n++)
        part.place[n] = at[g->column[n].index];
    lth__free(at);
    if (status == LTH_OK) *out = part;
    return status;
}

lth_status lth__ssk_groups_find(const lth__ssk_groups *g, const lth__sequences *cols,
                                const lth__tile *tile, bool *found, lth__ssk_part *out,
                                lth_error *err) {
    size_t at = position_of(g, tile->col[0], lth__sequence_length(cols, tile->col[0]));
    *found = true;
    if (are_neighbours(g, tile, at)) return find_neighbours(g, at, tile->cols, out, err);
    if (tile->cols == g->columns) return find_all(g, tile, out, err);
    *found = false;
    return LTH_OK;
}
