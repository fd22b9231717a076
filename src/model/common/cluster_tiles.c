/* Tiles of a rank: which they are, their memory, and how they travel. */
#include "model/common/cluster_tiles.h"

#include <string.h>

#include "base/memory.h"

/* Small enough that the strips of a step stay below a tenth of the memory of a rank, and every rank
 * has something to do until near the end; large enough for BLAS. */
size_t lth__tiles_side(size_t n) {
    enum { LEAST = 64, MORE = 128, MOST = 1024, TILES = 128, FEW = 2000 };
    size_t side = n < FEW ? LEAST : MORE;
    while (side < MOST && 2 * side * TILES <= n) side *= 2;
    return side;
}

/* ---- Layout ---- */

/* Numbers below `end` that are `at` when divided by `of`. */
static size_t count_of(size_t end, size_t at, size_t of) {
    return end > at ? (end - at + of - 1) / of : 0;
}

size_t lth__tiles_own_rows(const lth__tiles *T) {
    return count_of(T->count, T->row, T->rows);
}

size_t lth__tiles_own_columns(const lth__tiles *T) {
    return count_of(T->count, T->column, T->columns);
}

size_t lth__tiles_own(const lth__tiles *T) {
    return T->before[lth__tiles_own_columns(T)];
}

double *lth__tiles_cells(const lth__tiles *T, size_t i, size_t j) {
    size_t above = count_of(j, T->row, T->rows); /* own rows above the diagonal */
    return T->cells + (T->before[j / T->columns] + i / T->rows - above) * lth__tiles_area(T);
}

lth__own_tile lth__tiles_at(const lth__tiles *T, size_t index) {
    size_t b = 0, end = lth__tiles_own_columns(T);
    while (end - b > 1) { /* the column: before[b] <= index < before[end] */
        size_t middle = b + (end - b) / 2;
        if (T->before[middle] <= index)
            b = middle;
        else
            end = middle;
    }
    size_t j = b * T->columns + T->column;
    size_t a = count_of(j, T->row, T->rows) + index - T->before[b], i = a * T->rows + T->row;
    return (lth__own_tile){.row = i * T->side,
                           .rows = lth__tiles_extent(T, i),
                           .col = j * T->side,
                           .cols = lth__tiles_extent(T, j),
                           .cells = T->cells + index * lth__tiles_area(T),
                           .ld = T->side};
}

void lth__tiles_changed(lth__tiles *T) {
    T->largest = -1;
}

static void lay_out(lth__tiles *T) {
    size_t columns = lth__tiles_own_columns(T), rows = lth__tiles_own_rows(T);
    T->before[0] = 0;
    for (size_t b = 0; b < columns; b++) {
        size_t above = count_of(b * T->columns + T->column, T->row, T->rows);
        T->before[b + 1] = T->before[b] + (rows > above ? rows - above : 0);
    }
}

static lth_status reserve(lth__tiles *T, lth_error *err) {
    size_t columns = lth__tiles_own_columns(T);
    T->before = lth__alloc(columns + 1, sizeof *T->before);
    if (!T->before) return lth__fail_memory(err, (columns + 1) * sizeof *T->before);
    lay_out(T);
    size_t own = lth__tiles_own(T), bytes = lth__tiles_area(T) * sizeof *T->cells;
    T->cells = lth__calloc(own, bytes);
    return T->cells ? LTH_OK : lth__fail_memory(err, own > SIZE_MAX / bytes ? 0 : own * bytes);
}

static lth__tiles *make(lth_ctx *ctx, size_t n) {
    lth__tiles *T = lth__calloc(1, sizeof *T);
    if (!T) return NULL;
    *T = (lth__tiles){.ctx = ctx, .cluster = ctx->cluster, .rows = 1, .columns = 1, .n = n};
    if (T->cluster) {
        const lth__rank *at = &T->cluster->at;
        T->rows = at->rows;
        T->columns = at->columns;
        T->row = at->row;
        T->column = at->column;
    }
    T->side = lth__tiles_side(n);
    T->count = (n + T->side - 1) / T->side;
    T->largest = -1;
    return T;
}

lth_status lth__tiles_new(lth_ctx *ctx, size_t n, lth__tiles **out, lth_error *err) {
    lth__tiles *T = make(ctx, n);
    lth_status status = T ? reserve(T, err) : lth__fail_memory(err, sizeof *T);
    if (ctx->cluster) status = lth__cluster_agree(ctx->cluster, status, err);
    if (status != LTH_OK) {
        lth__tiles_free(T);
        return status;
    }
    *out = T;
    return LTH_OK;
}

