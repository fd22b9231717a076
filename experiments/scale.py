"""Tables of many rows, and what a fit of them is judged by: what scale_study and scale_curves share."""

import gzip, math, random

from figures import correlated, learned, rmse
from lab import Weighed, is_on_device, read_table

TEST = 2000


# Tables: columns part, y and what the kernel compares. `part` is the smallest training set that has the row, or test.


def parted(sizes, train, test):
    """Rows [part, y, ...] of shuffled training and test rows [y, ...]."""
    parts = [str(next(n for n in sizes if i < n)) for i in range(sizes[-1])]
    return [[p, *r] for p, r in zip(parts, train)] + [["test", *r] for r in test]


def training(sizes, rows):
    return "part=" + ",".join(str(n) for n in sizes if n <= rows)


def shuffled(rows):
    rows = list(rows)
    random.Random(1).shuffle(rows)
    return rows


def unzipped(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def placed(sites):
    """The letters of four sites of GB1 as words of their own, so that an equal letter elsewhere does not match."""
    return " ".join("%d%s" % pair for pair in zip((39, 40, 41, 54), sites))


def gb1(path, sizes, test=TEST):
    """Most variants are dead: a logarithm, with what the measurement cannot tell from 0 added."""
    rows = [["%.6f" % math.log10(float(y) + 0.01), placed(sites)] for sites, y in shuffled(unzipped(path)[1:])]
    return ["part", "y", "placed"], parted(sizes, rows[test:], rows[:test])


# Figures


def ranks(values):
    """From 0; equal values share the mean of their ranks."""
    order, found, at = sorted(range(len(values)), key=lambda i: values[i]), [0.0] * len(values), 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for i in order[at:end]:
            found[i] = (at + end - 1) / 2
        at = end
    return found


def judged(answer, table):
    """Of predictions of the test rows."""
    y = [float(r[1]) for r in read_table(table)[1] if r[0] == "test"]
    cells = [list(map(float, c)) for c in answer.lines()]
    mean, sd = [c[1] for c in cells], [c[2] for c in cells]
    surprise = [math.log(2 * math.pi * s * s) / 2 + (v - m) ** 2 / (2 * s * s) for v, m, s in zip(y, mean, sd)]
    return {
        "rmse": rmse(y, mean),
        "r": correlated(y, mean),
        "spearman": correlated(ranks(y), ranks(mean)),
        "nlpd": math.fsum(surprise) / len(y),
        "inside": sum(c[3] <= v <= c[4] for v, c in zip(y, cells)) / len(y),
    }


def on_device(lab):
    """Options of rows that take too long without a GPU; they are left out where none is asked for."""
    return ["--device", lab.device or "cuda"] if lab.device or lab.plan else None


def steps(lab, table, where, kernel, *more, restarts=0, device=()):
    """Fit, predict the test rows, show."""
    model = lab.file("model")
    fit = "fit {} --where {} --target y --kernel {} --restarts {} {} {} -q -o {}"
    return [
        Weighed(lab.luthier(fit, table, where, kernel, restarts, more, device, model)),
        lab.luthier("predict {} {} --where part=test {} -q", model, table, device),
        lab.luthier("show {} --json", model),
    ]


def fitted_on_device(record):
    return is_on_device(record["commands"][0])


def megabytes(rows, name):
    """Peak memory of a fit; of one on a GPU nothing, since its matrix is there."""
    record = rows.get(name)
    return format(round(record["values"]["fit_bytes"] / 1e6), ",") if record and not fitted_on_device(record) else ""


def figures_of(answers, table):
    """What those steps say."""
    fit, predicted, shown = answers[:3]
    report = shown.json()
    names = ("noise", "inducing", "variance_left", "variance_left_to_noise", "cg_steps", "cg_residual", "evaluations")
    return {
        **judged(predicted, table),
        **{name: report[name] for name in names if name in report},
        "parameters": learned(shown),
        "fit_seconds": fit.seconds,
        "fit_bytes": fit.bytes,
    }
