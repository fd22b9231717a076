/* Allocation with overflow checks and 64-byte alignment, pools, and how much memory is left.
 *
 *     raw                 block - 16          block (a multiple of 64)       block + size
 *     | 0 to 63 bytes     | header            | the caller's bytes           | the rest of 63 bytes
 *
 * The block lies inside one from malloc(), so that realloc() can grow a large one by moving pages
 * instead of copying bytes. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "base/memory.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__ /* gcc's word; for clang our presets say it */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#endif

enum { ALIGNMENT = 64 };

typedef struct header {
    void *raw;
    size_t size;
} header;

enum { OVERHEAD = sizeof(header) + ALIGNMENT - 1 };

/* count * size + OVERHEAD, or 0 when that is more than an object can have. */
static size_t raw_size(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return 0;
    return bytes <= (size_t)PTRDIFF_MAX - OVERHEAD ? bytes + OVERHEAD : 0;
}

static header *header_of(void *block) {
    return (header *)((char *)block - sizeof(header));
}

static char *block_in(void *raw) {
    size_t past = ((uintptr_t)raw + sizeof(header)) % ALIGNMENT;
    return (char *)raw + sizeof(header) + (past == 0 ? 0 : ALIGNMENT - past);
}

static void *finish(void *raw, size_t total) {
    char *block = block_in(raw);
    size_t size = total - OVERHEAD;
    *header_of(block) = (header){raw, size};
    ASAN_POISON_MEMORY_REGION(block + size, (size_t)((char *)raw + total - (block + size)));
    return block;
}

/* What a message will say. */
static _Thread_local size_t refused;

static void *refuse(size_t count, size_t size) {
    if (__builtin_mul_overflow(count, size, &refused)) refused = SIZE_MAX;
    return NULL;
}

size_t lth__memory_refused(void) {
    size_t bytes = refused;
    refused = 0;
    return bytes;
}

void *lth__alloc(size_t count, size_t size) {
    size_t total = raw_size(count, size);
    void *raw = total == 0 ? NULL : malloc(total);
    return raw ? finish(raw, total) : refuse(count, size);
}

void *lth__calloc(size_t count, size_t size) {
    size_t total = raw_size(count, size);
    void *raw = total == 0 ? NULL : calloc(1, total);
    return raw ? finish(raw, total) : refuse(count, size);
}

void *lth__realloc(void *old, size_t count, size_t size) {
    if (old == NULL) return lth__alloc(count, size);
    size_t total = raw_size(count, size);
    if (total == 0) return refuse(count, size);
    header before = *header_of(old);
    size_t offset = (size_t)((char *)old - (char *)before.raw);
    char *raw = realloc(before.raw, total);
    if (raw == NULL) return refuse(count, size);
    /* The new place may be aligned otherwise; where pages were moved it is not. */
    char *block = block_in(raw);
    size_t kept = before.size < total - OVERHEAD ? before.size : total - OVERHEAD;
    if (raw + offset != block) memmove(block, raw + offset, kept);
    return finish(raw, total);
}

void lth__free(void *p) {
    if (p != NULL) free(header_of(p)->raw);
}

void *lth__space_alloc(size_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (bytes == 0) bytes = 1;
    void *space = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return space == MAP_FAILED ? NULL : space;
}

void lth__space_free(void *space, size_t bytes) {
    if (space) munmap(space, bytes ? bytes : 1);
}

