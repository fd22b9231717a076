/* Files: reading plain or gzipped bytes in a stream, from disk or from memory. They are written by
 * base/durable.h. */
#ifndef LTH_FILE_H
#define LTH_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "base/context.h"
#include "base/status.h"

/* A regular file, to be read by a stream; a pipe is refused, not waited for. */
lth_status lth__file_open(const char *path, FILE **out, lth_error *err);

/* A file that is not on disk: its bytes stand for the path, as long as they are there. */
typedef struct lth__memory_file {
    const char *path;
    const void *bytes;
    size_t size;
} lth__memory_file;

/* How files are read.
 *
 * Where one of several processes reads for all of them, which make the same calls in the same
 * order: `share` hands its bytes to the others, unless one of them comes with a failure; then all
 * get it. `share` NULL = this process is alone, and reads.
 *
 * Paths of `files` are in memory, where inputs point into their bytes; all others are on disk. */
typedef struct lth__relay {
    bool reads; /* this is the one */
    lth_status (*share)(void *user, lth_status status, void *bytes, size_t size, lth_error *err);
    void *user;
    const lth__memory_file *files;
    size_t file_count;
} lth__relay;

/* The same, where `relay` may be NULL: there is nobody else. */
lth_status lth__relay_share(const lth__relay *relay, lth_status status, void *bytes, size_t size,
                            lth_error *err);
bool lth__relay_reads(const lth__relay *relay);

/* A stream of bytes from a file, gzipped or not, or from standard input ("-"). Of a gzipped file in
 * several parts, one after the other; what follows the last of them is ignored. */
typedef struct lth__input lth__input;

/* `relay` NULL = this process reads by itself. */
lth_status lth__input_open(const lth__relay *relay, const char *path, lth__input **out,
                           lth_error *err);
void lth__input_close(lth__input *in);
const char *lth__input_name(const lth__input *in); /* the path, "stdin" for "-" */

/* Lines may have so many bytes; until this is called, LTH__LONGEST_LINE. A failure ends with
 * `advice`, which is borrowed. A packed file of a few MB may unpack to a line that no memory holds.
 */
enum { LTH__LONGEST_LINE = 1 << 28 };
void lth__input_limit(lth__input *in, size_t most, const char *advice);

/* The next line without its newline, valid until the next call; LTH_OK with *line = NULL at the
 * end. Bytes may include NUL and '\r'. */
lth_status lth__input_line(lth__input *in, const char **line, size_t *length, lth_error *err);
/* Number of the line returned last, from 1. */
size_t lth__input_line_number(const lth__input *in);

/* From now on `ctx`, which may be NULL, is asked whether to go on: files are long. */
void lth__input_ask(lth__input *in, const lth_ctx *ctx);

/* Look at up to `count` bytes ahead without consuming; *got < count only at the end. count <= 64
 * KiB. */
lth_status lth__input_peek(lth__input *in, size_t count, const char **bytes, size_t *got,
                           lth_error *err);
/* Exactly `count` bytes into `bytes`, or fewer at the end of the input (see *got). */
lth_status lth__input_bytes(lth__input *in, void *bytes, size_t count, size_t *got, lth_error *err);

#endif
