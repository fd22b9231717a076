"""Targets other than numbers with normal noise, and rows of which more is known."""

import pickle

import numpy as np
import pytest
from conftest import counted_from_one

import luthier as lt

KERNEL = "rbf(x, lengthscale=1)"
RNG = np.random.default_rng(3)
X = {"x": np.linspace(0, 6, 120)}
F = np.sin(X["x"])


def fit(y, likelihood, **given):
    rows = {name: given.pop(name) for name in ("weights", "noise", "repeats", "exposure")
            if name in given}
    return lt.GPRegressor(KERNEL, likelihood=likelihood, restarts=0, n_jobs=1, **given).fit(
        X, y, **rows)


TARGETS = {
    "student": (F + 0.1 * RNG.standard_t(3, 120), {}),
    "warped": (np.exp(F + 0.1 * RNG.normal(size=120)), {"warp": "log"}),
    "censored": (np.maximum(F + 0.1 * RNG.normal(size=120), -0.5), {"lower": -0.5}),
    "ordinal": (np.digitize(2 * F + RNG.normal(size=120), [-1, 0, 1]) + 1.0, {}),
    "poisson": (RNG.poisson(np.exp(1 + F)).astype(float), {}),
    "negbinomial": (RNG.poisson(np.exp(1 + F) * RNG.gamma(2, 0.5, 120)).astype(float), {}),
    "beta": (np.clip(RNG.beta(10 / (1 + np.exp(-F)), 10 / (1 + np.exp(F))), 1e-6, 1 - 1e-6), {}),
}


@pytest.fixture(scope="module", params=TARGETS)
def fitted(request):
    y, given = TARGETS[request.param]
    return fit(y, request.param, **given), y


def test_quantiles_and_cdf_agree(fitted):
    model, y = fitted
    low, median, high = model.predict_quantiles(X)
    assert (low <= median).all() and (median <= high).all()
    assert 0.8 < np.mean((low <= y) & (y <= high)) <= 1
    lower, upper = model.predict_interval(X)
    np.testing.assert_array_equal([low, high], [lower, upper])
    cdf = model.cdf(X, y)
    assert ((cdf > 0) & (cdf < 1)).all() and 0.35 < cdf.mean() < 0.65
    if model.likelihood_ in ("student", "warped", "beta"):  # a cdf without steps
        np.testing.assert_allclose(model.cdf(X, low), 0.025, atol=1e-6)
    assert np.isfinite(model.log_density(X, y)).all()
    assert model.leave_one_out_["nlpd"] == pytest.approx(-model.log_density(X, y).mean(), abs=0.5)


def test_densities_add_up(fitted):
    model, y = fitted
    first = {"x": X["x"][:1]}
    grid = (model.grades_ if model.grades_ is not None else np.arange(200.0)
            if model.likelihood_ in ("poisson", "negbinomial") else None)
    if grid is None:
        return
    p = np.exp(model.log_density({"x": np.repeat(X["x"][:1], len(grid))}, grid))
    assert p.sum() == pytest.approx(1, abs=1e-4)
    if model.likelihood_ == "ordinal":
        np.testing.assert_allclose(model.predict_proba(first)[0], p, atol=1e-8)
    assert model.predict(first)[0] == pytest.approx((p * grid).sum(), rel=1e-3)


def test_copies(fitted, tmp_path):
    model, y = fitted
    expected = model.predict(X, return_std=True)
    model.save(tmp_path / "m")
    for copy in (pickle.loads(pickle.dumps(model)), lt.load(tmp_path / "m")):
        np.testing.assert_array_equal(copy.predict(X, return_std=True), expected)
        assert copy.likelihood_ == copy.likelihood == model.likelihood
        assert copy.warp_ == model.warp_
    assert model.get_params()["likelihood"] == model.likelihood


def test_show_is_that_of_the_command_line(fitted, tmp_path, cli):
    import io
    model, _ = fitted
    model.save(tmp_path / "m")
    out = io.StringIO()
    model.show(out)
    assert cli("show", tmp_path / "m") == out.getvalue()


def test_an_exposure():
    hours = RNG.uniform(1, 20, 120)
    y = RNG.poisson(hours * np.exp(F)).astype(float)
    model = fit(y, "poisson", exposure=hours)
    one = model.predict(X, exposure=np.ones(120))
    np.testing.assert_allclose(model.predict(X, exposure=hours), hours * one, rtol=1e-9)
    np.testing.assert_allclose(one, np.exp(F), rtol=0.4)
    named = lt.GPRegressor(KERNEL, likelihood="poisson", restarts=0, n_jobs=1).fit(
        {**X, "hours": hours}, y, exposure="hours")
    np.testing.assert_array_equal(named.predict({**X, "hours": hours}),
                                  model.predict(X, exposure=hours))
    with pytest.raises(lt.Error, match="give exposure="):
        model.predict(X)
    with pytest.raises(lt.Error, match="without an exposure"):
        fit(y, "poisson").predict(X, exposure=hours)


