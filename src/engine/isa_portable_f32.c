#define REAL float
#define EQUAL int32_t
#include "engine/simd_portable.h"

#define LANES_TABLE lth__lanes_portable_f32
#include "engine/lanes.h"
