/* Arguments and parameters of the string kernel, and the prior of its relevances. */
#include <math.h>
#include <string.h>

#include "data/units.h"
#include "kernel/string/ssk.h"
#include "kernel/string/substitution_argument.h"
#include "kernel/string/text_field.h"

enum { MOST_DIMENSIONS = 100000 };

const lth_argument lth__ssk_arguments[] = {
    {.name = "order",
     .help = "longest subsequence",
     .initial = "5",
     .choices = "1..64",
     .role = LTH_ROLE_ORDER},
    {.name = "units",
     .help = "what a text is cut into: words at white space, tokens with punctuation apart, chars "
             "(code points), bytes",
     .initial = "words",
     .choices = "words|tokens|chars|bytes"},
    {.name = "sim",
     .help = "how units match: when equal, by their word vectors, or as letters by a matrix of "
             "scores (then units=chars)",
     .initial = "exact",
     .choices = "exact|dot|cosine|arccos|exp|matrix"},
    {.name = "matrix",
     .help = "with sim=matrix: how far letters are from each other: the same or not, by a matrix "
             "of scores, or a file with one",
     .initial = "blosum62",
     .choices = "identity|blosum45|blosum50|blosum62|blosum80|pam250|FILE"},
    {.name = "lower",
     .help = "lower-case the text first; no for chars and bytes unless given",
     .initial = "yes",
     .choices = "no|yes"},
    {.name = "oov",
     .help = "what a word without a vector matches: itself, nothing, or as the mean of its parts "
             "between hyphens and apostrophes",
     .initial = "exact",
     .choices = "exact|zero|parts"},
    {.name = "gap",
     .help = "factor for each position skipped",
     .initial = "0.5",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1,
     .role = LTH_ROLE_GAP},
    {.name = "match",
     .help = "factor for each position matched, in either string; held at 1 unless given",
     .initial = "1",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1000},
    {.name = "weights",
     .help = "one for each order",
     .initial = "[1,...,1]",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e9,
     .role = LTH_ROLE_WEIGHT},
    {.name = "temperature",
     .help = "with sim=exp: how far words may be apart and still match",
     .initial = "0.6",
     .choices = "",
     .learned = true,
     .lo = 1e-2,
     .hi = 100},
    {.name = "exponent",
     .help =
         "with sim=matrix: letters match by exp(-exponent distance); a large one wants the same",
     .initial = "3",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e4},
    {.name = "rarity",
     .help = "when given: a word of relative frequency p weighs rarity / (rarity + p)",
     .initial = "",
     .choices = "",
     .learned = true,
     .lo = 1e-7,
     .hi = 1e3,
     .role = LTH_ROLE_RARITY},
    {.name = "ard",
     .help =
         "how many numbers a word vector has: each of these dimensions then gets a weight of its "
         "own, its relevance; with sim=exp, cosine or dot",
     .initial = "no",
     .choices = "no|1..100000"},
    {.name = "relevance",
     .help = "with ard: one for each dimension of the word vectors",
     .initial = "[1,...,1]",
     .choices = "",
     .learned = true,
     .lo = 0,
     .hi = 1e6},
    {.name = "shrink",
     .help = "with ard: a prior in learning that keeps every relevance near 1, with this standard "
             "deviation of the logarithm",
     .initial = "0.5",
     .choices = ""},
    LTH__WILD_ARGUMENTS,
    {0},
};

static lth_status configure_field(lth_kernel *kernel, lth__node *node, const lth__ssk_config *c,
                                  lth_error *err) {
    int units, lower;
    bool matrix = c->sim == LTH__SIM_MATRIX, vectors = c->sim != LTH__SIM_EXACT && !matrix;
    LTH_TRY(lth__node_choice(node, "units", matrix ? LTH__CHARS : LTH__WORDS, &units, err));
    if (matrix && units != LTH__CHARS)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0,
                            lth__node_argument(node, "units")->value.column,
                            "sim=matrix goes with units=chars");
    bool lowers = units == LTH__WORDS || units == LTH__TOKENS;
    LTH_TRY(lth__node_choice(node, "lower", lowers, &lower, err));
    lth__field_def field = {.column = node->expr->inputs[0]->name,
                            .type = &lth__field_text,
                            .units = units,
                            .lower = lower,
                            .vectors = vectors,
                            .parts = vectors && c->oov == LTH__OOV_PARTS};
    LTH_TRY(lth__text_read_wild(kernel, node, &field, err));
    return lth__kernel_field(kernel, &field, &node->field, err);
}

/* `name` is out of place without the other argument. */
static lth_status refuse(const lth__node *node, const char *name, const char *other,
                         lth_error *err) {
    const lth__argument *a = lth__node_argument(node, name);
    if (!a) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, a->column, "%s goes with %s", name, other);
}

