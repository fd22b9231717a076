/* The search: from the best texts so far, the population, come children by the moves of moves.h, a
 * generation at a time; then all single edits of the best few that were not yet looked at, until
 * none is better; and again. No text is valued twice. A space with fewer texts than may be valued
 * is listed instead. */
#include <string.h>

#include "design/archive.h"
#include "design/moves.h"

enum {
    TRIES = 24,             /* for a child that is new and keeps to the rules, on average */
    HILLS = 8,              /* texts whose single edits are looked at */
    MOST_NEIGHBOURS = 4096, /* of one text; of more, as many are drawn */
    IMMIGRANTS = 16,        /* one child in 16 has no parents, */
    START_IS_MOTHER = 8,    /* and one in 8 one of the texts that the search began with */
    MOST_EDITS = 4,         /* of these at the beginning */
    BARREN = 16,            /* generations without a text that is valid */
};

typedef struct run {
    lth__archive archive;
    const lth_space *space;
    lth__random random;
    size_t barren;
    bool exhausted; /* no more new texts are found */
    lth_error *err;
} run;

void lth_search_options_init(lth_search_options *options) {
    *options = (lth_search_options){.size = sizeof *options};
}

static bool is_done(const run *r) {
    return r->exhausted || r->archive.evaluated >= r->archive.evaluations;
}

/* ---- All texts of a small space ---- */

static lth_status count_text(void *user, const lth__letter *letters, size_t count, lth_error *err) {
    (void)letters, (void)count, (void)err;
    ++*(size_t *)user;
    return LTH_OK;
}

static lth_status offer_text(void *user, const lth__letter *letters, size_t count, lth_error *err) {
    run *r = user;
    lth__archive *a = &r->archive;
    (void)err;
    if (lth__archive_places(a) == 0) LTH_TRY(lth__archive_settle(a));
    /* None is a child of another: families are as even as can be. */
    return lth__archive_offer(a, letters, count, (a->evaluated + a->waiting) % a->families);
}

static lth_status list_all(run *r, bool *listed) {
    /* Steps lead to letters, not all of them the last of a text. */
    size_t texts = 0, steps = 2 * r->archive.evaluations + 64;
    LTH_TRY(lth__space_enumerate(r->space, steps, count_text, &texts, listed, r->err));
    *listed = *listed && texts <= r->archive.evaluations;
    if (!*listed) return LTH_OK;
    bool complete;
    LTH_TRY(lth__space_enumerate(r->space, steps, offer_text, r, &complete, r->err));
    return lth__archive_settle(&r->archive);
}

/* ---- Generations ---- */

/* A text without parents: of the space, or where there is a trust region, near its middle. */
static lth_status offer_immigrant(run *r) {
    lth__archive *a = &r->archive;
    size_t count, family = a->families - 1 - lth__random_below(&r->random, a->population);
    bool trusted = a->search->options.trust > 0 && a->start_count > 0;
    if (!trusted)
        return lth__space_draw(r->space, &r->random, a->child, &count)
                   ? lth__archive_offer(a, a->child, count, family)
                   : LTH_OK;
    const lth__entry *start = &a->starts[lth__random_below(&r->random, a->start_count)];
    memcpy(a->child, start->text, start->count * sizeof *start->text);
    count = start->count;
    size_t edits = 1 + lth__random_below(&r->random, a->search->options.trust);
    while (edits-- > 0) lth__move_edit(r->space, &r->random, a->child, &count);
    lth__move_repair(r->space, &r->random, a->child, &count);
    return lth__archive_offer(a, a->child, count, family);
}

static lth_status offer_mutant(run *r, const lth__entry *of) {
    lth__archive *a = &r->archive;
    size_t count = of->count, edits = 1 + lth__random_below(&r->random, MOST_EDITS);
    memcpy(a->child, of->text, count * sizeof *of->text);
    while (edits-- > 0) lth__move_edit(r->space, &r->random, a->child, &count);
    lth__move_repair(r->space, &r->random, a->child, &count);
    return lth__archive_offer(a, a->child, count, of->family);
}

/* Parents are in order, so the better of two is the first. NULL = there are none. */
static const lth__entry *choose_parent(run *r) {
    lth__archive *a = &r->archive;
    if (a->start_count > 0 &&
        (a->parent_count == 0 || lth__random_below(&r->random, START_IS_MOTHER) == 0))
        return &a->starts[lth__random_below(&r->random, a->start_count)];
    if (a->parent_count == 0) return NULL;
    size_t one = lth__random_below(&r->random, a->parent_count);
    size_t other = lth__random_below(&r->random, a->parent_count);
    return &a->entries[a->parents[one < other ? one : other]];
}

static lth_status offer_child(run *r) {
    lth__archive *a = &r->archive;
    const lth__entry *mother = choose_parent(r), *father = choose_parent(r);
    if (!mother || lth__random_below(&r->random, IMMIGRANTS) == 0) return offer_immigrant(r);
    size_t count;
    lth__move_child(r->space, &r->random, mother->text, mother->count, father->text, father->count,
                    a->child, &count);
    const lth__entry *centre = lth__archive_centre(a, a->child, count);
    if (centre) lth__move_back(&r->random, a->child, centre->text, count, a->search->options.trust);
    return lth__archive_offer(a, a->child, count, mother->family);
}

