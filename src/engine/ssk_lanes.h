/* The gap-weighted subsequence kernel of whole strings, `LANES` pairs at a time: which sweeps
 * (ssk_sweep.h) go over which cells.
 *
 * The state P of a block of columns stays in the first-level cache; the Q of every row is carried
 * from one block of columns to the next. Row j ends subsequences of at most j + 1 symbols, so the
 * first rows need not advance all orders. What a pair comes to does not depend on the others in the
 * vector: blocks begin at the same columns whatever the widest string is, and padding adds zeros.
 */
#include "engine/ssk_copies.h"

enum {
    EXACT_BLOCK_BYTES = 24 * 1024, /* of P: in a 32 KiB first-level cache */
    TABLE_BLOCK_BYTES =
        192 * 1024, /* similarities are read at random: fewer, wider blocks reuse them */
    LINKED_ROWS = LTH__ROW_STEP, /* that one group after the other does */
    CELLS_TO_ASK = 1 << 20, /* vectors of them, from one question whether to stop to the next */
    ROWS_TO_ASK = 1 << 10,
};

static size_t round_up(size_t value, size_t step) {
    return (value + step - 1) / step * step;
}

/* How a job is done: its orders but the last, in balanced groups. */
typedef struct scheme {
    lth__match match;
    along way;
    const copies *copies;
    int levels, groups, kinds;
    bool direct; /* from quads */
} scheme;

static scheme plan(size_t order, lth__match match, along way) {
    static const copies *const by_way[2][3] = {{&symbols_value, &symbols_gap, NULL},
                                               {&stored_value, &stored_gap, &stored_slope}};
    const copies *found = by_way[match != LTH__MATCH_EXACT][way];
    const int levels = (int)order - 1, most = found->most_chained;
    return (scheme){
        .match = match,
        .way = way,
        .copies = found,
        .levels = levels,
        .groups = levels <= found->most_alone ? 1 : (levels + most - 1) / most,
        .kinds = way == ALONG_NOTHING ? 1 : 2,
        .direct = match == LTH__MATCH_QUADS && way == ALONG_NOTHING && levels < (int)DIRECT_LEVELS,
    };
}

/* Vectors for each column of a block: P, and A between groups. */
static size_t linked(const scheme *c) {
    return c->groups > 1 ? (size_t)(LINKED_ROWS * c->kinds) : 0;
}

static size_t block_columns(const scheme *c) {
    size_t vectors = (size_t)(c->levels * c->kinds) + linked(c);
    size_t limit = c->match == LTH__MATCH_EXACT ? EXACT_BLOCK_BYTES : TABLE_BLOCK_BYTES;
    size_t columns = limit / ((vectors ? vectors : 1) * sizeof(vec));
    return columns < 16 ? 16 : columns;
}

/* ---- A block of rows and columns ---- */

typedef struct block {
    const uint32_t *s, *t;       /* of its first row and column */
    size_t rows, columns, above; /* rows above the first, in any lane */
    real gap;
    const real *table, *slope; /* quads: of the first row */
    size_t slots;
    vec *P, *Q; /* Q of the first row, NULL = all zero */
    bool keep;
    vec *link, *sims, *dsims;
    vec *total, *dtotal;
    bool (*stops)(const void *user);
    const void *user;
    size_t cells; /* since it was asked whether to stop */
} block;

static bool stops_now(block *b, size_t rows) {
    b->cells += rows * b->columns;
    if (!b->stops || b->cells < CELLS_TO_ASK) return false;
    b->cells = 0;
    return b->stops(b->user);
}

/* NULL where symbols are not asked for: quads have their own. */
static const uint32_t *symbols_at(const block *b, size_t j) {
    return b->s ? b->s + j * LANES : NULL;
}

static void look_up_rows(const scheme *c, const block *b, size_t j) {
    size_t quads = c->match == LTH__MATCH_QUADS ? j * b->slots : 0;
    const uint32_t *s = symbols_at(b, j);
    look_up(c->match, b->table + quads, s, b->t, b->columns, b->sims);
    if (c->way == ALONG_SLOPE) look_up(c->match, b->slope + quads, s, b->t, b->columns, b->dsims);
}

static strip rows_at(const scheme *c, const block *b, size_t j, size_t rows) {
    const size_t at = j % LTH__ROW_STEP, width = (size_t)(c->levels * c->kinds);
    return (strip){.s = symbols_at(b, j),
                   .t = b->t,
                   .rows = rows < b->rows - j ? rows : b->rows - j,
                   .columns = b->columns,
                   .gap = b->gap,
                   .P = b->P,
                   .Q = b->Q ? b->Q + j * width : NULL,
                   .keep = b->keep,
                   .width = width,
                   .link = b->link,
                   .sims = b->sims + at,
                   .dsims = b->dsims + at,
                   .quads = c->direct ? b->table + j * b->slots : NULL,
                   .slots = b->slots,
                   .total = b->total,
                   .dtotal = b->dtotal};
}

/* Rows from j on, when all levels are in one group; returns how many. The first rows have fewer
 * levels: the longest subsequence that ends in them has as many symbols as there are rows so far.
 */
