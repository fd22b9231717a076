/* luthier show: what a model has learned, and how. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "output.h"
#include "trend.h"

static size_t symbol_count(const lth_gp *gp) {
    size_t count = 0;
    while (lth_gp_symbol_at(gp, count)) ++count;
    return count;
}

static int by_descending_decay(const void *a, const void *b) {
    const lth_gp_symbol *x = a, *y = b;
    if (x->decay != y->decay) return x->decay > y->decay ? -1 : 1;
    return x->count != y->count ? (x->count > y->count ? -1 : 1) : strcmp(x->symbol, y->symbol);
}

/* The symbols of all tree kernels by what was learned of them, freed with free(); NULL = out of
 * memory. */
static lth_gp_symbol *sorted_symbols(const lth_gp *gp, size_t count) {
    lth_gp_symbol *symbols = malloc((count + 1) * sizeof *symbols);
    for (size_t i = 0; symbols && i < count; ++i) symbols[i] = *lth_gp_symbol_at(gp, i);
    if (symbols) qsort(symbols, count, sizeof *symbols, by_descending_decay);
    return symbols;
}

/* Hyperparameters of the kernel, and after the last one the model's own: noise, scale. */
static lth_gp_param param_at(const lth_gp *gp, size_t i) {
    return *lth_gp_param_at(gp, i);
}

static size_t param_count(const lth_gp *gp) {
    size_t count = 0;
    while (lth_gp_param_at(gp, count)) ++count;
    return count;
}

static const char *likelihood_of(const lth_gp *gp) {
    return lth_likelihood_name(lth_gp_likelihood(gp));
}

const char *posterior_name(lth_posterior posterior) {
    static const char *const names[] = {"auto", "exact", "cg", "inducing", "laplace", "sites"};
    return names[posterior];
}

/* ---- Text ---- */

static void print_cell(double value) {
    putchar('\t');
    write_tsv_double(stdout, value);
}

static void print_figure(const char *name, double value) {
    fputs(name, stdout);
    print_cell(value);
    putchar('\n');
}

/* Of one that is learned at least, where they were asked for. */
static bool has_intervals(const lth_gp *gp) {
    for (size_t i = 0; i < param_count(gp); ++i)
        if (!isnan(param_at(gp, i).low)) return true;
    return false;
}

/* Two cells, empty where it is not known. */
static void print_interval(const lth_gp_param *p) {
    if (isnan(p->low)) {
        fputs("\t\t", stdout);
        return;
    }
    print_cell(p->low);
    print_cell(p->high);
}

static void print_params(const lth_gp *gp) {
    bool intervals = has_intervals(gp);
    printf("\nparameter\tvalue\tstart\tstate%s\n", intervals ? "\tlow\thigh" : "");
    for (size_t i = 0; i < param_count(gp); ++i) {
        lth_gp_param p = param_at(gp, i);
        print_visible(p.path);
        print_cell(p.value);
        print_cell(p.start);
        printf("\t%s", p.held ? "held" : "learned");
        if (p.tag) printf(", tied $"), print_visible(p.tag);
        if (p.at_bound) printf(", at bound");
        if (p.undetermined) printf(", not determined");
        if (intervals) print_interval(&p);
        putchar('\n');
    }
}

static void print_orders(const lth_gp_report *r) {
    if (r->orders == 0) return;
    printf("\norder\tnu\tshare\n");
    for (size_t i = 0; i < r->orders; ++i) {
        printf("%zu", i + 1);
        print_cell(r->nu[i]);
        print_cell(r->order_share[i]);
        putchar('\n');
    }
}

static int print_symbols(const lth_gp *gp) {
    size_t count = symbol_count(gp);
    if (count == 0) return EXIT_DONE;
    lth_gp_symbol *symbols = sorted_symbols(gp, count);
    if (!symbols) return out_of_memory();
    printf("\nsymbol\tkernel\tdecay\talpha\tnodes\n");
    for (const lth_gp_symbol *s = symbols; s < symbols + count; ++s) {
        print_visible(s->symbol);
        putchar('\t');
        print_visible(s->kernel);
        print_cell(s->decay);
        print_cell(s->alpha);
        printf("\t%zu\n", s->count);
    }
    free(symbols);
    return EXIT_DONE;
}

