/* JSON by Jansson, which neither asks for memory nor tells of the lack of it. */
#include "data/json_read.h"

#include <errno.h>

#include "base/memory.h"

lth_status lth__json_read(const char *text, size_t length, size_t flags, json_t **out,
                          json_error_t *why, lth_error *err) {
    json_error_t own;
    if (!why) why = &own;
    LTH_TRY(lth__memory_check_json(text, length, err));
    errno = 0;
    json_t *value = json_loadb(text, length, flags, why);
    /* Jansson says "invalid token" when it could not have the memory for one, and leaves out
     * letters of a text without a word. */
    if (errno == ENOMEM || (!value && json_error_code(why) == json_error_out_of_memory)) {
        json_decref(value);
        return lth__fail_memory(err, 0);
    }
    if (value) *out = value;
    return value ? LTH_OK : LTH_EFORMAT;
}
