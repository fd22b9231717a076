"""Python data to tables of the C library.

What people have (lists of strings, token lists, trees, rows, frames, arrays) becomes columns of
texts, numbers or vectors. Numbers and vectors stay where they are; C reads them by pointer.
"""

import ctypes
import re
from collections.abc import Mapping, Sequence
from ctypes import c_size_t, c_void_p, sizeof

import numpy as np

from . import _c
from ._context import Owned
from ._library import lib
from .errors import Error

_utf8_of = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
_utf8_of.restype = c_void_p
_utf8_of.argtypes = [ctypes.py_object, c_void_p]

_SIZE = ctypes.sizeof(c_size_t)
_address_fn = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t)  # a text from Python would leak


# ---- Columns -------------------------------------------------------------------------------------

class Texts:
    """Strings by the address of their UTF-8 form, which the interpreter keeps with the string."""

    def __init__(self, values, label):
        self.count = len(values)
        self._values = list(values)  # that of the caller may change
        self._address = (c_void_p * self.count)()
        self._length = (c_size_t * self.count)()
        at = ctypes.addressof(self._length)
        for i, value in enumerate(values):
            if not isinstance(value, str):
                raise _no_text(value, label, i)
            try:
                self._address[i] = _utf8_of(value, at + i * _SIZE)
            except UnicodeEncodeError as failure:
                raise Error(f"{label}[{i}] is no text: character {failure.start} is half of a "
                            "surrogate pair", "EFORMAT", i + 1, failure.start + 1) from None
        self.bytes = sum(self._length)

    def same_as(self, other):
        return isinstance(other, Texts) and self._values == other._values

    def fill(self, column):
        column.text = ctypes.addressof(self._address)
        column.length = ctypes.addressof(self._length)


class Numbers:
    """A float64 array, or one column of a larger one."""

    def __init__(self, values, label):
        self._values = values
        self.count = self.bytes = len(values)
        bad = ~np.isfinite(values)
        if bad.any():
            i = int(bad.argmax())
            value = values[i]
            what = "NaN" if np.isnan(value) else f"infinity ({value})"
            raise Error(f"{label}[{i}] contains {what}; luthier wants finite numbers", "EFORMAT",
                        i + 1)

    def same_as(self, other):
        return False  # arrays may change in place

    def fill(self, column):
        column.numbers = self._values.ctypes.data
        column.stride = self._values.strides[0] // 8 if self.count > 1 else 1


class Vectors:
    """One 2-D float32 array for each row: units by dimensions."""

    def __init__(self, values, label):
        self._values = [_matrix(value, f"{label}[{i}]", i) for i, value in enumerate(values)]
        dimensions = {value.shape[1] for value in self._values if len(value)}
        if len(dimensions) > 1:
            raise Error(f"the vectors of {label} have different dimensions: {sorted(dimensions)}")
        self.count = len(self._values)
        self.bytes = sum(len(value) for value in self._values)
        self._dimension = dimensions.pop() if dimensions else 1
        self._address = (c_void_p * self.count)(*(v.ctypes.data for v in self._values))
        self._units = (c_size_t * self.count)(*(len(v) for v in self._values))

    def same_as(self, other):
        return False

    def fill(self, column):
        column.vectors = ctypes.addressof(self._address)
        column.units = ctypes.addressof(self._units)
        column.dimension = self._dimension


def _matrix(value, label, row):
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "fiu":
        raise Error(f"{label} is {_kind(value)}, not a 2-D array of numbers", line=row + 1)
    value = np.ascontiguousarray(value, dtype=np.float32)
    if not np.isfinite(value).all():
        raise Error(f"{label} has a vector with NaN or infinity", "EFORMAT", row + 1)
    return value


def _kind(value):
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    if _is_missing(value):
        return "NaN" if isinstance(value, (float, np.floating)) else str(value)
    return f"of type {type(value).__name__}"


def _is_missing(value):
    """None, NaN, or what pandas has for them."""
    if value is None or isinstance(value, (float, np.floating)):
        return value is None or value != value
    return type(value).__name__ in ("NAType", "NaTType")


def _no_text(value, label, row):
    what = ": a text is missing" if _is_missing(value) else ", not a string like the first"
    return Error(f"{label}[{row}] is {_kind(value)}{what}", "EFORMAT", row + 1)


# ---- One column from Python values ---------------------------------------------------------------

def _is_tree(value):
    return isinstance(value, list) and callable(getattr(value, "label", None))  # nltk.Tree


def _is_number(value):
    return isinstance(value, (int, float, np.number, np.bool_))


_ends_a_name = re.compile(r"[\s()]")


