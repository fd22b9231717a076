"""Inside of scikit-learn: its checks, its tools, and its own models with our kernels."""

import numpy as np
import pytest

import luthier as lt

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: E402
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score  # noqa: E402
from sklearn.pipeline import Pipeline, make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

KERNEL = "ssk(text, order=2)"

# ---- check_estimator ----

# Every check that fails and is meant to, by estimator, with the reason.
_AS_OFTEN = {"check_sample_weight_equivalence_on_dense_data":
             "it wants seven digits; where hyperparameters are learned, rounding moves where the "
             "search ends. test_a_weight_is_a_number_of_rows checks the rest"}
EXPECTED = {"GPRegressor": _AS_OFTEN, "GPClassifier": _AS_OFTEN}


def _expected(estimator):
    return EXPECTED.get(type(estimator).__name__, {})


def _with_arrays():
    """The checks hand in arrays of numbers, so they need kernels that read these."""
    return [lt.GPRegressor("rbf(f*)", restarts=0, max_iter=20, n_jobs=1),
            lt.GPClassifier("rbf(f*)", restarts=0, max_iter=20, n_jobs=1),
            lt.SVC("rbf(f*)", n_jobs=1), lt.SVC("rbf(f*)", probability=True, n_jobs=1),
            lt.SVR("rbf(f*)", n_jobs=1)]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(_with_arrays(), expected_failed_checks=_expected)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:.*requires input")
@pytest.mark.filterwarnings("ignore:Can't test estimator")
@parametrize_with_checks([kind() for kind in (lt.GPRegressor, lt.GPClassifier, lt.SVC, lt.SVR)])
def test_check_estimator_of_strings(estimator, check):
    """scikit-learn leaves out all checks that need arrays."""
    check(estimator)


@pytest.mark.parametrize("model", [lt.GPRegressor("rbf(f*)", learn=False, noise=0.3, n_jobs=1),
                                   lt.GPClassifier("rbf(f*)", learn=False, calibrate=False, n_jobs=1)],
                         ids=["numbers", "labels"])
def test_a_weight_is_a_number_of_rows(model):
    """Also a weight of 0: the row is not there. How sharp probabilities are is another matter: a row of
    weight 2 is left out as a whole, of two equal rows one stays."""
    from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data
    check_sample_weight_equivalence_on_dense_data(type(model).__name__, model)


@pytest.mark.parametrize("kind", ["list", "pandas", "dict"])
def test_names_of_weights(kind, texts, scores):
    weights = np.arange(len(texts)) % 3
    X = {"text": texts, "times": weights.tolist()}
    X = texts if kind == "list" else X if kind == "dict" else pytest.importorskip(
        "pandas").DataFrame(X)
    model = lt.GPRegressor(KERNEL, learn=False, n_jobs=1)
    few = [i for i in range(len(texts)) for _ in range(weights[i])]
    expected = clone(model).fit([texts[i] for i in few], scores[few]).predict(texts)
    ways = [{"sample_weight": weights}, {"weights": weights.tolist()}]
    if kind != "list":
        ways += [{"weights": "times"}, {"sample_weight": "times"}]
    for way in ways:
        found = model.fit(X, scores, **way)
        np.testing.assert_allclose(found.predict(X), expected, rtol=1e-9)
        assert len(found.leave_one_out()["y"]) == (weights > 0).sum()
    with pytest.raises(lt.Error, match="only one of"):
        model.fit(X, scores, weights, weights=weights)
    with pytest.raises(lt.Error, match="inconsistent numbers of samples"):
        model.fit(X, scores[:-1], weights)


def test_metadata_routing(texts, scores):
    from sklearn import config_context
    weights = np.arange(len(texts)) % 3
    with config_context(enable_metadata_routing=True):
        model = lt.GPRegressor(KERNEL, learn=False, n_jobs=1).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), model)
        found = pipeline.fit(texts, scores, sample_weight=weights).predict(texts)
    np.testing.assert_array_equal(found, clone(model).fit(texts, scores, weights).predict(texts))


# ---- Its tools ----

def test_clone():
    for model in (lt.GPRegressor(KERNEL, fix=["noise"]), lt.SVC(lt.Kernel(KERNEL), C=[1, 2])):
        assert clone(model).get_params().keys() == model.get_params().keys()
        assert str(clone(model)) == str(model)
    assert clone(lt.Kernel(KERNEL)) == lt.Kernel(KERNEL)


def test_cross_validation(texts, scores, moods):
    folds = KFold(4, shuffle=True, random_state=1)
    model = lt.GPRegressor(KERNEL, restarts=0, n_jobs=1)
    assert cross_val_score(model, texts, scores, cv=folds).mean() > 0.8
    assert cross_val_score(lt.SVC(KERNEL, C=10), texts, moods, cv=4).mean() > 0.8
    p = cross_val_predict(lt.GPClassifier(KERNEL, restarts=0), texts, moods, cv=4,
                          method="predict_proba")
    assert p.shape == (len(texts), 2)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_workers(backend, texts, scores):
    joblib = pytest.importorskip("joblib")
    model = lt.GPRegressor(KERNEL, restarts=0, n_jobs=1)
    folds = KFold(4, shuffle=True, random_state=1)
    expected = cross_val_score(model, texts, scores, cv=folds)
    with joblib.parallel_backend(backend, n_jobs=2):
        found = cross_val_score(model, texts, scores, cv=folds)
    np.testing.assert_array_equal(found, expected)
    fitted = clone(model).fit(texts, scores)
    parts = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(fitted.predict)(texts[i::2]) for i in range(2))
    np.testing.assert_array_equal(parts[0], fitted.predict(texts[::2]))


