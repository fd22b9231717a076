/* The context, and the choice of an instruction set for it. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "engine/device.h"
#include "engine/engine.h"

extern const lth__lanes lth__lanes_portable_f64, lth__lanes_portable_f32;

static bool always(void) {
    return true;
}

#ifdef LTH_X86
extern const lth__lanes lth__lanes_avx2_f64, lth__lanes_avx2_f32;
extern const lth__lanes lth__lanes_avx512_f64, lth__lanes_avx512_f32;

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
#endif

/* Best first. */
static const lth__engine engines[] = {
#ifdef LTH_X86
    {"avx512", has_avx512, {&lth__lanes_avx512_f64, &lth__lanes_avx512_f32}},
    {"avx2", has_avx2, {&lth__lanes_avx2_f64, &lth__lanes_avx2_f32}},
#endif
    {"portable", always, {&lth__lanes_portable_f64, &lth__lanes_portable_f32}},
};
enum { ENGINES = sizeof engines / sizeof *engines };

const lth__engine *lth__engine_find(const char *name) {
    for (size_t i = 0; i < ENGINES; i++) {
        bool wanted = !name || strcmp(name, engines[i].name) == 0;
        if (wanted && engines[i].usable()) return &engines[i];
    }
    return NULL;
}

static bool is_known(const char *name) {
    for (size_t i = 0; i < ENGINES; i++) {
        if (strcmp(name, engines[i].name) == 0) return true;
    }
    return false;
}

const char *lth_isa_available(size_t i) {
    for (size_t k = 0; k < ENGINES; k++) {
        if (engines[k].usable() && i-- == 0) return engines[k].name;
    }
    return NULL;
}

void lth_ctx_options_init(lth_ctx_options *options) {
    *options = (lth_ctx_options){.size = sizeof *options, .threads = 1, .seed = 1};
}

/* The caller's options, however old its struct is, over the defaults. */
static lth_ctx_options complete_options(const lth_ctx_options *given) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    if (given) {
        lth__copy_struct(&options, sizeof options, given, given->size);
        options.size = sizeof options;
    }
    return options;
}

lth_status lth_ctx_create(const lth_ctx_options *given, lth_ctx **out, lth_error *err) {
    lth_ctx_options options = complete_options(given);
    if (options.precision != LTH_F64 && options.precision != LTH_F32)
        return lth__fail(err, LTH_EARG, "precision %d is neither f64 nor f32", options.precision);
    const char *isa = options.isa ? options.isa : getenv("LTH_ISA");
    if (isa && !*isa) isa = NULL;
    const lth__engine *engine = lth__engine_find(isa);
    if (!engine && !is_known(isa)) {
        return lth__fail(err, LTH_EARG,
                         "unknown instruction set \"%s\"; there are avx512, avx2 and portable",
                         isa);
    }
    if (!engine) {
        return lth__fail(
            err, LTH_EUNSUPPORTED,
            "this CPU does not have the instruction set \"%s\"; the best it has is \"%s\"", isa,
            lth_isa_available(0));
    }
    options.isa = engine->name;
    if (options.threads == 0) options.threads = lth__cpu_count();

    lth_ctx *ctx = lth__alloc(1, sizeof *ctx);
    lth__gpu *gpu = lth__alloc(1, sizeof *gpu);
    lth_status status = ctx && gpu ? LTH_OK : lth__fail_memory(err, sizeof *ctx);
    if (status == LTH_OK) status = lth__device_open(options.device, gpu, err);
    if (status != LTH_OK) {
        lth__free(ctx);
        lth__free(gpu);
        return status;
    }
    options.device = NULL; /* the caller's text may go */
    *ctx = (lth_ctx){.options = options, .engine = engine, .gpu = gpu};
    *out = ctx;
    return LTH_OK;
}

void lth_ctx_free(lth_ctx *ctx) {
    if (!ctx) return;
    lth__device_close(ctx->gpu);
    lth__free(ctx->gpu);
    lth__free(ctx);
}

const char *lth_ctx_device(const lth_ctx *ctx) {
    return ctx->gpu->gpus > 0 ? ctx->gpu->name : "cpu";
}

const char *lth_ctx_isa(const lth_ctx *ctx) {
    return ctx->engine->name;
}

unsigned lth_ctx_threads(const lth_ctx *ctx) {
    return ctx->options.threads;
}
