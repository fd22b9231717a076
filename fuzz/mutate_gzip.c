/* Gzipped texts with a change inside, and a good checksum; in one member or two. */
#include <string.h>

#include <zlib.h>

#include "harness.h"

enum { ROOM = 1 << 16, GZIP = 15 + 16 };

static size_t unpack(uint8_t *data, size_t size, uint8_t *out, size_t room) {
    z_stream z = {
        .next_in = data, .avail_in = (unsigned)size, .next_out = out, .avail_out = (unsigned)room};
    if (inflateInit2(&z, GZIP) != Z_OK) return 0;
    inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return room - z.avail_out;
}

static size_t pack(uint8_t *data, size_t size, uint8_t *out, size_t room, unsigned seed) {
    z_stream z = {
        .next_in = data, .avail_in = (unsigned)size, .next_out = out, .avail_out = (unsigned)room};
    if (deflateInit2(&z, (int)(seed % 10), Z_DEFLATED, GZIP, 1 + (int)(seed % 9),
                     (int)(seed % 5)) != Z_OK)
        return 0;
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return room - z.avail_out;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    static uint8_t text[ROOM], packed[2 * ROOM];
    if (seed % 3 == 0) return LLVMFuzzerMutate(data, size, most);
    size_t length = unpack(data, size, text, ROOM / 2);
    length = LLVMFuzzerMutate(text, length, ROOM / 2);
    size_t first = seed % 5 == 0 ? length / 2 : length,
           used = pack(text, first, packed, ROOM, seed);
    if (first < length) used += pack(text + first, length - first, packed + used, ROOM, seed / 7);
    if (used == 0 || used > most) return LLVMFuzzerMutate(data, size, most);
    memcpy(data, packed, used);
    return used;
}
