/* Pictures along a sequence: a heat map of its mutations, a logo, bars. Sites come in rows of 60.
 */
#ifndef CLI_SVG_SITES_H
#define CLI_SVG_SITES_H

#include "report/mutations.h"

typedef struct svg_sites {
    FILE *out;
    size_t number; /* of the chart in its page */
    const char *title, *description;
    size_t sites;
    long first;       /* the number of the first */
    const char *wild; /* letters, or NULL        */
} svg_sites;

/* Letters by sites; the colour is what a mutation adds, `most` is its full depth. */
void svg_heat_map(const svg_sites *s, const mutations *m, const mutation_values *v, double most);

/* A stack of letters for each of some sites: above the axis those that are better there than a
 * letter on average, below it those that are worse. */
void svg_logo(const svg_sites *s, const mutations *m, const mutation_values *v,
              const size_t *sites);

/* A stack of letters for each of some sites: the shares of `count` texts that have each of them. */
void svg_letters(const svg_sites *s, const char *const *texts, size_t count, const size_t *sites);

/* A bar for each site, up to 1; `names` of values in tooltips. Sites that are not `varied` (NULL =
 * all are) are grey. */
void svg_site_bars(const svg_sites *s, const double *share, const double *value,
                   const bool *varied);

#endif
