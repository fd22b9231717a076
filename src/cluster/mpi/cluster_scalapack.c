/* Cholesky factor and inverse by ScaLAPACK's pdpotrf and pdpotri, on a BLACS grid of the same shape
 * as the cluster's. A grid is made for each call: that is little beside n^3 operations, and nothing
 * has to be kept.
 */
#include <limits.h>
#include <mpi.h>

#include "cluster/mpi/cluster_mpi.h"

int Csys2blacs_handle(MPI_Comm comm);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int *grid, const char *order, int rows, int columns);
void Cblacs_gridexit(int grid);
void pdpotrf_(const char *part, const int *n, double *cells, const int *row, const int *column,
              const int *description, int *info);
void pdpotri_(const char *part, const int *n, double *cells, const int *row, const int *column,
              const int *description, int *info);

typedef void routine(const char *part, const int *n, double *cells, const int *row,
                     const int *column, const int *description, int *info);

/* How many of n rows, dealt out in blocks of `side` to `members`, are of the member `who`. */
static size_t share(size_t n, size_t side, size_t who, size_t members) {
    size_t whole = n / side, blocks = whole / members, left = whole % members;
    return blocks * side + (who < left ? side : who == left ? n % side : 0);
}

/* Its integers have 32 bits, also those that count a rank's cells. */
static lth_status check_size(const lth__dealt *A, const lth__rank *at, lth_error *err) {
    size_t rows = share(A->n, A->side, at->row, at->rows);
    size_t columns = share(A->n, A->side, at->column, at->columns);
    if (A->ld < 1 || A->ld < rows) {
        return lth__mpi_fail(err, LTH_EARG, "%zu rows do not fit in columns of %zu", rows, A->ld);
    }
    if (A->n > INT_MAX || A->side > INT_MAX || A->ld > INT_MAX ||
        (columns > 0 && A->ld > INT_MAX / columns)) {
        return lth__mpi_fail(err, LTH_EUNSUPPORTED,
                             "ScaLAPACK takes at most 2^31 numbers of a matrix on a rank, not %zu "
                             "x %zu: use more ranks",
                             A->ld, columns);
    }
    return LTH_OK;
}

/* Ranks hear the same, whatever each of them was told. */
static lth_status agree(lth_status mine, lth_error *err, MPI_Comm all) {
    int64_t worst = mine == LTH_OK ? 0 : 1;
    if (MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT64_T, MPI_MAX, all) != MPI_SUCCESS) {
        return lth__mpi_fail(err, LTH_EIO, "MPI: MPI_Allreduce failed");
    }
    if (mine != LTH_OK || worst == 0) return mine;
    return lth__mpi_fail(err, LTH_EUNSUPPORTED, "ScaLAPACK cannot be used by another rank");
}

static int run(routine *function, const lth__dealt *A, const lth__rank *at, MPI_Comm all) {
    int handle = Csys2blacs_handle(all), grid = handle, info = 0;
    Cblacs_gridinit(&grid, "Row", (int)at->rows, (int)at->columns);
    const int one = 1, n = (int)A->n, side = (int)A->side;
    const int dense = 1;
    const int description[9] = {dense, grid, n, n, side, side, 0, 0, (int)A->ld};
    function("L", &n, A->cells, &one, &one, description, &info);
    Cblacs_gridexit(grid);
    Cfree_blacs_system_handle(handle);
    return info;
}

/* *worst = the largest of what the routine returned to the ranks. */
static lth_status apply(routine *function, const lth__dealt *A, int *worst, lth_error *err) {
    const lth__rank *at = lth__mpi_rank();
    MPI_Comm all = MPI_Comm_f2c((MPI_Fint)lth__mpi_all());
    *worst = 0;
    if (A->n == 0) return LTH_OK;
    lth_status status = agree(check_size(A, at, err), err, all);
    if (status != LTH_OK) return status;
    int info = run(function, A, at, all);
    if (MPI_Allreduce(&info, worst, 1, MPI_INT, MPI_MAX, all) != MPI_SUCCESS) {
        return lth__mpi_fail(err, LTH_EIO, "MPI: MPI_Allreduce failed");
    }
    if (info < 0) return lth__mpi_fail(err, LTH_EARG, "ScaLAPACK refuses argument %d", -info);
    return LTH_OK;
}

lth_status lth__scalapack_factor(const lth__dealt *A, lth_error *err) {
    int info;
    lth_status status = apply(pdpotrf_, A, &info, err);
    return status == LTH_OK && info > 0 ? LTH_ENUMERIC : status;
}

lth_status lth__scalapack_invert(const lth__dealt *L, lth_error *err) {
    int info;
    lth_status status = apply(pdpotri_, L, &info, err);
    if (status == LTH_OK && info > 0) {
        return lth__mpi_fail(err, LTH_ENUMERIC, "the factor has a 0 on its diagonal");
    }
    return status;
}
