// Collections of strings, and the pairs of a panel that one launch computes.
#pragma once

#include "cuda.cuh"

struct lth__device_strings {
    size_t count = 0;
    std::vector<uint32_t> length, order; // order: items, the longest first
    uint64_t letters = 0;                // bits of the symbols below 64 that there are
    luthier::Room<uint32_t> symbols, rank;
    luthier::Room<uint64_t> start;
};

namespace luthier {

// Items first .. first + count - 1, the longest first.
inline std::vector<uint32_t> by_length(const lth__device_strings *s, size_t first, size_t count) {
    std::vector<uint32_t> items;
    items.reserve(count);
    for (uint32_t i : s->order)
        if (i >= first && i - first < count) items.push_back(i);
    return items;
}

// Pairs of one launch, in device memory: every row of `row_list` with every column of `col_list`, or items with themselves.
struct Pairs {
    const uint32_t *row_symbols, *col_symbols;
    const uint64_t *row_start, *col_start;
    const uint32_t *row_list, *col_list;
    const uint32_t *rank; // of an item by length, for symmetric panels
    uint64_t pairs;
    uint32_t cols; // in col_list
    bool symmetric, only_diagonal;
    lth__panel panel;
    double *K;
    const double *W;
    uint64_t ld; // of K and W
};

template <typename J>
Pairs pairs_of(const J &job, const uint32_t *row_list, size_t rows, const uint32_t *col_list, size_t cols) {
    Pairs p = {};
    p.row_symbols = job.rows->symbols;
    p.row_start = job.rows->start;
    p.col_symbols = job.cols->symbols;
    p.col_start = job.cols->start;
    p.rank = job.rows->rank;
    p.row_list = row_list;
    p.col_list = col_list;
    p.cols = uint32_t(cols);
    p.pairs = uint64_t(rows) * cols;
    p.symmetric = job.panel.symmetric;
    p.panel = job.panel;
    p.K = job.K;
    p.W = job.W;
    p.ld = job.ld;
    return p;
}

// A pair of strings; where they are in the panel.
struct Pair {
    const uint32_t *s, *t;
    uint32_t rows, cols;
    uint64_t r, c;
    bool wanted, both; // `both`: to be stored on both sides of the diagonal
};

inline __device__ Pair find_pair(const Pairs &job, uint64_t p) {
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

// A pair that is stored on both sides has the weights of both, which are equal.
inline __device__ double weight_of(const Pairs &job, const Pair &x) {
    if (!job.W) return 0;
    double w = job.W[x.r * job.ld + x.c];
    return x.both ? 2 * w : w;
}

} // namespace luthier
