#!/usr/bin/env python3
"""What Python adds to the C library's time: small calls, and a large Gram matrix beside `luthier`.

  python3 bench/python_overhead.py [path of the command line]
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import luthier as lt  # noqa: E402


def microseconds(call, repeats=2000):
    """The median of many calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def small_calls():
    kernel = lt.Kernel("ssk(text)")
    turn = iter(range(10**9))
    texts = [f"the film was good {i}" for i in range(50)]
    model = lt.GPRegressor("ssk(text)", restarts=0).fit(texts, np.arange(50.0))
    for what, call in (
            ("1 x 1 Gram, same text again", lambda: kernel.gram(["the film was good"])),
            ("1 x 1 Gram, new texts", lambda: kernel.gram([f"the film {next(turn)}"])),
            ("1 x 1 Gram of two texts", lambda: kernel.gram(["the film was"], ["the book was"])),
            ("prediction of one row from 50", lambda: model.predict(["the film was bad"]))):
        print(f"{what:32s} {microseconds(call):8.1f} us")


def large_gram(program, rows=1250, words=60, times=5):
    """Both use the same library, one thread, and take turns; the best time of each counts."""
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 400, words)) for _ in range(rows)]
    expression = "ssk(text, order=5)"
    env = dict(os.environ, LD_PRELOAD=lt._library.lib._name)
    best = {"python": float("inf"), "c": float("inf")}
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "rows.tsv")
        with open(table, "w") as out:
            out.write("text\n" + "\n".join(texts) + "\n")
        for _ in range(times):
            start = time.perf_counter()
            lt.Kernel(expression, n_jobs=1).gram(texts)
            best["python"] = min(best["python"], time.perf_counter() - start)
            done = subprocess.run([program, "gram", table, "--kernel", expression, "--threads", "1",
                                   "-v", "-o", os.path.join(folder, "K.npy")],
                                  capture_output=True, text=True, check=True, env=env)
            seconds = float(re.search(r"threads?, ([\d.e+-]+) s", done.stderr)[1])
            best["c"] = min(best["c"], seconds)
    print(f"{rows} x {rows} Gram: Python {best['python']:.3f} s in all, C {best['c']:.3f} s for the "
          f"matrix alone: {100 * (best['python'] / best['c'] - 1):+.1f}%")


if __name__ == "__main__":
    small_calls()
    large_gram(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "luthier"))
