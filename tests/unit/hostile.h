/* Model files with one thing wrong and a good checksum, which must be refused. */
#ifndef LTH_TEST_HOSTILE_H
#define LTH_TEST_HOSTILE_H

#include "luthier.h"

typedef struct hostile_change {
    const char *name;     /* of a text or an array                                          */
    const char *text;     /* what the text becomes                                          */
    bool no_text;         /* or it is left out                                              */
    size_t at;            /* an element of the array becomes ...                            */
    double number;        /* ... of floating-point numbers                                  */
    uint64_t count;       /* ... of whole ones                                              */
    bool drop;            /* or the array is left out                                       */
    bool shorter, longer; /* or it has its last row not, or twice                          */
} hostile_change;

/* Loads a model and frees it; nothing is there after an error. */
typedef lth_status hostile_load(lth_ctx *ctx, const char *path, lth_error *err);
hostile_load hostile_gp, hostile_svm;

/* The file is LTH_EFORMAT, with a reason and its name. */
void hostile_file(lth_ctx *ctx, const char *path, hostile_load *load);

/* Writes the model file `path` again as "hostile"; NULL = as it is. There is something to change.
 */
void hostile_write(const char *path, const hostile_change *change);
/* And is refused. */
void hostile_refused(lth_ctx *ctx, const char *path, const hostile_change *change,
                     hostile_load *load);

/* Each array left out, and less its last row, is refused, but those named here (NULL, or a list
 * that ends with it); the file as it is loads. "hostile" is removed. */
void hostile_arrays(lth_ctx *ctx, const char *path, const char *const *may_lack,
                    const char *const *may_be_short, hostile_load *load);

#endif
