/* A program that has initialised MPI itself, as mpi4py does, and loads the plug-in then:
 *
 *     mpirun -n 2 mpi_first libluthier_mpi.so early|late
 *
 * The plug-in must leave MPI to it, whether the program finalises MPI before or after the cluster
 * is left, and must not confuse its messages with the program's own.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cluster.h"

static void check(int is_good, const char *what) {
    if (is_good) return;
    fprintf(stderr, "mpi_first: %s\n", what);
    _Exit(1);
}

/* A message of the program's is under way while the cluster's overtakes it. */
static void use(const lth__cluster_table *table, const lth__rank *at) {
    lth_error err;
    MPI_Request request;
    int word = 1, own = at->rank == 0 ? 11 : 0;
    int other = at->rank == 0 ? 1 : 0;
    if (at->rank == 0) {
        MPI_Isend(&own, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &request);
        word = 22;
        check(table->send(1, &word, sizeof word, &err) == LTH_OK, "send");
    } else {
        check(table->receive(0, &word, sizeof word, &err) == LTH_OK, "receive");
        check(word == 22, "the cluster got a message of the program");
        MPI_Irecv(&own, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(own == 11, "the program got a message of the cluster");
}

int main(int argc, char **argv) {
    int level, is_final;
    lth__rank at;
    lth_error err;
    check(argc == 3, "usage: mpi_first LIBRARY early|late");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    check(library != NULL, "cannot load the library");
    lth__cluster_table_fn *get;
    void *found = dlsym(library, "lth__cluster_table_get");
    memcpy(&get, &found, sizeof get);
    const lth__cluster_table *table = get();
    for (int round = 0; round < 2; round++) {
        check(table->start(&at, &err) == LTH_OK, "start");
        use(table, &at);
        if (round == 1 && strcmp(argv[2], "early") == 0) MPI_Finalize();
        table->finish();
    }
    MPI_Finalized(&is_final);
    check(is_final == (strcmp(argv[2], "early") == 0), "the plug-in has finalised MPI");
    if (!is_final) MPI_Finalize();
    check(table->start(&at, &err) == LTH_EUNSUPPORTED, "started without MPI");
    return 0;
}
