/* luthier sample: labels drawn from the prior, for synthetic experiments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "learning.h"
#include "output.h"

typedef struct job {
    session session;
    const options *options;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_table *table;
    lth_items *items;
    size_t rows, draws;
    lth_gp_sample_options how;
    const char **set; /* with the noise */
    char *noise;      /* "noise=0.1"    */
    double *labels;   /* by draw, then by row */
} job;

static bool has_noise(int likelihood) {
    return likelihood < 0 || likelihood == LTH_GAUSSIAN || likelihood == LTH_STUDENT ||
           likelihood == LTH_WARPED || likelihood == LTH_CENSORED;
}

static bool sets_noise(const options *o) {
    for (size_t i = 0; i < o->set.count; ++i)
        if (strncmp(o->set.at[i], "noise=", 6) == 0) return true;
    return false;
}

static int check_usage(const options *o) {
    const command *c = o->command;
    double noise;
    if (!o->kernel) return usage_error(c, "sample wants --kernel EXPR");
    if (has_noise(o->likelihood) && !o->noise && !sets_noise(o))
        return usage_error(c, "sample wants --noise V, a variance");
    if (!has_noise(o->likelihood) && o->noise)
        return usage_error(c, "this likelihood has no noise; leave --noise out");
    if (o->draws == 0) return usage_error(c, "--draws wants a number from 1");
    return o->noise ? parse_noise(o, 0, &noise, NULL) : EXIT_DONE;
}

/* --noise is a parameter as those of --set are. */
static int fill_set(job *j) {
    const options *o = j->options;
    lth_gp_sample_options *to = &j->how;
    j->set = calloc(o->set.count + 1, sizeof *j->set);
    if (!j->set) return out_of_memory();
    memcpy(j->set, o->set.at, o->set.count * sizeof *j->set);
    to->set = j->set;
    to->set_count = o->set.count;
    if (!o->noise) return EXIT_DONE;
    j->noise = malloc(strlen(o->noise) + sizeof "noise=");
    if (!j->noise) return out_of_memory();
    stpcpy(stpcpy(j->noise, "noise="), o->noise);
    j->set[to->set_count++] = j->noise;
    return EXIT_DONE;
}

static int fill_options(job *j) {
    lth_gp_options likelihood;
    lth_gp_options_init(&likelihood);
    int code = fill_likelihood(j->options, &likelihood);
    if (code) return code;
    lth_gp_sample_options_init(&j->how);
    if (j->options->likelihood >= 0) j->how.likelihood = likelihood.likelihood;
    j->how.warp = likelihood.warp;
    j->how.lower = likelihood.lower;
    j->how.upper = likelihood.upper;
    return fill_set(j);
}

static int encode(job *j) {
    session *s = &j->session;
    const char *path = j->options->arguments[0];
    list tables = tables_from(j->options, 0);
    const options *o = j->options;
    int code = session_parse_kernel(s, o->kernel, &j->kernel);
    if (!code && o->noise_kernel)
        code = session_parse_more(s, o->kernel, NULL, o->noise_kernel, &j->kernel);
    if (!code) code = session_check_vectors(s, j->kernel);
    if (!code) code = session_read_tables(s, &tables, j->kernel, NULL, &j->table);
    if (!code) code = session_resolve_kernel(s, path, j->table, &j->kernel);
    if (code) return code;
    lth_error err = {0};
    if (lth_encoder_create(s->ctx, j->kernel, &j->encoder, &err) != LTH_OK)
        return session_fail(s, &err);
    if (lth_encode(j->encoder, j->table, &j->items, &err) != LTH_OK)
        return session_fail_input(s, &err, path);
    j->rows = lth_items_count(j->items);
    return session_read_vectors(s, j->kernel, j->encoder);
}

static int draw(job *j) {
    session *s = &j->session;
    int code = session_allocate(s, "the sample", j->draws, j->rows, 1, &j->labels);
    if (code) return code;
    lth_error err = {0};
    if (lth_gp_sample_as(j->kernel, j->items, &j->how, j->draws, j->labels, &err) != LTH_OK)
        return session_fail(s, &err);
    return session_check_interrupt(s);
}

static void write_header(const job *j, FILE *to) {
    if (j->draws == 1) fputc('y', to);
    for (size_t d = 0; d < j->draws && j->draws > 1; ++d)
        fprintf(to, "%sy%zu", d ? "\t" : "", d + 1);
    fputc('\n', to);
}

static void write_row(const job *j, size_t row, FILE *to) {
    for (size_t d = 0; d < j->draws; ++d) {
        if (d) fputc('\t', to);
        write_tsv_double(to, j->labels[d * j->rows + row]);
    }
    fputc('\n', to);
}

static void write_json_row(const job *j, size_t row, FILE *to) {
    json_writer w = {.to = to};
    json_begin_result(&w, NULL);
    json_begin_list(&w, "y");
    for (size_t d = 0; d < j->draws; ++d) json_put_double(&w, NULL, j->labels[d * j->rows + row]);
    json_end(&w);
    json_end(&w);
}

static int write_all(const job *j) {
    text_file out;
    bool json = j->options->json;
    hold_interrupts();
    int code = text_open(&out, j->options->output);
    if (!code) {
        if (!json) write_header(j, out.stream);
        for (size_t i = 0; i < j->rows; ++i)
            json ? write_json_row(j, i, out.stream) : write_row(j, i, out.stream);
        code = text_close(&out, true);
    }
    release_interrupts();
    return code;
}

static int run_job(job *j) {
    int code = j->options->output ? check_output(j->options->output) : EXIT_DONE;
    if (!code) code = encode(j);
    if (!code) code = draw(j);
    if (!code) code = write_all(j);
    return code;
}

int run_sample(const options *o) {
    job j = {.options = o, .draws = (size_t)o->draws};
    int code = check_usage(o);
    if (code) return code;
    code = fill_options(&j);
    if (!code) code = session_open(&j.session, o);
    if (!code) code = run_job(&j);
    free(j.set);
    free(j.noise);
    free(j.labels);
    lth_items_free(j.items);
    lth_encoder_free(j.encoder);
    lth_table_free(j.table);
    lth_kernel_free(j.kernel);
    session_close(&j.session);
    return code;
}
