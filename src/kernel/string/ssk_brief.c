#include "kernel/string/ssk_brief.h"

#include "base/memory.h"

static bool allocate_weights(const lth__ssk_plan *plan, size_t rows, size_t positions,
                             lth__ssk_brief *b) {
    size_t lanes = plan->lanes->lanes, real = plan->lanes->real_size;
    if (!plan->similarity->weight) return true;
    b->row_weight = lth__calloc(rows * lanes, real);
    b->row_slope = lth__calloc(rows * lanes, real);
    b->col_weight = lth__calloc(positions * lanes, real);
    b->col_slope = lth__calloc(positions * lanes, real);
    return b->row_weight && b->row_slope && b->col_weight && b->col_slope;
}

/* As good as 0, and what is similar to nothing stays so. */
static const double least_decay = 1e-20;

/* What all groups have. */
static void fill_job(lth__ssk_brief *b) {
    const lth__ssk_plan *plan = b->plan;
    double decay, by_temperature;
    bool decays = lth__similarity_decays(plan->similarity, &decay, &by_temperature);
    b->by_temperature = decays ? by_temperature : 0;
    b->job = (lth__ssk_short){.order = plan->order,
                              .gap = plan->gap,
                              .decays = decays,
                              .decay = decay > least_decay ? decay : least_decay,
                              .nu = plan->nu,
                              .row_weight = b->row_weight,
                              .row_slope = plan->by[LTH__ALONG_RARITY] ? b->row_slope : NULL};
}

lth_status lth__ssk_brief_open(const lth__ssk_plan *plan, size_t rows, size_t cols,
                               size_t positions, lth__ssk_brief *b, lth_error *err) {
    rows = rows < LTH__SHORT ? rows : LTH__SHORT;
    cols = cols < LTH__SHORT ? cols : LTH__SHORT;
    size_t padded = (rows + LTH__ROW_STEP - 1) / LTH__ROW_STEP * LTH__ROW_STEP;
    b->plan = plan;
    if (!allocate_weights(plan, padded, positions, b)) return lth__fail_memory(err, 0);
    fill_job(b);
    b->job.rows = rows; /* the most */
    b->job.cols = cols;
    b->job.scratch = lth__alloc(plan->lanes->ssk_short_scratch(&b->job, plan->slopes), 1);
    b->slope =
        plan->slopes ? lth__alloc(LTH__SHORT_SLOPES * plan->lanes->lanes, sizeof *b->slope) : NULL;
    return b->job.scratch && (b->slope || !plan->slopes) ? LTH_OK : lth__fail_memory(err, 0);
}

void lth__ssk_brief_close(lth__ssk_brief *b) {
    void *blocks[] = {b->row_weight, b->row_slope,   b->col_weight,
                      b->col_slope,  b->job.scratch, b->slope};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

/* ---- Weights ---- */

static void put(const lth__ssk_plan *plan, void *reals, size_t at, double x) {
    if (plan->lanes->real_size == sizeof(float))
        ((float *)reals)[at] = (float)x;
    else
        ((double *)reals)[at] = x;
}

static void weigh(const lth__ssk_brief *b, const uint32_t *symbols, size_t count, size_t first,
                  size_t last, void *weight, void *slope, size_t at) {
    if (!weight) return;
    for (size_t i = 0; i < count; i++) {
        double by_rarity, w = lth__similarity_weight(b->plan->similarity, symbols[i], &by_rarity);
        for (size_t lane = first; lane < last; lane++) {
            size_t to = (at + i) * b->plan->lanes->lanes + lane;
            put(b->plan, weight, to, w);
            put(b->plan, slope, to, by_rarity);
        }
    }
}

void lth__ssk_brief_weigh_col(const lth__ssk_brief *b, const uint32_t *symbols, size_t count,
                              size_t at, size_t lane) {
    weigh(b, symbols, count, lane, lane + 1, b->col_weight, b->col_slope, at);
}

void lth__ssk_brief_weigh_row(const lth__ssk_brief *b, const uint32_t *symbols, size_t count) {
    weigh(b, symbols, count, 0, b->plan->lanes->lanes, b->row_weight, b->row_slope, 0);
}

void lth__ssk_brief_weigh_lane(const lth__ssk_brief *b, const uint32_t *symbols, size_t count,
                               size_t lane) {
    weigh(b, symbols, count, lane, lane + 1, b->row_weight, b->row_slope, 0);
}

/* ---- A group ---- */

void lth__ssk_brief_run(lth__ssk_brief *b, size_t at, double *value) {
    const lth__lanes *lanes = b->plan->lanes;
    if (b->col_weight) {
        b->job.col_weight = (char *)b->col_weight + at * lanes->real_size;
        b->job.col_slope = (char *)b->col_slope + at * lanes->real_size;
    }
    lanes->ssk_short(&b->job, value, b->slope);
    if (!b->slope || b->by_temperature == 0) return;
    for (size_t lane = 0; lane < lanes->lanes; lane++)
        b->slope[LTH__ALONG_TEMPERATURE * lanes->lanes + lane] *= b->by_temperature;
}
