/* Learning machines: numbers are one problem, two classes are one, more classes are one for each
 * pair or each class against the rest, and several labels a row one for each label. All problems of
 * all machines that are wanted are solved side by side, dearest first; those that differ in C alone
 * one after the other, by one thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "model/common/folds.h"
#include "model/svm/svm.h"

enum { CALIBRATION_FOLDS = 5 };

/* One lesson. Its machines have the same parts; `machine` is the first of them. */
typedef struct trainer {
    const lth__svm_lesson *lesson;
    const lth__svm_target *target;
    const lth__svm_gram *gram;
    const size_t *rows;
    size_t count;
    const lth__svm_setting *setting; /* the first */
    lth__svm_machine *machine;
    double *shared; /* decision values of all parts, then their y; NULL = each has its sigmoid */
} trainer;

/* ---- Which problems there are ---- */

static size_t count_rows(const trainer *t, size_t class) {
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        count += lth__labels_has(&t->target->labels, t->rows[i], class);
    return count;
}

/* The classes among the rows; `out` has room for all. */
static size_t list_present(const trainer *t, size_t *out) {
    size_t count = 0;
    for (size_t c = 0; c < t->target->labels.class_count; c++) {
        if (count_rows(t, c) > 0) out[count++] = c;
    }
    return count;
}

static void add_part(lth__svm_machine *m, size_t positive, size_t negative) {
    m->parts[m->part_count++] = (lth__svm_part){.positive = positive, .negative = negative};
}

static void list_parts(const trainer *t, const size_t *present, size_t count) {
    lth__svm_machine *m = t->machine;
    if (!m->multi && count == 1) m->only = present[0];
    bool pairs = !m->multi && (count == 2 || !t->target->one_vs_rest);
    for (size_t i = 0; i < count; i++) {
        if (!pairs && (m->multi || count > 1)) add_part(m, present[i], LTH_NONE);
        for (size_t j = i + 1; pairs && j < count; j++) add_part(m, present[i], present[j]);
    }
}

static lth_status make_parts(const trainer *t, lth_error *err) {
    lth__svm_machine *m = t->machine;
    const lth__labels *labels = &t->target->labels;
    size_t classes = t->target->y ? 0 : labels->class_count;
    *m = (lth__svm_machine){.classes = classes,
                            .multi = labels->multi,
                            .only = LTH_NONE,
                            .probability = t->target->probability};
    size_t most = classes * (classes + 1) / 2 + 1;
    m->parts = lth__calloc(most, sizeof *m->parts);
    size_t *present = lth__alloc(classes, sizeof *present);
    lth_status status = m->parts && present ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK && classes == 0) add_part(m, LTH_NONE, LTH_NONE);
    if (status == LTH_OK && classes > 0) list_parts(t, present, list_present(t, present));
    lth__free(present);
    return status;
}

/* ---- One problem ---- */

/* The rows and targets of a part; both arrays have room for all rows. */
static size_t gather(const trainer *t, const lth__svm_part *part, size_t *row, double *y) {
    const lth__labels *labels = &t->target->labels;
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        size_t r = t->rows[i];
        row[count] = r;
        if (t->target->y) {
            y[count++] = t->target->y[r];
            continue;
        }
        bool positive = lth__labels_has(labels, r, part->positive);
        bool negative =
            part->negative == LTH_NONE ? !positive : lth__labels_has(labels, r, part->negative);
        if (!positive && !negative) continue;
        y[count++] = positive ? 1 : -1;
    }
    return count;
}

/* Balanced: with k classes, or the two sides of a class against the rest, n / (k n_class), so that
 * all classes together have the same weight. */
