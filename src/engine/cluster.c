/* Finding a plug-in for clusters, and what is made of its few functions. */
#include "engine/cluster.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "engine/plugin.h"

static const lth__plugin plugin = {.file = "libluthier_mpi.so",
                                   .variable = "LTH_MPI_PLUGIN",
                                   .function = "lth__cluster_table_get",
                                   .of = "MPI",
                                   .target = "mpi",
                                   .version = LTH__CLUSTER_VERSION};

/* ---- Who started this process ---- */

static bool read_count(const char *name, unsigned *out) {
    const char *text = getenv(name);
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value > 1u << 30) return false;
    *out = (unsigned)value;
    return true;
}

/* Slurm tells the number of tasks to a batch script too, which is one process: only a step of srun
 * has its own number. */
unsigned lth_launched_rank(unsigned *ranks) {
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"PMI_SIZE", "PMI_RANK"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned size, rank;
        if (!read_count(names[i][0], &size) || !read_count(names[i][1], &rank)) continue;
        if (size < 2 || rank >= size) continue;
        if (ranks) *ranks = size;
        return rank;
    }
    if (ranks) *ranks = 1;
    return 0;
}

/* ---- Opening ---- */

static lth_status load(const lth__cluster_table **out, lth_error *err) {
    const void *table;
    unsigned ranks;
    lth_launched_rank(&ranks);
    const char *advice =
        ranks > 1 ? "; to run each of these processes by itself, give --cluster none" : "";
    LTH_TRY(lth__plugin_load(&plugin, advice, &table, err));
    *out = table;
    return LTH_OK;
}

/* A process takes part once, however many contexts it has, and leaves with the last of them: the
 * others may be freed at any time and by any thread, as garbage collectors do. */
