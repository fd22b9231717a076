"""Support vector machines: classification and regression."""

from __future__ import annotations

from ctypes import byref, sizeof
from typing import Any, Mapping, Optional

import numpy as np

from . import _c, labels, model, tables
from ._compat import ClassifierMixin, RegressorMixin, available_if
from ._library import lib
from ._types import Array, ArrayLike, KernelLike, Random, Rows, Values
from .errors import Error

_SOLVERS = {"auto": 0, "kernel": 1, "linear": 2, "origin": 3}
_REGRESSION, _CLASSIFICATION = 1, 2


def _values(value, what):
    """One number or a list of them as an array."""
    try:
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise Error(f"{what} wants a number, or a list of numbers to try; not {value!r}")
    return np.ascontiguousarray(array)


def _grid(grid):
    try:
        return [f"{path}={','.join(_written(v) for v in values)}"
                for path, values in (grid or {}).items()]
    except (AttributeError, TypeError):
        raise Error('grid wants {path: [values]}, as {"ssk.gap": [0.3, 0.5]}, not '
                    f"{grid!r}") from None


def _written(value):
    return value if isinstance(value, str) else repr(value.item() if hasattr(value, "item")
                                                     else value)


class _SVM(model.Model):
    _api = "svm"
    _spreads = False

    def _task(self, X, y):
        """(context, parsed, columns, targets, options by list, other options)."""
        raise NotImplementedError

    def _fit(self, X, y):
        context, parsed, columns, targets, lists, more = self._task(X, y)
        options = self._options(context, parsed, columns, lists, more)
        table = tables.Table(context, {**columns, **targets})
        line = model.status_line(context, self.verbose)
        try:
            pointer = context.create(lib.lth_svm_fit, context.pointer, parsed.expression.encode(),
                                     table.pointer, next(iter(targets)).encode(), byref(options),
                                     long=True, free=lib.lth_svm_free)
        finally:
            line.end()
            context.on_progress = None
        return self._own(pointer, context)

    def _validation(self, X, y, known):
        """For `cross_validate`: (context, parsed, columns, targets, options, what validates)."""
        if known:
            raise Error(f"a support vector machine takes no {', '.join(known)}")
        context, parsed, columns, targets, lists, more = self._task(X, y)
        options = self._options(context, parsed, columns, lists, more)
        return context, parsed, columns, targets, options, lib.lth_svm_cv

    def _options(self, context, parsed, columns, lists, more):
        options = _c.SvmOptions()
        lib.lth_svm_options_init(byref(options))
        options.set, options.set_count = model.strings(_grid(self.grid), "grid")
        options.inner_folds = model.positive(self.inner_folds, "inner_folds", 2)
        if self.solver not in _SOLVERS:
            raise Error(f"solver wants one of {', '.join(_SOLVERS)}; not {self.solver!r}")
        options.solver = _SOLVERS[self.solver]
        if self.features is not None:
            options.features = model.positive(self.features, "features", 1)
        options.keep = []  # what is read by its address
        for name, value in lists.items():
            options.keep.append(_values(value, name))
            setattr(options, name, options.keep[-1].ctypes.data)
            setattr(options, name + "_count", len(options.keep[-1]))
        for name, value in more.items():
            setattr(options, name, value)
        self._set_vectors(options, context, parsed, columns)
        return options

    def _read(self):
        r = lib.lth_svm_reported(self._pointer)
        self._rows = r.rows
        self._report = {name: getattr(r, name) for name, _ in _c.SvmReport._fields_}
        self.n_support_rows_ = r.support
        self.hyperparameters_ = self.kernel_.parameters
        self.best_params_ = {name: value for name in ("C", "epsilon", "nu")
                             if not np.isnan(value := getattr(r, name))}
        self.best_score_ = r.inner
        self.grid_ = [self._point(i) for i in range(r.points)]

    def _point(self, i):
        p = lib.lth_svm_point_at(self._pointer, i)
        return {"kernel": p.kernel.decode(), "C": p.C, "epsilon": p.epsilon, "nu": p.nu,
                "score": p.score}


