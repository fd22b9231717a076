/* Journals whose frames have good checksums. */
#include <string.h>

#include <zlib.h>

#include "harness.h"

enum { FRAME = 16, LONGEST = 200 };

static void seal(uint8_t *data, size_t size) {
    for (size_t at = 1; size - at >= FRAME;) {
        uint64_t length;
        memcpy(&length, data + at, sizeof length);
        if (length > LONGEST) length %= LONGEST;
        memcpy(data + at, &length, sizeof length);
        uint32_t sum = (uint32_t)crc32_z(0, data + at, sizeof length);
        memcpy(data + at + 8, &sum, sizeof sum);
        if (length > size - at - FRAME) return;
        sum = (uint32_t)crc32_z(0, data + at + FRAME, length);
        memcpy(data + at + 12, &sum, sizeof sum);
        at += FRAME + length;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    size = LLVMFuzzerMutate(data, size, most);
    if (seed % 4 > 0 && size > 0 && *data == '+') seal(data, size);
    return size;
}
