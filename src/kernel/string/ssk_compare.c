#include "kernel/string/ssk_compare.h"

#include <string.h>

#include "base/parallel.h"
#include "kernel/string/ssk_groups.h"

static size_t round_up(size_t value, size_t step) {
    return (value + step - 1) / step * step;
}

/* The part of the similarities along which the derivative goes, LTH__SIM_VALUE if it does not. */
static lth__sim_part slope_part(const lth__ssk_plan *plan) {
    if (plan->along == LTH__ALONG_TEMPERATURE) return LTH__SIM_BY_TEMPERATURE;
    if (plan->along == LTH__ALONG_RARITY) return LTH__SIM_BY_RARITY;
    return LTH__SIM_VALUE;
}

/* ---- Long pairs, one at a time ---- */

bool lth__ssk_canceled(const void *ctx) {
    return lth__parallel_ask(ctx) != LTH_OK;
}

static lth_status compare_long_pair(const lth__ssk_plan *plan, const uint32_t *s, size_t p,
                                    const uint32_t *t, size_t q, double *value, double *tangent,
                                    lth_error *err) {
    const lth__similarity *sim = plan->similarity;
    uint32_t pad = sim ? (uint32_t)sim->symbols : 0, stride = pad + 1, *offsets = NULL;
    lth__ssk_wave job = {.order = plan->order,
                         .gap = plan->gap,
                         .rows = p,
                         .cols = q,
                         .s = s,
                         .t = t,
                         .pad_s = sim ? pad * stride : LTH__PAD_S,
                         .pad_t = sim ? pad : LTH__PAD_T,
                         .table = sim ? sim->table[LTH__SIM_VALUE] : NULL,
                         .stops = lth__ssk_canceled,
                         .user = plan->ctx};
    job.scratch = lth__alloc(plan->lanes->wave_scratch(&job, tangent != NULL), 1);
    if (sim) job.s = offsets = lth__alloc(p, sizeof *offsets);
    lth_status status = job.scratch && job.s ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK && sim) lth__ssk_interleave(s, p, p, NULL, stride, 0, 1, 0, offsets);
    if (status == LTH_OK && !plan->lanes->ssk_wave(&job, value, tangent)) status = LTH_ECANCELED;
    lth__free(offsets);
    lth__free(job.scratch);
    return status;
}

/* ---- Columns of a tile ---- */

/* Everything one tile needs, in blocks that are freed together. */
typedef struct workspace {
    const lth__ssk_groups *groups; /* of all columns, or: */
    lth__ssk_groups own;
    lth__ssk_part part; /* of these groups, for the tile */
    uint32_t *s, *t;
    void *scratch;
    double *value, *tangent;
    size_t pair[LTH__MAX_LANES];
    /* Matching by similarities: */
    uint32_t *slot, *slot_symbols; /* symbol -> column of the row table; NULL = itself */
    size_t slots;                  /* of a row table, with the one for padding           */
    void *quads, *slope_quads, *row_table, *zeros;
} workspace;

