"""Figures of predictions, against scikit-learn and SciPy where they are."""

import math

import numpy as np
import pytest

import luthier as lt

KINDS = ["plain", "tied", "grades", "constant"]


@pytest.fixture(params=KINDS)
def numbers(request):
    rng = np.random.default_rng(KINDS.index(request.param))
    y = rng.normal(size=300)
    mean = y + rng.normal(size=300)
    sd = rng.uniform(0.3, 2, 300)
    if request.param == "tied":
        y, mean = y.round(), mean.round(1)
    if request.param == "grades":
        y, mean = np.clip((2 * y).round(), -3, 4), 2 * mean
    if request.param == "constant":
        mean = np.zeros(300)
    return y, mean, sd


def test_order(numbers):
    stats = pytest.importorskip("scipy.stats")
    sklearn = pytest.importorskip("sklearn.metrics")
    y, mean, _ = numbers
    found = lt.metrics(y, mean)
    if mean.any():
        assert found["spearman"] == pytest.approx(stats.spearmanr(y, mean)[0], abs=1e-12)
        assert found["kendall"] == pytest.approx(stats.kendalltau(y, mean)[0], abs=1e-12)
    else:
        assert found["spearman"] == found["kendall"] == 0
    wanted = sklearn.ndcg_score([y - y.min()], [mean], k=30)
    assert found["ndcg"] == pytest.approx(wanted, abs=1e-12)
    if len(set(y)) == 300 and len(set(mean)) == 300:
        both = set(np.argsort(-y)[:30]) & set(np.argsort(-mean)[:30])
        assert found["recall"] == pytest.approx(len(both) / 30)


def test_grades(numbers):
    sklearn = pytest.importorskip("sklearn.metrics")
    y, mean, _ = numbers
    found = lt.metrics(y, mean)["qwk"]
    if (y != y.round()).any():
        assert math.isnan(found)
        return
    grades = np.arange(y.min(), y.max() + 1)
    assert set(grades) == set(y)
    rounded = np.clip(np.floor(mean + 0.5), y.min(), y.max())
    wanted = sklearn.cohen_kappa_score(y.astype(int), rounded.astype(int), weights="quadratic")
    assert found == pytest.approx(wanted, abs=1e-12)


def test_distributions(numbers):
    stats = pytest.importorskip("scipy.stats")
    y, mean, sd = numbers
    found = lt.metrics(y, mean, sd)
    normal = stats.norm(mean, sd)
    assert found["nlpd"] == pytest.approx(-normal.logpdf(y).mean(), abs=1e-12)
    levels = np.arange(1, 20) / 20
    inside = [np.mean((y >= normal.ppf((1 - a) / 2)) & (y <= normal.ppf((1 + a) / 2)))
              for a in levels]
    assert found["calibration"] == pytest.approx(np.abs(inside - levels).mean(), abs=1e-12)
    # E |X - y| - E |X - X'| / 2, with the same draws for all rows.
    draws = stats.norm.ppf((np.arange(20000) + 0.5) / 20000)
    far = np.abs(mean + np.outer(draws, sd) - y).mean(axis=0)
    expected = far - sd / math.sqrt(math.pi)
    assert found["crps"] == pytest.approx(expected.mean(), abs=1e-4)


def test_a_model_knows_its_figures(texts, scores):
    m = lt.GPRegressor("ssk(text, order=2)", learn=False).fit(texts, scores)
    found = m.leave_one_out_
    assert set(found) == set(lt.metrics([1], [2]))
    assert found["kendall"] > 0.5 and 0 < found["crps"] < 1 and math.isnan(found["qwk"])


def test_bad_numbers():
    with pytest.raises(lt.Error, match="mean wants one number for each row"):
        lt.metrics([1, 2], [1, 2, 3])
    with pytest.raises(lt.Error, match="y wants numbers"):
        lt.metrics(["a"], [1])
    with pytest.raises(lt.Error, match=r"sd wants one number .* \(2, 1\)"):
        lt.metrics([1, 2], [1, 2], [[1], [2]])


@pytest.mark.parametrize("classes", [2, 4])
def test_labels(classes):
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(classes)
    proba = rng.dirichlet(np.ones(classes), 200).round(2)
    proba[:, 0] = 1 - proba[:, 1:].sum(axis=1)
    y = np.array([rng.choice(classes, p=np.abs(p) / np.abs(p).sum()) for p in proba])
    found = lt.label_metrics(y, proba=proba)
    guess = proba.argmax(axis=1)
    np.testing.assert_equal(found, lt.label_metrics(y, guess, proba, classes=range(classes)))
    assert found["accuracy"] == pytest.approx((guess == y).mean())
    truth = np.eye(classes)[y]
    assert found["brier"] == pytest.approx(((proba - truth) ** 2).sum(axis=1).mean())
    wanted = sklearn.cohen_kappa_score(y, guess, weights="quadratic")
    assert found["qwk"] == pytest.approx(wanted, abs=1e-12)
    sure = proba.max(axis=1)
    bins = np.minimum((sure * 10).astype(int), 9)
    apart = sum(abs(sure[bins == b].sum() - (guess == y)[bins == b].sum()) for b in range(10))
    assert found["calibration"] == pytest.approx(apart / 200, abs=1e-12)
    if classes == 2:
        assert found["auc"] == pytest.approx(sklearn.roc_auc_score(y, proba[:, 1]), abs=1e-12)
        wanted = sklearn.average_precision_score(y, -proba[:, 0])
        assert found["auprc"] == pytest.approx(wanted, abs=1e-12)
        assert found["brier"] == pytest.approx(2 * sklearn.brier_score_loss(y, proba[:, 1]))
    else:
        assert math.isnan(found["auc"]) and math.isnan(found["auprc"])


def test_names_and_several_labels():
    y = np.array(["glad", "cross", "glad", "glad"])
    found = lt.label_metrics(y, ["glad", "glad", "glad", "cross"])
    assert found["accuracy"] == 0.5 and math.isnan(found["qwk"]) and math.isnan(found["brier"])
    several = lt.label_metrics([[1, 1], [0, 1]], proba=[[0.9, 0.4], [0.2, 0.6]])
    assert several["accuracy"] == 0.5 and math.isnan(several["qwk"])
    assert several["brier"] == pytest.approx((0.01 + 0.36 + 0.04 + 0.16) / 4)


def test_bad_labels():
    with pytest.raises(lt.Error, match="wants predicted labels, or probabilities"):
        lt.label_metrics([0, 1])
    with pytest.raises(lt.Error, match="not among the classes"):
        lt.label_metrics([0, 1], [0, 2], classes=[0, 1])
    with pytest.raises(lt.Error, match=r"proba wants the shape \(2, 2\)"):
        lt.label_metrics([0, 1], proba=[0.5, 0.5])
    with pytest.raises(lt.Error, match="predicted has 1 rows, y has 2"):
        lt.label_metrics([0, 1], [0])
