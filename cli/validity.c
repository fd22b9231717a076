/* A command of the user's that says which texts can be measured at all.
 *
 * Its input is a file that has no name, not a pipe: so nobody waits for anybody, however many texts
 * there are and whenever the command begins to answer. */
#define _GNU_SOURCE 1 /* pipe2, strchrnul */

#include "validity.h"
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int fail(validity *v, const char *format, ...) LTH_PRINTF(2, 3);

static int fail(validity *v, const char *format, ...) {
    lth_error err = {.status = LTH_EIO};
    va_list args;
    va_start(args, format);
    int used = snprintf(err.message, sizeof err.message, "--valid \"%.100s\": ", v->command);
    vsnprintf(err.message + used, sizeof err.message - (size_t)used, format, args);
    va_end(args);
    return session_fail(v->session, &err);
}

/* ---- The child ---- */

/* In a group of its own, so that it can be ended with all that it started; and broken pipes end it,
 * which they do not do here. */
static int spawn(const char *line, int input, int output, pid_t *child) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t pipes;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    if (posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    int number = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    if (!number) number = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    if (!number) number = posix_spawnattr_setsigdefault(&attributes, &pipes);
    if (!number) number = posix_spawnattr_setpgroup(&attributes, 0);
    if (!number)
        number =
            posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)line, NULL};
    if (!number) number = posix_spawn(child, "/bin/sh", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return number;
}

static int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

static int check_end(validity *v, int status) {
    if (WIFSIGNALED(status)) return fail(v, "ended by signal %d", WTERMSIG(status));
    int code = WEXITSTATUS(status);
    if (code == 127) return fail(v, "there is no such command (exit code 127)");
    return code ? fail(v, "exit code %d", code) : EXIT_DONE;
}

/* ---- Input and output ---- */

static int write_texts(validity *v, const char *const *texts, size_t count, FILE **out) {
    FILE *input = tmpfile();
    if (!input) return fail(v, "no temporary file for its input: %s", strerror(errno));
    fcntl(fileno(input), F_SETFD, FD_CLOEXEC);
    for (size_t i = 0; i < count; ++i) fprintf(input, "%s\n", texts[i]);
    if (fflush(input) != 0 || ferror(input) || fseek(input, 0, SEEK_SET) != 0) {
        int number = errno;
        fclose(input);
        return fail(v, "cannot write its input: %s", strerror(number));
    }
    *out = input;
    return EXIT_DONE;
}

/* All that it prints, until it ends or somebody wants to stop. */
static int read_answers(validity *v, int from, FILE *to) {
    enum { A_MOMENT = 100 }; /* milliseconds: signals may be another thread's */
    char block[1 << 14];
    struct pollfd ready = {.fd = from, .events = POLLIN};
    while (true) {
        int code = session_check_interrupt(v->session);
        if (code) return code;
        if (poll(&ready, 1, A_MOMENT) <= 0) continue;
        ssize_t count = read(from, block, sizeof block);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail(v, "cannot read its output: %s", strerror(errno));
        if (count == 0) return EXIT_DONE;
        fwrite(block, 1, (size_t)count, to);
    }
}

static int run_command(validity *v, FILE *input, FILE *answers) {
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0) return fail(v, "cannot start: %s", strerror(errno));
    int number = spawn(v->command, fileno(input), ends[1], &child);
    close(ends[1]);
    int code =
        number ? fail(v, "cannot start: %s", strerror(number)) : read_answers(v, ends[0], answers);
    close(ends[0]);
    if (number) return code;
    if (code) kill(-child, SIGKILL);
    int status = wait_for(child);
    return code ? code : check_end(v, status);
}

/* ---- Answers ---- */

static bool parse_answer(const char *line, size_t length, bool *valid) {
    static const char *const words[] = {"1", "true", "yes", "0", "false", "no"};
    while (length > 0 && strchr(" \t\r", line[length - 1])) --length;
    while (length > 0 && strchr(" \t", *line)) ++line, --length;
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        if (strlen(words[i]) != length || strncasecmp(words[i], line, length) != 0) continue;
        *valid = i < 3;
        return true;
    }
    return false;
}

static int parse_answers(validity *v, const char *text, size_t count, bool *valid) {
    size_t lines = 0;
    for (const char *end; *text; text = *end ? end + 1 : end, ++lines) {
        end = strchrnul(text, '\n');
        if (lines < count && !parse_answer(text, (size_t)(end - text), &valid[lines]))
            return fail(v, "line %zu of its output is \"%.*s\", neither 1 nor 0", lines + 1,
                        (int)(end - text < 40 ? end - text : 40), text);
    }
    if (lines == count) return EXIT_DONE;
    return fail(v, "%zu lines of output for %zu texts", lines, count);
}

static int ask(validity *v, const char *const *texts, size_t count, bool *valid) {
    FILE *input = NULL;
    char *text = NULL;
    size_t size;
    int code = write_texts(v, texts, count, &input);
    if (code) return code;
    FILE *answers = text_stream(&text, &size);
    if (!answers) code = out_of_memory();
    if (!code) code = run_command(v, input, answers);
    fclose(input);
    if (answers && fclose(answers) != 0 && !code) code = out_of_memory();
    if (!code) code = parse_answers(v, text, count, valid);
    free(text);
    return code;
}

int validity_ask(void *user, const char *const *texts, size_t count, bool *valid) {
    validity *v = user;
    if (count > 0 && !v->code) v->code = ask(v, texts, count, valid);
    return v->code;
}
