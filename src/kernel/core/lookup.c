#include "kernel/core/lookup.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "kernel/core/field.h"

enum { MOST_TOLD_APART = 16384, ROOM_FOR_ALL = 2 * MOST_TOLD_APART, FIRST_ROOM = 64 };

/* ---- Making and freeing ---- */

lth__lookup *lth__lookup_create(void) {
    lth__lookup *look = lth__calloc(1, sizeof *look);
    if (look) pthread_mutex_init(&look->lock, NULL);
    return look;
}

static void free_tally(lth__tally *t) {
    lth__free(t->known.slots);
    lth__free(t->new.slots);
    *t = (lth__tally){0};
}

void lth__lookup_free(lth__lookup *look) {
    if (!look) return;
    lth_word_vectors_free((lth_word_vectors *)look->all);
    lth_word_vectors_free((lth_word_vectors *)look->given);
    free_tally(&look->total);
    free_tally(&look->gathered);
    pthread_mutex_destroy(&look->lock);
    lth__free(look->name);
    lth__free(look->path);
    lth__free(look);
}

/* ---- Where vectors are ---- */

lth_status lth__lookup_set_origin(lth__lookup *look, const char *name, size_t words,
                                  size_t dimension, lth_error *err) {
    char *copy = lth__strndup(name, strlen(name));
    if (!copy) return lth__fail_memory(err, 0);
    lth__free(look->name);
    look->name = copy;
    look->origin.name = copy;
    look->origin.words = words;
    look->origin.dimension = dimension;
    look->read = true;
    return LTH_OK;
}

lth_status lth__encoder_keep(lth_encoder *e, lth__vector_source from, lth_keep_vectors keep,
                             lth_error *err) {
    lth__lookup *look = e->lookup;
    if (!look || !look->read) return LTH_OK;
    look->origin.keep = keep;
    if (keep != LTH_KEEP_ALL) return LTH_OK;
    lth_word_vectors *read = NULL, *packed = NULL;
    if (!from.table) LTH_TRY(lth_word_vectors_read(e->ctx, from.path, &read, err));
    lth_status status = lth__word_vectors_pack(read ? read : from.table, &packed, err);
    lth_word_vectors_free(read);
    if (status == LTH_OK) look->all = packed;
    return status;
}

/* The words of the first table, of a model that keeps no vectors. */
static lth_status read_first(lth_encoder *e, lth__vector_source from, lth_error *err) {
    lth__lookup *look = e->lookup;
    size_t dimension = look->origin.dimension;
    LTH_TRY(lth__encoder_read(e, from, err));
    size_t found = look->origin.dimension;
    look->origin.dimension = dimension;
    look->read = found == dimension;
    if (look->read) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, from.path, 0, 0,
                        "vectors of %zu numbers, where training had vectors of %zu", found,
                        dimension);
}

lth_status lth__encoder_look_in(lth_encoder *e, lth__vector_source from, lth_error *err) {
    lth__lookup *look = e->lookup;
    if (!look) return LTH_OK;
    char *path = from.path ? lth__strndup(from.path, strlen(from.path)) : NULL;
    if (from.path && !path) return lth__fail_memory(err, 0);
    lth__free(look->path);
    look->path = path;
    lth_word_vectors_free((lth_word_vectors *)look->given);
    look->given = lth__word_vectors_keep(from.table);
    if (look->read || look->origin.keep != LTH_KEEP_NONE || !(from.path || from.table))
        return LTH_OK;
    return read_first(e, from, err);
}

static lth__vector_source source_of(const lth__lookup *look) {
    bool given = look->path || look->given;
    return (lth__vector_source){.path = look->path, .table = given ? look->given : look->all};
}

/* ---- Sets of words ---- */

/* Where a word is, or would be. */
static uint64_t *find_slot(const lth__word_set *set, uint64_t word) {
    size_t at = (size_t)word & (set->room - 1);
    while (set->slots[at] && set->slots[at] != word) at = (at + 1) & (set->room - 1);
    return &set->slots[at];
}

static bool make_room(lth__word_set *set, size_t room) {
    lth__word_set larger = {lth__calloc(room, sizeof *larger.slots), room, set->count};
    if (!larger.slots) return false;
    for (size_t i = 0; i < set->room; i++)
        if (set->slots[i]) *find_slot(&larger, set->slots[i]) = set->slots[i];
    lth__free(set->slots);
    *set = larger;
    return true;
}

/* ---- What was not found ---- */

static bool tally_word(lth__tally *t, uint64_t word, bool is_new) {
    lth__word_set *set = is_new ? &t->new : &t->known;
    if (set->count >= MOST_TOLD_APART) return true;
    if (2 * set->count >= set->room && !make_room(set, set->room ? 2 * set->room : FIRST_ROOM))
        return false;
    uint64_t *slot = find_slot(set, word);
    if (*slot) return true;
    *slot = word;
    set->count++;
    t->count.words++;
    if (is_new) t->count.new_words++;
    return true;
}

typedef struct counting {
    lth__tally tally;
    const lth__lexicon *lexicon;
} counting;

