/* The plug-in's string kernel by itself, against a plain recursion; and wrappers that it cannot
 * know.
 *
 *     plugin_ssk LIBRARY            checks
 *     plugin_ssk LIBRARY --quick    a few of them, for compute-sanitizer
 *     plugin_ssk LIBRARY --speed    and how fast it is
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/device.h"

static const lth__device_table *t;
static lth__device *d;
static lth_error err;
static int failures, checks;

static void must(lth_status status, const char *what) {
    if (status == LTH_OK) return;
    fprintf(stderr, "%s: %s\n", what, err.message);
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t seed = 88172645463325252ull;
static unsigned below(unsigned n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (unsigned)((seed >> 20) % n);
}

typedef struct strings {
    uint32_t *symbols;
    size_t *start, count;
} strings;

static strings make(size_t count, unsigned shortest, unsigned longest, unsigned letters) {
    strings s = {.count = count, .start = malloc((count + 1) * sizeof(size_t))};
    s.symbols = malloc(count * (longest + 1) * sizeof(uint32_t));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        s.start[i] = used;
        unsigned length = shortest + below(longest - shortest + 1);
        for (unsigned k = 0; k < length; k++) s.symbols[used++] = below(letters);
    }
    s.start[count] = used;
    return s;
}

/* k_i and their derivatives by gap (or along slope). */
static void reference(const strings *a, size_t x, const strings *b, size_t y, unsigned order,
                      double gap, const double *table, const double *slope, size_t stride,
                      double *k, double *dk) {
    size_t p = a->start[x + 1] - a->start[x], q = b->start[y + 1] - b->start[y];
    long double sum[16] = {0};
    double *P = calloc(order * (q + 1), sizeof *P), *dP = calloc(order * (q + 1), sizeof *dP);
    for (unsigned i = 0; i < order; i++) k[i] = dk[i] = 0;
    for (size_t j = 0; j < p; j++) {
        double Q[16] = {0}, dQ[16] = {0};
        for (size_t c = 0; c < q; c++) {
            uint32_t s = a->symbols[a->start[x] + j], u = b->symbols[b->start[y] + c];
            double S = table ? table[s * stride + u] : s == u,
                   dS = slope ? slope[s * stride + u] : 0;
            double A = S, dA = dS;
            sum[0] += A, dk[0] += dA;
            for (unsigned i = 1; i < order; i++) {
                double *at = &P[i * q + c], *dat = &dP[i * q + c], old = *at, dold = *dat;
                double next = S * old, dnext = S * dold + dS * old;
                sum[i] += next, dk[i] += dnext;
                *at = gap * old + Q[i];
                *dat = gap * dold + dQ[i] + (slope ? 0 : old);
                double q_old = Q[i];
                Q[i] = gap * Q[i] + A;
                dQ[i] = gap * dQ[i] + dA + (slope ? 0 : q_old);
                A = next, dA = dnext;
            }
        }
    }
    for (unsigned i = 0; i < order; i++) k[i] = (double)sum[i];
    free(P), free(dP);
}

static double *on_device(size_t count) {
    void *p;
    must(t->alloc(d, count * sizeof(double), &p, &err), "alloc");
    must(t->fill(d, p, count, NAN, &err), "fill");
    return p;
}

static void compare(const char *what, double got, double want, double scale, double tolerance) {
    checks++;
    if (fabs(got - want) <= tolerance * (scale + 1e-300)) return;
    if (failures++ < 20) printf("FAIL %s: %.17g, not %.17g\n", what, got, want);
}