char *lth__strndup(const char *text, size_t length) {
    char *copy = length < SIZE_MAX ? lth__alloc(length + 1, 1) : NULL;
    if (copy == NULL) return NULL;
    if (length > 0) memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void lth__copy_struct(void *to, size_t to_size, const void *from, size_t from_size) {
    memcpy(to, from, to_size < from_size ? to_size : from_size);
}

/* What grows large grows by what a file says, which may be more than there is: the system would
 * grant it all the same, and kill later. */
static bool has_room_for(size_t more, size_t element_size) {
    enum { LARGE = 64 << 20 };
    return more < LARGE / element_size || more <= lth__memory_available() / element_size;
}

bool lth__reserve(void **array, size_t *capacity, size_t need, size_t element_size) {
    if (need <= *capacity) return true;
    size_t wanted = *capacity < 8 ? 8 : *capacity;
    while (wanted < need) wanted = wanted > SIZE_MAX / 2 ? need : wanted * 2;
    if (!has_room_for(wanted - *capacity, element_size)) {
        refuse(wanted, element_size);
        return false;
    }
    /* Callers pass the address of a T *, which may be looked at as a void * only byte by byte. */
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = lth__realloc(old, wanted, element_size);
    if (grown == NULL) return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

/* ---- What is left -------------------------------------------------------------------------- */

/* The start of a small file of the system, as a string; false if it cannot be read. */
static bool read_system_file(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t length = 0;
    ssize_t got;
    while (length < size - 1 && (got = read(file, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    close(file);
    text[length] = '\0';
    return length > 0;
}

/* The number after `key` at the start of a line, or `otherwise`. */
static size_t number_after(const char *text, const char *key, size_t otherwise) {
    size_t key_length = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, key_length) != 0) continue;
        char *end;
        unsigned long long value = strtoull(line + key_length, &end, 10);
        return end != line + key_length ? (size_t)value : otherwise;
    }
    return otherwise;
}

static size_t number_in(const char *directory, const char *name, size_t otherwise) {
    char path[4096 + 64], text[64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return read_system_file(path, text, sizeof text) ? number_after(text, "", otherwise)
                                                     : otherwise;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t difference(size_t a, size_t b) {
    return a > b ? a - b : 0;
}

static size_t machine_available(void) {
    char text[1024];
    if (!read_system_file("/proc/meminfo", text, sizeof text)) return SIZE_MAX;
    size_t kib = number_after(text, "MemAvailable:", SIZE_MAX);
    return kib > SIZE_MAX / 1024 ? SIZE_MAX : kib * 1024;
}

/* The two generations of control groups say the same with other names. */
typedef struct group_names {
    const char *root, *limit, *usage, *active_cache, *inactive_cache;
} group_names;

static const group_names group_v1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                     "memory.usage_in_bytes", "total_active_file ",
                                     "total_inactive_file "};
static const group_names group_v2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                     "active_file ", "inactive_file "};

static size_t group_available_at(const char *directory, const group_names *names) {
    size_t limit = number_in(directory, names->limit, SIZE_MAX);
    if (limit == SIZE_MAX) return SIZE_MAX;
    size_t usage = number_in(directory, names->usage, 0);
    /* Usage counts cached files, which give way: without this, reading a large table would look
     * like having lost the memory for its Gram matrix. */
    char path[4096 + 64], stat[8192];
    snprintf(path, sizeof path, "%s/memory.stat", directory);
    if (read_system_file(path, stat, sizeof stat)) {
        usage = difference(usage, number_after(stat, names->active_cache, 0));
        usage = difference(usage, number_after(stat, names->inactive_cache, 0));
    }
    return difference(limit, usage);
}

/* A group is limited by all groups above it, too. Inside a container the path may be one of the
 * outside; then only the root is found, which is the container's. */
static size_t group_available(const group_names *names, const char *group, size_t length) {
    char path[4096];
    size_t root = strlen(names->root);
    if (root + length >= sizeof path) return SIZE_MAX;
    memcpy(path, names->root, root);
    memcpy(path + root, group, length);
    path[root + length] = '\0';
    size_t available = SIZE_MAX;
    for (;;) {
        available = least(available, group_available_at(path, names));
        char *slash = strrchr(path + root, '/');
        if (slash == NULL) return available;
        *slash = '\0';
    }
}

static bool list_has_memory(const char *list, size_t length) {
    const char *word = "memory";
    for (const char *end = list + length; list < end;) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t size = (size_t)((comma != NULL ? comma : end) - list);
        if (size == strlen(word) && memcmp(list, word, size) == 0) return true;
        list += size + 1;
    }
    return false;
}

/* Lines read "5:cpu,memory:/group" (version 1) or "0::/group" (version 2). */
static size_t container_available(void) {
    char text[8192];
    if (!read_system_file("/proc/self/cgroup", text, sizeof text)) return SIZE_MAX;
    size_t available = SIZE_MAX;
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char *list = memchr(line, ':', (size_t)(end - line));
        char *group = list != NULL ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (group == NULL) continue;
        size_t list_length = (size_t)(group - list - 1), length = (size_t)(end - group - 1);
        if (list_length == 0)
            available = least(available, group_available(&group_v2, group + 1, length));
        else if (list_has_memory(list + 1, list_length))
            available = least(available, group_available(&group_v1, group + 1, length));
    }
    return available;
}

static size_t address_space_available(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
    long page = sysconf(_SC_PAGESIZE);
    size_t pages = number_in("/proc/self", "statm", 0);
    return difference((size_t)limit.rlim_cur, pages * (page > 0 ? (size_t)page : 4096));
}

static atomic_uint sharers = 1;

