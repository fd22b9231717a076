// What the string kernel's host side and its kernels share.
#pragma once

#include "cuda.cuh"

namespace luthier {

constexpr int block_threads = 64; // small, so that registers that few threads leave are used
enum { along_nothing, along_gap, along_slope };

// Pairs of one launch, in device memory: every row of `row_list` with every column of `col_list`, or items with themselves.
template <typename T> struct Job {
    const uint32_t *row_symbols, *col_symbols;
    const uint64_t *row_start, *col_start;
    const uint32_t *row_list, *col_list;
    const uint32_t *rank; // of an item by length, for symmetric panels
    uint64_t pairs;
    uint32_t cols; // in col_list
    bool symmetric, only_diagonal;
    lth__panel panel;
    uint32_t lanes, order;
    T gap;
    const T *table, *slope;
    uint32_t stride;
    double nu[LTH__DEVICE_ORDERS];
    double *K, *planes, *tangents;
    uint64_t ld;
    const double *W;
    double *partial; // [block][orders + 1]
    T *boundary;
};

// A pair of strings; where they are in the panel.
struct Pair {
    const uint32_t *s, *t;
    uint32_t rows, cols;
    uint64_t r, c;
    bool wanted, both; // `both`: to be stored on both sides of the diagonal
};

template <typename T> __device__ Pair find_pair(const Job<T> &job, uint64_t p) {
    Pair x = {};
    x.wanted = p < job.pairs;
    if (!x.wanted) return x;
    uint32_t row = job.row_list[job.only_diagonal ? p : p / job.cols];
    uint32_t col = job.only_diagonal ? row : job.col_list[p % job.cols];
    bool inside = job.symmetric && col < job.panel.first_row + job.panel.rows;
    if (inside && job.rank[row] > job.rank[col]) {
        x.wanted = false; // its mirror image is computed
        return x;
    }
    uint64_t s = job.row_start[row], t = job.col_start[col];
    x.s = job.row_symbols + s;
    x.t = job.col_symbols + t;
    x.rows = uint32_t(job.row_start[row + 1] - s);
    x.cols = uint32_t(job.col_start[col + 1] - t);
    x.r = row - job.panel.first_row;
    x.c = job.only_diagonal ? 0 : col - job.panel.first_col;
    x.both = inside && row != col;
    return x;
}

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

// A pair that is stored on both sides has the weights of both, which are equal.
template <typename T> __device__ double weight_of(const Job<T> &job, const Pair &x) {
    if (!job.W) return 0;
    double w = job.W[x.r * job.ld + x.c];
    return x.both ? 2 * w : w;
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
