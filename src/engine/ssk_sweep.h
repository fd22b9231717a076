/* The gap-weighted subsequence kernel, `LANES` pairs at a time: one sweep over a few rows. This
 * body is included once for each instruction set and precision, after the header that defines its
 * vector vocabulary.
 *
 * For order i = 1..n, with P_0 = 1 and matches strictly before (j, k) in both strings:
 *
 *     A_i = S[j,k] P_(i-1)(j,k)      k_i += A_i                 sum over all cells
 *     Q_i <- gap Q_i + A_i           along k, within row j
 *     P_i <- gap P_i + Q_i           along j, one state for each column
 *
 * All orders advance together, so each is an independent chain of fused multiply-adds. The last
 * order needs no P and Q; the others are the levels. Some rows are done at once, so that P is
 * loaded and stored once for all of them, and Q and the sums are in registers. There are registers
 * for a group of levels: where there are more levels, groups follow each other over the same cells,
 * and each leaves A of its last order to the next.
 *
 * A derivative travels forward beside the values: by gap, d(gap P + Q) = P + gap dP + dQ; along a
 * slope dS of the similarities, d(S P) = S dP + dS P.
 */
#include <string.h>

#include "base/copied.h"
#include "engine/engine.h"

/* Which derivative is taken. */
typedef enum along { ALONG_NOTHING, ALONG_GAP, ALONG_SLOPE } along;

/* Where similarities come from: equal symbols, what look_up() stored, or quads. */
typedef enum source { FROM_SYMBOLS, FROM_STORED, FROM_QUADS } source;

/* Where a group of levels stands: it has all of them, or is the first, or follows another. */
typedef enum stand { ALONE, HEAD, TAIL } stand;

/* What a sweep works on. */
typedef struct strip {
    const uint32_t *s, *t; /* [row][lane] of these rows, [column][lane] of these columns */
    size_t rows, columns;
    real gap;
    vec *P;       /* P (and dP): [column][level][kind], from the group's first level */
    vec *Q;       /* Q (and dQ) at the left edge: [row][level][kind]; NULL = all zero */
    bool keep;    /* store Q at the right edge */
    size_t width; /* from one column of P to the next, and from one row of Q */
    vec *link;    /* A (and dA) between groups: [row step][column][row][kind]   */
    const vec *sims,
        *dsims;        /* and their slopes: [column][LTH__ROW_STEP], from the first of these rows */
    const real *quads; /* of these rows                                 */
    size_t slots;
    bool passes_on;      /* another group follows */
    vec *total, *dtotal; /* k_i, from the first order whose A the group is given */
} strip;

/* Similarities of LTH__ROW_STEP rows: out[column][row]. `quads` or s and the table are those of the
 * rows. */
LTH__COPIED void look_up(lth__match match, const real *table, const uint32_t *s, const uint32_t *t,
                         size_t columns, vec *restrict out) {
    for (size_t k = 0; k < columns; k++, out += LTH__ROW_STEP, t += LANES) {
        if (match == LTH__MATCH_QUADS) {
            v_quads(table, t, out);
        } else {
            for (size_t r = 0; r < LTH__ROW_STEP; r++)
                out[r] = v_gather(table, s + (size_t)r * LANES, t);
        }
    }
}

LTH__COPIED vec times_sim(bool exact, mask equal, vec sim, vec x) {
    if (exact) return v_keep(equal, x);
    return sim * x;
}

/* Copies of their own, which the compiler can keep in registers. */
LTH__COPIED void load_rows(const int levels, const int rows, const int kinds, const strip *x,
                           size_t j, vec q[][LTH__MOST_LEVELS], vec dq[][LTH__MOST_LEVELS]) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (int i = 0; i < levels; i++) {
            const size_t at = (j + (size_t)r) * x->width + (size_t)(i * kinds);
            q[r][i] = x->Q ? x->Q[at] : v_zero();
            dq[r][i] = kinds == 2 && x->Q ? x->Q[at + 1] : v_zero();
        }
    }
}

LTH__COPIED void store_rows(const int levels, const int rows, const int kinds, const strip *x,
                            size_t j, vec q[][LTH__MOST_LEVELS], vec dq[][LTH__MOST_LEVELS]) {
    if (!x->keep) return;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (int i = 0; i < levels; i++) {
            vec *to = x->Q + (j + (size_t)r) * x->width + (size_t)(i * kinds);
            to[0] = q[r][i];
            if (kinds == 2) to[1] = dq[r][i];
        }
    }
}

