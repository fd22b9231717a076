/* Local alignments as the paper has them: one cell after the other by three recurrences, and beside
 * each sum its derivatives. Exponentials are looked up, a row is overwritten by the next, and
 * nothing is rescaled. */
#include "alignment_baseline.h"

#include <string.h>

/* Of a cell: alignments that end in a pair, in letters skipped in x or in y. */
typedef struct sums {
    double all, score, runs, skipped;
} sums;

typedef struct cell {
    sums pair, skip_x, skip_y;
} cell;

static inline sums add(sums a, sums b) {
    return (sums){a.all + b.all, a.score + b.score, a.runs + b.runs, a.skipped + b.skipped};
}

/* From what they skip after: a run that begins, or one that goes on. */
static inline sums skip_one(sums begins, sums goes_on, double open, double extend) {
    return (sums){open * begins.all + extend * goes_on.all,
                  open * begins.score + extend * goes_on.score,
                  open * (begins.runs + begins.all) + extend * goes_on.runs,
                  open * begins.skipped + extend * (goes_on.skipped + goes_on.all)};
}

static inline sums pair_up(sums before, double factor, double score) {
    double all = factor * (1 + before.all);
    return (sums){all, factor * before.score + score * all, factor * before.runs,
                  factor * before.skipped};
}

plain_sums plain_alignments(const plain_scoring *s, const char *x, size_t m, const char *y,
                            size_t n, double *scratch) {
    cell *row = (cell *)scratch;
    sums total = {0, 0, 0, 0};
    memset(row, 0, (n + 1) * sizeof *row);
    for (size_t i = 0; i < m; i++) {
        const double *factor = s->factor[x[i] - 'A'], *score = s->score[x[i] - 'A'];
        sums corner = {0, 0, 0, 0};
        for (size_t j = 1; j <= n; j++) {
            int letter = y[j - 1] - 'A';
            cell above = row[j], left = row[j - 1], here;
            here.pair = pair_up(corner, factor[letter], score[letter]);
            here.skip_x = skip_one(above.pair, above.skip_x, s->open, s->extend);
            here.skip_y = skip_one(add(left.pair, left.skip_x), left.skip_y, s->open, s->extend);
            corner = add(above.pair, add(above.skip_x, above.skip_y));
            total = add(total, here.pair);
            row[j] = here;
        }
    }
    return (plain_sums){total.all, total.score, total.runs, total.skipped};
}
