/* Reasons: weights that add up, against brute force, for every kind of kernel. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "explain_support.h"

static lth_ctx *ctx;

static int open_ctx(void **state) {
    (void)state;
    ctx = support_context(1);
    return 0;
}

static int close_ctx(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

/* ---- Helpers ---- */

static double sum_patterns(const lth_reasons *r, size_t words) {
    double sum = 0;
    for (size_t i = 0; i < lth_reasons_summarise(r)->patterns; i++) {
        lth_reasons_pattern p = *lth_reasons_pattern_at(r, i);
        size_t count = 1;
        for (const char *c = p.text; *c; c++) count += *c == ' ' && strncmp(c, " ...", 4) != 0;
        if (words == 0 || count == words) sum += p.weight;
    }
    return sum;
}

static const lth_reasons_pattern *find_pattern(const lth_reasons *r, const char *text) {
    static lth_reasons_pattern found;
    for (size_t i = 0; i < lth_reasons_summarise(r)->patterns; i++) {
        found = *lth_reasons_pattern_at(r, i);
        if (strcmp(found.text, text) == 0) return &found;
    }
    fail_msg("there is no pattern %s", text);
    return NULL;
}

/* ---- Sums ---- */

/* mean = prediction = baseline + weights + missed */
static void check_sums(const char *kernel, bool exact, double most_missed, const char *vectors) {
    lth_gp *gp = explain_fit(ctx, kernel, "y", vectors);
    lth_table *table = support_table(ctx, explain_new_lines);
    double *predicted = support_predict(gp, table, false);
    double *latent = support_predict(gp, table, true);
    for (size_t row = 0; row < EXPLAIN_NEW_ROWS; row++) {
        lth_reasons *r = explain_new(gp, table, row, 0);
        lth_reasons_summary s = *lth_reasons_summarise(r);
        support_near(s.mean, predicted[row], 1e-9);
        support_near(s.baseline + explain_sum(r) + s.missed, s.mean, 1e-12);
        if (fabs(s.missed) > most_missed) fail_msg("%s misses %g", kernel, s.missed);
        assert_int_equal(s.exact, exact);
        support_near(s.sd, predicted[EXPLAIN_NEW_ROWS + row], 1e-9);
        support_near(s.distance, latent[EXPLAIN_NEW_ROWS + row], 1e-9);
        support_near(s.sd, sqrt(s.distance * s.distance + s.noise * s.noise), 1e-12);
        assert_true(isnan(s.probability));
        assert_true(s.prior >= s.distance);
        lth_reasons_free(r);
    }
    free(predicted);
    free(latent);
    lth_table_free(table);
    lth_gp_free(gp);
}

static void test_linear_expressions(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "ssk(text, order=1)",
        "ssk(text, order=3, gap=0.3, weights=[1,2,0.5])",
        "ssk(text, order=4, match=0.8, units=tokens)",
        "ssk(text, units=chars, order=3)",
        "ssk(text, units=bytes, order=2)",
        "ssk(text, order=2, gap=0)",
        "ssk(text, order=2, rarity=0.1)",
        "normalize(ssk(text, order=3))",
        "2.5 * normalize(ssk(text, order=2)) + 0.3 * linear(f1..f2) + 0.1",
        "normalize(ssk(text, order=2) + bow(text))",
        "normalize(sstk(tree))",
        "sstk(tree, decay=0.7, alpha=0.5, leaves=yes)",
        "stk(tree)",
        "ptk(tree)",
        "sstk(tree) + ptk(tree, lower=yes) + linear(f1) + linear(f1..f2)",
        "bow(text)",
        "linear(tfidf(text))",
        "normalize(ngrams(text, n=[1,3], units=words))",
        "ngrams(text, n=2, weighting=log)",
        "approx_ssk(text, n=3, gap=0.4)",
        "approx_ssk(text, n=2, gap=0, units=words)",
        "intersection(bow(text))",
        "normalize(intersection(ngrams(text, n=2)))",
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        check_sums(kernels[i], true, 1e-9, NULL);
}

static void test_other_expressions(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "rbf(f1..f2)",
        "tanimoto(bow(text) + ssk(text, order=2))",
        "rbf(f1..f2, ard=yes, lengthscale=[1,2])",
        "rq(ssk(text, order=2))",
        "rbf(normalize(ssk(text, order=3))) * linear(f1) + 0.2",
        "normalize(ssk(text, order=2)) * normalize(sstk(tree))",
        "matern52(bow(text)) + arccos(f1..f2)",
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        check_sums(kernels[i], false, 1e-4, NULL);
}

