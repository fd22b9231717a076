/* Support vector machines without a threshold: f(x) = sum_i a_i y_i k(x_i, x), as the kernel
 * Adatron of the 1990s had them, by coordinate ascent in the dual, 0 <= a_i <= C.
 *
 *     without_threshold K.npy TABLE ORDER
 *
 * K.npy holds a Gram matrix for each order, as `luthier gram --per-order` writes them; that of
 * ORDER is normalised. TABLE has four columns of folds, then a column of yes and no for each of
 * four topics. For each fold and topic, learned from all other rows, a line: fold, topic, right,
 * said, there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 4, TOPICS = 4, CELLS = COLUMNS + TOPICS, MOST = 1000, WIDTH = 16, SWEEPS = 1000 };
static const double C = 100, enough = 1e-4;

static char names[CELLS][WIDTH], cell[MOST][CELLS][WIDTH];
static size_t rows;

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "without_threshold: %s\n", what);
    exit(1);
}

/* The first cells of a line; the rest of it is text. */
static int read_cells(FILE *file, char to[CELLS][WIDTH]) {
    int c = 0;
    for (int i = 0; i < CELLS; i++) {
        size_t used = 0;
        while ((c = getc(file)) != EOF && c != '\t' && c != '\n')
            if (used + 1 < WIDTH) to[i][used++] = (char)c;
        to[i][used] = 0;
    }
    while (c != EOF && c != '\n') c = getc(file);
    return c != EOF;
}

static void read_table(const char *path) {
    FILE *file = fopen(path, "r");
    must(file != NULL, "no table");
    read_cells(file, names);
    while (rows < MOST && read_cells(file, cell[rows])) rows++;
    fclose(file);
}

static double *read_gram(const char *path, size_t order) {
    double *K = malloc(rows * rows * sizeof *K);
    unsigned char head[10];
    FILE *file = fopen(path, "rb");
    must(file && K && fread(head, 1, 10, file) == 10, "no matrices");
    long start = 10 + head[8] + 256 * head[9], size = (long)(rows * rows * sizeof *K);
    must(fseek(file, start + (long)(order - 1) * size, SEEK_SET) == 0, "too few matrices");
    must(fread(K, sizeof *K, rows * rows, file) == rows * rows, "too few matrices");
    fclose(file);
    double selves[MOST];
    for (size_t i = 0; i < rows; i++) selves[i] = sqrt(K[i * rows + i]);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++) K[i * rows + j] /= selves[i] * selves[j];
    return K;
}

/* f of all rows, learned from those that `learns` says; y is 1 or -1. */
static void learn(const double *K, const double *y, const char *learns, double *f) {
    double a[MOST] = {0}, largest = 1;
    memset(f, 0, rows * sizeof *f);
    for (int sweep = 0; sweep < SWEEPS && largest > enough; sweep++) {
        largest = 0;
        for (size_t i = 0; i < rows; i++) {
            if (!learns[i]) continue;
            double next = a[i] + 1 - y[i] * f[i]; /* k(x_i, x_i) is 1 */
            next = next < 0 ? 0 : next > C ? C : next;
            double step = (next - a[i]) * y[i];
            a[i] = next;
            if (fabs(step) > largest) largest = fabs(step);
            for (size_t j = 0; step != 0 && j < rows; j++) f[j] += step * K[i * rows + j];
        }
    }
}

static void try_fold(const double *K, int column, const char *fold, int topic) {
    double y[MOST], f[MOST];
    char learns[MOST];
    int right = 0, said = 0, there = 0;
    for (size_t i = 0; i < rows; i++) {
        y[i] = strcmp(cell[i][COLUMNS + topic], "yes") == 0 ? 1 : -1;
        learns[i] = strcmp(cell[i][column], fold) != 0;
    }
    learn(K, y, learns, f);
    for (size_t i = 0; i < rows; i++) {
        if (learns[i]) continue;
        said += f[i] > 0;
        there += y[i] > 0;
        right += f[i] > 0 && y[i] > 0;
    }
    printf("%s\t%s\t%d\t%d\t%d\n", fold, names[COLUMNS + topic], right, said, there);
}

/* A fold's first row stands for it. */
static int is_first(int column, size_t row) {
    const char *fold = cell[row][column];
    if (strcmp(fold, "train") == 0 || strcmp(fold, "rest") == 0) return 0;
    for (size_t i = 0; i < row; i++)
        if (strcmp(cell[i][column], fold) == 0) return 0;
    return 1;
}

int main(int argc, char **argv) {
    must(argc == 4, "K.npy TABLE ORDER");
    read_table(argv[2]);
    double *K = read_gram(argv[1], strtoul(argv[3], NULL, 10));
    printf("fold\ttopic\tright\tsaid\tthere\n");
    for (int column = 0; column < COLUMNS; column++)
        for (size_t i = 0; i < rows; i++)
            for (int topic = 0; topic < TOPICS && is_first(column, i); topic++)
                try_fold(K, column, cell[i][column], topic);
    free(K);
    return 0;
}
