#define REAL double
#define EQUAL int64_t
#include "engine/simd_portable.h"

#define LANES_TABLE lth__lanes_portable_f64
#include "engine/lanes.h"
