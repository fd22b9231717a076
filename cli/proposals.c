/* How to choose rows to measure, as options say it. */
#include "proposals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/mutations.h"

/* ---- What goes together ---- */

static bool is_given(uint64_t number) {
    return number != NOT_GIVEN;
}

static int check_space(const options *o) {
    const char *search = is_given(o->evaluations)  ? "evaluations"
                         : is_given(o->population) ? "population"
                         : is_given(o->trust)      ? "trust"
                         : o->valid                ? "valid"
                                                   : NULL;
    if (!o->from && !o->space)
        return usage_error(o->command,
                           "what is there to choose from? Give --from TABLE, or --space "
                           "RULES");
    if (o->from && o->space)
        return usage_error(o->command, "--from and --space are two ways to say what there is to "
                                       "choose from; give one");
    if (search && !o->space) return usage_error(o->command, "--%s goes with --space", search);
    if (o->cost && o->space)
        return usage_error(o->command, "--cost is a column of --from; texts of --space have none");
    return EXIT_DONE;
}

static int check_zeros(const options *o) {
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"count", o->count},           {"distance", o->distance},
                   {"shortlist", o->shortlist},   {"evaluations", o->evaluations},
                   {"population", o->population}, {"trust", o->trust}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        if (numbers[i].value == 0)
            return usage_error(o->command, "--%s wants at least 1", numbers[i].name);
    return EXIT_DONE;
}

static int check_feasible(const options *o) {
    const char *goes_with = o->feasible_class   ? "class"
                            : o->feasible_least ? "least"
                            : o->feasible_most  ? "most"
                                                : NULL;
    if (goes_with && !o->feasible)
        return usage_error(o->command, "--feasible-%s goes with --feasible M2", goes_with);
    return EXIT_DONE;
}

/* A number; what `out` had where none is given. */
static int parse_number(const options *o, const char *name, const char *text, double *out) {
    char *end;
    if (!text) return EXIT_DONE;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return usage_error(o->command, "--%s wants a number, not \"%s\"", name, text);
    *out = value;
    return EXIT_DONE;
}

static int parse_numbers(const options *o, lth_propose_options *to) {
    int code = parse_number(o, "beta", o->beta, &to->beta);
    if (!code) code = parse_number(o, "best", o->best, &to->best);
    if (!code) code = parse_number(o, "feasible-least", o->feasible_least, &to->feasible_least);
    if (!code) code = parse_number(o, "feasible-most", o->feasible_most, &to->feasible_most);
    if (code) return code;
    if (o->beta && !(to->beta > 0))
        return usage_error(o->command, "--beta wants a number above 0, not \"%s\"", o->beta);
    if (o->beta && o->acquisition != LTH_ACQUIRE_UCB)
        return usage_error(o->command, "--beta goes with --acquisition ucb");
    if (to->feasible_least > to->feasible_most)
        return usage_error(o->command,
                           "no number is between --feasible-least %s and "
                           "--feasible-most %s",
                           o->feasible_least, o->feasible_most);
    return EXIT_DONE;
}

int choice_check(const options *o) {
    lth_propose_options numbers;
    lth_propose_options_init(&numbers);
    int code = check_space(o);
    if (!code && o->maximize && o->minimize)
        code = usage_error(o->command, "--maximize and --minimize contradict each other");
    if (!code) code = check_zeros(o);
    if (!code) code = check_feasible(o);
    return code ? code : parse_numbers(o, &numbers);
}

/* ---- Filling ---- */

size_t choice_count(const options *o) {
    return is_given(o->count) ? (size_t)o->count : 10;
}

static int parse_weights(choice *c, size_t objectives) {
    const options *o = c->session->options;
    const char *text = o->objective_weights;
    if (!text) return EXIT_DONE;
    c->weights = calloc(objectives + 1, sizeof *c->weights);
    if (!c->weights) return out_of_memory();
    size_t count = 0;
    for (char *end;; text = end + 1) {
        double weight = strtod(text, &end);
        if (end == text || (*end && *end != ',') || !isfinite(weight))
            return usage_error(o->command, "--objective-weights wants W[,W...], not \"%s\"",
                               o->objective_weights);
        if (count < objectives) c->weights[count] = weight;
        ++count;
        if (!*end) break;
    }
    c->propose.weights = c->weights;
    if (count == objectives) return EXIT_DONE;
    return usage_error(o->command, "--objective-weights has %zu number%s for %zu objective%s",
                       count, count == 1 ? "" : "s", objectives, objectives == 1 ? "" : "s");
}

