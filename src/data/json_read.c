#include "data/json_read.h"

#include <errno.h>

lth_status lth__json_read(const char *text, size_t length, size_t flags, json_t **out,
                          json_error_t *why, lth_error *err) {
    json_error_t own;
    if (!why) why = &own;
    errno = 0;
    json_t *value = json_loadb(text, length, flags, why);
    if (value) {
        *out = value;
        return LTH_OK;
    }
    /* Jansson says "invalid token" when it could not have the memory for one. */
    if (json_error_code(why) == json_error_out_of_memory || errno == ENOMEM)
        return lth__fail_memory(err, 0);
    return LTH_EFORMAT;
}
