/* Any bytes, read as a model file; what is accepted must have its arrays, whole and aligned. */
#include <stdlib.h>

#include "harness.h"
#include "model/common/tensors.h"

static const char *const names[] = {"a", "b", "c", "d", "u8", "f64", ""};
static const size_t width[] = {[LTH__U8] = 1, [LTH__U32] = 4, [LTH__U64] = 8, 4, 8};

static volatile unsigned sink;

static void touch(const lth__tensor *tensor) {
    size_t size = width[tensor->dtype];
    if ((uintptr_t)tensor->data % size != 0 || tensor->rank > 3) abort();
    for (size_t i = 0; i < 3; i++) size *= tensor->shape[i];
    const unsigned char *bytes = tensor->data;
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++) sum += bytes[i];
    sink = sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lth__tensors *t;
    const lth__tensor *tensor;
    lth_error err = {0};
    if (lth__tensors_read_from(data, size, &t, &err) != LTH_OK) {
        if (!err.message[0]) abort();
        return 0;
    }
    if (lth__tensors_text(t, "checksum") == NULL) abort();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tensor = lth__tensors_find(t, names[i]);
        if (tensor != NULL) touch(tensor);
        if (lth__tensors_get(t, names[i], LTH__F64, 1, &tensor, &err) == LTH_OK) touch(tensor);
    }
    lth__tensors_free(t);
    return 0;
}
