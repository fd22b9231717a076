/* Texts of a space: at random, and all of them where they are few. */
#include <string.h>

#include "base/context.h"
#include "design/moves.h"
#include "design/space.h"
#include "design/texts.h"

enum {
    MOST_TRIES = 1000000,    /* without a text, before we give up */
    FEW = 65536,             /* texts that are listed rather than drawn */
    MUTATIONS_AT_RANDOM = 8, /* of a start, where there is no limit */
};

/* ---- At random ---- */

/* A letter that may stand after `last`, if any; else any. */
static lth__letter draw_letter(const lth_space *space, lth__random *random, lth__letter last) {
    size_t letters = lth__symbols_count(space->alphabet), open = letters;
    if (space->allowed && last != LTH__NO_LETTER) {
        open = 0;
        for (size_t i = 0; i < letters; i++) open += lth__space_allows(space, last, (lth__letter)i);
        size_t pick = open > 0 ? lth__random_below(random, open) : 0;
        for (size_t i = 0; open > 0 && i < letters; i++)
            if (lth__space_allows(space, last, (lth__letter)i) && pick-- == 0)
                return (lth__letter)i;
    }
    return (lth__letter)lth__random_below(random, letters);
}

static size_t draw_length(const lth_space *space, lth__random *random) {
    return space->shortest + lth__random_below(random, space->longest - space->shortest + 1);
}

/* Every letter that varies by itself. */
static size_t draw_freely(const lth_space *space, lth__random *random, lth__letter *out) {
    size_t count = draw_length(space, random);
    bool aligned = lth__space_is_aligned(space);
    for (size_t i = 0; i < count; i++)
        out[i] = aligned && !lth__space_varies(space, i)
                     ? space->start[i]
                     : draw_letter(space, random, i > 0 ? out[i - 1] : LTH__NO_LETTER);
    return count;
}

/* The start with some edits. */
static size_t draw_mutant(const lth_space *space, lth__random *random, lth__letter *out) {
    size_t most =
        space->most_mutations < space->longest ? space->most_mutations : MUTATIONS_AT_RANDOM;
    size_t edits = 1 + lth__random_below(random, most), count = space->start_length;
    if (count > space->longest) {
        /* The start itself is too long: what is left over goes from anywhere. */
        size_t cut = lth__random_below(random, space->longest + 1);
        memcpy(out, space->start, cut * sizeof *out);
        memcpy(out + cut, space->start + count - (space->longest - cut),
               (space->longest - cut) * sizeof *out);
        count = space->longest;
    } else {
        memcpy(out, space->start, count * sizeof *out);
    }
    while (count < space->shortest) lth__move_insert(space, random, out, &count);
    for (size_t i = 0; i < edits; i++) lth__move_edit(space, random, out, &count);
    return count;
}

/* Motifs that are plain texts, somewhere: by chance they would rarely be there. */
static void plant_motifs(const lth_space *space, lth__random *random, lth__letter *out,
                         size_t count) {
    enum { LONGEST_MOTIF = 64 };
    bool aligned = lth__space_is_aligned(space);
    for (size_t p = 0; p < space->pattern_count; p++) {
        const lth__pattern *pattern = &space->patterns[p];
        lth__letter motif[LONGEST_MOTIF];
        size_t length;
        if (!pattern->wanted || !pattern->literal ||
            !lth__space_encode(space, pattern->literal, pattern->literal_length, motif,
                               LONGEST_MOTIF, &length) ||
            length > count)
            continue;
        size_t place = lth__random_below(random, count - length + 1);
        for (size_t i = 0; i < length; i++)
            if (!aligned || lth__space_varies(space, place + i)) out[place + i] = motif[i];
    }
}

bool lth__space_draw(const lth_space *space, lth__random *random, lth__letter *out, size_t *count) {
    /* Sites without a limit are free; other texts with a start are near it. */
    bool mutant = space->start && (!space->varies || space->most_mutations < space->longest);
    *count = mutant ? draw_mutant(space, random, out) : draw_freely(space, random, out);
    if (lth__random_below(random, 2) == 0 || !mutant) plant_motifs(space, random, out, *count);
    return !lth__space_refuses_letters(space, out, *count);
}

/* ---- All of them ---- */

typedef struct listing {
    const lth_space *space;
    size_t steps, limit;
    lth__letter *letters;
    size_t *mutations; /* before each place */
    lth__take_fn *take;
    void *user;
    lth_error *err;
} listing;

/* Whether a letter may stand at a place after what stands before it. */
static bool may_stand(const listing *l, size_t place, lth__letter letter) {
    const lth_space *s = l->space;
    if (place > 0 && !lth__space_allows(s, l->letters[place - 1], letter)) return false;
    if (!lth__space_is_aligned(s) || letter == s->start[place]) return true;
    return lth__space_varies(s, place) && l->mutations[place] < s->most_mutations;
}

/* All texts of one length, in the order of the alphabet: the place in hand moves on with a letter
 * that may stand there, and back where there is none left. */
