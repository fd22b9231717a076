/* The loops of engine/smo.h. A stub defines BYTES, the width of its vectors, SMO_SOLVE and
 * ADD_ROWS, and includes this.
 *
 * Of equals the first row is chosen, whatever the width: lanes keep the first of theirs, and of
 * the lanes the lowest number is taken.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "engine/smo.h"

enum { LANES = BYTES / 8, NARROW = BYTES / 2 };

typedef double vec __attribute__((vector_size(BYTES)));
typedef int64_t ivec __attribute__((vector_size(BYTES)));
typedef float fvec __attribute__((vector_size(NARROW)));

static inline vec load(const double *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(double *p, vec v) {
    memcpy(p, &v, sizeof v);
}

static inline vec widen(const float *p) {
    fvec v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, vec);
}

static inline vec set1(double x) {
    return x - (vec){0};
}

static inline ivec choose_i(ivec mask, ivec a, ivec b) {
    return (mask & a) | (~mask & b);
}

static inline vec choose(ivec mask, vec a, vec b) {
    return (vec)choose_i(mask, (ivec)a, (ivec)b);
}

static inline ivec first_numbers(void) {
    ivec v = {0};
    for (int64_t lane = 0; lane < LANES; lane++) v[lane] = lane;
    return v;
}

/* ---- Choosing a pair ---- */

/* The beta whose slope upwards is least; and the largest slope downwards. */
typedef struct ends {
    double least, most;
    size_t at;
} ends;

static inline ends find_ends(vec least, ivec at, vec most) {
    ends e = {least[0], most[0], (size_t)at[0]};
    for (size_t lane = 1; lane < LANES; lane++) {
        bool lower = least[lane] < e.least;
        if (lower || (least[lane] == e.least && (size_t)at[lane] < e.at)) {
            e.least = least[lane];
            e.at = (size_t)at[lane];
        }
        if (most[lane] > e.most) e.most = most[lane];
    }
    return e;
}

/* F += step (K_i - K_j), and the ends of a group where it comes to lie. */
static inline ends move(lth__smo *s, size_t i, size_t j, double step, size_t group) {
    const float *row = s->K + i * s->rows, *other = s->K + j * s->rows;
    const double *up = s->group[group].up, *down = s->group[group].down;
    vec by = set1(step), least = set1(INFINITY), most = set1(-INFINITY);
    ivec number = first_numbers(), at = number;
    for (size_t t = 0; t < s->rows; t += LANES, number += LANES) {
        vec F = load(s->F + t) + by * (widen(row + t) - widen(other + t));
        vec rise = F + load(up + t), fall = F + load(down + t);
        ivec lower = rise < least;
        store(s->F + t, F);
        at = choose_i(lower, number, at);
        least = choose(lower, rise, least);
        most = choose(fall > most, fall, most);
    }
    return find_ends(least, at, most);
}

/* The j that lowers the sum most when beta_i goes up and beta_j down. */
typedef struct partner {
    double gain;
    size_t at;
} partner;

static inline partner find_partner(const lth__smo *s, size_t group, const ends *e) {
    const double *down = s->group[group].down;
    const float *row = s->K + e->at * s->rows;
    vec self = set1(s->diagonal[e->at]), from = set1(e->least), best = set1(0);
    vec flat = set1(LTH__SMO_FLAT);
    ivec number = first_numbers(), at = number;
    for (size_t t = 0; t < s->rows; t += LANES, number += LANES) {
        vec fall = load(s->F + t) + load(down + t) - from;
        vec curvature = self + load(s->diagonal + t) - 2 * widen(row + t);
        curvature = choose(curvature > flat, curvature, flat);
        vec gain = choose(fall > 0, fall * fall / curvature, set1(0));
        ivec better = gain > best;
        at = choose_i(better, number, at);
        best = choose(better, gain, best);
    }
    partner p = {best[0], (size_t)at[0]};
    for (size_t lane = 1; lane < LANES; lane++) {
        bool better = best[lane] > p.gain;
        if (better || (best[lane] == p.gain && (size_t)at[lane] < p.at))
            p = (partner){best[lane], (size_t)at[lane]};
    }
    return p;
}