static void weigh(const trainer *t, const lth__svm_part *part, lth__svm_problem *p) {
    const lth__svm_target *target = t->target;
    bool rest = part->negative == LTH_NONE;
    p->weight[0] = p->weight[1] = 1;
    if (target->weight && !target->y) {
        p->weight[0] = target->weight[part->positive];
        if (!rest) p->weight[1] = target->weight[part->negative];
    }
    if (!target->balanced) return;
    double positive = 0, n = (double)(rest ? p->count : t->count);
    double classes = rest ? 2 : (double)lth__svm_paired_classes(t->machine);
    for (size_t i = 0; i < p->count; i++) positive += p->y[i] > 0;
    double negative = (double)p->count - positive;
    if (positive > 0) p->weight[0] = n / (classes * positive);
    if (negative > 0) p->weight[1] = n / (classes * negative);
}

/* Decision values of rows that the solution has not seen, fold by fold. `row` and `y` are room for
 * rows and their targets. */
static lth_status decide_unseen(const lth__svm_problem *all, const lth__svm_setting *setting,
                                const size_t *fold, size_t folds, size_t *row, double *y,
                                double *decision, lth_error *err) {
    lth__svm_problem p = *all;
    p.row = row;
    p.y = y;
    for (size_t f = 0; f < folds; f++) {
        lth__svm_solution s;
        p.count = 0;
        for (size_t i = 0; i < all->count; i++) {
            if (fold[i] == f) continue;
            row[p.count] = all->row[i];
            y[p.count++] = all->y[i];
        }
        LTH_TRY(lth__svm_solve(&p, setting, &s, err));
        size_t unseen = 0;
        for (size_t i = 0; i < all->count; i++) {
            if (fold[i] == f) row[unseen++] = all->row[i];
        }
        lth_status status = lth__svm_decide_rows(&s, all->gram, row, unseen, y, 1);
        lth__svm_solution_free(&s);
        LTH_TRY(status);
        for (size_t i = all->count; i-- > 0;) {
            if (fold[i] == f) decision[i] = y[--unseen];
        }
    }
    return LTH_OK;
}

static lth_status calibrate(const trainer *t, size_t part, const lth__svm_problem *p,
                            lth_error *err) {
    size_t n = p->count, folds = n < CALIBRATION_FOLDS ? n : CALIBRATION_FOLDS;
    size_t *room = lth__alloc(3 * n, sizeof *room), *fold = room, *row = fold + n, *side = row + n;
    double *numbers = lth__alloc(2 * n, sizeof *numbers), *decision = numbers, *y = decision + n;
    lth_status status = room && numbers ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) {
        for (size_t i = 0; i < n; i++) side[i] = p->y[i] > 0;
        status = lth__folds_by_class(t->gram->ctx->options.seed, side, 2, n, folds, fold, err);
    }
    if (status == LTH_OK) status = decide_unseen(p, t->setting, fold, folds, row, y, decision, err);
    if (status == LTH_OK && t->shared) {
        memcpy(t->shared + part * n, decision, n * sizeof *decision);
        memcpy(t->shared + (t->machine->part_count + part) * n, p->y, n * sizeof *p->y);
    } else if (status == LTH_OK) {
        t->machine->parts[part].sigmoid = lth__sigmoid_fit(decision, p->y, n, y);
    }
    lth__free(room);
    lth__free(numbers);
    return status;
}

/* Each class against the rest, of which one is right: all have one sigmoid, so that the highest
 * decision value is the highest probability too. */
static bool shares_sigmoid(const lth__svm_machine *m) {
    return m->probability && !m->multi && m->part_count > 1 && m->parts[0].negative == LTH_NONE;
}

static lth_status calibrate_together(const trainer *t, lth_error *err) {
    lth__svm_machine *m = t->machine;
    size_t count = m->part_count * t->count;
    double *room = lth__alloc(count, sizeof *room);
    if (!room) return lth__fail_memory(err, count * sizeof *room);
    lth__sigmoid all = lth__sigmoid_fit(t->shared, t->shared + count, count, room);
    for (size_t i = 0; i < m->part_count; i++) m->parts[i].sigmoid = all;
    lth__free(room);
    return LTH_OK;
}

