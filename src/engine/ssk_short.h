/* The subsequence kernel of short strings whose symbols match softly, `LANES` pairs at a time, with
 * the derivatives of K = sum_i nu_i k_i by gap and by what similarities are made of. Included after
 * ssk_lanes.h, whose recurrence this is, with levels i = 0 .. n-1 (A_0 = S is order 1):
 *
 *     A_(i+1) = S P_i(j,k)                     Q_i(j,k+1) = gap Q_i(j,k) + A_i
 *     P_i(j+1,k) = gap P_i(j,k) + Q_i
 *
 * A match at (j,k) ends subsequences of at most min(j,k) + 1 symbols, so level i of the cells to
 * the left and above is 0 and left out: of strings of seven words and five orders, half of all.
 *
 * Where the derivative by gap is all that is wanted, it goes along:
 *
 *     dA_(i+1) = S dP_i(j,k)                   dQ_i(j,k+1) = gap dQ_i(j,k) + Q_i(j,k) + dA_i
 *     dP_i(j+1,k) = gap dP_i(j,k) + P_i(j,k) + dQ_i
 *
 * Else one pass back finds all derivatives. With R and v for dK/dP and dK/dQ it goes from the last
 * cell to the first, over P and Q of all cells, which the way there has kept:
 *
 *     Abar_i = nu_i + v_i(j,k+1)                      dK/dS(j,k) = Abar_0 + sum_i Abar_(i+1) P_i
 *     v_i(j,k) = gap v_i(j,k+1) + R_i(j+1,k)          R_i(j,k) = gap R_i(j+1,k) + S Abar_(i+1)
 *     dK/dgap = sum over cells and i of v_i(j,k+1) Q_i + R_i(j+1,k) P_i
 *
 * and with E = S dK/dS, as S = exp(-decay D) w_s w_t or D w_s w_t,
 *
 *     dK/ddecay = -sum E D      dK/drarity = sum E (dlog w_s + dlog w_t)
 */

/* What the way forward is for: values, those and their derivatives by gap, or those and P and Q of
 * all cells for the way back. */
typedef enum short_way { VALUES, BY_GAP, KEEPING } short_way;

typedef struct short_room {
    vec *S, *D, *P, *Q, *R; /* D only where derivatives by it are wanted */
} short_room;

/* Vectors that are needed; `room` NULL = only count. */
static size_t share_room(const lth__ssk_short *job, short_way way, short_room *room) {
    size_t levels = job->order - 1, cells = job->rows * job->cols, row = job->cols * levels;
    size_t all = (job->rows + 1) * row, D = cells, P = D + cells;
    size_t Q = P + (way == KEEPING ? all : way == BY_GAP ? 2 * row : row);
    size_t R = Q + (way == KEEPING ? all : 0), end = R + (way == KEEPING ? row : 0);
    vec *S = job->scratch;
    if (room) *room = (short_room){.S = S, .D = S + D, .P = S + P, .Q = S + Q, .R = S + R};
    return end;
}

static short_way way_of(const lth__ssk_short *job, bool slopes) {
    if (!slopes) return VALUES;
    return job->decays || job->row_slope ? KEEPING : BY_GAP;
}

static size_t ssk_short_scratch(const lth__ssk_short *job, bool slopes) {
    return share_room(job, way_of(job, slopes), NULL) * sizeof(vec);
}

/* ---- Similarities of all cells ---- */

/* Rows j .. j + rows - 1, at most LTH__ROW_STEP. */
LTH__COPIED void fill_rows(const int rows, bool decays, bool weighed, const lth__ssk_short *job,
                           short_room x, size_t j) {
    const vec minus_decay = v_set1((real)-job->decay);
    const vec *row_weight = job->row_weight, *col_weight = job->col_weight;
    const real *quads = (const real *)job->table + j * job->slots;
    for (size_t k = 0; k < job->cols; k++) {
        vec D[LTH__ROW_STEP];
        if (job->match == LTH__MATCH_QUADS)
            v_quads(quads, job->t + k * LANES, D);
        else
            for (size_t r = 0; r < (size_t)rows; r++)
                D[r] = v_gather(job->table, job->s + (j + r) * LANES, job->t + k * LANES);
#pragma GCC unroll 4
        for (size_t r = 0; r < (size_t)rows; r++) {
            size_t at = (j + r) * job->cols + k;
            vec S = D[r];
            if (decays) {
                x.D[at] = S;
                S = v_exp(minus_decay * S);
            }
            if (weighed) S = S * row_weight[j + r] * col_weight[k];
            x.S[at] = S;
        }
    }
}

