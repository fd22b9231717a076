/* The functions that stand before those of the system. */
#define _GNU_SOURCE 1

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

#define FROM __builtin_return_address(0)

/* The system's own, as `real`. Only dlsym() itself may come here before it is known. */
#define REAL(name)                                                                                 \
    static __typeof__(name) *real;                                                                 \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

/* A function that fails by returning `failed`. */
#define STAND_IN(kind, result, name, failed, parameters, arguments)                                \
    result name parameters {                                                                       \
        REAL(name);                                                                                \
        return fault(kind, #name, FROM) ? failed : real arguments;                                 \
    }

/* ---- Memory ---- */

STAND_IN(MEMORY, void *, malloc, NULL, (size_t size), (size))
STAND_IN(MEMORY, void *, realloc, NULL, (void *before, size_t size), (before, size))
STAND_IN(MEMORY, void *, aligned_alloc, NULL, (size_t alignment, size_t size), (alignment, size))
STAND_IN(MEMORY, int, posix_memalign, ENOMEM, (void **out, size_t alignment, size_t size),
         (out, alignment, size))
/* dlsym() may ask for memory by calloc, and then does without. */
void *calloc(size_t count, size_t size) {
    static __typeof__(calloc) *real;
    static _Thread_local bool finding __attribute__((tls_model("initial-exec")));
    if (!real && finding) return NULL;
    finding = true;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "calloc");
    finding = false;
    return fault(MEMORY, "calloc", FROM) ? NULL : real(count, size);
}

STAND_IN(MAP, void *, mmap, MAP_FAILED,
         (void *where, size_t size, int protection, int flags, int file, off_t offset),
         (where, size, protection, flags, file, offset))
STAND_IN(MAP, int, munmap, -1, (void *where, size_t size), (where, size))
STAND_IN(MAP, int, madvise, -1, (void *where, size_t size, int advice), (where, size, advice))
STAND_IN(MAP, int, mprotect, -1, (void *where, size_t size, int protection),
         (where, size, protection))

/* ---- Opening ---- */

