"""Kernels that the caller computes: matrices (``kernel="precomputed"``) and Python functions.

Either way the C library is given numbers, by its kernel ``precomputed``: of each row its values with
the training rows, and then with itself.
"""

from __future__ import annotations

import re
from typing import Optional

import numpy as np

from . import tables
from ._types import ArrayLike
from .errors import Error

_COLUMN = "k"  # of the values: k1, k2, ...
_ALIKE = 1e-6  # two values of a pair may differ by this part of the largest one
_BLOCK = 32    # rows whose values with themselves a function is asked for at a time


class Precomputed:
    """Values of new rows with the training rows, for a model that was fitted with
    ``kernel="precomputed"``: what a matrix alone does not tell, beside it.

    Parameters
    ----------
    K : array-like of shape (rows, training rows)
    diagonal : array-like of shape (rows,) or float, optional
        k(x, x) of each row, for variances. None is good where all training rows have the same, as
        in a normalised matrix: then new rows have it too.
    among : array-like of shape (rows, rows), optional
        The values of the new rows among themselves, for `return_cov` and `sample_y`; its diagonal
        is the above.
    """

    def __init__(self, K: ArrayLike, diagonal: Optional[ArrayLike] = None,
                 among: Optional[ArrayLike] = None) -> None:
        self.K = K
        self.diagonal = diagonal
        self.among = among

    def __len__(self) -> int:
        return int(np.shape(self.K)[0])


def is_given(kernel):
    """Whether a kernel is neither an expression nor one of ours."""
    return kernel == "precomputed" if isinstance(kernel, str) else (
        callable(kernel) and not hasattr(kernel, "expression"))


def in_expression(expression):
    """Of a fitted model: the training rows of a kernel that is a matrix and nothing else, or 0."""
    found = re.fullmatch(r"(?:[^ ]+ \* )?precomputed\(k1\.\.k(\d+)\)", expression)
    return int(found[1]) - 1 if found else 0


def of(kernel, X):
    """(Given, values) of the training rows."""
    if kernel == "precomputed":
        K = _matrix(X.K if isinstance(X, Precomputed) else X, "X")
        source = None
    else:
        K = _square(kernel, X, len(_rows(X)))
        source = kernel, X
    if K.shape[0] != K.shape[1]:
        raise ValueError("Precomputed matrix must be a square matrix. Input is a "
                         f"{K.shape[0]}x{K.shape[1]} matrix.")
    K = _symmetric(K)
    own = np.diag(K)
    same = float(own[0]) if np.ptp(own) <= 1e-12 * abs(own[0]) else None
    return Given(source, len(K), same), np.column_stack([K, own])


class Given:
    """What a fitted model keeps of such a kernel."""

    def __init__(self, source, count, same=None):
        self._source = source  # the function and the training rows, or None
        self._count = count    # of training rows
        self._same = same      # k(x, x) where all training rows have the same, else None

    def expression(self, has_size):
        """Where a size is learned, it is the number in front."""
        return ("1 * " if has_size else "") + f"precomputed({_COLUMN}1..{_COLUMN}{self._count + 1})"

    def values(self, X):
        """(values of new rows, whether those with themselves are among them)."""
        if self._source is None:
            K, own = (X.K, X.diagonal) if isinstance(X, Precomputed) else (X, None)
            K = _matrix(K, "X")
            if own is None and isinstance(X, Precomputed) and X.among is not None:
                own = np.diag(self.among(X))
        else:
            kernel, training = self._source
            K = _called(kernel, (X, training), len(_rows(X)))
            own = _own(kernel, X)
        if K.shape[1] != self._count:
            raise ValueError(f"X has {K.shape[1]} features, but the kernel is expecting "
                             f"{self._count} features as input: its values with each of the "
                             "training rows")
        known = own is not None or self._same is not None
        own = own if own is not None else self._same or 0.0
        try:
            own = np.broadcast_to(np.asarray(own, dtype=np.float64), len(K))
        except ValueError:
            raise Error(f"diagonal wants a number for each of {len(K)} rows") from None
        return np.column_stack([K, own]), known

    def among(self, X):
        """The values of new rows among themselves."""
        if self._source is not None:
            kernel, count = self._source[0], len(_rows(X))
            K = _square(kernel, X, count)
        elif isinstance(X, Precomputed) and X.among is not None:
            K, count = _matrix(X.among, "among"), len(X)
        else:
            raise Error("the values of new rows among themselves are not known: give X as "
                        "luthier.Precomputed(K, among=...), for covariances")
        if K.shape != (count, count):
            raise Error(f"among wants {count} x {count} numbers, not the shape {K.shape}")
        return _symmetric(K)


def covariances(values, among, variances):
    """Of the function at new rows: an array for each target, by `variances(values)` of rows. Values
    add up as f does, so f_a + f_b has a variance as a row has: cov = (var(a + b) - var a - var b) / 2.
    """
    count = len(values)
    alone = variances(values)
    out = np.empty((len(alone), count, count))
    out[:, range(count), range(count)] = alone
    for a in range(1, count):
        both = values[:a] + values[a]
        both[:, -1] = among[a, a] + np.diag(among)[:a] + 2 * among[a, :a]
        part = (variances(both) - alone[:, :a] - alone[:, a:a + 1]) / 2
        out[:, a, :a] = out[:, :a, a] = part
    return out


def named(values):
    """As columns that the expression reads."""
    return {_COLUMN: values}


def _rows(X):
    return X if hasattr(X, "__len__") else tables.as_rows(X)


def _matrix(values, what):
    values = tables.as_rows(values)
    if tables.is_frame(values):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise Error(f"Complex data not supported: {what} has complex numbers")
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise Error(f"{what} wants a matrix of numbers, the values of rows with the training "
                    "rows") from None
    if array.ndim != 2:
        raise Error(f"Expected 2D array, got {array.ndim}D array instead: {what} wants the values "
                    "of each row with the training rows. Reshape your data")
    if 0 in array.shape:
        raise Error(f"Found array with 0 sample(s) or feature(s) (shape={array.shape}) while a "
                    "minimum of 1 is required.")
    if not np.isfinite(array).all():
        i, j = np.argwhere(~np.isfinite(array))[0]
        raise Error(f"{what}[{i}, {j}] contains NaN or infinity; luthier wants finite numbers",
                    "EFORMAT", int(i) + 1)
    return array


def _called(kernel, arguments, count):
    K = _matrix(kernel(*arguments), "what the kernel returned")
    if len(K) != count:
        raise Error(f"the kernel returned a matrix of shape {K.shape} for {count} rows")
    return K


def _square(kernel, X, count):
    """Of rows among themselves. A kernel of scikit-learn is another one without Y: noise is on its
    diagonal."""
    return _called(kernel, (X,) if hasattr(kernel, "diag") else (X, X), count)


def _own(kernel, X):
    """k(x, x) of each row."""
    if hasattr(kernel, "diag"):
        return kernel.diag(X)
    return np.concatenate([np.diag(_called(kernel, (some, some), len(some)))
                           for some in (rows for _, rows in tables.chunks(X, _BLOCK))])


def _symmetric(K):
    apart = np.abs(K - K.T)
    if apart.max() > _ALIKE * np.abs(K).max():
        i, j = np.unravel_index(apart.argmax(), K.shape)
        raise Error(f"the matrix is not symmetric: X[{i}, {j}] is {K[i, j]:.10g}, "
                    f"X[{j}, {i}] is {K[j, i]:.10g}", "EFORMAT", int(i) + 1)
    return (K + K.T) / 2
