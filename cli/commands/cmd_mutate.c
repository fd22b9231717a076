/* luthier mutate: what a model expects of every single mutation of a sequence. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"
#include "output.h"
#include "prediction.h"

enum { SLICE = 4096, NAME = 32 };

typedef struct job {
    session session;
    const options *options;
    lth_model *model;
    const char *column; /* that the kernel reads                                */
    char *wild;         /* the sequence                                         */
    bool by_name;       /* cells of the column are mutations, not sequences     */
    long first;         /* the number of its first letter                       */
    const char *letters;
    size_t sites, count; /* rows: the wild type, then those of each site        */
    double *of_wild;     /* by target: what is expected of it                   */
    text_file out;
} job;

static const char amino_acids[] = "ACDEFGHIKLMNPQRSTVWY";

/* ---- The sequence ---- */

static int read_wild(job *j, const char *path) {
    lth_error err = {0};
    lth_table *table = NULL;
    lth_table_options o;
    lth_table_options_init(&o);
    o.format = LTH_TABLE_FASTA;
    if (lth_table_read(j->session.ctx, path, &o, &table, &err) != LTH_OK)
        return session_fail_input(&j->session, &err, path);
    size_t length;
    const char *text = lth_table_cell(table, 0, lth_table_find(table, "sequence"), &length);
    j->wild = calloc(length + 1, 1);
    if (j->wild) memcpy(j->wild, text, length);
    lth_table_free(table);
    return j->wild ? EXIT_DONE : out_of_memory();
}

static int find_wild(job *j) {
    const options *o = j->options;
    const char *own = lth_kernel_wild_type(lth_model_kernel(j->model));
    j->first = lth_kernel_wild_first(lth_model_kernel(j->model));
    j->by_name = own != NULL;
    if (own && (o->wild_type || o->offset))
        return usage_error(o->command, "the model has its wild type; leave --%s out",
                           o->wild_type ? "wild-type" : "offset");
    if (!own && !o->wild_type)
        return usage_error(o->command, "mutate wants --wild-type FILE, a FASTA file with the "
                                       "sequence to mutate");
    int offset, code = parse_offset(o, &offset);
    if (code) return code;
    if (!own) {
        j->first = 1 + offset;
        return read_wild(j, o->wild_type);
    }
    j->wild = strdup(own);
    return j->wild ? EXIT_DONE : out_of_memory();
}

static int find_column(job *j) {
    const lth_kernel *kernel = lth_model_kernel(j->model);
    const char *room[1];
    j->column = lth_kernel_column(kernel, 0);
    bool others = lth_kernel_column(kernel, 1) || model_columns(j->model, room).count > 0;
    if (!others && lth_kernel_column_kind(kernel, 0) == LTH_COLUMN_TEXT) return EXIT_DONE;
    return usage_error(j->options->command,
                       "mutate is for models of one column of sequences; this one reads %s",
                       others ? "several columns" : "numbers");
}

static int count_rows(job *j) {
    j->letters = j->options->letters ? j->options->letters : amino_acids;
    j->sites = strlen(j->wild);
    j->count = 1 + j->sites * strlen(j->letters);
    for (const char *c = j->letters; *c; ++c) {
        if ((unsigned char)*c >= 128 || !isgraph((unsigned char)*c))
            return usage_error(j->options->command, "--letters wants plain letters, such as ACGT");
    }
    return *j->letters ? EXIT_DONE : usage_error(j->options->command, "--letters names none");
}

/* ---- Rows ---- */

/* Row 0 is the wild type; letters come site by site. */
static size_t site_of(const job *j, size_t row) {
    return (row - 1) / strlen(j->letters);
}

static char letter_of(const job *j, size_t row) {
    return j->letters[(row - 1) % strlen(j->letters)];
}

/* The wild type's own letter at a site is no mutation. */
static bool is_none(const job *j, size_t row) {
    return row > 0 && toupper((unsigned char)letter_of(j, row)) ==
                          toupper((unsigned char)j->wild[site_of(j, row)]);
}

static void write_name(const job *j, size_t row, char out[NAME]) {
    if (row == 0)
        strcpy(out, "WT");
    else
        snprintf(out, NAME, "%c%ld%c", toupper((unsigned char)j->wild[site_of(j, row)]),
                 j->first + (long)site_of(j, row), letter_of(j, row));
}

/* Cells side by side, each of `size` bytes with its NUL. */
static void write_cells(const job *j, const size_t *row, size_t count, size_t size, char *cells) {
    for (size_t i = 0; i < count; ++i) {
        char *cell = cells + i * size;
        if (j->by_name) {
            write_name(j, row[i], cell);
            continue;
        }
        memcpy(cell, j->wild, j->sites + 1);
        if (row[i] > 0) cell[site_of(j, row[i])] = letter_of(j, row[i]);
    }
}

