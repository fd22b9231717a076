/* Ranks: when mpirun or srun starts this command several times, the first rank reads, prints and
 * writes, and the others only help to compute. */
#include "ranks.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char nowhere[] = "/dev/null";

/* Options are not read yet, and their errors are to be told once. */
static bool runs_alone(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--cluster=none") == 0) return true;
        if (strcmp(argv[i], "--cluster") == 0 && i + 1 < argc)
            return strcmp(argv[i + 1], "none") == 0;
    }
    return false;
}

void ranks_silence(int argc, char **argv) {
    if (lth_launched_rank(NULL) == 0 || runs_alone(argc, argv)) return;
    int file = open(nowhere, O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
}

static bool is_none(const options *o) {
    return o->cluster && strcmp(o->cluster, "none") == 0;
}

bool ranks_assign(options *o) {
    if (lth_launched_rank(NULL) == 0 || is_none(o)) return true;
    if (o->output && !is_store(o->output)) o->output = nowhere;
    if (o->predictions) o->predictions = nowhere;
    if (o->gradients) o->gradients = nowhere;
    return o->command && shares_work(o->command);
}

void ranks_announce(session *s) {
    unsigned ranks;
    if (lth_ctx_rank(s->ctx, &ranks) == 0 && strcmp(lth_ctx_cluster(s->ctx), "none") != 0)
        session_say(s, "%u rank%s by %s, %u thread%s each", ranks, ranks == 1 ? "" : "s",
                    lth_ctx_cluster(s->ctx), lth_ctx_threads(s->ctx),
                    lth_ctx_threads(s->ctx) == 1 ? "" : "s");
}

/* For the others, who were not there when it failed: with a status that they exit by as this rank
 * does, whatever they are at. */
static lth_error reason_of(const session *s, int code) {
    lth_error why = s->failed;
    if (why.status == LTH_OK)
        snprintf(why.message, sizeof why.message, "rank %u has failed", lth_ctx_rank(s->ctx, NULL));
    why.status = code == EXIT_USAGE   ? LTH_EARG
                 : code == EXIT_INPUT ? LTH_EFORMAT
                 : was_interrupted()  ? LTH_ECANCELED
                                      : LTH_EUNSUPPORTED;
    return why;
}

int ranks_end(session *s, int code) {
    if (!s->ctx) return code;
    lth_error why = reason_of(s, code), err = {0};
    lth_status status = lth_ctx_leave(s->ctx, code ? &why : NULL, &err);
    return code || status == LTH_OK ? code : session_fail(s, &err);
}
