"""One campaign on an Ehrlich function: python3 ehrlich_campaign.py LENGTH SEED; prints what came out as JSON.

The functions are those of pytorch-holo (Stanton et al. 2024): the product, over spaced motifs, of the share of the motif that the
text has at best; a text with a forbidden pair of neighbours has no value. Settings are those of hdbo_benchmark.
"""

import argparse, json, os, sys, warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))

import numpy as np

import luthier as lt

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
MOTIFS = {15: (2, 5), 64: (4, 10)}  # length: how many, and letters of each
FIRST = {15: 10, 64: 1000}  # texts measured before the campaign, draws of the Markov chain: all of them are feasible


class Objective:
    def __init__(self, length, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from holo.test_functions.closed_form import Ehrlich

        count, letters = MOTIFS[length]
        self.function = Ehrlich(num_states=len(LETTERS), dim=length, num_motifs=count, motif_length=letters, quantization=letters,
                                random_seed=seed)
        self.least = letters ** -float(count)  # the least value that is not 0

    def first(self, count):
        return ["".join(LETTERS[i] for i in row) for row in self.function.initial_solution(count).tolist()]

    def __call__(self, texts):
        """-inf where a text is not feasible."""
        import torch

        return self.function(torch.tensor([[LETTERS.index(letter) for letter in text] for text in texts])).numpy().astype(float)

    def logarithm(self, values):
        """A product becomes a sum; 0 is a little less than the least that is not."""
        return np.log(np.maximum(values, 0.4 * self.least))


class Neighbours:
    """Which letters may follow each other, by what was measured: a pair that a feasible text has may.

    A text with at most one pair of which nothing is known is worth a try: if it fails, that pair is the reason.
    """

    def __init__(self, tries):
        self.tries, self.seen, self.forbidden = tries, set(), set()

    def tell(self, texts, values):
        for text, value in zip(texts, values):
            new = pairs(text) - self.seen
            if np.isfinite(value):
                self.seen |= new
            elif len(new) == 1:
                self.forbidden |= new

    def allow(self, texts):
        return np.array([self.allows(pairs(text)) for text in texts], bool)

    def allows(self, found):
        new = found - self.seen
        return len(new) <= self.tries and not new & self.forbidden


def pairs(text):
    return set(zip(text, text[1:]))


def campaign(o):
    objective, neighbours = Objective(o.length, o.seed), Neighbours(o.tries)
    texts = objective.first(o.first or FIRST[o.length])
    values = objective(texts)
    neighbours.tell(texts, values)
    design = lt.Design(o.kernel, space="alphabet=%s, length=%d" % (LETTERS, o.length), valid=neighbours.allow, trust=o.trust or None,
                       acquisition=o.acquisition, evaluations=o.evaluations, restarts=0, max_iter=o.max_iter, learn=not o.hold,
                       noise=o.noise, random_state=o.seed)
    # All first texts say which neighbours are allowed; the model needs the best of them only
    best_first = np.argsort(-values, kind="stable")[: o.model_rows]
    design.tell([texts[i] for i in best_first], objective.logarithm(values[best_first]))
    curve, infeasible = [float(values.max())], 0
    while len(curve) <= o.budget:
        asked = design.ask(min(o.batch, o.budget + 1 - len(curve)))
        values = objective(asked)
        neighbours.tell(asked, values)
        good = np.isfinite(values)
        if good.any():
            design.tell([text for text, yes in zip(asked, good) if yes], objective.logarithm(values[good]))
        if not good.all():
            design.forget([text for text, yes in zip(asked, good) if not yes])
        infeasible += int((~good).sum())
        for value in values:
            curve.append(max(curve[-1], float(value)))
        if o.progress:
            print("%d\t%.4f\t%d infeasible" % (len(curve) - 1, curve[-1], infeasible), file=sys.stderr, flush=True)
    return {"first": curve[0], "best": curve[-1], "infeasible": infeasible, "curve": curve[:: max(1, o.budget // 30)]}


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("length", type=int, choices=sorted(MOTIFS))
    parser.add_argument("seed", type=int, help="of the function and of the search")
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--budget", type=int, default=300, help="texts measured after the first ones")
    parser.add_argument("--first", type=int, default=0, help="texts measured before; 0 = as published")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--trust", type=int, default=0)
    parser.add_argument("--tries", type=int, default=1, help="pairs of neighbours in a text of which nothing is known, at most")
    parser.add_argument("--acquisition", default="auto")
    parser.add_argument("--evaluations", type=int, default=5000, help="of the acquisition, for each question")
    parser.add_argument("--model-rows", type=int, default=250, help="of the first texts, the best so many are learned from")
    parser.add_argument("--max-iter", type=int, default=20)
    parser.add_argument("--hold", action="store_true", help="hyperparameters are those of the kernel")
    parser.add_argument("--noise", type=float, help="to start from, or to hold")
    parser.add_argument("--progress", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    print(json.dumps(campaign(options())))
