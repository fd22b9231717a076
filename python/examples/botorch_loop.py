"""luthier in a loop of BoTorch's kind, where something generates rows and something measures them.

`Generator` has `gen` and `ingest`, for loops that call an optimiser. `luthier.botorch.FittedGP` is
a BoTorch model of a fitted estimator, so that all of BoTorch's acquisition functions can be
computed from luthier's joint posterior (docs/torch.md has more). Without BoTorch only the first
one is run.
"""

import itertools

import numpy as np

import luthier as lt

LETTERS = "ACDEF"
CANDIDATES = ["".join(letters) for letters in itertools.product(LETTERS, repeat=4)]
EFFECTS = np.random.default_rng(1).normal(size=(4, len(LETTERS)))


def measure(texts):
    """A landscape: an effect of each letter at each place, and of one pair."""
    at = np.array([[LETTERS.index(letter) for letter in text] for text in texts])
    return EFFECTS[np.arange(4), at].sum(axis=1) + ((at[:, 1] == 2) & (at[:, 2] == 3))


class Generator:
    """`gen(n)` suggests rows, `ingest(X, y)` takes what was measured."""

    def __init__(self, kernel, **options):
        self.design = lt.Design(kernel, **options)

    def gen(self, n=1):
        return self.design.ask(n)

    def ingest(self, X, y):
        self.design.tell(X, y)

    @property
    def best(self):
        return self.design.best


def botorch_batch(texts, y, n):
    """Rows by BoTorch's own acquisition function and its search through a list."""
    from botorch.acquisition.logei import qLogExpectedImprovement
    from botorch.optim import optimize_acqf_discrete

    from luthier.botorch import FittedGP

    gp = lt.GPRegressor("sites(text)", restarts=0).fit(texts, y)
    model = FittedGP(gp, texts)
    rest = [text for text in CANDIDATES if text not in set(texts)]
    acquisition = qLogExpectedImprovement(model, best_f=float(max(y)))
    found, _ = optimize_acqf_discrete(acquisition, q=n, choices=model.rows(rest))
    return model.rows[found]


def main():
    generator = Generator("sites(text)", candidates=CANDIDATES, restarts=0)
    for _ in range(4):
        X = generator.gen(12)
        generator.ingest(X, measure(X))
    text, value = generator.best
    place = int((measure(CANDIDATES) > value).sum()) + 1
    print(f"luthier: {text} {value:.2f}, number {place} of {len(CANDIDATES)}, after 48 rows")
    assert place <= 5

    try:
        import botorch  # noqa: F401
    except ImportError:
        print("BoTorch is not installed: its acquisition functions are left out")
        return
    texts = list(np.random.default_rng(2).permutation(CANDIDATES)[:24])
    for _ in range(2):
        texts += botorch_batch(texts, measure(texts), 4)
    value = measure(texts).max()
    place = int((measure(CANDIDATES) > value).sum()) + 1
    print(f"BoTorch with luthier's posterior: number {place}, after {len(texts)} rows")


if __name__ == "__main__":
    main()
