// Sums, products and wrappers of whole matrices. Sums over many numbers are taken in an order that does not depend on the run.
#include "device.cuh"
#include "kernel/compose/forms.h"

namespace luthier {

namespace {

constexpr int threads = 256, sum_blocks = 512, row_chunk = 256;

unsigned blocks_for(size_t count) {
    size_t blocks = (count + threads - 1) / threads;
    return unsigned(blocks < 65536 ? (blocks > 0 ? blocks : 1) : 65536);
}

lth_status launched(const char *what, lth_error *err) { return check(cudaGetLastError(), what, err); }

enum class Op { fill, copy, add, multiply, scale };

template <Op op> __global__ void apply(double *Y, const double *X, size_t count, double value) {
    for (size_t i = blockIdx.x * size_t(threads) + threadIdx.x; i < count; i += size_t(gridDim.x) * threads) {
        if (op == Op::fill) Y[i] = value;
        if (op == Op::copy) Y[i] = X[i];
        if (op == Op::add) Y[i] += X[i];
        if (op == Op::multiply) Y[i] *= X[i];
        if (op == Op::scale) Y[i] *= value;
    }
}

template <Op op> lth_status run(double *Y, const double *X, size_t count, double value, lth_error *err) {
    apply<op><<<blocks_for(count), threads>>>(Y, X, count, value);
    return launched("elementwise", err);
}

lth_status fill(lth__device *, double *Y, size_t count, double value, lth_error *err) {
    return run<Op::fill>(Y, nullptr, count, value, err);
}
lth_status copy(lth__device *, double *Y, const double *X, size_t count, lth_error *err) {
    return run<Op::copy>(Y, X, count, 0, err);
}
lth_status add(lth__device *, double *Y, const double *X, size_t count, lth_error *err) {
    return run<Op::add>(Y, X, count, 0, err);
}
lth_status multiply(lth__device *, double *Y, const double *X, size_t count, lth_error *err) {
    return run<Op::multiply>(Y, X, count, 0, err);
}

lth_status scale(lth__device *, double *Y, size_t count, double by, lth_error *err) {
    return run<Op::scale>(Y, nullptr, count, by, err);
}

template <typename To, typename From> __global__ void convert_all(To *Y, const From *X, size_t count) {
    for (size_t i = blockIdx.x * size_t(threads) + threadIdx.x; i < count; i += size_t(gridDim.x) * threads) Y[i] = To(X[i]);
}

lth_status narrow(lth__device *, float *Y, const double *X, size_t count, lth_error *err) {
    convert_all<<<blocks_for(count), threads>>>(Y, X, count);
    return launched("precision", err);
}
lth_status widen(lth__device *, double *Y, const float *X, size_t count, lth_error *err) {
    convert_all<<<blocks_for(count), threads>>>(Y, X, count);
    return launched("precision", err);
}

__global__ void dot_blocks(const double *X, const double *Y, size_t count, double *part) {
    double sum = 0;
    for (size_t i = blockIdx.x * size_t(threads) + threadIdx.x; i < count; i += size_t(gridDim.x) * threads)
        sum += Y ? X[i] * Y[i] : X[i];
    sum = block_sum<threads>(sum);
    if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

lth_status dot(lth__device *, const double *X, const double *Y, size_t count, double *out, lth_error *err) {
    Room<double> part;
    LTH_DO(part.get(sum_blocks, err));
    dot_blocks<<<sum_blocks, threads>>>(X, Y, count, part);
    double host[sum_blocks];
    CU_TRY(cudaMemcpy(host, part, sizeof host, cudaMemcpyDeviceToHost));
    *out = 0;
    for (double x : host) *out += x;
    return LTH_OK;
}

__global__ void first_infinite(const double *X, size_t count, unsigned long long *first) {
    for (size_t i = blockIdx.x * size_t(threads) + threadIdx.x; i < count; i += size_t(gridDim.x) * threads)
        if (!isfinite(X[i])) atomicMin(first, (unsigned long long)i);
}

lth_status find_infinite(lth__device *, const double *X, size_t count, size_t *out, lth_error *err) {
    Room<unsigned long long> first;
    unsigned long long host = count;
    LTH_DO(first.put(&host, 1, err));
    first_infinite<<<blocks_for(count), threads>>>(X, count, first);
    CU_TRY(cudaMemcpy(&host, first, sizeof host, cudaMemcpyDeviceToHost));
    *out = size_t(host);
    return LTH_OK;
}

// ---- Wrappers ----

struct Wrapper {
    int form;
    double theta[LTH__DEVICE_THETA];
    const double *a, *b;
    size_t rows, cols, first_row, first_col;
    bool same;

    __device__ bool is_self(size_t r, size_t c) const { return same && first_row + r == first_col + c; }

    __device__ lth__wrapper_value value(size_t r, size_t c, double k) const {
        if (!is_self(r, c)) return lth__form_at(form, theta, k, a[r], b[c]);
        lth__wrapper_value x = lth__form_self(form, theta, a[r]);
        x.dk = x.db = 0; // `da` is the whole derivative
        return x;
    }
};

__global__ void wrap_values(Wrapper w, double *K, size_t ld) {
    for (size_t r = blockIdx.x; r < w.rows; r += gridDim.x)
        for (size_t c = threadIdx.x; c < w.cols; c += threads) K[r * ld + c] = w.value(r, c, K[r * ld + c]).value;
}

// Weights of the columns' self-similarities, for a chunk of rows: part[chunk][col].
__global__ void wrap_columns(Wrapper w, const double *K, const double *W, size_t ld, double *part) {
    size_t c = blockIdx.x * size_t(threads) + threadIdx.x, first = blockIdx.y * size_t(row_chunk);
    if (c >= w.cols) return;
    double sum = 0;
    for (size_t r = first; r < first + row_chunk && r < w.rows; r++)
        sum += W[r * ld + c] * w.value(r, c, K[r * ld + c]).db;
    part[blockIdx.y * w.cols + c] = sum;
}

// Everything else; rows[r] = {to the row's self-similarity, to theta...}.
__global__ void wrap_rows(Wrapper w, double *K, double *W, size_t ld, double *rows) {
    constexpr int sums = 1 + LTH__DEVICE_THETA;
    for (size_t r = blockIdx.x; r < w.rows; r += gridDim.x) {
        double sum[sums] = {};
        for (size_t c = threadIdx.x; c < w.cols; c += threads) {
            double weight = W[r * ld + c];
            lth__wrapper_value x = w.value(r, c, K[r * ld + c]);
            K[r * ld + c] = x.value;
            W[r * ld + c] = weight * x.dk;
            sum[0] += weight * x.da;
            for (int p = 0; p < LTH__DEVICE_THETA; p++) sum[1 + p] += weight * x.dtheta[p];
        }
        for (int p = 0; p < sums; p++) {
            double total = block_sum<threads>(sum[p]);
            if (threadIdx.x == 0) rows[r * sums + p] = total;
        }
    }
}

// The self-similarities go to the device for as long as the call lasts.
struct Upload {
    Room<double> a, b;
    Wrapper w;

    lth_status make(const lth__device_wrapper *from, lth_error *err) {
        const lth__panel &p = from->panel;
        if (!lth__form_is_known(from->form))
            return fail(err, LTH_EUNSUPPORTED, "the plug-in for GPUs has no wrapper %d", from->form);
        LTH_DO(a.put(from->a, p.rows, err));
        LTH_DO(b.put(from->b, p.cols, err));
        w = {from->form, {}, a, b, p.rows, p.cols, p.first_row, p.first_col, p.same};
        for (int i = 0; i < LTH__DEVICE_THETA; i++) w.theta[i] = from->theta[i];
        return LTH_OK;
    }
};

lth_status wrap(lth__device *, const lth__device_wrapper *w, double *K, size_t ld, lth_error *err) {
    Upload up;
    LTH_DO(up.make(w, err));
    wrap_values<<<unsigned(w->panel.rows < 65536 ? w->panel.rows : 65536), threads>>>(up.w, K, ld);
    LTH_DO(launched("wrapper", err));
    return check(cudaDeviceSynchronize(), "wrapper", err); // before the self-similarities go
}

lth_status wrap_pull(lth__device *, const lth__device_wrapper *w, double *K, double *W, size_t ld, double *row, double *col,
                     double *theta, lth_error *err) {
    constexpr size_t sums = 1 + LTH__DEVICE_THETA;
    size_t rows = w->panel.rows, cols = w->panel.cols, chunks = (rows + row_chunk - 1) / row_chunk;
    Upload up;
    Room<double> by_col, by_row;
    LTH_DO(up.make(w, err));
    LTH_DO(by_col.get(chunks * cols, err));
    LTH_DO(by_row.get(rows * sums, err));
    dim3 grid(unsigned((cols + threads - 1) / threads), unsigned(chunks));
    wrap_columns<<<grid, threads>>>(up.w, K, W, ld, by_col);
    wrap_rows<<<unsigned(rows < 65536 ? rows : 65536), threads>>>(up.w, K, W, ld, by_row);
    LTH_DO(launched("wrapper", err));
    std::vector<double> host(chunks * cols > rows * sums ? chunks * cols : rows * sums);
    CU_TRY(cudaMemcpy(host.data(), by_col, chunks * cols * sizeof(double), cudaMemcpyDeviceToHost));
    for (size_t c = 0; c < cols; c++) {
        col[c] = 0;
        for (size_t k = 0; k < chunks; k++) col[c] += host[k * cols + c];
    }
    CU_TRY(cudaMemcpy(host.data(), by_row, rows * sums * sizeof(double), cudaMemcpyDeviceToHost));
    for (int p = 0; p < LTH__DEVICE_THETA; p++) theta[p] = 0;
    for (size_t r = 0; r < rows; r++) {
        row[r] = host[r * sums];
        for (int p = 0; p < LTH__DEVICE_THETA; p++) theta[p] += host[r * sums + 1 + size_t(p)];
    }
    return LTH_OK;
}

} // namespace

void set_elementwise(lth__device_table *t) {
    t->fill = on<fill>;
    t->copy = on<copy>;
    t->add = on<add>;
    t->multiply = on<multiply>;
    t->scale = on<scale>;
    t->narrow = on<narrow>;
    t->widen = on<widen>;
    t->dot = on<dot>;
    t->find_infinite = on<find_infinite>;
    t->wrap = on<wrap>;
    t->wrap_pull = on<wrap_pull>;
}

} // namespace luthier
