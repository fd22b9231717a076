/* Reading a model file, and printing what it has learned. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "session.h"

/* "-" is standard input. */
int session_load_model(session *s, const char *path, lth_gp **out);

/* The object that show --json prints, to standard output. */
int print_model_json(const lth_gp *gp);

#endif
