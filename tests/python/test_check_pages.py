"""tools/check_pages, which runs what stands in the documentation: what it must notice."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

GOOD = """
```console
$ cat <<END
two lines
END
two lines
$ echo took 0.31 s, 1.0000001 x; false  # exit 1
took ... s, 1 x
```
<!-- run:
echo not shown -->
```output
not shown
```
<!-- file: numbers.txt -->
```
1 2
```
```python
>>> numbers = [int(n) for n in
...            open("numbers.txt").read().split()]
>>> numbers
[1, 2]
```
```python
print(sum(numbers))
```
```output
3
```
<!-- not run: it would fail -->
```sh
false
```
"""


def check(tmp_path, page, *options):
    path = tmp_path / "page.md"
    path.write_text(page)
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "check_pages"), *options, str(path)],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, path.read_text()


def test_a_good_page(tmp_path):
    code, out, page = check(tmp_path, GOOD, "--write")
    assert code == 0 and "it would fail" in out and page == GOOD, out


@pytest.mark.parametrize("right, wrong", [
    ("\nEND\ntwo lines", "\nEND\nthree lines"),
    ("# exit 1", "# exit 2"),
    ("s, 1 x", "s, 1.01 x"),
    ("```output\nnot shown", "```output\nshown"),
    ("[1, 2]", "[1, 3]"),
    ("```output\n3", "```output\n4"),
    ("<!-- not run: it would fail -->\n", ""),
    ("print(sum", "print(no_such"),
])
def test_what_is_wrong_is_told(tmp_path, right, wrong):
    assert GOOD.count(right) == 1
    code, out, _ = check(tmp_path, GOOD.replace(right, wrong))
    assert code == 1 and out.count("FAILED") == 1, out


def test_output_is_written(tmp_path):
    code, out, page = check(tmp_path, GOOD.replace("[1, 2]", "[1, 3]").replace("\n3\n", "\n4\n"), "--write")
    assert code == 0 and page == GOOD, out


def test_notebooks(tmp_path):
    """Each page's sessions and code, in cells that a shell and Python take; failures that are meant do not end them."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "make_site"), "--notebooks", str(tmp_path)], check=True)
    books = sorted(tmp_path.glob("*.ipynb"))
    assert [book.stem for book in books] == ["proteins", "smiles", "trees"]
    for book in books:
        cells = ["".join(c["source"]) for c in json.loads(book.read_text())["cells"] if c["cell_type"] == "code"]
        shell = [cell for cell in cells if cell.startswith("%%bash\n")]
        assert shell and len(shell) < len(cells)
        for cell in cells:
            if cell in shell:
                assert "# exit" not in cell and "\n$ " not in cell
                subprocess.run(["bash", "-n"], input=cell.split("\n", 1)[1], text=True, check=True)
            else:
                compile(cell, book.name, "exec")
    assert "sstk(tree)' -o bad || true" in books[2].read_text()
