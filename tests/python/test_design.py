"""Which rows to measure next: proposals, searches in spaces, campaigns."""

import itertools
import pickle
import threading

import numpy as np
import pytest

import luthier as lt

LETTERS, LENGTH = "ACDE", 4
POOL = ["".join(letters) for letters in itertools.product(LETTERS, repeat=LENGTH)]
SITES = np.random.default_rng(3).normal(size=(LENGTH, len(LETTERS)))
SPACE = "alphabet=ACDE, length=4"
QUICK = {"restarts": 0, "max_iter": 30, "n_jobs": 1}


def measured(texts):
    """A landscape of sites, and of one pair of them."""
    at = np.array([[LETTERS.index(letter) for letter in text] for text in texts])
    return SITES[np.arange(LENGTH), at].sum(axis=1) + 2.0 * ((at[:, 0] == 1) & (at[:, 3] == 2))


BEST = POOL[int(np.argmax(measured(POOL)))]


@pytest.fixture(scope="module")
def first():
    return list(np.random.default_rng(1).permutation(POOL)[:24])


@pytest.fixture(scope="module")
def gp(first):
    return lt.GPRegressor("sites(text)", **QUICK).fit(first, measured(first))


@pytest.fixture(scope="module")
def classifier(first):
    return lt.GPClassifier("sites(text)", **QUICK).fit(first, measured(first) > 0)


def design(**options):
    how = {"candidates": POOL} if not {"candidates", "space"} & options.keys() else {}
    return lt.Design("sites(text)", **{**QUICK, **how, **options})


# ---- propose -------------------------------------------------------------------------------------

def test_propose(gp, first):
    found = lt.propose(gp, POOL, 8)
    assert len(found) == 8 and found.kind == "logei" and found.batch != "auto"
    assert found.objectives == {"y": "max"}
    assert found.X == [POOL[i] for i in found.index] and len(set(found.X)) == 8
    assert not set(found.X) & set(first)
    mean, sd = gp.predict(found.X, return_std=True, latent=True)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(found.sd, sd, rtol=1e-5)
    edits = [sum(a != b for a, b in zip(x, first[near])) for x, near in zip(found.X, found.nearest)]
    assert found.distance.min() >= 1 and (found.distance <= edits).all()
    assert found[0].x == found.X[0] and found[-1].mean == found.mean[-1]
    assert found.means.shape == (8, 1) and list(found.mutations) == [-1] * 8
    assert found.X[0] in repr(found) and "8 proposals by logei" in repr(found)
    again = lt.propose(gp, POOL, 8)
    np.testing.assert_array_equal(found.index, again.index)


def test_greedy_is_the_best_mean(gp, first):
    rest = [text for text in POOL if text not in first]
    mean = gp.predict(rest, latent=True)
    order = np.argsort(-mean)[:3]
    found = lt.propose(gp, rest, 3, acquisition="greedy", batch="top")
    assert set(found.index) == set(order)
    least = lt.propose(gp, rest, 1, acquisition="greedy", maximize=False)
    assert least.index[0] == np.argmin(mean) and least.objectives == {"y": "min"}


def test_options_of_propose(gp, classifier):
    every = lt.propose(gp, POOL, 1000, acquisition="ucb", batch="top", repeats=True)
    assert len(every) == len(POOL)
    best = lt.propose(gp, POOL, 1)
    others = lt.propose(gp, POOL, 4, pending=best.X)
    assert best.X[0] not in others.X
    apart = lt.propose(gp, POOL, 4, distance=3).X
    assert all(sum(a != b for a, b in zip(x, y)) >= 3 for x, y in itertools.combinations(apart, 2))
    cost = np.where(np.arange(len(POOL)) == best.index[0], 1e6, 1.0)
    cheap = lt.propose(gp, POOL, 1, acquisition="ei", cost=cost)
    assert cheap.index[0] != best.index[0] and cheap.cost[0] == 1
    likely = lt.propose(gp, POOL, 3, acquisition="ei", feasible=classifier, feasible_class=False)
    np.testing.assert_allclose(likely.feasible, classifier.predict_proba(likely.X)[:, 0], rtol=1e-6)
    bounded = lt.propose(gp, POOL, 3, acquisition="ei", feasible=gp, feasible_range=(None, 0.0))
    assert (bounded.feasible < 1).all()


