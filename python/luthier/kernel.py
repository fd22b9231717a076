"""Kernels: expressions, their hyperparameters, Gram matrices and gradients."""

from __future__ import annotations

import os
import re
from ctypes import byref, c_void_p, create_string_buffer
from functools import lru_cache, partial
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import tables, vectors as word_vectors
from ._algebra import Algebra
from ._compat import BaseKernel, Hyperparameter
from ._c import GramStoreOptions
from ._context import Context, Owned
from ._library import lib
from ._prior import Prior
from ._types import Array, ArrayLike, PathLike, Rows
from .errors import Error

_LEAST = 1e-10    # stands for 0 where a logarithm is taken
_DIRECT = 3e6     # pairs of units up to which a call is too short to watch for Ctrl-C


def expression_of(kernel):
    """The text of a kernel, given as text or as a `Kernel`."""
    if isinstance(kernel, Kernel):
        kernel = kernel.expression
    if not isinstance(kernel, str):
        raise Error(f"a kernel is an expression such as \"normalize(ssk(text))\", not {kernel!r}")
    if "\0" in kernel:
        raise Error("a kernel expression has no NUL character")
    try:
        kernel.encode()
    except UnicodeEncodeError:
        raise Error("the kernel expression has half of a surrogate pair") from None
    return kernel


_STAR = re.compile(r"\b([A-Za-z_]\w*?)\*(?=\s*[,)])")
_OPEN = re.compile(r"\b(?:symbols|tasks)=all\b")  # until the data are known


def without_stars(expression, X):
    """The expression with ``rbf(f*)`` written out as ``rbf(f1..f17)``, by what X has."""
    def ranged(match):
        name = match[1]
        count = _count_columns(tables.as_rows(X), name)
        return f"{name}1" if count == 1 else f"{name}1..{name}{count}"

    return _STAR.sub(ranged, expression)


def _count_columns(X, name):
    if isinstance(X, tables.Mapping):
        wide = X.get(name)
        if isinstance(wide, np.ndarray) and wide.ndim == 2:
            return wide.shape[1]
    if isinstance(X, tables.Mapping) or tables.is_frame(X):
        keys = list(X) if isinstance(X, tables.Mapping) else list(X.columns)
        count = sum(re.fullmatch(re.escape(name) + r"\d+", str(key)) is not None for key in keys)
        if count or isinstance(X, tables.Mapping):
            if not count:
                raise Error(f"X has no columns {name}1, {name}2, ... and no 2-D array {name}")
            return count
        return max(1, X.shape[1])
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        shape = f"{X.ndim}D array" if isinstance(X, np.ndarray) else type(X).__name__
        if isinstance(X, np.ndarray) and X.ndim > 2:
            raise Error(f"Found array with dim {X.ndim}, while dim <= 2 is required: {name}* wants "
                        "a 2-D array of numbers")
        raise Error(f"Expected 2D array, got {shape} instead: {name}* wants one. Reshape your data")
    if X.shape[0] == 0 or X.shape[1] == 0:
        what, other = ("sample", 0) if X.shape[0] == 0 else ("feature", 1)
        raise Error(f"{X.shape[other]} {what}(s) (shape={X.shape}) while a minimum of 1 is "
                    "required.")
    return X.shape[1]


class Parsed:
    """An ``lth_kernel`` with its context."""

    def __init__(self, context, expression):
        self.context = context
        self._take(_marked(expression, context.create, lib.lth_kernel_parse, context.pointer,
                           expression.encode()))
        self.expression = printed(self.pointer)

    def _take(self, pointer):
        self.pointer = pointer
        self.owned = Owned(pointer, lib.lth_kernel_free, self.context)
        self.columns = columns_of(pointer)

    def add_mean(self, mean):
        """Of a Gaussian process: reads the columns of its mean as well."""
        self._take(_marked(mean, self.context.create, lib.lth_gp_kernel_parse,
                           self.context.pointer, self.expression.encode(), mean.encode()))

    def add_noise(self, mean, noise):
        """The same for the kernel of its noise; `mean`, which was added before, may be None."""
        self._take(_marked(noise, self.context.create, lib.lth_gp_kernel_with_noise,
                           self.context.pointer, self.expression.encode(),
                           None if mean is None else mean.encode(), noise.encode()))

    def resolve(self, table):
        """Spell out ``symbols=all`` and ``tasks=all``. What was made from the kernel before must not be used."""
        pointer = c_void_p(self.pointer)
        self.context.call(lib.lth_kernel_resolve, byref(pointer), table.pointer)
        if pointer.value != self.pointer:
            self.owned.free.detach()  # C has freed it
            self.pointer = pointer.value
            self.owned = Owned(self.pointer, lib.lth_kernel_free, self.context)
            self.expression = printed(self.pointer)

    def read(self, X):
        return read(X, self.columns, self.expression)

    def params(self):
        count = lib.lth_kernel_params(self.pointer)
        return [lib.lth_kernel_param(self.pointer, i) for i in range(count)]


