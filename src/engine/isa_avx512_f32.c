#include "engine/simd_avx512_f32.h"

#define LANES_TABLE lth__lanes_avx512_f32
#include "engine/lanes.h"
