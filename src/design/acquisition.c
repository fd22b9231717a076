/* Acquisitions. With mean m and standard deviation s of f at a row, the best so far b, z = (m - b)
 * / s, and the normal density phi and distribution function Phi:
 *
 *     ei        s h(z), h(z) = phi(z) + z Phi(z)
 *     logei     log s + log h(z)
 *     ucb       m + beta s
 *     ts        m + 3 s; in a batch, a draw of f
 *     greedy    m
 *     pi        Phi(z)
 *     variance  s^2
 *
 * Of labels they are in label_value.c. All are such that more is better: where less of f is, f is
 * turned round before.
 *
 * With a probability p that the row is feasible, at cost c,
 *
 *     gains (ei, pi, variance, those of labels)   value p / c
 *     logarithms of gains (logei)                 value + log p - log c
 *     levels (ucb, ts, greedy)                    base + (value - base) p / c
 *
 * where the base is the worst that is expected of a training row: so what is a level is a gain on
 * that. A level below the base stays as it is.
 *
 * For z far below 0, h(z) = phi(z) (1 - x M(x)), x = -z, M(x) = Phi(-x) / phi(x), and 1 - x M(x) =
 * 1/x^2 - 3/x^4 + 15/x^6 - ...: after Ament et al., Unexpected improvements to expected improvement
 * (2023).
 */
#include "design/acquisition.h"

#include <float.h>
#include <math.h>

#include "model/common/special.h"

static const double log_root_two_pi = 0.91893853320467274178;

/* ---- Expected improvement ---- */

static double density(double z) {
    return exp(-0.5 * z * z - log_root_two_pi);
}

/* 1 - x M(x) for large x; its terms fall until they are nothing. */
static double far_series(double x) {
    double square = 1 / (x * x), term = square, sum = 0;
    for (int k = 1; k <= 20; k++) {
        sum += term;
        term *= -(2 * k + 1) * square;
    }
    return sum;
}

static double log_h(double z) {
    if (z > -1) return log(density(z) + z * lth__phi(z));
    double rest = z < -30 ? far_series(-z) : 1 + z / lth__phi_ratio(z);
    return -0.5 * z * z - log_root_two_pi + log(rest);
}

double lth__expected_improvement(double mean, double sd, double best) {
    double gain = mean - best;
    if (!(sd > 0)) return gain > 0 ? gain : 0;
    double z = gain / sd;
    return z > -1 ? sd * density(z) + gain * lth__phi(z) : sd * exp(log_h(z));
}

double lth__log_expected_improvement(double mean, double sd, double best) {
    double gain = mean - best, z = gain / sd;
    if (!(sd > 0)) return gain > 0 ? log(gain) : -DBL_MAX;
    if (z > 30) return log(gain); /* z^2 may overflow */
    return fmax(log(sd) + log_h(z), -DBL_MAX);
}

/* ---- The table ---- */

static double ei(double mean, double sd, double best, double beta) {
    (void)beta;
    return lth__expected_improvement(mean, sd, best);
}

static double logei(double mean, double sd, double best, double beta) {
    (void)beta;
    return lth__log_expected_improvement(mean, sd, best);
}

static double ucb(double mean, double sd, double best, double beta) {
    (void)best;
    return mean + beta * sd;
}

static double ts(double mean, double sd, double best, double beta) {
    (void)best, (void)beta;
    return mean + 3 * sd;
}

static double greedy(double mean, double sd, double best, double beta) {
    (void)sd, (void)best, (void)beta;
    return mean;
}

static double pi(double mean, double sd, double best, double beta) {
    (void)beta;
    return sd > 0 ? lth__phi((mean - best) / sd) : mean > best;
}

static double variance(double mean, double sd, double best, double beta) {
    (void)mean, (void)best, (void)beta;
    return sd * sd;
}

static double above(double value, double level) {
    return value > level ? value - level : 0;
}

static double ucb_above(double mean, double sd, double level, double beta) {
    return above(mean + beta * sd, level);
}

