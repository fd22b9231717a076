#define _GNU_SOURCE /* dladdr */
#include "engine/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* Beside this library, where the build and the installation put it; else wherever libraries are. */
static void *open_beside(const char *file) {
    static const char here;
    Dl_info self;
    char path[4096];
    if (!dladdr(&here, &self) || !self.dli_fname) return NULL;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) + 1 : 0;
    int length = snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, file);
    return length > 0 && (size_t)length < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *open_library(const lth__plugin *p) {
    const char *given = getenv(p->variable);
    if (given && *given) return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    void *library = open_beside(p->file);
    return library ? library : dlopen(p->file, RTLD_NOW | RTLD_LOCAL);
}

lth_status lth__plugin_load(const lth__plugin *p, const char *advice, const void **table,
                            lth_error *err) {
    void *library = open_library(p);
    if (!library) {
        const char *reason = dlerror();
        return lth__fail(err, LTH_EUNSUPPORTED,
                         "the plug-in for %s cannot be loaded (make %s builds it): %s%s", p->of,
                         p->target, reason ? reason : p->file, advice);
    }
    union {
        void *object;
        const void *(*get)(void);
    } symbol = {dlsym(library, p->function)};
    const void *found = symbol.object ? symbol.get() : NULL;
    if (!found || *(const int *)found != p->version) {
        dlclose(library);
        return lth__fail(err, LTH_EUNSUPPORTED, "%s is of another version of luthier", p->file);
    }
    *table = found;
    return LTH_OK;
}