static void test_vectors(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "ssk(text, order=3, sim=dot)", "normalize(ssk(text, order=2, sim=exp, rarity=0.1))",
        "ssk(text, order=2, sim=arccos, oov=zero)", "linear(mean(text))",
        "ssk(text, order=2, sim=exp, ard=3, relevance=[0.2,3,1])"};
    char *vectors = support_vectors();
    for (size_t i = 0; i < 5; i++) check_sums(kernels[i], true, 1e-9, vectors);
    check_sums("rbf(mean(text))", false, 1e-4, vectors);
    support_remove(vectors);
}

/* ---- Against brute force ---- */

enum { LONGEST = 8 };

typedef struct words {
    const char *at[LONGEST];
    size_t count;
} words;

static words split(char *text) {
    words w = {0};
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) w.at[w.count++] = word;
    return w;
}

/* share[j] = the even shares of position j in all common subsequences of up to `order` words. */
static void share_subsequences(const words *s, const words *t, size_t order, double gap,
                               double *share) {
    for (unsigned a = 1; a < 1u << s->count; a++) {
        for (unsigned b = 1; b < 1u << t->count; b++) {
            size_t n = (size_t)__builtin_popcount(a), i = 0, j = 0;
            if (n > order || n != (size_t)__builtin_popcount(b)) continue;
            bool equal = true;
            for (size_t k = 0; k < n && equal; k++, i++, j++) {
                while (!(a >> i & 1)) i++;
                while (!(b >> j & 1)) j++;
                equal = strcmp(s->at[i], t->at[j]) == 0;
            }
            if (!equal) continue;
            int spans =
                32 - __builtin_clz(a) - __builtin_ctz(a) + 32 - __builtin_clz(b) - __builtin_ctz(b);
            double value = pow(gap, spans - 2 * (int)n);
            for (size_t k = 0; k < s->count; k++) {
                if (a >> k & 1) share[k] += value / (double)n;
            }
        }
    }
}

/* gap^(words skipped), summed over the places of a pattern in a text. */
static double count_places(const words *pattern, const words *text, double gap) {
    double sum = 0;
    for (unsigned a = 1; a < 1u << text->count; a++) {
        if ((size_t)__builtin_popcount(a) != pattern->count) continue;
        bool equal = true;
        for (size_t i = 0, k = 0; i < text->count; i++) {
            if (a >> i & 1) equal &= strcmp(text->at[i], pattern->at[k++]) == 0;
        }
        int span = 32 - __builtin_clz(a) - __builtin_ctz(a);
        if (equal) sum += pow(gap, span - (int)pattern->count);
    }
    return sum;
}

/* Every pattern that is listed: phi_u(x) sum_a alpha_a phi_u(a). */
static void check_patterns(const lth_reasons *r, const words *x, const words *rows,
                           const double *alpha, double gap) {
    for (size_t i = 0; i < lth_reasons_summarise(r)->patterns; i++) {
        lth_reasons_pattern p = *lth_reasons_pattern_at(r, i);
        char text[64];
        words all, pattern = {0};
        snprintf(text, sizeof text, "%s", p.text);
        all = split(text);
        for (size_t k = 0; k < all.count; k++) {
            if (strcmp(all.at[k], "...") != 0) pattern.at[pattern.count++] = all.at[k];
        }
        double weight = 0;
        size_t having = 0;
        for (size_t a = 0; a < 3; a++) {
            double count = count_places(&pattern, &rows[a], gap);
            weight += alpha[a] * count;
            having += count > 0;
        }
        support_near(p.weight, weight * count_places(&pattern, x, gap), 1e-10);
        assert_int_equal(p.rows, having);
        assert_true(p.example < 3);
    }
}

