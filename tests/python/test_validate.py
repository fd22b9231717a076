"""Cross-validation, pages, draws from the prior, alignment: what the command line does, in Python."""

import json

import numpy as np
import pytest

import luthier as lt

KERNEL = "ssk(text, order=2)"


# ---- Cross-validation ----

@pytest.mark.parametrize("what", ["numbers", "labels", "svm"])
def test_cross_validation_as_the_command_line(what, texts, scores, moods, cli, write_tsv):
    y = moods if what == "labels" else scores
    path = write_tsv("t.tsv", text=texts, y=y)
    svm = what == "svm"
    model = {"numbers": lt.GPRegressor, "labels": lt.GPClassifier, "svm": lt.SVR}[what](
        KERNEL, **({} if svm else {"restarts": 0}))
    found = lt.cross_validate(model, texts, y, folds=4, random_state=3)
    more = ["--model", "svm"] if svm else ["--restarts", "0"]
    printed = json.loads(cli("cv", path, "--target", "y", "--kernel", KERNEL, "--folds", 4, "--seed",
                             3, "--json", *more))["targets"]["y"]
    for ours, theirs in zip([*found.folds, found.pooled, found.mean],
                            [*printed["folds"], printed["pooled"], printed["mean"]]):
        for name, value in theirs.items():
            if name in ours and name != "seconds" and value is not None:
                assert ours[name] == pytest.approx(value, rel=1e-12), name
    assert "_model" not in model.__dict__


def test_what_a_cross_validation_has(texts, scores, moods):
    fold = ["a", "b", "c"] * 8
    found = lt.cross_validate(lt.GPRegressor(KERNEL, restarts=0), texts, scores, fold)
    assert found.fold.tolist() == [0, 1, 2] * 8 and len(found.folds) == 3
    learn = found.fold != 1
    alone = lt.GPRegressor(KERNEL, restarts=0).fit(np.array(texts)[learn], scores[learn])
    mean, sd = alone.predict(np.array(texts)[~learn], return_std=True)
    np.testing.assert_allclose(found.predictions[~learn], mean, rtol=1e-9)
    np.testing.assert_allclose(found.sd[~learn], sd, rtol=1e-9)
    assert found.pooled == pytest.approx(lt.metrics(scores, found.predictions, found.sd), nan_ok=True)
    assert found.folds[1]["evidence"] == pytest.approx(alone.log_evidence_)
    labels = lt.cross_validate(lt.Kernel(KERNEL), texts, moods, 3)
    assert labels.confusion.sum() == 24 and list(labels.classes) == ["cross", "glad"]
    assert (labels.predictions == moods).mean() == labels.pooled["accuracy"]
    assert "accuracy" in repr(labels) and labels.sd is None


def test_other_kinds(texts, scores):
    both = lt.cross_validate(lt.GPRegressor(KERNEL, restarts=0, max_iter=5), texts,
                             np.column_stack([scores, -scores]), 3)
    assert list(both) == ["y1", "y2"] and both["y2"].y[0] == -scores[0]
    marks = np.column_stack([scores > 5, scores < 3]).astype(int)
    several = lt.cross_validate(lt.SVC(KERNEL), texts, marks, 3)
    assert several.predictions.shape == (24, 2) and several.confusion is None
    weighted = lt.cross_validate(lt.GPRegressor(KERNEL, learn=False), texts, scores, 3,
                                 sample_weight=np.arange(1, 25))
    assert weighted.pooled["rmse"] != lt.cross_validate(
        lt.GPRegressor(KERNEL, learn=False), texts, scores, 3).pooled["rmse"]
    K = lt.Kernel(KERNEL).gram(texts)
    by_matrix = lt.cross_validate(lt.SVR("precomputed"), K, scores, 3)
    assert by_matrix.pooled == pytest.approx(
        lt.cross_validate(lt.SVR(KERNEL), texts, scores, 3).pooled, rel=1e-6, nan_ok=True)


def test_frames_of_figures(texts, scores):
    pytest.importorskip("pandas")
    frame = lt.cross_validate(lt.SVR(KERNEL), texts, scores, 3).to_frame()
    assert list(frame.index) == [1, 2, 3, "mean", "pooled"] and frame.loc["pooled", "count"] == 24
    assert frame.loc["mean", "rmse"] == pytest.approx(frame.iloc[:3]["rmse"].mean())


