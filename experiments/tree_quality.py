"""Quality of translations from pairs of trees."""

import statistics

from figures import cross_validation, learned
from lab import read_table
from text import block, show, table, values

PAPER = "Beck, Cohn, Hardmeier and Specia (2015), Tables 4 and 5"
FILES = ["qe_fr_en.tsv", "qe_en_es.tsv"]
PAIRS = ("fr-en", "en-es")


def pair(operator, source="", target=""):
    trees = ["normalize(sstk(%s_tree%s))" % (side, more) for side, more in (("source", source), ("translation", target))]
    return "1 * " + (" + 1 * " if operator == "+" else " * ").join(trees)


def symbols(more):
    return [", symbols=[S,SQ,SBARQ,SINV], decay=[0.4,$%s=0.4,$%s,$%s,$%s]%s" % (t, t, t, t, more) for t in ("s", "t")]


def tied(operator):
    """For a grid: one decay for both sides, alpha 1, no factors."""
    return pair(operator, ", decay=$d=0.4!, alpha=1!", ", decay=$d, alpha=1!").replace("1 * ", "")


ONE = ", alpha=1!"
RBF = "rbf(f1..f17)"
GRID = ["--C", "0.01,1,100", "--epsilon", "0.01,0.1,1,10"]
SCALES = ["--set", "rbf.lengthscale=0.001,0.0178,0.316,5.62,100"]
DECAYS = ["--set", "sstk.decay=1e-16,0.25,0.5"]
# Name, kernel, published MAE and RMSE of fr-en and en-es, grid of an SVM, seconds of fr-en and en-es
ROWS = [
    ("SVM RBF", RBF, (".4610", ".5944"), (".7831", "1.0238"), SCALES, (60, 8)),
    ("SVM SSTK +", tied("+"), (".4710", ".6006"), (".7777", "1.0820"), DECAYS, (120, 15)),
    ("SVM SSTK x", tied("*"), (".4681", ".6016"), (".7884", "1.1044"), DECAYS, (120, 15)),
    ("SVM RBF + SSTK +", RBF + " + " + tied("+"), (".5146", ".6267"), (".8077", "1.0295"), SCALES + DECAYS, (500, 60)),
    ("SVM RBF + SSTK x", RBF + " + " + tied("*"), (".5186", ".6299"), (".8367", "1.0427"), SCALES + DECAYS, (500, 60)),
    ("RBF", RBF, (".4555", ".5830"), (".7842", "1.0735"), None, (25, 1)),
    ("SSTK +", pair("+"), (".4789", ".5912"), (".7551", "1.0281"), None, (196, 27)),
    ("SSTK x", pair("*"), (".4804", ".5843"), (".7440", "1.0008"), None, (214, 21)),
    ("SASSTK S +", pair("+", *symbols("")), (".4756", ".5889"), (".8096", "1.0754"), None, (392, 61)),
    ("SASSTK S x", pair("*", *symbols("")), (".4797", ".5868"), (".7484", "1.0102"), None, (1009, 55)),
    ("SSTK +, alpha 1", pair("+", ONE, ONE), (".4694", ".5808"), (".7614", "1.0019"), None, (421, 21)),
    ("SSTK x, alpha 1", pair("*", ONE, ONE), (".4708", ".5733"), (".7205", ".9870"), None, (206, 25)),
    ("SASSTK S +, alpha 1", pair("+", *symbols(ONE)), (".4758", ".5888"), (".8242", "1.0912"), None, (124, 27)),
    ("SASSTK S x, alpha 1", pair("*", *symbols(ONE)), (".4699", ".5751"), (".7469", "1.0280"), None, (247, 30)),
    ("RBF + SSTK +, alpha 1", RBF + " + " + pair("+", ONE, ONE), (".4408", ".5651"), (".7591", "1.0469"), None, (300, 23)),
    ("RBF + SSTK x, alpha 1", RBF + " + " + pair("*", ONE, ONE), (".4443", ".5659"), (".7389", "1.0302"), None, (300, 24)),
    (
        "RBF + SASSTK S +, alpha 1",
        RBF + " + " + pair("+", *symbols(ONE)),
        (".4406", ".5648"),
        (".7692", "1.0682"),
        None,
        (1000, 197),
    ),
    (
        "RBF + SASSTK S x, alpha 1",
        RBF + " + " + pair("*", *symbols(ONE)),
        (".4440", ".5658"),
        (".7682", "1.0628"),
        None,
        (300, 28),
    ),
]
# Rows that are measured once more without sentences far from the mean, and seconds of fr-en and en-es
NEAR = {"RBF": (25, 1), "SSTK +, alpha 1": (100, 20), "SSTK x, alpha 1": (100, 20), "RBF + SSTK +, alpha 1": (150, 20)}
FAR, FARTHER = 3, 5  # standard deviations
# The Gaussian processes once more with other noise, and how many times as long that takes
MEDIAN = ["--point", "median"]
NOISES = {"student": (["--likelihood", "student", *MEDIAN], 4), "warped": (["--likelihood", "warped", *MEDIAN], 1)}
# Table 5, fr-en, alpha 1: decays of source and target
LEARNED = {"+": (".1394", ".3108"), "*": (".1405", ".2641")}


