"""What kernels say by themselves: draws from the prior, and how alike two of them are."""

from __future__ import annotations

from ctypes import byref, c_double
from typing import Any, Mapping, Optional

import numpy as np

from . import _c
from ._context import Context, seed_of
from ._library import lib
from ._types import Array, Random, Rows
from .errors import Error, from_c


def _options(likelihood, noise, warp, lower, upper, more):
    from .gp import _OF_LABELS, _OF_NUMBERS
    from .model import strings
    known = {**_OF_LABELS, **_OF_NUMBERS}
    if likelihood not in known:
        raise Error(f"likelihood wants one of {', '.join(known)}, not {likelihood!r}")
    options = _c.GpSampleOptions()
    lib.lth_gp_sample_options_init(byref(options))
    options.likelihood = known[likelihood]
    options.warp = None if warp is None else str(warp).encode()
    options.lower = np.nan if lower is None else float(lower)
    options.upper = np.nan if upper is None else float(upper)
    values = {**({} if noise is None else {"noise": noise}), **(more or {})}
    texts = [f"{name}={','.join(repr(float(v)) for v in np.atleast_1d(value))}"
             for name, value in values.items()]
    options.set, options.set_count = strings(texts, "set")
    return options


class Prior:
    """What `Kernel` can draw."""

    expression: str
    vectors: Any
    n_jobs: Optional[int]
    precision: str
    device: str
    cluster: str

    def sample(self, X: Rows, n_samples: int = 1, noise: Optional[float] = 0.0, *,
               likelihood: str = "gaussian", warp: Optional[str] = None,
               lower: Optional[float] = None, upper: Optional[float] = None,
               set: Optional[Mapping[str, Any]] = None, random_state: Random = 0) -> Array:
        """Draws from the prior at these rows: f of mean 0 and of the covariances that the kernel
        gives, with what a likelihood makes of it.

        Parameters
        ----------
        X : rows
        n_samples : int
        noise : float
            The variance of normal noise; 0 draws f itself. None = where learning would start.
        likelihood, warp, lower, upper
            As for `GPRegressor` and `GPClassifier`; labels are drawn as -1 and 1.
        set : dict, optional
            Other values of the likelihood, ``{"dof": 4}``, and "mean", which is added to f.
        random_state : int or generator, optional
            None = another draw each time.

        Returns
        -------
        ndarray of shape (rows, n_samples)
        """
        from .kernel import Parsed, _Encoded, expression_of, without_stars
        from .model import positive
        count = positive(n_samples, "n_samples", 1)
        if noise is not None and not noise >= 0:
            raise Error(f"noise wants a variance of at least 0, not {noise!r}")
        if likelihood != "gaussian" and noise == 0:
            noise = None
        seed = seed_of(np.random.default_rng() if random_state is None else random_state)
        context = Context(self.n_jobs, self.precision, seed, self.device, self.cluster)
        parsed = Parsed(context, without_stars(expression_of(self.expression), X))
        encoded = _Encoded(parsed, self.vectors, parsed.read(X))
        rows = lib.lth_items_count(encoded.items[0])
        out = np.empty((count, rows))
        if likelihood == "gaussian" and noise is not None and not set:
            parsed.context.call(lib.lth_gp_sample, parsed.pointer, encoded.items[0], float(noise),
                                count, out.ctypes.data, long=True)
        else:
            options = _options(likelihood, noise, warp, lower, upper, set)
            parsed.context.call(lib.lth_gp_sample_as, parsed.pointer, encoded.items[0],
                                byref(options), count, out.ctypes.data, long=True)
        return np.ascontiguousarray(out.T)


def align(a: Any, b: Any, X: Optional[Rows] = None, *, center: bool = False) -> float:
    """How alike two kernels are on these rows: the cosine between their matrices, 1 if they are the
    same up to a factor.

    Parameters
    ----------
    a, b : Kernel, str, or array-like of shape (rows, rows)
        Kernels, expressions or matrices. With ``np.outer(y, y)`` for `b`, how well a kernel suits y.
    X : rows
        Not needed where both are matrices.
    center : bool
        Take the means of rows and columns out of both first.
    """
    from .kernel import Kernel
    matrices = []
    for one in (a, b):
        one = Kernel(one) if isinstance(one, str) else one
        if isinstance(one, Kernel):
            if X is None:
                raise Error("align wants X, the rows that the kernels compare")
            one = one.gram(X)
        matrices.append(np.ascontiguousarray(one, dtype=np.float64))
    A, B = matrices
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape != B.shape:
        raise Error(f"align wants two square matrices of the same shape, not {A.shape} and {B.shape}")
    out, error = c_double(), _c.Error()
    if lib.lth_gram_align(A.ctypes.data, B.ctypes.data, len(A), bool(center), byref(out),
                          byref(error)):
        raise from_c(error)
    return out.value
