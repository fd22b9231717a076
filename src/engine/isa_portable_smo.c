#define BYTES 16
#define SMO_SOLVE lth__smo_solve_portable
#define ADD_ROWS lth__add_rows_portable
#include "engine/smo_lanes.h"
