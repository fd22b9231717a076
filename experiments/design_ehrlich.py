"""Texts designed: Ehrlich functions."""

import importlib.util, sys

from lab import HERE, Missing
from text import block, show, table

PAPER = "hdbo_benchmark, González-Duque et al. (2024); Ehrlich functions, Stanton et al. (2024)"
FILES = []
SEEDS = {15: 10, 64: 5}
# Mean of the best value over 5 functions, 300 texts after the first ones
PUBLISHED = [
    ("TuRBO", ".480", ".124"),
    ("RandomLineBO", ".472", ".084"),
    ("directed evolution", ".448", ".114"),
    ("Bounce", ".416", ".076"),
    ("BAxUS", ".400", ".077"),
    ("genetic algorithm", ".336", ".083"),
    ("VanillaBO", ".328", ".079"),
]
# Length: kernel, and options of the campaign; chosen by functions 101 to 104 (64 letters: by 101 alone), which are not among those of the table
CAMPAIGNS = {
    15: ("sites(text, ard=no, form=both)", ["--trust", "8", "--evaluations", "1000", "--max-iter", "10"]),
    64: ("sites(text, ard=no, form=both, variance=0.2, additive=0.2, exponent=0.05) + 0.6 * normalize(gkm(text, l=12, k=2))",
         ["--tries", "0", "--trust", "8", "--batch", "5", "--evaluations", "3000", "--model-rows", "600", "--hold", "--noise", "0.0002"]),
}
SECONDS = {15: 60, 64: 180}
QUICK = ["--first", "20", "--budget", "4", "--batch", "2", "--evaluations", "300", "--max-iter", "3"]


def measure(lab):
    if not lab.plan and importlib.util.find_spec("holo") is None:
        raise Missing("there is no pytorch-holo: pip install pytorch-holo")
    for length, (kernel, more) in CAMPAIGNS.items():
        for seed in range(1, 1 + (1 if lab.quick else SEEDS[length])):
            lab.row("%d letters / %d" % (length, seed), [command(length, seed, kernel, more + (QUICK if lab.quick else []))],
                    lambda a: a[0].json(), SECONDS[length])


def command(length, seed, kernel, more):
    return [sys.executable, HERE + "/programs/ehrlich_campaign.py", str(length), str(seed), "--kernel", kernel, *more]


def page(results):
    rows = results["design_ehrlich"]
    found = {length: [r["values"] for name, r in rows.items() if name.startswith("%d letters / " % length)] for length in CAMPAIGNS}
    text = """Texts of 15 or 64 letters (20 of them, as amino acids) with the highest value of an unknown function: the product, over 2 or 4 motifs
with gaps, of the share of the motif that a text has somewhere. Some letters may not follow each other, which has to be found out: such a text has no value.
The first 10 or 1,000 texts are given, 300 more are measured. The figure is the best value that was measured, a mean over functions: published ones over 5, ours over
%s. The functions are of the same kind as the published ones, but not the same.

%s

""" % (" and ".join(str(len(found[length]) or SEEDS[length]) for length in CAMPAIGNS),
       block(*["python3 experiments/programs/ehrlich_campaign.py %d SEED --kernel '%s' %s" % (length, kernel, " ".join(more))
               for length, (kernel, more) in CAMPAIGNS.items()]))
    lines = [["*%s*" % name, *figures] for name, *figures in PUBLISHED]
    lines.append(["the best of the first texts", *[mean(found[length], "first") for length in CAMPAIGNS]])
    lines.append(["`lt.Design`", *[mean(found[length], "best") for length in CAMPAIGNS]])
    return text + table(["", *["%d letters" % length for length in CAMPAIGNS]], lines) + """

The model learns the logarithm of the value. A text is asked for only where all its neighbouring letters were seen in a text with a value; of 15 letters
one pair of which nothing is known may be tried, and where that fails the pair is not tried again. Texts without a value are not learned from. That
neighbours decide, and that the value is a product, is known of these functions and used here; the published methods were given values only.
"""


def mean(found, what):
    return show(sum(v[what] for v in found) / len(found)) if found else ""
