#include "model/gp/mean.h"

double lth__mean_count(const double *weight, size_t rows) {
    double total = 0;
    for (size_t i = 0; weight && i < rows; i++) total += weight[i];
    return weight ? total : (double)rows;
}

static double average(const double *y, const double *weight, size_t rows) {
    double mean = 0, total = lth__mean_count(weight, rows);
    for (size_t i = 0; i < rows; i++) mean += (weight ? weight[i] : 1) * y[i] / total;
    return mean;
}

const lth__mean lth__mean_zero = {.name = "zero"};
const lth__mean lth__mean_constant = {.name = "constant", .fit = average};
/* Of labels: classes need not be of the same size. */
const lth__mean lth__mean_unknown = {.name = "unknown", .variance = 10};
