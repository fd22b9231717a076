/* How well predictions order the rows, and whether they hit grades.
 *
 *     spearman = Pearson's r of the ranks; equal values share the mean of theirs
 *     kendall  = tau-b = (P - Q) / sqrt((pairs - tied in y) (pairs - tied in prediction)),
 *                P and Q being the pairs in the right and in the wrong order
 *     ndcg     = DCG / ideal DCG, DCG = sum over the first k rows of (y - min y) / log2(1 + place)
 *     recall   = share of the first k rows whose y is among the k highest
 *
 * where k is a tenth of the rows, and rows of equal prediction share their places: each has the
 * mean of what they have together.
 *
 * The rows are sorted by prediction; then merging sorts y, and counts Q on its way (Knight, 1966).
 * All is O(n log n).
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/common/metrics.h"

enum { MOST_GRADES = 100, TOP_SHARE = 10 };

typedef struct row {
    double point, y;
} row;

typedef struct ranking {
    size_t count, top;
    row *rows;          /* the highest prediction first, of equal ones the highest y */
    double *sorted;     /* y, the highest first                                       */
    double *scratch;    /* room for as many                                           */
    double wrong_pairs; /* of rows whose predictions and y are in opposite orders     */
} ranking;

/* ---- Sorting ---- */

static int falling(double x, double y) {
    return x > y ? -1 : x < y;
}

static int by_point_then_y(const void *a, const void *b) {
    const row *x = a, *y = b;
    int order = falling(x->point, y->point);
    return order ? order : falling(x->y, y->y);
}

/* Merges x[0 .. middle-1] and x[middle .. count-1]; returns how often one of the second went before
 * one of the first. */
static uint64_t merge(const double *x, size_t middle, size_t count, double *to) {
    uint64_t passed = 0;
    for (size_t i = 0, j = middle, k = 0; k < count; k++) {
        bool second = i == middle || (j < count && x[j] > x[i]);
        if (second) passed += middle - i;
        to[k] = second ? x[j++] : x[i++];
    }
    return passed;
}

/* The highest first; returns the pairs that were in the wrong order. */
static uint64_t sort_and_count(double *x, size_t count, double *scratch) {
    uint64_t passed = 0;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t left = count - start, whole = left < 2 * width ? left : 2 * width;
            passed += merge(x + start, width < whole ? width : whole, whole, scratch + start);
        }
        memcpy(x, scratch, count * sizeof *x);
    }
    return passed;
}

static void rank_rows(ranking *r, const lth__predicted *p) {
    for (size_t i = 0; i < r->count; i++) r->rows[i] = (row){p->point[i], p->y[i]};
    qsort(r->rows, r->count, sizeof *r->rows, by_point_then_y);
    for (size_t i = 0; i < r->count; i++) r->sorted[i] = r->rows[i].y;
    r->wrong_pairs = (double)sort_and_count(r->sorted, r->count, r->scratch);
}

/* ---- Ties ---- */

/* Where the rows end that have the prediction of this one. */
static size_t tie_end(const ranking *r, size_t begin) {
    size_t end = begin + 1;
    while (end < r->count && r->rows[end].point == r->rows[begin].point) end++;
    return end;
}

static double pairs_of(size_t count) {
    return (double)count * ((double)count - 1) / 2;
}

static double pairs_tied_in_y(const ranking *r) {
    double pairs = 0;
    for (size_t i = 0, begin = 0; i < r->count; i++) {
        if (r->sorted[i] != r->sorted[begin]) begin = i;
        pairs += (double)(i - begin);
    }
    return pairs;
}

static double pairs_tied_in_both(const ranking *r) {
    double pairs = 0;
    for (size_t i = 0, begin = 0; i < r->count; i++) {
        const row *a = &r->rows[begin], *b = &r->rows[i];
        if (a->point != b->point || a->y != b->y) begin = i;
        pairs += (double)(i - begin);
    }
    return pairs;
}

/* ---- Correlations ---- */

/* Of y, from 0; the mean of those of its equals. */
static double rank_of(const ranking *r, double y) {
    size_t first = 0, last = r->count; /* of values that are not above y */
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (r->sorted[middle] > y)
            first = middle + 1;
        else
            last = middle;
    }
    size_t end = r->count;
    while (last < end) { /* of those that are below */
        size_t middle = last + (end - last) / 2;
        if (r->sorted[middle] >= y)
            last = middle + 1;
        else
            end = middle;
    }
    return ((double)first + (double)last - 1) / 2;
}

