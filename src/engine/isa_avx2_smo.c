#define BYTES 32
#define SMO_SOLVE lth__smo_solve_avx2
#define ADD_ROWS lth__add_rows_avx2
#include "engine/smo_lanes.h"
