/* Batches: believing is the same as fitting a model with the believed rows, joint improvement is
 * what brute force makes of the same draws, draws have the moments of the posterior, and distances
 * are kept. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "design/batch.h"
#include "design/belief.h"
#include "design/edits.h"
#include "design_support.h"
#include "gp_support.h"

enum { MEASURED = 25, POOL = 90, PICKS = 6 };

static lth_ctx *ctx;
static lth_table *measured, *pool;
static lth_model *model;

static int open_all(void **state) {
    (void)state;
    const char *target = "y";
    ctx = support_context(2);
    measured = design_rows(ctx, 0, MEASURED);
    pool = design_rows(ctx, MEASURED, POOL);
    model = design_fit(ctx, measured, &target, 1, LTH_GAUSSIAN);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_model_free(model);
    lth_table_free(measured);
    lth_table_free(pool);
    lth_ctx_free(ctx);
    return 0;
}

/* ---- Believing ---- */

/* The measured rows, and words with numbers. */
static lth_table *with_rows(const char *const *words, const double *y, size_t count) {
    char *lines = malloc((MEASURED + count) * 64 + 64), *at = lines;
    at += sprintf(at, "text\ty\n");
    size_t column = lth_table_find(measured, "y"), length;
    for (size_t i = 0; i < MEASURED; i++) {
        const char *cell = lth_table_cell(measured, i, column, &length);
        at += sprintf(at, "%s\t%.*s\n", design_word(measured, i), (int)length, cell);
    }
    for (size_t i = 0; i < count; i++) at += sprintf(at, "%s\t%.17g\n", words[i], y[i]);
    lth_table *table = support_table(ctx, lines);
    free(lines);
    return table;
}

static double highest(const double *x, size_t count) {
    double best = -INFINITY;
    for (size_t i = 0; i < count; i++) best = fmax(best, x[i]);
    return best;
}

static bool is_among(const char *word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) return true;
    }
    return false;
}

static bool is_measured(const char *word) {
    for (size_t i = 0; i < MEASURED; i++) {
        if (strcmp(word, design_word(measured, i)) == 0) return true;
    }
    return false;
}

/* What is best with a model that was fitted to all that is believed. */
static size_t best_after(const char *const *words, const double *y, size_t count,
                         lth_acquisition which, double *value) {
    const char *target = "y";
    lth_table *table = with_rows(words, y, count);
    lth_model *fitted = design_fit(ctx, table, &target, 1, LTH_GAUSSIAN);
    double *at_rows = support_predict(lth_model_gp(fitted), table, true);
    double *at_pool = support_predict(lth_model_gp(fitted), pool, true);
    double best = highest(at_rows, MEASURED + count);
    size_t row = LTH_NONE;
    for (size_t i = 0; i < POOL; i++) {
        const char *word = design_word(pool, i);
        if (is_measured(word) || is_among(word, words, count)) continue;
        double v = lth__acquisition_at(which)->value(at_pool[i], at_pool[POOL + i], best, 2);
        if (row == LTH_NONE || v > *value) row = i, *value = v;
    }
    free(at_rows);
    free(at_pool);
    lth_model_free(fitted);
    lth_table_free(table);
    return row;
}

static void believer(void **state) {
    (void)state;
    static const lth_acquisition kinds[] = {LTH_ACQUIRE_EI, LTH_ACQUIRE_LOGEI, LTH_ACQUIRE_UCB,
                                            LTH_ACQUIRE_PI, LTH_ACQUIRE_VARIANCE};
    double *means = support_predict(lth_model_gp(model), pool, true);
    for (size_t a = 0; a < 5; a++) {
        lth_propose_options o = design_options(PICKS);
        o.acquisition = kinds[a];
        lth_proposals *p = design_propose(&model, 1, pool, &o);
        assert_int_equal(lth_proposals_batch(p), LTH_BATCH_BELIEVER);
        char kept[PICKS][DESIGN_LENGTH + 1];
        const char *words[PICKS];
        double y[PICKS];
        for (size_t i = 0; i < PICKS; i++) {
            double value = 0;
            size_t row = best_after(words, y, i, kinds[a], &value);
            assert_int_equal(lth_proposal_at(p, i)->row, row);
            support_near(lth_proposal_at(p, i)->acquisition, value, 1e-8);
            words[i] = strcpy(kept[i], design_word(pool, row));
            y[i] = means[row];
        }
        lth_proposals_free(p);
    }
    free(means);
}

