/* A Gram matrix, tile by tile, into a store.
 *
 * A piece of work is a tile, of a symmetric matrix a tile i.j with j <= i and its mirror image j.i.
 * Threads take one piece after the other and write it themselves. All pieces are of one evaluation,
 * that of lth_gram(), and a pair is computed in the same direction: its row is the item that comes
 * first in the order of the work. So the bits are the same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/durable.h"
#include "base/parallel.h"
#include "kernel/core/gram.h"
#include "kernel/core/store.h"
#include "kernel/core/work.h"
#include "kernel/device/device_eval.h"

/* Items of one side, by the rows (or columns) of tiles that they lie in, and there in the order of
 * the work. */
typedef struct axis {
    size_t count, tile;
    uint32_t *item;
    double *size;
    size_t *place; /* in the order of all items; by position in `item` */
} axis;

typedef struct piece {
    size_t i, j;
} piece;

typedef struct storing {
    lth__eval eval;
    bool symmetric, by_device;
    lth_store *store;
    axis rows, cols; /* the same pointers when symmetric */
    piece *pieces;
    double *tiles; /* to write, of each piece */
    size_t count, tile_count;
} storing;

/* ---- One piece ---- */

/* Part of a side: the items of a tile, or some of them. */
typedef struct range {
    const axis *of;
    size_t first, count;
} range;

/* A piece in the making. */
typedef struct making {
    const storing *s;
    piece at;
    double *tile, *buffer;
    size_t room; /* of the buffer */
    bool turned; /* rows of the work are columns of the tile */
} making;

static range tile_range(const axis *s, size_t i) {
    size_t first = i * s->tile, left = s->count - first;
    return (range){s, first, left < s->tile ? left : s->tile};
}

static double *cell(const making *m, size_t row, size_t col) {
    const axis *rows = &m->s->rows, *cols = &m->s->cols;
    size_t r = m->turned ? col : row, c = m->turned ? row : col;
    return &m->tile[(r - m->at.i * rows->tile) * cols->tile + c - m->at.j * cols->tile];
}

/* Of a symmetric matrix the pairs whose row comes first; of a tile on the diagonal both ways. */
static void put_values(const making *m, range rows, range cols, const double *values) {
    bool both = m->s->symmetric && m->at.i == m->at.j;
    for (size_t r = 0; r < rows.count; r++) {
        size_t row = rows.of->item[rows.first + r], place = rows.of->place[rows.first + r];
        for (size_t c = 0; c < cols.count; c++) {
            size_t col = cols.of->item[cols.first + c];
            if (m->s->symmetric && cols.of->place[cols.first + c] < place) continue;
            double value = values[r * cols.count + c];
            *cell(m, row, col) = value;
            if (both) *cell(m, col, row) = value;
        }
    }
}

static lth_status compute(making *m, range rows, range cols, lth_error *err) {
    size_t pairs = rows.count * cols.count;
    if (pairs == 0) return LTH_OK;
    if (!lth__reserve((void **)&m->buffer, &m->room, pairs, sizeof *m->buffer))
        return lth__fail_memory(err, pairs * sizeof *m->buffer);
    const lth__eval *eval = &m->s->eval;
    lth__tile tile = {.row = rows.of->item + rows.first,
                      .rows = rows.count,
                      .col = cols.of->item + cols.first,
                      .cols = cols.count};
    LTH_TRY(lth__node_tile(eval->kernel->root, eval, &tile, m->buffer, err));
    LTH_TRY(lth__tile_check(&tile, m->buffer, err));
    put_values(m, rows, cols, m->buffer);
    return lth__parallel_ask(eval->ctx);
}

/* The first so many items, fewer where they are large. */
static range cut(range from, size_t most, double most_size) {
    range part = {from.of, from.first, 0};
    double size = 0;
    while (part.count < from.count && part.count < most) {
        size += from.of->size[part.first + part.count];
        if (size > most_size && part.count > 0) break;
        part.count++;
    }
    return part;
}

static range rest(range from, size_t taken) {
    return (range){from.of, from.first + taken, from.count - taken};
}

