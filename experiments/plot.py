"""Plots by gnuplot, as SVG and PNG. The colours are Okabe and Ito's, which the colour-blind can tell apart."""

import os, shutil, subprocess

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
TERMINALS = {
    "svg": "svg size %d,%d font 'Helvetica,13' background '#ffffff'",
    "png": "pngcairo size %d,%d font 'Helvetica,11' background '#ffffff'",
}
STYLE = """set border 3 lw 1 lc rgb '#555555'
set tics nomirror out scale 0.6 textcolor rgb '#333333'
set grid y lt 1 lw 0.6 lc rgb '#dddddd'
set key Left reverse textcolor rgb '#222222' samplen 2.2 spacing 1.15
set style fill solid 0.35 border
set boxwidth 0.5
"""


# Room for a legend of two lines below the axis, where it hides nothing
BELOW = "set bmargin at screen 0.26\nset key at screen 0.54,0.07 center center maxrows 2 width 2\n"


def log_range(values, by=1.2):
    return "[%g:%g]" % (min(values) / by, max(values) * by)


def data(name, rows):
    return "$%s << EOD\n%s\nEOD\n" % (name, "\n".join(" ".join(map(str, row)) for row in rows))


def draw(folder, name, script, size=(760, 460), say=print):
    """Writes NAME.svg and NAME.png from a gnuplot script; without gnuplot, says so."""
    if not shutil.which("gnuplot"):
        say("no figure %s: gnuplot is not installed (Debian: gnuplot-nox)" % name)
        return
    os.makedirs(folder, exist_ok=True)
    lines = "".join(
        "set linetype %d lc rgb '%s' lw 2 pt %d ps 0.8\n" % (i + 1, c, p)
        for i, (c, p) in enumerate(zip(COLOURS, (7, 5, 9, 13, 11, 4, 6)))
    )
    for kind, terminal in TERMINALS.items():
        path = os.path.join(folder, "%s.%s" % (name, kind))
        full = "set terminal %s\nset output '%s'\n%s%s%s" % (terminal % size, path, STYLE, lines, script)
        subprocess.run(["gnuplot"], input=full, text=True, check=True)
    say("figure %s" % os.path.join(folder, name + ".svg"))


def boxes(name, groups):
    """Data of box plots: for each group its place, least, quartiles, median, greatest."""
    from figures import quantile

    return data(name, [[at, *[quantile(v, q) for q in (0, 0.25, 0.5, 0.75, 1)]] for at, v in groups if v])


def box_plot(name, colour):
    """The part of a plot command for such data: box, whiskers, and a line at the median."""
    c = COLOURS[colour]
    return (
        "$%s using 1:3:2:6:5 with candlesticks lc rgb '%s' lw 1.2 notitle whiskerbars 0.5, "
        "$%s using 1:4:4:4:4 with candlesticks lc rgb '%s' lw 2.6 notitle" % (name, c, name, c)
    )
