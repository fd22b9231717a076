/* Integrals over f. The trapezoidal rule is used throughout: for smooth functions that end in 0 on
 * both sides its error falls exponentially with the step.
 */
#include "model/likelihood/under.h"

#include <math.h>

#include "model/common/special.h"

enum { MOST_NODES = 4096 };

/* Beyond so many standard deviations there is nothing that counts. */
static const double reach = 8.5;

static double sd_of(const lth__under *u) {
    return sqrt(fmax(u->variance, 0));
}

static double width_at(const lth__under *u, double f) {
    return u->likelihood->width ? u->likelihood->width(u->terms, f) : 1;
}

static double normal_density(double z) {
    return exp(-0.5 * z * z) / sqrt(2 * M_PI);
}

/* ---- Moments ---- */

/* E of mean, of mean^2 and of variance, given f. */
static void moments_by_rule(const lth__under *u, double *mean, double *variance) {
    double sd = sd_of(u), step = fmax(fmin(0.25, 0.5 / sd), 2 * reach / MOST_NODES);
    double first = 0, second = 0, weight = 0;
    for (double z = -reach; z <= reach; z += step) {
        double w = exp(-0.5 * z * z), m, v;
        u->likelihood->moments(u->terms, u->mean + sd * z, &m, &v);
        weight += w;
        first += w * m;
        second += w * (m * m + v);
    }
    *mean = first / weight;
    *variance = fmax(second / weight - *mean * *mean, 0);
}

void lth__under_moments(const lth__under *u, double *mean, double *variance) {
    *mean = u->mean;
    *variance = fmax(u->variance, 0);
    if (u->likelihood->moments_under)
        u->likelihood->moments_under(u->terms, mean, variance);
    else
        moments_by_rule(u, mean, variance);
}

/* ---- log p ---- */

/* log N(f) + log p(y | f), and its first two derivatives. */
static lth__log_p joint(const lth__under *u, double y, double f) {
    lth__log_p p = u->likelihood->at(u->terms, y, f);
    double d = f - u->mean;
    p.value -= 0.5 * (d * d / u->variance + log(2 * M_PI * u->variance));
    p.d1 -= d / u->variance;
    p.d2 -= 1 / u->variance;
    return p;
}

/* Where that is highest, nearly: by Newton's method, every second step by halving, for where exp(f)
 * is too large Newton's steps are too short. */
static double highest(const lth__under *u, double y, lth__log_p *at) {
    double f = u->mean, lo = -INFINITY, hi = INFINITY, sd = sd_of(u);
    for (int i = 0; i < 200; i++) {
        *at = joint(u, y, f);
        if (fabs(at->d1) < 0.1 * sqrt(fabs(at->d2))) break;
        *(at->d1 > 0 ? &lo : &hi) = f;
        double next = f - at->d1 / at->d2;
        if (!(at->d2 < 0)) next = f + (at->d1 > 0 ? sd : -sd);
        bool bracketed = isfinite(lo) && isfinite(hi), between = next > lo && next < hi;
        if (bracketed && (i % 2 || !between)) next = (lo + hi) / 2;
        f = next;
    }
    return f;
}

/* The sum on one side of the top, until no more comes. */
static double side_sum(const lth__under *u, double y, double top, double step, double height) {
    double sum = 0;
    for (int i = 1; i < MOST_NODES / 2; i++) {
        double term = exp(joint(u, y, top + i * step).value - height);
        sum += term;
        if (!(term > 1e-17)) break;
    }
    return sum;
}

static double log_p_by_rule(const lth__under *u, double y) {
    lth__log_p at;
    if (!(u->variance > 0)) return u->likelihood->at(u->terms, y, u->mean).value;
    /* One side may be as wide as f, the other as narrow as exp(-exp(f)). */
    double top = highest(u, y, &at), widest = fmax(0.25, reach * sd_of(u) / (MOST_NODES / 2));
    double step = fmin(0.4 / sqrt(fabs(at.d2)), widest);
    double sum = 1 + side_sum(u, y, top, step, at.value) + side_sum(u, y, top, -step, at.value);
    return at.value + log(sum * step);
}

double lth__under_log_p(const lth__under *u, double y) {
    const lth__likelihood *l = u->likelihood;
    if (l->refuse && l->refuse(u->terms, y)) return -INFINITY;
    return l->log_p_under ? l->log_p_under(u->terms, y, u->mean, fmax(u->variance, 0))
                          : log_p_by_rule(u, y);
}

/* ---- The distribution function ---- */

/* Over f where that is the narrower of the two: E P(Y <= y | f). */
static double cdf_over_f(const lth__under *u, double y) {
    const double step = 0.4;
    double sd = sd_of(u), sum = 0;
    for (double z = -reach; z <= reach; z += step)
        sum += u->likelihood->cdf(u->terms, y, u->mean + sd * z) * normal_density(z);
    return sum * step;
}

