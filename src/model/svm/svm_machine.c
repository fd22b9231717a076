/* All problems of one target: numbers are one problem, two classes are one, more classes are one
 * for each pair or each class against the rest, and several labels a row one for each label. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "model/common/folds.h"
#include "model/svm/svm.h"

enum { CALIBRATION_FOLDS = 5 };

typedef struct trainer {
    const lth__svm_target *target;
    const lth__svm_gram *gram;
    const size_t *rows;
    size_t count;
    const lth__svm_setting *setting;
    lth__svm_machine *machine;
    double *shared; /* decision values of all parts, then their y; NULL = each has its sigmoid */
} trainer;

void lth__svm_machine_free(lth__svm_machine *m) {
    for (size_t i = 0; m->parts && i < m->part_count; i++)
        lth__svm_solution_free(&m->parts[i].solution);
    lth__free(m->parts);
    *m = (lth__svm_machine){0};
}

/* n classes make n (n - 1) / 2 pairs. */
static size_t paired_classes(const lth__svm_machine *m) {
    size_t n = 1;
    while (n * (n - 1) / 2 < m->part_count) n++;
    return n;
}

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
                            .probability = t->target->probability && classes > 0};
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
    double classes = rest ? 2 : (double)paired_classes(t->machine);
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

static lth_status train_part(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const trainer *t = user;
    lth__svm_part *part = &t->machine->parts[index];
    size_t *row = lth__alloc(t->count, sizeof *row);
    double *y = lth__alloc(t->count, sizeof *y);
    lth_status status = row && y ? LTH_OK : LTH_ENOMEM;
    if (status == LTH_OK) {
        lth__svm_problem p = {.gram = t->gram, .row = row, .y = y};
        p.count = gather(t, part, row, y);
        weigh(t, part, &p);
        status = lth__svm_solve(&p, t->setting, &part->solution, err);
        if (status == LTH_OK && t->machine->probability) status = calibrate(t, index, &p, err);
    }
    lth__free(row);
    lth__free(y);
    return status;
}

/* ---- All of them ---- */

/* nu is at most twice the share of the smaller class. */
static lth_status check_nu(const trainer *t, lth_error *err) {
    if (!t->setting->nu_svm || t->target->y) return LTH_OK;
    for (size_t i = 0; i < t->machine->part_count; i++) {
        const lth__svm_part *part = &t->machine->parts[i];
        size_t a = count_rows(t, part->positive);
        size_t b = part->negative == LTH_NONE ? t->count - a : count_rows(t, part->negative);
        size_t smaller = a < b ? a : b;
        double most = 2 * (double)smaller / (double)(a + b);
        if (smaller == 0 || t->setting->nu <= most) continue;
        return lth__fail(
            err, LTH_EARG, "nu is too large: at most %.4g for %zu rows of \"%s\" against %zu%s",
            most, a, t->target->labels.name[part->positive], b,
            part->negative == LTH_NONE && !t->machine->multi ? "; classes in pairs allow for more"
                                                             : "");
    }
    return LTH_OK;
}

static void warn_unfinished(const trainer *t) {
    size_t count = 0;
    for (size_t p = 0; p < t->machine->part_count; p++)
        count += t->machine->parts[p].solution.unfinished;
    if (count > 0)
        lth__log(t->gram->ctx, LTH_LOG_WARNING,
                 "%zu of %zu problems were not solved to the end: a smaller C, or normalize(), "
                 "makes them easier",
                 count, t->machine->part_count);
}

lth_status lth__svm_train(const lth__svm_target *target, const lth__svm_gram *gram,
                          const size_t *rows, size_t count, const lth__svm_setting *setting,
                          lth__svm_machine *out, lth_error *err) {
    lth__svm_machine machine = {0};
    trainer t = {.target = target,
                 .gram = gram,
                 .rows = rows,
                 .count = count,
                 .setting = setting,
                 .machine = &machine};
    lth_status status = make_parts(&t, err);
    if (status == LTH_OK) status = check_nu(&t, err);
    if (status == LTH_OK && shares_sigmoid(&machine)) {
        t.shared = lth__alloc(2 * machine.part_count * count, sizeof *t.shared);
        if (!t.shared) status = lth__fail_memory(err, 0);
    }
    if (status == LTH_OK)
        status = lth__parallel_for(gram->ctx, target->quiet ? NULL : "support vectors",
                                   machine.part_count, NULL, train_part, &t, err);
    if (status == LTH_OK && t.shared) status = calibrate_together(&t, err);
    lth__free(t.shared);
    if (status == LTH_OK && !target->quiet) warn_unfinished(&t);
    if (status == LTH_OK)
        *out = machine;
    else
        lth__svm_machine_free(&machine);
    return status;
}

