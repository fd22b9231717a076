/* Rows 16 to 18, 29 and 30: tree kernels on the Penn Treebank sample. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tree_baseline.h"
#include "workload.h"

enum { TREES = 1000, SUBSET = 150 };

static texts read_lines(FILE *file) {
    texts t = {.text = allocate(TREES, sizeof *t.text),
               .length = allocate(TREES, sizeof *t.length)};
    char *line = NULL;
    size_t size = 0;
    for (ssize_t length; t.count < TREES && (length = getline(&line, &size, file)) > 0;) {
        line[strcspn(line, "\n")] = 0;
        t.length[t.count] = strlen(line);
        t.text[t.count++] = line;
        line = NULL;
        size = 0;
    }
    free(line);
    return t;
}

static void free_lines(texts *t) {
    for (size_t i = 0; i < t->count; i++) free((char *)(uintptr_t)t->text[i]);
    free_texts(t);
}

/* Pairs of nodes in the upper half of the matrix of the first `count` trees. */
static double count_pairs(const plain_tree *trees, size_t count) {
    double pairs = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i; j < count; j++) pairs += (double)trees[i].count * (double)trees[j].count;
    }
    return pairs;
}

typedef double plain_kernel(const plain_tree *a, const plain_tree *b, double decay, double other);

/* The plain recursion over the first trees, whose values must be those of `matrix`. */
static double time_baseline(plain_kernel *kernel, double other, const plain_tree *trees,
                            size_t count, const double *matrix, size_t ld) {
    double *values = allocate(count * count, sizeof *values), start = seconds_now();
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i; j < count; j++)
            values[i * count + j] = kernel(&trees[i], &trees[j], 0.4, other);
    }
    double seconds = seconds_now() - start;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i; j < count; j++) {
            double a = values[i * count + j], b = matrix[i * ld + j];
            if (!(fabs(a - b) <= 1e-11 * fabs(a)))
                die("the plain recursion found %.17g for trees %zu and %zu, luthier %.17g", a,
                    i + 1, j + 1, b);
        }
    }
    free(values);
    return seconds;
}

static void compare_sstk(const plan *p, report *r, const texts *t) {
    workload shared, all, gradient;
    open_workload(&shared, &(setup){.expression = "sstk(text)", .texts = t});
    open_workload(&all, &(setup){.expression = "sstk(text, symbols=all)", .texts = t});
    open_workload(&gradient,
                  &(setup){.expression = "sstk(text, symbols=all)", .texts = t, .gradient = true});
    plain_tree *trees = read_plain_trees(t->text, t->count, false);
    size_t subset = t->count < SUBSET ? t->count : SUBSET;
    double plain = INFINITY, pairs = count_pairs(trees, t->count),
           subset_pairs = count_pairs(trees, subset), start = seconds_now();
    for (int round = 0; round < 3 || seconds_now() - start < p->seconds; round++) {
        run_in_turn((workload *[]){&shared, &all, &gradient}, 3, p->seconds / 10);
        plain = fmin(plain, time_baseline(plain_sstk, 1, trees, subset, shared.matrix, t->count));
    }
    double whole = plain * pairs / subset_pairs;
    found(r, 16, "1,000 Penn trees, sstk, one core, against recursion over all pairs of nodes",
          AT_LEAST, whole / shared.best, 30, "x",
          "%.4f s; recursion %.2f s (%.3g of %.3g pairs of nodes in %.3f s)", shared.best, whole,
          subset_pairs, pairs, plain);
    found(r, 17, "the same, value and gradient by the parameters of all symbols against value",
          AT_MOST, gradient.best / all.best, 3, "x", "%.4f and %.4f s; %zu parameters",
          gradient.best, all.best, lth_kernel_params(all.kernel));
    found(r, 18, "the same, symbols=all against symbols=none", AT_MOST, all.best / shared.best, 1.3,
          "x", "%.4f and %.4f s", all.best, shared.best);
    free_plain_trees(trees, t->count);
    close_workload(&shared);
    close_workload(&all);
    close_workload(&gradient);
}

static void compare_ptk(const plan *p, report *r, const texts *t) {
    workload value, gradient;
    open_workload(&value, &(setup){.expression = "ptk(text)", .texts = t});
    open_workload(&gradient, &(setup){.expression = "ptk(text)", .texts = t, .gradient = true});
    plain_tree *trees = read_plain_trees(t->text, t->count, true);
    size_t subset = t->count < SUBSET ? t->count : SUBSET;
    double plain = INFINITY, pairs = count_pairs(trees, t->count),
           subset_pairs = count_pairs(trees, subset), start = seconds_now();
    for (int round = 0; round < 3 || seconds_now() - start < p->seconds; round++) {
        run_in_turn((workload *[]){&value, &gradient}, 2, p->seconds / 10);
        plain = fmin(plain, time_baseline(plain_ptk, 0.4, trees, subset, value.matrix, t->count));
    }
    double whole = plain * pairs / subset_pairs;
    found(r, 29, "1,000 Penn trees, ptk, one core, against recursion over all pairs of nodes",
          AT_LEAST, whole / value.best, 30, "x",
          "%.4f s; recursion %.2f s (%.3g of %.3g pairs of nodes in %.3f s)", value.best, whole,
          subset_pairs, pairs, plain);
    found(r, 30, "the same, value and gradient against value", AT_MOST, gradient.best / value.best,
          3, "x", "%.4f and %.4f s", gradient.best, value.best);
    free_plain_trees(trees, t->count);
    close_workload(&value);
    close_workload(&gradient);
}

void measure_trees(const plan *p, report *r) {
    char path[4096];
    snprintf(path, sizeof path, "%s/ptb_sample_trees_clean.txt", p->data);
    FILE *file = fopen(path, "r");
    static const size_t rows[] = {16, 17, 18, 29, 30};
    for (size_t i = 0; !file && i < sizeof rows / sizeof *rows; i++)
        skip(r, rows[i], "tree kernels", "there is no ptb_sample_trees_clean.txt in %.100s",
             p->data);
    if (!file) return;
    texts t = read_lines(file);
    fclose(file);
    compare_sstk(p, r, &t);
    compare_ptk(p, r, &t);
    free_lines(&t);
}
