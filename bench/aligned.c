/* Row 28: aligned sites. */
#include <stdio.h>

#include "measure.h"
#include "workload.h"

enum { ROWS = 600, SITES = 100, MUTATIONS = 4 };

static texts diverse_rows(void) {
    texts t = random_letters(ROWS, SITES);
    for (size_t i = 0; i < ROWS * SITES; i++) t.bytes[i] = "ACDEFGHIKLMNPQRSTVWY"[t.bytes[i] % 20];
    return t;
}

/* Those of one sequence: all have what the first has, but for a few sites. */
static texts variants(void) {
    texts t = diverse_rows();
    size_t stride = (size_t)(t.text[1] - t.text[0]);
    for (size_t i = 1; i < ROWS; i++) {
        for (size_t l = 0; l < SITES; l++) {
            if ((l * 37 + i * 11) % SITES >= MUTATIONS) t.bytes[i * stride + l] = t.text[0][l];
        }
    }
    return t;
}

static void open_sites(workload *w, const texts *t, const char *kernel) {
    setup wish = {.expression = kernel, .texts = t, .gradient = true};
    open_workload(w, &wish);
}

/* Whether there is one. */
static bool read_peer(const plan *p, char name[80], double *seconds) {
    FILE *file = p->sites_peer ? fopen(p->sites_peer, "r") : NULL;
    bool ok = file && fscanf(file, "%79[^\t]\t%lf", name, seconds) == 2;
    if (file) fclose(file);
    return ok;
}

void measure_aligned(const plan *p, report *r) {
    texts all[] = {diverse_rows(), variants()};
    workload plain, diverse, similar;
    char name[80];
    double seconds, pairs = 0.5 * ROWS * (ROWS + 1) * SITES;
    open_sites(&plain, &all[0], "sites(text)");
    open_sites(&diverse, &all[0], "sites(text, matrix=blosum62, form=both)");
    open_sites(&similar, &all[1], "sites(text, matrix=blosum62, form=both)");
    run_in_turn((workload *[]){&plain, &diverse, &similar}, 3, p->seconds);
    fprintf(stderr,
            "sites, values and pull-back, sites of pairs per second: %.2g, by a matrix in both "
            "forms %.2g, of variants %.2g\n",
            pairs / plain.best, pairs / diverse.best, pairs / similar.best);
    if (read_peer(p, name, &seconds))
        found(r, 28, "600 rows of 100 letters, sites, value and gradient, one core, against NumPy",
              AT_LEAST, seconds / plain.best, 50, "x",
              "%.4f s, by a matrix in both forms %.4f s, variants of one sequence %.4f s; %s, a "
              "product of RBFs, %.2f s",
              plain.best, diverse.best, similar.best, name, seconds);
    else
        fprintf(stderr, "row 28 was left out: NumPy was not measured\n");
    close_workload(&plain);
    close_workload(&diverse);
    close_workload(&similar);
    free_texts(&all[0]);
    free_texts(&all[1]);
}
