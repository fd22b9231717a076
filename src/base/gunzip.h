/* Unpacking gzip as it comes: from a file, or from memory. */
#ifndef LTH_GUNZIP_H
#define LTH_GUNZIP_H

#include <stddef.h>

#include "base/status.h"

/* Whether bytes begin as gzip does; of a single byte this cannot be told. */
bool lth__is_gzip(const void *bytes, size_t size);

typedef struct lth__gunzip lth__gunzip;

/* `bytes` come first, then those of `file`, which is borrowed. Without a file (-1) the bytes are
 * all there is, and are not copied. */
lth_status lth__gunzip_open(int file, const void *bytes, size_t size, lth__gunzip **out,
                            lth_error *err);
void lth__gunzip_close(lth__gunzip *g);

/* The next bytes, at most `room`; *got is 0 at the end. `name` is the file's, for errors. */
lth_status lth__gunzip_read(lth__gunzip *g, const char *name, void *to, size_t room, size_t *got,
                            lth_error *err);

#endif
