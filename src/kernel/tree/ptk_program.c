/* Which children of a row can match which of a column is the same for all rows of one production
 * and all columns of another: it is found once for both, and the sweep only follows. */
#include "kernel/tree/ptk_meeting.h"

typedef lth__ptk_meeting meeting;
typedef lth__ptk_band band;
typedef lth__ptk_group group;
typedef lth__ptk_row row;
typedef lth__ptk_match match;
typedef lth__ptk_entry entry;
typedef lth__ptk_program program;

enum { MOST_ENTRIES = 1 << 20, LONGEST = UINT8_MAX }; /* children in a list of matches */

/* Room for one element more. */
#define GROW(array, number, count)                                                                 \
    ((array) = lth__tree_room_grow(x->room, number, (count) + 1, sizeof *(array)),                 \
     (array) ? LTH_OK : lth__fail_memory(err, (count) * sizeof *(array)))

static uint32_t band_of(const meeting *x, uint32_t subtree) {
    return x->band_of[lth__ptk_key(x->plan, subtree)] - 1; /* of a row: there is one */
}

/* The children of a production of the rows: a bit for each of their bands, more or less; and the
 * bands themselves, unless there are too many. */
typedef struct children {
    size_t count;
    uint64_t mask;
    uint32_t band[LONGEST];
} children;

static void list_children(const meeting *x, uint32_t subtree, children *out) {
    const uint32_t *child = lth__forest_children(x->plan->forest, subtree);
    out->count = lth__forest_subtree(x->plan->forest, subtree)->children;
    out->mask = 0;
    for (size_t u = 0; u < out->count; u++) {
        uint32_t number = band_of(x, child[u]);
        out->mask |= (uint64_t)1 << number % 64;
        if (u < LONGEST) out->band[u] = number;
    }
}

/* The pairs of children with one band, by u, then v; LTH__PTK_MATCHES + 1 when there are more, or
 * may be. */
static size_t match_children(const meeting *x, const children *c, const group *g, match *out) {
    size_t count = 0;
    if (c->count > LONGEST || g->children > LONGEST) return LTH__PTK_MATCHES + 1;
    const uint32_t *kid_bands = x->kid_bands + g->first_band;
    for (size_t u = 0; u < c->count; u++) {
        for (size_t v = 0; v < g->children; v++) {
            if (kid_bands[v] != c->band[u]) continue;
            if (count == LTH__PTK_MATCHES) return LTH__PTK_MATCHES + 1;
            out[count++] = (match){(uint8_t)u, (uint8_t)v};
        }
    }
    return count;
}

/* A list costs by its pairs, the loop over all children by their product. */
static bool is_for_loop(size_t matches, size_t cells) {
    return matches > LTH__PTK_MATCHES || matches * (matches - 1) / 2 > 2 * cells;
}

static lth_status add_entry(meeting *x, program *p, size_t number, const match *found, size_t count,
                            size_t length, lth_error *err) {
    const group *g = &x->groups[number];
    entry e = {.group = (uint32_t)number, .matches = (uint32_t)count, .match = x->match_count};
    LTH_TRY(GROW(x->entries, LTH__PTK_ENTRIES, x->entry_count));
    LTH_TRY(GROW(x->matches, LTH__PTK_MATCH_LISTS, x->match_count + LTH__PTK_MATCHES));
    if (is_for_loop(count, length * g->children)) {
        e.matches = LTH__PTK_NONE;
    } else {
        for (size_t m = 0; m < count; m++) x->matches[x->match_count++] = found[m];
    }
    x->entries[x->entry_count++] = e;
    p->entries++;
    p->width += g->width;
    return LTH_OK;
}

static lth_status make_program(meeting *x, const row *r, program *p, lth_error *err) {
    const band *b = &x->bands[r->band];
    children c;
    list_children(x, r->subtree, &c);
    for (size_t g = b->group; c.count > 0 && g < b->group + b->groups; g++) {
        match found[LTH__PTK_MATCHES];
        if (!(x->groups[g].mask & c.mask)) continue;
        size_t count = match_children(x, &c, &x->groups[g], found);
        if (count > 0) LTH_TRY(add_entry(x, p, g, found, count, c.count, err));
    }
    return LTH_OK;
}

static void forget_programs(meeting *x) {
    for (size_t r = 0; r < x->row_count; r++)
        x->program_of[lth__forest_subtree(x->plan->forest, x->rows[r].subtree)->production] = 0;
    x->program_count = x->entry_count = x->match_count = 0;
}

lth_status lth__ptk_find_program(meeting *x, const row *r, const program **out, lth_error *err) {
    uint32_t *number = &x->program_of[lth__forest_subtree(x->plan->forest, r->subtree)->production];
    if (*number == 0) {
        if (x->entry_count > MOST_ENTRIES) forget_programs(x);
        LTH_TRY(
            GROW(x->entries, LTH__PTK_ENTRIES, x->entry_count)); /* also for a program of none */
        program made = {.entry = x->entry_count};
        LTH_TRY(make_program(x, r, &made, err));
        LTH_TRY(GROW(x->programs, LTH__PTK_PROGRAMS, x->program_count));
        x->programs[x->program_count++] = made;
        *number = (uint32_t)x->program_count;
    }
    *out = &x->programs[*number - 1];
    return LTH_OK;
}
