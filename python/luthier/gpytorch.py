"""Kernels over strings, trees and numbers for GPyTorch.

GPyTorch's inputs are tensors. Here they are numbers of rows: `Rows` keeps the rows themselves, gives
each its number, and hands them back.

    >>> rows = Rows(texts)
    >>> kernel = Kernel("normalize(ssk(text, order=3))", rows)
    >>> kernel(rows(texts)).to_dense()

This module needs PyTorch and GPyTorch; ``import luthier`` does not import them.
"""

from collections.abc import Mapping

import gpytorch
import numpy as np
import torch

from . import tables
from . import torch as lt_torch
from .errors import Error

__all__ = ["Kernel", "Rows"]


# ---- Rows and their numbers ----------------------------------------------------------------------

def _as_list(X):
    """The rows of X one by one."""
    X = tables.as_rows(lt_torch.plain(X))
    if isinstance(X, Mapping) or tables.is_frame(X):
        columns = {}
        for name in X if isinstance(X, Mapping) else X.columns:
            if isinstance(X[name], np.ndarray) and X[name].ndim == 2:  # f1, f2, ...
                columns.update((f"{name}{j + 1}", c) for j, c in enumerate(X[name].T.tolist()))
            else:
                columns[name] = X[name]
        counts = {len(c) for c in columns.values()}
        if len(counts) > 1:
            raise Error(f"the columns of X have different numbers of rows: {sorted(counts)}")
        return [dict(zip(columns, row)) for row in zip(*columns.values())]
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        return [tuple(row) for row in X.tolist()]
    return list(X)


def _key(row):
    """What equal rows share."""
    if isinstance(row, Mapping):
        return tuple(sorted((name, _key(value)) for name, value in row.items()))
    if isinstance(row, np.ndarray):
        return row.shape, row.tobytes()
    return tuple(map(_key, row)) if isinstance(row, (list, tuple)) else row


class Rows:
    """Rows with a number each: what GPyTorch and BoTorch see of them.

    Called with rows it gives their numbers, a tensor of shape (rows, 1); rows that are new are
    added, equal ones share a number. ``rows[x]`` goes back from a tensor to rows.

    Parameters
    ----------
    X : rows
        Of any kind that `luthier.Kernel.gram` reads, at least one. They set what is counted:
        frequencies of words, scales of numbers, sites and symbols. Rows added later do not.
    """

    def __init__(self, X):
        self._rows, self._numbers = [], {}
        self(X)
        self.reference = list(self._rows)
        if not self.reference:
            raise Error("Rows wants at least one row")

    def __deepcopy__(self, memo):
        return self  # copies of a model have the same numbers

    def __len__(self):
        return len(self._rows)

    def _number(self, row):
        if tables._is_tree(row):
            row = tables.bracketed(row)
        try:
            key = _key(row)
            number = self._numbers.setdefault(key, len(self._rows))
        except TypeError:
            raise Error(f"row {len(self._rows)} is of type {type(row).__name__}: rows are strings, "
                        "trees, numbers, and tuples, lists and dicts of these") from None
        if number == len(self._rows):
            self._rows.append(row.copy() if isinstance(row, (list, dict)) else row)
        return number

    def __call__(self, X, dtype=torch.float64, device=None):
        """The numbers of rows, (rows, 1)."""
        numbers = [self._number(row) for row in _as_list(X)]
        return torch.tensor(numbers, dtype=dtype, device=device).reshape(-1, 1)

    def __getitem__(self, x):
        """The rows of a tensor (..., 1), in lists as deep as its other dimensions."""
        def taken(numbers):
            return (self._rows[numbers] if isinstance(numbers, int)
                    else [taken(part) for part in numbers])

        return taken(self.numbers(x).tolist())

    def numbers(self, x):
        """The numbers in a tensor (..., 1), checked: an array (...)."""
        if x.ndim == 0 or x.shape[-1] != 1:
            raise Error(f"inputs are numbers of rows, of shape (..., 1), not {tuple(x.shape)}: make "
                        "them by rows(texts), and pick their column by active_dims where there are "
                        "others")
        given = x.detach()[..., 0].cpu().double().numpy()
        numbers = np.rint(given)
        bad = ~((np.abs(given - numbers) < 1e-3) & (numbers >= 0) & (numbers < len(self)))
        if bad.any():
            raise Error(f"{given[bad].flat[0]:g} is not the number of one of {len(self)} rows: make "
                        "inputs by rows(texts), without an input transform")
        return numbers.astype(np.int64)

    def take(self, numbers):
        """A list of the rows with these numbers."""
        return [self._rows[i] for i in numbers.tolist()]

    def __repr__(self):
        return f"Rows({len(self)} rows)"


