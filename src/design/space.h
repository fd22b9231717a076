/* A space: the texts that could be measured, by rules. Texts are sequences of letters; a letter is
 * a character, or of SMILES a token such as [nH], Cl or %12. */
#ifndef LTH_SPACE_H
#define LTH_SPACE_H

#include <regex.h>

#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "data/symbols.h"

typedef uint16_t lth__letter; /* its number in the alphabet */
enum { LTH__MOST_LETTERS = 4096, LTH__LONGEST_TEXT = 1 << 20 };
#define LTH__NO_LETTER ((lth__letter)UINT16_MAX)

/* A regular expression that must occur, or must not. */
typedef struct lth__pattern {
    bool wanted;
    char *literal; /* the text itself where it has no special characters, NULL = see `regex` */
    size_t literal_length;
    regex_t regex;
} lth__pattern;

struct lth_space {
    lth_ctx *ctx;
    lth__symbols *alphabet;
    bool open; /* the letters of the measured rows are still to come */
    bool smiles;
    lth__letter ascii[128]; /* letters of one byte, without a search */

    char *from; /* the text from which mutations are counted; NULL = none */
    size_t from_bytes;
    lth__letter *start; /* its letters */
    size_t start_length;
    bool *varies;  /* which of its letters do; NULL = all */
    size_t *sites; /* where these are */
    size_t site_count;

    size_t shortest, longest; /* in letters; longest 0 = as the measured rows are */
    size_t most_mutations;    /* SIZE_MAX = any number */

    lth__pattern *patterns;
    size_t pattern_count, pattern_capacity;

    lth_table *pairs;   /* of neighbours that are allowed, as they were read; NULL = any are */
    bool pairs_as_seen; /* those that measured rows have */
    bool *allowed;      /* by letter and the letter after it; NULL = any are */
};

/* An empty one, to which rules are added. */
lth_status lth__space_create(lth_ctx *ctx, lth_space **out, lth_error *err);
/* A letter more; nothing happens where it is known. */
lth_status lth__space_add(lth_space *space, const char *unit, size_t length, lth_error *err);
/* Make `allowed` of `pairs`; letters that are not in the alphabet do not matter. */
lth_status lth__space_allow(lth_space *space, lth_error *err);

/* The space with all that comes from measured rows in place; it borrows the rest from `space`, and
 * is freed first. LTH_EARG where there is nothing to go by. */
lth_status lth__space_complete(const lth_space *space, const char *const *texts, size_t count,
                               lth_space *out, lth_error *err);
void lth__space_complete_free(lth_space *complete, const lth_space *space);

/* How many bytes the letter at the start of a text takes; 0 = there is none. */
size_t lth__space_unit(const lth_space *space, const char *text, size_t length);
lth__letter lth__space_letter(const lth_space *space, const char *unit, size_t length);
/* Letters of a text into room for `most`; false = it has others, or more. */
bool lth__space_encode(const lth_space *space, const char *text, size_t length, lth__letter *out,
                       size_t most, size_t *count);
/* And back, appended. */
void lth__space_write(const lth_space *space, const lth__letter *letters, size_t count,
                      lth__string *out);

/* lth_space_has() in two halves: what can be told from the letters, which is cheap; and from the
 * text, which ends with NUL. Both return NULL for yes, or the reason. */
const char *lth__space_refuses_letters(const lth_space *space, const lth__letter *letters,
                                       size_t count);
const char *lth__space_refuses_text(const lth_space *space, const char *text, size_t length);

/* Letters are small numbers, as lengths are: so the length is mixed in by itself. */
static inline uint64_t lth__letters_hash(const lth__letter *letters, size_t count) {
    return lth__hash(lth__hash(0, &count, sizeof count), letters, count * sizeof *letters);
}

/* Whether `b` may stand after `a`. */
static inline bool lth__space_allows(const lth_space *space, lth__letter a, lth__letter b) {
    return !space->allowed || space->allowed[a * lth__symbols_count(space->alphabet) + b];
}
/* Whether all texts have the places of `from`, so that mutations replace letters and no more. */
static inline bool lth__space_is_aligned(const lth_space *space) {
    return space->start && space->shortest == space->longest &&
           space->longest == space->start_length;
}
static inline bool lth__space_varies(const lth_space *space, size_t place) {
    return !space->varies || space->varies[place];
}

/* One text at random that keeps to the rules about letters; false = this try led nowhere. */
bool lth__space_draw(const lth_space *space, lth__random *random, lth__letter *out, size_t *count);

/* Calls `take` for all texts that keep to the rules about letters, in order; gives up, with
 * *complete = false, after `limit` steps. */
typedef lth_status lth__take_fn(void *user, const lth__letter *letters, size_t count,
                                lth_error *err);
lth_status lth__space_enumerate(const lth_space *space, size_t limit, lth__take_fn *take,
                                void *user, bool *complete, lth_error *err);

/* What is missing before texts can be drawn; LTH_EARG. */
lth_status lth__space_want_complete(const lth_space *space, lth_error *err);

#endif