static double spearman(const ranking *r) {
    double center = ((double)r->count - 1) / 2, yy = 0, pp = 0, yp = 0;
    for (size_t begin = 0, end; begin < r->count; begin = end) {
        end = tie_end(r, begin);
        double dp = ((double)begin + (double)end - 1) / 2 - center;
        for (size_t i = begin; i < end; i++) {
            double dy = rank_of(r, r->rows[i].y) - center;
            yy += dy * dy;
            pp += dp * dp;
            yp += dy * dp;
        }
    }
    return yy == 0 || pp == 0 ? 0 : yp / sqrt(yy * pp);
}

static double kendall(const ranking *r) {
    double pairs = pairs_of(r->count), tied_in_y = pairs_tied_in_y(r), tied_in_point = 0;
    for (size_t begin = 0, end; begin < r->count; begin = end) {
        end = tie_end(r, begin);
        tied_in_point += pairs_of(end - begin);
    }
    double untied = pairs - tied_in_y - tied_in_point + pairs_tied_in_both(r);
    double most = sqrt((pairs - tied_in_y) * (pairs - tied_in_point));
    return most == 0 ? 0 : (untied - 2 * r->wrong_pairs) / most;
}

/* ---- The top ---- */

static double discount(size_t place) {
    return 1 / log2((double)place + 2);
}

/* Where all y are equal there is no top. */
static void judge_top(const ranking *r, lth_metrics *m) {
    double least = r->sorted[r->count - 1], border = r->sorted[r->top - 1];
    if (r->sorted[0] == least) return;
    double ideal = 0, found = 0, hits = 0;
    for (size_t i = 0; i < r->top; i++) ideal += (r->sorted[i] - least) * discount(i);
    for (size_t begin = 0, end; begin < r->top; begin = end) {
        end = tie_end(r, begin);
        double gain = 0, high = 0, places = 0, worth = 0;
        for (size_t i = begin; i < end; i++) {
            gain += r->rows[i].y - least;
            high += r->rows[i].y >= border;
        }
        for (size_t i = begin; i < end && i < r->top; i++) places++, worth += discount(i);
        found += gain / (double)(end - begin) * worth;
        hits += high / (double)(end - begin) * places;
    }
    m->ndcg = found / ideal;
    m->recall = hits / (double)r->top;
}

/* ---- Grades ---- */

/* Those that y has, the highest first; 0 where these are no grades. */
static size_t list_grades(const ranking *r, double grade[MOST_GRADES]) {
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        double y = r->sorted[i];
        if (y != floor(y) || isinf(y)) return 0;
        if (i > 0 && y == r->sorted[i - 1]) continue;
        if (count == MOST_GRADES) return 0;
        grade[count++] = y;
    }
    return count;
}

/* Halfway between two the higher one. */
static double nearest_grade(const double *grade, size_t count, double point) {
    double nearest = grade[0];
    for (size_t g = 1; g < count; g++) {
        if (fabs(grade[g] - point) < fabs(nearest - point)) nearest = grade[g];
    }
    return nearest;
}

static double grades_kappa(const ranking *r, const lth__predicted *p) {
    double grade[MOST_GRADES], *found = r->scratch;
    size_t grades = list_grades(r, grade);
    if (grades == 0) return NAN;
    for (size_t i = 0; i < r->count; i++) found[i] = nearest_grade(grade, grades, p->point[i]);
    return lth__quadratic_kappa(p->y, found, r->count);
}

/* ---- All of them ---- */

static bool has_nan(const lth__predicted *p) {
    for (size_t i = 0; i < p->count; i++) {
        if (isnan(p->y[i]) || isnan(p->point[i])) return true;
    }
    return false;
}

lth_status lth__metrics_rank(const lth__predicted *p, lth_metrics *m, lth_error *err) {
    size_t n = p->count;
    if (n == 0 || has_nan(p)) return LTH_OK;
    ranking r = {.count = n,
                 .top = n < TOP_SHARE ? 1 : n / TOP_SHARE,
                 .rows = lth__alloc(n, sizeof *r.rows),
                 .sorted = lth__alloc(n, sizeof *r.sorted),
                 .scratch = lth__alloc(n, sizeof *r.scratch)};
    bool room = r.rows && r.sorted && r.scratch;
    if (room) {
        rank_rows(&r, p);
        m->spearman = spearman(&r);
        m->kendall = kendall(&r);
        m->qwk = grades_kappa(&r, p);
        judge_top(&r, m);
    }
    lth__free(r.rows);
    lth__free(r.sorted);
    lth__free(r.scratch);
    return room ? LTH_OK : lth__fail_memory(err, 4 * n * sizeof(double));
}
