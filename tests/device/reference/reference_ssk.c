/* The string kernel of the reference device.
 *
 *     k_i = sum of products of similarities over all pairs of subsequences of i symbols, each gap
 *           in one of the two strings weighing `gap`
 *
 * cell by cell: P_i(c) is what subsequences of i symbols that end before this row weigh at column
 * c, Q_i the same along the row. Numbers are doubles, whatever precision is asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "reference_device.h"

/* ---- Sequences ---- */

static void free_strings(lth__device *d, lth__device_strings *s) {
    lth__ref_drop(d, s->start);
    lth__ref_drop(d, s->symbols);
    free(s);
}

lth_status lth__ref_strings(lth__device *d, const uint32_t *symbols, const size_t *start,
                            size_t count, lth__device_strings **out, lth_error *err) {
    LTH__REF_DO(d);
    lth__device_strings *s = calloc(1, sizeof *s);
    if (!s) return lth__ref_fail(err, LTH_ENOMEM, "out of memory");
    *s = (lth__device_strings){.gpu = d->gpu, .count = count};
    void *place;
    lth_status status = lth__ref_put(d, start, (count + 1) * sizeof *start, &place, err);
    if (status == LTH_OK) s->start = place;
    /* Numbers of symbols count from the beginning of their array. */
    if (status == LTH_OK)
        status = lth__ref_put(d, symbols, start[count] * sizeof *symbols, &place, err);
    if (status == LTH_OK) s->symbols = place;
    for (size_t i = 0; i < count; i++) {
        size_t length = start[i + 1] - start[i];
        if (length > s->longest) s->longest = length;
    }
    if (status == LTH_OK)
        *out = s;
    else
        free_strings(d, s);
    return status;
}

void lth__ref_strings_free(lth__device *d, lth__device_strings *s) {
    LTH__REF_USE(d);
    lth__ref_check_gpu(d, s->gpu, "a collection of strings");
    free_strings(d, s);
}

lth__ref_string lth__ref_string_at(const lth__device_strings *s, size_t item) {
    if (item >= s->count) lth__ref_abort("there is no string %zu among %zu", item, s->count);
    return (lth__ref_string){s->symbols + s->start[item], s->start[item + 1] - s->start[item]};
}

/* ---- One pair ---- */

typedef struct result {
    double k[LTH__DEVICE_ORDERS], dk[LTH__DEVICE_ORDERS];
} result;

static double entry(const lth__device_ssk *job, const void *table, uint32_t a, uint32_t b) {
    if (a >= job->stride || b >= job->stride)
        lth__ref_abort("symbols %u and %u in a table of %zu", a, b, job->stride);
    size_t at = a * job->stride + b;
    return job->precision == LTH_F32 ? ((const float *)table)[at] : ((const double *)table)[at];
}

/* One cell: A is what subsequences that end here weigh; P is the column's, Q the row's, each with
 * its derivative behind it. */
LTH__REF_UNWATCHED static void visit(const lth__device_ssk *job, double S, double dS, double *P,
                                     double *Q, bool slope, result *x) {
    size_t order = job->order;
    double gap = job->gap, dgap = job->slope ? 0 : 1, A = S, dA = dS;
    double *dP = P + order, *dQ = Q + order;
    x->k[0] += A;
    x->dk[0] += dA;
    for (size_t i = 1; i < order; i++) {
        double next = S * P[i], dnext = 0;
        if (slope) {
            dnext = S * dP[i] + dS * P[i];
            dP[i] = gap * dP[i] + dgap * P[i] + dQ[i];
            dQ[i] = gap * dQ[i] + dgap * Q[i] + dA;
            x->dk[i] += dnext;
        }
        P[i] = gap * P[i] + Q[i];
        Q[i] = gap * Q[i] + A;
        x->k[i] += next;
        A = next;
        dA = dnext;
    }
}

/* Row by row, since a long sum rounds each of its terms. */
static void add_row(const result *row, size_t order, result *x) {
    for (size_t i = 0; i < order; i++) {
        x->k[i] += row->k[i];
        x->dk[i] += row->dk[i];
    }
}

/* room: 2 * order for each column, and for the row. */
static void compare(const lth__device_ssk *job, lth__ref_string s, lth__ref_string t, bool slope,
                    double *room, result *x) {
    size_t order = job->order;
    double *Q = room + 2 * order * t.length;
    *x = (result){0};
    memset(room, 0, 2 * order * t.length * sizeof *room);
    for (size_t r = 0; r < s.length; r++) {
        result row = {0};
        memset(Q, 0, 2 * order * sizeof *Q);
        for (size_t c = 0; c < t.length; c++) {
            uint32_t a = s.symbol[r], b = t.symbol[c];
            double S = job->table ? entry(job, job->table, a, b) : a == b;
            double dS = job->slope ? entry(job, job->slope, a, b) : 0;
            visit(job, S, dS, room + 2 * order * c, Q, slope, &row);
        }
        add_row(&row, order, x);
    }
}

