/* What holds for all kernels of an expression. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "luthier.h"

static const char *const path = "test_settings_wt.fa";
static lth_ctx *ctx;

static int begin(void **state) {
    (void)state;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(">wt\nMKV\nAG\n", f);
    assert_int_equal(fclose(f), 0);
    return lth_ctx_create(NULL, &ctx, NULL);
}

static int end(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return unlink(path);
}

static void check(const char *expression, const lth_kernel_settings *s, const char *wanted) {
    lth_kernel *kernel = NULL;
    lth_error err = {0};
    char text[400];
    assert_int_equal(lth_kernel_parse_with(ctx, expression, s, &kernel, &err), LTH_OK);
    lth_kernel_print(kernel, text, sizeof text);
    assert_string_equal(text, wanted);
    lth_kernel_free(kernel);
}

static void arguments_are_filled_in(void **state) {
    (void)state;
    lth_kernel_settings s;
    lth_kernel_settings_init(&s);
    check("ssk(a)", NULL, "ssk(a)");
    check("ssk(a)", &s, "ssk(a)");
    s.wild_type = path;
    check("normalize(ssk(a)) + rbf(x) | ssk(b)", &s,
          "normalize(ssk(a, wild_type=MKVAG)) + rbf(x) | ssk(b, wild_type=MKVAG)");
    s.offset = -3;
    check("ssk(a) * ssk(b, wild_type=AC, first=7)", &s,
          "ssk(a, wild_type=MKVAG, first=-2) * ssk(b, wild_type=AC, first=7)");
    s.wild_type = NULL;
    check("ssk(a) * ssk(b, wild_type=AC)", &s, "ssk(a) * ssk(b, wild_type=AC, first=-2)");
    lth_kernel_settings_init(&s);
    s.fold_case = true;
    check("ssk(a, units=chars) + wd(b, lower=no)", &s,
          "ssk(a, units=chars, lower=yes) + wd(b, lower=no)");
}

static void arrays_are_their_columns(void **state) {
    (void)state;
    static const char *const arrays[] = {"e=settings.npy", "e2=settings.npy"};
    const double data[6] = {0};
    lth_kernel_settings s;
    lth_kernel_settings_init(&s);
    s.arrays = arrays;
    s.array_count = 2;
    assert_int_equal(lth_npy_write("settings.npy", data, (size_t[]){2, 3}, 2, NULL), LTH_OK);
    check("rbf(scale(e)) * linear(e2) | rbf(\"e\")", &s,
          "rbf(scale(e1..e3)) * linear(e2_1..e2_3) | rbf(e1..e3)");
    check("rbf(e1..e2)", &s, "rbf(e1..e2)");
    assert_int_equal(lth_npy_write("settings.npy", data, (size_t[]){6, 1}, 2, NULL), LTH_OK);
    check("rbf(e)", &s, "rbf(e1)");
    assert_int_equal(lth_npy_write("settings.npy", data, (size_t[]){6}, 1, NULL), LTH_OK);
    check("rbf(e)", &s, "rbf(e)");
    unlink("settings.npy");
    lth_kernel *kernel = NULL;
    lth_error err = {0};
    assert_int_equal(lth_kernel_parse_with(ctx, "rbf(e)", &s, &kernel, &err), LTH_EIO);
    assert_string_equal(err.file, "settings.npy");
    assert_null(kernel);
}

static void refuse(const char *expression, const lth_kernel_settings *s, const char *message) {
    lth_kernel *kernel = NULL;
    lth_error err = {0};
    assert_int_equal(lth_kernel_parse_with(ctx, expression, s, &kernel, &err), LTH_EARG);
    assert_null(kernel);
    assert_non_null(strstr(err.message, message));
}

static void mistakes(void **state) {
    (void)state;
    lth_kernel_settings s;
    lth_kernel_settings_init(&s);
    s.offset = 1;
    refuse("ssk(a)", &s, "an offset goes with a wild type");
    s.wild_type = path;
    refuse("rbf(x)", &s, "reads mutations of a wild type; these do: ");
    refuse("ssk(a, wild_type=AC)", &s, "has a wild_type already");
    lth_kernel_settings_init(&s);
    s.fold_case = true;
    refuse("rbf(x)", &s, "lower case from upper");
    s.size = 0;
    refuse("ssk(a)", &s, "lth_kernel_settings_init");
}

static int stop(void *user, const char *what, double done, double total) {
    (void)user, (void)what, (void)done, (void)total;
    return 1;
}

/* A wild type that is long is read until it is canceled; one that is not there is a mistake. */
static void what_keeps_a_wild_type_from_being_read(void **state) {
    (void)state;
    enum { LINES = 1 << 18 };
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.progress = stop;
    lth_ctx *asking = NULL;
    lth_kernel *kernel = NULL;
    lth_error err = {0};
    assert_int_equal(lth_ctx_create(&options, &asking, &err), LTH_OK);
    FILE *file = fopen("long.fa", "w");
    assert_non_null(file);
    fputs(">w\n", file);
    for (size_t i = 0; i < LINES; i++) fputs("ACDEFGHIKLMNPQRSTVWYACDEFGHIKLM\n", file);
    assert_int_equal(fclose(file), 0);
    const char *expression = "ssk(a, wild_type=\"long.fa\")";
    assert_int_equal(lth_kernel_parse(asking, expression, &kernel, &err), LTH_ECANCELED);
    assert_int_equal(err.status, LTH_ECANCELED);
    unlink("long.fa");
    assert_int_equal(lth_kernel_parse(asking, expression, &kernel, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.message, "the wild type long.fa: cannot open"));
    assert_null(kernel);
    lth_ctx_free(asking);
}

static lth_status parse_all(void *settings, lth_error *err) {
    lth_kernel *kernel = NULL;
    lth_status status = lth_kernel_parse_with(ctx, "ssk(a) + 2 * ssk(b, units=chars) + rbf(e)",
                                              settings, &kernel, err);
    lth_kernel_free(kernel);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_kernel_settings s;
    lth_kernel_settings_init(&s);
    s.wild_type = path;
    s.offset = 2;
    s.fold_case = true;
    static const char *const array = "e=settings.npy";
    s.arrays = &array;
    s.array_count = 1;
    const double data[6] = {0};
    assert_int_equal(lth_npy_write("settings.npy", data, (size_t[]){2, 3}, 2, NULL), LTH_OK);
    fail_each(parse_all, &s, false, 5);
    unlink("settings.npy");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_filled_in),
        cmocka_unit_test(arrays_are_their_columns),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(what_keeps_a_wild_type_from_being_read),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
