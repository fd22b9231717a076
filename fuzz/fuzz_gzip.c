/* Any bytes as a file, gzipped or not: lines, and bytes after looking ahead, are the same text. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/file.h"
#include "harness.h"

/* A few bytes can be megabytes when they are unpacked: the first ones will do. */
enum { MOST = 1 << 16, AHEAD = 100 };

typedef struct text {
    char bytes[MOST];
    size_t size;
    lth_status status;
} text;

static void add(text *to, const char *bytes, size_t size) {
    if (size > MOST - to->size) size = MOST - to->size;
    if (size > 0) memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static lth__input *open_input(void) {
    lth__input *in;
    lth_error err;
    return lth__input_open(harness_ctx()->relay, "input", &in, &err) == LTH_OK ? in : NULL;
}

/* The newline of the last line is put there if the file has none. */
static void read_lines(text *out) {
    lth__input *in = open_input();
    const char *line = "";
    size_t length, count = 0;
    lth_error err = {0};
    out->size = 0;
    out->status = LTH_OK;
    if (in) lth__input_limit(in, MOST, "");
    while (in && line && out->size < MOST &&
           (out->status = lth__input_line(in, &line, &length, &err)) == LTH_OK) {
        if (!line) break;
        add(out, line, length);
        add(out, "\n", 1);
        if (lth__input_line_number(in) != ++count) abort();
    }
    if (out->status != LTH_OK && (out->status != LTH_EFORMAT || !err.message[0])) abort();
    lth__input_close(in);
}

static void read_bytes(text *out) {
    lth__input *in = open_input();
    char bytes[64];
    const char *ahead = NULL;
    size_t got = 1, seen = 0;
    lth_error err;
    out->size = 0;
    out->status = LTH_OK;
    while (in && got > 0 && out->size < MOST) {
        out->status = lth__input_peek(in, AHEAD, &ahead, &seen, &err);
        char first = seen > 0 ? *ahead : 0;
        if (out->status == LTH_OK)
            out->status = lth__input_bytes(in, bytes, 1 + out->size % sizeof bytes, &got, &err);
        if (out->status != LTH_OK) break;
        if ((got > 0) != (seen > 0) || (got > 0 && bytes[0] != first)) abort();
        add(out, bytes, got);
    }
    lth__input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static text lines, bytes;
    harness_put("input", data, size);
    read_lines(&lines);
    read_bytes(&bytes);
    if (lines.size == MOST || bytes.size == MOST) {
        size_t both = lines.size < bytes.size ? lines.size : bytes.size;
        if (memcmp(lines.bytes, bytes.bytes, both) != 0) abort();
        return 0;
    }
    if (lines.status != bytes.status) abort();
    if (lines.status != LTH_OK) return 0;
    if (bytes.size > 0 && bytes.bytes[bytes.size - 1] != '\n') add(&bytes, "\n", 1);
    if (lines.size != bytes.size || memcmp(lines.bytes, bytes.bytes, lines.size) != 0) abort();
    return 0;
}