/* Rows that are pending are believed before the first. */
static void pending(void **state) {
    (void)state;
    lth_error err = {0};
    double *means = support_predict(lth_model_gp(model), pool, true), value = 0;
    char kept[3][DESIGN_LENGTH + 1];
    const char *words[] = {strcpy(kept[0], design_word(pool, 3)),
                           strcpy(kept[1], design_word(pool, 40)),
                           strcpy(kept[2], design_word(pool, 77))};
    double y[] = {means[3], means[40], means[77]};
    lth_table *table = NULL;
    support_ok(lth_table_from_texts(ctx, "text", words, NULL, 3, &table, &err), &err);
    lth_propose_options o = design_options(20);
    o.pending = table;
    static const lth_batch batches[] = {LTH_BATCH_BELIEVER, LTH_BATCH_JOINT, LTH_BATCH_THOMPSON,
                                        LTH_BATCH_TOP};
    size_t row = best_after(words, y, 3, LTH_ACQUIRE_LOGEI, &value);
    for (size_t b = 0; b < 4; b++) {
        o.batch = batches[b];
        lth_proposals *p = design_propose(&model, 1, pool, &o);
        for (size_t i = 0; i < 20; i++)
            assert_false(is_among(design_word(pool, lth_proposal_at(p, i)->row), words, 3));
        if (b < 2) {
            assert_int_equal(lth_proposal_at(p, 0)->row, row);
            support_near(lth_proposal_at(p, 0)->acquisition, value, 1e-8);
        }
        lth_proposals_free(p);
    }
    lth_table_free(table);
    free(means);
}

/* ---- Draws ---- */

typedef struct opened {
    lth__scorer *s;
    lth__candidates rows;
    lth__belief belief;
    size_t list[POOL], count; /* best first by the acquisition of each by itself */
    double value[POOL];
} opened;

static opened open_belief(const lth_propose_options *o) {
    lth_error err = {0};
    opened all = {0};
    support_ok(lth__scorer_create(&model, 1, o, &all.s, &err), &err);
    support_ok(lth__scorer_rows(all.s, pool, all.value, &err), &err);
    for (size_t i = 0; i < POOL; i++) {
        bool first = all.value[i] > -INFINITY;
        for (size_t j = 0; j < i && first; j++)
            first = strcmp(design_word(pool, i), design_word(pool, j)) != 0;
        if (!first) continue;
        size_t at = all.count++;
        for (; at > 0 && all.value[all.list[at - 1]] < all.value[i]; at--)
            all.list[at] = all.list[at - 1];
        all.list[at] = i;
    }
    support_ok(lth__candidates_open(&model, 1, pool, NULL, &all.rows, &err), &err);
    support_ok(lth__belief_open(&all.s->problem, &all.rows, all.list, all.count, &all.belief, &err),
               &err);
    return all;
}

static void close_belief(opened *all) {
    lth__belief_free(&all->belief);
    lth__candidates_close(&all->rows);
    lth__scorer_free(all->s);
}

/* The mean over draws of what rows improve together. */
static double together(const double *f, size_t n, size_t draws, double best, const size_t *row,
                       size_t count) {
    double sum = 0;
    for (size_t s = 0; s < draws; s++) {
        double top = best;
        for (size_t i = 0; i < count; i++) top = fmax(top, f[s * n + row[i]]);
        sum += (top - best) / (double)draws;
    }
    return sum;
}

static void joint(void **state) {
    (void)state;
    enum { DRAWS = 64 };
    lth_error err = {0};
    lth_propose_options o = design_options(PICKS);
    o.acquisition = LTH_ACQUIRE_EI;
    o.batch = LTH_BATCH_JOINT;
    o.draws = DRAWS;
    opened all = open_belief(&o);
    lth_proposals *p = design_propose(&model, 1, pool, &o);
    double *f = malloc(DRAWS * all.count * sizeof *f);
    support_ok(lth__belief_draw(&all.belief, 1, DRAWS, all.count, f, &err), &err);
    size_t taken[PICKS] = {0}; /* places in the list: the first by formula */
    assert_int_equal(lth_proposal_at(p, 0)->row, all.list[0]);
    support_near(lth_proposal_at(p, 0)->acquisition, all.value[all.list[0]], 1e-8);
    for (size_t k = 1; k < PICKS; k++) {
        double before = together(f, all.count, DRAWS, all.s->valuer.best, taken, k), most = -1;
        size_t best = 0;
        for (size_t i = 0; i < all.count; i++) {
            taken[k] = i;
            double gain = together(f, all.count, DRAWS, all.s->valuer.best, taken, k + 1) - before;
            if (gain > most + 1e-12) most = gain, best = i;
        }
        taken[k] = best;
        assert_true(most > 0);
        assert_int_equal(lth_proposal_at(p, k)->row, all.list[best]);
        support_near(lth_proposal_at(p, k)->acquisition, most, 1e-9);
    }
    free(f);
    lth_proposals_free(p);
    close_belief(&all);
}

