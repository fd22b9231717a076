"""Kernels that the caller computes: matrices and functions."""

import pickle

import numpy as np
import pytest

import luthier as lt

RNG = np.random.default_rng(3)
X, NEW = RNG.normal(size=(30, 2)), RNG.normal(size=(6, 2))
Y = X[:, 0] + np.sin(2 * X[:, 1]) + RNG.normal(size=30) * 0.1
LABELS = np.where(Y > 0, "up", "down")


def rbf(a, b):
    return np.exp(-0.5 * ((np.asarray(a)[:, None] - np.asarray(b)[None]) ** 2).sum(-1))


def linear(a, b):
    return np.asarray(a) @ np.asarray(b).T


def _pairs(kernel):
    """(kernel, training rows, new rows) of the ways to give one."""
    return [(kernel, X, NEW), ("precomputed", kernel(X, X), kernel(NEW, X)),
            (kernel, X.tolist(), NEW.tolist())]


@pytest.mark.parametrize("way", range(3))
@pytest.mark.parametrize("kind, y", [(lt.GPRegressor, Y), (lt.GPClassifier, LABELS),
                                     (lt.SVC, LABELS), (lt.SVR, Y)])
def test_as_the_same_kernel_in_c(kind, y, way):
    kernel, rows, new = _pairs(rbf)[way]
    gp = kind in (lt.GPRegressor, lt.GPClassifier)
    options = {"n_jobs": 2, **({"learn": False} if gp else {})}
    found = kind(kernel, **options).fit(rows, y)
    same = kind("rbf(f1..f2)", **options).fit(X, y)
    if kind is lt.GPRegressor:
        for a, b in zip(found.predict(new, return_std=True), same.predict(NEW, return_std=True)):
            np.testing.assert_allclose(a, b, rtol=1e-8)
        assert found.log_evidence_ == pytest.approx(same.log_evidence_, rel=1e-10)
    elif kind is lt.GPClassifier:
        np.testing.assert_allclose(found.predict_proba(new), same.predict_proba(NEW), rtol=1e-8)
    else:
        np.testing.assert_allclose(getattr(found, "decision_function", found.predict)(new),
                                   getattr(same, "decision_function", same.predict)(NEW),
                                   rtol=1e-6)
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.predict(new), found.predict(new))


def test_scale_and_noise_are_learned():
    found = lt.GPRegressor("precomputed", restarts=0).fit(4 * rbf(X, X), Y)
    same = lt.GPRegressor("rbf(f1..f2, lengthscale=1!)", restarts=0).fit(X, Y)
    assert found.log_evidence_ == pytest.approx(same.log_evidence_, abs=1e-4)
    assert found.hyperparameters_["variance"] * 4 == pytest.approx(
        same.hyperparameters_["rbf.variance"], rel=1e-2)


def test_values_of_new_rows_with_themselves():
    K, new = linear(X, X), linear(NEW, X)
    model = lt.GPRegressor("precomputed", learn=False).fit(K, Y)
    same = lt.GPRegressor("1 * linear(f1..f2)", learn=False).fit(X, Y)
    np.testing.assert_allclose(model.predict(new), same.predict(NEW), rtol=1e-8)
    for call in (lambda: model.predict(new, return_std=True), lambda: model.predict_interval(new),
                 lambda: model.explain(new)):
        with pytest.raises(lt.Error, match=r"k\(x, x\) of new rows is not known"):
            call()
    diagonal = (NEW ** 2).sum(axis=1)
    found = model.predict(lt.Precomputed(new, diagonal), return_std=True)
    np.testing.assert_allclose(found, same.predict(NEW, return_std=True), rtol=1e-8)
    by_function = lt.GPRegressor(linear, learn=False).fit(X, Y)
    np.testing.assert_allclose(by_function.predict(NEW, return_std=True), found, rtol=1e-8)
    with pytest.raises(lt.Error, match="a number for each of 6 rows"):
        model.predict(lt.Precomputed(new, diagonal[:2]), return_std=True)


