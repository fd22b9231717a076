/* Which call fails, and what was noted. */
#define _GNU_SOURCE 1 /* dl_iterate_phdr, fopencookie */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const names[] = {
    [MEMORY] = "memory", [LIBRARIES] = "libraries", [OPEN] = "open",
    [READ] = "read",     [WRITE] = "write",         [SYNC] = "sync",
    [RENAME] = "rename", [CLOSE] = "close",         [MAP] = "map",
    [RESIZE] = "resize", [LOCK] = "lock",           [THREAD] = "thread",
    [SOCKET] = "socket", [FOLDER] = "folder",       [RANDOM] = "random",
    [STAT] = "stat",     [PROCESS] = "process",     [KINDS] = "-",
    [FILES] = "files"};

static const bool changes[KINDS] = {
    [OPEN] = true,  [WRITE] = true,  [SYNC] = true, [RENAME] = true,
    [CLOSE] = true, [RESIZE] = true, [LOCK] = true, [FOLDER] = true};

enum { KILL = -2, MOST_RANGES = 64 };

/* Code whose calls are counted. */
typedef struct range {
    const char *object;
    uintptr_t base, begin, end;
    bool
        library; /* whose calls for memory are a kind of their own, and whose others do not count */
} range;

static range ranges[MOST_RANGES];
static size_t range_count;
static bool counting, stays, standing;
static int wanted = KINDS, what, report = -1, noted = -1;
static unsigned long at;
static atomic_ulong calls;
static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;

/* ---- What was asked for ---- */

static int add_ranges(struct dl_phdr_info *object, size_t size, void *user) {
    (void)size, (void)user;
    static const char *const known[] = {"/libluthier.so", "/libz.so", "/libjansson", "/libc.so",
                                        "/libstdc++"};
    enum { LIBRARIES_FROM = 2, KNOWN = sizeof known / sizeof *known };
    size_t which = 0;
    const char *name = object->dlpi_name;
    while (*name && which < KNOWN && !strstr(name, known[which])) which++;
    for (size_t i = 0; which < KNOWN && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || range_count == MOST_RANGES)
            continue;
        uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        ranges[range_count++] =
            (range){*name ? strrchr(name, '/') + 1 : "luthier", object->dlpi_addr, begin,
                    begin + part->p_memsz, which >= LIBRARIES_FROM};
    }
    return 0;
}

/* A descriptor far from those of the program. */
static int open_named(const char *variable) {
    const char *path = getenv(variable);
    if (!path) return -1;
    long file =
        syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    long far = syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, 900);
    syscall(SYS_close, file);
    return (int)far;
}

static void parse(const char *text) {
    char name[16] = "", error[16] = "";
    sscanf(text, "%15[a-z]:%lu:%15s", name, &at, error);
    for (int k = 0; k <= FILES; k++)
        if (strcmp(names[k], name) == 0) wanted = k;
    stays = strchr(error, '+') != NULL;
    what = strncmp(error, "short", 5) == 0  ? SHORT
           : strncmp(error, "kill", 4) == 0 ? KILL
                                            : atoi(error);
    if (wanted != KINDS && at > 0 && what != 0) return;
    fprintf(stderr, "LTH_FAULTS=%s says nothing\n", text);
    _exit(125);
}

static long print(void *cookie, const char *bytes, size_t size);

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("LTH_FAULTS");
    if (strcmp(program_invocation_short_name, "luthier") != 0) return;
    report = open_named("LTH_FAULTS_REPORT");
    noted = open_named("LTH_FAULTS_LOG");
    if (text) parse(text);
    standing = getenv("LTH_FAULTS_CLOCK") != NULL;
    dl_iterate_phdr(add_ranges, NULL);
    if (wanted == WRITE) stdout = fopencookie(NULL, "w", (cookie_io_functions_t){.write = print});
    counting = true;
}

/* ---- Faults ---- */

static const range *range_of(const void *from) {
    static const range program = {.object = "luthier"};
    uintptr_t address = (uintptr_t)from;
    if (!from) return &program;
    for (size_t i = 0; i < range_count; i++)
        if (address >= ranges[i].begin && address < ranges[i].end) return &ranges[i];
    return NULL;
}

static void say(const char *function, const range *r, const void *from) {
    char line[160];
    int length = snprintf(line, sizeof line, "%s, from %s %#lx\n", function, r->object,
                          (unsigned long)((uintptr_t)from - r->base));
    syscall(SYS_write, report, line, length);
}

int fault(kind k, const char *function, const void *from) {
    const range *r = counting ? range_of(from) : NULL;
    if (!r || (r->library && k != MEMORY)) return 0;
    if (r->library) k = LIBRARIES;
    if (wanted == FILES ? !changes[k] : (int)k != wanted) return 0;
    unsigned long number = atomic_fetch_add(&calls, 1) + 1;
    if (number < at || (number > at && !stays)) return 0;
    if (number == at && report >= 0) say(function, r, from);
    if (what == KILL) syscall(SYS_kill, getpid(), SIGKILL);
    if (what > 0) errno = what;
    return what;
}

/* stdio would call libc's own write(). */
static long print(void *cookie, const char *bytes, size_t size) {
    (void)cookie;
    int number = fault(WRITE, "stdout", NULL);
    if (number > 0) return -1;
    long wrote = syscall(SYS_write, STDOUT_FILENO, bytes, number == SHORT ? (size + 1) / 2 : size);
    return wrote;
}

bool clock_stands(void) {
    return counting && standing;
}

/* ---- Notes ---- */

bool note_begin(const void *from) {
    if (!counting || noted < 0 || !range_of(from)) return false;
    pthread_mutex_lock(&noting);
    return true;
}

void note_end(bool begun, const char *operation, int file, const char *path, const char *other,
              const void *bytes, size_t size) {
    if (!begun) return;
    char line[2 * PATH_MAX + 100];
    int number = errno, length = snprintf(line, sizeof line, "%s\t%d\t%s\t%s\t%zu\n", operation,
                                          file, path, other, size);
    if (*operation) syscall(SYS_write, noted, line, length);
    if (size > 0) syscall(SYS_write, noted, bytes, size);
    pthread_mutex_unlock(&noting);
    errno = number;
}
