/* Reading a Gram matrix that lies on disk; gram_store.c writes it. */
#include "kernel/core/store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/parallel.h"
#include "kernel/core/field.h"

/* ---- What a store is of ---- */

typedef struct hashing {
    uint64_t hash;
    void *blocks[64];
    size_t count;
    bool failed;
} hashing;

static void hash_part(void *user, const char *part, lth__dtype dtype, size_t rows, size_t cols,
                      const void *data) {
    static const size_t bytes[] = {
        [LTH__U8] = 1, [LTH__U32] = 4, [LTH__U64] = 8, [LTH__F32] = 4, [LTH__F64] = 8};
    hashing *h = user;
    h->failed |= !data;
    if (h->failed) return;
    h->hash = lth__hash(h->hash, part, strlen(part));
    h->hash = lth__hash(h->hash, data, rows * (cols ? cols : 1) * bytes[dtype]);
}

static void *keep_block(void *user, void *block) {
    hashing *h = user;
    if (block && h->count < sizeof h->blocks / sizeof *h->blocks) {
        h->blocks[h->count++] = block;
        return block;
    }
    lth__free(block);
    h->failed = true;
    return NULL;
}

/* Words that the first table does not have are not in what a field saves. */
static void hash_later_symbols(hashing *h, const lth__lexicon *l) {
    size_t count = l->symbols ? lth__symbols_count(l->symbols) : 0, length;
    for (size_t i = l->known; i < count; i++) {
        const char *text = lth__symbols_text(l->symbols, (lth__symbol)i, &length);
        h->hash = lth__hash(h->hash, text, length);
    }
}

/* All that a model file would keep of the rows: what they consist of, and the vectors of words. */
static lth_status hash_items(const lth_items *items, bool later, char out[24], lth_error *err) {
    const lth_encoder *e = items->encoder;
    hashing h = {0};
    for (size_t f = 0; f < e->kernel->field_count && !h.failed; f++) {
        lth__field_saver to = {.user = &h, .put = hash_part, .keep = keep_block};
        e->kernel->fields[f].type->save(&e->lexicons[f], &items->fields[f], &to);
        if (later) hash_later_symbols(&h, &e->lexicons[f]);
        while (h.count > 0) lth__free(h.blocks[--h.count]);
    }
    snprintf(out, 24, "%016llx", (unsigned long long)h.hash);
    return h.failed ? lth__fail_memory(err, 0) : LTH_OK;
}

/* Canonical, with all values, whether they are held or not. */
static lth_status print_values(const lth_kernel *kernel, char **out, lth_error *err) {
    size_t length = lth_kernel_print(kernel, NULL, 0);
    char *text = length > 0 ? lth__alloc(length + 1, 1) : NULL;
    lth_kernel *copy = NULL;
    if (!text || lth_kernel_print(kernel, text, length + 1) != length) {
        lth__free(text);
        return lth__fail_memory(err, length + 1);
    }
    lth_status status = lth_kernel_parse(kernel->ctx, text, &copy, err);
    for (size_t p = 0; status == LTH_OK && p < copy->param_count; p++) copy->params[p].held = false;
    size_t needed = status == LTH_OK ? lth_kernel_print(copy, NULL, 0) : 0;
    lth__free(text);
    text = needed > 0 ? lth__alloc(needed + 1, 1) : NULL;
    bool printed = text && lth_kernel_print(copy, text, needed + 1) == needed;
    lth_kernel_free(copy);
    if (status == LTH_OK && !printed) status = lth__fail_memory(err, needed + 1);
    if (status == LTH_OK)
        *out = text;
    else
        lth__free(text);
    return status;
}

lth_status lth__store_texts_make(const lth_kernel *kernel, const lth_items *rows,
                                 const lth_items *cols, lth__store_texts *out, lth_error *err) {
    static const char *const droppings[] = {
        [LTH_DROP_AUTO] = "auto", [LTH_DROP_ON] = "on", [LTH_DROP_OFF] = "off"};
    const lth_ctx *ctx = kernel->ctx;
    lth__store_texts t = {.precision = ctx->options.precision == LTH_F32 ? "f32" : "f64",
                          .isa = lth_ctx_isa(ctx),
                          .dropping = droppings[ctx->options.dropping],
                          .device = lth_ctx_device(ctx)};
    LTH_TRY(hash_items(rows, false, t.rows, err));
    if (cols) LTH_TRY(hash_items(cols, true, t.cols, err));
    LTH_TRY(print_values(kernel, &t.kernel, err));
    *out = t;
    return LTH_OK;
}

