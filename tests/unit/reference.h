/* The string kernel as its definition reads: what every fast path is compared with.
 *
 *     k_i(s,t) = sum over index tuples I in s, J in t, |I| = |J| = i, of
 *                match^(2i) gap^(span(I) + span(J) - 2i) prod S[I, J]            0^0 = 1
 */
#ifndef LTH_TEST_REFERENCE_H
#define LTH_TEST_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* Two strings by the similarities of their positions, S[j * q + k] for j < p and k < q. */
typedef struct reference_pair {
    size_t p, q;
    const double *S;
    double gap, match;
} reference_pair;

enum { REFERENCE_BRUTE_MOST = 7 };

/* k[i] = k_(i+1): all index tuples, one by one. p and q at most REFERENCE_BRUTE_MOST. */
void reference_brute(const reference_pair *x, size_t order, double *k);

/* The same by the dynamic programme, and (slope not NULL) dk/dgap. For any lengths. */
void reference_ssk(const reference_pair *x, size_t order, double *k, double *slope);

/* The same for |S|: the size of the terms that add up to k, so the unit of its rounding. */
void reference_scale(const reference_pair *x, size_t order, double *k, double *slope);

/* S of two strings that match where they are equal; freed with free(). */
double *reference_equality(const uint32_t *s, size_t p, const uint32_t *t, size_t q);

#endif
