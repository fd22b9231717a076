/* Ranks by MPI: the plug-in libluthier_mpi.so, made by `make mpi` with the user's mpicc.
 *
 * MPI may be somebody else's, such as mpi4py's: it is initialised only if nobody has, and what was
 * initialised here is finalised, once, when the process exits: MPI cannot be initialised again, but
 * a program may use one cluster after the other. All traffic is on communicators of our own, whose
 * errors are returned.
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/mpi/cluster_mpi.h"

/* MPI counts by int: more bytes than this travel in several pieces. */
static const size_t piece_bytes = (size_t)1 << 30;

struct lth__transfer {
    int count;
    MPI_Request pieces[];
};

/* MPI is one for each process, and so is this. */
static struct {
    unsigned users;
    pid_t initialised_by; /* a child of this process must not finalise what is its parent's */
    lth__rank at;
    MPI_Comm groups[LTH__GROUPS];
    MPI_Win counter; /* one number, in the memory of rank 0 */
    int last_will;   /* attribute of MPI_COMM_SELF: see make_last_will() */
} mpi = {.groups = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL},
         .counter = MPI_WIN_NULL,
         .last_will = MPI_KEYVAL_INVALID};

const lth__rank *lth__mpi_rank(void) {
    return &mpi.at;
}

int lth__mpi_all(void) {
    return (int)MPI_Comm_c2f(mpi.groups[LTH__ALL_RANKS]);
}

/* ---- Errors ---- */

lth_status lth__mpi_fail(lth_error *err, lth_status status, const char *format, ...) {
    if (err == NULL) return status;
    *err = (lth_error){.status = status};
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

/* What a call of MPI returned, as a status. */
static lth_status outcome(int code, const char *call, lth_error *err) {
    if (code == MPI_SUCCESS) return LTH_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "?");
    return lth__mpi_fail(err, LTH_EIO, "MPI: %s failed: %.250s", call, text);
}

