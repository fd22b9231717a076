"""Where the shared library is, and loading it."""

import ctypes
import os
import pathlib

from . import _c, _c_functions

NAME = "libluthier.so"


def candidates():
    """Places to look, in order: what the user says, the package, the source tree, the system."""
    here = pathlib.Path(__file__).resolve().parent
    if os.environ.get("LUTHIER_LIBRARY"):
        return [os.environ["LUTHIER_LIBRARY"]]
    tree = here.parent.parent / "build"
    return [str(path) for path in (here / NAME, tree / NAME) if path.exists()] + [NAME + ".0"]


def load():
    """The library with its declarations."""
    failures = []
    for path in candidates():
        try:
            return _c_functions.declare(ctypes.CDLL(path))
        except (OSError, AttributeError) as failure:  # missing; or of another version
            failures.append(f"{path}: {failure}")
    raise ImportError("luthier cannot load its library. Build it with `make`, or name it in "
                      "LUTHIER_LIBRARY.\n  " + "\n  ".join(failures))


lib = load()
