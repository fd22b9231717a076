/* Ranks that are processes of one machine, in plain C: what tests and sanitizers use in the place
 * of MPI. Started by `ranks`, without which a process is alone.
 *
 * It is strict where MPI may be lenient: bytes under way are neither there before `wait` nor may
 * they be changed, and who sends waits for the receiver.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "engine/cluster.h"
#include "ranks_shared.h"

struct lth__transfer {
    bool is_root;
    void *bytes, *copy;
    size_t size;
};

static struct {
    unsigned users;
    size_t mapped;
    ranks_shared *shared;
    lth__rank at;
    uint64_t *seen; /* for each box: chunks that this rank knows of */
} me;

__attribute__((format(printf, 3, 4))) static lth_status fail(lth_error *err, lth_status status,
                                                             const char *format, ...) {
    if (err == NULL) return status;
    *err = (lth_error){.status = status};
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

/* ---- Waiting ---- */

/* With the lock. Whoever waits for what a rank that ended should do waits in vain. */
static lth_status sleep_or_fail(lth_error *err) {
    unsigned gone = me.shared->gone;
    if (gone > me.shared->size) return fail(err, LTH_EIO, "a rank died");
    if (gone > 0) return fail(err, LTH_EIO, "rank %u has ended", gone - 1);
    ranks_sleep(me.shared);
    return LTH_OK;
}

#define WAIT_UNTIL(condition)                                                                      \
    do {                                                                                           \
        while (status == LTH_OK && !(condition)) status = sleep_or_fail(err);                      \
    } while (0)

/* ---- All ranks meet ---- */

typedef void combine_fn(uint64_t *sum, const uint64_t *words, size_t count);

static void combine_or(uint64_t *sum, const uint64_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) sum[i] |= words[i];
}

static void combine_most(uint64_t *sum, const uint64_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if ((int64_t)words[i] > (int64_t)sum[i]) sum[i] = words[i];
    }
}

/* At most a chunk. The last who comes ends the meeting; the next one can only begin when all have
 * taken the result. */
static lth_status meet(combine_fn *combine, uint64_t *words, size_t count, lth_error *err) {
    lth_status status = LTH_OK;
    ranks_shared *s = me.shared;
    ranks_meeting *m = &s->meeting;
    ranks_lock(s);
    WAIT_UNTIL(m->left == 0);
    if (status == LTH_OK) {
        uint64_t held = m->held;
        if (m->came == 0) {
            if (count > 0) memcpy(m->words, words, count * sizeof *words);
        } else {
            combine(m->words, words, count);
        }
        if (++m->came == s->size) {
            m->came = 0;
            m->left = s->size;
            m->held++;
            ranks_tell(s);
        }
        WAIT_UNTIL(m->held != held);
    }
    if (status == LTH_OK) {
        if (count > 0) memcpy(words, m->words, count * sizeof *words);
        if (--m->left == 0) ranks_tell(s);
    }
    ranks_unlock(s);
    return status;
}

static lth_status join(uint64_t *words, size_t count, lth_error *err) {
    const size_t step = RANKS_CHUNK / sizeof *words;
    lth_status status = LTH_OK;
    for (size_t at = 0; at < count && status == LTH_OK; at += step) {
        status = meet(combine_or, words + at, count - at < step ? count - at : step, err);
    }
    return status;
}

static lth_status most(int64_t *value, lth_error *err) {
    uint64_t word = (uint64_t)*value;
    lth_status status = meet(combine_most, &word, 1, err);
    if (status == LTH_OK) *value = (int64_t)word;
    return status;
}

static lth_status barrier(lth_error *err) {
    return meet(combine_or, NULL, 0, err);
}

/* ---- The counter ---- */

static lth_status restart(lth_error *err) {
    lth_status status = barrier(err);
    if (status != LTH_OK) return status;
    ranks_lock(me.shared);
    if (me.at.rank == 0) me.shared->counter = 0;
    ranks_unlock(me.shared);
    return barrier(err);
}

static lth_status next(uint64_t *out, lth_error *err) {
    (void)err;
    ranks_lock(me.shared);
    *out = me.shared->counter++;
    ranks_unlock(me.shared);
    return LTH_OK;
}

/* ---- Begin and end ---- */

static void find_grid(lth__rank *at) {
    at->rows = 1;
    for (unsigned r = 1; r * r <= at->size; r++) {
        if (at->size % r == 0) at->rows = r;
    }
    at->columns = at->size / at->rows;
    at->row = at->rank / at->columns;
    at->column = at->rank % at->columns;
}

