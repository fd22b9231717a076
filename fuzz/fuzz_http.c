/* Any bytes as a request: a head, and after it a body in chunks. However they come in, in one piece
 * or byte by byte, they are read in the same way; what is wrong has a status and a reason. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "serve/serve_parse.h"

enum { ROOM = 4096 };

typedef struct body {
    char bytes[ROOM];
    size_t size, used;
    reading end;
} body;

static void check_problem(reading found, const problem *why) {
    bool wrong = found == READ_WRONG;
    if (wrong ? why->status < 400 || why->status > 599 || !why->text[0] : why->status != 0) abort();
}

/* `step` bytes more each time. */
static reading read_in_steps(const uint8_t *data, size_t size, size_t step, http_head *out,
                             char *room) {
    reading found = READ_MORE;
    size_t seen = 0;
    problem why = {0};
    if (size > 0) memcpy(room, data, size);
    for (size_t have = step < size ? step : size;; have = have + step < size ? have + step : size) {
        found = read_head(room, have, &seen, out, &why);
        if (found != READ_MORE || have == size) break;
    }
    check_problem(found, &why);
    return found;
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_same(const http_head *a, const http_head *b) {
    if (a->size != b->size || !same_text(a->method, b->method) ||
        !same_text(a->target, b->target) || !same_text(a->query, b->query) ||
        !same_text(a->host, b->host) || a->stays != b->stays || a->chunked != b->chunked ||
        a->length != b->length)
        abort();
}

static void decode(http_head *head) {
    char *room = head->query ? malloc(strlen(head->query) + 1) : NULL;
    if (room) query_value(head->query, "row", room);
    free(room);
    if (head->target) decode_percents(head->target);
}

static void read_body(const uint8_t *data, size_t size, size_t step, body *out) {
    chunk_reader r = {0};
    problem why = {0};
    *out = (body){.end = READ_MORE};
    while (out->end == READ_MORE && out->used < size) {
        size_t left = size - out->used, used;
        body_piece piece;
        out->end = read_chunk(&r, (const char *)data + out->used, left < step ? left : step, &used,
                              &piece, &why);
        if (piece.size > left || (out->end == READ_MORE && used == 0)) abort();
        for (size_t i = 0; i < piece.size && out->size < ROOM; i++)
            out->bytes[out->size++] = piece.at[i];
        out->used += used;
    }
    check_problem(out->end, &why);
}

static void read_bodies(const uint8_t *data, size_t size) {
    static body whole, pieces;
    read_body(data, size, size, &whole);
    read_body(data, size, 1, &pieces);
    if (whole.end != pieces.end || whole.size != pieces.size || whole.used != pieces.used ||
        memcmp(whole.bytes, pieces.bytes, whole.size) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    http_head whole, pieces;
    char *room = malloc(2 * size + 1);
    if (!room) return 0;
    reading found = read_in_steps(data, size, size + 1, &whole, room);
    if (read_in_steps(data, size, 1, &pieces, room + size) != found) abort();
    if (found == READ_WHOLE) {
        check_same(&whole, &pieces);
        decode(&whole);
        read_bodies(data + whole.size, size - whole.size);
    }
    free(room);
    return 0;
}
