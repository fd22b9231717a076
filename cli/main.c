/* luthier: the command line. */
#include <signal.h>
#include <stdio.h>

#include "options.h"
#include "output.h"
#include "ranks.h"
#include "same_files.h"

static int run(const options *o) {
    if (o->version) {
        printf("luthier %s\n", lth_version());
        return EXIT_DONE;
    }
    if (o->help) {
        print_help(o->command);
        return EXIT_DONE;
    }
    return o->command->run(o);
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); /* a write that fails is reported like any other, */
    signal(SIGXFSZ, SIG_IGN); /* one past a limit of file sizes too */
    options o;
    ranks_silence(argc, argv);
    int code = options_parse(argc, argv, &o);
    if (!code) code = check_files_differ(&o);
    if (!code && ranks_assign(&o)) code = run(&o);
    options_free(&o);
    return code ? code : finish_stdout();
}