def test_several_objectives(first):
    y = np.column_stack([measured(first), -2 * measured(first)])
    both = lt.GPRegressor("sites(text)", **QUICK).fit(first, y)
    goal = {"y1": "max", "y2": "max"}
    front = lt.propose(both, POOL, 2, objectives=goal)
    assert front.objectives == goal and front.means.shape == (2, 2)
    high = lt.propose(both, POOL, 1, objectives=goal, weights={"y1": 1.0, "y2": 1e-6},
                      acquisition="greedy")
    single = lt.propose(both, POOL, 1, objectives=["y1"], acquisition="greedy")
    assert high.X == single.X
    with pytest.raises(lt.Error, match="weights"):
        lt.propose(both, POOL, 1, objectives=goal, weights=[1.0])
    with pytest.raises(lt.Error, match="max"):
        lt.propose(both, POOL, 1, objectives={"y1": "most"})


@pytest.mark.parametrize("acquisition", ["entropy", "bald", "margin"])
def test_labels_to_learn(classifier, acquisition):
    found = lt.propose(classifier, POOL, 4, acquisition=acquisition)
    assert found.kind == acquisition and len(set(found.X)) == 4
    p = classifier.predict_proba(found.X)
    np.testing.assert_allclose(found.mean, p.max(axis=1), rtol=1e-6)
    assert [bool(label) for label in found.label] == list(p[:, 1] > 0.5)
    if acquisition != "bald":
        p = classifier.predict_proba(POOL).max(axis=1)
        assert found.mean[0] < np.quantile(p, 0.1)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_propose_rows_of_other_forms(first):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": POOL, "size": np.arange(1, len(POOL) + 1) / 100, "name": "x"})
    train = frame[frame["text"].isin(first)]
    gp = lt.GPRegressor("sites(text) + rbf(size)", **QUICK).fit(train, measured(train["text"]))
    found = lt.propose(gp, frame, 5, cost="size")
    assert list(found.X["text"]) == [POOL[i] for i in found.index]
    assert found.cost == pytest.approx((found.index + 1) / 100)
    table = found.to_frame()
    assert list(table.columns[:4]) == ["text", "size", "name", "index"] and len(table) == 5
    columns = {"text": POOL, "size": frame["size"].to_numpy()}
    assert lt.propose(gp, columns, 5, cost="size").X["text"] == list(found.X["text"])


def test_what_is_wrong_with_propose(gp):
    with pytest.raises(lt.Error, match="acquisition wants one of .*logei.*not 'best'"):
        lt.propose(gp, POOL, 3, acquisition="best")
    with pytest.raises(lt.Error, match="batch wants"):
        lt.propose(gp, POOL, 3, batch="all")
    with pytest.raises(lt.Error, match="k wants"):
        lt.propose(gp, POOL, 0)
    with pytest.raises(lt.Error, match="entropy|labels"):
        lt.propose(gp, POOL, 3, acquisition="entropy")
    with pytest.raises(lt.Error):
        lt.propose(gp, [1.0, 2.0], 1)
    with pytest.raises(lt.NotFittedError):
        lt.propose(lt.GPRegressor("sites(text)"), POOL, 1)
    with pytest.raises(lt.Error, match="fitted models"):
        lt.propose("model", POOL, 1)


# ---- Spaces --------------------------------------------------------------------------------------