LTH__COPIED void fill_similarities(bool decays, bool weighed, const lth__ssk_short *job,
                                   short_room x) {
    for (size_t j = 0; j < job->rows; j += LTH__ROW_STEP) {
        switch (job->rows - j) {
        case 1: fill_rows(1, decays, weighed, job, x, j); break;
        case 2: fill_rows(2, decays, weighed, job, x, j); break;
        case 3: fill_rows(3, decays, weighed, job, x, j); break;
        default: fill_rows(LTH__ROW_STEP, decays, weighed, job, x, j);
        }
    }
}

static __attribute__((noinline)) void find_similarities(const lth__ssk_short *job, short_room x) {
    if (job->decays && job->row_weight)
        fill_similarities(true, true, job, x);
    else if (job->decays)
        fill_similarities(true, false, job, x);
    else if (job->row_weight)
        fill_similarities(false, true, job, x);
    else
        fill_similarities(false, false, job, x);
}

/* ---- Forward ---- */

/* Of all levels on the way along a row; what begins with d is by gap. */
typedef struct short_line {
    vec q[LTH__MAX_ORDER], sum[LTH__MAX_ORDER], dq[LTH__MAX_ORDER], dsum[LTH__MAX_ORDER];
} short_line;

/* One cell, of whose levels the first `some` have a P. `next` is the P below. */
LTH__COPIED void forward_cell(const int levels, const int some, const short_way way, vec g, vec s,
                              const vec *P, vec *next, vec *restrict Q, short_line *x) {
    vec a = s, da = v_zero();
    x->sum[0] += s;
#pragma GCC unroll 8
    for (int i = 0; i < levels && i <= some; i++) {
        vec q = x->q[i], below = q, ends = a, dbelow = x->dq[i], dends = da + q;
        if (i < some) {
            vec p = P[i];
            a = s * p;
            x->sum[i + 1] += a;
            below = v_fma(g, p, below);
            if (way == BY_GAP) {
                vec dp = P[levels + i];
                da = s * dp;
                x->dsum[i + 1] += da;
                dbelow = v_fma(g, dp, dbelow + p);
            }
        }
        if (way == KEEPING) Q[i] = q;
        next[i] = below;
        x->q[i] = v_fma(g, q, ends);
        if (way != BY_GAP) continue;
        next[levels + i] = dbelow;
        x->dq[i] = v_fma(g, x->dq[i], dends);
    }
}

/* Row j, which has `some` = min(j, levels) levels. The states of rows are `stride` apart, those of
 * cells `step`. */
LTH__COPIED void forward_row(const int levels, const int some, const short_way way,
                             const lth__ssk_short *job, short_room x, size_t j, short_line *total) {
    const vec g = v_set1((real)job->gap), *S = x.S + j * job->cols;
    const size_t step = (size_t)(way == BY_GAP ? 2 * levels : levels);
    const size_t stride = way == KEEPING ? job->cols * step : 0;
    vec *P = x.P + j * stride, *next = P + stride, *Q = x.Q + j * stride;
    short_line line = *total;
#pragma GCC unroll 8
    for (int i = 0; i < levels; i++) line.q[i] = line.dq[i] = v_zero();
#pragma GCC unroll 8
    for (int k = 0; k < some; k++) {
        size_t at = (size_t)k * step;
        if ((size_t)k < job->cols)
            forward_cell(levels, k, way, g, S[k], P + at, next + at, Q + at, &line);
    }
    for (size_t k = (size_t)some; k < job->cols; k++) {
        size_t at = k * step;
        forward_cell(levels, some, way, g, S[k], P + at, next + at, Q + at, &line);
    }
    *total = line;
}

