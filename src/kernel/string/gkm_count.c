/* Pairs of windows by how many units they have equal: by the engine's vectors where units are
 * bytes, else window by window. */
#include "base/parallel.h"
#include "kernel/string/gkm.h"

enum { PAD = LTH__LETTER_PAD };

typedef lth__gkm_config config;
typedef lth__gkm_sequence sequence;
typedef lth__gkm_bench bench;

/* ---- Window by window, where symbols are no bytes and where places matter ---- */

static void walk_diagonal(const config *c, const sequence *x, size_t i, const sequence *y, size_t j,
                          lth__gkm_window_fn *take, void *user) {
    size_t last = c->width - 1, same = 0;
    for (size_t t = 0; t < last; t++) same += lth__gkm_equal(x, i + t, y, j + t);
    for (; i + last < x->length && j + last < y->length; i++, j++) {
        same += lth__gkm_equal(x, i + last, y, j + last);
        if (same >= c->least) take(user, i, j, same);
        same -= lth__gkm_equal(x, i, y, j);
    }
}

enum { WINDOWS_TO_ASK = 1 << 18 }; /* from one question whether to go on to the next */

void lth__gkm_walk(const config *c, const lth_ctx *ctx, const sequence *x, const sequence *y,
                   lth__gkm_window_fn *take, void *user) {
    if (x->length < c->width || y->length < c->width) return;
    size_t most = x->length < y->length ? x->length : y->length;
    lth__pace pace = {.ctx = ctx, .most = WINDOWS_TO_ASK};
    for (size_t i = x->length - c->width; i > 0 && lth__goes_on(&pace, most); i--)
        walk_diagonal(c, x, i, y, 0, take, user);
    for (size_t j = 0; j + c->width <= y->length && lth__goes_on(&pace, most); j++)
        walk_diagonal(c, x, 0, y, j, take, user);
}

typedef struct counts {
    const bench *b;
    size_t length; /* of the column    */
    uint64_t *n;   /* by e - least     */
} counts;

static void count_window(void *user, size_t i, size_t j, size_t same) {
    counts *n = user;
    n->n[same - n->b->c->least] += lth__gkm_pair_weight(n->b, i, n->length, j);
}

/* ---- A row ---- */

lth_status lth__gkm_bench_open(const config *c, const lth__gkm_sides *sides, const lth_ctx *ctx,
                               bench *out, lth_error *err) {
    size_t size = 3 * sides->longest + 2 * PAD;
    bench b = {.c = c, .ctx = ctx, .engine = ctx->engine, .weight = sides->weight, .once = 1};
    if (b.weight) b.once = 1.0 / LTH__GKM_ONE / LTH__GKM_ONE;
    b.block = lth__alloc(size, 1);
    if (!b.block) return lth__fail_memory(err, size);
    b.strand[0] = b.block;
    b.strand[1] = b.block + sides->longest;
    b.scratch = b.block + 2 * sides->longest;
    *out = b;
    return LTH_OK;
}

void lth__gkm_bench_close(bench *b) {
    lth__free(b->block);
}

void lth__gkm_bench_row(bench *b, sequence row) {
    b->row = row;
    for (size_t i = 0; row.letter && i < row.length; i++) {
        uint8_t x = row.letter[i];
        bool none = x == LTH__NO_LETTER;
        b->strand[0][i] = none ? LTH__NO_ROW_LETTER : x;
        b->strand[1][row.length - 1 - i] = none ? LTH__NO_ROW_LETTER : (uint8_t)(3 - x);
    }
}

static lth__gapped_job job_of(const bench *b, size_t strand, const sequence *col) {
    return (lth__gapped_job){.width = b->c->width,
                             .least = b->c->least,
                             .row = b->strand[strand],
                             .col = col->letter,
                             .rows = b->row.length,
                             .cols = col->length,
                             .scratch = b->scratch,
                             .windows = b->row.length - b->c->width + 1};
}

/* Of a row and a column of bytes; too short for a window = none. */
static size_t strands_of(const bench *b, const sequence *col) {
    bool any = b->row.length >= b->c->width && col->length >= b->c->width;
    return !any ? 0 : b->c->both ? 2 : 1;
}

/* Windows of a row that are counted at once: counts are sums over them, and between two pieces a
 * call may be canceled. */
static size_t piece_for(const bench *b, size_t cols) {
    enum { MOST = 4096, LEAST = 64 };
    size_t pairs = b->weight ? (size_t)1 << 28 : (size_t)1 << 32, windows = pairs / (cols + 1);
    return windows > MOST ? MOST : windows < LEAST ? LEAST : windows;
}

/* The piece that begins with this window; false = there is none, or no need for it: then whoever
 * asks next hears that the call was canceled. */
static bool take_piece(const bench *b, const lth__gapped_job *whole, size_t first, size_t piece,
                       lth__gapped_job *out) {
    size_t windows = whole->windows;
    if (first >= windows || (first > 0 && lth__parallel_ask(b->ctx) != LTH_OK)) return false;
    *out = *whole;
    out->row += first;
    out->before = first;
    out->rows = (windows - first < piece ? windows - first : piece) + whole->width - 1;
    return true;
}

void lth__gkm_count(const bench *b, sequence col, uint64_t *n) {
    counts all = {.b = b, .length = col.length, .n = n};
    if (!col.letter) lth__gkm_walk(b->c, b->ctx, &b->row, &col, count_window, &all);
    size_t windows = piece_for(b, col.length);
    for (size_t s = 0; col.letter && s < strands_of(b, &col); s++) {
        lth__gapped_job job = job_of(b, s, &col), piece;
        for (size_t first = 0; take_piece(b, &job, first, windows, &piece); first += windows) {
            if (b->weight)
                b->engine->gapped_weigh(&piece, b->weight, n);
            else
                b->engine->gapped(&piece, n);
        }
    }
}

static double sum_worths(const bench *b, const sequence *col) {
    uint64_t sum = 0;
    size_t windows = piece_for(b, col->length);
    for (size_t s = 0; s < strands_of(b, col); s++) {
        lth__gapped_job job = job_of(b, s, col), piece;
        for (size_t first = 0; take_piece(b, &job, first, windows, &piece); first += windows)
            sum += b->engine->gapped_sum(&piece, b->c->worth);
    }
    return (double)sum;
}

void lth__gkm_compare(const bench *b, sequence col, double *to, size_t step) {
    const config *c = b->c;
    uint64_t n[LTH__MOST_WIDTH + 1] = {0};
    if (col.letter && c->in_bytes && b->engine->gapped_sum) {
        *to = sum_worths(b, &col);
        return;
    }
    lth__gkm_count(b, col, n);
    for (size_t k = c->least; k <= c->most; k++) {
        double sum = 0;
        for (size_t e = k; e <= c->width; e++) sum += (double)n[e - c->least] * c->choose[k][e];
        to[(k - c->least) * step] = b->once * sum;
    }
}
