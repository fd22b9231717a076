/* lth_search(): proposals of a space by real models, against all texts of it in a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "design_support.h"
#include "failing_allocator.h"
#include "gp_support.h"

static const char kernel[] = "normalize(ssk(seq, order=2, units=chars))";

/* How many letters are right, in texts of 5 letters. */
static lth_table *measured(lth_ctx *ctx) {
    char lines[4096] = "seq\ty\n";
    lth__random random;
    lth__random_seed(&random, 4);
    for (int i = 0; i < 30; i++) {
        char text[6] = {0};
        double y = 0;
        for (int k = 0; k < 5; k++) {
            text[k] = "ACGT"[lth__random_below(&random, 4)];
            y += text[k] == "GATTA"[k];
        }
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s\t%g\n", text, y);
    }
    return support_table(ctx, lines);
}

typedef struct setting {
    lth_ctx *ctx;
    lth_table *table;
    lth_gp *gp;
    lth_model *model;
} setting;

static setting open_with(unsigned threads, const char *expression) {
    setting s = {.ctx = support_context(threads)};
    lth_gp_options options = support_fixed();
    s.table = measured(s.ctx);
    s.gp = support_fit(s.ctx, expression, s.table, 1, &options);
    s.model = lth_gp_model(s.gp);
    return s;
}

static void close_setting(setting *s) {
    lth_gp_free(s->gp);
    lth_table_free(s->table);
    lth_ctx_free(s->ctx);
}

static lth_space *parse(lth_ctx *ctx, const char *rules) {
    lth_space *space;
    lth_error err = {0};
    support_ok(lth_space_parse(ctx, rules, &space, &err), &err);
    return space;
}

/* ---- Small spaces ---- */

static void all_texts(void **state) {
    (void)state;
    static const lth_acquisition acquisitions[] = {LTH_ACQUIRE_LOGEI, LTH_ACQUIRE_UCB,
                                                   LTH_ACQUIRE_GREEDY};
    setting s = open_with(1, kernel);
    lth_space *space = parse(s.ctx, "alphabet=ACGT, length=5, forbid=CC");
    lth_error err = {0};
    lth_table *all, *rows;
    support_ok(lth_space_sample(space, "seq", 2000, 1, &all, &err), &err);
    for (size_t a = 0; a < 3; a++) {
        lth_propose_options options;
        lth_proposals *found, *wanted;
        lth_propose_options_init(&options);
        options.acquisition = acquisitions[a];
        options.batch = LTH_BATCH_TOP;
        options.count = 6;
        support_ok(lth_search(&s.model, 1, space, &options, NULL, &rows, &found, &err), &err);
        support_ok(lth_propose(&s.model, 1, all, &options, &wanted, &err), &err);
        assert_int_equal(lth_proposals_count(found), 6);
        assert_int_equal(lth_table_rows(rows), 6);
        assert_string_equal(lth_table_column_name(rows, 0), "seq");
        for (size_t i = 0; i < 6; i++) {
            const lth_proposal *p = lth_proposal_at(found, i), *q = lth_proposal_at(wanted, i);
            assert_int_equal(p->row, i);
            assert_true(p->acquisition == q->acquisition);
            assert_true(p->mean == q->mean && p->distance == q->distance);
            char *text = design_cell(rows, i);
            assert_true(lth_space_has(space, text, strlen(text), NULL));
            free(text);
        }
        lth_proposals_free(found);
        lth_proposals_free(wanted);
        lth_table_free(rows);
    }
    lth_table_free(all);
    lth_space_free(space);
    close_setting(&s);
}

/* ---- Large ones ---- */

/* Letters and lengths as measured; the same for any number of threads. */
static void threads(void **state) {
    (void)state;
    char *texts[2][8];
    for (unsigned t = 0; t < 2; t++) {
        setting s = open_with(t == 0 ? 1 : 4, kernel);
        lth_space *space = parse(s.ctx, "length=5..12");
        lth_propose_options options;
        lth_search_options how;
        lth_proposals *found;
        lth_table *rows;
        lth_error err = {0};
        lth_propose_options_init(&options);
        lth_search_options_init(&how);
        options.count = 8;
        how.evaluations = 3000;
        support_ok(lth_search(&s.model, 1, space, &options, &how, &rows, &found, &err), &err);
        assert_int_equal(lth_proposals_count(found), 8);
        for (size_t i = 0; i < 8; i++) {
            texts[t][i] = design_cell(rows, i);
            assert_int_equal(strspn(texts[t][i], "ACGT"), strlen(texts[t][i]));
        }
        lth_proposals_free(found);
        lth_table_free(rows);
        lth_space_free(space);
        close_setting(&s);
    }
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(texts[0][i], texts[1][i]);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(texts[0][i], texts[0][j]);
    }
    for (size_t i = 0; i < 16; i++) free(texts[i / 8][i % 8]);
}

/* ---- What is refused ---- */

static void check_refused(const setting *s, const char *rules, const lth_propose_options *options,
                          const lth_search_options *how, lth_status status, const char *message) {
    lth_model *model = s->model;
    lth_space *space = parse(s->ctx, rules);
    lth_table *rows = (lth_table *)&space;
    lth_proposals *found = (lth_proposals *)&space;
    lth_error err = {0};
    assert_int_equal(lth_search(&model, 1, space, options, how, &rows, &found, &err), status);
    if (!strstr(err.message, message)) fail_msg("%s: %s", rules, err.message);
    assert_ptr_equal(rows, &space);
    assert_ptr_equal(found, &space);
    lth_space_free(space);
}

static int fails(void *user, const char *const *texts, size_t count, bool *valid) {
    (void)user, (void)texts, (void)count, (void)valid;
    return 1;
}

static int refuses(void *user, const char *const *texts, size_t count, bool *valid) {
    (void)user, (void)texts;
    memset(valid, 0, count * sizeof *valid);
    return 0;
}

static void refused(void **state) {
    (void)state;
    setting s = open_with(1, kernel);
    lth_propose_options options;
    lth_search_options how;
    lth_propose_options_init(&options);
    lth_search_options_init(&how);
    options.cost = "price";
    check_refused(&s, "length=5", &options, NULL, LTH_EARG, "costs are a column");
    check_refused(&s, "length=4, forbid=.", NULL, NULL, LTH_EARG, "no text was found");
    how.valid = fails;
    check_refused(&s, "length=4", NULL, &how, LTH_EIO, "what is valid failed");
    how.valid = refuses;
    check_refused(&s, "length=4", NULL, &how, LTH_EARG, "no text was found");
    close_setting(&s);
}

/* ---- Memory ---- */

typedef struct use_of {
    setting s;
    lth_space *space;
} use_of;

static lth_status use(void *user, lth_error *err) {
    use_of *u = user;
    lth_table *rows;
    lth_proposals *found;
    lth_search_options how;
    lth_search_options_init(&how);
    how.evaluations = 600;
    lth_status status = lth_search(&u->s.model, 1, u->space, NULL, &how, &rows, &found, err);
    if (status != LTH_OK) return status;
    lth_table_free(rows);
    lth_proposals_free(found);
    return LTH_OK;
}

static void failing(void **state) {
    (void)state;
    use_of u = {.s = open_with(1, kernel)};
    u.space = parse(u.s.ctx, "length=5..6");
    fail_each(use, &u, true, 30);
    lth_space_free(u.space);
    close_setting(&u.s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_texts),
        cmocka_unit_test(threads),
        cmocka_unit_test(refused),
        cmocka_unit_test(failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
