"""Reasons: the same as the command line's, adding up, as text and as HTML."""

import json
import math
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import counted_from_one

import luthier as lt

KERNEL = "ssk(text, units=tokens, order=2)"
NEW = ["the film was not good", "the poem was good", "we were late"]


@pytest.fixture(scope="module")
def model(texts, scores):
    return lt.GPRegressor(KERNEL, restarts=0).fit(texts, scores)


@pytest.fixture(scope="module")
def three(scores):
    return np.where(scores > 7, "glad", np.where(scores > 2.5, "so so", "cross"))


def total(x):
    return x.baseline + sum(weight for _, weight in x.tokens) + x.missed


def test_weights_add_up(model):
    mean, sd = model.predict(NEW, return_std=True)
    found = model.explain(NEW)
    assert [x.row for x in found] == [0, 1, 2]
    for i, x in enumerate(found):
        assert x.mean == pytest.approx(mean[i], abs=1e-9)
        assert x.sd == pytest.approx(sd[i], abs=1e-9)
        assert total(x) == pytest.approx(x.mean, abs=1e-9)
        assert x.sd == pytest.approx(math.hypot(x.distance, x.noise))
        assert x.exact and abs(x.missed) < 1e-9 and math.isnan(x.probability)
        assert [text for text, _ in x.tokens] == NEW[i].split()
        assert [NEW[i].encode()[p.first:p.first + p.length].decode() for p in x.parts] == \
            NEW[i].split()
    assert dict(found[0].tokens)["not"] < 0 < dict(found[1].tokens)["good"]
    assert [p.text for p in found[1].parts if not p.seen] == ["poem"]
    assert found[2].distance == pytest.approx(found[2].prior)


def test_what_is_listed(model, texts, scores):
    (x,) = model.explain(NEW[:1], patterns=3, rows=2)
    assert len(x.patterns) == 3 and len(x.rows) == 2
    assert "not good" in [p.text for p in x.patterns]
    pattern = next(p for p in x.patterns if p.text == "not good")
    assert pattern.weight < 0 and pattern.rows == 6 and "not good" in texts[pattern.example]
    assert x.number == x.row + 1 and str(x).startswith(f"row [{x.row}]: ")
    assert (x.least, x.most) == pytest.approx((min(scores), max(scores)))
    for row in x.rows:
        assert row.number == row.row + 1 and f"(row [{row.row}])" in str(x)
        assert row.text == texts[row.row] and row.y == pytest.approx(scores[row.row])
        assert 0 <= row.similarity <= 1 + 1e-12
    (none,) = model.explain(NEW[:1], patterns=0, rows=0)
    assert none.patterns == [] and none.rows == []
    assert model.explain(NEW[:1])[0].tokens == x.tokens


def test_patterns_of_the_model(model):
    found = model.patterns(2)
    assert len(found) == 4
    assert [p.weight for p in found] == sorted((p.weight for p in found), reverse=True)
    assert found[0].weight > 0 > found[-1].weight


