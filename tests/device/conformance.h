/* What the parts of the conformance program share. */
#ifndef LTH_CONFORMANCE_H
#define LTH_CONFORMANCE_H

#include "luthier.h"

/* What the command line said. */
typedef struct conformance_options {
    const char *device;
    size_t gpus; /* that it names */
    bool must;   /* it was asked for: where it cannot be opened, that is a failure */
    bool quick, speed, large;
    size_t rows; /* of tables */
} conformance_options;

/* ---- Counting ---- */

void conformance_fail(const char *what, const lth_error *err);
/* Counts a check, and a failure with its text where it does not hold. */
bool conformance_expect(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
int conformance_checks(void);
int conformance_failures(void);

/* ---- Data ---- */

/* A random number from 0 to n - 1, the same in every run. */
unsigned conformance_below(unsigned n);
double conformance_seconds(void);

typedef struct conformance_tables {
    char folder[64], a[96], b[96], vectors[96]; /* files; b has no more rows than a */
} conformance_tables;

bool conformance_tables_create(conformance_tables *t);
void conformance_tables_remove(conformance_tables *t);
enum { CONFORMANCE_SHAPES = 4 };
/* Tables of short, mixed, long or empty texts. */
void conformance_tables_write(const conformance_tables *t, size_t shape, size_t rows, size_t others,
                              bool quick);

/* memory: bytes of the device that may be used, 0 = all. */
lth_ctx *conformance_context(const char *device, lth_precision precision, size_t memory,
                             lth_error *err);

/* A kernel on a context, with both tables encoded. What was opened is to be closed, also after a
 * failure. */
typedef struct conformance_side {
    lth_ctx *ctx;
    lth_table *table, *other;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items, *others;
} conformance_side;

lth_status conformance_side_open(conformance_side *s, lth_ctx *ctx, const char *expression,
                                 const conformance_tables *t, lth_error *err);
void conformance_side_close(conformance_side *s);

/* ---- Parts ---- */

/* The largest difference of `got` from `want`, in units of `scale` or, where that is 0, of what is
 * wanted itself. */
double conformance_worst(const double *want, const double *got, size_t count, double scale,
                         double floor);

/* Support vector machines. */
void conformance_svm(lth_ctx *cpu, lth_ctx *device, const conformance_options *o,
                     const conformance_tables *t);
/* What cancels, fails or runs beside others. */
void conformance_faults(const conformance_options *o);
/* How fast it is. */
void conformance_speed(const conformance_options *o);

#endif
