#include "design/archive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "design/edits.h"

enum {
    EVALUATIONS = 20000,
    POPULATION = 256,
    LEAST_GENERATION = 512, /* texts that are valued at a time: large tables are cheapest */
    MOST_GENERATION = 4096,
    GENERATIONS = 32,      /* that a search should have at least */
    MOST_BYTES = 64 << 20, /* of letters */
    CENTRES = 8,           /* of the trust region */
    ARCHIVE_SHARE = 4,     /* a family has 1/4 of the archive at most, */
    POPULATION_SHARE = 8,  /* and 1/8 of the population */
};

static size_t at_most(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t at_least(size_t a, size_t b) {
    return a > b ? a : b;
}

/* ---- Room ---- */

static void choose_sizes(lth__archive *a) {
    const lth_search_options *o = &a->search->options;
    const lth_space *space = a->search->space;
    a->evaluations = o->evaluations > 0 ? o->evaluations : EVALUATIONS;
    a->population = o->population > 0 ? o->population : POPULATION;
    a->room = at_least(space->longest, space->start_length) + 1;
    size_t fit = at_least(MOST_BYTES / (a->room * sizeof(lth__letter)), 128);
    a->generation = at_least(a->evaluations / GENERATIONS, LEAST_GENERATION);
    a->generation = at_most(at_most(a->generation, MOST_GENERATION), fit / 2);
    a->most = at_most(at_least(a->search->pool, a->population), fit);
    a->population = at_most(a->population, a->most);
    a->families = LTH__MOST_STARTS + a->population;
}

static lth_status make_room(lth__archive *a) {
    size_t entries = a->most + a->generation, slots = entries + LTH__MOST_STARTS + 2;
    a->slab = lth__alloc(slots, a->room * sizeof *a->slab);
    a->entries = lth__calloc(entries, sizeof *a->entries);
    a->starts = lth__calloc(LTH__MOST_STARTS, sizeof *a->starts);
    a->start_texts = lth__alloc(LTH__MOST_STARTS, sizeof *a->start_texts);
    a->parents = lth__alloc(a->population, sizeof *a->parents);
    a->members = lth__alloc(a->families, sizeof *a->members);
    a->pointers = lth__alloc(a->generation, sizeof *a->pointers);
    a->valid = lth__alloc(a->generation, sizeof *a->valid);
    a->values = lth__alloc(a->generation, sizeof *a->values);
    a->picked = lth__alloc(a->generation, sizeof *a->picked);
    if (!a->slab || !a->entries || !a->starts || !a->start_texts || !a->parents || !a->members ||
        !a->pointers || !a->valid || !a->values || !a->picked)
        return lth__fail_memory(a->err, slots * a->room * sizeof *a->slab);
    for (size_t i = 0; i < entries; i++) a->entries[i].text = a->slab + i * a->room;
    for (size_t i = 0; i < LTH__MOST_STARTS; i++)
        a->starts[i].text = a->slab + (entries + i) * a->room;
    a->child = a->slab + (slots - 2) * a->room;
    a->origin = a->slab + (slots - 1) * a->room;
    return LTH_OK;
}

/* Those of the texts to begin from that are in the space. */
static void take_starts(lth__archive *a) {
    const lth__search *search = a->search;
    for (size_t i = 0; i < search->start_count && a->start_count < LTH__MOST_STARTS; i++) {
        lth__entry *e = &a->starts[a->start_count];
        const char *text = search->starts[i];
        size_t length = strlen(text);
        if (!lth_space_has(search->space, text, length, NULL) ||
            !lth__space_encode(search->space, text, length, e->text, a->room, &e->count))
            continue;
        e->family = a->start_count;
        a->start_texts[a->start_count++] = text;
    }
}

lth_status lth__archive_open(const lth__search *search, lth__archive *out, lth_error *err) {
    *out = (lth__archive){.search = search, .err = err};
    choose_sizes(out);
    lth_status status = make_room(out);
    if (status == LTH_OK)
        take_starts(out);
    else
        lth__archive_close(out);
    return status;
}

void lth__archive_close(lth__archive *a) {
    lth__free(a->slab);
    lth__free(a->entries);
    lth__free(a->starts);
    lth__free(a->start_texts);
    lth__free(a->parents);
    lth__free(a->members);
    lth__free(a->pointers);
    lth__free(a->valid);
    lth__free(a->values);
    lth__free(a->picked);
    lth__texts_free(&a->texts);
    lth__string_free(&a->text);
    lth__text_set_free(&a->seen);
}

/* ---- What may wait ---- */

static size_t replaced(const lth__letter *a, const lth__letter *b, size_t count) {
    size_t letters = 0;
    for (size_t i = 0; i < count; i++) letters += a[i] != b[i];
    return letters;
}

static size_t centres(const lth__archive *a) {
    return a->search->options.trust > 0 ? at_most(a->start_count, CENTRES) : 0;
}

const lth__entry *lth__archive_centre(const lth__archive *a, const lth__letter *text,
                                      size_t count) {
    const lth__entry *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < centres(a); i++) {
        const lth__entry *centre = &a->starts[i];
        size_t letters = centre->count == count ? replaced(centre->text, text, count) : SIZE_MAX;
        if (letters >= least) continue;
        least = letters;
        nearest = centre;
    }
    return nearest;
}

