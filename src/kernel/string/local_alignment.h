/* All local alignments of two sequences at once (Saigo, Vert, Ueda & Akutsu 2004).
 *
 * A local alignment pairs some letters of x with as many of y, in order, one pair at least. Its
 * score is the sum of s(a,b) over these pairs, less open + (l - 1) extend for each run of l letters
 * that is skipped between two pairs, in x or in y. With its mean taken over them by their weights,
 *
 *     Z = sum over alignments of exp(beta score)
 *
 *     d log Z / d beta = mean of score      by open: -beta mean of runs
 *                                           by extend: -beta mean of letters skipped after the
 *                                                      first of a run
 *
 * By sums over alignments that end in a pair (M), in a run skipped in x (X), in one skipped in y
 * (Y; after one in x or without), at letters i and j, with o = exp(-beta open), e = exp(-beta
 * extend):
 *
 *     M_ij = exp(beta s(x_i, y_j)) (1 + M + X + Y at i-1, j-1)       Z = sum_ij M_ij
 *     X_ij = o M_i-1,j + e X_i-1,j
 *     Y_ij = o (M + X)_i,j-1 + e Y_i,j-1
 *
 * Beside each sum goes the same one with every alignment times its score of pairs, its runs, its
 * skipped letters: a forward pass gives the derivatives too.
 *
 * Z of two long sequences that are alike is beyond any double, and what is least now may be most
 * later on, far from there. So each cell i,j has a level of its own then: its sums stand for
 * 2^(256 level) times as much.
 *
 * The paper's sum has the alignment without any pair as well, which is 1. It is left out: so an
 * empty sequence has Z = 0 with all others.
 */
#ifndef LTH_LOCAL_ALIGNMENT_H
#define LTH_LOCAL_ALIGNMENT_H

#include "base/parallel.h"
#include "kernel/string/substitution.h"

/* So that no step from one cell to the next takes its sums up by a whole level, or down by two:
 * bounds of beta, of scores either way, and of costs. */
#define LTH__MOST_BETA 5.0
#define LTH__MOST_SCORE 30.0
#define LTH__MOST_COST 50.0

typedef struct lth__scoring {
    double beta, open, extend;
    bool identity;      /* letters are the same or not */
    double same, other; /* their scores                                */
    double score[LTH__MOST_LETTERS * LTH__MOST_LETTERS];  /* by the numbers of letters */
    double factor[LTH__MOST_LETTERS * LTH__MOST_LETTERS]; /* exp(beta score) */
    /* Asked now and then whether to go on: if not, what is found means nothing. NULL at first: it
     * is not asked. */
    const lth_ctx *ctx;
} lth__scoring;

/* By a matrix; NULL = identity: 5 for the same letter, -4 for another. */
void lth__scoring_make(const lth__substitution *matrix, double beta, double open, double extend,
                       lth__scoring *out);

typedef struct lth__alignments {
    double log_sum;            /* log Z; of an empty sequence -infinity          */
    double beta, open, extend; /* its derivatives, where they are asked for      */
} lth__alignments;

/* Bytes of room that an alignment with a sequence of this length takes, with derivatives or
 * without. */
size_t lth__alignments_room(size_t length);

/* The same bits for x with y as for y with x. */
void lth__alignments_sum(const lth__scoring *s, const uint32_t *x, size_t m, const uint32_t *y,
                         size_t n, bool slopes, void *room, lth__alignments *out);

#endif
