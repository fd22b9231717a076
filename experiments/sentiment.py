"""Sentiment of sentences."""

import gzip

from text import block, code, show, table, values
from trec_trees import percent, score

PAPER = "Socher, Perelygin, Wu, Chuang, Manning, Ng and Potts (2013)"
FILES = ["sst_train.txt.gz", "sst_dev.txt.gz", "sst_test.txt.gz"]
PUBLISHED = [
    ["*naive Bayes*", "81.8", "41.0"],
    ["*SVM*", "79.4", "40.7"],
    ["*naive Bayes, bigrams*", "83.1", "41.9"],
    ["*RNTN*", "85.4", "45.7"],
]
KERNELS = [
    ("normalize(bow(text))", 3),
    ("normalize(tfidf(text))", 3),
    ("normalize(bow(text)) + normalize(ngrams(text, n=2, units=words))", 6),
]
VECTORS = "glove_subset_100d.txt.gz"
SOFT = [  # words that are alike count as well
    ("normalize(ssk(text, order=2, sim=exp))", 120),
    ("normalize(ssk(text, order=2, sim=exp)) + normalize(tfidf(text))", 150),
    ("normalize(ssk(text, order=3, sim=exp)) + normalize(bow(text)) + normalize(ngrams(text, n=2, units=words))", 200),
]
TASKS = ("binary", "five classes")


def trees(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def without(trees_, others):
    """The training file of this copy contains the development sentences."""
    left_out = set(others)
    return [tree for tree in trees_ if tree not in left_out]


def binary(trees_):
    """Two classes in place of five scores; the neutral sentences are left out."""
    names = {"0": "negative", "1": "negative", "3": "positive", "4": "positive"}
    return ["(%s%s" % (names[tree[1]], tree[2:]) for tree in trees_ if tree[1] in names]


def measure(lab):
    train, dev, test = map(lab.data, FILES)

    def tables(task):
        def lines(make):
            found = binary(make()) if task == "binary" else make()
            found = found[:: 20 if lab.quick else 1]
            return [found[0]], [[line] for line in found[1:]]

        name = task.split()[0]
        return (
            lab.table(name + "_train.sst", lambda: lines(lambda: without(trees(train), trees(dev)))),
            lab.table(name + "_test.sst", lambda: lines(lambda: trees(test))),
        )

    for task in TASKS:
        for kernel, seconds in KERNELS[:1] if lab.quick else KERNELS:
            learn(lab, task, kernel, *tables(task), seconds)
        for kernel, seconds in [] if lab.quick else SOFT:
            learn(lab, task, kernel, *tables(task), seconds, "--vectors", lab.data(VECTORS))


def learn(lab, task, kernel, learned, tested, seconds, *more):
    model = lab.file("model")
    fit = "fit {} --model svm --multi ovr --task classification --target label --kernel {} --C 0.1,0.3,1,3 --inner-folds 3 {} -q -o {}"
    lab.row(
        "%s / %s" % (task, kernel),
        [lab.luthier(fit, learned, kernel, list(more), model), lab.luthier("predict {} {} --score --json -q {}", model, tested, list(more))],
        lambda a: score(a[1]),
        seconds,
    )


def page(results):
    rows = results["sentiment"]
    text = """The Stanford sentiment treebank: 8,543 sentences to learn from and 2,210 to test; without the neutral ones, for the binary task, 6,920
and 1,821. C is 0.1, 0.3, 1 or 3 by three inner folds of the training sentences; the development sentences are not used. Accuracy in percent.
luthier learns from whole sentences alone; the RNTN learned from the scores of all phrases, too. Kernels with `sim=exp` have word vectors (GloVe, 100
dimensions, without those of many words of these sentences).

%s

""" % block(
        "luthier fit TRAIN.sst --model svm --multi ovr --task classification --target label --kernel KERNEL \\",
        "    --C 0.1,0.3,1,3 -o M",
        "luthier predict M TEST.sst --score",
    )
    lines = [
        [code(kernel), *[show(percent(values(rows, "%s / %s" % (task, kernel))), "%.1f") for task in TASKS]]
        for kernel, _ in KERNELS + SOFT
    ]
    return text + table(["kernel", *TASKS], PUBLISHED + lines) + "\n"