static void check(size_t m, unsigned m_longest, size_t n, unsigned n_longest, unsigned letters,
                  unsigned order, bool soft, bool along_slope, bool symmetric,
                  lth_precision precision) {
    strings a = make(m, 0, m_longest, letters), b = symmetric ? a : make(n, 0, n_longest, letters);
    if (symmetric) n = m;
    double gap = 0.3 + 0.1 * below(6), tolerance = precision == LTH_F32 ? 1e-5 : 1e-12;
    size_t stride = letters + 1;
    double *table = calloc(stride * stride, sizeof *table),
           *slope = calloc(stride * stride, sizeof *slope);
    for (unsigned i = 0; i < letters; i++)
        for (unsigned k = 0; k <= i; k++) {
            table[i * stride + k] = table[k * stride + i] = (double)below(1000) / 1000;
            slope[i * stride + k] = slope[k * stride + i] = (double)below(1000) / 1000 - 0.5;
        }
    lth__device_strings *da, *db;
    must(t->strings(d, a.symbols, a.start, m, &da, &err), "strings");
    must(t->strings(d, b.symbols, b.start, n, &db, &err), "strings");
    lth__device_ssk job = {.rows = da,
                           .cols = symmetric ? da : db,
                           .order = order,
                           .gap = gap,
                           .precision = precision,
                           .ld = n};
    job.panel = (lth__panel){.rows = m, .cols = n, .symmetric = symmetric};
    for (unsigned i = 0; i < order; i++) job.nu[i] = 1.0 / (1 + i);
    void *dt = NULL, *ds = NULL;
    size_t cells = stride * stride;
    if (soft) {
        float *small = malloc(2 * cells * sizeof *small);
        for (size_t i = 0; i < cells; i++)
            small[i] = (float)table[i], small[cells + i] = (float)slope[i];
        size_t size = precision == LTH_F32 ? 4 : 8;
        must(t->alloc(d, cells * size, &dt, &err), "alloc");
        must(t->alloc(d, cells * size, &ds, &err), "alloc");
        must(t->upload(d, dt, precision == LTH_F32 ? (void *)small : table, cells * size, &err),
             "upload");
        must(t->upload(d, ds, precision == LTH_F32 ? (void *)(small + cells) : slope, cells * size,
                       &err),
             "upload");
        job.table = dt, job.stride = stride;
        if (along_slope) job.slope = ds;
    }
    double *K = on_device(m * n), *planes = on_device(order * m * n), *W = on_device(m * n);
    double *host = malloc(m * n * sizeof *host), *hp = malloc(order * m * n * sizeof *hp),
           *w = malloc(m * n * sizeof *w);
    double *want = malloc(2 * order * m * n * sizeof *want);
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < n; k++)
            w[i * n + k] = symmetric && k < i ? w[k * n + i] : (double)below(1000) / 500 - 1;
    must(t->upload(d, W, w, m * n * sizeof *w, &err), "upload");
    job.K = K, job.planes = planes;
    must(t->ssk(d, &job, &err), "ssk");
    must(t->download(d, host, K, m * n * sizeof *host, &err), "download");
    must(t->download(d, hp, planes, order * m * n * sizeof *hp, &err), "download");
    double sums[16] = {0}, along = 0, got_sums[16], got_along, size[17] = {0};
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < n; k++) {
            double v[16], dv[16], value = 0;
            reference(&a, i, &b, k, order, gap, soft ? table : NULL,
                      soft && along_slope ? slope : NULL, stride, v, dv);
            for (unsigned o = 0; o < order; o++) {
                value += job.nu[o] * v[o];
                compare("order", hp[(o * m + i) * n + k], v[o], fabs(v[o]), tolerance);
                sums[o] += w[i * n + k] * v[o], size[o] += fabs(w[i * n + k] * v[o]);
                along += w[i * n + k] * job.nu[o] * dv[o],
                    size[16] += fabs(w[i * n + k] * job.nu[o] * dv[o]);
            }
            compare("value", host[i * n + k], value, fabs(value), tolerance);
        }
    job.K = job.planes = NULL, job.W = W, job.value_sums = got_sums, job.tangent_sum = &got_along;
    must(t->ssk(d, &job, &err), "ssk");
    for (unsigned o = 0; o < order; o++) compare("sum", got_sums[o], sums[o], size[o], tolerance);
    compare("tangent", got_along, along, size[16], tolerance);
    /* self-similarities */
    double *self = on_device(m), *tangents = on_device(order * m);
    lth__device_ssk own = job;
    own.W = NULL, own.cols = da, own.only_diagonal = true, own.K = self, own.tangents = tangents;
    must(t->ssk(d, &own, &err), "ssk");
    must(t->download(d, host, self, m * sizeof *host, &err), "download");
    must(t->download(d, hp, tangents, order * m * sizeof *hp, &err), "download");
    for (size_t i = 0; i < m; i++) {
        double v[16], dv[16], value = 0;
        reference(&a, i, &a, i, order, gap, soft ? table : NULL, soft && along_slope ? slope : NULL,
                  stride, v, dv);
        for (unsigned o = 0; o < order; o++) {
            value += job.nu[o] * v[o];
            compare("self tangent", hp[o * m + i], dv[o], fabs(dv[o]) + (along_slope ? v[o] : 0),
                    tolerance * 10);
        }
        compare("self", host[i], value, fabs(value), tolerance);
    }
    t->release(d, K), t->release(d, planes), t->release(d, W), t->release(d, self),
        t->release(d, tangents);
    if (dt) t->release(d, dt), t->release(d, ds);
    t->strings_free(d, da), t->strings_free(d, db);
    free(a.symbols), free(a.start);
    if (!symmetric) free(b.symbols), free(b.start);
    free(table), free(slope), free(host), free(hp), free(w), free(want);
}