void lth__store_texts_free(lth__store_texts *t) {
    lth__free(t->kernel);
    t->kernel = NULL;
}

static lth_status differs(const lth_store *s, lth_error *err, const char *what, const char *found,
                          const char *wanted) {
    return lth__fail_at(err, LTH_EARG, lth__zarr_path(s->zarr), 0, 0,
                        "it was made with %s: %.120s, not %.120s", what, found, wanted);
}

lth_status lth__store_match(const lth_store *s, const lth__store_texts *t, lth_error *err) {
    const char *path = lth__zarr_path(s->zarr), *rows = lth__zarr_text_of(s->zarr, "rows"),
               *cols = lth__zarr_text_of(s->zarr, "columns");
    if (strcmp(s->info.kernel, t->kernel) != 0)
        return differs(s, err, "another kernel", s->info.kernel, t->kernel);
    if (s->info.symmetric != !*t->cols)
        return lth__fail_at(err, LTH_EARG, path, 0, 0, "it is of %s",
                            s->info.symmetric ? "one table, not of two" : "two tables, not of one");
    if (!rows || strcmp(rows, t->rows) != 0)
        return lth__fail_at(err, LTH_EARG, path, 0, 0,
                            "it was made from other rows, or with other word vectors");
    if (*t->cols && (!cols || strcmp(cols, t->cols) != 0))
        return lth__fail_at(err, LTH_EARG, path, 0, 0,
                            "it was made from other rows of the second table");
    return LTH_OK;
}

/* ---- Opening ---- */

/* A text that every store of ours has. */
static lth_status need_text(const lth__zarr *z, const char *name, const char **out,
                            lth_error *err) {
    *out = lth__zarr_text_of(z, name);
    if (*out) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth__zarr_path(z), 0, 0,
                        "is not a Gram matrix of luthier: .zattrs has no text \"%s\"", name);
}

static lth_status describe(lth_store *s, lth_error *err) {
    const lth__zarr_shape *shape = lth__zarr_shape_of(s->zarr);
    lth_store_info *info = &s->info;
    const char *precision, *symmetric;
    size_t there = 0;
    LTH_TRY(need_text(s->zarr, "kernel", &info->kernel, err));
    LTH_TRY(need_text(s->zarr, "precision", &precision, err));
    LTH_TRY(need_text(s->zarr, "symmetric", &symmetric, err));
    LTH_TRY(need_text(s->zarr, "isa", &info->isa, err));
    LTH_TRY(need_text(s->zarr, "made_by", &info->made_by, err));
    LTH_TRY(lth__zarr_list(s->zarr, NULL, &there, err));
    info->rows = shape->rows;
    info->cols = shape->cols;
    info->tile_rows = shape->tile_rows;
    info->tile_cols = shape->tile_cols;
    info->values = shape->width == 4 ? LTH_F32 : LTH_F64;
    info->precision = strcmp(precision, "f32") == 0 ? LTH_F32 : LTH_F64;
    info->symmetric = strcmp(symmetric, "yes") == 0;
    info->tiles = lth__zarr_down(shape) * lth__zarr_across(shape);
    info->missing = info->tiles - there;
    bool square = shape->rows == shape->cols && shape->tile_rows == shape->tile_cols;
    if (square || !info->symmetric) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, lth__zarr_path(s->zarr), 0, 0,
                        "is said to be symmetric, but is not square");
}

lth_status lth_store_open(const char *path, lth_store **out, lth_error *err) {
    lth_store *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    s->users = 1;
    lth_status status = lth__zarr_open(path, &s->zarr, err);
    if (status == LTH_OK) status = describe(s, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth_store_free(s);
    return status;
}

void lth_store_free(lth_store *s) {
    if (!s || s->users-- > 1) return;
    lth__zarr_close(s->zarr);
    lth__free(s);
}

const lth_store_info *lth_store_described(const lth_store *s) {
    return &s->info;
}

static lth_status check_complete(const lth_store *s, lth_error *err) {
    if (s->info.missing == 0) return LTH_OK;
    const char *path = lth__zarr_path(s->zarr);
    return lth__fail_at(err, LTH_EARG, path, 0, 0,
                        "%zu of %zu tiles are missing; luthier gram TABLE --kernel EXPR -o %.100s "
                        "--resume computes them",
                        s->info.missing, s->info.tiles, path);
}

/* ---- Reading ---- */

static lth_status fail_value(const lth_store *s, size_t i, size_t j, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, lth__zarr_path(s->zarr), 0, 0,
                        "the tile %zu.%zu has a value that is not a number, or infinite", i, j);
}

