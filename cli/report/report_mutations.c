/* Sections of a report on sequences: what each mutation adds, and how much each site counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "report/html.h"
#include "report/report.h"
#include "report/svg_sites.h"

/* A page of more cells would be slow to open; more work takes minutes of one core. */
enum { MOST_CELLS = 40000, MOST_CLASSES = 6, MOST_NUMBERS = 500, MOST_STACKS = 40 };
static const double most_work = 3e11;

/* ---- What there is to show ---- */

static bool fits_page(const mutations *m) {
    return m->sites > 0 && m->rows - 1 <= MOST_CELLS;
}

/* Of a sequence that nobody named, only if the model can read it and it is not too much work. */
static int scan_unasked(report *r) {
    mutations *m = &r->mutations;
    if (!fits_page(m) || mutations_work(m, r->model) > most_work) {
        r->unscanned = m->sites > 0;
        return EXIT_DONE;
    }
    lth_error err = {0};
    lth_status status = mutations_scan(m, r->session, r->model, false, &r->scan, &err);
    if (status == LTH_ENOMEM || status == LTH_ECANCELED) return session_fail(r->session, &err);
    if (status != LTH_OK) mutation_scan_close(&r->scan);
    return EXIT_DONE;
}

static int scan_asked(report *r, bool latent) {
    mutations *m = &r->mutations;
    lth_error err = {0};
    if (!fits_page(m))
        return usage_error(
            r->session->options->command,
            "a picture has room for 1 to %d mutations, not %zu; luthier mutate lists "
            "any number",
            (int)MOST_CELLS, m->rows - 1);
    if (mutations_scan(m, r->session, r->model, latent, &r->scan, &err) != LTH_OK)
        return session_fail(r->session, &err);
    return EXIT_DONE;
}

int find_mutations(report *r, const char *wild) {
    if (mutations_obstacle(r->model)) return EXIT_DONE;
    const char *own = lth_kernel_wild_type(lth_model_kernel(r->model));
    char *consensus = own || wild ? NULL : mutations_consensus(r->model);
    if (!own && !wild && !consensus) return EXIT_DONE;
    r->which = own || wild ? "the wild type" : "the consensus of the training rows";
    bool made = mutations_open(&r->mutations, r->model, wild ? wild : consensus, NULL);
    free(consensus);
    if (!made) return out_of_memory();
    return wild ? scan_asked(r, false) : scan_unasked(r);
}

bool has_mutations(const report *r) {
    return r->scan.count > 0 || r->unscanned;
}

static svg_sites sites_of(report *r, const char *title, const char *description) {
    return (svg_sites){.out = r->out,
                       .number = r->charts,
                       .title = title,
                       .description = description,
                       .sites = r->mutations.sites,
                       .first = r->mutations.first,
                       .wild = r->mutations.wild};
}

/* ---- The heat map ---- */

typedef struct effect {
    size_t row; /* of the mutations */
    double effect;
} effect;

