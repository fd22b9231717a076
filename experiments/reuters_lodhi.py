"""Topics of news: 470 documents."""

import os, statistics

from documents import FILES, SPLITS, TEST, judge, topics_table  # noqa: F401
from lab import read_table
from text import block, code, table, values

PAPER = "Lodhi et al. (2002), Tables 1 to 3; Fang et al. (2019), Tables 1 and 2"
NONE = ("",) * 4
# Published figures of earn, acq, crude, corn: F1, or F1 / precision / recall. Lodhi et al. at decay 0.5, means of 10 splits;
# precision and recall as Fang et al. quote them.
LODHI_ORDERS = {
    3: (".925 / .981 / .878", ".785 / .863 / .724", ".881 / .931 / .853", ".665 / .940 / .540"),
    4: (".932 / .992 / .888", ".822 / .898 / .760", ".905 / .980 / .853", ".783 / .924 / .690"),
    5: (".936 / .992 / .888", ".867 / .914 / .828", ".936 / .979 / .900", ".779 / .886 / .700"),
    6: (".936", ".876", ".901", ".749"),
    7: (".940", ".864", ".872", ".643"),
    8: (".934", ".852", ".828", ".569"),
    10: (".927", ".791", ".764", ".582"),
    12: (".931", ".791", ".709", ".618"),
    14: (".936", ".774", ".761", ".702"),
}
# At order 5, of each topic only the best decay, and 0.9, are at hand
LODHI_DECAYS = {
    0.01: (".946", "", "", ".845"),
    0.03: (".946", "", "", ".845"),
    0.05: ("", ".882", "", ""),
    0.07: NONE,
    0.09: NONE,
    0.1: NONE,
    0.3: ("", "", ".948", ""),
    0.5: LODHI_ORDERS[5],
    0.7: NONE,
    0.9: (".914", ".735", ".758", ".348"),
}
# Fang et al., one split; their two tables do not agree where both have order 3 and decay 0.5
FANG_ORDERS = {
    3: (".958 / 1.000 / .920", ".889 / .828 / .960", ".909 / .833 / 1.000", ".750 / 1.000 / .600"),
    4: (".961 / 1.000 / .925", ".889 / .828 / .960", ".968 / .938 / 1.000", ".889 / 1.000 / .800"),
    5: (".974 / 1.000 / .950", ".873 / .800 / .960", ".933 / .933 / .933", ".824 / 1.000 / .700"),
}
FANG_DECAYS = {
    0.01: (".923 / .947 / .900", ".793 / .697 / .920", ".889 / 1.000 / .800", ".824 / 1.000 / .700"),
    0.05: (".892 / .860 / .925", ".792 / .750 / .840", ".857 / .923 / .800", ".750 / 1.000 / .600"),
    0.5: (".902 / .881 / .925", ".830 / .786 / .880", ".774 / .750 / .800", ".571 / 1.000 / .400"),
}
WORDS = {
    "normalize(tfidf(text))": (".925", ".802", ".904", ".762"),
    "normalize(ngrams(text, n=5))": (".944", ".882", ".937", ".847"),
}
FAR_ORDERS = (5, 8, 10, 12, 14)  # of machines without a threshold
MAPS = ["normalize(tfidf(text))", *["normalize(ngrams(text, n=%d))" % n for n in (3, 4, 5, 6, 7)]]


def ssk(order, decay):
    weights = "0," * (order - 1) + "1"
    return "normalize(ssk(text, units=chars, order=%d, gap=$l=%g, match=$l, weights=[%s]))" % (order, decay, weights)


def kernels():
    """What is measured: for each table a list of (name, kernel, Lodhi et al., Fang et al.)."""
    return {
        "words and n-grams": [(code(k), k, WORDS.get(k, NONE), NONE) for k in MAPS],
        "`ssk`, decay 0.5, order": [(str(n), ssk(n, 0.5), LODHI_ORDERS[n], FANG_ORDERS.get(n, NONE)) for n in LODHI_ORDERS],
        "`ssk`, order 5, decay": [("%g" % d, ssk(5, d), LODHI_DECAYS[d], NONE) for d in LODHI_DECAYS],
        "`ssk`, order 3, decay": [("%g" % d, ssk(3, d), NONE, FANG_DECAYS[d]) for d in FANG_DECAYS],
    }


def seconds(kernel):
    order = int(kernel.split("order=")[1].split(",")[0]) if "order=" in kernel else 0
    return 1 if order == 0 else 4 + 1.8 * order * (1 if order < 9 else 2.5)


