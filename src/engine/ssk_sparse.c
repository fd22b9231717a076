/* The subsequence kernel of one pair after dropping what cannot match.
 *
 * With a handful of matches, a subsequence in common is a chain of matches, each after the last in
 * both strings, and A_i of a match is the sum over the matches it can follow:
 *
 *     A_i(j,k) = sum over matches j' < j, k' < k of gap^(j-j'-1 + k-k'-1) A_(i-1)(j',k')
 *
 * With more, rows and columns of the dynamic programme without a match only multiply its state by
 * gap. Those are left out, and a step over d positions multiplies by gap^d:
 *
 *     from column k to k':  Q <- gap^(k'-k) Q + gap^(k'-k-1) A
 *     from row j to j':     P <- gap^(j'-j) P + gap^(j'-j-1) Q
 *
 * which is the recurrence of ssk_lanes.h, exactly. gap^0 is 1 also for gap 0.
 */
#include <string.h>

#include "engine/engine.h"

/* Q and A of the row at hand, P of every column; each for orders 1 .. n-1, then their slopes. */
size_t lth__ssk_sparse_scratch(size_t order, size_t t_count, bool tangent) {
    return order * (t_count + 2) * (tangent ? 2 : 1);
}

enum { CELLS_TO_ASK = 1 << 16 }; /* from one question whether to stop to the next */

typedef struct decay {
    double far, near;             /* gap^d and gap^(d-1) */
    double far_slope, near_slope; /* their derivatives   */
} decay;

/* The step from position `from` to `to`. */
static inline decay step(const lth__sparse_pair *pair, uint32_t from, uint32_t to) {
    size_t d = to - from;
    return (decay){.far = pair->powers.value[d],
                   .near = pair->powers.value[d - 1],
                   .far_slope = pair->powers.slope[d],
                   .near_slope = pair->powers.slope[d - 1]};
}

/* state <- far * state + near * input, and its derivative. */
static inline void advance(size_t levels, decay x, double *state, double *dstate,
                           const double *input, const double *dinput) {
    if (dstate) {
        for (size_t i = 0; i < levels; i++) {
            dstate[i] = x.far * dstate[i] + x.far_slope * state[i] + x.near * dinput[i] +
                        x.near_slope * input[i];
        }
    }
    for (size_t i = 0; i < levels; i++) state[i] = x.far * state[i] + x.near * input[i];
}

bool lth__ssk_sparse(const lth__sparse_pair *pair, double *value, double *tangent) {
    const size_t n = pair->order, levels = n - 1;
    const size_t half = lth__ssk_sparse_scratch(n, pair->t_count, false);
    double *q = pair->scratch, *a = q + n, *P = a + n;
    double *dq = tangent ? q + half : NULL, *da = tangent ? a + half : NULL;
    double *dP = tangent ? P + half : NULL;

    memset(pair->scratch, 0, (tangent ? 2 : 1) * half * sizeof *q);
    memset(value, 0, n * sizeof *value);
    if (tangent) memset(tangent, 0, n * sizeof *tangent);

    for (size_t j = 0, cells = 0; j < pair->s_count; j++) {
        if (cells >= CELLS_TO_ASK && pair->stops && pair->stops(pair->user)) return false;
        cells = (cells >= CELLS_TO_ASK ? 0 : cells) + pair->t_count;
        /* After the last row P is not read again: any step will do. */
        bool last_row = j + 1 == pair->s_count;
        decay down =
            last_row ? (decay){0} : step(pair, pair->s_position[j], pair->s_position[j + 1]);
        memset(q, 0, n * sizeof *q);
        if (tangent) memset(dq, 0, n * sizeof *dq);
        for (size_t k = 0; k < pair->t_count; k++) {
            double *p = P + k * n, *dp = tangent ? dP + k * n : NULL;
            bool equal = pair->s_symbol[j] == pair->t_symbol[k];
            if (equal) {
                a[0] = 1;
                for (size_t i = 0; i < levels; i++) a[i + 1] = p[i];
                for (size_t i = 0; i < n; i++) value[i] += a[i];
                if (tangent) {
                    da[0] = 0;
                    for (size_t i = 0; i < levels; i++) da[i + 1] = dp[i];
                    for (size_t i = 0; i < n; i++) tangent[i] += da[i];
                }
            } else {
                memset(a, 0, n * sizeof *a);
                if (tangent) memset(da, 0, n * sizeof *da);
            }
            if (!last_row) advance(levels, down, p, dp, q, dq);
            if (k + 1 == pair->t_count) break;
            advance(levels, step(pair, pair->t_position[k], pair->t_position[k + 1]), q, dq, a, da);
        }
    }
    return true;
}

/* ---- A handful of matches ---- */

/* Which matches each one can follow, and at what distance; by rows of LTH__MAX_MEETINGS. */
typedef struct links {
    size_t count[LTH__MAX_MEETINGS];
    uint32_t from[LTH__MAX_MEETINGS][LTH__MAX_MEETINGS];
    size_t distance[LTH__MAX_MEETINGS][LTH__MAX_MEETINGS];
} links;

static size_t find_links(const lth__meeting *meeting, size_t count, links *l) {
    size_t total = 0;
    for (size_t a = 0; a < count; a++) {
        size_t n = 0;
        for (size_t b = 0; b < a; b++) {
            if (meeting[b].j >= meeting[a].j || meeting[b].k >= meeting[a].k) continue;
            l->from[a][n] = (uint32_t)b;
            l->distance[a][n++] =
                meeting[a].j - meeting[b].j - 1 + (meeting[a].k - meeting[b].k - 1);
        }
        l->count[a] = n;
        total += n;
    }
    return total;
}

/* A and dA of one order from those of the order before, in place: a match only follows earlier
 * ones, so the last comes first. Returns the sum, and adds up the derivative. */
static double lengthen_chains(const links *l, size_t count, lth__powers powers, double *A,
                              double *dA, double *dsum) {
    double sum = 0;
    for (size_t a = count; a-- > 0;) {
        double x = 0, dx = 0;
        for (size_t n = 0; n < l->count[a]; n++) {
            size_t b = l->from[a][n], d = l->distance[a][n];
            x += powers.value[d] * A[b];
            if (dA) dx += powers.value[d] * dA[b] + powers.slope[d] * A[b];
        }
        A[a] = x;
        sum += x;
        if (dA) *dsum += dA[a] = dx;
    }
    return sum;
}

void lth__ssk_meetings(size_t order, lth__powers powers, const lth__meeting *meeting, size_t count,
                       double *value, double *tangent) {
    memset(value, 0, order * sizeof *value);
    if (tangent) memset(tangent, 0, order * sizeof *tangent);
    value[0] = (double)count;
    if (count == 2 && order > 1) { /* the most frequent case by far */
        if (meeting[0].j >= meeting[1].j || meeting[0].k >= meeting[1].k) return;
        size_t d = meeting[1].j - meeting[0].j + meeting[1].k - meeting[0].k - 2;
        value[1] = powers.value[d];
        if (tangent) tangent[1] = powers.slope[d];
        return;
    }
    links l;
    if (order == 1 || find_links(meeting, count, &l) == 0) return;
    double A[LTH__MAX_MEETINGS], dA[LTH__MAX_MEETINGS];
    for (size_t a = 0; a < count; a++) A[a] = 1, dA[a] = 0;
    for (size_t i = 1; i < order && i < count; i++) {
        value[i] = lengthen_chains(&l, count, powers, A, tangent ? dA : NULL,
                                   tangent ? &tangent[i] : NULL);
    }
}
