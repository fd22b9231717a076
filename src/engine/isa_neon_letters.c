#include "engine/simd_neon_f64.h"

#define LETTERS_TABLE lth__letters_neon
#include "engine/letter_lanes.h"
