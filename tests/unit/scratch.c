#define _GNU_SOURCE 1 /* nftw */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lead[] = "luthier-test-"; /* and the process */
static char folder[4096];
static int before = -1; /* the folder where the program was started */

static const char *home(void) {
    const char *chosen = getenv("TMPDIR");
    return chosen && *chosen ? chosen : "/tmp";
}

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *at) {
    (void)found, (void)kind, (void)at;
    return remove(path);
}

static void sweep(void) {
    DIR *all = opendir(home());
    for (const struct dirent *entry; all && (entry = readdir(all)) != NULL;) {
        if (strncmp(entry->d_name, lead, sizeof lead - 1) != 0) continue;
        long process = strtol(entry->d_name + sizeof lead - 1, NULL, 10);
        if (process <= 0 || kill((pid_t)process, 0) == 0 || errno != ESRCH) continue;
        char path[4096];
        if (snprintf(path, sizeof path, "%s/%s", home(), entry->d_name) < (int)sizeof path)
            nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    if (all) closedir(all);
}

int scratch_open(void **state) {
    (void)state;
    sweep();
    snprintf(folder, sizeof folder, "%s/%s%ld-XXXXXX", home(), lead, (long)getpid());
    before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return before >= 0 && mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

int scratch_close(void **state) {
    (void)state;
    int left = fchdir(before) != 0 || rmdir(folder) != 0; /* fails where something is in it */
    if (left) fprintf(stderr, "%s: %s\n", folder, strerror(errno));
    close(before);
    return left;
}
