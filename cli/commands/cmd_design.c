/* luthier design: a campaign of asking what to measure and telling what came out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "design.h"
#include "learning.h"
#include "output.h"
#include "proposals.h"

/* ---- Verbs ---- */

static int design_new(const options *o), design_ask(const options *o),
    design_tell(const options *o), design_forget(const options *o);

typedef struct verb {
    const char *name;
    size_t most; /* arguments, with the verb itself */
    int (*run)(const options *o);
    bool sets; /* takes what a campaign is, not just its folder */
} verb;

static const verb verbs[] = {
    {"new", 2, design_new, true},        {"ask", 2, design_ask, false},
    {"tell", MANY, design_tell, false},  {"forget", MANY, design_forget, false},
    {"status", 2, design_status, false}, {"simulate", MANY, design_simulate, true},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static const char *verb_name(const void *user, size_t i) {
    (void)user;
    return i < VERBS ? verbs[i].name : NULL;
}

static const verb *find_verb(const char *name) {
    for (size_t i = 0; i < VERBS; ++i)
        if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
    return NULL;
}

static const char *setting_given(const options *o) {
    const struct {
        const char *name;
        bool given;
    } all[] = {{"kernel", o->kernel},
               {"target", o->target.count > 0},
               {"from", o->from},
               {"space", o->space},
               {"acquisition", o->acquisition >= 0},
               {"batch", o->batch >= 0},
               {"maximize", o->maximize},
               {"minimize", o->minimize},
               {"objective", o->objective.count > 0},
               {"objective-weights", o->objective_weights},
               {"beta", o->beta},
               {"feasible", o->feasible},
               {"cost", o->cost},
               {"distance", o->distance != NOT_GIVEN},
               {"shortlist", o->shortlist != NOT_GIVEN},
               {"evaluations", o->evaluations != NOT_GIVEN},
               {"population", o->population != NOT_GIVEN},
               {"trust", o->trust != NOT_GIVEN},
               {"valid", o->valid},
               {"likelihood", o->likelihood >= 0},
               {"warp", o->warp >= 0},
               {"max-iter", o->max_iter != NOT_GIVEN},
               {"restarts", o->restarts != NOT_GIVEN},
               {"mean", o->mean},
               {"noise", o->noise},
               {"fix", o->fix.count > 0},
               {"prior", o->prior.count > 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (all[i].given) return all[i].name;
    return NULL;
}

/* Options that this verb takes, and how many arguments. */
static int check_verb(const options *o, const verb *v) {
    const char *given = v->sets ? NULL : setting_given(o);
    bool simulates = v->run == design_simulate;
    if (given)
        return usage_error(o->command, "--%s is for design new: %s takes the campaign as it is",
                           given, v->name);
    const char *only = o->rounds != NOT_GIVEN  ? "rounds"
                       : o->start != NOT_GIVEN ? "start"
                       : o->seeds != NOT_GIVEN ? "seeds"
                                               : NULL;
    if (only && !simulates) return usage_error(o->command, "--%s is for design simulate", only);
    if (o->count != NOT_GIVEN && !simulates && v->run != design_ask)
        return usage_error(o->command, "--count is for design ask and simulate");
    if (o->format >= 0 && v->run == design_new)
        return usage_error(o->command,
                           "--format is not for design new: the name of --from says it");
    if (o->repeats && v->run != design_tell)
        return usage_error(o->command, "--repeats is for design tell");
    if (o->optimum && v->run != design_status)
        return usage_error(o->command, "--optimum is for design status");
    if (o->argument_count > v->most)
        return usage_error(o->command, "unexpected argument \"%s\"", o->arguments[v->most]);
    return EXIT_DONE;
}

int run_design(const options *o) {
    const char *name = o->arguments[0];
    const verb *v = find_verb(name);
    if (!v) {
        const char *near = lth_nearest(name, verb_name, NULL);
        if (near)
            return usage_error(o->command, "design cannot \"%s\"; did you mean %s?", name, near);
        return usage_error(o->command,
                           "design cannot \"%s\"; it can new, ask, tell, forget, "
                           "status and simulate",
                           name);
    }
    int code = check_verb(o, v);
    return code ? code : v->run(o);
}

int design_open(session *s, lth_design **out) {
    lth_error err = {0};
    const char *folder = s->options->arguments[1];
    if (lth_design_open(s->ctx, folder, out, &err) == LTH_OK) return EXIT_DONE;
    return session_fail_input(s, &err, folder);
}

/* ---- new ---- */

/* "NAME=" and the whole path, or the text itself; freed with free(). */
static int keep_setting(session *s, const char *name, const char *value, bool path, char **out) {
    char *whole = path ? realpath(value, NULL) : strdup(value);
    if (!whole && path) {
        lth_error err = {.status = LTH_EIO};
        snprintf(err.message, sizeof err.message, "cannot read: %s", strerror(errno));
        return session_fail_input(s, &err, value);
    }
    size_t size = whole ? strlen(name) + strlen(whole) + 2 : 0;
    *out = whole ? malloc(size) : NULL;
    if (*out) snprintf(*out, size, "%s=%s", name, whole);
    free(whole);
    return *out ? EXIT_DONE : out_of_memory();
}

/* What the library would find too, said in words of the command line. */
static int check_new(learning *l) {
    const options *o = l->options;
    lth_kernel *kernel = NULL;
    int code = session_parse_kernel(&l->session, o->kernel, &kernel);
    if (!code && (o->mean || o->noise_kernel))
        code = session_parse_more(&l->session, o->kernel, o->mean, o->noise_kernel, &kernel);
    if (!code) code = session_check_vectors(&l->session, kernel);
    if (!code && lth_kernel_needs_vectors(kernel)) l->gp_options.vectors = o->vectors;
    lth_kernel_free(kernel);
    return code;
}

static int create(learning *l, choice *c, const char *folder) {
    const options *o = l->options;
    lth_error err = {0};
    lth_design *design = NULL;
    lth_design_options begin;
    lth_design_options_init(&begin);
    char *kept[2] = {0};
    int code = EXIT_DONE;
    if (o->feasible)
        code =
            keep_setting(&l->session, "feasible", o->feasible, true, &kept[begin.setting_count++]);
    if (!code && o->valid)
        code = keep_setting(&l->session, "valid", o->valid, false, &kept[begin.setting_count++]);
    begin.settings = (const char *const *)kept;
    begin.kernel = o->kernel;
    begin.targets = l->targets.at;
    begin.target_count = l->targets.count;
    begin.space = o->space;
    begin.candidates = o->from;
    begin.propose = &c->propose;
    begin.search = &c->search;
    begin.gp = &l->gp_options;
    if (!code && lth_design_create(l->session.ctx, folder, &begin, &design, &err) != LTH_OK) {
        if (o->space && err.column && !err.file[0]) snprintf(err.file, sizeof err.file, "--space");
        code = err.status == LTH_EIO ? session_fail_input(&l->session, &err, folder)
                                     : session_fail(&l->session, &err);
    }
    for (size_t i = 0; i < 2; ++i) free(kept[i]);
    if (!code)
        session_say(&l->session, "%s: a new campaign; luthier design ask %s -k N begins it", folder,
                    folder);
    lth_design_free(design);
    return code;
}

static int design_new(const options *o) {
    const char *folder = o->arguments[1];
    learning l;
    choice c = {0};
    int code = learning_open(&l, o);
    if (!code) code = choice_check(o);
    if (!code) code = choice_open(&c, &l.session, l.targets.count);
    if (!code) code = check_new(&l);
    if (!code) code = create(&l, &c, folder);
    choice_close(&c);
    learning_close(&l);
    return code;
}

/* ---- ask ---- */

/* A campaign on its way to an answer. */
typedef struct question {
    session session;
    const options *options;
    lth_design *design;
    lth_model *feasible, *model; /* the second is the design's */
    validity valid;
    lth_table *rows;
    lth_proposals *proposals;
} question;

/* What the folder could not keep. */
static int use_settings(question *q) {
    const char *feasible = lth_design_setting(q->design, "feasible");
    const char *valid = lth_design_setting(q->design, "valid");
    int code = feasible ? session_load_model(&q->session, feasible, &q->feasible) : EXIT_DONE;
    if (code) return code;
    q->valid = (validity){.session = &q->session, .command = valid};
    lth_design_use(q->design, q->feasible, valid ? validity_ask : NULL, &q->valid);
    return EXIT_DONE;
}

/* What was chosen, as propose writes it. */
static chosen chosen_of(question *q, const char **targets, size_t count) {
    const lth_table *from = lth_design_candidates(q->design);
    q->model = lth_design_model(q->design);
    bool listed = q->proposals && from;
    return (chosen){.session = &q->session,
                    .models = &q->model,
                    .model_count = 1,
                    .rows = listed ? from : q->rows,
                    .numbered = listed,
                    .proposals = q->proposals,
                    .cost = lth_design_setting(q->design, "cost"),
                    .empty = {targets, count},
                    .feasible = q->feasible != NULL,
                    .explained = q->options->explain,
                    .wild = lth_design_setting(q->design, "wild-type")};
}

static size_t count_targets(const lth_design *design) {
    size_t count = 0;
    while (lth_design_target(design, count)) ++count;
    return count;
}

static int write_answer(question *q) {
    const options *o = q->options;
    size_t count = count_targets(q->design);
    const char *targets[count];
    for (size_t t = 0; t < count; ++t) targets[t] = lth_design_target(q->design, t);
    chosen c = chosen_of(q, targets, count);
    text_file file;
    int code = text_open(&file, o->output);
    if (code) return code;
    code = (o->json ? write_chosen_json : write_chosen_tsv)(file.stream, &c);
    int closed = text_close(&file, !code);
    if (!code) code = closed;
    return code ? code : finish_stdout();
}

/* Rows that nobody gets to see are not being measured. */
static int take_back(question *q, int code) {
    lth_error err = {0};
    if (lth_design_forget(q->design, q->rows, &err) != LTH_OK)
        session_warn(&q->session, "they stay pending all the same: %s", err.message);
    return code;
}

static int ask(question *q) {
    lth_error err = {0};
    size_t count = choice_count(q->options);
    lth_status status = lth_design_ask(q->design, count, &q->rows, &q->proposals, &err);
    if (status != LTH_OK) {
        const char *from = lth_design_setting(q->design, "from");
        bool unread = from && strcmp(err.file, from) == 0;
        if (q->valid.code) return q->valid.code;
        return unread ? session_fail_input(&q->session, &err, from)
                      : session_fail(&q->session, &err);
    }
    int code = write_answer(q);
    if (code) return take_back(q, code);
    size_t found = lth_table_rows(q->rows);
    if (found < count)
        session_warn(&q->session, "only %zu row%s %s left", found, found == 1 ? "" : "s",
                     found == 1 ? "is" : "are");
    session_say(&q->session,
                "%zu row%s to measure%s; luthier design tell %s FILE takes what comes "
                "out",
                found, found == 1 ? "" : "s",
                q->proposals ? "" : ", drawn at random as there is nothing to learn from yet",
                q->options->arguments[1]);
    return EXIT_DONE;
}

static int design_ask(const options *o) {
    question q = {.options = o};
    if (o->count == 0) return usage_error(o->command, "--count wants at least 1");
    int code = session_open(&q.session, o);
    if (!code && o->output) code = check_output(o->output);
    if (!code) code = design_open(&q.session, &q.design);
    if (!code) code = use_settings(&q);
    if (!code) code = ask(&q);
    lth_proposals_free(q.proposals);
    lth_table_free(q.rows);
    lth_design_free(q.design);
    free_model(q.feasible);
    session_close(&q.session);
    return code;
}

/* ---- tell and forget ---- */

/* Of the rows, as many columns as the models read, and `targets`. */
static int read_results(session *s, const lth_design *design, bool targets, lth_table **out) {
    const options *o = s->options;
    const lth_table *rows = lth_design_rows(design);
    size_t count = lth_table_find(rows, targets ? "round" : lth_design_target(design, 0));
    const char *columns[count];
    for (size_t i = 0; i < count; ++i) columns[i] = lth_table_column_name(rows, i);
    lth_error err = {0};
    lth_table_options wanted = session_table_options(s);
    wanted.columns = columns;
    wanted.column_count = count;
    wanted.more = o->arguments + 3;
    wanted.more_count = o->argument_count - 3;
    if (lth_table_read(s->ctx, o->arguments[2], &wanted, out, &err) == LTH_OK) return EXIT_DONE;
    return session_fail_input(s, &err, o->arguments[2]);
}

typedef lth_status change_fn(lth_design *design, const lth_table *table, lth_error *err);

static void say_change(session *s, const lth_design_report *before, const lth_design_report *now) {
    char best[32];
    size_t measured = now->measured - before->measured;
    if (before->measured < now->measured)
        session_say(s, "%zu row%s measured, %zu in all; %zu pending%s%s", measured,
                    measured == 1 ? "" : "s", now->measured, now->pending,
                    now->best_row == LTH_NONE ? "" : "; best so far ",
                    now->best_row == LTH_NONE ? "" : double_text(now->best, best));
    else if (before->pending != now->pending)
        session_say(s, "%zu rows are pending no more; %zu are left", before->pending - now->pending,
                    now->pending);
    else
        session_warn(s, "nothing was told: there is no value in any row");
}

static int change(const options *o, change_fn *by) {
    session s;
    lth_design *design = NULL;
    lth_table *table = NULL;
    lth_error err = {0};
    if (o->argument_count < 3)
        return usage_error(o->command, "design %s wants a table", o->arguments[0]);
    int code = session_open(&s, o);
    if (!code) code = design_open(&s, &design);
    if (!code) code = read_results(&s, design, by == lth_design_tell, &table);
    if (!code && o->repeats) lth_design_allow_repeats(design, true);
    lth_design_report before = code ? (lth_design_report){0} : *lth_design_reported(design);
    hold_interrupts();
    if (!code && by(design, table, &err) != LTH_OK)
        code = err.status == LTH_EFORMAT ? session_fail_input(&s, &err, o->arguments[2])
                                         : session_fail(&s, &err);
    release_interrupts();
    if (!code) say_change(&s, &before, lth_design_reported(design));
    lth_table_free(table);
    lth_design_free(design);
    session_close(&s);
    return code;
}

static int design_tell(const options *o) {
    return change(o, lth_design_tell);
}

static int design_forget(const options *o) {
    return change(o, lth_design_forget);
}
