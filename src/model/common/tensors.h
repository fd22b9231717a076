/* Named arrays and texts in one file: the safetensors layout (8-byte length, JSON header, raw
 * little-endian arrays), with a checksum. Knows nothing of models. */
#ifndef LTH_TENSORS_H
#define LTH_TENSORS_H

#include "base/file.h"
#include "base/memory.h"
#include "data/tensor.h"

/* ---- Writing: arrays are borrowed until the file is written ---- */

typedef struct lth__tensors_writer lth__tensors_writer;

lth__tensors_writer *lth__tensors_writer_create(void); /* NULL = out of memory */
void lth__tensors_writer_free(lth__tensors_writer *w);
/* Texts go into the header's __metadata__; names and values are copied. false = out of memory. */
bool lth__tensors_put_text(lth__tensors_writer *w, const char *key, const char *value);
bool lth__tensors_put(lth__tensors_writer *w, const lth__tensor *tensor);
lth_status lth__tensors_write(lth__tensors_writer *w, const char *path, lth_error *err);
/* The same bytes to a function. */
lth_status lth__tensors_write_to(lth__tensors_writer *w, lth_write_fn *write, void *user,
                                 lth_error *err);

/* ---- Reading: the whole file is in memory, arrays are views into it ---- */

typedef struct lth__tensors lth__tensors;

/* Reads and verifies: layout, bounds, alignment, checksum. A damaged, truncated or hostile file is
 * LTH_EFORMAT with file and reason. `relay` as in lth__input_open(). */
lth_status lth__tensors_read(const lth__relay *relay, const char *path, lth__tensors **out,
                             lth_error *err);
/* The same of bytes in memory, which are copied. */
lth_status lth__tensors_read_from(const void *bytes, size_t size, lth__tensors **out,
                                  lth_error *err);
void lth__tensors_free(lth__tensors *t);

/* NULL when there is none. Borrowed. */
const char *lth__tensors_text(const lth__tensors *t, const char *key);
const lth__tensor *lth__tensors_find(const lth__tensors *t, const char *name);

/* The array of that name with this type and rank, or LTH_EFORMAT with the file and what is wrong.
 */
lth_status lth__tensors_get(const lth__tensors *t, const char *name, lth__dtype dtype, size_t rank,
                            const lth__tensor **out, lth_error *err);

#endif
