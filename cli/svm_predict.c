/* Predictions of a support vector machine: a number, or labels and their probabilities. */
#include "svm_predict.h"

#include <stdlib.h>
#include <string.h>

#include "output.h"

typedef struct job {
    session *session;
    const options *options;
    lth_svm *svm;
    lth_svm_report report;
    const lth_table *table;
    size_t rows;
    lth_svm_prediction to;
    text_file out;
} job;

static int allocate(job *j) {
    session *s = j->session;
    const char *what = "the prediction";
    size_t classes = j->report.classes;
    if (j->report.regression) return session_allocate(s, what, 1, j->rows, 1, &j->to.value);
    j->to.has = calloc(j->rows * classes, sizeof *j->to.has);
    if (!j->to.has) return out_of_memory();
    if (!j->report.probability) return EXIT_DONE;
    return session_allocate(s, what, 1, j->rows, classes, &j->to.probability);
}

static int predict(job *j, const lth_table *table) {
    lth_error err = {0};
    double start = seconds_now();
    lth_status status = lth_svm_use_vectors(j->svm, j->options->vectors, &err);
    if (status == LTH_OK) status = lth_svm_predict(j->svm, table, &j->to, &err);
    if (status == LTH_EFORMAT)
        return session_fail_input(j->session, &err, j->options->arguments[1]);
    if (status != LTH_OK) return session_fail(j->session, &err);
    session_note(j->session, "%zu rows, %.3g s", j->rows, seconds_now() - start);
    return session_check_interrupt(j->session);
}

/* ---- Printing ---- */

static const char *class_name(const job *j, size_t i) {
    return lth_svm_class_at(j->svm, i).name;
}

/* The labels of a row, separated by commas, freed with free(). */
static char *labels_of(const job *j, size_t row) {
    size_t classes = j->report.classes, size = 1;
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
    fputs(j->report.regression ? "row\tmean" : "row\tlabel", to);
    for (size_t c = 0; j->to.probability && c < j->report.classes; ++c)
        fprintf(to, "\tp[%s]", class_name(j, c));
    putc('\n', to);
}

static int write_row(const job *j, size_t row) {
    FILE *to = j->out.stream;
    fprintf(to, "%zu\t", lth_table_number(j->table, row));
    if (j->report.regression) {
        write_tsv_double(to, j->to.value[row]);
    } else {
        char *labels = labels_of(j, row);
        if (!labels) return out_of_memory();
        fputs(labels, to);
        free(labels);
    }
    for (size_t c = 0; j->to.probability && c < j->report.classes; ++c) {
        putc('\t', to);
        write_tsv_double(to, j->to.probability[row * j->report.classes + c]);
    }
    putc('\n', to);
    return EXIT_DONE;
}

static int write_json_row(const job *j, size_t row) {
    FILE *to = j->out.stream;
    fprintf(to, "{\"schema\":1,\"row\":%zu,", lth_table_number(j->table, row));
    if (j->report.regression) {
        fputs("\"mean\":", to);
        write_json_double(to, j->to.value[row]);
    } else {
        char *labels = labels_of(j, row);
        if (!labels) return out_of_memory();
        fputs("\"label\":", to);
        write_json_string(to, labels);
        free(labels);
    }
    for (size_t c = 0; j->to.probability && c < j->report.classes; ++c) {
        char name[strlen(class_name(j, c)) + 4];
        snprintf(name, sizeof name, "p[%s]", class_name(j, c));
        putc(',', to);
        write_json_string(to, name);
        putc(':', to);
        write_json_double(to, j->to.probability[row * j->report.classes + c]);
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

int predict_svm(session *s, lth_svm *svm, const lth_table *table) {
    job j = {.session = s,
             .options = s->options,
             .svm = svm,
             .report = lth_svm_reported(svm),
             .table = table,
             .rows = lth_table_rows(table)};
    if (j.options->latent)
        return usage_error(j.options->command, "--latent is for Gaussian processes");
    int code = allocate(&j);
    if (!code) code = predict(&j, table);
    if (!code) code = write_all(&j);
    free(j.to.value);
    free(j.to.has);
    free(j.to.probability);
    return code;
}