#define TRY_MPI(call, ...)                                                                         \
    do {                                                                                           \
        lth_status status_ = outcome(call(__VA_ARGS__), #call, err);                               \
        if (status_ != LTH_OK) return status_;                                                     \
    } while (0)

/* ---- Begin and end ---- */

static bool is_initialised(void) {
    int yes = 0;
    return MPI_Initialized(&yes) == MPI_SUCCESS && yes;
}

static bool is_finalised(void) {
    int yes = 0;
    return MPI_Finalized(&yes) == MPI_SUCCESS && yes;
}

/* Not while somebody still uses it: who leaves in the middle of things must not wait for others. */
static void finalise_at_exit(void) {
    if (mpi.initialised_by == getpid() && mpi.users == 0 && !is_finalised()) MPI_Finalize();
}

static lth_status initialise(lth_error *err) {
    if (is_finalised()) {
        return lth__mpi_fail(err, LTH_EUNSUPPORTED,
                             "MPI was finalised in this process and cannot start again");
    }
    if (is_initialised()) return LTH_OK;
    int level;
    TRY_MPI(MPI_Init_thread, NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    mpi.initialised_by = getpid();
    if (atexit(finalise_at_exit) != 0) return lth__mpi_fail(err, LTH_ENOMEM, "out of memory");
    return LTH_OK;
}

/* One thread at a time calls MPI while others compute; as Python waits for signals beside long
 * calls, not always the same. */
static lth_status check_threads(lth_error *err) {
    int level, is_main;
    TRY_MPI(MPI_Query_thread, &level);
    TRY_MPI(MPI_Is_thread_main, &is_main);
    if (level < MPI_THREAD_FUNNELED) {
        return lth__mpi_fail(err, LTH_EUNSUPPORTED,
                             "MPI was initialised for one thread: initialise it by "
                             "MPI_Init_thread with MPI_THREAD_FUNNELED or more");
    }
    if (level == MPI_THREAD_FUNNELED && !is_main) {
        return lth__mpi_fail(err, LTH_EUNSUPPORTED,
                             "a cluster is opened by the thread that initialised MPI");
    }
    return LTH_OK;
}

/* The first line of "Open MPI v4.1.4, package: ..." or "MPICH Version:\t4.0.2\n...", without the
 * word and the letter before the number. */
static void find_name(char *out, size_t size) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "MPI");
    text[strcspn(text, ",\n")] = '\0';
    size_t used = 0;
    out[0] = '\0';
    for (char *rest, *word = strtok_r(text, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (strcmp(word, "Version:") == 0) continue;
        if (word[0] == 'v' && word[1] >= '0' && word[1] <= '9') word++;
        int more = snprintf(out + used, size - used, "%s%s", used > 0 ? " " : "", word);
        if (more < 0 || (size_t)more >= size - used) return;
        used += (size_t)more;
    }
}

/* As square as the size allows: rows are the largest divisor up to its root. */
static void find_grid(lth__rank *at) {
    at->rows = 1;
    for (unsigned r = 2; r <= at->size / r; r++) {
        if (at->size % r == 0) at->rows = r;
    }
    at->columns = at->size / at->rows;
    at->row = at->rank / at->columns;
    at->column = at->rank % at->columns;
}

static lth_status find_neighbours(lth__rank *at, lth_error *err) {
    MPI_Comm machine;
    int rank, size;
    TRY_MPI(MPI_Comm_split_type, mpi.groups[LTH__ALL_RANKS], MPI_COMM_TYPE_SHARED, (int)at->rank,
            MPI_INFO_NULL, &machine);
    TRY_MPI(MPI_Comm_rank, machine, &rank);
    TRY_MPI(MPI_Comm_size, machine, &size);
    TRY_MPI(MPI_Comm_free, &machine);
    at->local = (unsigned)rank;
    at->neighbours = (unsigned)size;
    return LTH_OK;
}

/* Communicators that are split off return errors as their parent does. */
static lth_status make_groups(lth_error *err) {
    lth__rank *at = &mpi.at;
    int rank, size;
    MPI_Comm *all = &mpi.groups[LTH__ALL_RANKS];
    TRY_MPI(MPI_Comm_dup, MPI_COMM_WORLD, all);
    TRY_MPI(MPI_Comm_set_errhandler, *all, MPI_ERRORS_RETURN);
    TRY_MPI(MPI_Comm_rank, *all, &rank);
    TRY_MPI(MPI_Comm_size, *all, &size);
    *at = (lth__rank){.rank = (unsigned)rank, .size = (unsigned)size};
    find_name(at->name, sizeof at->name);
    find_grid(at);
    TRY_MPI(MPI_Comm_split, *all, (int)at->row, (int)at->column, &mpi.groups[LTH__GRID_ROW]);
    TRY_MPI(MPI_Comm_split, *all, (int)at->column, (int)at->row, &mpi.groups[LTH__GRID_COLUMN]);
    return find_neighbours(at, err);
}

static lth_status make_counter(lth_error *err) {
    void *number;
    MPI_Aint bytes = mpi.at.rank == 0 ? (MPI_Aint)sizeof(uint64_t) : 0;
    TRY_MPI(MPI_Win_allocate, bytes, sizeof(uint64_t), MPI_INFO_NULL, mpi.groups[LTH__ALL_RANKS],
            &number, &mpi.counter);
    TRY_MPI(MPI_Win_set_errhandler, mpi.counter, MPI_ERRORS_RETURN);
    TRY_MPI(MPI_Win_lock_all, 0, mpi.counter);
    return LTH_OK;
}

static int free_all(MPI_Comm comm, int key, void *value, void *state) {
    (void)comm, (void)key, (void)value, (void)state;
    if (mpi.counter != MPI_WIN_NULL) {
        MPI_Win_unlock_all(mpi.counter);
        MPI_Win_free(&mpi.counter);
    }
    for (size_t g = LTH__GROUPS; g-- > 0;) {
        if (mpi.groups[g] != MPI_COMM_NULL) MPI_Comm_free(&mpi.groups[g]);
    }
    return MPI_SUCCESS;
}

/* MPI's owner may finalise it before the cluster is left, as Python does at its end, and MPICH dies
 * of a window that is left over. What is attached to MPI_COMM_SELF is freed first of all. */
static lth_status make_last_will(lth_error *err) {
    if (mpi.last_will == MPI_KEYVAL_INVALID) {
        TRY_MPI(MPI_Comm_create_keyval, MPI_COMM_NULL_COPY_FN, free_all, &mpi.last_will, NULL);
    }
    TRY_MPI(MPI_Comm_set_attr, MPI_COMM_SELF, mpi.last_will, NULL);
    return LTH_OK;
}

static lth_status restart(lth_error *err);

static lth_status open_all(lth_error *err) {
    lth_status status = check_threads(err);
    if (status == LTH_OK) status = make_last_will(err);
    if (status == LTH_OK) status = make_groups(err);
    if (status == LTH_OK) status = make_counter(err);
    if (status == LTH_OK) status = restart(err);
    return status;
}

static lth_status start(lth__rank *out, lth_error *err) {
    if (mpi.users == 0) {
        lth_status status = initialise(err);
        if (status == LTH_OK) status = open_all(err);
        if (status != LTH_OK) return status;
    }
    mpi.users++;
    *out = mpi.at;
    return LTH_OK;
}

static void finish(void) {
    if (mpi.users == 0 || --mpi.users > 0) return;
    if (!is_finalised()) MPI_Comm_delete_attr(MPI_COMM_SELF, mpi.last_will);
}

static void stop_all(int code) {
    if (is_initialised() && !is_finalised()) MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code);
}

/* ---- Bytes ---- */

static int piece_of(size_t left) {
    return (int)(left < piece_bytes ? left : piece_bytes);
}

