/* Unpacking gzip by zlib's inflate(). A file may have several members, one after the other, as
 * `cat` and bgzip make them; what comes after the last and is none is ignored, as gzip does. */
#include "base/gunzip.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"

enum { PACKED_AT_ONCE = 256 * 1024, GZIP = 15 + 16, MOST = 1 << 30 };

struct lth__gunzip {
    z_stream stream;
    int file;                  /* -1 = nothing follows what is at hand            */
    unsigned char *packed;     /* of the file, PACKED_AT_ONCE                     */
    const unsigned char *rest; /* of memory, after what `stream` was given    */
    size_t rest_size;
    bool ended; /* the last member is over */
};

bool lth__is_gzip(const void *bytes, size_t size) {
    return size >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

lth_status lth__gunzip_open(int file, const void *bytes, size_t size, lth__gunzip **out,
                            lth_error *err) {
    lth__gunzip *g = lth__calloc(1, sizeof *g);
    if (g == NULL) return lth__fail_memory(err, sizeof *g);
    g->file = file;
    if (inflateInit2(&g->stream, GZIP) != Z_OK) {
        lth__free(g);
        return lth__fail_memory(err, 0);
    }
    g->rest = bytes;
    g->rest_size = size;
    if (file >= 0) {
        g->packed = lth__alloc(PACKED_AT_ONCE, 1);
        if (g->packed == NULL || size > PACKED_AT_ONCE) {
            lth__gunzip_close(g);
            return lth__fail_memory(err, PACKED_AT_ONCE);
        }
        memcpy(g->packed, bytes, size);
        g->rest = g->packed;
    }
    *out = g;
    return LTH_OK;
}

void lth__gunzip_close(lth__gunzip *g) {
    if (g == NULL) return;
    inflateEnd(&g->stream);
    lth__free(g->packed);
    lth__free(g);
}

/* More that is packed, behind what is still at hand; nothing at the end. */
static lth_status fetch(lth__gunzip *g, const char *name, lth_error *err) {
    z_stream *z = &g->stream;
    if (g->rest_size > 0) { /* it follows what is at hand */
        size_t part = g->rest_size < MOST ? g->rest_size : MOST;
        if (z->avail_in == 0) z->next_in = (unsigned char *)(uintptr_t)g->rest;
        z->avail_in += (unsigned)part;
        g->rest += part;
        g->rest_size -= part;
        return LTH_OK;
    }
    if (g->file < 0) return LTH_OK;
    if (z->avail_in > 0) memmove(g->packed, z->next_in, z->avail_in);
    z->next_in = g->packed;
    ssize_t more = read(g->file, g->packed + z->avail_in, PACKED_AT_ONCE - z->avail_in);
    if (more < 0) return lth__fail_at(err, LTH_EIO, name, 0, 0, "cannot read: %s", strerror(errno));
    z->avail_in += (unsigned)more;
    return LTH_OK;
}

/* After a member: does another begin? */
static lth_status look_for_member(lth__gunzip *g, const char *name, lth_error *err) {
    z_stream *z = &g->stream;
    for (unsigned before = z->avail_in + 1; z->avail_in < 2 && before != z->avail_in;) {
        before = z->avail_in;
        LTH_TRY(fetch(g, name, err));
    }
    g->ended = !lth__is_gzip(z->next_in, z->avail_in);
    if (!g->ended) inflateReset(z);
    return LTH_OK;
}

lth_status lth__gunzip_read(lth__gunzip *g, const char *name, void *to, size_t room, size_t *got,
                            lth_error *err) {
    z_stream *z = &g->stream;
    unsigned most = room < MOST ? (unsigned)room : MOST;
    z->next_out = to;
    z->avail_out = most;
    while (z->avail_out == most && !g->ended) {
        if (z->avail_in == 0) LTH_TRY(fetch(g, name, err));
        if (z->avail_in == 0)
            return lth__fail_at(err, LTH_EFORMAT, name, 0, 0, "gzip data ends early");
        switch (inflate(z, Z_NO_FLUSH)) {
        case Z_OK:
        case Z_BUF_ERROR: break;
        case Z_STREAM_END: LTH_TRY(look_for_member(g, name, err)); break;
        case Z_MEM_ERROR: return lth__fail_memory(err, 0);
        default: return lth__fail_at(err, LTH_EFORMAT, name, 0, 0, "gzip data is damaged");
        }
    }
    *got = most - z->avail_out;
    return LTH_OK;
}
