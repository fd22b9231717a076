/* Naming and opening devices: what is no name, what cannot be loaded, and what does without. Small
 * jobs stay on the CPU where the library decides. */
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/context.h"
#include "engine/device.h"

static lth_status open_device(const char *device, lth_ctx **ctx, lth_error *err) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.device = device;
    *ctx = NULL;
    *err = (lth_error){0};
    return lth_ctx_create(&options, ctx, err);
}

static void refuse(const char *device, lth_status status, const char *message) {
    lth_ctx *ctx;
    lth_error err;
    assert_int_equal(open_device(device, &ctx, &err), status);
    assert_null(ctx);
    if (!strstr(err.message, message))
        fail_msg("%s: \"%s\", not \"%s\"", device, err.message, message);
}

static void expect(const char *device, const char *name) {
    lth_ctx *ctx;
    lth_error err;
    if (open_device(device, &ctx, &err) != LTH_OK) fail_msg("%s: %s", device, err.message);
    assert_string_equal(lth_ctx_device(ctx), name);
    lth_ctx_free(ctx);
}

static void test_names(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "gpu",     "cuda0",    "cuda:",     "cuda:x",
        "cuda:1,", "cuda:1,1", "cuda:,1",   "cuda:1 2",
        "cuda:-1", "CUDA",     "cuda:1024", "cuda:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char message[160];
        snprintf(message, sizeof message, "unknown device \"%s\"; there are cpu, cuda, cuda:N",
                 wrong[i]);
        refuse(wrong[i], LTH_EARG, message);
    }
    expect(NULL, "cpu");
    expect("cpu", "cpu");
}

static void test_plugins(void **state) {
    (void)state;
    setenv("LTH_CUDA_PLUGIN", "/none/libnone.so", 1);
    refuse("cuda", LTH_EUNSUPPORTED,
           "the plug-in for GPUs cannot be loaded (make cuda builds it): /none/libnone.so");
    expect("auto", "cpu");
    setenv("LTH_CUDA_PLUGIN", "libm.so.6", 1); /* has no such function */
    refuse("cuda:0", LTH_EUNSUPPORTED, "libluthier_cuda.so is of another version of luthier");
    expect("auto", "cpu");
    setenv("LTH_CUDA_PLUGIN", "", 1); /* beside the program, and where libraries are */
    refuse("cuda", LTH_EUNSUPPORTED, "libluthier_cuda.so");
    unsetenv("LTH_CUDA_PLUGIN");
    refuse("cuda", LTH_EUNSUPPORTED, "libluthier_cuda.so");
}

/* ---- With the reference device, where it was built ---- */

static void name_reference(char out[4200]) {
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(length > 0);
    program[length] = 0;
    snprintf(out, 4200, "%s/../device/libluthier_reference.so", dirname(program));
}

static void test_reference(void **state) {
    (void)state;
    char path[4200];
    name_reference(path);
    if (access(path, R_OK) != 0) {
        printf("skipped: the reference device was not built\n");
        return;
    }
    setenv("LTH_CUDA_PLUGIN", path, 1);
    expect("cuda", "reference 0");
    expect("cuda:2", "reference 2");
    expect("cuda:3,1", "reference 3, reference 1");
    expect("auto", "reference 0");
    refuse("cuda:7", LTH_EARG, "there is no GPU 7: this machine has 4, counted from 0");
    refuse("cuda:0,7", LTH_EARG, "there is no GPU 7");
    unsetenv("LTH_CUDA_PLUGIN");
}

static void test_what_pays(void **state) {
    (void)state;
    const lth__gpu told = {.decides = false}, decides = {.decides = true};
    assert_true(lth__device_pays(&told, 0, 0));
    assert_false(lth__device_pays(&decides, 1e8, 1e7));
    assert_true(lth__device_pays(&decides, 1e9, 1));
    assert_true(lth__device_pays(&decides, 1, 1e8));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_plugins),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_what_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
