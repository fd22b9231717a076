#define BYTES 64
#define SMO_SOLVE lth__smo_solve_avx512
#define ADD_ROWS lth__add_rows_avx512
#include "engine/smo_lanes.h"