static lth_status configure_temperature(lth_kernel *kernel, lth__node *node, lth__ssk_config *c,
                                        lth_error *err) {
    if (c->sim != LTH__SIM_EXP) return refuse(node, "temperature", "sim=exp", err);
    c->temperature = node->param_count;
    return lth__node_param(kernel, node, "temperature", 0, 0.6, false, err);
}

static lth_status configure_matrix(lth_kernel *kernel, lth__node *node, lth__ssk_config *c,
                                   lth_error *err) {
    if (c->sim != LTH__SIM_MATRIX) {
        LTH_TRY(refuse(node, "matrix", "sim=matrix", err));
        return refuse(node, "exponent", "sim=matrix", err);
    }
    LTH_TRY(refuse(node, "oov", "word vectors, not with sim=matrix", err));
    LTH_TRY(refuse(node, "rarity", "words, not with sim=matrix", err));
    LTH_TRY(lth__substitution_argument(kernel, node, "blosum62", &c->matrix, err));
    c->temperature = node->param_count;
    return lth__node_param(kernel, node, "exponent", 0, 3, false, err);
}

static lth_status configure_rarity(lth_kernel *kernel, lth__node *node, lth__ssk_config *c,
                                   lth_error *err) {
    if (!lth__node_argument(node, "rarity")) return LTH_OK;
    c->rarity = node->param_count;
    return lth__node_param(kernel, node, "rarity", 0, 1e-3, false, err);
}

/* ard=no, or a number of dimensions: parameters are declared before any vector is read. */
static lth_status read_ard(const lth__node *node, size_t *dimensions, lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "ard");
    long count = 0;
    *dimensions = 0;
    if (!a || (a->value.kind == LTH__VALUE_WORD && strcmp(a->value.word, "no") == 0)) return LTH_OK;
    if (a->value.kind == LTH__VALUE_WORD)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, a->value.column,
                            "ard of ssk is how many numbers a word vector has, as in ard=100");
    LTH_TRY(lth__node_integer(node, "ard", 1, MOST_DIMENSIONS, 0, &count, err));
    *dimensions = (size_t)count;
    return LTH_OK;
}

static lth_status configure_relevance(lth_kernel *kernel, lth__node *node, lth__ssk_config *c,
                                      lth_error *err) {
    LTH_TRY(read_ard(node, &c->dimensions, err));
    if (c->dimensions == 0) {
        LTH_TRY(refuse(node, "relevance", "ard, as in ard=100", err));
        return refuse(node, "shrink", "ard, as in ard=100", err);
    }
    if (c->sim == LTH__SIM_EXACT || c->sim == LTH__SIM_ARCCOS || c->sim == LTH__SIM_MATRIX)
        return refuse(node, "ard", "sim=exp, cosine or dot", err);
    LTH_TRY(lth__node_constant(node, "shrink", 0.5, &c->shrink, err));
    c->relevance = node->param_count;
    return lth__node_param(kernel, node, "relevance", c->dimensions, 1, false, err);
}

lth_status lth__ssk_configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    lth__ssk_config *c = lth__pool_alloc(&kernel->pool, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    long order;
    int sim, oov;
    LTH_TRY(lth__node_integer(node, "order", 1, LTH__MAX_ORDER, 5, &order, err));
    LTH_TRY(lth__node_choice(node, "sim", LTH__SIM_EXACT, &sim, err));
    LTH_TRY(lth__node_choice(node, "oov", LTH__OOV_EXACT, &oov, err));
    *c = (lth__ssk_config){.order = (size_t)order, .sim = (lth__sim)sim, .oov = (lth__oov)oov};
    node->config = c;
    LTH_TRY(configure_field(kernel, node, c, err));
    LTH_TRY(lth__node_param(kernel, node, "gap", 0, 0.5, false, err));
    LTH_TRY(lth__node_param(kernel, node, "match", 0, 1, true, err));
    LTH_TRY(lth__node_param(kernel, node, "weights", c->order, 1, false, err));
    LTH_TRY(configure_temperature(kernel, node, c, err));
    LTH_TRY(configure_matrix(kernel, node, c, err));
    LTH_TRY(configure_rarity(kernel, node, c, err));
    return configure_relevance(kernel, node, c, err);
}

/* The size of all relevances together changes nothing where vectors are made of unit length, and
 * little that the weights of orders could not do elsewhere: this prior settles it, too. */
double lth__ssk_penalty(const lth__node *node, const lth_kernel *kernel, double *gradient) {
    static const double least = 1e-12; /* 0 has no logarithm */
    const lth__ssk_config *c = node->config;
    double sum = 0;
    for (size_t d = 0; d < c->dimensions; d++) {
        size_t p = node->first_param + c->relevance + d;
        double relevance = fmax(kernel->params[p].value, least), z = log(relevance) / c->shrink;
        sum += z * z / 2;
        gradient[p] += z / c->shrink / relevance;
    }
    return sum;
}
