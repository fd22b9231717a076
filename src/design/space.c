/* Spaces: their letters, and whether a text belongs to one. */
#define _GNU_SOURCE 1 /* memmem */

#include "design/space.h"

#include <string.h>

#include "design/edits.h"

/* ---- Making and freeing ---- */

lth_status lth__space_create(lth_ctx *ctx, lth_space **out, lth_error *err) {
    lth_space *s = lth__calloc(1, sizeof *s);
    if (!s) return lth__fail_memory(err, sizeof *s);
    s->ctx = ctx;
    s->most_mutations = SIZE_MAX;
    for (size_t i = 0; i < 128; i++) s->ascii[i] = LTH__NO_LETTER;
    s->alphabet = lth__symbols_create();
    if (!s->alphabet) {
        lth__free(s);
        return lth__fail_memory(err, 0);
    }
    *out = s;
    return LTH_OK;
}

void lth_space_free(lth_space *space) {
    if (!space) return;
    for (size_t i = 0; i < space->pattern_count; i++) {
        if (!space->patterns[i].literal) regfree(&space->patterns[i].regex);
        lth__free(space->patterns[i].literal);
    }
    lth__free(space->patterns);
    lth__symbols_free(space->alphabet);
    lth__free(space->from);
    lth__free(space->start);
    lth__free(space->varies);
    lth__free(space->sites);
    lth__free(space->allowed);
    lth_table_free(space->pairs);
    lth__free(space);
}

/* ---- Letters ---- */

lth_status lth__space_add(lth_space *space, const char *unit, size_t length, lth_error *err) {
    lth__symbol letter = lth__symbols_intern(space->alphabet, unit, length);
    if (letter == LTH__NO_SYMBOL) return lth__fail_memory(err, 0);
    if (letter >= LTH__MOST_LETTERS)
        return lth__fail(err, LTH_EARG, "the alphabet has more than %d letters", LTH__MOST_LETTERS);
    if (length == 1) space->ascii[*unit & 127] = (lth__letter)letter;
    return LTH_OK;
}

static size_t smiles_unit(const char *text, size_t length) {
    if (text[0] == '[') {
        const char *end = memchr(text, ']', length);
        return end ? (size_t)(end - text) + 1 : 0;
    }
    if (length > 1 && (memcmp(text, "Cl", 2) == 0 || memcmp(text, "Br", 2) == 0)) return 2;
    bool ring = length > 2 && text[0] == '%' && text[1] >= '0' && text[1] <= '9' &&
                text[2] >= '0' && text[2] <= '9';
    return ring ? 3 : 1;
}

size_t lth__space_unit(const lth_space *space, const char *text, size_t length) {
    if (length == 0) return 0;
    if (!(text[0] & 0x80)) return space->smiles ? smiles_unit(text, length) : 1;
    size_t unit = 1;
    while (unit < length && (text[unit] & 0xC0) == 0x80) unit++;
    return unit;
}

lth__letter lth__space_letter(const lth_space *space, const char *unit, size_t length) {
    if (length == 1) return *unit & 0x80 ? LTH__NO_LETTER : space->ascii[(unsigned char)*unit];
    lth__symbol letter = lth__symbols_find(space->alphabet, unit, length);
    return letter == LTH__NO_SYMBOL ? LTH__NO_LETTER : (lth__letter)letter;
}

bool lth__space_encode(const lth_space *space, const char *text, size_t length, lth__letter *out,
                       size_t most, size_t *count) {
    size_t n = 0;
    for (size_t at = 0, unit; at < length; at += unit) {
        unit = lth__space_unit(space, text + at, length - at);
        lth__letter letter =
            unit > 0 && n < most ? lth__space_letter(space, text + at, unit) : LTH__NO_LETTER;
        if (letter == LTH__NO_LETTER) return false;
        out[n++] = letter;
    }
    *count = n;
    return true;
}

void lth__space_write(const lth_space *space, const lth__letter *letters, size_t count,
                      lth__string *out) {
    lth__string_append(out, "", 0);
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *unit = lth__symbols_text(space->alphabet, letters[i], &length);
        lth__string_append(out, unit, length);
    }
}

/* ---- Whether a text belongs to it ---- */

static const char too_short[] = "it is shorter than the space's texts";
static const char too_long[] = "it is longer than the space's texts";
static const char other_letter[] = "it has a letter that is not in the alphabet";
static const char other_site[] = "it differs from the start outside of the sites";
static const char too_many[] = "it has more mutations than are allowed";
static const char other_pair[] = "it has two letters beside each other that are not allowed to be";
static const char no_memory[] = "memory is out";
static const char open_bracket[] = "its brackets or ring closures are not closed";

/* What is noted of a text, letter by letter. */
typedef struct walk {
    size_t count, mutations;
    lth__letter last;
} walk;

