/* luthier design: what its verbs share. */
#ifndef CLI_DESIGN_H
#define CLI_DESIGN_H

#include "session.h"

/* The campaign in the folder that the command names, DIR. */
int design_open(session *s, lth_design **out);
int design_status(const options *o);
int design_simulate(const options *o);

#endif
