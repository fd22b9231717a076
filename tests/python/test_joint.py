"""Rows together: covariances of the function, and draws from its joint posterior."""

import numpy as np
import pytest

import luthier as lt


def test_joint_posterior(texts, scores):
    gp = lt.GPRegressor("ssk(text, order=2)", restarts=0, n_jobs=1).fit(texts, scores)
    new = ["the poem was not bad", "the poem was bad", "we were late", "the poem was not bad"]
    mean, covariance = gp.predict(new, return_cov=True)
    f, sd = gp.predict(new, return_std=True, latent=True)
    np.testing.assert_allclose(mean, f)
    np.testing.assert_allclose(np.diag(covariance), sd**2)
    np.testing.assert_array_equal(covariance, covariance.T)
    assert covariance[0, 1] > 0.01 > abs(covariance[0, 2])
    assert covariance[0, 3] == pytest.approx(covariance[0, 0])
    with pytest.raises(lt.Error, match="return_cov"):
        gp.predict(new, return_std=True, return_cov=True)


def test_several_joint_posteriors(texts, scores):
    y = np.column_stack([scores, 3 - 2 * scores])
    gp = lt.GPRegressor("ssk(text, order=2)", restarts=0, n_jobs=1).fit(texts, y)
    new = ["the poem was not bad", "the poem was bad", "we were late"]
    mean, covariance = gp.predict(new, return_cov=True)
    assert mean.shape == (3, 2) and covariance.shape == (3, 3, 2)
    np.testing.assert_allclose(covariance[..., 1], 4 * covariance[..., 0])
    assert gp.sample_y(new, 5).shape == (3, 2, 5)


def test_draws_of_the_function(texts, scores):
    gp = lt.GPRegressor("ssk(text, order=2)", restarts=0, n_jobs=1).fit(texts, scores)
    new = ["the poem was not bad", "the poem was bad", "we were late", "the poem was not bad"]
    mean, covariance = gp.predict(new, return_cov=True)
    draws = gp.sample_y(new, 20000)
    np.testing.assert_array_equal(draws, gp.sample_y(new, 20000, random_state=0))
    np.testing.assert_allclose(draws[3], draws[0], atol=1e-5)  # the same row
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.05 * covariance.max())
    assert gp.sample_y(new).shape == (4, 1)
    assert (gp.sample_y(new, random_state=1) != gp.sample_y(new, random_state=2)).any()
    assert gp.sample_y(new, random_state=np.random.RandomState(1)).shape == (4, 1)
