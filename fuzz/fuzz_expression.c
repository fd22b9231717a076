/* Any text as a kernel expression: what is accepted prints to a text that is read as the same
 * kernel; what is refused is refused at a place inside it, with a reason. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static char *print(const lth_kernel *kernel) {
    size_t length = lth_kernel_print(kernel, NULL, 0);
    char *text = malloc(length + 1);
    if (!text || length == 0 || lth_kernel_print(kernel, text, length + 1) != length) abort();
    return text;
}

static void check_same(const lth_kernel *a, const lth_kernel *b) {
    if (lth_kernel_params(a) != lth_kernel_params(b)) abort();
    for (size_t i = 0; i < lth_kernel_params(a); i++) {
        lth_param x = *lth_kernel_param(a, i), y = *lth_kernel_param(b, i);
        if (strcmp(x.path, y.path) != 0 || x.value != y.value || x.held != y.held) abort();
        if (!x.tag != !y.tag || (x.tag && strcmp(x.tag, y.tag) != 0)) abort();
    }
    for (size_t i = 0;; i++) {
        const char *x = lth_kernel_column(a, i), *y = lth_kernel_column(b, i);
        if (!x && !y) break;
        if (!x || !y || strcmp(x, y) != 0) abort();
    }
}

static void print_and_parse(lth_ctx *ctx, const lth_kernel *kernel) {
    char *text = print(kernel);
    lth_kernel *again = NULL;
    if (lth_kernel_parse(ctx, text, &again, NULL) != LTH_OK) abort();
    char *text_again = print(again);
    if (strcmp(text, text_again) != 0) abort();
    check_same(kernel, again);
    free(text);
    free(text_again);
    lth_kernel_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    lth_ctx *ctx = harness_ctx();
    if (!text) abort();
    if (size > 0) memcpy(text, data, size);
    text[size] = 0;
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_status status = lth_kernel_parse(ctx, text, &kernel, &err);
    if (status == LTH_OK)
        print_and_parse(ctx, kernel);
    else if (status != LTH_EFORMAT || err.column == 0 || err.column > size + 1 || !err.message[0])
        abort();
    lth_kernel_free(kernel);
    free(text);
    return 0;
}
