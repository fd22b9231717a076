/* The rows are marked first, and with them the keys that matter; of the columns, what has none of
 * these is left out. All of it is counting and copying, in time that the tile's own trees take,
 * whatever else the forest has. */
#include "kernel/tree/ptk_meeting.h"

#include <string.h>

typedef lth__ptk_meeting meeting;
typedef lth__ptk_band band;
typedef lth__ptk_group group;
typedef lth__ptk_row row;
typedef lth__ptk_holder holder;

/* LTH_OK, and *out has room for `count` elements. */
#define GET(out, number, count) get(x, number, count, sizeof **(out), false, (void **)(out), err)
/* The same, and they are 0. */
#define GET_ZEROS(out, number, count)                                                              \
    get(x, number, count, sizeof **(out), true, (void **)(out), err)

static lth_status get(meeting *x, size_t number, size_t count, size_t size, bool zeros, void **out,
                      lth_error *err) {
    *out = zeros ? lth__tree_room_zeros(x->room, number, count, size)
                 : lth__tree_room_get(x->room, number, count, size);
    return *out ? LTH_OK : lth__fail_memory(err, count * size);
}

static uint32_t production_of(const meeting *x, uint32_t subtree) {
    return lth__forest_subtree(x->plan->forest, subtree)->production;
}

/* 1 + the number of the band where a subtree belongs; 0 = none. */
static uint32_t band_number(const meeting *x, uint32_t subtree) {
    return x->band_of[lth__ptk_key(x->plan, subtree)];
}

static size_t count_nodes(const lth__sequences *trees, const uint32_t *item, size_t count) {
    size_t nodes = 0;
    for (size_t i = 0; i < count; i++) nodes += lth__sequence_length(trees, item[i]);
    return nodes;
}

/* ---- Rows ---- */

static void add_row(meeting *x, uint32_t subtree) {
    if (x->row_of[subtree] == 0) {
        const lth__ptk_plan *plan = x->plan;
        uint32_t *band_of = &x->band_of[lth__ptk_key(plan, subtree)];
        if (*band_of == 0) {
            bool soft = lth__ptk_is_soft(plan, lth__forest_subtree(plan->forest, subtree));
            x->bands[x->band_count] = (band){.soft = soft};
            *band_of = (uint32_t)++x->band_count;
        }
        x->rows[x->row_count] =
            (row){.subtree = subtree, .band = *band_of - 1, .kept = LTH__PTK_NONE};
        x->row_of[subtree] = (uint32_t)++x->row_count;
    }
    x->rows[x->row_of[subtree] - 1].times++;
}

static lth_status mark_rows(meeting *x, lth_error *err) {
    const lth__sequences *trees = x->plan->rows;
    size_t nodes = count_nodes(trees, x->tile->row, x->tile->rows);
    size_t bands = nodes < x->plan->labels + 1 ? nodes : x->plan->labels + 1;
    LTH_TRY(GET(&x->rows, LTH__PTK_ROWS, nodes));
    LTH_TRY(GET(&x->bands, LTH__PTK_BANDS, bands));
    for (size_t r = 0; r < x->tile->rows; r++) {
        const lth__symbol *node = lth__sequence_symbols(trees, x->tile->row[r]);
        size_t count = lth__sequence_length(trees, x->tile->row[r]);
        for (size_t i = 0; i < count; i++) add_row(x, node[i]);
    }
    return LTH_OK;
}

/* ---- Columns ---- */

/* Each subtree of the columns once, as far as it has a band; the groups in the order in which they
 * are found. */
static size_t find_columns(meeting *x, uint32_t *found, group *groups) {
    const lth__sequences *trees = x->plan->cols;
    size_t count = 0;
    for (size_t c = 0; c < x->tile->cols; c++) {
        const lth__symbol *node = lth__sequence_symbols(trees, x->tile->col[c]);
        for (size_t i = 0; i < lth__sequence_length(trees, x->tile->col[c]); i++) {
            uint32_t number = x->column_of[node[i]] > 0 ? 0 : band_number(x, node[i]);
            if (number == 0) continue;
            band *b = &x->bands[number - 1];
            uint32_t production = production_of(x, node[i]), *group_of = &x->group_of[production];
            if (*group_of == 0) {
                groups[x->group_count] = (group){.production = production, .band = number - 1};
                *group_of = (uint32_t)++x->group_count;
                b->groups++;
            }
            groups[*group_of - 1].width++;
            b->width++;
            x->column_of[node[i]] = 1;
            found[count++] = node[i];
        }
    }
    return count;
}

