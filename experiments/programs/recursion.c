/* The string kernel by the recursion of Lodhi et al. (2002) as a textbook has it, O(order l^2): one
 * order after the other, one number at a time. The derivative by the gap is carried along; those by
 * the weights are the orders' values, and dk_i/dmatch = 2 i k_i at match 1. */
#include "gram_clock.h"

/* `after` becomes P_i, from P_(i-1) in `before`; the d_ arrays are derivatives by the gap. */
static double one_order(const char *s, const char *t, size_t n, const double *before, double *after,
                        const double *d_before, double *d_after, double *d_sum) {
    double sum = 0;
    memset(after, 0, n * sizeof *after);
    if (d_sum) memset(d_after, 0, n * sizeof *d_after);
    for (size_t j = 0; j < n; j++) {
        double along = 0, d_along = 0;
        for (size_t k = 0; k < n; k++) {
            size_t at = j * n + k;
            int equal = s[j] == t[k];
            double matched = equal ? before[at] : 0;
            sum += matched;
            if (d_sum) {
                double d_matched = equal ? d_before[at] : 0;
                *d_sum += d_matched;
                d_after[at + n] = after[at] + GAP * d_after[at] + d_along;
                d_along = along + GAP * d_along + d_matched;
            }
            after[at + n] = GAP * after[at] + along;
            along = GAP * along + matched;
        }
    }
    return sum;
}

static void pair(const char *s, const char *t, size_t n, int gradients, pair_result *out) {
    static double room[4][(LONGEST + 1) * LONGEST];
    double *p = room[0], *q = room[1], *dp = room[2], *dq = room[3];
    for (size_t i = 0; i < n * n; i++) p[i] = 1;
    if (gradients) memset(dp, 0, n * n * sizeof *dp);
    for (int i = 0; i < ORDER; i++) {
        double k = one_order(s, t, n, p, q, dp, dq, gradients ? &out->gap : NULL), *swap = p;
        out->value += k;
        out->weights[i] = k;
        out->match += 2 * (i + 1) * k;
        p = q, q = swap;
        swap = dp, dp = dq, dq = swap;
    }
}

int main(int count, char **words) {
    if (count != 2) return 2;
    strings s = read_strings(words[1]);
    time_both(&s, pair);
    return 0;
}
