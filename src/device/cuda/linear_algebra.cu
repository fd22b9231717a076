// Matrix products and symmetric matrices, by cuBLAS and cuSOLVER. These count by columns, where our lower triangle is the
// upper one, and C = A B^T is C^T = B A^T.
#include "device.cuh"

namespace luthier {

namespace {

lth_status failed(const char *what, int code, lth_error *err) {
    return fail(err, LTH_EUNSUPPORTED, "the GPU failed (%s): code %d", what, code);
}

#define BLAS_TRY(call)                                                                                                 \
    do {                                                                                                               \
        cublasStatus_t code_ = (call);                                                                                 \
        if (code_ != CUBLAS_STATUS_SUCCESS) return failed(#call, int(code_), err);                                     \
    } while (0)
#define SOLVER_TRY(call)                                                                                               \
    do {                                                                                                               \
        cusolverStatus_t code_ = (call);                                                                               \
        if (code_ != CUSOLVER_STATUS_SUCCESS) return failed(#call, int(code_), err);                                   \
    } while (0)

lth_status need_blas(lth__device *d, lth_error *err) {
    if (d->blas) return LTH_OK;
    BLAS_TRY(cublasCreate(&d->blas));
    BLAS_TRY(cublasSetStream(d->blas, cudaStreamPerThread));
    return LTH_OK;
}

lth_status need_solver(lth__device *d, lth_error *err) {
    if (d->solver) return LTH_OK;
    SOLVER_TRY(cusolverDnCreate(&d->solver));
    SOLVER_TRY(cusolverDnSetStream(d->solver, cudaStreamPerThread));
    return LTH_OK;
}

lth_status gemm_nt(lth__device *d, size_t m, size_t n, size_t k, const double *A, const double *B, double *C,
                   lth_error *err) {
    const double one = 1, zero = 0;
    LTH_DO(need_blas(d, err));
    BLAS_TRY(cublasDgemm(d->blas, CUBLAS_OP_T, CUBLAS_OP_N, int(n), int(m), int(k), &one, B, int(k), A, int(k), &zero, C,
                         int(n)));
    return LTH_OK;
}

lth_status gemm_nn(lth__device *d, size_t m, size_t n, size_t k, const double *A, const double *B, double *C,
                   lth_error *err) {
    const double one = 1, zero = 0;
    LTH_DO(need_blas(d, err));
    BLAS_TRY(cublasDgemm(d->blas, CUBLAS_OP_N, CUBLAS_OP_N, int(n), int(m), int(k), &one, B, int(n), A, int(k), &zero, C,
                         int(n)));
    return LTH_OK;
}

__global__ void add_to_diagonal(size_t n, double *G, double value) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        G[i * n + i] += value;
}

lth_status add_diagonal(lth__device *, size_t n, double *G, double value, lth_error *err) {
    add_to_diagonal<<<256, 256>>>(n, G, value);
    return check(cudaGetLastError(), "diagonal", err);
}

lth_status diagonal_of(size_t n, const double *G, std::vector<double> *out, lth_error *err) {
    out->resize(n);
    CU_TRY(cudaMemcpy2D(out->data(), sizeof(double), G, (n + 1) * sizeof(double), sizeof(double), n,
                        cudaMemcpyDeviceToHost));
    return LTH_OK;
}

lth_status trace(lth__device *, size_t n, const double *G, double *out, lth_error *err) {
    std::vector<double> diagonal;
    LTH_DO(diagonal_of(n, G, &diagonal, err));
    *out = 0;
    for (double x : diagonal) *out += x;
    return LTH_OK;
}

__global__ void clear_above(size_t n, double *G) {
    for (size_t r = blockIdx.x; r < n; r += gridDim.x)
        for (size_t c = r + 1 + threadIdx.x; c < n; c += blockDim.x) G[r * n + c] = 0;
}

lth_status cholesky(lth__device *d, size_t n, double *G, double *log_determinant, lth_error *err) {
    LTH_DO(need_solver(d, err));
    size_t device_bytes = 0, host_bytes = 0;
    SOLVER_TRY(cusolverDnXpotrf_bufferSize(d->solver, nullptr, CUBLAS_FILL_MODE_UPPER, int64_t(n), CUDA_R_64F, G,
                                           int64_t(n), CUDA_R_64F, &device_bytes, &host_bytes));
    Room<char> work;
    Room<int> info;
    std::vector<char> host_work(host_bytes + 1);
    LTH_DO(work.get(device_bytes, err));
    LTH_DO(info.get(1, err));
    SOLVER_TRY(cusolverDnXpotrf(d->solver, nullptr, CUBLAS_FILL_MODE_UPPER, int64_t(n), CUDA_R_64F, G, int64_t(n),
                                CUDA_R_64F, work, device_bytes, host_work.data(), host_bytes, info));
    int bad = 0;
    CU_TRY(cudaMemcpy(&bad, info, sizeof bad, cudaMemcpyDeviceToHost));
    if (bad != 0) return fail(err, LTH_ENUMERIC, "the matrix is not positive definite");
    clear_above<<<4096, 256>>>(n, G);
    std::vector<double> diagonal;
    LTH_DO(diagonal_of(n, G, &diagonal, err));
    *log_determinant = 0;
    for (double x : diagonal) *log_determinant += 2 * std::log(x);
    return LTH_OK;
}

lth_status solve(lth__device *d, size_t n, size_t m, const double *L, double *B, lth_error *err) {
    const double one = 1;
    LTH_DO(need_blas(d, err));
    BLAS_TRY(cublasDtrsm(d->blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, int(m),
                         int(n), &one, L, int(n), B, int(m)));
    BLAS_TRY(cublasDtrsm(d->blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, int(m),
                         int(n), &one, L, int(n), B, int(m)));
    return LTH_OK;
}

__global__ void mirror_below(size_t n, double *X) {
    for (size_t r = blockIdx.x; r < n; r += gridDim.x)
        for (size_t c = r + 1 + threadIdx.x; c < n; c += blockDim.x) X[r * n + c] = X[c * n + r];
}

lth_status inverse(lth__device *d, size_t n, const double *L, double *out, lth_error *err) {
    LTH_DO(need_solver(d, err));
    CU_TRY(cudaMemcpy(out, L, n * n * sizeof(double), cudaMemcpyDeviceToDevice));
    int size = 0, bad = 0;
    SOLVER_TRY(cusolverDnDpotri_bufferSize(d->solver, CUBLAS_FILL_MODE_UPPER, int(n), out, int(n), &size));
    Room<double> work;
    Room<int> info;
    LTH_DO(work.get(size_t(size), err));
    LTH_DO(info.get(1, err));
    SOLVER_TRY(cusolverDnDpotri(d->solver, CUBLAS_FILL_MODE_UPPER, int(n), out, int(n), work, size, info));
    CU_TRY(cudaMemcpy(&bad, info, sizeof bad, cudaMemcpyDeviceToHost));
    if (bad != 0) return fail(err, LTH_ENUMERIC, "the matrix is not positive definite");
    mirror_below<<<4096, 256>>>(n, out);
    return check(cudaGetLastError(), "inverse", err);
}

lth_status weigh(lth__device *d, size_t n, size_t m, const double *A, double *X, lth_error *err) {
    const double half = 0.5, factor = -0.5 * double(m);
    LTH_DO(need_blas(d, err));
    BLAS_TRY(cublasDgemm(d->blas, CUBLAS_OP_T, CUBLAS_OP_N, int(n), int(n), int(m), &half, A, int(m), A, int(m), &factor, X,
                         int(n)));
    return LTH_OK;
}

} // namespace

void set_linear_algebra(lth__device_table *t) {
    t->gemm_nt = on<gemm_nt>;
    t->gemm_nn = on<gemm_nn>;
    t->add_diagonal = on<add_diagonal>;
    t->trace = on<trace>;
    t->cholesky = on<cholesky>;
    t->solve = on<solve>;
    t->inverse = on<inverse>;
    t->weigh = on<weigh>;
}

} // namespace luthier
