#include "model/posterior/sites.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/posterior/site_newton.h"

/* ---- The search ---- */

enum { DEPTH = 4 };

/* Steps are Newton's (site_newton.h) where R is at hand in host memory and sites are not far from
 * where they are to go. Otherwise they are those of Anderson (1965): of the last few, the mixture
 * is taken that would have left the least to go, as if all were linear. Where these go down, the
 * plain step is taken, or as much of it as goes up. */
typedef struct search {
    lth__sites *s;
    const lth__matrix *K;
    size_t n, depth;
    bool began;  /* `before` is */
    bool afresh; /* it was by no sites */
    double *room;
    double *left;                  /* n: 1 - D v */
    double *way;                   /* [2][n]: room for how far f has to go */
    double *before, *to;           /* [l, D][n]: the last good sites, and where they were to go */
    double *now, *gap;             /* [l, D][n]: room; to - before, as of then                */
    double *dx[DEPTH], *dr[DEPTH]; /* [l, D][n]: how sites and gaps have changed, the last first */
    double widest, off;            /* gap, and that of the slopes alone, in units of f */
    bool held;                     /* none may become negative, or too small: see hold_back() */
    bool by_newton;                /* its steps can be had */
    lth__site_newton newton;
    double expected;    /* sum of E log p                                            */
    double *prior;      /* n: variances                                              */
    double *m, *v, *a;  /* n: where Newton's step begins,                            */
    double from, slope; /* with this sum, and this slope of the bound                */
    double *da;         /* n: what is added to a                                     */
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
    if (x->by_newton) LTH_TRY(lth__site_factor_invert(&s->factor, s->root_d, err));
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

static void note_slopes(const search *x, size_t i, const lth__expected *e) {
    const lth__site_newton *t = &x->newton;
    t->short_of_g[i] = e->by_mean - x->s->a[i];
    t->short_of_d[i] = -2 * e->by_variance - x->s->D[i];
    t->g_by_m[i] = e->by_mean_2 + x->s->D[i];
    t->g_by_v[i] = e->by_both;
    t->d_by_m[i] = -2 * e->by_both;
    t->d_by_v[i] = -2 * e->by_variance_2;
}

/* Where the sites are to go; the sum of E log p. */
static double expect(search *x) {
    const lth__sites *s = x->s;
    double sum = 0;
    x->widest = x->off = 0;
    for (size_t i = 0; i < x->n; i++) {
        double v = s->variance[i];
        lth__expected e = lth__seen_expect(&s->seen, i, s->f[i], v);
        double to_d = -2 * e.by_variance;
        double off = fabs(e.by_mean - s->a[i]) * sqrt(v), gap = fmax(off, fabs(to_d - s->D[i]) * v);
        if (!(off <= x->off)) x->off = off;
        if (!(gap <= x->widest)) x->widest = gap;
        x->now[i] = e.by_mean + to_d * s->f[i];
        x->now[x->n + i] = to_d;
        sum += e.value;
        if (x->by_newton) note_slopes(x, i, &e);
    }
    x->held = x->off > lth__site_far;
    return x->expected = sum;
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

/* ---- Newton's step ---- */

/* From the sites that were judged. */
static lth_status find_newton(search *x, lth_error *err) {
    const lth__sites *s = x->s;
    lth__site_newton *t = &x->newton;
    LTH_TRY(lth__site_newton_solve(t, fmin(0.1, fmax(x->widest, 1e-4)), err));
    x->from = x->expected;
    x->slope = 0;
    for (size_t i = 0; i < x->n; i++) {
        x->m[i] = s->f[i];
        x->v[i] = s->variance[i];
        x->a[i] = s->a[i];
        x->da[i] = t->short_of_g[i] + (t->g_by_m[i] - s->D[i]) * t->dm[i] + t->g_by_v[i] * t->dv[i];
        x->slope += t->short_of_g[i] * t->dm[i] - 0.5 * t->short_of_d[i] * t->dv[i];
    }
    return LTH_OK;
}

/* The variance of row i after a step to v + dv, as if by its own site alone; not too much at once.
 */
static double variance_after(const search *x, size_t i, double dv) {
    double v = x->v[i], most = fmin(fmax(x->prior[i], v), 2 * v), precision = (1 - dv / v) / v;
    return v > 0 ? 1 / fmax(precision, 1 / most) : 0;
}

/* Part of it, to what rows ask for where f goes then. What is gained by that, but for what the
 * determinant's curve takes away. */
static double step_newton(search *x, double part) {
    lth__sites *s = x->s;
    double gain = -x->from;
    for (size_t i = 0; i < x->n; i++) {
        double dv = part * x->newton.dv[i], dm = part * x->newton.dm[i], da = part * x->da[i];
        double m = x->m[i] + dm, v = variance_after(x, i, dv), D = x->before[x->n + i];
        lth__expected e = lth__seen_expect(&s->seen, i, m, v);
        gain += e.value - (x->a[i] + 0.5 * da) * dm + 0.5 * D * (v - x->v[i]);
        s->D[i] = (1 - part) * D - 2 * part * e.by_variance;
        s->l[i] = (part < 1 ? x->a[i] + da : e.by_mean) + s->D[i] * m;
    }
    return gain;
}

/* As much of it as promises to go up, `part` at most; 0 = none of it. */
static double try_newton(search *x, double part) {
    const double least = 1e-3;
    while (part > least && !(step_newton(x, part) > 0.1 * part * x->slope)) part /= 2;
    return part > least && x->slope > 0 ? part : 0;
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

/* Not where log p may bend the other way, and sites are far. */
static bool may_turn(const search *x) {
    bool numbers = x->s->seen.likelihood->of == LTH__OF_NUMBERS;
    return x->by_newton && (x->off <= lth__site_far || !numbers);
}

/* How far a climb has come. */
typedef struct climb {
    double first, best, widest;
    double part;   /* of the plain step that was taken last, or is to be */
    double newton; /* of Newton's step, 0 = it was another               */
    bool mixed;
} climb;

/* Whether the sites, which were judged good, are so to what is asked for. */
static lth_status find_close(search *x, const climb *c, bool *close, lth_error *err) {
    double found = x->s->evidence, lack = INFINITY;
    if (may_turn(x)) {
        LTH_TRY(lth__site_newton_measure(&x->newton, err));
        lack = x->newton.lack;
    } else if (c->mixed || c->part == 1) {
        lack = lack_after(found - c->best, c->widest, x->widest);
    }
    *close = x->widest < x->s->tolerance || lack < lack_allowed(x->s, found - c->first);
    return LTH_OK;
}

static lth_status step_on(search *x, climb *c, lth_error *err) {
    double reach = c->newton > 0 ? fmin(1, 2 * c->newton) : 1; /* where less was good, not all */
    c->best = x->s->evidence;
    c->widest = x->widest;
    keep(x);
    c->newton = 0;
    if (may_turn(x)) {
        LTH_TRY(find_newton(x, err));
        c->newton = try_newton(x, reach);
    }
    c->part = fmin(1, 2 * c->part);
    if (x->held && x->s->look) x->depth = 0;
    c->mixed = c->newton == 0 && step_mixed(x);
    if (c->newton == 0 && !c->mixed) step_plain(x, c->part);
    return LTH_OK;
}

static void step_less(search *x, climb *c) {
    x->depth = 0;
    if (c->newton > 0) {
        c->newton = try_newton(x, c->newton / 4);
    } else if (c->mixed) {
        c->mixed = false;
    } else {
        c->part /= 2;
    }
    if (c->newton == 0) step_plain(x, c->part);
}

/* Steps at which it ends in any case. While it learns, parameters for which so many of Newton's do
 * not do are far from good ones. */
static size_t most_steps(const search *x) {
    enum { AFRESH = 40, FROM_SITES = 20, EVER = 200 };
    return !x->by_newton || x->s->lack == 0 ? EVER : x->afresh ? AFRESH : FROM_SITES;
}

/* To the last good sites. */
static lth_status step_back(search *x, lth_error *err) {
    for (size_t i = 0; i < 2 * x->n; i++) *sites_of(x, i) = x->before[i];
    return judge(x, err);
}

/* From sites that were judged. */
static lth_status climb_up(search *x, lth_error *err) {
    const double least = 1e-3;
    climb c = {.first = x->s->evidence, .best = -INFINITY, .part = 1};
    bool close = false;
    while (x->s->steps < most_steps(x)) {
        if (x->s->evidence >= c.best - 1e-11 * (1 + fabs(c.best)) || c.part < least) {
            LTH_TRY(find_close(x, &c, &close, err));
            if (close) break;
            LTH_TRY(step_on(x, &c, err));
        } else {
            step_less(x, &c);
        }
        lth_status status = judge(x, err);
        if (status == LTH_ENUMERIC && c.part >= least)
            x->s->evidence = -INFINITY; /* no distribution: too far */
        else
            LTH_TRY(status);
    }
    x->s->found = close;
    if (!close && x->s->evidence < c.best) return step_back(x, err);
    return LTH_OK;
}

/* ---- The start ---- */

/* To where the prior asks for. */
static lth_status begin_afresh(search *x, lth_error *err) {
    lth__sites *s = x->s;
    x->afresh = true;
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
    size_t count = arrays * n + (x->by_newton ? 13 * n + lth__site_newton_room(n) : 0);
    x->room = lth__alloc(count, sizeof *x->room);
    if (!x->room) return lth__fail_memory(err, count * sizeof *x->room);
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
    double *more = x->way + 2 * n;
    if (x->by_newton) {
        x->newton = (lth__site_newton){.R = x->s->L,
                                       .D = x->s->D,
                                       .variance = x->s->variance,
                                       .short_of_g = more,
                                       .short_of_d = more + n,
                                       .g_by_m = more + 2 * n,
                                       .g_by_v = more + 3 * n,
                                       .d_by_m = more + 4 * n,
                                       .d_by_v = more + 5 * n,
                                       .dm = more + 6 * n,
                                       .dv = more + 7 * n,
                                       .room = more + 13 * n};
        x->m = more + 8 * n;
        x->v = x->m + n;
        x->a = x->v + n;
        x->da = x->a + n;
        x->prior = x->da + n;
    }
    memset(x->before, 0, 2 * n * sizeof *x->before);
    memset(x->gap, 0, 2 * n * sizeof *x->gap);
    return LTH_OK;
}

lth_status lth__sites_find(lth__sites *s, const lth__matrix *K, lth_error *err) {
    search x = {.s = s, .K = K, .n = K->n};
    x.by_newton = K->table->multiply_squares && !s->seen.likelihood->expect;
    s->steps = 0;
    s->found = true;
    s->factor.L = s->L;
    LTH_TRY(make_room(&x, err));
    lth_status status = x.by_newton ? K->table->diagonal(K, x.prior, err) : LTH_OK;
    if (status == LTH_OK) status = begin(&x, err);
    if (status == LTH_OK && !s->seen.likelihood->quadratic) status = climb_up(&x, err);
    lth__free(x.room);
    return status;
}

/* ---- The gradient ---- */

/* Sites are at their best, and need not be moved: what is left is as of Gaussian noise D^-1. M = (a
 * a^T - R)/2. */
lth_status lth__sites_weights(lth__sites *s, const lth__matrix *K, lth__matrix *M,
                              double *by_params, lth_error *err) {
    size_t n = K->n;
    for (size_t i = 0; i < n; i++)
        lth__seen_expect_params(&s->seen, i, s->f[i], s->variance[i], by_params);
    double *none = lth__calloc(n, sizeof *none);
    lth_status status = none ? LTH_OK : lth__fail_memory(err, n * sizeof *none);
    if (status == LTH_OK && !s->factor.inverted)
        status = lth__site_factor_invert(&s->factor, s->root_d, err);
    if (status == LTH_OK) status = M->table->add_weights(M, s->L, s->a, none, none, err);
    lth__free(none);
    return status;
}