/* ---- All pairs ---- */

static void store(const lth__device_ssk *job, size_t r, size_t c, const result *x) {
    size_t plane = job->panel.rows * job->ld, at = r * job->ld + c;
    double value = 0;
    for (size_t i = 0; i < job->order; i++) {
        value += job->nu[i] * x->k[i];
        if (job->planes) job->planes[i * plane + at] = x->k[i];
        if (job->tangents) job->tangents[i * job->panel.rows + r] = x->dk[i];
    }
    if (job->K) job->K[at] = value;
}

static void pull(const lth__device_ssk *job, double weight, const result *x) {
    for (size_t i = 0; i < job->order; i++) {
        job->value_sums[i] += weight * x->k[i];
        *job->tangent_sum += weight * job->nu[i] * x->dk[i];
    }
}

static void do_pair(const lth__device_ssk *job, size_t r, size_t c, double *room) {
    const lth__panel *p = &job->panel;
    bool mirrored = p->symmetric && c < p->rows && r != c;
    if (mirrored && c < r) return; /* the other one stands for both */
    result x;
    lth__ref_string s = lth__ref_string_at(job->rows, p->first_row + r);
    lth__ref_string t = job->only_diagonal ? s : lth__ref_string_at(job->cols, p->first_col + c);
    compare(job, s, t, job->W || job->tangents, room, &x);
    store(job, r, c, &x);
    if (mirrored) store(job, c, r, &x);
    if (job->W) pull(job, (mirrored ? 2 : 1) * job->W[r * job->ld + c], &x);
}

static void check_job(const lth__device *d, const lth__device_ssk *job) {
    const lth__panel *p = &job->panel;
    size_t real = job->precision == LTH_F32 ? sizeof(float) : sizeof(double);
    size_t last = p->rows > 0 ? (p->rows - 1) * job->ld + p->cols : 0;
    lth__ref_check_gpu(d, job->rows->gpu, "a collection of strings");
    lth__ref_check_gpu(d, job->cols->gpu, "a collection of strings");
    lth__ref_check(d, job->table, job->stride * job->stride * real, "a table of similarities");
    lth__ref_check(d, job->slope, job->stride * job->stride * real, "a table of similarities");
    lth__ref_check_panel(d, job->K, job->ld, p, "K of ssk");
    lth__ref_check_panel(d, job->W, job->ld, p, "W of ssk");
    lth__ref_check_numbers(d, job->planes, (job->order - 1) * p->rows * job->ld + last,
                           "planes of ssk");
    lth__ref_check_numbers(d, job->tangents, job->order * p->rows, "tangents of ssk");
    if (job->tangents && !job->only_diagonal) lth__ref_abort("tangents are for the diagonal alone");
    if (p->symmetric && (p->first_row != p->first_col || job->rows != job->cols))
        lth__ref_abort("a panel that is not symmetric");
}

static lth_status do_pairs(lth__device *d, const lth__device_ssk *job, lth_error *err) {
    size_t longest = job->cols->longest;
    void *room;
    lth_status status =
        lth__ref_get(d, 2 * job->order * (longest + 1) * sizeof(double), &room, err);
    if (status != LTH_OK) return status;
    for (size_t i = 0; job->W && i < job->order; i++) job->value_sums[i] = 0;
    if (job->W) *job->tangent_sum = 0;
    for (size_t r = 0; r < job->panel.rows; r++)
        for (size_t c = 0; c < job->panel.cols; c++) do_pair(job, r, c, room);
    lth__ref_drop(d, room);
    return LTH_OK;
}

lth_status lth__ref_ssk(lth__device *d, const lth__device_ssk *given, lth_error *err) {
    LTH__REF_DO(d);
    if (given->order < 1 || given->order > LTH__DEVICE_ORDERS)
        return lth__ref_fail(err, LTH_EUNSUPPORTED, "a GPU compares orders 1 to %d",
                             LTH__DEVICE_ORDERS);
    lth__device_ssk job = *given;
    if (job.only_diagonal) {
        job.panel =
            (lth__panel){.first_row = job.panel.first_row, .rows = job.panel.rows, .cols = 1};
        job.cols = job.rows;
        job.ld = 1;
    }
    check_job(d, &job);
    return do_pairs(d, &job, err);
}
