/* Where short patterns stand in `LANES` texts at a time: included after ssk_lanes.h, whose numbers
 * these are.
 *
 * A pattern u of n symbols, taken for a text, has one tuple of n places, so k_n(u, t) needs one
 * state for each of its symbols, where k_1 .. k_n need n:
 *
 *     A_i = S[i,k] Q_(i-1)      Q_i <- gap Q_i + A_i along k      k_n(u, t) = sum over k of A_n
 *
 * with Q_0 = 1. Patterns that begin alike have these states in common: sorted, each begins where it
 * differs from the one before.
 */

static size_t patterns_scratch(size_t cols) {
    return (LTH__MOST_UNITS - 1) * cols * sizeof(vec);
}

/* A_n of one more symbol, summed as ssk() does it. `before` NULL = 1 everywhere, `after` NULL = is
 * not needed. */
LTH__COPIED vec add_unit(const lth__pattern_job *job, uint32_t symbol, const vec *before,
                         vec *restrict after) {
    const scheme c = plan(job->order, LTH__MATCH_EXACT, ALONG_NOTHING);
    const size_t columns = block_columns(&c);
    const vec g = v_set1((real)job->gap), one = v_set1(1);
    vec total = v_zero(), q = v_zero();
    uint32_t symbols[LANES];
    for (size_t lane = 0; lane < LANES; lane++) symbols[lane] = symbol;
    for (size_t first = 0; first < job->cols; first += columns) {
        size_t last = job->cols - first < columns ? job->cols : first + columns;
        vec sum = v_zero();
        for (size_t k = first; k < last; k++) {
            vec a = v_keep(v_equal(symbols, job->t + k * LANES), before ? before[k] : one);
            sum += a;
            if (!after) continue;
            after[k] = q;
            q = v_fma(g, q, a);
        }
        total += sum;
    }
    return total;
}

static void patterns(const lth__pattern_job *job, double *value) {
    vec *state = job->scratch;
    for (size_t i = 0; i < job->count; i++) {
        const lth__pattern *p = &job->pattern[i];
        vec sum = v_zero();
        for (size_t n = p->shared; n < p->units; n++) {
            vec *after = state + n * job->cols;
            const vec *before = after - job->cols;
            if (n == 0)
                sum = add_unit(job, p->unit[n], NULL, after);
            else if (n + 1 < LTH__MOST_UNITS)
                sum = add_unit(job, p->unit[n], before, after);
            else
                sum = add_unit(job, p->unit[n], before, NULL);
        }
        v_store_double(value + i * LANES, sum);
    }
}
