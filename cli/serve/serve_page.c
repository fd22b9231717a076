/* The live page: a box for each column of the kernel. What is typed goes to /explain, and the
 * script (serve_live.js) shows the answer. */
#include <string.h>

#include "report/html.h"
#include "report/mutations.h"
#include "serve/serve.h"
#include "serve_live.h"

static const char head[] =
    "<link rel=\"icon\" href=\"data:,\">\n<style>\n"
    ".ask{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,9rem),1fr));"
    "margin:2rem 0 1.25rem}\n"
    ".ask .wide{grid-column:1/-1}\n"
    ".ask label{display:block;font-weight:600;margin-bottom:.3rem;overflow-wrap:anywhere}\n"
    ".ask label span{font-weight:400;color:var(--mute);font-size:.875rem}\n"
    ".ask textarea,.ask input{width:100%;font:inherit;color:inherit;background:var(--card);"
    "border:1px solid var(--mute);border-radius:.6rem;padding:.7rem .9rem;unicode-bidi:plaintext}\n"
    ".ask textarea{display:block;min-height:5.5rem;resize:vertical}\n"
    ".ask textarea.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;"
    "font-size:.9rem}\n"
    ".ask :focus-visible{outline:2px solid var(--a);outline-offset:1px;border-color:var(--a)}\n"
    "#status{min-height:4.2rem;margin:0;max-width:none}\n"
    "#status b{font-size:2rem;font-weight:600;line-height:1.25;margin-right:.5rem;"
    "font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\n"
    "#status.wrong{color:var(--b)}#status span{display:block;color:var(--mute)}\n"
    "#reasons.old{opacity:.55}#reasons section{margin-top:1.75rem}\n"
    "#reasons .text{background:var(--card);border:1px solid var(--line);border-radius:.6rem;"
    "padding:.9rem 1rem;font-size:1rem;line-height:2;white-space:pre-wrap;max-width:none}\n"
    "#reasons h3{margin-top:1.5rem}.classes td.w{width:70%;min-width:9rem}\n"
    ".note mark{color:var(--fg)}\n"
    "button{font:inherit;color:var(--a);background:var(--card);border:1px solid var(--mute);"
    "border-radius:.6rem;padding:.5rem .9rem;cursor:pointer}button:disabled{opacity:.55}\n"
    "button:focus-visible{outline:2px solid var(--a);outline-offset:2px}\n"
    "@media (max-width:30rem){#reasons td.w{min-width:7rem}#reasons th,#reasons td"
    "{padding-right:.5rem;font-size:.85rem}}\n"
    "@media (prefers-reduced-motion:no-preference){#reasons{transition:opacity .15s}}\n"
    "</style>\n";

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
    fputs("</div>\n<p id=\"status\" role=\"status\" aria-live=\"polite\"></p>\n"
          "<noscript><p>This page needs JavaScript; POST /predict and POST /explain do not."
          "</p></noscript>\n<div id=\"reasons\"></div>\n",
          out);
    if (mutations_are_wanted(m))
        fputs("<section id=\"mutations\"><h2>Single mutations</h2>\n<p><button type=\"button\">"
              "Try every letter at every site</button></p><div></div></section>\n",
              out);
    fprintf(out,
            "<footer>Served by luthier %s. What you type goes to this server alone.</footer>\n",
            lth_version());
    fprintf(out, "</main>\n<script nonce=\"%s\">\n", nonce);
    fwrite(live_script, 1, sizeof live_script, out);
    fputs("</script>\n</body>\n</html>\n", out);
}
