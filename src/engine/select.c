/* The context, and the choice of an instruction set for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"
#include "engine/cluster.h"
#include "engine/cpu.h"
#include "engine/device.h"
#include "engine/engine.h"

extern const lth__lanes lth__lanes_portable_f64, lth__lanes_portable_f32;
extern lth__gapped_count lth__gapped_portable;
extern lth__gapped_weigh lth__gapped_weigh_portable;
extern const lth__letters lth__letters_portable;
extern lth__smo_solve lth__smo_solve_portable;
extern lth__add_rows lth__add_rows_portable;

static bool always(void) {
    return true;
}

#ifdef LTH_X86
extern const lth__lanes lth__lanes_avx2_f64, lth__lanes_avx2_f32;
extern const lth__lanes lth__lanes_avx512_f64, lth__lanes_avx512_f32;
extern lth__gapped_count lth__gapped_avx2, lth__gapped_avx512;
extern lth__gapped_weigh lth__gapped_weigh_avx2, lth__gapped_weigh_avx512;
extern lth__gapped_sum lth__gapped_sum_avx2;
extern const lth__letters lth__letters_avx2, lth__letters_avx512;
extern lth__smo_solve lth__smo_solve_avx2, lth__smo_solve_avx512;
extern lth__add_rows lth__add_rows_avx2, lth__add_rows_avx512;
#endif

#ifdef LTH_ARM
extern const lth__lanes lth__lanes_neon_f64, lth__lanes_neon_f32;
extern lth__gapped_count lth__gapped_neon;
extern lth__gapped_weigh lth__gapped_weigh_neon;
extern lth__gapped_sum lth__gapped_sum_neon;
extern const lth__letters lth__letters_neon;
#endif

#ifdef LTH_SVE256
extern const lth__lanes lth__lanes_sve256_f64, lth__lanes_sve256_f32;
extern const lth__letters lth__letters_sve256;
#endif

/* Best first. */
static const lth__engine engines[] = {
#ifdef LTH_X86
    {"avx512",
     lth__cpu_has_avx512,
     {&lth__lanes_avx512_f64, &lth__lanes_avx512_f32},
     lth__gapped_avx512,
     lth__gapped_weigh_avx512,
     NULL,
     &lth__letters_avx512,
     lth__smo_solve_avx512,
     lth__add_rows_avx512},
    {"avx2",
     lth__cpu_has_avx2,
     {&lth__lanes_avx2_f64, &lth__lanes_avx2_f32},
     lth__gapped_avx2,
     lth__gapped_weigh_avx2,
     lth__gapped_sum_avx2,
     &lth__letters_avx2,
     lth__smo_solve_avx2,
     lth__add_rows_avx2},
#endif
#ifdef LTH_SVE256
    {"sve256",
     lth__cpu_has_sve256,
     {&lth__lanes_sve256_f64, &lth__lanes_sve256_f32},
     lth__gapped_neon,
     lth__gapped_weigh_neon,
     lth__gapped_sum_neon,
     &lth__letters_sve256,
     lth__smo_solve_portable,
     lth__add_rows_portable},
#endif
#ifdef LTH_ARM
    {"neon",
     always,
     {&lth__lanes_neon_f64, &lth__lanes_neon_f32},
     lth__gapped_neon,
     lth__gapped_weigh_neon,
     lth__gapped_sum_neon,
     &lth__letters_neon,
     lth__smo_solve_portable, /* whose vectors are those of NEON */
     lth__add_rows_portable},
#endif
    {"portable",
     always,
     {&lth__lanes_portable_f64, &lth__lanes_portable_f32},
     lth__gapped_portable,
     lth__gapped_weigh_portable,
     NULL,
     &lth__letters_portable,
     lth__smo_solve_portable,
     lth__add_rows_portable},
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

/* With those that this build has. */
static lth_status fail_for_name(const char *name, lth_error *err) {
    char known[64] = "";
    for (size_t i = 0; i < ENGINES; i++) {
        size_t used = strlen(known);
        const char *before = i == 0 ? "" : i + 1 < ENGINES ? ", " : " and ";
        snprintf(known + used, sizeof known - used, "%s%s", before, engines[i].name);
    }
    return lth__fail(err, LTH_EARG, "unknown instruction set \"%s\"; there are %s", name, known);
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

/* ---- Ranks, threads, devices ---- */

static lth_status share_bytes(void *user, lth_status status, void *bytes, size_t size,
                              lth_error *err) {
    return lth__cluster_share(user, status, 0, bytes, size, err);
}

static lth_status open_relay(lth_ctx *ctx, lth_error *err) {
    if (!ctx->cluster) return LTH_OK;
    lth__relay *relay = lth__alloc(1, sizeof *relay);
    if (!relay) return lth__fail_memory(err, sizeof *relay);
    *relay = (lth__relay){
        .reads = lth__cluster_reads(ctx->cluster), .share = share_bytes, .user = ctx->cluster};
    ctx->relay = relay;
    return LTH_OK;
}

/* All cores that this process may use. Launchers often give each rank some of its own; where they
 * do not, the ranks of a machine share them. */
static unsigned count_threads(const lth_ctx *ctx) {
    unsigned cores = lth__cpu_count(), ranks = ctx->cluster ? ctx->cluster->at.neighbours : 1;
    if (cores < lth__machine_cpus()) return cores;
    return cores > ranks ? cores / ranks : 1;
}

/* Of several ranks on a machine each takes a GPU of its own. */
static lth_status open_device(lth_ctx *ctx, lth_error *err) {
    const char *name = ctx->options.device;
    char own[32];
    if (ctx->cluster && name && strcmp(name, "cuda") == 0) {
        snprintf(own, sizeof own, "cuda:%u", ctx->cluster->at.local);
        name = own;
    }
    return lth__device_open(name, ctx->gpu, err);
}

/* The best that all ranks have: they are to come to the same numbers. */
static lth_status choose_for_all(lth_ctx *ctx, lth_error *err) {
    lth__cluster *c = ctx->cluster;
    int64_t weakest = ctx->engine - engines;
    if (!c) return LTH_OK;
    LTH_TRY(lth__cluster_agree(c, LTH_OK, err));
    LTH_TRY(c->table->most(&weakest, err));
    ctx->engine = &engines[weakest];
    ctx->options.isa = ctx->engine->name;
    return LTH_OK;
}

static lth_status open_parts(lth_ctx *ctx, lth_error *err) {
    LTH_TRY(lth__cluster_open(ctx->options.cluster, &ctx->cluster, err));
    LTH_TRY(choose_for_all(ctx, err));
    lth_status status = open_relay(ctx, err);
    ctx->gpu = lth__calloc(1, sizeof *ctx->gpu);
    if (!ctx->gpu) status = lth__fail_memory(err, sizeof *ctx->gpu);
    if (status == LTH_OK) status = open_device(ctx, err);
    if (ctx->options.threads == 0) ctx->options.threads = count_threads(ctx);
    ctx->options.device = ctx->options.cluster = NULL; /* the caller's texts may go */
    return lth__cluster_agree(ctx->cluster, status, err);
}

lth_status lth_ctx_create(const lth_ctx_options *given, lth_ctx **out, lth_error *err) {
    lth_ctx_options options = complete_options(given);
    if (options.precision != LTH_F64 && options.precision != LTH_F32)
        return lth__fail(err, LTH_EARG, "precision %d is neither f64 nor f32", options.precision);
    const char *isa = options.isa ? options.isa : getenv("LTH_ISA");
    if (isa && !*isa) isa = NULL;
    const lth__engine *engine = lth__engine_find(isa);
    if (!engine && !is_known(isa)) return fail_for_name(isa, err);
    if (!engine) {
        return lth__fail(
            err, LTH_EUNSUPPORTED,
            "this CPU does not have the instruction set \"%s\"; the best it has is \"%s\"", isa,
            lth_isa_available(0));
    }
    options.isa = engine->name;

    lth_ctx *ctx = lth__calloc(1, sizeof *ctx);
    if (!ctx) return lth__fail_memory(err, sizeof *ctx);
    *ctx = (lth_ctx){.options = options, .engine = engine};
    lth_status status = open_parts(ctx, err);
    if (status != LTH_OK) {
        lth_ctx_free(ctx);
        return status;
    }
    lth__blas_expect(ctx->options.threads);
    *out = ctx;
    return LTH_OK;
}

void lth_ctx_free(lth_ctx *ctx) {
    if (!ctx) return;
    if (ctx->gpu) lth__device_close(ctx->gpu);
    lth__cluster_close(ctx->cluster);
    lth__free(ctx->gpu);
    lth__free((void *)ctx->relay);
    lth__free(ctx);
}

const char *lth_ctx_device(const lth_ctx *ctx) {
    return ctx->gpu->gpus > 0 ? ctx->gpu->name : "cpu";
}

unsigned lth_ctx_rank(const lth_ctx *ctx, unsigned *ranks) {
    const lth__cluster *c = ctx->cluster;
    if (ranks) *ranks = c ? c->at.size : 1;
    return c ? c->at.rank : 0;
}

const char *lth_ctx_cluster(const lth_ctx *ctx) {
    return ctx->cluster ? ctx->cluster->at.name : "none";
}

lth_status lth_ctx_leave(lth_ctx *ctx, const lth_error *why, lth_error *err) {
    return lth__cluster_leave(ctx->cluster, why, err);
}

const char *lth_ctx_isa(const lth_ctx *ctx) {
    return ctx->engine->name;
}

unsigned lth_ctx_threads(const lth_ctx *ctx) {
    return ctx->options.threads;
}
