/* The gap-weighted subsequence kernel, `LANES` pairs at a time. This body is included once for each
 * instruction set and precision, after the header that defines its vector vocabulary.
 *
 * For order i = 1..n, with P_0 = 1 and matches strictly before (j, k) in both strings:
 *
 *     A_i = S[j,k] P_(i-1)(j,k)      k_i += A_i                 sum over all cells
 *     Q_i <- gap Q_i + A_i           along k, within row j
 *     P_i <- gap P_i + Q_i           along j, one state for each column
 *
 * All orders advance together, so each is an independent chain of fused multiply-adds. The state P
 * of a block of columns stays in the first-level cache; the Q of every row is carried from one
 * block of columns to the next. ROWS rows are done at once, so that P is loaded and stored once for
 * all of them. The last order needs no P and Q. Orders up to 8 have their Q and sums in registers.
 * Row j ends subsequences of at most j + 1 symbols, so the first rows need not advance all orders.
 *
 * A derivative travels forward beside the values: by gap, d(gap P + Q) = P + gap dP + dQ; along a
 * slope dS of the similarities, d(S P) = S dP + dS P.
 */
#include <string.h>

#include "engine/engine.h"

#define INLINE static inline __attribute__((always_inline))

/* Which derivative is taken. */
typedef enum along { ALONG_NOTHING, ALONG_GAP, ALONG_SLOPE } along;

enum {
    EXACT_BLOCK_BYTES = 24 * 1024, /* of P: in a 32 KiB first-level cache */
    TABLE_BLOCK_BYTES =
        192 * 1024 /* similarities are read at random: fewer, wider blocks reuse them */
};

static size_t block_columns(size_t levels, lth__match match, bool tangent) {
    size_t bytes = levels * sizeof(vec) * (tangent ? 2 : 1);
    size_t limit = match == LTH__MATCH_EXACT ? EXACT_BLOCK_BYTES : TABLE_BLOCK_BYTES;
    size_t columns = limit / (bytes < sizeof(vec) ? sizeof(vec) : bytes);
    return columns < 16 ? 16 : columns;
}

/* Vectors of P, carried Q and looked-up similarities. */
typedef struct layout {
    size_t block, state, carried, sims;
} layout;

static layout lay_out(const lth__ssk_job *job, bool tangent) {
    size_t per_cell = (job->order - 1) * (tangent ? 2 : 1);
    size_t block = block_columns(job->order - 1, job->match, tangent);
    size_t width = job->cols < block ? job->cols : block;
    return (layout){
        .block = block,
        .state = width * per_cell,
        .carried = job->cols > block ? (job->rows + LTH__ROW_STEP) * per_cell : 0,
        .sims = job->match == LTH__MATCH_EXACT ? 0 : width * LTH__ROW_STEP * (job->slope ? 2 : 1),
    };
}

static size_t ssk_scratch(const lth__ssk_job *job, bool tangent) {
    layout l = lay_out(job, tangent);
    return (l.state + l.carried + l.sims) * sizeof(vec);
}

/* Long sums are added up in two steps: many small terms onto one large number would lose digits. */
enum { FLUSH_COLUMNS = 64 };

/* The last block of a string's columns is wide enough for two steps, by itself or in the group: it
 * must be the same. */
static bool ssk_shares(const lth__ssk_job *job, bool tangent, size_t length) {
    if (length == 0) return true;
    size_t block = block_columns(job->order - 1, job->match, tangent);
    size_t first = (length - 1) / block * block, left = job->cols - first;
    return length - first >= FLUSH_COLUMNS || (left < block ? left : block) < FLUSH_COLUMNS;
}

/* Similarities of LTH__ROW_STEP rows from j with columns first .. last-1: out[column][row]. */
INLINE void look_up(lth__match match, const lth__ssk_job *job, const real *table, size_t j,
                    size_t first, size_t last, vec *restrict out) {
    const real *quads = table + j * job->slots;
    for (size_t k = first; k < last; k++, out += LTH__ROW_STEP) {
        const uint32_t *t = job->t + k * LANES;
        if (match == LTH__MATCH_QUADS) {
            v_quads(quads, t, out);
        } else {
            for (size_t r = 0; r < LTH__ROW_STEP; r++)
                out[r] = v_gather(table, job->s + (j + r) * LANES, t);
        }
    }
}

INLINE vec times_sim(bool exact, mask equal, const vec *sim, vec x) {
    if (exact) return v_keep(equal, x);
    return *sim * x;
}

/* A sweep over four rows overlaps the loads of its similarities with arithmetic; narrower sweeps
 * use what look_up() stored. */
INLINE bool looks_up_directly(lth__match match, const int rows) {
    return match == LTH__MATCH_QUADS && rows == LTH__ROW_STEP;
}

