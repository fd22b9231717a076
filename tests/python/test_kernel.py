"""Kernel: Gram matrices, gradients, parameters, and scikit-learn's protocol."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import luthier as lt

BITES = ["the dog bit the man", "the man bit the dog", "the dog bit a man", "rain is expected"]


def test_known_values():
    assert lt.Kernel("ssk(s, units=chars, order=3, gap=0.5)").gram(["abcab"], ["bcaac"]) == 13.5
    K = lt.Kernel("normalize(ssk(text, order=3))").gram(BITES)
    assert K.shape == (4, 4) and (K == K.T).all()
    np.testing.assert_allclose(K[0], [1, 0.662, 0.599, 0], atol=5e-4)


def test_orders_and_pull(texts):
    kernel = lt.Kernel("ssk(text, order=3, weights=[1,2,3])")
    per_order = kernel.gram(texts, orders=True)
    assert per_order.shape == (3, len(texts), len(texts))
    K, dK = kernel.gram(texts, texts[:5], gradients=True)
    np.testing.assert_allclose(np.tensordot([1, 2, 3], per_order, 1)[:, :5], K, rtol=1e-12)
    W = np.random.default_rng(3).normal(size=K.shape)
    np.testing.assert_allclose(kernel.pull(W, texts, texts[:5]), (W * dK).sum(axis=(1, 2)))
    np.testing.assert_array_equal(kernel.diag(texts), np.diag(kernel.gram(texts)))
    with pytest.raises(lt.Error, match="shape"):
        kernel.pull(W.T, texts, texts[:5])


def test_gradients_by_differences(texts):
    kernel, step = lt.Kernel("normalize(ssk(text, order=2, gap=0.4))"), 1e-6
    K, dK = kernel.gram(texts, gradients=True)
    for i, (path, value) in enumerate(kernel.parameters.items()):
        up, down = (kernel.with_values(**{path: value + d}).gram(texts) for d in (step, -step))
        np.testing.assert_allclose((up - down) / (2 * step), dK[i], atol=1e-7)


def test_theta_has_free_parameters_with_ties_as_one(texts):
    kernel = lt.Kernel("ssk(text, order=2, gap=$l=0.5, match=$l, weights=[1!,2])")
    assert kernel.n_dims == 2 and len(kernel.hyperparameters) == 2
    np.testing.assert_allclose(np.exp(kernel.theta), [0.5, 2])
    K, grad = kernel(texts, eval_gradient=True)
    assert grad.shape == (*K.shape, 2)
    for j in range(2):
        step = np.eye(2)[j] * 1e-6
        up, down = (kernel.clone_with_theta(kernel.theta + s)(texts) for s in (step, -step))
        np.testing.assert_allclose((up - down) / 2e-6, grad[:, :, j], atol=1e-6)


def test_theta_setter_changes_the_expression():
    kernel = lt.Kernel("ssk(text, order=1)")
    kernel.theta = np.log([0.25, 3])
    assert kernel.parameters == {"ssk.gap": 0.25, "ssk.match": 1, "ssk.weights[1]": pytest.approx(3)}
    again = lt.Kernel(**kernel.get_params())
    assert again == kernel and again.gram(["a b"]) == kernel.gram(["a b"])
    assert kernel != lt.Kernel("ssk(text, order=1)")
    with pytest.raises(lt.Error, match="2 entries"):
        kernel.theta = [0.0]


def test_a_kernel_can_be_copied(texts):
    kernel = lt.Kernel("ssk(text, order=2)", n_jobs=1)
    K = kernel(texts)
    for other in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        assert other == kernel
        np.testing.assert_array_equal(other(texts), K)
    assert repr(kernel) == "Kernel('ssk(text, order=2)')"
    assert kernel.set_params(expression="ssk(text, order=1)").gram(["a"]) == 1


def test_mistakes_in_expressions():
    with pytest.raises(lt.Error) as caught:
        lt.Kernel("ssk(text, oder=3)").gram(["a"])
    assert (caught.value.status, caught.value.column) == ("EFORMAT", 11)
    assert str(caught.value).endswith("\n  ssk(text, oder=3)\n            ^")
    for wrong in (None, 3, "ssk(te\0xt)", "ssk(\ud800)", ""):
        with pytest.raises(lt.Error):
            lt.Kernel(wrong).gram(["a"])
    with pytest.raises(lt.Error, match="precision"):
        lt.Kernel("ssk(text)", precision="half").gram(["a"])
    for wrong in (0, 1.5, "2", True):
        with pytest.raises(lt.Error, match="n_jobs"):
            lt.Kernel("ssk(text)", n_jobs=wrong).gram(["a"])


def test_threads_and_precision(texts):
    one = lt.Kernel("ssk(text)", n_jobs=1).gram(texts)
    np.testing.assert_array_equal(one, lt.Kernel("ssk(text)", n_jobs=2).gram(texts))
    np.testing.assert_array_equal(one, lt.Kernel("ssk(text)", n_jobs=-1).gram(texts))
    single = lt.Kernel("ssk(text)", precision="single").gram(texts)
    np.testing.assert_allclose(single, one, rtol=1e-5)


def test_word_vectors(texts, vectors_file):
    kernel = lt.Kernel("normalize(ssk(text, order=2, sim=exp))", vectors=vectors_file)
    K = kernel.gram(texts)
    assert np.linalg.eigvalsh(K).min() > -1e-9 and (K > 0).all()
    np.testing.assert_array_equal(kernel.gram(texts), K)  # from what was kept
    with pytest.raises(lt.Error):
        lt.Kernel("ssk(text, sim=dot)", vectors="no such file").gram(texts)
    with pytest.raises(lt.Error):
        lt.Kernel("ssk(text, sim=dot)").gram(texts)


def test_symbols_of_trees(trees):
    kernel = lt.Kernel("sstk(tree, symbols=all)")
    resolved = kernel.resolve(trees)
    assert "sstk.decay[NP]" in resolved.parameters
    np.testing.assert_array_equal(kernel.gram(trees), resolved.gram(trees))
    np.testing.assert_array_equal(kernel.gram(trees, trees[:3]), resolved.gram(trees)[:, :3])
    with pytest.raises(lt.Error) as caught:
        lt.Kernel("sstk(tree)").gram([trees[0], "(S (NP x)"])
    assert (caught.value.line, caught.value.column) == (2, 1)
    assert str(caught.value).startswith("X[1], character 1: ")


def test_tasks(texts):
    """Their weights may be negative, and are then no logarithms in theta."""
    X = {"text": texts, "task": ["joy" if i % 3 else "fear" for i in range(len(texts))]}
    kernel = lt.Kernel("coregion(task, rank=1) * normalize(ssk(text, order=2))")
    resolved = kernel.resolve(X).with_values(**{"coregion.w[joy,1]": -0.5})
    assert list(resolved.parameters)[:4] == ["coregion.w[fear,1]", "coregion.w[joy,1]",
                                             "coregion.own[fear]", "coregion.own[joy]"]
    np.testing.assert_array_equal(kernel.gram(X), kernel.resolve(X).gram(X))
    assert resolved.theta[1] == -0.5 and tuple(resolved.bounds[1]) == (-1e4, 1e4)
    K, slopes = resolved(X, eval_gradient=True)
    for j in range(len(resolved.theta)):
        step = 1e-5 * (np.arange(len(resolved.theta)) == j)
        more = resolved.clone_with_theta(resolved.theta + step)(X)
        less = resolved.clone_with_theta(resolved.theta - step)(X)
        np.testing.assert_allclose(slopes[:, :, j], (more - less) / 2e-5, atol=1e-8)
    with pytest.raises(lt.Error, match='unknown task "calm"; the model knows fear, joy'):
        resolved.gram({"text": texts[:1], "task": ["calm"]})


def test_frequencies_are_those_of_the_training_rows(texts):
    """What scikit-learn calls Y sets the weights of rare words, also for diag."""
    kernel = lt.Kernel("ssk(text, order=1, rarity=0.01)")
    both = kernel(texts)
    np.testing.assert_allclose(kernel(texts[:3], texts), both[:3])
    np.testing.assert_allclose(kernel.diag(texts[:3]), np.diag(both)[:3])


def test_a_library_that_is_not_there():
    program = "import luthier"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "LUTHIER_LIBRARY": "/no/such/library.so"})
    assert done.returncode == 1
    assert "luthier cannot load its library" in done.stderr and "/no/such/library.so" in done.stderr


def test_a_list_that_changes_in_place():
    kernel, rows = lt.Kernel("ssk(text, units=chars)"), ["abab", "bcab"]
    kernel.gram(rows)
    rows[0] = "cccc"
    assert np.array_equal(kernel.gram(rows), lt.Kernel("ssk(text, units=chars)").gram(rows))


# ---- Sums and products ----

def _texts_and_numbers():
    return {"text": ["the dog", "a dog", "the cat", ""], "f1": np.arange(4.0)}


@pytest.mark.parametrize("make, expression", [
    (lambda a, b: a + b, "ssk(text, order=2) + rbf(f1) + 0.5"),
    (lambda a, b: b * a, "(rbf(f1) + 0.5) * ssk(text, order=2)"),
    (lambda a, b: 2 * b, "2.0 * (rbf(f1) + 0.5)"),
    (lambda a, b: a * 2, "2.0 * ssk(text, order=2)"),
    (lambda a, b: a + 1, "ssk(text, order=2) + 1.0"),
    (lambda a, b: np.float64(3) + a, "3.0 + ssk(text, order=2)"),
    (lambda a, b: sum([a, a, b]), "ssk(text, order=2) + ssk(text, order=2) + rbf(f1) + 0.5"),
])
def test_operators_give_one_kernel(make, expression):
    a, b = lt.Kernel("ssk(text, order=2)"), lt.Kernel("rbf(f1) + 0.5", n_jobs=1)
    X, found = _texts_and_numbers(), make(a, b)
    assert type(found) is lt.Kernel and found.expression == expression
    K = {"a": a.gram(X), "b": b.gram(X)}
    expected = make(K["a"], K["b"])
    np.testing.assert_allclose(found.gram(X), expected, rtol=1e-13)


def test_operators_keep_the_other_arguments():
    a = lt.Kernel("ssk(text)", precision="single")
    assert (a + lt.Kernel("bow(text)", n_jobs=2)).get_params() == {
        **a.get_params(), "expression": "ssk(text) + bow(text)", "n_jobs": 2}
    assert (3 * a).precision == "single"
    with pytest.raises(lt.Error, match="different n_jobs: 1 and 2"):
        lt.Kernel("ssk(a)", n_jobs=1) * lt.Kernel("ssk(b)", n_jobs=2)
    for wrong in (lambda: a + "ssk(b)", lambda: None * a, lambda: a + True):
        with pytest.raises(TypeError):
            wrong()


def test_estimators_take_sums(texts, scores):
    kernel = lt.Kernel("ssk(text, order=2)") + 0.5 * lt.Kernel("linear(bow(text))")
    model = lt.GPRegressor(kernel, restarts=0, n_jobs=1).fit(texts, scores)
    as_text = lt.GPRegressor(kernel.expression, restarts=0, n_jobs=1).fit(texts, scores)
    assert model.log_evidence_ == as_text.log_evidence_ and "variance" in model.hyperparameters_


def test_values_of_lists():
    kernel = lt.Kernel("ssk(text, order=2)")
    assert kernel.with_values(**{"ssk.weights": np.array([1, 0.5]), "ssk.gap": 0.25}).expression == \
        "ssk(text, order=2, gap=0.25, weights=[1,0.5])"
    assert kernel.with_values(**{"ssk.weights": {2: 0.25}}).parameters["ssk.weights[2]"] == 0.25
    trees = lt.Kernel("sstk(tree, symbols=[NP,VP])").with_values(**{"sstk.decay": {"NP": 0.3}})
    assert trees.parameters["sstk.decay[NP]"] == 0.3 and trees.parameters["sstk.decay[VP]"] == 0.4
    for values, message in (({"ssk.weights": [1]}, "2 values, not 1"),
                            ({"ssk.gap": [1]}, "ssk.gap is no list"),
                            ({"ssk.gap": "x"}, "wants a number, not 'x'"),
                            ({"ssk.weights": {"NP": 1}}, "no parameter"),
                            ({"ssk.gp": 1}, 'did you mean "ssk.gap"')):
        with pytest.raises(lt.Error, match=message):
            kernel.with_values(**values)
