"""Sentences of the Penn Treebank sample with labels that a string kernel drew: what string_recovery and string_curve share."""

import random

from figures import correlated
from lab import Once, read_lines

FILES = ["ptb_sample_sentences.txt", "glove_subset_100d.txt.gz"]
SIZES, TEST, RUNS = (100, 200, 500, 1000), 200, 20
QUICK_SIZES, QUICK_TEST, QUICK_RUNS = (50, 100), 50, 2
GAP, MATCH, WEIGHTS, NOISE = 0.5, 0.2, (1.0, 0.5, 0.25), 0.1
KERNEL = "ssk(text, order=3, sim=%s, gap=%.6g, match=%.6g, weights=[%.6g,%.6g,%.6g])"


class Sentences:
    def __init__(self, lab, sim="dot"):
        self.lab, self.sim, self.vectors = lab, sim, lab.data("glove_subset_100d.txt.gz")
        self.sizes, self.test, self.runs = (QUICK_SIZES, QUICK_TEST, QUICK_RUNS) if lab.quick else (SIZES, TEST, RUNS)
        self.inputs = lab.table("sentences_%d.tsv" % self.count(), lambda: (["text"], [[t] for t in self.texts()]))
        self.drawn = lab.file("drawn_%s.tsv" % sim)

    def count(self):
        return self.sizes[-1] + self.test

    def texts(self):
        texts = read_lines(self.lab.data("ptb_sample_sentences.txt"))
        random.Random(1).shuffle(texts)
        return texts[: self.count()]

    def sample(self):
        return Once(
            self.lab.luthier(
                "sample {} --kernel {} --vectors {} --noise {} --draws {} -q -o {}",
                self.inputs,
                KERNEL % (self.sim, GAP, MATCH, *WEIGHTS),
                self.vectors,
                NOISE,
                self.runs,
                self.drawn,
            )
        )

    def labelled(self, run):
        """The table of one draw. `part` is the smallest training set that has the row, or test."""

        def make():
            with open(self.drawn) as file:
                labels = [line.rstrip("\n").split("\t")[run - 1 - self.runs] for line in file][1:]
            parts = [next((str(n) for n in self.sizes if i < n), "test") for i in range(self.count())]
            return ["part", "y", "text"], [list(row) for row in zip(parts, labels, self.texts())]

        return self.lab.table("%s_run%d.tsv" % (self.sim, run), make)

    def training(self, size):
        return "part=" + ",".join(str(n) for n in self.sizes if n <= size)

    def start(self, run, size):
        """A random kernel, and a random noise."""
        chance = random.Random(1000 * size + run)
        weights = [w * chance.uniform(0.2, 5) for w in WEIGHTS]
        return KERNEL % (self.sim, chance.uniform(0.1, 0.9), chance.uniform(0.05, 0.8), *weights), "%.4g" % chance.uniform(
            0.02, 0.5
        )

    def steps(self, run, size, kernel, *more):
        """Draw, learn, show, predict the test rows."""
        table, model = self.labelled(run), self.lab.file("model")
        common = ["--vectors", self.vectors, "-q"]
        return [
            self.sample(),
            self.lab.luthier(
                "fit {} --where {} --target y --kernel {} {} -o {} {}", table, self.training(size), kernel, more, model, common
            ),
            self.lab.luthier("show {} --json", model),
            self.lab.luthier("predict {} {} --where part=test {}", model, table, common),
        ]

    def test_r(self, run, answer):
        with open(self.labelled(run)) as file:
            y = [float(line.split("\t")[1]) for line in file if line.startswith("test\t")]
        return correlated(y, [float(cells[1]) for cells in answer.lines()])
