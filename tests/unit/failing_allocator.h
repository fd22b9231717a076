/* The library's allocator, made to fail: for the tests that tests/CMakeLists.txt links with it. The
 * linker puts the __wrap_ functions between the library and its allocator, except for calls inside
 * of base/memory.c: so the functions there that allocate through others are wrapped as well. */
#ifndef LTH_TEST_FAILING_ALLOCATOR_H
#define LTH_TEST_FAILING_ALLOCATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "luthier.h"

extern atomic_size_t calls;    /* made so far, by all threads         */
extern atomic_size_t fail_at;  /* the one that fails; 0 = none           */
extern atomic_bool fail_after; /* and every one after it                 */

/* Uses the library, again and again, with one thing in it refused: an allocation, the room for
 * OpenBLAS or a matrix, or a loop, which is canceled. Each call in the source, of these or of what
 * makes them, is seen to fail once; `by_places` = that is all, otherwise one allocation after the
 * other fails as well. That is LTH_ENOMEM, or LTH_ECANCELED, or LTH_OK where it can do without, and
 * `err` says the same; more than `least` are refused. At the end all is well. */
typedef lth_status fallible_use(void *user, lth_error *err);
void fail_each(fallible_use *use, void *user, bool by_places, size_t least);

#endif
