/* What the server counts, and GET /metrics: the text format of Prometheus, version 0.0.4. */
#include "serve/serve_metrics.h"

#include <string.h>
#include <sys/resource.h>

#include "output.h"

static const double bucket_ends[BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                            0.25,  0.5,    1,     2.5,  5,     10,   30};

void metrics_open(metrics *m) {
    *m = (metrics){.path = {NULL}};
    pthread_mutex_init(&m->lock, NULL);
}

void metrics_close(metrics *m) {
    pthread_mutex_destroy(&m->lock);
}

/* ---- Counting ---- */

static path_metrics *find_path(metrics *m, const char *path) {
    size_t i = 0;
    while (i + 1 < MOST_PATHS && m->path[i] && strcmp(m->path[i], path) != 0) ++i;
    if (!m->path[i]) m->path[i] = path;
    return &m->of[i];
}

static size_t find_status(metrics *m, unsigned status) {
    size_t i = 0;
    while (i + 1 < MOST_STATUS && m->status[i] && m->status[i] != status) ++i;
    if (!m->status[i]) m->status[i] = status;
    return i;
}

void metrics_count(metrics *m, const char *path, unsigned status, size_t rows, double seconds) {
    size_t bucket = 0;
    while (bucket < BUCKETS && seconds > bucket_ends[bucket]) ++bucket;
    pthread_mutex_lock(&m->lock);
    path_metrics *of = find_path(m, path);
    ++of->status[find_status(m, status)];
    ++of->bucket[bucket];
    of->seconds += seconds;
    if (status == 200) of->rows += rows;
    pthread_mutex_unlock(&m->lock);
}

void metrics_count_reload(metrics *m, bool good) {
    pthread_mutex_lock(&m->lock);
    ++m->reloads[good];
    pthread_mutex_unlock(&m->lock);
}

/* ---- Telling ---- */

static void begin(FILE *out, const char *name, const char *type, const char *help) {
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_value(FILE *out, double value) {
    char text[32];
    fprintf(out, " %s\n", double_text(value, text));
}

static void put_single(FILE *out, const char *name, const char *type, const char *help,
                       double value) {
    begin(out, name, type, help);
    fputs(name, out);
    put_value(out, value);
}

/* The value of a label: backslashes, quotes and line breaks are escaped. */
static void put_label(FILE *out, const char *text) {
    for (; *text; ++text)
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            putc(*text, out);
}

static size_t count_paths(const metrics *m) {
    size_t count = 0;
    while (count < MOST_PATHS && m->path[count]) ++count;
    return count;
}

static void write_requests(const metrics *m, FILE *out) {
    begin(out, "luthier_requests_total", "counter",
          "Requests by path and status; 499 = the client left first.");
    for (size_t p = 0; p < count_paths(m); ++p)
        for (size_t i = 0; i < MOST_STATUS; ++i)
            if (m->of[p].status[i])
                fprintf(out, "luthier_requests_total{path=\"%s\",status=\"%u\"} %zu\n", m->path[p],
                        m->status[i], m->of[p].status[i]);
}

static void write_times(const metrics *m, FILE *out) {
    static const char name[] = "luthier_request_duration_seconds";
    char end[32];
    begin(out, name, "histogram", "From a whole request to its answer, also while it waited.");
    for (size_t p = 0; p < count_paths(m); ++p) {
        size_t sum = 0;
        for (size_t i = 0; i <= BUCKETS; ++i) {
            sum += m->of[p].bucket[i];
            fprintf(out, "%s_bucket{path=\"%s\",le=\"%s\"} %zu\n", name, m->path[p],
                    i < BUCKETS ? double_text(bucket_ends[i], end) : "+Inf", sum);
        }
        fprintf(out, "%s_sum{path=\"%s\"}", name, m->path[p]);
        put_value(out, m->of[p].seconds);
        fprintf(out, "%s_count{path=\"%s\"} %zu\n", name, m->path[p], sum);
    }
}

static void write_rows(const metrics *m, FILE *out) {
    begin(out, "luthier_rows_total", "counter", "Rows that were answered for, by path.");
    for (size_t p = 0; p < count_paths(m); ++p)
        if (m->of[p].rows)
            fprintf(out, "luthier_rows_total{path=\"%s\"} %zu\n", m->path[p], m->of[p].rows);
}

static void write_reloads(const metrics *m, FILE *out) {
    static const char name[] = "luthier_model_reloads_total";
    begin(out, name, "counter", "Times that SIGHUP asked for the model to be read again.");
    fprintf(out, "%s{result=\"ok\"} %zu\n%s{result=\"failed\"} %zu\n", name, m->reloads[1], name,
            m->reloads[0]);
}

static void write_model(const metrics_now *now, FILE *out) {
    const edition *e = now->edition;
    begin(out, "luthier_model_info", "gauge", "The model that is served.");
    fputs("luthier_model_info{model=\"", out);
    put_label(out, now->model_name);
    fprintf(out, "\",kind=\"%s\",version=\"%s\"} 1\n", lth_model_gp(e->model) ? "gp" : "svm",
            lth_version());
    put_single(out, "luthier_model_training_rows", "gauge", "Rows that it was trained with.",
               (double)lth_model_rows(e->model));
    put_single(out, "luthier_model_file_timestamp_seconds", "gauge",
               "When its file was written, in Unix time.", e->written);
    put_single(out, "luthier_model_loaded_timestamp_seconds", "gauge",
               "When it was read, in Unix time.", e->loaded);
    put_single(out, "luthier_model_load_seconds", "gauge", "How long reading it took.", e->seconds);
}

static void write_words(const metrics_now *now, FILE *out) {
    lth_words_without_vector words = {0};
    lth_model_words_without_vector(now->edition->model, &words, sizeof words);
    put_single(out, "luthier_vector_words_total", "counter",
               "Words that were compared by their vectors, since the model was read.",
               (double)words.units);
    put_single(out, "luthier_words_without_vector_total", "counter",
               "Of these, those that have no vector.", (double)words.occurrences);
}

static double cpu_seconds(void) {
    struct rusage used = {0};
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void metrics_write(metrics *m, const metrics_now *now, FILE *out) {
    pthread_mutex_lock(&m->lock);
    metrics seen = *m; /* so that nobody waits for what is written */
    pthread_mutex_unlock(&m->lock);
    write_requests(&seen, out);
    write_times(&seen, out);
    write_rows(&seen, out);
    put_single(out, "luthier_requests_in_flight", "gauge", "Requests that have come, unanswered.",
               (double)now->in_flight);
    put_single(out, "luthier_requests_waiting", "gauge", "Of these, those that wait for a thread.",
               (double)now->waiting);
    put_single(out, "luthier_connections", "gauge", "Connections that are open.",
               (double)now->connections);
    write_model(now, out);
    write_words(now, out);
    write_reloads(&seen, out);
    put_single(out, "luthier_log_lost_lines_total", "counter",
               "Lines of the log that could not be written.", (double)now->log_lost);
    put_single(out, "process_cpu_seconds_total", "counter", "Seconds of all cores.", cpu_seconds());
}
