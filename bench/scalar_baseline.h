/* The plain way to compute the subsequence kernel: what the library is compared with. */
#ifndef SCALAR_BASELINE_H
#define SCALAR_BASELINE_H

#include <stddef.h>

/* Doubles of scratch for strings of these lengths. */
size_t scalar_ssk_scratch(size_t s_length, size_t t_length);

/* k_1 + ... + k_order, match = 1, exact matching of bytes. */
double scalar_ssk(const char *s, size_t s_length, const char *t, size_t t_length, size_t order,
                  double gap, double *scratch);

#endif
