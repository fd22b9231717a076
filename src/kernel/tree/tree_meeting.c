/* Subtrees are marked by the bags of the tile's trees, numbered band by band, and then linked: rows
 * to their children, columns to theirs, columns to the trees that have them. All of it is counting
 * and copying; nothing depends on the parameters. */
#include "kernel/tree/tree_meeting.h"

#include <string.h>

typedef lth__tree_meeting meeting;
typedef lth__tree_band band;
typedef lth__tree_row row;
typedef lth__tree_match_link link;
typedef lth__tree_arm arm;

/* ---- Which subtrees meet ---- */

enum { IN_COLUMNS = 1, IN_BOTH = 2 };

static void mark(meeting *x) {
    const lth__forest *f = x->plan->forest;
    const lth__features *cols = x->plan->cols.bags, *rows = x->plan->rows.bags;
    for (size_t c = 0; c < x->part.cols; c++) {
        size_t item = x->tile->col[x->part.col + c];
        for (size_t e = cols->start[item]; e < cols->start[item + 1]; e++) {
            x->column_of[cols->feature[e]] = 1;
            x->band_of[lth__forest_subtree(f, cols->feature[e])->production] = IN_COLUMNS;
        }
    }
    for (size_t r = 0; r < x->part.rows; r++) {
        size_t item = x->tile->row[x->part.row + r];
        for (size_t e = rows->start[item]; e < rows->start[item + 1]; e++) {
            uint32_t *band_of = &x->band_of[lth__forest_subtree(f, rows->feature[e])->production];
            if (*band_of == 0) continue;
            *band_of = IN_BOTH;
            x->row_of[rows->feature[e]] = 1;
        }
    }
}

static size_t count_bands(const meeting *x) {
    size_t count = 0;
    for (size_t p = 0; p < x->plan->forest->production_count; p++)
        count += x->band_of[p] == IN_BOTH;
    return count;
}

static void number_columns(meeting *x) {
    const lth__tree_index *index = x->plan->index;
    size_t bands = 0;
    for (uint32_t p = 0; p < x->plan->forest->production_count; p++) {
        bool both = x->band_of[p] == IN_BOTH;
        x->band_of[p] = 0;
        if (!both) continue;
        band *b = &x->bands[bands++];
        *b = (band){.production = p,
                    .first = x->column_count,
                    .inner = lth__forest_production(x->plan->forest, p)->inner,
                    .lists = x->list_count};
        x->band_of[p] = (uint32_t)bands;
        for (size_t k = 0, members = lth__tree_index_members(index, p); k < members; k++) {
            uint32_t *column_of = &x->column_of[lth__tree_index_member(index, p, k)];
            if (*column_of > 0) *column_of = ++b->width;
        }
        x->column_count += b->width;
        x->list_count += b->inner;
        if (b->width > x->widest) x->widest = b->width;
    }
    x->band_count = bands;
}

static size_t number_rows(meeting *x) {
    size_t count = 0;
    for (size_t u = 0; u < x->plan->forest->count; u++) {
        if (x->row_of[u] > 0) x->row_of[u] = (uint32_t)++count;
    }
    return count;
}

static void measure_rows(meeting *x) {
    const lth__forest *f = x->plan->forest;
    for (size_t u = 0; u < f->count; u++) {
        if (x->row_of[u] == 0) continue;
        uint32_t production = lth__forest_subtree(f, u)->production,
                 number = x->band_of[production] - 1;
        const band *b = &x->bands[number];
        size_t factors = (size_t)b->inner * b->width;
        x->rows[x->row_count++] =
            (row){.subtree = (uint32_t)u, .band = number, .first = x->numbers};
        x->numbers += b->width;
        x->arm_count += b->inner;
        if (factors > x->most_factors) x->most_factors = factors;
    }
}

/* ---- Links and holders ---- */

static size_t most_links(const meeting *x) {
    size_t links = 0;
    for (size_t b = 0; b < x->band_count; b++)
        links += (size_t)x->bands[b].width * x->bands[b].inner;
    return links;
}

/* One list, of the index or of its base. */
typedef struct half {
    const lth__tree_link *at, *end;
} half;

static half half_of(const lth__tree_index *index, uint32_t p, size_t m) {
    size_t members = lth__tree_index_own(index, p);
    if (members == 0) return (half){0};
    const lth__tree_link *from = index->link + index->link_start[p] + m * members;
    return (half){from, from + members};
}

