#define REAL double
#define EQUAL int64_t
#include "engine/simd_portable.h"

#define LETTERS_TABLE lth__letters_portable
#include "engine/letter_lanes.h"
