"""Classes of questions from their trees."""

import gzip, re

from text import block, code, show, table, values

PAPER = "TREC, Li and Roth (2002); trees and published figures by KeLP"
VECTORS = "glove_subset_100d.txt.gz"
FILES = ["trec_train.klp.gz", "trec_test.klp.gz", VECTORS]
PUBLISHED = [
    [name, "", "", share]
    for name, share in [("*words*", "86.2"), ("*STK*", "91.4"), ("*PTK*", "91.0"), ("*SPTK*", "94.0"), ("*CSPTK*", "95.0")]
]
PAIRS = "normalize(ngrams(quest, n=[1,2], units=words))"
SOFT_TEXT = "normalize(ssk(quest, order=3, sim=exp))"
SOFT_TREE = "normalize(ptk(loct, sim=cosine, soft=all))"
# Kernels, the numbers of theirs that inner folds choose, and seconds
CANDIDATES = [
    ("normalize(bow(bow))", [], 5),
    ("normalize(stk(grct))", ["stk.decay=0.2,0.4,0.6,0.8"], 40),
    ("normalize(sstk(grct))", ["sstk.decay=0.1,0.2,0.4,0.6"], 45),
    ("normalize(ptk(lct))", ["ptk.decay=0.2,0.4"], 90),
    (PAIRS, [], 10),
    (SOFT_TEXT, [], 20),
    ("normalize(ptk(grct, sim=cosine))", [], 60),
    (SOFT_TREE, [], 60),
    ("normalize(ptk(lct)) + normalize(sstk(grct)) + " + PAIRS, [], 60),
    ("normalize(ptk(grct, sim=cosine)) + normalize(sstk(grct)) + " + PAIRS + " + " + SOFT_TEXT, [], 90),
    (SOFT_TREE + " + normalize(ptk(lct)) + normalize(sstk(grct)) + " + PAIRS + " + " + SOFT_TEXT, [], 120),
]


def measure(lab):
    train, test = map(lab.data, FILES[:2])
    model, part = lab.file("model"), ["--where", "label=NUM,LOC"] if lab.quick else []
    vectors = lab.table("vectors.txt", lambda: word_vectors([train, test], lab.data(VECTORS)))
    for kernel, grid, seconds in CANDIDATES[:2] if lab.quick else CANDIDATES:
        lab.row(
            kernel,
            [
                lab.luthier(
                    "fit {} --model svm --target label --kernel {} {} {} --C 1,3,10,30 --inner-folds 3 {} --json -q -o {}",
                    train,
                    kernel,
                    [word for numbers in grid for word in ("--set", numbers)],
                    ["--vectors", vectors] if "sim=" in kernel else [],
                    part,
                    model,
                ),
                lab.luthier("predict {} {} {} --score --json -q", model, test, part),
            ],
            lambda a: {**choice(a[0]), **score(a[1])},
            seconds,
        )


def word_vectors(tables, path):
    """The words' vectors less their mean, for words and for the nodes of trees, such as LEX##film::n, that have them."""
    nodes = {}
    for name in tables:
        with gzip.open(name, "rt", encoding="utf-8") as file:
            for node in re.findall(r"LEX##[^()\s]+", file.read()):
                nodes.setdefault(node[len("LEX##") :].rsplit("::", 1)[0], set()).add(node)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [(word, [float(x) for x in cells]) for word, *cells in map(str.split, file)]
    means = [sum(column) / len(rows) for column in zip(*[vector for _, vector in rows])]
    lines = []
    for word, vector in rows:
        numbers = " ".join("%.5f" % (x - m) for x, m in zip(vector, means))
        lines += [["%s %s" % (name, numbers)] for name in [word, *sorted(nodes.get(word, ()))]]
    return lines[0], lines[1:]


def choice(answer):
    found = answer.json()
    return {"kernel": found["kernel"], "C": found["C"], "inner": found["inner"]["accuracy"]}


def score(answer):
    found = answer.json()
    return {"n": found["n"], "accuracy": found["targets"]["label"]["accuracy"]}


def chosen(rows):
    """The candidate with the highest accuracy over inner folds; "" when none was measured."""
    inner = {kernel: values(rows, kernel).get("inner", 0) for kernel, *_ in CANDIDATES}
    best = max(inner, key=inner.get)
    return best if inner[best] else ""


def page(results):
    rows = results["trec_trees"]
    text = """5,452 questions to learn from and 500 to test, six classes. The trees are those of KeLP's example: of relations (`grct`), of words with
their relations and parts of speech (`lct`), and of words alone (`loct`). One class against the rest. C (1, 3, 10 or 30) and the decay of kernels that stand
alone (`stk` 0.2, 0.4, 0.6, 0.8; `sstk` 0.1, 0.2, 0.4, 0.6; `ptk` 0.2, 0.4) are chosen by three inner folds of the training questions,
and so is the kernel: the one in bold has the highest inner accuracy of all. The candidates were written down before they were measured (test figures of the
first four with default decays had been seen: 85.4, 90.4, 89.8, 90.6). Left out unmeasured, for their time: `ptk` with `soft=all` over `lct`, alone and in a sum,
`leaves=yes` of `sstk`, other temperatures of `ssk`, a decay of 0.6 of `ptk`. Accuracy in percent. What was
published as STK is `sstk` here; `stk` counts complete subtrees alone. Kernels with `sim` compare words by GloVe's vectors of 100 numbers, less their mean.

%s

""" % block(
        "luthier fit trec_train.klp.gz --model svm --target label --kernel KERNEL --set sstk.decay=.. --C 1,3,10,30 --vectors V -o M",
        "luthier predict M trec_test.klp.gz --score",
    )
    best = chosen(rows)
    lines = [line(values(rows, kernel), kernel, kernel == best) for kernel, *_ in CANDIDATES]
    return text + table(["kernel", "C", "inner folds", "test"], PUBLISHED + lines) + """

One of 500 questions is 0.2 percent. The chosen sum is 0.4 below the published SPTK and 1.4 below CSPTK, which also compares pairs of words that depend on each
other; nothing here does. Inner figures are lower than those of the test: they learn from two thirds of the rows, and the test questions were collected apart.
Vectors of words help the text kernel most; over trees of words alone (`loct`) they do less than relations and parts of speech do without them. The decay that
inner folds choose is worse on the test than the default for `stk`, better for `sstk`.
"""


def line(found, kernel, is_chosen):
    bold = "**%s**" if is_chosen else "%s"
    shares = [show(100 * found[key] if key in found else None, "%.1f") for key in ("inner", "accuracy")]
    return [code(found.get("kernel", kernel)), show(found.get("C"), "%g"), *[bold % share for share in shares]]


def percent(found):
    return 100 * found["accuracy"] if found else None