static const char *ending(const lth_gp_report *r) {
    return r->interrupted ? "interrupted" : r->converged ? "converged" : "not converged";
}

static void print_posterior(const lth_gp_report *r) {
    if (r->learned_rows > 0 && r->learned_rows < r->rows)
        printf("rows learned from\t%zu\n", r->learned_rows);
    if (r->draws > 0) {
        printf("draws\t%zu\n", r->draws);
        print_figure("effective draws", r->effective_draws);
    }
    if (r->posterior == LTH_POSTERIOR_EXACT) return;
    printf("posterior\t%s\n", posterior_name(r->posterior));
    if (r->posterior == LTH_POSTERIOR_CG) {
        printf("steps of cg\t%zu\n", r->cg_steps);
        print_figure("residual of cg", r->cg_residual);
        print_figure("standard error of log evidence", r->evidence_error);
    }
    if (r->posterior == LTH_POSTERIOR_INDUCING) {
        printf("inducing rows\t%zu\n", r->inducing);
        print_figure("variance left", r->trace_left);
        print_figure("variance left to noise", r->left_to_noise);
    }
}

static void print_left_out(const lth_metrics *loo) {
    if (!loo) return;
    print_figure("leave-one-out r", loo->r);
    print_figure("leave-one-out nlpd", loo->nlpd);
    print_figure("leave-one-out coverage", loo->coverage);
}

/* Of labels; 0 = not learned. */
static void print_sharpness(const lth_gp_report *r) {
    if (r->sharpness == 0) return;
    print_figure("sharpness", r->sharpness);
    print_figure("leave-one-out log loss", r->left_out_loss);
    print_figure("leave-one-out log loss, not sharpened", r->left_out_loss_plain);
}

/* Of numbers; normal noise goes without saying. */
static void print_likelihood(const lth_gp *gp) {
    if (lth_gp_likelihood(gp) == LTH_GAUSSIAN) return;
    printf("likelihood\t%s\n", likelihood_of(gp));
    if (lth_gp_warp(gp)) print_text_line("warp", lth_gp_warp(gp));
    if (lth_gp_exposure(gp)) print_text_line("exposure", lth_gp_exposure(gp));
    const double *grades;
    size_t count = lth_gp_grades(gp, &grades);
    if (count > 0) printf("grades");
    for (size_t i = 0; i < count; ++i) print_cell(grades[i]);
    if (count > 0) putchar('\n');
}

static void print_training(const lth_gp *gp, const lth_gp_report *r) {
    printf("\nlearning\tvalue\n");
    for (size_t i = 0; i < lth_gp_targets(gp); ++i) print_text_line("target", lth_gp_target(gp, i));
    printf("rows\t%zu\n", r->rows);
    print_posterior(r);
    print_figure("log evidence", r->evidence);
    if (lth_gp_classes(gp) > 0) {
        printf("likelihood\t%s\nlabels\t%s\n", likelihood_of(gp),
               lth_gp_is_multi_label(gp) ? "several a row" : "one a row");
        print_sharpness(r);
    } else {
        print_likelihood(gp);
        if (r->noise > 0) print_figure("noise", r->noise);
        print_left_out(r->loo);
    }
    if (r->jitter > 0) print_figure("jitter", r->jitter);
    printf("ended\t%s\nstarts\t%zu\niterations\t%zu\nevaluations\t%zu\n", ending(r), r->starts,
           r->iterations, r->evaluations);
    printf("seconds\t%.3f\n", r->seconds);
}

static void print_classes(const lth_gp *gp) {
    if (lth_gp_classes(gp) == 0) return;
    printf("\nclass\trows\n");
    for (size_t i = 0; i < lth_gp_classes(gp); ++i) {
        lth_class_rows c = *lth_gp_class(gp, i);
        print_visible(c.name);
        printf("\t%zu\n", c.rows);
    }
}

static int print_gp(lth_model *m) {
    const lth_gp *gp = lth_model_gp(m);
    lth_gp_report r = *lth_gp_reported(gp);
    print_params(gp);
    print_orders(&r);
    int code = print_symbols(gp);
    if (!code) code = print_trend(m);
    if (code) return code;
    print_training(gp, &r);
    print_classes(gp);
    return EXIT_DONE;
}

