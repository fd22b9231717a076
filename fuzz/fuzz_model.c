/* Any bytes, loaded as a model, which then predicts a row, also jointly, or explains it, or itself,
 * or is saved again: one of these, as the bytes have it. Few changes pass the checksum of a file:
 * mutate_model.c makes such that do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "harness.h"

enum { MOST_ROWS = 64, MOST_OUTPUTS = 64 };

static const char lines[] =
    "text\tf1\tf2\ttree\nb good zig ex-wife\t1\t-0.5\t(S (NP (D the) (N cat)) (VP (V sat)))\n";

static lth_table *table;

static void predict_svm(const lth_svm *svm) {
    lth_error err;
    lth_svm_report r = *lth_svm_reported(svm);
    double value;
    bool *has = calloc(r.classes + 1, sizeof *has);
    lth_svm_prediction to = {.value = r.regression ? &value : NULL,
                             .has = r.regression ? NULL : has};
    if (has) lth_svm_predict(svm, table, &to, sizeof to, &err);
    free(has);
}

static void predict_gp(const lth_gp *gp, bool jointly) {
    lth_error err;
    size_t outputs = lth_gp_targets(gp) + lth_gp_classes(gp), latents = lth_gp_latents(gp);
    if (outputs > MOST_OUTPUTS || latents > MOST_OUTPUTS) return;
    double *mean = calloc(2 * (outputs + latents), sizeof *mean), *joint = mean + 2 * outputs;
    if (mean && !jointly) lth_gp_predict(gp, table, false, mean, mean + outputs, &err);
    if (mean && jointly) lth_gp_predict_joint(gp, table, joint, joint + latents, &err);
    for (size_t i = 0; i < lth_kernel_params(lth_gp_kernel(gp)); i++)
        if (!lth_gp_param_at(gp, i)->path) abort();
    if (!lth_gp_param_at(gp, LTH_NONE)->path) abort();
    free(mean);
}

static void explain(const lth_model *model, bool row) {
    lth_reasons *reasons = NULL;
    lth_error err;
    if (lth_model_rows(model) > MOST_ROWS) return;
    if ((row ? lth_model_explain(model, table, 0, NULL, &reasons, &err)
             : lth_model_patterns(model, 0, 3, &reasons, &err)) == LTH_OK)
        lth_reasons_free(reasons);
}

static int drop(void *user, const void *bytes, size_t size) {
    (void)bytes;
    *(size_t *)user += size;
    return 0;
}

static void save(const lth_model *model) {
    size_t written = 0;
    lth_error err;
    if (lth_model_save_to(model, drop, &written, &err) == LTH_OK && written > 0) return;
    fprintf(stderr, "a model that was loaded cannot be saved: %s\n", err.message);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lth_model *model = NULL;
    lth_error err = {0};
    if (!table) table = harness_table(lines);
    if (lth_model_load_from(harness_ctx(), data, size, &model, &err) != LTH_OK) {
        if (!err.message[0]) abort();
        return 0;
    }
    unsigned what = lth__hash(0, data, size) % 8;
    if (what < 2)
        explain(model, what == 0);
    else if (what == 2)
        save(model);
    else if (lth_model_gp(model))
        predict_gp(lth_model_gp(model), what == 3);
    else
        predict_svm(lth_model_svm(model));
    lth_model_free(model);
    return 0;
}
