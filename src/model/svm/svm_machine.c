/* What the decision values of a machine mean: votes, classes, probabilities, scores. */
#include <math.h>
#include <string.h>

#include "model/svm/svm.h"

void lth__svm_machine_free(lth__svm_machine *m) {
    for (size_t i = 0; m->parts && i < m->part_count; i++)
        lth__svm_solution_free(&m->parts[i].solution);
    lth__free(m->parts);
    *m = (lth__svm_machine){0};
}

/* n classes make n (n - 1) / 2 pairs. */
size_t lth__svm_paired_classes(const lth__svm_machine *m) {
    size_t n = 1;
    while (n * (n - 1) / 2 < m->part_count) n++;
    return n;
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
    size_t n = lth__svm_paired_classes(m);
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
