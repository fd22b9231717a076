/* Writing a web page that is one file: escaped text, numbers for people, head and style. */
#include "report/html.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "luthier.h"

/* ---- Text ---- */

enum { NOT_UTF8 = 0xFFFD };

/* The character at text[0], and how many bytes it has; NOT_UTF8 with one byte if it is none. */
static uint32_t decode(const char *text, size_t length, size_t *bytes) {
    utf8proc_int32_t c;
    utf8proc_ssize_t count =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &c);
    *bytes = count > 0 ? (size_t)count : 1;
    return count > 0 ? (uint32_t)c : NOT_UTF8;
}

/* Characters that are not seen but change what is: C1 controls, marks of direction, line and
 * paragraph separators, byte order marks, noncharacters. */
static bool is_invisible(uint32_t c) {
    return (c >= 0x80 && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF ||
           (c & 0xFFFE) == 0xFFFE;
}

static void put_character(FILE *out, uint32_t c, const char *text, size_t bytes) {
    switch (c) {
    case '&': fputs("&amp;", out); return;
    case '<': fputs("&lt;", out); return;
    case '>': fputs("&gt;", out); return;
    case '"': fputs("&quot;", out); return;
    case '\'': fputs("&#39;", out); return;
    case NOT_UTF8: fputs("\xEF\xBF\xBD", out); return;
    case '\t':
    case '\n': putc((int)c, out); return;
    case 0x7F: fputs("&#x2421;", out); return;
    default: break;
    }
    if (c < 0x20)
        fprintf(out, "&#x%X;", (unsigned)(0x2400 + c));
    else if (is_invisible(c))
        fprintf(out, "[U+%04X]", (unsigned)c);
    else
        fwrite(text, 1, bytes, out);
}

/* Returns where it stopped. */
static size_t put_text(FILE *out, const char *text, size_t length, size_t most) {
    size_t at = 0, bytes;
    for (size_t i = 0; at < length && i < most; ++i, at += bytes) {
        uint32_t c = decode(text + at, length - at, &bytes);
        put_character(out, c, text + at, bytes);
    }
    return at;
}

void html_text(FILE *out, const char *text, size_t length) {
    put_text(out, text, length, length);
}

void html_string(FILE *out, const char *text) {
    html_text(out, text, strlen(text));
}

void html_short(FILE *out, const char *text, size_t most) {
    size_t length = strlen(text);
    if (put_text(out, text, length, most) < length) fputs("…", out);
}

/* ---- Numbers ---- */

const char *number_text(double value, char out[32]) {
    double size = fabs(value);
    if (isnan(value))
        snprintf(out, 32, "–");
    else if (isinf(value))
        snprintf(out, 32, value > 0 ? "∞" : "-∞");
    else
        snprintf(out, 32, size >= 1e3 && size < 1e6 ? "%.0f" : "%.4g", value);
    return out;
}

void html_number(FILE *out, double value) {
    char text[32];
    char *e = strchr(number_text(value, text), 'e');
    if (!e) {
        fputs(text, out);
        return;
    }
    *e = 0;
    fprintf(out, "%s × 10<sup>%d</sup>", text, atoi(e + 1));
}

void html_percent(FILE *out, double share) {
    if (isnan(share))
        fputs("–", out);
    else
        fprintf(out, fabs(share) < 0.1 || share > 0.9 ? "%.1f%%" : "%.0f%%", 100 * share);
}

void html_open_section(FILE *out, const char *id, const char *title) {
    fprintf(out, "\n<section id=\"%s\" aria-labelledby=\"%s-head\">\n<h2 id=\"%s-head\">%s</h2>\n",
            id, id, id, title);
}

void html_close_section(FILE *out) {
    fputs("</section>\n", out);
}

void html_card(FILE *out, double value, const char *what) {
    fputs("<li><b>", out);
    html_number(out, value);
    fprintf(out, "</b><span>%s</span></li>\n", what);
}

void html_number_cell(FILE *out, double value) {
    fputs("<td class=\"n\">", out);
    html_number(out, value);
    fputs("</td>", out);
}

void html_count_cell(FILE *out, size_t count) {
    fprintf(out, "<td class=\"n\">%zu</td>", count);
}

/* ---- The page ---- */

/* Two colours beside the greys: --a for the model and for "up", --b for the ideal and for "down".
 * All pairs of text and ground have a contrast of at least 4.5 in both schemes. */
static const char style[] =
    ":root{--bg:#fbfbf9;--card:#fff;--fg:#20242a;--mute:#5a636e;--line:#e2e3df;--grid:#ecece8;"
    "--a:#1c5d99;--a-rgb:28,93,153;--b:#a8501a;--b-rgb:214,108,36;--deep:.5}\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#15171b;--card:#1c1f24;--fg:#e4e7eb;"
    "--mute:#a3acb8;--line:#32363d;--grid:#282c32;--a:#7fb5ea;--a-rgb:72,138,206;--b:#f0a46a;"
    "--b-rgb:204,108,44;--deep:.6}}\n"
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--bg);color:var(--fg);font:1rem/1.6 system-ui,-apple-system,"
    "\"Segoe UI\",Roboto,\"Helvetica Neue\",\"Noto Sans\",Arial,sans-serif}\n"
    "main{max-width:60rem;margin:0 auto;padding:3rem 1.25rem 4rem}\n"
    "h1{font-size:2rem;line-height:1.2;margin:0 0 "
    ".5rem;letter-spacing:-.015em;overflow-wrap:anywhere}\n"
    "h2{font-size:1.35rem;line-height:1.3;margin:0 0 .75rem;letter-spacing:-.01em}\n"
    "h3{font-size:1.05rem;margin:2rem 0 .5rem;overflow-wrap:anywhere}\n"
    "p{margin:0 0 1rem;max-width:44rem}\n"
    ".lead,.note{color:var(--mute)}.note{font-size:.9rem}\n"
    "section{margin-top:3.5rem;scroll-margin-top:1rem}\n"
    "code,.text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,\"Liberation "
    "Mono\",monospace;"
    "font-size:.875em;overflow-wrap:anywhere;unicode-bidi:isolate}\n"
    "pre{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.9rem "
    "1rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:0 0 "
    "1rem;font-size:.875rem;max-height:13rem;overflow:auto}\n"
    "pre code{font-size:1em}\n"
    ".cards{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));"
    "margin:1.75rem 0;padding:0;list-style:none}\n"
    ".cards li{background:var(--card);border:1px solid var(--line);border-radius:.6rem;"
    "padding:.8rem 1rem}\n"
    ".cards b{display:block;font-size:1.45rem;font-weight:600;line-height:1.3;"
    "font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\n"
    ".cards span{color:var(--mute);font-size:.85rem;line-height:1.35;display:block}\n"
    "nav ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.35rem 1.25rem}\n"
    "nav{border-block:1px solid var(--line);padding:.75rem 0}\n"
    "a{color:var(--a);text-underline-offset:.2em;text-decoration-thickness:1px}\n"
    "a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--a);"
    "outline-offset:3px;border-radius:2px}\n"
    ".scroll{overflow-x:auto;margin:0 0 1rem}.tall{max-height:34rem;overflow:auto}\n"
    "th code{white-space:nowrap}td.m{min-width:7rem;width:25%}\n"
    "table{border-collapse:collapse;font-size:.9rem;line-height:1.45;min-width:100%}\n"
    "th,td{text-align:left;vertical-align:top;padding:.4rem .9rem .4rem 0;"
    "border-bottom:1px solid var(--line);unicode-bidi:isolate}\n"
    "th:last-child,td:last-child{padding-right:0}\n"
    "thead th{color:var(--mute);font-weight:600;white-space:nowrap}\n"
    "tbody th{font-weight:500}\n"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "td.w{min-width:14rem}\n"
    "caption{text-align:left;color:var(--mute);padding-bottom:.4rem}\n"
    ".plain{min-width:0}.plain th{color:var(--mute);padding-right:1.5rem;white-space:nowrap}\n"
    ".pair{display:grid;gap:1.25rem;grid-template-columns:repeat(auto-fit,"
    "minmax(min(100%,24rem),1fr))}\n"
    ".pair>*{min-width:0}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;"
    "padding:1rem 1rem .25rem;margin:0 0 .5rem}\n"
    "figure{margin:0 0 .5rem;background:var(--card);border:1px solid var(--line);"
    "border-radius:.6rem;padding:1rem 1rem .75rem;break-inside:avoid}\n"
    "figcaption{font-weight:600;margin-bottom:.5rem;line-height:1.35}\n"
    "figcaption span{display:block;font-weight:400;font-size:.875rem;color:var(--mute)}\n"
    "svg{display:block;width:100%;height:auto;max-width:31rem;margin:0 auto}\n"
    "svg text{font-size:13.5px;fill:var(--mute);font-family:inherit}\n"
    "svg .name{fill:var(--fg)}svg .end{text-anchor:end}svg .mid{text-anchor:middle}\n"
    "svg .grid{stroke:var(--grid);fill:none}svg .axis{stroke:var(--mute);fill:none}\n"
    "svg .a{stroke:var(--a);fill:none;stroke-width:2;stroke-linejoin:round}\n"
    "svg .b{stroke:var(--b);fill:none;stroke-width:2;stroke-linejoin:round}\n"
    "svg .c{stroke:var(--mute);fill:none;stroke-width:1.25;stroke-linejoin:round;opacity:.75}\n"
    "svg .dash{stroke-dasharray:5 4}\n"
    "svg .bar{fill:var(--a)}svg .barb{fill:var(--b)}\n"
    "svg .dot{stroke:var(--a);stroke-width:5;stroke-linecap:round;fill:none}\n"
    "svg .dots{stroke:var(--a);stroke-width:4;stroke-linecap:round;fill:none;opacity:.7}\n"
    "svg .dots.b{stroke:var(--b)}svg .dots.c{stroke:var(--mute);stroke-width:3;opacity:.4}\n"
    "svg .span{stroke:var(--a);fill:none;opacity:.22}\n"
    "svg.sites{max-width:none;margin:0}svg.sites text{font-size:11px}\n"
    "svg .ground{fill:var(--grid)}svg .own{fill:var(--fg)}svg .idle{fill:var(--mute);opacity:.4}\n"
    "svg .up{fill:rgb(var(--a-rgb))}svg .down{fill:rgb(var(--b-rgb))}\n"
    "svg.sites .glyph{font:700 14px/1 ui-monospace,SFMono-Regular,Menlo,Consolas,\"Liberation "
    "Mono\",monospace}\n"
    "svg .glyph.up{fill:var(--a)}svg .glyph.down{fill:var(--b)}\n"
    "details{margin-top:.6rem;font-size:.9rem}\n"
    "summary{cursor:pointer;color:var(--mute)}\n"
    "details .scroll{max-height:20rem;overflow:auto;margin-top:.5rem}\n"
    ".key{font-size:.85rem;color:var(--mute);margin:.4rem 0 0}\n"
    ".key i{display:inline-block;width:1.4rem;border-top:3px solid var(--a);vertical-align:.25em;"
    "margin-right:.35rem}.key i.kb{border-color:var(--b);border-top-style:dashed}"
    ".key i.kc{border-color:var(--mute)}.key span{margin-right:1rem}\n"
    ".key i.kd{width:.6rem;height:.6rem;border:0;border-radius:50%;background:var(--a);"
    "vertical-align:0}.key i.kd.kb{background:var(--b)}.key i.kd.kc{background:var(--mute)}\n"
    ".key i.ramp{width:7rem;height:.7rem;border:0;vertical-align:-.05em;margin-left:.35rem;"
    "background:linear-gradient(90deg,rgb(var(--b-rgb)),var(--grid),rgb(var(--a-rgb)))}\n"
    ".meter{background:linear-gradient(var(--mc),var(--mc)) no-repeat 0 100%/var(--m) 3px;"
    "padding-bottom:4px;display:block}.up{--mc:var(--a)}.down{--mc:var(--b)}\n"
    "mark{color:inherit;background:none;border-radius:2px}\n"
    "mark.up{background:rgba(var(--a-rgb),calc(var(--w)*var(--deep)));"
    "box-shadow:inset 0 -2px rgba(var(--a-rgb),var(--w))}\n"
    "mark.down{background:rgba(var(--b-rgb),calc(var(--w)*var(--deep)));"
    "text-decoration:underline dotted 2px;text-decoration-color:rgba(var(--b-rgb),var(--w));"
    "text-underline-offset:.25em}\n"
    ".rows{list-style:none;margin:0;padding:0}\n"
    ".rows li{border-bottom:1px solid var(--line);padding:.9rem 0;break-inside:avoid}\n"
    ".rows .text{font-size:.95rem;line-height:1.8;margin:0;max-width:none;white-space:pre-wrap}\n"
    ".rows p+p{margin:.25rem 0 0;font-size:.875rem;color:var(--mute);max-width:none}\n"
    ".matrix td{text-align:right;font-variant-numeric:tabular-nums;padding:.35rem .7rem;"
    "background:rgba(var(--a-rgb),calc(var(--w,0)*.45))}\n"
    ".matrix td.off{background:rgba(var(--b-rgb),calc(var(--w,0)*.45))}\n"
    ".matrix th{padding-right:.7rem}.matrix{min-width:0}\n"
    "footer{margin-top:4rem;color:var(--mute);font-size:.85rem}\n"
    "@media (max-width:30rem){svg text{font-size:16px}main{padding-top:1.75rem}h1{font-size:1.6rem}"
    "figure{padding:.75rem .6rem .6rem}.cards{grid-template-columns:1fr 1fr}"
    ".cards b{font-size:1.2rem}}\n"
    "@media print{body{background:#fff;font-size:10pt}main{max-width:none;padding:0}"
    "nav,details{display:none}pre,.tall{max-height:none}section{margin-top:2rem}h2,h3{break-after:"
    "avoid}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

void html_open(FILE *out, const char *title) {
    html_open_with(out, title,
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                   "&#39;none&#39;; style-src &#39;unsafe-inline&#39;\">\n");
}

void html_open_with(FILE *out, const char *title, const char *head) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n",
          out);
    fputs(head, out);
    fprintf(out, "<meta name=\"generator\" content=\"luthier %s\">\n<title>", lth_version());
    html_string(out, title);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
}

void html_close(FILE *out) {
    fprintf(
        out,
        "<footer>Written by luthier %s. This file needs no network and no other file.</footer>\n",
        lth_version());
    fputs("</main>\n</body>\n</html>\n", out);
}
