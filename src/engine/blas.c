#include "engine/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static lth__blas loaded;

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112, LOWER = 122, NON_UNIT = 131 };
enum { LEFT = 141, RIGHT = 142 };
typedef void dgemm_fn(int layout, int transpose_a, int transpose_b, int m, int n, int k,
                      double alpha, const double *A, int lda, const double *B, int ldb, double beta,
                      double *C, int ldc);
typedef void dtrsm_fn(int layout, int side, int triangle, int transpose, int unit, int m, int n,
                      double alpha, const double *A, int lda, double *B, int ldb);
typedef void dtrsv_fn(int layout, int triangle, int transpose, int unit, int n, const double *A,
                      int lda, double *x, int step);
typedef void dpotrf_fn(const char *triangle, const int *n, double *A, const int *lda, int *info);
static dgemm_fn *dgemm;
static dtrsm_fn *dtrsm;
static dtrsv_fn *dtrsv;
static dpotrf_fn *dpotrf;

static void gemm_nt(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc) {
    dgemm(ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE, (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
          (int)ldb, beta, C, (int)ldc);
}

static void gemm_nn(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc) {
    dgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
          (int)ldb, beta, C, (int)ldc);
}

static void gemm_tn(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc) {
    dgemm(ROW_MAJOR, TRANSPOSE, NO_TRANSPOSE, (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
          (int)ldb, beta, C, (int)ldc);
}

static void solve(size_t n, size_t m, const double *L, size_t ldl, double *B, size_t ldb) {
    dtrsm(ROW_MAJOR, LEFT, LOWER, NO_TRANSPOSE, NON_UNIT, (int)n, (int)m, 1, L, (int)ldl, B,
          (int)ldb);
}

static void solve_transposed(size_t n, size_t m, const double *L, size_t ldl, double *B,
                             size_t ldb) {
    dtrsm(ROW_MAJOR, LEFT, LOWER, TRANSPOSE, NON_UNIT, (int)n, (int)m, 1, L, (int)ldl, B, (int)ldb);
}

/* For one row dtrsm() would spend its time on copies of L. */
static void solve_right(size_t m, size_t n, const double *L, size_t ldl, double *B, size_t ldb) {
    if (m == 1) {
        dtrsv(ROW_MAJOR, LOWER, NO_TRANSPOSE, NON_UNIT, (int)n, L, (int)ldl, B, 1);
        return;
    }
    dtrsm(ROW_MAJOR, RIGHT, LOWER, TRANSPOSE, NON_UNIT, (int)m, (int)n, 1, L, (int)ldl, B,
          (int)ldb);
}

/* LAPACK counts by columns, where our lower triangle is the upper one. */
static bool cholesky(size_t n, double *A, size_t lda) {
    int size = (int)n, stride = (int)lda, info = 0;
    dpotrf("U", &size, A, &stride, &info);
    return info == 0;
}

/* The kernels for what this CPU can do, whatever its name. */
static const char *core_for_this_cpu(void) {
#ifdef LTH_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return "SKYLAKEX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "HASWELL";
#endif
    return NULL;
}

/* OpenBLAS reads OPENBLAS_CORETYPE once, while it is loaded; a user's own choice is left alone. */
static void *open_library(const char *name) {
    const char *core = getenv("OPENBLAS_CORETYPE") ? NULL : core_for_this_cpu();
    bool threads = getenv("OPENBLAS_NUM_THREADS") != NULL;
    if (core) setenv("OPENBLAS_CORETYPE", core, 1);
    if (!threads) setenv("OPENBLAS_NUM_THREADS", "1", 1); /* starts none of its own */
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (core) unsetenv("OPENBLAS_CORETYPE");
    if (!threads) unsetenv("OPENBLAS_NUM_THREADS");
    return library;
}

static void load(void) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) {
        library = open_library(names[i]);
        loaded.library = names[i];
    }
    if (!library) return;
    /* Through a union: ISO C has no conversion from object to function pointers. */
    union {
        void *object;
        dgemm_fn *dgemm;
        dtrsm_fn *dtrsm;
        dtrsv_fn *dtrsv;
        dpotrf_fn *dpotrf;
        void (*set_threads)(int);
        const char *(*corename)(void);
    } symbol;
    symbol.object = dlsym(library, "openblas_set_num_threads");
    if (symbol.object) symbol.set_threads(1);
    symbol.object = dlsym(library, "openblas_get_corename");
    loaded.core = symbol.object ? symbol.corename() : "unknown";
    symbol.object = dlsym(library, "cblas_dgemm");
    dgemm = symbol.dgemm;
    symbol.object = dlsym(library, "cblas_dtrsm");
    dtrsm = symbol.dtrsm;
    symbol.object = dlsym(library, "cblas_dtrsv");
    dtrsv = symbol.dtrsv;
    symbol.object = dlsym(library, "dpotrf_");
    dpotrf = symbol.dpotrf;
    if (!dgemm || !dtrsm || !dtrsv || !dpotrf) return;
    loaded.gemm_nt = gemm_nt;
    loaded.gemm_nn = gemm_nn;
    loaded.gemm_tn = gemm_tn;
    loaded.solve = solve;
    loaded.solve_transposed = solve_transposed;
    loaded.solve_right = solve_right;
    loaded.cholesky = cholesky;
}

lth_status lth__blas_get(const lth__blas **out, lth_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!loaded.gemm_nt) {
        return lth__fail(err, LTH_EUNSUPPORTED,
                         "OpenBLAS (libopenblas.so.0) cannot be loaded; install it (Debian: "
                         "libopenblas0-pthread)");
    }
    *out = &loaded;
    return LTH_OK;
}
