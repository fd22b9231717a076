/* A plug-in of QEMU: how often each instruction of a program ran, as lines "address count".
 *
 *     qemu-X -plugin counter.so,to=FILE program
 *
 * QEMU's header is not packaged everywhere, so that what is used of it is declared here.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { ADD = 0 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int what, void *at,
                                                uint64_t by);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
                                           void (*made)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_atexit_cb(uint64_t id, void (*ended)(uint64_t id, void *user),
                                    void *user);
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);
extern int qemu_plugin_version;
int qemu_plugin_version = 1;

enum { PLACES = 1 << 18 };
static struct { uint64_t address, count; } counts[PLACES];
static char path[4096];

static uint64_t *count_of(uint64_t address) {
    size_t i = (size_t)(address / 2) % PLACES;
    while (counts[i].address && counts[i].address != address) i = (i + 1) % PLACES;
    counts[i].address = address;
    return &counts[i].count;
}

static void count_block(uint64_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t *at = count_of(qemu_plugin_insn_vaddr(insn));
        qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, at, 1);
    }
}

static void write_counts(uint64_t id, void *user) {
    (void)id, (void)user;
    FILE *out = fopen(path, "w");
    if (!out) return;
    for (size_t i = 0; i < PLACES; i++) {
        if (counts[i].count)
            fprintf(out, "%" PRIx64 " %" PRIu64 "\n", counts[i].address, counts[i].count);
    }
    fclose(out);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *info,
                                                               int argc, char **argv) {
    (void)info;
    if (argc != 1 || strncmp(argv[0], "to=", 3) != 0) return 1;
    snprintf(path, sizeof path, "%s", argv[0] + 3);
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_atexit_cb(id, write_counts, NULL);
    return 0;
}
