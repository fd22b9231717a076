#include "engine/simd_avx512_f64.h"

#define LANES_TABLE lth__lanes_avx512_f64
#include "engine/lanes.h"
