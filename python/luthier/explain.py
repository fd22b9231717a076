"""Reasons: what a prediction comes from, by tokens, patterns and training rows."""

import html
import math
import re
from collections import namedtuple
from ctypes import byref, c_size_t

import numpy as np

from . import _c, tables
from ._context import Owned
from ._library import lib
from .errors import Error

_SDS_95 = 1.959964

Part = namedtuple("Part", "column text weight first length depth seen")
Part.__doc__ = """A token, a node of a tree or a number. `first` and `length` are bytes of the cell."""
Pattern = namedtuple("Pattern", "text weight rows column example")
Pattern.__doc__ = """What a kernel counts, its weight, and how many training rows have it; `example` is the
index of one of them, from 0."""


class Row(namedtuple("Row", "row weight similarity y text")):
    """A training row (of an SVM a support row): `row` is its index, from 0; `y` a number or a label; `text` all
    columns on one line, texts before numbers, which are rounded."""

    __slots__ = ()

    @property
    def number(self):
        """As files and the command line count: from 1."""
        return self.row + 1


# ---- From C --------------------------------------------------------------------------------------

def _text(value):
    return None if value is None else value.decode("utf-8", "replace")


def _parts(reasons, count):
    for i in range(count):
        p = lib.lth_reasons_part_at(reasons, i)
        placed = p.first != _c.NONE
        yield Part(_text(p.column), _text(p.text), p.weight, p.first if placed else None,
                   p.length if placed else None, p.depth, p.seen)


def _patterns(reasons, count):
    for i in range(count):
        p = lib.lth_reasons_pattern_at(reasons, i)
        yield Pattern(_text(p.text), p.weight, p.rows, _text(p.column),
                      None if p.example == _c.NONE else p.example)


def _rows(reasons, count, row_text):
    for i in range(count):
        r = lib.lth_reasons_row_at(reasons, i)
        yield Row(r.row, r.weight, r.similarity, r.y if r.label is None else _text(r.label),
                  _text(row_text(r.row)))


class Explanation:
    """Why a model predicts what it does for one row; prints as text, shows as HTML in notebooks.

    Attributes
    ----------
    mean, sd : float
        The prediction and its standard deviation. For labels the mean is the latent function of
        the class, or an SVM's decision value. What a model does not have is NaN.
    baseline : float
        What is expected of a row that has nothing in common with the training rows. `baseline` +
        all weights + `missed` = `mean`.
    missed, exact : float, bool
        What the weights leave out; whether that is rounding alone.
    distance, noise, prior : float
        Where the doubt comes from: standard deviation of the function here, of the noise, and of
        the function far from all training rows.
    probability : float
        Of the class.
    trend : float
        What the linear mean adds, as part of `mean` - `baseline`.
    predicted, unit : float, str
        Of numbers what is expected of y; and what the other figures are in: "" = the units of y,
        "latent" = those of the function, as where counts are exp(f).
    target, label, against : str
        The column, and for labels whose function it is; `against` is the other class of a pair.
    row : int
        The index of the row in X, from 0. Texts show it, and those of training rows, in brackets: row [0].
    number : int
        The same as files and the command line count: from 1.
    least, most : float
        The least and the largest target of the training rows; NaN for labels and support vector machines.
    tokens : list of (str, float)
        What each token, node or number adds, in the order of the row.
    parts : list of Part
        The same with column, place in the cell, depth in a tree, and whether training had it.
    patterns : list of Pattern
        What adds most: text, weight, rows, column, example.
    rows : list of Row
        The training rows that add most: row, weight, similarity, y, text.
    """

    def __init__(self, reasons, row, names, cells, row_text):
        s = lib.lth_reasons_summarise(reasons)
        for name in ("mean", "sd", "baseline", "missed", "distance", "noise", "prior",
                     "probability", "exact", "trend", "predicted", "least", "most"):
            setattr(self, name, getattr(s, name))
        self.unit = s.unit.decode()
        self.row = row
        self.target, self.label, self.against = names
        self.parts = list(_parts(reasons, s.parts))
        self.tokens = [(p.text, p.weight) for p in self.parts]
        self.patterns = list(_patterns(reasons, s.patterns))
        self.rows = list(_rows(reasons, s.rows, row_text))
        self._cells = cells  # {column: text}

    @property
    def number(self):
        return self.row + 1

    def __repr__(self):
        return f"<Explanation of row [{self.row}]: {_named(self)} {self.mean:.4g}>"

    def __str__(self):
        return "\n".join(_lines(self))

    def _repr_html_(self):
        return "".join(_pieces(self))


