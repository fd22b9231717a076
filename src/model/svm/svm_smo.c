/* Descent by decomposition: of all rows those that violate the conditions of a minimum most, and
 * some of the last ones, are taken out; their problem is small enough to stay in a core's own
 * memory, where SMO solves it (engine/smo.h); then F of all rows follows from what has changed,
 * which reads rows of the matrix from end to end. Joachims (1999), Zanni, Serafini & Zanghirati
 * (2006); the pair that violates most is always among them, so the sum falls in every round.
 *
 * All is done by one thread, in an order that depends on the data alone.
 */
#include "model/svm/svm_smo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"

enum {
    WORKING = 256,
    NEW = WORKING / 2,
    STEPS_PER_ROW = 100
}; /* rows taken out; new ones of them */
/* How much of the violation a small problem may leave. */
static const double inner_share = 0.1;
/* Steps after which it gives up; for many rows, a thousand for each. Some of what a grid tries has
 * no digits left to get nearer: values of 1e30 with a large C. */
enum { MOST_STEPS = 10000000, MOST_STEPS_PER_ROW = 1000 };

typedef struct candidate {
    double slope;
    uint32_t at;
} candidate;

typedef struct decomposition {
    lth__smo_whole *w;
    lth__smo_group group[LTH__SMO_GROUPS]; /* of all rows */
    double least[LTH__SMO_GROUPS], most[LTH__SMO_GROUPS];
    uint32_t *chosen, *next; /* rows of the problem at hand; of the one to come */
    uint32_t *age;           /* rounds that a row has been at hand; 0 = it is not */
    size_t chosen_count;
    candidate *list;
    lth__smo small;
    float *K;
    double *numbers, *was, *sum;
    float *line;
    const float **rows;
} decomposition;

/* ---- Memory ---- */