/* How many of the columns come before an item. */
static size_t count_before(range cols, size_t place) {
    size_t low = 0, high = cols.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cols.of->place[cols.first + middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static lth_status compute_wide(making *m, range rows, range cols, lth_error *err) {
    enum { MOST_COLS = 1024 };
    while (cols.count > 0) {
        range part = cut(cols, MOST_COLS, 1 << 18);
        LTH_TRY(compute(m, rows, part, err));
        cols = rest(cols, part.count);
    }
    return LTH_OK;
}

/* Rows with the columns that come after them. Where these begin among the rows themselves, most
 * pairs of a large block would be thrown away: there the blocks are smaller. */
static lth_status cover(making *m, range rows, range cols, size_t most_rows, lth_error *err) {
    enum { LEAST_ROWS = 16 };
    while (rows.count > 0) {
        range block = cut(rows, most_rows, 1 << 16), mixed = cols, after = cols;
        if (m->s->symmetric) {
            const size_t *place = block.of->place + block.first;
            size_t from = count_before(cols, place[0]);
            size_t to = count_before(cols, place[block.count - 1]);
            mixed = (range){cols.of, cols.first + from, to - from};
            after = rest(cols, to);
        } else {
            mixed.count = 0;
        }
        if (block.count > LEAST_ROWS && mixed.count > 0)
            LTH_TRY(cover(m, block, mixed, (block.count + 3) / 4, err));
        else
            LTH_TRY(compute_wide(m, block, mixed, err));
        LTH_TRY(compute_wide(m, block, after, err));
        rows = rest(rows, block.count);
    }
    return LTH_OK;
}

static lth_status compute_piece(making *m, lth_error *err) {
    enum { MOST_ROWS = 128 };
    range rows = tile_range(&m->s->rows, m->at.i), cols = tile_range(&m->s->cols, m->at.j);
    LTH_TRY(cover(m, rows, cols, MOST_ROWS, err));
    if (!m->s->symmetric || m->at.i == m->at.j) return LTH_OK;
    m->turned = true;
    return cover(m, cols, rows, MOST_ROWS, err);
}

/* A device has its own way to cut a matrix. */
static lth_status compute_by_device(making *m, lth_error *err) {
    const lth__eval *e = &m->s->eval;
    range rows = tile_range(&m->s->rows, m->at.i), cols = tile_range(&m->s->cols, m->at.j);
    bool diagonal = m->s->symmetric && m->at.i == m->at.j;
    lth_items *a = NULL, *b = NULL;
    lth_status status = lth__items_slice(e->rows, rows.first, rows.count, &a, err);
    if (status == LTH_OK && !diagonal)
        status = lth__items_slice(e->cols, cols.first, cols.count, &b, err);
    if (status == LTH_OK) status = lth_gram(e->kernel, a, b, m->tile, m->s->cols.tile, err);
    lth_items_free(a);
    lth_items_free(b);
    return status;
}

static void transpose(const double *from, size_t side, double *to) {
    enum { STEP = 16 };
    for (size_t top = 0; top < side; top += STEP) {
        for (size_t c = 0; c < side; c++) {
            for (size_t r = top; r < side && r < top + STEP; r++)
                to[c * side + r] = from[r * side + c];
        }
    }
}

static lth_status write_piece(const making *m, lth_error *err) {
    const storing *s = m->s;
    LTH_TRY(lth__zarr_write(s->store->zarr, m->at.i, m->at.j, m->tile, err));
    if (!s->symmetric || m->at.i == m->at.j) return LTH_OK;
    size_t side = s->rows.tile;
    double *mirrored = lth__alloc(side * side, sizeof *mirrored);
    if (!mirrored) return lth__fail_memory(err, side * side * sizeof *mirrored);
    transpose(m->tile, side, mirrored);
    lth_status status = lth__zarr_write(s->store->zarr, m->at.j, m->at.i, mirrored, err);
    lth__free(mirrored);
    return status;
}

static lth_status run_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const storing *s = user;
    making m = {.s = s, .at = s->pieces[index]};
    size_t cells = s->rows.tile * s->cols.tile;
    m.tile = lth__alloc(cells, sizeof *m.tile);
    if (!m.tile) return lth__fail_memory(err, cells * sizeof *m.tile);
    for (size_t k = 0; k < cells; k++) m.tile[k] = NAN;
    lth_status status = s->by_device ? compute_by_device(&m, err) : compute_piece(&m, err);
    lth__free(m.buffer);
    if (status == LTH_OK) status = write_piece(&m, err);
    lth__free(m.tile);
    return status;
}

/* ---- The order of the work ---- */

static void free_axis(axis *s) {
    lth__free(s->item);
    lth__free(s->size);
    lth__free(s->place);
    *s = (axis){0};
}

/* To be freed also when this fails. */
static lth_status make_axis(const lth_items *items, bool by_size, size_t tile, axis *out,
                            lth_error *err) {
    size_t n = items->count, tiles = (n + tile - 1) / tile;
    lth__side order;
    *out = (axis){.count = n,
                  .tile = tile,
                  .item = lth__alloc(n, sizeof *out->item),
                  .size = lth__alloc(n, sizeof *out->size),
                  .place = lth__alloc(n, sizeof *out->place)};
    size_t *next = lth__alloc(tiles, sizeof *next);
    lth_status status =
        next && out->item && out->size && out->place ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) {
        status = lth__side_make(items, by_size, &order, err);
        for (size_t i = 0; i < tiles; i++) next[i] = i * tile;
        for (size_t k = 0; k < n && status == LTH_OK; k++) {
            size_t at = next[order.item[k] / tile]++;
            out->item[at] = order.item[k];
            out->size[at] = order.size[k];
            out->place[at] = k;
        }
        lth__side_free(&order);
    }
    lth__free(next);
    return status;
}

