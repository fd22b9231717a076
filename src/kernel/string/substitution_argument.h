/* The argument `matrix` of kernels over sequences of letters: the same or not, a published matrix
 * of scores by its name, a file, or a list; and letters by their numbers in it. */
#ifndef LTH_SUBSTITUTION_ARGUMENT_H
#define LTH_SUBSTITUTION_ARGUMENT_H

#include "kernel/core/encode.h"
#include "kernel/string/substitution.h"

/* The matrix, in the kernel's pool; left alone for identity. `standard` is its name where the
 * expression has none. A file becomes a list in the expression. */
lth_status lth__substitution_argument(lth_kernel *kernel, lth__node *node, const char *standard,
                                      lth__substitution **out, lth_error *err);

/* A symbol's number: its own where letters are the same or not (NULL), else that in the matrix.
 * `item` and `site` are for the message. */
lth_status lth__substitution_number(const lth__substitution *matrix, const lth__lexicon *l,
                                    lth__symbol symbol, size_t item, size_t site, uint32_t *out,
                                    lth_error *err);

#endif
