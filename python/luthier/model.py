"""What all estimators share: the C model, model files, pickling, checks."""

from __future__ import annotations

import os
from ctypes import c_char_p, string_at
from typing import Any, Iterator, Optional, TextIO

import numpy as np

from . import _c, given, kernel as kernels, labels, tables, vectors
from ._compat import HAVE_SKLEARN, BaseEstimator
from ._context import Context, Owned, seed_of
from ._library import lib
from ._progress import line as progress
from ._types import ArrayLike, Column, PathLike, Rows
from .errors import Error, NotFittedError
from .explain import Explained

_DIRECT_ROWS, _DIRECT_BYTES = 2000, 20000  # predictions too short to watch for Ctrl-C


class Model(Explained, BaseEstimator):
    """Base of the estimators. `_api` is "gp" or "svm": the middle of the C functions' names."""

    _api = ""
    _spreads = True  # predictions have variances
    device, cluster, keep_vectors = "cpu", "none", "used"  # of pickles that do not tell
    _given = None

    def _c(self, name):
        return getattr(lib, f"lth_{self._api}_{name}")

    # ---- Fitting ----

    def _new_context(self):
        return Context(self.n_jobs, self.precision, seed_of(self.random_state), self.device,
                       self.cluster)

    def _parsed(self, context, expression):
        """The kernel, with the columns of the mean and of the noise's kernel."""
        parsed = kernels.Parsed(context, expression)
        mean = self._mean() if getattr(self, "mean", None) is not None else None
        if mean is not None:
            parsed.add_mean(mean)
        if getattr(self, "noise_kernel", None) is not None:
            parsed.add_noise(mean, kernels.expression_of(self.noise_kernel))
        return parsed

    def _begin(self, X):
        """(context, kernel as parsed, columns of X): the first half of a fit."""
        context = self._new_context()
        if given.is_given(self.kernel):
            self._giving, values = given.of(self.kernel, X)
            parsed = self._parsed(context, self._giving.expression(self._spreads))
            columns = parsed.read(given.named(values))
        else:
            X = tables.as_rows(X)
            expression = kernels.without_stars(kernels.expression_of(self.kernel), X)
            parsed = self._parsed(context, expression)
            columns = parsed.read(X)
        self._remember_features(X)
        return context, parsed, columns

    def _remember_features(self, X):
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if isinstance(X, given.Precomputed):
            X = X.K
        if tables.is_frame(X):
            names = list(X.columns)
            self.n_features_in_ = len(names)
            if all(isinstance(name, str) for name in names):
                self.feature_names_in_ = np.array(names, dtype=object)
            return
        rows = tables.as_rows(X)
        if isinstance(rows, np.ndarray) and rows.ndim == 2:
            self.n_features_in_ = rows.shape[1]

    def _reads_by_name(self):
        """Whether X had columns by which the kernel was fitted; else the places count."""
        return not set(self._columns).isdisjoint(getattr(self, "feature_names_in_", ()))

    def _check_features(self, X):
        """By name, columns that the kernel does not read may be missing or elsewhere, and it says
        itself which it misses. By place, X wants as many columns as there were, with the same
        names."""
        rows = tables.as_rows(X)
        flat = not isinstance(rows, np.ndarray) or rows.ndim < 2
        if self._reads_by_name() and (tables.has_names(rows) or (flat and len(self._columns) == 1)):
            return
        if HAVE_SKLEARN and hasattr(self, "n_features_in_") and (
                tables.is_frame(X) or hasattr(self, "feature_names_in_")):
            from sklearn.utils.validation import _check_feature_names
            _check_feature_names(self, X, reset=False)
        expected, count = getattr(self, "n_features_in_", None), _width(X)
        if None not in (expected, count) and count != expected:
            raise ValueError(f"X has {count} features, but {type(self).__name__} is "
                             f"expecting {expected} features as input")

    def _with_names(self, X):
        """An array for a model that was fitted to a frame has the columns of that frame."""
        if self._reads_by_name() and _width(X) is not None:
            return dict(zip(self.feature_names_in_, np.asarray(X).T))
        return X

    @property
    def _vectors(self):
        """Word vectors: its own, or those that came with the kernel."""
        given = self.kernel.vectors if isinstance(self.kernel, kernels.Kernel) else None
        return given if self.vectors is None else self.vectors

    def _set_vectors(self, options, context, parsed, columns):
        """Word vectors and what is kept of them, where the kernel reads any."""
        if self.keep_vectors not in vectors.KEEP:
            raise Error(f'keep_vectors wants "used", "none" or "all", not {self.keep_vectors!r}')
        if not lib.lth_kernel_needs_vectors(parsed.pointer):
            return
        given = any(isinstance(c, tables.Vectors) for c in columns.values())
        if self._vectors is None and not given:
            raise Error("this kernel compares words by their vectors: give vectors=FILE, or X as "
                        "2-D arrays of vectors")
        options.keep_vectors = vectors.KEEP[self.keep_vectors]
        table = self._vectors_in_memory(context)
        if table is not None:
            options.word_vectors = table.pointer
        else:
            options.vectors = vectors.path_of(self._vectors)

    def _vectors_in_memory(self, context):
        """`vectors` as an object of the C library, made once; None of a file."""
        made = self.__dict__.get("_word_vectors")
        if made is None or made[0] is not self._vectors:
            made = self._word_vectors = self._vectors, vectors.table(self._vectors, context)
        return made[1]

    def _use_vectors(self, pointer):
        """Where the model looks for the vectors of new words."""
        table = self._vectors_in_memory(self._context)
        if table is not None:
            self._context.call(self._c("use_word_vectors"), pointer, table.pointer)
        else:
            self._context.call(self._c("use_vectors"), pointer, vectors.path_of(self._vectors),
                               in_memory=False)

    def _own(self, pointer, context):
        """Take over a model of the C library."""
        self._model = Owned(pointer, self._c("free"), context)
        self._context = context
        kernel = self._c("kernel")(pointer)
        self.kernel_ = kernels.Kernel(kernels.printed(kernel), self._vectors, self.n_jobs,
                                      self.precision)
        self._columns = kernels.columns_of(kernel)
        self._given = self.__dict__.pop("_giving", None)
        self._read()
        return self

    def _read(self):
        raise NotImplementedError

    # ---- A fitted model ----

    def __sklearn_is_fitted__(self):
        return "_model" in self.__dict__

    @property
    def _pointer(self):
        if "_model" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call "
                                 "'fit' with appropriate arguments before using this estimator.")
        return self._model.pointer

    def _columns_of(self, X, spread=True):
        """{name: column} of what the kernel reads of new rows, whose vectors it then knows;
        `spread`: also for variances."""
        pointer = self._pointer
        if self._given is not None:
            return self._given_columns(X, spread and self._spreads)
        if not hasattr(X, "__array__"):
            X = tables.as_rows(X)
        self._check_features(X)
        columns = kernels.read(self._with_names(X), self._columns, self.kernel_.expression)
        if lib.lth_kernel_needs_vectors(self._c("kernel")(pointer)):
            self._use_vectors(pointer)
        return columns

    def _given_columns(self, X, spread):
        values, known = self._given.values(X)
        if spread and not known:
            raise Error("k(x, x) of new rows is not known (not all training rows have the same, or "
                        "the model is from a file): give X as luthier.Precomputed(K, diagonal), "
                        "for variances")
        return kernels.read(given.named(values), self._columns, self.kernel_.expression)

    def _new_rows(self, X, more=None, spread=True):
        """The table of rows to predict; `more` gives further columns, for so many rows."""
        columns = self._columns_of(X, spread)
        if more is not None:
            columns |= more(next(iter(columns.values())).count)
        return tables.Table(self._context, columns)

    def _rows_of(self, X, exposure, more=None, spread=True):
        if exposure is not None:
            raise Error("the model was fitted without an exposure")
        return self._new_rows(X, more, spread)

    def _predict_call(self, name, table, *arguments):
        long = table.rows * self._rows > _DIRECT_ROWS or table.bytes > _DIRECT_BYTES
        self._context.call(self._c(name), self._pointer, table.pointer, *arguments, long=long)

    def predict_iter(self, X: Rows, *, chunk: int = 8192, method: str = "predict",
                     **options: Any) -> Iterator[Any]:
        """Predictions of any number of rows in the memory of a few: `method` for `chunk` rows at a
        time, a result for each chunk.

        Parameters
        ----------
        X : iterable
            Rows as they come: a generator, a file of lines, a reader of dicts; or frames, each of
            which is a chunk (``pandas.read_csv(..., chunksize=8192)``). Lists, arrays and frames
            are cut.
        chunk : int
            Multiples of 512 give the very numbers that X would have at once.
        method : str
            ``"predict_proba"``, ``"decision_function"``, ...
        **options
            What `method` takes: ``return_std=True``.
        """
        self._pointer  # raises if it is not fitted
        chunk, call = positive(chunk, "chunk", 1), getattr(self, method)
        return (_in_place(call, rows, first, options) for first, rows in tables.chunks(X, chunk))

    def save(self, path: PathLike) -> None:
        """Write the model file that ``luthier predict`` and `luthier.load` read.

        In a cluster all ranks call it, and the first one writes.
        """
        self._context_of_fitted().call(self._c("save"), self._pointer, os.fsencode(path),
                                       in_memory=False)

    def _context_of_fitted(self):
        self._pointer  # raises if there is none
        return self._context

    def show(self, file: Optional[TextIO] = None) -> None:
        """Print what was learned, as ``luthier show`` does."""
        from .show import text_of
        print(text_of(self), end="", file=file)

    def report(self, path: PathLike, X: Optional[Rows] = None, y: Optional[ArrayLike] = None, *,
               exposure: Optional[Column] = None, title: Optional[str] = None) -> None:
        """Write a page about the model, the HTML file of ``luthier report``; with rows that it has
        not seen, X and y, also how well it does on them.

        The command ``luthier`` writes it: the one that LUTHIER_CLI names, or that is built in the
        source tree, or on the PATH.
        """
        from . import _command
        self._pointer  # raises if it is not fitted
        _command.report(self, path, X, y, exposure, title)

    # ---- Copies: a model travels as the bytes of its file ----

    def __getstate__(self):
        state = dict(self.__dict__)
        if state.pop("_model", None) is not None:
            state["_bytes"] = self._to_bytes()
        state.pop("_context", None)
        state.pop("_word_vectors", None)
        return state

    def __setstate__(self, state):
        state = dict(state)
        content = state.pop("_bytes", None)
        self.__dict__.update(state)
        if content is None:
            return
        context = Context(self.n_jobs, self.precision)
        pointer = context.create(self._c("load_from"), context.pointer, content, len(content))
        self._model, self._context = Owned(pointer, self._c("free"), context), context

    def _to_bytes(self):
        return bytes_of(self._context, self._c("save_to"), self._pointer)

    # ---- scikit-learn ----

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        by_caller = given.is_given(self.kernel)
        arrays = by_caller or (
            isinstance(self.kernel, str) and "*)" in self.kernel.replace(",", ")"))
        tags.input_tags.pairwise = by_caller and isinstance(self.kernel, str)
        tags.input_tags.two_d_array = arrays
        tags.input_tags.string = not arrays
        tags.input_tags.sparse = False
        return tags


