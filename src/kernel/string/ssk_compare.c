#include "kernel/string/ssk_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/string/ssk_brief.h"
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

static bool goes_along_similarities(const lth__ssk_plan *plan) {
    return goes_along(plan, LTH__ALONG_TEMPERATURE) || goes_along(plan, LTH__ALONG_RARITY);
}

/* Write one string into its lane, padded to `length`. `slot` maps symbols, NULL = as they are, each
 * multiplied by `stride`. */
static void interleave(const uint32_t *symbols, size_t count, size_t length, const uint32_t *slot,
                       uint32_t stride, uint32_t pad, size_t lanes, size_t lane, uint32_t *out) {
    for (size_t i = 0; i < count; i++)
        out[i * lanes + lane] = (slot ? slot[symbols[i]] : symbols[i]) * stride;
    for (size_t i = count; i < length; i++) out[i * lanes + lane] = pad;
}

/* ---- Long pairs, one at a time ---- */

/* Lanes of pairs would need as many long pairs; a pair by itself fills the lanes when it is long.
 * The rule looks at the pair alone: its value must not depend on the tile it is in. */
enum { LONG = 8000 };

static bool is_long(const lth__ssk_plan *plan, size_t length) {
    bool tabled = !plan->similarity || plan->similarity->table[LTH__SIM_VALUE];
    return tabled && !goes_along_similarities(plan) && length >= LONG;
}

static bool is_canceled(const void *ctx) {
    return lth__parallel_ask(ctx) != LTH_OK;
}

static lth_status compare_long_pair(const lth__ssk_plan *plan, const uint32_t *s, size_t p,
                                    const uint32_t *t, size_t q, double *value, double *tangent,
                                    lth_error *err) {
    const lth__similarity *sim = plan->similarity;
    size_t lanes = plan->lanes->lanes, rows = round_up(p, lanes), around = lanes - 1;
    lth__ssk_wave job = {.order = plan->order,
                         .gap = plan->gap,
                         .rows = rows,
                         .cols = q,
                         .table = sim ? sim->table[LTH__SIM_VALUE] : NULL,
                         .stops = is_canceled,
                         .user = plan->ctx};
    uint32_t stride = sim ? (uint32_t)sim->symbols + 1 : 1;
    uint32_t *padded_s = lth__alloc(rows, sizeof *padded_s);
    uint32_t *padded_t = lth__alloc(q + 2 * around, sizeof *padded_t);
    job.scratch = lth__alloc(plan->lanes->wave_scratch(&job, tangent != NULL), 1);
    lth_status status = LTH_OK;
    if (!padded_s || !padded_t || !job.scratch) status = lth__fail_memory(err, 0);
    if (status == LTH_OK) {
        uint32_t pad_t = sim ? (uint32_t)sim->symbols : LTH__PAD_T;
        interleave(s, p, rows, NULL, stride, sim ? pad_t * stride : LTH__PAD_S, 1, 0, padded_s);
        for (size_t k = 0; k < q + 2 * around; k++) {
            bool inside = k >= around && k < around + q;
            padded_t[k] = inside ? t[q - 1 - (k - around)] : pad_t;
        }
        job.s = padded_s;
        job.t = padded_t;
        plan->lanes->ssk_wave(&job, value, tangent);
        status = lth__parallel_ask(plan->ctx);
    }
    lth__free(padded_s);
    lth__free(padded_t);
    lth__free(job.scratch);
    return status;
}

/* ---- Columns of a tile, sorted by length and cut into groups of lanes ---- */

typedef struct column {
    size_t length, index; /* index within the tile */
} column;

