"""Exceptions and warnings."""

from __future__ import annotations

from . import _c


class Error(ValueError):
    """Whatever luthier cannot do, with the reason that the C library gives.

    Attributes
    ----------
    status : str
        ``"EFORMAT"``, ``"EARG"``, ``"ENOMEM"`` ...: the names of ``luthier.h`` without ``LTH_``.
    file : str
        The file that was being read, ``""`` when there is none.
    line, column : int
        The place in it; 0 when they do not apply. For data in memory the line is the row, from 1;
        for a kernel expression only the column is given.
    """

    def __init__(self, message: str, status: str = "EARG", line: int = 0, column: int = 0,
                 file: str = "") -> None:
        super().__init__(message)
        self.status, self.line, self.column, self.file = status, line, column, file

    def __reduce__(self):
        return type(self), (self.args[0], self.status, self.line, self.column, self.file)


class LuthierWarning(UserWarning):
    """What the C library has to say without failing."""


try:
    from sklearn.exceptions import NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):
        """A model was asked for predictions before `fit`."""


_names = {value: name for name, value in _c.STATUS.items()}


def _place(error, row):
    """Where it is wrong, as Python or as an editor would write it."""
    file = error.file.decode("utf-8", "replace")
    if row and error.line:
        return f"X[{error.line - 1}]" + (f", character {error.column}" if error.column else "")
    if not error.line:
        return file or (f"column {error.column}" if error.column else "")
    place = f"{file}:{error.line}" if file else f"line {error.line}"
    return place + (f":{error.column}" if error.column else "")


def from_c(error, in_memory=True):
    """The exception of a failed call. In memory a line is a row of the caller's data."""
    message = error.message.decode("utf-8", "replace")
    place = _place(error, in_memory and not error.file)
    return Error(f"{place}: {message}" if place else message, _names.get(error.status, "?"),
                 error.line, error.column, error.file.decode("utf-8", "replace"))