/* The part of a tile that lies in a window of the matrix. */
typedef struct window {
    size_t row, rows, col, cols, ld;
    double *K;
} window;

static size_t later(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t sooner(size_t a, size_t b) {
    return a < b ? a : b;
}

static bool copy_window(const lth__zarr_shape *shape, size_t i, size_t j, const double *tile,
                        const window *w) {
    size_t top = i * shape->tile_rows, left = j * shape->tile_cols;
    size_t first = later(top, w->row), last = sooner(top + shape->tile_rows, w->row + w->rows);
    size_t from = later(left, w->col), to = sooner(left + shape->tile_cols, w->col + w->cols);
    double zero = 0; /* 0 * x is 0 unless x is infinite or not a number */
    for (size_t r = first; r < last; r++) {
        const double *values = tile + (r - top) * shape->tile_cols;
        for (size_t c = from; c < to; c++) {
            double value = values[c - left];
            w->K[(r - w->row) * w->ld + c - w->col] = value;
            zero += 0 * value;
        }
    }
    return zero == 0;
}

lth_status lth_store_read(const lth_store *s, size_t row, size_t rows, size_t col, size_t cols,
                          double *K, size_t ld, lth_error *err) {
    const lth__zarr_shape *shape = lth__zarr_shape_of(s->zarr);
    window w = {row, rows, col, cols, ld, K};
    if (row > shape->rows || rows > shape->rows - row || col > shape->cols ||
        cols > shape->cols - col || (rows > 0 && cols > 0 && ld < cols))
        return lth__fail(err, LTH_EARG, "the matrix has %zu rows and %zu columns, not so many",
                         shape->rows, shape->cols);
    if (rows == 0 || cols == 0) return LTH_OK;
    LTH_TRY(check_complete(s, err));
    size_t cells = shape->tile_rows * shape->tile_cols;
    double *tile = lth__alloc(cells, sizeof *tile);
    if (!tile) return lth__fail_memory(err, cells * sizeof *tile);
    lth_status status = LTH_OK;
    size_t i_last = (row + rows - 1) / shape->tile_rows, j_first = col / shape->tile_cols,
           j_last = (col + cols - 1) / shape->tile_cols;
    for (size_t i = row / shape->tile_rows; i <= i_last; i++) {
        for (size_t j = j_first; j <= j_last && status == LTH_OK; j++) {
            status = lth__zarr_read(s->zarr, i, j, tile, err);
            if (status == LTH_OK && !copy_window(shape, i, j, tile, &w))
                status = fail_value(s, i, j, err);
        }
    }
    lth__free(tile);
    return status;
}

lth_status lth__store_tile(const lth_store *s, size_t i, size_t j, double *tile, lth_error *err) {
    const lth__zarr_shape *shape = lth__zarr_shape_of(s->zarr);
    size_t side = shape->tile_rows, rows = sooner(side, shape->rows - i * side),
           cols = sooner(side, shape->rows - j * side);
    double zero = 0;
    LTH_TRY(lth__zarr_read(s->zarr, i, j, tile, err));
    for (size_t r = 0; r < side; r++) {
        double *row = tile + r * side;
        size_t used = r >= rows ? 0 : i == j ? r + 1 : cols;
        for (size_t c = 0; c < used; c++) zero += 0 * row[c];
        for (size_t c = used; c < side; c++) row[c] = 0;
    }
    for (size_t r = 0; i == j && r < rows; r++) {
        for (size_t c = 0; c < r; c++) tile[c * side + r] = tile[r * side + c];
    }
    return zero == 0 ? LTH_OK : fail_value(s, i, j, err);
}

/* ---- Items with a store ---- */

lth_status lth_items_use_store(lth_items *items, const char *path, lth_error *err) {
    lth__store_texts t = {0};
    lth_store *s = NULL;
    LTH_TRY(lth_store_open(path, &s, err));
    lth_status status = lth__store_texts_make(items->encoder->kernel, items, NULL, &t, err);
    if (status == LTH_OK) status = lth__store_match(s, &t, err);
    if (status == LTH_OK && s->info.rows != items->count)
        status = lth__fail_at(err, LTH_EARG, path, 0, 0, "it is of %zu rows, not of %zu",
                              s->info.rows, items->count);
    if (status == LTH_OK) status = check_complete(s, err);
    lth__store_texts_free(&t);
    if (status != LTH_OK) {
        lth_store_free(s);
        return status;
    }
    lth__items_unstore(items);
    items->stored = s;
    return LTH_OK;
}

lth_status lth__items_pick_stored(const lth_items *from, const size_t *item, size_t count,
                                  lth_items *to, lth_error *err) {
    if (!from->stored) return LTH_OK;
    to->stored_row = lth__alloc(count, sizeof *to->stored_row);
    if (!to->stored_row) return lth__fail_memory(err, count * sizeof *to->stored_row);
    for (size_t i = 0; i < count; i++)
        to->stored_row[i] = from->stored_row ? from->stored_row[item[i]] : item[i];
    to->stored = from->stored;
    to->stored->users++;
    return LTH_OK;
}

void lth__items_unstore(lth_items *items) {
    lth_store_free(items->stored);
    lth__free(items->stored_row);
    items->stored = NULL;
    items->stored_row = NULL;
}

double lth__items_stored_bytes(const lth_items *items, size_t rows) {
    if (!items->stored) return 0;
    const lth__zarr_shape *shape = lth__zarr_shape_of(items->stored->zarr);
    size_t down = lth__zarr_down(shape);
    double tiles = (double)(rows < down ? rows : down); /* each may lie in one of its own */
    return tiles * (tiles + 1) / 2 * (double)lth__zarr_tile_bytes(shape);
}

/* Items by the row of tiles that they lie in: member[start[i] .. start[i + 1] - 1]. */
typedef struct filling {
    lth_ctx *ctx;
    const lth_store *store;
    const lth_items *items;
    size_t *start, *member;
    const lth__packed *K; /* or */
    const lth__gram_part *parts;
    size_t count;
} filling;

static void put(const lth__packed *K, size_t a, size_t b, double value) {
    size_t row = a > b ? a : b, at = lth__packed_row(K, row) + (a > b ? b : a);
    if (K->singles)
        K->singles[at] = (float)value;
    else
        K->cells[at] = value;
    if (K->ld) K->cells[(a > b ? b : a) * K->ld + row] = value; /* a whole matrix */
}

static void put_part(const lth__gram_part *p, size_t a, size_t b, double value) {
    size_t row = a > b ? a : b, col = a > b ? b : a;
    p->cells[(row - p->row) * p->ld + col - p->col] = value;
}

/* Some of the members of a row of tiles. */
typedef struct members {
    size_t first, end;
} members;

static members all_members(const filling *f, size_t i) {
    return (members){f->start[i], f->start[i + 1]};
}

/* The first of them that is not before an item. */
static size_t find_member(const filling *f, members of, size_t item) {
    while (of.first < of.end) {
        size_t middle = (of.first + of.end) / 2;
        if (f->member[middle] < item)
            of.first = middle + 1;
        else
            of.end = middle;
    }
    return of.first;
}

/* Those among `count` items: members are in order. */
static members members_among(const filling *f, size_t i, size_t first, size_t count) {
    members all = all_members(f, i);
    return (members){find_member(f, all, first), find_member(f, all, first + count)};
}

/* One tile, and the sum of 0 times each of its values that was used. */
typedef struct reading {
    const filling *f;
    size_t i, j;
    const double *tile;
    const lth__gram_part *part; /* where it goes; NULL = to K */
    double zero;
} reading;

/* Only one side of the diagonal is read: so the other is the same. */
static void copy_members(reading *r, members rows, members cols) {
    const filling *f = r->f;
    size_t side = lth__zarr_shape_of(f->store->zarr)->tile_rows;
    for (size_t m = rows.first; m < rows.end; m++) {
        size_t a = f->member[m], row = lth__items_stored_row(f->items, a);
        for (size_t n = cols.first; n < cols.end; n++) {
            size_t b = f->member[n], col = lth__items_stored_row(f->items, b);
            if (col > row) continue;
            double value = r->tile[(row - r->i * side) * side + col - r->j * side];
            if (r->part)
                put_part(r->part, a, b, value);
            else
                put(f->K, a, b, value);
            r->zero += 0 * value;
        }
    }
}

static bool is_empty(members m) {
    return m.first == m.end;
}

/* Pairs of a part that lie in tile i, j: its rows in i and its columns in j, or the other way
 * round, which on the diagonal is the same. */
static bool needs(const filling *f, const lth__gram_part *p, size_t i, size_t j) {
    return (!is_empty(members_among(f, i, p->row, p->rows)) &&
            !is_empty(members_among(f, j, p->col, p->cols))) ||
           (!is_empty(members_among(f, j, p->row, p->rows)) &&
            !is_empty(members_among(f, i, p->col, p->cols)));
}

static void copy_part(reading *r, const lth__gram_part *p) {
    r->part = p;
    copy_members(r, members_among(r->f, r->i, p->row, p->rows),
                 members_among(r->f, r->j, p->col, p->cols));
    if (p->row == p->col && r->i == r->j) return;
    copy_members(r, members_among(r->f, r->i, p->col, p->cols),
                 members_among(r->f, r->j, p->row, p->rows));
}

static bool is_wanted(const filling *f, size_t i, size_t j) {
    if (f->K) return !is_empty(all_members(f, i)) && !is_empty(all_members(f, j));
    for (size_t p = 0; p < f->count; p++) {
        if (needs(f, &f->parts[p], i, j)) return true;
    }
    return false;
}

static bool copy_tile(const filling *f, size_t i, size_t j, const double *tile) {
    reading r = {.f = f, .i = i, .j = j, .tile = tile};
    if (f->K) copy_members(&r, all_members(f, i), all_members(f, j));
    for (size_t p = 0; p < f->count; p++) copy_part(&r, &f->parts[p]);
    return r.zero == 0;
}

/* The rows with the most tiles come first. */
static lth_status fill_row(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const filling *f = user;
    const lth__zarr_shape *shape = lth__zarr_shape_of(f->store->zarr);
    size_t i = lth__zarr_down(shape) - 1 - index, cells = shape->tile_rows * shape->tile_cols;
    if (f->start[i] == f->start[i + 1]) return LTH_OK;
    double *tile = lth__alloc(cells, sizeof *tile);
    if (!tile) return lth__fail_memory(err, cells * sizeof *tile);
    lth_status status = LTH_OK;
    for (size_t j = 0; j <= i && status == LTH_OK; j++) {
        if (!is_wanted(f, i, j)) continue;
        status = lth__zarr_read(f->store->zarr, i, j, tile, err);
        if (status == LTH_OK && !copy_tile(f, i, j, tile)) status = fail_value(f->store, i, j, err);
        if (status == LTH_OK) status = lth__parallel_ask(f->ctx);
    }
    lth__free(tile);
    return status;
}

static void sort_members(filling *f, size_t side, size_t down) {
    const lth_items *items = f->items;
    for (size_t a = 0; a < items->count; a++)
        f->start[lth__items_stored_row(items, a) / side + 2]++;
    for (size_t i = 2; i <= down; i++) f->start[i + 1] += f->start[i];
    for (size_t a = 0; a < items->count; a++)
        f->member[f->start[lth__items_stored_row(items, a) / side + 1]++] = a;
}

/* What is wanted is set. */
static lth_status fill(filling f, lth_error *err) {
    const lth_items *items = f.items;
    const lth__zarr_shape *shape = lth__zarr_shape_of(items->stored->zarr);
    size_t down = lth__zarr_down(shape);
    f.store = items->stored;
    f.start = lth__calloc(down + 2, sizeof *f.start);
    f.member = lth__alloc(items->count, sizeof *f.member);
    lth_status status = f.start && f.member ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) {
        sort_members(&f, shape->tile_rows, down);
        status = lth__parallel_for(f.ctx, "Gram matrix", down, NULL, fill_row, &f, err);
    }
    lth__free(f.start);
    lth__free(f.member);
    return status;
}

lth_status lth__store_fill(lth_ctx *ctx, const lth_items *items, const lth__packed *K,
                           lth_error *err) {
    return fill((filling){.ctx = ctx, .items = items, .K = K}, err);
}

lth_status lth__store_fill_parts(lth_ctx *ctx, const lth_items *items, const lth__gram_part *parts,
                                 size_t count, lth_error *err) {
    return fill((filling){.ctx = ctx, .items = items, .parts = parts, .count = count}, err);
}
