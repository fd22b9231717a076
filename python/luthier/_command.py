"""The command line, for what the library does not do: the page of ``luthier report``."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from . import labels, tables
from ._library import lib
from .errors import Error


def find():
    """The program: what LUTHIER_CLI names, beside the package, of the source tree, on the PATH."""
    named = os.environ.get("LUTHIER_CLI")
    here = pathlib.Path(__file__).resolve().parent
    beside = [here / "bin" / "luthier", here.parent.parent / "build" / "luthier"]
    for path in [named] if named else [*beside, shutil.which("luthier")]:
        if path and os.access(path, os.X_OK) and not os.path.isdir(path):
            return str(path)
    raise Error(f"LUTHIER_CLI={named} is no program" if named else
                "this needs the command luthier, which is not part of the package: build it with "
                "`make`, put it on the PATH, or name it in LUTHIER_CLI", "EUNSUPPORTED")


def run(*arguments):
    """What it printed; an error of the program is one of ours."""
    done = subprocess.run([find(), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise Error(done.stderr.strip().removeprefix("luthier: "), "EFORMAT")
    return done.stdout


def _values(column):
    if isinstance(column, tables.Vectors):
        raise Error("a page about new rows is for texts and numbers, not for arrays of vectors")
    return [v if isinstance(v, str) else float(v) for v in column._values]


def _write_rows(model, X, y, exposure, path):
    """New rows with their targets, as the command reads them."""
    table = model._rows_of(X, exposure)
    columns, count = table.columns, table.rows
    pointer = getattr(lib, f"lth_{model._api}_model")(model._pointer)
    names = [lib.lth_model_target(pointer, t).decode()
             for t in range(lib.lth_model_targets(pointer))]
    if hasattr(model, "classes_"):
        _, truth = labels.labels(y, count, set(), model)
    else:
        truth, _ = labels.numbers(y, count, set(), model)
    if len(truth) != len(names):
        raise Error(f"y has {len(truth)} targets, the model {len(names)}")
    if taken := set(names) & columns.keys():
        raise Error(f"a target and a column that the kernel reads are both called {taken.pop()}")
    cells = {name: _values(c) for name, c in columns.items()}
    cells.update((name, _values(c)) for name, c in zip(names, truth.values()))
    with open(path, "w", encoding="utf-8") as out:
        for row in zip(*cells.values()):
            out.write(json.dumps(dict(zip(cells, row)), ensure_ascii=False) + "\n")


def report(model, path, X, y, exposure, title):
    """Write the page about a model."""
    find()  # before any work
    if (X is None) != (y is None):
        raise Error("rows to judge the model on need both X and y")
    with tempfile.TemporaryDirectory() as folder:
        file, rows = os.path.join(folder, "model"), os.path.join(folder, "rows.jsonl")
        model.save(file)
        arguments = [file, "-o", os.path.abspath(path), "--progress", "never", "--title",
                     title or f"Model {os.path.splitext(os.path.basename(path))[0]}"]
        if X is not None:
            _write_rows(model, X, y, exposure, rows)
            arguments += ["--data", rows]
        if isinstance(model.vectors, (str, os.PathLike)):
            arguments += ["--vectors", os.fspath(model.vectors)]
        run("report", *arguments)