static int fill_objectives(choice *c, size_t targets) {
    const options *o = c->session->options;
    int code = split_names(o, "objective", &o->objective, &c->objectives);
    if (code) return code;
    c->propose.minimize = o->minimize;
    c->propose.objective_count = c->objectives.count;
    if (c->objectives.count > 0) c->propose.objectives = c->objectives.at;
    return parse_weights(c, c->objectives.count > 0 ? c->objectives.count : targets);
}

static void fill_search(choice *c) {
    const options *o = c->session->options;
    lth_search_options *to = &c->search;
    if (is_given(o->evaluations)) to->evaluations = (size_t)o->evaluations;
    if (is_given(o->population)) to->population = (size_t)o->population;
    if (is_given(o->trust)) to->trust = (size_t)o->trust;
    if (!o->valid) return;
    c->valid = (validity){.session = c->session, .command = o->valid};
    to->valid = validity_ask;
    to->user = &c->valid;
}

static int fill_propose(choice *c, size_t targets) {
    const options *o = c->session->options;
    lth_propose_options *to = &c->propose;
    to->count = choice_count(o);
    if (o->acquisition >= 0) to->acquisition = (lth_acquisition)o->acquisition;
    if (o->batch >= 0) to->batch = (lth_batch)o->batch;
    if (is_given(o->distance)) to->distance = (size_t)o->distance;
    if (is_given(o->shortlist)) to->shortlist = (size_t)o->shortlist;
    to->cost = o->cost;
    to->feasible_class = o->feasible_class;
    int code = parse_numbers(o, to);
    return code ? code : fill_objectives(c, targets);
}

/* The rows that are chosen from have what this model reads, too. */
static int load_feasible(choice *c) {
    session *s = c->session;
    const char *path = s->options->feasible, *optional = s->optional;
    if (!path) return EXIT_DONE;
    int code = session_load_model(s, path, &c->feasible);
    s->optional = optional;
    if (code) return code;
    if (lth_model_svm(c->feasible))
        return usage_error(s->options->command,
                           "--feasible wants a Gaussian process; %s is a support vector machine",
                           path);
    c->propose.feasible = c->feasible;
    return session_use_vectors(s, c->feasible);
}

int choice_open(choice *c, session *s, size_t targets) {
    *c = (choice){.session = s};
    lth_propose_options_init(&c->propose);
    lth_search_options_init(&c->search);
    fill_search(c);
    int code = fill_propose(c, targets);
    return code ? code : load_feasible(c);
}

int session_parse_space(session *s, const char *rules, lth_space **out) {
    lth_error err = {0};
    if (lth_space_parse(s->ctx, rules, out, &err) == LTH_OK) return EXIT_DONE;
    if (*err.file) return session_fail_input(s, &err, err.file);
    return session_fail_expression(s, &err, "space", rules);
}

/* Without --where, which is about the rows to choose from, and perhaps without rows. */
static int read_rows(session *s, const char *path, const list *columns, lth_table **out) {
    lth_error err = {0};
    lth_table_options wanted = session_table_options(s);
    wanted.columns = columns->at;
    wanted.column_count = columns->count;
    if (lth_table_read(s->ctx, path, &wanted, out, &err) != LTH_OK)
        return session_fail_input(s, &err, path);
    return session_check_interrupt(s);
}

int choice_read_rows(choice *c, const list *columns) {
    const options *o = c->session->options;
    int code = EXIT_DONE;
    if (o->pending) code = read_rows(c->session, o->pending, columns, &c->pending);
    if (!code && o->measured) code = read_rows(c->session, o->measured, columns, &c->measured);
    c->propose.pending = c->pending;
    c->propose.measured = c->measured;
    return code;
}

void choice_close(choice *c) {
    free(c->objectives.at);
    free(c->weights);
    free(c->wild);
    lth_table_free(c->pending);
    lth_table_free(c->measured);
    free_model(c->feasible);
    *c = (choice){0};
}

int choice_fail(choice *c, const lth_error *err) {
    return c->valid.code ? c->valid.code : session_fail(c->session, err);
}
