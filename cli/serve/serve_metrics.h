/* What the server counts, and GET /metrics, which tells it in the text format of Prometheus. */
#ifndef CLI_SERVE_METRICS_H
#define CLI_SERVE_METRICS_H

#include "serve/serve.h"

enum {
    MOST_PATHS = 16,  /* of routes, and one more for all other paths */
    MOST_STATUS = 24, /* that the server answers with */
    BUCKETS = 14,     /* of times; one more for those above all of them */
};

/* Of the requests for one path. */
typedef struct path_metrics {
    size_t status[MOST_STATUS]; /* by the order of metrics.status */
    size_t bucket[BUCKETS + 1];
    double seconds; /* of all requests */
    size_t rows;    /* that were predicted */
} path_metrics;

typedef struct metrics {
    const char *path[MOST_PATHS]; /* NULL past the last */
    unsigned status[MOST_STATUS]; /* as they came; 0 past the last */
    path_metrics of[MOST_PATHS];
    size_t reloads[2]; /* that failed, that went well */
    pthread_mutex_t lock;
} metrics;

/* What is so just now. */
typedef struct metrics_now {
    const char *model_name;
    const edition *edition;
    size_t in_flight, waiting, connections, log_lost;
} metrics_now;

void metrics_open(metrics *m);
void metrics_close(metrics *m);
/* `path` lives as long as the metrics: there are as many as there are routes. */
void metrics_count(metrics *m, const char *path, unsigned status, size_t rows, double seconds);
void metrics_count_reload(metrics *m, bool good);
void metrics_write(metrics *m, const metrics_now *now, FILE *out);

#endif
