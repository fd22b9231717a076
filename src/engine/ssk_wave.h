/* The subsequence kernel of one pair of long strings, whose lanes are consecutive rows. Included
 * after ssk_lanes.h, whose recurrence this is.
 *
 * A stripe of LANES rows moves over the columns askew, each row one column behind the row above:
 *
 *              columns of t ->
 *     row 0    . . . . x          x: the cells of one step. What row 0 leaves in P[k] is what row 1
 *     row 1    . . . x            needs in the next step, so P moves down one lane at each step;
 * the row 2    . . x              first lane takes it from the stripe above, and the last lane row
 * 3    . x                leaves it for the stripe below.
 */

static size_t wave_scratch(const lth__ssk_wave *job, bool tangent) {
    return (job->cols + 2 * LANES) * (job->order - 1) * (tangent ? 2 : 1) * sizeof(real) + 64;
}

INLINE void wave_stripe(const int n, bool exact, bool tangent, const lth__ssk_wave *job,
                        const uint32_t *s, real *edge, vec *restrict sum, vec *restrict dsum) {
    const int levels = n - 1, kinds = tangent ? 2 : 1;
    const size_t width = (size_t)(levels * kinds), steps = job->cols + LANES - 1;
    const vec g = v_set1((real)job->gap), one = v_set1(1);
    vec p[LTH__MAX_ORDER], q[LTH__MAX_ORDER], dp[LTH__MAX_ORDER], dq[LTH__MAX_ORDER];
    /* edge[LANES - 1 + k] is P of column k above this stripe, then below it. */
    const real *above = edge + (LANES - 1) * width;
#pragma GCC unroll 8
    for (int i = 0; i < levels; i++) {
        p[i] = v_shift_in(v_zero(), above[i * kinds]);
        dp[i] = tangent ? v_shift_in(v_zero(), above[i * kinds + 1]) : v_zero();
        q[i] = dq[i] = v_zero();
    }
    for (size_t step = 0; step < steps; step++) {
        const uint32_t *t = job->t + (steps - 1 - step);
        const real *next_above = edge + (step + LANES) * width;
        real *below = edge + step * width;
        mask equal = v_equal(s, t);
        vec sim = exact ? one : v_gather(job->table, s, t);
        vec a = times_sim(exact, equal, &sim, one), da = v_zero();
        sum[0] += a;
#pragma GCC unroll 8
        for (int i = 0; i < levels; i++) {
            vec a_next = times_sim(exact, equal, &sim, p[i]);
            sum[i + 1] += a_next;
            if (tangent) {
                vec da_next = times_sim(exact, equal, &sim, dp[i]);
                dsum[i + 1] += da_next;
                vec slope = v_fma(g, dp[i], p[i]) + dq[i];
                below[i * kinds + 1] = v_last(slope);
                dp[i] = v_shift_in(slope, next_above[i * kinds + 1]);
                dq[i] = v_fma(g, dq[i], q[i]) + da;
                da = da_next;
            }
            vec state = v_fma(g, p[i], q[i]);
            below[i * kinds] = v_last(state);
            p[i] = v_shift_in(state, next_above[i * kinds]);
            q[i] = v_fma(g, q[i], a);
            a = a_next;
        }
    }
}

static double sum_lanes(vec x) {
    double lane[LANES], sum = 0;
    v_store_double(lane, x);
    for (size_t i = 0; i < LANES; i++) sum += lane[i];
    return sum;
}

INLINE void wave_for(const int n, bool exact, bool tangent, const lth__ssk_wave *job, double *value,
                     double *slope) {
    vec sum[LTH__MAX_ORDER], dsum[LTH__MAX_ORDER], total[LTH__MAX_ORDER], dtotal[LTH__MAX_ORDER];
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) sum[i] = dsum[i] = total[i] = dtotal[i] = v_zero();
    memset(job->scratch, 0, wave_scratch(job, tangent));
    for (size_t j = 0; j < job->rows; j += LANES) {
        wave_stripe(n, exact, tangent, job, job->s + j, job->scratch, sum, dsum);
        flush_sums(n, tangent, sum, dsum, total, dtotal);
        if (job->stops && job->stops(job->user)) return;
    }
    for (int i = 0; i < n; i++) {
        value[i] = sum_lanes(total[i]);
        if (tangent) slope[i] = sum_lanes(dtotal[i]);
    }
}

INLINE void wave_by_order(bool exact, bool tangent, const lth__ssk_wave *job, double *value,
                          double *slope) {
    const int n = (int)job->order;
    switch (n) {
    case 3: wave_for(3, exact, tangent, job, value, slope); break;
#ifndef LTH_FEW_ORDERS
    case 2: wave_for(2, exact, tangent, job, value, slope); break;
    case 4: wave_for(4, exact, tangent, job, value, slope); break;
    case 5: wave_for(5, exact, tangent, job, value, slope); break;
    case 6: wave_for(6, exact, tangent, job, value, slope); break;
#endif
    default: wave_for(n, exact, tangent, job, value, slope);
    }
}

static void ssk_wave(const lth__ssk_wave *job, double *value, double *tangent) {
    bool exact = job->table == NULL;
    if (exact && !tangent)
        wave_by_order(true, false, job, value, NULL);
    else if (exact)
        wave_by_order(true, true, job, value, tangent);
    else if (!tangent)
        wave_by_order(false, false, job, value, NULL);
    else
        wave_by_order(false, true, job, value, tangent);
}
