/* Campaigns on a table whose answers are known: what came of them, and of choosing at random. */
#ifndef CLI_SIMULATION_H
#define CLI_SIMULATION_H

#include "options.h"

/* One campaign. */
typedef struct simulated {
    uint64_t seed;
    double *best;     /* after the start and after each round */
    size_t *rows;     /* measured by then                     */
    bool found;       /* the table's best row                 */
    size_t until_top; /* rows measured until one of the best hundredth was; 0 = none was */
    double seconds;
} simulated;

/* The band that campaigns are in, or random choice is expected to be in. */
typedef struct simulated_band {
    double *mean, *low, *median, *high; /* by round; 10%, 50% and 90% of them */
} simulated_band;

typedef struct simulation {
    const char *target, *kernel;
    const char *acquisition, *batch;    /* as the first proposals were made; NULL = none were */
    size_t count, start, rounds, steps; /* steps: rounds and the start */
    size_t table_rows, top_rows;
    bool minimize;
    bool share; /* values are shares of the optimum */
    double optimum;
    simulated *campaigns;
    size_t campaign_count;
    simulated_band reached, random;
    double random_until_top; /* rows, expected                  */
    double random_found;     /* probability, at the end         */
    double *pool;            /* what `campaigns` and bands point into */
    size_t *row_pool;
} simulation;

/* The bands; random choice by y, the table's values, which are sorted. False = out of memory. */
bool simulation_sum_up(simulation *s, double *y);

/* A page about it; an exit code. */
int write_simulation_page(const simulation *s, const char *title, const char *path);

#endif
