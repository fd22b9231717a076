/* Plug-ins: libraries beside this one that are loaded when they are asked for, and bring a table of
 * functions. */
#ifndef LTH_PLUGIN_H
#define LTH_PLUGIN_H

#include "luthier.h"

typedef struct lth__plugin {
    const char *file;     /* "libluthier_cuda.so"                                     */
    const char *variable; /* of the environment, that names another file              */
    const char *function; /* which it exports, and which gives the table              */
    const char *of;       /* "GPUs"                                                   */
    const char *target;   /* of make, which builds it                                 */
    int version;          /* of the table, which has its own as its first member */
} lth__plugin;

/* The table, which stays loaded. `advice` is the end of what is said where there is no such file.
 */
lth_status lth__plugin_load(const lth__plugin *plugin, const char *advice, const void **table,
                            lth_error *err);

#endif