/* nu is at most twice the share of the smaller class. */
static lth_status check_nu(const trainer *t, const lth__svm_setting *setting, lth_error *err) {
    if (!setting->nu_svm || t->target->y) return LTH_OK;
    for (size_t i = 0; i < t->machine->part_count; i++) {
        const lth__svm_part *part = &t->machine->parts[i];
        size_t a = count_rows(t, part->positive);
        size_t b = part->negative == LTH_NONE ? t->count - a : count_rows(t, part->negative);
        size_t smaller = a < b ? a : b;
        double most = 2 * (double)smaller / (double)(a + b);
        if (smaller == 0 || setting->nu <= most) continue;
        return lth__fail(
            err, LTH_EARG, "nu is too large: at most %.4g for %zu rows of \"%s\" against %zu%s",
            most, a, t->target->labels.name[part->positive], b,
            part->negative == LTH_NONE && !t->machine->multi ? "; classes in pairs allow for more"
                                                             : "");
    }
    return LTH_OK;
}

/* Those settings that can be met are taught; others are refused, or are an error. */
static lth_status check_settings(const trainer *t, lth_error *err) {
    const lth__svm_lesson *l = t->lesson;
    for (size_t k = 0; k < l->setting_count; k++) {
        lth_status status = check_nu(t, &l->settings[k], err);
        if (status != LTH_OK && !l->refused) return status;
        if (l->refused) l->refused[k] = status != LTH_OK;
    }
    return LTH_OK;
}

/* The other machines are like the first. */
static lth_status copy_parts(const trainer *t, lth_error *err) {
    lth__svm_machine *m = t->machine;
    for (size_t k = 1; k < t->lesson->setting_count; k++) {
        lth__svm_part *parts = lth__calloc(m->part_count, sizeof *parts);
        if (!parts) return lth__fail_memory(err, m->part_count * sizeof *parts);
        memcpy(parts, m->parts, m->part_count * sizeof *parts);
        m[k] = *m;
        m[k].parts = parts;
    }
    return LTH_OK;
}

static lth_status prepare_lesson(trainer *t, lth_error *err) {
    LTH_TRY(make_parts(t, err));
    LTH_TRY(check_settings(t, err));
    LTH_TRY(copy_parts(t, err));
    if (!shares_sigmoid(t->machine)) return LTH_OK;
    t->shared = lth__alloc(2 * t->machine->part_count * t->count, sizeof *t->shared);
    return t->shared ? LTH_OK : lth__fail_memory(err, 0);
}

/* ---- Jobs ---- */

/* A part of a lesson, with all settings. */
typedef struct job {
    const trainer *trainer;
    size_t part;
    double cost;
    size_t number;
} job;

