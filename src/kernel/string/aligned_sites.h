/* What the files of `sites` share: its arguments (aligned_sites.c), letters of rows side by side
 * (aligned_letters.c), and pairs of them (aligned_pairs.c).
 *
 * Each site has a letter that is common, and each row a list of the sites at which it has another.
 * Two rows differ at most at the sites of their two lists, so that variants of one sequence cost
 * little; where lists are long, all sites are gone through. Both add up what differs in the order
 * of the sites and find the same bits. So it does not matter to a value which letters are common:
 * those of the columns are, whatever the rows.
 */
#ifndef LTH_ALIGNED_SITES_H
#define LTH_ALIGNED_SITES_H

#include "kernel/core/kernel.h"
#include "kernel/string/substitution.h"

typedef enum lth__sites_form {
    LTH__SITES_PRODUCT,
    LTH__SITES_SUM,
    LTH__SITES_BOTH
} lth__sites_form;

typedef struct lth__sites_config {
    lth__sites_form form;
    bool left;                 /* shorter rows end with gaps               */
    bool ard;                  /* an exponent for each site, not one       */
    size_t sites;              /* 0 = not known yet                        */
    double shrink;             /* of exponents towards each other          */
    lth__substitution *matrix; /* NULL = identity                          */
} lth__sites_config;

/* Parameters: the variances there are, then the exponents. */
static inline bool lth__sites_has_product(const lth__sites_config *c) {
    return c->form != LTH__SITES_SUM;
}

static inline bool lth__sites_has_sum(const lth__sites_config *c) {
    return c->form != LTH__SITES_PRODUCT;
}

static inline size_t lth__sites_variances(const lth__sites_config *c) {
    return (size_t)lth__sites_has_product(c) + lth__sites_has_sum(c);
}

static inline size_t lth__sites_exponent(const lth__sites_config *c, size_t site) {
    return lth__sites_variances(c) + (c->ard ? site : 0);
}

static inline double lth__sites_distance(const lth__sites_config *c, uint32_t a, uint32_t b) {
    return c->matrix ? c->matrix->distance[(size_t)a * LTH__MOST_LETTERS + b] : a != b;
}

/* ---- Letters ---- */

/* Ends the list of each row. */
#define LTH__NO_SITE UINT32_MAX

typedef struct lth__aligned {
    size_t items;
    uint32_t *letter;   /* [item][site]                                                    */
    uint32_t *common;   /* of each site; NULL = what the columns have                      */
    bool *differs;      /* of each site: some item has another letter there                */
    size_t differences; /* of all items                                                    */
    size_t *start;      /* of each item's list; NULL = there are none, they would be long  */
    uint32_t *odd;      /* these lists: sites where it has another letter, in their order  */
} lth__aligned;

/* Two letters at a site. */
typedef struct lth__apart {
    double D, d; /* how far they are from each other, and that times the exponent */
    double lost; /* 1 - exp(-d), where there is a sum                             */
} lth__apart;

typedef struct lth__sites_state {
    lth__aligned rows, cols;
    bool borrowed;             /* the columns' arrays belong to others                  */
    bool by_lists;             /* these are short: pairs go by them                     */
    size_t count;              /* of the sites in which some differ                     */
    uint32_t *site;            /* which they are                                        */
    double *exponent;          /* of every site                                         */
    double variance, additive; /* the second over all sites; 0 = that form is not there */
    size_t letters;            /* of the matrix; 1 = identity                           */
    lth__apart *off;           /* [site][letter]: that letter and the common one; by identity one
                                  of any two. NULL = pairs do not go by lists           */
} lth__sites_state;

lth_status lth__sites_prepare(const lth__node *node, lth__eval *eval, void **out, lth_error *err);
void lth__sites_release(void *state);

/* ---- Pairs ---- */

lth_status lth__sites_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                           double *K, lth_error *err);
lth_status lth__sites_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                           const double *W, double *K, const lth__sink *sink, lth_error *err);

#endif