/* Where P(Y <= y | f) is the narrower one, over its slope, by parts: E Phi at f of that density. */
static double fall_sum(const lth__under *u, double y, double from, double step) {
    double sum = 0, sd = sd_of(u);
    for (int i = 1; i < MOST_NODES; i++) {
        double f = from + i * step, fall = exp(u->likelihood->log_fall(u->terms, y, f));
        double term = fall * lth__phi((f - u->mean) / sd);
        sum += term;
        if (fall * fabs(step) < 1e-17 || (step < 0 && term * -step < 1e-17)) break;
    }
    return sum;
}

static double cdf_over_fall(const lth__under *u, double y, double place, double width) {
    double step = fmin(0.5 * width, 0.25), from = place - step / 2; /* between two nodes */
    return step * (fall_sum(u, y, from, step) + fall_sum(u, y, from + step, -step));
}

/* The same without a slope that is known: a normal distribution function at that place has its
 * expectation in closed form, and the difference ends in 0 on both sides. */
static double difference_sum(const lth__under *u, double y, double place, double width, double from,
                             double step) {
    double sum = 0, sd = sd_of(u);
    for (int i = 1; i < MOST_NODES; i++) {
        double f = from + i * step, z = (f - u->mean) / sd;
        double difference = u->likelihood->cdf(u->terms, y, f) - lth__phi((place - f) / width);
        double term = difference * normal_density(z);
        sum += term;
        bool past = step > 0 ? z > reach : z < -reach;
        if (past || (i > 2 * width / fabs(step) && fabs(difference) < 1e-13)) break;
    }
    return sum * fabs(step) / sd;
}

static double cdf_by_difference(const lth__under *u, double y, double place, double width) {
    double step = fmin(0.5 * width, 0.4 * sd_of(u)), from = place - step / 2;
    return lth__phi((place - u->mean) / hypot(sd_of(u), width)) +
           difference_sum(u, y, place, width, from, step) +
           difference_sum(u, y, place, width, from + step, -step);
}

static double cdf_by_rule(const lth__under *u, double y) {
    const lth__likelihood *l = u->likelihood;
    double sd = sd_of(u);
    if (l->of == LTH__OF_SHARES && !(y > 0 && y < 1)) return y > 0;
    if (l->of == LTH__OF_COUNTS && !(y > -1)) return 0;
    if (!(sd > 0)) return l->cdf(u->terms, y, u->mean);
    double about = l->of == LTH__OF_COUNTS ? y + 1 : y;
    double place = l->link(u->terms, &about, 1, 1), width = width_at(u, place);
    if (sd <= width) return cdf_over_f(u, y);
    return l->log_fall ? cdf_over_fall(u, y, place, width) : cdf_by_difference(u, y, place, width);
}

double lth__under_cdf(const lth__under *u, double y) {
    const lth__likelihood *l = u->likelihood;
    double share =
        l->cdf_under ? l->cdf_under(u->terms, y, u->mean, fmax(u->variance, 0)) : cdf_by_rule(u, y);
    return fmin(fmax(share, 0), 1);
}

/* ---- Quantiles ---- */

/* y with about this standard score: the mean of y at f, where its own spread is put to that of f.
 */
static double y_at_score(const lth__under *u, double score) {
    double mean, variance, width = width_at(u, u->mean);
    double f = u->mean + score * hypot(sd_of(u), width);
    if (u->likelihood->of == LTH__OF_NUMBERS) return f;
    u->likelihood->moments(u->terms, f, &mean, &variance);
    return mean;
}

/* By halving, from scores that are widened until they hold it. */
static double quantile_by_score(const lth__under *u, double share) {
    double guess = fmin(fmax(lth__phi_inverse(share), -38), 38), lo = guess - 0.1, hi = guess + 0.1,
           step;
    for (step = 0.2; lth__under_cdf(u, y_at_score(u, lo)) > share && step < 1e12; step *= 2)
        lo -= step;
    for (step = 0.2; lth__under_cdf(u, y_at_score(u, hi)) < share && step < 1e12; step *= 2)
        hi += step;
    double at_lo = lth__under_cdf(u, y_at_score(u, lo)) - share;
    double at_hi = lth__under_cdf(u, y_at_score(u, hi)) - share, middle = lo;
    /* The secant, with the weight of an end that stays halved (Illinois). */
    for (int i = 0, last = 0; i < 100 && hi - lo > 1e-10 * (1 + fabs(lo)); i++) {
        middle = at_hi > at_lo ? (lo * at_hi - hi * at_lo) / (at_hi - at_lo) : (lo + hi) / 2;
        double at = lth__under_cdf(u, y_at_score(u, middle)) - share;
        if (fabs(at) < 1e-13) break;
        if (at < 0) {
            lo = middle, at_lo = at;
            if (last < 0) at_hi /= 2;
            last = -1;
        } else {
            hi = middle, at_hi = at;
            if (last > 0) at_lo /= 2;
            last = 1;
        }
    }
    return y_at_score(u, middle);
}