static const char *step(const lth_space *space, walk *w, lth__letter letter) {
    if (lth__space_is_aligned(space) && w->count < space->start_length) {
        bool changed = letter != space->start[w->count];
        if (changed && !lth__space_varies(space, w->count)) return other_site;
        w->mutations += changed;
    }
    if (w->count > 0 && !lth__space_allows(space, w->last, letter)) return other_pair;
    w->last = letter;
    w->count++;
    return NULL;
}

static const char *finish(const lth_space *space, const walk *w) {
    if (w->count < space->shortest || w->count == 0) return too_short;
    if (space->longest > 0 && w->count > space->longest) return too_long;
    return w->mutations > space->most_mutations ? too_many : NULL;
}

const char *lth__space_refuses_letters(const lth_space *space, const lth__letter *letters,
                                       size_t count) {
    walk w = {0};
    for (size_t i = 0; i < count; i++) {
        const char *why = step(space, &w, letters[i]);
        if (why) return why;
    }
    return finish(space, &w);
}

/* Whether a bond has nothing to bind to. */
static bool dangles(const char *text, size_t at, size_t length) {
    if (!strchr("=#/\\", text[at])) return false;
    return at + 1 == length || strchr("=#/\\().", text[at + 1]) != NULL;
}

/* Parentheses in pairs, ring bonds in pairs, no branch before the first atom, no bond without a
 * second one: enough to drop most of what is no molecule. */
static const char *refuses_smiles(const char *text, size_t length) {
    bool ring[100] = {false};
    size_t depth = 0, open = 0, unit;
    for (size_t at = 0; at < length; at += unit) {
        unit = smiles_unit(text + at, length - at);
        char c = text[at], before = at > 0 ? text[at - 1] : '(';
        if (unit == 0 || (c == ')' && (depth == 0 || before == '('))) return open_bracket;
        if (c == '(' && before == '(') return open_bracket;
        if (dangles(text, at, length)) return "a bond leads nowhere";
        depth += c == '(';
        depth -= c == ')';
        bool digit = c >= '0' && c <= '9';
        if (!digit && !(c == '%' && unit == 3)) continue;
        if (before == '(') return open_bracket;
        size_t number =
            digit ? (size_t)(c - '0') : (size_t)((text[at + 1] - '0') * 10 + text[at + 2] - '0');
        open += ring[number] ? (size_t)-1 : 1;
        ring[number] = !ring[number];
    }
    return depth > 0 || open > 0 ? open_bracket : NULL;
}

static const char *refuses_pattern(const lth__pattern *p, const char *text, size_t length) {
    bool found;
    if (p->literal) {
        found = memmem(text, length, p->literal, p->literal_length) != NULL;
    } else {
        int status = regexec(&p->regex, text, 0, NULL, 0);
        if (status == REG_ESPACE) return no_memory;
        found = status == 0;
    }
    if (found == p->wanted) return NULL;
    return p->wanted ? "it lacks a motif" : "it has what is forbidden";
}

const char *lth__space_refuses_text(const lth_space *space, const char *text, size_t length) {
    const char *why = space->smiles ? refuses_smiles(text, length) : NULL;
    for (size_t i = 0; !why && i < space->pattern_count; i++)
        why = refuses_pattern(&space->patterns[i], text, length);
    if (why || space->most_mutations == SIZE_MAX || lth__space_is_aligned(space)) return why;
    size_t edits = lth__edits(space->from, space->from_bytes, text, length, space->most_mutations);
    if (edits == LTH_NONE) return no_memory;
    return edits > space->most_mutations ? too_many : NULL;
}

/* Regular expressions want a NUL behind the text. */
static const char *refuses_copy(const lth_space *space, const char *text, size_t length) {
    char *copy = lth__strndup(text, length);
    if (!copy) return no_memory;
    const char *why = lth__space_refuses_text(space, copy, length);
    lth__free(copy);
    return why;
}

/* By and by, since a text may be of any length. */
static const char *refuses(const lth_space *space, const char *text, size_t length) {
    walk w = {0};
    if (lth__utf8_check(text, length) < length) return "it is not valid UTF-8";
    for (size_t at = 0, unit; at < length; at += unit) {
        unit = lth__space_unit(space, text + at, length - at);
        if (unit == 0) return open_bracket;
        lth__letter letter = lth__space_letter(space, text + at, unit);
        if (letter == LTH__NO_LETTER && !space->open) return other_letter;
        if (space->longest > 0 && w.count == space->longest) return too_long;
        const char *why = step(space, &w, letter);
        if (why) return why;
    }
    const char *why = finish(space, &w);
    return why ? why : refuses_copy(space, text, length);
}

bool lth_space_has(const lth_space *space, const char *text, size_t length, const char **why) {
    const char *reason = refuses(space, text, length);
    if (reason && why) *why = reason;
    return !reason;
}

/* ---- What comes from measured rows ---- */

