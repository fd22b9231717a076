"""luthier.torch: Gram matrices under PyTorch's automatic differentiation."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import luthier as lt  # noqa: E402
import luthier.torch as lt_torch  # noqa: E402

WORDS = ["abab", "bcab", "cabba", "acaca", "bb"]
OTHERS = ["abba", "cdab", "dd"]
ALIGNED = ["abca", "abcb", "bbca", "cacb"]
TREES = ["(S (NP a) (VP b))", "(S (NP c) (VP b))", "(S (NP c) (VP (V b) (NP a)))"]
NUMBERS = np.random.default_rng(1).normal(size=(5, 2))


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.mark.parametrize("expression, rows, others", [
    ("ssk(text, units=chars, order=3, gap=0.3, weights=[1,2,0.5])", WORDS, OTHERS),
    ("normalize(ssk(text, units=chars, order=2, gap=0.3)) * 2 + 0.5", WORDS, OTHERS),
    ("ssk(text, units=chars, order=2, gap=$g) + ngrams(text, units=chars)", WORDS, OTHERS),
    ("sites(text)", ALIGNED, ALIGNED[:2]),
    ("normalize(sstk(tree, symbols=all))", TREES, TREES[1:]),
    ("rbf(f1, lengthscale=2) + linear(scale(f2))", NUMBERS, NUMBERS[:3] + 1),
    ("normalize(ssk(a, units=chars, order=2)) * rbf(b)", list(zip(WORDS, range(5))),
     list(zip(OTHERS, range(3)))),
])
def test_values_and_gradients(expression, rows, others):
    kernel = lt.Kernel(expression, n_jobs=1)
    theta = lt_torch.parameters(kernel, rows).theta
    fresh = lt.Kernel(expression)  # it remembers what the first rows resolved
    assert np.array_equal(lt_torch.gram(kernel, rows), fresh.gram(rows))
    assert np.allclose(lt_torch.gram(kernel, rows, others), fresh.gram(rows, others), rtol=1e-12)
    assert np.allclose(lt_torch.diagonal(kernel, rows), np.diag(fresh.gram(rows)), rtol=1e-12)
    for function in (lambda t: lt_torch.gram(kernel, rows, theta=t),
                     lambda t: lt_torch.gram(kernel, rows, others, t),
                     lambda t: lt_torch.diagonal(kernel, rows, t),
                     lambda t: lt_torch.diagonal(kernel, others, t, reference=rows)):
        assert torch.autograd.gradcheck(function, theta)


def test_parameters_are_those_of_the_kernel():
    kernel = lt.Kernel("ssk(text, units=chars, order=2, gap=0.25, weights=[3,4])")
    p = lt_torch.parameters(kernel)
    assert p.names == ["ssk.gap", "ssk.weights[1]", "ssk.weights[2]"]
    assert p.theta.requires_grad and p.theta.dtype == torch.float64
    assert np.allclose(p.theta.detach(), kernel.theta)
    assert np.allclose(p.natural().detach(), [0.25, 3, 4])
    assert np.allclose(p.raw(p.natural()).detach(), kernel.theta)
    assert np.allclose(torch.stack([p.lower, p.upper]).T, kernel.bounds)
    found = p.kernel(torch.tensor([0.5, 1.0, 2.0]).log())
    assert found.parameters["ssk.gap"] == pytest.approx(0.5)
    assert "ssk.gap=0.25" in repr(p)


def test_parameters_of_what_rows_have():
    assert "sstk.decay[NP]" in lt_torch.parameters("sstk(tree, symbols=all)", TREES).names
    with pytest.raises(lt.Error, match="give rows"):
        lt_torch.parameters("sstk(tree, symbols=all)")
    assert lt_torch.parameters("rbf(f*)", NUMBERS).names == ["rbf.variance", "rbf.lengthscale"]
    assert lt_torch.gram("rbf(f*)", torch.tensor(NUMBERS)).shape == (5, 5)


def test_bounds():
    kernel = "ssk(text, units=chars, order=2)"
    p = lt_torch.parameters(kernel)
    beyond = torch.tensor([0.5, 0.0, 0.0], dtype=torch.float64, requires_grad=True)  # gap is up to 1
    at = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    for theta in (beyond, at):
        lt_torch.gram(kernel, WORDS, theta=theta).sum().backward()
    assert torch.equal(lt_torch.gram(kernel, WORDS, theta=beyond),
                       lt_torch.gram(kernel, WORDS, theta=at))
    assert beyond.grad[0] == 0 and at.grad[0] > 1
    assert p.clamp_(beyond)[0] == 0


def test_single_precision_gives_single_precision():
    theta = lt_torch.parameters("ssk(text, units=chars)").theta.detach().float().requires_grad_()
    K = lt_torch.gram("ssk(text, units=chars)", WORDS, theta=theta)
    assert K.dtype == torch.float32
    K.sum().backward()
    assert theta.grad.dtype == torch.float32 and (theta.grad != 0).any()


def test_weights_need_be_neither_symmetric_nor_contiguous():
    kernel = lt.Kernel("ssk(text, units=chars, order=2)")
    theta = lt_torch.parameters(kernel).theta
    W = torch.randn(5, 5, dtype=torch.float64).T
    (lt_torch.gram(kernel, WORDS, theta=theta) * W).sum().backward()
    want = kernel.pull(W.numpy(), WORDS)[[i[0] for i, _ in kernel._free()]]
    assert np.allclose(theta.grad, want * np.exp(kernel.theta))


def test_values_at_the_time_of_a_call_count():
    kernel = "ssk(text, units=chars, order=2)"
    thetas = [torch.tensor([g, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
              for g in (-2.0, -1.0)]
    values = [lt_torch.gram(kernel, WORDS, theta=t) for t in thetas]
    for value in reversed(values):  # the kernel was set to other values since
        value.sum().backward()
    alone = thetas[0].detach().clone().requires_grad_()
    lt_torch.gram(kernel, WORDS, theta=alone).sum().backward()
    assert torch.equal(thetas[0].grad, alone.grad)


def test_the_reference_sets_what_is_counted():
    rows, reference = ["a b", "b c"], ["a b", "a c", "a d"]
    kernel = lt.Kernel("tfidf(text)")
    across = kernel(rows, reference)  # scikit-learn's training rows are the second
    got = lt_torch.gram("tfidf(text)", rows, reference=reference)
    assert np.allclose(got.diagonal(), kernel.diag(rows))
    assert np.allclose(lt_torch.gram("tfidf(text)", reference, rows).T, across)
    assert not np.allclose(got, lt_torch.gram("tfidf(text)", rows))


def test_word_vectors_of_words_that_come_later(vectors_file, texts):
    kernel = lt.Kernel("ssk(text, order=2, sim=dot)", vectors=vectors_file)
    first, later = texts[:3], ["the poem was good"]
    lt_torch.gram(kernel, first)
    assert np.allclose(lt_torch.gram(kernel, first, later), kernel.gram(first, later))
    vectors_file.rename(vectors_file.with_suffix(".away"))
    try:  # all words of these are known
        got = lt_torch.gram(kernel, first[:2], reference=first)
        with pytest.raises(lt.Error):
            lt_torch.gram(kernel, first, ["the song"])
    finally:
        vectors_file.with_suffix(".away").rename(vectors_file)
    assert np.allclose(got, kernel.gram(first)[:2, :2])


def test_rows_are_encoded_once(monkeypatch):
    made = []
    encode = lt_torch._Items.__init__
    monkeypatch.setattr(lt_torch._Items, "__init__",
                        lambda self, *a: made.append(1) or encode(self, *a))
    kernel = lt.Kernel("ssk(text, units=chars)")
    rows = list(WORDS)
    for _ in range(3):
        lt_torch.gram(kernel, rows, OTHERS)
    assert len(made) == 2
    rows[0] = "cccc"  # in place
    assert np.array_equal(lt_torch.gram(kernel, rows), lt.Kernel("ssk(text, units=chars)").gram(rows))


def test_an_array_that_changes_in_place():
    rows = NUMBERS.copy()
    before = lt_torch.gram("rbf(f1..f2)", rows)
    rows[0] += 1
    after = lt_torch.gram("rbf(f1..f2)", rows)
    assert not torch.equal(before, after)
    assert np.allclose(after, lt.Kernel("rbf(f1..f2)").gram(rows))


def test_no_second_derivatives():
    theta = lt_torch.parameters("ssk(text, units=chars)").theta
    first, = torch.autograd.grad(lt_torch.gram("ssk(text, units=chars)", WORDS, theta=theta).sum(),
                                 theta, create_graph=True)
    with pytest.raises(lt.Error, match="no second ones"):
        first.sum().backward()


@pytest.mark.parametrize("theta, message", [
    (torch.zeros(2, dtype=torch.float64), "6 free hyperparameters"),
    (torch.full((6,), float("nan")), "NaN"),
    (torch.zeros(6, dtype=torch.int64), "floating-point"),
    ([0.0] * 6, "wants a tensor"),
])
def test_bad_theta(theta, message):
    with pytest.raises(lt.Error, match=message):
        lt_torch.gram("ssk(text, units=chars)", WORDS, theta=theta)


def test_bad_rows():
    with pytest.raises(lt.Error, match="no derivatives by rows"):
        lt_torch.gram("rbf(f1..f2)", torch.zeros(3, 2, requires_grad=True))
    with pytest.raises(lt.Error, match="X\\[1\\]"):
        lt_torch.gram("ssk(text)", ["a", 3])
    with pytest.raises(lt.Error, match="column 9"):
        lt_torch.gram("ssk(text", ["a"])
    with pytest.raises(lt.Error, match="a kernel is an expression"):
        lt_torch.gram(["ssk(text)"], ["a"])


def test_a_loop_learns_what_the_regressor_learns(texts, scores):
    kernel = "ssk(text, order=2)"
    gp = lt.GPRegressor(kernel, restarts=0, n_jobs=1).fit(texts, scores)
    y = torch.tensor((scores - scores.mean()) / scores.std())
    p = lt_torch.parameters(kernel)
    noise = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)

    def evidence():
        K = lt_torch.gram(kernel, texts, theta=p.theta)
        K = K + (noise.exp() + 1e-9) * torch.eye(len(y), dtype=K.dtype)
        zero = torch.zeros_like(y)
        return torch.distributions.MultivariateNormal(zero, K).log_prob(y)

    def closure():
        optimiser.zero_grad()
        loss = -evidence()
        loss.backward()
        return loss

    optimiser = torch.optim.LBFGS([p.theta, noise], max_iter=60, line_search_fn="strong_wolfe")
    optimiser.step(closure)
    found = evidence().item() - len(y) * np.log(scores.std())
    assert found == pytest.approx(gp.log_evidence_, abs=0.05)