def _marked(text, call, *arguments):
    """The call; where it fails at a place of the text, with a mark under it."""
    try:
        return call(*arguments)
    except Error as failure:
        if failure.column and not failure.file:
            mark = " " * (failure.column - 1) + "^"
            failure.args = (f"{failure.args[0]}\n  {text}\n  {mark}",)
        raise


def printed(pointer):
    buffer = create_string_buffer(256)
    length = lib.lth_kernel_print(pointer, buffer, 256)
    if length >= 256:
        buffer = create_string_buffer(length + 1)
        lib.lth_kernel_print(pointer, buffer, length + 1)
    return buffer.value.decode()


def columns_of(pointer):
    """The columns that a kernel reads."""
    names, i = [], 0
    while (name := lib.lth_kernel_column(pointer, i)) is not None:
        names.append(name.decode())
        i += 1
    return tables.expand(names)


def read(X, names, expression):
    """{name: column} of what a kernel reads of X."""
    if not names:  # a constant; but it matters how many rows there are
        return {"row": tables.Numbers(np.zeros(len(X)), "X")}
    X, out = tables.as_rows(X), {}
    by_name = len(names) > 1 or tables.has_names(X)
    for name, values in tables.split(X, names).items():
        label = f"X[{name!r}]" if by_name else "X"
        out[name] = tables.column(values, label, partial(_check_units, expression, name))
    return out


@lru_cache
def _default_units():
    """{family: what it cuts texts into unless told}."""
    out, i = {}, 0
    while family := lib.lth_family_at(i):
        i, j = i + 1, 0
        while argument := lib.lth_family_argument(byref(family), j):
            if argument.name == b"units":
                out[family.name.decode()] = argument.initial.decode()
            j += 1
    return out


def _check_units(expression, name):
    """Token lists are joined with blanks; only units=words gives the same tokens again."""
    for family, arguments in re.findall(rf"(\w+)\({re.escape(name)}\s*(?:\)|,([^()]*))", expression):
        given = re.search(r"units=(\w+)", arguments)
        units = given[1] if given else _default_units().get(family, "words")
        if units != "words":
            raise Error(f"{family}({name}, units={units}) would cut the tokens again: give "
                        "strings instead of lists of tokens, or write units=words")


class _Encoded:
    """An encoder with the items of one table or two. The first table sets what is counted."""

    def __init__(self, parsed, vectors, *columns):
        context = parsed.context
        self.parsed = parsed
        self.tables = [tables.Table(context, c) for c in columns]
        parsed.resolve(self.tables[0])
        self.encoder = Owned(context.create(lib.lth_encoder_create, context.pointer,
                                            parsed.pointer), lib.lth_encoder_free, parsed)
        self.owned = [Owned(context.create(lib.lth_encode, self.encoder.pointer, table.pointer),
                            lib.lth_items_free, self.encoder) for table in self.tables]
        self.items = [owned.pointer for owned in self.owned]
        if vectors is not None and lib.lth_kernel_needs_vectors(parsed.pointer):
            word_vectors.give(vectors, self.encoder, context)