def over_splits(paths):
    found = {t: [f for path in paths for f in judge(path)[t]] for t in TEST}
    return {
        t: {"mean": [statistics.mean(x) for x in zip(*f)], "sd": statistics.stdev(x[0] for x in f)} for t, f in found.items()
    }


def without_threshold(lab, table_):
    """The same machines with f(x) = sum_i a_i y_i k(x_i, x) and nothing added."""
    files = [lab.file("o%d.tsv" % g) for g in range(4)]

    def figures():
        fixed, splits = judge(files[3]), over_splits(files[:3])
        return {t: {"fixed": fixed[t][0], **splits[t]} for t in TEST}

    for n in (3,) if lab.quick else FAR_ORDERS:
        lab.row(
            "without a threshold / order %d" % n,
            [
                lab.luthier(
                    "cv {} --model svm --solver origin --target {} --kernel {} --C 100 --precision f32 --fold-by {} --predictions {} -q",
                    table_,
                    ",".join(TEST),
                    ssk(n, 0.5),
                    fold,
                    file,
                )
                for fold, file in zip(("group0", "group1", "group2", "split"), files)
            ],
            lambda a: figures(),
            3 * seconds(ssk(n, 0.5)),
        )


def classify(lab, source):
    """A Gaussian process for all four topics at once, its hyperparameters learned."""
    model, kernel = lab.file("gp"), "normalize(ssk(text, units=chars, order=5))"
    fit = "fit {} --where split=train --target label --kernel {} --restarts 0 -q -o {}"

    def right(answers):
        said = [cells[1] for cells in answers[1].lines()]
        there = [r[2] for r in read_table(source)[1] if r[1] == "test"]
        return {"right": sum(a == b for a, b in zip(said, there)), "of": len(there), "fit": answers[0].seconds}

    steps = [lab.luthier(fit, source, kernel, model), lab.luthier("predict {} {} --where split=test -q", model, source)]
    lab.row("Gaussian process", steps, right, 245)


def measure(lab):
    source = lab.data(FILES[0])
    table_ = lab.table("topics.tsv", lambda: topics_table(source, 150 if lab.quick else None))
    K = lab.file("K.npy")
    gram = lab.luthier(
        "gram {} --kernel {} --per-order -o {} -q --threads 1",
        source,
        "ssk(text, units=chars, order=5, gap=$l=0.5, match=$l)",
        K,
    )
    if not lab.quick:
        lab.row("time of the Gram matrices", [gram], lambda a: {"seconds": a[0].seconds}, 20)
        classify(lab, source)
    without_threshold(lab, table_)
    chosen = {k for rows in kernels().values() for _, k, *_ in rows} if not lab.quick else {MAPS[0], ssk(3, 0.5)}
    for kernel in dict.fromkeys(k for rows in kernels().values() for _, k, *_ in rows if k in chosen):
        files = [lab.file("p%d.tsv" % g) for g in range(4)]
        exact = kernel.startswith("normalize(ssk")
        common = ["cv", table_, "--model", "svm", "--target", ",".join(TEST), "--kernel", kernel, "--C", "1,10,100"]
        lab.row(
            kernel + " / fixed split",
            [lab.luthier("{} --fold-by split --predictions {} -q", common, files[3])],
            lambda a: {t: f[0] for t, f in judge(files[3]).items()},
            seconds(kernel),
        )
        # Twelve times the work: half of the digits are enough
        splits = [
            lab.luthier(
                "{} --fold-by {} {} --predictions {} -q",
                common,
                "group%d" % g,
                ["--precision", "f32"] if exact else [],
                files[g],
            )
            for g in range(3)
        ]
        if not (lab.quick and exact):
            lab.row(kernel + " / 10 splits", splits, lambda a: over_splits(files[:3]), 2 * seconds(kernel))


def show(three):
    return " / ".join("%.3f" % x for x in three)


def shortfalls(rows):
    """Where the mean F1 of the ten splits is below that of Lodhi et al."""
    found = []
    for title, lines in kernels().items():
        for name, kernel, lodhi, _ in lines:
            splits = values(rows, kernel + " / 10 splits")
            for topic, published in zip(TEST, lodhi):
                f = published.split(" / ")[0]
                if splits and f and splits[topic]["mean"][0] < float(f) - 0.0005:
                    what = name if title.startswith("words") else "%s %s" % (title.split(", ")[-1], name)
                    found.append("%s, %s, %.3f (%s, %.3f)" % (what, topic, splits[topic]["mean"][0], f, splits[topic]["sd"]))
    return found


