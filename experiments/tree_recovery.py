"""Known hyperparameters of tree kernels, recovered."""

import random

from figures import learned, median, quantile
from plot import box_plot, boxes, data, draw
from text import block, picture, table
from trees import FILES, SASSTK, SSTK, Trees  # noqa: F401

PAPER = "Beck, Cohn, Hardmeier and Specia (2015), Figures 2 and 3"
TRUTH = {"decay": 0.001, "alpha": 1.0, "noise": 0.01}
PATHS = {"sstk.decay": "decay", "sstk.decay[S]": "decay_s", "sstk.alpha": "alpha", "sstk.alpha[S]": "alpha_s", "noise": "noise"}
SECONDS = {25: 0.2, 50: 0.3, 100: 0.6, 200: 1.2, 400: 4, 800: 13}


def learn(lab, trees, run, size, model, kernel):
    """One row: draw, learn from a random start and nine more, predict the test trees."""
    chance = random.Random(1000 * size + run)
    starts = [10 ** chance.uniform(-4, -1), chance.uniform(0.1, 1.9)]
    if model == "SASSTK":
        starts = [starts[0], 10 ** chance.uniform(-3, -0.1), starts[1], chance.uniform(0.1, 1.9)]
    table_, file = trees.labelled(run), lab.file("model")
    steps = [
        trees.sample(),
        lab.luthier(
            "fit {} --where {} --target y --kernel {} --mean zero --unscaled --noise {} --restarts {} -q -o {}",
            table_,
            trees.training(size),
            kernel % tuple(starts),
            "%.4g" % 10 ** chance.uniform(-3, -1),
            2 if lab.quick else 9,
            file,
        ),
        lab.luthier("show {} --json", file),
        lab.luthier("predict {} {} --where part=test -q", file, table_),
    ]

    def numbers(a):
        found = {PATHS[path]: value for path, value in learned(a[2]).items() if path in PATHS}
        return {**found, "evidence": a[2].json()["log_evidence"], "rmse": trees.test_rmse(run, a[3])}

    lab.row(
        "%s prior / %s / %d / run %d" % (trees.name, model, size, run),
        steps,
        numbers,
        SECONDS[size] * (2 if model == "SASSTK" else 1),
    )


def measure(lab):
    plain = Trees(lab, SSTK % (0.001, 1), "SSTK")
    aware = Trees(lab, SASSTK % (0.001, 0.5, 0.1, 1), "SASSTK")
    for trees, model, kernel in ((plain, "SSTK", SSTK), (aware, "SASSTK", SASSTK), (aware, "SSTK", SSTK)):
        for size in trees.sizes:
            for run in range(1, trees.runs + 1):
                learn(lab, trees, run, size, model, kernel)


def column(rows, prior, model, size, what):
    start = "%s prior / %s / %s / " % (prior, model, size)
    return [r["values"][what] for name, r in rows.items() if name.startswith(start) and what in r["values"]]


def sizes(rows, prior, model):
    return sorted({int(n.split(" / ")[2]) for n in rows if n.startswith("%s prior / %s / " % (prior, model))})


