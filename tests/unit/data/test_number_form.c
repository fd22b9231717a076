/* What cells look like to somebody who expects a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/number_form.h"

static void check(lth__number_form expected, const char *const *texts) {
    for (; *texts; texts++) {
        if (lth__number_form_of(*texts, strlen(*texts)) != expected)
            fail_msg("\"%s\" is of another form", *texts);
    }
}

static void test_forms(void **state) {
    (void)state;
    check(LTH__FORM_NUMBER, (const char *[]){"7", "-7.5", " 1e-3 ", ".5", "nan", "-inf", NULL});
    check(LTH__FORM_COMMA, (const char *[]){"7,5", "-7,5", "+0,25", ",5", "7,5e-3", "1,234",
                                            "1,234,567", "1,234.5", "1,234,567.25e2", "1.234,5",
                                            "1.234.567,5", "1 234,5", "1'234,5", " 12,5 ", NULL});
    check(LTH__FORM_LIST,
          (const char *[]){"1,2,3", "1, 2", "1.5,2.5", "1,2345.5", "1234,567,8", "-1,-2", NULL});
    check(LTH__FORM_TEXT, (const char *[]){"", "  ", "a", "a,b", "1,", ",", ",,", "1,,2", "1,b",
                                           "7,5%", "0x1", "-", "-,", "1.2.3", "1.23,4x", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