# ---- As text: what luthier explain prints, but that rows are Python's indices, in brackets --------

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def _visible(text):
    """Text that does nothing to a terminal."""
    def number(match):
        code = ord(match[0])
        return f"\\x{code:02x}" if code < 0x80 else f"\\u{{{code:x}}}"

    return _UNSEEN.sub(number, text)


def _named(x):
    name = x.target + ("" if x.label is None else f" = {x.label}")
    return _visible(name + ("" if x.against is None else f" against {x.against}"))


def _number(value):
    return "" if isinstance(value, float) and math.isnan(value) else \
        _visible(value) if isinstance(value, str) else f"{value:.4g}"


def _padded(text, width):
    return text.ljust(width) if len(text) < width else text + " "


def _latent(x):
    if not x.unit:
        return ""
    return f", by a latent function of {x.mean:.4g}, in whose units are all numbers below"


def _summary(x):
    line = f"row [{x.row}]: {_named(x)} {x.predicted if x.unit else x.mean:.4g}{_latent(x)}"
    if not math.isnan(x.sd):
        line += f", from {x.mean - _SDS_95 * x.sd:.4g} to {x.mean + _SDS_95 * x.sd:.4g} (95%)"
    if not math.isnan(x.probability):
        line += f", probability {x.probability:.3g}"
    yield line
    trend = "" if math.isnan(x.trend) else f", {x.trend:+.4g} of it by the linear mean"
    missed = "" if x.exact else f" ({x.missed:+.2g} of it not told apart)"
    yield f"  baseline {x.baseline:.4g}, {x.mean - x.baseline:+.4g} by this row{trend}{missed}"


def _listed(x):
    most = max((abs(p.weight) for p in x.parts), default=0)
    for column, parts in _by_column(x.parts):
        if parts[0].first is not None or len(parts) > 1:
            yield ""
            yield f"  {_visible(column)}"
        for p in parts:
            cells = math.floor(20 * abs(p.weight) / most + 0.5) if most > 0 else 0
            name = _padded(" " * (2 * p.depth) + _visible(p.text), 24)
            bar = ("+" if p.weight > 0 else "-") * cells
            yield f"    {name}{format(p.weight, '+9.4g')}  {bar}" + ("" if p.seen else "  (new)")


def _by_column(parts):
    groups = []
    for p in parts:
        if not groups or groups[-1][0] != p.column:
            groups.append((p.column, []))
        groups[-1][1].append(p)
    return groups


def _doubt(x):
    if math.isnan(x.distance):
        return
    line = f"  unsure by {x.distance if math.isnan(x.sd) else x.sd:.3g}:"
    if not math.isnan(x.noise):
        line += f" noise of the target {x.noise:.3g},"
    line += f" distance from the training rows {x.distance:.3g} of at most {x.prior:.3g}"
    new = [_visible(p.text) for p in x.parts if not p.seen]
    yield ""
    yield line + ("; not in training: " + ", ".join(new) if new else "")


def _lines(x):
    yield from _summary(x)
    yield from _listed(x)
    if x.patterns:
        yield ""
        yield "  patterns"
    for p in x.patterns:
        yield (f"    {p.weight:+9.4g}  {_padded(_visible(p.text), 32)}{p.rows} row"
               + ("" if p.rows == 1 else "s"))
    if x.rows:
        yield ""
        yield "  training rows: weight, similarity, target"
    for r in x.rows:
        yield (f"    {r.weight:+9.4g}  {r.similarity:5.2f}  {_number(r.y)}  "
               f"{_visible(r.text or '')}  (row [{r.row}])")
    yield from _doubt(x)


# ---- As HTML, for notebooks ----------------------------------------------------------------------

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


def _escaped(text):
    """Control characters as their pictures, marks of direction by their numbers."""
    text = _CONTROL.sub(lambda m: "\u2421" if m[0] == "\x7f" else chr(0x2400 + ord(m[0])), text)
    shown = _UNSEEN.sub(lambda m: m[0] if m[0] in "\t\n" else f"[U+{ord(m[0]):04X}]", text)
    return html.escape(shown)


