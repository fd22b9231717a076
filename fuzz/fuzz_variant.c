/* Any text as the mutations of a sequence, the first line; the first byte says whether variants
 * keep their length. What comes out of a variant that is aligned has the length of the sequence. */
#include <stdlib.h>
#include <string.h>

#include "data/variant.h"
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data + 1,
               *end = size > 0 ? memchr(text, '\n', size - 1) : NULL;
    if (!end) return 0;
    size_t length = (size_t)(end - text), rest = size - 2 - length;
    char *sequence = malloc(length + 1);
    if (!sequence) return 0;
    memcpy(sequence, text, length);
    sequence[length] = 0;
    lth__wild_type wild = {
        .sequence = sequence, .first = (long)(data[0] >> 1) - 5, .aligned = data[0] & 1};
    lth__string out = {0};
    lth_error err = {0};
    lth_status status =
        lth__variant_write(&wild, (const char *)data + size - rest, rest, &out, &err);
    if (status == LTH_OK && wild.aligned && out.length != strlen(sequence)) abort();
    if (status != LTH_OK && (status != LTH_EFORMAT || !err.message[0])) abort();
    lth__string_free(&out);
    free(sequence);
    return 0;
}
