/* A Gram matrix, tile by tile, into a store.
 *
 * A piece of work is a tile, of a symmetric matrix a tile i.j with j <= i and its mirror image j.i.
 * Threads take one piece after the other and write it themselves. All pieces are parts of one
 * evaluation, that of lth_gram(): so the bits are the same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/durable.h"
#include "base/parallel.h"
#include "engine/cluster.h"
#include "kernel/core/gram.h"
#include "kernel/core/store.h"
#include "kernel/core/work.h"
#include "kernel/device/device_eval.h"

typedef struct piece {
    size_t i, j;
} piece;

typedef struct storing {
    lth__eval eval;
    bool symmetric, by_device;
    lth_store *store;
    lth__parts parts;
    size_t side_rows, side_cols; /* of a tile */
    piece *pieces;
    double *tiles; /* to write, of each piece */
    size_t count, tile_count;
} storing;

/* ---- One piece ---- */

static size_t sooner(size_t a, size_t b) {
    return a < b ? a : b;
}

static lth__gram_part part_of(const storing *s, piece at, double *tile) {
    size_t row = at.i * s->side_rows, col = at.j * s->side_cols;
    return (lth__gram_part){.row = row,
                            .rows = sooner(s->side_rows, s->eval.rows->count - row),
                            .col = col,
                            .cols = sooner(s->side_cols, s->eval.cols->count - col),
                            .cells = tile,
                            .ld = s->side_cols};
}

static bool is_diagonal(const storing *s, piece at) {
    return s->symmetric && at.i == at.j;
}

static lth_status compute_piece(const storing *s, piece at, double *tile, lth_error *err) {
    lth__gram_part part = part_of(s, at, tile);
    LTH_TRY(lth__part_values(&s->parts, &part, (lth__part_count){0}, err));
    for (size_t r = 0; is_diagonal(s, at) && r < part.rows; r++) {
        for (size_t c = 0; c < r; c++) tile[c * part.ld + r] = tile[r * part.ld + c];
    }
    return LTH_OK;
}

/* A device has its own way to cut a matrix. */
static lth_status compute_by_device(const storing *s, piece at, double *tile, lth_error *err) {
    const lth__eval *e = &s->eval;
    lth__gram_part part = part_of(s, at, tile);
    lth_items *a = NULL, *b = NULL;
    lth_status status = lth__items_slice(e->rows, part.row, part.rows, &a, err);
    if (status == LTH_OK && !is_diagonal(s, at))
        status = lth__items_slice(e->cols, part.col, part.cols, &b, err);
    if (status == LTH_OK) status = lth_gram(e->kernel, a, b, tile, part.ld, err);
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

static lth_status write_piece(const storing *s, piece at, const double *tile, lth_error *err) {
    LTH_TRY(lth__zarr_write(s->store->zarr, at.i, at.j, tile, err));
    if (!s->symmetric || at.i == at.j) return LTH_OK;
    size_t side = s->side_rows;
    double *mirrored = lth__alloc(side * side, sizeof *mirrored);
    if (!mirrored) return lth__fail_memory(err, side * side * sizeof *mirrored);
    transpose(tile, side, mirrored);
    lth_status status = lth__zarr_write(s->store->zarr, at.j, at.i, mirrored, err);
    lth__free(mirrored);
    return status;
}

static lth_status run_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const storing *s = user;
    piece at = s->pieces[index];
    size_t cells = s->side_rows * s->side_cols;
    double *tile = lth__alloc(cells, sizeof *tile);
    if (!tile) return lth__fail_memory(err, cells * sizeof *tile);
    for (size_t k = 0; k < cells; k++) tile[k] = NAN;
    lth_status status =
        s->by_device ? compute_by_device(s, at, tile, err) : compute_piece(s, at, tile, err);
    if (status == LTH_OK) status = write_piece(s, at, tile, err);
    lth__free(tile);
    return status;
}

/* ---- What is left to do ---- */

/* Every parts-th piece, if one of its tiles is missing. */
static lth_status list_pieces(storing *s, size_t part, size_t parts, lth_error *err) {
    const lth__zarr_shape *shape = lth__zarr_shape_of(s->store->zarr);
    size_t down = lth__zarr_down(shape), across = lth__zarr_across(shape), there_count = 0;
    s->side_rows = shape->tile_rows;
    s->side_cols = shape->tile_cols;
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
    size_t tile = s->side_rows * s->side_cols * sizeof(double);
    size_t workers = s->by_device || ctx->options.threads > s->count ? 1 : ctx->options.threads;
    return lth__memory_check((2 * workers + 1) * tile, "the tiles of the Gram matrix",
                             "use smaller tiles, or fewer threads", err);
}

static size_t count_workers(const storing *s) {
    return s->by_device ? 1 : s->eval.ctx->options.threads;
}

static lth_status run_pieces(storing *s, const char *what, lth_error *err) {
    return lth__parallel_by(s->eval.ctx, count_workers(s), what, s->count, s->tiles, run_piece, s,
                            err);
}

/* ---- Among ranks: whoever is free takes the next pieces ---- */

/* Up to one for each worker; none when all are taken. */
static lth_status take_pieces(const storing *all, storing *some, lth_error *err) {
    const lth__cluster *c = all->eval.ctx->cluster;
    some->count = 0;
    while (some->count < count_workers(all)) {
        uint64_t number;
        LTH_TRY(c->table->next(&number, err));
        if (number >= all->count) break;
        some->pieces[some->count] = all->pieces[number];
        some->tiles[some->count++] = all->tiles[number];
        LTH_TRY(lth__tell(all->eval.ctx, "Gram matrix", (double)number, (double)all->count, err));
    }
    return LTH_OK;
}

