"""Campaigns: rounds of asking what to measure and telling what was measured."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from ctypes import byref, c_void_p, pointer
from functools import wraps
from typing import Any, Dict, Optional

import numpy as np

from . import _c, gp, kernel as kernels, model, read, rows as row_columns, tables
from ._context import Context, Owned, together
from ._progress import StatusLine
from ._library import lib
from ._types import ArrayLike, KernelLike, PathLike, Rows
from .errors import Error
from .proposals import Proposals, model_of, picked, propose_options
from .spaces import checker, search_options
from .vectors import path_of as vectors_path

_KEPT = ("round", "asked", "mean", "sd", "acquisition")  # beside columns and targets
_TEXT = (0, 2)  # kinds of columns whose cells are no numbers


def _in_turn(method):
    """One thread at a time: what one reads another must not change."""
    @wraps(method)
    def call(self, *arguments, **options):
        self._context.check_reentry()
        with self._turn:
            return method(self, *arguments, **options)
    return call


class Design:
    """A campaign: ask which rows to measure, measure them, tell what came out, and so on.

    Parameters
    ----------
    kernel : str or Kernel
        As for `GPRegressor`.
    space : str or Space, optional
        Texts that can be measured, by a rule: ``"alphabet=ACGT, length=8..12"``.
    candidates : rows or path, optional
        Or a list of them, in memory or in a file. With a `path` they are in a file.
    objective : {"max", "min", "label"} or dict
        What is looked for; of several targets ``{"y1": "max", "y2": "min"}``. "label": y are
        labels, of which as much as possible is to be learned.
    path : path, optional
        The folder that keeps it, which must not be there yet: what ``luthier design`` reads and
        writes. `Design.open` goes on with it. None = in memory.
    acquisition, batch, weights, beta, feasible, feasible_class, feasible_range, cost, distance,
    repeats, shortlist, draws, wild_type
        As for `propose`; `cost` is a column of the candidates.
    evaluations, population, trust, valid
        As for `search`.
    **options
        How to learn: what `GPRegressor` (of labels `GPClassifier`) takes. `random_state` is the
        seed of all that is drawn.

    Attributes
    ----------
    columns, targets : list of str
    objective : dict
        ``{"y": "max"}``.
    proposals : Proposals
        What was known of the rows of the last `ask`; None = they were drawn at random.
    """

    def __init__(self, kernel: KernelLike = "ssk(text)", *, space: Any = None,
                 candidates: Any = None, objective: Any = "max", path: Optional[PathLike] = None,
                 acquisition: str = "auto", batch: str = "auto", weights: Any = None,
                 beta: Optional[float] = None, feasible: Any = None,
                 feasible_class: Optional[str] = None, feasible_range: Any = None,
                 cost: Any = None, distance: int = 1, repeats: bool = False,
                 shortlist: Optional[int] = None, draws: Optional[int] = None,
                 wild_type: Optional[str] = None, evaluations: Optional[int] = None,
                 population: Optional[int] = None, trust: Optional[int] = None, valid: Any = None,
                 **options: Any) -> None:
        if (space is None) == (candidates is None):
            raise Error("a design wants a space or candidates: one of them")
        self.objective = _objective(objective)
        self._estimator = self._kind(kernel, **options)
        self._context = self._estimator._new_context()
        self._use(feasible, valid)
        expression, self._candidates = kernels.expression_of(kernel), None
        if candidates is not None and not isinstance(candidates, (str, os.PathLike)):
            self._candidates = tables.as_rows(candidates)
            expression = kernels.without_stars(expression, self._candidates)
        parsed = self._estimator._parsed(self._context, expression)
        how = propose_options(
            acquisition=acquisition, batch=batch, weights=weights, beta=beta, feasible=feasible,
            objectives=None if self._has_labels else self.objective, distance=distance,
            feasible_class=feasible_class, feasible_range=feasible_range, repeats=repeats,
            shortlist=shortlist, draws=draws, wild_type=wild_type)
        looking = search_options(evaluations, population, trust, self._check)
        learning = self._learning(parsed)
        made = _c.DesignOptions()
        lib.lth_design_options_init(byref(made))
        made.kernel = expression.encode()
        made.targets, made.target_count = model.strings(self.objective, "objective")
        made.settings, made.setting_count = model.strings(
            [f"needs={name}" for name, given in (("feasible", feasible), ("valid", valid))
             if given is not None], "settings")
        made.propose, made.search, made.gp = pointer(how), pointer(looking), pointer(learning)
        self._set_source(made, space, candidates, parsed, cost, path)
        self._repeats = bool(repeats)
        self._take(self._context.create(
            lib.lth_design_create, self._context.pointer,
            None if path is None else os.fsencode(path), byref(made), free=lib.lth_design_free,
            in_memory=self._candidates is not None), path, parsed)

    def _set_source(self, made, space, candidates, parsed, cost, path):
        """Where rows come from, and the column of their costs."""
        if self._candidates is not None:
            made.pool, made.propose.contents.cost = self._pool(parsed, cost, path)
            return
        if space is not None:
            made.space = str(getattr(space, "rule", space)).encode()
        else:
            made.candidates = os.fsencode(candidates)
        if cost is not None:
            if space is not None or not isinstance(cost, str):
                raise Error("cost is the name of a column of the candidates' file")
            made.propose.contents.cost = cost.encode()

    def _pool(self, parsed, cost, path):
        if path is not None:
            raise Error("a design in a folder reads its candidates from a file, so that it can go "
                        "on: candidates=FILE")
        columns = parsed.read(self._candidates)
        if self._feasible is not None:
            columns = self._feasible._columns_of(self._candidates) | columns
        count = next(iter(columns.values())).count
        more, names = row_columns.columns(self._candidates, count, columns.keys(), cost=cost)
        table = tables.Table(self._context, {name: _as_texts(column, name) for name, column in
                                             {**columns, **more}.items()})
        self._keep.append(table)
        return table.pointer, names.get("cost")

    @property
    def _has_labels(self):
        return "label" in self.objective.values()

    @property
    def _kind(self):
        return gp.GPClassifier if self._has_labels else gp.GPRegressor

    def _use(self, feasible, valid):
        """What C calls or borrows, which must live as long as the design."""
        self._check, self._failed = checker(self._context, valid)
        self._feasible, self._valid = feasible, valid
        self._keep = [self._check, feasible]
        self._turn = threading.RLock()

    def _learning(self, parsed):
        estimator = self._estimator
        options = estimator._options(StatusLine(False), [], self._context)
        options.step = _c.GpStepFn()  # Ctrl-C comes by the context
        for name, value in estimator._how().items():
            setattr(options, name, value)
        options.vectors = vectors_path(estimator.vectors) \
            if lib.lth_kernel_needs_vectors(parsed.pointer) else None
        return options

    def _take(self, design, path, parsed):
        self._design = Owned(design, lib.lth_design_free, self._context, self._keep)
        self.path = None if path is None else os.fspath(path)
        self.columns = parsed.columns
        self.targets = list(self.objective)
        self._texts = {name for i, name in _kernel_columns(parsed.pointer)
                       if lib.lth_kernel_column_kind(parsed.pointer, i) in _TEXT}
        self._expression = parsed.expression
        self._model_of_ask = None
        self.proposals = None

    @classmethod
    def open(cls, path: PathLike, *, feasible: Any = None, valid: Any = None, vectors: Any = None,
             n_jobs: Optional[int] = None, device: str = "cpu") -> Design:
        """Go on with the design in a folder, of Python or of ``luthier design``. `feasible` and
        `valid` are not in the folder: they are given again, except for the model file that
        ``luthier design`` was given."""
        self = cls.__new__(cls)
        self._context = Context(n_jobs, device=device)
        opened = self._context.create(lib.lth_design_open, self._context.pointer,
                                      os.fsencode(path), in_memory=False)
        owned = Owned(opened, lib.lth_design_free, self._context)
        settings = _settings(path)
        if feasible is None and "feasible" in settings:
            feasible = model.load(settings["feasible"][0], vectors=vectors, n_jobs=n_jobs)
        _check_needs(settings, feasible=feasible, valid=valid)
        self._use(feasible, valid)
        lib.lth_design_use(opened, None if feasible is None else model_of(feasible), self._check,
                           None)
        self.objective = _written_objective(settings)
        if settings.get("task") == ["classification"] or _finds_labels(opened, self.objective):
            self.objective = dict.fromkeys(self.objective, "label")
        self._estimator = self._kind(settings["kernel"][0], n_jobs=n_jobs, vectors=vectors,
                                     device=device, mean=settings.get("mean", [None])[0])
        if "noise-kernel" in settings:
            self._estimator.noise_kernel = settings["noise-kernel"][0]
        parsed = self._estimator._parsed(self._context, settings["kernel"][0])
        owned.free.detach()
        self._take(opened, path, parsed)
        self._candidates = None
        self._repeats = settings.get("repeats") == ["yes"]
        return self

    # ---- Rounds ----

    def _call(self, function, *arguments, **how):
        contexts = [self._context] + ([] if self._feasible is None else [self._feasible._context])
        try:
            with together(contexts) as leader:
                leader.call(function, self._design.pointer, *arguments, **how)
        except Error:
            if self._failed:  # in `valid`
                raise self._failed.pop()
            raise

    @_in_turn
    def ask(self, count: int = 96) -> Any:
        """Rows to measure next, which are pending from now on: fewer where there are not so many,
        and at random where too little is measured to learn from.

        Of candidates in memory they have their form: some of a list, of an array, of a frame.
        Otherwise they are a list of strings, or of dicts where the kernel reads several columns.
        """
        rows, proposals = c_void_p(), c_void_p()
        count = model.positive(count, "count", 1)
        self._model_of_ask = None
        line = model.status_line(self._context, self._estimator.verbose)
        try:
            self._call(lib.lth_design_ask, count, byref(rows), byref(proposals), long=True,
                       in_memory=self._candidates is not None)
        except BaseException:
            lib.lth_table_free(rows)
            lib.lth_proposals_free(proposals)
            raise
        finally:
            line.end()
        table = Owned(rows.value, lib.lth_table_free)
        known = Owned(proposals.value, lib.lth_proposals_free) if proposals.value else None
        if self._candidates is None:
            X = self._rows_of(read.columns_of(table.pointer))
        else:
            count = lib.lth_table_rows(table.pointer)
            X = picked(self._candidates, np.array(
                [lib.lth_design_asked(self._design.pointer, i) for i in range(count)]))
        self.proposals = known and Proposals(known.pointer, X, index_of_own=True)
        return X

    @_in_turn
    def tell(self, X: Rows, y: ArrayLike, *, repeats: bool = False) -> None:
        """What was measured. Rows that were not asked for are welcome, and a row may come again.

        Parameters
        ----------
        X : rows
            As `ask` gives them, or as `fit` takes them.
        y : array-like
            One number (label) for each row; of several targets two dimensions, a dict or a frame.
            NaN (None) is not measured: the row stays pending.
        repeats : bool
            The same row with the same numbers in a later round is a mistake, as a file that is told
            twice; True = it was measured again. So it is in a design with `repeats`.
        """
        columns = self._read(X)
        count = next(iter(columns.values())).count
        table = tables.Table(self._context, {**columns, **self._measured(y, count)})
        again = repeats and not self._repeats
        if again:
            lib.lth_design_allow_repeats(self._design.pointer, True)
        try:
            self._call(lib.lth_design_tell, table.pointer)
        finally:
            if again:
                lib.lth_design_allow_repeats(self._design.pointer, False)

    @_in_turn
    def forget(self, X: Rows) -> None:
        """Rows that are no longer being measured: pending no more."""
        table = tables.Table(self._context, self._read(X))
        self._call(lib.lth_design_forget, table.pointer)

    def _read(self, X):
        columns = kernels.read(tables.as_rows(X), self.columns, self._expression)
        return {name: _as_texts(column, name) for name, column in columns.items()}

    def _measured(self, y, count):
        if isinstance(y, Mapping) or tables.is_frame(y):
            missing = [name for name in self.targets if name not in y]
            if missing:
                raise Error(f"y wants the targets {', '.join(self.targets)}; there is no "
                            f"{missing[0]}")
            given = [y[name] for name in self.targets]
        else:
            array = np.asarray(y)
            wanted = {1: (count,)} if len(self.targets) == 1 else {}
            if array.shape not in ((count, len(self.targets)), wanted.get(array.ndim)):
                raise Error(f"Found input variables with inconsistent numbers of samples: y wants "
                            f"{len(self.targets)} numbers for each of {count} rows; its shape is "
                            f"{array.shape}")
            given = array.reshape(count, -1).T
        out = {}
        for name, values in zip(self.targets, given):
            label = f"y[{name!r}]"
            column = _labels(values, label) if self._has_labels else \
                row_columns.with_gaps(tables._numbers(values, label), label)
            if column.count != count:
                raise Error(f"Found input variables with inconsistent numbers of samples: X has "
                            f"{count} rows, {label} has {column.count}")
            out[name] = _as_texts(column, name)
        return out

    # ---- What is there ----

    def _rows_of(self, columns):
        """A list of texts (numbers) or of dicts, from {name: texts}."""
        values = {name: columns[name] if name in self._texts else [float(v) for v in columns[name]]
                  for name in self.columns}
        if len(values) == 1:
            return next(iter(values.values()))
        return [dict(zip(values, row)) for row in zip(*values.values())]

    @_in_turn
    def _all(self):
        """{name: values} of all rows; numbers are arrays with NaN for what is empty."""
        columns = read.columns_of(lib.lth_design_rows(self._design.pointer))
        texts_of = self._texts | (set(self.targets) if self._has_labels else set())
        return {name: texts if name in texts_of else
                np.array([float(t) if t else np.nan for t in texts])
                for name, texts in columns.items()}

    @property
    def rows(self) -> Any:
        """All rows, asked for or told: their columns and targets, `round` in which they were
        measured (NaN = pending), `asked` in which they were asked for, and `mean`, `sd` and
        `acquisition` as they were then. A pandas frame, or a dict of columns without pandas."""
        found = self._all()
        try:
            import pandas as pd
        except ImportError:
            return found
        return pd.DataFrame(found)

    @property
    @_in_turn
    def status(self) -> Dict[str, Any]:
        """A dict: rounds, measured, pending, best, and seconds of the last fit."""
        report = lib.lth_design_reported(self._design.pointer)
        return {name: getattr(report, name) for name, _ in report._fields_ if name != "best_row"}

    @property
    @_in_turn
    def best(self) -> Any:
        """(x, y) of the best row measured, by the first target; y has a number for each of
        several. None = nothing was measured yet, or labels."""
        at = lib.lth_design_reported(self._design.pointer).best_row
        if at == _c.NONE:
            return None
        columns = read.columns_of(lib.lth_design_rows(self._design.pointer))
        row = {name: [texts[at]] for name, texts in columns.items()}
        y = tuple(float(row[name][0] or "nan") for name in self.targets)
        return self._rows_of(row)[0], y if len(y) > 1 else y[0]

    @property
    @_in_turn
    def model(self) -> Any:
        """The model of the last `ask`, as an estimator of its own; None = none yet."""
        borrowed = lib.lth_design_model(self._design.pointer)
        if not borrowed:
            return None
        if self._model_of_ask is None:
            context = Context(self._estimator.n_jobs, self._estimator.precision)
            content = model.bytes_of(context, lib.lth_model_save_to, borrowed)
            copy = context.create(lib.lth_gp_load_from, context.pointer, content, len(content))
            self._model_of_ask = gp.estimator_of(copy, context, n_jobs=self._estimator.n_jobs,
                                                 vectors=self._estimator.vectors)
        return self._model_of_ask

    @_in_turn
    def plot(self, axes: Any = None) -> Any:
        """Three pictures side by side: the best so far by rounds, what was expected against what
        came out, and how honest the intervals were. Returns their Axes, or draws into `axes`."""
        from . import plot
        return plot.design(self, axes)

    def _foretold(self):
        """(y, mean, sd) of the first target, of rows that were asked for by a model; with the
        noise of the last one, since y has it."""
        found = self._all()
        y, mean, sd = (found[name] for name in (self.targets[0], "mean", "sd"))
        known = ~np.isnan(y) & ~np.isnan(mean)
        noise = 0.0 if self.model is None or np.any(np.isnan(self.model.noise_)) \
            else self.model.noise_
        return y[known], mean[known], np.sqrt(sd[known] ** 2 + noise)

    def __reduce__(self):
        if self.path is None:
            raise Error("a design in memory has no pickle: give it a path, or keep its rows and "
                        "tell them to another")
        return _opened, (self.path, self._feasible, self._valid)

    def __repr__(self):
        status = self.status
        goal = ", ".join(f"{way} {name}" for name, way in self.objective.items())
        place = "in memory" if self.path is None else repr(self.path)
        best = "" if np.isnan(status["best"]) else f", best {status['best']:.6g}"
        rounds = f"{status['rounds']} round" + "s" * (status["rounds"] != 1)
        return (f"<Design {place}: {goal}; {status['measured']} rows measured in {rounds}, "
                f"{status['pending']} pending{best}>")


def _objective(objective):
    if isinstance(objective, str):
        objective = {"y": objective}
    if isinstance(objective, Mapping) and list(objective.values()) == ["label"]:
        return dict(objective)
    if not isinstance(objective, Mapping) or not objective or not all(
            isinstance(name, str) and way in ("max", "min") for name, way in objective.items()):
        raise Error('objective wants "max", "min" or a dict such as {"y1": "max", "y2": "min"}, '
                    f"not {objective!r}")
    return dict(objective)


def _settings(path):
    """{name: [values]} of the file design.tsv."""
    table, out = read.read_table(os.path.join(path, "design.tsv")), {}
    names, values = list(table.values())[:2]
    for name, value in zip(names, values):
        out.setdefault(name, []).append(value)
    return out


def _check_needs(settings, **given):
    """What a folder cannot keep and its rows depend on."""
    for name in set(settings.get("needs", [])) | ({"valid"} & settings.keys()):
        if given.get(name) is None:
            raise Error(f"this design was begun with {name}, which its folder does not keep: open "
                        f"it with {name}=")


def _opened(path, feasible, valid):
    return Design.open(path, feasible=feasible, valid=valid)


def _written_objective(settings):
    """{target: way}, of "NAME", "NAME=max" and "NAME=min"."""
    usual = "min" if settings.get("minimize") == ["yes"] else "max"
    ways = {}
    for text in settings.get("objective", []):
        name, _, way = text.rpartition("=") if text.endswith(("=max", "=min")) else (text, "", "")
        ways[name] = way or usual
    return {name: ways.get(name, usual) for name in settings["target"]}


def _finds_labels(design, targets):
    """Whether what was told are no numbers: a campaign of the command line may not say."""
    found = read.columns_of(lib.lth_design_rows(design))
    try:
        for name in targets:
            [float(text) for text in found[name] if text]
    except ValueError:
        return True
    return False


def _labels(values, label):
    return tables.Texts(["" if value is None or value != value else str(value)
                         for value in tables._plain(values)], label)


def _kernel_columns(pointer):
    """(number, name) of columns, where those of a range have the same number."""
    i = 0
    while written := lib.lth_kernel_column(pointer, i):
        for name in tables.expand([written.decode()]):
            yield i, name
        i += 1


def _as_texts(column, name):
    """A column as a campaign keeps it: numbers with all their digits."""
    if isinstance(column, tables.Vectors):
        raise Error(f"a design keeps texts and numbers; {name} has vectors")
    if isinstance(column, tables.Texts):
        return column
    return tables.Texts([repr(float(value)) for value in column._values], name)
