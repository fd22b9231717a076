/* Files that are complete or not there: for a reader, after a crash, and with other processes that
 * write into the same folder, from this machine or another. A single one is an lth_output of
 * luthier.h; these are for the many files of a folder, which are put on the disk together. */
#ifndef LTH_DURABLE_H
#define LTH_DURABLE_H

#include "base/status.h"

typedef struct lth__bytes {
    const void *data;
    size_t size;
} lth__bytes;

/* Write beside, to the disk, and rename. What the folder lists is on the disk only after
 * lth__durable_settle(); until then a crash may take the file away again, as a whole. */
lth_status lth__durable_write(const char *path, lth__bytes bytes, lth_error *err);
/* The same unless a file of that name is there, which stays: the first of several processes wins.
 */
lth_status lth__durable_create(const char *path, lth__bytes bytes, lth_error *err);
lth_status lth__durable_settle(const char *folder, lth_error *err);

/* A new folder, or one that is there, which its parent lists after a crash too. */
lth_status lth__durable_folder(const char *path, lth_error *err);

/* Remove what processes that were killed have left half-written in a folder. */
void lth__durable_sweep(const char *folder);

/* Bytes that the disk of a folder has left; SIZE_MAX when unknown. */
size_t lth__durable_space(const char *folder);

#endif