static lth_status broadcast(lth__group group, unsigned root, void *bytes, size_t size,
                            lth_error *err) {
    for (size_t at = 0; at < size; at += piece_bytes) {
        TRY_MPI(MPI_Bcast, (char *)bytes + at, piece_of(size - at), MPI_BYTE, (int)root,
                mpi.groups[group]);
    }
    return LTH_OK;
}

static lth_status begin_pieces(lth__transfer *t, lth__group group, unsigned root, void *bytes,
                               size_t size, lth_error *err) {
    for (size_t at = 0; at < size; at += piece_bytes) {
        TRY_MPI(MPI_Ibcast, (char *)bytes + at, piece_of(size - at), MPI_BYTE, (int)root,
                mpi.groups[group], &t->pieces[t->count]);
        t->count++;
    }
    return LTH_OK;
}

static lth_status begin(lth__group group, unsigned root, void *bytes, size_t size,
                        lth__transfer **out, lth_error *err) {
    size_t pieces = size / piece_bytes + 1;
    lth__transfer *t = malloc(sizeof *t + pieces * sizeof *t->pieces);
    if (t == NULL) return lth__mpi_fail(err, LTH_ENOMEM, "out of memory");
    t->count = 0;
    lth_status status = begin_pieces(t, group, root, bytes, size, err);
    if (status == LTH_OK) {
        *out = t;
    } else {
        free(t);
    }
    return status;
}

static lth_status wait_for(lth__transfer *t, lth_error *err) {
    lth_status status = LTH_OK;
    for (int i = 0; i < t->count && status == LTH_OK; i++) {
        status = outcome(MPI_Wait(&t->pieces[i], MPI_STATUS_IGNORE), "MPI_Wait", err);
    }
    free(t);
    return status;
}

static lth_status send(unsigned to, const void *bytes, size_t size, lth_error *err) {
    for (size_t at = 0; at < size; at += piece_bytes) {
        TRY_MPI(MPI_Send, (const char *)bytes + at, piece_of(size - at), MPI_BYTE, (int)to, 0,
                mpi.groups[LTH__ALL_RANKS]);
    }
    return LTH_OK;
}

static lth_status receive(unsigned from, void *bytes, size_t size, lth_error *err) {
    for (size_t at = 0; at < size; at += piece_bytes) {
        TRY_MPI(MPI_Recv, (char *)bytes + at, piece_of(size - at), MPI_BYTE, (int)from, 0,
                mpi.groups[LTH__ALL_RANKS], MPI_STATUS_IGNORE);
    }
    return LTH_OK;
}

/* ---- Numbers of all ranks ---- */

static lth_status join(uint64_t *words, size_t count, lth_error *err) {
    const size_t step = piece_bytes / sizeof *words;
    for (size_t at = 0; at < count; at += step) {
        int piece = (int)(count - at < step ? count - at : step);
        TRY_MPI(MPI_Allreduce, MPI_IN_PLACE, words + at, piece, MPI_UINT64_T, MPI_BOR,
                mpi.groups[LTH__ALL_RANKS]);
    }
    return LTH_OK;
}

static lth_status most(int64_t *value, lth_error *err) {
    TRY_MPI(MPI_Allreduce, MPI_IN_PLACE, value, 1, MPI_INT64_T, MPI_MAX,
            mpi.groups[LTH__ALL_RANKS]);
    return LTH_OK;
}

/* *before = the counter, which `by` is then added to or put in place of. */
static lth_status change_counter(uint64_t by, MPI_Op op, uint64_t *before, lth_error *err) {
    TRY_MPI(MPI_Fetch_and_op, &by, before, MPI_UINT64_T, 0, 0, op, mpi.counter);
    TRY_MPI(MPI_Win_flush, 0, mpi.counter);
    return LTH_OK;
}

static lth_status restart(lth_error *err) {
    uint64_t before;
    TRY_MPI(MPI_Barrier, mpi.groups[LTH__ALL_RANKS]);
    if (mpi.at.rank == 0) {
        lth_status status = change_counter(0, MPI_REPLACE, &before, err);
        if (status != LTH_OK) return status;
    }
    TRY_MPI(MPI_Barrier, mpi.groups[LTH__ALL_RANKS]);
    return LTH_OK;
}

static lth_status next(uint64_t *out, lth_error *err) {
    uint64_t number = 0;
    lth_status status = change_counter(1, MPI_SUM, &number, err);
    if (status == LTH_OK) *out = number;
    return status;
}

static const lth__cluster_table table = {
    .version = LTH__CLUSTER_VERSION,
    .start = start,
    .finish = finish,
    .abort = stop_all,
    .broadcast = broadcast,
    .begin = begin,
    .wait = wait_for,
    .join = join,
    .send = send,
    .receive = receive,
    .restart = restart,
    .next = next,
    .most = most,
#ifdef LTH_SCALAPACK
    .factor = lth__scalapack_factor,
    .invert = lth__scalapack_invert,
#endif
};

__attribute__((visibility("default"))) lth__cluster_table_fn lth__cluster_table_get;

const lth__cluster_table *lth__cluster_table_get(void) {
    return &table;
}