@pytest.mark.parametrize("several", [False, True])
def test_rows_together(several):
    y = np.column_stack([Y, -Y + 1]) if several else Y
    expected = lt.GPRegressor("rbf(f1..f2)", learn=False).fit(X, y).predict(NEW, return_cov=True)
    by_function = lt.GPRegressor(rbf, learn=False).fit(X, y)
    by_matrix = lt.GPRegressor("precomputed", learn=False).fit(rbf(X, X), y)
    new = lt.Precomputed(rbf(NEW, X), among=rbf(NEW, NEW))
    for model, rows in ((by_function, NEW), (by_matrix, new)):
        for a, b in zip(model.predict(rows, return_cov=True), expected):
            np.testing.assert_allclose(a, b, atol=1e-10)
    assert by_function.sample_y(NEW, 4).shape == ((6, 2, 4) if several else (6, 4))
    with pytest.raises(lt.Error, match="among themselves are not known"):
        by_matrix.predict(rbf(NEW, X), return_cov=True)


def test_texts_and_a_kernel_object(texts, scores):
    """A function gets the rows as they are; a kernel with `diag` is asked for it."""
    def letters(a, b):
        assert isinstance(a, list) and isinstance(a[0], str)
        return np.array([[len(set(x) & set(y)) for y in b] for x in a], dtype=float)

    model = lt.GPRegressor(letters, restarts=0).fit(texts, scores)
    assert model.predict(["the film was good"], return_std=True)[1].shape == (1,)
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
    found = lt.GPRegressor(kernels.RBF(1.0), learn=False).fit(X, Y).predict(NEW, return_std=True)
    same = lt.GPRegressor(rbf, learn=False).fit(X, Y).predict(NEW, return_std=True)
    np.testing.assert_allclose(found, same, rtol=1e-8)


def test_files_hold_the_matrix(tmp_path):
    model = lt.GPRegressor(rbf, restarts=0).fit(X, Y)
    model.save(tmp_path / "m")
    loaded = lt.load(tmp_path / "m")
    assert loaded.kernel == "precomputed"
    np.testing.assert_array_equal(loaded.predict(lt.Precomputed(rbf(NEW, X), 1.0), return_std=True),
                                  model.predict(NEW, return_std=True))


def test_scikit_learn_cuts_rows_and_columns():
    selection = pytest.importorskip("sklearn.model_selection")
    folds = selection.KFold(3)
    for kind in (lt.GPRegressor, lt.SVR):
        options = {"learn": False} if kind is lt.GPRegressor else {}
        found = selection.cross_val_predict(kind("precomputed", **options), rbf(X, X), Y, cv=folds)
        same = selection.cross_val_predict(kind("rbf(f*)", **options), X, Y, cv=folds)
        np.testing.assert_allclose(found, same, rtol=1e-6)


@pytest.mark.parametrize("rows, message", [
    (rbf(X, X)[:, :5], "must be a square matrix. Input is a 30x5"),
    (rbf(X, X) + np.tri(30), r"not symmetric: X\[0, "),
    (rbf(X, X)[0], "got 1D array"),
    (np.where(np.eye(30) > 0, np.nan, 1), r"X\[0, 0\] contains NaN"),
    ([["a"] * 30] * 30, "wants a matrix of numbers"),
])
def test_refused_matrices(rows, message):
    for kind in (lt.GPRegressor, lt.SVR):
        with pytest.raises(ValueError, match=message):
            kind("precomputed").fit(rows, Y)


def test_refused_new_rows_and_functions():
    model = lt.GPRegressor("precomputed", learn=False).fit(rbf(X, X), Y)
    with pytest.raises(ValueError, match="X has 4 features, but the kernel is expecting 30"):
        model.predict(rbf(NEW, X)[:, :4])
    with pytest.raises(lt.Error, match=r"returned a matrix of shape \(29, 30\) for 30 rows"):
        lt.SVC(lambda a, b: rbf(a, b)[1:]).fit(X, LABELS)
    with pytest.raises(ZeroDivisionError):
        lt.SVC(lambda a, b: 1 / 0).fit(X, LABELS)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = lt.GPRegressor(rbf, learn=False).fit(X, Y)
    expected = model.predict(NEW)
    with pytest.raises(ValueError):
        model.fit(X[::-1], np.full(30, np.nan))
    np.testing.assert_array_equal(model.predict(NEW), expected)
    assert model.plan(X[:5], Y[:5])["rows"] == 5
    np.testing.assert_array_equal(model.predict(NEW), expected)
