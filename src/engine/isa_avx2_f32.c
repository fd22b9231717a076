#include "engine/simd_avx2_f32.h"

#define LANES_TABLE lth__lanes_avx2_f32
#include "engine/lanes.h"
