/* luthier compare: models side by side on the same rows, with what their figures differ by. Each
 * model reads the table by itself, since each has columns of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/predict_score.h"
#include "output.h"

enum { SLICE = 8192, SLICE_WITH_VECTORS = 1 << 20 };

typedef struct job {
    session session;
    const options *options;
    size_t models;
    lth_model **model;
    score *score;
    const char *table;
    json_writer json;
} job;

static const char *path_of(const job *j, size_t model) {
    return j->options->arguments[model];
}

static int check_usage(const options *o) {
    for (size_t i = 0; i < o->argument_count; ++i)
        if (strcmp(o->arguments[i], "-") == 0)
            return usage_error(o->command, "compare reads TABLE once for each model: give files, "
                                           "not standard input");
    if (o->resamples == 0) return usage_error(o->command, "--resamples wants at least 1");
    return EXIT_DONE;
}

/* ---- Models that can be compared ---- */

static int refuse(job *j, size_t model, const char *why, const char *here, const char *there) {
    lth_error err = {.status = LTH_EFORMAT};
    snprintf(err.message, sizeof err.message, why, here, there, path_of(j, 0));
    return session_fail_input(&j->session, &err, path_of(j, model));
}

static int check_targets(job *j, size_t model) {
    lth_model *a = j->model[0], *b = j->model[model];
    size_t count = lth_model_targets(a);
    for (size_t t = 0; t < count || t < lth_model_targets(b); ++t) {
        const char *here = t < lth_model_targets(b) ? lth_model_target(b, t) : "nothing more";
        const char *there = t < count ? lth_model_target(a, t) : "nothing more";
        if (strcmp(here, there) != 0)
            return refuse(j, model, "it predicts %s, and %s is what %s predicts", here, there);
    }
    return EXIT_DONE;
}

static int check_classes(job *j, size_t model) {
    lth_model *a = j->model[0], *b = j->model[model];
    size_t here = lth_model_classes(b), there = lth_model_classes(a);
    if ((here > 0) != (there > 0))
        return refuse(j, model, "it is for %s, and for %s is %s", here ? "labels" : "numbers",
                      there ? "labels" : "numbers");
    if (here > 0 && lth_model_is_multi_label(a) != lth_model_is_multi_label(b))
        return refuse(j, model, "its rows have %s, and %s have those of %s",
                      lth_model_is_multi_label(b) ? "several labels" : "one label",
                      lth_model_is_multi_label(a) ? "several" : "one");
    for (size_t c = 0; c < here || c < there; ++c) {
        const char *of_b = c < here ? lth_model_class(b, c) : "nothing more";
        const char *of_a = c < there ? lth_model_class(a, c) : "nothing more";
        if (strcmp(of_a, of_b) != 0)
            return refuse(j, model, "its classes are others: it has %s where %s is in %s", of_b,
                          of_a);
    }
    return EXIT_DONE;
}

static int load_models(job *j) {
    int code = EXIT_DONE;
    for (size_t m = 0; m < j->models && !code; ++m) {
        code = session_load_model(&j->session, path_of(j, m), &j->model[m]);
        if (!code) code = session_use_vectors(&j->session, j->model[m]);
        if (!code && m > 0) code = check_targets(j, m);
        if (!code && m > 0) code = check_classes(j, m);
    }
    return code;
}

/* ---- Predictions ---- */

static int take_slices(job *j, score *of, row_source *rows) {
    lth_model *model = of->model;
    bool vectors = j->options->vectors && lth_kernel_needs_vectors(lth_model_kernel(model));
    int code = EXIT_DONE;
    for (bool more = true; more && !code;) {
        lth_table *slice = NULL;
        prediction p = {0};
        code = session_next_rows(&j->session, rows, vectors ? SLICE_WITH_VECTORS : SLICE, &slice);
        more = !code && slice;
        if (more) code = score_take(of, slice, &p);
        prediction_free(&p);
        lth_table_free(slice);
    }
    return code;
}

static int predict(job *j, size_t m) {
    lth_model *model = j->model[m];
    const char *room[1], *columns[1 + lth_model_targets(model)];
    list own = model_columns(model, room), more = {columns, own.count};
    list tables = tables_from(j->options, j->models);
    row_source rows = {0};
    memcpy(columns, own.at, own.count * sizeof *columns);
    score_columns(model, &more);
    j->score[m] = (score){.session = &j->session, .model = model, .path = j->table};
    int code = session_open_rows(&j->session, &tables, lth_model_kernel(model), &more, &rows);
    if (!code) code = take_slices(j, &j->score[m], &rows);
    close_rows(&rows);
    return code;
}

/* ---- Figures ---- */

static void print_line(const job *j, size_t target, size_t model, const lth_compared *c) {
    print_visible(lth_model_target(j->model[0], target));
    printf("\t%s\t%s\t", c->name, c->better);
    print_visible(path_of(j, model));
    print_number_cell(c->value);
    const double rest[] = {c->difference, c->lower, c->upper, c->first_better, c->p};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; ++i)
        print_number_cell(model == 0 ? NAN : rest[i]);
    putchar('\n');
}

static void put_model(job *j, size_t model, const lth_compared *c) {
    json_writer *w = &j->json;
    json_begin_object(w, NULL);
    json_put_text(w, "model", path_of(j, model));
    json_put_double(w, "value", c->value);
    if (model > 0) {
        json_put_double(w, "difference", c->difference);
        json_put_double(w, "lower", c->lower);
        json_put_double(w, "upper", c->upper);
        json_put_double(w, "first_better", c->first_better);
        json_put_double(w, "p", c->p);
        json_put_count(w, "resamples", c->resamples);
    }
    json_end(w);
}