/* ---- JSON ---- */

static void put_params(json_writer *w, const lth_gp *gp) {
    bool intervals = has_intervals(gp);
    json_begin_list(w, "parameters");
    for (size_t i = 0; i < param_count(gp); ++i) {
        lth_gp_param p = param_at(gp, i);
        json_begin_object(w, NULL);
        json_put_text(w, "path", p.path);
        json_put_double(w, "value", p.value);
        json_put_double(w, "start", p.start);
        json_put_bool(w, "held", p.held);
        json_put_bool(w, "at_bound", p.at_bound);
        json_put_text(w, "tag", p.tag);
        if (intervals) {
            json_put_double(w, "low", p.low);
            json_put_double(w, "high", p.high);
            json_put_bool(w, "undetermined", p.undetermined);
        }
        json_end(w);
    }
    json_end(w);
}

static void put_orders(json_writer *w, const lth_gp_report *r) {
    json_begin_list(w, "orders");
    for (size_t i = 0; i < r->orders; ++i) {
        json_begin_object(w, NULL);
        json_put_count(w, "order", i + 1);
        json_put_double(w, "nu", r->nu[i]);
        json_put_double(w, "share", r->order_share[i]);
        json_end(w);
    }
    json_end(w);
}

static int put_symbols(json_writer *w, const lth_gp *gp) {
    size_t count = symbol_count(gp);
    if (count == 0) return EXIT_DONE;
    lth_gp_symbol *symbols = sorted_symbols(gp, count);
    if (!symbols) return out_of_memory();
    json_begin_list(w, "symbols");
    for (const lth_gp_symbol *s = symbols; s < symbols + count; ++s) {
        json_begin_object(w, NULL);
        json_put_text(w, "symbol", s->symbol);
        json_put_text(w, "kernel", s->kernel);
        json_put_double(w, "decay", s->decay);
        json_put_double(w, "alpha", s->alpha);
        json_put_count(w, "nodes", s->count);
        json_end(w);
    }
    json_end(w);
    free(symbols);
    return EXIT_DONE;
}

static void put_quality(json_writer *w, const lth_gp_report *r) {
    json_put_double(w, "noise", r->noise);
    if (!r->loo) return;
    json_begin_object(w, "leave_one_out");
    json_put_count(w, "n", r->loo->count);
    json_put_double(w, "nlpd", r->loo->nlpd);
    json_put_double(w, "mae", r->loo->mae);
    json_put_double(w, "rmse", r->loo->rmse);
    json_put_double(w, "r", r->loo->r);
    json_put_double(w, "r2", r->loo->r2);
    json_put_double(w, "coverage", r->loo->coverage);
    json_end(w);
}

static void put_posterior(json_writer *w, const lth_gp_report *r) {
    json_put_text(w, "posterior", posterior_name(r->posterior));
    json_put_count(w, "learned_rows", r->learned_rows);
    if (r->draws > 0) {
        json_put_count(w, "draws", r->draws);
        json_put_double(w, "effective_draws", r->effective_draws);
    }
    if (r->posterior == LTH_POSTERIOR_CG) {
        json_put_count(w, "cg_steps", r->cg_steps);
        json_put_double(w, "cg_residual", r->cg_residual);
        json_put_double(w, "evidence_error", r->evidence_error);
    }
    if (r->posterior == LTH_POSTERIOR_INDUCING) {
        json_put_count(w, "inducing", r->inducing);
        json_put_double(w, "variance_left", r->trace_left);
        json_put_double(w, "variance_left_to_noise", r->left_to_noise);
    }
}

static void put_likelihood(json_writer *w, const lth_gp *gp) {
    const double *grades;
    size_t count = lth_gp_grades(gp, &grades);
    json_put_text(w, "likelihood", likelihood_of(gp));
    if (lth_gp_warp(gp)) json_put_text(w, "warp", lth_gp_warp(gp));
    if (lth_gp_exposure(gp)) json_put_text(w, "exposure", lth_gp_exposure(gp));
    if (lth_gp_point(gp) == LTH_POINT_MEDIAN) json_put_text(w, "point", "median");
    if (count == 0) return;
    json_begin_list(w, "grades");
    for (size_t i = 0; i < count; ++i) json_put_double(w, NULL, grades[i]);
    json_end(w);
}

