/* Support vector machines whose problems a device solves, against those of the CPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "conformance.h"

enum { MOST_ROWS = 128, MOST_PROBLEMS = 8 };

typedef struct svm_answers {
    size_t problems;
    double C, inner, value[MOST_ROWS * MOST_PROBLEMS];
} svm_answers;

static bool fit(lth_ctx *ctx, const char *expression, const char *target,
                const lth_svm_options *options, const conformance_tables *t, svm_answers *out) {
    lth_error err = {0};
    lth_table *table = NULL;
    lth_svm *svm = NULL;
    lth_status status = lth_table_read(ctx, t->a, NULL, &table, &err);
    if (!status) status = lth_svm_fit(ctx, expression, table, target, options, &svm, &err);
    if (!status) {
        bool numbers = lth_svm_reported(svm)->regression;
        lth_svm_prediction to = {.value = numbers ? out->value : NULL,
                                 .decision = numbers ? NULL : out->value};
        out->problems = lth_svm_reported(svm)->problems;
        out->C = lth_svm_reported(svm)->C;
        out->inner = lth_svm_reported(svm)->inner;
        status = lth_svm_predict(svm, table, &to, sizeof to, &err);
    }
    if (status) conformance_fail(expression, &err);
    lth_svm_free(svm);
    lth_table_free(table);
    return !status;
}

/* Both are as exact as their tolerance, and no more. */
void conformance_svm(lth_ctx *cpu, lth_ctx *device, const conformance_options *o,
                     const conformance_tables *t) {
    static const char *const targets[] = {"kind", "y"};
    static const double C[] = {1, 10};
    size_t rows = o->quick ? 30 : 100;
    conformance_tables_write(t, 1, rows, 1, o->quick);
    for (size_t k = 0; k < 4; k++) {
        const char *target = targets[k / 2];
        lth_svm_options options;
        svm_answers want = {0}, got = {0};
        lth_svm_options_init(&options);
        options.C = C + k % 2; /* alone, or among others */
        options.C_count = 2 - k % 2;
        options.solver = LTH_SVM_KERNEL;
        if (!fit(cpu, "normalize(ssk(text, order=2))", target, &options, t, &want)) continue;
        if (!fit(device, "normalize(ssk(text, order=2))", target, &options, t, &got)) continue;
        conformance_expect(want.problems == got.problems, "svm of %s: %zu problems, not %zu",
                           target, got.problems, want.problems);
        conformance_expect(want.C == got.C, "svm of %s: C %g, not %g", target, got.C, want.C);
        double worst = 0;
        for (size_t i = 0; i < rows * want.problems && want.C == got.C; i++)
            worst = fmax(worst, fabs(want.value[i] - got.value[i]));
        conformance_expect(worst < 1e-2, "svm of %s: decision values differ by %g", target, worst);
    }
}
