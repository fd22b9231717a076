#include "serve/serve_library.h"

#include <dlfcn.h>

http_library http;

bool http_load(void) {
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libmicrohttpd.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
        /* Through a union: ISO C has no conversion from object to function pointers. */
#define HTTP_FIND(name)                                                                            \
    {                                                                                              \
        union {                                                                                    \
            void *object;                                                                          \
            __typeof__(MHD_##name) *function;                                                      \
        } symbol = {dlsym(library, "MHD_" #name)};                                                 \
        http.name = symbol.function;                                                               \
        if (!symbol.object) return false;                                                          \
    }
    HTTP_FUNCTIONS(HTTP_FIND)
#undef HTTP_FIND
    return true;
}
