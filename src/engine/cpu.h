/* What this CPU can do, beyond what every one can that the library is built for. */
#ifndef LTH_CPU_H
#define LTH_CPU_H

#include <stdbool.h>

#ifdef LTH_X86
bool lth__cpu_has_avx2(void);
bool lth__cpu_has_avx512(void);
#endif
#ifdef LTH_SVE256
/* That vectors have as many bits as the loops were compiled for. */
bool lth__cpu_has_sve256(void);
#endif

#endif