static void free_workspace(workspace *w) {
    void *blocks[] = {w->part.place,   w->s,         w->t,     w->scratch,
                      w->value,        w->tangent,   w->quads, w->slot,
                      w->slot_symbols, w->row_table, w->zeros, w->slope_quads};
    lth__ssk_groups_free(&w->own);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

/* Number the symbols of the tile's columns 0, 1, 2, ...: the columns of a row table. */
static lth_status number_slots(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                               lth_error *err) {
    if (plan->similarity->table[LTH__SIM_VALUE]) {
        w->slots = plan->similarity->symbols + 1;
        return LTH_OK;
    }
    size_t vocabulary = plan->vocabulary, units = 0, used = 0;
    for (size_t c = 0; c < tile->cols; c++) units += lth__sequence_length(plan->cols, tile->col[c]);
    size_t most = units < vocabulary ? units : vocabulary;
    w->slot = lth__alloc(vocabulary, sizeof *w->slot);
    w->slot_symbols = lth__alloc(most, sizeof *w->slot_symbols);
    if (!w->slot || !w->slot_symbols) return lth__fail_memory(err, 0);
    memset(w->slot, 0xff, vocabulary * sizeof *w->slot);
    for (size_t c = 0; c < tile->cols; c++) {
        const uint32_t *t = lth__sequence_symbols(plan->cols, tile->col[c]);
        size_t length = lth__sequence_length(plan->cols, tile->col[c]);
        for (size_t k = 0; k < length; k++) {
            if (w->slot[t[k]] != UINT32_MAX) continue;
            w->slot[t[k]] = (uint32_t)used;
            w->slot_symbols[used++] = t[k];
        }
    }
    w->slots = used + 1;
    return LTH_OK;
}

static lth_status make_groups(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                              lth_error *err) {
    uint32_t pad = plan->similarity ? (uint32_t)w->slots - 1 : LTH__PAD_T;
    LTH_TRY(lth__ssk_groups_make(plan, tile->col, tile->cols, w->slot, pad, &w->own, err));
    w->groups = &w->own;
    w->part.end = w->own.count;
    w->part.place = lth__alloc(tile->cols, sizeof *w->part.place);
    if (!w->part.place) return lth__fail_memory(err, tile->cols * sizeof *w->part.place);
    for (size_t n = 0; n < tile->cols; n++) w->part.place[n] = (uint32_t)w->own.column[n].index;
    return LTH_OK;
}

static lth_status find_groups(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                              lth_error *err) {
    bool found = false;
    if (plan->similarity) LTH_TRY(number_slots(plan, tile, w, err));
    if (plan->groups && plan->along == LTH__ALONG_NOTHING)
        LTH_TRY(lth__ssk_groups_find(plan->groups, plan->cols, tile, &found, &w->part, err));
    w->groups = plan->groups;
    return found ? LTH_OK : make_groups(plan, tile, w, err);
}

/* ---- Rows of a tile ---- */

static size_t longest_row(const lth__ssk_plan *plan, const lth__tile *tile) {
    size_t longest = 0;
    for (size_t r = 0; r < tile->rows; r++) {
        size_t length = lth__sequence_length(plan->rows, tile->row[r]);
        if (length > longest) longest = length;
    }
    return longest;
}

static lth__ssk_job job_for(const lth__ssk_plan *plan, const workspace *w, size_t rows,
                            size_t cols) {
    return (lth__ssk_job){
        .order = plan->order,
        .gap = plan->gap,
        .rows = rows,
        .cols = cols,
        .s = w->s,
        .match = plan->similarity ? LTH__MATCH_QUADS : LTH__MATCH_EXACT,
        .table = w->quads,
        .slope = w->slope_quads,
        .slots = w->slots,
        .scratch = w->scratch,
        .stops = lth__ssk_canceled,
        .user = plan->ctx,
    };
}

static lth_status allocate_results(const lth__ssk_plan *plan, const lth__ssk_job *largest,
                                   workspace *w, lth_error *err) {
    bool tangent = plan->along != LTH__ALONG_NOTHING;
    size_t results = plan->order * plan->lanes->lanes;
    w->scratch = lth__alloc(plan->lanes->ssk_scratch(largest, tangent), 1);
    w->value = lth__alloc(results, sizeof *w->value);
    w->tangent = tangent ? lth__alloc(results, sizeof *w->tangent) : NULL;
    if (!w->scratch || !w->value || (tangent && !w->tangent)) return lth__fail_memory(err, 0);
    return LTH_OK;
}

/* The longest of a group. */
static size_t width_of(const workspace *w, size_t group) {
    return w->groups->column[w->groups->first[group]].length;
}

static lth_status allocate_rows(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                                lth_error *err) {
    size_t rows = round_up(longest_row(plan, tile), LTH__ROW_STEP);
    size_t real = plan->lanes->real_size;
    if (plan->similarity) {
        bool whole = plan->similarity->table[LTH__SIM_VALUE] != NULL;
        bool slope = slope_part(plan) != LTH__SIM_VALUE;
        w->quads = lth__alloc(rows * w->slots, real);
        w->slope_quads = slope ? lth__alloc(rows * w->slots, real) : NULL;
        w->zeros = lth__calloc(w->slots, real);
        /* Zeroed, so that the slot for padding is 0. */
        w->row_table = whole ? NULL : lth__calloc(rows * w->slots, real);
        if (!w->quads || !w->zeros || (!whole && !w->row_table) || (slope && !w->slope_quads))
            return lth__fail_memory(err, rows * w->slots * real);
    } else {
        w->s = lth__alloc(rows * plan->lanes->lanes, sizeof *w->s);
        if (!w->s) return lth__fail_memory(err, rows * plan->lanes->lanes * sizeof *w->s);
    }
    lth__ssk_job largest = job_for(plan, w, rows, width_of(w, w->part.begin));
    return allocate_results(plan, &largest, w, err);
}

enum { ROWS_TO_ASK = 1 << 12 }; /* from one question whether to go on to the next */

/* One part of the similarities of s, four positions at a time, with every symbol of the columns. */
static lth_status load_quads(const lth__ssk_plan *plan, lth__sim_part part, const uint32_t *s,
                             size_t length, workspace *w, void *quads, lth_error *err) {
    const lth__similarity *sim = plan->similarity;
    size_t row_bytes = w->slots * plan->lanes->real_size;
    const char *table = sim->table[part];
    if (!table) {
        LTH_TRY(lth__similarity_tile(sim, part, s, length, w->slot_symbols, w->slots - 1,
                                     w->row_table, w->slots, err));
    }
    for (size_t j = 0; j < length; j += LTH__ROW_STEP) {
        if (j % ROWS_TO_ASK == 0) LTH_TRY(lth__parallel_ask(plan->ctx));
        const void *row[LTH__ROW_STEP];
        for (size_t r = 0; r < LTH__ROW_STEP; r++) {
            if (j + r >= length)
                row[r] = w->zeros;
            else if (table)
                row[r] = table + s[j + r] * row_bytes;
            else
                row[r] = (char *)w->row_table + (j + r) * row_bytes;
        }
        plan->lanes->make_quads(row, w->slots, (char *)quads + j * row_bytes);
    }
    return LTH_OK;
}

static lth_status load_row_quads(const lth__ssk_plan *plan, const uint32_t *s, size_t length,
                                 workspace *w, lth_error *err) {
    LTH_TRY(load_quads(plan, LTH__SIM_VALUE, s, length, w, w->quads, err));
    if (!w->slope_quads) return LTH_OK;
    return load_quads(plan, slope_part(plan), s, length, w, w->slope_quads, err);
}

static lth_status load_row(const lth__ssk_plan *plan, const uint32_t *s, size_t length,
                           workspace *w, lth_error *err) {
    if (plan->similarity) return load_row_quads(plan, s, length, w, err);
    size_t lanes = plan->lanes->lanes, rows = round_up(length, LTH__ROW_STEP);
    for (size_t j = 0; j < rows; j++) {
        uint32_t symbol = j < length ? s[j] : LTH__PAD_S;
        for (size_t lane = 0; lane < lanes; lane++) w->s[j * lanes + lane] = symbol;
    }
    return LTH_OK;
}

static lth_status compare_long_group(const lth__ssk_plan *plan, const lth__tile *tile, size_t r,
                                     size_t group, workspace *w, lth__ssk_take *take, void *user,
                                     lth_error *err) {
    const lth__ssk_groups *g = w->groups;
    size_t p = lth__sequence_length(plan->rows, tile->row[r]), first = g->first[w->part.begin];
    for (size_t i = g->first[group]; i < g->first[group + 1]; i++) {
        uint32_t c = w->part.place[i - first];
        if (c == LTH__SSK_ELSEWHERE) continue;
        size_t pair = r * tile->cols + c;
        LTH_TRY(compare_long_pair(plan, lth__sequence_symbols(plan->rows, tile->row[r]), p,
                                  lth__sequence_symbols(plan->cols, tile->col[c]),
                                  g->column[i].length, w->value, w->tangent, err));
        take(user, &pair, 1, 1, w->value, w->tangent);
    }
    return LTH_OK;
}

/* Those of a group that are in the tile, which are neighbours. */
static void take_group(const lth__ssk_plan *plan, const lth__tile *tile, size_t r, size_t group,
                       workspace *w, lth__ssk_take *take, void *user) {
    const lth__ssk_groups *g = w->groups;
    size_t count = g->first[group + 1] - g->first[group], skipped = 0, taken = 0;
    const uint32_t *place = w->part.place + (g->first[group] - g->first[w->part.begin]);
    while (skipped < count && place[skipped] == LTH__SSK_ELSEWHERE) skipped++;
    for (size_t i = skipped; i < count && place[i] != LTH__SSK_ELSEWHERE; i++)
        w->pair[taken++] = r * tile->cols + place[i];
    if (taken == 0) return;
    take(user, w->pair, taken, plan->lanes->lanes, w->value + skipped,
         w->tangent ? w->tangent + skipped : NULL);
}

/* One row of the tile against all its columns. It is loaded for lanes: long pairs do without. */
static lth_status compare_row(const lth__ssk_plan *plan, const lth__tile *tile, size_t r,
                              workspace *w, lth__ssk_take *take, void *user, lth_error *err) {
    const uint32_t *s = lth__sequence_symbols(plan->rows, tile->row[r]);
    size_t length = lth__sequence_length(plan->rows, tile->row[r]);
    bool loaded = false;
    for (size_t group = w->part.begin; group < w->part.end; group++) {
        size_t width = width_of(w, group);
        if (width == 0) continue;
        if (lth__ssk_is_long(plan, length) && lth__ssk_is_long(plan, width)) {
            LTH_TRY(compare_long_group(plan, tile, r, group, w, take, user, err));
            continue;
        }
        if (!loaded) LTH_TRY(load_row(plan, s, length, w, err));
        loaded = true;
        lth__ssk_job job = job_for(plan, w, length, width);
        job.t = w->groups->t + w->groups->start[group];
        if (!plan->lanes->ssk(&job, w->value, w->tangent)) return LTH_ECANCELED;
        take_group(plan, tile, r, group, w, take, user);
    }
    return LTH_OK;
}

static lth_status compare_rows(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                               lth__ssk_take *take, void *user, lth_error *err) {
    LTH_TRY(find_groups(plan, tile, w, err));
    LTH_TRY(allocate_rows(plan, tile, w, err));
    for (size_t r = 0; r < tile->rows; r++) {
        size_t length = lth__sequence_length(plan->rows, tile->row[r]);
        if (length == 0) continue;
        LTH_TRY(compare_row(plan, tile, r, w, take, user, err));
        LTH_TRY(lth__parallel_ask(plan->ctx));
    }
    return LTH_OK;
}

lth_status lth__ssk_compare_tile(const lth__ssk_plan *plan, const lth__tile *tile,
                                 lth__ssk_take *take, void *user, lth_error *err) {
    if (tile->rows == 0 || tile->cols == 0) return LTH_OK;
    if (plan->dropping) return lth__ssk_compare_dropping(plan, tile, take, user, err);
    workspace w = {0};
    lth_status status = compare_rows(plan, tile, &w, take, user, err);
    free_workspace(&w);
    return status;
}

/* ---- Self-similarities: each lane has its own s ---- */

/* The items in lanes, as rows and as columns. */
static void interleave_self(const lth__ssk_plan *plan, const lth__sequences *sequences,
                            const lth__ssk_column *items, size_t count, const lth__ssk_job *job,
                            workspace *w) {
    const lth__similarity *sim = plan->similarity;
    size_t lanes = plan->lanes->lanes;
    /* Rows of the similarity table begin at multiples of its width; its last row and column are 0.
     */
    uint32_t stride = sim ? (uint32_t)sim->symbols + 1 : 1;
    uint32_t pad_s = sim ? (uint32_t)sim->symbols * stride : LTH__PAD_S;
    uint32_t pad_t = sim ? (uint32_t)sim->symbols : LTH__PAD_T;
    size_t rows = round_up(job->rows, LTH__ROW_STEP);
    for (size_t lane = 0; lane < lanes; lane++) {
        const lth__ssk_column *item = &items[lane < count ? lane : 0];
        const uint32_t *symbols = lth__sequence_symbols(sequences, item->index);
        size_t length = lane < count ? item->length : 0;
        lth__ssk_interleave(symbols, length, rows, NULL, stride, pad_s, lanes, lane, w->s);
        lth__ssk_interleave(symbols, length, job->cols, NULL, 1, pad_t, lanes, lane, w->t);
    }
}

static lth_status allocate_self(const lth__ssk_plan *plan, size_t longest, workspace *w,
                                lth__ssk_job *job, lth_error *err) {
    *job = job_for(plan, w, longest, longest);
    if (plan->similarity) {
        job->match = LTH__MATCH_TABLE;
        job->table = plan->similarity->table[LTH__SIM_VALUE];
        if (slope_part(plan) != LTH__SIM_VALUE)
            job->slope = plan->similarity->table[slope_part(plan)];
    }
    LTH_TRY(allocate_results(plan, job, w, err));
    w->s = lth__alloc(round_up(job->rows, LTH__ROW_STEP) * plan->lanes->lanes, sizeof *w->s);
    w->t = lth__alloc(job->cols * plan->lanes->lanes, sizeof *w->t);
    if (!w->s || !w->t) return lth__fail_memory(err, 2 * job->rows * sizeof *w->s);
    job->s = w->s;
    job->t = w->t;
    job->scratch = w->scratch;
    return LTH_OK;
}

static lth_status compare_long_self(const lth__ssk_plan *plan, const lth__sequences *sequences,
                                    const lth__ssk_column *items, size_t count, workspace *w,
                                    lth__ssk_take *take, void *user, lth_error *err) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t *s = lth__sequence_symbols(sequences, items[i].index);
        LTH_TRY(compare_long_pair(plan, s, items[i].length, s, items[i].length, w->value,
                                  w->tangent, err));
        take(user, &items[i].index, 1, 1, w->value, w->tangent);
    }
    return LTH_OK;
}

