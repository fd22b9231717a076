/* The expression of a model: its kernel, with the mean and the kernel of the noise.
 *
 * The mean as a text: a linear model of number columns, "zs + f1..f17", and what its constant is.
 *
 *     m(x) = constant + sum_c w_c x_c        w_c ~ N(0, variance), x_c scaled: mean 0, deviation 1
 *
 * Weights that are not known are a kernel, variance sum_c x_c x'_c: so they are integrated out by
 * adding linear(scale(zs) + scale(f1..f17)) to that of the model, whatever its posterior. */
#include <string.h>

#include "model/gp/gp.h"

static bool is_word(const lth__expr *column, const char *word) {
    return !column->quoted && !column->range && strcmp(column->name, word) == 0;
}

static bool is_same(const lth__expr *a, const lth__expr *b) {
    return a->range == b->range && strcmp(a->name, b->name) == 0;
}

static lth_status check_columns(const lth__expr *sum, bool *zero, lth_error *err) {
    bool constant = false;
    for (size_t i = 0; i < sum->input_count; i++) {
        const lth__expr *column = sum->inputs[i];
        *zero |= is_word(column, "zero");
        constant |= is_word(column, "constant");
        for (size_t j = 0; j < i; j++) {
            if (is_same(column, sum->inputs[j]))
                return lth__fail_at(err, LTH_EFORMAT, NULL, 0, column->column,
                                    "\"%s\" is given twice", column->name);
        }
        if (*zero && constant)
            return lth__fail_at(err, LTH_EFORMAT, NULL, 0, column->column,
                                "a mean is zero or has a constant, not both");
    }
    return LTH_OK;
}

static void write_columns(const lth__expr *sum, lth__string *out) {
    size_t written = 0;
    for (size_t i = 0; i < sum->input_count; i++) {
        const lth__expr *column = sum->inputs[i];
        if (is_word(column, "zero") || is_word(column, "constant")) continue;
        bool plain = column->range || lth__expr_is_name(column->name);
        lth__string_format(out, plain ? "%s(%s)" : "%s(\"%s\")",
                           written++ ? " + scale" : " + linear(scale", column->name);
    }
    if (written) lth__string_format(out, ")");
}

static lth_status write_mean(const char *mean, bool *zero, lth__string *out, lth_error *err) {
    lth__pool pool = {0};
    const lth__expr *sum = NULL;
    lth_status status = lth__expr_parse_columns(mean, &pool, &sum, err);
    if (status == LTH_OK) status = check_columns(sum, zero, err);
    if (status == LTH_OK) write_columns(sum, out);
    lth__pool_free(&pool);
    return status;
}

/* A mistake in the kernel is told as such before anything follows it; and whether it has a size of
 * its own (NULL = not asked). */
static lth_status check_kernel(lth_ctx *ctx, const char *expression, bool *has_size,
                               lth_error *err) {
    lth_kernel *kernel = NULL;
    LTH_TRY(lth_kernel_parse(ctx, expression, &kernel, err));
    lth_status status = LTH_OK;
    if (kernel->noise)
        status = lth__fail(err, LTH_EFORMAT,
                           "the kernel of the noise is already there, after "
                           "\"|\": name it once, as noise-kernel");
    bool *held = lth__calloc(kernel->param_count + 1, sizeof *held);
    if (!held) status = lth__fail_memory(err, kernel->param_count * sizeof *held);
    for (size_t p = 0; held && p < kernel->param_count; p++) held[p] = kernel->params[p].held;
    if (held && has_size) *has_size = lth__kernel_has_size(kernel, held);
    lth__free(held);
    lth_kernel_free(kernel);
    return status;
}

/* How much the logarithm of the noise varies is learned in any case. */
static lth_status write_noise(lth_ctx *ctx, const char *noise, lth__string *out, lth_error *err) {
    bool has_size = false;
    LTH_TRY(check_kernel(ctx, noise, &has_size, err));
    lth__string_format(out, has_size ? " | %s" : " | 0.5 * (%s)", noise);
    return LTH_OK;
}

lth_status lth__gp_expression(lth_ctx *ctx, const char *kernel, lth_gp_options *options, char **out,
                              lth_error *err) {
    lth__string text = {0};
    lth_status status = LTH_OK;
    lth__string_format(&text, "%s", kernel);
    if (options->mean || options->noise_kernel) status = check_kernel(ctx, kernel, NULL, err);
    if (status == LTH_OK && options->mean)
        status = write_mean(options->mean, &options->zero_mean, &text, err);
    if (status == LTH_OK && options->noise_kernel)
        status = write_noise(ctx, options->noise_kernel, &text, err);
    char *whole = text.failed ? NULL : lth__strndup(text.bytes, text.length);
    lth__string_free(&text);
    if (status == LTH_OK && !whole) status = lth__fail_memory(err, 0);
    if (status == LTH_OK)
        *out = whole;
    else
        lth__free(whole);
    return status;
}

lth_status lth_gp_kernel_parse(lth_ctx *ctx, const char *expression, const char *mean,
                               lth_kernel **out, lth_error *err) {
    return lth_gp_kernel_with_noise(ctx, expression, mean, NULL, out, err);
}

lth_status lth_gp_kernel_with_noise(lth_ctx *ctx, const char *expression, const char *mean,
                                    const char *noise, lth_kernel **out, lth_error *err) {
    lth_gp_options options = {.mean = mean, .noise_kernel = noise};
    char *whole = NULL;
    LTH_TRY(lth__gp_expression(ctx, expression, &options, &whole, err));
    lth_status status = lth_kernel_parse(ctx, whole, out, err);
    lth__free(whole);
    return status;
}
