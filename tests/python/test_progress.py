"""What `verbose=1` shows: a line on stderr, or a bar of tqdm."""

import sys
import types

import pytest

import luthier as lt
from luthier import model

KERNEL = "ssk(text, order=2)"


def test_a_line_on_stderr(texts, scores, moods, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    lt.GPRegressor(KERNEL, verbose=1).fit(texts, scores)
    shown = capfd.readouterr()
    assert shown.out == "" and "start 1 of 5, iteration" in shown.err
    assert shown.err.count("\n") == 1 and shown.err.endswith("\n")
    lt.GPRegressor(KERNEL).fit(texts, scores)
    assert capfd.readouterr() == ("", "")


class Bar:
    """What is used of tqdm."""

    made = []

    def __init__(self, **options):
        self.options, self.n, self.texts, self.open = options, 0, [], True
        Bar.made.append(self)

    def set_description_str(self, text, refresh=True):
        self.texts.append(text)

    def update(self, n=1):
        assert n >= 0
        self.n += n

    def close(self):
        self.open = False


@pytest.fixture
def bars(monkeypatch):
    fake = types.ModuleType("tqdm.auto")
    fake.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", fake)
    monkeypatch.setattr(Bar, "made", [])
    return Bar.made


def test_bars_of_tqdm(bars, texts, scores, capfd):
    fitted = lt.GPRegressor(KERNEL, verbose=1).fit(texts, scores)
    assert len(bars) == 1 and bars[0].n == len(fitted.trace_) and not bars[0].open
    assert "start 1 of 5, iteration" in bars[0].texts[0]
    lt.GPRegressor(KERNEL).fit(texts, scores)
    with pytest.raises(lt.Error):  # nothing was done, nothing is shown
        lt.GPRegressor(KERNEL, verbose=1).fit(texts, scores[:-1])
    assert len(bars) == 1 and capfd.readouterr() == ("", "")


def test_bars_of_shares(bars, capfd, monkeypatch):
    """As support vector machines and cross-validation have them."""
    context = types.SimpleNamespace(is_first=True)
    line = model.status_line(context, 1)
    for share in (0.25, 0.5, 0.4, 1.0):  # threads may tell out of order
        context.on_progress("folds", share)
    line.end()
    bar, = bars
    assert (bar.n, bar.options["total"], bar.open, bar.texts[0]) == (100, 100, False, "folds")
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    line = model.status_line(context, 1)
    context.on_progress("folds", 0.25)
    line.end()
    assert capfd.readouterr().err == "\rfolds 25%\n"
    context.is_first = False  # of a cluster, another rank tells
    model.status_line(context, 1)
    context.on_progress("folds", 0.5)
    assert capfd.readouterr().err == ""


def test_tqdm_itself(texts, scores, capfd):
    pytest.importorskip("tqdm")
    lt.GPRegressor(KERNEL, verbose=1).fit(texts, scores)
    assert "steps" in capfd.readouterr().err