def named(language, row, noise=""):
    return "%s / %s%s" % (language, noise and noise + " / ", row[0])


def standardised(path, most):
    """The 17 features with mean 0 and standard deviation 1."""
    header, rows = read_table(path)
    rows = rows[:most]
    for i, name in enumerate(header):
        if name[0] == "f" and name[1:].isdigit():
            numbers = [float(r[i]) for r in rows]
            mean, sd = statistics.mean(numbers), statistics.pstdev(numbers) or 1
            for r, value in zip(rows, numbers):
                r[i] = "%.12g" % ((value - mean) / sd)
    return header, rows


def near(path, most, far):
    """The same without rows whose target is that many standard deviations from the mean."""
    header, rows = standardised(path, most)
    at = header.index("pe_per_word")
    times = [float(r[at]) for r in rows]
    mean, sd = statistics.mean(times), statistics.pstdev(times)
    return header, [r for r, y in zip(rows, times) if abs(y - mean) < far * sd]


def measure(lab):
    predictions, model = lab.file("p.tsv"), lab.file("model")
    for at, language in enumerate(PAIRS):
        name = "qe_%s.tsv" % language.replace("-", "_")
        data = lab.data(name)
        table_ = lab.table(name, lambda: standardised(data, 120 if lab.quick else None))
        common = [table_, "--target", "pe_per_word"]
        for row in [r for r in ROWS if r[0] in ("RBF", "SSTK +", "SVM SSTK +")] if lab.quick else ROWS:
            svm = ["--model", "svm", "--task", "regression", *GRID, *row[4]] if row[4] else ["--restarts", "0"]
            lab.row(
                "%s / %s" % (language, row[0]),
                [lab.luthier("cv {} --kernel {} --json -q --predictions {} --folds 5 {}", common, row[1], predictions, svm)],
                lambda a: cross_validation(a[0], predictions),
                row[5][at],
            )
        for noise, (options, times) in NOISES.items():
            for row in [r for r in ROWS if (r[0] == "RBF" if lab.quick else not r[4])]:
                lab.row(
                    named(language, row, noise),
                    [
                        lab.luthier(
                            "cv {} --kernel {} --json -q --predictions {} --folds 5 --restarts 0 {}",
                            common,
                            row[1],
                            predictions,
                            options,
                        )
                    ],
                    lambda a: cross_validation(a[0], predictions),
                    times * row[5][at],
                )
        for far, part in ((FAR, ""), (FARTHER, "%d / " % FARTHER)):
            close = lab.table("near_%s%s" % (part and "%d_" % far, name), lambda: near(data, 120 if lab.quick else None, far))
            for row in [r for r in ROWS if r[0] in (["RBF"] if lab.quick or part else NEAR)]:
                lab.row(
                    "%s / near / %s%s" % (language, part, row[0]),
                    [
                        lab.luthier(
                            "cv {} --target pe_per_word --kernel {} --json -q --predictions {} --folds 5 --restarts 0",
                            close,
                            row[1],
                            predictions,
                        )
                    ],
                    lambda a: cross_validation(a[0], predictions),
                    NEAR[row[0]][at],
                )
        for operator in "+*":
            lab.row(
                "%s / decays %s" % (language, operator),
                [
                    lab.luthier("fit {} --kernel {} --restarts 0 -q -o {}", common, pair(operator, ONE, ONE), model),
                    lab.luthier("show {} --json", model),
                ],
                lambda a: {
                    "source": learned(a[1])["sstk.decay"],
                    "target": learned(a[1])["sstk2.decay"],
                    "noise": learned(a[1])["noise"],
                    "evidence": a[1].json()["log_evidence"],
                },
                (50, 5)[at],
            )


