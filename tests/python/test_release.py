"""What is said about a release by looking into it: the list of what is inside, and how it was hardened."""
import base64
import hashlib
import json
import pathlib
import shutil
import subprocess
import zipfile

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
pytestmark = pytest.mark.skipif(not (shutil.which("readelf") and shutil.which("cc")), reason="needs readelf and cc")

LICENCES = ("zlib.txt", "jansson.txt", "utf8proc.txt", "zig.txt", "openblas.txt", "lbfgsb.txt", "lgpl-2.1.txt")
INSIDE = ["deflate 1.2.13 Copyright", "maximum parsing depth reached", "Unassigned Unicode code point found."]
HARDENED = ["-O2", "-fPIC", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now"]


def compiled(path, texts=(), *flags):
    """A library with these texts in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text("".join(f'const char text{i}[] = "{t}";\n' for i, t in enumerate(texts)) + "int one(void) { return 1; }\n")
    subprocess.run(["cc", "-shared", "-nostdlib", *flags, source, "-o", path], check=True)
    source.unlink()


@pytest.fixture
def tree(tmp_path):
    """What a wheel has inside, in small."""
    root = tmp_path / "tree"
    compiled(root / "luthier/libluthier.so", INSIDE)
    compiled(root / "luthier/libscipy_openblas.so", ["OpenBLAS 0.3.31 and so on"])
    compiled(root / "luthier/liblbfgsb.so.0")
    compiled(root / "luthier/libquadmath-96973f99.so.0.0.0")
    (root / "luthier/LICENSES").mkdir()
    for name in LICENCES:
        (root / "luthier/LICENSES" / name).write_text(name)
    (root / "luthier-0.1.0.dist-info").mkdir()
    (root / "luthier-0.1.0.dist-info/RECORD").write_text("luthier-0.1.0.dist-info/RECORD,,\n")
    return root


def packed(root):
    wheel = root.parent / "luthier-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as out:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                out.writestr(zipfile.ZipInfo(str(path.relative_to(root)), (2026, 1, 2, 3, 4, 6)), path.read_bytes())
    return wheel


def sbom(*arguments):
    return subprocess.run([TOOLS / "sbom", *arguments], capture_output=True, text=True)


def test_wheel(tree):
    made = sbom(packed(tree))
    assert made.stderr == ""
    found = {c["name"]: c["version"] for c in json.loads(made.stdout)["components"]}
    assert found == {"zlib": "1.2.13", "jansson": "2.14", "utf8proc": "2.8.0", "openblas": "0.3.31", "lbfgsb": "3.0",
                     "libquadmath": found["libquadmath"], "libgcc": "unknown", "zig compiler-rt": "unknown"}


def test_put_into_a_wheel(tree):
    wheel = packed(tree)
    text = sbom(wheel).stdout.encode()
    for _ in range(2):  # what is there is replaced
        assert sbom("--into", wheel).returncode == 0
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            assert names[-2:] == ["luthier-0.1.0.dist-info/sboms/luthier.cdx.json", "luthier-0.1.0.dist-info/RECORD"]
            assert len(names) == len(set(names))
            assert archive.read(names[-2]) == text
            digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
            assert archive.read(names[-1]).decode() == (
                f"luthier-0.1.0.dist-info/sboms/luthier.cdx.json,sha256={digest},{len(text)}\nluthier-0.1.0.dist-info/RECORD,,\n")
        bytes_now = wheel.read_bytes()
    assert sbom("--into", wheel).returncode == 0
    assert wheel.read_bytes() == bytes_now


@pytest.mark.parametrize("name", ["jansson.txt", "lgpl-2.1.txt"])
def test_a_licence_is_missing(tree, name):
    (tree / "luthier/LICENSES" / name).unlink()
    made = sbom(packed(tree))
    assert made.returncode == 1 and name in made.stderr


def test_unknown_and_missing_libraries(tree):
    compiled(tree / "luthier/libsurprise.so.3")
    assert "libsurprise.so.3 is in the wheel: what is it?" in sbom(packed(tree)).stderr
    (tree / "luthier/libsurprise.so.3").rename(tree.parent / "libsurprise.so")
    compiled(tree / "luthier/libluthier.so", INSIDE, "-Wl,--no-as-needed", tree.parent / "libsurprise.so")
    assert "libluthier.so needs" in sbom(packed(tree)).stderr
    compiled(tree / "luthier/libluthier.so", INSIDE[1:])
    assert "has no zlib" in sbom(packed(tree)).stderr


def hardening(folder, *flags):
    source = folder / "program.c"
    source.write_text("#include <stdio.h>\n#include <string.h>\n" + "".join(
        f'__attribute__((noinline)) int f{i}(const char *t) {{ char b[64]; strcpy(b, t); return puts(b) + {i}; }}\n' for i in range(20))
        + "int main(int n, char **t) { return " + " + ".join(f"f{i}(t[n - 1])" for i in range(20)) + "; }\n")
    subprocess.run(["cc", source, "-o", folder / "program", *flags], check=True)
    return subprocess.run([TOOLS / "check_hardening", folder / "program"], capture_output=True, text=True)


def test_hardening(tmp_path):
    landing = ["-fcf-protection=full"] if subprocess.run(
        ["cc", "-fcf-protection=full", "-E", "-x", "c", "/dev/null"], capture_output=True).returncode == 0 else ["-mbranch-protection=standard"]
    good = HARDENED + ["-fPIE", "-pie", *landing]
    done = hardening(tmp_path, *good)
    assert done.returncode == 0, done.stdout
    for flags, why in [(["-no-pie", "-fno-pie"], "same addresses"), (["-Wl,-z,norelro"], "tables can be written"),
                       (["-Wl,-z,lazy"], "first called"), (["-Wl,-z,execstack"], "stack can be run"),
                       (["-fno-stack-protector"], "no guards"), (["-U_FORTIFY_SOURCE"], "do not know sizes"),
                       ([landing[0].split("=")[0] + "=none"], "jumped into")]:
        done = hardening(tmp_path, *good, *flags)
        assert done.returncode == 1 and why in done.stdout, (flags, done.stdout)