class SVC(ClassifierMixin, model.Classes, _SVM):
    """Support vector classification. A y of 0 and 1 in two dimensions is multi-label.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Its hyperparameters stay as written, or come from `grid`. ``"precomputed"`` and functions as
        for `GPRegressor`.
    C : float or list of float
        A list is searched on inner folds.
    nu : float or list of float, optional
        When given, a nu-SVC.
    grid : dict, optional
        Values of the kernel to try: ``{"ssk.gap": [0.3, 0.5], "ssk.order": [3, 4]}``.
    inner_folds : int
        Folds of the training rows by which the points of a grid are judged.
    class_weight : "balanced" or dict, optional
        Factors of C by label.
    multi_class : {"ovr", "ovo"}, optional
        More than two classes: a problem for each class against the rest (default), or for each pair (default with nu).
    probability : bool
        Calibrate probabilities, for `predict_proba`.
    solver : {"auto", "kernel", "linear", "origin"}
        Linear: without a Gram matrix, for kernels that are inner products of sparse features. Origin: without a threshold.
    features : int, optional
        So many rows stand for all: each row is described by its similarities with these, without a Gram matrix. For many rows.
    vectors, keep_vectors, n_jobs, random_state, verbose, precision, device, cluster
        As for `GPRegressor`.

    Attributes
    ----------
    classes_ : ndarray
    kernel_ : Kernel
    hyperparameters_ : dict
    best_params_ : dict
        C or nu, as chosen.
    best_score_ : float
        Over the inner folds; NaN without a grid.
    grid_ : list of dict
        Every point with its score.
    n_support_rows_ : int
    """

    def __init__(self, kernel: KernelLike = "ssk(text)", *, C: Values = 1.0,
                 nu: Optional[Values] = None, grid: Optional[Mapping[str, Any]] = None,
                 inner_folds: int = 3, class_weight: Any = None, multi_class: Optional[str] = None,
                 probability: bool = False, solver: str = "auto", features: Optional[int] = None,
                 vectors: Any = None, keep_vectors: str = "used", n_jobs: Optional[int] = None,
                 random_state: Random = None, verbose: int = 0, precision: str = "double", device: str = "cpu",
                 cluster: str = "none") -> None:
        self.kernel = kernel
        self.C = C
        self.nu = nu
        self.grid = grid
        self.inner_folds = inner_folds
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.probability = probability
        self.solver = solver
        self.features = features
        self.vectors = vectors
        self.keep_vectors = keep_vectors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.precision = precision
        self.device = device
        self.cluster = cluster

    def fit(self, X: Rows, y: ArrayLike) -> SVC:
        """Learn from rows and their labels."""
        return self._fit(X, y)

    def _task(self, X, y):
        if self.multi_class not in (None, "ovo", "ovr"):
            raise Error(f'multi_class wants "ovr" or "ovo", not {self.multi_class!r}')
        rest = self.nu is None if self.multi_class is None else self.multi_class == "ovr"
        context, parsed, columns = self._begin(X)
        rows = next(iter(columns.values())).count
        self._labels, targets = labels.labels(y, rows, columns.keys(), self)
        weights = self._weights(self._labels)
        lists = {"C": self.C} if self.nu is None else {"nu": self.nu}
        return context, parsed, columns, targets, lists, {
            "task": _CLASSIFICATION, "nu_svm": self.nu is not None, "one_vs_rest": rest,
            "probability": bool(self.probability), "class_weights": weights}

    def _weights(self, known):
        if self.class_weight is None or self.class_weight == "balanced":
            return self.class_weight and b"balanced"
        try:
            given = {str(label): float(w) for label, w in self.class_weight.items()}
        except (AttributeError, TypeError, ValueError):
            raise Error('class_weight wants "balanced" or {label: factor}, not '
                        f"{self.class_weight!r}") from None
        names = {str(c): name for c, name in zip(known.classes.tolist(), known.names)}
        pairs = [f"{names[label]}={w!r}" for label, w in given.items() if label in names]
        if any("=" in names[label] for label in given if label in names):
            raise Error('class_weight: a label with "=" in it cannot be given')
        return ",".join(pairs).encode() or None

    def _read(self):
        super()._read()
        pointer = self._pointer
        names = [lib.lth_svm_class_at(pointer, i).name.decode()
                 for i in range(self._report["classes"])]
        self._set_classes(names, self._report["multi_label"], self.__dict__.pop("_labels", None))

    def _predict(self, X, **arrays):
        """Fill arrays of (shape after the rows, type)."""
        table = self._new_rows(X)
        to = _c.SvmPrediction()
        out = {name: np.empty((table.rows, *shape), dtype) for name, (shape, dtype)
               in arrays.items()}
        for name, array in out.items():
            setattr(to, name, array.ctypes.data)
        self._predict_call("predict", table, byref(to), sizeof(to))
        return next(iter(out.values()))

    def predict(self, X: Rows) -> Array:
        """The class of each row; of several labels an array of 0 and 1."""
        if self._pointer and self._multi:
            has = self._predict(X, has=((len(self._order),), np.bool_))
            return self._spread(has).astype(int)
        label = self._predict(X, label=((), np.uintp))
        return self.classes_[self._order[label.astype(np.intp)]]

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Rows) -> Array:
        """Probabilities, in the order of `classes_`; only with ``probability=True``."""
        if self._pointer and not self._report["probability"]:
            raise Error("this model was fitted without probability=True")
        return self._spread(self._predict(X, probability=((len(self._order),), np.float64)))

    def decision_function(self, X: Rows) -> Array:
        """Decision values: one for two classes, above 0 for `classes_[1]`, else one for each class.

        For several classes in pairs they are the votes, with the sums of the pairs' decision values
        breaking ties, as in scikit-learn.
        """
        one = self._pointer and len(self._order) == 2 and not self._multi
        score = self._predict(X, score=(() if one else (len(self._order),), np.float64))
        if not one:
            return self._spread(score)
        return score if self._order[1] == 1 else -score


