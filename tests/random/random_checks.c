/* What must hold of the matrices and gradients of any kernel. A bound is in units of what the two
 * rows are by themselves, sqrt(k(x,x) k(y,y)): what cancels inside of a kernel may cost digits. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_case.h"

/* ---- Machines ---- */

enum { MACHINES = 12 };

struct machines {
    const char *folder;
    lth_ctx *ctx[MACHINES];
    const char *name[MACHINES];
    size_t count;
    lth_ctx *single; /* in single precision */
};

static lth_ctx *open_machine(const char *isa, unsigned threads, lth_precision precision,
                             const char *device) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.isa = isa;
    options.threads = threads;
    options.precision = precision;
    options.device = device;
    lth_ctx *ctx = NULL;
    lth_error err;
    if (lth_ctx_create(&options, &ctx, &err)) fprintf(stderr, "%s\n", err.message);
    return ctx;
}

machines *machines_open(const char *folder) {
    machines *m = calloc(1, sizeof *m);
    m->folder = folder;
    m->ctx[m->count] = open_machine(NULL, 1, LTH_F64, NULL), m->name[m->count++] = "one thread";
    m->ctx[m->count] = open_machine(NULL, 3, LTH_F64, NULL), m->name[m->count++] = "three threads";
    for (size_t i = 1; lth_isa_available(i) && m->count < MACHINES - 1; i++) {
        m->ctx[m->count] = open_machine(lth_isa_available(i), 1, LTH_F64, NULL);
        m->name[m->count++] = lth_isa_available(i);
    }
    if (getenv("LTH_CUDA_PLUGIN"))
        m->ctx[m->count] = open_machine(NULL, 1, LTH_F64, "cuda:0"), m->name[m->count++] = "device";
    m->single = open_machine(NULL, 1, LTH_F32, NULL);
    for (size_t i = 0; i < m->count; i++)
        if (!m->ctx[i]) return NULL;
    return m->single ? m : NULL;
}

lth_ctx *machines_first(const machines *m) {
    return m->ctx[0];
}

const char *machines_folder(const machines *m) {
    return m->folder;
}

/* ---- Findings ---- */

bool found(finding *out, const char *check, const char *format, ...) {
    va_list args;
    va_start(args, format);
    snprintf(out->check, sizeof out->check, "%s", check);
    vsnprintf(out->text, sizeof out->text, format, args);
    va_end(args);
    return false;
}

bool refusal_is_fine(lth_status status, const lth_error *err, finding *out) {
    if (status == LTH_ECANCELED || status == LTH_ENOMEM || status == LTH_EIO)
        return found(out, "status", "%s: %s", lth_status_text(status), err->message);
    if (!err->message[0] || strlen(err->message) < 8)
        return found(out, "message", "refused without a reason: \"%s\"", err->message);
    if (err->status != status)
        return found(out, "status", "returned %d, noted %d", (int)status, (int)err->status);
    return true;
}

/* ---- A kernel over the tables, and what a machine says of it ---- */

typedef struct side {
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items, *others, *again; /* again: the training rows once more */
    size_t n, m, params;
} side;

typedef struct data {
    const lth_table *train, *others;
    const char *vectors;
} data;

static lth_status side_open(side *s, lth_ctx *ctx, const char *expression, const data *d,
                            lth_error *err) {
    *s = (side){0};
    lth_status status = lth_kernel_parse(ctx, expression, &s->kernel, err);
    if (!status) status = lth_kernel_resolve(&s->kernel, d->train, err);
    if (!status) status = lth_encoder_create(ctx, s->kernel, &s->encoder, err);
    if (!status) status = lth_encode(s->encoder, d->train, &s->items, err);
    if (!status) status = lth_encode(s->encoder, d->others, &s->others, err);
    if (!status) status = lth_encode(s->encoder, d->train, &s->again, err);
    if (!status && lth_kernel_needs_vectors(s->kernel))
        status = lth_encoder_read_vectors(s->encoder, d->vectors, err);
    if (!status) {
        s->n = lth_items_count(s->items);
        s->m = lth_items_count(s->others);
        s->params = lth_kernel_params(s->kernel);
    }
    return status;
}