static double ts_above(double mean, double sd, double level, double beta) {
    (void)beta;
    return above(mean + 3 * sd, level);
}

static double greedy_above(double mean, double sd, double level, double beta) {
    (void)sd, (void)beta;
    return above(mean, level);
}

static const lth__acquisition acquisitions[] = {
    [LTH_ACQUIRE_AUTO] = {"auto", "logei of numbers, bald of labels"},
    [LTH_ACQUIRE_EI] = {"ei", "expected improvement on the best so far", LTH_BATCH_BELIEVER,
                        LTH__GAIN, .value = ei, .above = ei},
    [LTH_ACQUIRE_LOGEI] = {"logei", "logarithm of the expected improvement", LTH_BATCH_BELIEVER,
                           LTH__LOG_GAIN, .value = logei, .above = ei},
    [LTH_ACQUIRE_UCB] = {"ucb", "mean + beta sd", LTH_BATCH_BELIEVER, LTH__LEVEL, .value = ucb,
                         .above = ucb_above},
    [LTH_ACQUIRE_TS] = {"ts", "a draw from the posterior (Thompson sampling)", LTH_BATCH_THOMPSON,
                        LTH__LEVEL, .value = ts, .above = ts_above},
    [LTH_ACQUIRE_GREEDY] = {"greedy", "the mean", LTH_BATCH_TOP, LTH__LEVEL, .value = greedy,
                            .above = greedy_above},
    [LTH_ACQUIRE_PI] = {"pi", "probability of an improvement", LTH_BATCH_BELIEVER, LTH__GAIN,
                        .value = pi, .above = pi},
    [LTH_ACQUIRE_VARIANCE] = {"variance", "variance of the function", LTH_BATCH_BELIEVER, LTH__GAIN,
                              .value = variance},
    [LTH_ACQUIRE_ENTROPY] = {"entropy", "of labels: entropy of the label", LTH_BATCH_BELIEVER,
                             LTH__GAIN, true},
    [LTH_ACQUIRE_BALD] = {"bald", "of labels: what the label would tell of the function",
                          LTH_BATCH_BELIEVER, LTH__GAIN, true},
    [LTH_ACQUIRE_MARGIN] = {"margin", "of labels: how close the two likeliest classes are",
                            LTH_BATCH_BELIEVER, LTH__GAIN, true},
};
enum { ACQUISITIONS = sizeof acquisitions / sizeof *acquisitions };

const lth__acquisition *lth__acquisition_at(lth_acquisition which) {
    return (unsigned)which < ACQUISITIONS && which != LTH_ACQUIRE_AUTO ? &acquisitions[which]
                                                                       : NULL;
}

const char *lth_acquisition_name(lth_acquisition which, const char **help) {
    if ((unsigned)which >= ACQUISITIONS) return NULL;
    if (help) *help = acquisitions[which].help;
    return acquisitions[which].name;
}

double lth__acquisition_weigh(const lth__acquisition *a, double value, double feasible, double cost,
                              double base) {
    switch (a->scale) {
    case LTH__LOG_GAIN: return fmax(value + log(feasible) - log(cost), -DBL_MAX);
    case LTH__LEVEL: return value > base ? base + (value - base) * feasible / cost : value;
    default: return value * feasible / cost;
    }
}

/* ---- Batches ---- */

static const struct {
    const char *name, *help;
} batches[] = {
    [LTH_BATCH_AUTO] = {"auto", "what suits the acquisition"},
    [LTH_BATCH_JOINT] = {"joint", "by the expected improvement of all rows together"},
    [LTH_BATCH_BELIEVER] = {"believer", "each after the means of those before it are believed"},
    [LTH_BATCH_THOMPSON] = {"thompson", "each by a draw of its own from the joint posterior"},
    [LTH_BATCH_TOP] = {"top", "each by itself"},
};

const char *lth_batch_name(lth_batch which, const char **help) {
    if ((unsigned)which >= sizeof batches / sizeof *batches) return NULL;
    if (help) *help = batches[which].help;
    return batches[which].name;
}
