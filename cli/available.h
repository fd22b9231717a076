/* How much memory this process can still have. */
#ifndef CLI_AVAILABLE_H
#define CLI_AVAILABLE_H

#include "luthier.h"

/* In bytes; infinite where the system does not say. */
double memory_available(void);

/* Room for planes x rows x columns doubles, freed with free(). `what` names it when there is not
 * enough memory: "the Gram matrix". */
lth_status allocate_doubles(const char *what, size_t planes, size_t rows, size_t columns,
                            double **out, lth_error *err);

#endif
