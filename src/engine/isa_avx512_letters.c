#include "engine/simd_avx512_f64.h"

#define LETTERS_TABLE lth__letters_avx512
#include "engine/letter_lanes.h"
