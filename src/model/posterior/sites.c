#include "model/posterior/sites.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---- The search ---- */

enum { DEPTH = 4, MOST_STEPS = 200 };

/* Steps are those of Anderson (1965): of the last few, the mixture is taken that would have left
 * the least to go, as if all were linear. Where that goes down, the plain step is taken, or as much
 * of it as goes up. */
typedef struct search {
    lth__sites *s;
    const lth__matrix *K;
    size_t n, depth;
    bool began; /* `before` is */
    lth__quadrature rule;
    double *room;
    double *left;                  /* n: 1 - D v */
    double *way;                   /* [2][n]: room for how far f has to go */
    double *before, *to;           /* [l, D][n]: the last good sites, and where they were to go */
    double *now, *gap;             /* [l, D][n]: room; to - before, as of then                */
    double *dx[DEPTH], *dr[DEPTH]; /* [l, D][n]: how sites and gaps have changed, the last first */
    double widest, off;            /* gap, and that of the slopes alone, in units of f */
    bool held;                     /* none may become negative, or too small: see hold_back() */
} search;

/* a, f and variance of the sites as they are: a = l - R K l. */
static lth_status condition(const search *x, lth_error *err) {
    lth__sites *s = x->s;
    const lth__matrix *K = x->K;
    double *Kl = x->now, *RKl = x->now + x->n;
    for (size_t i = 0; i < x->n; i++) s->root_d[i] = lth__site_root(s->D[i]);
    LTH_TRY(lth__site_factor_make(&s->factor, K, s->root_d, err));
    LTH_TRY(K->table->multiply(K, 1, s->l, Kl, err));
    LTH_TRY(lth__site_factor_apply(&s->factor, s->root_d, Kl, RKl, err));
    for (size_t i = 0; i < x->n; i++) s->a[i] = s->l[i] - RKl[i];
    LTH_TRY(K->table->multiply(K, 1, s->a, s->f, err));
    return lth__site_factor_variances(&s->factor, K, s->root_d, s->variance, x->left, err);
}

const double lth__site_far = 1;

double lth__site_hold(const lth__seen *seen, size_t row, double mean, double g, double D) {
    /* What a spread is expected to say; where it is small it says much less, and rows that agree
     * would go much too far together. */
    if (seen->likelihood->of == LTH__OF_SPREADS)
        return fmax(D, 0.5 * (seen->weight ? seen->weight[row] : 1));
    double top = seen->y[row] - seen->link - (seen->offset ? seen->offset[row] : 0);
    bool numbers = seen->likelihood->of == LTH__OF_NUMBERS && top != mean;
    return fmax(fmax(D, numbers ? g / (top - mean) : 0), 0);
}

static void hold_back(const search *x) {
    for (size_t i = 0; i < x->n; i++) {
        double *l = &x->now[i], *D = &x->now[x->n + i], f = x->s->f[i], g = *l - *D * f;
        *D = lth__site_hold(&x->s->seen, i, f, g, *D);
        *l = g + *D * f;
    }
}

/* How far f would go by the slopes `now` has, all rows together: S (g - a). */
static lth_status find_way(search *x, double *out, lth_error *err) {
    const lth__sites *s = x->s;
    const lth__matrix *K = x->K;
    double *u = x->way, *Ku = x->way + x->n;
    *out = 0;
    for (size_t i = 0; i < x->n; i++) u[i] = x->now[i] - x->now[x->n + i] * s->f[i] - s->a[i];
    LTH_TRY(K->table->multiply(K, 1, u, Ku, err));
    LTH_TRY(lth__site_factor_apply(&s->factor, s->root_d, Ku, Ku, err));
    for (size_t i = 0; i < x->n; i++) u[i] -= Ku[i];
    LTH_TRY(K->table->multiply(K, 1, u, Ku, err));
    for (size_t i = 0; i < x->n; i++) {
        if (!(fabs(Ku[i]) <= *out)) *out = fabs(Ku[i]);
    }
    return LTH_OK;
}

/* Where the sites are to go; the sum of E log p. */
static double expect(search *x) {
    const lth__sites *s = x->s;
    double sum = 0;
    x->widest = x->off = 0;
    for (size_t i = 0; i < x->n; i++) {
        double v = s->variance[i];
        lth__expected e = lth__seen_expect(&s->seen, &x->rule, i, s->f[i], v);
        double to_d = -2 * e.by_variance;
        double off = fabs(e.by_mean - s->a[i]) * sqrt(v), gap = fmax(off, fabs(to_d - s->D[i]) * v);
        if (!(off <= x->off)) x->off = off;
        if (!(gap <= x->widest)) x->widest = gap;
        x->now[i] = e.by_mean + to_d * s->f[i];
        x->now[x->n + i] = to_d;
        sum += e.value;
    }
    x->held = x->off > lth__site_far;
    return sum;
}

