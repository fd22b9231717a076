/* Reading JSON, and telling a lack of memory from a text that is none. */
#ifndef LTH_JSON_READ_H
#define LTH_JSON_READ_H

#include <jansson.h>

#include "base/status.h"

/* `why` may be NULL. LTH_EFORMAT leaves it to the caller to say where and of what. */
lth_status lth__json_read(const char *text, size_t length, size_t flags, json_t **out,
                          json_error_t *why, lth_error *err);

#endif
