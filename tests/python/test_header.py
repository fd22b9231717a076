"""The declarations in _c.py against luthier.h, so that neither changes without the other."""

import ctypes
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

from luthier import _c, _c_functions
from luthier._library import lib

SCALARS = {"lth_status": {ctypes.c_int}, "size_t": {ctypes.c_size_t}, "bool": {ctypes.c_bool},
           "double": {ctypes.c_double}, "uint64_t": {ctypes.c_uint64},
           "unsigned": {ctypes.c_uint}, "void": {None}, "int": {ctypes.c_int}}


def header():
    text = (ROOT / "include" / "luthier.h").read_text()
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def enums(text):
    return set(re.findall(r"typedef enum (\w+)", text)) - {"lth_status"}


def declared(text):
    """{name: (type of the result, types of the arguments)} as written."""
    out = {}
    for result, name, arguments in re.findall(r"LTH_API ([^;()]+?)(lth_\w+)\(([^;]*)\);", text):
        arguments = " ".join(arguments.split())
        split = [] if arguments == "void" else arguments.split(",")
        out[name] = result.strip(), [argument.strip() for argument in split]
    return out


def allowed(written, text):
    """The ctypes that may stand for a C type, from "const double *C" or "lth_ctx **out"."""
    written = re.sub(r"\bconst\b", "", written)
    array = "[" in written
    written = re.sub(r"\[.*\]", "", written)
    stars = written.count("*") + array
    base = written.replace("*", " ").split()[0]
    if stars == 0:
        if base in enums(text):
            return {_c.Enum}
        if base in _c.STRUCTURES:
            return {_c.STRUCTURES[base]}
        return SCALARS[base]
    if base in _c.CALLBACKS:
        return {_c.CALLBACKS[base]}
    if base in _c.STRUCTURES:
        one = ctypes.POINTER(_c.STRUCTURES[base])
        return {one, ctypes.POINTER(one)} if stars == 2 else {one}
    if stars == 2:
        return {ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p}
    if base == "char":
        return {ctypes.c_char_p, ctypes.c_void_p}
    if base in ("double", "size_t", "bool", "float", "unsigned"):
        return {ctypes.c_void_p, ctypes.POINTER(*SCALARS.get(base, {ctypes.c_float}))}
    return {ctypes.c_void_p}


def test_every_function_is_declared_and_no_other():
    assert set(declared(header())) == set(_c_functions.FUNCTIONS)


def test_every_function_is_in_the_library():
    for name in _c_functions.FUNCTIONS:
        assert getattr(lib, name)


@pytest.mark.parametrize("name", sorted(_c_functions.FUNCTIONS))
def test_types_of(name):
    text = header()
    result, arguments = declared(text)[name]
    ours_result, ours = _c_functions.FUNCTIONS[name]
    assert ours_result in allowed(result, text), result
    assert len(ours) == len(arguments)
    for mine, written in zip(ours, arguments):
        assert mine in allowed(written, text), written


def test_callbacks():
    found = set(re.findall(r"typedef [\w *]+?(lth_\w+_fn)\(", header()))
    assert found == set(_c.CALLBACKS)
    for name in found:
        arguments = re.search(rf"\b{name}\((.*?)\);", header(), re.S)[1]
        assert len(_c.CALLBACKS[name]._argtypes_) == arguments.count(",") + 1


def test_statuses():
    assert dict((name, int(value)) for name, value in
                re.findall(r"X\((\w+), (-?\d+), \"", header())) == _c.STATUS


def c_fields(text, name):
    body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", text, re.S)[1]
    return [re.sub(r"\[.*?\]", "", part).split()[-1].lstrip("*")
            for line in body.split(";") for part in line.split(",") if part.strip()]


@pytest.mark.parametrize("name", sorted(_c.STRUCTURES))
def test_fields_of(name):
    assert [field for field, *_ in _c.STRUCTURES[name]._fields_] == c_fields(header(), name)


def test_no_structure_is_missing():
    assert set(re.findall(r"typedef struct (\w+) {", header())) == set(_c.STRUCTURES)


def test_sizes_and_offsets(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    lines, expected = [], []
    for name, structure in sorted(_c.STRUCTURES.items()):
        lines.append(f'printf("%zu\\n", sizeof(struct {name}));')
        expected.append(ctypes.sizeof(structure))
        for field, *_ in structure._fields_:
            lines.append(f'printf("%zu\\n", offsetof(struct {name}, {field}));')
            expected.append(getattr(structure, field).offset)
    for enum in sorted(enums(header())):
        lines.append(f'printf("%zu\\n", sizeof(enum {enum}));')
        expected.append(ctypes.sizeof(_c.Enum))
    source = tmp_path / "layout.c"
    source.write_text("#include <stdio.h>\n#include <luthier.h>\nint main(void) {\n"
                      + "\n".join(lines) + "\nreturn 0;\n}\n")
    subprocess.run([compiler, f"-I{ROOT / 'include'}", source, "-o", tmp_path / "layout"],
                   check=True)
    found = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True)
    assert list(map(int, found.stdout.split())) == expected
