"""Gram matrices as functions of their hyperparameters, for PyTorch's automatic differentiation.

Values come from the C library, gradients from its pull-back: no derivative matrix is ever made.
This module needs PyTorch; ``import luthier`` does not import it.

    >>> import luthier.torch as lt_torch
    >>> p = lt_torch.parameters("normalize(ssk(text, order=3))", texts)
    >>> K = lt_torch.gram("normalize(ssk(text, order=3))", texts, theta=p.theta)
    >>> K.sum().backward()
"""

import threading
from copy import deepcopy
from functools import lru_cache

import numpy as np
import torch

from . import tables, vectors as word_vectors
from ._context import Context, Owned
from ._library import lib
from .errors import Error
from .kernel import _DIRECT, _LEAST, _OPEN, Kernel, Parsed, _empty, expression_of

__all__ = ["Parameters", "diagonal", "gram", "parameters"]

_KEPT = 8  # encodings of rows that a kernel keeps, the last ones used


# ---- A kernel and its rows -----------------------------------------------------------------------

def _equal(a, b):
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return a == b if not a or isinstance(a[0], str) else (
        len(a) == len(b) and all(map(np.array_equal, a, b)))


class _Items:
    """Encoded rows, and a copy of what they were made of: lists and arrays may change."""

    def __init__(self, source, columns):
        context = source.parsed.context
        table = tables.Table(context, columns)
        self.count, self.bytes = table.rows, table.bytes
        self._made_of = {name: deepcopy(c._values) for name, c in columns.items()}
        self.owned = Owned(context.create(lib.lth_encode, source.encoder.pointer, table.pointer),
                           lib.lth_items_free, source.encoder)
        self.pointer = self.owned.pointer

    def holds(self, columns):
        return columns.keys() == self._made_of.keys() and all(
            _equal(c._values, self._made_of[name]) for name, c in columns.items())


class Source:
    """A kernel with rows that set what is counted (frequencies of words, scales of numbers, symbols
    of trees), and values and gradients of any rows.

    Copies share it: it is set to the values of each call, under a lock.
    """

    def __init__(self, kernel, reference):
        kernel = self.kernel = kernel_of(kernel).resolve(reference)
        self.parsed = Parsed(Context(*kernel._place()), kernel.expression)
        self.reference = reference
        self._lock = threading.RLock()
        self._recent, self._with_vectors = [], set()
        self._groups = [(indices, p.lo, p.hi) for indices, p in kernel._free()]
        self._initial = np.array([p.value for _, p in kernel._free()])
        self._bounds = kernel.bounds
        self._count = lib.lth_kernel_params(self.parsed.pointer)
        context = self.parsed.context
        self.encoder = Owned(context.create(lib.lth_encoder_create, context.pointer,
                                            self.parsed.pointer), lib.lth_encoder_free,
                             self.parsed)
        self.first = self.encode(reference)

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return Source, (self.kernel, self.reference)

    def encode(self, X):
        """The items of rows; those of the last few texts are kept."""
        columns = self.parsed.read(X)
        with self._lock:
            for i, items in enumerate(self._recent):
                if items.holds(columns):
                    self._recent.append(self._recent.pop(i))
                    return items
            items = _Items(self, columns)
            self._read_vectors(columns)
            self._recent = (self._recent + [items])[-_KEPT:]
        return items

    def _read_vectors(self, columns):
        """Read the file, which may be large, unless all texts were there when it was read."""
        vectors, parsed = self.kernel.vectors, self.parsed
        if vectors is None or not lib.lth_kernel_needs_vectors(parsed.pointer):
            return
        texts = {text for c in columns.values() if isinstance(c, tables.Texts)
                 for text in c._values}
        if not texts <= self._with_vectors:
            word_vectors.give(vectors, self.encoder, parsed.context)
            self._with_vectors |= texts

    def at(self, theta, function, *arguments, long):
        """Call a function of the kernel with these values, None = those that it came with."""
        values = self._initial if theta is None else self.natural(self._checked(theta))
        context, pointer = self.parsed.context, self.parsed.pointer
        with self._lock:
            for (indices, *_), value in zip(self._groups, values):
                context.call(lib.lth_kernel_set, pointer, indices[0], value)
            context.call(function, pointer, *arguments, long=long)

    def _checked(self, theta):
        if theta.shape != (len(self._groups),):
            raise Error(f"theta has the shape {theta.shape}, but for these rows the kernel is "
                        f"{self.kernel.expression}, with {len(self._groups)} free hyperparameters; "
                        "luthier.torch.parameters(kernel, X) tells them")
        if not np.isfinite(theta).all():
            raise Error(f"theta has NaN or infinity: {theta.tolist()}")
        return theta

    def natural(self, theta):
        """Values in natural units; beyond a bound they are at it."""
        inside = theta.clip(*self._bounds.T)
        return np.array([min(max(x if lo < 0 else np.exp(x), lo), hi)
                         for x, (_, lo, hi) in zip(inside, self._groups)])

    def chain(self, gradient, theta):
        """From the derivatives by all hyperparameters to those by theta: 0 beyond a bound."""
        out = [gradient[indices].sum() * (1 if lo < 0 else value)
               for value, (indices, lo, _) in zip(self.natural(theta), self._groups)]
        lower, upper = self._bounds.T
        return np.where((theta < lower) | (theta > upper), 0.0, out)

    def gram(self, theta, a, b=None):
        """The tensor k(a, b) as a function of theta, None = of nothing; b None stands for a."""
        return _values(theta, _Matrix(self, a, b))

    def diagonal(self, theta, a):
        """The tensor k(a_i, a_i)."""
        return _values(theta, _Diagonal(self, a))