static size_t sweep_alone(const scheme *c, const block *b, size_t j) {
    const copy *alone = c->copies->alone, *found = &alone[c->levels];
    const size_t row = b->above + j;
    size_t rows = c->match == LTH__MATCH_EXACT || c->direct ? (size_t)ROWS_TO_ASK
                                                            : LTH__ROW_STEP - j % LTH__ROW_STEP;
    for (int levels = c->levels - 1; levels > 0 && row < (size_t)levels; levels--) {
        if (row + (size_t)alone[levels].rows > (size_t)levels) continue;
        found = &alone[levels];
        rows = (size_t)found->rows;
    }
    strip x = rows_at(c, b, j, rows);
    if (c->direct)
        quads_value[c->levels](&x);
    else
        found->run(&x);
    return rows;
}

/* Groups that follow each other over the same rows. */
static size_t sweep_chained(const scheme *c, const block *b, size_t j) {
    strip x = rows_at(c, b, j, LINKED_ROWS);
    size_t ends = b->above + j + x.rows;
    for (int group = 0, done = 0, levels; group < c->groups; group++, done += levels) {
        if (group > 0 && (size_t)done >= ends) break;
        int left = c->groups - group;
        x.passes_on = left > 1;
        levels = (c->levels - done + left - 1) / left;
        (group == 0 ? c->copies->head : c->copies->tail)[levels].run(&x);
        x.P += levels * c->kinds;
        if (x.Q) x.Q += levels * c->kinds;
        x.total += levels;
        x.dtotal += levels;
    }
    return LINKED_ROWS;
}

/* False when it was told to stop. */
static bool sweep_block(const scheme *c, block *b) {
    const bool stored = c->match != LTH__MATCH_EXACT && !c->direct;
    for (size_t j = 0, rows; j < b->rows; j += rows) {
        if (stored && j % LTH__ROW_STEP == 0) look_up_rows(c, b, j);
        rows = c->groups > 1 ? sweep_chained(c, b, j) : sweep_alone(c, b, j);
        if (stops_now(b, rows)) return false;
    }
    return true;
}

/* ---- Jobs ---- */

static scheme plan_job(const lth__ssk_job *job, bool tangent) {
    bool slope = tangent && job->match != LTH__MATCH_EXACT && job->slope;
    return plan(job->order, job->match, !tangent ? ALONG_NOTHING : slope ? ALONG_SLOPE : ALONG_GAP);
}

/* Vectors of P, carried Q, A between groups and looked-up similarities. */
typedef struct layout {
    size_t columns, state, carried, link, sims;
} layout;

static layout lay_out(const scheme *c, size_t rows, size_t cols) {
    size_t per_cell = (size_t)(c->levels * c->kinds), columns = block_columns(c);
    size_t width = cols < columns ? cols : columns;
    return (layout){
        .columns = columns,
        .state = width * per_cell,
        .carried = cols > columns ? round_up(rows, LTH__ROW_STEP) * per_cell : 0,
        .link = width * linked(c),
        .sims = c->match == LTH__MATCH_EXACT
                    ? 0
                    : width * LTH__ROW_STEP * (c->way == ALONG_SLOPE ? 2 : 1),
    };
}

static size_t ssk_scratch(const lth__ssk_job *job, bool tangent) {
    scheme c = plan_job(job, tangent);
    layout l = lay_out(&c, job->rows, job->cols);
    return (l.state + l.carried + l.link + l.sims) * sizeof(vec);
}

static block block_of(const lth__ssk_job *job, const layout *l, vec *total, vec *dtotal) {
    vec *state = job->scratch, *link = state + l->state + l->carried, *sims = link + l->link;
    return (block){.s = job->s,
                   .rows = job->rows,
                   .gap = (real)job->gap,
                   .table = job->table,
                   .slope = job->slope,
                   .slots = job->slots,
                   .P = state,
                   .Q = l->carried ? state + l->state : NULL,
                   .link = link,
                   .sims = sims,
                   /* read only along a slope, when there are twice as many */
                   .dsims = sims + l->sims / 2,
                   .total = total,
                   .dtotal = dtotal,
                   .stops = job->stops,
                   .user = job->user};
}

static bool ssk(const lth__ssk_job *job, double *value, double *tangent) {
    const scheme c = plan_job(job, tangent != NULL);
    const layout l = lay_out(&c, job->rows, job->cols);
    vec total[LTH__MAX_ORDER], dtotal[LTH__MAX_ORDER];
    for (size_t i = 0; i < job->order; i++) total[i] = dtotal[i] = v_zero();
    block b = block_of(job, &l, total, dtotal);
    if (b.Q) memset(b.Q, 0, l.carried * sizeof *b.Q);
    for (size_t first = 0; first < job->cols; first += l.columns) {
        b.t = job->t + first * LANES;
        b.columns = job->cols - first < l.columns ? job->cols - first : l.columns;
        b.keep = first + b.columns < job->cols;
        memset(b.P, 0, l.state * sizeof *b.P);
        if (!sweep_block(&c, &b)) return false;
    }
    for (size_t i = 0; i < job->order; i++) {
        v_store_double(value + i * LANES, total[i]);
        if (tangent) v_store_double(tangent + i * LANES, dtotal[i]);
    }
    return true;
}
