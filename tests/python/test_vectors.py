"""Word vectors from memory, what a model keeps of them, and words that have none."""

import pickle
import warnings

import numpy as np
import pytest

import luthier as lt

KERNEL = "ssk(text, order=2, sim=exp, temperature=0.5)"
WORDS = ["red", "blue", "cat", "dog", "sun", "rain"]
TEXTS = [f"{a} {b}" for a in WORDS[:4] for b in WORDS[:4]]
NEW = ["sun cat", "rain dog sun"]


@pytest.fixture(scope="module")
def matrix():
    return np.random.default_rng(3).normal(size=(len(WORDS), 5))


@pytest.fixture(scope="module")
def file(tmp_path_factory, matrix):
    path = tmp_path_factory.mktemp("vectors") / "words.txt"
    path.write_text("".join(f"{w} {' '.join(map(repr, row.tolist()))}\n" for w, row in zip(WORDS, matrix)))
    return path


@pytest.fixture(scope="module")
def y():
    return np.random.default_rng(4).normal(size=len(TEXTS))


def quiet(call, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(*arguments)


class Keyed:  # as gensim has them
    def __init__(self, words, vectors):
        self.index_to_key, self.vectors = words, vectors


def test_from_memory_is_as_from_a_file(file, matrix, y):
    expected = lt.Kernel(KERNEL, vectors=file).gram(TEXTS)
    ways = [dict(zip(WORDS, matrix)), (WORDS, matrix), (np.array(WORDS), matrix.astype(np.float32)),
            dict(zip(WORDS, matrix.tolist())), Keyed(WORDS, matrix)]
    for vectors in ways:
        assert np.array_equal(lt.Kernel(KERNEL, vectors=vectors).gram(TEXTS), expected)
    model = lt.GPRegressor(KERNEL, vectors=file, restarts=0).fit(TEXTS, y)
    other = lt.GPRegressor(KERNEL, vectors=ways[0], restarts=0).fit(TEXTS, y)
    assert np.array_equal(quiet(other.predict, NEW), quiet(model.predict, NEW))


@pytest.mark.parametrize("kind", [lt.GPRegressor, lt.GPClassifier, lt.SVC, lt.SVR])
def test_estimators(kind, matrix, y):
    from sklearn.base import clone
    target = y if kind in (lt.GPRegressor, lt.SVR) else np.where(y > 0, "a", "b")
    vectors = dict(zip(WORDS, matrix))
    model = clone(kind(KERNEL, vectors=vectors)).set_params(keep_vectors="none").fit(TEXTS, target)
    expected = quiet(model.predict, NEW)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(quiet(again.predict, NEW), expected)
    again.vectors = None  # the model came from a pickle without vectors
    again = pickle.loads(pickle.dumps(again))
    with pytest.raises(lt.Error, match="keeps no word vectors: give those that training used"):
        again.predict(NEW)


def test_words_without_a_vector(file, matrix, y, tmp_path):
    model = lt.GPRegressor(KERNEL, vectors=file, restarts=0).fit(TEXTS, y)
    expected = model.predict(NEW)
    model.save(tmp_path / "used")
    with pytest.warns(lt.LuthierWarning, match=r"3 of the 5 words of these rows have no vector here \(2 different\)"
                      r".* training read words.txt \(6 words, 5 numbers each\)") as told:
        without = lt.load(tmp_path / "used").predict(NEW)
    assert len(told) == 1
    assert np.abs(without - expected).max() > 1e-3
    assert np.array_equal(quiet(lt.load(tmp_path / "used", vectors=(WORDS, matrix)).predict, NEW), expected)
    quiet(lt.load(tmp_path / "used").predict, TEXTS)  # words of training
    all_kept = model.set_params(keep_vectors="all").fit(TEXTS, y)
    all_kept.save(tmp_path / "all")
    found = quiet(lt.load(tmp_path / "all").predict, NEW)
    assert np.allclose(found, expected, rtol=0.02, atol=0.005) and not np.array_equal(found, expected)


def test_repeats(matrix):
    kernel = lt.Kernel(KERNEL, vectors=(WORDS + ["red"], np.vstack([matrix, 9 * matrix[:1]])))
    with pytest.warns(lt.LuthierWarning, match="1 word has more than one vector, as 'red' does"):
        found = kernel.gram(TEXTS)
    assert np.array_equal(found, lt.Kernel(KERNEL, vectors=(WORDS, matrix)).gram(TEXTS))


@pytest.mark.parametrize("vectors, message", [
    ({"red": [1, 2], "cat": [1]}, "as many for each as for the others"),
    ({"red": 1.0}, "as many for each as for the others"),
    ({"red": "abc"}, "as many for each as for the others"),
    ({}, "0 word vectors"),
    ({"red": []}, "word vectors of 0 numbers"),
    ({1: [1, 2]}, "words that are strings, not 1"),
    ((["red"], np.zeros((2, 3))), "1 words, but numbers for 2"),
    ({"red": [1, np.nan]}, "number 2 of the vector of 'red' is not finite"),
    ({"red": [1e300, 1]}, "number 1 of the vector of 'red' is not finite"),
    ({"\ud800": [1, 2]}, "surrogate"),
    (5, "path of a file"),
    ([1, 2], "path of a file"),
])
def test_bad_vectors(vectors, message, y):
    with pytest.raises(lt.Error, match=message):
        lt.Kernel(KERNEL, vectors=vectors).gram(TEXTS)
    with pytest.raises(lt.Error, match=message):
        lt.SVR(KERNEL, vectors=vectors).fit(TEXTS, y)


def test_bad_keep(y):
    with pytest.raises(lt.Error, match='keep_vectors wants "used", "none" or "all", not "some"'.replace('"some"', "'some'")):
        lt.GPRegressor(KERNEL, vectors={"red": [1]}, keep_vectors="some").fit(TEXTS, y)


def test_kernels_are_equal_by_their_vectors(matrix):
    one, other = lt.Kernel(KERNEL, vectors=(WORDS, matrix)), lt.Kernel(KERNEL, vectors=dict(zip(WORDS, matrix)))
    assert one == other and repr(one).endswith("vectors=<6 words>)")
    assert one != lt.Kernel(KERNEL, vectors=(WORDS, 2 * matrix)) and one != lt.Kernel(KERNEL)
    assert one == pickle.loads(pickle.dumps(one))


def test_vectors_of_a_kernel(texts, scores):
    words = {word: np.eye(5)[len(word) % 5] for text in texts for word in text.split()}
    kernel = "ssk(text, order=1, sim=cosine)"
    ours = lt.GPRegressor(kernel, vectors=words, restarts=0).fit(texts, scores)
    model = lt.GPRegressor(lt.Kernel(kernel, vectors=words), restarts=0).fit(texts, scores)
    assert np.array_equal(model.predict(["the poem was bad"]), ours.predict(["the poem was bad"]))
    assert model.kernel_.vectors is words and model.vectors is None
