"""Emotions in headlines."""

from figures import cross_validation, learned, read_npy
from text import block, code, show, table, values

PAPER = "Beck and Cohn (2017), Tables 1 and 2"
FILES = ["semeval2007.tsv", "glove_subset_100d.txt.gz"]
TARGETS = "anger,disgust,fear,joy,sadness,surprise"
BEST = "rq(normalize(ssk(tokens, order=3, sim=exp, oov=parts, rarity=0.001)))"
STRING = "ssk(tokens, order=5, sim=dot, oov=zero)"
ROWS = [
    ("linear(mean(tokens))", "4.09 / 11.03 / .539", 22),
    ("rbf(mean(tokens))", "4.03 / 10.09 / .611", 38),
    ("rq(mean(tokens))", "3.995 / 9.82 / .640 (the authors' later runs)", 61),
    (STRING, "4.06 / 10.53 / .586", 174),
    ("rq(normalize(ssk(tokens, order=5, sim=cosine)))", "", 200),
    (BEST, "", 200),
]
# The last kernel once more, the target warped. Of the warps this one has the highest evidence, see string_choice
WARPED = ["--likelihood", "warped", "--warp", "sinh", "--point", "median"]
WARPED_BEST = BEST + ", warped"
# Table 2: a model of surprise, with nu_i = mu_i lambda_m^(2i)
PUBLISHED = {"gap": "7.36e-7", "nu": [".104", ".0024", ".000092", "1.3e-8", "3.6e-10"]}
PUBLISHED_GAP, PUBLISHED_MATCH, PUBLISHED_WEIGHTS = 7.36e-7, 0.0918, (12.37, 33.73, 154.51, 2.58, 8.54)


def measure(lab):
    table_, vectors, predictions = lab.data(FILES[0]), lab.data(FILES[1]), lab.file("p.tsv")
    part = ["--where", "fold=0,1,2"] if lab.quick else []

    def judge(name, kernel, options, seconds):
        lab.row(
            name,
            [
                lab.luthier(
                    "cv {} --target {} --kernel {} --vectors {} --fold-by fold --restarts 0 {} --predictions {} --json -q",
                    table_,
                    "joy" if lab.quick else TARGETS,
                    kernel,
                    vectors,
                    part + options,
                    predictions,
                )
            ],
            lambda a: cross_validation(a[0], predictions),
            seconds,
        )

    for kernel, _, seconds in ROWS[:2] if lab.quick else ROWS:
        judge(kernel, kernel, [], seconds)
    if not lab.quick:
        judge(WARPED_BEST, BEST, WARPED, 1000)
    model = lab.file("surprise")
    folds = "fold=1,2" if lab.quick else "fold=1,2,3,4,5,6,7,8,9"
    lab.row(
        "surprise",
        [
            lab.luthier(
                "fit {} --where {} --target surprise --kernel {} --vectors {} --restarts 4 -q -o {}",
                table_,
                folds,
                STRING,
                vectors,
                model,
            ),
            lab.luthier("show {} --json", model),
        ],
        lambda a: {"gap": learned(a[1])["ssk.gap"], "noise": learned(a[1])["noise"], "orders": a[1].json()["orders"]},
        20,
    )
    orders = lab.file("orders.npy")
    part = "fold=0" if lab.quick else "fold=0,1,2,3,4,5,6,7,8,9"
    kernel = "ssk(tokens, order=5, sim=dot, oov=zero, gap=%g)" % PUBLISHED_GAP
    gram = lab.luthier(
        "gram {} --where {} --kernel {} --vectors {} --per-order -o {} -q", table_, part, kernel, vectors, orders
    )
    lab.row("surprise, published", [gram], lambda a: {"shares": published_shares(orders)}, 3)


def published_shares(path):
    """What each order contributes with the published values: nu_i times the mean of k_i(a, a), in shares."""
    (count, rows, _), entries = read_npy(path)
    parts = []
    for i in range(count):
        plane = entries[i * rows * rows : (i + 1) * rows * rows]
        parts.append(PUBLISHED_WEIGHTS[i] * PUBLISHED_MATCH ** (2 * i + 2) * sum(plane[:: rows + 1]) / rows)
    return [p / sum(parts) for p in parts]


def cells(v):
    return "%.3f / %.2f / %.3f" % (v["nlpd"], v["mae"], v["r"]) if v else ""


def page(results):
    rows = results["string_emotions"]
    text = """SemEval-2007 Affective Text: 1,250 headlines, six emotions scored from 0 to 100, the ten folds of the paper, GloVe vectors of 100
dimensions (some of the words that the paper had are missing). Means over emotions and folds (the last line that the command
prints); each of the 60 models of a row is learned from one informed start. `mean(tokens)` averages the words that have a vector.

%s

""" % block(
        "luthier cv semeval2007.tsv --target %s \\" % TARGETS,
        "    --kernel KERNEL --vectors glove_subset_100d.txt.gz --fold-by fold --restarts 0",
    )
    lines = [
        [
            code(k),
            published,
            cells(values(rows, k)),
            show(values(rows, k).get("evidence"), "%.1f"),
            show(rows.get(k, {}).get("seconds"), "%.0f"),
        ]
        for k, published, _ in [*ROWS, (WARPED_BEST, "", 0)]
    ]
    text += table(["kernel", "published NLPD / MAE / r", "luthier NLPD / MAE / r", "mean log evidence", "seconds"], lines)
    text += """

The plain string kernel's absolute error, 10.66, is above the published 10.53, with the same NLPD and r within .004. Why is not known; that
0.8% of the words have a vector in the full GloVe file and none here may be part of it.

The last kernel was chosen by the evidence on the training rows. On nine folds, target joy: -4821.4; without
`rarity` -4830.6, without `oov=parts` -4826.3; with order 5 -4821.7; with tf-idf added -4821.4. Two larger kernels have a slightly higher evidence
and were left out for less than 1: with `rq(mean(tokens))` added -4820.6, with letter n-grams added -4821.0. Three different starts found the same optimum to 0.01. Its learned values there:
gap .64, weights 1 : 0 : .23 for the orders 1 to 3, temperature .63, rarity .0046, and an alpha so large that `rq` is `rbf`.
"""
    v = values(rows, WARPED_BEST)
    if v:
        text += """
The last line is the same kernel with a learned warp of the scores, `%s`: the median is what is predicted. Its evidence is that of the scores themselves and can be compared with
the others'. Which warp to take was chosen by the evidence, see `string_choice`; how gentle warps are kept where scores pile up was set after a look at
cross-validated errors of two emotions with another kernel and warp ([models.md](models.md#likelihoods)).
""" % " ".join(WARPED)
    s, p = values(rows, "surprise"), values(rows, "surprise, published").get("shares", [None] * 5)
    if s:
        text += "\nWhat the string kernel learns about *surprise*, trained on all folds but the first; `share` is nu_i times the mean of k_i(a, a):\n\n"
        text += table(
            ["order", "published nu", "its share", "nu", "share"],
            [
                [o["order"], nu, show(x), "%.3g" % o["nu"], "%.3f" % o["share"]]
                for o, nu, x in zip(s["orders"], PUBLISHED["nu"], p)
            ],
        )
        text += """

The gap is %.3g (published %s), the noise %.4g. nu are for a target of variance 1 here and for scores of 0 to 100 there, so compare shares.
The paper reads its weights (12, 34, 155, 2.6, 8.5) as a preference for sequences of three words; but weights mean nothing without match and the
length of the vectors: with the published values single words have the largest share. Ours is another optimum, with gaps.
""" % (s["gap"], PUBLISHED["gap"], s["noise"])
    return text
