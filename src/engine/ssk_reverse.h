/* The reverse pass of the subsequence kernel: d/dS[j,k] of sum_i w_i k_i, for every position pair.
 * It is what parameters of the similarity and explanations are made of. Included after ssk_lanes.h.
 *
 *     Abar_i(j,k) = w_i + sum over j' > j, k' > k of gap^(j'-j-1 + k'-k-1) S[j',k']
 * Abar_(i+1)(j',k') Sbar = sum_i Abar_i P_(i-1)
 *
 * so the adjoints obey the forward recurrence read backwards, and need P of every row. P is stored
 * for a band of rows at a time and recomputed from the state saved at each band's first row.
 */

enum { BAND_BYTES = 1024 * 1024 };

typedef struct bands {
    size_t row_vectors; /* of P */
    size_t height, count;
} bands;

static bands cut_bands(const lth__ssk_job *job) {
    bands b = {.row_vectors = (job->order - 1) * job->cols};
    size_t row_bytes = b.row_vectors * sizeof(vec) + 1;
    b.height = BAND_BYTES / row_bytes;
    /* Bands of sqrt(rows) need the least memory; more only where it is cheap. */
    while (b.height * b.height < job->rows) b.height++;
    if (b.height > job->rows) b.height = job->rows;
    b.count = b.height == 0 ? 0 : (job->rows + b.height - 1) / b.height;
    return b;
}

static size_t ssk_reverse_scratch(const lth__ssk_job *job) {
    bands b = cut_bands(job);
    size_t vectors = b.row_vectors * (b.height + b.count + 2);
    return vectors * sizeof(vec) + job->cols * LANES * sizeof(double);
}

static inline vec sim_at(const lth__ssk_job *job, size_t j, size_t k) {
    const uint32_t *s = job->s + j * LANES, *t = job->t + k * LANES;
    if (job->match == LTH__MATCH_EXACT) return v_keep(v_equal(s, t), v_set1(1));
    return v_gather(job->table, s, t);
}

/* P of row j becomes P of row j + 1. */
LTH__COPIED void advance_levels(const size_t levels, const lth__ssk_job *job, size_t j, vec *P) {
    const vec g = v_set1((real)job->gap);
    vec q[LTH__MAX_ORDER];
    for (size_t i = 0; i < levels; i++) q[i] = v_zero();
    for (size_t k = 0; k < job->cols; k++, P += levels) {
        vec s = sim_at(job, j, k), a = s;
#pragma GCC unroll 4
        for (size_t i = 0; i < levels; i++) {
            vec a_next = s * P[i];
            P[i] = v_fma(g, P[i], q[i]);
            q[i] = v_fma(g, q[i], a);
            a = a_next;
        }
    }
}

/* Writes Sbar of row j and moves the adjoint state R from row j + 1 to row j. */
LTH__COPIED void retreat_levels(const size_t levels, const lth__ssk_job *job, size_t j,
                                const vec *P, vec *restrict R, const vec *weight,
                                double *restrict out) {
    const vec g = v_set1((real)job->gap);
    vec v[LTH__MAX_ORDER];
    for (size_t i = 0; i < levels; i++) v[i] = v_zero();
    for (size_t k = job->cols; k-- > 0;) {
        const vec *p = P + k * levels;
        vec *restrict r = R + k * levels;
        vec s = sim_at(job, j, k), before = v_set1(1), sbar = v_zero();
#pragma GCC unroll 5
        for (size_t i = 0; i <= levels; i++) {
            vec abar = weight[i];
            if (i < levels) abar += r[i];
            sbar = v_fma(abar, before, sbar);
            if (i < levels) before = p[i];
            if (i > 0) {
                r[i - 1] = v_fma(g, r[i - 1], v[i - 1]);
                v[i - 1] = v_fma(g, v[i - 1], s * abar);
            }
        }
        v_store_double(out + k * LANES, sbar);
    }
}

/* Asked in one of so many rows. */
static bool stops_at(const lth__ssk_job *job, size_t j) {
    size_t rows = CELLS_TO_ASK / (job->cols * job->order + 1) + 1;
    return job->stops && j % rows == rows - 1 && job->stops(job->user);
}

/* The usual orders keep what goes along a row in registers. */
static void advance_row(const lth__ssk_job *job, size_t j, vec *P) {
    switch (job->order) {
    case 2: advance_levels(1, job, j, P); break;
    case 3: advance_levels(2, job, j, P); break;
    case 4: advance_levels(3, job, j, P); break;
    case 5: advance_levels(4, job, j, P); break;
    default: advance_levels(job->order - 1, job, j, P);
    }
}

static void retreat_row(const lth__ssk_job *job, size_t j, const vec *P, vec *R, const vec *weight,
                        double *out) {
    switch (job->order) {
    case 2: retreat_levels(1, job, j, P, R, weight, out); break;
    case 3: retreat_levels(2, job, j, P, R, weight, out); break;
    case 4: retreat_levels(3, job, j, P, R, weight, out); break;
    case 5: retreat_levels(4, job, j, P, R, weight, out); break;
    default: retreat_levels(job->order - 1, job, j, P, R, weight, out);
    }
}

static bool ssk_reverse(const lth__ssk_job *job, const double *weight, lth__ssk_emit *emit,
                        void *user) {
    const bands b = cut_bands(job);
    const size_t row_bytes = b.row_vectors * sizeof(vec);
    vec *P = job->scratch, *R = P + b.row_vectors, *saved = R + b.row_vectors;
    vec *stored = saved + b.row_vectors * b.count;
    double *out = (double *)(stored + b.row_vectors * b.height);
    vec w[LTH__MAX_ORDER];
    for (size_t i = 0; i < job->order; i++) w[i] = v_load_double(weight + i * LANES);

    memset(P, 0, row_bytes);
    memset(R, 0, row_bytes);
    for (size_t band = 0; band < b.count; band++) {
        memcpy(saved + band * b.row_vectors, P, row_bytes);
        if (band + 1 == b.count) break;
        for (size_t j = 0; j < b.height; j++) {
            if (stops_at(job, band * b.height + j)) return false;
            advance_row(job, band * b.height + j, P);
        }
    }
    for (size_t band = b.count; band-- > 0;) {
        size_t first = band * b.height;
        size_t rows = job->rows - first < b.height ? job->rows - first : b.height;
        memcpy(P, saved + band * b.row_vectors, row_bytes);
        for (size_t j = 0; j < rows; j++) {
            if (stops_at(job, first + j)) return false;
            memcpy(stored + j * b.row_vectors, P, row_bytes);
            advance_row(job, first + j, P);
        }
        for (size_t j = rows; j-- > 0;) {
            if (stops_at(job, first + j)) return false;
            retreat_row(job, first + j, stored + j * b.row_vectors, R, w, out);
            emit(user, first + j, out);
        }
    }
    return true;
}
