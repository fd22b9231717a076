/* An array with a name, as files of arrays have them. */
#ifndef LTH_TENSOR_H
#define LTH_TENSOR_H

#include <stddef.h>

typedef enum lth__dtype { LTH__U8, LTH__U32, LTH__U64, LTH__F32, LTH__F64 } lth__dtype;

typedef struct lth__tensor {
    const char *name;
    lth__dtype dtype;
    size_t rank, shape[3];
    const void *data;
} lth__tensor;

#endif