def ratios(rows):
    """How our RMSE compares with the published one: rbf alone, and Gaussian processes with trees alone."""
    parts = []
    for at, language in enumerate(PAIRS):
        by = {
            r[0]: v["rmse"] / float(r[2 + at][1])
            for r in ROWS
            for v in [values(rows, "%s / %s" % (language, r[0]))]
            if v and not r[4]
        }
        trees = [x for name, x in by.items() if "RBF" not in name]
        if trees and "RBF" in by:
            parts.append("%s, `rbf` %.2f, trees alone %.2f to %.2f" % (language, by["RBF"], min(trees), max(trees)))
    return "; ".join(parts) or "not measured yet"


def without_far(rows):
    lines = []
    for at, language in enumerate(PAIRS):
        for row in [r for r in ROWS if r[0] in NEAR]:
            all_rows, v = (values(rows, "%s / %s%s" % (language, part, row[0])) for part in ("", "near / "))
            if v:
                ours = ["%.4f / %.4f" % (x["mae"], x["rmse"]) if x else "" for x in (v, all_rows)]
                kept = sum(f["sums"][0] for f in v["folds"])
                lines.append([language, row[0], " / ".join(row[2 + at]), *ours, "{:,.0f}".format(kept)])
    header = ["pair", "model", "published MAE / RMSE", "without them", "all sentences", "sentences left"]
    return table(header, lines) + "\n" if lines else ""


def errors(v):
    return "%.4f / %.3f" % (v["mae"], v["nlpd"]) if v else ""


def by_noise(rows):
    """The Gaussian processes by what noise they have, and what that comes to."""
    text, counts = "", dict.fromkeys(NOISES, (0, 0, 0))
    for at, language in enumerate(PAIRS):
        lines = []
        for row in [r for r in ROWS if not r[4]]:
            gaussian, *others = [values(rows, named(language, row, noise)) for noise in ("", *NOISES)]
            lines.append([row[0], row[2 + at][0], errors(gaussian), *map(errors, others)])
            for noise, v in zip(NOISES, others):
                if v:
                    better = v["mae"] < gaussian["mae"] and v["nlpd"] < gaussian["nlpd"]
                    all_, below, beaten = counts[noise]
                    counts[noise] = all_ + 1, below + better, beaten + (v["mae"] < float(row[2 + at][0]))
        text += "\n" + table([language + ", MAE / NLPD", "published MAE", "gaussian", *NOISES], lines) + "\n"
    said = [
        "`%s` is better than `gaussian` by both figures in %d of the %d rows measured, and below the published MAE in %d"
        % (noise, below, all_, beaten)
        for noise, (all_, below, beaten) in counts.items()
        if all_
    ]
    return text + "\n%s.\n" % "; ".join(said) if said else ""