class Kernel(Algebra, Prior, BaseKernel):
    """A kernel over strings, trees and numbers.

    ``a + b``, ``a * b`` and ``2.0 * a`` are kernels again. It can stand in for a kernel of
    scikit-learn: in ``GaussianProcessRegressor(kernel=...)``, also in sums and products with its
    kernels, and in ``SVC(kernel=...)``.

    Parameters
    ----------
    expression : str
        As on the command line: ``"normalize(ssk(text, order=3))"``. ``rbf(f*)`` reads all columns
        of an array.
    vectors : path, dict or pair, optional
        Word vectors, for kernels that compare words by them: a file, ``{word: numbers}``, or
        ``(words, matrix)``.
    n_jobs : int, optional
        Threads; None and -1 mean all cores.
    device : str
        Where string kernels are computed: "cpu", "cuda", "cuda:N", "cuda:N,M" (several GPUs), or "auto".
    precision : {"double", "single"}
        Of the arithmetic inside of string kernels.
    cluster : {"none", "mpi", "scalapack", "auto"}
        Share the work with all processes that mpirun or srun started, which run the same script.
    """

    device, cluster = "cpu", "none"  # of pickles that do not tell

    def __init__(self, expression: str, vectors: Any = None, n_jobs: Optional[int] = None,
                 precision: str = "double", device: str = "cpu", cluster: str = "none") -> None:
        self.expression = expression
        self.vectors = vectors
        self.n_jobs = n_jobs
        self.precision = precision
        self.device = device
        self.cluster = cluster

    # ---- The C objects, made when first needed ----

    def _place(self):
        return self.n_jobs, self.precision, 1, self.device, self.cluster

    def _parse(self, X=None):
        key = self.expression, self._place()
        state = self.__dict__.get("_state")
        if state is not None and state[0] == key:
            return state[1]
        text = expression_of(self.expression)
        if _STAR.search(text):
            if X is None:
                raise Error(f'"{text}" has no fixed number of columns: write the range, as f1..f3')
            text = without_stars(text, X)
            return Parsed(Context(*self._place()), text)
        parsed = Parsed(Context(*self._place()), text)
        self._state = key, parsed
        self._encoded = None
        return parsed

    def _encode(self, *inputs):
        """Encode tables in this order. One table of texts is kept: learning asks for it again."""
        parsed = self._parse(inputs[0])
        if _OPEN.search(parsed.expression):
            parsed = Parsed(parsed.context, parsed.expression)
        columns = [parsed.read(X) for X in inputs]
        kept = self.__dict__.get("_encoded")
        if len(columns) == 1 and kept is not None and kept[0][0] is parsed and \
                word_vectors.same(kept[0][1], self.vectors):
            if all(c.same_as(kept[1][name]) for name, c in columns[0].items()):
                return kept[2]
        encoded = _Encoded(parsed, self.vectors, *columns)
        if len(columns) == 1:
            self._encoded = (parsed, self.vectors), columns[0], encoded
        return encoded

    # ---- Matrices ----

    def gram(self, X: Rows, Y: Optional[Rows] = None, gradients: bool = False,
             orders: bool = False) -> Any:
        """The matrix k(x, y) for the rows of X and Y.

        Parameters
        ----------
        X, Y : rows
            Y None stands for X.
        gradients : bool
            Return the derivatives, too: an array of shape (parameters, rows of X, rows of Y), in
            the order of `parameters` and in natural units.
        orders : bool
            For a single string kernel: the matrix of every order by itself, without its weight,
            of shape (order, rows of X, rows of Y).

        Returns
        -------
        K, or (K, dK)
        """
        encoded = self._encode(X) if Y is None else self._encode(X, Y)
        x, y = encoded.items[0], encoded.items[1] if Y is not None else None
        K = self._matrix(encoded, x, y, "orders" if orders else "values")
        return (K, self._matrix(encoded, x, y, "gradients")) if gradients else K

    def gram_to(self, path: PathLike, X: Rows, Y: Optional[Rows] = None, resume: bool = False,
                part: Tuple[int, int] = (1, 1), tile: int = 0, values: str = "double") -> None:
        """Write the matrix to a folder, an array of Zarr version 2, tile by tile.

        Memory holds a few tiles only. Whatever stops it, a call with `resume` goes on with the
        tiles that are missing.

        Parameters
        ----------
        path : str
            The folder, such as "K.zarr". One that is there is an error without `resume`.
        X, Y : rows
            Y None stands for X.
        part : (int, int)
            (3, 64) computes the third of 64 parts; others may be computed at the same time.
        tile : int
            Rows and columns of a tile; 0 = what suits the matrix.
        values : {"double", "single"}
            How they are written.
        """
        encoded = self._encode(X) if Y is None else self._encode(X, Y)
        options = GramStoreOptions()
        lib.lth_gram_store_options_init(options)
        options.resume, options.tile = resume, tile
        options.part, options.parts = part
        options.values = {"double": 0, "single": 1}[values]
        y = encoded.items[1] if Y is not None else None
        encoded.parsed.context.call(lib.lth_gram_store, encoded.parsed.pointer, encoded.items[0],
                                    y, os.fsencode(path), options, long=True)

    def _matrix(self, encoded, x, y, what):
        parsed = encoded.parsed
        n = lib.lth_items_count(x)
        m = lib.lth_items_count(y) if y else n
        sizes = [table.bytes for table in encoded.tables]
        cells = sizes[0] * sizes[-1]
        if what == "values":
            K = _empty(n, m)
            function, rest = lib.lth_gram, (K.ctypes.data, m)
        elif what == "orders":
            K = _empty(max(1, lib.lth_kernel_orders(parsed.pointer)), n, m)
            function, rest = lib.lth_gram_orders, (K.ctypes.data,)
        else:
            K = _empty(lib.lth_kernel_params(parsed.pointer), n, m)
            function, rest = lib.lth_gram_gradients, (K.ctypes.data,)
        parsed.context.call(function, parsed.pointer, x, y, *rest, long=cells > _DIRECT)
        return K

    def pull(self, W: ArrayLike, X: Rows, Y: Optional[Rows] = None) -> Array:
        """The derivative of ``(W * K).sum()`` by every parameter, without storing any dK."""
        encoded = self._encode(X) if Y is None else self._encode(X, Y)
        parsed, items = encoded.parsed, encoded.items
        W = np.ascontiguousarray(W, dtype=np.float64)
        shape = tuple(lib.lth_items_count(i) for i in (items[0], items[-1]))
        if W.shape != shape:
            raise Error(f"W has the shape {W.shape}, the Gram matrix {shape}")
        grad = np.empty(lib.lth_kernel_params(parsed.pointer))
        parsed.context.call(lib.lth_gram_pull, parsed.pointer, items[0],
                            items[1] if Y is not None else None, W.ctypes.data, shape[1],
                            grad.ctypes.data, long=True)
        return grad

    def diag(self, X: Rows) -> Array:
        """k(x, x) for each row."""
        reference = self.__dict__.get("_reference")
        encoded = self._encode(X) if reference is None else self._encode(reference, X)
        out = np.empty(lib.lth_items_count(encoded.items[-1]))
        encoded.parsed.context.call(lib.lth_gram_diagonal, encoded.parsed.pointer,
                                    encoded.items[-1], out.ctypes.data, long=True)
        return out

    def resolve(self, X: Rows) -> Kernel:
        """A kernel in which ``symbols=all``, ``tasks=all`` and ``f*`` are spelled out for the rows of X."""
        parsed = self._parse(X)
        parsed = Parsed(Context(*self._place()), parsed.expression)
        parsed.resolve(tables.Table(parsed.context, parsed.read(X)))
        return Kernel(**{**self.get_params(), "expression": parsed.expression})

    # ---- Parameters ----

    @property
    def parameters(self) -> Dict[str, float]:
        """{path: value} of every hyperparameter, in the order of the gradients."""
        return {p.path.decode(): p.value for p in self._parse().params()}

    def with_values(self, **values: Any) -> Kernel:
        """A copy with other values; in ``with_values(**{"ssk.gap": 0.2})`` by path.

        Of parameters that have numbers or names in brackets, all together:
        ``{"ssk.weights": [1, 0.5]}``, or some of them: ``{"sstk.decay": {"NP": 0.3}}``.
        """
        context = Context(1)
        parsed = Parsed(context, expression_of(self.expression))
        for path, value in _each(values, list(self.parameters)):
            context.call(lib.lth_kernel_set_path, parsed.pointer, path.encode(), value)
        return Kernel(**{**self.get_params(), "expression": printed(parsed.pointer)})

    def _free(self):
        """[(indices, parameter)] of what can be learned; tied ones are one."""
        groups = {}
        for i, p in enumerate(self._parse().params()):
            if not p.held:
                groups.setdefault(p.tag or i, ([], p))[0].append(i)
        return list(groups.values())

    # ---- The protocol of scikit-learn's kernels ----

    def __call__(self, X: Rows, Y: Optional[Rows] = None, eval_gradient: bool = False) -> Any:
        """As `gram`; but Y, scikit-learn's training rows, sets the frequencies of words."""
        if Y is None:
            self._reference = X
            encoded = self._encode(X)
            K = self._matrix(encoded, encoded.items[0], None, "values")
            return (K, self._log_gradients(encoded)) if eval_gradient else K
        if eval_gradient:
            raise Error("Gradient can only be evaluated when Y is None.")
        self._reference = Y
        if X is Y:
            return self(X)
        encoded = self._encode(Y, X)
        return self._matrix(encoded, encoded.items[1], encoded.items[0], "values")

    def _log_gradients(self, encoded):
        dK = self._matrix(encoded, encoded.items[0], None, "gradients")
        groups = self._free()
        out = np.empty((*dK.shape[1:], len(groups)))
        for j, (indices, p) in enumerate(groups):
            out[:, :, j] = dK[indices].sum(axis=0) * (1 if p.lo < 0 else p.value)
        return out

    @property
    def theta(self) -> Array:
        """Logarithms of the parameters that are not held; itself, where one may be negative."""
        return np.array([_theta_of(p, p.value) for _, p in self._free()])

    @theta.setter
    def theta(self, theta: ArrayLike) -> None:
        parsed, groups, values = self._parse(), self._free(), np.asarray(theta)
        if len(values) != len(groups):
            raise Error(f"theta has {len(groups)} entries, not {len(values)}")
        for (indices, p), x in zip(groups, values):
            value = x if p.lo < 0 else np.exp(x)
            parsed.context.call(lib.lth_kernel_set, parsed.pointer, indices[0],
                                float(min(max(value, p.lo), p.hi)))
        parsed.expression = self.expression = printed(parsed.pointer)
        self._state = (self.expression, self._place()), parsed

    @property
    def bounds(self) -> Array:
        """Bounds of `theta`; a bound of 0 counts as 1e-10."""
        rows = [(_theta_of(p, p.lo), _theta_of(p, p.hi)) for _, p in self._free()]
        return np.array(rows).reshape(-1, 2)

    @property
    def hyperparameters(self) -> List[Any]:
        """What `theta` holds, as scikit-learn describes it."""
        return [Hyperparameter(p.path.decode(), "numeric",
                               np.array([[p.lo if p.lo < 0 else max(p.lo, _LEAST), p.hi]]), 1,
                               False)
                for _, p in self._free()]

    def clone_with_theta(self, theta: ArrayLike) -> Kernel:
        """A copy with other values."""
        out = Kernel(**self.get_params())
        out.theta = theta
        return out

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The arguments of the constructor; the expression has the current values."""
        return {"expression": self.expression, "vectors": self.vectors, "n_jobs": self.n_jobs,
                "precision": self.precision, "device": self.device, "cluster": self.cluster}

    def set_params(self, **params: Any) -> Kernel:
        """Change arguments of the constructor."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"Invalid parameter {name!r} for Kernel")
            setattr(self, name, value)
        return self

    def is_stationary(self) -> bool:
        """False: it is not a function of a difference."""
        return False

    requires_vector_input = False

    def __eq__(self, other):
        if type(other) is not type(self):
            return False
        mine, theirs = self.get_params(), other.get_params()
        return word_vectors.same(mine.pop("vectors"), theirs.pop("vectors")) and mine == theirs

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self):
        state = self.get_params()
        if self.__dict__.get("_reference") is not None:
            state["_reference"] = self._reference
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __str__(self):
        return str(self.expression)

    def __repr__(self):
        more = "" if self.vectors is None else f", vectors={word_vectors.described(self.vectors)}"
        return f"Kernel({self.expression!r}{more})"


def _each(values, paths):
    """(path, number) of values that may be lists or mappings."""
    for path, value in values.items():
        members = [p for p in paths if p.startswith(path + "[")]
        if isinstance(value, tables.Mapping):
            for name, one in value.items():
                yield f"{path}[{name}]", _number(one, f"{path}[{name}]")
        elif isinstance(value, (list, tuple, np.ndarray)):
            if not members:
                raise Error(f"{path} is no list of the kernel's: its parameters are "
                            + ", ".join(paths))
            if len(members) != len(value):
                raise Error(f"{path} has {len(members)} values, not {len(value)}: "
                            + ", ".join(members))
            yield from zip(members, (_number(one, path) for one in value))
        else:
            yield path, _number(value, path)


def _number(value, what):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Error(f"{what} wants a number, not {value!r}") from None


def _theta_of(p, value):
    return value if p.lo < 0 else np.log(max(value, p.lo, _LEAST))


def _empty(*shape):
    try:
        return np.empty(shape)
    except (MemoryError, ValueError):
        need = 8 * np.prod(np.array(shape, dtype=float)) / 1e9
        raise Error(f"out of memory: an array of shape {shape} needs {need:.3g} GB",
                    "ENOMEM") from None
