#include "design/moves.h"

#include <string.h>

static void put_in(lth__letter *text, size_t *count, size_t place, lth__letter letter) {
    memmove(text + place + 1, text + place, (*count - place) * sizeof *text);
    text[place] = letter;
    ++*count;
}

static void take_out(lth__letter *text, size_t *count, size_t place) {
    memmove(text + place, text + place + 1, (*count - place - 1) * sizeof *text);
    --*count;
}

static bool suits(const lth_space *space, const lth__letter *text, size_t count, size_t place,
                  lth__letter letter) {
    return (place == 0 || lth__space_allows(space, text[place - 1], letter)) &&
           (place + 1 >= count || lth__space_allows(space, letter, text[place + 1]));
}

/* ---- Single letters ---- */

bool lth__move_replace(const lth_space *space, lth__random *random, lth__letter *text,
                       size_t count) {
    enum { TRIES = 8 };
    size_t letters = lth__symbols_count(space->alphabet);
    if (letters < 2 || count == 0) return false;
    size_t place = space->varies ? space->sites[lth__random_below(random, space->site_count)]
                                 : lth__random_below(random, count);
    lth__letter letter = text[place];
    /* Where no letter suits the neighbours, the last one tried is as good as any. */
    for (int i = 0; i < TRIES; i++) {
        letter = (lth__letter)lth__random_below(random, letters - 1);
        if (letter >= text[place]) letter++;
        if (suits(space, text, count, place, letter)) break;
    }
    text[place] = letter;
    return true;
}

bool lth__move_insert(const lth_space *space, lth__random *random, lth__letter *text,
                      size_t *count) {
    if (*count >= space->longest || space->varies) return false;
    size_t place = lth__random_below(random, *count + 1);
    put_in(text, count, place,
           (lth__letter)lth__random_below(random, lth__symbols_count(space->alphabet)));
    return true;
}

bool lth__move_delete(const lth_space *space, lth__random *random, lth__letter *text,
                      size_t *count) {
    if (*count <= space->shortest || *count < 2 || space->varies) return false;
    take_out(text, count, lth__random_below(random, *count));
    return true;
}

void lth__move_edit(const lth_space *space, lth__random *random, lth__letter *text, size_t *count) {
    uint64_t which = space->shortest < space->longest ? lth__random_below(random, 4) : 0;
    if (which == 2 && lth__move_insert(space, random, text, count)) return;
    if (which == 3 && lth__move_delete(space, random, text, count)) return;
    lth__move_replace(space, random, text, *count);
}

/* ---- Many letters ---- */

static void reverse(lth__letter *text, size_t from, size_t to) {
    for (; from + 1 < to; from++) {
        lth__letter kept = text[from];
        text[from] = text[--to];
        text[to] = kept;
    }
}

/* text[from..middle) and text[middle..to) change places. */
static void rotate(lth__letter *text, size_t from, size_t middle, size_t to) {
    reverse(text, from, middle);
    reverse(text, middle, to);
    reverse(text, from, to);
}

void lth__move_shift(const lth_space *space, lth__random *random, lth__letter *text, size_t count) {
    if (count < 2 || space->varies) return;
    if (lth__random_below(random, 2) == 0) {
        /* One letter out, and another one in: the block between slides by a place. */
        size_t out = lth__random_below(random, count), in = lth__random_below(random, count);
        take_out(text, &count, out);
        put_in(text, &count, in,
               (lth__letter)lth__random_below(random, lth__symbols_count(space->alphabet)));
        return;
    }
    size_t cut[3];
    for (int i = 0; i < 3; i++) cut[i] = lth__random_below(random, count + 1);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (cut[j] > cut[j + 1]) {
                size_t kept = cut[j];
                cut[j] = cut[j + 1];
                cut[j + 1] = kept;
            }
    rotate(text, cut[0], cut[1], cut[2]);
}

static void append(lth__letter *out, size_t *count, size_t most, const lth__letter *from,
                   size_t length) {
    if (length > most - *count) length = most - *count;
    memcpy(out + *count, from, length * sizeof *out);
    *count += length;
}