class _Matrix:
    """What is computed: a Gram matrix."""

    def __init__(self, source, a, b):
        self.source, self.a, self.b = source, a, b
        self.shape = a.count, (a if b is None else b).count
        self._items = a.pointer, None if b is None else b.pointer
        self._long = a.bytes * (a if b is None else b).bytes > _DIRECT

    def values(self, theta):
        out = _empty(*self.shape)
        self.source.at(theta, lib.lth_gram, *self._items, out.ctypes.data, self.shape[1],
                       long=self._long)
        return out

    def pull(self, theta, weights):
        out = np.zeros(self.source._count)
        self.source.at(theta, lib.lth_gram_pull, *self._items, weights.ctypes.data, self.shape[1],
                       out.ctypes.data, long=self._long)
        return self.source.chain(out, theta)


class _Diagonal:
    """Or its diagonal."""

    def __init__(self, source, a):
        self.source, self.a = source, a
        self._long = a.bytes > _DIRECT / 1e3

    def values(self, theta):
        out = _empty(self.a.count)
        self.source.at(theta, lib.lth_gram_diagonal, self.a.pointer, out.ctypes.data,
                       long=self._long)
        return out

    def pull(self, theta, weights):
        out = np.zeros(self.source._count)
        self.source.at(theta, lib.lth_gram_diagonal_pull, self.a.pointer, weights.ctypes.data,
                       out.ctypes.data, long=self._long)
        return self.source.chain(out, theta)


# ---- Automatic differentiation -------------------------------------------------------------------

def _array(tensor):
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.float64)


def _values(theta, what):
    return torch.from_numpy(what.values(None)) if theta is None else _Values.apply(theta, what)


class _Values(torch.autograd.Function):
    """Values by theta; `what` says which."""

    @staticmethod
    def forward(ctx, theta, what):
        ctx.save_for_backward(theta)
        ctx.what = what
        return torch.from_numpy(what.values(_array(theta))).to(theta)

    @staticmethod
    def backward(ctx, weights):
        return _Pull.apply(weights, ctx.saved_tensors[0], ctx.what), None


class _Pull(torch.autograd.Function):
    """The gradient of a weighted sum of values, which itself has none."""

    @staticmethod
    def forward(ctx, weights, theta, what):
        return torch.from_numpy(what.pull(_array(theta), _array(weights))).to(theta)

    @staticmethod
    def backward(ctx, *_):
        raise Error("luthier has first derivatives of kernels by their hyperparameters, but no "
                    "second ones: this backward pass goes through a gradient of a Gram matrix "
                    "(create_graph=True)", "EUNSUPPORTED")


# ---- What users call -----------------------------------------------------------------------------

@lru_cache(maxsize=_KEPT)
def _kernel_of_text(expression):
    return Kernel(expression)


def kernel_of(kernel):
    """A `luthier.Kernel`, given as such or as its text."""
    return kernel if isinstance(kernel, Kernel) else _kernel_of_text(expression_of(kernel))


def plain(X):
    """Rows that are a tensor of numbers as an array."""
    if not isinstance(X, torch.Tensor):
        return X
    if X.requires_grad:
        raise Error("luthier has no derivatives by rows: X requires a gradient; use X.detach()",
                    "EUNSUPPORTED")
    return _array(X)


