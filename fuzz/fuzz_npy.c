/* Any bytes, read as a .npy file; what is accepted must have as many values as its shape says. */
#include <stdlib.h>

#include "base/context.h"
#include "data/npy.h"
#include "harness.h"

static volatile double sink;

static void read_values(lth__npy *n) {
    lth_error err;
    if (n->count != n->shape[0] * n->shape[1] * n->shape[2]) abort();
    double value = 0, sum = 0;
    while (n->done < n->count && lth__npy_next(n, &value, 1, &err) == LTH_OK) sum += value;
    if (n->done == n->count) lth__npy_end(n, &err);
    sink = sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lth__npy n;
    lth_error err = {0};
    harness_put("array.npy", data, size);
    if (lth__npy_open(harness_ctx()->relay, "array.npy", &n, &err) == LTH_OK)
        read_values(&n);
    else if (err.status != LTH_EFORMAT || !err.message[0])
        abort();
    lth__npy_close(&n);
    return 0;
}