LTH__COPIED void sweep_rows(const int levels, const int rows, const source from, const along way,
                            const stand at, const strip *x, size_t j) {
    const bool tangent = way != ALONG_NOTHING, exact = from == FROM_SYMBOLS;
    const int kinds = tangent ? 2 : 1;
    const vec g = v_set1(x->gap), one = v_set1(1);
    const uint32_t *s = exact ? x->s + j * LANES : NULL;
    vec q[LTH__ROW_STEP][LTH__MOST_LEVELS], dq[LTH__ROW_STEP][LTH__MOST_LEVELS];
    vec sum[LTH__MOST_LEVELS + 1], dsum[LTH__MOST_LEVELS + 1];
    load_rows(levels, rows, kinds, x, j, q, dq);
#pragma GCC unroll 9
    for (int i = 0; i <= levels; i++) sum[i] = dsum[i] = v_zero();
    const uint32_t *restrict t = x->t;
    const vec *restrict sims = x->sims + j, *restrict dsims = x->dsims + j;
    vec *restrict P = x->P, *restrict link = x->link + j * x->columns * (size_t)kinds;
    for (size_t k = 0; k < x->columns; k++) {
        mask equal[LTH__ROW_STEP];
        vec sim[LTH__ROW_STEP], a[LTH__ROW_STEP], da[LTH__ROW_STEP];
        if (from == FROM_QUADS) v_quads(x->quads + j * x->slots, t, sim);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            if (exact) equal[r] = v_equal(s + (size_t)r * LANES, t);
            if (from == FROM_STORED) sim[r] = sims[r];
            if (at == TAIL) {
                a[r] = link[r * kinds];
                da[r] = tangent ? link[r * kinds + 1] : v_zero();
            } else {
                a[r] = times_sim(exact, equal[r], sim[r], one);
                da[r] = way == ALONG_SLOPE ? dsims[r] : v_zero();
                sum[0] += a[r];
                if (way == ALONG_SLOPE) dsum[0] += da[r];
            }
        }
#pragma GCC unroll 8
        for (int i = 0; i < levels; i++) {
            vec p = P[i * kinds], dp = tangent ? P[i * kinds + 1] : v_zero();
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                vec a_next = times_sim(exact, equal[r], sim[r], p);
                sum[i + 1] += a_next;
                if (tangent) {
                    vec da_next = times_sim(exact, equal[r], sim[r], dp);
                    if (way == ALONG_SLOPE) da_next = v_fma(dsims[r], p, da_next);
                    dsum[i + 1] += da_next;
                    if (way == ALONG_GAP) {
                        dp = v_fma(g, dp, p) + dq[r][i];
                        dq[r][i] = v_fma(g, dq[r][i], q[r][i]) + da[r];
                    } else {
                        dp = v_fma(g, dp, dq[r][i]);
                        dq[r][i] = v_fma(g, dq[r][i], da[r]);
                    }
                    da[r] = da_next;
                }
                p = v_fma(g, p, q[r][i]);
                q[r][i] = v_fma(g, q[r][i], a[r]);
                a[r] = a_next;
            }
            P[i * kinds] = p;
            if (tangent) P[i * kinds + 1] = dp;
        }
        if (at == HEAD || (at == TAIL && x->passes_on)) {
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                link[r * kinds] = a[r];
                if (tangent) link[r * kinds + 1] = da[r];
            }
        }
        t += LANES;
        P += x->width;
        if (at != ALONE) link += rows * kinds;
        if (from == FROM_STORED) sims += LTH__ROW_STEP;
        if (way == ALONG_SLOPE) dsims += LTH__ROW_STEP;
    }
    store_rows(levels, rows, kinds, x, j, q, dq);
#pragma GCC unroll 9
    for (int i = at == TAIL ? 1 : 0; i <= levels; i++) {
        x->total[i] += sum[i];
        if (tangent) x->dtotal[i] += dsum[i];
    }
}

LTH__COPIED void sweep(const int levels, const int rows, const source from, const along way,
                       const stand at, const strip *given) {
    const strip x = *given; /* which no store can change */
    for (size_t j = 0; j < x.rows; j += (size_t)rows)
        sweep_rows(levels, rows, from, way, at, &x, j);
}
