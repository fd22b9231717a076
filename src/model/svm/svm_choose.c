/* The choice among settings by inner folds: all folds of all searches are learned side by side,
 * with one Gram matrix. Where there are enough of them, settings that differ in C alone are learned
 * one after the other, each from where the last one ended. How it is cut depends on the data alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "model/common/folds.h"
#include "model/svm/svm.h"

/* With so many problems at once, paths of C leave no core idle. */
enum { MANY_PATHS = 32 };

/* What a score is made of: for numbers the squared errors, else rows that are right, and for each
 * class hits, predictions and rows that have it. */
typedef struct tally {
    bool failed; /* it could not be trained */
    double squares;
    size_t rows, right, *classes;
} tally;

/* One search; without folds where there is nothing to judge. The rows of a fold are
 * sorted[first[fold]] .. sorted[first[fold + 1] - 1], and those of the others are in `others`, fold
 * by fold. */
typedef struct judge {
    const lth__svm_target *target;
    const lth__svm_gram *gram;
    const size_t *rows;
    size_t count, folds;
    const lth__svm_settings *settings;
    lth__svm_target plain; /* without probabilities, which do not matter here */
    size_t *fold, *sorted, *first, *others;
    size_t *order;              /* settings by their paths */
    lth__svm_setting *ordered;  /* likewise                */
    size_t *path_start, paths;  /* in this order           */
    lth__svm_machine *machines; /* [fold][place in the order] */
    bool *refused;              /* likewise */
    tally *tallies;             /* [setting][fold] */
} judge;

const char *lth__svm_score_name(const lth__svm_target *target) {
    if (target->y) return "rmse";
    return target->labels.multi ? "macro_f1" : "accuracy";
}

/* Folds of the rows, stratified by their class if they have one each. */
static lth_status make_folds(const judge *j, size_t *fold, lth_error *err) {
    const lth__labels *labels = &j->target->labels;
    uint64_t seed = j->gram->ctx->options.seed;
    if (j->target->y || labels->multi)
        return lth__folds_by_class(seed, NULL, 0, j->count, j->folds, fold, err);
    size_t *class = lth__alloc(j->count, sizeof *class);
    if (!class) return lth__fail_memory(err, j->count * sizeof *class);
    for (size_t i = 0; i < j->count; i++) class[i] = labels->of[j->rows[i]];
    lth_status status =
        lth__folds_by_class(seed, class, labels->class_count, j->count, j->folds, fold, err);
    lth__free(class);
    return status;
}

/* ---- Paths of C ---- */

static int compare(double a, double b) {
    return (a > b) - (a < b); /* what a kind does not use is NaN, and equal */
}

static int by_path(const lth__svm_setting *a, const lth__svm_setting *b) {
    int epsilon = compare(a->epsilon, b->epsilon);
    return epsilon != 0 ? epsilon : compare(a->nu, b->nu);
}

static int by_path_and_C(const lth__svm_setting *a, const lth__svm_setting *b) {
    int path = by_path(a, b);
    return path != 0 ? path : compare(a->C, b->C);
}

/* By insertion: there are few. */
static void sort_settings(judge *j) {
    const lth__svm_setting *at = j->settings->at;
    for (size_t i = 0; i < j->settings->count; i++) {
        size_t k = i;
        for (; k > 0 && by_path_and_C(&at[j->order[k - 1]], &at[i]) > 0; k--)
            j->order[k] = j->order[k - 1];
        j->order[k] = i;
    }
    for (size_t i = 0; i < j->settings->count; i++) j->ordered[i] = at[j->order[i]];
}

static void cut_paths(judge *j, bool together) {
    size_t n = j->settings->count;
    together = together && !j->gram->linear && !j->ordered[0].origin;
    j->paths = 0;
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && by_path(&j->ordered[i - 1], &j->ordered[i]) == 0;
        if (!same || !together) j->path_start[j->paths++] = i;
    }
    j->path_start[j->paths] = n;
}

/* ---- Lessons ---- */

