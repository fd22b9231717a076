"""The documentation: examples run, code in the text runs, the reference is up to date."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT, run_code_of

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


def test_code_in_the_readme(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    count, names = run_code_of("README.md")
    assert count == 1
    assert abs(names["mean"][0] - 7) < 0.5 < names["sd"][1] and names["dK"].ndim == 3
    assert "not bad" in capsys.readouterr().out and (tmp_path / "films.luthier").exists()


@pytest.mark.filterwarnings("ignore")
def test_code_in_the_introduction(tmp_path, monkeypatch):
    for package in ("sklearn", "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    count, names = run_code_of("docs/python.md")
    assert count == 18
    assert names["mean"][0] > 6 and names["dK"].shape == (5, 24, 5)
    from matplotlib import pyplot
    pyplot.close("all")


@pytest.mark.filterwarnings("ignore")
def test_code_with_pytorch(capsys):
    for package in ("torch", "gpytorch", "botorch"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    count, names = run_code_of("docs/torch.md")
    assert count == 5
    printed = capsys.readouterr().out
    assert "ssk.gap=0.5, ssk.weights[1]=1" in printed and "0.118\n0.189\n" in printed
    assert names["loss"] < 2 and len(names["model"].rows[names["found"]]) == 3


NO_PYTORCH = """
import sys
class Refuse:
    def find_spec(self, name, *_):
        assert name.split(".")[0] not in ("torch", "gpytorch", "botorch"), name
sys.meta_path.insert(0, Refuse())
import luthier
"""


def test_pytorch_is_not_imported():
    subprocess.run([sys.executable, "-c", NO_PYTORCH], check=True, timeout=60)


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
