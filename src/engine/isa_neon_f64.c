#include "engine/simd_neon_f64.h"

#define LANES_TABLE lth__lanes_neon_f64
#include "engine/lanes.h"
