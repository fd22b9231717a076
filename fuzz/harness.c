#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/file.h"

enum { FILES = 16 };

static lth__memory_file files[FILES];
static lth__relay relay = {.reads = true, .files = files};
static char folder[64];

lth_ctx *harness_ctx(void) {
    static lth_ctx *ctx;
    if (ctx) return ctx;
    if (lth_ctx_create(NULL, &ctx, NULL) != LTH_OK) abort();
    ctx->relay = &relay;
    return ctx;
}

void harness_put(const char *path, const void *bytes, size_t size) {
    size_t i = 0;
    while (i < relay.file_count && strcmp(files[i].path, path) != 0) i++;
    if (i == FILES) abort();
    files[i] = (lth__memory_file){path, bytes, size};
    if (i == relay.file_count) relay.file_count++;
}

static void remove_folder(void) {
    DIR *open = opendir(folder);
    for (const struct dirent *entry; open && (entry = readdir(open)) != NULL;)
        unlinkat(dirfd(open), entry->d_name, 0);
    if (open) closedir(open);
    rmdir(folder);
}

static void make_folder(void) {
    static const char *const disks[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(folder, sizeof folder, "%s/luthier-fuzz-XXXXXX", disks[i]);
        if (!mkdtemp(folder)) continue;
        atexit(remove_folder);
        return;
    }
    abort();
}

const char *harness_write(const char *name, const void *bytes, size_t size) {
    char path[128];
    if (!folder[0]) make_folder();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || (size > 0 && write(file, bytes, size) != (ssize_t)size)) abort();
    close(file);
    return folder;
}

const char *harness_folder(const harness_file *of, size_t count, const uint8_t *data, size_t size) {
    static bool good[HARNESS_MOST_FILES];
    for (size_t i = 0; i < count; i++) {
        bool own = data[0] % count == i;
        if (own)
            harness_write(of[i].name, data + 1, size - 1);
        else if (!good[i])
            harness_write(of[i].name, of[i].text, strlen(of[i].text));
        good[i] = !own;
    }
    return folder;
}

lth_table *harness_table(const char *lines) {
    lth_table *table;
    harness_put("table.tsv", lines, strlen(lines));
    if (lth_table_read(harness_ctx(), "table.tsv", NULL, &table, NULL) != LTH_OK) abort();
    return table;
}
