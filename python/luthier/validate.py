"""Cross-validation by the library: what ``luthier cv`` prints, as an object."""

from __future__ import annotations

from ctypes import byref
from typing import Any, Dict, List, Optional, Union

import numpy as np

from . import _c, given, kernel as kernels, model as models, tables
from ._context import Owned, seed_of
from ._library import lib
from ._types import Array, ArrayLike, Random, Rows
from .errors import Error


class CrossValidation:
    """What a cross-validation found of one target.

    Attributes
    ----------
    target : str
    folds : list of dict
        The figures of each fold, with "seconds" and, of a Gaussian process for numbers, "evidence".
    mean, pooled : dict
        Means over folds, and the figures of all rows together. `luthier.metrics` and
        `luthier.label_metrics` say what there is.
    fold : ndarray of int
        The fold of each row, from 0.
    y : ndarray
        The truth, by row.
    predictions : ndarray
        What was predicted for each row from the other folds: numbers, or labels, or for several
        labels a row an array of 0 and 1.
    sd : ndarray
        Its standard deviation; NaN where there is none. None for labels.
    classes : ndarray
        Of labels, in the order of `confusion`; else None.
    confusion : ndarray
        Of one label a row: rows of class i that were taken for class j; else None.
    """

    folds: List[Dict[str, float]]
    mean: Dict[str, float]
    pooled: Dict[str, float]
    fold: Array
    y: Array
    predictions: Array
    sd: Optional[Array]
    classes: Optional[Array]
    confusion: Optional[Array]

    def __init__(self, target: str, **found: Any) -> None:
        self.target = target
        self.__dict__.update(found)

    def to_frame(self) -> Any:
        """The figures as a pandas frame: a row for each fold, then "mean" and "pooled"."""
        import pandas
        rows = [*self.folds, self.mean, self.pooled]
        names = [*range(1, len(self.folds) + 1), "mean", "pooled"]
        return pandas.DataFrame(rows, index=pandas.Index(names, name="fold"))

    def __repr__(self):
        shown = ("nlpd", "mae", "rmse", "r2") if self.classes is None else ("accuracy", "macro_f1")
        figures = ", ".join(f"{name} {self.pooled[name]:.4g}" for name in shown)
        return f"<CrossValidation of {self.target}: {len(self.folds)} folds, {figures}>"


def cross_validate(model: Any, X: Rows, y: ArrayLike, folds: Union[int, ArrayLike] = 10, *,
                   random_state: Random = None, **known: Any) -> Any:
    """How well a model predicts rows that it has not seen, by the library: the numbers of
    ``luthier cv``.

    Parameters
    ----------
    model : estimator, or str or Kernel
        Of a kernel: a `GPRegressor` with it, or for labels a `GPClassifier`.
    X, y : rows and their targets
    folds : int, or array-like of the fold of each row
        A number: rows are shuffled; folds of labels, and of support vector machines, have their
        share of every class. An array: one fold for each value in it, by order.
    random_state : int, optional
        Of the shuffle; None is the same as 1.
    **known
        What `fit` takes beside X and y: `sample_weight` (above 0), `noise`, `exposure`, ...

    Returns
    -------
    CrossValidation, or with several targets a dict of them by name
    """
    estimator = _estimator(model, y)
    context, parsed, columns, targets, options, validate = estimator._validation(X, y, known)
    table = tables.Table(context, {**columns, **targets})
    fold, count = _folds(folds, table, targets, options.task, estimator, context, random_state)
    names, target_count = models.strings(targets, "targets")
    line = models.status_line(context, estimator.verbose)
    try:
        pointer = context.create(validate, context.pointer, parsed.expression.encode(),
                                 table.pointer, names, target_count, fold.ctypes.data, count,
                                 byref(options), long=True, free=lib.lth_validation_free)
    finally:
        line.end()
        context.on_progress = None
    found = Owned(pointer, lib.lth_validation_free, context, table)
    out = {name: _read(found.pointer, t, name, fold, count, y, estimator)
           for t, name in enumerate(targets)}
    return out if len(out) > 1 else next(iter(out.values()))


