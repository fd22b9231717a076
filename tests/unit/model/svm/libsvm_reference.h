/* LIBSVM, which ours is compared with where it is installed: its header, and the library as it is
 * loaded. */
#ifndef LTH_LIBSVM_REFERENCE_H
#define LTH_LIBSVM_REFERENCE_H

#if __has_include(<libsvm/svm.h>)
#define HAS_LIBSVM 1
#include <dlfcn.h>
#include <stdio.h>

#include <libsvm/svm.h>

typedef struct libsvm {
    struct svm_model *(*train)(const struct svm_problem *, const struct svm_parameter *);
    double (*predict_values)(const struct svm_model *, const struct svm_node *, double *);
    void (*free_model)(struct svm_model **);
} libsvm;

static void libsvm_be_silent(const char *text) {
    (void)text;
}

/* False, and it is said, where it cannot be loaded. */
static bool libsvm_load(libsvm *out) {
    void *handle = dlopen("libsvm.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!handle) handle = dlopen("libsvm.so", RTLD_NOW | RTLD_LOCAL);
    union {
        void *object[4];
        struct {
            libsvm library;
            void (*set_printer)(void (*)(const char *));
        } functions;
    } symbols = {.object = {NULL}};
    static const char *const names[] = {"svm_train", "svm_predict_values",
                                        "svm_free_and_destroy_model",
                                        "svm_set_print_string_function"};
    for (size_t i = 0; i < 4; i++) {
        symbols.object[i] = handle ? dlsym(handle, names[i]) : NULL;
        if (symbols.object[i]) continue;
        printf("LIBSVM cannot be loaded: nothing is compared with it\n");
        return false;
    }
    symbols.functions.set_printer(libsvm_be_silent);
    *out = symbols.functions.library;
    return true;
}
#else
#define HAS_LIBSVM 0
#endif

#endif