void lth__memory_share(unsigned processes) {
    atomic_store(&sharers, processes > 0 ? processes : 1);
}

static atomic_int parts = 1; /* of what this process can have */

void lth__memory_divide(int more) {
    atomic_fetch_add(&parts, more);
}

/* The address space is a process's own. */
size_t lth__memory_available(void) {
    size_t shared = least(container_available(), machine_available());
    if (shared != SIZE_MAX) shared /= atomic_load(&sharers);
    size_t all = least(address_space_available(), shared);
    return all == SIZE_MAX ? all : all / (size_t)atomic_load(&parts);
}

void lth__print_size(double value, char out[16]) {
    if (value < 1000)
        snprintf(out, 16, "%.0f bytes", value);
    else if (value < 999.95e3)
        snprintf(out, 16, "%.1f kB", value / 1e3);
    else if (value < 999.95e6)
        snprintf(out, 16, "%.1f MB", value / 1e6);
    else if (value < 999.95e9)
        snprintf(out, 16, "%.1f GB", value / 1e9);
    else
        snprintf(out, 16, "%.1f TB", value / 1e12);
}

/* Of less than this, malloc() itself tells: the system's files take longer to read than most of
 * what such a small thing is for. */
enum { WORTH_ASKING = 1 << 16 };

lth_status lth__memory_check(size_t bytes, const char *what, const char *advice, lth_error *err) {
    if (bytes < WORTH_ASKING) return LTH_OK;
    size_t available = lth__memory_available();
    if (bytes <= available) return LTH_OK;
    char needed[16], left[16];
    lth__print_size((double)bytes, needed);
    lth__print_size((double)available, left);
    bool advised = advice != NULL && advice[0] != '\0';
    return lth__fail(err, LTH_ENOMEM, "%s needs %s, %s are available%s%s", what, needed, left,
                     advised ? "; " : "", advised ? advice : "");
}

lth_status lth__memory_check_json(const char *text, size_t length, lth_error *err) {
    enum { LARGE = 1 << 20, BYTES_OF_VALUE = 64 };
    size_t values = 0;
    if (length < LARGE) return LTH_OK;
    for (size_t i = 0; i < length; i++)
        values += text[i] == ',' || text[i] == ':' || text[i] == '[' || text[i] == '{';
    return lth__memory_check(length + values * BYTES_OF_VALUE, "parsing the JSON", "", err);
}

/* ---- Pools --------------------------------------------------------------------------------- */

struct lth__pool_chunk {
    struct lth__pool_chunk *next;
    size_t used, size;
    max_align_t bytes[];
};

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20 };

static struct lth__pool_chunk *new_chunk(size_t size) {
    struct lth__pool_chunk *chunk;
    if (size > SIZE_MAX - sizeof *chunk) return NULL;
    chunk = lth__alloc(1, sizeof *chunk + size);
    if (chunk != NULL) *chunk = (struct lth__pool_chunk){.size = size};
    return chunk;
}

static void *take(struct lth__pool_chunk *chunk, size_t bytes) {
    void *block = (char *)chunk->bytes + chunk->used;
    chunk->used += bytes;
    return block;
}

void *lth__pool_alloc(lth__pool *pool, size_t bytes) {
    struct lth__pool_chunk *head = pool->chunks;
    if (bytes > SIZE_MAX - 7) return NULL;
    bytes = bytes == 0 ? 8 : (bytes + 7) / 8 * 8;
    if (head != NULL && bytes <= head->size - head->used) return take(head, bytes);

    size_t usual = head == NULL                      ? FIRST_CHUNK
                   : head->size >= LARGEST_CHUNK / 2 ? LARGEST_CHUNK
                                                     : head->size * 2;
    bool large = bytes > usual / 4;
    struct lth__pool_chunk *chunk = new_chunk(large ? bytes : usual);
    if (chunk == NULL) return NULL;
    if (large && head != NULL) { /* a chunk of its own, behind the one that still has room */
        chunk->next = head->next;
        head->next = chunk;
    } else {
        chunk->next = head;
        pool->chunks = chunk;
    }
    return take(chunk, bytes);
}

char *lth__pool_strndup(lth__pool *pool, const char *text, size_t length) {
    char *copy = length < SIZE_MAX ? lth__pool_alloc(pool, length + 1) : NULL;
    if (copy == NULL) return NULL;
    if (length > 0) memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void lth__pool_free(lth__pool *pool) {
    for (struct lth__pool_chunk *chunk = pool->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        lth__free(chunk);
    }
    pool->chunks = NULL;
}