/* The last row, with all levels: nothing follows on it. */
LTH__COPIED void forward_end(const int levels, const short_way way, const lth__ssk_short *job,
                             short_room x, size_t j, short_line *total) {
    const size_t step = (size_t)(way == BY_GAP ? 2 * levels : levels);
    const vec *S = x.S + j * job->cols, *P = x.P + (way == KEEPING ? j * job->cols * step : 0);
    for (size_t k = 0; k < job->cols; k++) {
        total->sum[0] += S[k];
#pragma GCC unroll 8
        for (int i = 0; i < levels; i++) {
            const vec *p = P + k * step + i;
            if (k <= (size_t)i) continue;
            total->sum[i + 1] = v_fma(S[k], p[0], total->sum[i + 1]);
            if (way == BY_GAP) total->dsum[i + 1] = v_fma(S[k], p[levels], total->dsum[i + 1]);
        }
    }
}

LTH__COPIED void go_forward(const int levels, const short_way way, const lth__ssk_short *job,
                            short_room x, double *value, double *slope) {
    short_line total;
    size_t j = (size_t)levels;
#pragma GCC unroll 8
    for (int i = 0; i <= levels; i++) total.sum[i] = total.dsum[i] = v_zero();
#pragma GCC unroll 8
    for (int i = 0; i < levels; i++) {
        if ((size_t)i < job->rows) forward_row(levels, i, way, job, x, (size_t)i, &total);
    }
    for (; j + 1 < job->rows; j++) forward_row(levels, levels, way, job, x, j, &total);
    if (j < job->rows) forward_end(levels, way, job, x, j, &total);
#pragma GCC unroll 8
    for (int i = 0; i <= levels; i++) v_store_double(value + (size_t)i * LANES, total.sum[i]);
    if (way != BY_GAP) return;
    vec by_gap = v_zero();
#pragma GCC unroll 8
    for (int i = 1; i <= levels; i++)
        by_gap = v_fma(v_set1((real)job->nu[i]), total.dsum[i], by_gap);
    v_store_double(slope + LTH__SHORT_BY_GAP * LANES, by_gap);
}

/* ---- Back ---- */

/* One cell: `some` of its levels have a P, `behind` have a v. E is where S was. */
LTH__COPIED void backward_cell(const int levels, const int some, const int behind, vec g, vec *E,
                               const vec *P, const vec *Q, vec *restrict R, const vec *nu, vec *v,
                               vec *by_gap) {
    vec s = *E, e = nu[0] + v[0];
#pragma GCC unroll 8
    for (int i = 0; i < levels && i <= some; i++) {
        by_gap[i] = v_fma(v[i], Q[i], by_gap[i]);
        vec next = nu[i + 1], r = R[i];
        if (i + 1 < levels) next += v[i + 1];
        if (i < some) {
            by_gap[i] = v_fma(r, P[i], by_gap[i]);
            e = v_fma(next, P[i], e);
        }
        if (i < behind) v[i] = v_fma(g, v[i], r);
        if (i < some) R[i] = v_fma(g, r, s * next);
    }
    *E = e * s;
}

LTH__COPIED void backward_row(const int levels, const int some, const lth__ssk_short *job,
                              short_room x, size_t j, const vec *nu, vec *total) {
    const size_t step = (size_t)levels, stride = job->cols * step;
    const vec g = v_set1((real)job->gap), *P = x.P + j * stride, *Q = x.Q + j * stride;
    vec *S = x.S + j * job->cols, v[LTH__MAX_ORDER], by_gap[LTH__MAX_ORDER];
    const int behind = some < levels ? some + 1 : levels;
#pragma GCC unroll 8
    for (int i = 0; i <= levels; i++) {
        v[i] = v_zero();
        by_gap[i] = total[i];
    }
    for (size_t k = job->cols; k-- > (size_t)some + 1;) {
        size_t at = k * step;
        backward_cell(levels, some, behind, g, S + k, P + at, Q + at, x.R + at, nu, v, by_gap);
    }
#pragma GCC unroll 9
    for (int k = some; k >= 0; k--) {
        size_t at = (size_t)k * step;
        if ((size_t)k < job->cols)
            backward_cell(levels, k, k < levels ? k : levels, g, S + k, P + at, Q + at, x.R + at,
                          nu, v, by_gap);
    }
#pragma GCC unroll 8
    for (int i = 0; i <= levels; i++) total[i] = by_gap[i];
}

