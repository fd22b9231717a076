"""How good predictions are, by the figures that `luthier cv` prints."""

from __future__ import annotations

from ctypes import byref, sizeof
from typing import Dict, Optional

import numpy as np

from . import _c, model
from ._library import lib
from ._types import ArrayLike
from .errors import Error, from_c


def _numbers(values, what, rows=None):
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise Error(f"{what} wants numbers") from None
    if array.ndim != 1 or rows not in (None, len(array)):
        raise Error(f"{what} wants one number for each row; its shape is {array.shape}")
    return array


def _as_dict(found):
    return {name: getattr(found, name) for name, _ in found._fields_}


def metrics(y: ArrayLike, mean: ArrayLike, sd: Optional[ArrayLike] = None) -> Dict[str, float]:
    """Quality of predicted numbers, with their standard deviations (of y, noise included).

    Parameters
    ----------
    y, mean, sd : array-like of shape (rows,)
        The truth and what was predicted; `sd` None = there are none.

    Returns
    -------
    dict
        count, nlpd, mae, rmse, r, r2, coverage, spearman, kendall, ndcg, recall, crps, calibration,
        qwk; nan where one is not defined. docs/models.md says what each is.
    """
    truth = _numbers(y, "y")
    means = _numbers(mean, "mean", len(truth))
    sds = None if sd is None else _numbers(sd, "sd", len(truth))
    found = _c.Metrics()
    lib.lth_metrics_of(truth.ctypes.data, means.ctypes.data,
                       None if sds is None else sds.ctypes.data, len(truth), byref(found),
                       sizeof(found))
    return _as_dict(found)


def _has(labels, classes, what, rows=None):
    """(rows, classes) of bool: which labels each row has."""
    array = np.asarray(labels)
    if rows not in (None, len(array)):
        raise Error(f"{what} has {len(array)} rows, y has {rows}")
    if array.ndim == 2:
        if array.shape[1] != len(classes) or not np.isin(array, (0, 1)).all():
            raise Error(f"{what} of two dimensions says with 0 and 1 which labels a row has")
        return np.ascontiguousarray(array, dtype=bool)
    has = array[:, None] == classes[None, :]
    if not has.any(axis=1).all():
        raise Error(f"{what} has a label that is not among the classes")
    return np.ascontiguousarray(has)


def _decided(probability, multi):
    if multi:
        return probability > 0.5
    return np.arange(probability.shape[1]) == probability.argmax(axis=1)[:, None]


def _scores(score, proba, truth, multi):
    score = np.ascontiguousarray(score, dtype=np.float64)
    if proba is not None:
        raise Error("label_metrics wants proba or score, not both")
    if multi or truth.shape[1] != 2 or score.shape != truth.shape[:1]:
        raise Error(f"score wants one number for each of {len(truth)} rows, and two classes")
    return score


def label_metrics(y: ArrayLike, predicted: Optional[ArrayLike] = None,
                  proba: Optional[ArrayLike] = None, classes: Optional[ArrayLike] = None,
                  score: Optional[ArrayLike] = None) -> Dict[str, float]:
    """Quality of predicted labels.

    Parameters
    ----------
    y : array-like of shape (rows,), or (rows, classes) of 0 and 1
        The truth; of two dimensions: a row may have several labels.
    predicted : likewise
        None = what `proba` says: the most probable class, or all labels above 1/2.
    proba : array-like of shape (rows, classes), optional
        What needs probabilities is nan without.
    classes : array-like, optional
        In the order of `proba`, as a model's `classes_`. Otherwise those of `y` and `predicted`,
        sorted. Of two classes the second one counts as positive.
    score : array-like of shape (rows,), optional
        Of two classes, instead of `proba`: decision values, higher for the second class.

    Returns
    -------
    dict
        count, accuracy, micro_precision, micro_recall, micro_f1, macro_precision, macro_recall,
        macro_f1, auc, log_loss, brier, auprc, calibration, qwk; nan where one is not defined.
    """
    if predicted is None and proba is None:
        raise Error("label_metrics wants predicted labels, or probabilities")
    y = np.asarray(y)
    multi = y.ndim == 2
    if classes is None:
        all_labels = [y] if predicted is None else [y, np.asarray(predicted)]
        classes = np.arange(y.shape[1]) if multi else np.unique(np.concatenate(all_labels))
    classes = np.asarray(classes)
    truth = _has(y, classes, "y")
    if proba is not None:
        proba = np.ascontiguousarray(proba, dtype=np.float64)
        if proba.shape != truth.shape:
            raise Error(f"proba wants the shape {truth.shape}, not {proba.shape}")
    found = np.ascontiguousarray(_decided(proba, multi)) if predicted is None else \
        _has(predicted, classes, "predicted", len(y))
    names, _ = model.strings([str(c) for c in classes.tolist()], "classes")
    judge, known = lib.lth_label_metrics_with, proba
    if score is not None:
        judge, known = lib.lth_label_metrics_scored, _scores(score, proba, truth, multi)
    out, error = _c.LabelMetrics(), _c.Error()
    status = judge(truth.ctypes.data, found.ctypes.data,
                   None if known is None else known.ctypes.data, names, *truth.shape, multi,
                   byref(out), sizeof(out), byref(error))
    if status:
        raise from_c(error)
    return _as_dict(out)
