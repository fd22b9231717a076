#define BYTES 16
#define GAPPED lth__gapped_portable
#define WEIGHED lth__gapped_weigh_portable
#include "engine/gapped_count.h"
