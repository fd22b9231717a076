// Collections of strings, and the pairs of a panel that one launch computes.
#pragma once

#include <algorithm>

#include "cuda.cuh"

struct lth__device_strings {
    size_t count = 0;
    std::vector<uint32_t> length, order; // order: items, the longest first
    std::vector<uint32_t> place;         // of an item in `order`
    uint64_t letters = 0;                // bits of the symbols below 64 that there are
    luthier::Room<uint32_t> symbols;
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

// Pairs of one launch, in device memory: every row of `row_list` with the columns of `col_list` that it stands for, or items with
// themselves. Pair p is of the row with before[row] <= p < before[row + 1], whose columns are those from first[row] on.
struct Pairs {
    const uint32_t *row_symbols, *col_symbols;
    const uint64_t *row_start, *col_start;
    const uint32_t *row_list, *col_list, *first;
    const uint64_t *before;
    uint64_t pairs;
    uint32_t rows;  // in row_list
    uint32_t shift; // columns are taken up at another place in each row
    bool symmetric, only_diagonal;
    lth__panel panel;
    double *K;
    const double *W;
    uint64_t ld; // of K and W
};

// The lists of a launch. Of a symmetric panel the shorter item of a pair is its column, or the later one where both are as long; so
// no thread is given the mirror image of a pair. Columns right of the panel's own items stand for themselves, and come last.
class PairLists {
  public:
    // Both by length.
    template <typename J>
    lth_status make(const J &job, const std::vector<uint32_t> &row_items, std::vector<uint32_t> col_items, lth_error *err) {
        size_t own = 0; // columns that are the panel's own items
        if (job.panel.symmetric) {
            size_t right = job.panel.first_row + job.panel.rows;
            auto end = std::stable_partition(col_items.begin(), col_items.end(), [right](uint32_t c) { return c < right; });
            own = size_t(end - col_items.begin());
        }
        rows = row_items.size();
        cols = col_items.size();
        std::vector<uint64_t> room(rows + 1 + (2 * rows + cols + 1) / 2, 0); // before, then the lists: one way to the GPU
        uint32_t *lists = reinterpret_cast<uint32_t *>(room.data() + rows + 1);
        for (size_t i = 0, from = 0; i < rows; i++) {
            while (from < own && job.cols->place[col_items[from]] < job.cols->place[row_items[i]]) from++;
            lists[i] = row_items[i];
            lists[rows + i] = uint32_t(from);
            room[i + 1] = room[i] + cols - from;
        }
        std::copy(col_items.begin(), col_items.end(), lists + 2 * rows);
        pairs = room[rows];
        return on_device.put(room.data(), room.size(), err);
    }

    template <typename J> Pairs pairs_of(const J &job) const {
        Pairs p = {};
        p.row_symbols = job.rows->symbols;
        p.row_start = job.rows->start;
        p.col_symbols = job.cols->symbols;
        p.col_start = job.cols->start;
        p.before = on_device;
        p.row_list = reinterpret_cast<const uint32_t *>(p.before + rows + 1);
        p.first = p.row_list + rows;
        p.col_list = p.first + rows;
        p.pairs = pairs;
        p.rows = uint32_t(rows);
        p.symmetric = job.panel.symmetric;
        p.panel = job.panel;
        p.K = job.K;
        p.W = job.W;
        p.ld = job.ld;
        return p;
    }

  private:
    size_t rows = 0, cols = 0;
    uint64_t pairs = 0;
    Room<uint64_t> on_device;
};

// A pair of strings; where they are in the panel.
struct Pair {
    const uint32_t *s, *t;
    uint32_t rows, cols;
    uint64_t r, c;
    bool wanted, both; // `both`: to be stored on both sides of the diagonal
};

inline __device__ void find_items(const Pairs &job, uint64_t p, uint32_t *row, uint32_t *col) {
    uint32_t low = 0, high = job.rows;
    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;
        if (job.before[middle] <= p)
            low = middle;
        else
            high = middle;
    }
    uint64_t start = job.before[low];
    uint32_t k = uint32_t(p - start);
    if (job.shift > 0) k = uint32_t((k + uint64_t(low) * job.shift) % (job.before[low + 1] - start));
    *row = job.row_list[low];
    *col = job.col_list[job.first[low] + k];
}

inline __device__ Pair find_pair(const Pairs &job, uint64_t p) {
    Pair x = {};
    x.wanted = p < job.pairs;
    if (!x.wanted) return x;
    uint32_t row, col;
    if (job.only_diagonal)
        row = col = job.row_list[p];
    else
        find_items(job, p, &row, &col);
    uint64_t s = job.row_start[row], t = job.col_start[col];
    x.s = job.row_symbols + s;
    x.t = job.col_symbols + t;
    x.rows = uint32_t(job.row_start[row + 1] - s);
    x.cols = uint32_t(job.col_start[col + 1] - t);
    x.r = row - job.panel.first_row;
    x.c = job.only_diagonal ? 0 : col - job.panel.first_col;
    x.both = job.symmetric && row != col && col < job.panel.first_row + job.panel.rows;
    return x;
}

// A pair that is stored on both sides has the weights of both, which are equal.
inline __device__ double weight_of(const Pairs &job, const Pair &x) {
    if (!job.W) return 0;
    double w = job.W[x.r * job.ld + x.c];
    return x.both ? 2 * w : w;
}

} // namespace luthier
