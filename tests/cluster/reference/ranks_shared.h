/* What the ranks of one machine share: made by the launcher (ranks.c), used by the plug-in
 * (ranks_plugin.c). One lock for all of it, and one number that changes whenever something has
 * happened, on which those sleep who wait: a rank may be killed at any time, also while it waits,
 * and the others must not be caught by that (as they would be by a condition variable).
 */
#ifndef LTH_RANKS_SHARED_H
#define LTH_RANKS_SHARED_H

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANKS_MAGIC = 0x6c7468, RANKS_CHUNK = 1 << 16, RANKS_MOST = 256 };

/* A chunk on its way from one rank to others. */
typedef struct ranks_box {
    uint64_t posted; /* chunks so far                             */
    unsigned left;   /* of those who have not yet taken this one  */
    unsigned to;     /* for whom it is, when it is for one rank   */
    char bytes[RANKS_CHUNK];
} ranks_box;

/* A chunk that all ranks work on. */
typedef struct ranks_meeting {
    uint64_t held; /* meetings so far                         */
    unsigned came; /* to the one that is being held           */
    unsigned left; /* who have not yet taken the last result  */
    uint64_t words[RANKS_CHUNK / sizeof(uint64_t)];
} ranks_meeting;

typedef struct ranks_shared {
    uint32_t magic;
    unsigned size;
    pthread_mutex_t lock;
    uint32_t news;  /* changes with everything that others may wait for      */
    unsigned gone;  /* 1 + the rank that ended first: nobody waits any more  */
    bool aborted;   /* a rank ended all others on purpose                    */
    int abort_code; /* and with this code                                    */
    uint64_t counter;
    ranks_meeting meeting;
    ranks_box boxes[]; /* of all, of the rows, of the columns; then one for each sender */
} ranks_shared;

static inline size_t ranks_boxes(unsigned size) {
    return 1 + 3 * (size_t)size;
}

static inline size_t ranks_bytes(unsigned size) {
    return sizeof(ranks_shared) + ranks_boxes(size) * sizeof(ranks_box);
}

/* The memory is new and 0. */
static inline bool ranks_prepare(ranks_shared *s, unsigned size) {
    pthread_mutexattr_t kind;
    if (pthread_mutexattr_init(&kind) != 0) return false;
    bool done = pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED) == 0 &&
                pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST) == 0 &&
                pthread_mutex_init(&s->lock, &kind) == 0;
    pthread_mutexattr_destroy(&kind);
    s->size = size;
    s->magic = RANKS_MAGIC;
    return done;
}

/* Somebody may have died with the lock: what it guards is then no longer of use, but the lock is.
 */
static inline void ranks_lock(ranks_shared *s) {
    if (pthread_mutex_lock(&s->lock) == EOWNERDEAD) {
        pthread_mutex_consistent(&s->lock);
        if (s->gone == 0) s->gone = s->size + 1;
    }
}

static inline void ranks_unlock(ranks_shared *s) {
    pthread_mutex_unlock(&s->lock);
}

/* With the lock: those who wait look again. */
static inline void ranks_tell(ranks_shared *s) {
    __atomic_add_fetch(&s->news, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &s->news, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* With the lock, which is free meanwhile: sleep until something has happened. */
static inline void ranks_sleep(ranks_shared *s) {
    uint32_t known = __atomic_load_n(&s->news, __ATOMIC_SEQ_CST);
    ranks_unlock(s);
    syscall(SYS_futex, &s->news, FUTEX_WAIT, known, NULL, NULL, 0);
    ranks_lock(s);
}

#endif