static void thompson(void **state) {
    (void)state;
    lth_error err = {0};
    lth_propose_options o = design_options(PICKS);
    o.acquisition = LTH_ACQUIRE_TS;
    opened all = open_belief(&o);
    lth_proposals *p = design_propose(&model, 1, pool, &o);
    assert_int_equal(lth_proposals_batch(p), LTH_BATCH_THOMPSON);
    double *f = malloc(PICKS * all.count * sizeof *f);
    support_ok(lth__belief_draw(&all.belief, 1, PICKS, all.count, f, &err), &err);
    for (size_t k = 0; k < PICKS; k++) {
        double *of = f + k * all.count, top = highest(of, all.count);
        size_t i = 0;
        while (of[i] != top) i++;
        assert_int_equal(lth_proposal_at(p, k)->row, all.list[i]);
        support_near(lth_proposal_at(p, k)->acquisition, top, 1e-12);
        for (size_t s = k; s < PICKS; s++) f[s * all.count + i] = -INFINITY;
    }
    free(f);
    lth_proposals_free(p);
    close_belief(&all);
}

/* Means and covariances of many draws, also after a row was learned. */
static void moments(void **state) {
    (void)state;
    enum { DRAWS = 20000, FEW = 5 };
    lth_error err = {0};
    lth_propose_options o = design_options(1);
    opened all = open_belief(&o);
    support_ok(lth__belief_learn(&all.belief, 2, &err), &err);
    double *f = malloc(DRAWS * FEW * sizeof *f);
    support_ok(lth__belief_draw(&all.belief, 5, DRAWS, FEW, f, &err), &err);
    const double *C = all.belief.covariance, *mean = all.belief.mean;
    size_t n = all.belief.rows;
    for (size_t i = 0; i < FEW; i++) {
        for (size_t j = 0; j < FEW; j++) {
            double sum = 0, by = 0;
            for (size_t s = 0; s < DRAWS; s++) {
                by += f[s * FEW + i] / DRAWS;
                sum += (f[s * FEW + i] - mean[i]) * (f[s * FEW + j] - mean[j]) / DRAWS;
            }
            double now = C[i * n + j] - C[i * n + 2] * C[j * n + 2] / (C[2 * n + 2] + 0.1);
            support_near(by, mean[i], 0.02);
            support_near(sum, now, 0.02);
            if (i == j) support_near(all.belief.variance[i], now, 1e-12);
        }
    }
    free(f);
    close_belief(&all);
}

/* ---- Distances ---- */

static size_t edits(const char *a, const char *b) {
    return lth__edits(a, DESIGN_LENGTH, b, DESIGN_LENGTH, SIZE_MAX);
}

static void distances(void **state) {
    (void)state;
    for (lth_batch batch = LTH_BATCH_JOINT; batch <= LTH_BATCH_TOP; batch++) {
        for (size_t least = 2; least <= 3; least++) {
            lth_propose_options o = design_options(30);
            o.batch = batch;
            o.distance = least;
            o.shortlist = 12; /* so that the rows behind it are needed too */
            lth_proposals *p = design_propose(&model, 1, pool, &o);
            size_t count = lth_proposals_count(p);
            assert_true(count > 2 && (least == 2 || count < 30));
            for (size_t i = 0; i < count; i++) {
                const char *word = design_word(pool, lth_proposal_at(p, i)->row);
                for (size_t j = 0; j < MEASURED; j++)
                    assert_true(edits(word, design_word(measured, j)) >= least);
                for (size_t j = 0; j < i; j++)
                    assert_true(edits(word, design_word(pool, lth_proposal_at(p, j)->row)) >=
                                least);
            }
            lth_proposals_free(p);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(believer), cmocka_unit_test(pending), cmocka_unit_test(joint),
        cmocka_unit_test(thompson), cmocka_unit_test(moments), cmocka_unit_test(distances),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
