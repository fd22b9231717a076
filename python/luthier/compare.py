"""Models side by side on the same rows: the paired bootstrap of `luthier compare`."""

from ctypes import POINTER, byref, pointer, sizeof

import numpy as np

from . import _c, labels, model, quality
from ._context import seed_of
from ._library import lib
from .errors import Error

_OF_NUMBERS = ("point", "sd", "lower", "upper", "log_density", "cdf", "crps")
_FIGURES = ("value", "difference", "lower", "upper", "first_better", "p", "resamples")


def _is_classifier(m):
    return hasattr(m, "classes_")


def _check(models):
    for m in models:
        if not isinstance(m, model.Model):
            raise Error(f"compare wants fitted models, then X and y; not {type(m).__name__}")
        m._pointer  # raises if it is not fitted
    first = models[0]
    for m in models[1:]:
        if _is_classifier(m) != _is_classifier(first):
            raise Error("compare wants models of one kind: here are some for numbers and some for "
                        "labels")
        if _is_classifier(first) and (m._multi != first._multi or
                                      not np.array_equal(m.classes_, first.classes_)):
            raise Error(f"the classes of the models differ: {list(first.classes_)} and "
                        f"{list(m.classes_)}")
        if getattr(m, "n_targets_", 1) != getattr(first, "n_targets_", 1):
            raise Error("compare wants models of the same number of targets")


def _pointers(structs):
    kind = POINTER(type(structs[0]))
    return (kind * len(structs))(*[pointer(s) for s in structs])


def _numbers_of(m, X, y):
    """{name: (targets, rows)} of what judges predicted numbers."""
    if not hasattr(m, "_predict_all"):
        return {"point": np.ascontiguousarray(m.predict(X))[None, :]}
    table = m._rows_of(X, None)
    if table.rows != y.shape[1]:
        raise Error(f"X has {table.rows} rows, y has {y.shape[1]}")
    return m._predict_all(table, _OF_NUMBERS, y=y)


def _compare_numbers(models, X, y, options, context):
    y = np.asarray(y, dtype=object if hasattr(y, "columns") else None)
    columns, _ = labels.numbers(y, len(y), set(), models[0], gaps=True)
    truth = np.ascontiguousarray([np.asarray(c._values, dtype=float) for c in columns.values()])
    if len(truth) != getattr(models[0], "n_targets_", 1):
        raise Error(f"y wants {getattr(models[0], 'n_targets_', 1)} numbers for each row")
    found = [_numbers_of(m, X, truth) for m in models]
    if any(f["point"].shape != truth.shape for f in found):
        raise Error(f"X and y differ in their rows: y has {truth.shape[1]}")
    for t, name in enumerate(columns):
        known = ~np.isnan(truth[t])
        kept = [{k: np.ascontiguousarray(a[t][known]) for k, a in f.items()} for f in found]
        of_y = np.ascontiguousarray(truth[t][known])
        structs = [_c.GpPrediction(y=of_y.ctypes.data,
                                   **{k: a.ctypes.data for k, a in f.items()}) for f in kept]
        yield name, (lib.lth_compare_numbers, context.pointer, _pointers(structs),
                     sizeof(_c.GpPrediction), len(models), len(of_y), byref(options))


def _labels_of(m, X):
    """(predicted, probabilities, scores), of which the last two may be None."""
    if hasattr(m, "predict_proba"):
        proba = np.ascontiguousarray(m.predict_proba(X))
        return np.ascontiguousarray(quality._decided(proba, m._multi)), proba, None
    two = len(m.classes_) == 2 and not m._multi
    score = np.ascontiguousarray(m.decision_function(X)) if two else None
    return quality._has(m.predict(X), m.classes_, "predicted"), None, score


def _compare_labels(models, X, y, options, context):
    first = models[0]
    truth = quality._has(y, first.classes_, "y")
    found = [_labels_of(m, X) for m in models]
    if any(p.shape != truth.shape for p, _, _ in found):
        raise Error(f"X and y differ in their rows: y has {len(truth)}")
    structs = [_c.LabelPrediction(*[None if a is None else a.ctypes.data for a in f])
               for f in found]
    names, _ = model.strings([str(c) for c in first.classes_.tolist()], "classes")
    name = getattr(y, "name", None)
    yield name if isinstance(name, str) else "y", (
        lib.lth_compare_labels, context.pointer, truth.ctypes.data, _pointers(structs),
        sizeof(_c.LabelPrediction), len(models), names, *truth.shape, bool(first._multi),
        byref(options))


def _rows(name, comparison, count):
    """A dict for each figure and model, without figures that no model has."""
    for k in range(lib.lth_comparison_figures(comparison)):
        of = [lib.lth_comparison_at(comparison, m, k) for m in range(count)]
        if all(np.isnan(c.value) for c in of):
            continue
        for m, c in enumerate(of):
            yield {"target": name, "figure": c.name.decode(), "better": c.better.decode(),
                   "model": m, **{f: getattr(c, f) for f in _FIGURES}}


def compare(first, second, *rest, resamples=2000, random_state=None):
    """Whether one model is better than another: ``compare(m1, m2, X, y)``, or with more models
    before X and y.

    Rows are drawn with replacement, the same ones for all models, and all figures judged anew (the
    paired bootstrap). X and y should be rows that no model was fitted to.

    Parameters
    ----------
    first, second, *rest
        Fitted models of numbers, or of the same classes; then X, and the truth y.
    resamples : int
    random_state : int, optional

    Returns
    -------
    list of dict
        For each target, figure and model: target, figure, better ("low", "high", or "0.95": the
        nearer to that), model (0 is the first), value, difference (of the first model less this
        one), lower and upper (its 95% interval), first_better (the share of resamples in which the
        first is better, ties half), p (two-sided), and resamples in which the figure is defined.
        ``pandas.DataFrame(...)`` makes a table of it.
    """
    if len(rest) < 2:
        raise Error("compare wants two models or more, then X and y")
    *more, X, y = rest
    models = [first, second, *more]
    _check(models)
    options = _c.CompareOptions()
    lib.lth_compare_options_init(byref(options))
    options.resamples = model.positive(resamples, "resamples", 1)
    options.seed = seed_of(random_state)
    context, out = first._context_of_fitted(), []
    kind = _compare_labels if _is_classifier(first) else _compare_numbers
    for name, call in kind(models, X, y, options, context):
        comparison = context.create(*call, free=lib.lth_comparison_free, long=True)
        try:
            out += _rows(name, comparison, len(models))
        finally:
            lib.lth_comparison_free(comparison)
    return out
