"""Names for what public functions take and return."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from .kernel import Kernel

Rows = Any  # whatever X can be: see docs/python.md
Array = NDArray[Any]
Column = Union[ArrayLike, str]  # a number for each row, or the name of a column of X
PathLike = Union[str, "os.PathLike[str]"]
KernelLike = Union[str, "Kernel", Callable[..., Any]]
Values = Union[float, Sequence[float]]  # one, or several to try
Random = Union[int, np.random.Generator, np.random.RandomState, None]

__all__ = ["Array", "ArrayLike", "Column", "KernelLike", "PathLike", "Random", "Rows", "Values"]