@pytest.mark.parametrize("model, folds, message", [
    (KERNEL, 1, "at least 2"), (KERNEL, [1, 2], "one fold for each of 24"),
    (KERNEL, [1] * 24, "two folds"), (object(), 3, "an estimator of luthier or a kernel"),
])
def test_refused_validations(model, folds, message, texts, scores):
    with pytest.raises(lt.Error, match=message):
        lt.cross_validate(model, texts, scores, folds)
    with pytest.raises(lt.Error, match="takes no sample_weight"):
        lt.cross_validate(lt.SVR(KERNEL), texts, scores, 3, sample_weight=scores)


# ---- Pages ----

def test_report(texts, scores, moods, tmp_path, cli):
    odd = [*texts[:4], 'tab\there "quoted" ü']
    for model, y in ((lt.GPRegressor(KERNEL, restarts=0), scores), (lt.SVC(KERNEL), moods)):
        model.fit(texts, y)
        page = tmp_path / "page.html"
        model.report(page, title="About films")
        short = page.read_text()
        assert "About films" in short and "</html>" in short
        model.report(str(page), odd, y[:5])
        assert "Model page" in page.read_text() and len(page.read_text()) > len(short)
        with pytest.raises(lt.Error, match="both X and y"):
            model.report(page, texts)
        with pytest.raises(lt.Error, match="no/such"):
            model.report(tmp_path / "no" / "such" / "page.html")


def test_report_without_the_command(texts, scores, tmp_path, monkeypatch):
    model = lt.SVR(KERNEL).fit(texts, scores)
    monkeypatch.setenv("LUTHIER_CLI", str(tmp_path / "missing"))
    with pytest.raises(lt.Error, match="LUTHIER_CLI=.*missing is no program"):
        model.report(tmp_path / "page.html")
    with pytest.raises(lt.NotFittedError):
        lt.SVR(KERNEL).report(tmp_path / "page.html")


# ---- The prior ----

X = ["a b", "a c", "b c", "a b c"]


def test_draws_from_the_prior():
    kernel = lt.Kernel("2 * normalize(ssk(text, order=2))")
    draws = kernel.sample(X, 4000, noise=0.5)
    assert draws.shape == (4, 4000) and abs(draws.mean()) < 0.1
    np.testing.assert_allclose(np.cov(draws), kernel.gram(X) + 0.5 * np.eye(4), atol=0.25)
    np.testing.assert_array_equal(kernel.sample(X, 2, random_state=5),
                                  kernel.sample(X, 2, random_state=np.int64(5)))
    assert (kernel.sample(X, random_state=None) != kernel.sample(X, random_state=None)).any()
    assert set(np.unique(kernel.sample(X, 20, likelihood="logit"))) == {-1, 1}
    counts = kernel.sample(X, 200, likelihood="poisson", set={"mean": 2})
    assert (counts >= 0).all() and (counts == counts.round()).all() and counts.mean() > 7
    assert lt.Kernel("rbf(f*)").sample(np.eye(3)).shape == (3, 1)
    for options, message in (({"noise": -1}, "at least 0"), ({"likelihood": "x"}, "one of logit"),
                             ({"n_samples": 0}, "at least 1"), ({"set": {"dof": 3}}, "dof")):
        with pytest.raises(lt.Error, match=message):
            kernel.sample(X, **options)


def test_sample_y_before_fit():
    kernel = lt.Kernel("normalize(ssk(text, order=2))")
    for given in (kernel, kernel.expression, lambda a, b: kernel.gram(list(a), list(b))):
        draws = lt.GPRegressor(given).sample_y(X, 4000)
        np.testing.assert_allclose(np.cov(draws), kernel.gram(X), atol=0.15)


def test_align(texts, scores, cli, write_tsv):
    path = write_tsv("t.tsv", text=texts, y=scores)
    other = "linear(bow(text))"
    for center in ([], ["--center"]):
        printed = json.loads(cli("align", path, "--kernel", KERNEL, "--with", other, "--json",
                                 *center))["alignment"]
        found = lt.align(KERNEL, lt.Kernel(other), texts, center=bool(center))
        assert found == pytest.approx(printed, rel=1e-12)
    assert lt.align(np.eye(3), 2 * np.eye(3)) == pytest.approx(1)
    assert 0 < lt.align(KERNEL, np.outer(scores, scores), texts) < 1
    for arguments, message in (((KERNEL, other), "wants X"), ((np.eye(2), np.eye(3)), "same shape"),
                               ((np.zeros((2, 2)), np.eye(2)), "zero")):
        with pytest.raises(lt.Error, match=message):
            lt.align(*arguments)
