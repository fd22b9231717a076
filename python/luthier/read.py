"""Tables from files: TSV, CSV, JSONL, CoNLL-U and FASTA."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_size_t
from typing import Any, Dict, Optional, Sequence

from . import _c
from ._context import Context, Owned
from ._library import lib
from .errors import Error

_FORMATS = ("auto", "tsv", "csv", "jsonl", "conllu", "fasta")


def _strings(values):
    return (c_char_p * len(values))(*(os.fsencode(v) for v in values))


def _options(more, label_by, columns, where, format, max_row):
    if label_by not in (None, "file"):
        raise Error(f'label_by wants "file" or None, not {label_by!r}')
    if format not in _FORMATS:
        raise Error(f"format wants one of {', '.join(_FORMATS)}; not {format!r}")
    options = _c.TableOptions()
    lib.lth_table_options_init(byref(options))
    options.format = _FORMATS.index(format)
    options.more, options.more_count = _strings(more), len(more)
    if label_by == "file":
        options.file_column = b"file"
    if columns is not None:
        options.columns, options.column_count = _strings(columns), len(columns)
    if where is not None:
        where = [f"{name}={value}" for name, value in where.items()]
        options.where, options.where_count = _strings(where), len(where)
    if max_row is not None:
        options.max_row = int(max_row)
    return options


def _cells(table, column, rows):
    length = c_size_t()
    for i in range(rows):
        cell = lib.lth_table_cell(table, i, column, byref(length))
        yield ctypes.string_at(cell, length.value).decode()


def columns_of(table):
    """{name: texts} of an ``lth_table``."""
    rows = lib.lth_table_rows(table)
    names = [lib.lth_table_column_name(table, i).decode()
             for i in range(lib.lth_table_columns(table))]
    return {name: list(_cells(table, i, rows)) for i, name in enumerate(names)}


def read_table(paths: Any, *, label_by: Optional[str] = None,
               columns: Optional[Sequence[str]] = None, where: Any = None,
               format: str = "auto", max_row: Optional[int] = None) -> Dict[str, Any]:
    """The columns of a table, or of several whose rows come one after the other.

    Parameters
    ----------
    paths : str, path or list of these
        TSV, CSV, JSONL, CoNLL-U or FASTA by their extensions, also gzipped; ``docs/data.md`` says
        more. Several have the same columns.
    label_by : None or "file"
        With "file" there is a column ``file`` more, which has the name of each row's file without
        folder and extension.
    columns : list of str, default=None
        Only these, else all.
    where : dict, default=None
        Rows to keep: ``{"split": "train,dev"}`` keeps those with one of these values.
    format : {"auto", "tsv", "csv", "jsonl", "conllu", "fasta"}
        Of all of them; "auto" goes by the extensions.
    max_row : int, default=None
        The most bytes of a row, 2^28 if None; a longer one is an error.

    Returns
    -------
    dict of lists of str
        What ``fit`` and ``predict`` take for X; a target is ``table["y"]``.
    """
    paths = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
    if not paths:
        raise Error("read_table wants a file")
    context = Context()
    options = _options(paths[1:], label_by, columns, where, format, max_row)
    table = context.create(lib.lth_table_read, context.pointer, os.fsencode(paths[0]),
                           byref(options))
    owned = Owned(table, lib.lth_table_free, context)
    return columns_of(owned.pointer)
