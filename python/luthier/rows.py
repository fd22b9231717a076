"""What is known of rows beside their targets: noise, repeats, weights, exposure; and of new rows
some of the targets."""

from collections.abc import Mapping

import numpy as np

from . import tables
from .errors import Error


def _named(X, name, what):
    """A column of X by its name."""
    rows = tables.as_rows(X)
    named = isinstance(rows, Mapping) or tables.is_frame(rows)
    if not named and not (len(rows) and isinstance(rows[0], Mapping)):
        raise Error(f"{what}={name!r} names a column, but the columns of X have no names; give the "
                    "numbers")
    return tables.split(X, [name])[name]


def free_name(wanted, taken):
    while wanted in taken:
        wanted += "_"
    return wanted


def weights(sample_weight, weights):
    """The one that is given of scikit-learn's name and ours."""
    if sample_weight is not None and weights is not None:
        raise Error("only one of sample_weight and weights can be given: they mean the same")
    return weights if sample_weight is None else sample_weight


def of_some_weight(X, y, known):
    """(X, y, known) without the rows whose weight is 0."""
    weights = known["weights"]
    if weights is None:
        return X, y, known
    named = isinstance(weights, str)
    values = tables._numbers(tables._plain(_named(X, weights, "weights") if named else weights),
                             "weights")
    if not (values == 0).any():
        return X, y, known
    kept = np.flatnonzero(values)
    if len(kept) == 0:
        raise Error("all weights are zero: no row is left")
    given = {what: tables.take(one, kept, len(values), what) if one is not None
             and not isinstance(one, str) else one for what, one in known.items()}
    X = tables.as_rows(X)
    return tables.take(X, kept, len(values), "X"), tables.take(y, kept, len(values), "y"), given


def _column(values, label, rows):
    out = tables.Numbers(tables._numbers(values, label), label)
    if out.count != rows:
        raise Error(f"Found input variables with inconsistent numbers of samples: X has {rows} "
                    f"rows, {label} has {out.count}")
    return out


def columns(X, rows, taken, **given):
    """({name: column}, {option: name}) of weights, noise, repeats, exposure: each None, numbers, or
    the name of a column of X."""
    given = {what: values for what, values in given.items() if values is not None}
    if "noise" in given and "repeats" in given:
        raise Error("only one of noise and repeats can be given")
    out, options = {}, {}
    for what, values in given.items():
        if isinstance(values, str):
            name, values = values, _named(X, values, what)
        else:
            name = free_name(what, taken | out.keys())
        if name not in taken:
            out[name] = _column(values, what, rows)
        option = "noise_by" if what in ("noise", "repeats") else what
        options[option] = (f"1/{name}" if what == "repeats" else name).encode()
    return out, options


def exposure(X, rows, name, given):
    """The column that a fitted model reads of new rows."""
    if given is None:
        try:
            given = name
            given = _named(X, name, "exposure")
        except Error:
            raise Error(f'the model has an exposure, "{name}": give exposure=, the numbers of '
                        "the rows or a column's name") from None
    elif isinstance(given, str):
        given = _named(X, given, "exposure")
    return {name: _column(given, "exposure", rows)}


def with_gaps(values, label):
    """Numbers, of which NaN is an empty cell: those the C library reads as text."""
    missing = np.isnan(values)
    if not missing.any():
        return tables.Numbers(values, label)
    if np.isinf(values).any():
        raise Error(f"{label} contains infinity; luthier wants finite numbers", "EFORMAT")
    return tables.Texts(["" if gap else repr(float(value))
                         for value, gap in zip(values, missing)], label)


def _by_target(X, targets, given):
    """{name: numbers} of what `given` may be."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping) or tables.is_frame(given):
        return {name: given[name] for name in (given if isinstance(given, Mapping)
                                               else given.columns)}
    if isinstance(given, (list, tuple)) and given and all(isinstance(n, str) for n in given):
        return {name: _named(X, name, "given") for name in given}
    array = np.asarray(given)
    if array.ndim != 2 or array.shape[1] != len(targets):
        raise Error("given wants columns by the names of targets, or an array with a column for "
                    f"each of the {len(targets)} targets, not the shape {array.shape}")
    return dict(zip(targets, array.T))


def given(X, rows, targets, given):
    """{target: column} of the targets of new rows that are known."""
    out = {}
    for name, values in _by_target(X, targets, given).items():
        if not isinstance(name, str):
            raise Error(f"given wants names of targets, not {name!r}")
        label = f"given[{name!r}]"
        out[name] = with_gaps(tables._numbers(values, label), label)
        if out[name].count != rows:
            raise Error(f"Found input variables with inconsistent numbers of samples: X has {rows} "
                        f"rows, {label} has {out[name].count}")
    return out
