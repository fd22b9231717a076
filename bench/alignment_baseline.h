/* The plain way to sum over all local alignments: what the library is compared with. */
#ifndef ALIGNMENT_BASELINE_H
#define ALIGNMENT_BASELINE_H

#include <stddef.h>

enum { PLAIN_LETTERS = 26 };

typedef struct plain_scoring {
    double score[PLAIN_LETTERS][PLAIN_LETTERS];  /* of two letters                 */
    double factor[PLAIN_LETTERS][PLAIN_LETTERS]; /* exp(beta score)                */
    double open, extend;                         /* factors of what is skipped, too */
} plain_scoring;

/* All alignments, and these times their scores of pairs, runs, letters skipped after the first. */
typedef struct plain_sums {
    double all, score, runs, skipped;
} plain_sums;

/* Of letters 'A' to 'Z' whose sums fit into a double. `scratch`: 12 (n + 1) doubles. */
plain_sums plain_alignments(const plain_scoring *s, const char *x, size_t m, const char *y,
                            size_t n, double *scratch);

#endif
