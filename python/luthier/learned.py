"""What a fitted Gaussian process learned: hyperparameters, the weights of a mean, symbols; and the
evidence at other values."""

from __future__ import annotations

from ctypes import byref, c_double
from typing import Any, Callable, Dict, List, Optional

import numpy as np

from ._library import lib
from ._types import Array, ArrayLike
from .errors import Error
from .kernel import _LEAST


class Learned:
    """What `GPRegressor` and `GPClassifier` share of it."""

    log_evidence_: float
    _context_of_fitted: Callable[[], Any]
    _pointer: Any

    def _params(self):
        out, i = [], 0
        while p := lib.lth_gp_param_at(self._pointer, i):
            out.append(p)
            i += 1
        return out

    def mean_weights(self, target: int = 0) -> Dict[str, Any]:
        """What one unit of each number column adds, where the kernel is linear in them, as a
        `mean` is: {"columns": {name: {"weight", "sd", "deviation"}}, "share"}.

        `sd` is the standard deviation of the weight, `deviation` that of the column, `share` the
        mean's part of the variance over training rows. `target` is the number of a target, or of
        a class in the order of their names.
        """
        trend = self._context_of_fitted().create(lib.lth_gp_trend, self._pointer, target)
        columns, i = {}, 0
        while w := lib.lth_trend_weight_at(trend, i):
            columns[w.column.decode()] = {"weight": w.weight, "sd": w.sd,
                                          "deviation": w.deviation}
            i += 1
        share = lib.lth_trend_share(trend)
        lib.lth_trend_free(trend)
        return {"columns": columns, "share": share}

    def _symbols(self):
        out, i = [], 0
        while s := lib.lth_gp_symbol_at(self._pointer, i):
            out.append({"symbol": s.symbol.decode(), "kernel": s.kernel.decode(),
                        "decay": s.decay, "alpha": s.alpha, "nodes": s.count})
            i += 1
        return sorted(out, key=lambda s: (-s["decay"], -s["nodes"], s["symbol"].encode()))

    # ---- The evidence ----

    def _learned(self):
        """[(numbers, path, whether by its logarithm)] of what `theta_` holds; tied ones are one."""
        kernel = self._c("kernel")(self._pointer)
        signed = {p.path for p in (lib.lth_kernel_param(kernel, i) for i in
                                   range(lib.lth_kernel_params(kernel))) if p.lo < 0}
        groups = {}
        for i, p in enumerate(self._params()):
            if not p.held:
                in_kernel = i < lib.lth_kernel_params(kernel)
                by_log = p.path not in signed and (in_kernel or p.value > 0)
                groups.setdefault(p.tag or i, ([], p.path.decode(), by_log))[0].append(i)
        return list(groups.values())

    @property
    def theta_names_(self) -> List[str]:
        """Paths of the hyperparameters that were learned, in the order of `theta_`; of tied ones
        the first."""
        return [path for _, path, _ in self._learned()]

    @property
    def theta_(self) -> Array:
        """Logarithms of the hyperparameters that were learned, the model's own (noise) last; as they
        are, where they may be negative."""
        values = [p.value for p in self._params()]
        return np.array([np.log(max(values[group[0]], _LEAST)) if by_log else values[group[0]]
                         for group, _, by_log in self._learned()])

    @property
    def log_marginal_likelihood_value_(self) -> float:
        """The same as `log_evidence_`."""
        return self.log_evidence_

    def log_marginal_likelihood(self, theta: Optional[ArrayLike] = None,
                                eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        """The evidence of the training rows at other values, without learning.

        Parameters
        ----------
        theta : array-like, optional
            As `theta_`, by the names of `theta_names_`; None = the values of the model.
        eval_gradient : bool
            Return the derivatives by `theta`, too.
        clone_kernel : bool
            Of scikit-learn: the model stays as it is in any case.

        Returns
        -------
        float, or (float, ndarray)
            In the units of y, without priors. Not for a model that keeps inducing rows alone.
        """
        if theta is None and not eval_gradient:
            return self.log_evidence_
        context, groups = self._context_of_fitted(), self._learned()
        values = np.array([p.value for p in self._params()], dtype=np.float64)
        if theta is not None:
            theta = np.asarray(theta, dtype=np.float64)
            if theta.shape != (len(groups),) or not np.isfinite(theta).all():
                raise Error(f"theta wants {len(groups)} numbers: " + ", ".join(self.theta_names_))
            for (group, _, by_log), x in zip(groups, theta):
                values[group] = np.exp(x) if by_log else x
        gradient = np.empty(len(values))
        out = c_double()
        context.call(lib.lth_gp_evidence, self._pointer, values.ctypes.data, len(values),
                     byref(out), gradient.ctypes.data if eval_gradient else None, long=True)
        if not eval_gradient:
            return out.value
        return out.value, np.array([gradient[group].sum() * (values[group[0]] if by_log else 1)
                                    for group, _, by_log in groups])