/* The groups of a band side by side, and so their columns. */
static void order_groups(meeting *x, const group *found) {
    size_t groups = 0, columns = 0;
    for (size_t b = 0; b < x->band_count; b++) {
        x->bands[b].group = groups;
        groups += x->bands[b].groups;
        x->bands[b].groups = 0;
        x->bands[b].first = columns;
        columns += x->bands[b].width;
        if (x->bands[b].width > x->widest) x->widest = x->bands[b].width;
    }
    for (size_t g = 0; g < x->group_count; g++) {
        band *b = &x->bands[found[g].band];
        size_t number = b->group + b->groups++;
        x->groups[number] = found[g];
        x->group_of[found[g].production] = (uint32_t)number + 1;
    }
    for (size_t g = 0, first = 0; g < x->group_count; g++) {
        x->groups[g].first = first;
        first += x->groups[g].width;
    }
}

static void number_columns(meeting *x, const uint32_t *found, size_t count) {
    for (size_t g = 0; g < x->group_count; g++) x->groups[g].width = 0;
    for (size_t i = 0; i < count; i++) {
        group *g = &x->groups[x->group_of[production_of(x, found[i])] - 1];
        size_t column = g->first + g->width++;
        x->subtree[column] = found[i];
        x->column_of[found[i]] = (uint32_t)column + 1;
    }
    x->column_count = count;
}

static lth_status mark_columns(meeting *x, lth_error *err) {
    size_t nodes = count_nodes(x->plan->cols, x->tile->col, x->tile->cols);
    size_t kinds = x->plan->forest->production_count;
    group *groups;
    uint32_t *found;
    LTH_TRY(GET(&groups, LTH__PTK_FOUND_GROUPS, nodes < kinds ? nodes : kinds));
    LTH_TRY(GET(&found, LTH__PTK_FOUND, nodes));
    LTH_TRY(GET(&x->subtree, LTH__PTK_SUBTREE, nodes));
    size_t count = find_columns(x, found, groups);
    lth_status status = GET(&x->groups, LTH__PTK_GROUPS, x->group_count);
    if (status == LTH_OK) {
        order_groups(x, groups);
        number_columns(x, found, count);
    } else { /* nothing remembers these */
        for (size_t i = 0; i < count; i++) {
            x->column_of[found[i]] = 0;
            x->group_of[production_of(x, found[i])] = 0;
        }
    }
    return status;
}

/* ---- Children of the columns ---- */

static void fill_kid_bands(meeting *x, group *g) {
    const uint32_t *child = lth__forest_children(x->plan->forest, x->subtree[g->first]);
    for (uint32_t v = 0; v < g->children; v++) {
        uint32_t number = band_number(x, child[v]);
        x->kid_bands[g->first_band + v] = number > 0 ? number - 1 : LTH__PTK_NONE;
        if (number > 0) g->mask |= (uint64_t)1 << (number - 1) % 64;
    }
}

static void fill_kids(meeting *x, const group *g) {
    for (uint32_t j = 0; j < g->width; j++) {
        const uint32_t *child = lth__forest_children(x->plan->forest, x->subtree[g->first + j]);
        for (uint32_t v = 0; v < g->children; v++) {
            uint32_t b = x->kid_bands[g->first_band + v];
            if (b == LTH__PTK_NONE) continue;
            x->kids[g->first_kid + (size_t)v * g->width + j] =
                x->column_of[child[v]] - 1 - (uint32_t)x->bands[b].first;
        }
    }
}

static lth_status list_kids(meeting *x, lth_error *err) {
    size_t kids = 0, bands = 0;
    for (group *g = x->groups; g < x->groups + x->group_count; g++) {
        g->children = lth__forest_production(x->plan->forest, g->production)->children;
        g->first_kid = kids;
        g->first_band = bands;
        kids += (size_t)g->children * g->width;
        bands += g->children;
    }
    LTH_TRY(GET(&x->kids, LTH__PTK_KIDS, kids));
    LTH_TRY(GET(&x->kid_bands, LTH__PTK_KID_BANDS, bands));
    for (group *g = x->groups; g < x->groups + x->group_count; g++) {
        fill_kid_bands(x, g);
        fill_kids(x, g);
    }
    return LTH_OK;
}

/* ---- Trees of the columns ---- */

