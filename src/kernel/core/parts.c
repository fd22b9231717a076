#include "kernel/core/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/core/work.h"

/* ---- The order of the work ---- */

static void free_order(lth__order *o) {
    lth__side_free(&o->side);
    lth__free(o->place);
}

static lth_status make_order(const lth_items *items, bool by_size, lth__order *out,
                             lth_error *err) {
    LTH_TRY(lth__side_make(items, by_size, &out->side, err));
    out->place = lth__alloc(items->count, sizeof *out->place);
    if (!out->place) return lth__fail_memory(err, items->count * sizeof *out->place);
    for (size_t k = 0; k < items->count; k++) out->place[out->side.item[k]] = (uint32_t)k;
    return LTH_OK;
}

lth_status lth__parts_open(const lth__eval *eval, lth__parts *out, lth_error *err) {
    *out = (lth__parts){.eval = eval, .symmetric = eval->rows == eval->cols};
    LTH_TRY(make_order(eval->rows, eval->by_size, &out->rows, err));
    if (!out->symmetric) return make_order(eval->cols, eval->by_size, &out->cols, err);
    out->cols = out->rows;
    return LTH_OK;
}

void lth__parts_close(lth__parts *p) {
    free_order(&p->rows);
    if (!p->symmetric) free_order(&p->cols);
    *p = (lth__parts){0};
}

/* ---- Cutting a part into tiles ---- */

/* Items in the order of the work. */
typedef struct stretch {
    size_t count;
    const uint32_t *item, *place;
    const double *size;
} stretch;

/* A tile; of its pairs those count whose column does not come before the row. */
typedef struct cut_tile {
    lth__tile tile;
    const uint32_t *row_place, *col_place; /* NULL = all pairs count */
} cut_tile;

typedef lth_status take_fn(void *user, const cut_tile *t, lth_error *err);

typedef struct cutting {
    bool symmetric;
    lth__part_count so_far;
    take_fn *take;
    void *user;
} cutting;

static int by_place(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Items first .. first + count - 1; `room` is freed by the caller. */
static lth_status make_stretch(const lth__order *o, size_t first, size_t count, void **room,
                               stretch *out, lth_error *err) {
    size_t each = sizeof(double) + 2 * sizeof(uint32_t);
    double *size = *room = lth__alloc(count, each);
    if (!size) return lth__fail_memory(err, count * each);
    uint32_t *place = (uint32_t *)(size + count), *item = place + count;
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        place[i] = o->place[first + i];
        sorted &= i == 0 || place[i - 1] < place[i];
    }
    if (!sorted) qsort(place, count, sizeof *place, by_place);
    for (size_t i = 0; i < count; i++) {
        item[i] = o->side.item[place[i]];
        size[i] = o->side.size[place[i]];
    }
    *out = (stretch){count, item, place, size};
    return LTH_OK;
}

static stretch rest(stretch from, size_t taken) {
    return (stretch){from.count - taken, from.item + taken, from.place + taken, from.size + taken};
}

/* The first so many items, fewer where they are large. */
static stretch begin(stretch from, size_t most, double most_size) {
    size_t count = 0;
    double size = 0;
    while (count < from.count && count < most) {
        size += from.size[count];
        if (size > most_size && count > 0) break;
        count++;
    }
    from.count = count;
    return from;
}

