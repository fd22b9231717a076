/* The subsequence kernel of one pair after dropping what cannot match.
 *
 * Where two strings have few symbols in common, most rows and columns of the dynamic programme only
 * multiply the state by gap. Those are left out, and a step over d positions multiplies by gap^d:
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

typedef struct decay {
    double far, near;             /* gap^d and gap^(d-1) */
    double far_slope, near_slope; /* their derivatives   */
} decay;

/* The step from position `from` to `to`. */
static inline decay step(const lth__sparse_pair *pair, uint32_t from, uint32_t to) {
    size_t d = to - from;
    decay x = {.far = pair->power[d], .near = pair->power[d - 1]};
    if (pair->power_slope) {
        x.far_slope = pair->power_slope[d];
        x.near_slope = pair->power_slope[d - 1];
    }
    return x;
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

void lth__ssk_sparse(const lth__sparse_pair *pair, double *value, double *tangent) {
    const size_t n = pair->order, levels = n - 1;
    const size_t half = lth__ssk_sparse_scratch(n, pair->t_count, false);
    double *q = pair->scratch, *a = q + n, *P = a + n;
    double *dq = tangent ? q + half : NULL, *da = tangent ? a + half : NULL;
    double *dP = tangent ? P + half : NULL;

    memset(pair->scratch, 0, (tangent ? 2 : 1) * half * sizeof *q);
    memset(value, 0, n * sizeof *value);
    if (tangent) memset(tangent, 0, n * sizeof *tangent);

    for (size_t j = 0; j < pair->s_count; j++) {
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
}