static void put_classes(json_writer *w, const lth_gp *gp) {
    const lth_gp_report *r = lth_gp_reported(gp);
    json_put_bool(w, "multi_label", lth_gp_is_multi_label(gp));
    if (r->sharpness > 0) {
        json_put_double(w, "sharpness", r->sharpness);
        json_put_double(w, "left_out_log_loss", r->left_out_loss);
        json_put_double(w, "left_out_log_loss_plain", r->left_out_loss_plain);
    }
    json_begin_list(w, "classes");
    for (size_t i = 0; i < lth_gp_classes(gp); ++i) {
        lth_class_rows c = *lth_gp_class(gp, i);
        json_begin_object(w, NULL);
        json_put_text(w, "name", c.name);
        json_put_count(w, "rows", c.rows);
        json_end(w);
    }
    json_end(w);
}

static int put_gp(json_writer *w, lth_model *m) {
    const lth_gp *gp = lth_model_gp(m);
    lth_gp_report r = *lth_gp_reported(gp);
    put_params(w, gp);
    put_orders(w, &r);
    int code = put_symbols(w, gp);
    if (!code) code = json_put_trend(w, m);
    json_put_count(w, "rows", r.rows);
    put_posterior(w, &r);
    json_put_double(w, "log_evidence", r.evidence);
    put_likelihood(w, gp);
    if (lth_gp_classes(gp) > 0)
        put_classes(w, gp);
    else
        put_quality(w, &r);
    json_put_double(w, "jitter", r.jitter);
    json_put_count(w, "starts", r.starts);
    json_put_count(w, "iterations", r.iterations);
    json_put_count(w, "evaluations", r.evaluations);
    json_put_double(w, "seconds", r.seconds);
    json_put_bool(w, "converged", r.converged);
    json_put_bool(w, "interrupted", r.interrupted);
    return code;
}

/* ---- Both kinds ---- */

static const char *const keep_names[] = {"used", "none", "all"};

static void put_vectors(json_writer *w, const lth_vectors_origin *o) {
    if (!o) return;
    json_begin_object(w, "vectors");
    json_put_text(w, "file", o->name);
    json_put_count(w, "words", o->words);
    json_put_count(w, "dimension", o->dimension);
    json_put_text(w, "kept", keep_names[o->keep]);
    json_end(w);
}

static void print_vectors(const lth_vectors_origin *o) {
    if (!o) return;
    printf("vectors\t");
    print_visible(*o->name ? o->name : "from memory");
    printf(", %zu words of %zu numbers; %s kept\n", o->words, o->dimension, keep_names[o->keep]);
}

static int print_json(lth_model *m, const char *kernel) {
    int code = EXIT_DONE;
    json_writer w = {.to = stdout};
    json_begin_result(&w, NULL);
    json_put_text(&w, "model", lth_model_svm(m) ? "svm" : "gp");
    json_put_text(&w, "kernel", kernel);
    json_begin_list(&w, "targets");
    for (size_t i = 0; i < lth_model_targets(m); ++i)
        json_put_text(&w, NULL, lth_model_target(m, i));
    json_end(&w);
    if (lth_model_svm(m))
        json_put_svm(&w, lth_model_svm(m));
    else
        code = put_gp(&w, m);
    put_vectors(&w, lth_model_vectors_origin(m));
    json_end(&w);
    return code;
}

static int print_text(lth_model *m, const char *kernel) {
    print_visible(kernel);
    putchar('\n');
    print_vectors(lth_model_vectors_origin(m));
    if (lth_model_gp(m)) return print_gp(m);
    print_svm(lth_model_svm(m));
    return EXIT_DONE;
}

int print_model(lth_model *m, bool json) {
    char *kernel = kernel_text(lth_model_kernel(m));
    if (!kernel) return out_of_memory();
    int code = json ? print_json(m, kernel) : print_text(m, kernel);
    free(kernel);
    return code;
}

int run_show(const options *o) {
    session s;
    lth_model *m = NULL;
    int code = session_open(&s, o);
    if (!code) code = session_load_model(&s, o->arguments[0], &m);
    if (!code) code = print_model(m, o->json);
    free_model(m);
    session_close(&s);
    return code;
}
