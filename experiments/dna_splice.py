"""Splice junctions."""

from lab import read_table
from text import block, code, table, values

PAPER = "UCI, Towell, Noordewier and Shavlik (1991)"
FILES = ["dna_splice.tsv"]
PUBLISHED = [
    ["*KBANN*", "", "92.44", "91.53", "95.38"],
    ["*back-propagation*", "", "94.26", "89.25", "94.71"],
    ["*nearest neighbour*", "", "88.35", "90.91", "68.89"],
]
NGRAMS = "ngrams(text, n=%d)"
SSK = "ssk(text, units=chars, order=%d, gap=0.5)"


def whole(kernel):
    return "normalize(%s)" % kernel


def halves(kernel):
    return " + ".join(whole(kernel.replace("text", half)) for half in ("before", "after"))


KERNELS = [
    *[(whole(NGRAMS % n), 15) for n in (3, 4, 5, 6)],
    *[(whole(SSK % n), 40) for n in (3, 4, 5, 6)],
    *[(halves(kernel % n), 30) for kernel in (NGRAMS, SSK) for n in (3, 5)],
    (whole("wd(text)"), 15),
    (whole("wd(text, shift=1)"), 20),
    (whole("wd(text, shift=3)"), 30),
    (whole("oligo(text, k=3, sigma=1)"), 90),
    (whole("bow(placed)"), 15),
    (whole("ngrams(placed, n=3, units=words)"), 15),
    (whole("ssk(placed, order=3, gap=0.5)"), 25),
]


def placed(path, most):
    """Whole windows, their halves, and bases marked with their place."""
    rows = read_table(path)[1][:: 12 if most else 1]
    return ["text", "before", "after", "placed", "label"], [
        [t, t[:30], t[30:], " ".join("%s%d" % (base, i) for i, base in enumerate(t, 1)), label] for t, label in rows
    ]


def measure(lab):
    source = lab.data(FILES[0])
    table_ = lab.table("splice.tsv", lambda: placed(source, lab.quick))
    for kernel, seconds in [KERNELS[0], KERNELS[-1]] if lab.quick else KERNELS:
        lab.row(
            kernel,
            [lab.luthier("cv {} --model svm --multi ovo --target label --kernel {} --C 1,10,100 --folds 5 --json -q", table_, kernel)],
            lambda a: shares(a[0].json()["targets"]["label"]),
            seconds,
        )


def shares(result):
    return {"accuracy": result["pooled"]["accuracy"], "recall": [c["recall"] for c in result["classes"]]}


def page(results):
    rows = results["dna_splice"]
    text = """3,190 windows of 60 bases; exon to intron (EI), intron to exon (IE), neither (N). 5 folds, a support vector machine with C 1, 10 or 100 by
inner folds; accuracy and recall of each class, in percent. Published, from the donors of the data: 10 folds of 1,000 windows.

%s

""" % block(
        "luthier cv splice.tsv --model svm --multi ovo --target label --kernel KERNEL --C 1,10,100 --folds 5"
    )
    lines = []
    for kernel, _ in KERNELS:
        v = values(rows, kernel)
        lines.append(
            [code(kernel), *["%.2f" % (100 * x) for x in ([v["accuracy"], *v["recall"]] if v else [])]]
            if v
            else [code(kernel), "", "", "", ""]
        )
    return text + table(["kernel", "accuracy", "EI", "IE", "N"], PUBLISHED + lines) + """

What counts is where a base is, seen from the middle of the window. A kernel of the whole window does not know it, with or
without gaps; two kernels of the halves do in part, and bases marked with their place entirely. `wd` and `oligo` know places
by themselves; where the place is known as well as here, a shift does not help. The published methods know places, too.
"""