void lth__tiles_free(lth__tiles *T) {
    if (!T) return;
    lth__free(T->cells);
    lth__free(T->before);
    lth__free(T);
}

/* ---- Work ---- */

void lth__tiles_for(const lth__tiles *T, size_t count, lth__job_fn *job, void *user) {
    lth_ctx ctx = *T->ctx;
    ctx.options.progress = NULL;
    ctx.loop = NULL;
    (void)lth__parallel_for(&ctx, NULL, count, NULL, job, user, NULL);
}

typedef struct visiting {
    const lth__tiles *T;
    lth__tiles_visit_fn *visit;
    void *user;
    size_t rows;
} visiting;

static lth_status visit_one(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const visiting *v = user;
    size_t a = index % v->rows, b = index / v->rows;
    v->visit(v->user, a * v->T->rows + v->T->row, b * v->T->columns + v->T->column);
    return LTH_OK;
}

void lth__tiles_visit(const lth__tiles *T, lth__tiles_visit_fn *visit, void *user) {
    visiting v = {.T = T, .visit = visit, .user = user, .rows = lth__tiles_own_rows(T)};
    lth__tiles_for(T, v.rows * lth__tiles_own_columns(T), visit_one, &v);
}

lth_status lth__tiles_meet(const lth__tiles *T, lth_status status, lth_error *err) {
    return T->cluster ? lth__cluster_agree(T->cluster, status, err) : status;
}

static lth_status nothing(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)user, (void)index, (void)worker, (void)err;
    return LTH_OK;
}

/* A loop of one job asks the caller, when it is time to. */
lth_status lth__tiles_enter(const lth__tiles *T, lth_status status, lth_error *err) {
    if (status == LTH_OK) status = lth__parallel_for(T->ctx, NULL, 1, NULL, nothing, NULL, err);
    return lth__tiles_meet(T, status, err);
}

lth_status lth__tiles_pause(const lth__tiles *T, double *done, double more, lth_status status,
                            lth_error *err) {
    static const double enough = 5e9; /* a fraction of a second */
    *done += more / (T->rows * T->columns);
    if (*done < enough) return LTH_OK;
    *done = 0;
    return lth__tiles_enter(T, status, err);
}

/* ---- Messages ---- */

static unsigned members(const lth__tiles *T, lth__group group) {
    return group == LTH__GRID_ROW ? T->columns : T->rows;
}

lth_status lth__tiles_send(const lth__tiles *T, lth__group group, size_t root, void *bytes,
                           size_t size, lth_error *err) {
    if (members(T, group) == 1) return LTH_OK;
    return T->cluster->table->broadcast(group, (unsigned)root, bytes, size, err);
}

lth_status lth__tiles_join(const lth__tiles *T, double *numbers, size_t count, lth_error *err) {
    if (!T->cluster || T->cluster->at.size == 1) return LTH_OK;
    return T->cluster->table->join((uint64_t *)(void *)numbers, count, err);
}

/* ---- Strips ---- */

