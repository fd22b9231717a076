#include "model/likelihood/predictive.h"

#include <math.h>

#include "model/common/special.h"
#include "model/likelihood/under.h"

static lth__under under_of(const lth__predictive *p) {
    return (lth__under){p->likelihood, &p->terms, p->mean, p->variance};
}

/* ---- Between the target's units and those inside ---- */

size_t lth__grade_find(const double *grades, size_t count, double y) {
    size_t k = 0;
    while (k < count && grades[k] != y) k++;
    return k;
}

/* The log of dinside / dy, where y has a density. */
static double to_inside(const lth__predictive *p, double y, double *log_slope) {
    const lth__target *t = p->target;
    double x = (y - t->shift) / t->scale, g = x;
    *log_slope = -log(t->scale);
    if (p->grades) {
        *log_slope = 0;
        return (double)lth__grade_find(p->grades, p->terms.grades, y);
    }
    if (p->warp) {
        double of_warp;
        p->warp->at(p->phi, x, &g, &of_warp, NULL);
        *log_slope += of_warp - log(t->spread);
        g = (g - t->centre) / t->spread;
    }
    return g;
}

double lth__predictive_units(const lth__predictive *p, double inside) {
    const lth__target *t = p->target;
    if (p->grades) return p->grades[(size_t)inside];
    if (p->warp) inside = lth__warp_inverse(p->warp, p->phi, t->centre + t->spread * inside);
    return t->shift + t->scale * inside;
}

/* ---- What is normal after a warp ---- */

/* y at a standard score, and what is wanted of it. */
typedef struct warped {
    const lth__predictive *p;
    double sd, around;
    int power;  /* of y - around                */
    bool above; /* of y, not below it            */
} warped;

static warped warped_of(const lth__predictive *p) {
    return (warped){.p = p, .sd = sqrt(fmax(p->variance, 0) + p->terms.theta[0])};
}

static double y_at(const warped *w, double score) {
    return lth__predictive_units(w->p, w->p->mean + w->sd * score);
}

static const double last_score = 9;

/* The integral from one score to another, in panels of about 1.5, which end where the warp has a
 * bend: at its origin. */
static double over_scores(lth__integrand *f, warped *w, double from, double to) {
    const lth__predictive *p = w->p;
    double slope, bend = p->warp->from_origin ? to_inside(p, p->target->shift, &slope) : -INFINITY;
    bend = fmin(fmax((bend - p->mean) / w->sd, from), to);
    double sum = 0;
    if (bend > from) sum += lth__integrate(f, w, from, bend, (size_t)ceil((bend - from) / 1.5));
    if (to > bend) sum += lth__integrate(f, w, bend, to, (size_t)ceil((to - bend) / 1.5));
    return sum;
}

static double power_at(void *user, double score) {
    const warped *w = user;
    double d = y_at(w, score) - w->around;
    return (w->power == 1 ? d : d * d) * exp(-0.5 * score * score) / sqrt(2 * M_PI);
}

/* A long tail moves what counts to the right: as far as the integrand goes. */
static double end_of(warped w) {
    double end = 0, most = 0;
    w.power = 2;
    for (double at = INFINITY; end < last_score || (at > 1e-15 * most && end < 37); end++) {
        at = power_at(&w, end);
        most = fmax(most, at);
    }
    return end;
}

static void warped_moments(const lth__predictive *p, double *mean, double *sd) {
    warped w = warped_of(p);
    w.around = y_at(&w, 0);
    double end = end_of(w);
    w.power = 1;
    *mean = w.around + over_scores(power_at, &w, -last_score, end);
    w.around = *mean;
    w.power = 2;
    *sd = sqrt(fmax(over_scores(power_at, &w, -last_score, end), 0));
}

/* F^2 below y and (1 - F)^2 above, over y by its score. */
static double square_at(void *user, double score) {
    const warped *w = user;
    double share = lth__phi(w->above ? -score : score), log_slope;
    (void)to_inside(w->p, y_at(w, score), &log_slope);
    return share * share * w->sd * exp(-log_slope);
}

static double warped_crps(const lth__predictive *p, double y) {
    warped w = warped_of(p);
    double log_slope, score = (to_inside(p, y, &log_slope) - p->mean) / w.sd;
    double at = fmin(fmax(score, -last_score), last_score);
    double sum = at == score ? 0 : fabs(y - y_at(&w, at));
    sum += over_scores(square_at, &w, -last_score, at);
    w.above = true;
    return sum + over_scores(square_at, &w, at, last_score);
}

/* ---- Grades ---- */

void lth__predictive_grades(const lth__predictive *p, double *probability) {
    lth__under u = under_of(p);
    for (size_t k = 0; k < p->terms.grades; k++)
        probability[k] = exp(lth__under_log_p(&u, (double)k));
}

static void grade_moments(const lth__predictive *p, double *mean, double *sd) {
    double probability[LTH__MOST_GRADES], square = 0;
    lth__predictive_grades(p, probability);
    *mean = 0;
    for (size_t k = 0; k < p->terms.grades; k++) *mean += probability[k] * p->grades[k];
    for (size_t k = 0; k < p->terms.grades; k++) {
        double d = p->grades[k] - *mean;
        square += probability[k] * d * d;
    }
    *sd = sqrt(square);
}

/* From a grade to the next. */
static double grade_crps(const lth__predictive *p, double y) {
    lth__under u = under_of(p);
    double sum = 0;
    for (size_t k = 0; k + 1 < p->terms.grades; k++) {
        double F = lth__under_cdf(&u, (double)k), d = p->grades[k] < y ? F : 1 - F;
        sum += d * d * (p->grades[k + 1] - p->grades[k]);
    }
    return sum;
}

/* ---- All of them ---- */

void lth__predictive_moments(const lth__predictive *p, double *mean, double *sd) {
    lth__under u = under_of(p);
    double m, v;
    if (p->grades) {
        grade_moments(p, mean, sd);
    } else if (p->warp) {
        warped_moments(p, mean, sd);
    } else {
        lth__under_moments(&u, &m, &v);
        *mean = lth__predictive_units(p, m);
        *sd = p->target->scale * sqrt(v);
    }
}

double lth__predictive_quantile(const lth__predictive *p, double share) {
    lth__under u = under_of(p);
    return lth__predictive_units(p, lth__under_quantile(&u, share));
}

/* Whether y has a probability, not a density. */
static bool has_mass(const lth__predictive *p, double inside) {
    return p->likelihood->of == LTH__OF_COUNTS || p->likelihood->of == LTH__OF_GRADES ||
           inside <= p->terms.lower || inside >= p->terms.upper;
}

double lth__predictive_log_p(const lth__predictive *p, double y) {
    lth__under u = under_of(p);
    double log_slope, inside = to_inside(p, y, &log_slope);
    return lth__under_log_p(&u, inside) + (has_mass(p, inside) ? 0 : log_slope);
}

double lth__predictive_cdf(const lth__predictive *p, double y) {
    lth__under u = under_of(p);
    double log_slope, inside = to_inside(p, y, &log_slope);
    inside = fmin(fmax(inside, p->terms.lower), p->terms.upper);
    double share = lth__under_cdf(&u, inside);
    if (has_mass(p, inside)) share -= exp(lth__under_log_p(&u, inside)) / 2;
    return fmax(share, 0);
}

double lth__predictive_crps(const lth__predictive *p, double y) {
    lth__under u = under_of(p);
    double log_slope;
    if (p->grades) return grade_crps(p, y);
    if (p->warp) return warped_crps(p, y);
    return p->target->scale * lth__under_crps(&u, to_inside(p, y, &log_slope));
}
