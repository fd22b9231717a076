"""GPRegressor, GPClassifier, SVC and SVR: fitting, predicting, copies, mistakes."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest

import luthier as lt

KERNEL = "ssk(text, order=2)"


@pytest.fixture(scope="module")
def gp(texts, scores):
    return lt.GPRegressor(KERNEL).fit(texts, scores)


def models():
    return [lt.GPRegressor(KERNEL, restarts=1), lt.GPClassifier(KERNEL, restarts=1),
            lt.SVC(KERNEL, probability=True), lt.SVR(KERNEL)]


def target_for(model, scores, moods):
    return moods if hasattr(model, "predict_proba") else scores


def test_regression(gp, texts, scores):
    mean, sd = gp.predict(["the poem was not bad", "we were late"], return_std=True)
    assert mean[0] > 6.5 and abs(mean[1] - scores.mean()) < 0.1 and (sd > 0).all()
    assert (gp.predict(texts, return_std=True)[1] < sd[1]).all()
    latent = gp.predict(texts, return_std=True, latent=True)[1]
    noisy = gp.predict(texts, return_std=True)[1]
    np.testing.assert_allclose(noisy**2 - latent**2, gp.noise_, rtol=1e-6)
    assert gp.score(texts, scores) > 0.9
    assert list(gp.hyperparameters_) == ["ssk.gap", "ssk.match", "ssk.weights[1]",
                                         "ssk.weights[2]", "noise"]
    assert gp.hyperparameters_["noise"] == pytest.approx(gp.noise_)
    assert gp.order_shares_.sum() == pytest.approx(1) and gp.order_shares_[1] > 0.9
    assert gp.kernel_.parameters["ssk.gap"] == gp.hyperparameters_["ssk.gap"]
    assert set(gp.leave_one_out_) == {
        "count", "nlpd", "mae", "rmse", "r", "r2", "coverage", "spearman", "kendall", "ndcg",
        "recall", "crps", "calibration", "qwk"}
    assert gp.trace_["evidence"].max() == pytest.approx(gp.log_evidence_, abs=1e-6)


def test_intervals_and_averages(gp, texts, scores, moods):
    assert gp.intervals_ == {} and gp.draws_ == 0
    wide = lt.GPRegressor(KERNEL, intervals=True).fit(texts, scores)
    assert wide.hyperparameters_ == gp.hyperparameters_ and wide.draws_ == 0
    assert wide.intervals_ and set(wide.intervals_) <= set(gp.hyperparameters_)
    for path, (low, high) in wide.intervals_.items():
        assert low < gp.hyperparameters_[path] < high
    many = lt.GPRegressor(KERNEL, average=8).fit(texts, scores)
    assert many.intervals_ == wide.intervals_
    assert many.draws_ == 8 and 1 < many.effective_draws_ <= 8
    new = ["the poem was not bad", "we were late"]
    mean, sd = many.predict(new, return_std=True)
    assert (mean != gp.predict(new)).any() and (sd > 0).all()
    again = pickle.loads(pickle.dumps(many))
    assert (again.predict(new) == mean).all() and again.intervals_ == many.intervals_
    p = lt.GPClassifier(KERNEL, average=4, restarts=0).fit(texts, moods).predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    with pytest.raises(lt.Error, match="average"):
        lt.GPRegressor(KERNEL, average=1).fit(texts, scores)
    with pytest.raises(lt.Error, match="nothing is learned"):
        lt.GPRegressor(KERNEL, average=4, learn=False).fit(texts, scores)


def test_options_of_a_regression(texts, scores):
    fixed = lt.GPRegressor(KERNEL, fix=["ssk.gap", "noise"], noise=0.25, restarts=0)
    fixed.fit(texts, scores)
    assert fixed.hyperparameters_["ssk.gap"] == 0.5
    assert fixed.noise_ == pytest.approx(0.25)
    kept = lt.GPRegressor(lt.Kernel(KERNEL), learn=False, unscaled=True).fit(texts, scores)
    assert kept.hyperparameters_["ssk.weights[2]"] == 1
    prior = lt.GPRegressor(KERNEL, prior={"ssk.gap": (0.3, 0.01)}).fit(texts, scores)
    assert prior.hyperparameters_["ssk.gap"] == pytest.approx(0.3, rel=0.1)
    seeds = [lt.GPRegressor(KERNEL, random_state=s, max_iter=1).fit(texts, scores).trace_["evidence"]
             for s in (5, 5, 6)]
    assert (seeds[0] == seeds[1]).all() and not np.array_equal(seeds[0], seeds[2])


def test_several_targets(texts, scores):
    Y = np.column_stack([scores, -scores])
    model = lt.GPRegressor(KERNEL, restarts=0).fit(texts, Y)
    mean, sd = model.predict(texts[:3], return_std=True)
    assert mean.shape == sd.shape == (3, 2) and model.n_targets_ == 2
    np.testing.assert_allclose(mean[:, 0], -mean[:, 1])
    assert pickle.loads(pickle.dumps(model)).predict(texts).shape == (len(texts), 2)


@pytest.mark.parametrize("kind", [lt.GPClassifier, lt.SVC])
def test_classes_are_in_numpys_order(kind, texts):
    """C sorts 10 before 9; scikit-learn does not."""
    y = np.array([9, 10, 100, 9] * 6)
    model = kind("ssk(text, order=2)", **({"probability": True} if kind is lt.SVC else {}))
    model.fit(texts, y)
    assert model.classes_.tolist() == [9, 10, 100]
    p = model.predict_proba(texts)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.predict(texts) == y).mean() > 0.9
    assert (model.classes_[p.argmax(axis=1)] == y).mean() > 0.9
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(texts), p)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_decision_values(texts, multi_class):
    y = np.array(["c", "a", "b", "c"] * 6)
    model = lt.SVC(KERNEL, multi_class=multi_class, C=10).fit(texts, y)
    values = model.decision_function(texts)
    assert values.shape == (len(texts), 3)
    np.testing.assert_array_equal(model.classes_[values.argmax(axis=1)], model.predict(texts))
    two = lt.SVC(KERNEL).fit(texts, y == "c")
    np.testing.assert_array_equal(two.decision_function(texts) > 0, two.predict(texts))
    numbers = lt.SVC(KERNEL).fit(texts, np.where(y == "c", 10, 9))  # "10" comes before "9" by name
    np.testing.assert_array_equal(numbers.decision_function(texts) > 0,
                                  numbers.predict(texts) == numbers.classes_[1])
    np.testing.assert_allclose(numbers.decision_function(texts), two.decision_function(texts),
                               atol=0.01)
    judged = lt.label_metrics(y == "c", two.predict(texts), score=two.decision_function(texts))
    assert judged["auc"] == judged["auprc"] == 1 and np.isnan(judged["log_loss"])
    with pytest.raises(lt.Error, match="one number for each of 24 rows"):
        lt.label_metrics(y == "c", two.predict(texts), score=np.zeros(3))


def test_each_class_against_the_rest(texts, tmp_path):
    y = np.array(["c", "a", "b", "d", "e"] * 4 + ["c"] * 4)
    default, rest, pairs = (lt.SVC(KERNEL, **how).fit(texts, y)
                            for how in ({}, {"multi_class": "ovr"}, {"multi_class": "ovo"}))
    values = default.decision_function(texts)
    np.testing.assert_array_equal(values, rest.decision_function(texts))
    assert (values != pairs.decision_function(texts)).any()
    counts = [m._report["problems"] for m in (default, pairs, lt.SVC(KERNEL, nu=0.2).fit(texts, y))]
    assert counts == [5, 10, 10]
    pairs.save(tmp_path / "m")
    assert lt.load(tmp_path / "m").multi_class == "ovo"
    with pytest.raises(lt.Error, match='multi_class wants "ovr" or "ovo"'):
        lt.SVC(KERNEL, multi_class="auto").fit(texts, y)


@pytest.mark.parametrize("kind", [lt.GPClassifier, lt.SVC])
def test_several_labels_a_row(kind, texts, tmp_path):
    Y = np.array([["good" in t, "not" in t, False, "film" in t] for t in texts]).astype(int)
    model = kind(KERNEL).fit(texts, Y)
    P = model.predict(texts)
    assert P.shape == Y.shape and not P[:, 2].any()
    assert (P[:, :2] == Y[:, :2]).mean() > 0.9
    one = np.eye(3, dtype=int)[np.arange(len(texts)) % 3]  # no row has two labels
    assert kind(KERNEL).fit(texts, one).predict(texts).shape == one.shape
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(lt.load(tmp_path / "m").predict(texts)[:, :2], P[:, :2])


def test_grid(texts, moods):
    model = lt.SVC(KERNEL, C=[0.1, 1, 10], grid={"ssk.gap": [0.1, 0.5], "ssk.order": [1, 2]})
    model.fit(texts, moods)
    assert len(model.grid_) == 12 and model.best_params_["C"] in (0.1, 1, 10)
    assert model.best_score_ == max(point["score"] for point in model.grid_)
    nu = lt.SVC(KERNEL, nu=0.3).fit(texts, moods)
    assert "nu" in nu.best_params_ and "C" not in nu.best_params_


def test_class_weight(texts):
    y = np.array(["a"] * 20 + ["b"] * 4)
    rate = [(lt.SVC("ssk(text, order=1)", C=0.1, class_weight=w).fit(texts, y).predict(texts)
             == "b").mean() for w in (None, "balanced", {"a": 1e-3})]
    assert rate[0] == 0 and rate[1] > 0 and rate[2] == 1


def test_without_a_threshold(texts):
    far, few = ["zzz qqq"], np.arange(len(texts)) < 3
    for solver in ("kernel", "origin"):
        model = lt.SVC("normalize(bow(text))", solver=solver).fit(texts, few)
        assert np.all(model.decision_function(far) == 0) == (solver == "origin")
    with pytest.raises(lt.Error, match="for labels"):
        lt.SVR(KERNEL, solver="origin").fit(texts, np.arange(len(texts)))


def test_features_of_some_rows(texts, moods, scores):
    some = lt.SVC(KERNEL, features=5, C=10, probability=True).fit(texts, moods)
    assert some.n_support_rows_ == 5 and some.predict_proba(texts).shape == (len(texts), 2)
    every = lt.SVR(KERNEL, features=len(texts)).fit(texts, scores)
    machine = lt.SVR(KERNEL).fit(texts, scores)
    np.testing.assert_allclose(every.predict(texts), machine.predict(texts), atol=0.05)
    some.show(shown := io.StringIO())
    assert "solver\tfeatures\n" in shown.getvalue()
    for wrong in (0, -1, 2.5, "all"):
        with pytest.raises(lt.Error, match="features wants a whole number of at least 1"):
            lt.SVC(KERNEL, features=wrong).fit(texts, moods)
    with pytest.raises(lt.Error, match="no nu-SVC"):
        lt.SVC(KERNEL, features=5, nu=0.3).fit(texts, moods)



@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_copies_predict_the_same(model, texts, scores, moods, tmp_path):
    model = copy.deepcopy(model).fit(texts, target_for(model, scores, moods))
    ask = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    expected = ask(texts)
    path = tmp_path / "model.luthier"
    model.save(path)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), lt.load(path)):
        assert type(other) is type(model)
        again = other.predict_proba if hasattr(other, "predict_proba") else other.predict
        np.testing.assert_array_equal(again(texts), expected)
        assert other.hyperparameters_ == model.hyperparameters_
        shown = [io.StringIO(), io.StringIO()]
        model.show(shown[0]), other.show(shown[1])
        assert shown[0].getvalue() == shown[1].getvalue()


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_unfitted(model, texts):
    model = copy.deepcopy(model)
    for call in (model.predict, model.save, model.show):
        with pytest.raises(lt.NotFittedError, match="not fitted yet"):
            call(texts)
    pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("y, message", [
    (None, "None"), ([1.0], "inconsistent"), ([], "inconsistent"), ([float("nan")] * 24, "(?i)nan"),
    ([[1, 2, 3]] * 24, "0 and 1|1d|too large|") , (np.zeros((24, 2, 2)), "shape"),
    ([1j] * 24, "(?i)complex"), ([None] * 24, "None|number"),
])
def test_wrong_targets(model, y, message, texts):
    if np.shape(y) == (24, 3) and isinstance(model, lt.GPRegressor):
        return  # three targets
    with pytest.raises((lt.Error, ValueError, TypeError), match=message):
        copy.deepcopy(model).fit(texts, y)


@pytest.mark.parametrize("model", [
    lt.GPRegressor(KERNEL, restarts=-1), lt.GPRegressor(KERNEL, max_iter="many"),
    lt.GPRegressor(KERNEL, noise=-1), lt.GPRegressor(KERNEL, fix=["ssk.gup"]),
    lt.GPRegressor(KERNEL, fix=[3]), lt.GPRegressor(KERNEL, prior={"ssk.gap": 3}),
    lt.GPRegressor(KERNEL, prior="ssk.gap"), lt.GPRegressor(KERNEL, random_state="x"),
    lt.GPRegressor("ssk(text, sim=dot)"), lt.GPRegressor(KERNEL + "; drop"),
    lt.GPRegressor(3), lt.SVR(KERNEL, C=-1), lt.SVR(KERNEL, C="much"), lt.SVR(KERNEL, C=[]),
    lt.SVR(KERNEL, grid={"ssk.gap": 3}), lt.SVR(KERNEL, grid="x"), lt.SVR(KERNEL, solver="best"),
    lt.SVR(KERNEL, inner_folds=1), lt.GPRegressor("rbf(f*)"),
], ids=lambda m: str(m)[:60])
def test_wrong_options(model, texts, scores):
    with pytest.raises(lt.Error):
        model.fit(texts, scores)
    with pytest.raises(lt.NotFittedError):
        model.predict(texts)


def test_wrong_options_of_classifiers(texts, moods):
    for model in (lt.SVC(KERNEL, multi_class="all"), lt.SVC(KERNEL, class_weight=3),
                  lt.GPClassifier(KERNEL, likelihood="cauchit"), lt.SVC(KERNEL, nu=7)):
        with pytest.raises(lt.Error):
            model.fit(texts, moods)
    for y in (np.linspace(0, 1, len(texts)), ["same"] * len(texts), ["a", ""] * 12,
              np.array([1, "1"] * 12, dtype=object)):
        with pytest.raises(lt.Error):
            lt.SVC(KERNEL).fit(texts, y)


def test_softmax(texts, moods, tmp_path, capsys):
    y = np.where(np.arange(len(texts)) % 4 == 0, "calm", moods)
    model = lt.GPClassifier(KERNEL, likelihood="softmax", restarts=0).fit(texts, y)
    p = model.predict_proba(texts)
    assert p.shape == (len(texts), 3) and np.allclose(p.sum(axis=1), 1)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(texts)).all()
    model.show()
    assert "likelihood\tsoftmax" in capsys.readouterr().out
    model.save(tmp_path / "m")
    assert np.allclose(lt.load(tmp_path / "m").predict_proba(texts), p)
    few = lt.GPClassifier(KERNEL, likelihood="softmax", restarts=0, inducing=12).fit(texts, y)
    q = few.predict_proba(texts)
    assert few.posterior_ == "inducing" and few.inducing_rows_ == 12
    assert np.allclose(q.sum(axis=1), 1) and (q.argmax(axis=1) == p.argmax(axis=1)).all()
    few.save(tmp_path / "m")
    assert (lt.load(tmp_path / "m").predict_proba(texts) == q).all()
    with pytest.raises(lt.Error, match="one label a row"):
        lt.GPClassifier(KERNEL, likelihood="softmax").fit(texts, np.tile([[0, 1], [1, 1]], (12, 1)))


def test_labels_with_commas(texts, moods):
    y = np.where(moods == "glad", "New York, NY", "Rome")
    model = lt.SVC(KERNEL).fit(texts, y)
    assert set(model.predict(texts)) == set(y)


def test_vectors(texts, scores, vectors_file):
    model = lt.GPRegressor("ssk(text, order=2, sim=exp)", vectors=vectors_file, restarts=0)
    model.fit(texts, scores)
    seen = model.predict(["the poem was good"])
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(["the poem was good"]), seen)
    other.vectors = None  # "poem" is then unknown
    with pytest.warns(lt.LuthierWarning, match="1 of the 4 words of these rows has no vector here"):
        assert other.predict(["the poem was good"]) != seen


@pytest.mark.parametrize("kind", [lt.GPRegressor, lt.SVR])
def test_contextual_vectors(kind, tmp_path):
    rng = np.random.default_rng(5)
    X = [rng.normal(size=(n, 4)).astype(np.float32) for n in rng.integers(1, 6, 30)]
    y = np.array([x[:, 0].sum() for x in X])
    model = kind("ssk(x, order=1, sim=dot)").fit(X, y)
    assert model.score(X, y) > 0.9
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(lt.load(tmp_path / "m").predict(X), model.predict(X))
    with pytest.raises(lt.Error):
        model.predict(["a text"])
    with pytest.raises(lt.Error):
        model.predict([x[:, :2] for x in X])


def test_warnings_become_python_warnings(texts, scores):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lt.Kernel("normalize(ssk(text))").gram(["", "a"])
    assert [w.category for w in caught] == [lt.LuthierWarning]
    assert caught[0].filename == __file__


def test_mixed_columns_and_frames(texts, scores):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": texts, "price": np.arange(24.0)})
    y = pandas.Series(scores + 0.1 * np.arange(24), name="score")
    model = lt.GPRegressor("ssk(text, order=2) + rbf(price)", restarts=0).fit(frame, y)
    assert model.score(frame, y) > 0.9
    shown = io.StringIO()
    model.show(shown)
    assert "target\tscore\n" in shown.getvalue()
    with pytest.raises(ValueError, match="price"):
        model.predict(frame[["text"]])
    with pytest.raises(ValueError):
        lt.GPRegressor("rbf(f*)").fit(np.eye(3), [1, 2, 3]).predict(np.eye(2))


def test_a_target_named_like_a_column(texts, scores):
    model = lt.GPRegressor("ssk(y, order=2)", restarts=0).fit(texts, scores)
    assert model.score(texts, scores) > 0.9


def test_load_refuses_other_files(tmp_path):
    (tmp_path / "x").write_text("hello")
    for path in (tmp_path / "x", tmp_path / "none"):
        with pytest.raises(lt.Error) as caught:
            lt.load(path)
        assert str(path) in str(caught.value) or caught.value.file


# ---- Many rows ----

def test_learning_from_some_rows_is_a_fit_of_all(texts, scores):
    gp = lt.GPRegressor("ssk(text, order=2)", restarts=0, max_iter=3, learn_rows=12)
    gp.fit(texts, scores)
    assert gp.learned_rows_ == 12 and gp.posterior_ == "exact"
    plan = gp.plan(texts, scores)
    assert plan["rows"] == len(texts) and plan["learn_rows"] == 12 and plan["seconds"] > 0
    assert plan["posterior"] == "exact"
    heavy = lt.GPRegressor("ssk(text, order=2)", likelihood="student").plan(texts, scores)
    assert heavy["posterior"] == "sites"


@pytest.mark.parametrize("setting", [{"posterior": "cg"}, {"inducing": 10},
                                     {"inducing": 10, "bound": "fitc"}])
def test_posteriors_of_many_rows_predict_save_and_load(texts, scores, setting, tmp_path):
    gp = lt.GPRegressor("ssk(text, order=2)", restarts=0, max_iter=3, learn_rows=12, **setting)
    gp.fit(texts, scores)
    mean, sd = gp.predict(texts[:7], return_std=True)
    assert np.isfinite(mean).all() and (sd > 0).all()
    gp.save(tmp_path / "m")
    again = lt.load(tmp_path / "m")
    assert again.posterior_ == gp.posterior_ != "exact"
    assert (again.predict(texts[:7]) == mean).all()
    copy = pickle.loads(pickle.dumps(gp))
    assert (copy.predict(texts[:7]) == mean).all()
    out = io.StringIO()
    gp.show(out)
    assert f"posterior\t{gp.posterior_}" in out.getvalue()


def test_conjugate_gradients_over_a_matrix_on_disk(texts, scores, tmp_path):
    kernel = "ssk(text, order=2, gap=0.5, match=1, weights=[1, 0.5])"
    folder = tmp_path / "K.zarr"
    lt.Kernel(kernel).gram_to(folder, texts, tile=9)
    settings = {"posterior": "cg", "restarts": 0, "noise": 0.3, "learn": False, "tolerance": 1e-9}
    kept = lt.GPRegressor(kernel, **settings).fit(texts, scores)
    for store in ("double", "single", "disk"):
        gp = lt.GPRegressor(kernel, gram=folder, store=store, probes=40, **settings)
        assert gp.plan(texts, scores)["store"] == store
        gp.fit(texts, scores)
        assert np.allclose(gp.predict(texts), kept.predict(texts), atol=1e-4 if store == "single" else 1e-7)
    with pytest.raises(lt.Error, match="other rows"):
        gp.fit(texts[1:], scores[1:])
    with pytest.raises(lt.Error, match="no matrix on disk"):
        lt.GPRegressor(kernel, store="disk", posterior="cg").fit(texts, scores)


def test_wrong_posteriors_are_named(texts, scores):
    for setting, word in [({"posterior": "sparse"}, "inducing"), ({"bound": "elbo"}, "titsias"),
                          ({"posterior": "exact", "bound": "fitc"}, "bound"),
                          ({"posterior": "cg", "store": "tape"}, "disk"),
                          ({"posterior": "cg", "tolerance": 0}, "between 0 and 1"),
                          ({"posterior": "cg", "probes": 0}, "at least 1"),
                          ({"gram": "nowhere.zarr"}, "nowhere.zarr")]:
        with pytest.raises(lt.Error, match=word):
            lt.GPRegressor("ssk(text)", **setting).fit(texts, scores)


# ---- Rows that come one after the other ----

def test_predict_iter():
    texts = [f"w{i % 7} lamp {'good' if i % 3 else 'bad'} n{i}" for i in range(1300)]
    y = [float(i % 3) for i in range(40)]
    m = lt.GPRegressor("normalize(ssk(text, order=2))", learn=False).fit(texts[:40], y)
    mean, sd = m.predict(texts, return_std=True)
    for rows in (texts, iter(texts), (t for t in texts), np.array(texts), {"text": texts}):
        parts = list(m.predict_iter(rows, chunk=512, return_std=True))
        assert [len(part[0]) for part in parts] == [512, 512, 276]
        assert np.array_equal(np.concatenate([part[0] for part in parts]), mean)
        assert np.array_equal(np.concatenate([part[1] for part in parts]), sd)
    labels = ["a" if i % 2 else "b" for i in range(40)]
    for c in (lt.GPClassifier("ssk(text, order=2)", learn=False), lt.SVC("bow(text)")):
        c.fit(texts[:40], labels)
        assert np.array_equal(np.concatenate(list(c.predict_iter(iter(texts), chunk=1024))),
                              c.predict(texts))
    shares = m.predict_iter([])
    assert list(shares) == []


def test_predict_iter_takes_rows_as_they_come():
    taken = []

    def rows():
        for i in range(100):
            taken.append(i)
            yield f"good w{i}"

    m = lt.SVR("bow(text)").fit(["good a", "bad b", "good c"], [1.0, 0.0, 1.0])
    results = m.predict_iter(rows(), chunk=10)
    assert taken == []
    assert len(next(results)) == 10 and len(taken) == 10
    assert sum(map(len, results)) == 90


def test_predict_iter_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": [f"w{i % 5} good" for i in range(60)], "x": np.arange(60.0)})
    m = lt.GPRegressor("ssk(text, order=2) + rbf(x)", learn=False).fit(frame[:20], np.arange(20.0))
    wanted = m.predict(frame)
    frames = (frame[first:first + 25] for first in range(0, 60, 25))
    parts = list(m.predict_iter(frames))
    assert [len(part) for part in parts] == [25, 25, 10]
    assert np.allclose(np.concatenate(parts), wanted, rtol=1e-12)
    assert np.array_equal(np.concatenate(list(m.predict_iter(frame, chunk=512))), wanted)


def test_predict_iter_mistakes():
    with pytest.raises(lt.NotFittedError):
        lt.SVR("bow(text)").predict_iter(["a"])
    m = lt.SVR("bow(text)").fit(["good a", "bad b"], [1.0, 0.0])
    with pytest.raises(lt.Error, match="chunk wants a whole number of at least 1"):
        m.predict_iter(["a"], chunk=0)
    with pytest.raises(lt.Error, match="X is one str"):
        m.predict_iter("a")
    with pytest.raises(AttributeError):
        m.predict_iter(["a"], method="predict_nothing")
    results = m.predict_iter(iter(["a", "b", "c", "d", "e", None]), chunk=2)
    assert len(next(results)) == 2 and len(next(results)) == 2
    with pytest.raises(lt.Error, match="counted from row 4") as failure:
        next(results)
    assert failure.value.line == 6


def test_mean():
    """A linear mean: its weights, the same model as with the kernel written out, and mistakes."""
    rng = np.random.default_rng(3)
    words = np.array("the old red cat dog runs sleeps".split())
    X = {"text": [" ".join(rng.choice(words, 4)) for _ in range(60)],
         "zs": rng.normal(10, 5, 60), "f": rng.normal(size=(60, 2))}
    y = 3 * X["zs"] + 2 * np.array(["cat" in t for t in X["text"]]) + rng.normal(0, 0.2, 60)
    kernel = "linear(normalize(ssk(text, order=2)))"
    gp = lt.GPRegressor(kernel, mean="zs + f1..f2", restarts=0).fit(X, y)
    found = gp.mean_weights()
    zs = found["columns"]["zs"]
    assert list(found["columns"]) == ["zs", "f1", "f2"] and 0.9 < found["share"] < 1.1
    assert abs(zs["weight"] - 3) < 3 * zs["sd"] < 0.3
    assert zs["deviation"] == pytest.approx(X["zs"].std())
    whole = lt.GPRegressor(kernel + " + linear(scale(zs) + scale(f1..f2))", restarts=0)
    assert (gp.predict(X) == whole.fit(X, y).predict(X)).all()
    assert gp.explain(X)[0].trend == pytest.approx(gp.predict(X)[0] - y.mean(), abs=3)
    gp.show(file := io.StringIO())
    assert "\nmean\tof\tweight\tsd\tper deviation\tits sd\nzs\t" in file.getvalue()
    assert pickle.loads(pickle.dumps(gp)).mean_weights() == found
    zero = lt.GPRegressor(kernel, mean="zero + zs", restarts=0).fit(X, y)
    same = lt.GPRegressor(kernel, mean="zs", zero_mean=True, restarts=0).fit(X, y)
    assert (zero.predict(X) == same.predict(X)).all()
    assert lt.GPRegressor(kernel, restarts=0).fit(X, y).mean_weights()["columns"] == {}
    labels = lt.GPClassifier(kernel, mean="zs", restarts=0).fit(X, y > 30)
    assert labels.mean_weights(1)["columns"]["zs"]["weight"] > 0
    with pytest.raises(lt.Error, match=r'not "3"\n  zs \+ 3\n       \^'):
        lt.GPRegressor(kernel, mean="zs + 3").fit(X, y)
    with pytest.raises(lt.Error, match="mean wants"):
        lt.GPRegressor(kernel, mean=3).fit(X, y)


def test_targets_learn_from_each_other(texts, scores):
    y = np.column_stack([scores, 100 - 10 * scores])
    known = y.copy()
    known[::2, 1] = np.nan
    model = lt.GPRegressor(KERNEL, coregion=1, restarts=0).fit(texts, known)
    assert {"w[y1,1]", "w[y2,1]", "own", "noise"} <= set(model.hyperparameters_)
    assert model.hyperparameters_["w[y1,1]"] * model.hyperparameters_["w[y2,1]"] < 0
    assert np.corrcoef(model.predict(texts)[::2, 1], y[::2, 1])[0, 1] > 0.9
    with pytest.raises(lt.Error, match="NaN"):
        lt.GPRegressor(KERNEL, restarts=0).fit(texts, known)
    with pytest.raises(lt.Error, match="rank 3"):
        lt.GPRegressor(KERNEL, coregion=3).fit(texts, known)


def test_predict_given(texts, scores, tmp_path, cli):
    y = {"joy": scores, "fear": 100 - 10 * scores}
    model = lt.GPRegressor(KERNEL, coregion=1, restarts=0)
    pandas = pytest.importorskip("pandas")
    model.fit(texts, pandas.DataFrame(y))
    new, joy = ["a word", "the poem was odd", "the film was good"], [9.0, np.nan, 2.0]
    mean, sd = model.predict(new, return_std=True, given={"joy": joy})
    plain, plain_sd = model.predict(new, return_std=True)
    assert (mean[1] == plain[1]).all() and (sd[1] == plain_sd[1]).all()
    assert mean[0, 1] < plain[0, 1] - 5 and sd[0, 1] < plain_sd[0, 1] - 0.5
    assert mean[2, 1] > plain[2, 1]
    # Whatever it comes as, and in every prediction.
    frame = pandas.DataFrame({"text": new, "joy": joy})
    array = np.column_stack([joy, np.full(3, np.nan)])
    named = lt.GPRegressor(KERNEL, coregion=1, restarts=0).fit(
        pandas.DataFrame({"text": texts}), pandas.DataFrame(y))
    assert (model.predict(new, given=frame[["joy"]]) == mean).all()
    assert (model.predict(new, given=array) == mean).all()
    assert (named.predict(frame[["text"]], given={"joy": joy}) == mean).all()
    assert (named.predict({"text": new, "joy": joy}, given="joy") == mean).all()
    assert (named.predict({"text": new, "joy": joy}, given=["joy"]) == mean).all()
    low, high = model.predict_interval(new, given={"joy": joy})
    assert np.allclose((low + high) / 2, mean) and np.allclose((high - low) / 3.919928, sd)
    assert np.allclose(model.predict_quantiles(new, 0.5, given={"joy": joy})[0], mean)
    assert np.allclose(model.cdf(new, mean, given={"joy": joy}), 0.5)
    assert np.allclose(model.log_density(new, mean, given={"joy": joy}),
                       -np.log(sd * np.sqrt(2 * np.pi)))
    # As the command line.
    model.save(tmp_path / "m")
    (tmp_path / "t.tsv").write_text("text\tjoy\na word\t9\nthe poem was odd\t\n"
                                    "the film was good\t2\n")
    lines = cli("predict", "m", "t.tsv", "--given", "joy").splitlines()[1:]
    table = np.array([[float(c) for c in line.split("\t")] for line in lines])
    assert (table[:, [1, 5]] == mean).all() and (table[:, [2, 6]] == sd).all()
    assert (lt.load(tmp_path / "m").predict(new, given={"joy": joy}) == mean).all()


def test_predict_given_errors(texts, scores):
    y = np.column_stack([scores, -scores])
    model = lt.GPRegressor(KERNEL, coregion=1, restarts=0, max_iter=1).fit(texts, y)
    for given, message in (({"calm": [1.0]}, 'the model has no target "calm"'),
                           ({"y1": [1.0, 2.0]}, "X has 1 rows, given.* has 2"),
                           ({"y1": [np.inf]}, "infinity"),
                           ({"y1": ["much"]}, "could not convert"),
                           ({1: [1.0]}, "names of targets, not 1"),
                           (np.ones((1, 3)), "each of the 2 targets, not the shape"),
                           ("y1", "have no names")):
        with pytest.raises(lt.Error, match=message):
            model.predict(texts[:1], given=given)
    plain = lt.GPRegressor(KERNEL, restarts=0, max_iter=1).fit(texts, y)
    with pytest.raises(lt.Error, match="fitted with coregion"):
        plain.predict(texts[:1], given={"y1": [1.0]})