static int dearest_first(const void *a, const void *b) {
    const job *x = a, *y = b;
    if (x->cost != y->cost) return x->cost > y->cost ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static size_t count_part(const trainer *t, const lth__svm_part *part) {
    if (part->negative == LTH_NONE) return t->count;
    return count_rows(t, part->positive) + count_rows(t, part->negative);
}

static lth_status solve_part(const trainer *t, size_t part, const lth__svm_problem *p,
                             lth_error *err) {
    const lth__svm_lesson *l = t->lesson;
    size_t n = l->setting_count, wanted = 0;
    lth__svm_setting *settings = lth__alloc(n, sizeof *settings);
    lth__svm_solution *solutions = lth__calloc(n, sizeof *solutions);
    lth_status status = settings && solutions ? LTH_OK : LTH_ENOMEM;
    for (size_t k = 0; status == LTH_OK && k < n; k++) {
        if (!l->refused || !l->refused[k]) settings[wanted++] = l->settings[k];
    }
    if (status == LTH_OK && wanted > 0)
        status = lth__svm_solve_all(p, settings, wanted, solutions, err);
    for (size_t k = 0, at = 0; status == LTH_OK && k < n; k++) {
        if (!l->refused || !l->refused[k]) t->machine[k].parts[part].solution = solutions[at++];
    }
    lth__free(settings);
    lth__free(solutions);
    return status;
}

static lth_status train_part(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const job *j = (const job *)user + index;
    const trainer *t = j->trainer;
    size_t *row = lth__alloc(t->count, sizeof *row);
    double *y = lth__alloc(t->count, sizeof *y);
    lth_status status = row && y ? LTH_OK : LTH_ENOMEM;
    if (status == LTH_OK) {
        lth__svm_part *part = &t->machine->parts[j->part];
        lth__svm_problem p = {.gram = t->gram, .row = row, .y = y};
        p.count = gather(t, part, row, y);
        weigh(t, part, &p);
        status = solve_part(t, j->part, &p, err);
        if (status == LTH_OK && t->machine->probability) status = calibrate(t, j->part, &p, err);
    }
    lth__free(row);
    lth__free(y);
    return status;
}

/* ---- By a device ---- */

/* A job with its arrays: row and target of each row, then its settings and where they go. */
static lth_status make_task(const job *j, lth__svm_device_task *out, lth_error *err) {
    const trainer *t = j->trainer;
    const lth__svm_lesson *l = t->lesson;
    size_t *row = lth__alloc(t->count, sizeof *row);
    double *y = lth__alloc(t->count, sizeof *y);
    lth__svm_setting *settings = lth__alloc(l->setting_count, sizeof *settings);
    lth__svm_solution **solutions = lth__alloc(l->setting_count, sizeof *solutions);
    *out = (lth__svm_device_task){.problem = {.gram = t->gram, .row = row, .y = y},
                                  .settings = settings,
                                  .solutions = solutions};
    if (!row || !y || !settings || !solutions) return lth__fail_memory(err, 0);
    const lth__svm_part *part = &t->machine->parts[j->part];
    out->problem.count = gather(t, part, row, y);
    weigh(t, part, &out->problem);
    for (size_t k = 0; k < l->setting_count; k++) {
        if (l->refused && l->refused[k]) continue;
        settings[out->setting_count] = l->settings[k];
        solutions[out->setting_count++] = &t->machine[k].parts[j->part].solution;
    }
    if (!lth__svm_is_one_sided(&out->problem, t->setting)) return LTH_OK;
    for (size_t k = 0; k < out->setting_count; k++)
        LTH_TRY(lth__svm_solve(&out->problem, &settings[k], solutions[k], err));
    out->setting_count = 0;
    return LTH_OK;
}

static void free_task(lth__svm_device_task *t) {
    lth__free((void *)t->problem.row);
    lth__free((void *)t->problem.y);
    lth__free((void *)t->settings);
    lth__free((void *)t->solutions);
}

/* *done = false: it is for the CPU. */
static lth_status train_on_device(const job *list, size_t jobs, const lth__svm_gram *gram,
                                  const char *what, bool *done, lth_error *err) {
    size_t problems = 0;
    bool wanted = jobs > 0;
    *done = false;
    for (size_t i = 0; i < jobs; i++) problems += list[i].trainer->lesson->setting_count;
    for (size_t i = 0; i < jobs && wanted; i++) {
        const trainer *t = list[i].trainer;
        wanted = !t->machine->probability && lth__svm_device_wants(gram, problems, t->setting);
    }
    if (!wanted) return LTH_OK;
    lth__svm_device_task *tasks = lth__calloc(jobs, sizeof *tasks);
    if (!tasks) return lth__fail_memory(err, jobs * sizeof *tasks);
    lth_status status = LTH_OK;
    for (size_t i = 0; status == LTH_OK && i < jobs; i++)
        status = make_task(&list[i], &tasks[i], err);
    if (status == LTH_OK) status = lth__svm_device_solve(gram, tasks, jobs, what, done, err);
    for (size_t i = 0; i < jobs; i++) free_task(&tasks[i]);
    lth__free(tasks);
    return status;
}

static lth_status run_jobs(const trainer *trainers, size_t count, const lth__svm_gram *gram,
                           const char *what, lth_error *err) {
    size_t jobs = 0, used = 0;
    for (size_t i = 0; i < count; i++) jobs += trainers[i].machine->part_count;
    job *list = lth__alloc(jobs, sizeof *list);
    double *cost = lth__alloc(jobs, sizeof *cost);
    lth_status status = list && cost ? LTH_OK : lth__fail_memory(err, jobs * sizeof *list);
    for (size_t i = 0; status == LTH_OK && i < count; i++) {
        const trainer *t = &trainers[i];
        for (size_t p = 0; p < t->machine->part_count; p++, used++) {
            double rows = (double)count_part(t, &t->machine->parts[p]);
            list[used] = (job){t, p, rows * rows * (double)t->lesson->setting_count, used};
        }
    }
    if (status == LTH_OK) {
        qsort(list, jobs, sizeof *list, dearest_first);
        for (size_t i = 0; i < jobs; i++) cost[i] = list[i].cost;
        bool done;
        status = train_on_device(list, jobs, gram, what, &done, err);
        if (status == LTH_OK && !done)
            status = lth__parallel_for(gram->ctx, what, jobs, cost, train_part, list, err);
    }
    lth__free(list);
    lth__free(cost);
    return status;
}

/* ---- All of them ---- */

void lth__svm_warn_unfinished(const lth__svm_gram *gram, const lth__svm_machine *m) {
    size_t count = 0;
    for (size_t p = 0; p < m->part_count; p++) count += m->parts[p].solution.unfinished;
    if (count > 0)
        lth__log(gram->ctx, LTH_LOG_WARNING,
                 "%zu of %zu problems were not solved to the end: a smaller C, or normalize(), "
                 "makes them easier",
                 count, m->part_count);
}

static void free_machines(const lth__svm_lesson *lessons, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < lessons[i].setting_count; k++)
            lth__svm_machine_free(&lessons[i].machines[k]);
    }
}