/* The first: what is known to be good, mutants of it, and texts at random. */
static lth_status begin(run *r) {
    lth__archive *a = &r->archive;
    for (size_t i = 0; i < a->start_count; i++)
        LTH_TRY(lth__archive_offer(a, a->starts[i].text, a->starts[i].count, i));
    for (size_t tries = TRIES * a->generation; tries > 0 && lth__archive_places(a) > 0; tries--) {
        if (a->start_count > 0 && tries % 2 == 0)
            LTH_TRY(offer_mutant(r, &a->starts[lth__random_below(&r->random, a->start_count)]));
        else
            LTH_TRY(offer_immigrant(r));
    }
    return lth__archive_settle(a);
}

static lth_status next_generation(run *r) {
    lth__archive *a = &r->archive;
    for (size_t tries = TRIES * a->generation; tries > 0 && lth__archive_places(a) > 0; tries--)
        LTH_TRY(offer_child(r));
    size_t before = a->evaluated;
    r->exhausted = a->waiting == 0;
    LTH_TRY(lth__archive_settle(a));
    r->barren = a->evaluated > before ? 0 : r->barren + 1;
    r->exhausted = r->exhausted || r->barren == BARREN;
    return LTH_OK;
}

/* ---- Single edits ---- */

/* The best entry not yet climbed among the best few of the population, or NULL. */
static lth__entry *choose_hill(lth__archive *a) {
    for (size_t i = 0; i < HILLS && i < a->parent_count; i++) {
        lth__entry *e = &a->entries[a->parents[i]];
        if (!e->climbed) return e;
    }
    return NULL;
}

static lth_status look_around(run *r, lth__entry *hill) {
    lth__archive *a = &r->archive;
    size_t count = hill->count, family = hill->family, changed;
    size_t all = lth__neighbours(r->space, count),
           some = all < MOST_NEIGHBOURS ? all : MOST_NEIGHBOURS;
    hill->climbed = true;
    memcpy(a->origin, hill->text, count * sizeof *hill->text); /* settling moves entries */
    for (size_t i = 0; i < some && a->evaluated < a->evaluations; i++) {
        size_t which = some == all ? i : lth__random_below(&r->random, all);
        if (!lth__neighbour(r->space, a->origin, count, which, a->child, &changed)) continue;
        if (lth__archive_places(a) == 0) LTH_TRY(lth__archive_settle(a));
        LTH_TRY(lth__archive_offer(a, a->child, changed, family));
    }
    return LTH_OK;
}

/* The neighbours of several hills are valued together. */
static lth_status climb(run *r) {
    lth__archive *a = &r->archive;
    lth__entry *hill;
    while (a->evaluated < a->evaluations && (hill = choose_hill(a)) != NULL) {
        for (size_t i = 0; i < HILLS && hill; i++) {
            LTH_TRY(look_around(r, hill));
            hill = a->waiting > 0 ? choose_hill(a) : NULL;
        }
        LTH_TRY(lth__archive_settle(a));
    }
    return LTH_OK;
}

/* ---- All of it ---- */

static lth_status evolve(run *r) {
    lth__archive *a = &r->archive;
    LTH_TRY(begin(r));
    while (!is_done(r)) {
        /* Most of what is left goes to generations, the rest to hills. */
        size_t until = a->evaluated + (3 * (a->evaluations - a->evaluated) + 3) / 4;
        while (!r->exhausted && a->evaluated < until) LTH_TRY(next_generation(r));
        LTH_TRY(climb(r));
    }
    return LTH_OK;
}

static lth_status write_best(const run *r, lth__texts *out) {
    const lth__archive *a = &r->archive;
    lth__string text = {0};
    lth_status status = LTH_OK;
    for (size_t i = 0; status == LTH_OK && i < a->kept && i < a->search->pool; i++) {
        text.length = 0;
        lth__space_write(r->space, a->entries[i].text, a->entries[i].count, &text);
        status = text.failed ? lth__fail_memory(r->err, 0)
                             : lth__texts_add(out, text.bytes, text.length, r->err);
    }
    lth__string_free(&text);
    return status;
}

lth_status lth__search_run(const lth__search *search, lth__texts *out, lth_error *err) {
    run r = {.space = search->space, .err = err};
    bool listed;
    lth__random_seed(&r.random, search->seed);
    LTH_TRY(lth__archive_open(search, &r.archive, err));
    lth_status status = list_all(&r, &listed);
    if (status == LTH_OK && !listed) status = evolve(&r);
    lth__texts best = {0};
    if (status == LTH_OK) status = write_best(&r, &best);
    lth__archive_close(&r.archive);
    if (status == LTH_OK)
        *out = best;
    else
        lth__texts_free(&best);
    return status;
}