def page(results):
    rows = results["reuters_lodhi"]
    text = """Reuters-21578, Distribution 1.0: earn, acq, crude and corn, each against the rest; 380 training and 90 test documents (40, 25, 15, 10),
characters, one order of the string kernel, normalised:

%s

Cells are F1 / precision / recall. "Lodhi et al." (2002) are means of 10 splits, "Fang et al." (2019) one split. The documents of
these papers were never published: ours are another draw with the same counts, so figures can be compared up to the
draw. One test document of corn is .05 of F1. C is 1, 10 or 100, by three inner folds of the training documents.
"10 splits" are random ones with the same counts: mean, and standard deviation of F1; for the string kernel they are computed in single precision.
Empty cells are not measured yet.
""" % block(
        ssk(5, 0.5)
    )
    for title, lines in kernels().items():
        if title == "`ssk`, order 3, decay":
            text += "\nFang et al. vary the decay at order 3 (their two tables disagree at order 3, decay 0.5):\n"
        cells = []
        for name, kernel, lodhi, fang in lines:
            fixed, splits = values(rows, kernel + " / fixed split"), values(rows, kernel + " / 10 splits")
            for i, topic in enumerate(TEST):
                ten = [show(splits[topic]["mean"]), "%.3f" % splits[topic]["sd"]] if splits else ["", ""]
                cells.append([name, topic, lodhi[i], fang[i], show(fixed[topic]) if fixed else "", *ten])
        text += (
            "\n" + table([title, "topic", "Lodhi et al.", "Fang et al.", "fixed split", "10 splits", "sd of F1"], cells) + "\n"
        )
    text += """
- At order 5 and decay 0.5, F1 of the fixed split is .974 / .920 / 1 / .947; the best published for the exact kernel at decay 0.5, over all
  orders, is .940 / .876 / .936 / .783. With C=1 for all, it is .974 / .960 / 1 / .750: corn, with 38 documents to learn from,
  needs a larger C. One split is one draw: the means of the ten splits are .938 / .913 / .939 / .874.
- 5-grams over 10 splits: .938 / .909 / .944 / .940, published .944 / .882 / .937 / .847. Earn is below by a fifth of the standard
  deviation of a split, the others are above.
- As in the paper, orders 4 and 5 and small decays are best, and corn falls first, from order 6 and from decay 0.7. At order 7
  crude (.800) and corn (.462) of the fixed split are below the paper's means (.872, .643): nothing wrong is called
  corn, but 7 of 10 are missed. 7-grams lose corn there too (.667).
- From order 8 on the machines above fall well below the paper's: hardly any two documents of a rare topic share a sequence of ten
  characters, the matrix comes close to the identity, and recall goes, with precision at 1. It is not the price of errors: balanced class weights at
  order 10 give the same predictions on the fixed split. **It is the threshold.** Where similarities are small, f(x) = sum_i a_i y_i k(x_i, x) + b
  is all b, and b has the sign of the larger class. Machines without b (`--solver origin`, the kernel Adatron; C = 100) keep their recall. They also
  show what the paper shows on our fixed split: corn falls to order 8, and then rises again.
"""
    lines = []
    for n, lodhi in [(n, LODHI_ORDERS[n]) for n in FAR_ORDERS]:
        v, with_b = values(rows, "without a threshold / order %d" % n), values(rows, ssk(n, 0.5) + " / 10 splits")
        for i, topic in enumerate(TEST):
            if v:
                with_cell = "%.3f" % with_b[topic]["mean"][0] if with_b else ""
                lines.append([n, topic, lodhi[i].split(" / ")[0], show(v[topic]["fixed"]), show(v[topic]["mean"]), with_cell])
    if lines:
        header = ["order", "topic", "Lodhi et al.", "no threshold, fixed split", "no threshold, 10 splits", "threshold, 10 splits: F1"]
        text += "\n" + table(header, lines) + "\n\n"
    text += "- With a threshold below the published means, over 10 splits (in brackets: published, standard deviation of a split): %s.\n" % (
        "; ".join(shortfalls(rows)) or "none"
    )
    gp = values(rows, "Gaussian process")
    if gp:
        text += """
A Gaussian process classifier, `luthier fit --target label --kernel 'normalize(ssk(text, units=chars, order=5))' --restarts 0`,
learns gap and weights from the 380 documents in %.0f s and finds the topic of %d of the %d test documents.
""" % (gp["fit"], gp["right"], gp["of"])
    timed = values(rows, "time of the Gram matrices")
    if timed:
        text += (
            "\n**Time.** The Gram matrices of orders 1 to 5 of all 470 documents (110,685 pairs), `luthier gram --per-order`, one thread: %.1f s (with AVX-512). Fang et al.: 2 to 12 hours.\n"
            % timed["seconds"]
        )
    return text
