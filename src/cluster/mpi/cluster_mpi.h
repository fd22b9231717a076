/* What the two files of the plug-in share. Without types of MPI, so that it compiles anywhere. */
#ifndef LTH_CLUSTER_MPI_H
#define LTH_CLUSTER_MPI_H

#include "engine/cluster.h"

/* Fill `err` by hand: the plug-in has no other part of the library. */
lth_status lth__mpi_fail(lth_error *err, lth_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* This rank, and the communicator of all ranks as Fortran knows it. */
const lth__rank *lth__mpi_rank(void);
int lth__mpi_all(void);

lth_status lth__scalapack_factor(const lth__dealt *A, lth_error *err);
lth_status lth__scalapack_invert(const lth__dealt *L, lth_error *err);

#endif