def figures(results, folder, say):
    rows = results["tree_recovery"]
    found = sizes(rows, "SSTK", "SSTK")
    if found:
        script = "set multiplot layout 1,4 margins 0.055,0.99,0.16,0.90 spacing 0.055\nunset key\n"
        script += "set xlabel 'training trees'\nset xrange [0.4:%g]\nset xtics (%s) font ',10'\nset ytics font ',10'\n" % (
            len(found) + 0.6,
            ", ".join("'%d' %d" % (n, i) for i, n in enumerate(found, 1)),
        )
        for i, what in enumerate([*TRUTH, "rmse"]):
            groups = [(at, [max(x, 1e-9) for x in column(rows, "SSTK", "SSTK", n, what)]) for at, n in enumerate(found, 1)]
            truth = "%g with lines dt 2 lw 1.2 lc rgb '#000000', " % TRUTH[what] if what in TRUTH else ""
            straight = "unset logscale y\nset format y '%g'\n"
            scales = {"alpha": straight + "set yrange [0:2.05]\n", "rmse": straight + "set yrange [0:*]\n"}
            log = "set logscale y\nset format y '10^{%%T}'\nset yrange [%g:%g]\n" % (
                TRUTH.get(what, 1) / 300,
                TRUTH.get(what, 1) * 300,
            )
            script += boxes("box%d" % i, groups) + "set title '%s'\n" % ("test RMSE" if what == "rmse" else what)
            script += scales.get(what, log)
            script += "plot %s%s\n" % (truth, box_plot("box%d" % i, 0))
        draw(folder, "tree_recovery", script + "unset multiplot\n", (980, 330), say)
    models = [m for m in ("SASSTK", "SSTK") if sizes(rows, "SASSTK", m)]
    if models:
        script = ""
        for i, m in enumerate(models):
            points = [(n, column(rows, "SASSTK", m, n, "rmse")) for n in sizes(rows, "SASSTK", m)]
            script += data(m, [[n * (0.98 + 0.04 * i), median(v), quantile(v, 0.25), quantile(v, 0.75)] for n, v in points])
        script += "set logscale x\nset xlabel 'training trees'\nset ylabel 'test RMSE'\nset key top right\n"
        script += (
            "set xtics (%s)\nset xrange [*:*] noextend\nset offsets graph 0.03, graph 0.03, graph 0.1, graph 0.05\n"
            % ", ".join(map(str, sizes(rows, "SASSTK", models[0])))
        )
        script += (
            "plot " + ", ".join("$%s with yerrorlines lt %d title '%s'" % (m, i + 1, m) for i, m in enumerate(models)) + "\n"
        )
        draw(folder, "tree_recovery_symbols", script, (640, 420), say)


def page(results):
    rows = results["tree_recovery"]
    text = """Labels of 1,000 Penn Treebank trees are drawn from `sstk` with decay .001, alpha 1 and noise .01. Each draw is learned from a random
start and nine more, 20 draws for each size of the training set; RMSE on 200 other trees. (The paper's text does not list its
sizes.)

%s
""" % block(
        "luthier sample ..., luthier fit ... --mean zero --unscaled --restarts 9, luthier predict ..."
    )
    found = sizes(rows, "SSTK", "SSTK")
    if found:
        text += (
            "\n"
            + picture("tree_recovery", "box plots of decay, alpha, noise and RMSE by size of the training set, truth dashed")
            + "\n\nMedians:\n\n"
        )
        text += (
            table(
                ["trees", "runs", "decay (.001)", "alpha (1)", "noise (.01)", "test RMSE"],
                [
                    [
                        n,
                        len(column(rows, "SSTK", "SSTK", n, "rmse")),
                        *["%.3g" % median(column(rows, "SSTK", "SSTK", n, w)) for w in (*TRUTH, "rmse")],
                    ]
                    for n in found
                ],
            )
            + "\n"
        )
    text += """
With a prior that knows the symbol S (decay .001 and .5 for S, alpha .1 and 1 for S, noise .01), a kernel that can tell S apart (SASSTK)
against one that cannot:
"""
    found = sizes(rows, "SASSTK", "SASSTK")
    if not found:
        return text + "\nNot measured yet.\n"
    text += (
        "\n"
        + picture("tree_recovery_symbols", "test RMSE against the size of the training set")
        + "\n\nMedians over the draws:\n\n"
    )
    lines = []
    for n in found:
        both = [column(rows, "SASSTK", m, n, "rmse") for m in ("SASSTK", "SSTK")]
        lines.append(
            [
                n,
                len(both[0]),
                *["%.4g" % median(v) if v else "" for v in both],
                *[
                    "%.3g" % median(column(rows, "SASSTK", "SASSTK", n, w))
                    for w in ("decay", "decay_s", "alpha", "alpha_s", "noise")
                ],
            ]
        )
    header = [
        "trees",
        "runs",
        "RMSE, SASSTK",
        "RMSE, SSTK",
        "decay (.001)",
        "of S (.5)",
        "alpha (.1)",
        "of S (1)",
        "noise (.01)",
    ]
    return text + table(header, lines) + "\n"