typedef struct carry {
    vec *block; /* P (and dP) of this block: [column][level][kind]                  */
    vec *q;     /* Q (and dQ) of every row at the block's left edge, NULL = all zero */
    bool keep;  /* store Q at the right edge                                         */
    vec *sims;  /* from look_up(), when matching is not exact                        */
    vec *dsims; /* their slopes                                                      */
} carry;

/* Rows j .. j+rows-1 over columns first .. last-1; P and Q advance on the first `active` levels of
 * `levels`, the others being 0. */
INLINE void sweep_rows(const int levels, const int active, const int rows, lth__match match,
                       along way, const lth__ssk_job *job, size_t j, size_t first, size_t last,
                       carry c, vec *restrict total, vec *restrict dtotal) {
    const bool tangent = way != ALONG_NOTHING;
    const int kinds = tangent ? 2 : 1;
    const bool exact = match == LTH__MATCH_EXACT, direct = looks_up_directly(match, rows);
    const real *quads = (const real *)job->table + j * job->slots;
    const vec g = v_set1((real)job->gap), one = v_set1(1);
    vec q[LTH__ROW_STEP][LTH__MAX_ORDER], dq[LTH__ROW_STEP][LTH__MAX_ORDER];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (int i = 0; i < active; i++) {
            const vec *from = c.q + ((j + (size_t)r) * (size_t)levels + (size_t)i) * (size_t)kinds;
            q[r][i] = c.q ? from[0] : v_zero();
            dq[r][i] = tangent && c.q ? from[1] : v_zero();
        }
    }
    /* Copies of their own, which the compiler can keep in registers. */
    vec sum[LTH__MAX_ORDER], dsum[LTH__MAX_ORDER];
#pragma GCC unroll 8
    for (int i = 0; i <= active; i++) {
        sum[i] = total[i];
        dsum[i] = dtotal[i];
    }
    for (size_t k = first; k < last; k++) {
        vec *restrict P = c.block + (k - first) * (size_t)(levels * kinds);
        const size_t at = (k - first) * LTH__ROW_STEP + j % LTH__ROW_STEP;
        const vec *sims = c.sims + at, *dsims = c.dsims + at;
        mask equal[LTH__ROW_STEP];
        vec looked_up[LTH__ROW_STEP];
        if (direct) v_quads(quads, job->t + k * LANES, looked_up);
        vec a[LTH__ROW_STEP], da[LTH__ROW_STEP];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            if (exact) equal[r] = v_equal(job->s + (j + (size_t)r) * LANES, job->t + k * LANES);
            a[r] = times_sim(exact, equal[r], direct ? looked_up + r : sims + r, one);
            da[r] = way == ALONG_SLOPE ? dsims[r] : v_zero();
            sum[0] += a[r];
            if (way == ALONG_SLOPE) dsum[0] += da[r];
        }
#pragma GCC unroll 8
        for (int i = 0; i < active; i++) {
            vec p = P[i * kinds], dp = tangent ? P[i * kinds + 1] : v_zero();
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                vec a_next = times_sim(exact, equal[r], direct ? looked_up + r : sims + r, p);
                sum[i + 1] += a_next;
                if (tangent) {
                    vec da_next = times_sim(exact, equal[r], direct ? looked_up + r : sims + r, dp);
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
    }
#pragma GCC unroll 8
    for (int i = 0; i <= active; i++) {
        total[i] = sum[i];
        dtotal[i] = dsum[i];
    }
    if (!c.keep) return;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (int i = 0; i < active; i++) {
            vec *to = c.q + ((j + (size_t)r) * (size_t)levels + (size_t)i) * (size_t)kinds;
            to[0] = q[r][i];
            if (tangent) to[1] = dq[r][i];
        }
    }
}

INLINE void flush_sums(const int n, bool tangent, vec *restrict sum, vec *restrict dsum,
                       vec *restrict total, vec *restrict dtotal) {
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) {
        total[i] += sum[i];
        sum[i] = v_zero();
        if (tangent) {
            dtotal[i] += dsum[i];
            dsum[i] = v_zero();
        }
    }
}

