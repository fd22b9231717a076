/* What a family may leave out: the self-similarities of each leaf and their slopes are the same
 * when they come from its tiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"
#include "gp_support.h"
#include "kernel/core/encode.h"
#include "kernel/core/gram.h"

/* Beside a number, so that no leaf has the first of all parameters. */
static const char *const kernels[] = {
    "3 + ssk(text, units=chars, order=3, gap=0.4, match=0.7, weights=[0.5,1,2])",
    "3 + la(text, beta=0.4, open=5, extend=2)",
    "3 + gkm(text, units=chars, l=4, k=3, weights=5)",
    "3 + oligo(text, units=chars, k=2, sigma=0.7)",
    "3 + wd(text, units=chars, order=3, shift=1, weights=[1,2,3])",
    "3 + ngrams(text, units=chars)",
    "0.3 * ssk(text, units=chars, order=2) * (2 + 0.5 * ssk(text, units=chars, gap=0.2))",
};

static const char rows[] = "text\nACDEACCA\nCADA\nEEACD\nACACACAC\nDCEADCEA\nACE\nCDDCAEEAACD\n";

typedef struct answers {
    double *self, *slope;
    size_t params, rows;
} answers;

static answers ask(const lth_kernel *kernel, const lth_items *items) {
    lth_error err = {0};
    answers a = {.params = kernel->param_count, .rows = lth_items_count(items)};
    a.self = calloc(a.rows, sizeof *a.self);
    a.slope = calloc(a.params * a.rows, sizeof *a.slope);
    assert_non_null(a.self);
    assert_non_null(a.slope);
    lth__eval eval = {.ctx = kernel->ctx,
                      .kernel = kernel,
                      .rows = items,
                      .cols = items,
                      .gradients = true,
                      .only_diagonal = true};
    support_ok(lth__eval_prepare(&eval, &err), &err);
    support_ok(lth__node_diagonal(kernel->root, &eval, items, a.self, a.slope, &err), &err);
    lth__eval_release(&eval);
    return a;
}

static void leave_out_diagonals(lth_kernel *kernel, lth__family *room) {
    for (size_t n = 0; n < kernel->node_count; n++) {
        lth__node *node = kernel->nodes[n];
        if (node->input_count > 0 || node->family == &lth__family_number) continue;
        room[n] = *node->family;
        room[n].diagonal = NULL;
        node->family = &room[n];
    }
}

static void test_self_similarities_come_from_tiles(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        lth_error err = {0};
        fixture f = fixture_open(kernels[k], &(lth_ctx_options){.threads = 3});
        lth_table *table = support_table(f.ctx, rows);
        support_ok(lth_encode(f.encoder, table, &f.items[f.item_count++], &err), &err);
        lth__family room[16];
        assert_true(f.kernel->node_count <= 16);
        answers own = ask(f.kernel, f.items[0]);
        leave_out_diagonals(f.kernel, room);
        answers by_tiles = ask(f.kernel, f.items[0]);
        fixture_check_near(by_tiles.self, own.self, own.rows, 1e-12, 1e-12);
        fixture_check_near(by_tiles.slope, own.slope, own.params * own.rows, 1e-12, 1e-12);
        answers *both[] = {&own, &by_tiles};
        for (size_t i = 0; i < 2; i++) {
            free(both[i]->self);
            free(both[i]->slope);
        }
        lth_table_free(table);
        fixture_close(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self_similarities_come_from_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
