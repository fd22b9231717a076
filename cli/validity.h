/* A command of the user's that says which texts can be measured at all. */
#ifndef CLI_VALIDITY_H
#define CLI_VALIDITY_H

#include "session.h"

typedef struct validity {
    session *session;
    const char *command; /* for sh -c */
    int code;            /* of what went wrong, after its message; EXIT_DONE = nothing did */
} validity;

/* An lth_valid_fn: the command is run once for all of these texts, a line each, and answers each
 * line with one of its own: 1, true or yes, 0, false or no. `user` is a validity. */
int validity_ask(void *user, const char *const *texts, size_t count, bool *valid);

#endif
