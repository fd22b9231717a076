/* Each argument of each family, with values that it cannot have: refused with the place of the
 * argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "luthier.h"

static lth_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    return lth_ctx_create(NULL, &ctx, NULL) == LTH_OK ? 0 : -1;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

static lth_status parse(const char *text, lth_error *err) {
    lth_kernel *kernel = NULL;
    *err = (lth_error){0};
    lth_status status = lth_kernel_parse(ctx, text, &kernel, err);
    assert_true((status == LTH_OK) == (kernel != NULL));
    lth_kernel_free(kernel);
    return status;
}

/* "NAME(OPERAND" of a family that has arguments. */
static bool begin(const lth_family *f, char out[80]) {
    static const char *const operands[] = {"text", "f", "f1..f3", "linear(f)", "ssk(text)"};
    char whole[96];
    lth_error err;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        snprintf(out, 80, "%s(%s", f->name, operands[i]);
        snprintf(whole, sizeof whole, "%s)", out);
        if (parse(whole, &err) == LTH_OK) return true;
    }
    return false;
}

static const char *const wrong[] = {"some-word", "-1e300",  "[]",   "[-1,-1,-1]",
                                    "[a,b,a,b]", "$tag=-7", "1.25", "1e300",
                                    "1 in 3..2", "-5!",     "nan"};
enum { WRONG = sizeof wrong / sizeof *wrong };

/* How many of the values are refused. */
static size_t refuse(const char *front, const lth_argument *a) {
    size_t refused = 0;
    for (size_t i = 0; i < WRONG; i++) {
        char text[160];
        lth_error err;
        snprintf(text, sizeof text, "%s, %s=%s)", front, a->name, wrong[i]);
        lth_status status = parse(text, &err);
        if (status == LTH_OK) continue;
        if (status != LTH_EFORMAT || !err.message[0] || err.column <= 1 ||
            err.column > strlen(text) + 1)
            fail_msg("%s: status %d, column %zu: %s", text, status, err.column, err.message);
        refused++;
    }
    return refused;
}

static void test_wrong_values(void **state) {
    (void)state;
    const lth_family *f;
    size_t families = 0;
    for (size_t i = 0; (f = lth_family_at(i)); i++) {
        char front[80];
        if (!lth_family_argument(f, 0) || !begin(f, front)) continue;
        const lth_argument *a;
        for (size_t k = 0; (a = lth_family_argument(f, k)); k++)
            if (refuse(front, a) == 0) fail_msg("%s takes anything for %s", front, a->name);
        families++;
    }
    assert_true(families > 20);
}

static void test_unknown_and_twice(void **state) {
    (void)state;
    lth_error err;
    assert_int_equal(parse("ssk(text, ordre=2)", &err), LTH_EFORMAT);
    assert_int_equal(err.column, 11);
    assert_non_null(strstr(err.message, "did you mean \"order\""));
    assert_int_equal(parse("ssk(text, order=2, order=2)", &err), LTH_EFORMAT);
    assert_int_equal(err.column, 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_values),
        cmocka_unit_test(test_unknown_and_twice),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
