/* Campaigns on a table whose answers are known, and what random choice comes to, by counting.
 *
 * Of N rows in ascending order, n are drawn. The best is the j-th with probability
 *     p_j = C(j-1, n-1) / C(N, n),   p_N = n / N,   p_(j-1) = p_j (j - n) / (j - 1). */
#include "simulation.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the neighbours, of values in ascending order. */
static double quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

static bool sum_up_campaigns(simulation *s) {
    size_t count = s->campaign_count;
    double *sorted = malloc((count + 1) * sizeof *sorted);
    for (size_t r = 0; sorted && r < s->steps; ++r) {
        double sum = 0;
        for (size_t i = 0; i < count; ++i) sum += sorted[i] = s->campaigns[i].best[r];
        qsort(sorted, count, sizeof *sorted, by_value);
        s->reached.mean[r] = sum / (double)count;
        s->reached.low[r] = quantile(sorted, count, 0.1);
        s->reached.median[r] = quantile(sorted, count, 0.5);
        s->reached.high[r] = quantile(sorted, count, 0.9);
    }
    free(sorted);
    return sorted != NULL;
}

/* The best of n rows of those with the values y, ascending, the best last. */
static void expect_random(const double *y, size_t rows, size_t n, double *mean, double at[3]) {
    static const double above[] = {0.9, 0.5, 0.1}; /* that much lies above the quantile */
    double p = (double)n / (double)rows, passed = 0;
    size_t next = 2;
    *mean = 0;
    for (size_t j = rows; j >= n; --j) {
        *mean += p * y[j - 1];
        passed += p;
        while (next < 3 && passed >= above[next] - 1e-12) at[next--] = y[j - 1];
        if (j == 1) break;
        p *= (double)(j - n) / (double)(j - 1);
    }
    while (next < 3) at[next--] = y[n - 1]; /* rounding */
}

/* That none of `good` rows is among n of all. */
static double miss(size_t rows, size_t good, size_t n) {
    double p = 1;
    for (size_t i = 0; i < good; ++i)
        p *= rows - i > n ? (double)(rows - i - n) / (double)(rows - i) : 0;
    return p;
}

bool simulation_sum_up(simulation *s, double *y) {
    size_t rows = s->table_rows, best = 0;
    double sign = s->minimize ? -1 : 1, scale = s->share ? 1 / s->optimum : 1;
    for (size_t i = 0; i < rows; ++i) y[i] *= sign;
    qsort(y, rows, sizeof *y, by_value);
    while (best < rows && y[rows - 1 - best] == y[rows - 1]) ++best;
    for (size_t r = 0; r < s->steps; ++r) {
        size_t n = s->start + r * s->count;
        double mean, at[3];
        expect_random(y, rows, n, &mean, at);
        s->random.mean[r] = sign * mean * scale;
        s->random.low[r] = sign * at[s->minimize ? 2 : 0] * scale;
        s->random.median[r] = sign * at[1] * scale;
        s->random.high[r] = sign * at[s->minimize ? 0 : 2] * scale;
        s->random_found = 1 - miss(rows, best, n);
    }
    s->random_until_top = (double)(rows + 1) / (double)(s->top_rows + 1);
    return sum_up_campaigns(s);
}