static lth_status map(int fd, size_t bytes, lth_error *err) {
    int kind = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, fd, 0);
    if (memory == MAP_FAILED) return fail(err, LTH_EIO, "cannot map: %s", strerror(errno));
    me.shared = memory;
    me.mapped = bytes;
    return LTH_OK;
}

static lth_status be_alone(lth_error *err) {
    lth_status status = map(-1, ranks_bytes(1), err);
    if (status == LTH_OK && !ranks_prepare(me.shared, 1)) status = fail(err, LTH_EIO, "no lock");
    return status;
}

static lth_status join_others(const char *fd_text, const char *rank_text, lth_error *err) {
    struct stat info;
    int fd = atoi(fd_text);
    unsigned rank = (unsigned)atoi(rank_text);
    if (fstat(fd, &info) != 0 || (size_t)info.st_size < ranks_bytes(1)) {
        return fail(err, LTH_EARG, "LTH_RANKS_SHARED=%s is not what `ranks` made", fd_text);
    }
    lth_status status = map(fd, (size_t)info.st_size, err);
    if (status != LTH_OK) return status;
    if (me.shared->magic != RANKS_MAGIC || me.mapped < ranks_bytes(me.shared->size) ||
        rank >= me.shared->size) {
        return fail(err, LTH_EARG, "LTH_RANK=%s is not what `ranks` made", rank_text);
    }
    me.at.rank = rank;
    return LTH_OK;
}

static void leave(void) {
    if (me.shared != NULL) munmap(me.shared, me.mapped);
    free(me.seen);
    me.shared = NULL;
    me.seen = NULL;
}

/* Chunks of an earlier cluster of this process are known. */
static void look_at_boxes(void) {
    ranks_lock(me.shared);
    for (size_t i = 0; i < ranks_boxes(me.at.size); i++) {
        me.seen[i] = me.shared->boxes[i].posted;
    }
    ranks_unlock(me.shared);
}

static lth_status enter(lth_error *err) {
    const char *fd = getenv("LTH_RANKS_SHARED"), *rank = getenv("LTH_RANK");
    me.at = (lth__rank){.name = "reference ranks"};
    lth_status status = fd != NULL && rank != NULL ? join_others(fd, rank, err) : be_alone(err);
    if (status != LTH_OK) return status;
    me.at.size = me.at.neighbours = me.shared->size;
    me.at.local = me.at.rank;
    find_grid(&me.at);
    me.seen = calloc(ranks_boxes(me.at.size), sizeof *me.seen);
    if (me.seen == NULL) return fail(err, LTH_ENOMEM, "out of memory");
    look_at_boxes();
    return restart(err);
}

static lth_status start(lth__rank *out, lth_error *err) {
    if (me.users == 0) {
        lth_status status = enter(err);
        if (status != LTH_OK) {
            leave();
            return status;
        }
    }
    me.users++;
    *out = me.at;
    return LTH_OK;
}

static void finish(void) {
    lth_error err;
    if (me.users == 0 || --me.users > 0) return;
    barrier(&err); /* or somebody has ended: there is nobody to tell */
    leave();
}

/* The launcher sees it when this process has ended. */
static void stop_all(int code) {
    if (me.shared != NULL) {
        ranks_lock(me.shared);
        if (!me.shared->aborted) me.shared->abort_code = code;
        me.shared->aborted = true;
        ranks_unlock(me.shared);
    }
    _exit(code);
}

/* ---- Bytes ---- */

typedef struct place {
    size_t box;
    unsigned member, members;
} place;

static place place_in(lth__group group) {
    const lth__rank *at = &me.at;
    if (group == LTH__GRID_ROW) return (place){1 + at->row, at->column, at->columns};
    if (group == LTH__GRID_COLUMN) return (place){1 + at->size + at->column, at->row, at->rows};
    return (place){0, at->rank, at->size};
}

/* With the lock: a chunk for `readers` ranks, once the one before is taken by all. */
static lth_status post(size_t box, const void *bytes, size_t size, unsigned readers, unsigned to,
                       lth_error *err) {
    lth_status status = LTH_OK;
    ranks_box *b = &me.shared->boxes[box];
    WAIT_UNTIL(b->left == 0);
    if (status != LTH_OK) return status;
    memcpy(b->bytes, bytes, size);
    b->left = readers;
    b->to = to;
    me.seen[box] = ++b->posted;
    ranks_tell(me.shared);
    return LTH_OK;
}

