/* What this machine can do, measured: the yardstick of `luthier bench`. */

#include "base/clock.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/blas.h"
#include "engine/engine.h"

/* The best of a few runs of some 50 ms each: other work on the machine only ever slows one down. */
static double fma_rate(const lth__lanes *lanes) {
    double best = 0;
    for (int run = 0; run < 4; run++) {
        double start = lth__seconds(), work = 0, elapsed;
        do {
            work += lanes->fma_work(100000);
            elapsed = lth__seconds() - start;
        } while (elapsed < 0.05);
        if (work / elapsed > best) best = work / elapsed;
    }
    return best;
}

static lth_status gemm_rate(const lth__blas *blas, double *flops, lth_error *err) {
    enum { SIZE = 512 };
    double *data = lth__alloc(3 * SIZE * SIZE, sizeof *data);
    if (!data) return lth__fail_memory(err, 3 * SIZE * SIZE * sizeof *data);
    lth__random random;
    lth__random_seed(&random, 1);
    for (size_t i = 0; i < 3 * SIZE * SIZE; i++) data[i] = lth__random_uniform(&random);
    double best = 0;
    for (int run = 0; run < 8; run++) {
        double start = lth__seconds();
        blas->gemm_nt(SIZE, SIZE, SIZE, 1, data, SIZE, data + SIZE * SIZE, SIZE, 0,
                      data + 2 * SIZE * SIZE, SIZE);
        double rate = 2.0 * SIZE * SIZE * SIZE / (lth__seconds() - start);
        if (rate > best) best = rate;
    }
    lth__free(data);
    *flops = best;
    return LTH_OK;
}

lth_status lth_machine_measure(lth_ctx *ctx, lth_machine *out, size_t size, lth_error *err) {
    lth_machine machine = {.fma_f64 = fma_rate(ctx->engine->lanes[LTH_F64]),
                           .fma_f32 = fma_rate(ctx->engine->lanes[LTH_F32])};
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    LTH_TRY(gemm_rate(blas, &machine.dgemm_flops, err));
    machine.blas = blas->library;
    machine.core = blas->core;
    lth__copy_struct(out, size, &machine, sizeof machine);
    return LTH_OK;
}
