/* How good predicted labels are. With the counts of each class
 *
 *     precision = hits / predicted     recall = hits / support     F1 = 2 hits / (predicted +
 * support)
 *
 * where 0 / 0 is 0. Micro figures are those of the summed counts, macro figures means over classes.
 */
#include <math.h>

#include "base/memory.h"
#include "model/common/metrics.h"

typedef struct counts {
    size_t hits, predicted, support;
} counts;

static double share(size_t part, size_t whole) {
    return whole == 0 ? 0 : (double)part / (double)whole;
}

static lth_class_metrics figures_of(const counts *n) {
    return (lth_class_metrics){.support = n->support,
                               .precision = share(n->hits, n->predicted),
                               .recall = share(n->hits, n->support),
                               .f1 = share(2 * n->hits, n->predicted + n->support)};
}

static counts count_class(const bool *truth, const bool *predicted, size_t count, size_t classes,
                          size_t class) {
    counts n = {0};
    for (size_t i = class; i < count * classes; i += classes) {
        n.hits += truth[i] && predicted[i];
        n.predicted += predicted[i];
        n.support += truth[i];
    }
    return n;
}

static size_t count_accurate(const bool *truth, const bool *predicted, size_t count,
                             size_t classes) {
    size_t accurate = 0;
    for (size_t i = 0; i < count; i++) {
        bool same = true;
        for (size_t c = 0; c < classes; c++)
            same &= truth[i * classes + c] == predicted[i * classes + c];
        accurate += same;
    }
    return accurate;
}

lth_class_metrics lth__class_metrics_of(const bool *truth, const bool *predicted, size_t count,
                                        size_t classes, size_t class) {
    counts n = count_class(truth, predicted, count, classes, class);
    return figures_of(&n);
}

void lth_class_metrics_of(const bool *truth, const bool *predicted, size_t count, size_t classes,
                          size_t class_number, lth_class_metrics *out, size_t size) {
    lth_class_metrics m = lth__class_metrics_of(truth, predicted, count, classes, class_number);
    lth__copy_struct(out, size, &m, sizeof m);
}

lth_label_metrics lth__label_metrics_of(const bool *truth, const bool *predicted, size_t count,
                                        size_t classes) {
    lth_label_metrics m = {.count = count,
                           .auc = NAN,
                           .log_loss = NAN,
                           .brier = NAN,
                           .auprc = NAN,
                           .calibration = NAN,
                           .qwk = NAN};
    counts all = {0};
    size_t occurring = 0;
    for (size_t c = 0; c < classes; c++) {
        counts n = count_class(truth, predicted, count, classes, c);
        lth_class_metrics own = figures_of(&n);
        if (n.predicted + n.support == 0) continue;
        occurring++;
        m.macro_precision += own.precision;
        m.macro_recall += own.recall;
        m.macro_f1 += own.f1;
        all = (counts){all.hits + n.hits, all.predicted + n.predicted, all.support + n.support};
    }
    double share_of_class = occurring == 0 ? 0 : 1 / (double)occurring;
    m.macro_precision *= share_of_class;
    m.macro_recall *= share_of_class;
    m.macro_f1 *= share_of_class;
    lth_class_metrics micro = figures_of(&all);
    m.micro_precision = micro.precision;
    m.micro_recall = micro.recall;
    m.micro_f1 = micro.f1;
    m.accuracy = share(count_accurate(truth, predicted, count, classes), count);
    return m;
}

void lth_label_metrics_of(const bool *truth, const bool *predicted, size_t count, size_t classes,
                          lth_label_metrics *out, size_t size) {
    lth_label_metrics m = lth__label_metrics_of(truth, predicted, count, classes);
    lth__copy_struct(out, size, &m, sizeof m);
}
