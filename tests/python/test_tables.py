"""What can be given as X: every kind of input, and what is refused."""

import warnings

import numpy as np
import pytest

import luthier as lt

SSK = lt.Kernel("ssk(text, order=2)")
WORDS = ["the dog", "a dog", "the cat"]


def test_containers_of_strings():
    expected = SSK.gram(WORDS)
    for X in (tuple(WORDS), np.array(WORDS), np.array(WORDS, dtype=object), {"text": WORDS},
              np.array(WORDS)[:, None], [{"text": w} for w in WORDS], [(w,) for w in WORDS],
              (w for w in WORDS), [w.split() for w in WORDS],
              [tuple(w.split()) for w in WORDS]):
        np.testing.assert_array_equal(SSK.gram(X), expected)


def test_one_column_has_any_name():
    np.testing.assert_array_equal(lt.Kernel("ssk(whatever, order=2)").gram(WORDS),
                                  SSK.gram(WORDS))


def test_unicode_and_empty_texts():
    chars = lt.Kernel("ssk(s, units=chars, order=1)")
    assert chars.gram(["äß€𝄞"]) == 4
    assert (SSK.gram(["", "a"]) == [[0, 0], [0, 1]]).all()


def test_token_lists():
    for tokens in (["New York"], ["a", ""], ["a\tb"], ["a\u2003b"]):
        with pytest.raises(lt.Error, match=r"X\[1\] has the token") as caught:
            SSK.gram([["a"], tokens])
        assert caught.value.line == 2
    for expression in ("ssk(t, units=chars)", "linear(ngrams(t))", "ssk(t) + ssk(t, units=bytes)"):
        with pytest.raises(lt.Error, match="cut the tokens again"):
            lt.Kernel(expression).gram([["a", "b"]])
    lt.Kernel("linear(ngrams(t, n=2, units=words)) + ssk(t)").gram([["a", "b"]])


def test_trees(trees):
    nltk = pytest.importorskip("nltk")
    kernel = lt.Kernel("sstk(tree)")
    parsed = [nltk.Tree.fromstring(tree) for tree in trees]
    np.testing.assert_array_equal(kernel.gram(parsed), kernel.gram(trees))
    deep = nltk.Tree("A", ["a"])
    for _ in range(5000):
        deep = nltk.Tree("A", [deep])
    assert lt.Kernel("stk(tree)").gram([deep]) > 0
    with pytest.raises(lt.Error, match="blanks"):
        kernel.gram([nltk.Tree("S", ["a b"])])


def test_several_columns():
    kernel = lt.Kernel("ssk(s) + sstk(t) * rbf(x)")
    s, t, x = ["a b", "b c"], ["(S (A a))", "(S (B a))"], [1, 2.5]
    expected = (lt.Kernel("ssk(s)").gram(s)
                + lt.Kernel("sstk(t)").gram(t) * lt.Kernel("rbf(x)").gram(x))
    rows = list(zip(s, t, x))
    for X in (rows, [list(row) for row in rows], np.array(rows, dtype=object),
              [dict(zip("stx", row)) for row in rows],
              {"x": np.array(x), "t": tuple(t), "s": np.array(s), "unused": [1, 2]}):
        np.testing.assert_allclose(kernel.gram(X), expected)


def test_frames():
    pandas = pytest.importorskip("pandas")
    kernel = lt.Kernel("ssk(text) + rbf(n)")
    data = {"n": [1, 2, 4], "text": WORDS}
    expected = kernel.gram(data)
    frame = pandas.DataFrame(data)
    np.testing.assert_array_equal(kernel.gram(frame), expected)
    np.testing.assert_array_equal(kernel.gram(frame.iloc[::-1]), expected[::-1, ::-1])
    np.testing.assert_array_equal(SSK.gram(frame["text"]), SSK.gram(WORDS))
    with pytest.raises(lt.Error, match='no column "text" in X. Its columns are: n, words'):
        kernel.gram(frame.rename(columns={"text": "words"}))
    with pytest.raises(lt.Error, match=r"X\['text'\]\[1\]"):
        kernel.gram(pandas.DataFrame({"n": [1, 2], "text": ["a", None]}))
    with pytest.raises(lt.Error, match="NaN"):
        kernel.gram(pandas.DataFrame({"n": [1, None], "text": ["a", "b"]}))


