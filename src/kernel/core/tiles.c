#include "kernel/core/tiles.h"

#include <stdlib.h>

/* ---- Order of items ---- */

typedef struct sized {
    size_t size;
    uint32_t item;
} sized;

static int by_descending_size(const void *a, const void *b) {
    const sized *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static size_t item_size(const lth_items *items, size_t i) {
    size_t size = 0;
    for (size_t f = 0; f < items->encoder->kernel->field_count; f++)
        size += lth__sequence_length(&items->fields[f], i);
    return size;
}

lth_status lth__side_make(const lth_items *items, bool by_size, lth__side *out, lth_error *err) {
    size_t count = items->count;
    *out = (lth__side){.count = count,
                       .item = lth__alloc(count, sizeof *out->item),
                       .size = lth__alloc(count, sizeof *out->size)};
    sized *order = lth__alloc(count, sizeof *order);
    if (!out->item || !out->size || !order) {
        lth__free(order);
        return lth__fail_memory(err, count * sizeof *order);
    }
    for (size_t i = 0; i < count; i++) order[i] = (sized){item_size(items, i), (uint32_t)i};
    if (by_size) qsort(order, count, sizeof *order, by_descending_size);
    for (size_t i = 0; i < count; i++) {
        out->item[i] = order[i].item;
        out->size[i] = 1 + (double)order[i].size;
    }
    lth__free(order);
    return LTH_OK;
}

/* ---- Tiles ---- */

enum { MAX_ROWS = 128, MAX_COLS = 1024 };
static const double max_row_size = 1 << 16, max_col_size = 1 << 18;

/* How many items from `first` on make a side of a tile: up to `most`, less when they are large. */
static size_t items_to_a_tile(const lth__side *s, size_t first, size_t most, double limit,
                              double *size) {
    size_t count = 0;
    *size = 0;
    while (first + count < s->count && count < most) {
        if (*size + s->size[first + count] > limit && count > 0) break;
        *size += s->size[first + count++];
    }
    return count;
}

/* Columns of a tile for rows of that size. Where there are only a few rows, as in predictions, they
 * are told apart by columns too: as far as a tile is worth waking a thread for, and fills the lanes
 * of vectors. */
static size_t most_columns(const lth__tiling *t, double row_size) {
    enum { FEW_ROWS = 12, LEAST_COLS = 64 };
    const double worthwhile = 1 << 18;
    double size = 0;
    if (t->symmetric || t->rows.count >= FEW_ROWS) return MAX_COLS;
    for (size_t i = 0; i < t->cols.count; i++) size += t->cols.size[i] / (double)t->cols.count;
    double cols = worthwhile / (row_size * size);
    return cols >= MAX_COLS ? MAX_COLS : cols > LEAST_COLS ? (size_t)cols : LEAST_COLS;
}

static int by_descending_cost(const void *a, const void *b) {
    const lth__tile_place *x = a, *y = b;
    if (x->cost != y->cost) return x->cost > y->cost ? -1 : 1;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->col < y->col ? -1 : x->col > y->col;
}

static lth_status add_tile(lth__tiling *tiling, lth__tile_place place, lth_error *err) {
    if (!lth__reserve((void **)&tiling->tiles, &tiling->tile_capacity, tiling->tile_count + 1,
                      sizeof *tiling->tiles))
        return lth__fail_memory(err, 0);
    tiling->tiles[tiling->tile_count++] = place;
    return LTH_OK;
}

static lth_status fill_tiling(lth__tiling *tiling, bool by_size, lth_error *err) {
    /* Small enough for many threads to share, and to waste little of a symmetric matrix (a row
     * of tiles meets its own items twice); larger where the columns take long to set up next to a
     * pair. */
    size_t most_rows = tiling->rows.count / (by_size ? 48 : 12) + 1;
    if (most_rows > MAX_ROWS) most_rows = MAX_ROWS;
    for (size_t row = 0, rows; row < tiling->rows.count; row += rows) {
        double row_size, col_size;
        rows = items_to_a_tile(&tiling->rows, row, most_rows, max_row_size, &row_size);
        size_t most_cols = most_columns(tiling, row_size);
        for (size_t col = tiling->symmetric ? row : 0, cols; col < tiling->cols.count;
             col += cols) {
            cols = items_to_a_tile(&tiling->cols, col, most_cols, max_col_size, &col_size);
            lth__tile_place place = {.row = row, .rows = rows, .col = col, .cols = cols};
            place.cost = row_size * col_size;
            LTH_TRY(add_tile(tiling, place, err));
        }
    }
    if (tiling->tile_count > 0)
        qsort(tiling->tiles, tiling->tile_count, sizeof *tiling->tiles, by_descending_cost);
    for (size_t i = 0, pairs = 0; i < tiling->tile_count; i++) {
        tiling->tiles[i].first_pair = pairs;
        pairs += tiling->tiles[i].rows * tiling->tiles[i].cols;
    }
    return LTH_OK;
}

lth_status lth__tiling_make(const lth_items *rows, const lth_items *cols, bool by_size,
                            const lth__side *order, lth__tiling *tiling, lth_error *err) {
    tiling->symmetric = rows == cols;
    tiling->borrowed = tiling->symmetric || order;
    LTH_TRY(lth__side_make(rows, by_size, &tiling->rows, err));
    if (tiling->borrowed)
        tiling->cols = tiling->symmetric ? tiling->rows : *order;
    else
        LTH_TRY(lth__side_make(cols, by_size, &tiling->cols, err));
    return fill_tiling(tiling, by_size, err);
}

void lth__side_free(lth__side *side) {
    lth__free(side->item);
    lth__free(side->size);
}

void lth__tiling_free(lth__tiling *tiling) {
    lth__side_free(&tiling->rows);
    if (!tiling->borrowed) lth__side_free(&tiling->cols);
    lth__free(tiling->tiles);
}
