"""Learning against searching a grid."""

from plot import BELOW, data, draw, log_range
from text import block, picture, table
from trees import FILES, SSTK, Trees  # noqa: F401

PAPER = "Beck, Cohn, Hardmeier and Specia (2015), Figure 4 and appendix A"
STEPS, GRIDS = (1, 2, 5, 10, 20, 50), (2, 3, 4, 5)


def line(low, high, count):
    return [low + (high - low) * i / (count - 1) for i in range(count)]


def joined(values):
    return ",".join("%.4g" % v for v in values)


def grid(size):
    """The intervals of appendix A: C and epsilon on a logarithmic, decay and alpha on a linear scale."""
    logs = joined(10**x for x in line(-2, 1, size))
    return [
        "--C",
        logs,
        "--epsilon",
        logs,
        "--set",
        "sstk.decay=" + joined(line(1e-8, 1, size)),
        "--set",
        "sstk.alpha=" + joined(line(1e-4, 2, size)),
    ]


def measure(lab):
    trees = Trees(lab, SSTK % (0.001, 1), "SSTK")
    size = 50 if lab.quick else 200
    model = lab.file("model")
    for run in range(1, trees.runs + 1):
        table_ = trees.labelled(run)
        common = ["fit", table_, "--where", trees.training(size), "--target", "y", "--threads", "1", "-q", "-o", model]
        ways = [
            ("GP / %d" % n, ["--kernel", "sstk(tree)", "--mean", "zero", "--max-iter", n, "--restarts", "0"])
            for n in (STEPS[:2] if lab.quick else STEPS)
        ]
        ways += [
            (
                "SVM / %d" % n,
                ["--model", "svm", "--task", "regression", "--kernel", "sstk(tree)", "--inner-folds", "3", *grid(n)],
            )
            for n in (GRIDS[:1] if lab.quick else GRIDS)
        ]
        for name, more in ways:
            steps = [
                trees.sample(),
                lab.luthier("{} {}", common, more),
                lab.luthier("predict {} {} --where part=test -q", model, table_),
            ]
            lab.row(
                "%s / run %d" % (name, run), steps, lambda a: {"seconds": a[1].seconds, "rmse": trees.test_rmse(run, a[2])}, 0.2
            )


def points(rows, model):
    """For each setting: its size, mean seconds, mean and standard deviation of RMSE, count."""
    found = {}
    for name, record in rows.items():
        kind, setting, _ = name.split(" / ")
        if kind == model:
            found.setdefault(int(setting), []).append(record["values"])
    result = []
    for setting, many in sorted(found.items()):
        errors = [v["rmse"] for v in many]
        mean = sum(errors) / len(errors)
        sd = (sum((e - mean) ** 2 for e in errors) / max(len(errors) - 1, 1)) ** 0.5
        result.append((setting, sum(v["seconds"] for v in many) / len(many), mean, sd, len(many)))
    return result


def figures(results, folder, say):
    rows = results["tree_time"]
    if not rows:
        return
    titles = {"GP": "Gaussian process, more and more steps", "SVM": "support vector machine, finer and finer grids"}
    script = "".join(data(m, [p[1:4] for p in points(rows, m)]) for m in titles)
    script += "set logscale x\nset xlabel 'seconds to learn, one core'\nset ylabel 'test RMSE'\n" + BELOW
    script += "set xrange %s\nset xtics (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)\n" % log_range(
        [p[1] for m in titles for p in points(rows, m)]
    )
    script += (
        "plot "
        + ", ".join(
            "$%s using 1:2:3 with yerrorlines lt %d title '%s'" % (m, i + 1, t) for i, (m, t) in enumerate(titles.items())
        )
        + "\n"
    )
    draw(folder, "tree_time", script, (680, 460), say)


def page(results):
    rows = results["tree_time"]
    text = """Labels drawn as in `tree_recovery`, 200 training and 200 test trees, one core, 20 draws: error against the wall-clock time of `luthier fit`. The
Gaussian process has 1, 2, 5 ... steps of the optimiser from the informed start; the support vector machine a grid of 2, 3, 4, 5 values for each of
C, epsilon, decay and alpha, by three inner folds, in the intervals of the paper's appendix A.

%s
""" % block(
        "luthier fit ... --kernel 'sstk(tree)' --mean zero --max-iter N --restarts 0 --threads 1",
        "luthier fit ... --model svm --task regression --kernel 'sstk(tree)' --threads 1 \\",
        "    --C .. --epsilon .. --set sstk.decay=.. --set sstk.alpha=..",
    )
    if not rows:
        return text + "\nNot measured yet.\n"
    text += "\n" + picture("tree_time", "test RMSE against seconds, on a logarithmic scale") + "\n\n"
    lines = [
        ["GP, %d steps" % s if m == "GP" else "SVM, %d points" % s**4, "%.3g" % t, "%.4g +- %.2g" % (e, sd), n]
        for m in ("GP", "SVM")
        for s, t, e, sd, n in points(rows, m)
    ]
    best = [min(points(rows, m), key=lambda p: p[2]) for m in ("GP", "SVM")]
    return text + table(["model", "seconds", "test RMSE", "runs"], lines) + """

In the paper grid search needs about ten times the time of the Gaussian process for the same error. Here the Gaussian process is at its best
(%.4g) after %.2g s, the grid (%.4g) after %.2g s. Starting luthier and reading the trees is part of
both times; in the grid, one Gram matrix serves all values of C and epsilon.
""" % (best[0][2], best[0][1], best[1][2], best[1][1])
