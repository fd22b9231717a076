/* A file is written as a draft, NAME.tmp-X with X of 16 random digits, which is locked for as long
 * as that takes. So a draft that nobody has locked was left by a process that is gone. A draft is
 * always a new file: a link or a file that somebody has put in its place is never written. */
#include "base/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

static const char mark[] = ".tmp-";
enum { DIGITS = 16, LONGEST_NAME = 255 - (int)sizeof mark - DIGITS };

typedef struct draft {
    char *path;
    int file;
} draft;

static lth_status fail_write(const char *path, int number, lth_error *err) {
    return lth__fail_at(err, LTH_EIO, path, 0, 0, "cannot write: %s",
                        strerror(number ? number : EIO));
}

/* ---- Names ---- */

/* Of a path, up to its last slash. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Of a draft's name, what it has of the name of its file. */
static size_t kept_length(const char *name) {
    size_t length = strlen(name);
    return length < LONGEST_NAME ? length : LONGEST_NAME;
}

static bool is_draft_of(const char *entry, const char *name) {
    size_t kept = kept_length(name), lead = sizeof mark - 1;
    return strncmp(entry, name, kept) == 0 && strncmp(entry + kept, mark, lead) == 0 &&
           strspn(entry + kept + lead, "0123456789abcdef") == DIGITS &&
           strlen(entry + kept + lead) == DIGITS;
}

static uint64_t draw_number(void) {
    uint64_t number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
    return (uint64_t)(lth__seconds() * 1e9) << 20 ^ (uint64_t)getpid(); /* another one will do */
}

/* ---- What is left ---- */

static void sweep_draft(int folder, const char *name) {
    int file = openat(folder, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return;
    struct stat found;
    bool plain = fstat(file, &found) == 0 && S_ISREG(found.st_mode);
    if (plain && flock(file, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, name, 0);
    close(file);
}

/* The drafts of a file; all of the folder, where `name` is NULL. */
static void sweep(const char *folder, const char *name) {
    DIR *open = opendir(folder);
    if (!open) return;
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;)
        if (name ? is_draft_of(entry->d_name, name) : strstr(entry->d_name, mark) != NULL)
            sweep_draft(dirfd(open), entry->d_name);
    closedir(open);
}

void lth__durable_sweep(const char *folder) {
    sweep(folder, NULL);
}

/* ---- Drafts ---- */

/* A new file, locked; one that was swept away before it was locked counts as not there. */
static int open_locked(const char *path, mode_t mode) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file < 0) return -1;
    struct stat status;
    flock(file, LOCK_EX); /* where there are no locks, nothing is swept either */
    int number = fstat(file, &status) == 0 ? EEXIST : errno;
    if (number == EEXIST && status.st_nlink > 0) return file;
    if (number != EEXIST) unlink(path);
    close(file);
    errno = number;
    return -1;
}

static lth_status open_draft(const char *path, mode_t mode, draft *out, lth_error *err) {
    enum { MOST_TRIES = 100 };
    size_t lead = folder_length(path), size = lead + LONGEST_NAME + sizeof mark + DIGITS;
    draft d = {.path = lth__alloc(size, 1), .file = -1};
    if (!d.path) return lth__fail_memory(err, size);
    for (int i = 0; i < MOST_TRIES && d.file < 0; i++) {
        snprintf(d.path, size, "%.*s%s%016" PRIx64, (int)(lead + kept_length(path + lead)), path,
                 mark, draw_number());
        d.file = open_locked(d.path, mode);
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

/* 0, or the errno. A signal is no failure, except `in_place`: whoever waits for the reader of a
 * pipe may be told to stop. */
static int write_all(int file, lth__bytes bytes, bool in_place) {
    const char *at = bytes.data;
    for (size_t left = bytes.size; left > 0;) {
        ssize_t wrote = write(file, at, left < 1u << 30 ? left : 1u << 30);
        if (wrote < 0 && errno == EINTR && !in_place) continue;
        if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
        at += wrote;
        left -= (size_t)wrote;
    }
    return 0;
}

/* To the disk: 0, or the errno. Some file systems have nothing to do, and say EINVAL. */
static int sync_file(int file) {
    while (fsync(file) != 0)
        if (errno != EINTR) return errno == EINVAL ? 0 : errno;
    return 0;
}

/* A folder that may be written but not read cannot be asked for. */
static int sync_folder(const char *folder) {
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return errno == EACCES ? 0 : errno;
    int number = sync_file(file);
    close(file);
    return number;
}

/* ---- Many files ---- */

static lth_status open_filled(const char *path, lth__bytes bytes, draft *d, lth_error *err) {
    LTH_TRY(open_draft(path, 0666, d, err));
    int number = write_all(d->file, bytes, false);
    if (number == 0) number = sync_file(d->file);
    if (number == 0) return LTH_OK;
    close_draft(d, true);
    return fail_write(path, number, err);
}

lth_status lth__durable_write(const char *path, lth__bytes bytes, lth_error *err) {
    draft d;
    LTH_TRY(open_filled(path, bytes, &d, err));
    int number = rename(d.path, path) == 0 ? 0 : errno;
    close_draft(&d, number != 0);
    return number == 0 ? LTH_OK : fail_write(path, number, err);
}

lth_status lth__durable_create(const char *path, lth__bytes bytes, lth_error *err) {
    draft d;
    LTH_TRY(open_filled(path, bytes, &d, err));
    int number = link(d.path, path) == 0 ? 0 : errno;
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
    int number = sync_folder(folder);
    return number == 0 ? LTH_OK : fail_write(folder, number, err);
}

lth_status lth__durable_folder(const char *path, lth_error *err) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    while (length > 0 && path[length - 1] != '/') length--;
    char *parent = lth__strndup(length ? path : ".", length ? length : 1);
    if (!parent) return lth__fail_memory(err, length + 1);
    int number = mkdir(path, 0777) == 0 || errno == EEXIST ? sync_folder(parent) : errno;
    lth__free(parent);
    return number == 0 ? LTH_OK : fail_write(path, number, err);
}

size_t lth__durable_space(const char *folder) {
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0) return SIZE_MAX;
    size_t bytes;
    return __builtin_mul_overflow((size_t)disk.f_bavail, (size_t)disk.f_frsize, &bytes) ? SIZE_MAX
                                                                                        : bytes;
}