/* With the lock. */
static lth_status take(size_t box, void *bytes, size_t size, bool is_to_me, lth_error *err) {
    lth_status status = LTH_OK;
    ranks_box *b = &me.shared->boxes[box];
    WAIT_UNTIL(is_to_me ? b->left > 0 && b->to == me.at.rank : b->posted > me.seen[box]);
    if (status != LTH_OK) return status;
    memcpy(bytes, b->bytes, size);
    me.seen[box] = b->posted;
    if (--b->left == 0) ranks_tell(me.shared);
    return LTH_OK;
}

static size_t chunk_of(size_t left) {
    return left < RANKS_CHUNK ? left : RANKS_CHUNK;
}

static lth_status broadcast(lth__group group, unsigned root, void *bytes, size_t size,
                            lth_error *err) {
    place p = place_in(group);
    lth_status status = LTH_OK;
    if (root >= p.members) return fail(err, LTH_EARG, "root %u of %u", root, p.members);
    if (p.members == 1) return LTH_OK;
    ranks_lock(me.shared);
    for (size_t at = 0; at < size && status == LTH_OK; at += RANKS_CHUNK) {
        char *chunk = (char *)bytes + at;
        size_t length = chunk_of(size - at);
        status = p.member == root ? post(p.box, chunk, length, p.members - 1, 0, err)
                                  : take(p.box, chunk, length, false, err);
    }
    ranks_unlock(me.shared);
    return status;
}

/* It is done at once, but not shown: until `wait`, there is nothing of use at the receiver. */
static lth_status begin(lth__group group, unsigned root, void *bytes, size_t size,
                        lth__transfer **out, lth_error *err) {
    lth__transfer *t = malloc(sizeof *t);
    void *copy = malloc(size + 1);
    if (t == NULL || copy == NULL) {
        free(t);
        free(copy);
        return fail(err, LTH_ENOMEM, "out of memory");
    }
    *t = (lth__transfer){place_in(group).member == root, bytes, copy, size};
    if (size > 0) memcpy(copy, bytes, size);
    lth_status status = broadcast(group, root, copy, size, err);
    if (status != LTH_OK) {
        free(copy);
        free(t);
        return status;
    }
    if (!t->is_root && size > 0) memset(bytes, 0xff, size);
    *out = t;
    return LTH_OK;
}

static lth_status wait_for(lth__transfer *t, lth_error *err) {
    lth_status status = LTH_OK;
    if (t->size > 0 && !t->is_root) {
        memcpy(t->bytes, t->copy, t->size);
    } else if (t->size > 0 && memcmp(t->bytes, t->copy, t->size) != 0) {
        status = fail(err, LTH_EARG, "bytes were changed while they were under way");
    }
    free(t->copy);
    free(t);
    return status;
}

static size_t box_of_sender(unsigned rank) {
    return 1 + 2 * (size_t)me.at.size + rank;
}

static lth_status check_other(unsigned other, lth_error *err) {
    if (other < me.at.size && other != me.at.rank) return LTH_OK;
    return fail(err, LTH_EARG, "rank %u of %u has nothing to tell rank %u", me.at.rank, me.at.size,
                other);
}

static lth_status send(unsigned to, const void *bytes, size_t size, lth_error *err) {
    lth_status status = check_other(to, err);
    if (status != LTH_OK) return status;
    size_t box = box_of_sender(me.at.rank);
    ranks_lock(me.shared);
    for (size_t at = 0; at < size && status == LTH_OK; at += RANKS_CHUNK) {
        status = post(box, (const char *)bytes + at, chunk_of(size - at), 1, to, err);
    }
    WAIT_UNTIL(me.shared->boxes[box].left == 0);
    ranks_unlock(me.shared);
    return status;
}

static lth_status receive(unsigned from, void *bytes, size_t size, lth_error *err) {
    lth_status status = check_other(from, err);
    if (status != LTH_OK) return status;
    ranks_lock(me.shared);
    for (size_t at = 0; at < size && status == LTH_OK; at += RANKS_CHUNK) {
        status = take(box_of_sender(from), (char *)bytes + at, chunk_of(size - at), true, err);
    }
    ranks_unlock(me.shared);
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
};

__attribute__((visibility("default"))) lth__cluster_table_fn lth__cluster_table_get;

const lth__cluster_table *lth__cluster_table_get(void) {
    return &table;
}