static lth_status compare_self(const lth__ssk_plan *plan, const lth__sequences *sequences,
                               size_t first, size_t last, workspace *w, lth__ssk_take *take,
                               void *user, lth_error *err) {
    size_t count = last - first;
    lth__ssk_column *column = w->own.column = lth__alloc(count, sizeof *column);
    if (!column) return lth__fail_memory(err, count * sizeof *column);
    for (size_t i = 0; i < count; i++)
        column[i] = (lth__ssk_column){lth__sequence_length(sequences, first + i), first + i};
    lth__ssk_sort_columns(column, count);

    lth__ssk_job job;
    LTH_TRY(allocate_self(plan, column[0].length, w, &job, err));
    for (size_t at = 0, group; at < count; at += group) {
        group = lth__ssk_group_size(plan, column + at, count - at, &job.cols);
        if (lth__ssk_is_long(plan, job.cols)) {
            LTH_TRY(compare_long_self(plan, sequences, column + at, group, w, take, user, err));
            continue;
        }
        job.rows = job.cols;
        interleave_self(plan, sequences, column + at, group, &job, w);
        if (!plan->lanes->ssk(&job, w->value, w->tangent)) return LTH_ECANCELED;
        for (size_t i = 0; i < group; i++) w->pair[i] = column[at + i].index;
        take(user, w->pair, group, plan->lanes->lanes, w->value, w->tangent);
    }
    return LTH_OK;
}

