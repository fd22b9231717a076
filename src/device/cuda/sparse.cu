// Inner products of sparse features.
//
// The columns are kept by feature: which have it, in ascending order. A warp has one row and a range of columns, whose sums are
// in the block's memory. It goes through the row's features and adds to the columns that have each: as many steps as pairs have
// features in common, and no other. Lanes find the ranges of 32 features at once, so that the way to memory is paid once for them.
// Features come in ascending order, products are rounded before they are added: the bits are the CPU's.
#include <algorithm>

#include "device.cuh"

struct lth__device_features {
    struct Rows {
        luthier::Room<uint64_t> start;
        luthier::Room<uint32_t> feature;
        luthier::Room<double> weight;
    } rows;
    struct Columns {
        luthier::Room<uint64_t> start; // by feature
        luthier::Room<uint32_t> item;
        luthier::Room<double> weight;
    } cols;
    uint32_t most = 0; // features of columns are below it
};

namespace luthier {

namespace {

constexpr int warps = 4, threads = 32 * warps;
constexpr uint32_t range = 1024; // columns of a warp
constexpr int side = 32;         // of the squares that are mirrored

struct Sparse {
    const uint64_t *row_start, *feature_start;
    const uint32_t *feature, *item;
    const double *row_weight, *item_weight;
    uint32_t most;
    lth__panel panel;
    double *K;
    uint64_t ld;
};

// The first of sorted items, from `first` on, that is not below `bound`.
__device__ uint64_t seek(const uint32_t *item, uint64_t first, uint64_t last, uint64_t bound) {
    while (first < last) {
        uint64_t middle = (first + last) / 2;
        if (item[middle] < bound)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

template <bool SMALLER> __device__ double term(double a, double b) { return SMALLER ? (a < b ? a : b) : __dmul_rn(a, b); }

// All columns of [begin, end) that the row has a feature in common with: sum[column - begin] += ...
template <bool SMALLER>
__device__ void add_row(const Sparse &s, uint64_t row, uint64_t begin, uint64_t end, uint32_t lane, double *sum) {
    constexpr unsigned all = 0xffffffffu;
    for (uint64_t base = s.row_start[row]; base < s.row_start[row + 1]; base += 32) {
        uint64_t from = 0, to = 0;
        double weight = 0;
        if (base + lane < s.row_start[row + 1]) {
            uint32_t f = s.feature[base + lane];
            weight = s.row_weight[base + lane];
            if (f < s.most) {
                to = s.feature_start[f + 1];
                from = seek(s.item, s.feature_start[f], to, begin);
                to = seek(s.item, from, to, end);
            }
        }
        for (unsigned left = __ballot_sync(all, from < to); left != 0; left &= left - 1) {
            int which = __ffs(int(left)) - 1;
            uint64_t first = __shfl_sync(all, from, which), last = __shfl_sync(all, to, which);
            double w = __shfl_sync(all, weight, which);
            for (uint64_t k = first + lane; k < last; k += 32) {
                double *at = &sum[s.item[k] - begin];
                *at = __dadd_rn(*at, term<SMALLER>(w, s.item_weight[k]));
            }
            __syncwarp(); // the next feature's lanes find these sums
        }
    }
}

// Of a symmetric panel, what is left of the diagonal is mirrored later, but for the range in which the diagonal is.
template <bool SMALLER> __global__ void __launch_bounds__(threads) multiply(const Sparse s) {
    __shared__ double sums[warps][range];
    const uint32_t lane = threadIdx.x % 32;
    double *sum = sums[threadIdx.x / 32];
    const uint64_t ranges = (s.panel.cols + range - 1) / range, jobs = s.panel.rows * ranges;
    for (uint64_t job = uint64_t(blockIdx.x) * warps + threadIdx.x / 32; job < jobs; job += uint64_t(gridDim.x) * warps) {
        uint64_t r = job / ranges, left = job % ranges * range, right = min(left + range, uint64_t(s.panel.cols));
        if (s.panel.symmetric && right <= r) continue;
        for (uint32_t c = lane; c < range; c += 32) sum[c] = 0;
        __syncwarp();
        add_row<SMALLER>(s, s.panel.first_row + r, s.panel.first_col + left, s.panel.first_col + right, lane, sum);
        for (uint64_t c = left + lane; c < right; c += 32) s.K[r * s.ld + c] = sum[c - left];
        __syncwarp();
    }
}

// Below the diagonal of a square is what is above it.
__global__ void mirror(double *K, uint64_t ld, uint64_t n) {
    __shared__ double square[side][side + 1];
    uint64_t top = uint64_t(blockIdx.y) * side, left = uint64_t(blockIdx.x) * side;
    if (left < top) return;
    uint64_t c = left + threadIdx.x;
    for (uint32_t y = threadIdx.y; y < side; y += 8)
        if (top + y < n && c < n) square[y][threadIdx.x] = K[(top + y) * ld + c];
    __syncthreads();
    for (uint32_t y = threadIdx.y; y < side; y += 8) {
        uint64_t row = left + y, col = top + threadIdx.x;
        if (row < n && col < n && col < row) K[row * ld + col] = square[threadIdx.x][y];
    }
}

lth_status put_rows(const lth__device_bags &from, lth__device_features::Rows *to, lth_error *err) {
    size_t first = from.start[0], count = from.start[from.count] - first;
    std::vector<uint64_t> start(from.count + 1);
    for (size_t i = 0; i <= from.count; i++) start[i] = from.start[i] - first;
    LTH_DO(to->start.put(start.data(), start.size(), err));
    LTH_DO(to->feature.put(from.feature + first, count, err));
    return to->weight.put(from.weight + first, count, err);
}

// By counting. Items of a feature come in ascending order.
lth_status put_columns(const lth__device_bags &from, lth__device_features *to, lth_error *err) {
    size_t first = from.start[0], last = from.start[from.count];
    uint32_t most = 0;
    for (size_t k = first; k < last; k++) most = std::max(most, from.feature[k] + 1);
    std::vector<uint64_t> start(size_t(most) + 1, 0);
    std::vector<uint32_t> item(last - first);
    std::vector<double> weight(last - first);
    for (size_t k = first; k < last; k++) start[from.feature[k] + 1]++;
    for (size_t f = 0; f < most; f++) start[f + 1] += start[f];
    std::vector<uint64_t> next(start.begin(), start.end());
    for (size_t i = 0; i < from.count; i++) {
        for (size_t k = from.start[i]; k < from.start[i + 1]; k++) {
            uint64_t at = next[from.feature[k]]++;
            item[at] = uint32_t(i);
            weight[at] = from.weight[k];
        }
    }
    to->most = most;
    LTH_DO(to->cols.start.put(start.data(), start.size(), err));
    LTH_DO(to->cols.item.put(item.data(), item.size(), err));
    return to->cols.weight.put(weight.data(), weight.size(), err);
}

lth_status make_features(lth__device *, const lth__device_bags *rows, const lth__device_bags *cols, lth__device_features **out,
                         lth_error *err) {
    lth__device_features *f = new lth__device_features;
    lth_status status = put_rows(*rows, &f->rows, err);
    if (status == LTH_OK) status = put_columns(*cols, f, err);
    if (status == LTH_OK)
        *out = f;
    else
        delete f;
    return status;
}

void free_features(lth__device *, lth__device_features *f) { delete f; }

lth_status sparse(lth__device *d, const lth__device_sparse *job, lth_error *err) {
    const lth__device_features *f = job->features;
    const lth__panel &p = job->panel;
    if (p.rows == 0 || p.cols == 0) return LTH_OK;
    Sparse s = {f->rows.start, f->cols.start, f->rows.feature, f->cols.item, f->rows.weight, f->cols.weight,
                f->most,       p,             job->K,          job->ld};
    uint64_t jobs = p.rows * ((p.cols + range - 1) / range);
    unsigned blocks = unsigned(std::min<uint64_t>((jobs + warps - 1) / warps, uint64_t(d->processors) * 64));
    if (job->smaller)
        multiply<true><<<blocks, threads>>>(s);
    else
        multiply<false><<<blocks, threads>>>(s);
    CU_TRY(cudaGetLastError());
    if (!p.symmetric) return LTH_OK;
    uint64_t n = std::min(p.rows, p.cols);
    unsigned squares = unsigned((n + side - 1) / side);
    mirror<<<dim3(squares, squares), dim3(side, 8)>>>(job->K, job->ld, n);
    CU_TRY(cudaGetLastError());
    return LTH_OK;
}

} // namespace

void set_sparse(lth__device_table *t) {
    t->features = on<make_features>;
    t->features_free = on<free_features>;
    t->sparse = on<sparse>;
}

} // namespace luthier