static int make_table(job *j, const size_t *row, size_t count, lth_table **out) {
    size_t size = j->by_name ? NAME : j->sites + 1;
    char *cells = calloc(count, size);
    const char **text = calloc(count, sizeof *text);
    lth_error err = {0};
    int code = cells && text ? EXIT_DONE : out_of_memory();
    if (!code) {
        write_cells(j, row, count, size, cells);
        for (size_t i = 0; i < count; ++i) text[i] = cells + i * size;
        if (lth_table_from_texts(j->session.ctx, j->column, text, NULL, count, out, &err) != LTH_OK)
            code = session_fail(&j->session, &err);
    }
    free(cells);
    free(text);
    return code;
}

/* ---- Writing ---- */

/* What the mutation adds to the first target. */
static double effect_of(const job *j, const prediction *p, size_t i) {
    return p->values.mean[i] - j->of_wild[0];
}

static void write_row(job *j, const prediction *p, size_t row, size_t i) {
    char name[NAME];
    write_name(j, row, name);
    long site = row > 0 ? j->first + (long)site_of(j, row) : 0;
    char wild[2] = {row > 0 ? (char)toupper((unsigned char)j->wild[site_of(j, row)]) : 0};
    char letter[2] = {row > 0 ? letter_of(j, row) : 0};
    if (j->options->json) {
        json_writer w = {.to = j->out.stream};
        json_begin_result(&w, NULL);
        json_put_text(&w, "mutation", name);
        if (row > 0) {
            json_put_double(&w, "site", (double)site);
            json_put_text(&w, "wild", wild);
            json_put_text(&w, "letter", letter);
        }
        if (p->values.mean) json_put_double(&w, "effect", effect_of(j, p, i));
        json_put_values(&w, p, i);
        json_end(&w);
        return;
    }
    fprintf(j->out.stream, "%s\t", name);
    if (row > 0) fprintf(j->out.stream, "%ld", site);
    fprintf(j->out.stream, "\t%s\t%s", wild, letter);
    if (p->values.mean) putc('\t', j->out.stream);
    if (p->values.mean) write_tsv_double(j->out.stream, effect_of(j, p, i));
    write_prediction(j->out.stream, p, i);
    putc('\n', j->out.stream);
}

static int begin(job *j, const prediction *p) {
    int code = text_open(&j->out, j->options->output);
    j->of_wild = calloc(p->targets + 1, sizeof *j->of_wild);
    if (!code && !j->of_wild) code = out_of_memory();
    for (size_t t = 0; !code && p->values.mean && t < p->targets; ++t)
        j->of_wild[t] = p->values.mean[t * p->rows];
    if (code || j->options->json) return code;
    fputs(p->values.mean ? "mutation\tsite\twild\tletter\teffect" : "mutation\tsite\twild\tletter",
          j->out.stream);
    write_prediction_names(j->out.stream, p);
    putc('\n', j->out.stream);
    return code;
}

static int predict_slice(job *j, const size_t *row, size_t count) {
    lth_table *table = NULL;
    prediction p = {0};
    lth_error err = {0};
    int code = make_table(j, row, count, &table);
    if (!code && prediction_make(j->model, table, j->options->latent, &p, &err) != LTH_OK)
        code = session_fail(&j->session, &err);
    if (!code) code = session_check_interrupt(&j->session);
    if (!code && !j->out.stream) code = begin(j, &p);
    for (size_t i = 0; i < count && !code; ++i) write_row(j, &p, row[i], i);
    prediction_free(&p);
    lth_table_free(table);
    return code;
}

static int predict_all(job *j) {
    size_t row[SLICE], used = 0;
    int code = EXIT_DONE;
    for (size_t i = 0; i < j->count && !code; ++i) {
        if (!is_none(j, i)) row[used++] = i;
        if (used < SLICE && i + 1 < j->count) continue;
        code = predict_slice(j, row, used);
        used = 0;
    }
    int closed = text_close(&j->out, !code);
    return code ? code : closed;
}

int run_mutate(const options *o) {
    job j = {.options = o};
    int code = o->output ? check_output(o->output) : EXIT_DONE;
    if (!code) code = session_open(&j.session, o);
    if (!code) code = session_load_model(&j.session, o->arguments[0], &j.model);
    if (!code) code = find_column(&j);
    if (!code) code = find_wild(&j);
    if (!code) code = count_rows(&j);
    if (!code) code = predict_all(&j);
    free(j.wild);
    free(j.of_wild);
    lth_model_free(j.model);
    session_close(&j.session);
    return code;
}
