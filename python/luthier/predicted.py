"""What a Gaussian process says of the numbers of new rows: points, quantiles, densities."""

from __future__ import annotations

from ctypes import byref, sizeof
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from . import _c, given as givens, kernel as kernels, labels, model, rows, tables
from ._library import lib
from ._types import Array, ArrayLike, Column, Random, Rows
from .errors import Error


def _draw(mean, covariance, count, random):
    """(rows, count) from a normal distribution whose matrix may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return mean[:, None] + root @ random.standard_normal((len(mean), count))


class Predicted:
    """The predictions of `GPRegressor`."""

    likelihood: str
    likelihood_: str
    n_targets_: int
    _rows: int
    _pointer: Any
    _context_of_fitted: Callable[[], Any]

    def _rows_of(self, X, exposure, given=None, spread=True):
        """The table of new rows; `table.given` are the names of targets that it has."""
        name, targets = lib.lth_gp_exposure(self._pointer), {}

        def known(count):
            if given is not None:
                targets.update(rows.given(X, count, self._target_names(), given))
            return targets

        def more(count):
            return {**known(count), **rows.exposure(X, count, name.decode(), exposure)}

        table = (super()._rows_of(X, exposure, known, spread) if name is None
                 else self._new_rows(X, more, spread))
        table.given = list(targets)
        return table

    def _target_names(self):
        return [lib.lth_gp_target(self._pointer, i).decode() for i in range(self.n_targets_)]

    def _predict_all(self, table, names, level=0.0, y=None):
        """{name: (targets, rows)} of what lth_gp_prediction has."""
        out = {name: np.empty((self.n_targets_, table.rows)) for name in names}
        to = _c.GpPrediction(level=level, **{name: a.ctypes.data for name, a in out.items()})
        to.given, to.given_count = model.strings(table.given, "given")
        if y is not None:
            to.y = y.ctypes.data
        self._predict_call("predict_all", table, byref(to), sizeof(to))
        return out

    def _shaped(self, array):
        return array.T if self._several else array[0]

    def predict(self, X: Rows, return_std: bool = False, latent: bool = False, *,
                return_cov: bool = False, exposure: Optional[Column] = None,
                given: Any = None) -> Any:
        """The mean for each row (the median, if the model was fitted with `point`), and with
        `return_std` its standard deviation.

        The deviation is that of y, noise included; with `latent` both are those of the function
        itself. `exposure` is one number for each row, or the name of a column of X.

        `return_cov`, instead of `return_std`: means and covariances of the rows among each other,
        (rows, rows) or with several targets (rows, rows, targets). Both are of the function itself,
        as with `latent`: there is no noise on the diagonal.

        `given`, with `coregion`: targets of these rows that are known, from which the others are
        foretold. A dict or frame of numbers by the names of targets, names of columns of X, or an
        array with a column for each target; NaN is not known. Targets of a y without names are
        "y1", "y2", ... The other predictions of numbers take it too.
        """
        if return_cov:
            if return_std or given is not None:
                raise Error("return_cov goes neither with return_std nor with given")
            return self._predict_joint(X)
        names = ["latent_mean" if latent else "point", "latent_sd" if latent else "sd"]
        # The mean of f, and of y where noise is normal, is what it is whatever the variance.
        spread = return_std or not (latent or self.likelihood_ == "gaussian")
        found = self._predict_all(self._rows_of(X, exposure, given, spread),
                                  names[:1 + bool(return_std)])
        out = tuple(self._shaped(found[name]) for name in found)
        return out if return_std else out[0]

    def _joint_of_given(self, X):
        """Where the caller computes the kernel."""
        if self.posterior_ in ("cg", "inducing") or self.draws_:
            raise Error("covariances of a kernel that the caller computes want the exact posterior, "
                        "and no average")
        values, _ = self._given.values(X)

        def predicted(values, name):
            columns = kernels.read(givens.named(values), self._columns, self.kernel_.expression)
            table = tables.Table(self._context, columns)
            table.given = []
            return self._predict_all(table, [name])[name]

        matrices = givens.covariances(values, self._given.among(X),
                                      lambda rows: predicted(rows, "latent_sd") ** 2)
        return self._shaped(predicted(values, "latent_mean")), (
            np.moveaxis(matrices, 0, -1) if self._several else matrices[0])

    def _predict_joint(self, X):
        if self._pointer and self._given is not None:
            return self._joint_of_given(X)
        table = self._new_rows(X)
        mean = np.empty((self.n_targets_, table.rows))
        covariance = np.empty((self.n_targets_, table.rows, table.rows))
        self._predict_call("predict_joint", table, mean.ctypes.data, covariance.ctypes.data)
        return self._shaped(mean), (np.moveaxis(covariance, 0, -1) if self._several
                                    else covariance[0])

    def sample_y(self, X: Rows, n_samples: int = 1, random_state: Random = 0) -> Array:
        """Draws of the function at these rows from their joint posterior, without noise: an array
        (rows, n_samples), or with several targets (rows, targets, n_samples). Each target is drawn
        by itself. Before `fit`: from the prior, with the values that the kernel has.

        `random_state` is a seed, a generator of NumPy, or None for another draw each time.
        """
        count = model.positive(n_samples, "n_samples", 1)
        if "_model" not in self.__dict__:
            mean, covariance = self._prior(X)
        else:
            mean, covariance = self._predict_joint(X)
        random = (random_state if hasattr(random_state, "standard_normal")
                  else np.random.default_rng(random_state))
        several = mean.ndim == 2
        means = mean.T if several else [mean]
        matrices = np.moveaxis(covariance, -1, 0) if several else [covariance]
        draws = np.array([_draw(m, C, count, random) for m, C in zip(means, matrices)])
        return np.moveaxis(draws, 0, 1) if several else draws[0]

    def _prior(self, X):
        """(mean, covariances) before anything is learned."""
        if givens.is_given(self.kernel):
            _, values = givens.of(self.kernel, X)
            K = values[:, :-1]
        else:
            expression = kernels.without_stars(kernels.expression_of(self.kernel), X)
            K = kernels.Kernel(expression, self.vectors, self.n_jobs, self.precision,
                               self.device, self.cluster).gram(X)
        return np.zeros(len(K)), K

    def predict_interval(self, X: Rows, level: float = 0.95, *, exposure: Optional[Column] = None,
                         given: Any = None) -> Tuple[Array, Array]:
        """(lower, upper): between them y is with this probability, and as probably on either side
        of them."""
        if not 0 < level < 1:
            raise Error(f"level wants a number between 0 and 1, not {level!r}")
        found = self._predict_all(self._rows_of(X, exposure, given), ["lower", "upper"], level)
        return self._shaped(found["lower"]), self._shaped(found["upper"])

    def predict_quantiles(self, X: Rows, shares: ArrayLike = (0.025, 0.5, 0.975), *,
                          exposure: Optional[Column] = None, given: Any = None) -> Array:
        """y below which these shares of the probability are: an array for each of them, first
        axis; of counts and grades the least y with at least that share."""
        table, out = self._rows_of(X, exposure, given), []
        for share in np.atleast_1d(np.asarray(shares, dtype=float)):
            if not 0 < share < 1:
                raise Error(f"a share is between 0 and 1, not {share!r}")
            name = "median" if share == 0.5 else "lower" if share < 0.5 else "upper"
            found = self._predict_all(table, [name], abs(1 - 2 * share))
            out.append(self._shaped(found[name]))
        return np.array(out)

    def _under(self, X, y, exposure, given, name):
        table = self._rows_of(X, exposure, given)
        numbers, _ = labels.numbers(y, table.rows, set(), self)
        truth = np.ascontiguousarray([column._values for column in numbers.values()])
        if truth.shape != (self.n_targets_, table.rows):
            raise Error(f"y wants {self.n_targets_} numbers for each row")
        return self._shaped(self._predict_all(table, [name], y=truth)[name])

    def log_density(self, X: Rows, y: ArrayLike, *, exposure: Optional[Column] = None,
                    given: Any = None) -> Array:
        """The logarithm of the density of each y under its prediction; of what has a probability
        of its own (grades, counts, bounds), of that."""
        return self._under(X, y, exposure, given, "log_density")

    def cdf(self, X: Rows, y: ArrayLike, *, exposure: Optional[Column] = None,
            given: Any = None) -> Array:
        """The probability below each y, with half of that of y itself. Even between 0 and 1 where
        the model is honest: see `luthier.plot.pit`."""
        return self._under(X, y, exposure, given, "cdf")

    def leave_one_out(self) -> Dict[str, Array]:
        """What is predicted of each training row from all others, hyperparameters as they are.

        Returns
        -------
        dict
            Arrays by training row, or (rows, targets): "y", "mean" (what `predict` gives), "sd",
            "lower" and "upper" (a 95% interval), "log_density" and "cdf" of y. NaN where y was.
            `luthier.metrics` and `luthier.plot` take them. Not with inducing rows.
        """
        names = {"point": "mean", "sd": "sd", "lower": "lower", "upper": "upper",
                 "log_density": "log_density", "cdf": "cdf"}
        context = self._context_of_fitted()
        out = {name: np.empty((self.n_targets_, self._rows)) for name in ("y", *names)}
        for t in range(self.n_targets_):
            y = out["y"][t]
            to = _c.GpPrediction(y=y.ctypes.data,
                                 **{name: out[name][t].ctypes.data for name in names})
            context.call(lib.lth_gp_left_out, self._pointer, t, y.ctypes.data, byref(to),
                         sizeof(to), long=True)
        return {names.get(name, name): self._shaped(values) for name, values in out.items()}

    @property
    def predict_proba(self) -> Callable[[Rows], Array]:
        """Of "ordinal": probabilities of the grades, in the order of `grades_`."""
        fitted = "_model" in self.__dict__
        if (self.likelihood_ if fitted else self.likelihood) != "ordinal":
            raise AttributeError('predict_proba goes with likelihood="ordinal"')
        return self._predict_grades

    def _predict_grades(self, X):
        if self.n_targets_ != 1:
            raise Error("probabilities of grades are those of one target; the model has "
                        f"{self.n_targets_}")
        table = self._new_rows(X)
        out = np.empty((table.rows, len(self.grades_)))
        to = _c.GpPrediction(probability=out.ctypes.data)
        self._predict_call("predict_all", table, byref(to), sizeof(to))
        return out
