#include "kernel/string/local_alignment.h"

#include <math.h>
#include <string.h>

/* ---- Scores ---- */

void lth__scoring_make(const lth__substitution *matrix, double beta, double open, double extend,
                       lth__scoring *out) {
    enum { MOST = LTH__MOST_LETTERS };
    *out = (lth__scoring){
        .beta = beta, .open = open, .extend = extend, .identity = !matrix, .same = 5, .other = -4};
    for (size_t a = 0; matrix && a < matrix->count; a++) {
        for (size_t b = 0; b < matrix->count; b++) {
            double score = lth__substitution_score(matrix, a, b);
            out->score[a * MOST + b] = score;
            out->factor[a * MOST + b] = exp(beta * score);
        }
    }
}

/* Of a letter with all of y: its scores, and their factors. */
static void score_letter(const lth__scoring *s, uint32_t letter, const uint32_t *y, size_t n,
                         double *score, double *factor) {
    if (s->identity) {
        double same = exp(s->beta * s->same), other = exp(s->beta * s->other);
        for (size_t j = 0; j < n; j++) {
            score[j] = y[j] == letter ? s->same : s->other;
            factor[j] = y[j] == letter ? same : other;
        }
        return;
    }
    const double *scores = s->score + (size_t)letter * LTH__MOST_LETTERS;
    const double *factors = s->factor + (size_t)letter * LTH__MOST_LETTERS;
    for (size_t j = 0; j < n; j++) {
        score[j] = scores[y[j]];
        factor[j] = factors[y[j]];
    }
}

enum { WEIGHT, SCORE, RUNS, SKIPPED, SUMS }; /* alignments: all, and times what they have */

/* ---- In plain numbers ---- */

typedef struct room {
    double *score, *factor; /* of a letter of x with all of y     */
    void *row;              /* by letter of y: what is kept of it */
} room;

static const double most_plain = 0x1p900; /* sums grow by rows, and there is room for another */

/* Before the i-th row of cells. */
static inline bool goes_on(const lth__scoring *s, size_t i, size_t n) {
    enum { CELLS_TO_ASK = 1 << 18 };
    if (!s->ctx || (i + 1) % (CELLS_TO_ASK / n + 1) != 0) return true;
    return lth__parallel_ask(s->ctx) == LTH_OK;
}

/* Of the row above there are M, X, and all three of a cell; Y goes along. `sums` is WEIGHT + 1 or
 * SUMS. Ends after the row that takes the sum to most_plain. */
static inline void sum_plainly(const lth__scoring *s, int sums, const uint32_t *x, size_t m,
                               const uint32_t *y, size_t n, const room *r, double *total) {
    double open = exp(-s->beta * s->open), extend = exp(-s->beta * s->extend);
    memset(r->row, 0, 3 * (size_t)sums * n * sizeof(double));
    for (size_t i = 0; i < m && total[WEIGHT] < most_plain && goes_on(s, i, n); i++) {
        double corner[SUMS] = {0}, skip_y[SUMS] = {0}, *pair = r->row;
        score_letter(s, x[i], y, n, r->score, r->factor);
        for (size_t j = 0; j < n; j++, pair += 3 * sums) {
            double *skip_x = pair + sums, *all = skip_x + sums, factor = r->factor[j];
            double paired = pair[WEIGHT], skipped_x = skip_x[WEIGHT], skipped_y = skip_y[WEIGHT];
            for (int q = 0; q < sums; q++) {
                skip_x[q] = open * pair[q] + extend * skip_x[q];
                pair[q] = factor * (corner[q] + (q == WEIGHT));
            }
            if (sums == SUMS) {
                pair[SCORE] += r->score[j] * pair[WEIGHT];
                skip_x[RUNS] += open * paired;
                skip_x[SKIPPED] += extend * skipped_x;
            }
            for (int q = 0; q < sums; q++) {
                double ended = pair[q] + skip_x[q];
                corner[q] = all[q];
                all[q] = ended + skip_y[q];
                skip_y[q] = open * ended + extend * skip_y[q];
                total[q] += pair[q];
            }
            if (sums == SUMS) {
                skip_y[RUNS] += open * (pair[WEIGHT] + skip_x[WEIGHT]);
                skip_y[SKIPPED] += extend * skipped_y;
            }
        }
    }
}

