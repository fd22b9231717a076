/* Functions of Linux that glibc 2.17, for which wheels are built, does not have yet. Every file of a wheel is compiled
 * with `-include` of this one, so that the sources just call them. It declares nothing else: a source may have a
 * `write` of its own, or ask for features of the C library first. */

#ifndef LTH_OLD_GLIBC_H
#define LTH_OLD_GLIBC_H

#include <linux/memfd.h>
#include <sys/syscall.h>

extern long syscall(long number, ...);

static inline long getrandom(void *buffer, __SIZE_TYPE__ size, unsigned flags) {
    return syscall(SYS_getrandom, buffer, size, flags);
}

static inline int memfd_create(const char *name, unsigned flags) {
    return (int)syscall(SYS_memfd_create, name, flags);
}

#endif
