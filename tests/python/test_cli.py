"""The command line and Python: the same model files, the same numbers to the last digit."""

import io
import json

import numpy as np
import pytest

import luthier as lt

KERNEL = "normalize(ssk(text, order=2))"


def shown(model):
    out = io.StringIO()
    model.show(out)
    return out.getvalue()


def without_seconds(text):
    return [line for line in text.splitlines() if not line.startswith("seconds")]


def predicted(cli, model, table, *more):
    return [json.loads(line) for line in cli("predict", model, table, "--json", *more).splitlines()]


def test_gram(cli, write_tsv, texts, tmp_path):
    rows, other = write_tsv("rows.tsv", text=texts), write_tsv("other.tsv", text=texts[:5])
    cli("gram", rows, "--against", other, "--kernel", KERNEL, "-o", "K.npy", "--gradients", "G.npy")
    K, G = lt.Kernel(KERNEL).gram(texts, texts[:5], gradients=True)
    np.testing.assert_array_equal(np.load(tmp_path / "K.npy"), K)
    np.testing.assert_array_equal(np.load(tmp_path / "G.npy"), G)


def test_regression(cli, write_tsv, texts, scores, tmp_path):
    table = write_tsv("t.tsv", text=texts, y=scores)
    cli("fit", table, "--target", "y", "--kernel", KERNEL, "-o", "cli.luthier", "-q")
    ours = lt.GPRegressor(KERNEL).fit(texts, scores)
    ours.save(tmp_path / "python.luthier")
    theirs = lt.load(tmp_path / "cli.luthier")
    assert isinstance(theirs, lt.GPRegressor)
    assert without_seconds(shown(ours)) == without_seconds(shown(theirs))
    for name, model in (("cli", theirs), ("python", ours)):
        assert cli("show", f"{name}.luthier") == shown(model)
        lines = predicted(cli, f"{name}.luthier", table)
        mean, sd = ours.predict(texts, return_std=True)
        assert [line["mean"] for line in lines] == mean.tolist()
        assert [line["sd"] for line in lines] == sd.tolist()


def test_several_targets(cli, write_tsv, texts, scores, tmp_path):
    Y = np.column_stack([scores, scores[::-1]])
    ours = lt.GPRegressor(KERNEL, restarts=0).fit(texts, Y)
    ours.save(tmp_path / "m.luthier")
    lines = predicted(cli, "m.luthier", write_tsv("t.tsv", text=texts))
    assert [[line["y1.mean"], line["y2.mean"]] for line in lines] == ours.predict(texts).tolist()


@pytest.mark.parametrize("kind, more", [
    (lt.GPClassifier, ["--task", "classification"]),
    (lt.SVC, ["--model", "svm", "--task", "classification", "--probability"])])
def test_classification(cli, write_tsv, texts, moods, tmp_path, kind, more):
    table = write_tsv("t.tsv", text=texts, y=list(moods))
    cli("fit", table, "--target", "y", "--kernel", KERNEL, *more, "-o", "cli.luthier", "-q")
    ours = kind(KERNEL, **({"probability": True} if kind is lt.SVC else {})).fit(texts, moods)
    ours.save(tmp_path / "python.luthier")
    theirs = lt.load(tmp_path / "cli.luthier")
    assert type(theirs) is kind and theirs.classes_.tolist() == ["cross", "glad"]
    assert without_seconds(shown(ours)) == without_seconds(shown(theirs))
    assert cli("show", "python.luthier") == shown(ours)
    assert cli("predict", "cli.luthier", table, "--json") \
        == cli("predict", "python.luthier", table, "--json")
    lines = predicted(cli, "cli.luthier", table)
    probabilities = np.array([[line["p[cross]"], line["p[glad]"]] for line in lines])
    np.testing.assert_array_equal(theirs.predict_proba(texts), probabilities)
    np.testing.assert_array_equal(ours.predict_proba(texts), probabilities)


def test_support_vector_regression(cli, write_tsv, texts, scores, tmp_path):
    table = write_tsv("t.tsv", text=texts, y=scores)
    cli("fit", table, "--target", "y", "--kernel", KERNEL, "--model", "svm", "--C", "1,10",
        "-o", "cli.luthier", "-q")
    ours = lt.SVR(KERNEL, C=[1, 10]).fit(texts, scores)
    theirs = lt.load(tmp_path / "cli.luthier")
    assert isinstance(theirs, lt.SVR)
    np.testing.assert_array_equal(theirs.predict(texts), ours.predict(texts))
    assert cli("show", "cli.luthier") == shown(theirs)
    assert without_seconds(shown(ours)) == without_seconds(shown(theirs))


def test_trees_and_vectors(cli, write_tsv, trees, texts, scores, vectors_file, tmp_path):
    table = write_tsv("trees.tsv", tree=trees, y=np.arange(len(trees)))
    kernel = "normalize(sstk(tree, symbols=all))"
    cli("fit", table, "--target", "y", "--kernel", kernel, "-o", "cli.luthier", "-q")
    ours = lt.GPRegressor(kernel).fit(trees, np.arange(len(trees)))
    assert without_seconds(cli("show", "cli.luthier")) == without_seconds(shown(ours))
    assert {s["symbol"] for s in ours.symbols_} >= {"NP", "VP"}

    table = write_tsv("words.tsv", text=texts, y=scores)
    kernel = "ssk(text, order=2, sim=exp)"
    cli("fit", table, "--target", "y", "--kernel", kernel, "--vectors", vectors_file, "-o",
        "cli.luthier", "-q")
    ours = lt.GPRegressor(kernel, vectors=vectors_file).fit(texts, scores)
    theirs = lt.load(tmp_path / "cli.luthier", vectors=vectors_file)
    new = ["the poem was not bad"]
    np.testing.assert_array_equal(theirs.predict(new), ours.predict(new))
