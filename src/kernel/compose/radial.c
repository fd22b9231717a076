/* Kernels on a feature space: number columns, a feature map, or the space of any other kernel.
 * Their formulas are in forms.h. */
#include "kernel/compose/wrapper.h"

/* ---- Families ---- */

LTH__WRAPPER(linear, lth__linear_at, lth__linear_self, .form = LTH__FORM_LINEAR, .linear = true);
LTH__WRAPPER(arccos0, lth__arccos0_at, lth__arccos0_self, .form = LTH__FORM_ARCCOS0);
LTH__WRAPPER(arccos1, lth__arccos1_at, lth__linear_self, .form = LTH__FORM_ARCCOS1);
LTH__WRAPPER_WITH_AID(rbf, lth__rbf_aid, lth__rbf_at, lth__radial_self, .form = LTH__FORM_RBF);
LTH__WRAPPER_WITH_AID(matern32, lth__matern32_aid, lth__matern32_at, lth__radial_self,
                      .form = LTH__FORM_MATERN32);
LTH__WRAPPER_WITH_AID(matern52, lth__matern52_aid, lth__matern52_at, lth__radial_self,
                      .form = LTH__FORM_MATERN52);
LTH__WRAPPER_WITH_AID(rq, lth__rq_aid, lth__rq_at, lth__radial_self, .form = LTH__FORM_RQ);

#define VARIANCE_ARGUMENT                                                                          \
    {                                                                                              \
        .name = "variance", .help = "factor", .initial = "1", .choices = "", .learned = true,      \
        .lo = 0, .hi = 1e9, .role = LTH_ROLE_VARIANCE                                              \
    }
#define LENGTHSCALE_ARGUMENT                                                                       \
    {                                                                                              \
        .name = "lengthscale",                                                                     \
        .help = "distance over which the kernel falls off; one for each feature with ard=yes",     \
        .initial = "1", .choices = "", .learned = true, .lo = 1e-6, .hi = 1e6,                     \
        .role = LTH_ROLE_LENGTHSCALE                                                               \
    }
#define ARD_ARGUMENT                                                                               \
    {                                                                                              \
        .name = "ard", .help = "a length scale for each of the number columns", .initial = "no",   \
        .choices = "no|yes"                                                                        \
    }
#define ALPHA_ARGUMENT                                                                             \
    {                                                                                              \
        .name = "alpha", .help = "mixture of length scales: small = many, large = rbf",            \
        .initial = "1", .choices = "", .learned = true, .lo = 1e-3, .hi = 1e4                      \
    }
#define DEGREE_ARGUMENT                                                                            \
    { .name = "degree", .help = "0: step, 1: ramp", .initial = "1", .choices = "0..1" }

static const lth_argument linear_arguments[] = {VARIANCE_ARGUMENT, {0}};
static const lth_argument radial_arguments[] = {
    ARD_ARGUMENT, VARIANCE_ARGUMENT, LENGTHSCALE_ARGUMENT, {0}};
static const lth_argument rq_arguments[] = {
    ARD_ARGUMENT, VARIANCE_ARGUMENT, LENGTHSCALE_ARGUMENT, ALPHA_ARGUMENT, {0}};
static const lth_argument arccos_arguments[] = {DEGREE_ARGUMENT, VARIANCE_ARGUMENT, {0}};

#define FAMILY(name_, rule_, help_, arguments_)                                                    \
    static lth_status configure_##name_(lth_kernel *kernel, lth__node *node, lth_error *err) {     \
        return lth__wrapper_configure(kernel, node, &name_, err);                                  \
    }                                                                                              \
    const lth__family lth__family_##name_ = {                                                      \
        .manual = {.name = #name_,                                                                 \
                   .help = help_,                                                                  \
                   .usage = #name_ "(COLUMNS | MAP | KERNEL, ...)",                                \
                   .arguments = arguments_},                                                       \
        .traits = LTH__TAKES_COLUMN | LTH__TAKES_RANGE | LTH__TAKES_KERNEL,                        \
        .rule = rule_,                                                                             \
        .configure = configure_##name_,                                                            \
        LTH__WRAPPER_FUNCTIONS,                                                                    \
    }

FAMILY(linear, LTH__RULE_SCALE, "inner product", linear_arguments);
FAMILY(rbf, LTH__RULE_OWN, "squared exponential of the distance", radial_arguments);
FAMILY(matern32, LTH__RULE_OWN, "Matern kernel, once differentiable", radial_arguments);
FAMILY(matern52, LTH__RULE_OWN, "Matern kernel, twice differentiable", radial_arguments);
FAMILY(rq, LTH__RULE_OWN, "rational quadratic: a mixture of rbf kernels", rq_arguments);

static lth_status configure_arccos(lth_kernel *kernel, lth__node *node, lth_error *err) {
    long degree;
    LTH_TRY(lth__node_integer(node, "degree", 0, 1, 1, &degree, err));
    return lth__wrapper_configure(kernel, node, degree == 0 ? &arccos0 : &arccos1, err);
}

const lth__family lth__family_arccos = {
    .manual = {.name = "arccos",
               .help = "arc-cosine kernel: an infinite layer of step or ramp units",
               .usage = "arccos(COLUMNS | MAP | KERNEL, degree=1)",
               .arguments = arccos_arguments},
    .traits = LTH__TAKES_COLUMN | LTH__TAKES_RANGE | LTH__TAKES_KERNEL,
    .configure = configure_arccos,
    LTH__WRAPPER_FUNCTIONS,
};
