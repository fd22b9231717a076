/* luthier demo: the whole story on reviews that the program brings along. Three kernels learn to
 * predict a review's score; the one that sees word sequences with gaps does it best, and is then
 * looked at and asked about new sentences. */
#define _GNU_SOURCE 1 /* memfd_create */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "learning.h"
#include "output.h"
#include "report/report.h"
#include "reviews.h"

#define STRING_KERNEL "ssk(text, units=tokens, order=3)"

enum { FOLDS = 5, CONTENDERS = 3, SENTENCES = 6 };

/* A kernel, how well it predicts reviews that it was not shown, and what it makes of all. */
typedef struct contender {
    const char *name, *sees, *expression;
    lth_metrics judged;
    lth_gp *gp;
} contender;

typedef struct sentence {
    const char *text;
    double mean, sd;
} sentence;

typedef struct demo {
    session session;
    bool tell; /* print the story while it happens; else JSON at the end */
    lth_table *table;
    size_t rows, *fold;
    double learning_seconds;
    contender contenders[CONTENDERS];
    sentence sentences[SENTENCES];
    double pairs, cell_orders; /* per second */
} demo;

static const contender contenders[CONTENDERS] = {
    {"words", "words", "linear(bow(text, units=tokens))", {0}, NULL},
    {"triples", "three words in a row", "linear(ngrams(text, units=tokens, n=3))", {0}, NULL},
    {"sequences", "sequences with gaps", STRING_KERNEL, {0}, NULL},
};

static const char *const sentences[SENTENCES] = {
    "The radio is good, and it is not heavy.",  "It is not heavy, and the radio is good.",
    "It is heavy, and the radio is not good.",  "It is heavy; the radio is not really good.",
    "The radio is not what I would call good.", "Superb picture, splendid sound, top marks!",
};

static contender *best_of(demo *d) {
    return &d->contenders[CONTENDERS - 1];
}

/* ---- Words for people ---- */

static const char *bold = "", *dim = "", *good = "", *plain = "";

static void choose_colours(void) {
    if (!use_colour()) return;
    bold = "\033[1m", dim = "\033[2m", good = "\033[32m", plain = "\033[0m";
}

static void print_heading(const char *text) {
    printf("\n%s%s%s\n\n", bold, text, plain);
}

/* ---- The data ---- */

/* The library reads tables from files; this one never leaves the memory. */
static int read_reviews(demo *d) {
    lth_error err = {0};
    char path[32];
    int file = memfd_create("reviews", MFD_CLOEXEC);
    size_t size = sizeof reviews_tsv - 1;
    bool written = file >= 0 && write(file, reviews_tsv, size) == (ssize_t)size;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    lth_status status = LTH_EIO;
    if (written) status = lth_table_read(d->session.ctx, path, NULL, &d->table, &err);
    if (file >= 0) close(file);
    if (status != LTH_OK) return session_fail(&d->session, &err);
    d->rows = lth_table_rows(d->table);
    return EXIT_DONE;
}

static void print_review(const demo *d, size_t row) {
    size_t score_length, text_length;
    const char *score =
                   lth_table_cell(d->table, row, lth_table_find(d->table, "score"), &score_length),
               *text =
                   lth_table_cell(d->table, row, lth_table_find(d->table, "text"), &text_length);
    printf("  %4.*s   %.*s\n", (int)score_length, score, (int)text_length, text);
}

static void show_reviews(const demo *d) {
    static const size_t shown[] = {0, 8, 1, 9};
    print_heading("1. The data");
    printf("%zu short product reviews with scores from 0 to 10. Whether \"good\" is praise\n"
           "depends on a \"not\" some words before it: words alone do not tell.\n\n",
           d->rows);
    printf("%s score   review%s\n", dim, plain);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; ++i) print_review(d, shown[i]);
}

/* ---- Learning ---- */

static lth_gp_options fit_options(void) {
    lth_gp_options gp_options;
    lth_gp_options_init(&gp_options);
    gp_options.restarts = 0; /* the informed start does well here, and the demo should be short */
    gp_options.step = silent_step;
    return gp_options;
}

static const char *const target = "score";