class SVR(RegressorMixin, _SVM):
    """Support vector regression.

    Parameters
    ----------
    kernel, C, grid, inner_folds, solver, features, vectors, keep_vectors, n_jobs, random_state, verbose, precision, device, cluster
        As for `SVC`.
    epsilon : float or list of float
        Errors up to this are free.
    nu : float or list of float, optional
        When given, a nu-SVR, which finds epsilon itself.

    Attributes
    ----------
    kernel_, hyperparameters_, best_params_, best_score_, grid_, n_support_rows_
        As for `SVC`.
    """

    def __init__(self, kernel: KernelLike = "ssk(text)", *, C: Values = 1.0, epsilon: Values = 0.1,
                 nu: Optional[Values] = None, grid: Optional[Mapping[str, Any]] = None,
                 inner_folds: int = 3, solver: str = "auto", features: Optional[int] = None,
                 vectors: Any = None, keep_vectors: str = "used", n_jobs: Optional[int] = None,
                 random_state: Random = None, verbose: int = 0, precision: str = "double", device: str = "cpu",
                 cluster: str = "none") -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.nu = nu
        self.grid = grid
        self.inner_folds = inner_folds
        self.solver = solver
        self.features = features
        self.vectors = vectors
        self.keep_vectors = keep_vectors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.precision = precision
        self.device = device
        self.cluster = cluster

    def fit(self, X: Rows, y: ArrayLike) -> SVR:
        """Learn from rows and numbers."""
        return self._fit(X, y)

    def _task(self, X, y):
        context, parsed, columns = self._begin(X)
        rows = next(iter(columns.values())).count
        targets, several = labels.numbers(y, rows, columns.keys(), self)
        if several:
            raise Error("y should be a 1d array: a support vector machine has one target")
        lists = {"C": self.C}
        lists.update({"epsilon": self.epsilon} if self.nu is None else {"nu": self.nu})
        return context, parsed, columns, targets, lists, {"task": _REGRESSION,
                                                          "nu_svm": self.nu is not None}

    def predict(self, X: Rows) -> Array:
        """The number of each row."""
        table = self._new_rows(X)
        out = np.empty(table.rows)
        to = _c.SvmPrediction(value=out.ctypes.data)
        self._predict_call("predict", table, byref(to), sizeof(to))
        return out


def estimator_of(pointer, context, **given):
    """The estimator for a support vector machine that was read from a file."""
    kind = SVR if lib.lth_svm_reported(pointer).regression else SVC
    out = model.adopt(kind(**given), pointer, context)
    for name in ("C", "epsilon", "nu"):  # what it was fitted with
        if name in out.get_params():
            setattr(out, name, out.best_params_.get(name, getattr(out, name)))
    if kind is SVC:
        out.probability = out._report["probability"]
        if len(out.classes_) > 2 and not out._multi:
            out.multi_class = "ovr" if out._report["one_vs_rest"] else "ovo"
    return out