/* Children of the same production together; of these, what the base has comes first. */
static const lth__tree_link *next_link(const lth__forest *f, half *base, half *own) {
    half *next = base;
    if (base->at == base->end)
        next = own;
    else if (own->at < own->end && lth__forest_subtree(f, own->at->child)->production <
                                       lth__forest_subtree(f, base->at->child)->production)
        next = own;
    return next->at == next->end ? NULL : next->at++;
}

static void list_links(meeting *x) {
    const lth__forest *f = x->plan->forest;
    const lth__tree_index *index = x->plan->index;
    size_t used = 0, list = 0;
    for (size_t b = 0; b < x->band_count; b++) {
        uint32_t p = x->bands[b].production;
        for (size_t m = 0; m < x->bands[b].inner; m++) {
            half base = index->base ? half_of(index->base, p, m) : (half){0};
            half own = half_of(index, p, m);
            x->list_start[list++] = used;
            for (const lth__tree_link *l; (l = next_link(f, &base, &own));) {
                uint32_t production = lth__forest_subtree(f, l->child)->production;
                if (x->column_of[l->subtree] == 0 || x->band_of[production] == 0) continue;
                x->links[used++] =
                    (link){production, x->column_of[l->subtree] - 1, x->column_of[l->child] - 1};
            }
        }
    }
    x->list_start[list] = x->link_count = used;
}

/* Where a subtree's column lies among all, or LTH_NONE. */
static size_t column_at(const meeting *x, uint32_t subtree) {
    uint32_t number = x->band_of[lth__forest_subtree(x->plan->forest, subtree)->production];
    return number == 0 ? LTH_NONE : x->bands[number - 1].first + x->column_of[subtree] - 1;
}

static void list_holders(meeting *x) {
    const lth__features *cols = x->plan->cols.bags;
    for (int filling = 0; filling < 2; filling++) {
        for (size_t c = 0; c < x->part.cols; c++) {
            size_t item = x->tile->col[x->part.col + c];
            for (size_t e = cols->start[item]; e < cols->start[item + 1]; e++) {
                size_t column = column_at(x, cols->feature[e]);
                if (column == LTH_NONE) continue;
                /* Counted two places on, then filled one place on: so each ends up where the
                 * next begins. */
                if (!filling) {
                    x->holder_start[column + 2]++;
                    continue;
                }
                size_t at = x->holder_start[column + 1]++;
                x->holder[at] = (uint32_t)c;
                x->holder_count[at] = cols->weight[e];
            }
        }
        for (size_t j = 0; !filling && j < x->column_count; j++)
            x->holder_start[j + 2] += x->holder_start[j + 1];
    }
}

static size_t most_holders(const meeting *x) {
    const lth__features *cols = x->plan->cols.bags;
    size_t count = 0;
    for (size_t c = 0; c < x->part.cols; c++) {
        size_t item = x->tile->col[x->part.col + c];
        count += cols->start[item + 1] - cols->start[item];
    }
    return count;
}

/* ---- Arms ---- */

