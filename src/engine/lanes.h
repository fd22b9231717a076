/* Makes the table of one instruction set at one precision. A stub includes its vector vocabulary,
 * defines LANES_TABLE, and includes this. */
#include "engine/ssk_lanes.h"
#include "engine/ssk_reverse.h"
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
    .ssk_shares = ssk_shares,
    .ssk = ssk,
    .wave_scratch = wave_scratch,
    .ssk_wave = ssk_wave,
    .make_quads = make_quads,
    .ssk_reverse_scratch = ssk_reverse_scratch,
    .ssk_reverse = ssk_reverse,
    .fma_work = fma_work,
};