/* The path of `name` in an open folder. */
static const char *path_in(int folder, const char *name, char out[2 * PATH_MAX]) {
    if (folder == AT_FDCWD || *name == '/') return name;
    char self[64], place[PATH_MAX] = "";
    snprintf(self, sizeof self, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(self, place, sizeof place - 1);
    if (length < 0) return name;
    snprintf(out, 2 * PATH_MAX, "%s/%s", place, name);
    return out;
}

static const char *what_opens(int flags) {
    return flags & O_EXCL ? "new" : flags & O_CREAT ? "create" : "";
}

#define OPEN_LIKE(name, parameters, arguments, path)                                               \
    int name parameters {                                                                          \
        REAL(name);                                                                                \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                                  \
        va_end(more);                                                                              \
        if (fault(OPEN, #name, FROM)) return -1;                                                   \
        char whole[2 * PATH_MAX];                                                                  \
        (void)whole;                                                                               \
        bool noted = note_begin(FROM);                                                             \
        int file = real arguments;                                                                 \
        note_end(noted,                                                                            \
                 file < 0           ? ""                                                           \
                 : flags & O_APPEND ? "append"                                                     \
                                    : "open",                                                      \
                 file, path, what_opens(flags), NULL, 0);                                          \
        return file;                                                                               \
    }
OPEN_LIKE(open, (const char *path, int flags, ...), (path, flags, mode), path)
OPEN_LIKE(open64, (const char *path, int flags, ...), (path, flags, mode), path)
OPEN_LIKE(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode),
          path_in(folder, path, whole))
OPEN_LIKE(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode),
          path_in(folder, path, whole))

STAND_IN(OPEN, FILE *, fopen, NULL, (const char *path, const char *how), (path, how))
STAND_IN(OPEN, FILE *, fopen64, NULL, (const char *path, const char *how), (path, how))
STAND_IN(OPEN, FILE *, tmpfile, NULL, (void), ())
STAND_IN(OPEN, FILE *, tmpfile64, NULL, (void), ())
STAND_IN(OPEN, DIR *, opendir, NULL, (const char *path), (path))

#define FCNTL_LIKE(name)                                                                           \
    int name(int file, int command, ...) {                                                         \
        REAL(name);                                                                                \
        va_list more;                                                                              \
        va_start(more, command);                                                                   \
        long argument = va_arg(more, long);                                                        \
        va_end(more);                                                                              \
        if (command == F_DUPFD_CLOEXEC && fault(OPEN, #name, FROM)) return -1;                     \
        return real(file, command, argument);                                                      \
    }
FCNTL_LIKE(fcntl)
FCNTL_LIKE(fcntl64)

/* ---- Reading and writing ---- */

/* How many of the bytes; 0 = it fails. */
static size_t bytes_left(int number, size_t size) {
    return number > 0 ? 0 : number == SHORT ? (size + 1) / 2 : size;
}

ssize_t read(int file, void *bytes, size_t size) {
    REAL(read);
    int number = fault(READ, "read", FROM);
    return number > 0 ? -1 : real(file, bytes, bytes_left(number, size));
}

ssize_t pread(int file, void *bytes, size_t size, off_t offset) {
    REAL(pread);
    int number = fault(READ, "pread", FROM);
    return number > 0 ? -1 : real(file, bytes, bytes_left(number, size), offset);
}

ssize_t pread64(int file, void *bytes, size_t size, off64_t offset) {
    REAL(pread64);
    int number = fault(READ, "pread64", FROM);
    return number > 0 ? -1 : real(file, bytes, bytes_left(number, size), offset);
}

/* stdio would call libc's own read(): as if that had failed. */
size_t fread(void *to, size_t size, size_t count, FILE *stream) {
    REAL(fread);
    int number = fault(READ, "fread", FROM);
    if (number <= 0) return real(to, size, count, stream);
    stream->_flags |= 0x20; /* what ferror() looks at */
    return 0;
}

ssize_t write(int file, const void *bytes, size_t size) {
    REAL(write);
    int number = fault(WRITE, "write", FROM);
    if (number > 0) return -1;
    bool noted = note_begin(FROM);
    ssize_t wrote = real(file, bytes, bytes_left(number, size));
    note_end(noted, wrote < 0 ? "" : "write", file, "", "", bytes, wrote < 0 ? 0 : (size_t)wrote);
    return wrote;
}

/* ---- Files and folders, with notes of what succeeded ---- */

#define NOTED(kind, name, parameters, arguments, operation, file, path, other, size)               \
    int name parameters {                                                                          \
        REAL(name);                                                                                \
        if (fault(kind, #name, FROM)) return -1;                                                   \
        bool noted = note_begin(FROM);                                                             \
        int result = real arguments;                                                               \
        note_end(noted, result < 0 ? "" : operation, file, path, other, NULL, 0);                  \
        return result;                                                                             \
    }
NOTED(SYNC, fsync, (int file), (file), "sync", file, "", "", 0)
NOTED(SYNC, fdatasync, (int file), (file), "sync", file, "", "", 0)
NOTED(RENAME, rename, (const char *from, const char *to), (from, to), "rename", -1, from, to, 0)
NOTED(RENAME, link, (const char *from, const char *to), (from, to), "link", -1, from, to, 0)
NOTED(FOLDER, mkdir, (const char *path, mode_t mode), (path, mode), "mkdir", -1, path, "", 0)
NOTED(FOLDER, rmdir, (const char *path), (path), "rmdir", -1, path, "", 0)
NOTED(FOLDER, unlink, (const char *path), (path), "unlink", -1, path, "", 0)

int unlinkat(int folder, const char *path, int flags) {
    REAL(unlinkat);
    char whole[2 * PATH_MAX];
    if (fault(FOLDER, "unlinkat", FROM)) return -1;
    bool noted = note_begin(FROM);
    int result = real(folder, path, flags);
    note_end(noted, result < 0 ? "" : "unlink", -1, path_in(folder, path, whole), "", NULL, 0);
    return result;
}

int ftruncate(int file, off_t size) {
    REAL(ftruncate);
    char text[32];
    if (fault(RESIZE, "ftruncate", FROM)) return -1;
    bool noted = note_begin(FROM);
    int result = real(file, size);
    snprintf(text, sizeof text, "%lld", (long long)size);
    note_end(noted, result < 0 ? "" : "resize", file, text, "", NULL, 0);
    return result;
}

int ftruncate64(int file, off64_t size) {
    return ftruncate(file, size);
}

/* It is closed in any case, as by Linux. */
int close(int file) {
    REAL(close);
    int number = fault(CLOSE, "close", FROM);
    bool noted = note_begin(FROM);
    int result = real(file);
    note_end(noted, "close", file, "", "", NULL, 0);
    if (number > 0) errno = number;
    return number ? -1 : result;
}

int fclose(FILE *stream) {
    REAL(fclose);
    bool in_memory = fileno(stream) < 0;
    int number = in_memory ? 0 : fault(CLOSE, "fclose", FROM), result = real(stream);
    if (number > 0) errno = number;
    return number ? EOF : result;
}

STAND_IN(FOLDER, struct dirent *, readdir, NULL, (DIR * folder), (folder))
STAND_IN(FOLDER, struct dirent64 *, readdir64, NULL, (DIR * folder), (folder))
STAND_IN(LOCK, int, flock, -1, (int file, int how), (file, how))
STAND_IN(STAT, int, stat, -1, (const char *path, struct stat *out), (path, out))
STAND_IN(STAT, int, lstat, -1, (const char *path, struct stat *out), (path, out))
STAND_IN(STAT, int, fstat, -1, (int file, struct stat *out), (file, out))
STAND_IN(STAT, int, fstatat, -1, (int folder, const char *path, struct stat *out, int flags),
         (folder, path, out, flags))
STAND_IN(STAT, int, access, -1, (const char *path, int how), (path, how))
STAND_IN(STAT, int, statvfs, -1, (const char *path, struct statvfs *out), (path, out))
STAND_IN(STAT, char *, realpath, NULL, (const char *path, char *out), (path, out))
STAND_IN(RANDOM, ssize_t, getrandom, -1, (void *bytes, size_t size, unsigned flags),
         (bytes, size, flags))

/* ---- Time: with LTH_FAULTS_CLOCK it stands still, so that two runs write the same ---- */

int clock_gettime(clockid_t clock, struct timespec *out) {
    REAL(clock_gettime);
    if (!clock_stands()) return real(clock, out);
    *out = (struct timespec){.tv_sec = 1700000000};
    return 0;
}

time_t time(time_t *out) {
    REAL(time);
    time_t now = clock_stands() ? 1700000000 : real(NULL);
    if (out) *out = now;
    return now;
}

/* ---- Threads, processes, sockets ---- */

int pthread_create(pthread_t *out, const pthread_attr_t *how, void *(*run)(void *), void *user) {
    REAL(pthread_create);
    int number = fault(THREAD, "pthread_create", FROM);
    return number ? number : real(out, how, run, user);
}

int posix_spawn(pid_t *out, const char *path, const posix_spawn_file_actions_t *files,
                const posix_spawnattr_t *how, char *const *arguments, char *const *environment) {
    REAL(posix_spawn);
    int number = fault(PROCESS, "posix_spawn", FROM);
    return number ? number : real(out, path, files, how, arguments, environment);
}

STAND_IN(PROCESS, int, pipe2, -1, (int ends[2], int flags), (ends, flags))
STAND_IN(PROCESS, pid_t, waitpid, -1, (pid_t child, int *status, int flags), (child, status, flags))

STAND_IN(SOCKET, int, socket, -1, (int family, int type, int protocol), (family, type, protocol))
STAND_IN(SOCKET, int, bind, -1, (int file, const struct sockaddr *name, socklen_t size),
         (file, name, size))
STAND_IN(SOCKET, int, listen, -1, (int file, int most), (file, most))
STAND_IN(SOCKET, int, setsockopt, -1,
         (int file, int level, int name, const void *value, socklen_t size),
         (file, level, name, value, size))
STAND_IN(SOCKET, int, accept4, -1, (int file, struct sockaddr *out, socklen_t *size, int flags),
         (file, out, size, flags))
STAND_IN(SOCKET, int, epoll_create1, -1, (int flags), (flags))
/* To change what is there does not fail. */
int epoll_ctl(int set, int what, int file, struct epoll_event *event) {
    REAL(epoll_ctl);
    if (what == EPOLL_CTL_ADD && fault(SOCKET, "epoll_ctl", FROM)) return -1;
    return real(set, what, file, event);
}

STAND_IN(SOCKET, int, epoll_wait, -1, (int set, struct epoll_event *events, int most, int wait),
         (set, events, most, wait))
STAND_IN(SOCKET, int, eventfd, -1, (unsigned first, int flags), (first, flags))
STAND_IN(SOCKET, int, shutdown, -1, (int file, int how), (file, how))
STAND_IN(SOCKET, ssize_t, recv, -1, (int file, void *bytes, size_t size, int flags),
         (file, bytes, size, flags))
STAND_IN(SOCKET, ssize_t, sendmsg, -1, (int file, const struct msghdr *message, int flags),
         (file, message, flags))