static lth_status learn(demo *d, contender *c, lth_error *err) {
    lth_gp_options gp_options = fit_options();
    lth_validation *found;
    lth_ctx *ctx = d->session.ctx;
    lth_status status = lth_gp_cv(ctx, c->expression, d->table, &target, 1, d->fold, FOLDS,
                                  &gp_options, &found, err);
    if (status) return status;
    c->judged = *lth_validation_metrics(found, 0, LTH_NONE);
    lth_validation_free(found);
    return lth_gp_fit(ctx, c->expression, d->table, &target, 1, &gp_options, &c->gp, err);
}

static int run_contender(demo *d, contender *c) {
    lth_error err = {0};
    if (d->tell) {
        printf("%s  %-22s", c == best_of(d) ? good : "", c->sees);
        fflush(stdout);
    }
    if (learn(d, c, &err) != LTH_OK) {
        if (d->tell) puts(plain);
        return session_fail(&d->session, &err);
    }
    if (d->tell)
        printf("%6.2f %11.2f %8.2f %14.0f%s\n", c->judged.r, c->judged.mae, c->judged.nlpd,
               lth_gp_reported(c->gp)->evidence, plain);
    return session_check_interrupt(&d->session);
}

static int run_contenders(demo *d) {
    d->fold = calloc(d->rows, sizeof *d->fold);
    if (!d->fold) return out_of_memory();
    lth_folds_shuffled(d->session.options->seed, d->rows, FOLDS, d->fold);
    if (d->tell) {
        print_heading("2. Learning to predict the score");
        printf("A Gaussian process with each kernel, judged on reviews it was not shown\n"
               "(%d-fold cross-validation). What the kernel counts is all that differs.\n\n",
               FOLDS);
        printf("%s  kernel of                  r  mean error     NLPD   log evidence%s\n", dim,
               plain);
    }
    double start = seconds_now();
    d->session.learning = true; /* no bar across the table; silent_step() sees Ctrl-C */
    int code = EXIT_DONE;
    for (size_t i = 0; i < CONTENDERS && !code; ++i) code = run_contender(d, &d->contenders[i]);
    d->session.learning = false;
    d->learning_seconds = seconds_now() - start;
    if (d->tell && !code)
        printf("\n%d models in %.1f s. r: correlation of prediction and score, 1 is perfect.\n"
               "NLPD: how surprising the scores were, less is better; evidence: more is.\n",
               CONTENDERS * (FOLDS + 1), d->learning_seconds);
    return code;
}

/* ---- What was learned ---- */

static double learned_gap(const lth_gp *gp) {
    const lth_kernel *kernel = lth_gp_kernel(gp);
    for (size_t i = 0; i < lth_kernel_params(kernel); ++i) {
        const lth_param *p = lth_kernel_param(kernel, i);
        if (p->argument->role == LTH_ROLE_GAP) return p->value;
    }
    return NAN;
}

static void show_learned(demo *d) {
    static const char *const names[] = {"single words", "pairs", "triples"};
    const lth_gp *gp = best_of(d)->gp;
    lth_gp_report r = *lth_gp_reported(gp);
    print_heading("3. What the string kernel has learned");
    printf("  gap     %5.2f   factor for each word skipped inside a sequence\n", learned_gap(gp));
    for (size_t i = 0; i < r.orders; ++i) {
        int length = (int)lround(30 * r.order_share[i]);
        printf("  order %zu %4.0f%%   %-*s", i + 1, 100 * r.order_share[i], length ? 14 : 0,
               i < sizeof names / sizeof *names ? names[i] : "longer");
        for (int k = 0; k < length; ++k) putchar('#');
        putchar('\n');
    }
    printf("  noise   %5.2f   points, standard deviation (%.2f went into the scores)\n",
           sqrt(r.noise), sqrt(0.5));
}

/* ---- New sentences ---- */

static int predict(demo *d) {
    const char *texts[SENTENCES];
    double mean[SENTENCES], sd[SENTENCES];
    for (size_t i = 0; i < SENTENCES; ++i) texts[i] = sentences[i];
    lth_table *table = NULL;
    lth_error err = {0};
    lth_status status =
        lth_table_from_texts(d->session.ctx, "text", texts, NULL, SENTENCES, &table, &err);
    if (!status) status = lth_gp_predict(best_of(d)->gp, table, false, mean, sd, &err);
    lth_table_free(table);
    if (status) return session_fail(&d->session, &err);
    for (size_t i = 0; i < SENTENCES; ++i)
        d->sentences[i] = (sentence){sentences[i], mean[i], sd[i]};
    return session_check_interrupt(&d->session);
}