static lth_status make_axes(storing *s, lth_error *err) {
    const lth__zarr_shape *shape = lth__zarr_shape_of(s->store->zarr);
    const lth__eval *e = &s->eval;
    LTH_TRY(make_axis(e->rows, e->by_size, shape->tile_rows, &s->rows, err));
    if (!s->symmetric) return make_axis(e->cols, e->by_size, shape->tile_cols, &s->cols, err);
    s->cols = s->rows;
    return LTH_OK;
}

/* ---- What is left to do ---- */

/* Every parts-th piece, if one of its tiles is missing. */
static lth_status list_pieces(storing *s, size_t part, size_t parts, lth_error *err) {
    const lth__zarr_shape *shape = lth__zarr_shape_of(s->store->zarr);
    size_t down = lth__zarr_down(shape), across = lth__zarr_across(shape), there_count = 0;
    bool *there = lth__calloc(down * across, sizeof *there);
    s->pieces = lth__alloc(down * across / parts + 1, sizeof *s->pieces);
    s->tiles = lth__alloc(down * across / parts + 1, sizeof *s->tiles);
    lth_status status = there && s->pieces && s->tiles
                            ? lth__zarr_list(s->store->zarr, there, &there_count, err)
                            : lth__fail_memory(err, down * across * sizeof *s->pieces);
    for (size_t i = 0, number = 0; status == LTH_OK && i < down; i++) {
        for (size_t j = 0; j < (s->symmetric ? i + 1 : across); j++, number++) {
            bool mirrored = s->symmetric && i != j;
            bool done = there[i * across + j] && (!mirrored || there[j * across + i]);
            if (number % parts != part - 1 || done) continue;
            s->pieces[s->count] = (piece){i, j};
            s->tiles[s->count++] = 1 + mirrored;
            s->tile_count += 1 + mirrored;
        }
    }
    lth__free(there);
    return status;
}

static lth_status check_space(const storing *s, lth_error *err) {
    const char *path = lth__zarr_path(s->store->zarr);
    double tile = (double)lth__zarr_tile_bytes(lth__zarr_shape_of(s->store->zarr));
    double needed = tile * (double)s->tile_count, free = (double)lth__durable_space(path);
    if (needed <= free) return LTH_OK;
    return lth__fail_at(err, LTH_EIO, path, 0, 0,
                        "%zu tiles need %.1f GB on disk, but %.1f GB are free; make room, or write "
                        "f32",
                        s->tile_count, needed / 1e9, free / 1e9);
}

static lth_status check_memory(const storing *s, lth_error *err) {
    const lth_ctx *ctx = s->eval.ctx;
    size_t tile = s->rows.tile * s->cols.tile * sizeof(double);
    size_t workers = s->by_device || ctx->options.threads > s->count ? 1 : ctx->options.threads;
    return lth__memory_check((2 * workers + 1) * tile, "the tiles of the Gram matrix",
                             "use smaller tiles, or fewer threads", err);
}

