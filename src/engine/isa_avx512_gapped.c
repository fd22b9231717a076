#define BYTES 64
#define GAPPED lth__gapped_avx512
#define WEIGHED lth__gapped_weigh_avx512
#include "engine/gapped_count.h"