def test_grid_search_and_pipeline(texts, scores):
    shout = FunctionTransformer(lambda X: [text.upper() for text in X])
    pipeline = Pipeline([("shout", shout), ("gp", lt.GPRegressor(restarts=0, max_iter=30))])
    search = GridSearchCV(pipeline, {"gp__kernel": ["ssk(text, order=1)", KERNEL]},
                          cv=KFold(3, shuffle=True, random_state=1))
    search.fit(texts, scores)
    assert search.best_params_ == {"gp__kernel": KERNEL}
    assert search.predict(["the film was not bad"])[0] > 6
    make_pipeline(lt.SVR("rbf(f*)")).fit(np.eye(4), np.arange(4)).predict(np.eye(4))


# ---- Its models with our kernels ----

def test_its_svm_gives_our_answers(texts, moods, scores):
    from sklearn.svm import SVC, SVR
    kernel = "normalize(ssk(text, order=3))"
    theirs = SVC(kernel=lt.Kernel(kernel), C=2.0).fit(texts, moods)
    ours = lt.SVC(kernel, C=2.0).fit(texts, moods)
    new = [f"the {x} was {y}" for x in ("poem", "film") for y in ("good", "not bad", "long")]
    for rows in (texts, new):
        found = ours.decision_function(rows)
        np.testing.assert_allclose(theirs.decision_function(rows), found,
                                   atol=2e-3)  # both stop at a tolerance of 1e-3
        clear = np.abs(found) > 2e-3
        assert clear.sum() > len(rows) / 2
        np.testing.assert_array_equal(theirs.predict(rows)[clear], ours.predict(rows)[clear])
    three = np.array(["c", "a", "b", "c"] * 6)
    theirs = SVC(kernel=lt.Kernel(kernel)).fit(texts, three)
    ours = lt.SVC(kernel, multi_class="ovo").fit(texts, three)
    np.testing.assert_allclose(theirs.decision_function(new), ours.decision_function(new),
                               atol=2e-3)
    theirs = SVR(kernel=lt.Kernel(kernel), epsilon=0.2).fit(texts, scores)
    np.testing.assert_allclose(theirs.predict(new),
                               lt.SVR(kernel, epsilon=0.2).fit(texts, scores).predict(new),
                               atol=5e-3)


@pytest.mark.parametrize("kernel", ["ssk(text, order=2, gap=0.3)",
                                    "ssk(text, order=1, rarity=0.02) + 0.5 * linear(tfidf(text))"])
def test_its_gaussian_process_gives_our_answers(kernel, texts, scores):
    new = ["the poem was good", "the film was", "nothing"]
    theirs = GaussianProcessRegressor(lt.Kernel(kernel), alpha=0.3, optimizer=None)
    theirs.fit(texts, scores)
    ours = lt.GPRegressor(kernel, learn=False, noise=0.3, zero_mean=True, unscaled=True)
    ours.fit(texts, scores)
    for a, b in zip(theirs.predict(new, return_std=True),
                    ours.predict(new, return_std=True, latent=True)):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert theirs.log_marginal_likelihood_value_ == pytest.approx(ours.log_evidence_, rel=1e-8)


def test_its_gaussian_process_learns_as_ours(texts, scores):
    y = scores - scores.mean()
    theirs = GaussianProcessRegressor(lt.Kernel("ssk(text, order=2, gap=0.1)") + WhiteKernel(),
                                      alpha=0, n_restarts_optimizer=2, random_state=1)
    theirs.fit(texts, y)
    ours = lt.GPRegressor("ssk(text, order=2)", zero_mean=True, unscaled=True).fit(texts, y)
    assert theirs.log_marginal_likelihood_value_ == pytest.approx(ours.log_evidence_, abs=0.05)
    new = ["the poem was good", "the film was not"]
    np.testing.assert_allclose(theirs.predict(new), ours.predict(new), atol=0.1)


def test_its_kernel_operators(texts):
    kernel = ConstantKernel(2.0) * lt.Kernel(KERNEL) + WhiteKernel(0.5)
    X = np.array(texts)
    np.testing.assert_allclose(kernel(X), 2 * lt.Kernel(KERNEL)(X) + 0.5 * np.eye(len(X)))
    assert kernel.n_dims == 2 + lt.Kernel(KERNEL).n_dims
    np.testing.assert_allclose(clone(kernel)(X), kernel(X))
    K, grad = kernel(X, eval_gradient=True)
    assert grad.shape == (*K.shape, kernel.n_dims)
