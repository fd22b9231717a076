#include "engine/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "engine/cpu.h"

static lth__blas loaded;

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112, LOWER = 122, NON_UNIT = 131 };
enum { LEFT = 141, RIGHT = 142 };
typedef void dgemm_fn(int layout, int transpose_a, int transpose_b, int m, int n, int k,
                      double alpha, const double *A, int lda, const double *B, int ldb, double beta,
                      double *C, int ldc);
typedef void sgemm_fn(int layout, int transpose_a, int transpose_b, int m, int n, int k,
                      float alpha, const float *A, int lda, const float *B, int ldb, float beta,
                      float *C, int ldc);
typedef void dtrsm_fn(int layout, int side, int triangle, int transpose, int unit, int m, int n,
                      double alpha, const double *A, int lda, double *B, int ldb);
typedef void dtrsv_fn(int layout, int triangle, int transpose, int unit, int n, const double *A,
                      int lda, double *x, int step);
typedef void dgemv_fn(int layout, int transpose, int m, int n, double alpha, const double *A,
                      int lda, const double *x, int step_x, double beta, double *y, int step_y);
typedef void dpotrf_fn(const char *triangle, const int *n, double *A, const int *lda, int *info);
static dgemm_fn *dgemm;
static sgemm_fn *sgemm;
static dgemv_fn *dgemv;
static dtrsm_fn *dtrsm;
static dtrsv_fn *dtrsv;
static dpotrf_fn *dpotrf;
static void *(*buffer_take)(int unused);
static void (*buffer_give)(void *buffer);
static bool can_fill; /* there are both of these */

/* For one row, or one column, dgemm() would spend its time on copies of the matrix. */
static void gemm_nt(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc) {
    if (m == 1) {
        dgemv(ROW_MAJOR, NO_TRANSPOSE, (int)n, (int)k, alpha, B, (int)ldb, A, 1, beta, C, 1);
        return;
    }
    dgemm(ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE, (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
          (int)ldb, beta, C, (int)ldc);
}

static void gemm_nn(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc) {
    if (n == 1) {
        dgemv(ROW_MAJOR, NO_TRANSPOSE, (int)m, (int)k, alpha, A, (int)lda, B, (int)ldb, beta, C,
              (int)ldc);
        return;
    }
    dgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
          (int)ldb, beta, C, (int)ldc);
}

static void gemm_tn(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc) {
    if (n == 1) {
        dgemv(ROW_MAJOR, TRANSPOSE, (int)k, (int)m, alpha, A, (int)lda, B, (int)ldb, beta, C,
              (int)ldc);
        return;
    }
    dgemm(ROW_MAJOR, TRANSPOSE, NO_TRANSPOSE, (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
          (int)ldb, beta, C, (int)ldc);
}

static void gemm_nn_single(size_t m, size_t n, size_t k, float alpha, const float *A, size_t lda,
                           const float *B, size_t ldb, float beta, float *C, size_t ldc) {
    sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
          (int)ldb, beta, C, (int)ldc);
}

