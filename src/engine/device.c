/* Finding a plug-in and opening its device. */
#include "engine/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/status.h"
#include "engine/plugin.h"

static const lth__plugin plugin = {.file = "libluthier_cuda.so",
                                   .variable = "LTH_CUDA_PLUGIN",
                                   .function = "lth__device_table_get",
                                   .of = "GPUs",
                                   .target = "cuda",
                                   .version = LTH__DEVICE_VERSION};

static bool has(const int *list, size_t count, int number) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == number) return true;
    return false;
}

/* "0,2": numbers of GPUs, each once. Returns how many, 0 = that is not what the text says. */
static size_t parse_list(const char *text, int index[LTH__DEVICE_GPUS]) {
    size_t count = 0;
    do {
        if (*text < '0' || *text > '9' || count == LTH__DEVICE_GPUS) return 0;
        char *end;
        long number = strtol(text, &end, 10);
        if (number >= 1024 || has(index, count, (int)number)) return 0;
        index[count++] = (int)number;
        text = end;
    } while (*text++ == ',');
    return text[-1] == 0 ? count : 0;
}

/* "cuda" and "auto" mean the first one, "cuda:2" the third. */
static lth_status parse_name(const char *name, int index[LTH__DEVICE_GPUS], size_t *count,
                             lth_error *err) {
    index[0] = 0;
    *count = 1;
    if (strcmp(name, "auto") == 0 || strcmp(name, "cuda") == 0) return LTH_OK;
    *count = strncmp(name, "cuda:", 5) == 0 ? parse_list(name + 5, index) : 0;
    if (*count > 0) return LTH_OK;
    return lth__fail(
        err, LTH_EARG,
        "unknown device \"%s\"; there are cpu, cuda, cuda:N, cuda:N,M for several GPUs, "
        "and auto",
        name);
}

static lth_status open_all(lth__gpu *gpu, const int *index, size_t count, lth_error *err) {
    for (size_t i = 0; i < count * LTH__DEVICE_HANDLES; i++) {
        LTH_TRY(gpu->table->open(index[i % count], &gpu->handle[i], err));
        size_t used = strlen(gpu->name), free_bytes, total_bytes;
        if (i >= count || used + 4 > sizeof gpu->name) continue;
        if (i > 0) used += (size_t)snprintf(gpu->name + used, sizeof gpu->name - used, ", ");
        gpu->table->describe(gpu->handle[i], gpu->name + used, sizeof gpu->name - used, &free_bytes,
                             &total_bytes);
    }
    gpu->gpus = count;
    return LTH_OK;
}

static void make_lock(pthread_mutex_t *lock) {
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

void lth__device_enter(lth__gpu *gpu) {
    pthread_mutex_lock(&gpu->lock);
}

void lth__device_leave(lth__gpu *gpu) {
    pthread_mutex_unlock(&gpu->lock);
}

lth_status lth__device_open(const char *name, lth__gpu *out, lth_error *err) {
    *out = (lth__gpu){0};
    if (!name || strcmp(name, "cpu") == 0) return LTH_OK;
    int index[LTH__DEVICE_GPUS];
    size_t count;
    LTH_TRY(parse_name(name, index, &count, err));
    bool may_do_without = strcmp(name, "auto") == 0;
    lth_error reason = {0};
    lth__gpu gpu = {.decides = may_do_without};
    const void *table = NULL;
    lth_status status = lth__plugin_load(&plugin, "", &table, &reason);
    gpu.table = table;
    if (status == LTH_OK) status = open_all(&gpu, index, count, &reason);
    if (status == LTH_OK) {
        *out = gpu;
        make_lock(&out->lock);
    } else {
        lth__device_close(&gpu);
    }
    if (status != LTH_OK && !may_do_without && err) *err = reason;
    return may_do_without ? LTH_OK : status;
}

void lth__device_close(lth__gpu *gpu) {
    for (size_t i = 0; i < LTH__DEVICE_GPUS * LTH__DEVICE_HANDLES; i++)
        if (gpu->handle[i]) gpu->table->close(gpu->handle[i]);
    if (gpu->gpus > 0) pthread_mutex_destroy(&gpu->lock);
    *gpu = (lth__gpu){0};
}

/* A GPU needs about a millisecond to get going; a core does some 1e10 cell-orders in a second. */
bool lth__device_pays(const lth__gpu *gpu, double cell_orders, double pairs) {
    return !gpu->decides || cell_orders > 3e8 || pairs > 4e7;
}
