#include "model/common/krylov.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---- Tridiagonal matrices: rotations that chase a shift off the diagonal ---- */

enum { MOST_SWEEPS = 60 };

static void rotate_columns(size_t n, double *Q, size_t i, double c, double s) {
    for (size_t k = 0; k < n; k++) {
        double a = Q[k * n + i], b = Q[k * n + i + 1];
        Q[k * n + i] = c * a - s * b;
        Q[k * n + i + 1] = s * a + c * b;
    }
}

/* The eigenvalue of the corner's 2 x 2 matrix that is nearer to d[first]. */
static double corner_shift(const double *d, const double *e, size_t first) {
    double half = (d[first + 1] - d[first]) / 2, root = hypot(half, e[first]);
    return d[first] - e[first] * (e[first] / (half + copysign(root, half)));
}

/* One implicit step on the block first .. last: from its end upwards. */
static void sweep(size_t n, double *d, double *e, double *Q, size_t first, size_t last) {
    double s = 1, c = 1, p = 0, g = d[last] - corner_shift(d, e, first);
    for (size_t i = last; i-- > first;) {
        double f = s * e[i], b = c * e[i], r = hypot(f, g);
        if (i + 1 < last) e[i + 1] = r;
        if (r == 0) { /* it falls apart here */
            d[i + 1] -= p;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        rotate_columns(n, Q, i, c, s);
    }
    d[first] -= p;
    e[first] = g;
}

/* Where the block that begins at `first` ends: at the first number off the diagonal that is 0. */
static size_t end_of_block(size_t n, const double *d, double *e, size_t first) {
    size_t last = first;
    while (last + 1 < n && fabs(e[last]) > 1e-16 * (fabs(d[last]) + fabs(d[last + 1]))) last++;
    if (last + 1 < n) e[last] = 0;
    return last;
}

bool lth__tridiagonal(size_t n, double *diagonal, double *off, double *Q) {
    memset(Q, 0, n * n * sizeof *Q);
    for (size_t i = 0; i < n; i++) Q[i * n + i] = 1;
    for (size_t first = 0; first < n; first++) {
        for (int sweeps = 0;; sweeps++) {
            size_t last = end_of_block(n, diagonal, off, first);
            if (last == first) break;
            if (sweeps == MOST_SWEEPS) return false;
            sweep(n, diagonal, off, Q, first, last);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(diagonal[i])) return false;
    }
    return true;
}

/* ---- What Lanczos needs of each step ---- */

/* For each column: r^T z, the step's length (0 = it was done before), and z. */
typedef struct step {
    double *rho, *length;
    float *Z;
} step;

typedef struct history {
    step *steps;
    size_t count, capacity;
} history;

static void free_history(history *h) {
    for (size_t i = 0; i < h->count; i++) {
        lth__free(h->steps[i].rho);
        lth__free(h->steps[i].Z);
    }
    lth__free(h->steps);
}

/* ---- Conjugate gradients ---- */

typedef struct gradients {
    const lth__krylov *k;
    size_t m;
    double *X, *R, *Z, *D, *Q;         /* n x m: solution, residual, P^-1 R, direction, G D */
    double *rho, *length, *sum, *goal; /* m: r^T z; of the step; room; |r| to be reached     */
    bool *done;
    double *room;
    history *history; /* or NULL */
} gradients;

static lth_status open(gradients *g, const lth__krylov *k, size_t m, lth_error *err) {
    size_t cells = k->n * m, count = 4 * cells + 4 * m;
    *g = (gradients){.k = k, .m = m, .room = lth__alloc(count, sizeof(double))};
    g->done = lth__calloc(m, sizeof *g->done);
    if (!g->room || !g->done) return lth__fail_memory(err, count * sizeof(double));
    g->R = g->room;
    g->Z = g->R + cells;
    g->D = g->Z + cells;
    g->Q = g->D + cells;
    g->rho = g->Q + cells;
    g->length = g->rho + m;
    g->sum = g->length + m;
    g->goal = g->sum + m;
    return LTH_OK;
}

static void close(gradients *g) {
    lth__free(g->room);
    lth__free(g->done);
}

/* out[j] = the inner product of the two columns j. */
static void inner(const gradients *g, const double *A, const double *B, double *out) {
    memset(out, 0, g->m * sizeof *out);
    for (size_t i = 0; i < g->k->n; i++) {
        for (size_t j = 0; j < g->m; j++) out[j] += A[i * g->m + j] * B[i * g->m + j];
    }
}

static bool all_done(gradients *g) {
    bool all = true;
    inner(g, g->R, g->R, g->sum);
    for (size_t j = 0; j < g->m; j++) {
        g->done[j] |= sqrt(g->sum[j]) <= g->goal[j];
        all &= g->done[j];
    }
    return all;
}

static lth_status precondition(gradients *g, lth_error *err) {
    const lth__krylov *k = g->k;
    if (k->precondition) return k->precondition(k->preconditioner, g->m, g->R, g->Z, err);
    memcpy(g->Z, g->R, k->n * g->m * sizeof *g->Z);
    return LTH_OK;
}

/* Z, r^T z and the direction: z at first, and then z less what was searched already. */
static lth_status turn(gradients *g, bool first, lth_error *err) {
    LTH_TRY(precondition(g, err));
    inner(g, g->R, g->Z, g->sum);
    for (size_t j = 0; j < g->m; j++) {
        if (!g->done[j] && !(g->sum[j] > 0 && isfinite(g->sum[j]))) return LTH_ENUMERIC;
        double rho = g->sum[j];
        g->sum[j] = first || g->done[j] ? 0 : rho / g->rho[j];
        g->rho[j] = rho;
    }
    for (size_t i = 0; i < g->k->n; i++) {
        for (size_t j = 0; j < g->m; j++) {
            size_t at = i * g->m + j;
            double kept = g->sum[j] != 0 ? g->sum[j] * g->D[at] : 0;
            g->D[at] = g->done[j] ? 0 : g->Z[at] + kept;
        }
    }
    return LTH_OK;
}

static lth_status walk(gradients *g, lth_error *err) {
    LTH_TRY(g->k->multiply(g->k->matrix, g->m, g->D, g->Q, err));
    inner(g, g->D, g->Q, g->sum);
    for (size_t j = 0; j < g->m; j++) {
        g->length[j] = g->done[j] ? 0 : g->rho[j] / g->sum[j];
        if (!g->done[j] && !(g->sum[j] > 0 && isfinite(g->length[j]))) return LTH_ENUMERIC;
    }
    for (size_t i = 0; i < g->k->n; i++) {
        for (size_t j = 0; j < g->m; j++) {
            size_t at = i * g->m + j;
            if (g->X) g->X[at] += g->length[j] * g->D[at];
            g->R[at] -= g->length[j] * g->Q[at];
        }
    }
    return LTH_OK;
}

static lth_status record(gradients *g, lth_error *err) {
    history *h = g->history;
    size_t m = g->m, cells = g->k->n * m;
    if (!lth__reserve((void **)&h->steps, &h->capacity, h->count + 1, sizeof *h->steps))
        return lth__fail_memory(err, 0);
    step *s = &h->steps[h->count];
    *s = (step){.rho = lth__alloc(2 * m, sizeof *s->rho), .Z = lth__alloc(cells, sizeof *s->Z)};
    h->count++; /* to be freed in any case */
    if (!s->rho || !s->Z) return lth__fail_memory(err, cells * sizeof *s->Z);
    s->length = s->rho + m;
    memcpy(s->rho, g->rho, m * sizeof *s->rho);
    memcpy(s->length, g->length, m * sizeof *s->length);
    for (size_t i = 0; i < cells; i++) s->Z[i] = (float)g->Z[i];
    return LTH_OK;
}

/* In orders of magnitude of the residual, of the column that has most of them left. */
static double magnitudes_left(const gradients *g) {
    double most = 0;
    for (size_t j = 0; j < g->m; j++) {
        if (g->goal[j] > 0) most = fmax(most, 0.5 * log(g->sum[j]) - log(g->goal[j]));
    }
    return most;
}

/* Until the residual R is as small as asked for, in each column. */
static lth_status descend(gradients *g, size_t most, size_t *steps, lth_error *err) {
    *steps = 0;
    memset(g->done, 0, g->m * sizeof *g->done);
    if (all_done(g)) return LTH_OK;
    double whole = magnitudes_left(g), left = whole;
    LTH_TRY(turn(g, true, err));
    while (*steps < most) {
        LTH_TRY(walk(g, err));
        ++*steps;
        if (g->history) LTH_TRY(record(g, err));
        if (all_done(g)) break;
        left = fmin(left, magnitudes_left(g)); /* residuals also grow for a while */
        LTH_TRY(lth__tell(g->k->ctx, "conjugate gradients", whole - left, whole, err));
        LTH_TRY(turn(g, false, err));
    }
    return LTH_OK;
}

/* ---- Solutions ---- */

static void set_goals(gradients *g, const double *B) {
    inner(g, B, B, g->goal);
    for (size_t j = 0; j < g->m; j++) g->goal[j] = g->k->tolerance * sqrt(g->goal[j]);
}

/* R = B - G X. The residual that the steps carry along drifts away from it. */
static lth_status look_again(gradients *g, const double *B, lth_error *err) {
    size_t cells = g->k->n * g->m;
    LTH_TRY(g->k->multiply(g->k->matrix, g->m, g->X, g->Q, err));
    for (size_t i = 0; i < cells; i++) g->R[i] = B[i] - g->Q[i];
    return LTH_OK;
}

static double worst_residual(gradients *g) {
    double worst = 0;
    inner(g, g->R, g->R, g->sum);
    for (size_t j = 0; j < g->m; j++) {
        double by = g->goal[j] / g->k->tolerance, residual = by > 0 ? sqrt(g->sum[j]) / by : 0;
        if (!(residual <= worst)) worst = residual;
    }
    return worst;
}

/* Once more from where it ended, while the true residual is larger than asked for. */
static lth_status solve(gradients *g, const double *B, lth__krylov_report *report, lth_error *err) {
    enum { ROUNDS = 3 };
    for (int round = 0; round < ROUNDS; round++) {
        size_t steps;
        LTH_TRY(descend(g, g->k->most - report->steps, &steps, err));
        LTH_TRY(look_again(g, B, err));
        report->steps += steps;
        report->residual = worst_residual(g);
        if (report->residual <= g->k->tolerance || steps == 0) break;
    }
    return LTH_OK;
}

lth_status lth__krylov_solve(const lth__krylov *k, size_t m, const double *B, double *X,
                             lth__krylov_report *report, lth_error *err) {
    gradients g;
    lth_status status = open(&g, k, m, err);
    *report = (lth__krylov_report){0};
    if (status == LTH_OK) {
        g.X = X;
        memset(X, 0, k->n * m * sizeof *X);
        memcpy(g.R, B, k->n * m * sizeof *B);
        set_goals(&g, B);
        status = solve(&g, B, report, err);
    }
    close(&g);
    return status;
}

/* ---- Functions of H ---- */

typedef struct lanczos {
    size_t n;
    double *diagonal, *off, *Q, *weight; /* of T; `weight` of each vector of the basis */
} lanczos;

/* T of one column: 1 / length, and the ratios of r^T z, which are squares of what is off the
 * diagonal. */
static void tridiagonal_of(const history *h, size_t column, lanczos *t) {
    t->n = 0;
    for (size_t i = 0; i < h->count && h->steps[i].length[column] > 0; i++) {
        const step *s = &h->steps[i];
        t->diagonal[i] = 1 / s->length[column];
        if (i > 0) {
            double ratio = s->rho[column] / s[-1].rho[column], before = s[-1].length[column];
            t->diagonal[i] += ratio / before;
            t->off[i - 1] = sqrt(ratio) / before;
        }
        t->n++;
    }
}

/* |z| T^-1/2 e_1 by the lengths of the basis as it is kept, and the two quadratic forms. */
static lth_status measure(const history *h, size_t column, lanczos *t, double *logarithm,
                          double *linear, lth_error *err) {
    *logarithm = *linear = 0;
    tridiagonal_of(h, column, t);
    if (t->n == 0) return LTH_OK;
    double square = h->steps[0].rho[column];
    *linear = square * (t->diagonal[0] - 1);
    if (!lth__tridiagonal(t->n, t->diagonal, t->off, t->Q))
        return lth__fail(err, LTH_ENUMERIC,
                         "the eigenvalues of a tridiagonal matrix are not found");
    memset(t->weight, 0, t->n * sizeof *t->weight);
    for (size_t e = 0; e < t->n; e++) {
        double value = t->diagonal[e], first = t->Q[e];
        if (!(value > 0)) return LTH_ENUMERIC;
        *logarithm += square * first * first * log(value);
        for (size_t i = 0; i < t->n; i++) t->weight[i] += t->Q[i * t->n + e] * first / sqrt(value);
    }
    for (size_t i = 0; i < t->n; i++)
        t->weight[i] *= (i % 2 ? -1 : 1) * sqrt(square / h->steps[i].rho[column]);
    return LTH_OK;
}

static lth_status combine(const lth__krylov *k, size_t m, const history *h, float *U,
                          double *logarithm, double *linear, lth_error *err) {
    size_t count = h->count, cells = 3 * count + count * count;
    double *sum = lth__alloc(k->n, sizeof *sum);
    lanczos t = {.diagonal = lth__alloc(cells, sizeof *t.diagonal)};
    lth_status status = sum && t.diagonal ? LTH_OK : lth__fail_memory(err, cells * sizeof *sum);
    t.off = t.diagonal + count;
    t.weight = t.off + count;
    t.Q = t.weight + count;
    for (size_t j = 0; j < m && status == LTH_OK; j++) {
        status = measure(h, j, &t, &logarithm[j], &linear[j], err);
        if (status != LTH_OK) break;
        memset(sum, 0, k->n * sizeof *sum);
        for (size_t s = 0; s < t.n; s++) {
            for (size_t i = 0; i < k->n; i++) sum[i] += t.weight[s] * h->steps[s].Z[i * m + j];
        }
        for (size_t i = 0; i < k->n; i++) U[i * m + j] = (float)sum[i];
    }
    lth__free(sum);
    lth__free(t.diagonal);
    return status;
}

lth_status lth__krylov_root(const lth__krylov *k, size_t m, const double *B, float *U,
                            double *logarithm, double *linear, lth_error *err) {
    gradients g;
    history h = {0};
    size_t steps;
    lth_status status = open(&g, k, m, err);
    if (status == LTH_OK) {
        g.history = &h;
        memcpy(g.R, B, k->n * m * sizeof *B);
        set_goals(&g, B);
        status = descend(&g, k->most, &steps, err);
    }
    if (status == LTH_OK) status = combine(k, m, &h, U, logarithm, linear, err);
    free_history(&h);
    close(&g);
    return status;
}
