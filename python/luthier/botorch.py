"""Models over strings, trees and numbers for BoTorch.

`KernelGP` is a `SingleTaskGP` with a kernel of luthier, learned by BoTorch. `FittedGP` is the
posterior of a fitted `luthier.GPRegressor`. Both have `rows`, which turns rows into inputs and back:

    >>> model = KernelGP(texts, y, "normalize(ssk(text, order=3))")
    >>> fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    >>> found, _ = optimize_acqf_discrete(acquisition, q=4, choices=model.rows(candidates))
    >>> model.rows[found]

This module needs PyTorch, GPyTorch and BoTorch; ``import luthier`` does not import them.
"""

import math

import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.models.utils.gpytorch_modules import MIN_INFERRED_NOISE_LEVEL
from botorch.posteriors import GPyTorchPosterior
from botorch.utils.types import DEFAULT
from gpytorch.constraints import GreaterThan
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean

from .errors import Error
from .gpytorch import Kernel, Rows
from .torch import kernel_of

__all__ = ["FittedGP", "KernelGP"]

_TOGETHER = 256  # of a batch: joint posteriors that are asked for at once


def _targets(y, rows, what):
    """Numbers as (rows, outputs)."""
    y = torch.as_tensor(np.asarray(y) if not isinstance(y, torch.Tensor) else y).double()
    y = y[:, None] if y.ndim == 1 else y
    if y.ndim != 2 or len(y) != rows:
        raise Error(f"{what} has the shape {tuple(y.shape)}, but there are {rows} rows")
    return y


def _likelihood(least, outputs=torch.Size([])):
    bound = GreaterThan(least, transform=None, initial_value=0.5)
    return GaussianLikelihood(noise_constraint=bound, batch_shape=outputs)


class KernelGP(SingleTaskGP):
    """A `botorch.models.SingleTaskGP` with a kernel of luthier, to be learned by
    `botorch.fit.fit_gpytorch_mll`.

    Parameters
    ----------
    X : rows
        Of any kind that `luthier.Kernel.gram` reads, or a tensor of ``rows``.
    Y : array-like
        (rows,) or (rows, outputs); each output has hyperparameters of its own.
    kernel : str or luthier.Kernel
        It may be normalized: outcomes are standardized. A `luthier.Kernel` says where and how to
        compute.
    Yvar : array-like, optional
        The known variance of each y's noise; None = it is learned.
    rows : Rows, optional
        Shared with other models; None = made of X, which then sets what is counted.
    likelihood, mean_module, outcome_transform
        As for `SingleTaskGP`; but noise that is learned has no prior and starts from half of the
        variance, as `luthier.GPRegressor` has it.

    Inputs of `posterior` are tensors of ``model.rows(texts)``, or rows themselves.
    """

    def __init__(self, X, Y, kernel, Yvar=None, *, rows=None, likelihood=None, mean_module=None,
                 outcome_transform=DEFAULT):
        if isinstance(X, torch.Tensor) and rows is None:
            raise Error("X is a tensor: give rows=, of which it has the numbers")
        rows = Rows(X) if rows is None else rows
        X = X.double() if isinstance(X, torch.Tensor) else rows(X)
        Y = _targets(Y, len(X), "Y")
        Yvar = None if Yvar is None else _targets(Yvar, len(X), "Yvar")
        outputs = torch.Size([Y.shape[1]] if Y.shape[1] > 1 else [])
        if likelihood is None and Yvar is None:
            likelihood = _likelihood(MIN_INFERRED_NOISE_LEVEL, outputs)
        super().__init__(
            X, Y, Yvar, likelihood=likelihood, mean_module=mean_module,
            covar_module=Kernel(kernel, rows, batch_shape=outputs, dtype=torch.float64),
            outcome_transform=outcome_transform)
        self.rows = rows

    @classmethod
    def of(cls, estimator, X, y, *, rows=None):
        """The model of a fitted `luthier.GPRegressor` with the values it learned from X and y: the
        same posterior, and one that BoTorch can condition on more rows."""
        if estimator.likelihood_ != "gaussian" or estimator.n_targets_ != 1:
            raise Error("KernelGP.of wants a model of one target with Gaussian noise",
                        "EUNSUPPORTED")
        y = _targets(y, len(y), "y")
        spread = 1.0 if estimator.unscaled else float(y.numpy().var()) or 1.0
        kernel = kernel_of(estimator.kernel_)
        kernel = type(kernel)(**{**kernel.get_params(),
                                 "expression": f"{spread!r} * ({kernel.expression})"})
        mean, likelihood = ConstantMean(), _likelihood(least=0.0)
        out = cls(X, y, kernel, rows=rows, mean_module=mean, likelihood=likelihood,
                  outcome_transform=None)
        mean.initialize(constant=0.0 if estimator.zero_mean else float(y.mean()))
        likelihood.noise = estimator.noise_
        out._check(estimator, math.sqrt(spread))
        return out

    def _check(self, estimator, sd):
        some = self.train_inputs[0][:16]
        mean = self.posterior(some).mean.detach()[:, 0].numpy()
        apart = abs(mean - estimator.predict(self.rows[some], latent=True)).max() / sd
        if not apart < 1e-3:
            raise Error(f"the means of this model and of the estimator are {apart:.2g} standard "
                        "deviations apart: KernelGP.of wants the rows of its fit, and that without "
                        "weights, known noise, a noise_kernel, average or inducing rows")

    def posterior(self, X, *arguments, **options):
        """As of every model of BoTorch; X are inputs, (..., q, 1), or rows."""
        X = X if isinstance(X, torch.Tensor) else self.rows(X)
        return super().posterior(X, *arguments, **options)