def _name_in_tree(text, row):
    text = str(text)
    if not text or _ends_a_name.search(text):
        raise Error(f"X[{row}]: the tree has a node {text!r}; names in trees have no blanks and "
                    "no brackets (write -LRB- and -RRB-)", "EFORMAT", row + 1)
    return text


def bracketed(tree, row=0):
    """An nltk.Tree as ``(S (NP ...) ...)``, of any depth."""
    out, stack = [], [(None, iter([tree]))]
    while stack:
        closing, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            if closing:
                out[-1] += closing
        elif _is_tree(child):
            out.append("(" + _name_in_tree(child.label(), row))
            stack.append((")", iter(child)))
        else:
            out.append(_name_in_tree(child, row))
    return " ".join(out)


def _joined(tokens, label, row):
    if _is_missing(tokens):
        raise _no_text(tokens, label, row)
    if not isinstance(tokens, (list, tuple)) or not all(isinstance(t, str) for t in tokens):
        raise Error(f"{label}[{row}] is {_kind(tokens)}, not a list of tokens like the first",
                    line=row + 1)
    text = " ".join(tokens)
    if len(text.split()) != len(tokens):
        bad = next(t for t in tokens if t.split() != [t])
        raise Error(f"{label}[{row}] has the token {bad!r}; tokens are neither empty nor have blanks "
                    "inside (put something else in their place, such as _)", "EFORMAT", row + 1)
    return text


def _numbers(values, label):
    """A 1-D float64 array that C can read by pointer and stride."""
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise Error(f"Complex data not supported: {label} has complex numbers")
    if array.dtype.kind == "O":
        for i, value in enumerate(values):
            if not _is_number(value):
                what = (": a number is missing" if _is_missing(value)
                        else ", not a number like the first")
                raise Error(f"{label}[{i}] is {_kind(value)}{what}", line=i + 1)
    try:
        array = array.astype(np.float64, copy=False)
    except OverflowError:
        raise Error(f"{label} has a whole number that is too large for a float64") from None
    except (TypeError, ValueError) as failure:
        raise Error(f"{label}: {failure}") from None
    if array.ndim != 1:
        raise Error(f"{label} wants one number for each row, not the shape {array.shape}")
    return array if array.strides[0] > 0 and array.strides[0] % 8 == 0 else array.copy()


def _plain(values):
    """A Series, an array or any sequence as a list or a 1-D array of numbers."""
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        values = values.to_numpy()
    if hasattr(values, "__array__") and not isinstance(values, np.ndarray):
        values = np.asarray(values)
    if isinstance(values, np.ndarray):
        if values.ndim == 0:
            raise Error("a column wants one value for each row, not a single one")
        return values if values.dtype.kind in "fiubc" and values.ndim == 1 else list(values)
    return values if isinstance(values, list) else list(values)


def column(values, label="X", joins_tokens=None):
    """Texts, Numbers or Vectors, by what the first value is that is not missing."""
    values = _plain(values)
    if len(values) == 0:
        raise Error(f"{label} is empty: found array with 0 sample(s) while a minimum of 1 is "
                    "required")
    first = values[0]
    if isinstance(values, list):
        first = next((value for value in values if not _is_missing(value)), first)
    if isinstance(first, str):
        return Texts(values, label)
    if _is_tree(first):
        return Texts([bracketed(v, i) if _is_tree(v) else v for i, v in enumerate(values)], label)
    if isinstance(values, np.ndarray) or _is_number(first):
        return Numbers(_numbers(values, label), label)
    if isinstance(first, np.ndarray) and first.ndim == 2:
        return Vectors(values, label)
    if isinstance(first, (list, tuple)) and all(isinstance(t, str) for t in first):
        if joins_tokens is not None:
            joins_tokens()
        return Texts([_joined(v, label, i) for i, v in enumerate(values)], label)
    raise Error(f"{label}[0] is {_kind(first)}; luthier reads strings, lists of tokens, trees, "
                "numbers and 2-D arrays of vectors")


# ---- Many columns --------------------------------------------------------------------------------

def expand(names):
    """Column names with ranges such as f1..f17 written out."""
    out = []
    for name in names:
        match = re.fullmatch(r"(.*?)(\d+)\.\.\1(\d+)", name)
        if not match:
            out.append(name)
            continue
        stem, first, last = match.groups()
        width = len(first) if first.startswith("0") else 0
        out += [f"{stem}{i:0{width}d}" for i in range(int(first), int(last) + 1)]
    return list(dict.fromkeys(out))


def is_frame(X):
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")


