"""luthier in a loop of BoTorch's kind, where something generates rows and something measures them.

`Generator` has `gen` and `ingest`, for loops that call an optimiser. `posterior_model` makes a
BoTorch model of a fitted estimator, so that all of BoTorch's acquisition functions can be
computed from luthier's joint posterior; its inputs are numbers of candidates. Without BoTorch
only the first one is run.
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


def posterior_model(estimator, candidates):
    """A ``botorch.models.model.Model``: of X, tensors of shape (..., q, 1) with numbers of
    candidates, the joint posterior of q rows."""
    import torch
    from botorch.models.model import Model
    from botorch.posteriors.gpytorch import GPyTorchPosterior
    from gpytorch.distributions import MultivariateNormal

    class LuthierModel(Model):
        num_outputs = 1

        def posterior(self, X, output_indices=None, observation_noise=False,
                      posterior_transform=None):
            at = X[..., 0].round().long()
            rows, which = torch.unique(at, return_inverse=True)
            mean, covariance = estimator.predict([candidates[i] for i in rows.tolist()],
                                                 return_cov=True)
            mean, covariance = torch.as_tensor(mean), torch.as_tensor(covariance)
            noise = estimator.noise_ if observation_noise else 0.0
            among = covariance[which[..., :, None], which[..., None, :]]
            among = among + (noise + 1e-9) * torch.eye(at.shape[-1], dtype=among.dtype)
            posterior = GPyTorchPosterior(MultivariateNormal(mean[which], among))
            return posterior if posterior_transform is None else posterior_transform(posterior)

    return LuthierModel()


def botorch_batch(texts, y, n):
    """Rows by BoTorch's own acquisition function and its search through a list."""
    import torch
    from botorch.acquisition.logei import qLogExpectedImprovement
    from botorch.optim import optimize_acqf_discrete

    gp = lt.GPRegressor("sites(text)", restarts=0).fit(texts, y)
    rest = [text for text in CANDIDATES if text not in set(texts)]
    acquisition = qLogExpectedImprovement(posterior_model(gp, rest), best_f=float(max(y)))
    choices = torch.arange(len(rest), dtype=torch.double)[:, None]
    found, _ = optimize_acqf_discrete(acquisition, q=n, choices=choices)
    return [rest[int(i)] for i in found[:, 0]]


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