static void allow(lth_space *s, lth__letter a, lth__letter b) {
    if (a == LTH__NO_LETTER || b == LTH__NO_LETTER) return;
    s->allowed[a * lth__symbols_count(s->alphabet) + b] = true;
}

static lth_status allow_none(lth_space *s, lth_error *err) {
    size_t count = lth__symbols_count(s->alphabet);
    s->allowed = lth__calloc(count * count, sizeof *s->allowed);
    return s->allowed ? LTH_OK : lth__fail_memory(err, count * count);
}

lth_status lth__space_allow(lth_space *s, lth_error *err) {
    LTH_TRY(allow_none(s, err));
    size_t from = lth_table_find(s->pairs, "from"), to = lth_table_find(s->pairs, "to");
    for (size_t row = 0; row < lth_table_rows(s->pairs); row++) {
        size_t a_length, b_length;
        const char *a = lth_table_cell(s->pairs, row, from, &a_length);
        const char *b = lth_table_cell(s->pairs, row, to, &b_length);
        allow(s, lth__space_letter(s, a, a_length), lth__space_letter(s, b, b_length));
    }
    return LTH_OK;
}

static lth_status allow_seen(lth_space *s, const char *const *texts, size_t count, lth_error *err) {
    LTH_TRY(allow_none(s, err));
    for (size_t i = 0; i < count; i++) {
        lth__letter last = LTH__NO_LETTER;
        size_t length = strlen(texts[i]);
        for (size_t at = 0, unit; at < length; at += unit) {
            unit = lth__space_unit(s, texts[i] + at, length - at);
            if (unit == 0) break;
            lth__letter letter = lth__space_letter(s, texts[i] + at, unit);
            allow(s, last, letter);
            last = letter;
        }
    }
    return LTH_OK;
}

static lth_status add_seen(lth_space *s, const char *const *texts, size_t count, lth_error *err) {
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(texts[i]);
        for (size_t at = 0, unit; at < length; at += unit) {
            unit = lth__space_unit(s, texts[i] + at, length - at);
            if (unit == 0) break;
            LTH_TRY(lth__space_add(s, texts[i] + at, unit, err));
        }
    }
    s->open = false;
    return LTH_OK;
}

static void measure_seen(lth_space *s, const char *const *texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(texts[i]), letters = 0;
        for (size_t at = 0, unit; at < length; at += unit, letters++) {
            unit = lth__space_unit(s, texts[i] + at, length - at);
            if (unit == 0) break;
        }
        if (letters == 0 || letters > LTH__LONGEST_TEXT) continue;
        if (s->longest == 0) s->shortest = letters;
        if (letters < s->shortest) s->shortest = letters;
        if (letters > s->longest) s->longest = letters;
    }
}

/* An alphabet of its own that begins as `space` has it, for more letters. */
static lth_status copy_alphabet(const lth_space *space, lth_space *out, lth_error *err) {
    out->alphabet = lth__symbols_create();
    if (!out->alphabet) return lth__fail_memory(err, 0);
    for (size_t i = 0; i < lth__symbols_count(space->alphabet); i++) {
        size_t length;
        const char *unit = lth__symbols_text(space->alphabet, (lth__symbol)i, &length);
        LTH_TRY(lth__space_add(out, unit, length, err));
    }
    return LTH_OK;
}

static lth_status complete(const lth_space *space, const char *const *texts, size_t count,
                           lth_space *out, lth_error *err) {
    if (space->open) {
        LTH_TRY(copy_alphabet(space, out, err));
        LTH_TRY(add_seen(out, texts, count, err));
        if (space->pairs) LTH_TRY(lth__space_allow(out, err));
    }
    if (space->pairs_as_seen) LTH_TRY(allow_seen(out, texts, count, err));
    if (space->longest == 0) measure_seen(out, texts, count);
    return lth__space_want_complete(out, err);
}

lth_status lth__space_complete(const lth_space *space, const char *const *texts, size_t count,
                               lth_space *out, lth_error *err) {
    lth_space whole = *space;
    lth_status status = complete(space, texts, count, &whole, err);
    if (status == LTH_OK)
        *out = whole;
    else
        lth__space_complete_free(&whole, space);
    return status;
}

void lth__space_complete_free(lth_space *whole, const lth_space *space) {
    if (whole->alphabet != space->alphabet) lth__symbols_free(whole->alphabet);
    if (whole->allowed != space->allowed) lth__free(whole->allowed);
}

lth_status lth__space_want_complete(const lth_space *space, lth_error *err) {
    if (space->open || lth__symbols_count(space->alphabet) == 0)
        return lth__fail(err, LTH_EARG, "the space has no letters yet: say alphabet=ACGT or from=");
    if (space->longest == 0)
        return lth__fail(err, LTH_EARG, "the space has no length yet: say length=8 or from=");
    if (space->pairs_as_seen && !space->allowed)
        return lth__fail(err, LTH_EARG, "allow=seen is by measured rows, and there are none");
    return LTH_OK;
}
