/* What a search moves: from parameters to variables and back, each on its scale, within its bounds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gp_support.h"
#include "model/gp/gp_variables.h"

static const char kernel[] = "coregion(task, tasks=[a,b], w=[0.7,-0.4,0.2,0.3], own=[0.5,0.25]) * "
                             "rbf(f1, lengthscale=0.7) + "
                             "ssk(text, order=2, gap=0.3, match=0.6, weights=[0.5,2])";
static const char lines[] = "text\ttask\tf1\ty\na b\ta\t1\t2\nb c a\tb\t2\t1\nc\ta\t4\t0\n"
                            "b a\tb\t3\t2.5\na c b\ta\t2.5\t1.5\n";
enum { MOST = 40 };

static double parameter(const lth_gp *gp, size_t p) {
    return lth_kernel_param(lth_gp_kernel(gp), p)->value;
}

static double on_scale(const lth__variable *v, double value) {
    switch (v->scale) {
    case LTH__BY_LOGIT: return log(value) - log(1 - value);
    case LTH__BY_LOGARITHM: return log(value);
    default: return value;
    }
}

static void there_and_back(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, lines);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, kernel, table, 1, &options);
    lth__variables v;
    double x[MOST], value[MOST], again[MOST];
    size_t seen[3] = {0};
    options.learn = true;
    support_ok(lth__variables_list(gp, &options, &v, &err), &err);
    assert_true(v.count < MOST);
    lth__variables_read(&v, x);
    for (size_t i = 0; i < v.count; i++) {
        size_t p = v.list[i].param;
        seen[v.list[i].scale]++;
        if (p >= lth_kernel_params(gp->kernel)) continue; /* the model's own */
        value[i] = parameter(gp, p);
        support_near(x[i], on_scale(&v.list[i], value[i]), 1e-14);
        support_near(lth__variable_value(&v.list[i], x[i]), value[i], 1e-14);
    }
    assert_true(seen[LTH__BY_LOGIT] >= 1 && seen[LTH__BY_LOGARITHM] >= 4);
    assert_int_equal(seen[LTH__AS_IT_IS], 4);
    /* A step in each variable by itself is one in that parameter. */
    for (size_t i = 0; i < v.count; i++) {
        size_t p = v.list[i].param;
        if (p >= lth_kernel_params(gp->kernel)) continue;
        x[i] += 0.125;
        lth__variables_write(&v, x);
        support_near(on_scale(&v.list[i], parameter(gp, p)), x[i], 1e-13);
        for (size_t k = 0; k < v.count; k++) {
            size_t q = v.list[k].param;
            if (k != i && q < lth_kernel_params(gp->kernel))
                support_near(parameter(gp, q), value[k], 1e-13);
        }
        lth__variables_read(&v, again);
        support_near(again[i], x[i], 1e-13);
        x[i] -= 0.125;
    }
    /* Beyond the bounds is at them. */
    for (size_t i = 0; i < v.count; i++) {
        assert_true(v.lo[i] < v.hi[i]);
        x[i] = v.hi[i];
        assert_true(lth__variables_at_bound(&v, i, x[i]));
        lth__variables_write(&v, x);
        lth__variables_read(&v, again);
        support_near(again[i], x[i], 1e-9);
        assert_true(lth__variable_value(&v.list[i], x[i]) <= v.list[i].most);
        x[i] = (v.lo[i] + v.hi[i]) / 2;
        assert_false(lth__variables_at_bound(&v, i, x[i]));
    }
    lth__variables_free(&v);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
