/* A matrix on disk that is made tile by tile: an array of Zarr, version 2.
 *
 * It is a folder. `.zarray` says what the array is, `.zattrs` holds texts of ours, and the file
 * "i.j" the tile of rows i and columns j, as plain numbers. All tiles have the same size: those at
 * the edges go on with NaN. A tile that is not there is not computed yet, and reads as NaN
 * elsewhere.
 *
 *     https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
 */
#ifndef LTH_ZARR_H
#define LTH_ZARR_H

#include "base/status.h"

typedef struct lth__zarr_shape {
    size_t rows, cols;
    size_t tile_rows, tile_cols;
    size_t width; /* bytes of a number: 8 or 4 */
} lth__zarr_shape;

typedef struct lth__zarr lth__zarr;

typedef struct lth__zarr_text {
    const char *name, *text;
} lth__zarr_text;

/* Make an array, unless another process was first: so open it afterwards. `texts` end with a name
 * NULL. The folder may be there, but not with anything in it that is not of Zarr. */
lth_status lth__zarr_create(const char *path, const lth__zarr_shape *shape,
                            const lth__zarr_text *texts, lth_error *err);

lth_status lth__zarr_open(const char *path, lth__zarr **out, lth_error *err);
void lth__zarr_close(lth__zarr *z);
const char *lth__zarr_path(const lth__zarr *z);
const lth__zarr_shape *lth__zarr_shape_of(const lth__zarr *z);
const char *lth__zarr_text_of(const lth__zarr *z, const char *name); /* NULL = it has none */

/* How many tiles there are down and across; and the bytes of one. */
size_t lth__zarr_down(const lth__zarr_shape *s);
size_t lth__zarr_across(const lth__zarr_shape *s);
size_t lth__zarr_tile_bytes(const lth__zarr_shape *s);

/* Which tiles are on the disk, by i * across + j; NULL = only how many. One of another size than a
 * tile has is an error. */
lth_status lth__zarr_list(const lth__zarr *z, bool *there, size_t *count, lth_error *err);

/* A whole tile, [tile_rows][tile_cols]. From any number of threads, and of processes. */
lth_status lth__zarr_write(const lth__zarr *z, size_t i, size_t j, const double *values,
                           lth_error *err);
lth_status lth__zarr_read(const lth__zarr *z, size_t i, size_t j, double *values, lth_error *err);

#endif