/* Rows in the order of their folds, and those of all other folds, in their own order. */
static lth_status sort_rows(judge *j, lth_error *err) {
    LTH_TRY(make_folds(j, j->fold, err));
    size_t used = 0, others = 0;
    for (size_t f = 0; f < j->folds; f++) {
        j->first[f] = used;
        for (size_t i = 0; i < j->count; i++) {
            if (j->fold[i] == f)
                j->sorted[used++] = j->rows[i];
            else
                j->others[others++] = j->rows[i];
        }
    }
    j->first[j->folds] = used;
    return LTH_OK;
}

static void close_judge(judge *j) {
    size_t n = j->settings->count * j->folds;
    for (size_t i = 0; j->machines && i < n; i++) lth__svm_machine_free(&j->machines[i]);
    for (size_t i = 0; j->tallies && i < n; i++) lth__free(j->tallies[i].classes);
    void *blocks[] = {j->fold,    j->sorted,     j->first,    j->others,  j->order,
                      j->ordered, j->path_start, j->machines, j->refused, j->tallies};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
}

static lth_status open_judge(judge *j, lth_error *err) {
    size_t n = j->settings->count, jobs = n * j->folds;
    j->plain = *j->target;
    j->plain.probability = false;
    j->fold = lth__alloc(j->count, sizeof *j->fold);
    j->sorted = lth__alloc(j->count, sizeof *j->sorted);
    j->first = lth__alloc(j->folds + 1, sizeof *j->first);
    j->others = lth__alloc(j->count * j->folds, sizeof *j->others);
    j->order = lth__alloc(n, sizeof *j->order);
    j->ordered = lth__alloc(n, sizeof *j->ordered);
    j->path_start = lth__alloc(n + 1, sizeof *j->path_start);
    j->machines = lth__calloc(jobs, sizeof *j->machines);
    j->refused = lth__calloc(jobs, sizeof *j->refused);
    j->tallies = lth__calloc(jobs, sizeof *j->tallies);
    if (!j->fold || !j->sorted || !j->first || !j->others || !j->order || !j->ordered ||
        !j->path_start || !j->machines || !j->refused || !j->tallies)
        return lth__fail_memory(err, j->count * j->folds * sizeof *j->others);
    sort_settings(j);
    return sort_rows(j, err);
}

static size_t count_problems(const judge *j) {
    size_t classes = j->target->y ? 1 : j->target->labels.class_count;
    if (classes <= 2 && !j->target->labels.multi) return j->folds;
    bool alone = j->target->one_vs_rest || j->target->labels.multi;
    return j->folds * (alone ? classes : classes * (classes - 1) / 2);
}

/* The lessons of a search; returns their number. */
static size_t list_lessons(judge *j, lth__svm_lesson *out) {
    size_t used = 0, n = j->settings->count, before = 0;
    for (size_t f = 0; f < j->folds; f++) {
        size_t rows = j->count - (j->first[f + 1] - j->first[f]);
        for (size_t p = 0; p < j->paths; p++) {
            size_t start = j->path_start[p], at = f * n + start;
            out[used++] = (lth__svm_lesson){
                &j->plain,          j->others + before,           rows,
                j->ordered + start, j->path_start[p + 1] - start, j->machines + at,
                j->refused + at};
        }
        before += rows;
    }
    return used;
}

/* ---- Judging ---- */

static void tally_labels(const judge *j, size_t row, const bool *has, tally *t) {
    const lth__labels *labels = &j->target->labels;
    bool right = true;
    for (size_t c = 0; c < labels->class_count; c++) {
        bool truth = lth__labels_has(labels, row, c);
        right &= truth == has[c];
        t->classes[3 * c] += truth && has[c];
        t->classes[3 * c + 1] += has[c];
        t->classes[3 * c + 2] += truth;
    }
    t->right += right;
}

