/* Finding a plug-in and opening its device. */
#define _GNU_SOURCE /* dladdr */
#include "engine/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/status.h"

static const char plugin_name[] = "libluthier_cuda.so";

/* Beside this library, where the build and the installation put it; else wherever libraries are. */
static void *open_beside(void) {
    Dl_info self;
    char path[4096];
    if (!dladdr(plugin_name, &self) || !self.dli_fname) return NULL;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) + 1 : 0;
    int length = snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, plugin_name);
    return length > 0 && (size_t)length < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static lth_status load(const lth__device_table **out, lth_error *err) {
    const char *given = getenv("LTH_CUDA_PLUGIN");
    void *library = given && *given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : open_beside();
    if (!library && !(given && *given)) library = dlopen(plugin_name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        return lth__fail(err, LTH_EUNSUPPORTED,
                         "the plug-in for GPUs cannot be loaded (make cuda builds it): %s",
                         reason ? reason : plugin_name);
    }
    union {
        void *object;
        lth__device_table_fn *get;
    } symbol = {dlsym(library, "lth__device_table_get")};
    const lth__device_table *table = symbol.object ? symbol.get() : NULL;
    if (!table || table->version != LTH__DEVICE_VERSION) {
        dlclose(library);
        return lth__fail(err, LTH_EUNSUPPORTED, "%s is of another version of luthier", plugin_name);
    }
    *out = table; /* stays loaded */
    return LTH_OK;
}

/* "cuda" and "auto" mean the first one, "cuda:2" the third. */
static lth_status parse_index(const char *name, int *index, lth_error *err) {
    *index = 0;
    if (strcmp(name, "auto") == 0 || strcmp(name, "cuda") == 0) return LTH_OK;
    char *end = NULL;
    if (strncmp(name, "cuda:", 5) == 0 && name[5] >= '0' && name[5] <= '9') {
        long number = strtol(name + 5, &end, 10);
        if (!*end && number < 1024) {
            *index = (int)number;
            return LTH_OK;
        }
    }
    return lth__fail(err, LTH_EARG, "unknown device \"%s\"; there are cpu, cuda, cuda:N and auto",
                     name);
}

lth_status lth__device_open(const char *name, lth__gpu *out, lth_error *err) {
    *out = (lth__gpu){0};
    if (!name || strcmp(name, "cpu") == 0) return LTH_OK;
    int index;
    LTH_TRY(parse_index(name, &index, err));
    bool may_do_without = strcmp(name, "auto") == 0;
    lth_error reason = {0};
    lth__gpu gpu = {.decides = may_do_without};
    lth_status status = load(&gpu.table, &reason);
    if (status == LTH_OK) status = gpu.table->open(index, &gpu.device, &reason);
    if (status == LTH_OK) {
        size_t free_bytes, total_bytes;
        gpu.table->describe(gpu.device, gpu.name, sizeof gpu.name, &free_bytes, &total_bytes);
        *out = gpu;
    } else if (!may_do_without && err) {
        *err = reason;
    }
    return may_do_without ? LTH_OK : status;
}

void lth__device_close(lth__gpu *gpu) {
    if (gpu->device) gpu->table->close(gpu->device);
    *gpu = (lth__gpu){0};
}

/* A GPU needs about a millisecond to get going; a core does some 1e10 cell-orders in a second. */
bool lth__device_pays(const lth__gpu *gpu, double cell_orders, double pairs) {
    return !gpu->decides || cell_orders > 3e8 || pairs > 4e7;
}
