/* luthier mutate: what a model expects of every single mutation of a sequence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "report/mutations.h"
#include "report/report.h"

enum { AS_TEXT, AS_TSV, AS_JSON, AS_HTML }; /* the first two are the same */

typedef struct job {
    session session;
    const options *options;
    lth_model *model;
    mutations of;
    int as, offset;
    text_file out;
    int code; /* of what went wrong while writing */
} job;

static const char amino_acids[] = "ACDEFGHIKLMNPQRSTVWY";

/* ---- The sequence ---- */

static int choose_format(job *j) {
    const options *o = j->options;
    j->as = o->json ? AS_JSON : o->as >= 0 ? o->as : AS_TSV;
    if (o->json && o->as >= 0 && o->as != AS_JSON)
        return usage_error(o->command, "--json and --as say two things");
    if (j->as == AS_HTML && !o->output)
        return usage_error(o->command, "where to write the page? Give -o FILE");
    return EXIT_DONE;
}

static int check_usage(job *j) {
    const options *o = j->options;
    const char *other = mutations_obstacle(j->model);
    if (other)
        return usage_error(o->command,
                           "mutate is for models of one column of sequences; this one reads %s",
                           other);
    int code = mutations_check_wild(o, j->model);
    if (!code) code = parse_offset(o, &j->offset);
    if (code) return code;
    if (!o->wild_type && !lth_kernel_wild_type(lth_model_kernel(j->model)))
        return usage_error(o->command, "mutate wants --wild-type FILE, a FASTA file with the "
                                       "sequence to mutate");
    if (o->letters && !mutations_are_letters(o->letters))
        return usage_error(o->command, "--letters wants plain letters, such as ACGT");
    return EXIT_DONE;
}

static int open_mutations(job *j) {
    const options *o = j->options;
    const char *letters = o->letters || j->as == AS_HTML ? o->letters : amino_acids;
    char *wild = NULL;
    int code = o->wild_type ? session_read_wild(&j->session, o->wild_type, &wild) : EXIT_DONE;
    if (!code && !mutations_open(&j->of, j->model, wild, letters)) code = out_of_memory();
    j->of.first += j->offset;
    free(wild);
    return code;
}

/* ---- Lines ---- */

static void write_line(job *j, const prediction *p, size_t row, size_t i) {
    FILE *to = j->out.stream;
    char name[MUTATION_NAME];
    if (j->as == AS_JSON) {
        json_writer w = {.to = to};
        json_put_mutation(&w, &j->of, p, row, i);
        return;
    }
    write_text_cell(to, mutation_name(&j->of, row, name));
    if (row > 0)
        fprintf(to, "\t%ld\t%c\t%c", j->of.first + (long)mutation_site(&j->of, row), name[0],
                mutation_letter(&j->of, row));
    else
        fputs("\t\t\t", to);
    if (mutation_has_effect(p)) {
        putc('\t', to);
        write_tsv_double(to, mutation_effect(&j->of, p, i));
    }
    write_prediction(to, p, i);
    putc('\n', to);
}

static int begin_lines(job *j, const prediction *p) {
    int code = text_open(&j->out, j->options->output);
    if (code || j->as == AS_JSON) return code;
    fputs(mutation_has_effect(p) ? "mutation\tsite\twild\tletter\teffect"
                                 : "mutation\tsite\twild\tletter",
          j->out.stream);
    write_prediction_names(j->out.stream, p);
    putc('\n', j->out.stream);
    return code;
}

static bool write_lines(void *user, const prediction *p, const size_t *row, size_t count) {
    job *j = user;
    j->code = session_check_interrupt(&j->session);
    if (!j->code && !j->out.stream) j->code = begin_lines(j, p);
    for (size_t i = 0; i < count && !j->code; ++i) write_line(j, p, row[i], i);
    return !j->code;
}

static int draw_mutations(job *j) {
    const options *o = j->options;
    char *title = o->title ? strdup(o->title) : report_title(o->arguments[0]);
    if (!title) return out_of_memory();
    int code = write_mutations_page(&j->session, j->model, &j->of, title, o->output);
    free(title);
    return code;
}

static int list_mutations(job *j) {
    lth_error err = {0};
    if (mutations_predict(&j->of, &j->session, j->model, j->options->latent, write_lines, j,
                          &err) != LTH_OK)
        j->code = session_fail(&j->session, &err);
    int closed = text_close(&j->out, !j->code);
    return j->code ? j->code : closed;
}

int run_mutate(const options *o) {
    job j = {.options = o};
    int code = choose_format(&j);
    if (!code && o->output) code = check_output(o->output);
    if (!code) code = session_open(&j.session, o);
    if (!code) code = session_load_model(&j.session, o->arguments[0], &j.model);
    if (!code) code = check_usage(&j);
    if (!code) code = open_mutations(&j);
    if (!code && j.as == AS_HTML)
        code = draw_mutations(&j);
    else if (!code)
        code = list_mutations(&j);
    mutations_close(&j.of);
    free_model(j.model);
    session_close(&j.session);
    return code;
}
