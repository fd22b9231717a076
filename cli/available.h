/* How much memory this process can still have. */
#ifndef CLI_AVAILABLE_H
#define CLI_AVAILABLE_H

/* In bytes; infinite where the system does not say. */
double memory_available(void);

#endif
