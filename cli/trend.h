/* The linear part of a Gaussian process: the weights of number columns, as its mean has them. */
#ifndef CLI_TREND_H
#define CLI_TREND_H

#include "model.h"

/* A weight with what it is of. */
typedef struct trend_weight {
    const char *of, *column; /* the target or class */
    double weight, sd;       /* of a unit of the column */
    double deviation;        /* of the column */
} trend_weight;

typedef struct trend {
    lth_trend **of; /* by function of the model */
    const char **name;
    size_t functions;
} trend;

/* Of all targets or classes. False = out of memory. */
bool trend_find(lth_model *m, trend *out);
void trend_free(trend *t);
/* Whether there are weights. */
bool trend_has(const trend *t);
/* The i-th weight over all functions; false past the last. */
bool trend_at(const trend *t, size_t i, trend_weight *out);

/* As show prints it; an exit code. */
int print_trend(lth_model *m);
int json_put_trend(json_writer *w, lth_model *m);

#endif
