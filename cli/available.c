/* How much memory this process can still have: the kernel grants more than it has and kills later,
 * so asking malloc is not enough. */
#include "available.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number after `key` in a file of lines; infinite if there is none ("max" in a control group).
 */
static double read_number(const char *path, const char *key) {
    FILE *file = fopen(path, "r");
    if (!file) return INFINITY;
    double value = INFINITY;
    char line[128];
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        double found;
        if (sscanf(line + strlen(key), "%lf", &found) == 1) value = found;
        break;
    }
    fclose(file);
    return value;
}

double memory_available(void) {
    double machine = 1024 * read_number("/proc/meminfo", "MemAvailable:");
    double limit = read_number("/sys/fs/cgroup/memory.max", "");
    double used = read_number("/sys/fs/cgroup/memory.current", "");
    double group = isinf(limit) || isinf(used) ? INFINITY : limit - used;
    return machine < group ? machine : group;
}

lth_status allocate_doubles(const char *what, size_t planes, size_t rows, size_t columns,
                            double **out, lth_error *err) {
    double bytes = (double)sizeof **out * (double)planes * (double)rows * (double)columns;
    double available = bytes > 1e6 ? memory_available() : INFINITY; /* asking takes a moment */
    *out = NULL;
    if (bytes < (double)(SIZE_MAX / 2) && bytes <= available)
        *out = malloc(sizeof **out * planes * rows * columns);
    if (*out) return LTH_OK;
    char rest[64] = "";
    if (bytes > available) snprintf(rest, sizeof rest, ", and %.3g GB are free", available / 1e9);
    snprintf(err->message, sizeof err->message,
             "out of memory: %s of %zu rows needs %.3g GB%s; keep fewer rows with --where", what,
             rows, bytes / 1e9, rest);
    return err->status = LTH_ENOMEM;
}