lth_status lth__svm_train_all(const lth__svm_gram *gram, const lth__svm_lesson *lessons,
                              size_t count, const char *what, lth_error *err) {
    trainer *trainers = lth__calloc(count, sizeof *trainers);
    lth_status status = trainers ? LTH_OK : lth__fail_memory(err, count * sizeof *trainers);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < lessons[i].setting_count; k++)
            lessons[i].machines[k] = (lth__svm_machine){0};
    }
    for (size_t i = 0; status == LTH_OK && i < count; i++) {
        const lth__svm_lesson *l = &lessons[i];
        trainers[i] = (trainer){.lesson = l,
                                .target = l->target,
                                .gram = gram,
                                .rows = l->rows,
                                .count = l->count,
                                .setting = l->settings,
                                .machine = l->machines};
        status = prepare_lesson(&trainers[i], err);
    }
    if (status == LTH_OK) status = run_jobs(trainers, count, gram, what, err);
    for (size_t i = 0; trainers && i < count; i++) {
        if (status == LTH_OK && trainers[i].shared) status = calibrate_together(&trainers[i], err);
        lth__free(trainers[i].shared);
    }
    lth__free(trainers);
    if (status != LTH_OK) free_machines(lessons, count);
    return status;
}

lth_status lth__svm_train(const lth__svm_target *target, const lth__svm_gram *gram,
                          const size_t *rows, size_t count, const lth__svm_setting *setting,
                          lth__svm_machine *out, lth_error *err) {
    lth__svm_machine machine;
    lth__svm_lesson lesson = {target, rows, count, setting, 1, &machine, NULL};
    const char *what = target->quiet ? NULL : "support vectors";
    LTH_TRY(lth__svm_train_all(gram, &lesson, 1, what, err));
    if (!target->quiet) lth__svm_warn_unfinished(gram, &machine);
    *out = machine;
    return LTH_OK;
}
