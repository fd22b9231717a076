#include "problem_support.h"

#include "gp_support.h"

lth_status problem_of(lth_ctx *ctx, const char *kernel, const lth_table *table, problem *out,
                      lth_error *err) {
    *out = (problem){.kernel = NULL};
    lth_status status = lth_kernel_parse(ctx, kernel, &out->kernel, err);
    if (status == LTH_OK) status = lth_kernel_resolve(&out->kernel, table, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, out->kernel, &out->encoder, err);
    if (status == LTH_OK) status = lth_encode(out->encoder, table, &out->items, err);
    return status;
}

lth_status problem_try(lth_ctx *ctx, const char *kernel, const char *lines, problem *out,
                       lth_error *err) {
    lth_table *table = support_table(ctx, lines);
    lth_status status = problem_of(ctx, kernel, table, out, err);
    out->table = table;
    return status;
}

problem support_problem(lth_ctx *ctx, const char *kernel, const char *lines) {
    problem p;
    lth_error err = {0};
    support_ok(problem_try(ctx, kernel, lines, &p, &err), &err);
    return p;
}

void problem_close(problem *p) {
    lth_items_free(p->items);
    lth_encoder_free(p->encoder);
    lth_table_free(p->table);
    lth_kernel_free(p->kernel);
}

void problem_fill(const problem *p, double *K) {
    lth_error err = {0};
    support_ok(lth_gram(p->kernel, p->items, NULL, K, lth_items_count(p->items), &err), &err);
}
