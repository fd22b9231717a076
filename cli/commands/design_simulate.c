/* luthier design simulate: campaigns on a table whose answers are known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "design.h"
#include "json.h"
#include "learning.h"
#include "output.h"
#include "proposals.h"
#include "simulation.h"

typedef struct job {
    options options; /* without the verb: the tables are the arguments */
    learning learning;
    choice choice;
    double *y;  /* by row of the table */
    double top; /* the worst of the best hundredth */
    simulation result;
} job;

/* ---- The table ---- */

static int check_usage(const options *o) {
    const char *wrong = o->from ? "from" : o->space ? "space" : NULL;
    if (wrong)
        return usage_error(o->command, "simulate chooses from the rows of TABLE; leave --%s out",
                           wrong);
    if (o->maximize && o->minimize)
        return usage_error(o->command, "--maximize and --minimize contradict each other");
    const char *zero = o->count == 0   ? "count"
                       : o->start == 0 ? "start"
                       : o->seeds == 0 ? "seeds"
                                       : NULL;
    if (zero) return usage_error(o->command, "--%s wants at least 1", zero);
    if (o->json && o->output && strcmp(o->output, "-") == 0)
        return usage_error(o->command, "-o - would mix the page with what --json prints");
    return EXIT_DONE;
}

static int check_target(job *j) {
    learning *l = &j->learning;
    if (l->targets.count != 1)
        return usage_error(j->options.command, "simulate plays campaigns for one --target");
    if (l->labels)
        return usage_error(j->options.command,
                           "simulate is for numbers, and \"%s\" has labels; design ask and tell "
                           "work for labels too",
                           l->targets.at[0]);
    return EXIT_DONE;
}

static int read_number(job *j, size_t row, size_t column) {
    session *s = &j->learning.session;
    const lth_table *table = j->learning.table;
    size_t length;
    const char *cell = lth_table_cell(table, row, column, &length);
    char text[64] = "", *end = text;
    if (cell && length < sizeof text) memcpy(text, cell, length);
    j->y[row] = strtod(text, &end);
    if (end > text && end == text + length && isfinite(j->y[row])) return EXIT_DONE;
    lth_error err = {.status = LTH_EFORMAT, .line = lth_table_line(table, row)};
    snprintf(err.file, sizeof err.file, "%s", lth_table_file(table, row));
    snprintf(err.message, sizeof err.message, "\"%.*s\" in column \"%s\" is not a number",
             length < 40 ? (int)length : 40, cell ? cell : "",
             lth_table_column_name(table, column));
    return session_fail_input(s, &err, err.file);
}

static int read_target(job *j) {
    const lth_table *table = j->learning.table;
    size_t rows = lth_table_rows(table), column = lth_table_find(table, j->learning.targets.at[0]);
    j->y = malloc((rows + 1) * sizeof *j->y);
    if (!j->y) return out_of_memory();
    int code = EXIT_DONE;
    for (size_t i = 0; i < rows && !code; ++i) code = read_number(j, i, column);
    return code;
}