/* Whether a text, also written to a->text, is in the trust region. Replaced letters are counted
 * first, as that is cheap and what most moves do; where all texts are of one length, nothing else
 * is. */
static lth_status check_trust(const lth__archive *a, const lth__letter *text, size_t count,
                              bool *near) {
    size_t trust = a->search->options.trust;
    const lth__entry *nearest = lth__archive_centre(a, text, count);
    *near = centres(a) == 0 || (nearest && replaced(nearest->text, text, count) <= trust);
    if (*near || a->search->space->shortest == a->search->space->longest) return LTH_OK;
    for (size_t i = 0; !*near && i < centres(a); i++) {
        const char *centre = a->start_texts[i];
        size_t edits = lth__edits(centre, strlen(centre), a->text.bytes, a->text.length, trust);
        if (edits == LTH_NONE) return lth__fail_memory(a->err, 0);
        *near = edits <= trust;
    }
    return LTH_OK;
}

size_t lth__archive_places(const lth__archive *a) {
    size_t most = at_most(a->generation, a->evaluations - a->evaluated);
    return most - at_most(a->waiting, most);
}

lth_status lth__archive_offer(lth__archive *a, const lth__letter *text, size_t count,
                              size_t family) {
    const lth_space *space = a->search->space;
    bool fresh, near;
    if (lth__archive_places(a) == 0 || lth__space_refuses_letters(space, text, count))
        return LTH_OK;
    uint64_t hash = lth__letters_hash(text, count);
    if (!lth__text_set_add(&a->seen, hash, &fresh)) return lth__fail_memory(a->err, 0);
    if (!fresh) return LTH_OK;
    a->text.length = 0;
    lth__space_write(space, text, count, &a->text);
    if (a->text.failed) return lth__fail_memory(a->err, count);
    if (lth__space_refuses_text(space, a->text.bytes, a->text.length)) return LTH_OK;
    LTH_TRY(check_trust(a, text, count, &near));
    if (!near) return LTH_OK;
    LTH_TRY(lth__texts_add(&a->texts, a->text.bytes, a->text.length, a->err));
    lth__entry *e = &a->entries[a->kept + a->waiting++];
    memcpy(e->text, text, count * sizeof *text);
    e->count = count;
    e->family = family;
    e->hash = hash;
    e->value = -INFINITY;
    e->climbed = false;
    return LTH_OK;
}

/* ---- Values ---- */

static lth_status check_valid(lth__archive *a) {
    const lth_search_options *o = &a->search->options;
    for (size_t i = 0; i < a->waiting; i++) a->valid[i] = true;
    if (!o->valid || a->waiting == 0) return LTH_OK;
    for (size_t i = 0; i < a->waiting; i++) a->pointers[i] = lth__texts_at(&a->texts, i, NULL);
    if (o->valid(o->user, a->pointers, a->waiting, a->valid) == 0) return LTH_OK;
    return lth__fail(a->err, LTH_EIO, "the check of what is valid failed");
}

static lth_status value_valid(lth__archive *a) {
    const lth__search *search = a->search;
    size_t count = 0;
    for (size_t i = 0; i < a->waiting; i++)
        if (a->valid[i]) a->picked[count++] = i;
    if (count == 0) return LTH_OK;
    lth_table *table;
    LTH_TRY(
        lth__texts_table(&a->texts, search->ctx, search->column, a->picked, count, &table, a->err));
    lth_status status = search->value(search->user, table, a->values, a->err);
    lth_table_free(table);
    if (status != LTH_OK) return status;
    for (size_t i = 0; i < count; i++)
        if (!isnan(a->values[i])) a->entries[a->kept + a->picked[i]].value = a->values[i];
    a->evaluated += count;
    return LTH_OK;
}

/* ---- The best of them ---- */

/* Best first; the hash makes the order the same every time. */
static int by_value(const void *a, const void *b) {
    const lth__entry *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* The best come first, in order, without those whose family has had its share. */
static size_t share_out(lth__archive *a, size_t count) {
    size_t taken = 0, share = at_least(a->most / ARCHIVE_SHARE, 1);
    memset(a->members, 0, a->families * sizeof *a->members);
    for (size_t i = 0; i < count && taken < a->most; i++) {
        if (a->members[a->entries[i].family]++ >= share) continue;
        lth__entry kept = a->entries[i];
        a->entries[i] = a->entries[taken];
        a->entries[taken++] = kept;
    }
    return taken;
}

static void choose_parents(lth__archive *a) {
    size_t share = at_least(a->population / POPULATION_SHARE, 1);
    memset(a->members, 0, a->families * sizeof *a->members);
    a->parent_count = 0;
    for (size_t i = 0; i < a->kept && a->parent_count < a->population; i++)
        if (a->members[a->entries[i].family]++ < share) a->parents[a->parent_count++] = i;
}

lth_status lth__archive_settle(lth__archive *a) {
    LTH_TRY(check_valid(a));
    LTH_TRY(value_valid(a));
    size_t count = a->kept + a->waiting;
    qsort(a->entries, count, sizeof *a->entries, by_value);
    while (count > 0 && a->entries[count - 1].value == -INFINITY) count--;
    a->kept = count > a->most ? share_out(a, count) : count;
    a->waiting = 0;
    lth__texts_clear(&a->texts);
    choose_parents(a);
    return lth__tell(a->search->ctx, "searching", (double)a->evaluated, (double)a->evaluations,
                     a->err);
}