def _mark(text, weight, most):
    """As the pages of luthier mark it: blue raises, dotted orange lowers."""
    share = abs(weight) / most if most > 0 else 0
    colour = "28,93,153" if weight > 0 else "214,108,36"
    line = "solid" if weight > 0 else "dotted"
    return (f'<span style="background-color:rgba({colour},{0.5 * share:.2f});border-radius:2px;'
            f'border-bottom:2px {line} rgba({colour},{share:.2f})" '
            f'title="{weight:+.4g}">{_escaped(text)}</span>')


def _marked(x, column, parts, most):
    """The cell with its tokens marked, if they follow one another; else the parts as a list."""
    cell, at, out = x._cells.get(column, "").encode(), 0, []
    for p in parts:
        if p.depth or p.first is None or p.first < at or p.first + p.length > len(cell):
            return " ".join(_mark(part.text, part.weight, most) for part in parts)
        out.append(_escaped(cell[at:p.first].decode("utf-8", "replace")))
        at = p.first + p.length
        out.append(_mark(cell[p.first:at].decode("utf-8", "replace"), p.weight, most))
    return "".join(out) + _escaped(cell[at:].decode("utf-8", "replace"))


def _table(heads, rows):
    if not rows:
        return ""
    def cell(tag, at, text):
        return f'<{tag} style="text-align:{"right" if at else "left"}">{text}</{tag}>'

    head = "".join(cell("th", at, name) for at, name in enumerate(heads))
    body = "".join("<tr>" + "".join(cell("td", at, text) for at, text in enumerate(row)) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _pieces(x):
    yield f"<div><h4>Row [{x.row}]: {_escaped(_named(x))}</h4><p>"
    yield f"<strong>{x.predicted if x.unit else x.mean:.4g}</strong>{_latent(x)}"
    if not math.isnan(x.sd):
        yield f" &plusmn; {x.sd:.3g}"
    if not math.isnan(x.probability):
        yield f", probability {x.probability:.3g}"
    yield f"; baseline {x.baseline:.4g}"
    yield "</p>" if math.isnan(x.trend) else f", {x.trend:+.4g} by the linear mean</p>"
    most = max((abs(p.weight) for p in x.parts), default=0)
    for column, parts in _by_column(x.parts):
        yield f'<p style="white-space:pre-wrap">{_marked(x, column, parts, most)}</p>'
    yield _table(("pattern", "adds", "rows"),
                 [(_escaped(p.text), f"{p.weight:+.4g}", p.rows) for p in x.patterns])
    yield _table(("training row", "adds", "similarity", "target", "row"),
                 [(_escaped(r.text or ""), f"{r.weight:+.4g}", f"{r.similarity:.2f}",
                   _escaped(_number(r.y)), f"[{r.row}]") for r in x.rows])
    yield "</div>"


# ---- Estimators ----------------------------------------------------------------------------------

def _count(value, what):
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
        raise Error(f"{what} wants a whole number of at least 0, not {value!r}")
    return value.__index__()


def _cells(table, row):
    return {name: column._values[row] for name, column in table.columns.items()
            if isinstance(column, tables.Texts)}


class Explained:
    """What estimators can say about their predictions."""

    def explain(self, X, target=None, patterns=10, rows=5, *, exposure=None):
        """The reasons of the prediction for each row of X: a list of `Explanation`.

        Parameters
        ----------
        X : rows
            As for `predict`.
        target : int, label or pair of labels, optional
            `GPRegressor`: which of several targets, by its number (default 0). Classifiers: the
            class (default the one that is predicted); of an SVM with several classes in pairs, the
            pair, or the class against its nearest rival.
        patterns, rows : int
            How many of the heaviest to list.
        exposure : array-like or str, optional
            As for `predict`, of a model that has one.
        """
        options = _c.ExplainOptions()
        lib.lth_explain_options_init(byref(options))
        options.patterns, options.rows = _count(patterns, "patterns"), _count(rows, "rows")
        table = self._rows_of(X, exposure)
        functions = self._functions(X, target, table.rows)
        return [self._explain_row(table, row, int(function), options)
                for row, function in enumerate(functions)]

    def patterns(self, count=10, target=None):
        """The patterns that weigh most in the model: `count` that push up, `count` that push down.

        `target` is as for `explain`; with several classes it must be given.
        """
        pointer, count = self._pointer, _count(count, "count")
        (function,) = self._functions(None, target, 1)
        reasons = self._reasons("patterns", pointer, int(function), count)
        return list(_patterns(reasons.pointer, lib.lth_reasons_summarise(reasons.pointer).patterns))

    def _reasons(self, name, *arguments):
        pointer = self._context.create(self._c(name), *arguments, long=True,
                                       free=lib.lth_reasons_free)
        return Owned(pointer, lib.lth_reasons_free, self._context)

    def _explain_row(self, table, row, function, options):
        options.target = function
        reasons = self._reasons("explain", self._pointer, table.pointer, row, byref(options))
        with self._context._lock:  # the text of a row lies in the model until the next is asked for
            return Explanation(reasons.pointer, row, self._names(function), _cells(table, row),
                               lambda at: self._c("row_line")(self._pointer, at))

    # ---- Which function: a target, a class, or a problem of an SVM ----

    def _functions(self, X, target, rows):
        """The number of what is explained, for each row; X None = of the model itself."""
        if not hasattr(self, "classes_"):
            count = self.n_targets_ if self._api == "gp" else 1
            number = _count(0 if target is None else target, "target")
            if number >= count:
                raise Error(f"target wants a number below {count}, not {target!r}")
            return [number] * rows
        if target is None and X is None:
            if len(self.classes_) != 2 or self._multi:
                raise Error(f"which class? Give target, one of {', '.join(map(str, self.classes_))}")
            target = self.classes_[1]
        wanted = self._wanted(X, rows) if target is None else [self._place(target)] * rows
        if self._api == "gp":
            return [self._in_c(place) for place in wanted]
        return self._problems_of(X, wanted, rows)

    def _wanted(self, X, rows):
        """The predicted class, as its place in `classes_`; of several labels the first."""
        if self._api == "gp":
            return self.predict_proba(X).argmax(axis=1)
        predicted = self.predict(X)
        if self._multi:
            return predicted.argmax(axis=1)
        return [int(np.flatnonzero(self.classes_ == label)[0]) for label in predicted]

    def _place(self, target):
        pair = isinstance(target, (tuple, list)) and self._api == "svm" and len(target) == 2
        if pair:
            return tuple(self._place(label) for label in target)
        found = np.flatnonzero(np.asarray(self.classes_ == target))
        if len(found) != 1:
            raise Error(f"target wants a class, one of {', '.join(map(str, self.classes_))}; not "
                        f"{target!r}")
        return int(found[0])

    def _in_c(self, place):
        return int(np.flatnonzero(np.asarray(self._order) == place)[0])

    def _sides(self):
        """For each problem the places of its classes; None is the rest."""
        first, second, out = c_size_t(), c_size_t(), []
        for i in range(self._report["problems"]):
            lib.lth_svm_problem_at(self._pointer, i, byref(first), byref(second))
            out.append(tuple(None if side.value == _c.NONE else int(self._order[side.value])
                             for side in (first, second)))
        return out

    def _problems_of(self, X, wanted, rows):
        sides = self._sides()
        decision = None
        for row in range(rows):
            place = wanted[row]
            of = place if isinstance(place, tuple) else (place,)
            among = [i for i, pair in enumerate(sides) if set(of) <= set(pair)]
            if not among:
                raise Error("there is no problem that tells these classes apart")
            if len(among) > 1 and X is None:
                raise Error("which pair of classes? Give target=(one, other)")
            if len(among) > 1 and decision is None:
                decision = self._predict(X, decision=((len(sides),), np.float64))
            # How far each rival is from winning.
            yield min(among, key=lambda i: 0 if decision is None else
                      decision[row, i] * (1 if sides[i][0] == of[0] else -1))

    def _names(self, function):
        pointer = self._pointer
        if self._api == "gp":
            if not hasattr(self, "classes_"):
                return _text(lib.lth_gp_target(pointer, function)), None, None
            return (_text(lib.lth_gp_target(pointer, 0)),
                    _text(lib.lth_gp_class(pointer, function).name), None)
        target = _text(lib.lth_svm_target(pointer))
        if not hasattr(self, "classes_"):
            return target, None, None
        first, second = c_size_t(), c_size_t()
        lib.lth_svm_problem_at(pointer, function, byref(first), byref(second))
        names = [None if side.value == _c.NONE else
                 _text(lib.lth_svm_class_at(pointer, side.value).name) for side in (first, second)]
        return (target, *names)