static bool count_word(void *user, lth__symbol word, bool has_vector) {
    counting *c = user;
    bool is_new = word >= c->lexicon->known;
    size_t length;
    c->tally.count.units++;
    if (has_vector) return true;
    c->tally.count.occurrences++;
    c->tally.count.new_occurrences += is_new;
    const char *text = lth__symbols_text(c->lexicon->symbols, word, &length);
    uint64_t hash = lth__hash(0, text, length);
    return tally_word(&c->tally, hash ? hash : 1, is_new);
}

static bool count_items(const lth_encoder *e, const lth_items *items, counting *c) {
    bool ok = true;
    if (items) c->tally.count.rows += items->count;
    for (size_t f = 0; ok && items && f < e->kernel->field_count; f++) {
        const lth__field_type *type = e->kernel->fields[f].type;
        c->lexicon = &e->lexicons[f];
        if (e->kernel->fields[f].vectors && type->words)
            ok = type->words(c->lexicon, &items->fields[f], count_word, c);
    }
    return ok;
}

/* To a tally of many calls, which has all its room from the first word on: a model does not grow.
 */
static bool add_words(lth__tally *to, const lth__word_set *words, bool is_new) {
    lth__word_set *set = is_new ? &to->new : &to->known;
    if (words->count > 0 && !set->slots && !make_room(set, ROOM_FOR_ALL)) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < words->room; i++)
        if (words->slots[i]) ok = tally_word(to, words->slots[i], is_new);
    return ok;
}

static bool add_tally(lth__tally *to, const lth__tally *more) {
    to->count.rows += more->count.rows;
    to->count.units += more->count.units;
    to->count.occurrences += more->count.occurrences;
    to->count.new_occurrences += more->count.new_occurrences;
    return add_words(to, &more->known, false) && add_words(to, &more->new, true);
}

static void write_origin(const lth__lookup *look, char *out, size_t capacity) {
    const lth_vectors_origin *o = &look->origin;
    if (o->name && *o->name)
        snprintf(out, capacity,
                 "training read %s (%zu words, %zu numbers each): give that file as vectors, or "
                 "keep all vectors with the model",
                 o->name, o->words, o->dimension);
    else if (o->name)
        snprintf(out, capacity,
                 "training had %zu word vectors in memory, of %zu numbers: give these, or keep all "
                 "vectors with the model",
                 o->words, o->dimension);
    else
        snprintf(out, capacity, "give the file of vectors that training read");
}

/* What can be helped is a warning; that the vectors in use do not have a word is none. */
static void tell(const lth_ctx *ctx, const lth__lookup *look, const lth_words_without_vector *c) {
    char origin[400];
    if (look->path || look->given || look->all) {
        if (c->words > 0)
            lth__log(ctx, LTH_LOG_INFO,
                     "%zu of the %zu words of these rows %s no vector (%zu different)",
                     c->occurrences, c->units, c->occurrences == 1 ? "has" : "have", c->words);
        return;
    }
    if (c->new_words == 0) return;
    write_origin(look, origin, sizeof origin);
    lth__log(
        ctx, LTH_LOG_WARNING,
        "%zu of the %zu words of these rows %s no vector here (%zu different), since training did "
        "not have them; %s",
        c->new_occurrences, c->units, c->new_occurrences == 1 ? "has" : "have", c->new_words,
        origin);
}

static lth_status note(const lth_ctx *ctx, lth__lookup *look, const lth__tally *call,
                       lth_error *err) {
    pthread_mutex_lock(&look->lock);
    bool gathers = look->gathers;
    bool ok = add_tally(&look->total, call) && (!gathers || add_tally(&look->gathered, call));
    pthread_mutex_unlock(&look->lock);
    if (!gathers) tell(ctx, look, &call->count);
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

lth_status lth__encoder_look_up(lth_encoder *e, const lth_items *items, const lth_items *more,
                                lth_error *err) {
    lth__lookup *look = e->base->lookup;
    if (!look) return LTH_OK;
    if (!look->read && look->origin.keep == LTH_KEEP_NONE && look->name)
        return lth__fail(err, LTH_EARG,
                         "this model keeps no word vectors: give those that training used%s%s",
                         *look->name ? ", " : "", look->name);
    lth__vector_source from = source_of(look);
    if (from.path || from.table) LTH_TRY(lth__encoder_read(e, from, err));
    counting c = {0};
    lth_status status = count_items(e, items, &c) && count_items(e, more, &c)
                            ? note(e->ctx, look, &c.tally, err)
                            : lth__fail_memory(err, 0);
    free_tally(&c.tally);
    return status;
}

void lth__encoder_missing(const lth_encoder *e, lth_words_without_vector *out) {
    *out = (lth_words_without_vector){0};
    if (!e->lookup) return;
    pthread_mutex_lock(&e->lookup->lock);
    *out = e->lookup->total.count;
    pthread_mutex_unlock(&e->lookup->lock);
}

void lth__encoder_gather(lth_encoder *e, bool gather) {
    lth__lookup *look = e->lookup;
    if (!look) return;
    pthread_mutex_lock(&look->lock);
    lth_words_without_vector count = look->gathered.count;
    bool ends = look->gathers && !gather;
    bool news = look->total.count.new_words > look->told;
    look->gathers = gather;
    if (ends) free_tally(&look->gathered);
    if (ends) look->told = look->total.count.new_words;
    pthread_mutex_unlock(&look->lock);
    if (ends && news) tell(e->kernel->ctx, look, &count);
}