def test_polars():
    polars = pytest.importorskip("polars")
    data = {"n": [1, 2, 4], "text": WORDS}
    kernel = lt.Kernel("ssk(text) + rbf(n)")
    np.testing.assert_array_equal(kernel.gram(polars.DataFrame(data)), kernel.gram(data))
    np.testing.assert_array_equal(SSK.gram(polars.Series(WORDS)), SSK.gram(WORDS))


def test_number_arrays():
    X = np.random.default_rng(1).normal(size=(5, 3))
    expected = X @ X.T
    for kernel in ("linear(f1..f3)", "linear(f*)", "linear(a) + linear(b) + linear(c)"):
        np.testing.assert_allclose(lt.Kernel(kernel).gram(X), expected)
    for same in (np.asfortranarray(X), X.tolist(), X[::-1][::-1], list(X)):
        np.testing.assert_allclose(lt.Kernel("linear(f*)").gram(same), expected)
    np.testing.assert_allclose(lt.Kernel("linear(f2)").gram(X), np.outer(X[:, 1], X[:, 1]))
    np.testing.assert_allclose(lt.Kernel("linear(f1)").gram(X[:, :1]), np.outer(X[:, 0], X[:, 0]))
    mixed = lt.Kernel("linear(v*) * ssk(s)").gram({"v": X, "s": list("abcde")})
    np.testing.assert_allclose(mixed, expected * lt.Kernel("ssk(s)").gram(list("abcde")))
    np.testing.assert_allclose(lt.Kernel("linear(f1..f2)").gram(X.astype("f4")),
                               X[:, :2] @ X[:, :2].T, rtol=1e-5)


def test_arrays_are_not_copied():
    from luthier import tables
    X = np.zeros((4, 3))
    columns = tables.split(X, ["f1", "f3"])
    for j, values in zip((0, 2), columns.values()):
        c = lt._c.Column()
        tables.column(values).fill(c)
        assert (c.numbers, c.stride) == (X.ctypes.data + 8 * j, 3)
    vectors = [np.zeros((2, 4), np.float32)]
    assert tables.Vectors(vectors, "X")._address[0] == vectors[0].ctypes.data


def test_contextual_vectors():
    rng = np.random.default_rng(4)
    X = [rng.normal(size=(n, 6)).astype(np.float32) for n in (3, 1, 5)]
    K = lt.Kernel("ssk(x, order=1, sim=dot)").gram(X)
    expected = [[(a @ b.T).sum() for b in X] for a in X]
    np.testing.assert_allclose(K, expected, rtol=1e-5)
    np.testing.assert_allclose(lt.Kernel("ssk(x, order=1, sim=dot)").gram(np.stack([X[0]] * 2)),
                               np.full((2, 2), K[0, 0]), rtol=1e-6)
    with pytest.raises(lt.Error, match="different dimensions"):
        lt.Kernel("ssk(x, sim=dot)").gram([X[0], X[1][:, :2]])
    with pytest.raises(lt.Error, match="sim"):
        lt.Kernel("ssk(x)").gram(X)


@pytest.mark.parametrize("X, message", [
    ([], "empty"),
    (["a", None], r"X\[1\] is None"),
    ([None], r"X\[0\] is None"),
    ([b"a"], r"X\[0\] is of type bytes"),
    (["a", b"a"], r"X\[1\] is of type bytes"),
    (["a", 3], r"X\[1\] is of type int"),
    (["a", ["b"]], r"X\[1\] is of type list"),
    ([["a"], "b"], r"X\[1\] is of type str"),
    (["a", "\ud800"], r"X\[1\] is no text: character 0"),
    ("a", "one str"),
    (b"a", "one bytes"),
    (3, "not rows"),
    (None, "not rows"),
    (np.array("a"), "scalar"),
    (np.array([["a", "b"]]), "array of shape|columns"),
    (np.zeros((2, 2, 2, 2)), "dim 4"),
    ([{"tixt": "a"}], 'has no "text"'),
    ([{"text": "a"}, "b"], r'X\[1\] has no "text"'),
    ({"tixt": ["a"]}, 'no column "text"'),
    ([[["a"]]], r"X\[0\] is of type list"),
    (["a\0b"], "NUL|0x00"),
    ([object()], "type object"),
])
def test_refused_texts(X, message):
    with pytest.raises(lt.Error, match=message):
        SSK.gram(X)


