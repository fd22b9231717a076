"""Targets: numbers for regression, labels for classification."""

import warnings

import numpy as np

from . import tables
from .errors import Error
from .rows import free_name, with_gaps

try:
    from sklearn.exceptions import DataConversionWarning
except ImportError:
    DataConversionWarning = UserWarning


def _as_array(y, model):
    if y is None:
        raise Error(f"{type(model).__name__} requires y to be passed, but the target y is None")
    if hasattr(y, "tocsr") or hasattr(y, "toarray"):
        raise TypeError("sparse targets are not supported: use y.toarray()")
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected. Please change "
                      "the shape of y to (n_samples,), for example using ravel().",
                      DataConversionWarning, stacklevel=4)
        array = array[:, 0]
    if array.ndim not in (1, 2):
        raise Error(f"y wants one target for each row; its shape is {array.shape}")
    if array.dtype.kind == "c":
        raise Error("Complex data not supported: y has complex numbers")
    return array


def _check_length(y, rows):
    if len(y) != rows:
        raise Error("Found input variables with inconsistent numbers of samples: "
                    f"X has {rows} rows, y has {len(y)}")


def numbers(y, rows, taken, model, gaps=False):
    """({name: column} of one target or several, whether y had two dimensions). With `gaps` NaN is
    a number that is not known."""
    names = [getattr(y, "name", None)] if not hasattr(y, "columns") else list(y.columns)
    array = _as_array(y, model)
    _check_length(array, rows)
    try:
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as failure:
        raise Error(f"y wants numbers: {failure}") from None
    several = array.ndim == 2
    array = array if several else array[:, None]
    if len(names) != array.shape[1] or not all(isinstance(n, str) and n for n in names):
        names = [f"y{i + 1}" for i in range(array.shape[1])] if several else ["y"]
    out = {}
    for j, name in enumerate(names):
        label = f"y[:, {j}]" if several else "y"
        values = tables._numbers(array[:, j], label)
        column = with_gaps if gaps else tables.Numbers
        out[free_name(name, taken | out.keys())] = column(values, label)
    return out, several


class Labels:
    """Classes as scikit-learn has them, and as the C library names them."""

    def __init__(self, classes, names, multi):
        self.classes = classes  # sorted
        self.names = names      # of the same order
        self.multi = multi      # a row has none, one or several

    def order(self, c_names):
        """For each class of the C library, where it is in `classes`."""
        place = {name: i for i, name in enumerate(self.names)}
        return np.array([place[name] for name in c_names], dtype=np.intp)


def _names(classes):
    # A comma would part two labels: a look-alike stands for it.
    names = [str(c).replace(",", "\uff0c").strip(" \t\r\n") for c in classes]
    if not all(names):
        raise Error("a label is empty")
    if len(set(names)) < len(names):
        raise Error("two labels of y look the same as text")
    return names


def labels(y, rows, taken, model):
    """(Labels, {name: column}) of a target of labels or of an indicator matrix."""
    name = getattr(y, "name", None)
    heads = [str(c) for c in y.columns] if hasattr(y, "columns") else None
    array = _as_array(y, model)
    _check_length(array, rows)
    if array.dtype.kind == "O" and any(v is None for v in array.flat):
        raise Error("y has None among its labels")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise Error("Input y contains NaN or infinity; labels are neither")
        if (array != np.round(array)).any():
            raise Error("Unknown label type: continuous. y has numbers that are not whole; use a "
                        "regressor")
    name = free_name(name if isinstance(name, str) and name else "y", taken)
    known, texts = (_indicator(array, heads) if array.ndim == 2 else _single(array))
    return known, {name: tables.Texts(texts, "y")}


def _single(array):
    try:
        classes, codes = np.unique(array, return_inverse=True)
    except TypeError:
        raise Error("y mixes labels of different types") from None
    if len(classes) < 2:
        raise Error(f"y has only one class, {classes[0]!r}; a classifier needs two"
                    if len(classes) else "y is empty")
    names = _names(classes.tolist())
    return Labels(classes, names, False), [names[c] for c in codes]


def _indicator(array, heads):
    if not np.isin(array, (0, 1)).all():
        raise Error("a y of two dimensions says with 0 and 1 which labels a row has")
    classes = np.arange(array.shape[1])
    names = _names(heads or classes.tolist())
    if not array.any():
        raise Error("no row of y has a label")
    # A comma tells the library that a row may have several labels; twice the same counts once.
    texts = [",".join([names[j] for j in np.flatnonzero(row)] * (2 if row.sum() == 1 else 1))
             for row in array.astype(bool)]
    return Labels(classes, names, True), texts


def from_file(c_names, multi):
    """Labels of a model file. If all look like whole numbers they are, or else like numbers."""
    if multi:
        heads = [int(n) if n.isdecimal() else None for n in c_names]
        if None in heads or len(set(heads)) < len(heads):
            return Labels(np.arange(len(c_names)), list(c_names), True)
        known = {n: str(n) for n in range(max(heads) + 1)}
        return Labels(np.arange(len(known)), [known[i] for i in range(len(known))], True)
    for kind in (int, float):
        try:
            values = [kind(name) for name in c_names]
        except ValueError:
            continue
        if all(str(v) == name for v, name in zip(values, c_names)):
            order = np.argsort(values)
            return Labels(np.array(values)[order], [c_names[i] for i in order], False)
    order = np.argsort(np.array(c_names))
    return Labels(np.array(c_names)[order], [c_names[i] for i in order], False)
