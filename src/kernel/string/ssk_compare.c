#include "kernel/string/ssk_compare.h"

#include "base/parallel.h"
#include "kernel/string/ssk_brief.h"
#include "kernel/string/ssk_groups.h"
#include "kernel/string/ssk_quads.h"

static size_t round_up(size_t value, size_t step) {
    return (value + step - 1) / step * step;
}

/* Of the derivatives by gap and by parameters of the similarities the latter have tables. */
static lth__sim_part part_along(lth__along along) {
    return along == LTH__ALONG_TEMPERATURE ? LTH__SIM_BY_TEMPERATURE : LTH__SIM_BY_RARITY;
}

static bool goes_along(const lth__ssk_plan *plan, lth__along along) {
    return plan->slopes && plan->by[along];
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
    double *value, *tangent, *slope; /* the last is [lth__along][lane] */
    size_t pair[LTH__MAX_LANES];
    lth__ssk_quads by;    /* where symbols match by similarities */
    lth__ssk_brief brief; /* for pairs of short strings */
} workspace;

static void free_workspace(workspace *w) {
    void *blocks[] = {w->part.place, w->s, w->t, w->scratch, w->value, w->tangent, w->slope};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__ssk_groups_free(&w->own);
    lth__ssk_quads_free(&w->by);
    lth__ssk_brief_close(&w->brief);
}

static lth_status make_groups(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                              lth_error *err) {
    uint32_t pad = plan->similarity ? (uint32_t)w->by.slots - 1 : LTH__PAD_T;
    LTH_TRY(lth__ssk_groups_make(plan, tile->col, tile->cols, w->by.slot_of, pad, &w->own, err));
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
    if (plan->similarity) LTH_TRY(lth__ssk_quads_number(plan, tile, &w->by, err));
    if (plan->groups && !plan->slopes)
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
        .table = w->by.quads[LTH__SIM_VALUE],
        .slots = w->by.slots,
        .scratch = w->scratch,
        .stops = lth__ssk_canceled,
        .user = plan->ctx,
    };
}