def test_space():
    space = lt.Space(SPACE)
    assert "ACDE" in space and "ACDF" not in space and "ACD" not in space
    assert space.why_not("ACDE") is None and isinstance(space.why_not("AC"), str)
    some = space.sample(20, random_state=2)
    assert len(set(some)) == 20 and all(text in space for text in some)
    assert some == space.sample(20, random_state=2) != space.sample(20, random_state=3)
    assert sorted(space.sample(1000)) == POOL
    assert pickle.loads(pickle.dumps(space)).rule == SPACE
    with pytest.raises(lt.Error):
        lt.Space("alphabet=")


def test_search(gp):
    found = lt.search(gp, SPACE, 4, evaluations=2000)
    assert len(set(found.X)) == 4 and set(found.X) <= set(POOL)
    assert found.mean.max() > np.quantile(gp.predict(POOL), 0.95)
    seen = []

    def valid(texts):
        seen.extend(texts)
        return [not text.startswith("C") for text in texts]

    allowed = lt.search(gp, lt.Space(SPACE), 4, evaluations=500, valid=valid)
    assert seen and not any(text.startswith("C") for text in allowed.X)


def test_what_goes_wrong_in_valid(gp):
    with pytest.raises(ZeroDivisionError):
        lt.search(gp, SPACE, 2, evaluations=200, valid=lambda texts: 1 / 0)
    with pytest.raises(lt.Error, match="True or False"):
        lt.search(gp, SPACE, 2, evaluations=200, valid=lambda texts: [True])
    with pytest.raises(lt.Error, match="a copy"):
        lt.search(gp, SPACE, 2, evaluations=200, valid=lambda texts: gp.predict(texts) > 0)
    copy = pickle.loads(pickle.dumps(gp))
    lt.search(gp, SPACE, 2, evaluations=200, valid=lambda texts: copy.predict(texts) > -9)