/* Whether any model has it. */
static bool is_known(const job *j, const lth_comparison *c, size_t figure) {
    bool known = false;
    for (size_t m = 0; m < j->models; ++m) known |= !isnan(lth_comparison_at(c, m, figure)->value);
    return known;
}

static void print_comparison(job *j, size_t target, size_t rows, const lth_comparison *c) {
    json_writer *w = &j->json;
    bool json = j->options->json;
    if (json) {
        json_begin_object(w, lth_model_target(j->model[0], target));
        json_put_count(w, "n", rows);
        json_begin_object(w, "figures");
    } else if (target == 0) {
        printf("target\tfigure\tbetter\tmodel\tvalue\tdifference\tlower\tupper\tfirst_better\tp\n");
    }
    for (size_t k = 0; k < lth_comparison_figures(c); ++k) {
        if (!is_known(j, c, k)) continue;
        if (json) {
            json_begin_object(w, lth_comparison_at(c, 0, k)->name);
            json_put_text(w, "better", lth_comparison_at(c, 0, k)->better);
            json_begin_list(w, "models");
        }
        for (size_t m = 0; m < j->models; ++m) {
            const lth_compared *of = lth_comparison_at(c, m, k);
            json ? put_model(j, m, of) : print_line(j, target, m, of);
        }
        if (json) json_end(w), json_end(w);
    }
    if (json) json_end(w), json_end(w);
}

static lth_compare_options options_of(const job *j) {
    lth_compare_options o;
    lth_compare_options_init(&o);
    o.seed = j->options->seed;
    if (j->options->resamples != NOT_GIVEN) o.resamples = (size_t)j->options->resamples;
    return o;
}

static lth_status compare_numbers(job *j, size_t target, size_t *rows, lth_comparison **out,
                                  lth_error *err) {
    lth_compare_options o = options_of(j);
    lth_gp_prediction of[j->models];
    const lth_gp_prediction *from[j->models];
    for (size_t m = 0; m < j->models; ++m) {
        *rows = score_numbers(&j->score[m], target, &of[m]);
        from[m] = &of[m];
    }
    return lth_compare_numbers(j->session.ctx, from, sizeof *of, j->models, *rows, &o, out, err);
}

static lth_status compare_labels(job *j, size_t *rows, lth_comparison **out, lth_error *err) {
    lth_compare_options o = options_of(j);
    lth_label_prediction of[j->models];
    const lth_label_prediction *from[j->models];
    size_t known = lth_model_classes(j->model[0]), classes = known;
    const char *names[known];
    for (size_t c = 0; c < known; ++c) names[c] = lth_model_class(j->model[0], c);
    for (size_t m = 0; m < j->models; ++m) {
        classes = score_labels(&j->score[m], &of[m]);
        from[m] = &of[m];
    }
    *rows = j->score[0].rows;
    return lth_compare_labels(j->session.ctx, j->score[0].truth, from, sizeof *of, j->models,
                              classes > known ? NULL : names, *rows, classes,
                              lth_model_is_multi_label(j->model[0]), &o, out, err);
}

static int compare(job *j) {
    bool labels = lth_model_classes(j->model[0]) > 0;
    int code = EXIT_DONE;
    j->json = (json_writer){.to = stdout};
    for (size_t t = 0; t < lth_model_targets(j->model[0]) && !code; ++t) {
        lth_error err = {0};
        lth_comparison *c = NULL;
        size_t rows = 0;
        lth_status status =
            labels ? compare_labels(j, &rows, &c, &err) : compare_numbers(j, t, &rows, &c, &err);
        if (status != LTH_OK) {
            if (status == LTH_EARG) err.status = LTH_EFORMAT; /* too few rows */
            code = session_fail_input(&j->session, &err, j->table);
        } else {
            if (t == 0 && j->options->json) {
                json_begin_result(&j->json, NULL);
                json_begin_object(&j->json, "targets");
            }
            print_comparison(j, t, rows, c);
        }
        lth_comparison_free(c);
    }
    if (!code && j->options->json) json_end(&j->json), json_end(&j->json);
    return code;
}

static int run_job(job *j) {
    int code = load_models(j);
    for (size_t m = 0; m < j->models && !code; ++m) code = predict(j, m);
    for (size_t m = 1; m < j->models && !code; ++m)
        if (j->score[m].rows != j->score[0].rows)
            code = refuse(j, m, "it predicts other rows of the table than the first model%s%s", "",
                          "");
    return code ? code : compare(j);
}

int run_compare(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o,
             .models = o->argument_count - 1,
             .table = o->arguments[o->argument_count - 1]};
    j.model = calloc(j.models, sizeof *j.model);
    j.score = calloc(j.models, sizeof *j.score);
    if (!j.model || !j.score) code = out_of_memory();
    if (!code) code = session_open(&j.session, o);
    if (!code) code = run_job(&j);
    for (size_t m = 0; m < j.models && j.model && j.score; ++m) {
        score_free(&j.score[m]);
        lth_model_free(j.model[m]);
    }
    if (j.session.options) session_close(&j.session);
    free(j.model);
    free(j.score);
    return code;
}
