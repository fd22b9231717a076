/* To be preloaded (LD_PRELOAD) into the program under test: lets calls to the system fail, and
 * notes what a program does to files. By the environment:
 *
 *     LTH_FAULTS=KIND:K:WHAT   the K-th call of this kind fails: WHAT is the number of an error, or
 *                              "short" (half of the bytes are read or written), or "kill", as by
 *                              kill -9; with a + behind it so do all calls after the K-th
 *     LTH_FAULTS_REPORT=FILE   gets a line when that happens: which function, called from where
 *     LTH_FAULTS_LOG=FILE      gets all that changes files, in the order in which it happens:
 *                              lines OPERATION, descriptor, path, other path and size, with tabs
 *                              between them, each followed by as many bytes
 *     LTH_FAULTS_CLOCK=1       the time stands still
 *
 * What the program "luthier" calls is counted, and its library, and libz, which reads for it;
 * nothing happens in others, such as its children, or valgrind. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum kind {
    MEMORY,    /* malloc and its like                                   */
    LIBRARIES, /* the same, when libraries ask for it                   */
    OPEN,      /* open, fopen, opendir, tmpfile, a copy by fcntl        */
    READ,      /* read, pread, fread                                    */
    WRITE,     /* write, and what is printed on standard output         */
    SYNC,      /* fsync                                                 */
    RENAME,    /* rename, link                                          */
    CLOSE,     /* close, fclose                                         */
    MAP,       /* mmap, munmap, madvise, mprotect                       */
    RESIZE,    /* ftruncate                                             */
    LOCK,      /* flock                                                 */
    THREAD,    /* pthread_create                                        */
    SOCKET,    /* from socket to accept, epoll, eventfd, recv, send     */
    FOLDER,    /* mkdir, rmdir, unlink, readdir                         */
    RANDOM,    /* getrandom                                             */
    STAT,      /* stat, access, statvfs, realpath                       */
    PROCESS,   /* posix_spawn, pipe2, waitpid                           */
    KINDS,
    FILES, /* of LTH_FAULTS alone: every call that changes files */
} kind;

enum { SHORT = -1 };

/* 0 = the call is to be made; else it is to fail with this error, which errno has, or SHORT. `from`
 * is where it was called, NULL = by the program. */
int fault(kind k, const char *function, const void *from);

bool clock_stands(void);

/* For a call that changes files: begin, and once it was made, note what it did. No other is in
 * between. */
bool note_begin(const void *from);
void note_end(bool begun, const char *operation, int file, const char *path, const char *other,
              const void *bytes, size_t size);

#endif
