"""The evidence at other values: scikit-learn's log_marginal_likelihood."""

import numpy as np
import pytest

import luthier as lt

KERNEL = "ssk(text, order=2, gap=0.3)"


def _differences(model, theta, step=1e-5):
    out = []
    for i in range(len(theta)):
        ends = [model.log_marginal_likelihood(theta + step * sign * np.eye(len(theta))[i])
                for sign in (1, -1)]
        out.append((ends[0] - ends[1]) / (2 * step))
    return np.array(out)


@pytest.mark.parametrize("kind, options", [
    (lt.GPRegressor, {}), (lt.GPRegressor, {"likelihood": "student"}), (lt.GPClassifier, {}),
    (lt.GPRegressor, {"kernel": "2 * ssk(text, order=2, gap=$g) + ssk(text, gap=$g, order=1)"}),
])
def test_gradient_by_differences(kind, options, texts, scores, moods):
    y = moods if kind is lt.GPClassifier else scores
    model = kind(**{"kernel": KERNEL, "max_iter": 3, "restarts": 0, **options}).fit(texts, y)
    names = model.theta_names_
    assert len(names) == len(model.theta_) == len(set(names))
    assert all(not p.held for p in model._params() if p.path.decode() in names)
    value, gradient = model.log_marginal_likelihood(eval_gradient=True)
    assert value == pytest.approx(model.log_evidence_, rel=1e-8)
    assert model.log_marginal_likelihood() == model.log_marginal_likelihood_value_
    np.testing.assert_allclose(model.log_marginal_likelihood(model.theta_), value, rtol=1e-8)
    theta = model.theta_ + 0.1
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    np.testing.assert_allclose(gradient, _differences(model, theta), rtol=1e-3, atol=1e-4)
    assert model.log_marginal_likelihood() == model.log_evidence_  # it stays as it is


def test_as_a_fit_at_these_values(texts, scores):
    model = lt.GPRegressor(KERNEL, restarts=0, max_iter=3, n_jobs=1).fit(texts, scores)
    theta = model.theta_ - 0.2
    values = dict(zip(model.theta_names_, np.exp(theta)))
    noise = values.pop("noise")
    same = lt.GPRegressor(model.kernel_.with_values(**values), learn=False, noise=noise).fit(
        texts, scores)
    assert model.log_marginal_likelihood(theta) == pytest.approx(same.log_evidence_, rel=1e-8)


def test_as_scikit_learn(texts, scores):
    gaussian_process = pytest.importorskip("sklearn.gaussian_process")
    from sklearn.gaussian_process.kernels import WhiteKernel
    theirs = gaussian_process.GaussianProcessRegressor(
        lt.Kernel(KERNEL) + WhiteKernel(0.3), optimizer=None, alpha=0).fit(texts, scores)
    ours = lt.GPRegressor(KERNEL, zero_mean=True, unscaled=True, noise=0.3, max_iter=0).fit(
        texts, scores)
    for shift in (0, 0.25):
        theta = theirs.kernel_.theta + shift
        a, slope_a = theirs.log_marginal_likelihood(theta, eval_gradient=True, clone_kernel=True)
        b, slope_b = ours.log_marginal_likelihood(theta, eval_gradient=True)
        assert b == pytest.approx(a, rel=1e-8)
        np.testing.assert_allclose(slope_b, slope_a, rtol=1e-5)


def test_refused(texts, scores):
    model = lt.GPRegressor(KERNEL, max_iter=0).fit(texts, scores)
    for theta in (model.theta_[:-1], [], np.full(len(model.theta_), np.nan), 3.0):
        with pytest.raises(lt.Error, match="theta wants 4 numbers: ssk.gap, .*, noise"):
            model.log_marginal_likelihood(theta)
    with pytest.raises(lt.NotFittedError):
        lt.GPRegressor(KERNEL).log_marginal_likelihood([1.0])
