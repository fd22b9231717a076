// An open GPU, and the parts of the plug-in's table.
#pragma once

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <cmath>

#include "cuda.cuh"

struct lth__device {
    int index = 0, processors = 0;
    char name[256] = ""; // asking for it takes long
    cublasHandle_t blas = nullptr; // made when first needed
    cusolverDnHandle_t solver = nullptr;
    cudaStream_t copies = nullptr;
    cudaEvent_t computed = nullptr;
};

namespace luthier {

// A function of the table: whatever thread calls it works on the handle's GPU from then on.
template <auto function> struct Entry;
template <typename R, typename... A, R (*function)(lth__device *, A...)> struct Entry<function> {
    static R call(lth__device *d, A... arguments) {
        cudaSetDevice(d->index);
        return function(d, arguments...);
    }
};
template <auto function> constexpr auto on = &Entry<function>::call;

lth_status make_strings(lth__device *d, const uint32_t *symbols, const size_t *start, size_t count,
                        lth__device_strings **out, lth_error *err);
void free_strings(lth__device *d, lth__device_strings *s);
lth_status ssk(lth__device *d, const lth__device_ssk *job, lth_error *err);
lth_status la(lth__device *d, const lth__device_la *job, lth_error *err);

void set_trees(lth__device_table *t);
void set_sparse(lth__device_table *t);
void set_ordered(lth__device_table *t);
void set_elementwise(lth__device_table *t);
void set_linear_algebra(lth__device_table *t);
void set_smo(lth__device_table *t);

} // namespace luthier
