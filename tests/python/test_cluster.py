"""Scripts that several processes run together: ranks of the reference cluster, and of MPI."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest
from conftest import ROOT

import luthier as lt

BUILD = pathlib.Path(os.environ.get("LUTHIER_CLI", ROOT / "build" / "test" / "luthier")).parent
RANKS = BUILD / "cluster" / "ranks"

QUICK = "import sys; sys.modules['sklearn'] = None\n"  # which takes a second for each process

# Every rank says what it found. The collector works on some ranks only.
WORK = """
import gc, hashlib, sys
if "mpi4py" in sys.argv:
    from mpi4py import MPI
import luthier as lt, numpy as np

rank, ranks = lt.rank()
gc.disable() if rank == 0 else gc.set_threshold(50, 2, 2)
rng = np.random.default_rng(1)
texts = [" ".join(rng.choice(list("abcdef"), 5)) for _ in range(24)]
counts = np.array([text.count("a") for text in texts])
shared = {"cluster": "mpi", "n_jobs": 1}
found = []
for order in (1, 2):
    model = lt.GPRegressor(f"ssk(text, order={order})", max_iter=3, restarts=0, **shared)
    model.fit(texts, counts).me = model  # garbage for the collector, once the next one is there
    found += [model.log_evidence_, *model.predict(["a b c"], return_std=True)]
    found += model.predict(["a b c", "a b"], return_cov=True)
model.save("model")
found += [lt.load("model", cluster="mpi").predict(texts)]
model = lt.GPClassifier("ssk(text, order=2)", max_iter=2, restarts=0, **shared)
found += [model.fit(texts, counts > 0).predict_proba(texts[:3])]
found += [lt.SVC("ssk(text, order=2)", **shared).fit(texts, counts > 0).decision_function(texts)]
found += [lt.Kernel("ssk(text, order=2)", **shared).gram(texts)]
if "large" in sys.argv:  # a matrix that is dealt out to the ranks
    X = rng.normal(size=(2050, 2))
    model = lt.GPRegressor("linear(f1..f2)", learn=False, posterior="exact", **shared)
    found += [*model.fit(X, X.sum(axis=1)).predict(X[:3], return_std=True), model.log_evidence_]
    found += model.predict(X[:3], return_cov=True)
bits = np.concatenate([np.ravel(part) for part in found]).tobytes()
sys.stdout.write(f"{rank} of {ranks}: {hashlib.sha256(bits).hexdigest()}\\n")
"""

FAILURE = """
import luthier as lt

rank, ranks = lt.rank()
kernel = lt.Kernel("ssk(text)", cluster="mpi", n_jobs=1)
kernel.gram(["a b", "b c"])
if rank == ranks - 1:
    FAIL
for _ in range(2):
    lt.GPRegressor("ssk(text)", cluster="mpi", n_jobs=1).fit(["a b", "b c", "c d"], [1, 2, 3])
"""


@pytest.fixture
def run(tmp_path):
    """Run a script under a launcher: exit code, lines of output, and of errors."""
    def run(script, *launcher, arguments=(), **settings):
        (tmp_path / "script.py").write_text(QUICK + script)
        path = os.pathsep.join(p for p in sys.path if p)
        done = subprocess.run([*map(str, launcher), sys.executable, "script.py", *arguments],
                              cwd=tmp_path, capture_output=True, text=True, timeout=100,
                              env={**os.environ, "LUTHIER_LIBRARY": lt._library.lib._name,
                                   "PYTHONPATH": path, **settings})
        return done.returncode, sorted(done.stdout.splitlines()), done.stderr

    return run


@pytest.fixture
def reference():
    if not RANKS.exists():
        pytest.skip("the reference cluster is not built")
    return lambda ranks: (RANKS, "-n", ranks)


@pytest.fixture(scope="session")
def openmpi(tmp_path_factory):
    if not shutil.which("mpicc.openmpi") or not shutil.which("mpirun.openmpi"):
        pytest.skip("there is no Open MPI")
    folder = tmp_path_factory.mktemp("openmpi")
    subprocess.run(["make", "-s", "-C", ROOT / "src" / "cluster" / "mpi", "MPICC=mpicc.openmpi",
                    "SCALAPACK=", f"OUT={folder}"], check=True, capture_output=True)
    return str(folder / "libluthier_mpi.so")


def numbers(result, ranks):
    """What all ranks found, which is the same."""
    code, lines, errors = result
    assert code == 0, errors
    assert [line.split(":")[0] for line in lines] == [f"{r} of {ranks}" for r in range(ranks)]
    found = {line.split(": ")[1] for line in lines}
    assert len(found) == 1
    return found.pop()


def test_any_number_of_ranks_finds_the_same(run, reference):
    found = [numbers(run(WORK, *reference(ranks), arguments=["large"]), ranks)
             for ranks in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("arguments", [[], ["mpi4py"]], ids=["alone", "after mpi4py"])
def test_mpi(run, openmpi, arguments):
    if arguments:
        pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    ranks = ROOT / "tools" / "mpi_ranks", "openmpi", 2
    found = numbers(run(WORK, *ranks, arguments=arguments, LTH_MPI_PLUGIN=openmpi), 2)
    assert found == numbers(run(WORK.replace('"mpi"', '"none"')), 1)


def fails(run, how, *launcher, **settings):
    """Standard error of a run that one rank ends."""
    start = time.monotonic()
    code, lines, errors = run(FAILURE.replace("FAIL", how), *launcher, **settings)
    assert code != 0 and not lines and time.monotonic() - start < 60
    return errors


@pytest.mark.parametrize("how", ["raise OSError('no luck')", "lt.Kernel('no luck').gram(['a'])"])
def test_an_exception_ends_all_ranks(run, reference, how):
    errors = fails(run, how, *reference(3))
    assert errors.count("Traceback") == 1 and "no luck" in errors


def test_an_exception_ends_all_ranks_of_mpi(run, openmpi):
    errors = fails(run, "raise OSError('no luck')", ROOT / "tools" / "mpi_ranks", "openmpi", 2,
                   LTH_MPI_PLUGIN=openmpi)
    assert errors.count("Traceback") == 1 and "OSError: no luck" in errors


def test_who_waits_for_a_rank_that_has_left_is_told(run, reference):
    errors = fails(run, "raise SystemExit", *reference(2))
    assert errors.count("Traceback") == 1 and "another rank has left" in errors


def test_a_failure_of_all_is_shown_once(run, reference):
    code, _, errors = run("import luthier as lt\n"
                          "lt.Kernel('no luck', cluster='mpi').gram(['a'])", *reference(2))
    assert code == 1 and errors.count("Traceback") == 1 and "no luck" in errors


def test_a_child_is_no_rank(run, reference):
    script = """
import luthier as lt, os
kernel = lt.Kernel("ssk(text)", cluster="mpi", n_jobs=1)
kernel.gram(["a"])
if os.fork() == 0:
    for k in kernel, lt.Kernel("ssk(text)", cluster="mpi"):
        try:
            k.gram(["b"])
        except lt.Error as error:
            sys.stdout.write(f"{error}\\n")
    raise SystemExit(0)
os.wait()
"""
    code, lines, errors = run(script, *reference(2))
    assert (code, errors) == (0, "")
    assert lines == ["a child process takes no part in the cluster of its parent"] * 4


def test_alone():
    assert lt.rank() == (0, 1)
    assert lt.Kernel("ssk(text)", cluster="auto").gram(["a"]) == 1
    with pytest.raises(lt.Error, match='cluster wants one of none, mpi, scalapack, auto, not 3'):
        lt.Kernel("ssk(text)", cluster=3).gram(["a"])