void lth__move_cross(const lth_space *space, lth__random *random, const lth__letter *a,
                     size_t a_count, const lth__letter *b, size_t b_count, lth__letter *out,
                     size_t *count) {
    if (a_count == b_count && (space->varies || lth__random_below(random, 4) == 0)) {
        for (size_t i = 0; i < a_count; i++)
            out[i] = lth__random_below(random, 2) == 0 ? a[i] : b[i];
        *count = a_count;
        return;
    }
    /* Cuts at the same share of both texts; one of them may be an end. */
    size_t first = lth__random_below(random, a_count + 1);
    size_t second =
        lth__random_below(random, 2) == 0 ? a_count : lth__random_below(random, a_count + 1);
    if (first > second) {
        size_t kept = first;
        first = second;
        second = kept;
    }
    size_t room = space->longest > space->start_length ? space->longest : space->start_length;
    size_t b_first = first * b_count / a_count, b_second = second * b_count / a_count;
    *count = 0;
    append(out, count, room, a, first);
    append(out, count, room, b + b_first, b_second - b_first);
    append(out, count, room, a + second, a_count - second);
}

/* ---- Back to the rules ---- */

void lth__move_back(lth__random *random, lth__letter *text, const lth__letter *to, size_t count,
                    size_t most) {
    size_t left = 0;
    for (size_t i = 0; i < count; i++) left += text[i] != to[i];
    /* Of those that are left, as many are kept as may be: each is as likely to. */
    for (size_t i = 0; i < count && left > most; i++) {
        if (text[i] == to[i]) continue;
        if (lth__random_below(random, left) < most)
            most--;
        else
            text[i] = to[i];
        left--;
    }
}

void lth__move_repair(const lth_space *space, lth__random *random, lth__letter *text,
                      size_t *count) {
    while (*count > space->longest) take_out(text, count, lth__random_below(random, *count));
    while (*count < space->shortest)
        if (!lth__move_insert(space, random, text, count)) break;
    if (!lth__space_is_aligned(space) || *count != space->start_length) return;
    for (size_t i = 0; space->varies && i < *count; i++)
        if (!space->varies[i]) text[i] = space->start[i];
    if (space->most_mutations < *count)
        lth__move_back(random, text, space->start, *count, space->most_mutations);
}

/* ---- Children ---- */

void lth__move_child(const lth_space *space, lth__random *random, const lth__letter *a,
                     size_t a_count, const lth__letter *b, size_t b_count, lth__letter *out,
                     size_t *count) {
    bool crossed = b && lth__random_below(random, 2) == 0;
    if (crossed) {
        lth__move_cross(space, random, a, a_count, b, b_count, out, count);
    } else {
        memcpy(out, a, a_count * sizeof *a);
        *count = a_count;
    }
    /* A start's places are what its letters are known by. */
    bool shifted = !lth__space_is_aligned(space) && lth__random_below(random, 8) == 0;
    if (shifted) lth__move_shift(space, random, out, *count);
    if (!crossed && !shifted) lth__move_edit(space, random, out, count);
    while (lth__random_below(random, 2) == 0) lth__move_edit(space, random, out, count);
    lth__move_repair(space, random, out, count);
}

/* ---- All single edits ---- */

size_t lth__neighbours(const lth_space *space, size_t count) {
    size_t letters = lth__symbols_count(space->alphabet);
    size_t places = space->varies ? space->site_count : count;
    size_t replaced = places * letters;
    return space->shortest < space->longest ? replaced + count + (count + 1) * letters : replaced;
}

bool lth__neighbour(const lth_space *space, const lth__letter *text, size_t count, size_t i,
                    lth__letter *out, size_t *out_count) {
    size_t letters = lth__symbols_count(space->alphabet);
    size_t places = space->varies ? space->site_count : count;
    memcpy(out, text, count * sizeof *text);
    *out_count = count;
    if (i < places * letters) {
        size_t place = space->varies ? space->sites[i / letters] : i / letters;
        out[place] = (lth__letter)(i % letters);
        return out[place] != text[place];
    }
    i -= places * letters;
    if (i < count) {
        if (count <= space->shortest || count < 2) return false;
        take_out(out, out_count, i);
        return true;
    }
    i -= count;
    if (count >= space->longest) return false;
    put_in(out, out_count, i / letters, (lth__letter)(i % letters));
    return true;
}