/* A logarithm: what is farther than that is not as if all were linear. */
static const double half_way = 0.5;

static lth_status judge(search *x, lth_error *err) {
    lth__sites *s = x->s;
    s->steps++;
    LTH_TRY(condition(x, err));
    double penalty = s->factor.log_determinant, beside = 0;
    for (size_t i = 0; i < x->n; i++) penalty += s->a[i] * s->f[i] - (1 - x->left[i]);
    if (s->look) LTH_TRY(s->look(s->user, &beside, err));
    s->evidence = expect(x) - 0.5 * penalty + beside;
    if (s->seen.likelihood->of == LTH__OF_SPREADS) {
        double way;
        LTH_TRY(find_way(x, &way, err));
        x->held = !(way <= half_way);
    }
    if (x->held) hold_back(x);
    return isfinite(s->evidence) && isfinite(x->widest) ? LTH_OK : LTH_ENUMERIC;
}

/* ---- Steps ---- */

static double *sites_of(const search *x, size_t i) {
    return i < x->n ? &x->s->l[i] : &x->s->D[i - x->n];
}

/* The sites are good: so are where they are to go, which `now` has. */
static void keep(search *x) {
    double *dx = x->dx[DEPTH - 1], *dr = x->dr[DEPTH - 1];
    for (size_t i = 0; i < 2 * x->n; i++) {
        double at = *sites_of(x, i), gap = x->now[i] - at;
        dx[i] = at - x->before[i];
        dr[i] = gap - x->gap[i];
        x->before[i] = at;
        x->to[i] = x->now[i];
        x->gap[i] = gap;
    }
    if (!x->began) {
        x->began = true; /* and nothing has changed yet */
        return;
    }
    memmove(x->dx + 1, x->dx, (DEPTH - 1) * sizeof *x->dx);
    memmove(x->dr + 1, x->dr, (DEPTH - 1) * sizeof *x->dr);
    x->dx[0] = dx;
    x->dr[0] = dr;
    if (x->depth < DEPTH) x->depth++;
}

/* In units of f. */
static double inner(const search *x, const double *a, const double *b) {
    const double *v = x->s->variance;
    double sum = 0;
    for (size_t i = 0; i < x->n; i++)
        sum += v[i] * (a[i] * b[i] + v[i] * a[x->n + i] * b[x->n + i]);
    return sum;
}

/* share = the least squares' solution of gap = sum share_k dr_k, by Cholesky; false if these are
 * too much alike. */
static bool mix(const search *x, double *share) {
    double A[DEPTH][DEPTH];
    for (size_t i = 0; i < x->depth; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = inner(x, x->dr[i], x->dr[j]) * (i == j ? 1 + 1e-10 : 1);
            for (size_t k = 0; k < j; k++) sum -= A[i][k] * A[j][k];
            if (i == j && !(sum > 0)) return false;
            A[i][j] = i == j ? sqrt(sum) : sum / A[j][j];
        }
        double sum = inner(x, x->dr[i], x->gap);
        for (size_t k = 0; k < i; k++) sum -= A[i][k] * share[k];
        share[i] = sum / A[i][i];
    }
    for (size_t i = x->depth; i-- > 0;) {
        for (size_t k = i + 1; k < x->depth; k++) share[i] -= A[k][i] * share[k];
        share[i] /= A[i][i];
    }
    return true;
}

static void step_plain(const search *x, double part) {
    for (size_t i = 0; i < 2 * x->n; i++)
        *sites_of(x, i) = x->before[i] + part * (x->to[i] - x->before[i]);
}

/* False where there is nothing to mix. */
static bool step_mixed(const search *x) {
    double share[DEPTH];
    if (x->depth == 0 || !mix(x, share)) return false;
    for (size_t i = 0; i < 2 * x->n; i++) {
        double to = x->to[i];
        for (size_t k = 0; k < x->depth; k++) to -= share[k] * (x->dx[k][i] + x->dr[k][i]);
        *sites_of(x, i) = i >= x->n && to < 0 && x->to[i] >= 0 ? x->to[i] : to;
    }
    return true;
}

/* What the bound lacks after a step with this gain: it falls with the square of the gap. */
static double lack_after(double gain, double before, double now) {
    double square = now * now / (before * before);
    return now < before ? fmax(gain, 0) * square / (1 - square) : INFINITY;
}

/* What it may lack: more where it has come from far, for the parameters have moved far then and the
 * gradient is large. */
static double lack_allowed(const lth__sites *s, double gained) {
    return fmax(s->lack, fmin(1e-5 * gained, 1e3 * s->lack));
}

