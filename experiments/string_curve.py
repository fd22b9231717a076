"""What a string kernel predicts that others cannot."""

from plot import BELOW, data, draw
from sentences import FILES, Sentences  # noqa: F401
from string_recovery import column, sizes
from text import picture, table

PAPER = "Beck and Cohn (2017), Figure 3"
MODELS = {
    "optimised": "string kernel, optimised",
    "random": "string kernel, random values",
    "rbf": "squared exponential on averaged vectors",
    "linear": "linear on averaged vectors",
}


def measure(lab):
    sentences = Sentences(lab)
    for size in sentences.sizes:
        for run in range(1, sentences.runs + 1):
            kernel, noise = sentences.start(run, size)
            fixed = ["--mean", "zero", "--unscaled", "--noise", noise, "--no-learn"]
            for model, expression, more in (
                ("random", kernel, fixed),
                ("linear", "linear(mean(text))", ["--restarts", "0"]),
                ("rbf", "rbf(mean(text))", ["--restarts", "0"]),
            ):
                lab.row(
                    "%s / %d / run %d" % (model, size, run),
                    sentences.steps(run, size, expression, *more),
                    lambda a: {"r": sentences.test_r(run, a[3])},
                    0.2 + size / 500,
                )


def means(results, model):
    """For each size: mean, standard deviation and count of r."""
    rows, name = (results["string_recovery"], "dot") if model == "optimised" else (results["string_curve"], model)
    found = []
    for size in sizes(rows, name):
        r = column(rows, name, size, "r")
        if r:
            mean = sum(r) / len(r)
            found.append((size, mean, (sum((x - mean) ** 2 for x in r) / max(len(r) - 1, 1)) ** 0.5, len(r)))
    return found


def figures(results, folder, say):
    found = {model: means(results, model) for model in MODELS}
    found = {model: points for model, points in found.items() if points}
    if not found:
        return
    script = "".join(
        data(model, [[n * (0.985 + 0.01 * i), m, s] for n, m, s, _ in points])
        for i, (model, points) in enumerate(found.items())
    )
    script += "set logscale x\nset xlabel 'training sentences'\nset ylabel \"Pearson's r on the test sentences\"\n" + BELOW
    script += "set xtics (%s)\n" % ", ".join(str(n) for n, *_ in max(found.values(), key=len))
    first, last = min(p[0][0] for p in found.values()), max(p[-1][0] for p in found.values())
    script += "set xrange [%g:%g]\nset yrange [*:1]\n" % (first * 0.85, last * 1.18)
    script += (
        "plot " + ", ".join("$%s with yerrorlines lt %d title '%s'" % (m, i + 1, MODELS[m]) for i, m in enumerate(found)) + "\n"
    )
    draw(folder, "string_curve", script, (760, 480), say)


def page(results):
    found = {model: {n: (m, s, c) for n, m, s, c in means(results, model)} for model in MODELS}
    all_sizes = sorted({n for points in found.values() for n in points})
    text = """The labels of `string_recovery`; Pearson's r on 200 test sentences, mean and standard deviation over the draws. Baselines are
`linear(mean(text))` and `rbf(mean(text))`, learned from one informed start; the random string kernel is the start from which the
optimised one was learned. The paper has a plot and no figures.
"""
    if not all_sizes:
        return text + "\nNot measured yet.\n"
    text += "\n" + picture("string_curve", "r against the size of the training set") + "\n\n"
    rows = [
        [MODELS[m], *["%.3f +- %.3f" % points[n][:2] if n in points else "" for n in all_sizes]] for m, points in found.items()
    ]
    return text + table(["model", *all_sizes], rows) + "\n"
