"""Types: every public function says them, and mypy, where it is installed, agrees."""

import inspect
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

import luthier as lt
from luthier import plot

USER = '''
from typing import List

import luthier as lt

model = lt.GPRegressor("ssk(text)", restarts=1).fit(["a", "b"], [1.0, 2.0])
mean, sd = model.predict(["a"], return_std=True)
names: List[str] = model.theta_names_
kernel: lt.Kernel = lt.Kernel("ssk(text)").with_values(**{"ssk.gap": 0.3})
lt.SVC(kernel, C=[1.0, 10.0]).fit(["a", "b"], ["x", "y"]).decision_function(["a"]).sum()
'''
WRONG = {'lt.GPRegressor(restarts="many")': "arg-type", "lt.Kernel(3)": "arg-type",
         "lt.GPRegressor().fit(['a'])": "call-arg", "lt.align('a', 'b', [], centre=True)": "call-arg"}


def _public():
    """(name, function) of what users call."""
    for name in lt.__all__:
        thing = getattr(lt, name)
        if inspect.isfunction(thing):
            yield name, thing
        for member, value in inspect.getmembers(thing) if inspect.isclass(thing) else ():
            value = value.fget if isinstance(value, property) else value
            if inspect.isfunction(value) and not member.startswith("_"):
                yield f"{name}.{member}", inspect.unwrap(value)
    yield from ((f"plot.{n}", f) for n, f in vars(plot).items()
                if inspect.isfunction(f) and not n.startswith("_"))


# Written by others, or of scikit-learn: it need not say them.
ELSEWHERE = ("luthier.explain", "luthier._compat", "luthier.compare", "luthier.torch")


def test_public_functions_say_their_types():
    seen = 0
    for name, function in _public():
        if not function.__module__.startswith("luthier") or function.__module__ in ELSEWHERE:
            continue
        signature = inspect.signature(function)
        bare = [p.name for p in signature.parameters.values()
                if p.annotation is p.empty and p.name not in ("self", "cls")]
        assert not bare and signature.return_annotation is not signature.empty, (name, bare)
        seen += 1
    assert seen > 60
    assert (pathlib.Path(lt.__file__).parent / "py.typed").exists()


def _mypy(*arguments):
    return subprocess.run([ROOT / "tools" / "check_types", sys.executable, *arguments],
                          capture_output=True, text=True, timeout=300)


def test_mypy(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed, so types are not checked")
    user = tmp_path / "user.py"
    user.write_text(USER + "".join(f"{line}\n" for line in WRONG))
    done = _mypy(str(user))
    at = USER.count("\n")
    expected = [f"user.py:{at + i}: error:" for i, _ in enumerate(WRONG, 1)]
    found = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(found) == len(expected), done.stdout
    for line, place, code in zip(found, expected, WRONG.values()):
        assert place in line and f"[{code}]" in line, done.stdout


def test_without_mypy(tmp_path):
    none = tmp_path / "python"
    none.write_text("#!/bin/sh\nexit 1\n")
    none.chmod(0o755)
    done = subprocess.run([ROOT / "tools" / "check_types", none], capture_output=True, text=True)
    assert done.returncode == 77 and "mypy is not installed" in done.stderr
