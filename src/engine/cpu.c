#include "engine/cpu.h"

#ifdef LTH_SVE256
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

#ifdef LTH_X86
bool lth__cpu_has_avx2(void) {
    return (__builtin_cpu_supports("avx2") != 0) & (__builtin_cpu_supports("fma") != 0);
}

bool lth__cpu_has_avx512(void) {
    return lth__cpu_has_avx2() & (__builtin_cpu_supports("avx512f") != 0) &
           (__builtin_cpu_supports("avx512dq") != 0) & (__builtin_cpu_supports("avx512vl") != 0) &
           (__builtin_cpu_supports("avx512bw") != 0);
}
#endif

#ifdef LTH_SVE256
bool lth__cpu_has_sve256(void) {
    if (!(getauxval(AT_HWCAP) & HWCAP_SVE)) return false;
    int length = prctl(PR_SVE_GET_VL);
    return length > 0 && (length & PR_SVE_VL_LEN_MASK) == 32;
}
#endif