static void measure(size_t count, unsigned length, unsigned order, lth_precision precision,
                    bool gradient, bool soft) {
    unsigned letters = soft ? 2000 : 52;
    strings a = soft ? make(count, 2, 15, letters) : make(count, length, length, letters);
    lth__device_strings *da;
    must(t->strings(d, a.symbols, a.start, count, &da, &err), "strings");
    lth__device_ssk job = {
        .rows = da, .cols = da, .order = order, .gap = 0.5, .precision = precision, .ld = count};
    job.panel = (lth__panel){.rows = count, .cols = count, .symmetric = true};
    for (unsigned i = 0; i < order; i++) job.nu[i] = 1;
    double *K = on_device(count * count),
           *table = soft ? on_device((letters + 1) * (letters + 1)) : NULL;
    if (table)
        must(t->fill(d, table, (letters + 1) * (letters + 1), 0.3, &err), "fill"),
            job.table = table, job.stride = letters + 1;
    double sums[16], along;
    if (gradient)
        job.W = K, job.value_sums = sums, job.tangent_sum = &along,
        must(t->fill(d, K, count * count, 1, &err), "fill");
    else
        job.K = K;
    double best = 1e9;
    for (int r = 0; r < 7; r++) {
        double began = seconds();
        must(t->ssk(d, &job, &err), "ssk");
        must(t->finish(d, &err), "finish");
        double took = seconds() - began;
        if (took < best) best = took;
    }
    double cells = (double)a.start[count] * (double)a.start[count];
    for (size_t i = 0; i < count; i++) cells += pow((double)(a.start[i + 1] - a.start[i]), 2);
    printf("%s%s %s: %zu strings of %u, order %u: %.3f ms, %.3g cell-orders/s\n",
           precision == LTH_F32 ? "f32" : "f64", soft ? " soft" : "",
           gradient ? "gradient" : "value", count, soft ? 15 : length, order, best * 1e3,
           cells / 2 * order / best);
    t->release(d, K);
    if (table) t->release(d, table);
    t->strings_free(d, da);
    free(a.symbols), free(a.start);
}

/* Nothing is computed by another wrapper's formula. */
static void check_unknown_wrappers(void) {
    static const int unknown[] = {-1, 0, 1000};
    double self = 1, row, col, theta[LTH__DEVICE_THETA], *K;
    void *memory;
    must(t->alloc(d, 2 * sizeof *K, &memory, &err), "alloc");
    K = memory;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        lth__device_wrapper w = {
            .form = unknown[i], .a = &self, .b = &self, .panel = {.rows = 1, .cols = 1}};
        bool refused =
            t->wrap(d, &w, K, 1, &err) == LTH_EUNSUPPORTED &&
            t->wrap_pull(d, &w, K, K + 1, 1, &row, &col, theta, &err) == LTH_EUNSUPPORTED;
        checks++;
        if (!refused) failures++, printf("wrapper %d was not refused\n", unknown[i]);
    }
    t->release(d, memory);
}

int main(int argc, char **argv) {
    void *library = dlopen(argc > 1 ? argv[1] : "libluthier_cuda.so", RTLD_NOW);
    if (!library) return printf("%s\n", dlerror()), 1;
    union {
        void *object;
        lth__device_table_fn *get;
    } symbol = {dlsym(library, "lth__device_table_get")};
    t = symbol.get();
    if (t->open(0, &d, &err) != LTH_OK) return printf("skipped: %s\n", err.message), 0;
    char name[128];
    size_t free_bytes, total;
    t->describe(d, name, sizeof name, &free_bytes, &total);
    printf("%s, %zu MiB free\n", name, free_bytes >> 20);
    check_unknown_wrappers();
    bool quick = argc > 2 && strcmp(argv[2], "--quick") == 0;
    unsigned first = quick ? 5 : 1, last = quick ? 5 : LTH__DEVICE_ORDERS;
    for (int precision = 0; precision < 2; precision++)
        for (unsigned order = first; order <= last; order++)
            for (int kind = 0; kind < 6; kind++)
                check(20, 40, 13, 60, 6, order, kind / 2 > 0, kind / 2 == 2, kind % 2,
                      (lth_precision)precision);
    for (int kind = 0; kind < 6 && !quick; kind++) {
        check(5, 1500, 7, 700, 20, 5, kind / 2 > 0, kind / 2 == 2, kind % 2, LTH_F64);
        check(60, 300, 50, 130, 20, 4, kind / 2 > 0, kind / 2 == 2, kind % 2, LTH_F32);
        check(70, 16, 90, 9, 5, 3, kind / 2 > 0, kind / 2 == 2, kind % 2, LTH_F64);
    }
    printf("%d checks, %d failures\n", checks, failures);
    if (argc < 3 || strcmp(argv[2], "--speed") != 0) return t->close(d), failures > 0;
    for (int precision = 0; precision < 2; precision++) {
        for (int gradient = 0; gradient < 2; gradient++) {
            measure(1500, 100, 5, (lth_precision)precision, gradient, false);
            measure(600, 700, 5, (lth_precision)precision, gradient, false);
            if (precision == 0) measure(1250, 15, 5, LTH_F64, gradient, true);
        }
    }
    measure(3000, 20, 5, LTH_F64, false, false);
    measure(1500, 130, 5, LTH_F64, false, false);
    measure(1500, 100, 3, LTH_F64, false, false);
    measure(1500, 100, 8, LTH_F64, false, false);
    t->close(d);
    return failures > 0;
}