/* "[   ---o---   ]" for scores from 0 to 10. */
static void print_interval(const sentence *s) {
    enum { CELLS = 21 };
    double per_point = (CELLS - 1) / 10.0, half = sds_95 * s->sd;
    long lo = lround((s->mean - half) * per_point), hi = lround((s->mean + half) * per_point),
         at = lround(s->mean * per_point);
    putchar('[');
    for (long i = 0; i < CELLS; ++i) putchar(i == at ? 'o' : i >= lo && i <= hi ? '-' : ' ');
    putchar(']');
}

static void show_predictions(const demo *d) {
    print_heading("4. New sentences");
    printf("%s  %-46sscore    0    95%% interval  10%s\n", dim, "", plain);
    for (size_t i = 0; i < SENTENCES; ++i) {
        const sentence *s = &d->sentences[i];
        printf("  %-46s%5.1f   ", s->text, s->mean);
        print_interval(s);
        putchar('\n');
    }
    printf("\nThe last one has words that no review has: its interval is that of a guess.\n");
}

/* ---- Speed ---- */

static lth_status time_gram(const demo *d, lth_ctx *ctx, double *K, double *seconds,
                            double *cell_orders, lth_error *err) {
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    lth_status status = lth_kernel_parse(ctx, STRING_KERNEL, &kernel, err);
    if (!status) status = lth_encoder_create(ctx, kernel, &encoder, err);
    if (!status) status = lth_encode(encoder, d->table, &items, err);
    *seconds = INFINITY;
    for (int i = 0; i < 10 && !status; ++i) { /* the best time of a few is the machine's */
        double start = seconds_now();
        status = lth_gram(kernel, items, NULL, K, d->rows, err);
        *seconds = fmin(*seconds, seconds_now() - start);
    }
    if (!status) *cell_orders = lth_gram_cell_orders(kernel, items, NULL);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    return status;
}

static int measure_speed(demo *d) {
    double *K = NULL, seconds = 1;
    lth_error err = {0};
    int code = session_allocate(&d->session, "the Gram matrix", 1, d->rows, d->rows, &K);
    if (code) return code;
    if (time_gram(d, d->session.ctx, K, &seconds, &d->cell_orders, &err) != LTH_OK)
        code = session_fail(&d->session, &err);
    free(K);
    d->pairs = (double)(d->rows * (d->rows + 1) / 2) / seconds;
    d->cell_orders /= seconds;
    return code ? code : session_check_interrupt(&d->session);
}

static void show_speed(const demo *d) {
    unsigned threads = lth_ctx_threads(d->session.ctx);
    print_heading("5. Speed");
    printf("%u core%s of this machine (%s) compare%s %.1f million pairs of reviews a second;\n"
           "luthier bench shows longer texts.\n",
           threads, threads == 1 ? "" : "s", lth_ctx_isa(d->session.ctx), threads == 1 ? "s" : "",
           1e-6 * d->pairs);
}

/* ---- The page ---- */

/* In the build folder, if the demo runs where one is. */
static const char *page_path(const options *o) {
    struct stat found;
    if (o->output) return o->output;
    bool building = stat("build", &found) == 0 && S_ISDIR(found.st_mode);
    return building ? "build/luthier-demo-report.html" : "luthier-demo-report.html";
}

/* A folder that cannot be written to does not spoil the demo, unless it was asked for. */
static int write_page(demo *d) {
    const options *o = d->session.options;
    const char *path = page_path(o);
    lth_model *best = lth_gp_model(best_of(d)->gp);
    if (d->tell) print_heading("6. All of it on a page");
    fflush(stdout);
    int code = write_report(&d->session, best, "The reviews of luthier demo", NULL, NULL, path);
    if (code && (o->output || was_interrupted())) return code;
    if (!d->tell) return EXIT_DONE;
    fputs(code ? "There is no page: "
               : "What this kernel learned, how well, and why, to open in a browser:\n\n  ",
          stdout);
    print_visible(path);
    puts(code ? " cannot be written." : "");
    return EXIT_DONE;
}

