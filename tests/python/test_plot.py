"""Pictures: that they are drawn, with the right data in them."""

import numpy as np
import pytest

import luthier as lt

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

from luthier import plot  # noqa: E402


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def gp(texts, scores):
    return lt.GPRegressor("ssk(text, order=3)").fit(texts, scores)


def drawn(ax, tmp_path):
    path = tmp_path / "plot.png"
    ax.figure.savefig(path)
    return path.stat().st_size > 5000


def test_orders(gp, tmp_path):
    ax = plot.orders(gp)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], gp.order_shares_)
    assert drawn(ax, tmp_path)
    weights = plot.orders(gp, shares=False)
    np.testing.assert_allclose([b.get_height() for b in weights.patches], gp.order_weights_)


def test_symbols(trees, tmp_path):
    model = lt.GPRegressor("sstk(tree, symbols=all)", restarts=0).fit(trees, np.arange(len(trees)))
    ax = plot.symbols(model, most=3)
    widths = [bar.get_width() for bar in ax.patches]
    assert len(widths) == 3 and widths == sorted(widths)
    assert drawn(ax, tmp_path)


def test_predictions_and_calibration(gp, texts, scores, tmp_path):
    mean, sd = gp.predict(texts, return_std=True)
    assert drawn(plot.predictions(scores, mean, sd), tmp_path)
    ax = plot.calibration(scores, mean, sd)
    found = ax.lines[1].get_ydata()
    assert found[0] == 0 and found[-1] == 1 and (np.diff(found) >= 0).all()
    assert drawn(ax, tmp_path)


def test_calibration_by_cdf_is_the_same(gp, texts, scores, tmp_path):
    by_sd = plot.calibration(scores, *gp.predict(texts, return_std=True)).lines[1].get_xdata()
    by_cdf = plot.calibration(cdf=gp.cdf(texts, scores)).lines[1].get_xdata()
    np.testing.assert_allclose(by_sd, by_cdf, atol=1e-9)
    ax = plot.pit(gp.cdf(texts, scores), bins=5)
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(5)  # a density, mean 1
    assert drawn(ax, tmp_path)
    with pytest.raises(lt.Error):
        plot.pit([0.5, 2])


def test_evidence(gp, tmp_path):
    ax = plot.evidence(gp)
    assert len(ax.lines) == len(np.unique(gp.trace_["start"]))
    assert drawn(ax, tmp_path)


def test_given_axes_are_used(gp, texts, scores):
    figure, axes = pyplot.subplots(2, 2)
    mean, sd = gp.predict(texts, return_std=True)
    for ax, result in zip(axes.flat, (plot.orders(gp, axes[0, 0]),
                                      plot.predictions(scores, mean, ax=axes[0, 1]),
                                      plot.calibration(scores, mean, sd, ax=axes[1, 0]),
                                      plot.evidence(gp, ax=axes[1, 1]))):
        assert result is ax


def test_what_cannot_be_drawn(gp, texts, scores, tmp_path):
    svm = lt.GPRegressor("rbf(f*)", restarts=0).fit(np.eye(5), np.arange(5.0))
    gp.save(tmp_path / "m")
    for call in (lambda: plot.orders(svm), lambda: plot.symbols(gp),
                 lambda: plot.evidence(lt.load(tmp_path / "m")),
                 lambda: plot.predictions([1, 2], [1]), lambda: plot.calibration([1], [1], [])):
        with pytest.raises(lt.Error):
            call()
