"""The command that the package brings along. From the source tree there is none."""

import pathlib
import subprocess
import sysconfig

import pytest

import luthier as lt

COMMAND = pathlib.Path(sysconfig.get_path("scripts")) / "luthier"


@pytest.mark.skipif(not COMMAND.exists(), reason="the package is not installed")
def test_starts_the_program_of_the_package(tmp_path):
    def run(*words):
        return subprocess.run([COMMAND, *words], capture_output=True, text=True, cwd=tmp_path)

    assert run("--version").stdout.split() == ["luthier", lt.__version__]
    assert run("nonsense").returncode == 2
    (tmp_path / "t.tsv").write_text("text\nthe dog\n")
    lost = run("gram", "t.tsv", "--kernel", "ssk(lost)", "-o", "K.npy")
    assert lost.returncode == 3 and "lost" in lost.stderr
