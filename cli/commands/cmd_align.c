/* luthier align: how alike two kernels are on a table, or a kernel and what it should predict. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "session.h"

typedef struct job {
    session session;
    const options *options;
    lth_kernel *kernel, *with; /* with NULL = the ideal kernel of the target */
    lth_table *table;
    size_t rows;
    double *first, *second;
    double alignment;
} job;

static int check_usage(const options *o) {
    const command *c = o->command;
    if (!o->kernel) return usage_error(c, "align wants --kernel EXPR");
    if (!o->with && o->target.count == 0)
        return usage_error(c, "align wants --with EXPR, or --target COL");
    if (o->with && o->target.count > 0)
        return usage_error(c, "--with and --target exclude one another");
    if (o->target.count > 1 || (o->target.count == 1 && strchr(o->target.at[0], ',')))
        return usage_error(c, "align takes one --target");
    return EXIT_DONE;
}

static int read_table(job *j) {
    const options *o = j->options;
    size_t count = 0;
    while (j->with && lth_kernel_column(j->with, count)) ++count;
    const char *columns[count + 1];
    for (size_t i = 0; i < count; ++i) columns[i] = lth_kernel_column(j->with, i);
    list more = {columns, count};
    if (!j->with) more = o->target;
    list tables = tables_from(o, 0);
    return session_read_tables(&j->session, &tables, j->kernel, &more, &j->table);
}

static int parse_with(job *j) {
    lth_error err = {0};
    if (lth_kernel_parse(j->session.ctx, j->options->with, &j->with, &err) == LTH_OK)
        return EXIT_DONE;
    snprintf(err.file, sizeof err.file, err.column ? "--with: column %zu" : "--with", err.column);
    err.line = err.column = 0;
    return session_fail(&j->session, &err);
}

static int load(job *j) {
    session *s = &j->session;
    const options *o = j->options;
    int code = session_parse_plain_kernel(s, o->kernel, &j->kernel);
    if (!code && o->with) code = parse_with(j);
    if (!code) code = session_check_vectors(s, j->kernel);
    if (!code && j->with) code = session_check_vectors(s, j->with);
    if (!code) code = read_table(j);
    if (code) return code;
    j->rows = lth_table_rows(j->table);
    code = session_allocate(s, "the Gram matrix", 1, j->rows, j->rows, &j->first);
    return code ? code : session_allocate(s, "the Gram matrix", 1, j->rows, j->rows, &j->second);
}

/* `stored` NULL, or a folder to read it from. */
static int compute_gram(job *j, const lth_kernel *kernel, const char *stored, double *K) {
    session *s = &j->session;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    lth_error err = {0};
    int code = EXIT_DONE;
    if (lth_encoder_create(s->ctx, kernel, &encoder, &err) != LTH_OK)
        code = session_fail(s, &err);
    else if (lth_encode(encoder, j->table, &items, &err) != LTH_OK)
        code = session_fail_input(s, &err, j->options->arguments[0]);
    else
        code = session_read_vectors(s, kernel, encoder);
    if (!code && stored && lth_items_use_store(items, stored, &err) != LTH_OK)
        code = session_fail_input(s, &err, stored);
    if (!code && lth_gram(kernel, items, NULL, K, j->rows, &err) != LTH_OK)
        code = session_fail(s, &err);
    lth_items_free(items);
    lth_encoder_free(encoder);
    return code;
}

/* ---- The ideal kernel ---- */

/* A cell as a finite number. */
static bool parse_number(const char *text, size_t length, double *out) {
    char copy[64], *end;
    if (length == 0 || length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    *out = strtod(copy, &end);
    return !*end && isfinite(*out);
}

static bool all_numbers(const job *j, size_t column, double *y) {
    for (size_t i = 0; i < j->rows; ++i) {
        size_t length;
        const char *text = lth_table_cell(j->table, i, column, &length);
        if (!parse_number(text, length, &y[i])) return false;
    }
    return true;
}

static bool same_cell(const lth_table *table, size_t column, size_t i, size_t k) {
    size_t m, n;
    const char *a = lth_table_cell(table, i, column, &m), *b = lth_table_cell(table, k, column, &n);
    return m == n && memcmp(a, b, n) == 0;
}

/* y y^T of numbers; of labels 1 where they are the same. */
static int fill_ideal(job *j) {
    size_t n = j->rows, column = lth_table_find(j->table, j->options->target.at[0]);
    double *y = calloc(n, sizeof *y);
    if (!y) return out_of_memory();
    bool numbers = all_numbers(j, column, y);
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k <= i; ++k) {
            double value = numbers ? y[i] * y[k] : same_cell(j->table, column, i, k);
            j->second[i * n + k] = j->second[k * n + i] = value;
        }
    }
    free(y);
    session_note(&j->session, "the target has %s", numbers ? "numbers" : "labels");
    return EXIT_DONE;
}

/* ---- The result ---- */

static int align(job *j) {
    lth_error err = {0};
    if (lth_gram_align(j->first, j->second, j->rows, j->options->center, &j->alignment, &err) ==
        LTH_OK)
        return session_check_interrupt(&j->session);
    return session_fail(&j->session, &err);
}

static int print_json(const job *j) {
    char *kernel = kernel_text(j->kernel), *with = j->with ? kernel_text(j->with) : NULL;
    bool ok = kernel && (with || !j->with);
    if (ok) {
        json_writer w = {.to = stdout};
        json_begin_result(&w, NULL);
        json_put_count(&w, "rows", j->rows);
        json_put_text(&w, "kernel", kernel);
        json_put_text(&w, j->with ? "with" : "target", j->with ? with : j->options->target.at[0]);
        json_put_bool(&w, "centered", j->options->center);
        json_put_double(&w, "alignment", j->alignment);
        json_end(&w);
    }
    free(kernel);
    free(with);
    return ok ? EXIT_DONE : out_of_memory();
}

static int print_result(const job *j) {
    if (j->options->json) return print_json(j);
    printf("alignment\n");
    write_tsv_double(stdout, j->alignment);
    putchar('\n');
    return EXIT_DONE;
}

static int run_job(job *j) {
    int code = load(j);
    if (!code) code = compute_gram(j, j->kernel, j->options->gram, j->first);
    if (!code) code = j->with ? compute_gram(j, j->with, NULL, j->second) : fill_ideal(j);
    if (!code) code = align(j);
    return code ? code : print_result(j);
}

int run_align(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o};
    code = session_open(&j.session, o);
    if (!code) code = run_job(&j);
    free(j.first);
    free(j.second);
    lth_table_free(j.table);
    lth_kernel_free(j.kernel);
    lth_kernel_free(j.with);
    session_close(&j.session);
    return code;
}
