/* A folder of the test program's own, in which it works from setup to teardown of a group. Nothing
 * may be left in it; what a killed program left is removed by the next one. */
#ifndef LTH_TEST_SCRATCH_H
#define LTH_TEST_SCRATCH_H

int scratch_open(void **state);
int scratch_close(void **state);

#endif
