#include "data/variant.h"

#include <ctype.h>
#include <string.h>

#include "base/memory.h"

/* What is to become of the letters of the wild type, and what is put behind them; the first is
 * before all of them. */
typedef struct edits {
    const char *wild;
    long first;
    bool aligned;
    size_t count;
    char *now;        /* of each letter: what it is, 0 = gone                 */
    bool *changed;    /* it was named                                         */
    lth__string *put; /* count + 1: behind each, from the one before the first */
    const char *text; /* the mutation at hand, for messages */
    size_t length;
    lth_error *err;
} edits;

static lth_status refuse(const edits *e, const char *why) {
    return lth__fail(e->err, LTH_EFORMAT, "the mutation \"%.*s\" %s",
                     e->length > 40 ? 40 : (int)e->length, e->text, why);
}

/* ---- Reading one ---- */

typedef struct cursor {
    const char *at, *end;
} cursor;

static bool take(cursor *c, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || strncmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

static char upper(char c) {
    return (char)toupper((unsigned char)c);
}

static bool is_letter(char c) {
    return isalpha((unsigned char)c) || c == '*' || c == '-';
}

/* One letter, or three as in Ala. */
static bool take_letter(cursor *c, char *out) {
    static const char names[] =
        "AlaAArgRAsnNAspDCysCGlnQGluEGlyGHisHIleILeuLLysKMetMPheFProPSerSThrT"
        "TrpWTyrYValVTer*Xaa";
    for (size_t i = 0; c->end - c->at >= 3 && i + 3 < sizeof names - 1; i += 4) {
        if (strncmp(c->at, names + i, 3) != 0) continue;
        *out = names[i + 3];
        c->at += 3;
        return true;
    }
    if (c->at == c->end || !is_letter(*c->at)) return false;
    *out = upper(*c->at++);
    return true;
}

static bool take_number(cursor *c, long *out) {
    bool negative = c->end - c->at > 1 && *c->at == '-' && isdigit((unsigned char)c->at[1]);
    const char *at = c->at + negative;
    long number = 0;
    if (at == c->end || !isdigit((unsigned char)*at)) return false;
    for (; at < c->end && isdigit((unsigned char)*at); at++) {
        if (number > 100000000) return false;
        number = 10 * number + (*at - '0');
    }
    *out = negative ? -number : number;
    c->at = at;
    return true;
}

/* "A108", a letter of the wild type with its number; *out is its place. */
static lth_status take_place(const edits *e, cursor *c, size_t *out) {
    char letter;
    long number;
    if (!take_letter(c, &letter) || !take_number(c, &number))
        return refuse(e, "is none: one is written as A108D, K9del or A5_K6insGG");
    long place = number - e->first;
    if (place < 0 || place >= (long)e->count)
        return lth__fail(e->err, LTH_EFORMAT,
                         "the mutation \"%.*s\" is at %ld, but the wild type has the positions %ld "
                         "to %ld",
                         (int)e->length, e->text, number, e->first, e->first + (long)e->count - 1);
    char wild = upper(e->wild[place]);
    if (wild != letter)
        return lth__fail(e->err, LTH_EFORMAT,
                         "the mutation \"%.*s\" says %c at %ld, but the wild type has %c there",
                         (int)e->length, e->text, letter, number, wild);
    *out = (size_t)place;
    return LTH_OK;
}

static lth_status take_letters(const edits *e, cursor *c, lth__string *to) {
    const char *from = c->at;
    char letter;
    while (c->at < c->end && take_letter(c, &letter)) lth__string_append(to, &letter, 1);
    return c->at > from ? LTH_OK : refuse(e, "names no letters to put in");
}

/* ---- Applying one ---- */

static lth_status change(const edits *e, size_t place, char to) {
    if (e->changed[place]) return refuse(e, "is at a position that another one changes too");
    e->changed[place] = true;
    e->now[place] = to;
    return LTH_OK;
}

static lth_status drop(const edits *e, size_t first, size_t last) {
    for (size_t i = first; i <= last; i++) LTH_TRY(change(e, i, e->aligned ? '-' : 0));
    return LTH_OK;
}

/* Letters in the place of others, where all keep their places. */
static lth_status fill(const edits *e, size_t first, size_t last, cursor *c) {
    char letter;
    if (!is_letter(c->at < c->end ? *c->at : 0)) return refuse(e, "names no letters to put in");
    for (size_t i = first; i <= last && take_letter(c, &letter); i++) e->now[i] = letter;
    return c->at == c->end ? LTH_OK : refuse(e, "puts in more letters than there are places for");
}

static lth_status apply(const edits *e, cursor *c) {
    size_t first, last;
    char letter;
    LTH_TRY(take_place(e, c, &first));
    last = first;
    if (take(c, "_")) LTH_TRY(take_place(e, c, &last));
    if (last < first) return refuse(e, "runs backwards");
    if (take(c, "delins")) {
        LTH_TRY(drop(e, first, last));
        if (e->aligned) return fill(e, first, last, c);
        return take_letters(e, c, &e->put[last + 1]);
    }
    if (take(c, "del")) return drop(e, first, last);
    if (take(c, "ins")) {
        if (last != first + 1) return refuse(e, "puts in letters, but not between two neighbours");
        if (e->aligned)
            return refuse(e, "puts in letters, for which aligned sequences have no place");
        return take_letters(e, c, &e->put[last]);
    }
    if (last == first && take(c, "=")) return change(e, first, e->wild[first]);
    if (last > first || !take_letter(c, &letter))
        return refuse(e, "is none: one is written as A108D, K9del or A5_K6insGG");
    return change(e, first, letter);
}

/* ---- All of them ---- */

static bool is_between(char c) {
    return c == ':' || c == ',' || c == ';' || c == '/' || c == '+' || isspace((unsigned char)c);
}

static bool is_wild(const char *text, size_t length) {
    static const char *const names[] = {"WT", "wt", "_wt", "wild type", "wild-type", "p.="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) return true;
    }
    return length == 0;
}