def test_as_the_command_line_prints(cli, write_tsv, texts, scores, moods, three, tmp_path):
    tree = ["(S (A a) (B %s))" % ("b" if i % 2 else "c") for i in range(len(texts))]
    table = write_tsv("t.tsv", text=texts, y=scores, mood=list(moods), three=list(three),
                      size=scores ** 2, tree=tree)
    new = write_tsv("new.tsv", text=NEW + ["a\u202eb \x1b[31m good"], size=[1.0, 2.0, 3.5, 40.0],
                    tree=tree[:4])
    rows = {"text": NEW + ["a\u202eb \x1b[31m good"], "size": [1.0, 2.0, 3.5, 40.0],
            "tree": tree[:4]}
    for target, kernel, *more in [
            ("y", KERNEL), ("y", "normalize(ssk(text, order=2)) * rbf(size) + sstk(tree)"),
            ("mood", KERNEL), ("three", KERNEL), ("mood", KERNEL, "--model", "svm"),
            ("y", "normalize(ssk(text))", "--model", "svm")]:
        how = ["--no-learn"] if not more else []
        cli("fit", table, "--target", target, "--kernel", kernel, "-o", "m", "-q", *how, *more)
        m = lt.load(tmp_path / "m")
        text = cli("explain", "m", new, "--color", "never")
        printed = "\n\n".join(map(str, m.explain(rows))) + "\n"
        assert counted_from_one(printed) == text
        assert printed.startswith("row [0]: ") and "row 1" not in printed
        row = json.loads(cli("explain", "m", new, "--row", 1, "--json").splitlines()[0])
        x = m.explain(rows)[0]
        assert [(t["token"], t["weight"]) for t in row["tokens"]] == x.tokens
        assert [(p["pattern"], p["weight"], p["rows"]) for p in row["patterns"]] == \
            [(p.text, p.weight, p.rows) for p in x.patterns]


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.open.append(tag)
        assert not [name for name, _ in attributes if name not in ("style", "title")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html(model):
    hostile = "<script>alert(1)</script> not \u202egood & \x1b[31m \"q\" 'r'"
    for x in model.explain(NEW + [hostile, ""]):
        page = Tags(x._repr_html_())
        assert page.seen <= {"div", "h4", "p", "strong", "span", "table", "thead", "tbody", "tr",
                             "th", "td"}
        assert not set("\u202e\x1b") & set(x._repr_html_())
        assert not set("\u202e\x1b") & set(str(x))
    page = Tags(model.explain([hostile])[0]._repr_html_())
    assert "<script>alert(1)</script> not [U+202E]good & \u241b[31m \"q\" 'r'" in page.text
    assert "<Explanation of row [0]: " in repr(model.explain(NEW[:1])[0])


def test_rows_of_several_columns(texts, scores):
    """Texts come before numbers, wherever the kernel has them; numbers are rounded."""
    sizes = np.arange(1, len(texts) + 1) / 7
    m = lt.GPRegressor("rbf(size) + ssk(text, order=1)", learn=False).fit({"size": sizes, "text": texts}, scores)
    (x,) = m.explain({"size": [0.5], "text": NEW[:1]})
    assert x.rows
    for row in x.rows:
        assert row.text == f"{texts[row.row]} | size {sizes[row.row]:.4g}"


def test_patterns_below_rounding(texts, scores):
    """An order whose weight is nothing beside the others has no patterns worth a line."""
    def lightest(weight):
        m = lt.GPRegressor(f"ssk(text, order=2, weights=[{weight}, 1])", learn=False).fit(texts, scores)
        found = m.explain(NEW[:1], patterns=100)[0].patterns + m.patterns(100)
        return min(abs(p.weight) for p in found), [p for p in found if " " not in p.text]

    weight, single = lightest(1e-24)
    assert weight > 1e-14 and not single
    assert lightest(1e-3)[1]


def test_several_targets(texts, scores):
    m = lt.GPRegressor(KERNEL, learn=False).fit(texts, np.stack([scores, -scores], axis=1))
    first, second = m.explain(NEW[:1])[0], m.explain(NEW[:1], target=1)[0]
    assert first.mean == pytest.approx(-second.mean)
    np.testing.assert_allclose([w for _, w in first.tokens], [-w for _, w in second.tokens],
                               atol=1e-12)
    with pytest.raises(lt.Error, match="target wants a number below 2, not 2"):
        m.explain(NEW, target=2)


def test_classes_of_a_gaussian_process(texts, moods, three):
    m = lt.GPClassifier(KERNEL, learn=False).fit(texts, moods)
    p = m.predict_proba(NEW[:2])
    for x, row, label in zip(m.explain(NEW[:2]), p, m.predict(NEW[:2])):
        assert x.label == label and x.probability == pytest.approx(row.max())
        assert total(x) == pytest.approx(x.mean, abs=1e-9) and x.rows[0].y in ("glad", "cross")
    glad, cross = m.explain(NEW[:1], "glad")[0], m.explain(NEW[:1], "cross")[0]
    assert glad.mean == pytest.approx(-cross.mean)
    assert m.patterns(1)[0].weight == pytest.approx(m.patterns(1, "glad")[0].weight)
    with pytest.raises(lt.Error, match="target wants a class, one of cross, glad; not 'sad'"):
        m.explain(NEW, "sad")
    several = lt.GPClassifier(KERNEL, learn=False).fit(texts, three)
    assert [x.label for x in several.explain(NEW)] == list(several.predict(NEW))
    with pytest.raises(lt.Error, match="which class"):
        several.patterns()
    assert several.patterns(1, "so so")


def test_labels_that_are_numbers(texts, scores):
    y = np.where(scores > 5, 2, 10)  # as texts they are in another order
    for m in (lt.GPClassifier(KERNEL, learn=False), lt.SVC(KERNEL)):
        m.fit(texts, y)
        assert m.explain(NEW[:1], 10)[0].label in ("2", "10")
    assert lt.GPClassifier(KERNEL, learn=False).fit(texts, y).explain(NEW[:1], 2)[0].label == "2"


def test_support_vector_machines(texts, scores, moods, three):
    m = lt.SVC("normalize(ssk(text, order=2))").fit(texts, moods)
    for x, value in zip(m.explain(NEW), m.decision_function(NEW)):
        assert abs(x.mean) == pytest.approx(abs(value)) and math.isnan(x.sd)
        assert total(x) == pytest.approx(x.mean, abs=1e-9)
    rest = lt.SVC("normalize(ssk(text, order=2))").fit(texts, three)
    for x, label, values in zip(rest.explain(NEW), rest.predict(NEW), rest.decision_function(NEW)):
        assert x.label == label and x.mean == pytest.approx(max(values))
    several = lt.SVC("normalize(ssk(text, order=2))", multi_class="ovo").fit(texts, three)
    values = several.predict(NEW)
    for x, label in zip(several.explain(NEW), values):
        assert label in (x.label, x.against)
    pair = several.explain(NEW[:1], ("so so", "glad"))[0]
    assert {pair.label, pair.against} == {"so so", "glad"}
    assert several.patterns(1, ("so so", "glad"))
    with pytest.raises(lt.Error, match="which pair"):
        several.patterns(1, "glad")
    r = lt.SVR("normalize(ssk(text, order=2))").fit(texts, scores)
    assert r.explain(NEW[:1])[0].mean == pytest.approx(r.predict(NEW[:1])[0])
    many = lt.SVC("linear(bow(text))").fit(texts, np.stack([moods == "glad", scores > 3], 1) * 1)
    assert many.explain(NEW[:2])[0].rows


def test_vectors_and_numbers_in_memory():
    rng = np.random.default_rng(1)
    vectors = [rng.normal(size=(3 + i % 4, 5)).astype(np.float32) for i in range(20)]
    size = rng.uniform(size=(20, 2))
    m = lt.GPRegressor("ssk(text, sim=cosine, order=2) + rbf(f*)", learn=False)
    m.fit({"text": vectors, "f": size}, [v.mean() for v in vectors])
    X = {"text": vectors[5:8], "f": size[5:8]}
    for i, (x, mean) in enumerate(zip(m.explain(X), m.predict(X))):
        assert x.mean == pytest.approx(mean) and total(x) == pytest.approx(mean, abs=1e-9)
        assert len(x.tokens) == len(X["text"][i]) + 2
        assert [text for text, _ in x.tokens][-2:] == ["f1", "f2"]


def test_mistakes(model):
    with pytest.raises(lt.NotFittedError):
        lt.GPRegressor().explain(NEW)
    with pytest.raises(lt.NotFittedError):
        lt.GPRegressor().patterns()
    with pytest.raises(lt.Error, match="patterns wants a whole number of at least 0, not -1"):
        model.explain(NEW, patterns=-1)
    with pytest.raises(lt.Error, match="X is one str"):
        model.explain("good")
    with pytest.raises(lt.Error, match="target wants a whole number"):
        model.explain(NEW, target="score")
