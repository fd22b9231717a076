/* Makes the table of loops over letters of one instruction set. A stub includes its vocabulary of
 * doubles, defines LETTERS_TABLE, and includes this. */
#include "engine/align_lanes.h"
#include "engine/site_lanes.h"

const lth__letters LETTERS_TABLE = {
    .lanes = LANES,
    .align_scratch = align_scratch,
    .align = align,
    .site_add = site_add,
    .site_dot = site_dot,
};
