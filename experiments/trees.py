"""Penn Treebank trees with labels that a tree kernel drew: what tree_recovery and tree_time share."""

import random

from figures import rmse
from lab import Once, read_lines

FILES = ["ptb_sample_trees_clean.txt"]
SIZES, TEST, RUNS = (25, 50, 100, 200, 400, 800), 200, 20
SSTK = "sstk(tree, decay=%.6g, alpha=%.6g)"
SASSTK = "sstk(tree, symbols=[S], decay=[%.6g,%.6g], alpha=[%.6g,%.6g])"


class Trees:
    """1,000 trees, the last 200 of them for testing."""

    def __init__(self, lab, kernel, name):
        self.lab, self.kernel, self.name = lab, kernel, name
        self.sizes, self.test, self.runs = ((25, 50), 50, 2) if lab.quick else (SIZES, TEST, RUNS)
        self.inputs = lab.table("trees_%d.tsv" % self.count(), lambda: (["tree"], [[t] for t in self.trees()]))
        self.drawn = lab.file("drawn_%s.tsv" % name)

    def count(self):
        return self.sizes[-1] + self.test

    def trees(self):
        trees = read_lines(self.lab.data(FILES[0]))
        random.Random(1).shuffle(trees)
        return trees[: self.count()]

    def sample(self):
        return Once(
            self.lab.luthier(
                "sample {} --kernel {} --noise 0.01 --draws {} -q -o {}", self.inputs, self.kernel, self.runs, self.drawn
            )
        )

    def labels(self, run):
        with open(self.drawn) as file:
            return [line.rstrip("\n").split("\t")[run - 1 - self.runs] for line in file][1:]

    def labelled(self, run):
        def make():
            parts = [next((str(n) for n in self.sizes if i < n), "test") for i in range(self.count())]
            return ["part", "y", "tree"], [list(row) for row in zip(parts, self.labels(run), self.trees())]

        return self.lab.table("%s_run%d.tsv" % (self.name, run), make)

    def training(self, size):
        return "part=" + ",".join(str(n) for n in self.sizes if n <= size)

    def test_rmse(self, run, answer):
        return rmse([float(y) for y in self.labels(run)[-self.test :]], [float(cells[1]) for cells in answer.lines()])