INLINE void pass(const int n, const int rows, lth__match match, along way, const lth__ssk_job *job,
                 double *value, double *slope) {
    const bool tangent = way != ALONG_NOTHING;
    const bool stored = match != LTH__MATCH_EXACT && !looks_up_directly(match, rows);
    const size_t half = (size_t)(n - 1) / 2, few = half > 1 ? 1 : 0;
    const layout l = lay_out(job, tangent);
    vec sum[LTH__MAX_ORDER], dsum[LTH__MAX_ORDER], total[LTH__MAX_ORDER], dtotal[LTH__MAX_ORDER];
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) sum[i] = dsum[i] = total[i] = dtotal[i] = v_zero();
    vec *state = job->scratch;
    carry c = {.block = state,
               .q = l.carried ? state + l.state : NULL,
               .sims = state + l.state + l.carried};
    c.dsims = c.sims + l.sims / 2; /* read only along a slope, when there are twice as many */
    memset(state + l.state, 0, l.carried * sizeof *state);

    for (size_t first = 0; first < job->cols; first += l.block) {
        size_t last = job->cols - first < l.block ? job->cols : first + l.block;
        c.keep = last < job->cols;
        memset(state, 0, l.state * sizeof *state);
        for (size_t j = 0; j < job->rows; j += (size_t)rows) {
            if (stored && j % LTH__ROW_STEP == 0) {
                look_up(match, job, job->table, j, first, last, c.sims);
                if (way == ALONG_SLOPE) look_up(match, job, job->slope, j, first, last, c.dsims);
            }
            const size_t ends = j + (size_t)rows; /* the longest subsequence of these rows */
            if (few && ends <= few)
                sweep_rows(n - 1, 1, rows, match, way, job, j, first, last, c, sum, dsum);
            else if (half && ends <= half)
                sweep_rows(n - 1, (int)half, rows, match, way, job, j, first, last, c, sum, dsum);
            else
                sweep_rows(n - 1, n - 1, rows, match, way, job, j, first, last, c, sum, dsum);
            if (last - first >= FLUSH_COLUMNS) flush_sums(n, tangent, sum, dsum, total, dtotal);
        }
    }
    flush_sums(n, tangent, sum, dsum, total, dtotal);
    for (int i = 0; i < n; i++) {
        v_store_double(value + (size_t)i * LANES, total[i]);
        if (tangent) v_store_double(slope + (size_t)i * LANES, dtotal[i]);
    }
}

INLINE void pass_for(const int n, const int rows, const int tangent_rows, lth__match match,
                     const lth__ssk_job *job, double *value, double *slope) {
    if (!slope)
        pass(n, rows, match, ALONG_NOTHING, job, value, NULL);
    else if (match == LTH__MATCH_EXACT || !job->slope)
        pass(n, tangent_rows, match, ALONG_GAP, job, value, slope);
    else
        pass(n, tangent_rows, match, ALONG_SLOPE, job, value, slope);
}

/* A function for each order and way to match: the compiler allots registers well in functions of
 * this size, but not in one that has them all. */
typedef void ssk_fn(const lth__ssk_job *job, double *value, double *slope);

#define SSK_FOR(name, n, rows, tangent_rows, match)                                                \
    static __attribute__((noinline)) void name(const lth__ssk_job *job, double *value,             \
                                               double *slope) {                                    \
        pass_for(n, rows, tangent_rows, match, job, value, slope);                                 \
    }

/* Rows at once: as many as leave the Q and the sums of all orders in registers. */
#define SSK_OF_ORDER(n)                                                                            \
    SSK_FOR(exact_##n, n, 2, n <= 4 ? 2 : 1, LTH__MATCH_EXACT)                                     \
    SSK_FOR(table_##n, n, n <= 5 ? 4 : 2, n <= 4 ? 2 : 1, LTH__MATCH_TABLE)                        \
    SSK_FOR(quads_##n, n, n <= 5 ? 4 : 2, n <= 4 ? 2 : 1, LTH__MATCH_QUADS)

SSK_FOR(exact_any, (int)job->order, 1, 1, LTH__MATCH_EXACT)
SSK_FOR(table_any, (int)job->order, 1, 1, LTH__MATCH_TABLE)
SSK_FOR(quads_any, (int)job->order, 1, 1, LTH__MATCH_QUADS)
SSK_OF_ORDER(3)
#ifndef LTH_FEW_ORDERS /* builds that check rather than hurry */
SSK_OF_ORDER(1)
SSK_OF_ORDER(2)
SSK_OF_ORDER(4)
SSK_OF_ORDER(5)
SSK_OF_ORDER(6)
SSK_OF_ORDER(7)
SSK_OF_ORDER(8)
#endif

static void ssk(const lth__ssk_job *job, double *value, double *tangent) {
#define BY_MATCH(n)                                                                                \
    { exact_##n, table_##n, quads_##n }
    static ssk_fn *const by_order[][3] = {
        [0] = BY_MATCH(any), [3] = BY_MATCH(3),
#ifndef LTH_FEW_ORDERS
        [1] = BY_MATCH(1),   [2] = BY_MATCH(2), [4] = BY_MATCH(4), [5] = BY_MATCH(5),
        [6] = BY_MATCH(6),   [7] = BY_MATCH(7), [8] = BY_MATCH(8),
#endif
    };
    enum { ORDERS = sizeof by_order / sizeof *by_order };
    bool special = job->order < ORDERS && by_order[job->order][0];
    by_order[special ? job->order : 0][job->match](job, value, tangent);
}