/* Only what has children, or is soft, has a Delta of its own: all else counts by its key. */
static lth_status list_nodes(meeting *x, lth_error *err) {
    const lth__sequences *trees = x->plan->cols;
    LTH_TRY(GET(&x->node, LTH__PTK_NODE, count_nodes(trees, x->tile->col, x->tile->cols)));
    LTH_TRY(GET(&x->node_start, LTH__PTK_NODE_START, x->tile->cols + 1));
    size_t used = 0;
    for (size_t c = 0; c < x->tile->cols; c++) {
        const lth__symbol *node = lth__sequence_symbols(trees, x->tile->col[c]);
        x->node_start[c] = used;
        for (size_t i = 0; i < lth__sequence_length(trees, x->tile->col[c]); i++) {
            if (x->column_of[node[i]] == 0) continue;
            if (x->plan->similarity || !lth__forest_is_leaf(x->plan->forest, node[i]))
                x->node[used++] = x->column_of[node[i]] - 1;
        }
    }
    x->node_start[x->tile->cols] = used;
    return LTH_OK;
}

/* Pass 0 counts how many trees have each band, pass 1 notes which. `last`: by band, 1 + the tree
 * that was seen there last. */
static void visit_holders(meeting *x, uint32_t *last, int pass) {
    const lth__sequences *trees = x->plan->cols;
    for (size_t b = 0; b < x->band_count; b++) {
        last[b] = 0;
        x->bands[b].holders = 0;
    }
    for (size_t c = 0; c < x->tile->cols; c++) {
        const lth__symbol *node = lth__sequence_symbols(trees, x->tile->col[c]);
        for (size_t i = 0; i < lth__sequence_length(trees, x->tile->col[c]); i++) {
            if (x->column_of[node[i]] == 0) continue;
            uint32_t number = x->groups[x->group_of[production_of(x, node[i])] - 1].band;
            band *b = &x->bands[number];
            bool is_new = last[number] != c + 1;
            last[number] = (uint32_t)c + 1;
            if (pass == 1 && is_new)
                x->holders[b->holder + b->holders] = (holder){.tree = (uint32_t)c};
            b->holders += is_new;
            if (pass == 1) x->holders[b->holder + b->holders - 1].times++;
        }
    }
}

static lth_status list_holders(meeting *x, lth_error *err) {
    uint32_t *last;
    size_t count = 0;
    LTH_TRY(GET(&last, LTH__PTK_LAST_HOLDER, x->band_count));
    visit_holders(x, last, 0);
    for (size_t b = 0; b < x->band_count; b++) {
        x->bands[b].holder = count;
        count += x->bands[b].holders;
    }
    LTH_TRY(GET(&x->holders, LTH__PTK_HOLDERS, count));
    visit_holders(x, last, 1);
    return LTH_OK;
}

/* ---- The whole ---- */

lth_status lth__ptk_meet(meeting *x, lth_error *err) {
    const lth__forest *f = x->plan->forest;
    LTH_TRY(GET_ZEROS(&x->row_of, LTH__PTK_ROW_OF, f->count));
    LTH_TRY(GET_ZEROS(&x->column_of, LTH__PTK_COLUMN_OF, f->count));
    LTH_TRY(GET_ZEROS(&x->group_of, LTH__PTK_GROUP_OF, f->production_count));
    LTH_TRY(GET_ZEROS(&x->program_of, LTH__PTK_PROGRAM_OF, f->production_count));
    LTH_TRY(GET_ZEROS(&x->band_of, LTH__PTK_BAND_OF, x->plan->labels + 1));
    LTH_TRY(mark_rows(x, err));
    LTH_TRY(mark_columns(x, err));
    LTH_TRY(list_kids(x, err));
    LTH_TRY(list_nodes(x, err));
    return list_holders(x, err);
}

void lth__ptk_part(meeting *x) {
    for (size_t r = 0; r < x->row_count; r++) {
        uint32_t subtree = x->rows[r].subtree;
        x->row_of[subtree] = 0;
        x->program_of[production_of(x, subtree)] = 0;
        x->band_of[lth__ptk_key(x->plan, subtree)] = 0;
    }
    for (size_t j = 0; j < x->column_count; j++) x->column_of[x->subtree[j]] = 0;
    for (size_t g = 0; g < x->group_count && x->column_count > 0; g++)
        x->group_of[x->groups[g].production] = 0;
}