static void free_all(decomposition *d) {
    void *blocks[] = {d->group[0].up, d->chosen,  d->next, d->age,          d->list,
                      d->K,           d->numbers, d->sum,  (void *)d->rows, d->line};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

static bool gathers(const lth__smo_whole *w) {
    return w->count < w->all / 4;
}

static lth_status prepare(decomposition *d, lth_error *err) {
    lth__smo_whole *w = d->w;
    size_t n = w->count, q = WORKING;
    double *slopes = lth__alloc(2 * n * w->groups, sizeof *slopes);
    d->group[0].up = slopes;
    d->chosen = lth__alloc(q, sizeof *d->chosen);
    d->next = lth__alloc(q, sizeof *d->next);
    d->age = lth__calloc(n, sizeof *d->age);
    d->list = lth__alloc(n, sizeof *d->list);
    d->K = lth__alloc(q * q, sizeof *d->K);
    size_t per_row = 2 + 6 * w->groups;
    d->numbers = lth__alloc(per_row * q, sizeof *d->numbers);
    d->sum = lth__alloc(gathers(w) ? n : w->all, sizeof *d->sum);
    d->line = gathers(w) ? lth__alloc(4 * n, sizeof *d->line) : NULL;
    d->rows = lth__alloc(2 * q, sizeof *d->rows);
    if (!slopes || !d->chosen || !d->next || !d->age || !d->list || !d->K || !d->numbers ||
        !d->sum || !d->rows || (gathers(w) && !d->line))
        return lth__fail_memory(err, q * q * sizeof *d->K);
    double *p = d->numbers;
    d->small = (lth__smo){
        .groups = w->groups, .K = d->K, .diagonal = p, .F = p + q, .epsilon = w->epsilon};
    p += 2 * q;
    for (size_t g = 0; g < w->groups; g++) {
        d->group[g] = (lth__smo_group){w->beta + g * n, w->lo + g * n, w->hi + g * n,
                                       slopes + 2 * g * n, slopes + (2 * g + 1) * n};
        d->small.group[g] = (lth__smo_group){p, p + q, p + 2 * q, p + 3 * q, p + 4 * q};
        p += 5 * q;
    }
    d->was = p;
    return LTH_OK;
}

/* ---- Which rows ---- */

static void find_slopes(decomposition *d) {
    const lth__smo_whole *w = d->w;
    for (size_t g = 0; g < w->groups; g++) {
        d->least[g] = INFINITY;
        d->most[g] = -INFINITY;
        for (size_t i = 0; i < w->count; i++) {
            lth__smo_slopes(&d->group[g], i, w->epsilon);
            d->least[g] = fmin(d->least[g], w->F[i] + d->group[g].up[i]);
            d->most[g] = fmax(d->most[g], w->F[i] + d->group[g].down[i]);
        }
    }
}

static double violation(const decomposition *d) {
    double worst = -INFINITY;
    for (size_t g = 0; g < d->w->groups; g++) worst = fmax(worst, d->most[g] - d->least[g]);
    return worst;
}

static bool before(candidate a, candidate b) {
    return a.slope < b.slope || (a.slope == b.slope && a.at < b.at);
}

/* The `count` first of the list go to its beginning, in some order (Hoare's quickselect). */
static void select_first(candidate *list, size_t length, size_t count) {
    size_t lo = 0, hi = length;
    while (lo < count && count < hi && hi - lo > 1) {
        candidate pivot = list[lo + (hi - lo) / 2];
        size_t i = lo, j = hi - 1;
        for (;;) {
            while (before(list[i], pivot)) i++;
            while (before(pivot, list[j])) j--;
            if (i >= j) break;
            candidate t = list[i];
            list[i++] = list[j];
            list[j--] = t;
        }
        /* All before `middle` are at most the pivot, and the others at least; both have some. */
        size_t middle = i == lo ? lo + 1 : i;
        if (count < middle)
            hi = middle;
        else
            lo = middle;
    }
}

static void take(decomposition *d, size_t row, size_t *count) {
    if (d->age[row] > UINT32_MAX / 2) return;
    d->age[row] |= 1u << 31;
    d->next[(*count)++] = (uint32_t)row;
}

/* The `most` that violate one way. */
static void take_violating(decomposition *d, size_t g, bool up, size_t most, size_t *count) {
    const lth__smo_whole *w = d->w;
    const double *slope = up ? d->group[g].up : d->group[g].down;
    size_t length = 0;
    for (size_t i = 0; i < w->count; i++) {
        double s = up ? w->F[i] + slope[i] : -(w->F[i] + slope[i]);
        bool violates = up ? s < d->most[g] : -s > d->least[g];
        if (violates) d->list[length++] = (candidate){s, (uint32_t)i};
    }
    if (most > length) most = length;
    select_first(d->list, length, most);
    for (size_t i = 0; i < most; i++) take(d, d->list[i].at, count);
}

static bool is_free(const decomposition *d, size_t i) {
    for (size_t g = 0; g < d->w->groups; g++) {
        const lth__smo_group *o = &d->group[g];
        if (o->beta[i] != 0 && o->beta[i] > o->lo[i] && o->beta[i] < o->hi[i]) return true;
    }
    return false;
}

/* Rows that were at hand, the youngest first: those between their bounds, then the others. */
static void take_last(decomposition *d, size_t most, size_t *count) {
    size_t length = 0;
    for (size_t k = 0; k < d->chosen_count; k++) {
        uint32_t i = d->chosen[k];
        if (d->age[i] >> 31) continue;
        d->list[length++] = (candidate){(double)d->age[i] + (is_free(d, i) ? 0 : 1e9), i};
    }
    size_t room = most - *count < length ? most - *count : length;
    select_first(d->list, length, room);
    for (size_t i = 0; i < room; i++) take(d, d->list[i].at, count);
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void choose_rows(decomposition *d) {
    const lth__smo_whole *w = d->w;
    size_t count = 0, most = w->count < WORKING ? w->count : WORKING;
    size_t each = NEW / 2 / w->groups;
    if (w->count <= WORKING) {
        for (size_t i = 0; i < w->count; i++) d->next[count++] = (uint32_t)i;
    } else {
        for (size_t g = 0; g < w->groups; g++) {
            take_violating(d, g, true, each, &count);
            take_violating(d, g, false, each, &count);
        }
        take_last(d, most, &count);
        for (size_t k = 0; k < d->chosen_count; k++) {
            if (!(d->age[d->chosen[k]] >> 31)) d->age[d->chosen[k]] = 0;
        }
        qsort(d->next, count, sizeof *d->next, by_number);
        for (size_t k = 0; k < count; k++)
            d->age[d->next[k]] = (d->age[d->next[k]] & ~(1u << 31)) + 1;
    }
    uint32_t *t = d->chosen;
    d->chosen = d->next;
    d->next = t;
    d->chosen_count = count;
}

/* ---- The small problem ---- */

static const float *row_of(const lth__smo_whole *w, size_t i) {
    return w->K + w->row[i] * w->ld;
}

static void fill_small(decomposition *d) {
    const lth__smo_whole *w = d->w;
    lth__smo *s = &d->small;
    double *diagonal = (double *)s->diagonal;
    size_t q = d->chosen_count;
    s->rows = (q + LTH__SMO_STEP - 1) / LTH__SMO_STEP * LTH__SMO_STEP;
    for (size_t k = 0; k < s->rows; k++) {
        size_t i = k < q ? d->chosen[k] : 0;
        const float *from = row_of(w, i);
        float *to = d->K + k * s->rows;
        for (size_t l = 0; k < q && l < q; l++) to[l] = from[w->row[d->chosen[l]]];
        for (size_t l = q; k < q && l < s->rows; l++) to[l] = 0;
        diagonal[k] = (double)from[w->row[i]];
        s->F[k] = k < q ? w->F[i] : 0;
        for (size_t g = 0; g < w->groups; g++) {
            lth__smo_group *o = &s->group[g];
            o->beta[k] = k < q ? d->group[g].beta[i] : 0;
            o->lo[k] = k < q ? d->group[g].lo[i] : 0;
            o->hi[k] = k < q ? d->group[g].hi[i] : 0;
            lth__smo_slopes(o, k, w->epsilon);
        }
    }
}

/* What changed, for K and for the betas. */
static size_t take_changes(decomposition *d) {
    lth__smo_whole *w = d->w;
    size_t changed = 0;
    for (size_t k = 0; k < d->chosen_count; k++) {
        size_t i = d->chosen[k];
        double change = 0;
        for (size_t g = 0; g < w->groups; g++) {
            double *beta = &d->group[g].beta[i];
            change += d->small.group[g].beta[k] - *beta;
            *beta = d->small.group[g].beta[k];
        }
        if (change == 0) continue;
        d->was[changed] = change;
        d->rows[changed++] = row_of(w, i);
    }
    return changed;
}

static void update(decomposition *d) {
    lth__smo_whole *w = d->w;
    size_t changed = take_changes(d);
    if (!gathers(w)) {
        memset(d->sum, 0, w->all * sizeof *d->sum);
        w->engine->add_rows(d->rows, d->was, changed, w->all, d->sum);
        for (size_t i = 0; i < w->count; i++) w->F[i] += d->sum[w->row[i]];
        return;
    }
    for (size_t r = 0; r < changed; r += 4) {
        const float *line[4];
        size_t rows = changed - r < 4 ? changed - r : 4;
        for (size_t k = 0; k < rows; k++) {
            float *to = d->line + k * w->count;
            line[k] = to;
            for (size_t i = 0; i < w->count; i++) to[i] = d->rows[r + k][w->row[i]];
        }
        w->engine->add_rows(line, d->was + r, rows, w->count, w->F);
    }
}

/* ---- All of it ---- */

static double enough_of(const decomposition *d) {
    const lth__smo_whole *w = d->w;
    if (!w->relative) return w->tolerance;
    double apart = fabs(lth__smo_level(w, 0) - lth__smo_level(w, 1)) / 2;
    return w->tolerance * fmax(apart, 1e-6);
}

static lth_status descend(decomposition *d, lth_error *err) {
    lth__smo_whole *w = d->w;
    size_t most =
        w->count < MOST_STEPS / MOST_STEPS_PER_ROW ? MOST_STEPS : w->count * MOST_STEPS_PER_ROW;
    for (size_t steps = 0, last = 1; steps < most && last > 0; steps += last, w->rounds++) {
        find_slopes(d);
        double widest = violation(d), enough = enough_of(d);
        if (!(widest > enough)) return LTH_OK;
        lth_status status = lth__parallel_ask(w->ctx);
        if (status != LTH_OK) return lth__fail(err, status, "%s", lth_status_text(status));
        choose_rows(d);
        fill_small(d);
        bool whole = d->chosen_count == w->count;
        d->small.tolerance = whole ? enough * 0.9 : fmax(enough / 2, widest * inner_share);
        d->small.most_steps = STEPS_PER_ROW * d->chosen_count;
        last = w->engine->smo_solve(&d->small);
        w->steps += last;
        update(d);
    }
    w->unfinished = true;
    return LTH_OK;
}

lth_status lth__smo_descend(lth__smo_whole *w, lth_error *err) {
    decomposition d = {.w = w};
    lth_status status = prepare(&d, err);
    if (status == LTH_OK) status = descend(&d, err);
    free_all(&d);
    return status;
}

double lth__smo_level(const lth__smo_whole *w, size_t group) {
    const double *beta = w->beta + group * w->count, *lo = w->lo + group * w->count;
    const double *hi = w->hi + group * w->count;
    lth__smo_group g = {.beta = (double *)beta, .lo = (double *)lo, .hi = (double *)hi};
    double sum = 0, least = INFINITY, most = -INFINITY;
    size_t between = 0;
    for (size_t i = 0; i < w->count; i++) {
        double up, down;
        lth__smo_group one = {g.beta + i, g.lo + i, g.hi + i, &up, &down};
        lth__smo_slopes(&one, 0, w->epsilon);
        if (up == down) {
            sum += w->F[i] + up;
            between++;
        }
        least = fmin(least, w->F[i] + up);
        most = fmax(most, w->F[i] + down);
    }
    if (between > 0) return sum / (double)between;
    if (isinf(least) || isinf(most)) return isinf(least) ? most : least;
    return least / 2 + most / 2;
}