/* ---- Steps ---- */

/* Where a beta may go in one step: to its bound, or to 0, where its slope changes. */
static inline double room_up(const lth__smo_group *g, size_t i, double epsilon) {
    double beta = g->beta[i];
    return epsilon > 0 && beta < 0 && g->hi[i] > 0 ? -beta : g->hi[i] - beta;
}

static inline double room_down(const lth__smo_group *g, size_t i, double epsilon) {
    double beta = g->beta[i];
    return epsilon > 0 && beta > 0 && g->lo[i] < 0 ? beta : beta - g->lo[i];
}

/* beta_i goes up and beta_j down; whoever has no more room comes to lie on its end exactly. */
static inline double take_step(lth__smo *s, size_t group, size_t i, size_t j, double slope) {
    lth__smo_group *g = &s->group[group];
    double curvature = s->diagonal[i] + s->diagonal[j] - 2 * (double)s->K[i * s->rows + j];
    double up = room_up(g, i, s->epsilon), down = room_down(g, j, s->epsilon);
    double step = slope / fmax(curvature, LTH__SMO_FLAT);
    bool i_ends = step >= up, j_ends = fmin(step, up) >= down;
    double to_i = up == -g->beta[i] ? 0 : g->hi[i], to_j = down == g->beta[j] ? 0 : g->lo[j];
    step = fmin(step, fmin(up, down));
    g->beta[i] = i_ends && step == up ? to_i : g->beta[i] + step;
    g->beta[j] = j_ends ? to_j : g->beta[j] - step;
    lth__smo_slopes(g, i, s->epsilon);
    lth__smo_slopes(g, j, s->epsilon);
    return step;
}

size_t SMO_SOLVE(lth__smo *s) {
    size_t steps = 0, i = 0, j = 0;
    double step = 0;
    for (;; steps++) {
        ends e[LTH__SMO_GROUPS];
        partner best = {-1, 0};
        size_t group = 0;
        double widest = -INFINITY;
        e[0] = move(s, i, j, step, 0);
        if (s->groups > 1) e[1] = move(s, i, j, 0, 1);
        for (size_t g = 0; g < s->groups; g++) {
            widest = fmax(widest, e[g].most - e[g].least);
            if (!(e[g].most - e[g].least > 0)) continue;
            partner p = find_partner(s, g, &e[g]);
            if (p.gain <= best.gain) continue;
            best = p;
            group = g;
        }
        if (!(widest > s->tolerance) || steps >= s->most_steps || best.gain <= 0) return steps;
        i = e[group].at;
        j = best.at;
        double slope = s->F[j] + s->group[group].down[j] - e[group].least;
        step = take_step(s, group, i, j, slope);
    }
}

/* ---- Sums of rows ---- */

enum { TOGETHER = 4, CHUNK = 2048 }; /* rows at once; columns whose sums stay near */

static inline void add_some(const float *const *row, const double *weight, size_t rows, size_t at,
                            size_t end, double *sum) {
    vec by[TOGETHER];
    for (size_t r = 0; r < rows; r++) by[r] = set1(weight[r]);
    size_t t = at;
    for (; t + LANES <= end; t += LANES) {
        vec v = load(sum + t);
        for (size_t r = 0; r < rows; r++) v += by[r] * widen(row[r] + t);
        store(sum + t, v);
    }
    for (; t < end; t++) {
        for (size_t r = 0; r < rows; r++) sum[t] = fma(weight[r], (double)row[r][t], sum[t]);
    }
}

void ADD_ROWS(const float *const *row, const double *weight, size_t rows, size_t count,
              double *sum) {
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t end = at + CHUNK < count ? at + CHUNK : count, r = 0;
        for (; r + TOGETHER <= rows; r += TOGETHER)
            add_some(row + r, weight + r, TOGETHER, at, end, sum);
        for (; r < rows; r++) add_some(row + r, weight + r, 1, at, end, sum);
    }
}
