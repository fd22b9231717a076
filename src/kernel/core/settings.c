/* What holds for a whole expression: arguments that every kernel has which takes and does not give
 * them. They become part of a copy of the syntax tree, so that the kernel's text has them, too. */
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/text.h"
#include "data/table_arrays.h"
#include "kernel/core/kernel.h"

typedef struct filler {
    const lth_kernel_settings *settings;
    lth__pool *pool;
    lth_error *err;
    const char *wild_type;               /* as an argument                             */
    const char **ranges;                 /* of the arrays: all their columns           */
    size_t can_mutate, mutated, lowered; /* kernels that take a wild type, that have one from here,
                                            that take a case                           */
    bool has_wild;                       /* some kernel has one, from wherever          */
} filler;

void lth_kernel_settings_init(lth_kernel_settings *settings) {
    *settings = (lth_kernel_settings){.size = sizeof *settings};
}

/* ---- Arguments ---- */

static bool takes(const lth__expr *call, const char *name) {
    const lth__family *family = lth__family_find(call->name);
    const lth_argument *a = family ? family->manual.arguments : NULL;
    while (a && a->name && strcmp(a->name, name) != 0) a++;
    return a && a->name;
}

static bool gives(const lth__expr *call, const char *name) {
    for (size_t i = 0; i < call->argument_count; i++) {
        if (strcmp(call->arguments[i].name, name) == 0) return true;
    }
    return false;
}

static lth_status add_argument(const filler *f, lth__expr *call, const char *name,
                               lth__value value) {
    size_t count = call->argument_count;
    lth__argument *arguments = lth__pool_alloc(f->pool, (count + 1) * sizeof *arguments);
    if (!arguments) return lth__fail_memory(f->err, (count + 1) * sizeof *arguments);
    if (count > 0) memcpy(arguments, call->arguments, count * sizeof *arguments);
    arguments[count] = (lth__argument){.name = name, .value = value};
    call->arguments = arguments;
    call->argument_count++;
    return LTH_OK;
}

static lth_status add_word(const filler *f, lth__expr *call, const char *name, const char *word) {
    return add_argument(f, call, name, (lth__value){.kind = LTH__VALUE_WORD, .word = word});
}

static lth_status add_number(const filler *f, lth__expr *call, const char *name, int number) {
    return add_argument(
        f, call, name,
        (lth__value){.kind = LTH__VALUE_NUMBER, .given = true, .number = (double)number});
}

static lth_status fill_wild_type(filler *f, lth__expr *call) {
    if (!takes(call, "wild_type")) return LTH_OK;
    f->can_mutate++;
    if (f->wild_type && !gives(call, "wild_type")) {
        f->mutated++;
        LTH_TRY(add_word(f, call, "wild_type", f->wild_type));
    }
    if (!gives(call, "wild_type")) return LTH_OK;
    f->has_wild = true;
    if (f->settings->offset == 0 || gives(call, "first")) return LTH_OK;
    return add_number(f, call, "first", f->settings->offset + 1);
}

static lth_status fill_call(filler *f, lth__expr *call) {
    LTH_TRY(fill_wild_type(f, call));
    if (!f->settings->fold_case || !takes(call, "lower")) return LTH_OK;
    f->lowered++;
    return gives(call, "lower") ? LTH_OK : add_word(f, call, "lower", "yes");
}

/* ---- Columns ---- */

static lth_status find_range(const lth_ctx *ctx, filler *f, size_t i, lth_error *err) {
    lth__array a;
    lth__string range = {0};
    lth_status status = lth__array_open(ctx ? ctx->relay : NULL, f->settings->arrays[i], &a, err);
    if (status == LTH_OK) {
        lth__array_range(&a, &range);
        f->ranges[i] = range.failed ? NULL : lth__pool_strndup(f->pool, range.bytes, range.length);
        if (!f->ranges[i]) status = lth__fail_memory(err, 0);
    }
    lth__string_free(&range);
    lth__array_close(&a);
    return status;
}

static lth_status find_ranges(const lth_ctx *ctx, filler *f) {
    size_t count = f->settings->array_count;
    if (count == 0) return LTH_OK;
    if (!f->settings->arrays) return lth__fail(f->err, LTH_EARG, "arrays is NULL");
    f->ranges = lth__pool_alloc(f->pool, count * sizeof *f->ranges);
    if (!f->ranges) return lth__fail_memory(f->err, count * sizeof *f->ranges);
    for (size_t i = 0; i < count; i++) LTH_TRY(find_range(ctx, f, i, f->err));
    return LTH_OK;
}