/* A model of three rows tells what each of them adds; their kernels are known by enumeration. */
static void test_tokens_by_enumeration(void **state) {
    (void)state;
    const double gap = 0.6;
    const size_t order = 3;
    lth_table *training = support_table(ctx, "text\ty\na b a c b\t1\nc a a b\t5\nb\t2\n");
    lth_table *new = support_table(ctx, "text\nb a c a b d\n");
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_gp_options options = support_fixed();
    options.unscaled = true;
    const char *target = "y";
    support_ok(
        lth_gp_fit(ctx, "ssk(text, order=3, gap=0.6)", training, &target, 1, &options, &gp, &err),
        &err);
    lth_reasons *r = explain_new(gp, new, 0, 0);
    char text[] = "b a c a b d", rows[3][16] = {"a b a c b", "c a a b", "b"};
    words x = split(text);
    double expected[LONGEST] = {0}, K[3] = {0}, w[3] = {0};
    words training_words[3];
    for (size_t i = 0; i < 3; i++) { /* the rows' weights, by what they add */
        lth_reasons_row row = *lth_reasons_row_at(r, i);
        w[row.row] = row.weight;
    }
    assert_int_equal(lth_reasons_summarise(r)->rows, 3);
    for (size_t a = 0; a < 3; a++) {
        words t = training_words[a] = split(rows[a]);
        double share[LONGEST] = {0};
        share_subsequences(&x, &t, order, gap, share);
        for (size_t j = 0; j < x.count; j++) K[a] += share[j];
        for (size_t j = 0; j < x.count; j++) expected[j] += w[a] / K[a] * share[j];
    }
    assert_int_equal(lth_reasons_summarise(r)->parts, x.count);
    for (size_t j = 0; j < x.count; j++) {
        lth_reasons_part p = *lth_reasons_part_at(r, j);
        support_near(p.weight, expected[j], 1e-10);
        assert_string_equal(p.text, x.at[j]);
        assert_int_equal(p.first, 2 * j);
        assert_int_equal(p.length, 1);
        assert_int_equal(p.seen, j < 5);
    }
    assert_true(lth_reasons_part_at(r, 5)->weight == 0);
    for (size_t a = 0; a < 3; a++) w[a] /= K[a];
    check_patterns(r, &x, training_words, w, gap);
    /* All patterns together are all there is, but for those with more than three words between two
     * of theirs, which six words cannot have. */
    support_near(sum_patterns(r, 0), explain_sum(r), 1e-10);
    lth_reasons_free(r);
    lth_table_free(training);
    lth_table_free(new);
    lth_gp_free(gp);
}

/* Soft matching: patterns still add up, order by order. */
static void test_soft_patterns_add_up(void **state) {
    (void)state;
    char *vectors = support_vectors();
    lth_gp *gp = explain_fit(ctx, "ssk(text, order=2, sim=dot, gap=0.5)", "y", vectors);
    lth_table *new = support_table(ctx, "text\nnot very good lamp\n");
    lth_reasons *r = explain_new(gp, new, 0, 0);
    support_near(sum_patterns(r, 0), explain_sum(r), 1e-9);
    assert_int_equal(lth_reasons_summarise(r)->patterns, 4 + 6);
    lth_reasons_free(r);
    lth_table_free(new);
    lth_gp_free(gp);
    support_remove(vectors);
}

/* A search that stops early finds the same heaviest ones. */
static void check_heaviest(lth_gp *gp, const lth_table *table, size_t row, const lth_reasons *all) {
    lth_error err = {0};
    lth_reasons *r = NULL;
    lth_explain_options options;
    lth_explain_options_init(&options);
    options.patterns = 3;
    support_ok(lth_gp_explain(gp, table, row, &options, &r, &err), &err);
    assert_int_equal(lth_reasons_summarise(r)->patterns, 3);
    for (size_t i = 0; i < 3; i++)
        support_near(fabs(lth_reasons_pattern_at(r, i)->weight),
                     fabs(lth_reasons_pattern_at(all, i)->weight), 1e-12);
    lth_reasons_free(r);
}