static size_t common_divisor(size_t a, size_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

/* The smallest number that is `at` when divided by `of` and `group` when divided by `groups`,
 * or `step`, their common multiple, when there is none. */
static size_t first_of(size_t at, size_t of, size_t group, size_t groups, size_t step) {
    size_t i = at;
    while (i < step && i % groups != group) i += of;
    return i < step ? i : step;
}

/* The first row (or column) of a group, as above. */
static size_t first_in(const lth__tiles *T, const lth__strip *s, size_t group) {
    bool rows = s->across == LTH__GRID_ROW;
    return first_of(rows ? T->row : T->column, rows ? T->rows : T->columns, group, s->groups,
                    s->step);
}

lth_status lth__strip_new(const lth__tiles *T, lth__group across, lth__strip *out, lth_error *err) {
    size_t step = T->rows / common_divisor(T->rows, T->columns) * T->columns;
    lth__strip s = {.groups = members(T, across), .step = step, .across = across};
    s.area = lth__tiles_area(T);
    s.first = lth__alloc(s.groups, sizeof *s.first);
    if (!s.first) return lth__fail_memory(err, s.groups * sizeof *s.first);
    for (size_t g = 0; g < s.groups; g++) {
        size_t i = first_in(T, &s, g);
        s.first[g] = s.tiles;
        if (i < step) s.tiles += count_of(T->count, i, step);
    }
    s.cells = lth__calloc(s.tiles, s.area * sizeof *s.cells);
    if (!s.cells) {
        lth__free(s.first);
        return lth__fail_memory(err, s.tiles * s.area * sizeof *s.cells);
    }
    *out = s;
    return LTH_OK;
}

void lth__strip_free(lth__strip *s) {
    lth__free(s->cells);
    lth__free(s->first);
}

lth_status lth__strip_wait(const lth__tiles *T, lth__sending *s, lth_error *err) {
    for (size_t k = 0; k < s->count; k++) LTH_TRY(T->cluster->table->wait(s->transfers[k], err));
    s->count = 0;
    return LTH_OK;
}

/* Tiles from .. to - 1 of a group, each group from its own root or all from one. */
static lth_status begin_group(const lth__tiles *T, const lth__strip *s, size_t group, size_t from,
                              size_t to, size_t root, lth__sending *out, lth_error *err) {
    size_t i = first_in(T, s, group);
    if (i == s->step) return LTH_OK;
    size_t a = count_of(from, i, s->step), b = count_of(to, i, s->step);
    if (a >= b) return LTH_OK;
    if (out->count == sizeof out->transfers / sizeof *out->transfers)
        LTH_TRY(lth__strip_wait(T, out, err));
    LTH_TRY(T->cluster->table->begin(
        s->across, (unsigned)root, s->cells + (s->first[group] + a) * s->area,
        (b - a) * s->area * sizeof *s->cells, &out->transfers[out->count], err));
    out->count++;
    return LTH_OK;
}

lth_status lth__strip_begin(const lth__tiles *T, const lth__strip *s, size_t from, size_t to,
                            size_t root, lth__sending *out, lth_error *err) {
    out->count = 0;
    if (s->groups == 1) return LTH_OK;
    for (size_t g = 0; g < s->groups; g++) LTH_TRY(begin_group(T, s, g, from, to, root, out, err));
    return LTH_OK;
}

lth_status lth__strip_send(const lth__tiles *T, const lth__strip *s, size_t from, size_t to,
                           size_t root, lth_error *err) {
    lth__sending sending;
    LTH_TRY(lth__strip_begin(T, s, from, to, root, &sending, err));
    return lth__strip_wait(T, &sending, err);
}

/* ---- The strips of a step ---- */

/* A rank of the diagonal of a square grid has the same rows as columns: one strip serves both. */
static bool one_serves_both(const lth__tiles *T) {
    return T->rows == T->columns && T->row == T->column;
}

static lth_status reserve_strips(const lth__tiles *T, lth__group across, lth__strips *s,
                                 lth_error *err) {
    lth__group other = across == LTH__GRID_ROW ? LTH__GRID_COLUMN : LTH__GRID_ROW;
    LTH_TRY(lth__strip_new(T, across, &s->now, err));
    LTH_TRY(lth__strip_new(T, across, &s->next, err));
    if (!one_serves_both(T)) return lth__strip_new(T, other, &s->turned, err);
    s->turned = s->now;
    s->turned.across = other;
    return LTH_OK;
}

lth_status lth__strips_new(const lth__tiles *T, lth__group across, lth__strips *out,
                           lth_error *err) {
    lth__strips s = {0};
    lth_status status = reserve_strips(T, across, &s, err);
    if (status == LTH_OK)
        *out = s;
    else
        lth__strips_free(&s);
    return status;
}

void lth__strips_free(lth__strips *s) {
    if (s->turned.cells != s->now.cells) lth__strip_free(&s->turned);
    lth__strip_free(&s->next);
    lth__strip_free(&s->now);
}

void lth__strips_advance(lth__strips *s) {
    bool one = s->turned.cells == s->now.cells;
    double *done = s->now.cells;
    s->now.cells = s->next.cells;
    s->next.cells = done;
    if (one) s->turned.cells = s->now.cells;
}

lth_status lth__strips_turn(const lth__tiles *T, const lth__strips *s, size_t from, size_t to,
                            lth_error *err) {
    const lth__strip *turned = &s->turned;
    lth__sending sending = {.count = 0};
    for (size_t i = from; i < to && turned->cells != s->now.cells; i++) {
        if (lth__tiles_mine(T, i, i))
            memcpy(lth__strip_at(turned, i), lth__strip_at(&s->now, i),
                   turned->area * sizeof *turned->cells);
    }
    for (size_t g = 0; g < turned->groups && turned->groups > 1; g++)
        LTH_TRY(begin_group(T, turned, g, from, to, g, &sending, err));
    return lth__strip_wait(T, &sending, err);
}
