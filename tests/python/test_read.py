"""Tables from files."""

import pathlib

import pytest

import luthier as lt


@pytest.fixture
def files(tmp_path):
    (tmp_path / "bound.fa").write_text(">a\nACGT\n>b\nAC\nGA\n")
    (tmp_path / "unbound.fa").write_text(">c\nTTTT\n>d\nTTTG\n")
    (tmp_path / "t.tsv").write_text("text\ty\nä b\t1\nc\t2\n")
    (tmp_path / "long.tsv").write_text("text\nabcdefghi\n")
    return tmp_path


def test_one_table(files):
    assert lt.read_table(files / "t.tsv") == {"text": ["ä b", "c"], "y": ["1", "2"]}
    assert lt.read_table(str(files / "t.tsv"), columns=["y"]) == {"y": ["1", "2"]}
    assert lt.read_table(files / "t.tsv", where={"y": "2,3"}) == {"text": ["c"], "y": ["2"]}


def test_files_as_classes(files):
    table = lt.read_table([files / "bound.fa", files / "unbound.fa"], label_by="file",
                          columns=["sequence", "file"])
    assert table == {"sequence": ["ACGT", "ACGA", "TTTT", "TTTG"],
                     "file": ["bound", "bound", "unbound", "unbound"]}
    kernel = "ssk(sequence, units=chars, order=2)"
    model = lt.SVC(kernel).fit(table, table["file"])
    assert list(model.predict(table)) == table["file"]


def test_bad_files(files):
    with pytest.raises(lt.Error, match="cannot open"):
        lt.read_table(files / "none.tsv")
    with pytest.raises(lt.Error, match='no column "text"'):
        lt.read_table([files / "t.tsv", files / "bound.fa"])
    with pytest.raises(lt.Error, match='are both "bound"'):
        lt.read_table([files / "bound.fa", pathlib.Path("elsewhere/bound.fa")], label_by="file")
    with pytest.raises(lt.Error, match="label_by wants"):
        lt.read_table(files / "t.tsv", label_by="row")
    with pytest.raises(lt.Error, match="format wants"):
        lt.read_table(files / "t.tsv", format="xls")
    with pytest.raises(lt.Error, match="wants a file"):
        lt.read_table([])


def test_rows_have_a_limit(files):
    with pytest.raises(lt.Error, match="a line of more than 8 bytes"):
        lt.read_table(files / "long.tsv", max_row=8)
    assert lt.read_table(files / "long.tsv", max_row=9)["text"] == ["abcdefghi"]
