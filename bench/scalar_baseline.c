/* The subsequence kernel as a textbook has it: one order after the other, each a dynamic programme
 * over the whole matrix of positions, O(order |s| |t|), one number at a time. No blocking, no
 * vectors, no trick; but nothing wasted either: memory is the caller's, and the sum along a row is
 * kept in a variable. */
#include "scalar_baseline.h"

#include <string.h>

size_t scalar_ssk_scratch(size_t s_length, size_t t_length) {
    return 2 * (s_length + 1) * t_length;
}

/* before[j][k] sums the matches of order i - 1 that lie before (j, k) in both strings; `after` gets
 * those of order i. Returns k_i. */
static double one_order(const char *s, size_t s_length, const char *t, size_t t_length, double gap,
                        const double *restrict before, double *restrict after) {
    double sum = 0;
    memset(after, 0, t_length * sizeof *after);
    for (size_t j = 0; j < s_length; j++) {
        const double *above = after + j * t_length;
        double *below = after + (j + 1) * t_length;
        double along_row = 0;
        for (size_t k = 0; k < t_length; k++) {
            double matched = s[j] == t[k] ? before[j * t_length + k] : 0;
            below[k] = gap * above[k] + along_row;
            along_row = gap * along_row + matched;
            sum += matched;
        }
    }
    return sum;
}

double scalar_ssk(const char *s, size_t s_length, const char *t, size_t t_length, size_t order,
                  double gap, double *scratch) {
    double *before = scratch, *after = scratch + (s_length + 1) * t_length, sum = 0;
    for (size_t i = 0; i < (s_length + 1) * t_length; i++) before[i] = 1;
    for (size_t i = 0; i < order; i++) {
        sum += one_order(s, s_length, t, t_length, gap, before, after);
        double *swap = before;
        before = after;
        after = swap;
    }
    return sum;
}
