/* Ranks: processes that do one job together, on one machine or on many.
 *
 * Every rank runs the same code with the same data, and takes the same decisions. Work that is
 * worth it is shared out; how it is cut depends on the data, never on the number of ranks, and sums
 * are made in one order: any number of ranks gives the same bits. A rank has threads and devices of
 * its own. All calls below are made by one thread at a time, and by all ranks in the same order,
 * unless it is said otherwise.
 *
 * The plug-in is a library that is loaded when a cluster is asked for; it exports one function,
 * lth__cluster_table_get(), and includes nothing of luthier but this file.
 */
#ifndef LTH_CLUSTER_H
#define LTH_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "luthier.h"

enum { LTH__CLUSTER_VERSION = 1 };

/* Which ranks: all of them, or those of this rank's row or column of the grid. Rank r is in row
 * r / columns and column r % columns of it. */
typedef enum lth__group { LTH__ALL_RANKS, LTH__GRID_ROW, LTH__GRID_COLUMN, LTH__GROUPS } lth__group;

/* Who this is. The plug-in says rank and size; the grid is as square as the size allows. */
typedef struct lth__rank {
    unsigned rank, size;
    unsigned local, neighbours; /* the same among the ranks of this machine */
    unsigned rows, columns;     /* of the grid                              */
    unsigned row, column;       /* of this rank in it                       */
    char name[128];             /* "Open MPI 4.1.4"                         */
} lth__rank;

typedef struct lth__transfer lth__transfer;

/* A matrix as ScaLAPACK wants it: n x n in squares of `side`, dealt out to the grid; `cells` are
 * this rank's, column major, `ld` the distance of columns. Of the lower triangle. */
typedef struct lth__dealt {
    size_t n, side, ld;
    double *cells;
} lth__dealt;

/* Every function returns LTH_OK or fills `err`; after a failure the cluster can only be left. */
typedef struct lth__cluster_table {
    int version;
    /* Meet the others; once for each process, however many contexts use it. */
    lth_status (*start)(lth__rank *out, lth_error *err);
    void (*finish)(void);
    /* End all ranks at once, from any of them. Does not return. */
    void (*abort)(int code);

    /* The bytes of the group's member `root` to all others of it. Members of a row are counted by
     * column, those of a column by row. */
    lth_status (*broadcast)(lth__group group, unsigned root, void *bytes, size_t size,
                            lth_error *err);
    /* The same without waiting for it; several may be under way. `wait` frees the transfer. */
    lth_status (*begin)(lth__group group, unsigned root, void *bytes, size_t size,
                        lth__transfer **out, lth_error *err);
    lth_status (*wait)(lth__transfer *transfer, lth_error *err);
    /* words[i] becomes the bitwise or of all ranks'. Where all but one have 0 there, this is an
     * exact sum of whatever numbers they are. */
    lth_status (*join)(uint64_t *words, size_t count, lth_error *err);
    /* From one rank to another, both of which wait; by these two alone. */
    lth_status (*send)(unsigned to, const void *bytes, size_t size, lth_error *err);
    lth_status (*receive)(unsigned from, void *bytes, size_t size, lth_error *err);
    /* A counter that all ranks share: `restart` (by all) sets it to 0, `next` (by any, at any time
     * in between) hands out each number once. */
    lth_status (*restart)(lth_error *err);
    lth_status (*next)(uint64_t *out, lth_error *err);
    /* The largest of all ranks' values. */
    lth_status (*most)(int64_t *value, lth_error *err);

    /* By ScaLAPACK, or NULL: A becomes its Cholesky factor (LTH_ENUMERIC without a message when it
     * is not positive definite), and the factor the inverse of what it is of. */
    lth_status (*factor)(const lth__dealt *A, lth_error *err);
    lth_status (*invert)(const lth__dealt *L, lth_error *err);
} lth__cluster_table;

typedef const lth__cluster_table *lth__cluster_table_fn(void);

/* The cluster of a context: all contexts of a process are in the same one. */
typedef struct lth__cluster {
    const lth__cluster_table *table;
    lth__rank at;
    bool by_scalapack; /* factors and inverses of matrices that are dealt out */
} lth__cluster;

/* "none" or NULL: *out is NULL. "mpi", or "auto": where this process was started as one of several
 * by mpirun or srun. "scalapack": the same, with its dense algebra. */
lth_status lth__cluster_open(const char *name, lth__cluster **out, lth_error *err);
/* The last one of a process leaves it, if that was not done. The others wait for nobody: they may
 * be closed at any time, and by any thread. */
void lth__cluster_close(lth__cluster *c);

/* ---- Of all ranks. The cluster may be NULL: then there is this process alone. ---- */

/* Everybody says how it stands, and hears the same: LTH_OK when all are well, else the failure of
 * the first rank that has one. So what comes next is done by all ranks or by none. All functions
 * that wait for others begin with it, and whoever waits there while another leaves hears why. */
lth_status lth__cluster_agree(lth__cluster *c, lth_status status, lth_error *err);
/* Tell the others that this rank takes no further part, and why (NULL: it has done its work). They
 * fail with that reason when they next wait for it; LTH_OK when all leave in peace. */
lth_status lth__cluster_leave(lth__cluster *c, const lth_error *why, lth_error *err);

/* For tests: as if nobody had left. By all ranks. */
void lth__cluster_return(void);

/* The bytes of `root` to all, unless `status` of one is not LTH_OK. */
lth_status lth__cluster_share(lth__cluster *c, lth_status status, unsigned root, void *bytes,
                              size_t size, lth_error *err);
/* Numbers of which each rank has made some, and has left the others 0; likewise, all get all. */
lth_status lth__cluster_join(lth__cluster *c, lth_status status, double *numbers, size_t count,
                             lth_error *err);
/* The same of any bytes. */
lth_status lth__cluster_join_bytes(lth__cluster *c, lth_status status, void *bytes, size_t size,
                                   lth_error *err);
/* The largest of all ranks' numbers, which are not negative; NaN is larger than any. */
lth_status lth__cluster_largest(lth__cluster *c, double *number, lth_error *err);
/* Whether anybody says so. */
lth_status lth__cluster_any(lth__cluster *c, bool *flag, lth_error *err);

/* Who does a job of many, dearest first; and whether this rank does. */
unsigned lth__cluster_owner(const lth__cluster *c, size_t job);
bool lth__cluster_owns(const lth__cluster *c, size_t job);
/* Whether a matrix of so many rows is dealt out to the ranks; a smaller one they all have whole. */
bool lth__cluster_deals(size_t rows);
/* Whether this rank reads and writes files. */
bool lth__cluster_reads(const lth__cluster *c);

#endif