static void test_fragments(void **state) {
    (void)state;
    static const char *const kernels[] = {"sstk(tree, decay=0.6, alpha=0.8)",
                                          "normalize(sstk(tree, decay=0.5, alpha=1.5, leaves=yes))",
                                          "stk(tree, decay=0.9)"};
    lth_table *new = support_table(ctx, explain_new_lines);
    for (size_t i = 0; i < 3; i++) {
        lth_gp *gp = explain_fit(ctx, kernels[i], "y", NULL);
        for (size_t row = 0; row < EXPLAIN_NEW_ROWS; row++) {
            lth_reasons *r = explain_new(gp, new, row, 0);
            support_near(sum_patterns(r, 0), explain_sum(r), 1e-9);
            if (lth_reasons_summarise(r)->patterns > 3) check_heaviest(gp, new, row, r);
            lth_reasons_free(r);
        }
        lth_gp_free(gp);
    }
    lth_gp *gp = explain_fit(ctx, "sstk(tree)", "y", NULL);
    lth_reasons *r = explain_new(gp, new, 0, 0);
    const lth_reasons_pattern *p = find_pattern(r, "(S (A a) B)");
    assert_int_equal(p->rows, 2);
    assert_int_equal(find_pattern(r, "(S A B)")->rows, 4);
    lth_reasons_part root = *lth_reasons_part_at(r, 0), b = *lth_reasons_part_at(r, 3);
    assert_string_equal(root.text, "S");
    assert_int_equal(root.first, 0);
    assert_int_equal(root.length, strlen("(S (A a) (B (D b)))"));
    assert_int_equal(root.depth, 0);
    assert_true(root.seen);
    assert_string_equal(b.text, "B");
    assert_int_equal(b.first, 9);
    assert_int_equal(b.depth, 1);
    assert_false(b.seen);
    lth_reasons_free(r);
    lth_table_free(new);
    lth_gp_free(gp);
}

/* A node has what the fragments below it make: of the root S -> A A B, where B is another one, that
 * is d (alpha + d)^2 alpha, and of each A, which meets two others, 2 d. */
static void test_nodes(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        double d, alpha;
    } cases[] = {{"sstk(tree, decay=0.6, alpha=0.3)", 0.6, 0.3},
                 {"2 * sstk(tree, decay=0.5)", 0.5, 1},
                 {"stk(tree, decay=0.7)", 0.7, 0}};
    lth_table *table = support_table(ctx, "tree\ty\n(S (A a) (A a) (B c))\t2\n(T (C c))\t-1\n");
    lth_table *new = support_table(ctx, "tree\n(S (A a) (A a) (B b))\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_gp_options options = support_fixed();
        double d = cases[i].d, alpha = cases[i].alpha;
        lth_gp *gp = support_fit(ctx, cases[i].kernel, table, 1, &options);
        lth_reasons *r = explain_new(gp, new, 0, 0);
        static const char *const text[] = {"S", "A", "a", "A", "a", "B", "b"};
        const double wanted[] = {d * (alpha + d) * (alpha + d) * alpha, 2 * d, 0, 2 * d, 0, 0, 0};
        assert_int_equal(lth_reasons_summarise(r)->parts, 7);
        double unit = lth_reasons_part_at(r, 1)->weight / (2 * d);
        assert_true(unit > 0);
        for (size_t k = 0; k < 7; k++) {
            assert_string_equal(lth_reasons_part_at(r, k)->text, text[k]);
            support_near(lth_reasons_part_at(r, k)->weight, unit * wanted[k], 1e-12);
        }
        lth_reasons_free(r);
        lth_gp_free(gp);
    }
    lth_table_free(table);
    lth_table_free(new);
}

/* f1 and f2 are one part each, whichever kernels read them. */
static void test_numbers_are_joined(void **state) {
    (void)state;
    lth_gp *gp = explain_fit(ctx, "linear(f1..f2) + rbf(f1)", "y", NULL);
    lth_table *new = support_table(ctx, explain_new_lines);
    lth_reasons *r = explain_new(gp, new, 0, 0);
    assert_int_equal(lth_reasons_summarise(r)->parts, 2);
    assert_string_equal(lth_reasons_part_at(r, 0)->text, "f1");
    assert_string_equal(lth_reasons_part_at(r, 1)->column, "f2");
    assert_true(lth_reasons_part_at(r, 0)->first == LTH_NONE);
    assert_null(lth_reasons_part_at(r, 2));
    lth_reasons_free(r);
    lth_table_free(new);
    lth_gp_free(gp);
}

/* Tokens have their places in the cell as it is written. */
static void test_places(void **state) {
    (void)state;
    lth_gp *gp = explain_fit(ctx, "ssk(text, order=2) + linear(bow(text, lower=no))", "y", NULL);
    lth_table *new = support_table(ctx, explain_new_lines);
    lth_reasons *r = explain_new(gp, new, 0, 0);
    static const char *const texts[] = {"The", "lamp", "is", "really", "not", "Good"};
    static const size_t first[] = {0, 4, 9, 13, 20, 24};
    assert_int_equal(lth_reasons_summarise(r)->parts, 6);
    for (size_t i = 0; i < 6; i++) {
        lth_reasons_part p = *lth_reasons_part_at(r, i);
        assert_string_equal(p.text, texts[i]);
        assert_string_equal(p.column, "text");
        assert_int_equal(p.first, first[i]);
        assert_int_equal(p.length, strlen(texts[i]));
        assert_int_equal(p.seen, i != 3);
    }
    lth_reasons_free(r);
    lth_table_free(new);
    lth_gp_free(gp);
}

