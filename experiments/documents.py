"""The 470 documents of reuters_lodhi470.tsv, as reuters_lodhi and others use them."""

import random

from lab import read_table

FILES = ["reuters_lodhi470.tsv"]
TEST = {"earn": 40, "acq": 25, "crude": 15, "corn": 10}
SPLITS = 10


def random_splits(labels):
    """Columns of folds. Each numbered fold is a test set with the counts of the fixed split, so the others have its training
    counts. Four such folds fit beside one another: one Gram matrix serves four splits."""
    chance, columns = random.Random(1), []
    for first in range(0, SPLITS, 4):
        column = ["rest"] * len(labels)
        for topic, size in TEST.items():
            rows = [i for i, label in enumerate(labels) if label == topic]
            chance.shuffle(rows)
            for k, i in enumerate(rows[: size * min(4, SPLITS - first)]):
                column[i] = str(first + k // size)
        columns.append(column)
    return columns


def topics_table(path, shortened=None):
    """A column for the fixed split, three of random ones, and for each topic whether a document has it."""
    _, rows = read_table(path)
    columns = random_splits([r[2] for r in rows])
    header = ["split", *["group%d" % g for g in range(len(columns))], *TEST, "text"]
    return header, [
        [r[1], *[c[i] for c in columns], *["yes" if r[2] == t else "no" for t in TEST], r[3][:shortened]]
        for i, r in enumerate(rows)
    ]


def f1(pairs):
    """F1, precision, recall of (truth, prediction)."""
    hits, said, there = pairs.count(["yes", "yes"]), sum(p[1] == "yes" for p in pairs), sum(p[0] == "yes" for p in pairs)
    return [2 * hits / max(said + there, 1), hits / max(said, 1), hits / max(there, 1)]


def judge(path):
    """From a file of predictions: for each topic the figures of each test set."""
    with open(path) as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    folds = sorted({p[2] for p in lines} - {"train", "rest"})
    return {t: [f1([p[3:] for p in lines if p[1:3] == [t, fold]]) for fold in folds] for t in TEST}
