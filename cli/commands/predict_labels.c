/* Labels and their probabilities, or a number, for each row of a table. */
#include "commands/predict_labels.h"

#include <stdlib.h>
#include <string.h>

#include "output.h"

typedef struct job {
    session *session;
    const options *options;
    lth_svm *svm; /* one of them */
    lth_gp *gp;
    const lth_table *table;
    size_t rows, classes; /* no classes: numbers */
    lth_svm_prediction to;
    text_file out;
} job;

static int allocate(job *j, bool probability) {
    session *s = j->session;
    const char *what = "the prediction";
    if (j->classes == 0) return session_allocate(s, what, 1, j->rows, 1, &j->to.value);
    j->to.has = calloc(j->rows * j->classes, sizeof *j->to.has);
    if (!j->to.has) return out_of_memory();
    if (!probability) return EXIT_DONE;
    return session_allocate(s, what, 1, j->rows, j->classes, &j->to.probability);
}

/* The most probable label, or for several labels a row those that are more probable than not. */
static void decide(job *j) {
    bool several = lth_gp_is_multi_label(j->gp);
    for (size_t i = 0; i < j->rows; ++i) {
        const double *p = j->to.probability + i * j->classes;
        bool *has = j->to.has + i * j->classes;
        size_t best = 0;
        for (size_t c = 0; c < j->classes; ++c) {
            has[c] = several && p[c] > 0.5;
            if (p[c] > p[best]) best = c;
        }
        if (!several) has[best] = true;
    }
}

static lth_status predict_by_svm(job *j, lth_error *err) {
    lth_status status = lth_svm_use_vectors(j->svm, j->options->vectors, err);
    return status == LTH_OK ? lth_svm_predict(j->svm, j->table, &j->to, sizeof j->to, err) : status;
}

static lth_status predict_by_gp(job *j, lth_error *err) {
    lth_status status = lth_gp_use_vectors(j->gp, j->options->vectors, err);
    if (status == LTH_OK) status = lth_gp_classify(j->gp, j->table, j->to.probability, err);
    if (status == LTH_OK) decide(j);
    return status;
}

static int predict(job *j) {
    lth_error err = {0};
    double start = seconds_now();
    lth_status status = j->svm ? predict_by_svm(j, &err) : predict_by_gp(j, &err);
    if (status == LTH_EFORMAT)
        return session_fail_input(j->session, &err, j->options->arguments[1]);
    if (status != LTH_OK) return session_fail(j->session, &err);
    session_note(j->session, "%zu rows, %.3g s", j->rows, seconds_now() - start);
    return session_check_interrupt(j->session);
}

/* ---- Printing ---- */

static const char *class_name(const job *j, size_t i) {
    return j->svm ? lth_svm_class_at(j->svm, i)->name : lth_gp_class(j->gp, i)->name;
}

/* The labels of a row, separated by commas, freed with free(). */
static char *labels_of(const job *j, size_t row) {
    size_t classes = j->classes, size = 1;
    const bool *has = j->to.has + row * classes;
    for (size_t c = 0; c < classes; ++c) size += has[c] ? strlen(class_name(j, c)) + 1 : 0;
    char *text = calloc(size, 1), *end = text;
    for (size_t c = 0; text && c < classes; ++c) {
        if (!has[c]) continue;
        if (end > text) *end++ = ',';
        end = stpcpy(end, class_name(j, c));
    }
    return text;
}

static void write_header(const job *j) {
    FILE *to = j->out.stream;
    fputs(j->classes == 0 ? "row\tmean" : "row\tlabel", to);
    for (size_t c = 0; j->to.probability && c < j->classes; ++c)
        fprintf(to, "\tp[%s]", class_name(j, c));
    putc('\n', to);
}

static int write_row(const job *j, size_t row) {
    FILE *to = j->out.stream;
    fprintf(to, "%zu\t", lth_table_number(j->table, row));
    if (j->classes == 0) {
        write_tsv_double(to, j->to.value[row]);
    } else {
        char *labels = labels_of(j, row);
        if (!labels) return out_of_memory();
        fputs(labels, to);
        free(labels);
    }
    for (size_t c = 0; j->to.probability && c < j->classes; ++c) {
        putc('\t', to);
        write_tsv_double(to, j->to.probability[row * j->classes + c]);
    }
    putc('\n', to);
    return EXIT_DONE;
}

static int write_json_row(const job *j, size_t row) {
    FILE *to = j->out.stream;
    fprintf(to, "{\"schema\":1,\"row\":%zu,", lth_table_number(j->table, row));
    if (j->classes == 0) {
        fputs("\"mean\":", to);
        write_json_double(to, j->to.value[row]);
    } else {
        char *labels = labels_of(j, row);
        if (!labels) return out_of_memory();
        fputs("\"label\":", to);
        write_json_string(to, labels);
        free(labels);
    }
    for (size_t c = 0; j->to.probability && c < j->classes; ++c) {
        char name[strlen(class_name(j, c)) + 4];
        snprintf(name, sizeof name, "p[%s]", class_name(j, c));
        putc(',', to);
        write_json_string(to, name);
        putc(':', to);
        write_json_double(to, j->to.probability[row * j->classes + c]);
    }
    fputs("}\n", to);
    return EXIT_DONE;
}

static int write_all(job *j) {
    bool json = j->options->json;
    hold_interrupts();
    int code = text_open(&j->out, j->options->output);
    if (!code) {
        if (!json) write_header(j);
        for (size_t i = 0; i < j->rows && !code; ++i)
            code = json ? write_json_row(j, i) : write_row(j, i);
        int closed = text_close(&j->out, !code);
        if (!code) code = closed;
    }
    release_interrupts();
    return code;
}

static int run(job *j, bool probability) {
    int code = allocate(j, probability);
    if (!code) code = predict(j);
    if (!code) code = write_all(j);
    free(j->to.value);
    free(j->to.has);
    free(j->to.probability);
    return code;
}

int predict_svm(session *s, lth_svm *svm, const lth_table *table) {
    lth_svm_report report = *lth_svm_reported(svm);
    job j = {.session = s,
             .options = s->options,
             .svm = svm,
             .table = table,
             .rows = lth_table_rows(table),
             .classes = report.classes};
    if (j.options->latent)
        return usage_error(j.options->command, "--latent is for Gaussian processes");
    return run(&j, report.probability);
}

int predict_classes(session *s, lth_gp *gp, const lth_table *table) {
    job j = {.session = s,
             .options = s->options,
             .gp = gp,
             .table = table,
             .rows = lth_table_rows(table),
             .classes = lth_gp_classes(gp)};
    if (j.options->latent)
        return usage_error(j.options->command, "--latent is for numbers, but the model has labels");
    return run(&j, true);
}