static void side_close(side *s) {
    lth_items_free(s->again);
    lth_items_free(s->others);
    lth_items_free(s->items);
    lth_encoder_free(s->encoder);
    lth_kernel_free(s->kernel);
}

typedef struct answer {
    double *K, *cross, *diagonal, *pull, *cross_pull; /* pulls of the weights W */
} answer;

/* Full of what no result may be. */
static double *numbers(size_t count) {
    double *x = random_alloc((count + 1) * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = NAN;
    return x;
}

static lth_status answer_find(answer *a, const side *s, const double *W, lth_error *err) {
    *a = (answer){numbers(s->n * s->n), numbers(s->n * s->m), numbers(s->n), numbers(s->params),
                  numbers(s->params)};
    lth_status status = lth_gram(s->kernel, s->items, NULL, a->K, s->n, err);
    if (!status) status = lth_gram(s->kernel, s->items, s->others, a->cross, s->m, err);
    if (!status) status = lth_gram_diagonal(s->kernel, s->items, a->diagonal, err);
    if (!status) status = lth_gram_pull(s->kernel, s->items, NULL, W, s->n, a->pull, err);
    if (!status)
        status = lth_gram_pull(s->kernel, s->items, s->others, W, s->m, a->cross_pull, err);
    return status;
}

/* ---- Comparing ---- */

static bool all_finite(const double *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static bool answer_is_finite(const side *s, const answer *a, finding *out) {
    const struct {
        const char *what;
        const double *x;
        size_t count;
    } parts[] = {{"values", a->K, s->n * s->n},
                 {"values with other rows", a->cross, s->n * s->m},
                 {"diagonal", a->diagonal, s->n},
                 {"pull-back", a->pull, s->params},
                 {"pull-back with other rows", a->cross_pull, s->params}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!all_finite(parts[i].x, parts[i].count))
            return found(out, "finite", "%s are not finite", parts[i].what);
    return true;
}

static bool same_bits(const double *a, const double *b, size_t count) {
    return memcmp(a, b, count * sizeof *a) == 0;
}

static bool answers_have_same_bits(const side *s, const answer *a, const answer *b,
                                   const char *check, finding *out) {
    if (!same_bits(a->K, b->K, s->n * s->n)) return found(out, check, "values differ");
    if (!same_bits(a->cross, b->cross, s->n * s->m))
        return found(out, check, "values with other rows differ");
    if (!same_bits(a->diagonal, b->diagonal, s->n)) return found(out, check, "diagonals differ");
    if (!same_bits(a->pull, b->pull, s->params) ||
        !same_bits(a->cross_pull, b->cross_pull, s->params))
        return found(out, check, "gradients differ");
    return true;
}

/* sqrt(k(i,i) k(j,j)), from the diagonal. */
static double size_of(const double *diagonal, size_t i, size_t j) {
    return sqrt(fabs(diagonal[i])) * sqrt(fabs(diagonal[j]));
}

static bool values_are_near(const double *want, const double *got, const double *diagonal, size_t n,
                            double tolerance, const char *check, finding *out) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double a = want[i * n + j], b = got[i * n + j];
            double most = tolerance * (size_of(diagonal, i, j) + 1e-290);
            if (!(fabs(a - b) <= most))
                return found(out, check,
                             "k(%zu,%zu) is %.17g, not %.17g; rows by themselves %g, %g", i + 1,
                             j + 1, b, a, diagonal[i], diagonal[j]);
        }
    return true;
}

/* Gradients with the same weights, in units of sum |W dk/dtheta|. */
static bool pulls_are_near(const side *s, const double *want, const double *got, const double *size,
                           double tolerance, const char *check, finding *out) {
    for (size_t p = 0; p < s->params; p++)
        if (!(fabs(want[p] - got[p]) <= tolerance * (size[p] + 1e-290)))
            return found(out, check, "gradient by %s is %.17g, not %.17g, of terms %g together",
                         lth_kernel_param(s->kernel, p)->path, got[p], want[p], size[p]);
    return true;
}

