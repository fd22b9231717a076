"""What is known of rows beside their targets: noise, repeats, weights, exposure."""

from collections.abc import Mapping

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
