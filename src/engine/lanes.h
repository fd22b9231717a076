/* Makes the table of one instruction set at one precision. A stub includes its vector vocabulary,
 * defines LANES_TABLE, and includes this. */
#include "engine/simd_exp.h"
#include "engine/ssk_lanes.h"
#include "engine/ssk_patterns.h"
#include "engine/ssk_reverse.h"
#include "engine/ssk_short.h"
#include "engine/ssk_wave.h"

static void make_quads(const void *const row[LTH__ROW_STEP], size_t slots, void *out) {
    const real *a = row[0], *b = row[1], *c = row[2], *d = row[3];
    real *restrict quads = out;
    for (size_t v = 0; v < slots; v++) {
        quads[4 * v] = a[v];
        quads[4 * v + 1] = b[v];
        quads[4 * v + 2] = c[v];
        quads[4 * v + 3] = d[v];
    }
}

/* Four rows at once, so that x and y are loaded once for all of them. */
static void add_four_rows(size_t cols, const float *T, size_t ld, const double x_rows[4],
                          const double *x, double *y_rows, double *restrict y) {
    size_t whole = cols - cols % LANES;
    vec sum[4], at[4];
    for (size_t r = 0; r < 4; r++) {
        sum[r] = v_zero();
        at[r] = v_set1((real)x_rows[r]);
    }
    for (size_t c = 0; c < whole; c += LANES) {
        vec xs = v_load_double(x + c), ys = v_load_double(y + c);
#pragma GCC unroll 4
        for (size_t r = 0; r < 4; r++) {
            vec t = v_load_float(T + r * ld + c);
            ys = v_fma(t, at[r], ys);
            sum[r] = v_fma(t, xs, sum[r]);
        }
        v_store_double(y + c, ys);
    }
    for (size_t r = 0; r < 4; r++) {
        for (size_t lane = 0; lane < LANES; lane++) y_rows[r] += sum[r][lane];
        for (size_t c = whole; c < cols; c++) {
            y[c] += T[r * ld + c] * x_rows[r];
            y_rows[r] += T[r * ld + c] * x[c];
        }
    }
}

static void add_symmetric(size_t rows, size_t cols, const float *T, size_t ld, const double *x_rows,
                          const double *x_cols, double *y_rows, double *y_cols) {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4)
        add_four_rows(cols, T + r * ld, ld, x_rows + r, x_cols, y_rows + r, y_cols);
    for (; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            y_cols[c] += T[r * ld + c] * x_rows[r];
            y_rows[r] += T[r * ld + c] * x_cols[c];
        }
    }
}

static double fma_work(size_t count) {
    vec x[12];
    const vec a = v_set1((real)0.999), b = v_set1((real)0.001);
    for (int i = 0; i < 12; i++) x[i] = v_set1((real)i);
    for (size_t n = 0; n < count; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) x[i] = v_fma(x[i], a, b);
    }
    for (int i = 1; i < 12; i++) x[0] += x[i];
    double out[LANES];
    v_store_double(out, x[0]);
    __asm__ volatile("" : : "m"(out)); /* the work must not be optimised away */
    return (double)count * 12 * LANES;
}

const lth__lanes LANES_TABLE = {
    .lanes = LANES,
    .real_size = sizeof(real),
    .ssk_scratch = ssk_scratch,
    .ssk = ssk,
    .patterns_scratch = patterns_scratch,
    .patterns = patterns,
    .ssk_short_scratch = ssk_short_scratch,
    .ssk_short = ssk_short,
    .wave_scratch = wave_scratch,
    .ssk_wave = ssk_wave,
    .make_quads = make_quads,
    .ssk_reverse_scratch = ssk_reverse_scratch,
    .ssk_reverse = ssk_reverse,
    .add_symmetric = add_symmetric,
    .fma_work = fma_work,
};
