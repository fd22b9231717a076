/* Runs of the command line, timed and weighed. */
#ifndef PROCESS_H
#define PROCESS_H

typedef struct process_use {
    double seconds;    /* from start to end           */
    double peak_bytes; /* most memory it had at a time */
} process_use;

/* Runs argv[0] with its output thrown away; a failure ends this program. The system counts what
 * this program has in memory as the child's until it starts, so use this while it is small. */
process_use run_process(char *const argv[]);

#endif
