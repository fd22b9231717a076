#include "engine/simd_sve256_f64.h"

#define LETTERS_TABLE lth__letters_sve256
#include "engine/letter_lanes.h"