class Parameters:
    """The free hyperparameters of a kernel, as one vector `theta`.

    Entries are logarithms; those of hyperparameters that may be negative are the values themselves.
    This is `luthier.Kernel.theta`. Tied ones share one entry, held ones have none.

    Attributes
    ----------
    names : list of str
        Paths, such as "ssk.gap", in the order of theta.
    theta : Tensor
        Of float64, at the kernel's values, with ``requires_grad``.
    lower, upper : Tensor
        Bounds of theta. Beyond a bound a kernel has the values, and no gradient, of the bound.
    """

    def __init__(self, kernel):
        self._kernel = kernel
        self._is_linear = torch.tensor([p.lo < 0 for _, p in kernel._free()], dtype=torch.bool)
        self.names = [h.name for h in kernel.hyperparameters]
        self.theta = torch.tensor(kernel.theta, dtype=torch.float64, requires_grad=True)
        self.lower, self.upper = torch.tensor(kernel.bounds.T, dtype=torch.float64)

    def natural(self, theta=None):
        """A tensor of values in natural units."""
        theta = self.theta if theta is None else theta
        is_linear = self._is_linear.to(theta.device)
        return torch.where(is_linear, theta, theta.masked_fill(is_linear, 0).exp())

    def raw(self, values):
        """The opposite of `natural`; 0 counts as 1e-10."""
        is_linear = self._is_linear.to(values.device)
        return torch.where(is_linear, values, values.clamp(min=_LEAST).log())

    def clamp_(self, theta=None):
        """Put a vector back into the bounds, in place: after a step of an optimiser that knows
        of none."""
        theta = self.theta if theta is None else theta
        with torch.no_grad():
            inside = theta.clamp(self.lower.to(theta), self.upper.to(theta))
            if not torch.equal(inside, theta):  # else a backward pass would miss what it saved
                theta.copy_(inside)
        return theta

    def kernel(self, theta=None):
        """The `luthier.Kernel` with these values."""
        return self._kernel.clone_with_theta(_array(self.theta if theta is None else theta))

    def __repr__(self):
        values = self.natural().tolist()
        return f"Parameters({', '.join(f'{n}={v:.6g}' for n, v in zip(self.names, values))})"


def parameters(kernel, X=None):
    """The `Parameters` of a kernel, given as text or as a `luthier.Kernel`.

    X are rows. Some kernels have hyperparameters for what rows have, such as one for each site of
    ``sites(text)`` or ``symbols=all`` of a tree kernel.
    """
    kernel = kernel_of(kernel)
    if X is not None:
        kernel = kernel.resolve(plain(X))
    elif _OPEN.search(kernel.expression):
        raise Error(f"{kernel.expression} has hyperparameters for what the rows have: give rows")
    return Parameters(kernel)


def _source_of(kernel, reference):
    """The source of a kernel, kept with it for the last two references."""
    kernel = kernel_of(kernel)
    place = kernel.expression, kernel.vectors, kernel._place()
    kept = kernel.__dict__.get("_torch")
    if kept is None or kept[0] != place:
        kept = kernel._torch = place, []
    columns = kernel._parse(reference).read(reference)
    for i, source in enumerate(kept[1]):
        if source.first.holds(columns):
            kept[1].append(kept[1].pop(i))
            return source
    source = Source(kernel, reference)
    kept[1].append(source)
    del kept[1][:-2]
    return source


def _prepare(kernel, rows, theta, reference):
    rows = [plain(X) for X in rows]
    source = _source_of(kernel, rows[0] if reference is None else plain(reference))
    is_tensor = isinstance(theta, torch.Tensor) and theta.is_floating_point()
    if theta is not None and not is_tensor:
        raise Error(f"theta wants a tensor of floating-point numbers, not {theta!r}")
    return source, theta, [source.encode(X) for X in rows]


def gram(kernel, X1, X2=None, theta=None, *, reference=None):
    """The matrix k(X1, X2) as a differentiable function of theta.

    Parameters
    ----------
    kernel : str or luthier.Kernel
        A `Kernel` says where and how to compute: vectors, n_jobs, precision, device.
    X1, X2 : rows
        As `luthier.Kernel.gram` takes them; X2 None stands for X1. Texts that were seen in one of
        the last calls are not encoded again.
    theta : Tensor, optional
        The free hyperparameters as `parameters` describes them, float64 or float32; None = those of
        the kernel. The result has its type and its device.
    reference : rows, optional
        The rows that set frequencies of words and scales of numbers; None = X1.

    Returns
    -------
    Tensor
        Of shape (rows of X1, rows of X2). First derivatives only.
    """
    rows = [X1] if X2 is None else [X1, X2]
    source, theta, items = _prepare(kernel, rows, theta, reference)
    return source.gram(theta, *items)


def diagonal(kernel, X, theta=None, *, reference=None):
    """k(x, x) for each row, as a differentiable function of theta: as `gram`."""
    source, theta, items = _prepare(kernel, [X], theta, reference)
    return source.diagonal(theta, *items)