def _estimator(given_model, y):
    from .gp import GPClassifier, GPRegressor
    if isinstance(given_model, (str, kernels.Kernel)) or given.is_given(given_model):
        numbers = np.asarray(y).dtype.kind in "fiu"
        return (GPRegressor if numbers else GPClassifier)(given_model)
    if not isinstance(given_model, models.Model):
        raise Error(f"cross_validate wants an estimator of luthier or a kernel, not {given_model!r}")
    # A copy, without what was fitted: the model itself stays as it is.
    return type(given_model)(**given_model.get_params(deep=False))


def _folds(folds, table, targets, task, estimator, context, random_state):
    """(fold of each row, how many there are)."""
    fold = np.empty(table.rows, dtype=np.uintp)
    if np.ndim(folds):
        values, numbers = np.unique(np.asarray(folds), return_inverse=True)
        if numbers.shape != (table.rows,):
            raise Error(f"folds wants one fold for each of {table.rows} rows")
        if len(values) < 2:
            raise Error("folds wants two folds at least")
        return numbers.astype(np.uintp), len(values)
    count = models.positive(folds, "folds", 2)
    seed = seed_of(random_state)
    if hasattr(estimator, "_set_classes") or estimator._api == "svm":
        context.call(lib.lth_folds_stratified, seed, table.pointer, next(iter(targets)).encode(),
                     task, count, fold.ctypes.data)
    else:
        lib.lth_folds_shuffled(seed, table.rows, count, fold.ctypes.data)
    return fold, count


def _read(v, t, name, fold, count, y, estimator):
    figures = lib.lth_validation_metrics
    labels = lib.lth_validation_has_labels(v, t)
    if labels:
        figures = lib.lth_validation_label_metrics
    pooled, folds = _as_dict(figures(v, t, _c.NONE)), []
    for f in range(count):
        one = _as_dict(figures(v, t, f))
        one["seconds"] = lib.lth_validation_seconds(v, t, f)
        if not labels and estimator._api == "gp":
            one["evidence"] = lib.lth_validation_evidence(v, t, f)
        folds.append(one)
    mean = {key: float(np.mean([one[key] for one in folds])) for key in folds[0]}
    values = _labels(v, t, len(fold), estimator) if labels else _numbers(v, t, len(fold))
    y = np.asarray(y)
    y = y[:, t] if y.ndim == 2 and not labels else y
    return CrossValidation(name, folds=folds, mean=mean, pooled=pooled,
                           fold=fold.astype(np.intp), y=y, **values)


def _as_dict(found):
    return {name: getattr(found, name) for name, _ in found._fields_}


def _numbers(v, t, rows):
    return {"predictions": np.array([lib.lth_validation_value(v, t, i) for i in range(rows)]),
            "sd": np.array([lib.lth_validation_sd(v, t, i) for i in range(rows)]),
            "classes": None, "confusion": None}


def _labels(v, t, rows, estimator):
    """Classes in scikit-learn's order, as the estimator would have them."""
    count, known = lib.lth_validation_classes(v, t), estimator._labels
    names = [lib.lth_validation_class(v, t, i).decode() for i in range(count)]
    order = known.order(names)  # where the classes of C are in ours
    has = np.zeros((rows, len(known.classes)), dtype=int)
    for i in range(rows):
        for c in range(count):
            has[i, order[c]] = lib.lth_validation_predicted(v, t, i, c)
    confusion = None
    if lib.lth_validation_has_confusion(v, t):
        confusion = np.zeros((len(known.classes),) * 2, dtype=int)
        for a in range(count):
            for b in range(count):
                confusion[order[a], order[b]] = lib.lth_validation_confusion(v, t, a, b)
    return {"predictions": has if known.multi else known.classes[has.argmax(axis=1)], "sd": None,
            "classes": known.classes, "confusion": confusion}