class FittedGP(Model):
    """The posterior of a fitted `luthier.GPRegressor` as a model of BoTorch.

    It is that of the function itself, in the units of y where the likelihood is Gaussian. It has no
    gradients, and no fantasies: `KernelGP.of` has them.

    Parameters
    ----------
    estimator : luthier.GPRegressor
    rows : Rows or rows
        What inputs are numbers of; more can be added by ``model.rows(texts)``.
    """

    def __init__(self, estimator, rows):
        super().__init__()
        self.estimator = estimator
        self.rows = rows if isinstance(rows, Rows) else Rows(rows)

    @property
    def num_outputs(self):
        """The number of targets."""
        return self.estimator.n_targets_

    @property
    def batch_shape(self):
        """One model."""
        return torch.Size([])

    def posterior(self, X, output_indices=None, observation_noise=False,
                  posterior_transform=None):
        """The joint posterior of q rows for each of a batch; X are inputs, (..., q, 1), or rows."""
        X = X if isinstance(X, torch.Tensor) else self.rows(X)
        numbers = self.rows.numbers(X)
        flat = numbers.reshape(-1, numbers.shape[-1])
        parts = [self._joint(flat[i:i + _TOGETHER], observation_noise)
                 for i in range(0, len(flat), _TOGETHER)]
        mean, covariance = (torch.as_tensor(np.concatenate(p)).to(X) for p in zip(*parts))
        mean = mean.reshape(*numbers.shape, -1)
        covariance = covariance.reshape(*numbers.shape, numbers.shape[-1], -1)
        outputs = range(self.num_outputs) if output_indices is None else output_indices
        each = [MultivariateNormal(mean[..., t], covariance[..., t]) for t in outputs]
        found = GPyTorchPosterior(each[0] if len(each) == 1
                                  else MultitaskMultivariateNormal.from_independent_mvns(each))
        return found if posterior_transform is None else posterior_transform(found)

    def _joint(self, numbers, noisy):
        """Means (batch, q, targets) and covariances (batch, q, q, targets)."""
        unique, at = np.unique(numbers, return_inverse=True)
        at, texts, q = at.reshape(numbers.shape), self.rows.take(unique), numbers.shape[1]
        if q == 1:
            mean, sd = map(self._wide, self.estimator.predict(texts, return_std=True, latent=True))
            mean, covariance = mean[at], (sd ** 2)[at][:, :, None]
        else:
            mean, covariance = self.estimator.predict(texts, return_cov=True)
            mean, covariance = self._wide(mean), covariance.reshape(*covariance.shape[:2], -1)
            mean, covariance = mean[at], covariance[at[:, :, None], at[:, None, :]]
        return mean, covariance + np.eye(q)[:, :, None] * self._noise(texts, at, noisy)

    def _noise(self, texts, at, wanted):
        """The variance of y that the function does not have, (batch, q, 1, targets)."""
        if isinstance(wanted, torch.Tensor):
            raise Error("observation_noise wants True or False", "EUNSUPPORTED")
        if not wanted:
            return 1e-9
        if self.estimator.likelihood_ != "gaussian":
            raise Error("observation_noise goes with a Gaussian likelihood, not with "
                        f"{self.estimator.likelihood_}", "EUNSUPPORTED")
        of_y, of_f = (self._wide(self.estimator.predict(texts, return_std=True, latent=latent)[1])
                      for latent in (False, True))
        return (of_y ** 2 - of_f ** 2)[at][:, :, None]

    def _wide(self, values):
        return values.reshape(len(values), -1)

    def condition_on_observations(self, X, Y, **_):
        """Not of this model."""
        raise NotImplementedError("a FittedGP cannot be conditioned on more rows: use "
                                  "luthier.botorch.KernelGP.of(estimator, X, y), or fit again")

    def fantasize(self, *_, **__):
        """Not of this model."""
        self.condition_on_observations(None, None)
