/* A .npy file that is read bit by bit; lth_npy_read() reads all of it. */
#ifndef LTH_NPY_H
#define LTH_NPY_H

#include "base/file.h"
#include "base/status.h"

typedef struct lth__npy {
    lth__input *in;
    size_t shape[3], rank, count; /* sizes past the rank are 1; values in all      */
    size_t width;                 /* bytes of a value: 8 or 4                      */
    size_t done;                  /* values that were read                         */
} lth__npy;

/* Close it also when this fails. The data come next, in C order. */
lth_status lth__npy_open(const lth__relay *relay, const char *path, lth__npy *n, lth_error *err);
/* The next `count` values, as many as there are at least. */
lth_status lth__npy_next(lth__npy *n, double *out, size_t count, lth_error *err);
/* After the last value: nothing may follow it. */
lth_status lth__npy_end(lth__npy *n, lth_error *err);
void lth__npy_close(lth__npy *n);

#endif
