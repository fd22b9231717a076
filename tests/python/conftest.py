"""Data that the tests share. They use the installed package, or python/ by PYTHONPATH."""

import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

import luthier as lt

ROOT = pathlib.Path(__file__).resolve().parents[2]
THINGS = "film book song play show game".split()
JUDGED = {"good": 7.5, "bad": 2.0, "not good": 3.0, "not bad": 7.0}


def run_code_of(page):
    """Runs the Python of a page in order: how many blocks there are, and the names they make. What is
    typed at a prompt is left out."""
    blocks = [block for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
              if not block.startswith(">>>")]
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return len(blocks), names


def counted_from_one(text):
    """An explanation with rows as the command line counts them."""
    return re.sub(r"row \[(\d+)\]", lambda at: f"row {int(at[1]) + 1}", text)


def pytest_configure(config):
    os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session")
def texts():
    return [f"the {thing} was {word}" for thing in THINGS for word in JUDGED]


@pytest.fixture(scope="session")
def scores(texts):
    noise = np.random.default_rng(1).normal(0, 0.4, len(texts))
    return np.array(list(JUDGED.values()) * len(THINGS)) + noise


@pytest.fixture(scope="session")
def moods(scores):
    return np.where(scores > 5, "glad", "cross")


@pytest.fixture(scope="session")
def trees():
    nouns = [f"(NP (DT the) (NN {n}))" for n in ("dog", "cat", "man")]
    return ([f"(S {n} (VP (VBZ barks)))" for n in nouns]
            + [f"(S {a} (VP (VBZ sees) {b}))" for a in nouns for b in nouns])


@pytest.fixture
def cli(tmp_path):
    """Run the command line, on the very library that Python uses: the same bits come out."""
    program = os.environ.get("LUTHIER_CLI", str(ROOT / "build" / "luthier"))
    if not os.path.exists(program):
        pytest.skip("the command line is not built")

    def run(*arguments, expect=0):
        env = dict(os.environ, LD_PRELOAD=lt._library.lib._name)
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                              cwd=tmp_path, env=env, timeout=60)
        assert done.returncode == expect, done.stderr
        return done.stdout

    return run


@pytest.fixture
def write_tsv(tmp_path):
    def write(name, **columns):
        rows = zip(*columns.values())
        lines = ["\t".join(columns)] + ["\t".join(map(_cell, row)) for row in rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path / name

    return write


def _cell(value):
    return value if isinstance(value, str) else repr(float(value))


@pytest.fixture(scope="session")
def vectors_file(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    rng = np.random.default_rng(2)
    words = sorted({word for text in texts for word in text.split()} | {"poem"})
    path.write_text("".join(f"{w} {' '.join(f'{x:.4f}' for x in rng.normal(size=8))}\n"
                            for w in words))
    return path
