#include "engine/simd_sve256_f32.h"

#define LANES_TABLE lth__lanes_sve256_f32
#include "engine/lanes.h"