/* Better ones count more, also where low values are. */
static double worth(const job *j, double y) {
    return j->result.minimize ? -y : y;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure_table(job *j) {
    simulation *r = &j->result;
    size_t rows = r->table_rows;
    double *sorted = malloc((rows + 1) * sizeof *sorted);
    if (!sorted) return out_of_memory();
    for (size_t i = 0; i < rows; ++i) sorted[i] = worth(j, j->y[i]);
    qsort(sorted, rows, sizeof *sorted, by_value);
    r->top_rows = (rows + 99) / 100;
    j->top = sorted[rows - r->top_rows];
    r->optimum = worth(j, sorted[rows - 1]);
    r->share = !r->minimize && r->optimum > 0;
    free(sorted);
    return EXIT_DONE;
}

static bool asks_for_low(const job *j) {
    const lth_propose_options *p = &j->choice.propose;
    for (size_t i = 0; i < p->objective_count; ++i) {
        const char *equals = strrchr(p->objectives[i], '=');
        if (equals) return strcmp(equals, "=min") == 0;
    }
    return p->minimize;
}

static int make_room(job *j) {
    const options *o = &j->options;
    simulation *r = &j->result;
    r->target = j->learning.targets.at[0];
    r->kernel = j->learning.expression;
    r->table_rows = lth_table_rows(j->learning.table);
    r->count = choice_count(o);
    r->start = o->start == NOT_GIVEN ? r->count : (size_t)o->start;
    r->rounds = o->rounds == NOT_GIVEN ? 4 : (size_t)o->rounds;
    r->steps = r->rounds + 1;
    r->minimize = asks_for_low(j);
    size_t seeds = o->seeds == NOT_GIVEN ? 10 : (size_t)o->seeds;
    if (r->start > r->table_rows || r->rounds > (r->table_rows - r->start) / r->count)
        return usage_error(o->command,
                           "%zu rounds of %zu rows after %zu are more than the table has: %zu",
                           r->rounds, r->count, r->start, r->table_rows);
    r->campaigns = calloc(seeds, sizeof *r->campaigns);
    r->pool = calloc((seeds + 8) * r->steps, sizeof *r->pool);
    r->row_pool = calloc(seeds * r->steps, sizeof *r->row_pool);
    if (!r->campaigns || !r->pool || !r->row_pool) return out_of_memory();
    double *at = r->pool;
    double **bands[] = {&r->reached.mean, &r->reached.low, &r->reached.median, &r->reached.high,
                        &r->random.mean,  &r->random.low,  &r->random.median,  &r->random.high};
    for (size_t i = 0; i < sizeof bands / sizeof *bands; ++i, at += r->steps) *bands[i] = at;
    for (size_t i = 0; i < seeds; ++i, at += r->steps)
        r->campaigns[i] =
            (simulated){.seed = o->seed + i, .best = at, .rows = r->row_pool + i * r->steps};
    return EXIT_DONE;
}

/* ---- A campaign ---- */

/* What was asked for comes out as the table says. */
static lth_status answer(job *j, session *s, lth_design *d, const lth_table *asked,
                         lth_error *err) {
    size_t rows = lth_table_rows(asked), texts = lth_table_columns(asked);
    lth_column *columns = calloc(texts + 1, sizeof *columns);
    const char **text = malloc((texts * rows + 1) * sizeof *text);
    size_t *length = malloc((texts * rows + 1) * sizeof *length);
    double *y = malloc((rows + 1) * sizeof *y);
    lth_status status = columns && text && length && y ? LTH_OK : LTH_ENOMEM;
    for (size_t i = 0; i < rows && status == LTH_OK; ++i) y[i] = j->y[lth_design_asked(d, i)];
    for (size_t c = 0; c < texts && status == LTH_OK; ++c) {
        for (size_t i = 0; i < rows; ++i)
            text[c * rows + i] = lth_table_cell(asked, i, c, &length[c * rows + i]);
        columns[c] = (lth_column){.name = lth_table_column_name(asked, c),
                                  .text = text + c * rows,
                                  .length = length + c * rows};
    }
    if (status == LTH_OK) {
        columns[texts] = (lth_column){.name = j->result.target, .numbers = y};
        lth_table *table = NULL;
        status =
            lth_table_from_columns(s->ctx, columns, sizeof *columns, texts + 1, rows, &table, err);
        if (status == LTH_OK) status = lth_design_tell(d, table, err); /* it borrows y */
        lth_table_free(table);
    } else if (err) {
        err->status = status;
    }
    free(columns);
    free(text);
    free(length);
    free(y);
    return status;
}

/* The rows of a round, in the order of the proposals. */
static void judge(const job *j, const lth_design *d, size_t rows, size_t before, size_t step,
                  simulated *c) {
    double best = step > 0 ? worth(j, c->best[step - 1]) : -INFINITY;
    for (size_t i = 0; i < rows; ++i) {
        double value = worth(j, j->y[lth_design_asked(d, i)]);
        best = fmax(best, value);
        if (value >= j->top && c->until_top == 0) c->until_top = before + i + 1;
    }
    c->best[step] = worth(j, best); /* its own inverse */
    c->rows[step] = before + rows;
    c->found = best >= worth(j, j->result.optimum);
}

static void note_how(job *j, const lth_proposals *p) {
    if (!p || j->result.acquisition) return;
    j->result.acquisition = lth_acquisition_name(lth_proposals_acquisition(p), NULL);
    j->result.batch = lth_batch_name(lth_proposals_batch(p), NULL);
}

static lth_status play_round(job *j, session *s, lth_design *d, size_t step, simulated *c,
                             lth_error *err) {
    lth_table *asked = NULL;
    lth_proposals *proposals = NULL;
    size_t count = step > 0 ? j->result.count : j->result.start;
    lth_status status = lth_design_ask(d, count, &asked, &proposals, err);
    if (status != LTH_OK) return status;
    note_how(j, proposals);
    judge(j, d, lth_table_rows(asked), step > 0 ? c->rows[step - 1] : 0, step, c);
    status = answer(j, s, d, asked, err);
    lth_table_free(asked);
    lth_proposals_free(proposals);
    return status;
}

static int play(job *j, size_t which) {
    simulated *c = &j->result.campaigns[which];
    learning *l = &j->learning;
    options seeded = j->options;
    seeded.seed = c->seed;
    session s;
    lth_design *d = NULL;
    lth_error err = {0};
    lth_design_options begin;
    lth_design_options_init(&begin);
    begin.kernel = l->expression;
    begin.targets = l->targets.at;
    begin.target_count = l->targets.count;
    begin.pool = l->table;
    begin.propose = &j->choice.propose;
    begin.gp = &l->gp_options;
    double began = seconds_now();
    int code = session_open(&s, &seeded);
    if (!code && lth_design_create(s.ctx, NULL, &begin, &d, &err) != LTH_OK)
        code = session_fail_input(&s, &err, j->options.arguments[0]);
    for (size_t r = 0; r < j->result.steps && !code; ++r) {
        session_status(&s, "campaign %zu of %zu, round %zu of %zu", which + 1,
                       j->result.campaign_count, r, j->result.rounds);
        if (play_round(j, &s, d, r, c, &err) != LTH_OK)
            code = session_fail_input(&s, &err, j->options.arguments[0]);
    }
    c->seconds = seconds_now() - began;
    double unit =
        j->result.share ? j->result.optimum : 1; /* the optimum over itself is exactly 1 */
    for (size_t r = 0; r < j->result.steps && !code; ++r) c->best[r] /= unit;
    if (!code)
        session_note(&s, "seed %llu: best %.4g, %.1f s", (unsigned long long)c->seed,
                     c->best[j->result.rounds], c->seconds);
    lth_design_free(d);
    session_close(&s);
    return code;
}

static int play_all(job *j) {
    size_t seeds = j->options.seeds == NOT_GIVEN ? 10 : (size_t)j->options.seeds;
    int code = EXIT_DONE;
    j->result.campaign_count = seeds;
    for (size_t i = 0; i < seeds && !code; ++i) code = play(j, i);
    if (!code && !simulation_sum_up(&j->result, j->y)) code = out_of_memory();
    return code;
}

/* ---- What came of it ---- */

static size_t count_found(const simulation *r) {
    size_t found = 0;
    for (size_t i = 0; i < r->campaign_count; ++i) found += r->campaigns[i].found;
    return found;
}

static void print_until_top(const simulation *r) {
    double sum = 0;
    size_t reached = 0;
    for (size_t i = 0; i < r->campaign_count; ++i) {
        sum += (double)r->campaigns[i].until_top;
        reached += r->campaigns[i].until_top > 0;
    }
    if (reached == 0) {
        puts("no campaign measured one of the best 1%");
        return;
    }
    printf("one of the best 1%% after %.1f rows (mean of %zu of %zu campaigns); at random %.1f\n",
           sum / (double)reached, reached, r->campaign_count, r->random_until_top);
}

static void print_text(const simulation *r) {
    char optimum[32];
    printf("%zu campaigns on %zu rows, %s %s%s\n", r->campaign_count, r->table_rows,
           r->minimize ? "minimum" : "maximum", double_text(r->optimum, optimum),
           r->share ? "; best as a share of it" : "");
    puts("rows\tbest\tbest.10%\tbest.90%\trandom\trandom.10%\trandom.90%");
    for (size_t i = 0; i < r->steps; ++i)
        printf("%zu\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\n", r->start + i * r->count,
               r->reached.mean[i], r->reached.low[i], r->reached.high[i], r->random.mean[i],
               r->random.low[i], r->random.high[i]);
    printf("the %s was found in %zu of %zu campaigns; at random with probability %.3g\n",
           r->minimize ? "minimum" : "maximum", count_found(r), r->campaign_count, r->random_found);
    print_until_top(r);
}

static void json_put_doubles(json_writer *w, const char *key, const double *values, size_t count) {
    json_begin_list(w, key);
    for (size_t i = 0; i < count; ++i) json_put_double(w, NULL, values[i]);
    json_end(w);
}

static void json_put_band(json_writer *w, const simulation *r, const simulated_band *b) {
    json_put_doubles(w, "mean", b->mean, r->steps);
    json_put_doubles(w, "q10", b->low, r->steps);
    json_put_doubles(w, "median", b->median, r->steps);
    json_put_doubles(w, "q90", b->high, r->steps);
}

static void json_put_campaign(json_writer *w, const simulation *r, const simulated *c) {
    json_begin_object(w, NULL);
    json_put_count(w, "seed", (size_t)c->seed);
    json_put_doubles(w, "best", c->best, r->steps);
    json_begin_list(w, "rows");
    for (size_t i = 0; i < r->steps; ++i) json_put_count(w, NULL, c->rows[i]);
    json_end(w);
    json_put_bool(w, "found", c->found);
    if (c->until_top > 0)
        json_put_count(w, "until_top", c->until_top);
    else
        json_put_text(w, "until_top", NULL);
    json_put_double(w, "seconds", c->seconds);
    json_end(w);
}

static void print_json(const simulation *r) {
    json_writer w = {.to = stdout};
    json_begin_result(&w, NULL);
    json_begin_list(&w, "seeds");
    for (size_t i = 0; i < r->campaign_count; ++i) json_put_campaign(&w, r, &r->campaigns[i]);
    json_end(&w);
    json_put_count(&w, "rounds", r->rounds);
    json_put_count(&w, "count", r->count);
    json_put_count(&w, "start", r->start);
    json_put_count(&w, "table_rows", r->table_rows);
    json_put_count(&w, "top_rows", r->top_rows);
    json_put_double(&w, r->minimize ? "minimum" : "maximum", r->optimum);
    json_put_bool(&w, "share", r->share);
    json_put_text(&w, "target", r->target);
    json_put_text(&w, "kernel", r->kernel);
    json_put_text(&w, "acquisition", r->acquisition);
    json_put_text(&w, "batch", r->batch);
    json_put_double(&w, "found", (double)count_found(r) / (double)r->campaign_count);
    json_put_band(&w, r, &r->reached);
    json_begin_object(&w, "random");
    json_put_band(&w, r, &r->random);
    json_put_double(&w, "until_top", r->random_until_top);
    json_put_double(&w, "found", r->random_found);
    json_end(&w);
    json_end(&w);
}

static int report(job *j) {
    const options *o = &j->options;
    if (o->output) {
        int code = write_simulation_page(&j->result, o->title ? o->title : "Simulated campaigns",
                                         o->output);
        if (code) return code;
    }
    (o->json ? print_json : print_text)(&j->result);
    return finish_stdout();
}

int design_simulate(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = *o};
    j.options.arguments++; /* the verb */
    j.options.argument_count--;
    code = learning_open(&j.learning, &j.options);
    if (!code && o->output) code = check_output(o->output);
    if (!code) code = choice_open(&j.choice, &j.learning.session, j.learning.targets.count);
    if (!code) code = learning_read(&j.learning, o->cost);
    if (!code) code = check_target(&j);
    if (!code) code = make_room(&j);
    if (!code) code = read_target(&j);
    if (!code) code = measure_table(&j);
    if (!code) code = play_all(&j);
    if (!code) code = report(&j);
    free(j.y);
    free(j.result.campaigns);
    free(j.result.pool);
    free(j.result.row_pool);
    choice_close(&j.choice);
    learning_close(&j.learning);
    return code;
}