/* Gives the results of a tile of one pair to `take` under the item's number. */
typedef struct alone {
    lth__ssk_take *take;
    void *user;
    size_t item;
} alone;

static void take_alone(void *user, const size_t *pair, size_t count, size_t stride,
                       const double *value, const double *tangent) {
    (void)pair;
    const alone *a = user;
    a->take(a->user, &a->item, count, stride, value, tangent);
}

lth_status lth__ssk_self_similarities(const lth__ssk_plan *plan, const lth__sequences *sequences,
                                      size_t first, size_t last, lth__ssk_take *take, void *user,
                                      lth_error *err) {
    if (first == last) return LTH_OK;
    if (!plan->similarity || plan->similarity->table[LTH__SIM_VALUE]) {
        workspace w = {0};
        lth_status status = compare_self(plan, sequences, first, last, &w, take, user, err);
        free_workspace(&w);
        return status;
    }
    /* The lanes have no table in common: each item is a tile of its own. */
    lth__ssk_plan own = *plan;
    own.rows = own.cols = sequences;
    for (size_t i = first; i < last; i++) {
        uint32_t item = (uint32_t)i;
        lth__tile tile = {.row = &item, .col = &item, .rows = 1, .cols = 1};
        alone a = {.take = take, .user = user, .item = i};
        LTH_TRY(lth__ssk_compare_tile(&own, &tile, take_alone, &a, err));
    }
    return LTH_OK;
}

/* ---- Cost ---- */

double lth__ssk_cell_orders(const lth__node *node, const lth_items *rows, const lth_items *cols) {
    double cells = lth__sequences_cells(&rows->fields[node->field], &cols->fields[node->field]);
    return cells * (double)node->family->orders(node);
}
