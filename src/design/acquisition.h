/* Acquisitions: how promising a row is, from what is expected there. */
#ifndef LTH_ACQUISITION_H
#define LTH_ACQUISITION_H

#include "luthier.h"

/* How feasibility and cost count, see acquisition.c. */
typedef enum lth__scale { LTH__GAIN, LTH__LOG_GAIN, LTH__LEVEL } lth__scale;

typedef struct lth__acquisition {
    const char *name, *help;
    lth_batch batch; /* what AUTO is */
    lth__scale scale;
    bool labels; /* of labels (label_value.h); the functions below are of numbers */
    double (*value)(double mean, double sd, double best, double beta);
    /* What of y is expected above a level, so that over boxes it makes a value of several
     * objectives (hypervolume.h); NULL = it makes none. */
    double (*above)(double mean, double sd, double level, double beta);
} lth__acquisition;

/* Never AUTO; NULL = there is no such one. */
const lth__acquisition *lth__acquisition_at(lth_acquisition which);

/* The value of a row that is feasible with this probability, at this cost. `base` is what levels
 * count from. */
double lth__acquisition_weigh(const lth__acquisition *a, double value, double feasible, double cost,
                              double base);

/* Expected improvement, and its logarithm: also where it is 0 as a number. */
double lth__expected_improvement(double mean, double sd, double best);
double lth__log_expected_improvement(double mean, double sd, double best);

#endif