def as_rows(X):
    """X with what hides in other containers taken out: a list, an array, a mapping or a frame."""
    if hasattr(X, "tocsr") or hasattr(X, "toarray"):
        raise TypeError("sparse data is not supported: luthier reads strings, trees and dense "
                        "arrays; use X.toarray()")
    if isinstance(X, Mapping) or is_frame(X):
        return X
    if isinstance(X, (str, bytes)):
        raise Error(f"X is one {type(X).__name__}; give a list of them")
    if hasattr(X, "to_numpy") or (hasattr(X, "__array__") and not isinstance(X, np.ndarray)):
        X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if isinstance(X, np.ndarray):
        if X.ndim == 0:
            raise Error("Expected 2D array, got scalar array instead: X wants one entry a row")
        return _object_array(X) if X.dtype.kind == "O" and X.ndim == 2 else X
    if not isinstance(X, Sequence):
        try:
            X = list(X)
        except TypeError:
            raise Error(f"X is {_kind(X)}, not rows") from None
    if len(X) and _are_numbers(X[0]):
        return _matrix_of_rows(X)
    return X


def chunks(X, size):
    """(rows before, rows) for `size` rows of X at a time; a frame that X yields is a chunk."""
    if isinstance(X, (str, bytes)):
        raise Error(f"X is one {type(X).__name__}; give rows")
    if hasattr(X, "shape") or isinstance(X, (Sequence, Mapping)):
        return _cut(X, size)
    return _collect(iter(X), size)


def take(X, rows, count, what):
    """These rows of `count`, of a list, an array, a mapping of columns, a frame or a series."""
    if isinstance(X, Mapping):
        return {name: take(values, rows, count, what) for name, values in X.items()}
    if len(X) != count:
        raise Error(f"Found input variables with inconsistent numbers of samples: {what} has "
                    f"{len(X)}, weights has {count}")
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, np.ndarray) or hasattr(X, "to_numpy"):  # polars
        return X[rows]
    return [X[i] for i in rows]


def _cut(X, size):
    if isinstance(X, Mapping):
        count = max((len(column) for column in X.values()), default=0)
        part = lambda first: {name: column[first:first + size] for name, column in X.items()}
    else:
        count, rows = len(X), getattr(X, "iloc", X)
        part = lambda first: rows[first:first + size]
    for first in range(0, count, size):
        yield first, part(first)


def _collect(rows, size):
    first, held = 0, []
    for row in rows:
        whole = is_frame(row)
        if not whole:
            held.append(row)
        if held and (whole or len(held) == size):
            yield first, held
            first, held = first + len(held), []
        if whole and len(row):
            yield first, row
            first += len(row)
    if held:
        yield first, held


def _are_numbers(row):
    if isinstance(row, np.ndarray):
        return row.ndim == 1 and row.dtype.kind in "fiubc"
    return isinstance(row, (list, tuple)) and len(row) > 0 and all(_is_number(v) for v in row)


def _matrix_of_rows(X):
    try:
        return np.array([np.asarray(row, dtype=np.float64) for row in X])
    except (TypeError, ValueError, OverflowError):
        raise Error("the rows of X are not all of the same number of numbers") from None


def _object_array(X):
    """An array of objects is numbers if all of them are, else rows of anything."""
    if X.size and all(_is_number(v) for v in X.flat):
        return X.astype(np.float64)
    try:
        if X.size and not any(isinstance(v, str) for v in X.flat):
            return X.astype(np.float64)
    except (TypeError, ValueError) as failure:
        raise TypeError(f"{failure}. argument must be a string or a number") from None
    return [tuple(row) for row in X]


def by_name(X, names):
    """{name: values} of a mapping or a frame; a 2-D array "f" has the columns f1, f2, ..."""
    wide = {}
    if isinstance(X, Mapping):
        for key, values in X.items():
            if isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "fiub":
                values = np.ascontiguousarray(values, dtype=np.float64)
                wide.update((f"{key}{j + 1}", values[:, j]) for j in range(values.shape[1]))
    have = list(X.keys() if isinstance(X, Mapping) else X.columns)
    out = {}
    for name in names:
        if name in wide:
            out[name] = wide[name]
        elif name in have:
            out[name] = X[name]
        else:
            columns = ", ".join(map(str, have))
            raise Error(f'no column "{name}" in X{did_you_mean(name, have)} Its columns are: '
                        f"{columns}", "EFORMAT")
    return out


def did_you_mean(name, names):
    """The end of a sentence about a name that is not among these."""
    known = [ctypes.create_string_buffer(str(n).encode()) for n in names]
    at = _address_fn(lambda _, i: ctypes.addressof(known[i]) if i < len(known) else None)
    found = lib.lth_nearest(name.encode(), ctypes.cast(at, _c.NameFn), None)
    return "." if found is None else f'; did you mean "{found.decode()}"?'