def test_threads_take_turns(gp, classifier):
    found = []

    def work(models):
        found.append(lt.propose(models[0], POOL, 2, acquisition="ei", feasible=models[1],
                                feasible_range=None if models[1] is classifier else (None, 9.0)))

    other = pickle.loads(pickle.dumps(gp))
    threads = [threading.Thread(target=work, args=(pair,)) for pair in
               ((gp, other), (other, gp), (gp, classifier), (other, classifier))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 4


def test_threads_share_a_design():
    d, seen = design(), []

    def work():
        X = d.ask(5)
        d.tell(X, measured(X))
        seen.extend(X)
        assert d.best is not None and len(d.rows) >= 5 and d.status["measured"] >= 5

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(set(seen)) == 20 == d.status["measured"]


# ---- Campaigns -----------------------------------------------------------------------------------

def test_finds_the_best_before_chance_does():
    d = design()
    for _ in range(5):
        X = d.ask(8)
        d.tell(X, measured(X))
    assert d.best[0] == BEST and d.best[1] == pytest.approx(measured([BEST])[0])
    assert d.status["rounds"] == 5 and d.status["measured"] == 40 and d.status["pending"] == 0
    # By chance 40 of 256 rows have the best one in one case of six.
    assert len(set(d.rows["text"])) == 40


def test_rounds_of_a_space():
    d = design(space=SPACE, evaluations=1000)
    X = d.ask(10)
    assert d.proposals is None and d.model is None and all(x in lt.Space(SPACE) for x in X)
    d.tell(X, measured(X))
    more = d.ask(4)
    assert not set(more) & set(X) and d.proposals.X == more
    mean, sd = d.model.predict(more, return_std=True, latent=True)
    np.testing.assert_allclose(d.proposals.mean, mean, rtol=1e-6)
    kept = d.rows
    np.testing.assert_allclose(kept["mean"][10:], d.proposals.mean)
    assert np.isnan(kept["round"][10:]).all() and np.isnan(kept["y"][10:]).all()


def test_same_seed_same_rows():
    def rounds(seed):
        d, out = design(random_state=seed), []
        for _ in range(2):
            out += (X := d.ask(6))
            d.tell(X, measured(X))
        return out

    assert rounds(5) == rounds(5) != rounds(6)


def test_pending_rows():
    d = design(objective="min")
    X = d.ask(6)
    y = measured(X)
    y[2] = np.nan
    d.tell(X, y)
    assert d.status["measured"] == 5 and d.status["pending"] == 1
    assert d.best[1] == np.nanmin(y)
    assert X[2] not in d.ask(4)
    d.forget([X[2]])
    assert d.status["pending"] == 4
    d.tell(["AAAA"], [0.5])  # nobody asked for it
    assert d.status["measured"] == 6
    with pytest.raises(lt.Error, match="X.0."):
        d.tell(["AAAA"], [0.5])  # told twice
    d.tell(["AAAA"], [0.5], repeats=True)
    assert d.status["measured"] == 7


def test_what_is_wrong_with_rounds():
    d = design()
    X = d.ask(3)
    for y in ([1.0, 2.0], [[1.0, 2.0]] * 3, 1.0):
        with pytest.raises(lt.Error, match="y wants"):
            d.tell(X, y)
    with pytest.raises(lt.Error, match="infinity"):
        d.tell(X, [1.0, np.inf, 2.0])
    with pytest.raises(lt.Error, match="to float"):
        d.tell(X, ["a", "b", "c"])
    with pytest.raises(lt.Error, match="there is no y"):
        d.tell(X, {"z": [1.0, 2.0, 3.0]})
    assert d.status["measured"] == 0 and d.best is None
    with pytest.raises(lt.Error, match="count wants"):
        d.ask(0)
    with pytest.raises(lt.Error, match="one of them"):
        lt.Design("sites(text)")
    with pytest.raises(lt.Error, match="objective wants"):
        design(objective="most")
    with pytest.raises(lt.Error, match="acquisition wants"):
        design(acquisition="best")
    with pytest.raises(TypeError, match="unknown"):
        design(unknown=1)
    with pytest.raises(lt.Error, match="from a file"):
        design(path="folder")
    with pytest.raises(lt.Error, match="no pickle"):
        pickle.dumps(d)


def test_a_folder_goes_on(tmp_path, write_tsv):
    path, pool = tmp_path / "campaign", write_tsv("pool.tsv", text=POOL)
    made = {"candidates": pool, "objective": {"y1": "max", "y2": "min"}}
    d, other = design(path=path, **made), design(**{**made})
    X = d.ask(8)
    assert X == other.ask(8)
    y = {"y1": measured(X), "y2": -measured(X)}
    d.tell(X, y)
    other.tell(X, np.column_stack(list(y.values())))
    del d
    again = lt.Design.open(path, n_jobs=1)
    assert again.objective == made["objective"] and again.columns == ["text"]
    assert again.best == other.best and len(again.best[1]) == 2
    assert again.ask(3) == other.ask(3)
    twin = pickle.loads(pickle.dumps(again))
    assert twin.status["pending"] == 3 and str(path) in repr(twin)
    with pytest.raises(lt.Error):
        design(path=path, **made)
    with pytest.raises(lt.Error):
        lt.Design.open(tmp_path / "none")


def test_the_command_line_goes_on(cli, tmp_path, write_tsv):
    pool, results = write_tsv("pool.tsv", text=POOL), tmp_path / "results.tsv"
    d, other = (design(candidates=pool, path=path) for path in (tmp_path / "lab", None))
    X = d.ask(8)
    other.tell(X, measured(X))
    results.write_text("text\ty\n" + "".join(f"{x}\t{float(y)!r}\n"
                                             for x, y in zip(X, measured(X))))
    cli("design", "tell", "lab", results)
    lines = [line.split("\t") for line in cli("design", "ask", "lab", "-k", 3).splitlines()]
    asked = [dict(zip(lines[0], line))["text"] for line in lines[1:]]
    assert asked == other.ask(3)
    d.forget(asked[:1])  # which reads what the others did
    assert d.status["pending"] == 2 and d.best == other.best

    cli("design", "new", "other", "--from", pool, "--target", "z", "--kernel", "sites(text)",
        "--objective", "z=min")
    opened = lt.Design.open(tmp_path / "other", n_jobs=1)
    assert opened.objective == {"z": "min"} and len(opened.ask(4)) == 4


def test_candidates_of_a_frame(first):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": np.linspace(0, 1, len(POOL)), "text": POOL, "price": 1.0})
    d = lt.Design("sites(text) + rbf(size)", candidates=frame, cost="price", **QUICK)
    X = d.ask(6)
    assert isinstance(X, pd.DataFrame) and list(X.columns) == list(frame.columns)
    d.tell(X, measured(X["text"]))
    more = d.ask(2)
    assert more.equals(frame.loc[more.index]) and not set(more.index) & set(X.index)
    x, y = d.best
    assert set(x) == {"text", "size"} and y == measured(X["text"]).max()


def test_rows_of_several_columns(write_tsv):
    points = np.random.default_rng(1).uniform(size=(30, 2))
    d = lt.Design("rbf(f*)", candidates=points, **QUICK)
    X = d.ask(5)
    assert X.shape == (5, 2) and all((points == x).all(axis=1).any() for x in X)
    d.tell(X, X[:, 0])
    assert d.ask(2).shape == (2, 2)
    assert d.best == ({"f1": X[:, 0].max(), "f2": X[X[:, 0].argmax(), 1]}, X[:, 0].max())
    file = write_tsv("points.tsv", f1=points[:, 0], f2=points[:, 1])
    rows = lt.Design("rbf(f1..f2)", candidates=file, **QUICK).ask(5)
    assert [list(row.values()) for row in rows] == X.tolist() and list(rows[0]) == ["f1", "f2"]


def test_labels_are_learned(tmp_path, write_tsv):
    path, pool = tmp_path / "labels", write_tsv("pool.tsv", text=POOL)
    d = design(objective="label", candidates=pool, path=path)
    for _ in range(3):
        X = d.ask(10)
        d.tell(X, ["high" if y > 0 else "low" for y in measured(X)])
    again = lt.Design.open(path, n_jobs=1)
    for one in (d, again):
        assert one.best is None and set(one.rows["y"]) == {"high", "low"}
        assert one.objective == {"y": "label"}
        assert list(one.model.classes_) == ["high", "low"]
    right = d.model.predict(POOL) == np.where(measured(POOL) > 0, "high", "low")
    assert right.mean() > 0.75 and d.proposals.kind == "bald"
    X = d.ask(2)
    d.tell(X, ["low", None])
    assert d.status["pending"] == 1 and d.rows["y"].iloc[-1] == ""
    with pytest.raises(lt.Error, match="labels"):
        d.plot()


def test_what_can_be_measured(tmp_path, classifier):
    def valid(texts):
        return [text[0] != "C" for text in texts]

    path = tmp_path / "valid"
    d = design(space=SPACE, path=path, valid=valid, evaluations=500, feasible=classifier,
               feasible_class=True)
    X = d.ask(20)
    d.tell(X, measured(X))
    assert not any(text[0] == "C" for text in d.ask(6))
    assert (d.proposals.feasible < 1).all()
    again = lt.Design.open(path, valid=valid, feasible=classifier, n_jobs=1)
    assert not any(text[0] == "C" for text in again.ask(6))
    assert (again.proposals.feasible < 1).all()
    with pytest.raises(lt.Error, match="begun with valid"):
        lt.Design.open(path, feasible=classifier)
    broken = lt.Design.open(path, feasible=classifier, valid=lambda texts: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        broken.ask(2)
    assert broken.status == again.status


def test_pictures():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    d = design()
    with pytest.raises(lt.Error, match="nothing was measured"):
        d.plot()
    for _ in range(2):
        X = d.ask(6)
        d.tell(X, measured(X))
    axes = d.plot()
    assert len(axes) == 3 and axes[0].get_xlabel() == "round"
    reached = axes[0].lines[0].get_ydata()
    assert len(reached) == 2 and reached[-1] == d.best[1]
    assert lt.plot.rounds(d, axes[1], target="y") is axes[1]
    pyplot.close("all")