/* Nothing is left for anybody: one rank has failed. */
static void empty_queue(const storing *all) {
    const lth__cluster *c = all->eval.ctx->cluster;
    uint64_t number = 0;
    while (number < all->count && c->table->next(&number, NULL) == LTH_OK) continue;
}

static lth_status run_until_empty(const storing *all, storing *some, lth_error *err) {
    lth_ctx *ctx = all->eval.ctx;
    lth__cluster *c = ctx->cluster;
    for (;;) {
        LTH_TRY(take_pieces(all, some, err));
        if (some->count == 0) return LTH_OK;
        ctx->cluster = NULL; /* a rank does its pieces by itself */
        lth_status status = run_pieces(some, NULL, err);
        ctx->cluster = c;
        LTH_TRY(status);
    }
}

static lth_status share_pieces(storing *s, lth_error *err) {
    lth__cluster *c = s->eval.ctx->cluster;
    size_t workers = count_workers(s);
    storing some = *s;
    some.pieces = lth__alloc(workers, sizeof *some.pieces);
    some.tiles = lth__alloc(workers, sizeof *some.tiles);
    lth_status status =
        some.pieces && some.tiles ? LTH_OK : lth__fail_memory(err, workers * sizeof *some.pieces);
    status = lth__cluster_agree(c, status, err);
    if (status == LTH_OK) status = c->table->restart(err);
    if (status == LTH_OK) {
        status = run_until_empty(s, &some, err);
        if (status != LTH_OK) empty_queue(s);
        status = lth__cluster_agree(c, status, err);
    }
    lth__free(some.pieces);
    lth__free(some.tiles);
    return status;
}

/* The list of the first rank: others may see the folder a moment later. */
static lth_status share_list(storing *s, lth_status status, lth_error *err) {
    lth__cluster *c = s->eval.ctx->cluster;
    LTH_TRY(lth__cluster_share(c, status, 0, &s->count, sizeof s->count, err));
    LTH_TRY(lth__cluster_share(c, LTH_OK, 0, &s->tile_count, sizeof s->tile_count, err));
    LTH_TRY(lth__cluster_share(c, LTH_OK, 0, s->pieces, s->count * sizeof *s->pieces, err));
    return lth__cluster_share(c, LTH_OK, 0, s->tiles, s->count * sizeof *s->tiles, err);
}

/* ---- All of it ---- */

static lth_status prepare(storing *s, lth_error *err) {
    LTH_TRY(lth__device_eval_create(&s->eval, &s->eval.device, err));
    s->by_device = s->eval.device != NULL;
    lth__device_eval_free(s->eval.device);
    s->eval.device = NULL;
    if (!s->by_device) LTH_TRY(lth__eval_prepare(&s->eval, err));
    LTH_TRY(lth__parts_open(&s->eval, &s->parts, err));
    return check_memory(s, err);
}

static lth_status run(storing *s, lth_error *err) {
    lth_ctx *ctx = s->eval.ctx;
    const lth_store_info *info = &s->store->info;
    lth__log(ctx, LTH_LOG_INFO, "%zu of %zu tiles of %zu x %zu to compute", s->tile_count,
             info->tiles, info->tile_rows, info->tile_cols);
    if (s->count == 0) return LTH_OK;
    LTH_TRY(check_space(s, err));
    LTH_TRY(prepare(s, err));
    return ctx->cluster ? share_pieces(s, err) : run_pieces(s, "Gram matrix", err);
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

/* `looks`: whether this process sees to it that nothing is there. */
static lth_status complete(const lth_gram_store_options *given, const char *path, bool looks,
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
    if (joins || !looks || stat(path, &found) != 0) return LTH_OK;
    return lth__fail_at(err, LTH_EARG, path, 0, 0,
                        "is there already; --resume goes on with it, nothing overwrites it");
}

static void free_storing(storing *s) {
    lth__eval_release(&s->eval);
    lth__parts_close(&s->parts);
    lth__free(s->pieces);
    lth__free(s->tiles);
    lth_store_free(s->store);
}

lth_status lth_gram_store(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                          const char *path, const lth_gram_store_options *given, lth_error *err) {
    lth_gram_store_options options;
    lth__cluster *c = lth__items_ctx(rows)->cluster;
    LTH_TRY(lth__items_check(kernel, rows, cols, err));
    LTH_TRY(
        lth__cluster_agree(c, complete(given, path, lth__cluster_reads(c), &options, err), err));
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
    if (status == LTH_OK && lth__cluster_reads(c)) status = create(path, &shape, &t, err);
    status = lth__cluster_agree(c, status, err);
    if (status == LTH_OK) status = lth_store_open(path, &s.store, err);
    if (status == LTH_OK) status = check_same(s.store, &shape, options.tile == 0, &t, err);
    if (status == LTH_OK) {
        warn_of_rounding(s.eval.ctx, s.store, &t);
        if (lth__cluster_reads(c)) lth__durable_sweep(path);
        status = list_pieces(&s, options.part, options.parts, err);
    }
    status = share_list(&s, status, err);
    if (status == LTH_OK) status = run(&s, err);
    if (s.store) { /* whatever is finished stays, also when something failed */
        lth_status settled = lth__durable_settle(path, status == LTH_OK ? err : NULL);
        if (status == LTH_OK) status = settled;
    }
    lth__store_texts_free(&t);
    free_storing(&s);
    return status;
}
