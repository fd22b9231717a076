/* Tables, word vectors and models in a few calls that fail the test when they fail. */
#ifndef LTH_TEST_GP_SUPPORT_H
#define LTH_TEST_GP_SUPPORT_H

#include "luthier.h"

/* A context with this many threads. */
lth_ctx *support_context(unsigned threads);

/* A file in the working folder with these bytes; its name is freed with support_remove(). */
char *support_file(const void *bytes, size_t length);
void support_remove(char *path);

/* A file of this name with these bytes. */
void support_write(const char *path, const void *bytes, size_t length);

/* All bytes of a file, with room for one more; `data` is freed with free(). */
typedef struct support_bytes {
    unsigned char *data;
    size_t size;
} support_bytes;
support_bytes support_slurp(const char *path);

/* A table from tab-separated lines, header first. */
lth_table *support_table(lth_ctx *ctx, const char *lines);

/* Forty rows with a text, number columns f1 and f2, and targets y, z and w; from `first` on, so
 * that two tables can share no row. */
lth_table *support_rows(lth_ctx *ctx, size_t first, size_t rows);
/* Vectors for most of the words in these texts; a file. */
char *support_vectors(void);

/* Learning off, and the defaults otherwise. */
lth_gp_options support_fixed(void);

lth_gp *support_fit(lth_ctx *ctx, const char *kernel, const lth_table *table, size_t targets,
                    const lth_gp_options *options);

/* The number of the kernel parameter with this path. */
size_t support_param(const lth_gp *gp, const char *path);

/* Means, then standard deviations, of all targets; freed with free(). */
double *support_predict(lth_gp *gp, const lth_table *table, bool latent);

/* Labels: a position x from -3 to 3 and a text, on which the columns two, three and several (labels
 * a row) depend; a classifier; its probabilities, freed with free(). */
lth_table *support_labels(lth_ctx *ctx, size_t rows);
lth_gp *support_classifier(lth_ctx *ctx, const char *kernel, const lth_table *table,
                           const char *target, const lth_gp_options *options);
double *support_classify(lth_gp *gp, const lth_table *table);

/* Fails the test, with the message, unless the status is LTH_OK. */
void support_ok(lth_status status, const lth_error *err);

/* |a - b| <= tolerance * (1 + |b|), or the test fails. */
void support_near(double a, double b, double tolerance);

#endif
