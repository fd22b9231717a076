#include "engine/simd_avx2_f64.h"

#define LETTERS_TABLE lth__letters_avx2
#include "engine/letter_lanes.h"