static lth_status run(storing *s, lth_error *err) {
    lth_ctx *ctx = s->eval.ctx;
    const lth_store_info *info = &s->store->info;
    lth__log(ctx, LTH_LOG_INFO, "%zu of %zu tiles of %zu x %zu to compute", s->tile_count,
             info->tiles, info->tile_rows, info->tile_cols);
    if (s->count == 0) return LTH_OK;
    LTH_TRY(check_space(s, err));
    LTH_TRY(lth__device_eval_create(&s->eval, &s->eval.device, err));
    s->by_device = s->eval.device != NULL;
    lth__device_eval_free(s->eval.device);
    s->eval.device = NULL;
    if (!s->by_device) LTH_TRY(lth__eval_prepare(&s->eval, err));
    LTH_TRY(make_axes(s, err));
    LTH_TRY(check_memory(s, err));
    size_t workers = s->by_device ? 1 : ctx->options.threads;
    return lth__parallel_by(ctx, workers, "Gram matrix", s->count, s->tiles, run_piece, s, err);
}

/* ---- The store ---- */

/* Rows of a tile: few enough for threads to share the work of small matrices, and as equal as can
 * be. */
static size_t choose_tile(size_t count) {
    enum { LEAST = 512, MOST = 1024, WANTED = 16 };
    size_t side = count / WANTED < LEAST ? LEAST : count / WANTED > MOST ? MOST : count / WANTED;
    size_t tiles = (count + side - 1) / side;
    return (count + tiles - 1) / tiles;
}

static lth__zarr_shape make_shape(const lth_items *rows, const lth_items *cols,
                                  const lth_gram_store_options *o) {
    size_t n = rows->count, m = cols ? cols->count : n;
    lth__zarr_shape s = {.rows = n, .cols = m, .width = o->values == LTH_F32 ? 4 : 8};
    s.tile_rows = o->tile == 0 ? choose_tile(n) : o->tile < n ? o->tile : n;
    s.tile_cols = o->tile == 0 ? choose_tile(m) : o->tile < m ? o->tile : m;
    return s;
}

static lth_status create(const char *path, const lth__zarr_shape *shape, const lth__store_texts *t,
                         lth_error *err) {
    char made_by[64];
    snprintf(made_by, sizeof made_by, "luthier %s", lth_version());
    const lth__zarr_text texts[] = {{"kernel", t->kernel},
                                    {"rows", t->rows},
                                    {"columns", *t->cols ? t->cols : t->rows},
                                    {"symmetric", *t->cols ? "no" : "yes"},
                                    {"precision", t->precision},
                                    {"isa", t->isa},
                                    {"dropping", t->dropping},
                                    {"device", t->device},
                                    {"made_by", made_by},
                                    {NULL, NULL}};
    return lth__zarr_create(path, shape, texts, err);
}

static lth_status fail_other(const char *path, lth_error *err, const char *what, size_t a, size_t b,
                             size_t wanted_a, size_t wanted_b) {
    return lth__fail_at(err, LTH_EARG, path, 0, 0, "it has %s of %zu x %zu, not of %zu x %zu", what,
                        a, b, wanted_a, wanted_b);
}

/* What would not be the same matrix is refused; what rounds otherwise is worth a warning. */
static lth_status check_same(const lth_store *s, const lth__zarr_shape *wanted, bool any_tile,
                             const lth__store_texts *t, lth_error *err) {
    const lth__zarr_shape *have = lth__zarr_shape_of(s->zarr);
    const char *path = lth__zarr_path(s->zarr);
    LTH_TRY(lth__store_match(s, t, err));
    if (have->rows != wanted->rows || have->cols != wanted->cols)
        return fail_other(path, err, "a matrix", have->rows, have->cols, wanted->rows,
                          wanted->cols);
    if (!any_tile && (have->tile_rows != wanted->tile_rows || have->tile_cols != wanted->tile_cols))
        return fail_other(path, err, "tiles", have->tile_rows, have->tile_cols, wanted->tile_rows,
                          wanted->tile_cols);
    const char *precision = s->info.precision == LTH_F32 ? "f32" : "f64";
    if (strcmp(precision, t->precision) != 0)
        return lth__fail_at(err, LTH_EARG, path, 0, 0, "it was computed in %s, not in %s",
                            precision, t->precision);
    if (have->width != wanted->width)
        return lth__fail_at(err, LTH_EARG, path, 0, 0, "its values are %s, not %s",
                            have->width == 4 ? "f32" : "f64", have->width == 4 ? "f64" : "f32");
    return LTH_OK;
}