static lth_status allocate_results(const lth__ssk_plan *plan, const lth__ssk_job *largest,
                                   workspace *w, lth_error *err) {
    size_t results = plan->order * plan->lanes->lanes, slopes = LTH__ALONG * plan->lanes->lanes;
    w->scratch = lth__alloc(plan->lanes->ssk_scratch(largest, plan->slopes), 1);
    w->value = lth__alloc(results, sizeof *w->value);
    w->tangent = plan->slopes ? lth__alloc(results, sizeof *w->tangent) : NULL;
    w->slope = plan->slopes ? lth__alloc(slopes, sizeof *w->slope) : NULL;
    bool ok = w->scratch && w->value && (!plan->slopes || (w->tangent && w->slope));
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

/* The longest of a group. */
static size_t width_of(const workspace *w, size_t group) {
    return w->groups->column[w->groups->first[group]].length;
}

/* The tables that a row needs; of a row that is not short, or that meets columns that are not, also
 * those of the values. */
static bool needs_part(const lth__ssk_plan *plan, const workspace *w, bool brief_row,
                       lth__sim_part part) {
    size_t first = width_of(w, w->part.begin);
    bool others = !brief_row || !lth__ssk_is_brief(plan, first);
    if (part == LTH__SIM_BASIS) return brief_row;
    if (part == LTH__SIM_BY_TEMPERATURE) return others && goes_along(plan, LTH__ALONG_TEMPERATURE);
    if (part == LTH__SIM_BY_RARITY) return others && goes_along(plan, LTH__ALONG_RARITY);
    return others;
}

static lth_status allocate_tables(const lth__ssk_plan *plan, const lth__tile *tile, size_t rows,
                                  workspace *w, lth_error *err) {
    bool needed[LTH__SIM_PARTS] = {0};
    for (size_t r = 0; r < tile->rows; r++) {
        bool brief = lth__ssk_is_brief(plan, lth__sequence_length(plan->rows, tile->row[r]));
        for (int part = 0; part < LTH__SIM_PARTS; part++)
            needed[part] |= needs_part(plan, w, brief, (lth__sim_part)part);
    }
    LTH_TRY(lth__ssk_quads_allocate(plan, rows, needed, &w->by, err));
    w->brief.job.match = LTH__MATCH_QUADS;
    w->brief.job.table = w->by.quads[LTH__SIM_BASIS];
    w->brief.job.slots = w->by.slots;
    return LTH_OK;
}

static lth_status allocate_rows(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                                lth_error *err) {
    size_t rows = round_up(longest_row(plan, tile), LTH__ROW_STEP);
    if (plan->similarity) {
        LTH_TRY(allocate_tables(plan, tile, rows, w, err));
    } else {
        w->s = lth__alloc(rows * plan->lanes->lanes, sizeof *w->s);
        if (!w->s) return lth__fail_memory(err, rows * plan->lanes->lanes * sizeof *w->s);
    }
    lth__ssk_job largest = job_for(plan, w, rows, width_of(w, w->part.begin));
    if (lth__ssk_along_similarities(plan)) largest.slope = w; /* there will be one */
    return allocate_results(plan, &largest, w, err);
}

/* What the columns of the tile need to meet short rows. */
static lth_status open_brief(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                             lth_error *err) {
    const lth__ssk_groups *g = w->groups;
    size_t lanes = plan->lanes->lanes;
    if (!plan->brief) return LTH_OK;
    LTH_TRY(lth__ssk_brief_open(plan, longest_row(plan, tile), width_of(w, 0),
                                g->start[g->count] / lanes, &w->brief, err));
    for (size_t group = 0; group < g->count; group++) {
        for (size_t i = g->first[group]; i < g->first[group + 1]; i++) {
            const uint32_t *symbols =
                lth__sequence_symbols(plan->cols, tile->col[g->column[i].index]);
            lth__ssk_brief_weigh_col(&w->brief, symbols, g->column[i].length,
                                     g->start[group] / lanes, i - g->first[group]);
        }
    }
    return LTH_OK;
}

static lth_status load_row(const lth__ssk_plan *plan, const uint32_t *s, size_t length,
                           workspace *w, lth_error *err) {
    size_t lanes = plan->lanes->lanes, rows = round_up(length, LTH__ROW_STEP);
    bool brief = lth__ssk_is_brief(plan, length);
    if (brief) lth__ssk_brief_weigh_row(&w->brief, s, length);
    for (int part = 0; plan->similarity && part < LTH__SIM_PARTS; part++) {
        if (needs_part(plan, w, brief, (lth__sim_part)part))
            LTH_TRY(lth__ssk_quads_load(plan, (lth__sim_part)part, s, length, &w->by, err));
    }
    for (size_t j = 0; !plan->similarity && j < rows; j++) {
        uint32_t symbol = j < length ? s[j] : LTH__PAD_S;
        for (size_t lane = 0; lane < lanes; lane++) w->s[j * lanes + lane] = symbol;
    }
    return LTH_OK;
}

/* By gap is all there is. */
static void take_long(const lth__ssk_plan *plan, size_t pair, workspace *w, lth__ssk_take *take,
                      void *user) {
    if (plan->slopes)
        w->slope[LTH__ALONG_GAP] = lth__ssk_weigh(plan->nu, plan->order, w->tangent, 1);
    take(user, &pair, 1, 1, w->value, w->slope);
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
        take_long(plan, pair, w, take, user);
    }
    return LTH_OK;
}

/* Those of a group that are in the tile, which are neighbours. */
static void take_group(const lth__ssk_plan *plan, const lth__tile *tile, size_t r, size_t group,
                       workspace *w, const double *slope, lth__ssk_take *take, void *user) {
    const lth__ssk_groups *g = w->groups;
    size_t count = g->first[group + 1] - g->first[group], skipped = 0, taken = 0;
    const uint32_t *place = w->part.place + (g->first[group] - g->first[w->part.begin]);
    while (skipped < count && place[skipped] == LTH__SSK_ELSEWHERE) skipped++;
    for (size_t i = skipped; i < count && place[i] != LTH__SSK_ELSEWHERE; i++)
        w->pair[taken++] = r * tile->cols + place[i];
    if (taken == 0) return;
    take(user, w->pair, taken, plan->lanes->lanes, w->value + skipped,
         slope ? slope + skipped : NULL);
}

/* Values, and slopes by all parameters, each in a pass of its own. `slope` has the tables. */
static lth_status compare_lanes(const lth__ssk_plan *plan, lth__ssk_job job, void *const *slope,
                                workspace *w) {
    size_t lanes = plan->lanes->lanes;
    if (!plan->slopes && !plan->lanes->ssk(&job, w->value, NULL)) return LTH_ECANCELED;
    for (int along = 0; along < LTH__ALONG; along++) {
        if (!goes_along(plan, (lth__along)along)) continue;
        job.slope = along == LTH__ALONG_GAP ? NULL : slope[part_along((lth__along)along)];
        if (!plan->lanes->ssk(&job, w->value, w->tangent)) return LTH_ECANCELED;
        for (size_t lane = 0; lane < lanes; lane++)
            w->slope[(size_t)along * lanes + lane] =
                lth__ssk_weigh(plan->nu, plan->order, w->tangent + lane, lanes);
    }
    return LTH_OK;
}

