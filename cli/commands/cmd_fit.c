/* luthier fit: learn a model and write it to a file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learning.h"
#include "model.h"
#include "ranks.h"

static int check_usage(const options *o) {
    if (o->plan) return EXIT_DONE;
    if (!o->output) return usage_error(o->command, "fit wants -o FILE");
    if (o->json && strcmp(o->output, "-") == 0)
        return usage_error(o->command, "-o - would mix with what --json prints on standard output; "
                                       "give a file");
    return EXIT_DONE;
}

static lth_status fit_svm(learning *l, lth_model **out, lth_error *err) {
    lth_svm *svm = NULL;
    lth_status status = lth_svm_fit(l->session.ctx, l->expression, l->table, l->targets.at[0],
                                    &l->svm_options, &svm, err);
    *out = lth_svm_model(svm);
    return status;
}

static lth_status fit_gp(learning *l, lth_model **out, lth_error *err) {
    lth_gp *gp = NULL;
    l->gp_options.step = show_step;
    lth_status status = lth_gp_fit(l->session.ctx, l->expression, l->table, l->targets.at,
                                   l->targets.count, &l->gp_options, &gp, err);
    *out = lth_gp_model(gp);
    return status;
}

/* An interrupted search still has a model to write, its best so far, unless it goes on from its
 * journal; a grid has none. */
static int learn(learning *l, lth_model **out) {
    lth_error err = {0};
    if (l->svm && l->targets.count > 1)
        return usage_error(l->options->command, "a support vector machine learns one --target; fit "
                                                "a model for each");
    if ((l->svm ? fit_svm : fit_gp)(l, out, &err) != LTH_OK) return learning_fail(l, &err);
    if (l->svm) return session_check_interrupt(&l->session);
    show_start_end(l);
    bool unfinished = lth_gp_reported(lth_model_gp(*out))->interrupted;
    if (unfinished) interrupted_elsewhere();
    return unfinished && session_stops(&l->session) ? session_check_interrupt(&l->session)
                                                    : EXIT_DONE;
}

/* A second Ctrl-C waits for the file, which takes a moment. */
static int save(learning *l, const lth_model *m) {
    lth_error err = {0};
    hold_interrupts();
    lth_status status = lth_model_save(m, l->options->output, &err);
    release_interrupts();
    if (status == LTH_OK) return EXIT_DONE;
    return session_fail_output(&l->session, &err, l->options->output);
}

/* What it was for is in the model, unless the search was not finished. */
static void drop_journal(const learning *l, lth_model *m) {
    const lth_gp *gp = lth_model_gp(m);
    if (lth_ctx_rank(l->session.ctx, NULL) > 0) return;
    if (l->options->journal && gp && !lth_gp_reported(gp)->interrupted) unlink(l->options->journal);
}

/* ---- What was learned ---- */

/* How it came to all rows, unless by one exact search. */
static void say_posterior(learning *l, const lth_gp_report *r) {
    if (r->learned_rows > 0 && r->learned_rows < r->rows)
        session_say(&l->session, "learned from %zu of the rows", r->learned_rows);
    if (r->posterior == LTH_POSTERIOR_CG)
        session_say(&l->session,
                    "posterior by conjugate gradients: %zu steps, residual %.2g; the evidence has "
                    "a standard error of %.2g",
                    r->cg_steps, r->cg_residual, r->evidence_error);
    if (r->posterior == LTH_POSTERIOR_INDUCING)
        session_say(&l->session, "inducing rows: %zu, which leave %.3g of the variance",
                    r->inducing, r->trace_left);
}

/* Why a search ended before its end. */
static const char *cut_short(const learning *l, const lth_gp_report *r) {
    if (!l->gp_options.learn || r->converged || r->interrupted) return "";
    return r->iterations < l->gp_options.max_iter ? " (no step from there was better)"
                                                  : " (the most that --max-iter allows)";
}

static void say_gp(learning *l, const lth_gp *gp) {
    lth_gp_report r = *lth_gp_reported(gp);
    lth_gp_param own = *lth_gp_param_at(gp, LTH_NONE); /* the noise, or of labels the scale */
    char classes[32] = "";
    if (l->labels) snprintf(classes, sizeof classes, "%zu classes, ", lth_gp_classes(gp));
    session_say(&l->session, "%zu row%s, %slog evidence %.6g, %s %.4g, %zu iteration%s%s, %.2f s",
                r.rows, r.rows == 1 ? "" : "s", classes, r.evidence, own.path, own.value,
                r.iterations, r.iterations == 1 ? "" : "s", cut_short(l, &r), r.seconds);
    say_posterior(l, &r);
    if (r.draws > 0)
        session_say(&l->session, "averaged over %zu draws of the hyperparameters (effective %.1f)",
                    r.draws, r.effective_draws);
}

static void say_svm(learning *l, const lth_svm *svm) {
    lth_svm_report r = *lth_svm_reported(svm);
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
}

static int summarise(learning *l, lth_model *m) {
    char *kernel = kernel_text(lth_model_kernel(m));
    if (!kernel) return out_of_memory();
    if (l->svm)
        say_svm(l, lth_model_svm(m));
    else
        say_gp(l, lth_model_gp(m));
    session_say(&l->session, "%s", kernel);
    free(kernel);
    return l->options->json ? print_model(m, true) : EXIT_DONE;
}

/* The model was written all the same. */
static int end(learning *l, lth_model *m) {
    if (l->svm || !was_interrupted() || session_stops(&l->session)) return EXIT_DONE;
    int code = session_check_interrupt(&l->session);
    session_say(&l->session, "%s %s", l->options->output,
                lth_gp_reported(lth_model_gp(m))->interrupted ? "holds the best point so far"
                                                              : "is complete");
    return code;
}

int run_fit(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    learning l;
    lth_model *m = NULL;
    code = learning_open(&l, o);
    l.session.resumable = o->journal != NULL;
    if (!code && !o->plan) code = session_check_binary_output(&l.session, o->output);
    if (!code) code = learning_read(&l, NULL);
    if (!code && o->plan) {
        code = print_plan(&l);
        code = ranks_end(&l.session, code);
        learning_close(&l);
        return code;
    }
    if (!code) code = learn(&l, &m);
    if (!code) code = save(&l, m);
    if (!code) drop_journal(&l, m);
    if (!code) code = summarise(&l, m);
    if (!code) code = end(&l, m);
    code = ranks_end(&l.session, code);
    free_model(m);
    learning_close(&l);
    return code;
}
