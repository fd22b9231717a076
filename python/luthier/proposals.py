"""Which rows to measure next, by fitted models: of a list, or of a space."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from ctypes import byref, c_bool, c_void_p
from itertools import count as from_zero
from typing import Any, Optional

import numpy as np

from . import _c, read, rows as row_columns, tables
from ._context import Owned, together
from ._library import lib
from ._types import Rows
from .errors import Error
from .model import Model, positive, strings
from .spaces import Space, checker, search_options

_COUNTED = ("nearest", "distance", "mutations")
_MEASURED = ("mean", "sd", "acquisition", "feasible", "cost")

Proposal = namedtuple("Proposal", "x index mean sd acquisition feasible cost nearest distance "
                                  "mutations label")


class Proposals(Sequence):
    """Rows to measure next, best first: what `propose` and `search` give.

    An entry is a named tuple of a row `x` and what is known of it; the same names are arrays here.

    Attributes
    ----------
    X : rows
        In the form of the candidates: a list, an array, a dict of columns or a frame.
    index : ndarray of int
        Which of the candidates each is.
    mean, sd : ndarray
        Of the first objective, without noise; of labels the probability of the likeliest class.
    means, sds : ndarray of shape (proposals, objectives)
    acquisition : ndarray
        Given the proposals before it, in the units of its kind.
    feasible, cost : ndarray
        A probability, 1 without such a model; 1 without costs.
    nearest, distance, mutations : ndarray of int
        The training row that takes fewest edits, how many these are, and those from the wild type;
        -1 where there are none.
    label : list
        The likeliest class, None of numbers.
    objectives : dict
        ``{"y": "max"}``.
    kind, batch : str
        The acquisition and the way of the batch that were taken: ``"logei"``, ``"joint"``.
    """

    def __init__(self, pointer, X, models=(), index_of_own=False):
        found = [lib.lth_proposal_at(pointer, i) for i in range(lib.lth_proposals_count(pointer))]
        self.index = np.array([p.row for p in found], dtype=np.intp)
        for name in _MEASURED:
            setattr(self, name, np.array([getattr(p, name) for p in found], dtype=float))
        for name in _COUNTED:
            setattr(self, name, np.array([-1 if getattr(p, name) == _c.NONE else getattr(p, name)
                                          for p in found], dtype=np.intp))
        self.label = [p.label and _label(p.label.decode(), models) for p in found]
        self.objectives = _objectives(pointer)
        shape = len(found), len(self.objectives)
        self.means = np.array([[lib.lth_proposals_mean(pointer, i, j) for j in range(shape[1])]
                               for i in range(shape[0])]).reshape(shape)
        self.sds = np.array([[lib.lth_proposals_sd(pointer, i, j) for j in range(shape[1])]
                             for i in range(shape[0])]).reshape(shape)
        self.kind = lib.lth_acquisition_name(lib.lth_proposals_acquisition(pointer), None).decode()
        self.batch = lib.lth_batch_name(lib.lth_proposals_batch(pointer), None).decode()
        self.X = X if index_of_own else picked(X, self.index)

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        known = (getattr(self, name)[i] for name in Proposal._fields[1:])
        return Proposal(_row(self.X, i), *(v.item() if hasattr(v, "item") else v for v in known))

    def _known(self):
        """{name: values} of what this kind of proposals has."""
        known = {name: getattr(self, name) for name in ("index", "mean", "sd", "acquisition")}
        known |= {name: getattr(self, name) for name in ("feasible", "cost")
                  if (getattr(self, name) != 1).any()}
        known |= {name: getattr(self, name) for name in _COUNTED
                  if (getattr(self, name) >= 0).any()}
        if len(self.objectives) > 1:
            for j, name in enumerate(self.objectives):
                known |= {f"mean_{name}": self.means[:, j], f"sd_{name}": self.sds[:, j]}
        return known | ({"label": self.label} if any(v is not None for v in self.label) else {})

    def to_frame(self) -> Any:
        """A pandas frame: the rows, and beside them what is known of each."""
        import pandas as pd
        X = self.X
        if not tables.is_frame(X) and not isinstance(X, Mapping):
            X = {"x": list(X)} if not len(X) or not isinstance(X[0], Mapping) else list(X)
        frame = pd.DataFrame(X).reset_index(drop=True)
        for name, values in self._known().items():
            while name in frame.columns:
                name += "_"
            frame[name] = values
        return frame

    def __repr__(self):
        goal = ", ".join(f"{way} {name}" for name, way in self.objectives.items())
        known, shown = self._known(), range(min(10, len(self)))
        lines = [[name, *(_cell(values[i]) for i in shown)] for name, values in known.items()]
        widths = [max(map(len, line)) for line in lines]
        rows = [["x", *(_short(_row(self.X, i)) for i in shown)]]
        text = [f"{len(self)} proposals by {self.kind}, {self.batch}" + (f": {goal}" * bool(goal))]
        for i in range(len(shown) + 1):
            cells = [line[i].rjust(width) for line, width in zip(lines, widths)]
            text.append("  ".join(cells + [rows[0][i]]))
        return "\n".join(text + ["..."] * (len(self) > len(shown)))


def _objectives(pointer):
    out, minimize = {}, c_bool()
    for j in from_zero():
        name = lib.lth_proposals_objective(pointer, j, byref(minimize))
        if name is None:
            return out
        out[name.decode()] = "min" if minimize.value else "max"


def _label(name, models):
    """A class as the model has it from a class as the C library names it."""
    for m in models:
        for i, known in enumerate(_class_names(m)):
            if known == name:
                return m.classes_[m._order[i]]
    return name


def _class_names(m):
    return [lib.lth_model_class(model_of(m), i).decode()
            for i in range(lib.lth_model_classes(model_of(m)))]


def picked(X, index):
    """Some rows of X, in its own form."""
    if isinstance(X, Mapping):
        return {name: picked(values, index) for name, values in X.items()}
    if isinstance(X, np.ndarray):
        return X[index]
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if tables.is_frame(X):
        return X[index.tolist()]
    return [X[i] for i in index]


def _row(X, i):
    if isinstance(X, Mapping):
        return {name: values[i] for name, values in X.items()}
    if tables.is_frame(X):
        return {name: X[name].iloc[i] if hasattr(X, "iloc") else X[name][i] for name in X.columns}
    return X[i]


def _cell(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _short(value, most=40):
    text = str(value)
    return text if len(text) <= most else text[:most - 3] + "..."


# ---- Options -------------------------------------------------------------------------------------

def _named(name_of):
    out = []
    while name := name_of(len(out), None):
        out.append(name.decode())
    return out


def choice(value, name_of, what):
    """The number of an acquisition or a way of batches."""
    names = _named(name_of)
    if value not in names:
        raise Error(f"{what} wants one of {', '.join(names)}, not {value!r}")
    return names.index(value)


def _written(objectives):
    """["y=max", ...] of a name, a list of names, or {name: "max" or "min"}."""
    if not isinstance(objectives, Mapping):
        return objectives
    for name, way in objectives.items():
        if way not in ("max", "min"):
            raise Error(f'an objective wants "max" or "min", not {name!r}: {way!r}')
    return [f"{name}={way}" for name, way in objectives.items()]


def _weights(weights, objectives):
    if isinstance(weights, Mapping):
        if not isinstance(objectives, Mapping) or weights.keys() != objectives.keys():
            raise Error("weights by name want objectives of the same names")
        weights = [weights[name] for name in objectives]
    weights = np.ascontiguousarray(weights, dtype=float)
    if objectives is None or weights.shape != (len(objectives),):
        raise Error(f"weights want one number for each objective, not the shape {weights.shape}: "
                    "name the objectives, too")
    return weights


def _feasible(options, model, label, bounds):
    options.feasible = model_of(model)
    if label is not None:
        place = np.flatnonzero(model.classes_[model._order] == label) \
            if hasattr(model, "classes_") else []
        if not len(place):
            raise Error(f"feasible has no class {label!r}")
        options.feasible_class = _class_names(model)[place[0]].encode()
    for name, bound in zip(("feasible_least", "feasible_most"), bounds or (None, None)):
        if bound is not None:
            setattr(options, name, float(bound))


def propose_options(k=1, *, acquisition="auto", batch="auto", maximize=True, objectives=None,
                    weights=None, beta=None, best=None, feasible=None, feasible_class=None,
                    feasible_range=None, distance=1, repeats=False, shortlist=None, draws=None,
                    wild_type=None):
    """An ``lth_propose_options``, with what it points to."""
    options = _c.ProposeOptions()
    lib.lth_propose_options_init(byref(options))
    options.count = positive(k, "k", 1)
    options.acquisition = choice(acquisition, lib.lth_acquisition_name, "acquisition")
    options.batch = choice(batch, lib.lth_batch_name, "batch")
    options.minimize = not maximize
    options.objectives, options.objective_count = strings(_written(objectives), "objectives")
    options.distance = positive(distance, "distance", 1)
    options.repeats = bool(repeats)
    if weights is not None:
        options.kept = _weights(weights, objectives)
        options.weights = options.kept.ctypes.data
    for name, value in (("beta", beta), ("best", best)):
        if value is not None:
            setattr(options, name, float(value))
    for name, value in (("shortlist", shortlist), ("draws", draws)):
        if value is not None:
            setattr(options, name, positive(value, name, 1))
    if wild_type is not None:
        options.wild_type = wild_type.encode()
    if feasible is not None:
        _feasible(options, feasible, feasible_class, feasible_range)
    elif feasible_class is not None or feasible_range is not None:
        raise Error("feasible_class and feasible_range say more of feasible, a fitted model")
    return options


# ---- Calls ---------------------------------------------------------------------------------------

def model_of(m):
    """The ``lth_model`` of a fitted estimator."""
    if not isinstance(m, Model):
        raise Error(f"propose wants fitted models of luthier, not {type(m).__name__}")
    return getattr(lib, f"lth_{m._api}_model")(m._pointer)


class _Models:
    """Those of one call, which all read the same rows."""

    def __init__(self, models, feasible=None):
        self.models = [models] if isinstance(models, Model) else list(models)
        if not self.models:
            raise Error("propose wants a fitted model")
        self.pointers = (c_void_p * len(self.models))(*map(model_of, self.models))
        self._all = self.models + ([] if feasible is None else [feasible])
        self.context = self.models[0]._context

    def table(self, X, cost=None):
        """(table of what the models read of X, the name of the column of costs)."""
        columns = {}
        for m in self._all:
            columns |= m._columns_of(X)
        count = next(iter(columns.values())).count
        more, names = row_columns.columns(X, count, columns.keys(), cost=cost)
        return tables.Table(self.context, {**columns, **more}), names.get("cost")

    def call(self, function, *arguments):
        with together(m._context for m in self._all) as leader:
            leader.call(function, self.pointers, len(self.models), *arguments, long=True)


def propose(model: Any, X: Rows, k: int = 96, *, acquisition: str = "auto", batch: str = "auto",
            maximize: bool = True, objectives: Any = None, weights: Any = None,
            beta: Optional[float] = None, best: Optional[float] = None, pending: Any = None,
            measured: Any = None, feasible: Any = None, feasible_class: Optional[str] = None,
            feasible_range: Any = None, cost: Any = None, distance: int = 1, repeats: bool = False,
            shortlist: Optional[int] = None, draws: Optional[int] = None,
            wild_type: Optional[str] = None) -> Proposals:
    """Which rows of X to measure next: those that promise most, and not all for the same reason.

    Parameters
    ----------
    model : fitted estimator, or a list of these
        What is to be optimised, or learned. Several read the same rows.
    X : rows
        The candidates, as `fit` takes them.
    k : int
        How many; fewer where there are not so many.
    acquisition : str
        Of numbers "ei", "logei", "ucb", "ts", "greedy", "pi", "variance"; of labels "entropy",
        "bald", "margin". "auto": "logei" of numbers, "bald" of labels. See docs/design.md.
    batch : {"auto", "joint", "believer", "thompson", "top"}
        How the rows of a batch take account of each other.
    maximize : bool
        False looks for the smallest, where `objectives` says nothing.
    objectives : dict or list of str, optional
        ``{"y1": "max", "y2": "min"}``: targets of the models, or a class of a classifier; None =
        all targets.
    weights : dict or array-like, optional
        Of the objectives, for their sum; None = what a row adds to the hypervolume.
    beta : float, optional
        Of "ucb", mean + beta sd; None = 2.
    best : float, optional
        What is to be improved on; None = the best that is expected of a training row.
    pending : rows, optional
        Which are being measured: they are not proposed again, and their results expected.
    measured : rows, optional
        Which are not to be proposed either, beside those that the models have learned from.
    feasible : fitted estimator, optional
        The acquisition counts by the probability that a row is feasible: that a classifier says
        `feasible_class` (None = its last class), or that a number is in `feasible_range`, (least,
        most), of which None is no bound.
    cost : array-like or str, optional
        One number for each row, or the name of a column of X: the acquisition is by unit of it.
    distance : int
        Letters (of texts of words, tokens) by which proposals differ at least from each other and
        from rows measured or pending.
    repeats : bool
        Rows that are measured or pending may be proposed too.
    shortlist, draws : int, optional
        Rows whose joint posterior is looked at, and draws from it; None = 2048 and 512.
    wild_type : str, optional
        The sequence from which mutations are counted; None = the kernel's, if it has one.

    Returns
    -------
    Proposals
    """
    models, X = _Models(model, feasible), tables.as_rows(X)
    options = propose_options(
        k, acquisition=acquisition, batch=batch, maximize=maximize, objectives=objectives,
        weights=weights, beta=beta, best=best, feasible=feasible, feasible_class=feasible_class,
        feasible_range=feasible_range, distance=distance, repeats=repeats, shortlist=shortlist,
        draws=draws, wild_type=wild_type)
    table, options.cost = models.table(X, cost)
    known = _set_known(options, models, pending=pending, measured=measured)
    out = c_void_p()
    try:
        models.call(lib.lth_propose, table.pointer, byref(options), byref(out))
    except BaseException:  # Ctrl-C at the end of a call that went well
        lib.lth_proposals_free(out)
        raise
    del known
    owned = Owned(out.value, lib.lth_proposals_free)
    return Proposals(owned.pointer, X, models.models)


def _set_known(options, models, **rows):
    """The tables of rows that are not to be proposed, which the caller keeps alive."""
    found = {name: models.table(tables.as_rows(X))[0] for name, X in rows.items()
             if X is not None and len(X)}
    for name, table in found.items():
        setattr(options, name, table.pointer)
    return found


def search(model: Any, space: Any, k: int = 96, *, evaluations: Optional[int] = None,
           population: Optional[int] = None, trust: Optional[int] = None, valid: Any = None,
           pending: Any = None, measured: Any = None, **how: Any) -> Proposals:
    """Which texts of a space to measure next: `propose` where there are too many for a list.

    Parameters
    ----------
    model : fitted estimator, or a list of these
        They read one column of texts.
    space : str or Space
        ``"alphabet=ACGT, length=8..12"``; see docs/design.md.
    k : int
    evaluations : int, optional
        Acquisition values to compute at most; None = 20,000.
    population : int, optional
        Texts that are kept from one generation to the next; None = 256.
    trust : int, optional
        Edits from the best rows measured at most; None = any number.
    valid : callable, optional
        Gets a list of texts and says of each whether it can be measured.
    pending, measured, **how
        As for `propose`; there is no `cost`.

    Returns
    -------
    Proposals
        `index` counts their own texts, `X`.
    """
    models = _Models(model, how.get("feasible"))
    space = space if isinstance(space, Space) else Space(space)
    options = propose_options(k, **how)
    check, failed = checker(models.context, valid)
    looking = search_options(evaluations, population, trust, check)
    known = _set_known(options, models, pending=pending, measured=measured)
    rows, out = c_void_p(), c_void_p()
    try:
        models.call(lib.lth_search, space.pointer, byref(options), byref(looking), byref(rows),
                      byref(out))
    except BaseException as failure:
        lib.lth_table_free(rows)
        lib.lth_proposals_free(out)
        raise failed[0] if failed and isinstance(failure, Error) else failure
    del known
    table, owned = Owned(rows.value, lib.lth_table_free), Owned(out.value, lib.lth_proposals_free)
    texts = next(iter(read.columns_of(table.pointer).values()))
    return Proposals(owned.pointer, texts, models.models)