# ---- The kernel ----------------------------------------------------------------------------------

class Bounds(gpytorch.constraints.Interval):
    """Bounds of hyperparameters in natural units; raw ones are `luthier.Kernel.theta`.

    Optimisers that know bounds (`botorch.fit.fit_gpytorch_mll`) are given those of theta.
    """

    def __init__(self, parameters):
        lower, upper = (parameters.natural(x) for x in (parameters.lower, parameters.upper))
        super().__init__(lower, upper, transform=torch.exp, inv_transform=torch.log)
        self._free = parameters
        self.lower_bound, self.upper_bound = lower, upper  # in double precision

    def transform(self, tensor):
        return self._free.natural(tensor)

    def inverse_transform(self, transformed_tensor):
        return self._free.raw(transformed_tensor)

    def check(self, tensor):
        """Up to rounding: exp(log(bound)) may be beyond the bound."""
        lower, upper = self.lower_bound, self.upper_bound
        return bool(((tensor >= lower - 1e-6 * lower.abs())
                     & (tensor <= upper + 1e-6 * upper.abs())).all())

    def check_raw(self, tensor):
        return self.check(self.transform(tensor))


class Kernel(gpytorch.kernels.Kernel):
    """A kernel of luthier for GPyTorch. Its inputs are numbers of rows, ``rows(texts)``.

    It goes together with GPyTorch's own kernels, in sums, products and `ScaleKernel`. The parameter
    `raw_values` is a vector of the free hyperparameters as in `luthier.torch.parameters`;
    after each step of an optimiser it is put back into its bounds.

    Parameters
    ----------
    kernel : str or luthier.Kernel
        A `luthier.Kernel` says where and how to compute: vectors, n_jobs, precision, device.
    rows : Rows
        Or rows, of which one is made, the attribute `rows`.
    batch_shape : torch.Size, optional
        For several sets of hyperparameters.
    active_dims : tuple of int, optional
        The column of the inputs with the numbers, where there are others.
    dtype : torch.dtype, optional
        Of the parameter, and so of the values; None = PyTorch's default.
    """

    def __init__(self, kernel, rows, *, batch_shape=torch.Size([]), active_dims=None, dtype=None):
        super().__init__(batch_shape=torch.Size(batch_shape), active_dims=active_dims)
        self.rows = rows if isinstance(rows, Rows) else Rows(rows)
        self._source = lt_torch.Source(kernel, self.rows.reference)
        self._free = lt_torch.Parameters(self._source.kernel)
        start = self._free.theta.detach().to(dtype or torch.get_default_dtype())
        self.register_parameter("raw_values", torch.nn.Parameter(
            start.repeat(*self.batch_shape, 1)))
        self.register_constraint("raw_values", Bounds(self._free))

    @property
    def names(self):
        """Paths of the free hyperparameters, such as "ssk.gap"."""
        return self._free.names

    @property
    def values(self):
        """Their values in natural units, (..., hyperparameters)."""
        return self.raw_values_constraint.transform(self.raw_values)

    @values.setter
    def values(self, values):
        values = torch.as_tensor(values).to(self.raw_values).expand_as(self.raw_values)
        self.initialize(raw_values=self.raw_values_constraint.inverse_transform(values))

    @property
    def kernel(self):
        """The `luthier.Kernel` with the current values."""
        if self.batch_shape:
            raise Error(f"there are several kernels: batch_shape is {tuple(self.batch_shape)}")
        return self._free.kernel(self.raw_values)

    def forward(self, x1, x2, diag=False, last_dim_is_batch=False, **params):
        """Values for GPyTorch; call the kernel instead."""
        if last_dim_is_batch:
            raise Error("last_dim_is_batch has no meaning for numbers of rows", "EUNSUPPORTED")
        self._free.clamp_(self.raw_values)
        a = self.rows.numbers(x1)
        b = a if x1 is x2 else self.rows.numbers(x2)
        shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1], self.batch_shape)
        a, b = (np.broadcast_to(i, (*shape, i.shape[-1])) for i in (a, b))
        if a.size == 0 or b.size == 0:
            return self.raw_values.new_zeros(a.shape if diag else (*a.shape, b.shape[-1]))
        out = self._each(self.raw_values, a, b, self._paired if diag else self._batch)
        return out.to(x1.device)

    def _each(self, theta, a, b, function):
        """`function` for each set of hyperparameters: theta is (..., hyperparameters), and the
        dimensions before are the last ones of a and b but one."""
        if theta.ndim == 1:
            return function(theta, a, b)
        at = a.ndim - theta.ndim
        parts = [self._each(theta[i], a.take(i, axis=at), b.take(i, axis=at), function)
                 for i in range(len(theta))]
        return torch.stack(parts, dim=at)

    def _gram(self, theta, a, b):
        """k(a_i, b_j) of two lists of numbers."""
        items = self._source.encode(self.rows.take(a))
        other = None if np.array_equal(a, b) else self._source.encode(self.rows.take(b))
        return self._source.gram(theta, items, other)

    def _paired(self, theta, a, b):
        """k(a_i, b_i) of arrays of the same shape."""
        if np.array_equal(a, b):
            rows, at = np.unique(a, return_inverse=True)
            values = self._source.diagonal(theta, self._source.encode(self.rows.take(rows)))
            return values[torch.as_tensor(at.reshape(a.shape), device=theta.device)]
        return self._batch(theta, a[..., None], b[..., None])[..., 0, 0]

    def _batch(self, theta, a, b):
        """k(a_i, b_j) for each of a batch: a is (..., n), b (..., m).

        Rows that all have in common, such as a model's training rows, are compared with others
        once. What is left is compared all with all where that is not much more than is asked for.
        """
        if a.ndim == 1:
            return self._gram(theta, a, b)
        shape = *a.shape, b.shape[-1]
        a, b = a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1])
        common = [(x == x[0]).all(axis=0) for x in (a, b)]
        order = [np.concatenate([np.flatnonzero(c), np.flatnonzero(~c)]) for c in common]
        (a0, a1), (b0, b1) = (((x[:, c]), x[:, ~c]) for x, c in zip((a, b), common))
        blocks = [[self._block(theta, x, y) for y in (b0, b1)] for x in (a0, a1)]
        out = torch.cat([torch.cat(line, dim=2) for line in blocks], dim=1)
        back = [torch.as_tensor(np.argsort(o), device=out.device) for o in order]
        return out[:, back[0]][:, :, back[1]].reshape(shape)

    def _block(self, theta, a, b):
        if a.size == 0 or b.size == 0:
            return theta.new_zeros(*a.shape, b.shape[1])
        if a.shape[1] == b.shape[1] == 1 and np.array_equal(a, b):
            return self._paired(theta, a, b)[..., None]
        (rows, i), (cols, j) = (np.unique(x, return_inverse=True) for x in (a, b))
        if len(rows) * len(cols) > 4 * a.size * b.shape[1]:
            return torch.stack([self._gram(theta, x, y) for x, y in zip(a, b)])
        i, j = (torch.as_tensor(k.reshape(x.shape), device=theta.device)
                for k, x in ((i, a), (j, b)))
        return self._gram(theta, rows, cols)[i[:, :, None], j[:, None, :]]
