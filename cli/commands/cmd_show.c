/* luthier show: what a model has learned, and how. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "output.h"

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

/* The i-th hyperparameter of the kernel, and after the last one the noise or the scale. */
static lth_gp_param param_at(const lth_gp *gp, size_t i) {
    return *lth_gp_param_at(gp, i < lth_kernel_params(lth_gp_kernel(gp)) ? i : LTH_NONE);
}

static size_t param_count(const lth_gp *gp) {
    return lth_kernel_params(lth_gp_kernel(gp)) + 1;
}

static const char *likelihood_of(const lth_gp *gp) {
    return lth_gp_likelihood(gp) == LTH_PROBIT ? "probit" : "logit";
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

static void print_params(const lth_gp *gp) {
    printf("\nparameter\tvalue\tstart\tstate\n");
    for (size_t i = 0; i < param_count(gp); ++i) {
        lth_gp_param p = param_at(gp, i);
        fputs(p.path, stdout);
        print_cell(p.value);
        print_cell(p.start);
        printf("\t%s", p.held ? "held" : "learned");
        if (p.tag) printf(", tied $%s", p.tag);
        if (p.at_bound) printf(", at bound");
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
        printf("%s\t%s", s->symbol, s->kernel);
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

static void print_training(const lth_gp *gp, const lth_gp_report *r) {
    printf("\nlearning\tvalue\n");
    for (size_t i = 0; i < lth_gp_targets(gp); ++i) printf("target\t%s\n", lth_gp_target(gp, i));
    printf("rows\t%zu\n", r->rows);
    print_figure("log evidence", r->evidence);
    if (lth_gp_classes(gp) > 0) {
        printf("likelihood\t%s\nlabels\t%s\n", likelihood_of(gp),
               lth_gp_is_multi_label(gp) ? "several a row" : "one a row");
    } else {
        print_figure("noise", r->noise);
        print_figure("leave-one-out r", r->loo->r);
        print_figure("leave-one-out nlpd", r->loo->nlpd);
        print_figure("leave-one-out coverage", r->loo->coverage);
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
        printf("%s\t%zu\n", c.name, c.rows);
    }
}

static int print_text(const lth_gp *gp) {
    lth_gp_report r = *lth_gp_reported(gp);
    char *kernel = kernel_text(lth_gp_kernel(gp));
    if (!kernel) return out_of_memory();
    puts(kernel);
    free(kernel);
    print_params(gp);
    print_orders(&r);
    int code = print_symbols(gp);
    if (code) return code;
    print_training(gp, &r);
    print_classes(gp);
    return EXIT_DONE;
}

/* ---- JSON ---- */

static void print_json_figure(const char *name, double value) {
    printf(",\"%s\":", name);
    print_json_double(value);
}

static void print_json_param(const lth_gp_param *p) {
    printf("{\"path\":");
    print_json_string(p->path);
    print_json_figure("value", p->value);
    print_json_figure("start", p->start);
    printf(",\"held\":%s,\"at_bound\":%s,\"tag\":", p->held ? "true" : "false",
           p->at_bound ? "true" : "false");
    if (p->tag)
        print_json_string(p->tag);
    else
        printf("null");
    putchar('}');
}

static int print_json_symbols(const lth_gp *gp) {
    size_t count = symbol_count(gp);
    lth_gp_symbol *symbols = sorted_symbols(gp, count);
    if (!symbols) return out_of_memory();
    printf(",\"symbols\":[");
    for (const lth_gp_symbol *s = symbols; s < symbols + count; ++s) {
        printf("%s{\"symbol\":", s == symbols ? "" : ",");
        print_json_string(s->symbol);
        printf(",\"kernel\":");
        print_json_string(s->kernel);
        print_json_figure("decay", s->decay);
        print_json_figure("alpha", s->alpha);
        printf(",\"nodes\":%zu}", s->count);
    }
    putchar(']');
    free(symbols);
    return EXIT_DONE;
}

static void print_json_lists(const lth_gp *gp, const lth_gp_report *r) {
    printf(",\"targets\":[");
    for (size_t i = 0; i < lth_gp_targets(gp); ++i) {
        if (i) putchar(',');
        print_json_string(lth_gp_target(gp, i));
    }
    printf("],\"parameters\":[");
    for (size_t i = 0; i < param_count(gp); ++i) {
        lth_gp_param p = param_at(gp, i);
        if (i) putchar(',');
        print_json_param(&p);
    }
    printf("],\"orders\":[");
    for (size_t i = 0; i < r->orders; ++i) {
        printf("%s{\"order\":%zu", i ? "," : "", i + 1);
        print_json_figure("nu", r->nu[i]);
        print_json_figure("share", r->order_share[i]);
        putchar('}');
    }
    putchar(']');
}

static void print_json_quality(const lth_gp_report *r) {
    print_json_figure("noise", r->noise);
    printf(",\"leave_one_out\":{\"n\":%zu", r->loo->count);
    print_json_figure("nlpd", r->loo->nlpd);
    print_json_figure("mae", r->loo->mae);
    print_json_figure("rmse", r->loo->rmse);
    print_json_figure("r", r->loo->r);
    print_json_figure("r2", r->loo->r2);
    print_json_figure("coverage", r->loo->coverage);
    putchar('}');
}

static void print_json_classes(const lth_gp *gp) {
    printf(",\"likelihood\":\"%s\",\"multi_label\":%s,\"classes\":[", likelihood_of(gp),
           lth_gp_is_multi_label(gp) ? "true" : "false");
    for (size_t i = 0; i < lth_gp_classes(gp); ++i) {
        lth_class_rows c = *lth_gp_class(gp, i);
        printf("%s{\"name\":", i ? "," : "");
        print_json_string(c.name);
        printf(",\"rows\":%zu}", c.rows);
    }
    putchar(']');
}

int print_model_json(const lth_gp *gp) {
    lth_gp_report r = *lth_gp_reported(gp);
    char *kernel = kernel_text(lth_gp_kernel(gp));
    if (!kernel) return out_of_memory();
    printf("{\"schema\":1,\"model\":\"gp\",\"kernel\":");
    print_json_string(kernel);
    free(kernel);
    print_json_lists(gp, &r);
    int code = symbol_count(gp) ? print_json_symbols(gp) : EXIT_DONE;
    if (code) return code;
    printf(",\"rows\":%zu", r.rows);
    print_json_figure("log_evidence", r.evidence);
    if (lth_gp_classes(gp) > 0)
        print_json_classes(gp);
    else
        print_json_quality(&r);
    print_json_figure("jitter", r.jitter);
    printf(",\"starts\":%zu,\"iterations\":%zu,\"evaluations\":%zu", r.starts, r.iterations,
           r.evaluations);
    print_json_figure("seconds", r.seconds);
    printf(",\"converged\":%s,\"interrupted\":%s}\n", r.converged ? "true" : "false",
           r.interrupted ? "true" : "false");
    return EXIT_DONE;
}

static int print_gp(const lth_gp *gp, bool json) {
    return json ? print_model_json(gp) : print_text(gp);
}

static int print_svm(const lth_svm *svm, bool json) {
    return json ? print_svm_json(svm) : print_svm_text(svm);
}

int run_show(const options *o) {
    session s;
    model m = {0};
    int code = session_open(&s, o);
    if (!code) code = session_load_model(&s, o->arguments[0], &m);
    if (!code) code = m.svm ? print_svm(m.svm, o->json) : print_gp(m.gp, o->json);
    model_free(&m);
    session_close(&s);
    return code;
}