static int by_size(const void *a, const void *b) {
    const effect *x = a, *y = b;
    if (fabs(x->effect) != fabs(y->effect)) return fabs(x->effect) > fabs(y->effect) ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* All mutations, the largest first; returns how many. */
static size_t sort_effects(const mutations *m, const mutation_values *v, effect *out) {
    size_t count = 0;
    for (size_t row = 1; row < m->rows; ++row)
        if (!mutation_is_own(m, mutation_site(m, row), mutation_letter(m, row)))
            out[count++] = (effect){row, v->value[row - 1] - v->wild};
    qsort(out, count, sizeof *out, by_size);
    return count;
}

static void write_key(report *r, const mutation_values *v, double most) {
    char text[32];
    fprintf(r->out, "<p class=\"key\"><span>−%s<i class=\"ramp\"></i>+%s</span>",
            number_text(most, text), text);
    fputs("<span>● as it is: ", r->out);
    html_number(r->out, v->wild);
    if (v->sd) fputs(" ± ", r->out);
    if (v->sd) html_number(r->out, v->wild_sd);
    fputs("</span></p>\n", r->out);
}

static void write_effects(report *r, const mutation_values *v, const effect *all, size_t count) {
    char name[MUTATION_NAME];
    html_open_numbers(r->out, v->sd ? "mutation|adds#|expected#|sd#" : "mutation|adds#|expected#");
    for (size_t i = 0; i < count && i < MOST_NUMBERS; ++i) {
        html_row_head(r->out, mutation_name(&r->mutations, all[i].row, name));
        html_weight_cell(r->out, all[i].effect);
        html_number_cell(r->out, v->value[all[i].row - 1]);
        if (v->sd) html_number_cell(r->out, v->sd[all[i].row - 1]);
        fputs("</tr>\n", r->out);
    }
    html_close_table(r->out);
    if (count > MOST_NUMBERS)
        fprintf(r->out,
                "<p class=\"note\">The %d largest of %zu; <code>luthier mutate</code> "
                "lists all.</p>\n",
                (int)MOST_NUMBERS, count);
    fputs("</details>\n", r->out);
}

static int write_heat_map(report *r, const mutation_values *v) {
    effect *all = calloc(r->mutations.rows, sizeof *all);
    if (!all) return out_of_memory();
    size_t count = sort_effects(&r->mutations, v, all);
    double most = count > 0 ? fabs(all[0].effect) : 0;
    char caption[160];
    snprintf(caption, sizeof caption, "What each mutation adds to %.100s", v->name);
    open_figure(r, caption, "Letters by sites; blue raises it, orange lowers it");
    svg_sites s = sites_of(r, caption,
                           "A square for each letter at each site, coloured by what is expected of "
                           "the sequence with that letter, less what is expected of the sequence "
                           "itself; a dot where the sequence has that letter.");
    svg_heat_map(&s, &r->mutations, v, most);
    write_key(r, v, most);
    write_effects(r, v, all, count);
    close_figure(r);
    free(all);
    return EXIT_DONE;
}

/* ---- The logo ---- */

typedef struct spread {
    size_t site;
    double size;
} spread;

static int by_spread(const void *a, const void *b) {
    const spread *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

static int by_site(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* The sites in which letters differ most, in the order of the sequence; returns how many. Where no
 * training row differs from the others (`varied`, NULL = not known) there is nothing to say. */
static size_t choose_stacks(const mutations *m, const mutation_values *v, const bool *varied,
                            spread *all, size_t sites[MOST_STACKS]) {
    size_t known = 0;
    for (size_t i = 0; i < m->sites; ++i) {
        const double *value = v->value + i * m->letter_count;
        double least = value[0], most = value[0];
        for (size_t l = 1; l < m->letter_count; ++l) {
            least = fmin(least, value[l]);
            most = fmax(most, value[l]);
        }
        if (!varied || varied[i]) all[known++] = (spread){i, most - least};
    }
    qsort(all, known, sizeof *all, by_spread);
    size_t count = known < MOST_STACKS ? known : MOST_STACKS;
    for (size_t i = 0; i < count; ++i) sites[i] = all[i].site;
    qsort(sites, count, sizeof *sites, by_site);
    return count;
}

static void draw_logo(report *r, const mutation_values *v, const size_t *sites, size_t count) {
    char caption[160];
    snprintf(caption, sizeof caption, "Letters by what they add to %.100s", v->name);
    open_figure(r, caption,
                count < r->mutations.sites
                    ? "Against the mean of all letters there, at the sites in which it matters most"
                    : "Against the mean of all letters there");
    svg_sites s = sites_of(r, caption,
                           "A stack of letters for each site: above the axis those that are "
                           "expected to do better there than a letter on average, below it those "
                           "that do worse, as high as the difference.");
    s.sites = count;
    svg_logo(&s, &r->mutations, v, sites);
    close_figure(r);
}

static int write_logo(report *r, const mutation_values *v) {
    size_t sites[MOST_STACKS];
    spread *all = calloc(r->mutations.sites, sizeof *all);
    if (!all) return out_of_memory();
    bool *varied = mutations_varied(r->model, r->mutations.sites);
    size_t count = choose_stacks(&r->mutations, v, varied, all, sites);
    if (count > 0) draw_logo(r, v, sites, count);
    free(varied);
    free(all);
    return EXIT_DONE;
}

/* ---- The section ---- */

static int write_values(report *r, const mutation_values *v) {
    if (r->scan.count > 1) {
        fputs("<h3>", r->out);
        html_string(r->out, v->name);
        fputs("</h3>\n", r->out);
    }
    int code = write_heat_map(r, v);
    return code ? code : write_logo(r, v);
}

int write_mutations(report *r) {
    const mutations *m = &r->mutations;
    if (r->unscanned) {
        fprintf(r->out,
                "<p>To try all letters at the %zu sites of %s would take long. "
                "<code>luthier mutate</code> does, and <code>--as html</code> draws it.</p>\n",
                m->sites, r->which);
        return EXIT_DONE;
    }
    fprintf(r->out,
            "<p>What the model expects of %s with one letter changed, less what it expects of it "
            "as it is. Each square tells its number and standard deviation when it is pointed "
            "at.</p>\n",
            r->which);
    size_t shown = r->scan.count;
    if (!r->scan.at[0].of_target && shown > MOST_CLASSES) {
        shown = MOST_CLASSES;
        fprintf(r->out, "<p>The first %zu of %zu classes.</p>\n", shown, r->scan.count);
    }
    int code = EXIT_DONE;
    for (size_t i = 0; i < shown && !code; ++i) code = write_values(r, &r->scan.at[i]);
    return code;
}

int write_mutations_page(session *s, lth_model *m, const mutations *of, const char *title,
                         const char *path) {
    char *page = NULL;
    size_t size = 0;
    report r = {.session = s, .model = m, .title = title, .mutations = *of};
    r.which = "the wild type";
    int code = scan_asked(&r, s->options->latent);
    if (!code) r.out = text_stream(&page, &size);
    if (!code && !r.out) code = out_of_memory();
    if (!code) {
        open_report_page(&r);
        fputs("</header>\n", r.out);
        html_open_section(r.out, "mutations", "Single mutations");
        code = write_mutations(&r);
        html_close_section(r.out);
        code = close_report_page(&r, code);
    }
    if (!code) code = write_page_file(path, page, size);
    mutation_scan_close(&r.scan);
    free(page);
    return code;
}

/* ---- Sites ---- */

/* Hyperparameters from `first` on that are of sites, one of each: those of one kernel. */
static size_t count_sites(const lth_kernel *kernel, size_t first) {
    size_t count = 0;
    for (; first + count < lth_kernel_params(kernel); ++count) {
        const lth_param *p = lth_kernel_param(kernel, first + count);
        const char *bracket = strchr(p->path, '[');
        if (p->argument->role != LTH_ROLE_SITE || !bracket) break;
        if (atol(bracket + 1) != (long)count + 1) break;
    }
    return count;
}

bool has_sites(const report *r) {
    const lth_kernel *kernel = lth_model_kernel(r->model);
    for (size_t i = 0; i < lth_kernel_params(kernel); ++i)
        if (count_sites(kernel, i) > 0) return true;
    return false;
}

static int draw_sites(report *r, size_t first, size_t count) {
    const lth_kernel *kernel = lth_model_kernel(r->model);
    double *value = calloc(2 * count, sizeof *value), *share = value ? value + count : NULL;
    if (!value) return out_of_memory();
    for (size_t i = 0; i < count; ++i) {
        value[i] = lth_kernel_param(kernel, first + i)->value;
        share[i] = 1 - exp(-value[i]);
    }
    bool *varied = mutations_obstacle(r->model) ? NULL : mutations_varied(r->model, count);
    char path[160];
    snprintf(path, sizeof path, "%.100s", lth_kernel_param(kernel, first)->path);
    path[strcspn(path, "[")] = 0;
    open_figure(r, path,
                varied ? "Share of the similarity that a difference at the site takes away, 1 - "
                         "exp(-exponent); grey where no training row differs"
                       : "Share of the similarity that a difference at the site takes away, 1 - "
                         "exp(-exponent)");
    svg_sites s = sites_of(r, path,
                           "A bar for each site: the share of the similarity that a "
                           "difference there takes away.");
    s.sites = count;
    if (r->mutations.sites != count) s.wild = NULL;
    if (!s.first) s.first = 1;
    svg_site_bars(&s, share, value, varied);
    close_figure(r);
    free(varied);
    free(value);
    return EXIT_DONE;
}

int write_sites(report *r) {
    const lth_kernel *kernel = lth_model_kernel(r->model);
    fputs("<p>Each site has an exponent: the larger it is, the less alike are sequences that "
          "differ there.</p>\n",
          r->out);
    int code = EXIT_DONE;
    for (size_t i = 0, count; i < lth_kernel_params(kernel) && !code; i += count) {
        count = count_sites(kernel, i);
        if (count > 0)
            code = draw_sites(r, i, count);
        else
            count = 1;
    }
    return code;
}