@pytest.mark.parametrize("X, message", [
    ([1.0, float("nan")], r"X\[1\] contains NaN"),
    ([1.0, float("-inf")], r"X\[1\] contains infinity"),
    ([1.0, None], r"X\[1\] is None"),
    ([10**400], "too large"),
    ([1j], "(?i)complex"),
    (np.zeros((2, 3)), "f1..f3"),
    ([[1, 2], [3]], "same number"),
    ([np.zeros((2, 2))], "vectors"),
    (["a"], '"a" in column "x" is not a number'),
])
def test_refused_numbers(X, message):
    with pytest.raises(lt.Error, match=message):
        lt.Kernel("rbf(x)").gram(X)


def test_refused_rows():
    kernel = lt.Kernel("ssk(s) + rbf(x)")
    for X, message in (([("a", 1), ("b",)], r"X\[1\] .*length 1"), (["a", "b"], "reads 2 columns"),
                       ([("a", 1), ("b", "c")], r"X\['x'\]"),
                       ({"s": ["a"], "x": [1, 2]}, "inconsistent numbers")):
        with pytest.raises(lt.Error, match=message):
            kernel.gram(X)


def test_sparse_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    for kind in (sparse.csr_matrix, sparse.dok_matrix):
        with pytest.raises(TypeError, match="sparse"):
            lt.Kernel("linear(f*)").gram(kind(np.eye(2)))


# ---- Columns of frames ----

def _frame(kind, columns):
    if kind == "dict":
        return dict(columns)
    if kind == "rows":
        return [dict(zip(columns, row)) for row in zip(*columns.values())]
    return pytest.importorskip(kind).DataFrame(columns)


@pytest.mark.parametrize("kind", ["pandas", "polars", "dict", "rows"])
def test_columns_that_are_not_read_may_be_missing(kind, texts, scores):
    size = [float(len(t)) for t in texts]
    whole = {"id": list(range(len(texts))), "text": texts, "size": size, "note": ["x"] * len(texts)}
    model = lt.GPRegressor("ssk(text, order=2) + rbf(size)", restarts=0, max_iter=5, n_jobs=1)
    model.fit(_frame(kind, whole), scores)
    if kind in ("pandas", "polars"):
        assert list(model.feature_names_in_) == list(whole) and model.n_features_in_ == 4
    expected = model.predict(_frame(kind, whole))
    for names in (["text", "size"], ["size", "text"], ["note", "size", "id", "text"],
                  ["text", "size", "other"]):
        part = {name: whole.get(name, size) for name in names}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(model.predict(_frame(kind, part)), expected)
    near = {"text": texts, "sise": size}
    with pytest.raises(lt.Error, match='"size".*; did you mean "sise"'):
        model.predict(_frame(kind, near))


def test_an_array_has_the_columns_of_the_frame(texts, scores):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"f2": np.arange(24.0) % 5, "f1": np.arange(24.0)})
    model = lt.GPRegressor("rbf(f1) + linear(f2)", restarts=0, n_jobs=1).fit(frame, scores)
    with pytest.warns(UserWarning, match="feature names"):
        found = model.predict(frame.to_numpy())
    np.testing.assert_array_equal(found, model.predict(frame))
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="X has 3 features"):
        model.predict(np.zeros((2, 3)))


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), "pandas.NA"])
@pytest.mark.parametrize("row", [0, 3])
def test_a_missing_text_is_named(missing, row, texts):
    if missing == "pandas.NA":
        missing = pytest.importorskip("pandas").NA
    rows = texts[:5]
    rows[row] = missing
    named = str(missing).replace("nan", "NaN")
    kernel = lt.Kernel("ssk(text)")
    with pytest.raises(lt.Error, match=rf"^X\[{row}\] is {named}: a text is missing") as caught:
        kernel.gram(rows)
    assert (caught.value.line, caught.value.status) == (row + 1, "EFORMAT")
    with pytest.raises(lt.Error, match=rf"^X\['text'\]\[{row}\] is {named}: a text is missing"):
        kernel.gram({"text": rows, "other": rows})
    with pytest.raises(lt.Error, match=rf"^X\['n'\]\[1\] is None: a number is missing"):
        lt.Kernel("rbf(n)").gram({"n": np.array([1.5, None, 2], dtype=object)})


def test_generators_are_read_once(texts, scores):
    model = lt.GPRegressor("ssk(text, order=2)", learn=False, n_jobs=1)
    model.fit((t for t in texts), scores)
    np.testing.assert_array_equal(model.predict(t for t in texts), model.predict(texts))
