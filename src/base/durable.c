/* A file is written as NAME.tmp-PID-N and locked for as long as that takes. So a file of such a
 * name that nobody has locked was left by a process that is gone. */
#include "base/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/memory.h"

static const char mark[] = ".tmp-";

typedef struct draft {
    char *path;
    int file;
} draft;

static lth_status fail_write(const char *path, int number, lth_error *err) {
    return lth__fail_at(err, LTH_EIO, path, 0, 0, "cannot write: %s",
                        strerror(number ? number : EIO));
}

/* ---- Drafts ---- */

/* A new file, locked; one that was swept away before it was locked counts as not there. */
static int open_locked(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return -1;
    struct stat status;
    flock(file, LOCK_EX); /* where there are no locks, nothing is swept either */
    if (fstat(file, &status) == 0 && status.st_nlink > 0) return file;
    close(file);
    errno = EEXIST;
    return -1;
}

static lth_status open_draft(const char *path, draft *out, lth_error *err) {
    enum { MOST_TRIES = 1000 };
    size_t size = strlen(path) + 64;
    draft d = {.path = lth__alloc(size, 1), .file = -1};
    if (!d.path) return lth__fail_memory(err, size);
    for (int i = 0; i < MOST_TRIES && d.file < 0; i++) {
        snprintf(d.path, size, "%s%s%ld-%d", path, mark, (long)getpid(), i);
        d.file = open_locked(d.path);
        if (d.file < 0 && errno != EEXIST) break;
    }
    if (d.file < 0) {
        int number = errno;
        lth__free(d.path);
        return fail_write(path, number, err);
    }
    *out = d;
    return LTH_OK;
}

static void close_draft(draft *d, bool remove) {
    if (remove) unlink(d->path);
    close(d->file);
    lth__free(d->path);
}

/* 0, or the errno. */
static int write_all(int file, lth__bytes bytes) {
    const char *at = bytes.data;
    for (size_t left = bytes.size; left > 0;) {
        ssize_t wrote = write(file, at, left < 1u << 30 ? left : 1u << 30);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
        at += wrote;
        left -= (size_t)wrote;
    }
    return fsync(file) == 0 ? 0 : errno;
}

lth_status lth__durable_write(const char *path, lth__bytes bytes, lth_error *err) {
    draft d;
    LTH_TRY(open_draft(path, &d, err));
    int number = write_all(d.file, bytes);
    if (number == 0 && rename(d.path, path) != 0) number = errno;
    close_draft(&d, number != 0);
    return number == 0 ? LTH_OK : fail_write(path, number, err);
}

lth_status lth__durable_create(const char *path, lth__bytes bytes, lth_error *err) {
    draft d;
    LTH_TRY(open_draft(path, &d, err));
    int number = write_all(d.file, bytes);
    if (number == 0 && link(d.path, path) != 0) number = errno;
    bool renamed = false;
    if (number != 0 && number != EEXIST && number != ENOSPC) { /* a disk without links */
        renamed = access(path, F_OK) != 0 && rename(d.path, path) == 0;
        if (renamed) number = 0;
    }
    if (number == EEXIST) number = 0;
    close_draft(&d, !renamed);
    return number == 0 ? LTH_OK : fail_write(path, number, err);
}

lth_status lth__durable_settle(const char *folder, lth_error *err) {
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return fail_write(folder, errno, err);
    int number = fsync(file) == 0 || errno == EINVAL ? 0 : errno;
    close(file);
    return number == 0 ? LTH_OK : fail_write(folder, number, err);
}

/* ---- What is left ---- */

static void sweep_draft(int folder, const char *name) {
    int file = openat(folder, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, name, 0);
    close(file);
}

void lth__durable_sweep(const char *folder) {
    DIR *open = opendir(folder);
    if (!open) return;
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;)
        if (strstr(entry->d_name, mark)) sweep_draft(dirfd(open), entry->d_name);
    closedir(open);
}

size_t lth__durable_space(const char *folder) {
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0) return SIZE_MAX;
    size_t bytes;
    return __builtin_mul_overflow((size_t)disk.f_bavail, (size_t)disk.f_frsize, &bytes) ? SIZE_MAX
                                                                                        : bytes;
}