/* The last row, with all levels: R and v begin there. */
LTH__COPIED void backward_end(const int levels, const lth__ssk_short *job, short_room x, size_t j,
                              const vec *nu) {
    const size_t step = (size_t)levels;
    vec *S = x.S + j * job->cols;
    const vec *P = x.P + j * job->cols * step;
    for (size_t k = 0; k < job->cols; k++) {
        vec s = S[k], e = nu[0];
#pragma GCC unroll 8
        for (int i = 0; i < levels; i++) {
            size_t at = k * step + (size_t)i;
            x.R[at] = s * nu[i + 1];
            if (k > (size_t)i) e = v_fma(nu[i + 1], P[at], e);
        }
        S[k] = e * s;
    }
}

LTH__COPIED void go_back(const int levels, const lth__ssk_short *job, short_room x, double *slope) {
    vec nu[LTH__MAX_ORDER], by_gap[LTH__MAX_ORDER];
#pragma GCC unroll 8
    for (int i = 0; i <= levels; i++) {
        nu[i] = v_set1((real)job->nu[i]);
        by_gap[i] = v_zero();
    }
    size_t j = job->rows;
    if (j > (size_t)levels)
        backward_end(levels, job, x, --j, nu);
    else
        memset(x.R, 0, job->cols * (size_t)levels * sizeof *x.R);
    while (j > (size_t)levels) backward_row(levels, levels, job, x, --j, nu, by_gap);
#pragma GCC unroll 8
    for (int i = levels - 1; i >= 0; i--) {
        if ((size_t)i < j) backward_row(levels, i, job, x, (size_t)i, nu, by_gap);
    }
#pragma GCC unroll 8
    for (int i = 1; i <= levels; i++) by_gap[0] += by_gap[i];
    v_store_double(slope + LTH__SHORT_BY_GAP * LANES, by_gap[0]);
}

/* From E of all cells. */
static __attribute__((noinline)) void add_similarities(const lth__ssk_short *job, short_room x,
                                                       double *slope) {
    const vec *row_slope = job->row_slope, *col_slope = job->col_slope;
    vec by_decay = v_zero(), by_rarity = v_zero();
    for (size_t j = 0; j < job->rows; j++) {
        const vec *E = x.S + j * job->cols, *D = x.D + j * job->cols;
        for (size_t k = 0; k < job->cols; k++) {
            if (job->decays) by_decay = v_fma(E[k], D[k], by_decay);
            if (row_slope) by_rarity = v_fma(E[k], row_slope[j] + col_slope[k], by_rarity);
        }
    }
    v_store_double(slope + LTH__SHORT_BY_DECAY * LANES, v_zero() - by_decay);
    v_store_double(slope + LTH__SHORT_BY_RARITY * LANES, by_rarity);
}

LTH__COPIED void short_pass(const int n, const lth__ssk_short *job, double *value, double *slope) {
    const short_way way = way_of(job, slope != NULL);
    short_room x;
    share_room(job, way, &x);
    find_similarities(job, x);
    if (way == VALUES) {
        go_forward(n - 1, VALUES, job, x, value, NULL);
    } else if (way == BY_GAP) {
        go_forward(n - 1, BY_GAP, job, x, value, slope);
    } else {
        go_forward(n - 1, KEEPING, job, x, value, NULL);
        go_back(n - 1, job, x, slope);
        add_similarities(job, x, slope);
    }
}

#define SHORT_OF_ORDER(name, n)                                                                    \
    static __attribute__((noinline)) void name(const lth__ssk_short *job, double *value,           \
                                               double *slope) {                                    \
        short_pass(n, job, value, slope);                                                          \
    }

SHORT_OF_ORDER(short_any, (int)job->order)
SHORT_OF_ORDER(short_3, 3)
#ifndef LTH_FEW_ORDERS
SHORT_OF_ORDER(short_1, 1)
SHORT_OF_ORDER(short_2, 2)
SHORT_OF_ORDER(short_4, 4)
SHORT_OF_ORDER(short_5, 5)
#endif

static void ssk_short(const lth__ssk_short *job, double *value, double *slope) {
    switch (job->order) {
    case 3: short_3(job, value, slope); return;
#ifndef LTH_FEW_ORDERS
    case 1: short_1(job, value, slope); return;
    case 2: short_2(job, value, slope); return;
    case 4: short_4(job, value, slope); return;
    case 5: short_5(job, value, slope); return;
#endif
    default: short_any(job, value, slope);
    }
}