lth_status lth__svm_decide_all(const lth__svm_machine *m, const lth__svm_gram *g,
                               const size_t *rows, size_t count, double *decision) {
    for (size_t p = 0; p < m->part_count; p++)
        LTH_TRY(lth__svm_decide_rows(&m->parts[p].solution, g, rows, count, decision + p,
                                     m->part_count));
    return LTH_OK;
}

/* ---- What decision values mean ---- */

/* The most votes, or the highest decision value; the first of equals. */
static size_t best_class(const lth__svm_machine *m, const double *decision, size_t *votes) {
    if (m->part_count == 0) return m->only;
    size_t best = LTH_NONE;
    if (m->parts[0].negative == LTH_NONE) {
        size_t part = 0;
        for (size_t i = 1; i < m->part_count; i++) {
            if (decision[i] > decision[part]) part = i;
        }
        return m->parts[part].positive;
    }
    memset(votes, 0, m->classes * sizeof *votes);
    for (size_t i = 0; i < m->part_count; i++)
        votes[decision[i] > 0 ? m->parts[i].positive : m->parts[i].negative]++;
    for (size_t c = 0; c < m->classes; c++) {
        if (best == LTH_NONE || votes[c] > votes[best]) best = c;
    }
    return best;
}

void lth__svm_classify(const lth__svm_machine *m, const double *decision, size_t *votes,
                       bool *has) {
    memset(has, 0, m->classes * sizeof *has);
    for (size_t i = 0; m->multi && i < m->part_count; i++)
        has[m->parts[i].positive] = decision[i] > 0;
    if (!m->multi) has[best_class(m, decision, votes)] = true;
}

/* Kept away from 0 and 1, which the coupling divides by. */
static double clear_of_bounds(double p) {
    const double least = 1e-7;
    return fmin(fmax(p, least), 1 - least);
}

/* Classes that training did not have are left out of the coupling, and have probability 0. */
static void couple_pairs(const lth__svm_machine *m, const double *decision, double *p,
                         double *room) {
    size_t n = paired_classes(m);
    double *r = room, *coupled = r + n * n, *rest = coupled + n;
    for (size_t i = 0, part = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++, part++) {
            double own = clear_of_bounds(lth__sigmoid_at(m->parts[part].sigmoid, decision[part]));
            r[i * n + j] = own;
            r[j * n + i] = 1 - own;
        }
    }
    lth__couple(r, n, coupled, rest);
    /* The first part of class i follows those of the classes before it; the last class has none. */
    for (size_t i = 0, part = 0; i + 1 < n; part += n - 1 - i, i++)
        p[m->parts[part].positive] = coupled[i];
    p[m->parts[m->part_count - 1].negative] = coupled[n - 1];
}

void lth__svm_probabilities(const lth__svm_machine *m, const double *decision, double *p,
                            double *room) {
    memset(p, 0, m->classes * sizeof *p);
    if (m->part_count == 0) {
        if (m->only != LTH_NONE) p[m->only] = 1;
        return;
    }
    if (m->parts[0].negative == LTH_NONE) {
        double sum = 0;
        for (size_t i = 0; i < m->part_count; i++)
            sum += p[m->parts[i].positive] = lth__sigmoid_at(m->parts[i].sigmoid, decision[i]);
        for (size_t c = 0; !m->multi && sum > 0 && c < m->classes; c++) p[c] /= sum;
    } else if (m->part_count == 1) {
        double own = lth__sigmoid_at(m->parts[0].sigmoid, decision[0]);
        p[m->parts[0].positive] = own;
        p[m->parts[0].negative] = 1 - own;
    } else {
        couple_pairs(m, decision, p, room);
    }
}

/* ---- Scores ---- */

size_t lth__svm_score_count(const lth__svm_machine *m) {
    return m->classes == 2 && !m->multi ? 1 : m->classes;
}

/* As scikit-learn has it: what breaks ties is below 1/3 in size. */
static void count_votes(const lth__svm_machine *m, const double *decision, double *score,
                        double *sum) {
    memset(sum, 0, m->classes * sizeof *sum);
    for (size_t i = 0; i < m->part_count; i++) {
        const lth__svm_part *part = &m->parts[i];
        score[decision[i] > 0 ? part->positive : part->negative]++;
        sum[part->positive] += decision[i];
        sum[part->negative] -= decision[i];
    }
    for (size_t c = 0; c < m->classes; c++) score[c] += sum[c] / (3 * (fabs(sum[c]) + 1));
}

void lth__svm_scores(const lth__svm_machine *m, const double *decision, double *score,
                     double *room) {
    memset(score, 0, lth__svm_score_count(m) * sizeof *score);
    if (m->part_count == 0) return;
    if (lth__svm_score_count(m) == 1 && !m->multi) {
        *score = m->parts[0].positive == 1 ? decision[0] : -decision[0];
    } else if (m->parts[0].negative == LTH_NONE) {
        for (size_t i = 0; i < m->part_count; i++) score[m->parts[i].positive] = decision[i];
    } else {
        count_votes(m, decision, score, room);
    }
}