/* From sites that were judged. */
static lth_status climb(search *x, lth_error *err) {
    const double least = 1e-3;
    double part = 1, best = -INFINITY, widest = 0, first = x->s->evidence;
    bool mixed = false;
    while (x->s->steps < MOST_STEPS) {
        double found = x->s->evidence;
        if (found >= best - 1e-11 * (1 + fabs(best)) || part < least) {
            bool whole = mixed || part == 1;
            bool close = whole && lack_after(found - best, widest, x->widest) <
                                      lack_allowed(x->s, found - first);
            if (close || x->widest < x->s->tolerance) break;
            best = found;
            widest = x->widest;
            keep(x);
            part = fmin(1, 2 * part);
            if (x->held && x->s->look) x->depth = 0;
            mixed = step_mixed(x);
            if (!mixed) step_plain(x, part);
        } else {
            x->depth = 0;
            part = mixed ? part : part / 2;
            mixed = false;
            step_plain(x, part);
        }
        lth_status status = judge(x, err);
        if (status == LTH_ENUMERIC && part >= least)
            x->s->evidence = -INFINITY; /* no distribution: too far */
        else
            LTH_TRY(status);
    }
    return LTH_OK;
}

/* ---- The start ---- */

/* To where the prior asks for. */
static lth_status begin_afresh(search *x, lth_error *err) {
    lth__sites *s = x->s;
    LTH_TRY(x->K->table->diagonal(x->K, s->variance, err));
    memset(s->f, 0, x->n * sizeof *s->f);
    memset(s->a, 0, x->n * sizeof *s->a);
    memset(s->D, 0, x->n * sizeof *s->D);
    double unused = 0;
    if (s->look) LTH_TRY(s->look(s->user, &unused, err));
    (void)expect(x);
    hold_back(x);
    memcpy(s->l, x->now, x->n * sizeof *s->l);
    memcpy(s->D, x->now + x->n, x->n * sizeof *s->D);
    return isfinite(x->widest) ? judge(x, err) : LTH_ENUMERIC;
}

/* Where they ended last, if that was anywhere near. */
static const double useless_gap = 10;

static lth_status begin(search *x, lth_error *err) {
    const lth__sites *s = x->s;
    bool finite = true, any = false;
    for (size_t i = 0; i < x->n; i++) {
        finite &= isfinite(s->l[i]) && isfinite(s->D[i]);
        any |= s->l[i] != 0 || s->D[i] != 0;
    }
    if (!finite || !any || s->seen.likelihood->quadratic) return begin_afresh(x, err);
    lth_status status = judge(x, err);
    bool useless = status == LTH_ENUMERIC || (status == LTH_OK && x->widest > useless_gap);
    return useless ? begin_afresh(x, err) : status;
}

static lth_status make_room(search *x, lth_error *err) {
    size_t n = x->n, arrays = 2 * (4 + 2 * DEPTH) + 3;
    x->room = lth__alloc(arrays * n, sizeof *x->room);
    if (!x->room) return lth__fail_memory(err, arrays * n * sizeof *x->room);
    x->before = x->room;
    x->to = x->before + 2 * n;
    x->now = x->to + 2 * n;
    x->gap = x->now + 2 * n;
    for (size_t k = 0; k < DEPTH; k++) {
        x->dx[k] = x->gap + (2 + 4 * k) * n;
        x->dr[k] = x->dx[k] + 2 * n;
    }
    x->left = x->gap + (2 + 4 * (size_t)DEPTH) * n;
    x->way = x->left + n;
    memset(x->before, 0, 2 * n * sizeof *x->before);
    memset(x->gap, 0, 2 * n * sizeof *x->gap);
    return LTH_OK;
}

lth_status lth__sites_find(lth__sites *s, const lth__matrix *K, lth_error *err) {
    search x = {.s = s, .K = K, .n = K->n};
    lth__quadrature_make(&x.rule);
    s->steps = 0;
    s->factor.L = s->L;
    LTH_TRY(make_room(&x, err));
    lth_status status = begin(&x, err);
    if (status == LTH_OK && !s->seen.likelihood->quadratic) status = climb(&x, err);
    lth__free(x.room);
    return status;
}

/* ---- The gradient ---- */

/* Sites are at their best, and need not be moved: what is left is as of Gaussian noise D^-1. M = (a
 * a^T - R)/2. */
lth_status lth__sites_weights(lth__sites *s, const lth__matrix *K, lth__matrix *M,
                              double *by_params, lth_error *err) {
    size_t n = K->n;
    lth__quadrature rule;
    lth__quadrature_make(&rule);
    for (size_t i = 0; i < n; i++)
        lth__seen_expect_params(&s->seen, &rule, i, s->f[i], s->variance[i], by_params);
    double *none = lth__calloc(n, sizeof *none);
    lth_status status = none ? LTH_OK : lth__fail_memory(err, n * sizeof *none);
    if (status == LTH_OK) status = lth__site_factor_invert(&s->factor, s->root_d, err);
    if (status == LTH_OK) status = M->table->add_weights(M, s->L, s->a, none, none, err);
    lth__free(none);
    return status;
}
