#include "engine/simd_neon_f32.h"

#define LANES_TABLE lth__lanes_neon_f32
#include "engine/lanes.h"
