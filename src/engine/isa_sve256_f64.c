#include "engine/simd_sve256_f64.h"

#define LANES_TABLE lth__lanes_sve256_f64
#include "engine/lanes.h"
