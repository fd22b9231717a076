/* Levenshtein's distance, by bands.
 *
 *     D(i, j) = min(D(i-1, j) + 1, D(i, j-1) + 1, D(i-1, j-1) + [a_i != b_j])
 *
 * A distance of at most d needs the cells with |i - j| <= d alone (Ukkonen 1985). So d is doubled
 * from 1 until the band holds the answer: all bands together cost at most twice the last one. What
 * both texts begin and end with is left out first: of variants of a sequence that is nearly all.
 */
#include "design/edits.h"

#include "luthier.h"

typedef struct texts {
    const lth__symbol *a, *b; /* a is not the longer */
    size_t m, n;
} texts;

static texts trim(texts t) {
    while (t.m > 0 && t.n > 0 && t.a[0] == t.b[0]) t.a++, t.b++, t.m--, t.n--;
    while (t.m > 0 && t.n > 0 && t.a[t.m - 1] == t.b[t.n - 1]) t.m--, t.n--;
    return t;
}

static size_t least(size_t x, size_t y) {
    return x < y ? x : y;
}

/* The distance, or band + 1 if it is above that. `row`: for m + 2 numbers; row[i] is D(i, j). */
static size_t within(const texts *t, size_t band, size_t *row) {
    size_t above = band + 1;
    for (size_t i = 0; i <= t->m + 1; i++) row[i] = least(i, above);
    for (size_t j = 1; j <= t->n; j++) {
        size_t first = j > band ? j - band : 0, last = least(t->m, j + band);
        size_t before = first > 0 ? row[first - 1] : 0; /* D(i-1, j-1) */
        size_t left = above, best = above;              /* D(i-1, j)    */
        for (size_t i = first; i <= last; i++) {
            size_t old = i == j + band ? above : row[i]; /* D(i, j-1): past the band nothing */
            size_t by_letter = i == 0 ? above : before + (t->a[i - 1] != t->b[j - 1]);
            size_t here = i == 0 ? j : least(by_letter, 1 + least(left, old));
            here = least(here, above);
            before = old;
            row[i] = left = here;
            best = least(best, here);
        }
        if (best == above) return above;
    }
    return row[t->m];
}

static size_t distance(const texts *t, size_t most, size_t *row) {
    for (size_t band = 1;; band *= 2) {
        band = least(least(band, most), t->n); /* the distance is at most n */
        if (band < t->n - t->m) continue;
        size_t found = within(t, band, row);
        if (found <= band || band == most || band == t->n) return found;
    }
}

size_t lth__edits_symbols(const lth__symbol *a, size_t a_length, const lth__symbol *b,
                          size_t b_length, size_t most) {
    enum { SHORT = 128 };
    size_t few[SHORT + 2];
    bool swap = a_length > b_length;
    texts t = trim((texts){swap ? b : a, swap ? a : b, swap ? b_length : a_length,
                           swap ? a_length : b_length});
    if (t.n - t.m > most) return most + 1;
    if (t.m == 0) return t.n; /* not above most */
    if (most == 0) return 1;
    size_t *row = t.m <= SHORT ? few : lth__alloc(t.m + 2, sizeof *row);
    if (!row) return LTH_NONE;
    size_t found = distance(&t, most, row);
    if (row != few) lth__free(row);
    return found;
}

/* ---- Texts ---- */

/* The next character, as a number of its own: what is no UTF-8 goes by its bytes. */
static lth__symbol next_letter(const char *text, size_t length, size_t *at) {
    unsigned char first = (unsigned char)text[(*at)++];
    lth__symbol letter = first;
    while (first >= 0xc0 && *at < length && ((unsigned char)text[*at] & 0xc0) == 0x80)
        letter = letter << 8 | (unsigned char)text[(*at)++];
    return letter;
}

static size_t letters_of(const char *text, size_t length, lth__symbol *out) {
    size_t count = 0, at = 0;
    while (at < length) out[count++] = next_letter(text, length, &at);
    return count;
}

size_t lth__edits(const char *a, size_t a_length, const char *b, size_t b_length, size_t most) {
    enum { SHORT = 256 };
    lth__symbol few[SHORT], *letters = few;
    if (a_length > SIZE_MAX - b_length) return LTH_NONE;
    if (a_length + b_length > SHORT) letters = lth__alloc(a_length + b_length, sizeof *letters);
    if (!letters) return LTH_NONE;
    size_t m = letters_of(a, a_length, letters), n = letters_of(b, b_length, letters + m);
    size_t found = lth__edits_symbols(letters, m, letters + m, n, most);
    if (letters != few) lth__free(letters);
    return found;
}