def test_known_noise():
    noise = np.where(np.arange(120) % 2, 4.0, 0.01)
    y = F + np.sqrt(noise) * RNG.normal(size=120)
    error = [np.mean((fit(y, "gaussian", **given).predict(X) - F) ** 2)
             for given in ({}, {"noise": noise})]
    assert error[1] < 0.3 * error[0]
    repeats = np.where(np.arange(120) % 2, 1, 400)
    assert np.mean((fit(y, "gaussian", repeats=repeats).predict(X) - F) ** 2) < 0.3 * error[0]
    with pytest.raises(lt.Error, match="only one of noise and repeats"):
        fit(y, "gaussian", noise=noise, repeats=repeats)


def test_weights_are_rows_that_count_more():
    y = F + 0.3 * RNG.normal(size=120)
    given = {"learn": False, "noise": 0.1, "zero_mean": True, "unscaled": True, "n_jobs": 1}
    twice = {"x": np.repeat(X["x"], 2)}
    expected = lt.GPRegressor(KERNEL, **given).fit(twice, np.repeat(y, 2)).predict(X)
    found = lt.GPRegressor(KERNEL, **given).fit(X, y, weights=np.full(120, 2.0)).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    labels = np.where(F > 0, "a", "b")
    assert lt.GPClassifier(KERNEL, restarts=0, n_jobs=1).fit(
        X, labels, weights=np.full(120, 2.0)).score(X, labels) > 0.95


def test_what_does_not_go():
    y = F.copy()
    for given, what in ((dict(likelihood="cauchy"), "likelihood wants one of"),
                        (dict(likelihood="censored"), "wants a bound"),
                        (dict(likelihood="gaussian", warp="log"), "warp goes with"),
                        (dict(likelihood="warped", warp="cube"), "no warp"),
                        (dict(likelihood="poisson"), "y|column"),
                        (dict(likelihood="gaussian", point="mode"), "point wants")):
        with pytest.raises(lt.Error, match=what):
            fit(y, **given)
    with pytest.raises(lt.Error, match="y has|y wants|inconsistent"):
        fit(np.exp(y), "warped").cdf(X, y[:5])
    assert not hasattr(lt.GPRegressor(), "predict_proba")
    with pytest.raises(lt.Error, match="columns of X have no names"):
        lt.GPRegressor("rbf(f1)").fit(np.c_[X["x"]], y, weights="w")
    ordinal = fit(*(TARGETS["ordinal"][0], "ordinal"))
    with pytest.raises(lt.Error, match="grade 9"):
        ordinal.log_density(X, np.full(120, 9.0))


def test_reasons_are_those_of_the_function(cli, tmp_path):
    hours = RNG.uniform(1, 20, 120)
    y = RNG.poisson(hours * np.exp(F)).astype(float)
    model = fit(y, "poisson", exposure=hours)
    (x,) = model.explain({"x": X["x"][5:6]}, exposure=hours[5:6])
    assert x.unit == "latent" and np.isnan(x.sd) and np.isnan(x.noise)
    assert x.predicted == pytest.approx(model.predict(X, exposure=hours)[5], rel=1e-9)
    assert x.mean == pytest.approx(model.predict(X, latent=True, exposure=hours)[5], rel=1e-6)
    assert x.baseline + sum(w for _, w in x.tokens) + x.missed == pytest.approx(x.mean)
    model.save(tmp_path / "m")
    np.savetxt(tmp_path / "t.tsv", np.c_[X["x"][5:6], hours[5:6]], "%.17g", "\t",
               header="x\texposure", comments="")
    assert cli("explain", "m", "t.tsv") == counted_from_one(f"{x}\n")
    assert "latent" in x._repr_html_()


def test_noise_kernel():
    x = np.linspace(-3, 3, 80)
    noise = np.random.default_rng(4).normal(size=x.size)
    y = np.sin(2 * x) + np.exp(-1.5 + 0.7 * x) * noise
    frame = {"x": x.tolist()}
    model = lt.GPRegressor("rbf(x)", noise_kernel=lt.Kernel("rbf(x)"), restarts=0).fit(frame, y)
    plain = lt.GPRegressor("rbf(x)", restarts=0).fit(frame, y)
    assert model.log_evidence_ > plain.log_evidence_ + 10
    assert " | " in model.kernel_.expression
    _, sd = model.predict({"x": [-2, 2]}, return_std=True)
    assert sd[1] > 4 * sd[0]
    low, high = model.predict_interval({"x": [2.0]})
    assert (high - low)[0] > 1
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(lt.Error, match="expected"):
        lt.GPRegressor("rbf(x)", noise_kernel="rbf(x").fit(frame, y)
    with pytest.raises(lt.Error, match="another likelihood"):
        lt.GPRegressor("rbf(x)", noise_kernel="rbf(x)", likelihood="student").fit(frame, y)
