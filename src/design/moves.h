/* Moves from texts of a space to others nearby. A text is an array of letters with room for the
 * longest of the space and of its start; all numbers are drawn from `random`. */
#ifndef LTH_MOVES_H
#define LTH_MOVES_H

#include "design/space.h"

/* One letter replaced, put in or taken out. false = the space has no such move here. */
bool lth__move_replace(const lth_space *space, lth__random *random, lth__letter *text,
                       size_t count);
bool lth__move_insert(const lth_space *space, lth__random *random, lth__letter *text,
                      size_t *count);
bool lth__move_delete(const lth_space *space, lth__random *random, lth__letter *text,
                      size_t *count);
/* Any of the three. */
void lth__move_edit(const lth_space *space, lth__random *random, lth__letter *text, size_t *count);

/* Letters taken out here and put in there: what lies between moves with them. */
void lth__move_shift(const lth_space *space, lth__random *random, lth__letter *text, size_t count);

/* A text that begins and ends like `a` and is like `b` in between; or, where the letters of both
 * are at the same places, has some places of each. */
void lth__move_cross(const lth_space *space, lth__random *random, const lth__letter *a,
                     size_t a_count, const lth__letter *b, size_t b_count, lth__letter *out,
                     size_t *count);

/* Back to the rules about places, length and mutations: letters that may not vary are the start's,
 * what is too long is cut, mutations that are too many are undone. */
void lth__move_repair(const lth_space *space, lth__random *random, lth__letter *text,
                      size_t *count);

/* Undo what makes a text differ from another one of its length, until `most` letters do. */
void lth__move_back(lth__random *random, lth__letter *text, const lth__letter *to, size_t count,
                    size_t most);

/* A child of two texts by some of these moves; it may break other rules. */
void lth__move_child(const lth_space *space, lth__random *random, const lth__letter *a,
                     size_t a_count, const lth__letter *b, size_t b_count, lth__letter *out,
                     size_t *count);

/* The i-th of all single edits of a text: replacements, then what is taken out, then what is put
 * in; and how many there are. false = this one leads out of the space's lengths and sites, or to
 * the same text. */
size_t lth__neighbours(const lth_space *space, size_t count);
bool lth__neighbour(const lth_space *space, const lth__letter *text, size_t count, size_t i,
                    lth__letter *out, size_t *out_count);

#endif
