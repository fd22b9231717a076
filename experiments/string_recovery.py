"""Known hyperparameters of a string kernel, recovered."""

from figures import learned, median
from plot import box_plot, boxes, draw
from sentences import FILES, GAP, MATCH, NOISE, SIZES, WEIGHTS, Sentences  # noqa: F401
from text import block, picture, table

PAPER = "Beck and Cohn (2017), Figure 2"
NU = [w * MATCH ** (2 * i) for i, w in enumerate(WEIGHTS, 1)]
SECONDS = {50: 0.5, 100: 1, 200: 2, 500: 5, 1000: 13}
PANELS = [
    ("gap", "gap", GAP),
    ("noise", "noise", NOISE),
    ("nu1", "ν_1 = w_1 match^2", NU[0]),
    ("nu2", "ν_2 = w_2 match^4", NU[1]),
    ("nu3", "ν_3 = w_3 match^6", NU[2]),
    ("match", "match", MATCH),
    ("w1", "w_1", WEIGHTS[0]),
    ("w2", "w_2", WEIGHTS[1]),
]


def numbers(answers, sentences, run):
    p = learned(answers[2])
    match, weights = p["ssk.match"], [p["ssk.weights[%d]" % i] for i in (1, 2, 3)]
    found = {"gap": p["ssk.gap"], "noise": p["noise"], "match": match, "evidence": answers[2].json()["log_evidence"]}
    found.update({"w%d" % i: w for i, w in enumerate(weights, 1)})
    found.update({"nu%d" % i: w * match ** (2 * i) for i, w in enumerate(weights, 1)})
    return {**found, "r": sentences.test_r(run, answers[3])}


def measure(lab):
    for sim in ("dot",) if lab.quick else ("dot", "cosine"):
        sentences = Sentences(lab, sim)
        for size in sentences.sizes if sim == "dot" else sentences.sizes[-1:]:
            for run in range(1, sentences.runs + 1):
                kernel, noise = sentences.start(run, size)
                steps = sentences.steps(run, size, kernel, "--mean", "zero", "--unscaled", "--noise", noise, "--restarts", "0")
                lab.row("%s / %d / run %d" % (sim, size, run), steps, lambda a: numbers(a, sentences, run), SECONDS[size])


def column(rows, sim, size, what):
    start = "%s / %s / " % (sim, size)
    return [r["values"][what] for name, r in rows.items() if name.startswith(start) and what in r["values"]]


def sizes(rows, sim):
    return sorted({int(name.split(" / ")[1]) for name in rows if name.startswith(sim + " / ")})


def figures(results, folder, say):
    rows = results["string_recovery"]
    found = sizes(rows, "dot")
    if not found:
        return
    script = "set multiplot layout 2,4 margins 0.055,0.99,0.10,0.93 spacing 0.055,0.16\nunset key\n"
    script += "set xrange [0.4:%g]\nset xtics (%s) font ',10'\nset ytics font ',10'\n" % (
        len(found) + 0.6,
        ", ".join("'%d' %d" % (n, i) for i, n in enumerate(found, 1)),
    )
    for i, (what, title, truth) in enumerate(PANELS):
        least = 1e-12
        groups = [(at, [max(x, least) for x in column(rows, "dot", n, what)]) for at, n in enumerate(found, 1)]
        script += boxes("box%d" % i, groups) + "set title '%s'\n" % title
        if what == "gap":
            script += "unset logscale y\nset format y '%g'\nset yrange [0:1]\n"
        else:
            script += "set logscale y\nset format y '10^{%%T}'\nset yrange [%g:%g]\n" % reach(
                [x for _, g in groups for x in g], truth
            )
        script += "plot %g with lines dt 2 lw 1.2 lc rgb '#000000', %s\n" % (truth, box_plot("box%d" % i, 0 if i < 5 else 1))
    draw(folder, "string_recovery", script + "unset multiplot\n", (980, 500), say)


def reach(found, truth):
    """The part of an axis to show: at most a thousand times below and above the truth."""
    return max(min(found + [truth]) / 1.6, truth / 2000), min(max(found + [truth]) * 1.6, truth * 2000)


def page(results):
    rows = results["string_recovery"]
    lines = []
    for sim in ("dot", "cosine"):
        for size in sizes(rows, sim):
            cells = [
                "%.3g" % median(column(rows, sim, size, what))
                for what in ("gap", "nu1", "nu2", "nu3", "noise", "match", "w1", "w2", "w3")
            ]
            lines.append([sim, size, len(column(rows, sim, size, "gap")), *cells])
    text = """Labels of Penn Treebank sentences are drawn from `ssk(text, order=3)` over GloVe vectors with the paper's values, gap .5, match .2,
weights 1, .5, .25, noise .1; each draw is learned from one random start, 20 draws for each size of the training set (the paper's
text does not give its sizes, only that noise needs 1,000).

%s

**Only nu can be found.** k_i(match) = match^(2i) k_i(1). So match times c and weights w_i times c^(-2i) are the same kernel, and the
evidence is exactly flat along that line: match and weights apart are not determined by any amount of data, only
nu_i = w_i match^(2i) is. The paper's unstable weights follow from that; its stable match cannot come from the data.
""" % block(
        "luthier sample ..., luthier fit ... --mean zero --unscaled --restarts 0, luthier show ... --json"
    )
    if sizes(rows, "dot"):
        text += (
            "\n"
            + picture(
                "string_recovery",
                "box plots of learned values by size of the training set, truth dashed; blue is determined by the data, orange is not",
            )
            + "\n"
        )
    truth = ["", "*truth*", "", "*.5*", "*.04*", "*.0008*", "*.000016*", "*.1*", "*.2*", "*1*", "*.5*", "*.25*"]
    header = ["words match by", "rows", "runs", "gap", "nu_1", "nu_2", "nu_3", "noise", "match", "w_1", "w_2", "w_3"]
    if lines:
        text += "\nMedians:\n\n" + table(header, [truth, *lines]) + "\n"
    return text + """
With inner products the labels vary by thousands of times the noise, which is then anything between .001 and .8; with cosines the
noise is found, and the longer sequences drown in it.
"""
