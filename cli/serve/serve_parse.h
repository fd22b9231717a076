/* Reading HTTP/1.1 (RFC 9112), strictly: whatever a proxy could read in another way is refused, and
 * so is what is no text. Bytes in, words out; sockets and routes are others' business. */
#ifndef CLI_SERVE_PARSE_H
#define CLI_SERVE_PARSE_H

#include "serve/serve.h"

typedef enum reading { READ_MORE, READ_WHOLE, READ_WRONG } reading;

/* What stands before the body of a request. Its texts lie in the bytes that it was read from. */
typedef struct http_head {
    size_t size;  /* of all of it */
    char *method; /* NULL = the first line is wrong */
    char *target; /* what is asked for, as it was sent; NULL = there is nothing like it */
    char *query;  /* what followed "?"; NULL = nothing */
    bool old;     /* HTTP/1.0 */
    bool stays;   /* the client may ask for more */
    bool waits;   /* it sends the body once it is told to */
    bool chunked, has_length;
    double length;                       /* of the body; 0 where it is not known */
    const char *host, *type, *forwarded; /* NULL = not there */
} http_head;

/* The head that bytes[0 .. size) begin with; `seen` of them were looked at before, 0 at first.
 * Where it is wrong, `why` says so. */
reading read_head(char *bytes, size_t size, size_t *seen, http_head *out, problem *why);

/* %41 becomes A, in place. */
void decode_percents(char *text);
/* The value of NAME=VALUE in a query, in `room`, which has place for all of the query; NULL = it is
 * not there. */
const char *query_value(const char *query, const char *name, char *room);

/* ---- Bodies in chunks ---- */

typedef enum chunk_state {
    CHUNK_SIZE,
    CHUNK_BLANK,
    CHUNK_EXTENSION,
    CHUNK_SIZE_END,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_END,
    CHUNK_TRAILER,
    CHUNK_TRAILER_LINE,
    CHUNK_TRAILER_END,
    CHUNK_LAST_END
} chunk_state;

/* All zero at first. */
typedef struct chunk_reader {
    chunk_state state;
    size_t left;   /* of this chunk */
    size_t digits; /* of its size */
    size_t around; /* bytes since the last data */
} chunk_reader;

typedef struct body_piece {
    const char *at;
    size_t size;
} body_piece;

/* Goes on by *used bytes, at most to the end of a chunk's data, which are *piece. READ_WHOLE = that
 * was the end of the body. */
reading read_chunk(chunk_reader *r, const char *bytes, size_t size, size_t *used, body_piece *piece,
                   problem *why);

#endif
