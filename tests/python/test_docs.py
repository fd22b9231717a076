"""The documentation: examples run, code in the text runs, the reference is up to date."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))


def test_there_are_eight_examples():
    assert len(EXAMPLES) == 8


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, tmp_path):
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore")
def test_code_in_the_introduction(tmp_path, monkeypatch):
    for package in ("sklearn", "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 13
    names = {}
    for block in blocks:
        exec(compile(block, "python.md", "exec"), names)
    assert names["mean"][0] > 6 and names["dK"].shape == (5, 24, 5)
    from matplotlib import pyplot
    pyplot.close("all")


def test_reference_is_up_to_date():
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "python_reference"), "--check"],
                          capture_output=True, text=True, env={
                              **os.environ, "LUTHIER_LIBRARY": library()})
    assert done.returncode == 0, done.stderr


def library():
    import luthier
    return luthier._library.lib._name


def test_files_are_short():
    for folder in ("python/luthier", "tests/python", "python/examples"):
        for path in pathlib.Path(ROOT / folder).glob("*.py"):
            assert len(path.read_text().splitlines()) <= 600, path
