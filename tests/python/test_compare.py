"""lt.compare(): the paired bootstrap over models of the package."""

import numpy as np
import pytest

import luthier as lt

TEXTS = ["a b c", "a b", "b c", "c d", "d a", "a d c"] * 6
Y = np.array([len(t) for t in TEXTS]) + 0.3 * np.sin(np.arange(len(TEXTS)) * 1.7)
KINDS = np.array(["long" if v > 4 else "short" for v in Y])


@pytest.fixture(scope="module")
def models():
    return (lt.GPRegressor("ssk(text, order=2)", restarts=0).fit(TEXTS, Y),
            lt.GPRegressor("bow(text)", restarts=0).fit(TEXTS, Y),
            lt.SVR("bow(text)").fit(TEXTS, Y))


def figure(found, name, model):
    return next(f for f in found if f["figure"] == name and f["model"] == model)


def test_numbers(models):
    found = lt.compare(*models, TEXTS, Y, resamples=500)
    for i, m in enumerate(models):
        error = np.abs(m.predict(TEXTS) - Y)
        assert figure(found, "mae", i)["value"] == pytest.approx(error.mean())
    mean, sd = models[0].predict(TEXTS, return_std=True)
    assert figure(found, "nlpd", 0)["value"] == pytest.approx(lt.metrics(Y, mean, sd)["nlpd"])
    # NumPy's own bootstrap has the same interval but for chance.
    d = np.abs(models[0].predict(TEXTS) - Y) - np.abs(models[1].predict(TEXTS) - Y)
    drawn = d[np.random.default_rng(0).integers(len(d), size=(5000, len(d)))].mean(axis=1)
    mae = figure(found, "mae", 1)
    assert mae["difference"] == pytest.approx(d.mean())
    width = mae["upper"] - mae["lower"]
    assert np.allclose(np.quantile(drawn, [0.025, 0.975]), [mae["lower"], mae["upper"]],
                       atol=0.15 * width)
    assert abs(np.mean(drawn < 0) - mae["first_better"]) < 0.1
    assert np.isnan(figure(found, "nlpd", 2)["value"])


def test_same(models):
    a, _, _ = models
    once = lt.compare(*models[:2], TEXTS, Y, resamples=50, random_state=3)
    assert repr(once) == repr(lt.compare(*models[:2], TEXTS, Y, resamples=50, random_state=3))
    assert repr(once) != repr(lt.compare(*models[:2], TEXTS, Y, resamples=50, random_state=4))
    for f in lt.compare(a, a, TEXTS, Y, resamples=50):
        assert np.isnan(f["p"]) or (f["lower"], f["upper"], f["p"]) == (0, 0, 1)


def test_labels():
    gp = lt.GPClassifier("ssk(text, order=2)", restarts=0).fit(TEXTS, KINDS)
    plain = lt.GPClassifier("ssk(text, order=2)", restarts=0, calibrate=False).fit(TEXTS, KINDS)
    svm = lt.SVC("ssk(text, order=2)").fit(TEXTS, KINDS)
    assert gp.sharpness_ > 1 and gp.left_out_log_loss_ > 0
    assert plain.sharpness_ == 0 and plain.left_out_log_loss_ is None
    p, q = gp.predict_proba(TEXTS), plain.predict_proba(TEXTS)
    power = q ** gp.sharpness_
    assert np.allclose(p, power / power.sum(axis=1, keepdims=True))
    found = lt.compare(gp, plain, svm, TEXTS, KINDS, resamples=100)
    want = lt.label_metrics(KINDS, proba=q, classes=gp.classes_)
    assert figure(found, "log_loss", 1)["value"] == pytest.approx(want["log_loss"])
    assert figure(found, "accuracy", 1)["difference"] == 0
    assert np.isnan(figure(found, "log_loss", 2)["value"])


def test_refused(models):
    a, b, _ = models
    gp = lt.GPClassifier("bow(text)", restarts=0).fit(TEXTS, KINDS)
    for bad in ((a, gp, TEXTS, Y), (a, b, TEXTS), (a, b, TEXTS, Y[:3]), (a, b, TEXTS[:1], Y[:1]),
                (3, a, TEXTS, Y), (gp, gp, TEXTS, ["other"] * len(Y))):
        with pytest.raises(lt.Error):
            lt.compare(*bad)
    with pytest.raises(lt.Error):
        lt.compare(a, b, TEXTS, Y, resamples=0)
    with pytest.raises(lt.NotFittedError):
        lt.compare(a, lt.GPRegressor("bow(text)"), TEXTS, Y)