static lth_status apply_all(edits *e, const char *text, size_t length) {
    const char *end = text + length;
    while (text < end) {
        const char *from = text;
        while (text < end && !is_between(*text)) text++;
        e->text = from;
        e->length = (size_t)(text - from);
        cursor c = {from, text};
        if (e->length > 0) {
            take(&c, "p.");
            LTH_TRY(apply(e, &c));
            if (c.at < c.end) return refuse(e, "goes on after its end");
        }
        if (text < end) text++;
    }
    return LTH_OK;
}

static lth_status open_edits(edits *e) {
    e->now = lth__alloc(e->count + 1, 1);
    e->changed = lth__calloc(e->count + 1, sizeof *e->changed);
    e->put = lth__calloc(e->count + 1, sizeof *e->put);
    if (!e->now || !e->changed || !e->put)
        return lth__fail_memory(e->err, e->count * sizeof *e->put);
    memcpy(e->now, e->wild, e->count);
    return LTH_OK;
}

static void close_edits(edits *e) {
    for (size_t i = 0; e->put && i <= e->count; i++) lth__string_free(&e->put[i]);
    lth__free(e->now);
    lth__free(e->changed);
    lth__free(e->put);
}

static lth_status write_all(const edits *e, lth__string *out) {
    bool failed = false;
    for (size_t i = 0; i <= e->count; i++) {
        const lth__string *put = &e->put[i];
        failed |= put->failed;
        if (put->length > 0) lth__string_append(out, put->bytes, put->length);
        if (i < e->count && e->now[i]) lth__string_append(out, &e->now[i], 1);
    }
    return failed || out->failed ? lth__fail_memory(e->err, e->count) : LTH_OK;
}

lth_status lth__variant_write(const lth__wild_type *wild, const char *text, size_t length,
                              lth__string *out, lth_error *err) {
    edits e = {.wild = wild->sequence,
               .first = wild->first,
               .aligned = wild->aligned,
               .count = strlen(wild->sequence),
               .err = err};
    while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
    while (length > 0 && isspace((unsigned char)*text)) text++, length--;
    if (is_wild(text, length)) {
        lth__string_append(out, e.wild, e.count);
        return out->failed ? lth__fail_memory(err, e.count) : LTH_OK;
    }
    lth_status status = open_edits(&e);
    if (status == LTH_OK) status = apply_all(&e, text, length);
    if (status == LTH_OK) status = write_all(&e, out);
    close_edits(&e);
    return status;
}
