#include "model/gp/posterior.h"
const lth__posterior lth__cg = {0}, lth__inducing = {0};
