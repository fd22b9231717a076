/* luthier-bench-compare: is luthier as fast as it is meant to be on this machine? Each row is a
 * ratio of times taken in one run, beside what is asked of it. */
#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"
#include "workload.h"

static const char usage[] =
    "usage: luthier-bench-compare [--json] [--check] [--seconds S] [--data DIR] [--peers FILE]\n"
    "                             [--gp-peer FILE] [--svm-peer FILE] [--sites-peer FILE]\n"
    "                             [--luthier FILE] [--part TEXT] [--rows N]\n"
    "  --json          print JSON instead of Markdown\n"
    "  --check         exit 1 when a row does not reach what is asked of it\n"
    "  --seconds S     time to spend on a row, about (default 3)\n"
    "  --data DIR      the folder of semeval2007.tsv, glove_subset_100d.txt.gz,\n"
    "                  ptb_sample_trees_clean.txt and reuters_modapte.tsv.gz\n"
    "                  (default ../shared/data)\n"
    "  --peers FILE    times of other programs to show: lines of name, tab, seconds\n"
    "  --gp-peer FILE  a line of name, seconds and log evidence from peers/sklearn_gp.py\n"
    "  --svm-peer FILE a line of name, seconds, micro and macro F1 from peers/sklearn_svm.py\n"
    "  --sites-peer FILE  a line of name and seconds from peers/numpy_sites.py\n"
    "  --luthier FILE  the command line (default: the one beside this program)\n"
    "  --part TEXT     measure only the parts that have TEXT in their names\n"
    "  --rows N        rows of the pass by inducing rows (default 50000)\n";

typedef struct wishes {
    plan plan;
    bool json, check;
    const char *part;
    char program[4096];
} wishes;

static char folder[4096 - 64]; /* of temporary files; removed at the end */

static void remove_folder(void) {
    DIR *files = opendir(folder);
    const struct dirent *file;
    while (files && (file = readdir(files)) != NULL) unlinkat(dirfd(files), file->d_name, 0);
    if (files) closedir(files);
    rmdir(folder);
}

static void make_folder(plan *p) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/luthier-bench-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder)) die("cannot make a folder for temporary files: %s", folder);
    atexit(remove_folder);
    strcpy(p->folder, folder);
}

static void find_program(wishes *w) {
    ssize_t length = readlink("/proc/self/exe", w->program, sizeof w->program - 16);
    if (length < 0) die("cannot find the command line; name it with --luthier");
    w->program[length] = 0;
    char *slash = strrchr(w->program, '/');
    strcpy(slash ? slash + 1 : w->program, "luthier");
    w->plan.program = w->program;
}

static void read_options(int argc, char **argv, wishes *w) {
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"check", no_argument, NULL, 'c'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"data", required_argument, NULL, 'd'},
                                            {"peers", required_argument, NULL, 'p'},
                                            {"luthier", required_argument, NULL, 'l'},
                                            {"gp-peer", required_argument, NULL, 'g'},
                                            {"svm-peer", required_argument, NULL, 'v'},
                                            {"sites-peer", required_argument, NULL, 'n'},
                                            {"part", required_argument, NULL, 't'},
                                            {"rows", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'j': w->json = true; break;
        case 'c': w->check = true; break;
        case 's': w->plan.seconds = strtod(optarg, NULL); break;
        case 'd': w->plan.data = optarg; break;
        case 'p': w->plan.peers = optarg; break;
        case 'g': w->plan.gp_peer = optarg; break;
        case 'n': w->plan.sites_peer = optarg; break;
        case 'v': w->plan.svm_peer = optarg; break;
        case 't': w->part = optarg; break;
        case 'r': w->plan.rows = strtoul(optarg, NULL, 10); break;
        case 'l': w->plan.program = optarg; break;
        case 'h': fputs(usage, stdout); exit(0);
        default: fputs(usage, stderr); exit(2);
        }
    }
    if (optind == argc && w->plan.seconds > 0 && w->plan.rows >= 1000) return;
    fputs(usage, stderr);
    exit(2);
}

static double load_now(void) {
    double load = 0;
    return getloadavg(&load, 1) == 1 ? load : 0;
}

static void describe_machine(report *r) {
    char line[240] = "", cpu[160] = "unknown CPU";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "model name : %159[^\n]", cpu) == 1) break;
    }
    if (file) fclose(file);
    snprintf(r->machine, sizeof r->machine, "luthier %s, %s, %ld cores, %s", lth_version(), cpu,
             sysconf(_SC_NPROCESSORS_ONLN), lth_isa_available(0));
}

static void measure_all(const plan *p, const char *part, report *r) {
    static const struct part {
        const char *what;
        void (*measure)(const plan *, report *);
    } parts[] = {
        {"start-up and memory", measure_processes},
        {"memory of learning", measure_fit_memory},
        {"classification", measure_classification},
        {"features of some rows", measure_features},
        {"problems of support vector machines", measure_svm_problems},
        {"the engine and a plain loop", measure_engine},
        {"soft matching", measure_soft},
        {"gradients", measure_gradient},
        {"small gaps", measure_small_gap},
        {"threads", measure_threads},
        {"long strings", measure_long},
        {"high orders", measure_orders},
        {"few strings", measure_few},
        {"dropping", measure_dropping},
        {"learning", measure_learning},
        {"folds", measure_folds},
        {"trees", measure_trees},
        {"inducing rows", measure_inducing},
        {"conjugate gradients", measure_cg},
        {"on disk", measure_store},
        {"other targets", measure_targets},
        {"sequences", measure_sequences},
        {"aligned sequences", measure_aligned},
        {"instruction sets, lengths, orders", measure_speeds},
        {"one row", measure_one_row},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!strstr(parts[i].what, part)) continue;
        fprintf(stderr, "measuring %s ...\n", parts[i].what);
        parts[i].measure(p, r);
    }
}

int main(int argc, char **argv) {
    static wishes w = {.plan = {.seconds = 3, .rows = 50000, .data = "../shared/data"}, .part = ""};
    static report r;
    find_program(&w);
    read_options(argc, argv, &w);
    make_folder(&w.plan);
    describe_machine(&r);
    r.load_before = load_now();
    measure_all(&w.plan, w.part, &r);
    r.load_after = load_now();
    if (w.json)
        print_json(&r);
    else
        print_markdown(&r);
    return w.check && !all_reached(&r);
}
