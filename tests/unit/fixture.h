/* A kernel with encoded texts, in a few calls that fail the test when they fail. */
#ifndef LTH_TEST_FIXTURE_H
#define LTH_TEST_FIXTURE_H

#include "base/random.h"
#include "luthier.h"

enum { FIXTURE_MOST_ITEMS = 4 };

typedef struct fixture {
    lth_ctx *ctx;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items[FIXTURE_MOST_ITEMS]; /* freed with the rest */
    size_t item_count;
} fixture;

/* `options` NULL = defaults. */
fixture fixture_open(const char *kernel, const lth_ctx_options *options);
void fixture_close(fixture *f);

/* Texts of the column "text". */
const lth_items *fixture_encode(fixture *f, const char *const *texts, size_t count);
/* Word vectors from lines of text, by way of a file. */
void fixture_vectors(fixture *f, const char *lines);

/* Matrices, freed with free(). `cols` NULL = symmetric. */
double *fixture_gram(const fixture *f, const lth_items *rows, const lth_items *cols);
double *fixture_gradients(const fixture *f, const lth_items *rows, const lth_items *cols);
double *fixture_orders(const fixture *f, const lth_items *rows, const lth_items *cols);

/* Random texts: `count` of up to `longest` units, drawn from the first `symbols` of a, b, c, ...,
 * which are words if `spaced`. */
char **fixture_texts(lth__random *random, size_t count, size_t longest, size_t symbols,
                     bool spaced);
void fixture_free_texts(char **texts, size_t count);

/* |a - b| <= tolerance * (|a| + |b|) / 2 + floor for all, or the test fails. */
void fixture_check_near(const double *a, const double *b, size_t count, double tolerance,
                        double floor);

#endif