static void show_commands(void) {
    print_heading("7. The same with your own table");
    printf("  K='%s'\n"
           "  luthier cv your.tsv --target score --kernel \"$K\"        %s# how good is it?%s\n"
           "  luthier fit your.tsv --target score --kernel \"$K\" -o m  %s# learn%s\n"
           "  luthier show m                                         %s# what was learned%s\n"
           "  luthier report m -o m.html                             %s# a page about it%s\n"
           "  luthier predict m new.tsv                              %s# with intervals%s\n",
           STRING_KERNEL, dim, plain, dim, plain, dim, plain, dim, plain, dim, plain);
}

/* ---- JSON ---- */

static void put_contender(json_writer *w, const contender *c) {
    json_begin_object(w, c->name);
    json_put_text(w, "kernel", c->expression);
    json_put_double(w, "r", c->judged.r);
    json_put_double(w, "mae", c->judged.mae);
    json_put_double(w, "nlpd", c->judged.nlpd);
    json_put_double(w, "coverage", c->judged.coverage);
    json_put_double(w, "log_evidence", lth_gp_reported(c->gp)->evidence);
    json_end(w);
}

static void put_learned(json_writer *w, const lth_gp *gp) {
    lth_gp_report r = *lth_gp_reported(gp);
    json_begin_object(w, "learned");
    json_put_double(w, "noise", r.noise);
    json_put_double(w, "gap", learned_gap(gp));
    json_begin_list(w, "order_share");
    for (size_t i = 0; i < r.orders; ++i) json_put_double(w, NULL, r.order_share[i]);
    json_end(w);
    json_end(w);
}

static void put_sentences(json_writer *w, const sentence *s) {
    json_begin_list(w, "predictions");
    for (size_t i = 0; i < SENTENCES; ++i) {
        json_begin_object(w, NULL);
        json_put_text(w, "text", s[i].text);
        json_put_double(w, "mean", s[i].mean);
        json_put_double(w, "sd", s[i].sd);
        json_end(w);
    }
    json_end(w);
}

static void print_json(demo *d) {
    json_writer w = {.to = stdout};
    json_begin_result(&w, NULL);
    json_put_count(&w, "reviews", d->rows);
    json_put_count(&w, "folds", FOLDS);
    json_begin_object(&w, "models");
    for (size_t i = 0; i < CONTENDERS; ++i) put_contender(&w, &d->contenders[i]);
    json_end(&w);
    put_learned(&w, best_of(d)->gp);
    put_sentences(&w, d->sentences);
    json_put_double(&w, "learning_s", d->learning_seconds);
    json_put_double(&w, "pairs_per_s", d->pairs);
    json_put_double(&w, "cell_orders_per_s", d->cell_orders);
    json_end(&w);
}

/* ---- The story ---- */

static int tell(demo *d) {
    printf("%sluthier learns from texts by the word sequences they share, with gaps.%s\n", bold,
           plain);
    show_reviews(d);
    int code = run_contenders(d);
    if (code) return code;
    show_learned(d);
    if ((code = predict(d)) != EXIT_DONE) return code;
    show_predictions(d);
    if ((code = measure_speed(d)) != EXIT_DONE) return code;
    show_speed(d);
    if ((code = write_page(d)) != EXIT_DONE) return code;
    show_commands();
    return EXIT_DONE;
}

static int compute(demo *d) {
    int code = run_contenders(d);
    if (!code) code = predict(d);
    if (!code) code = measure_speed(d);
    if (!code && d->session.options->output) code = write_page(d);
    if (!code) print_json(d);
    return code;
}

int run_demo(const options *o) {
    if (o->output && strcmp(o->output, "-") == 0)
        return usage_error(o->command,
                           "the story goes to standard output; give -o a file for the page");
    demo d = {.tell = !o->json};
    memcpy(d.contenders, contenders, sizeof contenders);
    options own = *o;
    if (own.threads == 0) own.threads = 1; /* matrices this small are not worth sharing */
    int code = o->output ? check_output(o->output) : EXIT_DONE;
    if (!code) code = session_open(&d.session, &own);
    if (!code) code = read_reviews(&d);
    if (!code && d.tell) choose_colours();
    if (!code) code = d.tell ? tell(&d) : compute(&d);
    for (size_t i = 0; i < CONTENDERS; ++i) lth_gp_free(d.contenders[i].gp);
    lth_table_free(d.table);
    free(d.fold);
    session_close(&d.session);
    return code;
}