/* The first link of a list whose child has this production or a later one. */
static const link *find_link(const meeting *x, size_t list, uint32_t production) {
    const link *low = x->links + x->list_start[list], *high = x->links + x->list_start[list + 1];
    while (low < high) {
        const link *middle = low + (high - low) / 2;
        if (middle->production < production)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void list_arms(meeting *x) {
    const lth__forest *f = x->plan->forest;
    size_t used = 0;
    for (row *r = x->rows; r < x->rows + x->row_count; r++) {
        const uint32_t *children = lth__forest_children(f, r->subtree);
        size_t list = x->bands[r->band].lists;
        r->arms = used;
        for (size_t k = 0; k < lth__forest_subtree(f, r->subtree)->children; k++) {
            if (lth__forest_is_leaf(f, children[k])) continue;
            uint32_t number = x->row_of[children[k]];
            arm *a = &x->arms[used++];
            *a = (arm){0};
            if (number > 0) {
                uint32_t production = lth__forest_subtree(f, children[k])->production;
                a->first = x->rows[number - 1].first;
                a->links = find_link(x, list, production);
                a->end = find_link(x, list, production + 1);
            }
            list++;
        }
    }
}

/* ---- Setting up ---- */

/* The blocks of a room. */
enum {
    COLUMN_OF,
    ROW_OF,
    BAND_OF,
    BANDS,
    ROWS,
    LINKS,
    LIST_START,
    ARMS,
    HOLDER,
    HOLDER_COUNT,
    HOLDER_START,
    DELTA,
    BAR,
    SUMS,
    FACTORS,
    TOUCHED,
    TOUCHED_BY
};

/* LTH_OK, and *out has room for `count` elements; `zero` clears them. */
#define GET(out, number, count, zero)                                                              \
    get(x, number, count, sizeof **(out), zero, (void **)(out), err)

static lth_status get(meeting *x, size_t number, size_t count, size_t size, bool zero, void **out,
                      lth_error *err) {
    *out = lth__tree_room_get(x->room, number, count, size);
    if (!*out) return lth__fail_memory(err, count * size);
    if (zero) memset(*out, 0, count * size);
    return LTH_OK;
}

lth_status lth__tree_meeting_begin(meeting *x, lth_error *err) {
    const lth__forest *f = x->plan->forest;
    LTH_TRY(GET(&x->column_of, COLUMN_OF, f->count, true));
    LTH_TRY(GET(&x->row_of, ROW_OF, f->count, true));
    LTH_TRY(GET(&x->band_of, BAND_OF, f->production_count, true));
    mark(x);
    LTH_TRY(GET(&x->bands, BANDS, count_bands(x), false));
    number_columns(x);
    LTH_TRY(GET(&x->rows, ROWS, number_rows(x), false));
    measure_rows(x);
    return LTH_OK;
}

lth_status lth__tree_meeting_finish(meeting *x, lth_error *err) {
    x->holders = most_holders(x);
    LTH_TRY(GET(&x->links, LINKS, most_links(x), false));
    LTH_TRY(GET(&x->list_start, LIST_START, x->list_count + 1, false));
    LTH_TRY(GET(&x->arms, ARMS, x->arm_count, false));
    LTH_TRY(GET(&x->holder, HOLDER, x->holders, false));
    LTH_TRY(GET(&x->holder_count, HOLDER_COUNT, x->holders, false));
    LTH_TRY(GET(&x->holder_start, HOLDER_START, x->column_count + 2, true));
    list_links(x);
    list_holders(x);
    x->holders = x->holder_start[x->column_count]; /* those of both sides */
    list_arms(x);
    return LTH_OK;
}

lth_status lth__tree_meeting_numbers(meeting *x, bool pulls, lth_error *err) {
    LTH_TRY(GET(&x->delta, DELTA, x->numbers, false));
    LTH_TRY(GET(&x->sums, SUMS, x->column_count, false));
    LTH_TRY(GET(&x->touched, TOUCHED, x->band_count, false));
    LTH_TRY(GET(&x->touched_by, TOUCHED_BY, x->band_count, false));
    LTH_TRY(GET(&x->factors, FACTORS, pulls ? 2 * x->most_factors : x->widest, false));
    if (!pulls) return LTH_OK;
    x->after = x->factors + x->most_factors;
    for (size_t r = 0; r < x->row_count; r++) x->rows[r].has_bar = false;
    return GET(&x->bar, BAR, x->numbers, false);
}

/* ---- A copy ---- */

/* One array after the other, the widest numbers first; `to` NULL = only measure. Returns its end.
 */
static size_t put(char *to, size_t at, void *array, size_t bytes) {
    void *from;
    memcpy(&from, array, sizeof from);
    if (to && bytes > 0) memcpy(to + at, from, bytes);
    if (to) memcpy(array, &(void *){to + at}, sizeof from);
    return at + (bytes + 7) / 8 * 8;
}

static size_t put_all(meeting *x, char *to) {
    size_t at = 0;
    at = put(to, at, &x->rows, x->row_count * sizeof *x->rows);
    at = put(to, at, &x->bands, x->band_count * sizeof *x->bands);
    at = put(to, at, &x->arms, x->arm_count * sizeof *x->arms);
    at = put(to, at, &x->list_start, (x->list_count + 1) * sizeof *x->list_start);
    at = put(to, at, &x->holder_start, (x->column_count + 1) * sizeof *x->holder_start);
    at = put(to, at, &x->holder_count, x->holders * sizeof *x->holder_count);
    at = put(to, at, &x->links, x->link_count * sizeof *x->links);
    at = put(to, at, &x->holder, x->holders * sizeof *x->holder);
    at = put(to, at, &x->row_of, x->plan->forest->count * sizeof *x->row_of);
    return at;
}

size_t lth__tree_meeting_bytes(const meeting *x) {
    meeting own = *x;
    return sizeof own + put_all(&own, NULL);
}

meeting *lth__tree_meeting_copy(const meeting *x) {
    meeting *copy = lth__alloc(1, lth__tree_meeting_bytes(x));
    if (!copy) return NULL;
    *copy = *x;
    put_all(copy, (char *)(copy + 1));
    for (size_t i = 0; i < copy->arm_count; i++) {
        arm *a = &copy->arms[i];
        if (!a->links) continue;
        a->links = copy->links + (a->links - x->links);
        a->end = copy->links + (a->end - x->links);
    }
    return copy;
}
