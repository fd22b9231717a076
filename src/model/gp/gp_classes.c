#include "model/gp/gp_classes.h"

#include <string.h>

void lth__classes_free(lth__classes *c) {
    if (!c) return;
    for (size_t i = 0; c->name && i < c->class_count; i++) lth__free(c->name[i]);
    lth__free(c->name);
    lth__free(c->list);
    lth__free(c->y);
    lth__free(c);
}

static bool is_shared(const lth__classes *c) {
    return c->class_count == 2 && !c->multi && !c->coupled;
}

size_t lth__classes_latents(const lth__classes *c) {
    return is_shared(c) ? 1 : c->class_count;
}

size_t lth__classes_latent_of(const lth__classes *c, size_t class, double *sign) {
    *sign = is_shared(c) && class == 0 ? -1 : 1;
    return is_shared(c) ? 0 : class;
}

static size_t count_rows(const lth__labels *labels, size_t label, const size_t *row, size_t count) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += lth__labels_has(labels, row ? row[i] : i, label);
    return sum;
}

static bool copy_names(const lth__labels *labels, const size_t *row, lth__classes *c) {
    c->name = lth__calloc(labels->class_count + 1, sizeof *c->name);
    c->list = lth__calloc(labels->class_count + 1, sizeof *c->list);
    if (!c->name || !c->list) return false;
    for (size_t k = 0; k < labels->class_count; k++) {
        size_t count = count_rows(labels, k, row, c->rows);
        if (count == 0) continue;
        char *name = lth__strndup(labels->name[k], strlen(labels->name[k]));
        if (!name) return false;
        c->list[c->class_count] = (lth_class_rows){.name = name, .rows = count};
        c->name[c->class_count++] = name;
    }
    return true;
}

static bool copy_labels(const lth__labels *labels, const size_t *row, lth__classes *c) {
    size_t latents = lth__classes_latents(c);
    c->y = lth__alloc(latents * c->rows, sizeof *c->y);
    if (!c->y) return false;
    for (size_t p = 0; p < latents; p++) {
        const char *name = c->name[is_shared(c) ? 1 : p];
        size_t label = lth__labels_find(labels, name, strlen(name));
        for (size_t i = 0; i < c->rows; i++)
            c->y[p * c->rows + i] = lth__labels_has(labels, row ? row[i] : i, label) ? 1 : -1;
    }
    return true;
}

lth_status lth__classes_create(const lth__labels *labels, const size_t *row, size_t count,
                               lth__classes **out, lth_error *err) {
    lth__classes *c = lth__calloc(1, sizeof *c);
    if (!c) return lth__fail_memory(err, sizeof *c);
    c->multi = labels->multi;
    c->rows = count;
    if (!copy_names(labels, row, c) || !copy_labels(labels, row, c)) {
        lth__classes_free(c);
        return lth__fail_memory(err, count * sizeof *c->y);
    }
    *out = c;
    return LTH_OK;
}

lth_status lth__classes_couple(lth__classes *c, lth_error *err) {
    if (c->multi)
        return lth__fail(err, LTH_EARG,
                         "softmax is for one label a row, and here are rows with several: take "
                         "logit");
    if (is_shared(c)) {
        double *y = lth__alloc(2 * c->rows, sizeof *y);
        if (!y) return lth__fail_memory(err, 2 * c->rows * sizeof *y);
        for (size_t i = 0; i < c->rows; i++) {
            y[i] = -c->y[i];
            y[c->rows + i] = c->y[i];
        }
        lth__free(c->y);
        c->y = y;
    }
    c->coupled = true;
    return LTH_OK;
}

bool lth__classes_count(lth__classes *c, const double *y, size_t rows) {
    c->rows = rows;
    for (size_t i = 0; i < rows; i++) {
        size_t classes = 0;
        for (size_t p = 0; p < lth__classes_latents(c); p++) {
            double of_row = y[p * rows + i];
            if (of_row != 1 && of_row != -1) return false;
            if (is_shared(c))
                c->list[of_row > 0].rows++, classes++;
            else if (of_row > 0)
                c->list[p].rows++, classes++;
        }
        if (!c->multi && classes != 1) return false;
    }
    return true;
}

bool lth__classes_all_alike(const lth__classes *c) {
    for (size_t i = 0; i < c->class_count; i++) {
        if (c->list[i].rows < c->rows) return false;
    }
    return true;
}

void lth__classes_share(const lth__classes *c, double *p) {
    if (c->multi) return;
    if (is_shared(c)) {
        p[1] = p[0];
        p[0] = 1 - p[1];
        return;
    }
    double sum = 0;
    for (size_t i = 0; i < c->class_count; i++) sum += p[i];
    for (size_t i = 0; i < c->class_count; i++)
        p[i] = sum > 0 ? p[i] / sum : 1 / (double)c->class_count;
}

void lth__classes_decide(const lth__classes *c, const double *probability, bool *has) {
    size_t best = 0;
    for (size_t i = 0; i < c->class_count; i++) {
        has[i] = c->multi && probability[i] > 0.5;
        if (probability[i] > probability[best]) best = i;
    }
    if (!c->multi) has[best] = true;
}

/* ---- Looking at it ---- */

size_t lth_gp_classes(const lth_gp *gp) {
    return gp->classes ? gp->classes->class_count : 0;
}

const lth_class_rows *lth_gp_class(const lth_gp *gp, size_t i) {
    return i < lth_gp_classes(gp) ? &gp->classes->list[i] : NULL;
}

bool lth_gp_is_multi_label(const lth_gp *gp) {
    return gp->classes && gp->classes->multi;
}

lth_likelihood lth_gp_likelihood(const lth_gp *gp) {
    return lth__likelihood_number(gp->likelihood);
}