/* A short row and a group of short columns. */
static void compare_brief(size_t length, size_t group, workspace *w) {
    const lth__ssk_groups *g = w->groups;
    lth__ssk_short *job = &w->brief.job;
    job->rows = length;
    job->cols = width_of(w, group);
    job->t = g->t + g->start[group];
    lth__ssk_brief_run(&w->brief, g->start[group], w->value);
}

/* While a row meets its groups, one after the other, what the next one needs comes to the cache. */
static void expect_next(const lth__ssk_plan *plan, const lth__tile *tile, size_t r, size_t group,
                        const workspace *w) {
    if (!plan->similarity || r + 1 == tile->rows) return;
    size_t length = lth__sequence_length(plan->rows, tile->row[r + 1]);
    if (lth__ssk_is_brief(plan, length))
        lth__ssk_quads_expect(plan, lth__sequence_symbols(plan->rows, tile->row[r + 1]), length,
                              group - w->part.begin, w->part.end - w->part.begin, &w->by);
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
        expect_next(plan, tile, r, group, w);
        if (lth__ssk_is_long(plan, length) && lth__ssk_is_long(plan, width)) {
            LTH_TRY(compare_long_group(plan, tile, r, group, w, take, user, err));
            continue;
        }
        if (!loaded) LTH_TRY(load_row(plan, s, length, w, err));
        loaded = true;
        bool brief = lth__ssk_is_brief(plan, length) && lth__ssk_is_brief(plan, width);
        lth__ssk_job job = job_for(plan, w, length, width);
        job.t = w->groups->t + w->groups->start[group];
        if (brief)
            compare_brief(length, group, w);
        else
            LTH_TRY(compare_lanes(plan, job, w->by.quads, w));
        take_group(plan, tile, r, group, w, brief ? w->brief.slope : w->slope, take, user);
    }
    return LTH_OK;
}

static lth_status compare_rows(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                               lth__ssk_take *take, void *user, lth_error *err) {
    LTH_TRY(find_groups(plan, tile, w, err));
    LTH_TRY(open_brief(plan, tile, w, err));
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
        const uint32_t *slot = sim ? sim->slot : NULL;
        lth__ssk_interleave(symbols, length, rows, slot, stride, pad_s, lanes, lane, w->s);
        lth__ssk_interleave(symbols, length, job->cols, slot, 1, pad_t, lanes, lane, w->t);
        if (!lth__ssk_is_brief(plan, job->cols)) continue;
        lth__ssk_brief_weigh_lane(&w->brief, symbols, length, lane);
        lth__ssk_brief_weigh_col(&w->brief, symbols, length, 0, lane);
    }
}

static lth_status allocate_self(const lth__ssk_plan *plan, size_t longest, workspace *w,
                                lth__ssk_job *job, lth_error *err) {
    *job = job_for(plan, w, longest, longest);
    if (plan->similarity) job->match = LTH__MATCH_TABLE;
    if (lth__ssk_along_similarities(plan)) job->slope = w; /* there will be one */
    LTH_TRY(allocate_results(plan, job, w, err));
    if (plan->brief) LTH_TRY(lth__ssk_brief_open(plan, longest, longest, longest, &w->brief, err));
    if (plan->similarity) job->table = plan->similarity->table[LTH__SIM_VALUE];
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
        take_long(plan, items[i].index, w, take, user);
    }
    return LTH_OK;
}

static void compare_brief_self(const lth__ssk_plan *plan, const lth__ssk_job *job, workspace *w) {
    lth__ssk_short *own = &w->brief.job;
    own->match = LTH__MATCH_TABLE;
    own->table = plan->similarity->table[LTH__SIM_BASIS];
    own->rows = job->rows;
    own->cols = job->cols;
    own->s = job->s;
    own->t = job->t;
    lth__ssk_brief_run(&w->brief, 0, w->value);
}

static lth_status compare_self(const lth__ssk_plan *plan, const lth__sequences *sequences,
                               size_t first, size_t last, workspace *w, lth__ssk_take *take,
                               void *user, lth_error *err) {
    size_t count = last - first;
    void *const *tables = plan->similarity ? plan->similarity->table : NULL;
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
        bool brief = lth__ssk_is_brief(plan, job.cols);
        if (brief)
            compare_brief_self(plan, &job, w);
        else
            LTH_TRY(compare_lanes(plan, job, tables, w));
        for (size_t i = 0; i < group; i++) w->pair[i] = column[at + i].index;
        take(user, w->pair, group, plan->lanes->lanes, w->value, brief ? w->brief.slope : w->slope);
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
    if (!plan->similarity || lth__ssk_has_tables(plan)) {
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
