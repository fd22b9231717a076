/* Ranks: when mpirun or srun starts this command several times, the first rank reads, prints and
 * writes, and the others only help to compute. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "session.h"

/* Before anything is printed: all but the first rank are silent from here on, unless the command
 * line says that they are none (--cluster none). */
void ranks_silence(int argc, char **argv);

/* What this rank is to do: others than the first write nothing. Whether there is anything: of a
 * command that is not shared, it is the first rank's alone. */
bool ranks_assign(options *o);

/* Say by how many the work is shared. */
void ranks_announce(session *s);

/* The exit code of this rank after all have ended: another's failure is told by the first. */
int ranks_end(session *s, int code);

#endif
