/* The live page: a box for each column of the kernel. What is typed goes to /explain, and the
 * script (serve_live.js) shows the answer. */
#include <string.h>

#include "live_script.h"
#include "report/html.h"
#include "report/mutations.h"
#include "serve/serve.h"

static const char head[] = "<link rel=\"icon\" href=\"data:,\">\n";

static const char *const hints[] = {[LTH_COLUMN_TEXT] = "a text",
                                    [LTH_COLUMN_NUMBERS] = "a number",
                                    [LTH_COLUMN_TREE] = "a tree: (S (NP ...) (VP ...))"};

static void write_box(FILE *out, const serve_column *c, size_t number) {
    const char *example = c->example ? c->example : "";
    bool wide = c->kind != LTH_COLUMN_NUMBERS;
    fprintf(out, "<div%s><label for=\"box%zu\">", wide ? " class=\"wide\"" : "", number);
    html_string(out, c->name);
    fprintf(out, " <span>%s</span></label>", hints[c->kind]);
    if (wide)
        fprintf(out, "<textarea rows=\"3\" spellcheck=\"false\"%s",
                c->kind == LTH_COLUMN_TREE ? " class=\"code\"" : "");
    else
        fputs("<input type=\"number\" step=\"any\"", out);
    fprintf(out, " id=\"box%zu\" autocomplete=\"off\" data-column=\"", number);
    html_string(out, c->name);
    fputs(wide ? "\">\n" : "\" value=\"", out); /* the first line break of a box is no text */
    html_string(out, example);
    fputs(wide ? "</textarea></div>\n" : "\"></div>\n", out);
}

static void write_lead(FILE *out, const lth_model *m) {
    fputs("<p class=\"lead\">Type, and see what the model expects of ", out);
    for (size_t i = 0; i < lth_model_targets(m); ++i) {
        fputs(i ? ", <code>" : "<code>", out);
        html_string(out, lth_model_target(m, i));
        fputs("</code>", out);
    }
    fputs(", and why. What you see first is a row that it has learned from.</p>\n"
          "<nav aria-label=\"Pages\"><ul><li><a href=\"/report\">What this model has learned"
          "</a></li></ul></nav>\n",
          out);
}

void write_live_page(FILE *out, const char *title, const serve_columns *columns, lth_model *m,
                     const char *nonce) {
    html_open_with(out, title, head);
    fputs("<header>\n<h1>", out);
    html_string(out, title);
    fputs("</h1>\n", out);
    write_lead(out, m);
    fputs("</header>\n<div class=\"ask\">\n", out);
    for (size_t i = 0; i < columns->count; ++i) write_box(out, &columns->at[i], i + 1);
    fputs("</div>\n<p id=\"status\" class=\"predicted\" role=\"status\" aria-live=\"polite\"></p>\n"
          "<noscript><p>This page needs JavaScript; POST /predict and POST /explain do not."
          "</p></noscript>\n<div id=\"reasons\"></div>\n",
          out);
    if (mutations_are_wanted(m)) {
        html_open_section(out, "mutations", "Single mutations");
        fputs("<p><button type=\"button\">Try every letter at every site</button></p>"
              "<div></div>\n",
              out);
        html_close_section(out);
    }
    fprintf(out,
            "<footer>Served by luthier %s. What you type goes to this server alone.</footer>\n",
            lth_version());
    fprintf(out, "</main>\n<script nonce=\"%s\">\n", nonce);
    fwrite(live_script, 1, sizeof live_script, out);
    fputs("</script>\n</body>\n</html>\n", out);
}
