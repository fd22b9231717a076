#!python
"""The command ``luthier`` of the Python package: it starts the program that the package carries.

The package is found but not imported, which would take longer than most commands.
"""
import importlib.util
import os
import sys

package = importlib.util.find_spec("luthier")
if package is None or package.origin is None:
    sys.exit(f"luthier: the package is not where {sys.executable} looks for it")
program = os.path.join(os.path.dirname(package.origin), "bin", "luthier")
try:
    os.execv(program, ["luthier"] + sys.argv[1:])
except OSError as failure:
    sys.exit(f"luthier: {program}: {failure.strerror}")