/* ---- What each check is ---- */

typedef struct inquiry {
    machines *m;
    const random_case *c;
    data d;
    side s;
    double *W, *G; /* weights, and every derivative */
    double lost;   /* by how much rounding counts more than once */
    double noise;  /* what rounding makes of a value of 1 */
    double *size;  /* of each parameter: sum |W dk/dtheta|, and a little of what |W k| is to it */
    answer a;      /* of the first machine */
    finding *out;
    counts *n;
} inquiry;

/* Of "lengthscale=0.5" or "lengthscale=[1,0.5,2]" the least, at most 1. */
static double least_in(const char *argument) {
    double least = 1;
    for (const char *at = strpbrk(argument, "=["); at; at = strpbrk(at + 1, "[,")) {
        double x = strtod(at + 1, NULL);
        if (x > 0 && x < least) least = x;
    }
    return least;
}

/* By how much a distance between rows is less than what it is the difference of: the largest k(x,x)
 * of what a wrapper by distances is made of, in units of its length scale. */
static double cancelled(inquiry *q, const syntax *call) {
    double most = 1, scale = 1;
    const syntax *input = call->input[0];
    for (size_t i = 0; i < call->arguments; i++)
        if (strncmp(call->argument[i], "lengthscale=", 12) == 0)
            scale = least_in(call->argument[i]);
    const char *inner = syntax_print(input);
    if (input->kind == COLUMN) inner = random_print("linear(%s)", inner);
    side s;
    lth_error err = {0};
    lth_status status = side_open(&s, q->m->ctx[0], inner, &q->d, &err);
    double *diagonal = numbers(s.n);
    if (!status) status = lth_gram_diagonal(s.kernel, s.items, diagonal, &err);
    for (size_t i = 0; !status && i < s.n; i++) most = fmax(most, diagonal[i] / (scale * scale));
    side_close(&s);
    return most;
}

/* Of wrappers of wrappers the product. */
static double all_cancelled(inquiry *q) {
    static const char *const by_distance[] = {"rbf", "matern32", "matern52", "rq"};
    syntax *nodes[256];
    const char *rest;
    double product = 1;
    syntax *s = syntax_parse(q->c->expression, &rest);
    for (size_t i = 0, n = s ? syntax_nodes(s, nodes, 256) : 0; i < n; i++)
        for (size_t k = 0; nodes[i]->kind == CALL && k < 4; k++)
            if (strcmp(nodes[i]->text, by_distance[k]) == 0) product *= cancelled(q, nodes[i]);
    return product;
}

static bool gradients_agree(inquiry *q) {
    const side *s = &q->s;
    lth_error err = {0};
    size_t pairs = s->n * s->n;
    q->G = numbers(s->params * pairs);
    q->size = numbers(s->params);
    double *sum = numbers(s->params);
    lth_status status = lth_gram_gradients(s->kernel, s->items, NULL, q->G, &err);
    if (status)
        return found(q->out, "gradients", "pull-back works, gradients do not: %s", err.message);
    if (!all_finite(q->G, s->params * pairs))
        return found(q->out, "finite", "derivatives are not finite");
    for (size_t p = 0; p < s->params; p++) {
        double by = fabs(lth_kernel_param(s->kernel, p)->value);
        q->size[p] = sum[p] = 0;
        for (size_t i = 0; i < pairs; i++) {
            double term = q->W[i] * q->G[p * pairs + i];
            double value = q->W[i] * size_of(q->a.diagonal, i / s->n, i % s->n);
            sum[p] += term;
            q->size[p] += fabs(term) + (1e-5 + 1e-7 * q->lost) * fabs(value) / (by > 0 ? by : 1);
        }
    }
    return pulls_are_near(s, sum, q->a.pull, q->size, 1e-8, "pull-back", q->out);
}