/* Longest first, as the items of a tile are: so those of a group are mostly neighbours. */
static int by_length(const void *a, const void *b) {
    const column *x = a, *y = b;
    if (x->length != y->length) return x->length > y->length ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Everything one tile needs, in blocks that are freed together. */
typedef struct workspace {
    column *columns;
    uint32_t *s, *t;
    size_t *t_start, *t_count; /* of each group in t, and its columns, by the first of them */
    void *scratch;
    double *value, *tangent, *slope; /* the last is [lth__along][lane] */
    size_t pair[LTH__MAX_LANES];
    lth__ssk_quads by;    /* where symbols match by similarities */
    lth__ssk_brief brief; /* for pairs of short strings */
} workspace;

static void free_workspace(workspace *w) {
    void *blocks[] = {w->columns, w->s,     w->t,       w->t_start, w->t_count,
                      w->scratch, w->value, w->tangent, w->slope};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__ssk_quads_free(&w->by);
    lth__ssk_brief_close(&w->brief);
}

static lth_status sort_columns(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                               lth_error *err) {
    w->columns = lth__alloc(tile->cols, sizeof *w->columns);
    if (!w->columns) return lth__fail_memory(err, tile->cols * sizeof *w->columns);
    bool sorted = true; /* as they are where the kernel reads one column */
    for (size_t c = 0; c < tile->cols; c++) {
        w->columns[c] = (column){lth__sequence_length(plan->cols, tile->col[c]), c};
        sorted = sorted && (c == 0 || w->columns[c - 1].length >= w->columns[c].length);
    }
    if (!sorted) qsort(w->columns, tile->cols, sizeof *w->columns, by_length);
    return LTH_OK;
}

/* The group of columns that begins at `first`, and its width (that of its longest string). Columns
 * share a group where their values are not changed by it, and long ones not with others. */
static size_t group_size(const lth__ssk_plan *plan, const workspace *w, size_t cols, size_t first,
                         size_t *width) {
    size_t count = 1;
    bool is_first_long = is_long(plan, w->columns[first].length);
    bool is_first_brief = lth__ssk_is_brief(plan, w->columns[first].length);
    lth__ssk_job job = {.order = plan->order,
                        .match = plan->similarity ? LTH__MATCH_QUADS : LTH__MATCH_EXACT,
                        .cols = w->columns[first].length};
    while (count < plan->lanes->lanes && first + count < cols &&
           is_long(plan, w->columns[first + count].length) == is_first_long &&
           lth__ssk_is_brief(plan, w->columns[first + count].length) == is_first_brief &&
           plan->lanes->ssk_shares(&job, plan->slopes, w->columns[first + count].length))
        count++;
    *width = job.cols;
    return count;
}

static lth_status interleave_columns(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                                     lth_error *err) {
    size_t lanes = plan->lanes->lanes, total = 0, width, count;
    w->t_start = lth__alloc(tile->cols, sizeof *w->t_start);
    w->t_count = lth__alloc(tile->cols, sizeof *w->t_count);
    if (!w->t_start || !w->t_count) return lth__fail_memory(err, tile->cols * sizeof *w->t_start);
    for (size_t first = 0; first < tile->cols; first += count) {
        w->t_count[first] = count = group_size(plan, w, tile->cols, first, &width);
        w->t_start[first] = total;
        total += width * lanes;
    }
    w->t = lth__alloc(total, sizeof *w->t);
    if (!w->t) return lth__fail_memory(err, total * sizeof *w->t);
    uint32_t pad = plan->similarity ? (uint32_t)w->by.slots - 1 : LTH__PAD_T;
    for (size_t first = 0; first < tile->cols; first += count) {
        count = w->t_count[first];
        width = w->columns[first].length;
        for (size_t lane = 0; lane < lanes; lane++) {
            const column *c = &w->columns[first + (lane < count ? lane : 0)];
            const uint32_t *symbols = lth__sequence_symbols(plan->cols, tile->col[c->index]);
            interleave(symbols, lane < count ? c->length : 0, width, w->by.slot_of, 1, pad, lanes,
                       lane, w->t + w->t_start[first]);
        }
    }
    return LTH_OK;
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

/* The tables that a row needs; of a row that is not short, or that meets columns that are not, also
 * those of the values. */
static bool needs_part(const lth__ssk_plan *plan, const workspace *w, bool brief_row,
                       lth__sim_part part) {
    size_t first = w->columns[0].length;
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
    lth__ssk_job largest = job_for(plan, w, rows, w->columns[0].length);
    if (goes_along_similarities(plan)) largest.slope = w; /* there will be one */
    return allocate_results(plan, &largest, w, err);
}

/* What the columns of the tile need to meet short rows. */
static lth_status open_brief(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                             lth_error *err) {
    size_t lanes = plan->lanes->lanes, positions = 0, count;
    if (!plan->brief) return LTH_OK;
    for (size_t first = 0; first < tile->cols; first += w->t_count[first])
        positions = w->t_start[first] / lanes + w->columns[first].length;
    LTH_TRY(lth__ssk_brief_open(plan, longest_row(plan, tile), w->columns[0].length, positions,
                                &w->brief, err));
    for (size_t first = 0; first < tile->cols; first += count) {
        count = w->t_count[first];
        for (size_t lane = 0; lane < count; lane++) {
            const column *c = &w->columns[first + lane];
            const uint32_t *symbols = lth__sequence_symbols(plan->cols, tile->col[c->index]);
            lth__ssk_brief_weigh_col(&w->brief, symbols, c->length, w->t_start[first] / lanes,
                                     lane);
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
                                     size_t first, size_t count, workspace *w, lth__ssk_take *take,
                                     void *user, lth_error *err) {
    size_t p = lth__sequence_length(plan->rows, tile->row[r]);
    for (size_t i = first; i < first + count; i++) {
        size_t c = w->columns[i].index, pair = r * tile->cols + c;
        LTH_TRY(compare_long_pair(plan, lth__sequence_symbols(plan->rows, tile->row[r]), p,
                                  lth__sequence_symbols(plan->cols, tile->col[c]),
                                  w->columns[i].length, w->value, w->tangent, err));
        take_long(plan, pair, w, take, user);
    }
    return LTH_OK;
}

/* Values, and slopes by all parameters, each in a pass of its own. `slope` has the tables. */
static void compare_lanes(const lth__ssk_plan *plan, lth__ssk_job job, void *const *slope,
                          workspace *w) {
    size_t lanes = plan->lanes->lanes;
    if (!plan->slopes) plan->lanes->ssk(&job, w->value, NULL);
    for (int along = 0; along < LTH__ALONG; along++) {
        if (!goes_along(plan, (lth__along)along)) continue;
        job.slope = along == LTH__ALONG_GAP ? NULL : slope[part_along((lth__along)along)];
        plan->lanes->ssk(&job, w->value, w->tangent);
        for (size_t lane = 0; lane < lanes; lane++)
            w->slope[(size_t)along * lanes + lane] =
                lth__ssk_weigh(plan->nu, plan->order, w->tangent + lane, lanes);
    }
}

/* A short row and a group of short columns. */
static void compare_brief(size_t length, size_t first, workspace *w) {
    lth__ssk_short *job = &w->brief.job;
    job->rows = length;
    job->cols = w->columns[first].length;
    job->t = w->t + w->t_start[first];
    lth__ssk_brief_run(&w->brief, w->t_start[first], w->value);
}

static lth__ssk_job job_at(const lth__ssk_plan *plan, const workspace *w, size_t length,
                           size_t first) {
    lth__ssk_job job = job_for(plan, w, length, w->columns[first].length);
    job.t = w->t + w->t_start[first];
    return job;
}

/* One row of the tile against all its columns. */
static lth_status compare_row(const lth__ssk_plan *plan, const lth__tile *tile, size_t r,
                              workspace *w, lth__ssk_take *take, void *user, lth_error *err) {
    size_t length = lth__sequence_length(plan->rows, tile->row[r]), count;
    for (size_t first = 0; first < tile->cols; first += count) {
        size_t width = w->columns[first].length;
        count = w->t_count[first];
        if (width == 0) continue;
        if (is_long(plan, length) && is_long(plan, width)) {
            LTH_TRY(compare_long_group(plan, tile, r, first, count, w, take, user, err));
            continue;
        }
        bool brief = lth__ssk_is_brief(plan, length) && lth__ssk_is_brief(plan, width);
        if (brief)
            compare_brief(length, first, w);
        else
            compare_lanes(plan, job_at(plan, w, length, first), w->by.quads, w);
        for (size_t i = 0; i < count; i++)
            w->pair[i] = r * tile->cols + w->columns[first + i].index;
        take(user, w->pair, count, plan->lanes->lanes, w->value, brief ? w->brief.slope : w->slope);
        if (length >= LONG) LTH_TRY(lth__parallel_ask(plan->ctx));
    }
    return LTH_OK;
}

static lth_status compare_rows(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                               lth__ssk_take *take, void *user, lth_error *err) {
    LTH_TRY(sort_columns(plan, tile, w, err));
    if (plan->similarity) LTH_TRY(lth__ssk_quads_number(plan, tile, &w->by, err));
    LTH_TRY(interleave_columns(plan, tile, w, err));
    LTH_TRY(open_brief(plan, tile, w, err));
    LTH_TRY(allocate_rows(plan, tile, w, err));
    for (size_t r = 0; r < tile->rows; r++) {
        size_t length = lth__sequence_length(plan->rows, tile->row[r]);
        if (length == 0) continue;
        LTH_TRY(load_row(plan, lth__sequence_symbols(plan->rows, tile->row[r]), length, w, err));
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
                            const column *items, size_t count, const lth__ssk_job *job,
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
        const column *item = &items[lane < count ? lane : 0];
        const uint32_t *symbols = lth__sequence_symbols(sequences, item->index);
        size_t length = lane < count ? item->length : 0;
        const uint32_t *slot = sim ? sim->slot : NULL;
        interleave(symbols, length, rows, slot, stride, pad_s, lanes, lane, w->s);
        interleave(symbols, length, job->cols, slot, 1, pad_t, lanes, lane, w->t);
        if (!lth__ssk_is_brief(plan, job->cols)) continue;
        lth__ssk_brief_weigh_lane(&w->brief, symbols, length, lane);
        lth__ssk_brief_weigh_col(&w->brief, symbols, length, 0, lane);
    }
}

static lth_status allocate_self(const lth__ssk_plan *plan, size_t longest, workspace *w,
                                lth__ssk_job *job, lth_error *err) {
    *job = job_for(plan, w, longest, longest);
    if (plan->similarity) job->match = LTH__MATCH_TABLE;
    if (goes_along_similarities(plan)) job->slope = w; /* there will be one */
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
                                    const column *items, size_t count, workspace *w,
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
    w->columns = lth__alloc(count, sizeof *w->columns);
    if (!w->columns) return lth__fail_memory(err, count * sizeof *w->columns);
    for (size_t i = 0; i < count; i++)
        w->columns[i] = (column){lth__sequence_length(sequences, first + i), first + i};
    qsort(w->columns, count, sizeof *w->columns, by_length);

    lth__ssk_job job;
    LTH_TRY(allocate_self(plan, w->columns[0].length, w, &job, err));
    for (size_t at = 0, group; at < count; at += group) {
        group = group_size(plan, w, count, at, &job.cols);
        if (is_long(plan, job.cols)) {
            LTH_TRY(compare_long_self(plan, sequences, w->columns + at, group, w, take, user, err));
            continue;
        }
        job.rows = job.cols;
        interleave_self(plan, sequences, w->columns + at, group, &job, w);
        bool brief = lth__ssk_is_brief(plan, job.cols);
        if (brief)
            compare_brief_self(plan, &job, w);
        else
            compare_lanes(plan, job, tables, w);
        for (size_t i = 0; i < group; i++) w->pair[i] = w->columns[at + i].index;
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