/* `rows` are those of the fold. */
static lth_status tally_rows(const judge *j, const lth__svm_machine *m, const size_t *rows,
                             size_t count, tally *t) {
    double *decisions = lth__alloc(count * m->part_count, sizeof *decisions);
    size_t *votes = lth__alloc(m->classes, sizeof *votes);
    bool *has = lth__alloc(m->classes, sizeof *has);
    lth_status status = decisions && votes && has ? LTH_OK : LTH_ENOMEM;
    if (status == LTH_OK) status = lth__svm_decide_all(m, j->gram, rows, count, decisions);
    for (size_t i = 0; status == LTH_OK && i < count; i++) {
        const double *decision = decisions + i * m->part_count;
        t->rows++;
        if (j->target->y) {
            double error = decision[0] - j->target->y[rows[i]];
            t->squares += error * error;
        } else {
            lth__svm_classify(m, decision, votes, has);
            tally_labels(j, rows[i], has, t);
        }
    }
    lth__free(decisions);
    lth__free(votes);
    lth__free(has);
    return status;
}

/* The fold and the place of a setting in the order. */
static lth_status judge_one(judge *j, size_t index) {
    size_t n = j->settings->count, fold = index / n, place = index % n;
    tally *t = &j->tallies[j->order[place] * j->folds + fold];
    t->classes = lth__calloc(3 * j->target->labels.class_count, sizeof *t->classes);
    if (!t->classes) return LTH_ENOMEM;
    t->failed = j->refused[index];
    if (t->failed) return LTH_OK;
    size_t first = j->first[fold];
    return tally_rows(j, &j->machines[index], j->sorted + first, j->first[fold + 1] - first, t);
}

/* All searches that are judged. */
typedef struct court {
    judge *judges;
    size_t *start, count; /* where the jobs of each begin */
} court;

static lth_status judge_some(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const court *c = user;
    size_t i = 0;
    while (c->start[i + 1] <= index) i++;
    return judge_one(&c->judges[i], index - c->start[i]);
}

static lth_status learn_and_judge(const court *c, const lth__svm_gram *gram, const char *what,
                                  lth_error *err) {
    size_t problems = 0, lessons = 0, used = 0;
    for (size_t i = 0; i < c->count; i++) problems += count_problems(&c->judges[i]);
    for (size_t i = 0; i < c->count; i++) {
        if (c->judges[i].folds > 0) cut_paths(&c->judges[i], problems >= MANY_PATHS);
        lessons += c->judges[i].folds * c->judges[i].paths;
    }
    lth__svm_lesson *list = lth__alloc(lessons, sizeof *list);
    if (!list) return lth__fail_memory(err, lessons * sizeof *list);
    for (size_t i = 0; i < c->count; i++) used += list_lessons(&c->judges[i], list + used);
    lth_status status = lth__svm_train_all(gram, list, used, what, err);
    lth__free(list);
    if (status != LTH_OK) return status;
    return lth__parallel_for(gram->ctx, NULL, c->start[c->count], NULL, judge_some, (void *)c, err);
}

/* The score of a setting over all folds. */
static double score_of(const judge *j, size_t setting) {
    const tally *t = j->tallies + setting * j->folds;
    const lth__labels *labels = &j->target->labels;
    double squares = 0, rows = 0, right = 0, f1 = 0;
    size_t occurring = 0;
    for (size_t f = 0; f < j->folds; f++) {
        if (t[f].failed) return NAN;
        squares += t[f].squares;
        rows += (double)t[f].rows;
        right += (double)t[f].right;
    }
    if (j->target->y) return sqrt(squares / rows);
    if (!labels->multi) return right / rows;
    for (size_t c = 0; c < labels->class_count; c++) {
        double n[3] = {0};
        for (size_t f = 0; f < j->folds; f++) {
            for (size_t k = 0; k < 3; k++) n[k] += (double)t[f].classes[3 * c + k];
        }
        if (n[1] + n[2] == 0) continue;
        occurring++;
        f1 += 2 * n[0] / (n[1] + n[2]);
    }
    return occurring == 0 ? 0 : f1 / (double)occurring;
}

/* ---- Choosing ---- */

static bool is_better(const lth__svm_target *target, double score, const lth__svm_setting *setting,
                      const lth__svm_choice *than) {
    if (isnan(score)) return false;
    if (!than->made) return true;
    if (score != than->score) return target->y ? score < than->score : score > than->score;
    return setting->C < than->setting.C;
}

