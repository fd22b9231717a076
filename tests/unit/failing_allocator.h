/* The library's allocator, made to fail: for the tests that tests/CMakeLists.txt links with it. The
 * linker puts the __wrap_ functions between the library and its allocator, except for calls inside
 * of base/memory.c: so the functions there that allocate through others are wrapped as well. */
#ifndef LTH_TEST_FAILING_ALLOCATOR_H
#define LTH_TEST_FAILING_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

extern size_t calls;    /* made so far                            */
extern size_t fail_at;  /* the one that fails; 0 = none           */
extern bool fail_after; /* and every one after it                 */

#endif