/* ---- Patterns of models ---- */

static void test_planted_pattern(void **state) {
    (void)state;
    char text[8192] = "text\ty\n";
    static const char *const nouns[] = {"lamp", "box", "radio", "cup", "pen"};
    for (int i = 0; i < 40; i++) {
        bool not = i % 2;
        char line[128];
        snprintf(line, sizeof line, "the %s is %s%s good and %s\t%d\n", nouns[i % 5],
                 not ? "not " : "", i % 3 ? "so" : "very", nouns[i % 7 % 5], not ? 1 : 9);
        strcat(text, line);
    }
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_gp_options options = support_fixed();
    const char *target = "y";
    lth_table *table = support_table(ctx, text);
    support_ok(lth_gp_fit(ctx, "ssk(text, order=2)", table, &target, 1, &options, &gp, &err), &err);
    lth_reasons *r = NULL;
    support_ok(lth_gp_patterns(gp, 0, 5, &r, &err), &err);
    lth_reasons_summary s = *lth_reasons_summarise(r);
    assert_int_equal(s.patterns, 10);
    assert_int_equal(s.parts + s.rows, 0);
    for (size_t i = 1; i < 10; i++)
        assert_true(lth_reasons_pattern_at(r, i - 1)->weight >=
                    lth_reasons_pattern_at(r, i)->weight);
    assert_true(lth_reasons_pattern_at(r, 4)->weight > 0);
    assert_true(lth_reasons_pattern_at(r, 5)->weight < 0);
    lth_reasons_pattern last = *lth_reasons_pattern_at(r, 9);
    assert_non_null(strstr(last.text, "not"));
    assert_int_equal(last.rows, last.text[0] == 'n' && !last.text[3] ? 20 : last.rows);
    assert_non_null(strstr(lth_gp_row_text(gp, last.example, 0), "not"));
    lth_reasons_free(r);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* A model's pattern is worth what a row made of it alone gets from its order. */
static void test_model_weights(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *gp = explain_fit(ctx, "ssk(text, order=2, gap=0.5)", "y", NULL);
    lth_reasons *model = NULL;
    support_ok(lth_gp_patterns(gp, 0, 30, &model, &err), &err);
    lth_table *new = support_table(ctx, "text\nnot good\n");
    lth_reasons *row = explain_new(gp, new, 0, 0);
    support_near(find_pattern(model, "not good")->weight, find_pattern(row, "not good")->weight,
                 1e-10);
    assert_int_equal(find_pattern(model, "not good")->rows, 2);
    assert_int_equal(find_pattern(model, "good")->rows, 6);
    lth_reasons_free(row);
    lth_reasons_free(model);
    lth_table_free(new);
    lth_gp_free(gp);
}

static void test_feature_patterns(void **state) {
    (void)state;
    lth_error err = {0};
    static const char *const kernels[] = {"linear(ngrams(text, n=2, units=words))",
                                          "intersection(ngrams(text, n=2, units=words))"};
    for (size_t i = 0; i < 2; i++) {
        lth_gp *gp = explain_fit(ctx, kernels[i], "y", NULL);
        lth_reasons *model = NULL;
        support_ok(lth_gp_patterns(gp, 0, 50, &model, &err), &err);
        lth_table *new = support_table(ctx, "text\nnot good\n");
        lth_reasons *row = explain_new(gp, new, 0, 0);
        assert_int_equal(lth_reasons_summarise(row)->patterns, 1);
        support_near(find_pattern(row, "not good")->weight, explain_sum(row), 1e-12);
        support_near(find_pattern(model, "not good")->weight, explain_sum(row), 1e-12);
        assert_int_equal(find_pattern(model, "not good")->rows, 2);
        lth_reasons_free(row);
        lth_reasons_free(model);
        lth_table_free(new);
        lth_gp_free(gp);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_expressions),
        cmocka_unit_test(test_other_expressions),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_tokens_by_enumeration),
        cmocka_unit_test(test_soft_patterns_add_up),
        cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_numbers_are_joined),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_planted_pattern),
        cmocka_unit_test(test_model_weights),
        cmocka_unit_test(test_feature_patterns),
    };
    return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
