#include "engine/simd_avx2_f64.h"

#define LANES_TABLE lth__lanes_avx2_f64
#include "engine/lanes.h"
