/* What model files of every kind share: the arrays of kernel fields (vocabulary, vectors, items),
 * and the tools to write and to read others. What is read is checked: a file can be hostile. */
#ifndef LTH_MODEL_FILE_H
#define LTH_MODEL_FILE_H

#include "kernel/core/encode.h"
#include "model/common/tensors.h"

/* ---- Saving ---- */

/* What is written but not part of the model as it stands; freed after the write. */
typedef struct lth__extras {
    void **block;
    size_t count, capacity;
} lth__extras;

typedef struct lth__saver {
    lth__tensors_writer *writer;
    lth__extras extras;
    bool ok;
    bool without_vectors; /* fields leave those of their words out */
    char damage[32];      /* the array that has what is not a finite number; "" = none */
} lth__saver;

/* Where a model goes: into a file, or with `path` NULL to a function. */
typedef struct lth__model_to {
    const char *path;
    lth_write_fn *write;
    void *user;
} lth__model_to;

lth__saver lth__saver_open(void);
/* Write the file, if all went well, and free everything. */
lth_status lth__saver_close(lth__saver *s, const lth__model_to *to, lth_error *err);

void *lth__saver_keep(lth__saver *s, void *block);
/* A vector, or with `cols` above 0 a matrix. Numbers that are not finite are LTH_ENUMERIC at the
 * end. */
void lth__saver_put(lth__saver *s, const char *name, lth__dtype dtype, size_t rows, size_t cols,
                    const void *data);
/* The same where NaN says that there is none, or infinity that there is no bound. */
void lth__saver_put_gaps(lth__saver *s, const char *name, size_t rows, size_t cols,
                         const double *data);
/* That array could not be read again. */
void lth__saver_damage(lth__saver *s, const char *name);
/* model, kernel, made_by. */
void lth__saver_put_kernel(lth__saver *s, const char *model, const lth_kernel *kernel);
/* A JSON list of texts. */
void lth__saver_put_list(lth__saver *s, const char *key, char *const *texts, size_t count);
void lth__saver_put_fields(lth__saver *s, const lth_encoder *encoder, const lth_items *items);
/* Before the fields: where word vectors are from, and which are kept (model_vectors.c). */
void lth__saver_put_vectors(lth__saver *s, const lth_encoder *encoder);

/* ---- Loading ---- */

typedef struct lth__loader {
    const char *path;
    lth__tensors *file;
    lth_error *err;
    lth_encoder *encoder; /* once the kernel was read */
    lth_items *items;     /* of which the fields are being read */
    size_t rows;
} lth__loader;

/* Where a model comes from: a file, or with `path` NULL memory. */
typedef struct lth__model_from {
    const char *path;
    const void *bytes;
    size_t size;
} lth__model_from;

/* Open it, let `load` make a model of it, close it. */
typedef lth_status lth__load_fn(lth_ctx *ctx, lth__loader *in, lth_model **out);
lth_status lth__model_read(lth_ctx *ctx, const lth__model_from *from, lth__load_fn *load,
                           lth_model **out, lth_error *err);

lth_status lth__loader_damaged(const lth__loader *l, const char *what);
/* An array of this shape, LTH_NONE = any; all its numbers are finite. */
lth_status lth__loader_get(const lth__loader *l, const char *name, lth__dtype dtype, size_t rank,
                           size_t rows, size_t cols, const lth__tensor **out);
/* One of doubles that lth__saver_put_gaps() wrote. */
lth_status lth__loader_get_gaps(const lth__loader *l, const char *name, size_t rank, size_t rows,
                                size_t cols, const lth__tensor **out);
/* A copy of an array's doubles. */
lth_status lth__loader_copy(const lth__loader *l, const lth__tensor *t, double **out);
/* A list of at least `least` texts, none of them NULL; each and the list freed with lth__free(). */
lth_status lth__loader_list(const lth__loader *l, const char *key, size_t least, const char *what,
                            char ***out, size_t *count);
/* The kernel of a file that holds a `model`, and an encoder without symbols. */
lth_status lth__loader_kernel(lth__loader *l, lth_ctx *ctx, const char *model,
                              const char *otherwise, lth_kernel **kernel, lth_encoder **encoder);
/* What lth__saver_put_vectors() wrote; nothing where it did not. */
lth_status lth__loader_vectors(lth__loader *l);
/* Items with all their fields; the encoder gets its symbols and vectors. *out is to be freed also
 * when this fails. */
lth_status lth__loader_fields(lth__loader *l, size_t rows, lth_items **out);

#endif
