/* How far letters are from each other by a matrix B of scores, such as BLOSUM62:
 *
 *     D(a,b) = (B_aa + B_bb) / 2 - B_ab        over its mean for two different letters
 *
 * exp(-e D) is a kernel for every e where D is a squared distance between points, one for each
 * letter: where no eigenvalue of -J D J is negative, J = I - 1/n. Of PAM250, which is not so, the
 * part of its points that is; a matrix of one's own is refused.
 *
 * The published matrices have the twenty amino acids. B, Z, J and X stand for the middle of those
 * that they may be; U is C and O is K; "-", "." and "*" are as far from all others as two letters
 * are from each other, and farther.
 *
 * The score of two letters is B_ab again: as published, or as one's own file has it. Other letters
 * have the mean score of those that they may be, "-", "." and "*" less by the mean distance; PAM250
 * is without the part of D that is left out.
 */
#ifndef LTH_SUBSTITUTION_H
#define LTH_SUBSTITUTION_H

#include "base/file.h"
#include "base/memory.h"

enum { LTH__MOST_LETTERS = 64 };

typedef struct lth__substitution {
    size_t count;
    char letter[LTH__MOST_LETTERS]; /* upper case */
    double distance[LTH__MOST_LETTERS * LTH__MOST_LETTERS];
    double self[LTH__MOST_LETTERS]; /* B_aa                                          */
    double unit;                    /* what distances were divided by: their mean    */
} lth__substitution;

/* Of a published matrix, by its name; false = there is none, and `out` is left alone, or there is
 * no memory for it. */
bool lth__substitution_find(const char *name, lth__substitution *out);

/* Of scores by [letter][letter], of which there are count^2. What is no distance is LTH_EFORMAT. */
lth_status lth__substitution_make(const char *letter, size_t count, const double *score,
                                  lth__substitution *out, lth_error *err);

/* Scores in a file as NCBI writes them: comments with "#", a line of letters, then one for each
 * letter. `letter` has room for LTH__MOST_LETTERS, `score` for their square. `relay`
 * as in lth__input_open(). */
lth_status lth__substitution_read(const lth__relay *relay, const char *path, char *letter,
                                  size_t *count, double *score, lth_error *err);

/* The number of a letter, in upper or lower case; LTH_NONE = there is none. */
size_t lth__substitution_letter(const lth__substitution *s, char letter);

/* B_ab, by the numbers of two letters. */
double lth__substitution_score(const lth__substitution *s, size_t a, size_t b);

#endif