static void gemm_tn_single(size_t m, size_t n, size_t k, float alpha, const float *A, size_t lda,
                           const float *B, size_t ldb, float beta, float *C, size_t ldc) {
    sgemm(ROW_MAJOR, TRANSPOSE, NO_TRANSPOSE, (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
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

static void solve_right_transposed(size_t m, size_t n, const double *L, size_t ldl, double *B,
                                   size_t ldb) {
    dtrsm(ROW_MAJOR, RIGHT, LOWER, NO_TRANSPOSE, NON_UNIT, (int)m, (int)n, 1, L, (int)ldl, B,
          (int)ldb);
}

/* LAPACK counts by columns, where our lower triangle is the upper one. */
static bool cholesky(size_t n, double *A, size_t lda) {
    int size = (int)n, stride = (int)lda, info = 0;
    dpotrf("U", &size, A, &stride, &info);
    return info == 0;
}

/* ---- Variables for the moment of loading ---- */

/* The kernels for what this CPU can do, whatever its name. */
static char *entry_of_core(void) {
#ifdef LTH_X86
    static char skylake[] = "OPENBLAS_CORETYPE=SKYLAKEX", haswell[] = "OPENBLAS_CORETYPE=HASWELL";
    if (lth__cpu_has_avx512()) return skylake;
    if (lth__cpu_has_avx2()) return haswell;
#endif
    return NULL;
}

/* setenv() and unsetenv() would change, or free, the array in which a getenv() of another thread is
 * reading. Instead, `environ` points for the moment to a longer copy, complete before it is seen
 * and never freed: whichever of the two a reader has in hand stays as it is. */
extern char **environ;

typedef struct extension {
    char **host, **ours;
    size_t count; /* entries of the host */
    const char *added[2];
} extension;

static void add_entry(extension *x, size_t i, const char *name, char *entry) {
    if (!entry || getenv(name)) return; /* a user's own choice is left alone */
    x->ours[x->count + (x->added[0] != NULL)] = entry;
    x->added[i] = name;
}

static void extend_environment(extension *x) {
    static char one_thread[] = "OPENBLAS_NUM_THREADS=1"; /* it starts none of its own */
    *x = (extension){.host = environ};
    while (x->host && x->host[x->count]) x->count++;
    x->ours = lth__calloc(x->count + 3, sizeof *x->ours);
    if (!x->ours) return;
    for (size_t i = 0; i < x->count; i++) x->ours[i] = x->host[i];
    add_entry(x, 0, "OPENBLAS_CORETYPE", entry_of_core());
    add_entry(x, 1, "OPENBLAS_NUM_THREADS", one_thread);
    __atomic_store_n(&environ, x->ours, __ATOMIC_RELEASE);
}

static bool is_untouched(const extension *x) {
    bool same = environ == x->ours;
    for (size_t i = 0; same && i < x->count; i++) same = x->ours[i] == x->host[i];
    return same;
}

/* Where another thread has called setenv() meanwhile, it has changed our array, or made its own
 * from it and perhaps freed the host's: then that stays, less what was added. */
static void restore_environment(const extension *x) {
    if (!x->ours) return;
    if (is_untouched(x)) {
        __atomic_store_n(&environ, x->host, __ATOMIC_RELEASE);
        return;
    }
    for (size_t i = 0; i < 2; i++)
        if (x->added[i]) unsetenv(x->added[i]);
}

/* ---- Loading ---- */

/* A build of OpenBLAS: its file, and what its names begin with. The first is carried by wheels: its
 * prefix keeps it apart from any other BLAS in the process. */
typedef struct build {
    const char *file, *prefix;
} build;
static const build builds[] = {
    {"libscipy_openblas.so", "scipy_"}, {"libopenblas.so.0", ""}, {"libopenblas.so", ""}};

static void *open_library(const build **found) {
    void *library = NULL;
    static extension x;     /* with an array in which some thread may still be reading */
    extend_environment(&x); /* OpenBLAS reads it once, while it is loaded */
    for (size_t i = 0; i < sizeof builds / sizeof *builds && !library; i++) {
        library = dlopen(builds[i].file, RTLD_NOW | RTLD_LOCAL);
        *found = &builds[i];
    }
    restore_environment(&x);
    return library;
}

/* Whether the function is there. Byte by byte, as ISO C has no conversion from object to function
 * pointers. */
static bool find(void *library, const build *b, const char *name, void *function) {
    char full[64];
    snprintf(full, sizeof full, "%s%s", b->prefix, name);
    void *found = dlsym(library, full);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool find_all(void *library, const build *b) {
    const struct {
        const char *name;
        void *function;
    } wanted[] = {{"cblas_dgemm", &dgemm}, {"cblas_sgemm", &sgemm}, {"cblas_dgemv", &dgemv},
                  {"cblas_dtrsm", &dtrsm}, {"cblas_dtrsv", &dtrsv}, {"dpotrf_", &dpotrf}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!find(library, b, wanted[i].name, wanted[i].function)) return false;
    return true;
}

static void load(void) {
    const build *b;
    void (*set_threads)(int);
    const char *(*corename)(void);
    void *library = open_library(&b);
    if (!library || !find_all(library, b)) return;
    if (find(library, b, "openblas_set_num_threads", &set_threads)) set_threads(1);
    loaded.core = find(library, b, "openblas_get_corename", &corename) ? corename() : "unknown";
    loaded.library = b->file;
    can_fill = find(library, b, "blas_memory_alloc", &buffer_take) &&
               find(library, b, "blas_memory_free", &buffer_give);
    loaded.gemm_nt = gemm_nt;
    loaded.gemm_nn = gemm_nn;
    loaded.gemm_tn = gemm_tn;
    loaded.gemm_nn_single = gemm_nn_single;
    loaded.gemm_tn_single = gemm_tn_single;
    loaded.solve = solve;
    loaded.solve_transposed = solve_transposed;
    loaded.solve_right = solve_right;
    loaded.solve_right_transposed = solve_right_transposed;
    loaded.cholesky = cholesky;
}

/* ---- Room ----
 *
 * A thread that calls OpenBLAS gets one of its buffers, and where there are no addresses left for
 * one OpenBLAS tries again for ever. So under a limit (ulimit -v) all that threads can need is made
 * sure of before the first call. */

enum { LIBRARY_BYTES = 48 << 20, BUFFER_BYTES = 129 << 20, MOST_BUFFERS = 64 };

static atomic_uint expected = 1, ready; /* threads that may call, and those with a buffer */

void lth__blas_expect(unsigned threads) {
    unsigned before = atomic_load(&expected);
    while (before < threads && !atomic_compare_exchange_weak(&expected, &before, threads)) {
    }
}

static bool is_limited(int what) {
    struct rlimit limit;
    return getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static lth_status check_room(size_t bytes, lth_error *err) {
    void *space = lth__space_alloc(bytes);
    if (!space) {
        char size[16];
        lth__print_size((double)bytes, size);
        return lth__fail(err, LTH_ENOMEM,
                         "OpenBLAS needs %s of addresses, which a limit (ulimit -v) does not "
                         "leave; raise it, or take fewer threads",
                         size);
    }
    lth__space_free(space, bytes);
    return LTH_OK;
}

/* OpenBLAS keeps what is given back. */
static void fill_buffers(unsigned count) {
    void *buffer[MOST_BUFFERS];
    for (unsigned i = 0; i < count; i++) buffer[i] = buffer_take(0);
    for (unsigned i = 0; i < count; i++) buffer_give(buffer[i]);
}

static lth_status load_for(unsigned threads, lth_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned have = atomic_load(&ready);
    if (have >= threads) return LTH_OK;
    bool limited = is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
    unsigned buffers = threads < MOST_BUFFERS ? threads : MOST_BUFFERS;
    if (limited && buffers > have) {
        size_t bytes = (size_t)(buffers - have) * BUFFER_BYTES;
        LTH_TRY(check_room(bytes + (have == 0 ? LIBRARY_BYTES : 0), err));
    }
    pthread_once(&once, load);
    if (limited && can_fill) fill_buffers(buffers);
    atomic_store(&ready, threads);
    return LTH_OK;
}

lth_status lth__blas_get(const lth__blas **out, lth_error *err) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    unsigned threads = atomic_load(&expected);
    if (atomic_load(&ready) < threads) {
        pthread_mutex_lock(&lock);
        lth_status status = load_for(threads, err);
        pthread_mutex_unlock(&lock);
        LTH_TRY(status);
    }
    if (!loaded.gemm_nt) {
        return lth__fail(err, LTH_EUNSUPPORTED,
                         "OpenBLAS (libopenblas.so.0) cannot be loaded; install it (Debian: "
                         "libopenblas0-pthread)");
    }
    *out = &loaded;
    return LTH_OK;
}