def page(results):
    rows = results["tree_quality"]
    text = """Post-editing time per word, 5 folds; the folds are not those of the authors. The 17 features are brought to mean 0 and standard deviation 1
first. `+` and `x` are a sum and a product of a kernel on the source's tree and one on the translation's.

%s
""" % block(
        "luthier cv qe_en_es.tsv --target pe_per_word --folds 5 --restarts 0 \\", "    --kernel '%s'" % pair("*")
    )
    for at, language in enumerate(PAIRS):
        lines = []
        for row in ROWS:
            v, name = values(rows, "%s / %s" % (language, row[0])), "%s / %s" % (language, row[0])
            ours = "%.4f / %.4f" % (v["mae"], v["rmse"]) if v else ""
            errors = [f["rmse"] for f in v.get("folds", [])]
            lines.append(
                [
                    row[0],
                    " / ".join(row[2 + at]),
                    ours,
                    "%.2f to %.2f" % (min(errors), max(errors)) if errors else "",
                    show(v.get("nlpd")),
                    show(rows.get(name, {}).get("seconds"), "%.0f"),
                ]
            )
        text += (
            "\n"
            + table(
                [language + ", model", "published MAE / RMSE", "MAE / RMSE", "RMSE of single folds", "NLPD", "seconds"], lines
            )
            + "\n"
        )
    compared = [
        (v, row, at)
        for at, language in enumerate(PAIRS)
        for row in ROWS
        for v in [values(rows, "%s / %s" % (language, row[0]))]
        if v
    ]
    wide = values(rows, "en-es / near / %d / RBF" % FARTHER)
    larger = sum(v["rmse"] > float(row[2 + at][1]) for v, row, at in compared)
    text += """
**Ours are larger than the published errors: RMSE in %d of the %d rows measured.** What was found about why:

- It is not the optimiser. From four starts (decay .01, .1, .4, .8) the product of two SSTK on en-es always ends at the same optimum: log
  evidence -1408.91, decays near 0, noise at its lower bound.
- It is not only the tree kernels: the plain `rbf` on the same 17 features falls short, too. RMSE by the published one: %s.
- Errors differ much between folds: `rbf`, en-es, 5 folds: MAE .71 to .93, RMSE .98 to 1.47; fr-en, contiguous folds: RMSE .52 to .89. The
  published RMSE lies inside of the range of single folds.
- The paper has 2,524 French sentences, the file that its authors published 2,497.
- **Sentences that took very long make the difference.** MAE is .78 of RMSE in the published fr-en row of `rbf`, close to the .80 of Gaussian
  errors, but .72 in ours: the file's times have a long tail, the published errors have not. The table below leaves out the sentences
  further than %d standard deviations from the mean, 31 of 2,497 and 19 of 858. Then all rows of fr-en are within .006 (MAE) and .015 (RMSE) of the published. On en-es no
  cut gives all published rows: the trees' errors are near the published with this one, `rbf`'s with a cut at %d%s.
""" % (larger, len(compared), ratios(rows), FAR, FARTHER, " (%.4f / %.4f)" % (wide["mae"], wide["rmse"]) if wide else "")
    text += "\n" + without_far(rows)
    if by_noise(rows):
        text += """
The same Gaussian processes with noise of long tails, `--likelihood student --point median`, and with a learned logarithm, `--likelihood warped
--point median`; all sentences:
"""
        text += by_noise(rows)
    lines = []
    for language in PAIRS:
        for operator in "+*":
            v = values(rows, "%s / decays %s" % (language, operator))
            if v:
                published = LEARNED[operator] if language == "fr-en" else ("", "")
                lines.append(
                    [
                        language,
                        "SSTK " + ("+" if operator == "+" else "x"),
                        *published,
                        "%.4g" % v["source"],
                        "%.4g" % v["target"],
                    ]
                )
    if lines:
        text += "\nDecays learned with alpha 1, from all rows (published: means over folds):\n\n"
        text += table(["pair", "model", "published source", "target", "source", "target"], lines) + "\n"
    return text