static struct {
    pthread_mutex_t lock; /* of all but `left` */
    unsigned users;
    const lth__cluster_table *table;
    lth__rank at;
    atomic_bool left; /* it is known that all ranks stop: there is nobody to talk to */
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static lth_status fail_left(lth_error *err) {
    return lth__fail(err, LTH_ECANCELED, "another rank has left");
}

/* Where the launcher is not the one of this MPI, each process would do all the work. */
static lth_status check_company(const lth__rank *at, lth_error *err) {
    unsigned launched;
    lth_launched_rank(&launched);
    if (at->size > 1 || launched < 2) return LTH_OK;
    return lth__fail(err, LTH_EUNSUPPORTED,
                     "this is one of %u processes, but %s sees no other: start them by its own "
                     "mpirun, or by srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH); to run each "
                     "of them by itself, give --cluster none",
                     launched, at->name);
}

static lth_status meet_others(lth_error *err) {
    if (process.users > 0) return process.left ? fail_left(err) : LTH_OK;
    process.left = false;
    LTH_TRY(process.table->start(&process.at, err));
    lth_status status = check_company(&process.at, err);
    if (status != LTH_OK) process.table->finish();
    return status;
}

static lth_status enter(lth__cluster *c, lth_error *err) {
    if (process.users == 0) LTH_TRY(load(&process.table, err));
    if (c->by_scalapack && !process.table->factor)
        return lth__fail(err, LTH_EUNSUPPORTED, "%s was built without ScaLAPACK", plugin.file);
    LTH_TRY(meet_others(err));
    process.users++;
    c->table = process.table;
    c->at = process.at;
    return LTH_OK;
}

lth_status lth__cluster_open(const char *name, lth__cluster **out, lth_error *err) {
    unsigned ranks;
    *out = NULL;
    if (!name || strcmp(name, "none") == 0) return LTH_OK;
    lth_launched_rank(&ranks);
    if (strcmp(name, "auto") == 0 && ranks < 2) return LTH_OK;
    bool by_scalapack = strcmp(name, "scalapack") == 0;
    if (strcmp(name, "auto") != 0 && strcmp(name, "mpi") != 0 && !by_scalapack)
        return lth__fail(err, LTH_EARG,
                         "unknown cluster \"%s\"; there are mpi, scalapack, auto and none", name);
    lth__cluster *c = lth__calloc(1, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    c->by_scalapack = by_scalapack;
    pthread_mutex_lock(&process.lock);
    lth_status status = enter(c, err);
    pthread_mutex_unlock(&process.lock);
    if (status != LTH_OK) {
        lth__free(c);
        return status;
    }
    lth__memory_share(c->at.neighbours);
    *out = c;
    return LTH_OK;
}

/* ---- Agreeing ----
 *
 * Everybody brings a number and hears the largest: 0 = I am well, 1 = I leave in peace, then one
 * for each rank that failed, and one for each that leaves because it failed; of these the first
 * rank's is the largest. It tells its reason.
 */

enum { WELL = 0, LEAVING = 1 };

static lth_status tell_reason(lth__cluster *c, unsigned root, lth_error *reason, lth_error *err) {
    LTH_TRY(c->table->broadcast(LTH__ALL_RANKS, root, reason, sizeof *reason, err));
    if (err) *err = *reason;
    return reason->status;
}

/* What all have heard when this rank brings `own`; `reason` is this rank's. */
static lth_status meet(lth__cluster *c, int64_t own, lth_error *reason, lth_error *err) {
    int64_t size = c->at.size, heard = own;
    LTH_TRY(c->table->most(&heard, err));
    if (heard == WELL) return LTH_OK;
    process.left = heard == LEAVING || heard >= 2 + size;
    if (heard == LEAVING) return own == LEAVING ? LTH_OK : fail_left(err);
    return tell_reason(c, (unsigned)(size - 1 - (heard - 2) % size), reason, err);
}

static int64_t failing(const lth__cluster *c, bool leaves) {
    return 2 + (leaves ? c->at.size : 0) + (int64_t)(c->at.size - 1 - c->at.rank);
}

/* A reason that all can print. */
static lth_error reason_of(const lth_error *why, lth_status status) {
    lth_error reason = {0};
    if (why && why->status == status) reason = *why;
    reason.status = status;
    return reason;
}

lth_status lth__cluster_agree(lth__cluster *c, lth_status status, lth_error *err) {
    if (!c) return status;
    if (process.left) return status != LTH_OK ? status : fail_left(err);
    lth_error reason = reason_of(err, status);
    return meet(c, status == LTH_OK ? WELL : failing(c, false), &reason, err);
}

lth_status lth__cluster_leave(lth__cluster *c, const lth_error *why, lth_error *err) {
    if (!c || process.left) return LTH_OK;
    lth_status status = why ? why->status : LTH_OK;
    lth_error reason = reason_of(why, status);
    status = meet(c, status == LTH_OK ? LEAVING : failing(c, true), &reason, err);
    process.left = true;
    return status;
}

void lth__cluster_return(void) {
    process.left = false;
}

void lth__cluster_close(lth__cluster *c) {
    if (!c) return;
    pthread_mutex_lock(&process.lock);
    if (--process.users == 0) {
        lth__cluster_leave(c, NULL, NULL);
        c->table->finish();
    }
    pthread_mutex_unlock(&process.lock);
    lth__free(c);
}

lth_status lth__cluster_share(lth__cluster *c, lth_status status, unsigned root, void *bytes,
                              size_t size, lth_error *err) {
    if (!c) return status;
    LTH_TRY(lth__cluster_agree(c, status, err));
    return size > 0 ? c->table->broadcast(LTH__ALL_RANKS, root, bytes, size, err) : LTH_OK;
}

lth_status lth__cluster_join(lth__cluster *c, lth_status status, double *numbers, size_t count,
                             lth_error *err) {
    if (!c) return status;
    LTH_TRY(lth__cluster_agree(c, status, err));
    return count > 0 ? c->table->join((uint64_t *)numbers, count, err) : LTH_OK;
}

lth_status lth__cluster_join_bytes(lth__cluster *c, lth_status status, void *bytes, size_t size,
                                   lth_error *err) {
    if (!c || size == 0) return lth__cluster_agree(c, status, err);
    size_t count = (size + 7) / 8;
    double *words = lth__calloc(count, sizeof *words);
    if (!words && status == LTH_OK) status = lth__fail_memory(err, size);
    if (status == LTH_OK) memcpy(words, bytes, size);
    status = lth__cluster_join(c, status, words, count, err);
    if (status == LTH_OK) memcpy(bytes, words, size);
    lth__free(words);
    return status;
}

lth_status lth__cluster_any(lth__cluster *c, bool *flag, lth_error *err) {
    int64_t value = *flag;
    if (!c) return LTH_OK;
    LTH_TRY(lth__cluster_agree(c, LTH_OK, err));
    LTH_TRY(c->table->most(&value, err));
    *flag = value != 0;
    return LTH_OK;
}

lth_status lth__cluster_largest(lth__cluster *c, double *number, lth_error *err) {
    int64_t bits; /* of such numbers, in the same order */
    if (!c) return LTH_OK;
    LTH_TRY(lth__cluster_agree(c, LTH_OK, err));
    double positive = *number < 0 ? 0 : *number;
    memcpy(&bits, &positive, sizeof bits);
    if (positive != positive) bits = INT64_MAX;
    LTH_TRY(c->table->most(&bits, err));
    memcpy(number, &bits, sizeof bits);
    return LTH_OK;
}

/* ---- Jobs ---- */

/* To and fro: jobs come dearest first. */
unsigned lth__cluster_owner(const lth__cluster *c, size_t job) {
    if (!c) return 0;
    size_t size = c->at.size, at = job % (2 * size);
    return (unsigned)(at < size ? at : 2 * size - 1 - at);
}

bool lth__cluster_owns(const lth__cluster *c, size_t job) {
    return !c || lth__cluster_owner(c, job) == c->at.rank;
}

/* Below, the algebra takes less time than its messages would. */
bool lth__cluster_deals(size_t rows) {
    enum { FEW = 2048 };
    return rows >= FEW;
}

bool lth__cluster_reads(const lth__cluster *c) {
    return !c || c->at.rank == 0;
}