/* ---- By levels: cells ---- */

typedef struct cell {
    double pair[SUMS], skip_x[SUMS], skip_y[SUMS];
    int level;
} cell;

enum { FARTHEST = 3 }; /* levels beyond which there is nothing to add */

/* 2^-256 to the power `levels`, from -FARTHEST on; 0 beyond FARTHEST on either side: by the bounds
 * of a step no sum that matters is so far away. */
static double lowered(int levels) {
    static const double power[] = {0x1p768, 0x1p512, 0x1p256, 1, 0x1p-256, 0x1p-512, 0x1p-768};
    return levels < -FARTHEST || levels > FARTHEST ? 0 : power[levels + FARTHEST];
}

typedef struct step {
    double score, factor; /* of the two letters */
    double open, extend;  /* factors, too       */
} step;

/* A cell from its neighbours, which are brought to its level by these factors; `sums` is WEIGHT + 1
 * or SUMS. Returns what it weighs. */
static inline double fill_from(const step *t, int sums, const cell *corner, double aslant,
                               const cell *above, double down, const cell *left, double across,
                               int level, cell *out) {
    double pair = t->factor * aslant;
    double open_x = t->open * down, extend_x = t->extend * down;
    double open_y = t->open * across, extend_y = t->extend * across;
    for (int q = 0; q < sums; q++) {
        out->pair[q] = pair * (corner->pair[q] + corner->skip_x[q] + corner->skip_y[q]);
        out->skip_x[q] = open_x * above->pair[q] + extend_x * above->skip_x[q];
        out->skip_y[q] = open_y * (left->pair[q] + left->skip_x[q]) + extend_y * left->skip_y[q];
    }
    out->pair[WEIGHT] += t->factor * lowered(level); /* it begins here */
    out->level = level;
    if (sums == SUMS) {
        out->pair[SCORE] += t->score * out->pair[WEIGHT];
        out->skip_x[RUNS] += open_x * above->pair[WEIGHT];
        out->skip_x[SKIPPED] += extend_x * above->skip_x[WEIGHT];
        out->skip_y[RUNS] += open_y * (left->pair[WEIGHT] + left->skip_x[WEIGHT]);
        out->skip_y[SKIPPED] += extend_y * left->skip_y[WEIGHT];
    }
    return out->pair[WEIGHT] + out->skip_x[WEIGHT] + out->skip_y[WEIGHT];
}

/* Most are of one level: then nothing waits for a table's factors. */
static inline double fill_cell(const step *t, int sums, const cell *corner, const cell *above,
                               const cell *left, int level, cell *out) {
    if (corner->level == level && above->level == level && left->level == level)
        return fill_from(t, sums, corner, 1, above, 1, left, 1, level, out);
    return fill_from(t, sums, corner, lowered(level - corner->level), above,
                     lowered(level - above->level), left, lowered(level - left->level), level, out);
}

static inline void raise_cell(cell *c, int sums) {
    for (int q = 0; q < sums; q++) {
        c->pair[q] *= 0x1p-256;
        c->skip_x[q] *= 0x1p-256;
        c->skip_y[q] *= 0x1p-256;
    }
    c->level++;
}

/* Only the sums that there are. */
static inline cell copy_cell(const cell *from, int sums) {
    cell to;
    for (int q = 0; q < sums; q++) {
        to.pair[q] = from->pair[q];
        to.skip_x[q] = from->skip_x[q];
        to.skip_y[q] = from->skip_y[q];
    }
    to.level = from->level;
    return to;
}

static int higher(int a, int b) {
    return a > b ? a : b;
}