def _by_position(rows, names):
    for i, row in enumerate(rows):
        if not isinstance(row, (tuple, list)) or len(row) != len(names):
            raise Error(f"X[{i}] is {_kind(row)}" + (f" and length {len(row)}" if isinstance(
                row, (tuple, list)) else "") + f", but the kernel reads {len(names)} columns: "
                + ", ".join(names), line=i + 1)
    return {name: [row[j] for row in rows] for j, name in enumerate(names)}


def _by_key(rows, names):
    out = {name: [] for name in names}
    for i, row in enumerate(rows):
        for name in names:
            if not isinstance(row, Mapping):
                raise Error(f'X[{i}] has no "{name}": it is {_kind(row)}', "EFORMAT", i + 1)
            if name not in row:
                raise Error(f'X[{i}] has no "{name}"{did_you_mean(name, row)}', "EFORMAT", i + 1)
            out[name].append(row[name])
    return out


def _numbered(names):
    """The largest number of columns f1, f2, ...; infinity if there are others."""
    if not all(re.fullmatch(r"f[1-9]\d*", name) for name in names):
        return float("inf")
    return max(int(name[1:]) for name in names)


def _array_columns(X, names):
    if X.dtype.kind == "c":
        raise Error("Complex data not supported: X has complex numbers")
    X = np.ascontiguousarray(X, dtype=np.float64)
    count = X.shape[1]
    if count == 0:
        raise Error(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    numbered = {f"f{j + 1}": j for j in range(count)}
    if all(name in numbered for name in names):
        return {name: X[:, numbered[name]] for name in names}
    if count == len(names):
        return {name: X[:, j] for j, name in enumerate(names)}
    raise Error(f"the kernel reads the columns {', '.join(names)}; an array with {count} columns "
                f"has the columns f1..f{count}")


def has_names(X):
    """Whether the columns of X go by their names: a frame, a mapping, rows that are mappings."""
    X = as_rows(X)
    return is_frame(X) or isinstance(X, Mapping) or (
        isinstance(X, Sequence) and len(X) > 0 and isinstance(X[0], Mapping))


def goes_by_position(X, names):
    """Whether X is a frame without such columns, and so an array: f1 is its first."""
    return is_frame(X) and not set(names) & set(X.columns) and _numbered(names) <= X.shape[1]


def split(X, names):
    """{name: values} for every column that the kernel reads."""
    X = as_rows(X)
    if goes_by_position(X, names):
        X = X.to_numpy()
    if isinstance(X, Mapping) or is_frame(X):
        return by_name(X, names)
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.dtype.kind in "fiubc":
            return _array_columns(X, names)
        if X.ndim == 2 and X.shape[1] == 1 and len(names) == 1:
            X = X[:, 0]
        if X.ndim == 1 and X.dtype.kind in "fiubc" and len(names) > 1:
            raise Error("Expected 2D array, got 1D array instead. Reshape your data: one row for "
                        "each item, one column for each of " + ", ".join(names))
        if X.ndim > 3:
            raise Error(f"Found array with dim {X.ndim}. luthier wants a 2-D array of numbers, or "
                        "one 2-D array of vectors for each row")
    if len(X) == 0:
        raise Error("X is empty: found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is "
                    "required.")
    first = X[0]
    if isinstance(first, Mapping):
        return _by_key(X, names)
    if len(names) == 1 and not (isinstance(first, tuple) and len(first) == 1):
        return {names[0]: X}
    if isinstance(first, np.ndarray) and isinstance(X, np.ndarray):
        X = [tuple(row) for row in X]
    return _by_position(X, names)


class Table:
    """An ``lth_table``, with the Python objects whose memory it reads."""

    def __init__(self, context, columns):
        counts = {c.count for c in columns.values()}
        if len(counts) != 1:
            raise Error("Found input variables with inconsistent numbers of samples: "
                        + ", ".join(f"{name} has {c.count}" for name, c in columns.items()))
        self.rows = counts.pop()
        self.columns = columns
        self.bytes = sum(c.bytes for c in columns.values())
        array = (_c.Column * len(columns))()
        for c, (name, values) in zip(array, columns.items()):
            c.name = name.encode()
            values.fill(c)
        pointer = context.create(lib.lth_table_from_columns, context.pointer, array,
                                 sizeof(_c.Column), len(columns), self.rows)
        self._owned = Owned(pointer, lib.lth_table_free, context, columns)
        self.pointer = pointer
