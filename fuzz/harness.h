/* What the fuzz targets share: a context for all inputs of a run, files in memory, and a folder for
 * what is read from folders. */
#ifndef FUZZ_HARNESS_H
#define FUZZ_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#include "luthier.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of libFuzzer, for targets with a mutator of their own, mutate_NAME.c. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

/* One thread, no log. It reads files of harness_put() from memory. */
lth_ctx *harness_ctx(void);

/* From now on these bytes are the file `path`; they are borrowed. */
void harness_put(const char *path, const void *bytes, size_t size);

/* Writes a file into a folder of this process, in memory where the machine has such a disk, and
 * returns the folder's path. It is removed at the end, with its files. */
const char *harness_write(const char *name, const void *bytes, size_t size);

/* A folder of such files, of which one is the input: its first byte says which. The others are
 * written once, and again after they were the input. */
typedef struct harness_file {
    const char *name, *text;
} harness_file;
enum { HARNESS_MOST_FILES = 8 };
const char *harness_folder(const harness_file *of, size_t count, const uint8_t *data, size_t size);

/* The table of these lines, read once and for all. */
lth_table *harness_table(const char *lines);

#endif