/* The least whole number, from a guess by steps that double, then by halving. Where counts have no
 * last digit the guess must do. */
static double quantile_of_counts(const lth__under *u, double share) {
    double guess = floor(y_at_score(u, lth__phi_inverse(share))), step = 1;
    if (guess > 1e12) return guess;
    double lo = guess, hi = guess;
    if (lth__under_cdf(u, guess) < share) {
        for (hi = lo + step; lth__under_cdf(u, hi) < share && hi < 1e15; step *= 2) {
            lo = hi;
            hi += step;
        }
    } else {
        for (lo = hi - step; lo >= 0 && lth__under_cdf(u, lo) >= share; step *= 2) {
            hi = lo;
            lo -= step;
        }
        lo = fmax(lo, -1);
    }
    while (hi - lo > 1) {
        double middle = floor((lo + hi) / 2);
        *(lth__under_cdf(u, middle) < share ? &lo : &hi) = middle;
    }
    return hi;
}

static double quantile_of_grades(const lth__under *u, double share) {
    double k = 0, last = (double)u->terms->grades - 1;
    while (k < last && lth__under_cdf(u, k) < share) k++;
    return k;
}

double lth__under_quantile(const lth__under *u, double share) {
    const lth__likelihood *l = u->likelihood;
    if (l->quantile_under) return l->quantile_under(u->terms, share, u->mean, fmax(u->variance, 0));
    return l->of == LTH__OF_GRADES   ? quantile_of_grades(u, share)
           : l->of == LTH__OF_COUNTS ? quantile_of_counts(u, share)
                                     : quantile_by_score(u, share);
}

/* ---- The continuous ranked probability score ---- */

/* The integral over y, of F^2 below the truth and of (1 - F)^2 above it, by scores: in these the
 * integrand is nearly the same for all. */
typedef struct score_integral {
    const lth__under *u;
    bool above;
} score_integral;

static double square_at_score(void *user, double score) {
    const score_integral *s = user;
    double h = 1e-4, y = y_at_score(s->u, score), F = lth__under_cdf(s->u, y);
    double slope = (y_at_score(s->u, score + h) - y_at_score(s->u, score - h)) / (2 * h);
    double d = s->above ? 1 - F : F;
    return d * d * slope;
}

static const double last_score = 6;

/* From where y is at least this; within the scores. */
static double score_of(const lth__under *u, double y) {
    double lo = -last_score, hi = last_score;
    for (int i = 0; i < 50; i++) {
        double middle = (lo + hi) / 2;
        *(y_at_score(u, middle) < y ? &lo : &hi) = middle;
    }
    return (lo + hi) / 2;
}

static double squares_between(const lth__under *u, double from, double to, bool above) {
    score_integral s = {u, above};
    if (!(to > from)) return 0;
    return lth__integrate(square_at_score, &s, from, to, (size_t)ceil((to - from) / 4));
}

/* Over y from `from` on; beyond all scores F is 0 or 1. */
static double crps_by_scores(const lth__under *u, double y, double from) {
    double first = y_at_score(u, -last_score), last = y_at_score(u, last_score);
    double start = from > first ? score_of(u, from) : -last_score;
    double middle = y > first ? fmax(score_of(u, y), start) : start;
    double beyond = y > last ? y - fmax(last, from) : y < first ? first - fmax(y, from) : 0;
    return squares_between(u, start, middle, false) + squares_between(u, middle, last_score, true) +
           fmax(beyond, 0);
}

/* A sum over whole numbers: the first ones, if they matter, as they are; the others as an integral
 * of the smooth F from half a step before, with Euler's corrections there and at y, where the terms
 * jump. */
static double crps_of_counts(const lth__under *u, double y) {
    enum { FEW = 16 };
    double sum = 0, from = 0, F = 0;
    for (bool many = lth__under_cdf(u, FEW) < 1e-6; !many && from < FEW; from++) {
        F = lth__under_cdf(u, from);
        double d = from < y ? F : 1 - F;
        sum += d * d;
        if (from >= y && d * d * (from + 1) < 1e-6 * sum) return sum;
    }
    double next = lth__under_cdf(u, from), rise = from > 0 ? next - F : 0, middle = (F + next) / 2;
    sum += rise * (from < y ? middle : middle - 1) / 12;
    if (y > from) sum -= (lth__under_cdf(u, y) - lth__under_cdf(u, y - 1)) / 12;
    return sum + crps_by_scores(u, fmax(y, from) - 0.5, from - 0.5);
}

double lth__under_crps(const lth__under *u, double y) {
    const lth__likelihood *l = u->likelihood;
    if (l->crps_under) return l->crps_under(u->terms, y, u->mean, fmax(u->variance, 0));
    if (l->of == LTH__OF_COUNTS) return crps_of_counts(u, y);
    return crps_by_scores(u, y, -INFINITY);
}
