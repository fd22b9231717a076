/* Runs a fuzz target over stored inputs without libFuzzer, so that every test run repeats them:
 * `fuzz_table CORPUS_FOLDER...` feeds each file of each folder once. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An exact-size copy on the heap, so that AddressSanitizer sees a read past the end. */
static uint8_t *read_whole(const char *path, size_t size) {
    FILE *stream = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);
    bool complete = stream && data && fread(data, 1, size, stream) == size;
    if (stream) fclose(stream);
    if (complete) return data;
    free(data);
    return NULL;
}

static bool replay_file(const char *path, size_t size) {
    uint8_t *data = read_whole(path, size);
    if (!data) return false;
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return true;
}

/* The number of inputs, or -1 when something could not be read. */
static long replay_folder(const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir) return -1;
    long count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(dir));) {
        char path[4096];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        bool found = stat(path, &info) == 0;
        if (found && !S_ISREG(info.st_mode)) continue;
        /* Said before it runs, so that the log of a crash ends with its cause. */
        fprintf(stderr, "%s\n", path);
        count = found && replay_file(path, (size_t)info.st_size) ? count + 1 : -1;
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv) {
    long total = 0;
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        long count = replay_folder(argv[i]);
        if (count <= 0) {
            fprintf(stderr, "%s: %s\n", argv[i], count ? "cannot be read" : "has no inputs");
            return 1;
        }
        total += count;
    }
    printf("%ld inputs\n", total);
    return 0;
}
