#define BYTES 16
#define GAPPED lth__gapped_portable
#include "engine/gapped_count.h"