/* At the level that suits it: it weighs 2^-128 to 2^128 there, or less at level 0. */
static inline void settle_cell(const step *t, int sums, const cell *corner, const cell *above,
                               const cell *left, cell *out) {
    int level = higher(corner->level, higher(above->level, left->level));
    double weight = fill_cell(t, sums, corner, above, left, level, out);
    while (weight < 0x1p-128 && level > 0)
        weight = fill_cell(t, sums, corner, above, left, --level, out);
    if (weight > 0x1p128) raise_cell(out, sums);
}

static inline void add_pairs(const cell *c, int sums, double *total, int *level) {
    if (c->level > *level) {
        for (int q = 0; q < sums; q++) total[q] *= lowered(c->level - *level);
        *level = c->level;
    }
    double by = lowered(*level - c->level);
    for (int q = 0; q < sums; q++) total[q] += by * c->pair[q];
}

/* ---- By levels: all cells ---- */

size_t lth__alignments_room(size_t length) {
    return length * (2 * sizeof(double) + sizeof(cell));
}

static inline int sum_by_levels(const lth__scoring *s, int sums, const uint32_t *x, size_t m,
                                const uint32_t *y, size_t n, const room *r, double *total) {
    int level = 0;
    step t = {.open = exp(-s->beta * s->open), .extend = exp(-s->beta * s->extend)};
    cell *row = r->row;
    memset(row, 0, n * sizeof *row);
    for (size_t i = 0; i < m && goes_on(s, i, n); i++) {
        cell corner = {.level = 0}, left = corner;
        score_letter(s, x[i], y, n, r->score, r->factor);
        for (size_t j = 0; j < n; j++) {
            cell above = copy_cell(&row[j], sums);
            t.score = r->score[j];
            t.factor = r->factor[j];
            settle_cell(&t, sums, &corner, &above, &left, &row[j]);
            add_pairs(&row[j], sums, total, &level);
            corner = copy_cell(&above, sums);
            left = copy_cell(&row[j], sums);
        }
    }
    return level;
}

/* ---- Both ---- */

/* Few sequences are so alike that plain numbers do not do. Returns the level. */
static inline int sum_all(const lth__scoring *s, int sums, const uint32_t *x, size_t m,
                          const uint32_t *y, size_t n, const room *r, double *total) {
    sum_plainly(s, sums, x, m, y, n, r, total);
    if (total[WEIGHT] < most_plain) return 0;
    memset(total, 0, SUMS * sizeof *total);
    return sum_by_levels(s, sums, x, m, y, n, r, total);
}

/* Which of the two is x is always the same: the shorter, or the one with the smaller letters. */
static bool in_order(const uint32_t *x, size_t m, const uint32_t *y, size_t n) {
    return m != n ? m < n : memcmp(x, y, n * sizeof *y) <= 0;
}

void lth__alignments_sum(const lth__scoring *s, const uint32_t *x, size_t m, const uint32_t *y,
                         size_t n, bool slopes, void *room_, lth__alignments *out) {
    *out = (lth__alignments){.log_sum = -INFINITY};
    if (m == 0 || n == 0) return;
    if (!in_order(x, m, y, n)) {
        lth__alignments_sum(s, y, n, x, m, slopes, room_, out);
        return;
    }
    double total[SUMS] = {0}, *numbers = room_;
    room r = {.score = numbers, .factor = numbers + n, .row = numbers + 2 * n};
    int level = slopes ? sum_all(s, SUMS, x, m, y, n, &r, total)
                       : sum_all(s, WEIGHT + 1, x, m, y, n, &r, total);
    double runs = total[RUNS] / total[WEIGHT], skipped = total[SKIPPED] / total[WEIGHT];
    out->log_sum = log(total[WEIGHT]) + level * 256 * log(2);
    out->beta = total[SCORE] / total[WEIGHT] - s->open * runs - s->extend * skipped;
    out->open = -s->beta * runs;
    out->extend = -s->beta * skipped;
}