/* ---- One file ---- */

struct lth_output {
    char *name;          /* as it was given, "stdout" for "-"      */
    char *path, *folder; /* behind a link; NULL = written in place */
    draft draft;
    int reason; /* errno of what failed first */
};

/* The standard stream that is this very file, which others write too, or -1: /dev/stdout is one. */
static int standard_file(const struct stat *found) {
    struct stat own;
    for (int file = STDOUT_FILENO; file <= STDERR_FILENO; file++)
        if (fstat(file, &own) == 0 && own.st_dev == found->st_dev && own.st_ino == found->st_ino)
            return file;
    return -1;
}

static lth_status open_in_place(lth_output *o, const char *path, int standard, lth_error *err) {
    fflush(stdout); /* what was printed before comes before */
    o->draft.file = standard >= 0 ? fcntl(standard, F_DUPFD_CLOEXEC, 0)
                                  : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return o->draft.file >= 0 ? LTH_OK : fail_write(o->name, errno, err);
}

/* Whoever might read the old file may read the new one, and nobody else. */
static void take_permissions(int file, const struct stat *old) {
    mode_t mode = old->st_mode & 0777;
    struct stat now;
    if (fchown(file, old->st_uid, old->st_gid) != 0 && fchown(file, (uid_t)-1, old->st_gid) != 0 &&
        (fstat(file, &now) != 0 || now.st_gid != old->st_gid))
        mode &= ~(mode_t)070 | (mode & 07) << 3; /* another group: what is everybody's */
    fchmod(file, mode);
}

static lth_status open_beside(lth_output *o, const char *path, const struct stat *old,
                              lth_error *err) {
    if (old && access(path, W_OK) != 0) /* renaming would pass over a write protection */
        return fail_write(o->name, errno, err);
    size_t lead = folder_length(path);
    o->folder = lead ? lth__strndup(path, lead) : lth__strndup(".", 1);
    o->path = lth__strndup(path, strlen(path));
    if (!o->folder || !o->path) return lth__fail_memory(err, strlen(path) + 1);
    sweep(o->folder, path + lead);
    LTH_TRY(open_draft(path, old ? 0600 : 0666, &o->draft, err));
    if (old) take_permissions(o->draft.file, old);
    return LTH_OK;
}

static lth_status open_path(lth_output *o, const char *path, lth_error *err) {
    if (strcmp(path, "-") == 0) return open_in_place(o, path, STDOUT_FILENO, err);
    /* A link stays a link: what it points to is replaced. */
    char resolved[PATH_MAX];
    struct stat found;
    bool link = lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
    const char *target = link && realpath(path, resolved) != NULL ? resolved : path;
    bool exists = stat(path, &found) == 0;
    int standard = exists ? standard_file(&found) : -1;
    if (standard >= 0 || (exists && !S_ISREG(found.st_mode))) /* is not renamed over */
        return open_in_place(o, path, standard, err);
    return open_beside(o, target, exists ? &found : NULL, err);
}

lth_status lth_output_open(const char *path, lth_output **out, lth_error *err) {
    lth_output *o = lth__calloc(1, sizeof *o);
    if (!o) return lth__fail_memory(err, sizeof *o);
    o->draft.file = -1;
    const char *name = strcmp(path, "-") == 0 ? "stdout" : path;
    o->name = lth__strndup(name, strlen(name));
    lth_status status = o->name ? open_path(o, path, err) : lth__fail_memory(err, 0);
    if (status == LTH_OK)
        *out = o;
    else
        lth_output_free(o);
    return status;
}

static lth_status keep_reason(lth_output *o, int number, lth_error *err) {
    if (!o->reason) o->reason = number;
    return o->reason ? fail_write(o->name, o->reason, err) : LTH_OK;
}

lth_status lth_output_write(lth_output *o, const void *bytes, size_t size, lth_error *err) {
    return keep_reason(o, write_all(o->draft.file, (lth__bytes){bytes, size}, !o->path), err);
}

/* Everything to the disk, and then under its name: 0, or the errno. */
static int settle(lth_output *o) {
    int number = sync_file(o->draft.file);
    if (number == 0 && rename(o->draft.path, o->path) != 0) number = errno;
    if (number != 0) return number;
    lth__free(o->draft.path);
    o->draft.path = NULL; /* it is none any more */
    return sync_folder(o->folder);
}

static int close_file(lth_output *o) {
    int number = close(o->draft.file) == 0 ? 0 : errno;
    o->draft.file = -1;
    return number;
}

lth_status lth_output_commit(lth_output *o, lth_error *err) {
    int number = o->reason ? o->reason : o->path ? settle(o) : close_file(o);
    return keep_reason(o, number, err);
}

void lth_output_free(lth_output *o) {
    if (!o) return;
    if (o->draft.path) unlink(o->draft.path);
    if (o->draft.file >= 0) close(o->draft.file);
    lth__free(o->draft.path);
    lth__free(o->path);
    lth__free(o->folder);
    lth__free(o->name);
    lth__free(o);
}