static void choose(lth__svm_search *s, const judge *j, size_t point, lth__svm_choice *best) {
    for (size_t i = 0; i < s->settings->count; i++) {
        double score = score_of(j, i);
        if (s->score) s->score[i] = score;
        if (!is_better(s->target, score, &s->settings->at[i], best)) continue;
        *best = (lth__svm_choice){
            .made = true, .point = point, .setting = s->settings->at[i], .score = score};
        s->better = true;
    }
}

/* What is better than before is learned from all rows. */
static lth_status train_choices(const lth__svm_gram *gram, lth__svm_search *searches, size_t count,
                                lth__svm_choice *best, const char *what, lth_error *err) {
    lth__svm_lesson *lessons = lth__alloc(count, sizeof *lessons);
    if (!lessons) return lth__fail_memory(err, count * sizeof *lessons);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        lth__svm_search *s = &searches[i];
        if (s->better)
            lessons[used++] = (lth__svm_lesson){
                s->target, s->rows, s->count, &best[i].setting, 1, &best[i].machine, NULL};
    }
    lth_status status = lth__svm_train_all(gram, lessons, used, what, err);
    for (size_t i = 0; status == LTH_OK && i < count; i++) {
        lth__svm_search *s = &searches[i];
        if (!s->better) continue;
        lth__svm_machine_free(&s->choice->machine);
        *s->choice = best[i];
        if (!s->target->quiet) lth__svm_warn_unfinished(gram, &best[i].machine);
    }
    lth__free(lessons);
    return status;
}

static lth_status judge_all(const lth__svm_gram *gram, lth__svm_search *searches, size_t count,
                            size_t folds, size_t point, lth__svm_choice *best, const char *what,
                            lth_error *err) {
    court c = {.judges = lth__calloc(count, sizeof *c.judges),
               .start = lth__calloc(count + 1, sizeof *c.start)};
    lth_status status = c.judges && c.start ? LTH_OK : lth__fail_memory(err, 0);
    for (; status == LTH_OK && c.count < count; c.count++) {
        const lth__svm_search *s = &searches[c.count];
        judge *j = &c.judges[c.count];
        *j = (judge){.target = s->target,
                     .gram = gram,
                     .rows = s->rows,
                     .count = s->count,
                     .folds = s->alone           ? 0
                              : folds < s->count ? folds
                                                 : s->count,
                     .settings = s->settings};
        c.start[c.count + 1] = c.start[c.count] + j->folds * j->settings->count;
        if (!s->alone) status = open_judge(j, err);
    }
    if (status == LTH_OK) status = learn_and_judge(&c, gram, what, err);
    for (size_t i = 0; status == LTH_OK && i < count; i++) {
        if (!searches[i].alone) choose(&searches[i], &c.judges[i], point, &best[i]);
    }
    for (size_t i = 0; c.judges && i < c.count; i++) close_judge(&c.judges[i]);
    lth__free(c.judges);
    lth__free(c.start);
    return status;
}

lth_status lth__svm_choose(const lth__svm_gram *gram, lth__svm_search *searches, size_t count,
                           size_t folds, size_t point, const char *judging, const char *training,
                           lth_error *err) {
    lth__svm_choice *best = lth__calloc(count, sizeof *best);
    if (!best) return lth__fail_memory(err, count * sizeof *best);
    lth_status status = LTH_OK;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        lth__svm_search *s = &searches[i];
        any = any || !s->alone;
        best[i] = *s->choice;
        best[i].machine = (lth__svm_machine){0};
        s->better = s->alone;
        if (s->alone) {
            best[i] = (lth__svm_choice){.made = true, .setting = s->settings->at[0], .score = NAN};
            if (s->score) s->score[0] = NAN;
        } else if (s->count < 2) {
            status = lth__fail(err, LTH_EARG, "one row is too few to search a grid");
        }
    }
    if (status == LTH_OK && any)
        status = judge_all(gram, searches, count, folds, point, best, judging, err);
    if (status == LTH_OK) status = train_choices(gram, searches, count, best, training, err);
    lth__free(best);
    return status;
}