/* The name of an array stands for its columns. */
static void fill_column(const filler *f, lth__expr *column) {
    size_t length = strlen(column->name);
    for (size_t i = 0; i < f->settings->array_count && !column->range; i++) {
        const char *array = f->settings->arrays[i];
        if (strncmp(array, column->name, length) != 0 || array[length] != '=') continue;
        column->name = f->ranges[i];
        column->range = strstr(column->name, "..") != NULL;
    }
}

/* ---- The whole ---- */

static lth_status copy(filler *f, const lth__expr *from, lth__expr **out) {
    lth__expr *e = lth__pool_alloc(f->pool, sizeof *e);
    if (!e) return lth__fail_memory(f->err, sizeof *e);
    *e = *from;
    if (e->input_count > 0) {
        e->inputs = lth__pool_alloc(f->pool, e->input_count * sizeof *e->inputs);
        if (!e->inputs) return lth__fail_memory(f->err, e->input_count * sizeof *e->inputs);
    }
    for (size_t i = 0; i < e->input_count; i++) LTH_TRY(copy(f, from->inputs[i], &e->inputs[i]));
    if (e->kind == LTH__EXPR_CALL) LTH_TRY(fill_call(f, e));
    if (e->kind == LTH__EXPR_COLUMN) fill_column(f, e);
    *out = e;
    return LTH_OK;
}

/* A file whose name could be a sequence is written otherwise. */
static lth_status write_path(filler *f) {
    const char *path = f->settings->wild_type;
    lth__string text = {0};
    if (!path) return LTH_OK;
    lth__string_format(&text, "%s%s", strpbrk(path, "./") ? "" : "./", path);
    f->wild_type = text.failed ? NULL : lth__pool_strndup(f->pool, text.bytes, text.length);
    lth__string_free(&text);
    return f->wild_type ? LTH_OK : lth__fail_memory(f->err, 0);
}

/* "sites, ssk" */
static void list_takers(char *out, size_t capacity) {
    size_t used = 0;
    const lth_family *family;
    out[0] = 0;
    for (size_t i = 0; (family = lth_family_at(i)) != NULL && used < capacity; i++) {
        const lth__expr call = {.name = family->name};
        if (takes(&call, "wild_type"))
            used += (size_t)snprintf(out + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                                     family->name);
    }
}

static lth_status check_used(const filler *f) {
    const lth_kernel_settings *s = f->settings;
    char takers[96];
    list_takers(takers, sizeof takers);
    if (s->wild_type && f->can_mutate == 0)
        return lth__fail(f->err, LTH_EARG,
                         "no kernel of the expression reads mutations of a wild type; these do: %s",
                         takers);
    if (s->wild_type && f->mutated == 0)
        return lth__fail(f->err, LTH_EARG, "the expression has a wild_type already");
    if (s->offset != 0 && !f->has_wild)
        return lth__fail(f->err, LTH_EARG, "an offset goes with a wild type");
    if (s->fold_case && f->lowered == 0)
        return lth__fail(f->err, LTH_EARG,
                         "no kernel of the expression tells lower case from upper");
    return LTH_OK;
}

lth_status lth__expr_fill(const lth_ctx *ctx, const lth_kernel_settings *settings, lth__pool *pool,
                          const lth__expr **kernel, const lth__expr **noise, lth_error *err) {
    lth_kernel_settings known;
    lth_kernel_settings_init(&known);
    if (settings->size == 0 || settings->size > sizeof known)
        return lth__fail(err, LTH_EARG, "the settings were not set by lth_kernel_settings_init()");
    memcpy(&known, settings, settings->size);
    filler f = {.settings = &known, .pool = pool, .err = err};
    lth__expr *filled = NULL, *filled_noise = NULL;
    LTH_TRY(write_path(&f));
    LTH_TRY(find_ranges(ctx, &f));
    LTH_TRY(copy(&f, *kernel, &filled));
    if (*noise) LTH_TRY(copy(&f, *noise, &filled_noise));
    LTH_TRY(check_used(&f));
    *kernel = filled;
    *noise = filled_noise;
    return LTH_OK;
}