class Classes:
    """What classifiers share: labels in scikit-learn's order."""

    def _set_classes(self, c_names, multi, known=None):
        known = known or labels.from_file(c_names, multi)
        self.classes_ = known.classes
        self._order = known.order(c_names)
        self._multi = multi

    def _spread(self, by_class):
        """Columns from the order of C to that of `classes_`; classes without rows get 0."""
        out = np.zeros((len(by_class), len(self.classes_)), dtype=by_class.dtype)
        out[:, self._order] = by_class
        return out


def _width(X):
    """The columns of a 2-D array that is no frame; None of anything else."""
    return X.shape[1] if isinstance(X, np.ndarray) and X.ndim == 2 else None


def _in_place(call, rows, first, options):
    try:
        return call(rows, **options)
    except Error as failure:
        if failure.file or first == 0:
            raise
        raise Error(f"{failure} (counted from row {first})", failure.status,
                    failure.line and failure.line + first, failure.column) from None


def bytes_of(context, save_to, pointer):
    """The file of a model."""
    out = bytearray()

    @_c.WriteFn
    def take(_user, content, size):
        try:
            out.extend(string_at(content, size))
        except MemoryError:
            return 1
        return 0

    context.call(save_to, pointer, take, None)
    return bytes(out)


def strings(values, what):
    """(char *const *, count) of a list of texts, or of one text."""
    if values is None:
        return None, 0
    values = [values] if isinstance(values, str) else list(values)
    if not all(isinstance(v, str) for v in values):
        raise Error(f"{what} wants strings, not {values!r}")
    return (c_char_p * len(values))(*(v.encode() for v in values)), len(values)