static bool symmetric(inquiry *q) {
    const side *s = &q->s;
    lth_error err = {0};
    double *again = numbers(s->n * s->n);
    lth_status status = lth_gram(s->kernel, s->items, s->again, again, s->n, &err);
    if (status) return found(q->out, "symmetry", "the same rows again: %s", err.message);
    double tolerance = (is_mild(q->c->seed) ? 1e-8 : 1e-5) + 10 * q->noise;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < i; j++)
            if (q->a.K[i * s->n + j] != q->a.K[j * s->n + i])
                return found(q->out, "symmetry", "k(%zu,%zu) is not k(%zu,%zu)", i, j, j, i);
    for (size_t i = 0; i < s->n; i++)
        if (!(fabs(q->a.K[i * s->n + i] - q->a.diagonal[i]) <= 1e-12 * fabs(q->a.diagonal[i])))
            return found(q->out, "diagonal", "k(%zu,%zu) is %.17g, by itself %.17g", i + 1, i + 1,
                         q->a.K[i * s->n + i], q->a.diagonal[i]);
    return values_are_near(q->a.K, again, q->a.diagonal, s->n, tolerance, "symmetry", q->out);
}

/* ---- Eigenvalues: the least one by Jacobi's rotations ---- */

static void rotate(double *A, size_t n, size_t p, size_t r) {
    double apr = A[p * n + r];
    if (apr == 0) return;
    double angle = (A[r * n + r] - A[p * n + p]) / (2 * apr);
    double t = (angle < 0 ? -1 : 1) / (fabs(angle) + sqrt(angle * angle + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (size_t k = 0; k < n; k++) {
        double x = A[k * n + p], y = A[k * n + r];
        A[k * n + p] = c * x - s * y, A[k * n + r] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        double x = A[p * n + k], y = A[r * n + k];
        A[p * n + k] = c * x - s * y, A[r * n + k] = s * x + c * y;
    }
}

static double least_eigenvalue(double *A, size_t n) {
    for (int sweep = 0; sweep < 12; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t r = p + 1; r < n; r++) rotate(A, n, p, r);
    double least = INFINITY;
    for (size_t i = 0; i < n; i++) least = A[i * n + i] < least ? A[i * n + i] : least;
    return least;
}

/* Some kernels are none at all values: their manual says so. And values of somebody else's are
 * what they are. */
static bool must_be_positive(const lth_kernel *kernel) {
    for (size_t i = 0; i < lth_kernel_params(kernel); i++) {
        const lth_param *p = lth_kernel_param(kernel, i);
        if (p->argument && strstr(p->argument->help, "need not be a kernel") && p->value != p->hi)
            return false;
    }
    return true;
}

static bool positive(inquiry *q) {
    const side *s = &q->s;
    size_t n = s->n;
    if (!must_be_positive(s->kernel)) return true;
    double *A = numbers(n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double by = size_of(q->a.diagonal, i, j);
            A[i * n + j] = by > 0 ? q->a.K[i * n + j] / by : i == j;
            double other = sqrt(q->a.diagonal[i]) + sqrt(q->a.diagonal[j]);
            if (by == 0 && fabs(q->a.K[i * n + j]) > 1e-130 * other) /* products of small numbers */
                return found(q->out, "eigenvalue", "k(%zu,%zu) is %g, but a row by itself is 0",
                             i + 1, j + 1, q->a.K[i * n + j]);
        }
    if (!all_finite(A, n * n)) return true; /* sizes too far apart to be compared */
    double least = least_eigenvalue(A, n);
    if (least >= -(1e-8 + 10 * q->noise) * (double)n) return true;
    return found(q->out, "eigenvalue", "the least of the normalised matrix is %g", least);
}

/* ---- Other machines ---- */

static bool other_machine(inquiry *q, size_t i) {
    side s;
    answer a;
    lth_error err = {0};
    const char *name = q->m->name[i];
    bool must_be_same = strstr(name, "thread") != NULL;
    lth_status status = side_open(&s, q->m->ctx[i], q->c->expression, &q->d, &err);
    if (!status) status = answer_find(&a, &s, q->W, &err);
    bool holds = true;
    if (status && (must_be_same || is_mild(q->c->seed)))
        holds = found(q->out, name, "refused on %s alone: %s", name, err.message);
    if (!status && must_be_same) holds = answers_have_same_bits(&s, &q->a, &a, name, q->out);
    if (!status && !must_be_same) holds = answer_is_finite(&s, &a, q->out);
    if (holds && !status && !must_be_same && is_mild(q->c->seed))
        holds = values_are_near(q->a.K, a.K, q->a.diagonal, s.n, 1e-7, name, q->out) &&
                pulls_are_near(&s, q->a.pull, a.pull, q->size, 1e-6, name, q->out);
    side_close(&s);
    q->n->checks += 2;
    return holds;
}

/* ---- Printed and read again ---- */

static bool printed(inquiry *q) {
    size_t length = lth_kernel_print(q->s.kernel, NULL, 0) + 1;
    char *text = random_alloc(length);
    lth_kernel_print(q->s.kernel, text, length);
    side s;
    answer a;
    lth_error err = {0};
    lth_status status = side_open(&s, q->m->ctx[0], text, &q->d, &err);
    if (!status) status = answer_find(&a, &s, q->W, &err);
    bool holds = !status ? answers_have_same_bits(&s, &q->a, &a, "printed", q->out)
                         : found(q->out, "printed", "%s is refused: %s", text, err.message);
    side_close(&s);
    return holds;
}

/* ---- Derivatives against differences ---- */

/* K with parameter p moved by h, from lth_kernel_set(). */
static bool moved(inquiry *q, size_t p, double h, double *K) {
    lth_kernel *kernel = q->s.kernel;
    double value = lth_kernel_param(kernel, p)->value;
    bool done = !lth_kernel_set(kernel, p, value + h, NULL) &&
                !lth_gram(kernel, q->s.items, NULL, K, q->s.n, NULL);
    return !lth_kernel_set(kernel, p, value, NULL) && done;
}

static bool central(inquiry *q, size_t p, double h, double *D) {
    size_t pairs = q->s.n * q->s.n;
    double *less = numbers(pairs);
    if (!moved(q, p, h, D) || !moved(q, p, -h, less)) return false;
    for (size_t i = 0; i < pairs; i++) D[i] = (D[i] - less[i]) / (2 * h);
    return true;
}

/* By two steps, whose difference says how far off they are. */
static bool differences_agree(inquiry *q, size_t p) {
    const lth_param *param = lth_kernel_param(q->s.kernel, p);
    size_t n = q->s.n, pairs = n * n;
    double h = 1e-3 * (fabs(param->value) + 1e-3);
    if (param->tag || param->value - h < param->lo || param->value + h > param->hi) return true;
    double *wide = numbers(pairs), *near = numbers(pairs);
    if (!central(q, p, h, wide) || !central(q, p, h / 2, near)) return true;
    for (size_t i = 0; i < pairs; i++) {
        double want = near[i] + (near[i] - wide[i]) / 3, got = q->G[p * pairs + i];
        double rounding = (1e-11 + 10 * q->noise) * size_of(q->a.diagonal, i / n, i % n) / h;
        double most = 2 * fabs(near[i] - wide[i]) + 1e-5 * fabs(want) + rounding;
        if (!(fabs(want - got) <= most + 1e-280))
            return found(q->out, "differences",
                         "dk(%zu,%zu) by %s is %.12g, by differences %.12g +- %.1g", i / n + 1,
                         i % n + 1, param->path, got, want, most);
    }
    return true;
}

static bool all_differences_agree(inquiry *q) {
    for (size_t p = 0; p < q->s.params; p++) {
        if (p >= 6 && p % 7 != 0) continue; /* of long lists, some */
        q->n->checks++;
        if (!differences_agree(q, p)) return false;
    }
    return true;
}

/* ---- Single precision: each kernel of texts by itself, since only that computes in it ---- */

static bool single_agrees(inquiry *q, const char *expression) {
    side s, t = {0};
    lth_error err = {0};
    bool holds = true;
    lth_status status = side_open(&s, q->m->ctx[0], expression, &q->d, &err);
    if (!status) status = side_open(&t, q->m->single, expression, &q->d, &err);
    double *K = numbers(s.n * s.n), *single = numbers(s.n * s.n), *diagonal = numbers(s.n);
    if (!status) status = lth_gram(s.kernel, s.items, NULL, K, s.n, &err);
    if (!status) status = lth_gram_diagonal(s.kernel, s.items, diagonal, &err);
    if (!status && !lth_gram(t.kernel, t.items, NULL, single, t.n, &err))
        holds = values_are_near(K, single, diagonal, s.n, 1e-3, "single precision", q->out);
    if (!holds)
        snprintf(q->out->text + strlen(q->out->text), sizeof q->out->text - strlen(q->out->text),
                 "; of %s", expression);
    side_close(&t);
    side_close(&s);
    return holds;
}

static bool is_string_family(const char *name) {
    for (size_t i = 0; lth_family_at(i); i++)
        if (strcmp(lth_family_at(i)->name, name) == 0)
            return lth_family_at(i)->kind == LTH_FAMILY_STRING;
    return false;
}

static bool all_single_agree(inquiry *q) {
    syntax *nodes[256];
    const char *rest;
    syntax *s = syntax_parse(q->c->expression, &rest);
    if (!s) return found(q->out, "syntax", "this program cannot read %s", q->c->expression);
    for (size_t i = 0, n = syntax_nodes(s, nodes, 256); i < n; i++) {
        if (nodes[i]->kind != CALL || !is_string_family(nodes[i]->text)) continue;
        q->n->checks++;
        if (!single_agrees(q, syntax_print(nodes[i]))) return false;
    }
    return true;
}

/* ---- All of them ---- */

static bool look_into(inquiry *q) {
    bool mild = is_mild(q->c->seed);
    q->lost = all_cancelled(q);
    q->noise = 1e-16 * q->lost;
    if (strstr(q->c->expression, "degree=0")) /* angles near 0 have half the digits of a cosine */
        for (const char *at = q->c->expression; (at = strstr(at, "arccos(")); at++)
            q->noise = sqrt(q->noise);
    q->n->checks += 6;
    if (!answer_is_finite(&q->s, &q->a, q->out) || !gradients_agree(q) || !symmetric(q) ||
        !positive(q) || !printed(q))
        return false;
    for (size_t i = 1; i < q->m->count; i++)
        if (!other_machine(q, i)) return false;
    return !mild || (all_differences_agree(q) && all_single_agree(q));
}

static double *weights(size_t count) {
    double *W = numbers(count);
    for (size_t i = 0; i < count; i++) W[i] = random_unit() * 2 - 1;
    return W;
}

static bool check_kernel(inquiry *q) {
    lth_error err = {0};
    lth_status status = side_open(&q->s, q->m->ctx[0], q->c->expression, &q->d, &err);
    if (!status) {
        q->W = weights(q->s.n * (q->s.n + q->s.m));
        status = answer_find(&q->a, &q->s, q->W, &err);
    }
    q->n->refused += status != LTH_OK;
    bool holds = status ? refusal_is_fine(status, &err, q->out) : look_into(q);
    side_close(&q->s);
    return holds;
}

bool check_case(machines *m, const random_case *c, finding *out, counts *n) {
    lth_table *train = NULL, *others = NULL;
    lth_error err = {0};
    const char *path = random_print("%s/train.csv", m->folder);
    const char *other_path = random_print("%s/others.csv", m->folder);
    if (!grid_write(&c->train, path) || !grid_write(&c->others, other_path))
        return found(out, "files", "tables cannot be written");
    random_seed(c->seed + 1);
    bool holds = !lth_table_read(m->ctx[0], path, NULL, &train, &err) &&
                 !lth_table_read(m->ctx[0], other_path, NULL, &others, &err);
    if (!holds) found(out, "table", "%s:%zu:%zu: %s", err.file, err.line, err.column, err.message);
    if (holds) {
        inquiry q = {.m = m, .c = c, .out = out, .n = n};
        q.d = (data){train, others, random_print("%s/vectors.txt", m->folder)};
        holds = check_kernel(&q);
    }
    lth_table_free(others);
    lth_table_free(train);
    n->cases++;
    return holds && check_models(m, c, out, n);
}
