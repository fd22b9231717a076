/* luthier fit: learn a model and write it to a file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"
#include "model.h"

static int check_usage(const options *o) {
    if (!o->output) return usage_error(o->command, "fit wants -o FILE");
    if (o->json && strcmp(o->output, "-") == 0)
        return usage_error(o->command, "-o - would mix with what --json prints on standard output; "
                                       "give a file");
    return EXIT_DONE;
}

static int learn(learning *l, lth_gp **gp) {
    lth_error err = {0};
    l->how.step = show_step;
    lth_status status = lth_gp_fit(l->session.ctx, l->options->kernel, l->table, l->targets.at,
                                   l->targets.count, &l->how, gp, &err);
    if (status != LTH_OK) return learning_fail(l, &err);
    show_start_end(l);
    return EXIT_DONE;
}

/* A second Ctrl-C waits for the file, which takes a moment. */
static int save(learning *l, const lth_gp *gp) {
    lth_error err = {0};
    hold_interrupts();
    lth_status status = lth_gp_save(gp, l->options->output, &err);
    release_interrupts();
    if (status == LTH_OK) return EXIT_DONE;
    return session_fail_output(&l->session, &err, l->options->output);
}

static int summarise(learning *l, const lth_gp *gp) {
    lth_gp_report r = *lth_gp_reported(gp);
    char *kernel = kernel_text(lth_gp_kernel(gp));
    if (!kernel) return out_of_memory();
    bool unfinished = l->how.learn && !r.converged && !r.interrupted;
    lth_gp_param own = *lth_gp_param_at(gp, LTH_NONE); /* the noise, or of labels the scale */
    char classes[32] = "";
    if (l->labels) snprintf(classes, sizeof classes, "%zu classes, ", lth_gp_classes(gp));
    session_say(&l->session, "%zu row%s, %slog evidence %.6g, %s %.4g, %zu iteration%s%s, %.2f s",
                r.rows, r.rows == 1 ? "" : "s", classes, r.evidence, own.path, own.value,
                r.iterations, r.iterations == 1 ? "" : "s",
                unfinished ? " (the most that --max-iter allows)" : "", r.seconds);
    session_say(&l->session, "%s", kernel);
    free(kernel);
    if (l->options->json) print_model_json(gp);
    return EXIT_DONE;
}

/* The model was written all the same. */
static int end(learning *l, const lth_gp *gp) {
    if (!was_interrupted()) return EXIT_DONE;
    int code = session_check_interrupt(&l->session);
    session_say(&l->session, "%s %s", l->options->output,
                lth_gp_reported(gp)->interrupted ? "holds the best point so far" : "is complete");
    return code;
}

static int fit_gp(learning *l) {
    lth_gp *gp = NULL;
    int code = learn(l, &gp);
    if (!code) code = save(l, gp);
    if (!code) code = summarise(l, gp);
    if (!code) code = end(l, gp);
    lth_gp_free(gp);
    return code;
}

/* ---- Support vector machines ---- */

static int learn_svm(learning *l, lth_svm **svm) {
    lth_error err = {0};
    if (l->targets.count > 1)
        return usage_error(l->options->command, "a support vector machine learns one --target; fit "
                                                "a model for each");
    lth_status status = lth_svm_fit(l->session.ctx, l->options->kernel, l->table, l->targets.at[0],
                                    &l->svm_how, svm, &err);
    if (status != LTH_OK) return learning_fail(l, &err);
    return session_check_interrupt(&l->session);
}

static int save_svm(learning *l, const lth_svm *svm) {
    lth_error err = {0};
    hold_interrupts();
    lth_status status = lth_svm_save(svm, l->options->output, &err);
    release_interrupts();
    if (status == LTH_OK) return EXIT_DONE;
    return session_fail_output(&l->session, &err, l->options->output);
}

static int summarise_svm(learning *l, const lth_svm *svm) {
    lth_svm_report r = *lth_svm_reported(svm);
    char *kernel = kernel_text(lth_svm_kernel(svm));
    if (!kernel) return out_of_memory();
    char chosen[96] = "", score[64] = "";
    if (r.regression)
        snprintf(chosen, sizeof chosen, "C %.4g, %s %.4g", r.C, isnan(r.nu) ? "epsilon" : "nu",
                 isnan(r.nu) ? r.epsilon : r.nu);
    else
        snprintf(chosen, sizeof chosen, "%zu classes, %s %.4g", r.classes, isnan(r.nu) ? "C" : "nu",
                 isnan(r.nu) ? r.C : r.nu);
    if (r.points > 1) snprintf(score, sizeof score, ", inner %s %.4g", r.score, r.inner);
    session_say(&l->session, "%s: %zu rows, %zu support rows, %s%s, %.2f s", r.type, r.rows,
                r.support, chosen, score, r.seconds);
    session_say(&l->session, "%s", kernel);
    free(kernel);
    return l->options->json ? print_svm_json(svm) : EXIT_DONE;
}

static int fit_svm(learning *l) {
    lth_svm *svm = NULL;
    int code = learn_svm(l, &svm);
    if (!code) code = save_svm(l, svm);
    if (!code) code = summarise_svm(l, svm);
    lth_svm_free(svm);
    return code;
}

int run_fit(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    learning l;
    code = learning_open(&l, o);
    if (!code) code = session_check_binary_output(&l.session, o->output);
    if (!code) code = learning_read(&l, NULL);
    if (!code) code = l.svm ? fit_svm(&l) : fit_gp(&l);
    learning_close(&l);
    return code;
}
