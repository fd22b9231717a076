// What the string kernel's host side and its kernels share.
#pragma once

#include "pairs.cuh"

namespace luthier {

constexpr int block_threads = 64; // small, so that registers that few threads leave are used
enum { along_nothing, along_gap, along_slope };

// What is computed of them.
template <typename T> struct Job : Pairs {
    uint32_t lanes, order;
    T gap;
    const T *table, *slope;
    uint32_t stride;
    double nu[LTH__DEVICE_ORDERS];
    double *planes, *tangents;
    double *partial; // [block][orders + 1]
    T *boundary;
};

template <typename T, int N> __device__ void store(const Job<T> &job, const Pair &x, const double *value) {
    if (job.K) {
        double k = 0;
#pragma unroll
        for (int i = 0; i < N; i++)
            if (i < int(job.order)) k += job.nu[i] * value[i];
        job.K[x.r * job.ld + x.c] = k;
        if (x.both) job.K[x.c * job.ld + x.r] = k;
    }
    if (job.planes) {
        uint64_t plane = job.panel.rows * job.ld;
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (i >= int(job.order)) break;
            job.planes[i * plane + x.r * job.ld + x.c] = value[i];
            if (x.both) job.planes[i * plane + x.c * job.ld + x.r] = value[i];
        }
    }
}

template <typename T, int N> __device__ void store_tangents(const Job<T> &job, const Pair &x, const double *slope) {
    if (!job.tangents) return;
#pragma unroll
    for (int i = 0; i < N; i++)
        if (i < int(job.order)) job.tangents[i * job.panel.rows + x.r] = slope[i];
}

// The compiled kernels for one order, by [shape][precision][soft][along], and their columns to a lane: two shapes that fill a
// thread's registers, so that one or the other fits a length, and one for short strings.
struct Variant {
    int columns;
    const void *kernel;
};
struct Variants {
    int order;
    Variant shapes[3][2][2][3];
};
extern const Variants ssk_variants_1, ssk_variants_2, ssk_variants_3, ssk_variants_4, ssk_variants_5, ssk_variants_6,
    ssk_variants_8, ssk_variants_12, ssk_variants_16;

} // namespace luthier