def positive(value, what, least=0):
    """A count, checked."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise Error(f"{what} wants a whole number of at least {least}, not {value!r}")
    return value.__index__()


def status_line(context, wanted):
    """Show the share of the work in hand while a call runs."""
    line = progress(wanted and context.is_first)
    context.on_progress = lambda what, share: line.show(what, share=share)
    return line


def adopt(estimator, pointer, context):
    """An estimator for a model that was read from a file."""
    estimator._own(pointer, context)
    estimator.kernel = estimator.kernel_.expression
    if rows := given.in_expression(estimator.kernel):
        estimator.kernel, estimator._given = "precomputed", given.Given(None, rows)
    return estimator


def load(path: PathLike, vectors: Any = None, n_jobs: Optional[int] = None,
         cluster: str = "none") -> Any:
    """Read a model file of `save` or of ``luthier fit``: the right estimator, fitted.

    Parameters
    ----------
    path : path
    vectors : path, dict or pair, optional
        Where to look for the vectors of words that training did not have.
    n_jobs : int, optional
        Threads for predictions; None and -1 mean all cores.
    cluster : {"none", "mpi", "scalapack", "auto"}
        As for `GPRegressor`: the first rank reads the file, and all share the predictions.
    """
    from . import gp, svm
    context = Context(n_jobs, cluster=cluster)
    pointer = context.create(lib.lth_model_load, context.pointer, os.fsencode(path),
                             in_memory=False)
    kind = gp if lib.lth_model_gp(pointer) else svm
    return kind.estimator_of(pointer, context, vectors=vectors, n_jobs=n_jobs, cluster=cluster)
