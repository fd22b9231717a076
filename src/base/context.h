/* The context: settings that every call shares, and the way to its caller's log and progress bar.
 */
#ifndef LTH_CONTEXT_H
#define LTH_CONTEXT_H

#include <stdatomic.h>

#include "luthier.h"

struct lth__engine;
struct lth__gpu;
struct lth__cluster;

struct lth_ctx {
    lth_ctx_options options;          /* `isa` resolved, `threads` at least 1 */
    const struct lth__engine *engine; /* of lth__engine_find()                 */
    struct lth__gpu *gpu;             /* without a device its `gpus` is 0 */
    struct lth__cluster *cluster;     /* NULL = alone                     */
    bool quiet;                       /* `progress` may cancel, but is told nothing */

    /* Of base/parallel.c: the outermost loop that runs now, or NULL; in which process (see
     * lth__team_generation()); and when `progress` was asked last. */
    struct lth__loop *loop;
    unsigned generation;
    double asked_at;
};

/* Tell the callback how far a phase of the work is, also in a quiet context; LTH_ECANCELED = do not
 * go on. */
lth_status lth__tell(const lth_ctx *ctx, const char *what, double done, double total,
                     lth_error *err);

void lth__log(const lth_ctx *ctx, lth_log_level level, const char *format, ...) LTH_PRINTF(3, 4);

#endif
