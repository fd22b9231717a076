/* What may fail in the library, made to fail: for the tests that tests/CMakeLists.txt links with
 * it. The linker puts the functions of failing_allocator.c between the library and its own, except
 * for calls inside of one file: so those in base/memory.c that allocate through others are there
 * too. */
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
 * OpenBLAS or a matrix, a read, a factor; a loop, which is canceled; or another rank cannot go on,
 * whether there is any or not. Each call in the source, of these or of what makes them, is seen to
 * fail once; `by_places` = that is all, otherwise one allocation after the other fails as well. The
 * status is the one of what was refused, or LTH_OK where it can do without, and `err` says the
 * same; more than `least` are refused. At the end all is well. */
typedef lth_status fallible_use(void *user, lth_error *err);
void fail_each(fallible_use *use, void *user, bool by_places, size_t least);

#endif