static lth_status list_length(listing *l, size_t length, bool *complete) {
    const lth_space *s = l->space;
    size_t letters = lth__symbols_count(s->alphabet), place = 0, next = 0;
    bool aligned = lth__space_is_aligned(s);
    l->mutations[0] = 0;
    for (;;) {
        if (++l->steps > l->limit) {
            *complete = false;
            return LTH_OK;
        }
        while (next < letters && !may_stand(l, place, (lth__letter)next)) next++;
        if (next == letters) {
            if (place == 0) return LTH_OK;
            next = l->letters[--place] + 1u;
            continue;
        }
        l->letters[place] = (lth__letter)next;
        if (place + 1 < length) {
            l->mutations[place + 1] = l->mutations[place] + (aligned && next != s->start[place]);
            place++;
            next = 0;
        } else {
            LTH_TRY(l->take(l->user, l->letters, length, l->err));
            next++;
        }
    }
}

lth_status lth__space_enumerate(const lth_space *space, size_t limit, lth__take_fn *take,
                                void *user, bool *complete, lth_error *err) {
    listing l = {.space = space, .limit = limit, .take = take, .user = user, .err = err};
    l.letters = lth__alloc(space->longest, sizeof *l.letters);
    l.mutations = lth__alloc(space->longest, sizeof *l.mutations);
    lth_status status = l.letters && l.mutations ? LTH_OK : lth__fail_memory(err, 0);
    *complete = true;
    for (size_t n = space->shortest; status == LTH_OK && *complete && n <= space->longest; n++)
        if (n > 0) status = list_length(&l, n, complete);
    lth__free(l.letters);
    lth__free(l.mutations);
    return status;
}

/* ---- A sample ---- */

typedef struct sample {
    const lth_space *space;
    lth__string text; /* the one in hand */
    lth__texts texts;
} sample;

static lth_status take(void *user, const lth__letter *letters, size_t count, lth_error *err) {
    sample *s = user;
    s->text.length = 0;
    lth__space_write(s->space, letters, count, &s->text);
    if (s->text.failed) return lth__fail_memory(err, count);
    if (lth__space_refuses_text(s->space, s->text.bytes, s->text.length)) return LTH_OK;
    return lth__texts_add(&s->texts, s->text.bytes, s->text.length, err);
}

/* Different texts until there are `count`, or they have become too rare. */
static lth_status draw_texts(sample *s, size_t count, lth__random *random, lth_error *err) {
    lth__text_set seen = {0};
    size_t room = s->space->longest, before = 0;
    if (s->space->start_length > room) room = s->space->start_length;
    lth__letter *letters = lth__alloc(room + 1, sizeof *letters);
    lth_status status = letters ? LTH_OK : lth__fail_memory(err, room);
    for (size_t tries = 0; status == LTH_OK && s->texts.count < count && tries < MOST_TRIES;) {
        size_t length;
        bool fresh;
        if (++tries % 4096 == 0) status = lth__tell(s->space->ctx, "", 0, 0, err);
        if (!lth__space_draw(s->space, random, letters, &length)) continue;
        if (!lth__text_set_add(&seen, lth__letters_hash(letters, length), &fresh))
            status = lth__fail_memory(err, 0);
        else if (fresh && status == LTH_OK)
            status = take(s, letters, length, err);
        if (s->texts.count > before) tries = 0;
        before = s->texts.count;
    }
    lth__free(letters);
    lth__text_set_free(&seen);
    return status;
}

static lth_status fill(sample *s, const char *column, size_t count, uint64_t seed, lth_table **out,
                       lth_error *err) {
    lth__random random;
    bool few;
    lth__random_seed(&random, seed);
    LTH_TRY(lth__space_enumerate(s->space, FEW, take, s, &few, err));
    if (!few) {
        lth__texts_clear(&s->texts);
        LTH_TRY(draw_texts(s, count, &random, err));
    }
    if (s->texts.count == 0 && count > 0)
        return lth__fail(err, LTH_EARG,
                         few ? "no text keeps to all rules"
                             : "no text found that keeps to the rules in 1,000,000 tries");
    size_t *pick = lth__alloc(s->texts.count, sizeof *pick);
    if (!pick) return lth__fail_memory(err, s->texts.count * sizeof *pick);
    if (count > s->texts.count) count = s->texts.count;
    for (size_t i = 0; i < s->texts.count; i++) pick[i] = i;
    for (size_t i = 0; i < count && few; i++) {
        size_t j = i + lth__random_below(&random, s->texts.count - i), kept = pick[i];
        pick[i] = pick[j];
        pick[j] = kept;
    }
    lth_status status = lth__texts_table(&s->texts, s->space->ctx, column, pick, count, out, err);
    lth__free(pick);
    return status;
}

lth_status lth_space_sample(const lth_space *space, const char *column, size_t count, uint64_t seed,
                            lth_table **out, lth_error *err) {
    LTH_TRY(lth__space_want_complete(space, err));
    sample s = {.space = space};
    lth_status status = fill(&s, column, count, seed, out, err);
    lth__string_free(&s.text);
    lth__texts_free(&s.texts);
    return status;
}
