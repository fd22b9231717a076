/* Exact matching where most symbols of a string do not occur in the other, as with words. The
 * places where a row matches are found from lists of where each symbol stands in the columns, so a
 * pair that shares no symbol is never looked at. A pair that matches in a few places is summed over
 * these; of the others only the positions that can match remain. */
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "kernel/string/ssk_compare.h"

typedef lth__ssk_postings postings;

/* A match found in the row at hand, and the one found before it in the same column (from 1; 0 =
 * none). */
typedef struct found {
    lth__meeting at;
    uint32_t before;
} found;

typedef struct workspace {
    const postings *postings; /* of the columns: those of all, or: */
    postings own;
    uint32_t *matches;    /* by column: how many in the row at hand                     */
    uint32_t *latest;     /* by column: number of the latest in `found`, from 1         */
    uint32_t *candidates; /* columns with a match                                      */
    found *found;
    size_t found_capacity;
    uint32_t *in_s, *in_t; /* by symbol: number of the pair in which it was last seen  */
    uint32_t pairs;        /* seen so far                                              */
    uint32_t *s_position, *s_symbol, *t_position, *t_symbol;
    double *scratch, *value;
} workspace;

static void free_workspace(workspace *w) {
    lth__ssk_postings_free(&w->own);
    void *blocks[] = {w->matches,    w->latest,   w->candidates, w->found,    w->in_s,    w->in_t,
                      w->s_position, w->s_symbol, w->t_position, w->t_symbol, w->scratch, w->value};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

/* What dropping positions of a pair needs, once there is one that matches in many places. */
static lth_status allocate_pair(const lth__ssk_plan *plan, bool tangent, workspace *w,
                                lth_error *err) {
    if (w->scratch) return LTH_OK;
    size_t vocabulary = plan->vocabulary, p = plan->rows->longest, q = plan->cols->longest;
    w->in_s = lth__calloc(vocabulary, sizeof *w->in_s);
    w->in_t = lth__calloc(vocabulary, sizeof *w->in_t);
    w->s_position = lth__alloc(p, sizeof *w->s_position);
    w->s_symbol = lth__alloc(p, sizeof *w->s_symbol);
    w->t_position = lth__alloc(q, sizeof *w->t_position);
    w->t_symbol = lth__alloc(q, sizeof *w->t_symbol);
    w->scratch = lth__alloc(lth__ssk_sparse_scratch(plan->order, q, tangent), sizeof *w->scratch);
    bool ok = w->in_s && w->in_t && w->s_position && w->s_symbol && w->t_position && w->t_symbol &&
              w->scratch;
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

/* Pairs that match in one place are handed over together, up to so many. */
enum { BATCH = 64 };

static lth_status allocate_tile(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                                lth_error *err) {
    size_t cols = tile->cols;
    w->matches = lth__calloc(cols, sizeof *w->matches);
    w->latest = lth__calloc(cols, sizeof *w->latest);
    w->candidates = lth__alloc(cols, sizeof *w->candidates);
    w->value = lth__calloc(plan->order, sizeof *w->value);
    bool ok = w->matches && w->latest && w->candidates && w->value;
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

/* A counting sort of all positions by symbol; `item` NULL = all sequences. */
static lth_status list_columns(const lth__sequences *s, const uint32_t *item, size_t count,
                               size_t symbols, postings *p, lth_error *err) {
    size_t units = 0;
    for (size_t c = 0; c < count; c++) units += lth__sequence_length(s, item ? item[c] : c);
    *p = (postings){.symbols = symbols,
                    .start = lth__calloc(symbols + 1, sizeof *p->start),
                    .column = lth__alloc(units, sizeof *p->column),
                    .position = lth__alloc(units, sizeof *p->position)};
    if (!p->start || !p->column || !p->position)
        return lth__fail_memory(err, units * sizeof *p->column);
    for (size_t c = 0; c < count; c++) {
        size_t i = item ? item[c] : c;
        const uint32_t *t = lth__sequence_symbols(s, i);
        for (size_t k = 0; k < lth__sequence_length(s, i); k++) p->start[t[k]]++;
    }
    uint32_t end = 0;
    for (size_t v = 0; v <= symbols; v++) p->start[v] = end += p->start[v];
    for (size_t c = count; c-- > 0;) {
        size_t i = item ? item[c] : c;
        const uint32_t *t = lth__sequence_symbols(s, i);
        for (size_t k = lth__sequence_length(s, i); k-- > 0;) {
            uint32_t at = --p->start[t[k]];
            p->column[at] = (uint32_t)c;
            p->position[at] = (uint32_t)k;
        }
    }
    return LTH_OK;
}

lth_status lth__ssk_postings_make(const lth__sequences *sequences, size_t symbols, postings *out,
                                  lth_error *err) {
    return list_columns(sequences, NULL, sequences->count, symbols, out, err);
}

void lth__ssk_postings_free(postings *p) {
    lth__free(p->start);
    lth__free(p->column);
    lth__free(p->position);
}

/* A tile of all columns as they are has the postings that were made once. */
static lth_status find_postings(const lth__ssk_plan *plan, const lth__tile *tile, workspace *w,
                                lth_error *err) {
    size_t c = 0;
    if (plan->postings && tile->cols == plan->cols->count)
        while (c < tile->cols && tile->col[c] == c) c++;
    w->postings = c == tile->cols ? plan->postings : &w->own;
    if (c == tile->cols) return LTH_OK;
    return list_columns(plan->cols, tile->col, tile->cols, plan->vocabulary, &w->own, err);
}

/* How many there are of a symbol, which the columns need not know. */
static size_t count_postings(const postings *p, uint32_t symbol) {
    return symbol < p->symbols ? p->start[symbol + 1] - p->start[symbol] : 0;
}

enum { POSTINGS_TO_ASK = 1 << 20 }; /* from one question whether to go on to the next */

/* The places where s matches a column, up to one more than can be summed as chains: then it is
 * crowded. The columns with any become candidates. */
static lth_status find_matches(const lth__ssk_plan *plan, const uint32_t *s, size_t length,
                               size_t cols, workspace *w, size_t *candidates, bool *crowded,
                               lth_error *err) {
    const postings *p = w->postings;
    size_t total = 0, most = cols * (LTH__MAX_MEETINGS + 1), used = 0, count = 0;
    for (size_t j = 0; j < length; j++) total += count_postings(p, s[j]);
    if (!lth__reserve((void **)&w->found, &w->found_capacity, total < most ? total : most,
                      sizeof *w->found))
        return lth__fail_memory(err, most * sizeof *w->found);
    for (size_t j = 0, looked_at = 0; j < length; j++) {
        size_t first = s[j] < p->symbols ? p->start[s[j]] : 0, here = count_postings(p, s[j]);
        if (looked_at >= POSTINGS_TO_ASK) {
            LTH_TRY(lth__parallel_ask(plan->ctx));
            looked_at = 0;
        }
        looked_at += here;
        for (size_t e = first; e < first + here; e++) {
            uint32_t c = p->column[e];
            if (w->matches[c] > LTH__MAX_MEETINGS) continue;
            *crowded |= w->matches[c] == LTH__MAX_MEETINGS;
            if (w->matches[c]++ == 0) w->candidates[count++] = c;
            w->found[used] = (found){.at = {(uint32_t)j, p->position[e]}, .before = w->latest[c]};
            w->latest[c] = (uint32_t)++used;
        }
    }
    *candidates = count;
    return LTH_OK;
}

/* ---- One pair ---- */

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

static lth__sparse_pair drop_positions(const lth__ssk_plan *plan, size_t row, size_t col,
                                       workspace *w) {
    const uint32_t *s = lth__sequence_symbols(plan->rows, row),
                   *t = lth__sequence_symbols(plan->cols, col);
    size_t p = lth__sequence_length(plan->rows, row), q = lth__sequence_length(plan->cols, col);
    uint32_t stamp = ++w->pairs;
    lth__sparse_pair pair = {.order = plan->order,
                             .s_position = w->s_position,
                             .t_position = w->t_position,
                             .s_symbol = w->s_symbol,
                             .t_symbol = w->t_symbol,
                             .powers = {plan->power, plan->power_slope},
                             .scratch = w->scratch,
                             .stops = lth__ssk_canceled,
                             .user = plan->ctx};
    for (size_t j = 0; j < p; j++) w->in_s[s[j]] = stamp;
    pair.t_count = keep(t, q, w->in_s, stamp, w->t_position, w->t_symbol);
    for (size_t k = 0; k < pair.t_count; k++) w->in_t[w->t_symbol[k]] = stamp;
    pair.s_count = keep(s, p, w->in_t, stamp, w->s_position, w->s_symbol);
    return pair;
}

/* A column that matches in at least two places; false when it was told to stop. */
static bool compare_pair(const lth__ssk_plan *plan, const lth__tile *tile, size_t r, uint32_t c,
                         workspace *w, double *value, double *tangent) {
    size_t count = w->matches[c];
    if (count > LTH__MAX_MEETINGS) {
        lth__sparse_pair pair = drop_positions(plan, tile->row[r], tile->col[c], w);
        return lth__ssk_sparse(&pair, value, tangent);
    }
    lth__meeting meeting[LTH__MAX_MEETINGS];
    uint32_t at = w->latest[c];
    for (size_t n = count; n-- > 0; at = w->found[at - 1].before) meeting[n] = w->found[at - 1].at;
    lth__powers powers = {plan->power, plan->power_slope};
    lth__ssk_meetings(plan->order, powers, meeting, count, value, tangent);
    return true;
}

static lth_status compare_row(const lth__ssk_plan *plan, const lth__tile *tile, size_t r,
                              size_t candidates, workspace *w, lth__ssk_take *take, void *user) {
    /* Most candidates match in one place: k_1 = 1, and nothing else, as w->value has it. */
    double value[LTH__MAX_ORDER], tangent[LTH__MAX_ORDER], none = 0, slope;
    size_t single[BATCH], singles = 0;
    for (size_t i = 0; i < candidates; i++) {
        uint32_t c = w->candidates[i];
        size_t pair = r * tile->cols + c;
        if (w->matches[c] == 1) {
            single[singles++] = pair;
            if (singles == BATCH) take(user, single, singles, 0, w->value, &none), singles = 0;
        } else {
            if (!compare_pair(plan, tile, r, c, w, value, plan->slopes ? tangent : NULL))
                return LTH_ECANCELED;
            slope = plan->slopes ? lth__ssk_weigh(plan->nu, plan->order, tangent, 1) : 0;
            take(user, &pair, 1, 1, value, &slope);
        }
        w->matches[c] = w->latest[c] = 0;
    }
    if (singles > 0) take(user, single, singles, 0, w->value, &none);
    return LTH_OK;
}

lth_status lth__ssk_compare_dropping(const lth__ssk_plan *plan, const lth__tile *tile,
                                     lth__ssk_take *take, void *user, lth_error *err) {
    workspace w = {0};
    lth_status status = allocate_tile(plan, tile, &w, err);
    if (status == LTH_OK) status = find_postings(plan, tile, &w, err);
    if (status == LTH_OK) w.value[0] = 1;
    for (size_t r = 0; r < tile->rows && status == LTH_OK; r++) {
        const uint32_t *s = lth__sequence_symbols(plan->rows, tile->row[r]);
        size_t candidates = 0, length = lth__sequence_length(plan->rows, tile->row[r]);
        bool crowded = false;
        status = find_matches(plan, s, length, tile->cols, &w, &candidates, &crowded, err);
        if (status == LTH_OK && crowded) status = allocate_pair(plan, plan->slopes, &w, err);
        if (status == LTH_OK) status = compare_row(plan, tile, r, candidates, &w, take, user);
        if (status == LTH_OK) status = lth__parallel_ask(plan->ctx);
    }
    free_workspace(&w);
    return status;
}

/* ---- Whether it pays ---- */

/* Nanoseconds, roughly; only their proportions matter. */
static double dense_cost(const lth__ssk_plan *plan, size_t p, size_t q) {
    return 0.6 / (double)plan->lanes->lanes * (double)plan->order * (double)p * (double)q;
}

static double dropping_cost(const lth__ssk_plan *plan, size_t s_count, size_t t_count) {
    double cells = (double)s_count * (double)t_count;
    return cells == 0 ? 1 : 10 + (double)plan->order * cells;
}

/* The symbols of a row, how often it has each, and the last pair in which it was met. A table of
 * them is small, whatever the vocabulary. */
typedef struct row_symbol {
    uint32_t symbol, count, met;
} row_symbol;

typedef struct row_symbols {
    size_t row;
    row_symbol *at; /* by hash; count 0 = empty */
    unsigned shift;
    size_t size;
} row_symbols;

static lth_status allocate_symbols(const lth__ssk_plan *plan, row_symbols *r, lth_error *err) {
    unsigned bits = 4;
    while (((size_t)1 << bits) < 2 * plan->rows->longest) bits++;
    *r = (row_symbols){.row = SIZE_MAX, .shift = 64 - bits, .size = (size_t)1 << bits};
    r->at = lth__alloc(r->size, sizeof *r->at);
    return r->at ? LTH_OK : lth__fail_memory(err, r->size * sizeof *r->at);
}

/* The place of a symbol, or the empty one where it would be. */
static row_symbol *find_symbol(const row_symbols *r, uint32_t symbol) {
    size_t at = (size_t)(symbol * UINT64_C(0x9e3779b97f4a7c15) >> r->shift);
    while (r->at[at].count > 0 && r->at[at].symbol != symbol) at = (at + 1) & (r->size - 1);
    return &r->at[at];
}

static void count_symbols(const lth__ssk_plan *plan, size_t row, row_symbols *r) {
    if (r->row == row) return;
    r->row = row;
    memset(r->at, 0, r->size * sizeof *r->at);
    const uint32_t *s = lth__sequence_symbols(plan->rows, row);
    for (size_t j = 0; j < lth__sequence_length(plan->rows, row); j++) {
        row_symbol *at = find_symbol(r, s[j]);
        at->symbol = s[j];
        at->count++;
    }
}

/* The positions that stay of the row and of a column; `pair` numbers them from 1. */
static void count_positions(const lth__ssk_plan *plan, const row_symbols *r, size_t col,
                            uint32_t pair, size_t *s_count, size_t *t_count) {
    const uint32_t *t = lth__sequence_symbols(plan->cols, col);
    *s_count = *t_count = 0;
    for (size_t k = 0; k < lth__sequence_length(plan->cols, col); k++) {
        row_symbol *at = find_symbol(r, t[k]);
        if (at->count == 0) continue;
        ++*t_count;
        if (at->met != pair) *s_count += at->count;
        at->met = pair;
    }
}

/* As many pairs as can tell, but not so many that looking takes as long as computing them all. */
static size_t sample_size(size_t rows, size_t cols) {
    enum { MOST = 300, SHARE = 8 };
    return rows * cols >= MOST * SHARE ? MOST : rows * cols / SHARE + 1;
}

lth_status lth__ssk_dropping_pays(const lth__ssk_plan *plan, bool *out, lth_error *err) {
    size_t sample = sample_size(plan->rows->count, plan->cols->count);
    row_symbols symbols;
    LTH_TRY(allocate_symbols(plan, &symbols, err));
    double dense = 0, dropping = 0;
    lth__random random;
    lth__random_seed(&random, 1);
    for (size_t n = 0; n < sample; n++) {
        size_t i = lth__random_below(&random, plan->rows->count), p, q;
        size_t j = lth__random_below(&random, plan->cols->count);
        count_symbols(plan, i, &symbols);
        count_positions(plan, &symbols, j, (uint32_t)n + 1, &p, &q);
        dense += dense_cost(plan, lth__sequence_length(plan->rows, i),
                            lth__sequence_length(plan->cols, j));
        dropping += dropping_cost(plan, p, q);
    }
    lth__free(symbols.at);
    *out = dropping < dense;
    return LTH_OK;
}
