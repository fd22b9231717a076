#define BYTES 32
#define GAPPED lth__gapped_avx2
#include "engine/gapped_count.h"
