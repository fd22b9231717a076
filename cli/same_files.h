/* Whether a command would write over what it reads. */
#ifndef CLI_SAME_FILES_H
#define CLI_SAME_FILES_H

#include "options.h"

/* EXIT_DONE, or EXIT_USAGE after a message: before any work, and through links too. */
int check_files_differ(const options *o);

#endif