/* How many of the columns come before an item. */
static size_t count_before(stretch cols, size_t place) {
    size_t low = 0, high = cols.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cols.place[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static lth_status hand_out(cutting *c, stretch rows, stretch cols, bool mixed, lth_error *err) {
    cut_tile t = {.tile = {.row = rows.item,
                           .rows = rows.count,
                           .col = cols.item,
                           .cols = cols.count,
                           .index = c->so_far.tiles,
                           .first_pair = c->so_far.pairs}};
    if (mixed) {
        t.row_place = rows.place;
        t.col_place = cols.place;
    }
    c->so_far.tiles++;
    c->so_far.pairs += rows.count * cols.count;
    return c->take(c->user, &t, err);
}

static lth_status cut_columns(cutting *c, stretch rows, stretch cols, bool mixed, lth_error *err) {
    enum { MOST_COLS = 1024 };
    while (cols.count > 0) {
        stretch some = begin(cols, MOST_COLS, 1 << 18);
        LTH_TRY(hand_out(c, rows, some, mixed, err));
        cols = rest(cols, some.count);
    }
    return LTH_OK;
}

/* Rows with the columns that come after them. Where these begin among the rows themselves, most
 * pairs of a large block would be thrown away: there the blocks are smaller. */
static lth_status cut_rows(cutting *c, stretch rows, stretch cols, size_t most_rows,
                           lth_error *err) {
    enum { LEAST_ROWS = 16 };
    while (rows.count > 0) {
        stretch block = begin(rows, most_rows, 1 << 16), mixed = cols;
        size_t from = 0, to = 0;
        if (c->symmetric) {
            from = count_before(cols, block.place[0]);
            to = count_before(cols, block.place[block.count - 1]);
        }
        mixed = rest(cols, from);
        mixed.count = to - from;
        if (block.count > LEAST_ROWS && mixed.count > 0)
            LTH_TRY(cut_rows(c, block, mixed, (block.count + 3) / 4, err));
        else
            LTH_TRY(cut_columns(c, block, mixed, true, err));
        LTH_TRY(cut_columns(c, block, rest(cols, to), false, err));
        rows = rest(rows, block.count);
    }
    return LTH_OK;
}

static lth_status cut_part(const lth__parts *p, const lth__gram_part *part, take_fn *take,
                           void *user, lth_error *err) {
    enum { MOST_ROWS = 128 };
    cutting c = {.symmetric = p->symmetric, .take = take, .user = user};
    void *room[2] = {NULL, NULL};
    stretch rows = {0}, cols = {0};
    if (part->rows == 0 || part->cols == 0) return LTH_OK;
    lth_status status = make_stretch(&p->rows, part->row, part->rows, &room[0], &rows, err);
    if (status == LTH_OK)
        status = make_stretch(&p->cols, part->col, part->cols, &room[1], &cols, err);
    if (status == LTH_OK) status = cut_rows(&c, rows, cols, MOST_ROWS, err);
    if (status == LTH_OK && p->symmetric && part->row != part->col)
        status = cut_rows(&c, cols, rows, MOST_ROWS, err);
    lth__free(room[0]);
    lth__free(room[1]);
    return status;
}

static lth_status count_tile(void *user, const cut_tile *t, lth_error *err) {
    (void)err;
    lth__part_count *count = user;
    count->tiles++;
    count->pairs += t->tile.rows * t->tile.cols;
    return LTH_OK;
}

lth_status lth__part_count_tiles(const lth__parts *p, const lth__gram_part *part,
                                 lth__part_count *out, lth_error *err) {
    *out = (lth__part_count){0};
    return cut_part(p, part, count_tile, out, err);
}

static double size_of(const lth__order *o, size_t first, size_t count) {
    double size = 0;
    for (size_t i = first; i < first + count; i++) size += o->side.size[o->place[i]];
    return size;
}

double lth__part_cost(const lth__parts *p, const lth__gram_part *part) {
    return size_of(&p->rows, part->row, part->rows) * size_of(&p->cols, part->col, part->cols);
}

/* ---- Tiles and the cells of a part ---- */

typedef struct making {
    const lth__parts *parts;
    const lth__gram_part *part;
    lth__part_count before;
    double *buffer;
    size_t room; /* of the buffer */
    lth__eval eval;
    lth__memo *memo; /* pull: of one tile, where the evaluation has none */
    size_t memo_pairs;
    double *sum;
} making;

/* What is done with a pair of a tile, at `cell` of the part. */
typedef void visit_fn(double *cell, bool diagonal, double *pair);

static inline void put_value(double *cell, bool diagonal, double *pair) {
    (void)diagonal;
    *cell = *pair;
}

/* A pair carries the weights of both its places. */
static inline void get_weight(double *cell, bool diagonal, double *pair) {
    *pair = diagonal ? *cell : 2 * *cell;
}

/* Every pair that counts; inlined with its visitor. Where items are in order, columns of a tile are
 * rows of the part: as many together as cells of the tile lie on a cache line. */
static inline void visit(const making *m, const cut_tile *t, visit_fn *what) {
    enum { TOGETHER = 8 };
    const lth__gram_part *part = m->part;
    const lth__tile *tile = &t->tile;
    for (size_t left = 0; left < tile->cols; left += TOGETHER) {
        size_t end = left + TOGETHER < tile->cols ? left + TOGETHER : tile->cols;
        for (size_t r = 0; r < tile->rows; r++) {
            for (size_t c = left; c < end; c++) {
                if (t->row_place && t->col_place[c] < t->row_place[r]) continue;
                size_t i = tile->row[r], j = tile->col[c];
                bool turned = m->parts->symmetric && i < j;
                size_t row = (turned ? j : i) - part->row, col = (turned ? i : j) - part->col;
                what(&part->cells[row * part->ld + col], i == j, &m->buffer[r * tile->cols + c]);
            }
        }
    }
}

static lth_status reserve(making *m, const lth__tile *tile, lth_error *err) {
    size_t pairs = tile->rows * tile->cols;
    if (lth__reserve((void **)&m->buffer, &m->room, pairs, sizeof *m->buffer)) return LTH_OK;
    return lth__fail_memory(err, pairs * sizeof *m->buffer);
}

/* Numbered among those of all parts. */
static lth__tile numbered(const making *m, const cut_tile *t) {
    lth__tile tile = t->tile;
    tile.index += m->before.tiles;
    tile.first_pair += m->before.pairs;
    return tile;
}

static lth_status compute_tile(void *user, const cut_tile *t, lth_error *err) {
    making *m = user;
    lth__tile tile = numbered(m, t);
    LTH_TRY(reserve(m, &tile, err));
    LTH_TRY(lth__node_tile(m->eval.kernel->root, &m->eval, &tile, m->buffer, err));
    LTH_TRY(lth__tile_check(&tile, m->buffer, err));
    visit(m, t, put_value);
    return lth__parallel_ask(m->eval.ctx);
}

lth_status lth__part_values(const lth__parts *p, const lth__gram_part *part, lth__part_count before,
                            lth_error *err) {
    making m = {.parts = p, .part = part, .before = before, .eval = *p->eval};
    lth_status status = cut_part(p, part, compute_tile, &m, err);
    lth__free(m.buffer);
    return status;
}

/* ---- Pull-back ---- */

/* Families add up in another order what comes from a memo. Where there is none, one for a single
 * tile takes its place: so the bits are the same. */
static lth_status borrow_memo(making *m, lth__tile *tile, lth_error *err) {
    const lth_kernel *kernel = m->eval.kernel;
    size_t pairs = tile->rows * tile->cols;
    if (!m->memo || pairs > m->memo_pairs) {
        lth__memo_free(kernel, m->memo);
        m->memo = lth__memo_make(&m->eval, 1, pairs);
        if (!m->memo) return lth__fail_memory(err, pairs * sizeof(double));
        m->memo_pairs = pairs;
    }
    lth__memo_clear(kernel, m->memo);
    m->eval.memo = m->memo;
    tile->index = tile->first_pair = 0;
    return LTH_OK;
}

static lth_status pull_tile(void *user, const cut_tile *t, lth_error *err) {
    making *m = user;
    lth__tile tile = numbered(m, t);
    size_t pairs = tile.rows * tile.cols;
    lth__sink sink = {.sum = m->sum, .pairs = pairs};
    LTH_TRY(reserve(m, &tile, err));
    if (!m->parts->eval->memo) LTH_TRY(borrow_memo(m, &tile, err));
    memset(m->buffer, 0, pairs * sizeof *m->buffer);
    visit(m, t, get_weight);
    LTH_TRY(lth__node_pull(m->eval.kernel->root, &m->eval, &tile, m->buffer, NULL, &sink, err));
    return lth__parallel_ask(m->eval.ctx);
}

lth_status lth__part_pull(const lth__parts *p, const lth__gram_part *part, lth__part_count before,
                          double *sum, lth_error *err) {
    const lth_kernel *kernel = p->eval->kernel;
    making m = {.parts = p, .part = part, .before = before, .eval = *p->eval, .sum = sum};
    memset(sum, 0, kernel->param_count * sizeof *sum);
    lth_status status = cut_part(p, part, pull_tile, &m, err);
    lth__memo_free(kernel, m.memo);
    lth__free(m.buffer);
    return status == LTH_OK ? lth__gradient_check(kernel, sum, err) : status;
}