static void warn_of_rounding(const lth_ctx *ctx, const lth_store *s, const lth__store_texts *t) {
    const lth__zarr_text now[] = {
        {"isa", t->isa}, {"dropping", t->dropping}, {"device", t->device}};
    for (size_t i = 0; i < sizeof now / sizeof *now; i++) {
        const char *before = lth__zarr_text_of(s->zarr, now[i].name);
        if (!before || strcmp(before, now[i].text) == 0) continue;
        lth__log(ctx, LTH_LOG_WARNING,
                 "%s: its first tiles were computed with %s %s, those to come with %s: last digits "
                 "may differ",
                 lth__zarr_path(s->zarr), now[i].name, before, now[i].text);
    }
}

void lth_gram_store_options_init(lth_gram_store_options *options) {
    *options = (lth_gram_store_options){.size = sizeof *options, .part = 1, .parts = 1};
}

static lth_status complete(const lth_gram_store_options *given, const char *path,
                           lth_gram_store_options *out, lth_error *err) {
    enum { MOST_TILE = 8192 };
    struct stat found;
    lth_gram_store_options_init(out);
    if (given) lth__copy_struct(out, sizeof *out, given, given->size);
    if (out->parts < 1 || out->part < 1 || out->part > out->parts)
        return lth__fail(err, LTH_EARG, "there is no part %zu of %zu", out->part, out->parts);
    if (out->tile > MOST_TILE)
        return lth__fail(err, LTH_EARG, "a tile has at most %d rows, not %zu", MOST_TILE,
                         out->tile);
    bool joins = out->resume || out->parts > 1;
    if (joins || stat(path, &found) != 0) return LTH_OK;
    return lth__fail_at(err, LTH_EARG, path, 0, 0,
                        "is there already; --resume goes on with it, nothing overwrites it");
}

static void free_storing(storing *s) {
    lth__eval_release(&s->eval);
    free_axis(&s->rows);
    if (!s->symmetric) free_axis(&s->cols);
    lth__free(s->pieces);
    lth__free(s->tiles);
    lth_store_free(s->store);
}

lth_status lth_gram_store(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                          const char *path, const lth_gram_store_options *given, lth_error *err) {
    lth_gram_store_options options;
    LTH_TRY(lth__items_check(kernel, rows, cols, err));
    LTH_TRY(complete(given, path, &options, err));
    if (rows->count == 0 || (cols && cols->count == 0))
        return lth__fail(err, LTH_EARG, "a Gram matrix on disk needs rows");
    lth__store_texts t = {0};
    storing s = {.symmetric = !cols || cols == rows,
                 .eval = {.ctx = lth__items_ctx(rows),
                          .kernel = kernel,
                          .rows = rows,
                          .cols = cols ? cols : rows}};
    const lth_items *others = s.symmetric ? NULL : cols;
    lth__zarr_shape shape = make_shape(rows, others, &options);
    lth_status status = lth__store_texts_make(kernel, rows, others, &t, err);
    if (status == LTH_OK) status = create(path, &shape, &t, err);
    if (status == LTH_OK) status = lth_store_open(path, &s.store, err);
    if (status == LTH_OK) status = check_same(s.store, &shape, options.tile == 0, &t, err);
    if (status == LTH_OK) {
        warn_of_rounding(s.eval.ctx, s.store, &t);
        lth__durable_sweep(path);
        status = list_pieces(&s, options.part, options.parts, err);
    }
    if (status == LTH_OK) status = run(&s, err);
    if (s.store) { /* whatever is finished stays, also when something failed */
        lth_status settled = lth__durable_settle(path, status == LTH_OK ? err : NULL);
        if (status == LTH_OK) status = settled;
    }
    lth__store_texts_free(&t);
    free_storing(&s);
    return status;
}
